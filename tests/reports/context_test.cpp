// The sentences and lines that several documents share.
#include "ridgeline/reports/context.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

using analyzer::Peak;

Peak peak(Quantity quantity, double value) {
  Peak result;
  result.quantity = quantity;
  result.value = value;
  result.source = PeakSource::spec;
  return result;
}

TEST(RoofsLine, NamesTheRoofsThatLimitOnceEach) {
  analyzer::UtilisationAnalysis utilisation;
  EXPECT_EQ(roofs_line(utilisation), "");
  utilisation.peaks = {peak(Quantity::dram_bytes_per_s, 4.8e12), peak(Quantity::l2_bytes_per_s, 11e12),
                       peak(Quantity::bf16_flops_per_s, 989.4e12), peak(Quantity::dram_bytes_per_s, 4.8e12)};
  const std::string dram = "DRAM " + peak_text(utilisation.peaks[0]);
  EXPECT_EQ(roofs_line(utilisation), "Roofs: " + dram + "; " + peak_text(utilisation.peaks[2]) + ".");
  utilisation.peaks.resize(1);
  utilisation.peaks[0].fallback = true;
  EXPECT_EQ(roofs_line(utilisation), "Roofs: " + dram + " (fallback).");
}

TEST(PowerLines, SayWhatTheClockCostsAndWhatIsNotKnownIsNotSaid) {
  analyzer::Ranking ranking;
  ranking.totals.step_ns = 50'000'000;
  EXPECT_EQ(clock_cost_line(ranking), "");
  EXPECT_EQ(energy_line(ranking), "");
  ranking.power.clock = analyzer::ClockCost{.reference_hz = 1.98e9,
                                            .clock_hz = 1.5e9,
                                            .cost_ns = 5e6,
                                            .low_ns = 4e6,
                                            .high_ns = 6e6,
                                            .covered_ns = 40e6,
                                            .steps = 18,
                                            .throttle_reasons = 4};
  EXPECT_EQ(
      clock_cost_line(ranking),
      "Clock: kernels ran at 1500 MHz of at most 1980 MHz, held by power limit; that costs the step 5.000 ms "
      "(10.0 %), 95 % between 4.000 ms and 6.000 ms, as the times of 18 steps followed their clocks.");
  ranking.power.clock->steps = 0;
  EXPECT_TRUE(clock_cost_line(ranking).ends_with(", by what bounds each kernel."))
      << clock_cost_line(ranking);
  ranking.power.clock->steps_alike = true;
  EXPECT_TRUE(
      clock_cost_line(ranking).ends_with(", by what bounds each kernel: the steps' clocks hardly differ."));
  ranking.power.energy = analyzer::StepEnergy{.measured_j = 30.5, .measured_s = 4};
  EXPECT_EQ(energy_line(ranking), "Energy: 30.50 J by 4.0 s of power samples for the step.");
  ranking.power.energy->modelled_j = 29.0;
  ranking.power.energy->modelled_error_j = 1.5;
  EXPECT_EQ(energy_line(ranking),
            "Energy: 29.00 J by the energy model of the measured ceilings, ± 1.50, 30.50 J by 4.0 s of power "
            "samples for "
            "the step.");
  ranking.power.energy->modelled_j = 25.0;
  EXPECT_NE(energy_line(ranking).find(" The model is 18.0 % below what was measured, more than its error"),
            std::string::npos)
      << energy_line(ranking);
  ranking.power.energy->modelled_j = 33.0;
  EXPECT_NE(energy_line(ranking).find(" The model is 8.2 % above what was measured"), std::string::npos)
      << energy_line(ranking);
}

TEST(SavingNotes, SayWhatIsPotentialAndWhatIsExposed) {
  analyzer::Ranking ranking;
  ranking.options.target = 0.7;
  ranking.options.stretch = 0.85;
  ranking.options.bounds.min_ratio = 0.6;
  ranking.totals.saved_target_ns = ranking.totals.saved_target_exposed_ns = 5e6;
  ranking.totals.saved_stretch_ns = ranking.totals.saved_stretch_exposed_ns = 6e6;
  EXPECT_EQ(saving_notes(ranking), "");
  ranking.totals.saved_stretch_latency_ns = 2e6;
  ranking.totals.saved_target_latency_ns = 1e6;
  EXPECT_EQ(saving_notes(ranking),
            " Of that, 1.000 ms at 70 % and 2.000 ms at 85 % are in latency-bound kernels, none of whose "
            "roofs is at "
            "60 % or more: find out what holds them (record --stalls).");
  ranking.totals.saved_target_sampled_ns = 0.2e6;
  EXPECT_FALSE(saving_notes(ranking).ends_with("peak.")) << "less than a twentieth of the saving";
  ranking.totals.saved_target_sampled_ns = 0.5e6;
  EXPECT_TRUE(saving_notes(ranking).ends_with(
      " 500.0 µs of it at 70 % is of launches that were sampled and not counted: samples "
      "have few of the pipes, and one that they do not have may be near its peak."));
  ranking.totals.saved_stretch_latency_ns = 0;
  ranking.totals.saved_target_exposed_ns = 4.96e6;
  EXPECT_EQ(saving_notes(ranking), "") << "less than a hundredth is hidden";
  ranking.totals.saved_target_exposed_ns = 4e6;
  ranking.totals.saved_stretch_exposed_ns = 4.5e6;
  EXPECT_EQ(saving_notes(ranking),
            " Kernels overlap: 4.000 ms at 70 % and 4.500 ms at 85 % are exposed: no other kernel runs "
            "beside them.");
}

// A ranking of one measured kernel: 10 of 40 ms less, of which what is given reaches the step.
analyzer::Ranking simulated(double reached_ns, double without_gpu_ns) {
  analyzer::Ranking ranking;
  ranking.options.target = 0.7;
  ranking.options.stretch = 0.85;
  analyzer::RankingRow row;
  row.measured_calls = 1;
  ranking.rows = {row};
  ranking.totals.measured_calls = 1;
  ranking.totals.saved_target_ns = ranking.totals.saved_target_exposed_ns = 10e6;
  ranking.totals.saved_stretch_ns = ranking.totals.saved_stretch_exposed_ns = 12e6;
  ranking.reach.emplace();
  ranking.reach->measured_ns = 40'000'000;
  ranking.reach->simulated_ns = 40e6;
  ranking.reach->without_gpu_ns = without_gpu_ns;
  ranking.reach->target_ns = reached_ns;
  ranking.reach->stretch_ns = 2 * reached_ns;
  ranking.reach->launches = ranking.reach->launches_with_call = 3;
  return ranking;
}

TEST(SavingText, IsOfTheStepWhereItWasSimulated) {
  const analyzer::Ranking ranking = simulated(80'000, 39e6);
  EXPECT_EQ(saving_text(ranking),
            "up to 0.2 % of the step (80.0 µs) at 70 % of the nearest roof, 0.4 % (160.0 µs) at 85 %");
  EXPECT_EQ(
      saving_notes(ranking),
      " Kernel time would fall by 10.000 ms at 70 % and 12.000 ms at 85 %, but elsewhere the step waits "
      "for the CPU or for another stream.");
}

// "0.0 % (0 ns)" would be a figure where there is none.
TEST(SavingText, OfNothingIsInWords) {
  EXPECT_EQ(saving_text(simulated(0, 39e6)), "nothing of the step at 70 % or 85 % of the nearest roof");
  analyzer::Ranking ranking = simulated(0, 39e6);
  ranking.reach->stretch_ns = 80'000;
  EXPECT_EQ(saving_text(ranking),
            "nothing of the step at 70 % of the nearest roof, up to 0.2 % (80.0 µs) at 85 %");
}

TEST(SavingNotes, SayWhatASimulationAssumed) {
  analyzer::Ranking ranking = simulated(10e6, 1e6);
  EXPECT_EQ(saving_notes(ranking), "");
  ranking.reach->launches_with_call = 2;
  EXPECT_EQ(
      saving_notes(ranking),
      " When the CPU launched 1 of 3 kernels is not recorded: it is assumed to have been early enough.");
  ranking.reach->launches_with_call = 0;
  ranking.reach->other_processes = 1;
  EXPECT_EQ(saving_notes(ranking),
            " When the CPU launched each kernel is not recorded: it is assumed to have been early enough. "
            "Work of the "
            "other process is taken as it was.");
  ranking.reach->why = {analyzer::Absence{.cause = analyzer::AbsenceCause::waits_not_recorded}};
  EXPECT_EQ(
      saving_notes(ranking),
      " This is kernel time; how much of it reaches the step is not known: what the CPU waited for was not "
      "recorded.");
}

TEST(OtherNotices, AreWithoutTheHeadlines) {
  analyzer::Quality quality;
  for (const auto code : {analyzer::FindingCode::completeness_dropped, analyzer::FindingCode::gpu_idle,
                          analyzer::FindingCode::saving_held_back, analyzer::FindingCode::steps_few}) {
    quality.findings.push_back({.severity = Severity::warning, .code = code});
  }
  quality.findings.push_back(
      {.severity = Severity::error,
       .code = analyzer::FindingCode::collector,
       .detail = Reason(ReasonCode::import_hidden_graphs, {{"launches", 2}, {"duration_ns", 3104}})});
  EXPECT_TRUE(gpu_idles(quality));
  ASSERT_EQ(other_notices(quality, Severity::warning).size(), 2U);
  EXPECT_EQ(other_notices(quality, Severity::warning)[1].code, analyzer::FindingCode::steps_few);
  quality.findings.resize(1);
  EXPECT_FALSE(gpu_idles(quality));
}

TEST(SavingText, IsUnknownWhereNothingWasMeasured) {
  analyzer::Ranking ranking;
  ranking.options.target = 0.7;
  ranking.options.stretch = 0.85;
  ranking.scope = analyzer::ScopeKind::window;
  EXPECT_EQ(saving_text(ranking), "none, for no kernel started in the range");
  ranking.scope = analyzer::ScopeKind::step;
  ranking.rows.resize(1);
  EXPECT_EQ(saving_text(ranking), "not known, for no kernel's utilisation was measured");
  ranking.rows[0].measured_calls = 1;
  ranking.totals.measured_calls = 1;
  ranking.totals.measured_time_ns = 10;
  ranking.totals.saved_target_share = 0.1;
  ranking.totals.saved_target_ns = 1e6;
  ranking.totals.saved_stretch_share = 0.2;
  ranking.totals.saved_stretch_ns = 2e6;
  EXPECT_EQ(saving_text(ranking),
            "up to 10.0 % of the step (1.000 ms) at 70 % of the nearest roof, 20.0 % (2.000 ms) at 85 %");
}

TEST(CompletenessLine, SaysWhatWasLost) {
  analyzer::Quality quality;
  quality.coverage = 0.5;
  quality.dram_coverage = 0.75;
  quality.compute_coverage = 0.25;
  const std::string known =
      " Utilisation known for 50.0 % of the step's kernel time (DRAM 75.0 %, compute 25.0 %).";
  EXPECT_EQ(
      completeness_line(quality),
      "Whether every launch was recorded is not known: the recording was cut short or imported." + known);
  quality.completeness_known = true;
  quality.launches_seen = quality.kernel_records = 1200;
  EXPECT_EQ(completeness_line(quality),
            "1,200 launches seen, 1,200 recorded; 0 dropped, 0 without a timestamp." + known);
  quality.kernel_records = 1197;
  quality.dropped_records = 3;
  quality.zero_timestamps = 2;
  quality.graph_kernel_records = 1;
  EXPECT_EQ(
      completeness_line(quality),
      "1,200 launches seen, 1,197 recorded (3 missing); 3 dropped, 2 without a timestamp. 1 kernel more "
      "from CUDA graphs." +
          known);
}

TEST(TiersLine, SaysOnHowManyKernelsTheTiersDiffer) {
  analyzer::Quality quality;
  quality.reach = {{.tier = Tier::t2, .dram_coverage = 0.5}};
  EXPECT_EQ(tiers_line(quality), "") << "counters alone need no such line";
  quality.reach.push_back({.tier = Tier::t1, .dram_coverage = 0.25, .dram_mean_error = 0.005});
  EXPECT_EQ(tiers_line(quality),
            "DRAM utilisation is known by samples of running steps (T1) for 25.0 % of the kernel time, mean "
            "error 0.50 points, and by counters of replayed steps (T2) for 50.0 %.");
  quality.comparison_limit = 0.03;
  quality.comparison_floor_ns = 20'000;
  quality.comparisons.resize(3);
  quality.comparisons[0].kernel = "worst";
  quality.comparisons[0].difference.value = -0.041;
  const auto ends_with = [&](const std::string& end) {
    const std::string line = tiers_line(quality);
    return line.ends_with(end) ? "" : line;
  };
  const std::string compared =
      " On 3 kernels of 20.0 µs or more the two differ by at most 4.1 points of DRAM (worst), by more than 3 "
      "on ";
  EXPECT_EQ(ends_with(compared + "none."), "");
  quality.comparisons[0].flagged = true;
  EXPECT_EQ(ends_with(compared + "1."), "");
  quality.comparisons[1].flagged = true;
  EXPECT_EQ(ends_with(compared + "2."), "");
}

TEST(WorkLine, SaysWhatIsDeclaredAndWhatItTook) {
  analyzer::Analysis analysis;
  EXPECT_EQ(work_line(analysis), "");
  analyzer::WorkSum work;
  work.ranges = 2;
  work.launches = 1;
  work.time_ns = 1'500'000;
  analysis.ranking.totals.work = work;
  EXPECT_EQ(work_line(analysis),
            "Minimum work declared by 2 ranges: 0 B and 0.00 TFLOP. Their 1 launch took 1.500 ms.");
  analysis.ranking.totals.work->declared_flops = 2.5e12;
  analysis.ranking.totals.work->declared_bytes = 1e9;
  analysis.ranking.totals.work->measured_bytes = 1.5e9;
  analysis.ranking.totals.work->bytes_ratio = 1.5;
  analysis.ranking.totals.work->minimum_ns = 1.2e6;
  analysis.ranking.totals.work->undeclared_launches = 1;
  EXPECT_EQ(
      work_line(analysis),
      "Minimum work declared by 2 ranges: 1.00 GB and 2.50 TFLOP. Their 1 launch took 1.500 ms and moved "
      "1.50 GB, 1.50 × the minimum; their roofline time is 1.200 ms. 1 launch has no declaration.");
}

TEST(ThroughputLine, IsOneSentenceForEachThatIsKnown) {
  analyzer::Throughput t;
  EXPECT_EQ(throughput_line(t), "");
  t.step_ns = 10'000'000;
  t.tensor_ops = 3e12;
  t.tensor_ops_per_s = 300e12;
  EXPECT_EQ(throughput_line(t), "The tensor pipe did 3.00 TFLOP: 300.0 TFLOP/s over the step's 10.000 ms.");
  t.declared_flops = 2e12;
  t.declared_flops_per_s = 200e12;
  t.size.tokens = 1024;
  t.tokens_per_s = 102'400;
  EXPECT_EQ(
      throughput_line(t),
      "The program declares 2.00 TFLOP for the step: 200.0 TFLOP/s over the step's 10.000 ms. The tensor "
      "pipe did 3.00 TFLOP: 300.0 TFLOP/s over the step's 10.000 ms. 102,400 tokens/s: 1,024 tokens that "
      "the program declares ÷ the step's 10.000 ms.");
}

TEST(ThroughputLine, OfAnImportTheWorkIsByTheShapesOfTheTrace) {
  analyzer::Throughput t;
  t.imported = true;
  t.step_ns = 10'000'000;
  t.declared_flops = 2e12;
  t.declared_flops_per_s = 2e14;
  EXPECT_EQ(throughput_line(t),
            "The shapes in the trace make 2.00 TFLOP for the step: 200.0 TFLOP/s over the step's 10.000 ms.");
}

TEST(TierLines, SayEachTierInItsWords) {
  analyzer::Model model;
  analyzer::Quality quality;
  quality.completeness_known = true;
  quality.launches_seen = quality.kernel_records = 1000;
  quality.reach = {{.tier = Tier::t1, .dram_coverage = 0.96},
                   {.tier = Tier::t2, .dram_coverage = 0.5},
                   {.tier = Tier::t3, .dram_coverage = 0.25}};
  const std::vector<std::string> expected = {
      "T0 timeline  times of the undisturbed run; 1,000 launches, none lost",
      "T1 sampled   counters read every few µs as steps run: 96.0 % of kernel time",
      "T2 counted   each launch on its own in replayed steps: 50.0 % of kernel time",
      "T3 cold      caches emptied before each launch: 25.0 % of kernel time"};
  EXPECT_EQ(tier_lines(model, quality), expected);
  quality.reach[0].kind_share = 0.9;
  quality.reach[1].kind_share = 0.25;
  EXPECT_EQ(tier_lines(model, quality).at(1),
            "T1 sampled   counters read every few µs: 96.0 % of kernel time, 90.0 % by kind");
  EXPECT_EQ(tier_lines(model, quality).at(2),
            "T2 counted   launches on their own: 50.0 % of kernel time, 25.0 % by kind");
  quality.kernel_records = 990;
  EXPECT_TRUE(tier_lines(model, quality).front().ends_with("1,000 launches, 10 lost"));
  model.lost_rows = {{"launch", 9, 10}};
  EXPECT_TRUE(tier_lines(model, quality).front().ends_with("but the capture has lost rows"));
}

TEST(TierLines, OfAnImportNothingIsPromisedOfTheRun) {
  analyzer::Model model;
  model.tier_statuses.push_back(
      {.process_id = 1,
       .tier = Tier::t2,
       .status = TierOutcome::not_requested,
       .reason = Reason(ReasonCode::not_asked_for, {{"tier", "T2"}, {"source", "trace"}})});
  analyzer::Quality quality;
  quality.completeness_known = true;
  quality.launches_seen = quality.kernel_records = 3;
  EXPECT_EQ(tier_lines(model, quality).front(),
            "T0 timeline  times of the trace; 3 launches with their kernels");
  quality.kernel_records = 2;
  model.messages.push_back(
      {.severity = Severity::error,
       .what = Reason(ReasonCode::import_hidden_graphs, {{"launches", 2}, {"duration_ns", 9}})});
  EXPECT_TRUE(
      tier_lines(model, quality).front().ends_with("3 launches, 1 without a kernel, 2 graphs without"));
}

}  // namespace
}  // namespace ridgeline::reports
