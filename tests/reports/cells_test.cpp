// What the cells of the tables of launches, of tiers and of comparisons hold: values, words and colours.
#include "cells.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/tables.h"
#include "temporary_capture.h"

namespace ridgeline::reports {
namespace {

using analyzer::Measured;
using comparison::Change;
using comparison::KernelChange;
using comparison::Outcome;
using testing::TemporaryCapture;

Measured measured(double value, double error, Tier tier = Tier::t2) {
  Measured result;
  result.value = value;
  result.error = error;
  result.sample_count = 77;
  result.tier = tier;
  return result;
}

// "words|value": as people read it, and what a program reads.
std::string shown(const Cell& cell) {
  std::string value = "-";
  if (const auto* number = std::get_if<double>(&cell.value())) value = fmt::format("{:g}", *number);
  if (const auto* number = std::get_if<std::int64_t>(&cell.value())) value = fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&cell.value())) value = *text;
  if (const auto* flag = std::get_if<bool>(&cell.value())) value = *flag ? "true" : "false";
  return cell.words() + "|" + value;
}

std::string missing() {
  return shown(Cell::missing());
}

TEST(Cells, OfAMeasurementAreItsValueErrorAndTier) {
  const std::optional<Measured> value = measured(0.25, 0.01);
  EXPECT_EQ(shown(value_of(value)), "25.0|0.25");
  EXPECT_EQ(shown(value_of(measured(2500, 1), Form::microseconds)), "2.5|2500");
  EXPECT_EQ(shown(error_of(value)), "1.0|0.01");
  EXPECT_EQ(shown(tier_of(value)), "T2|T2");
  EXPECT_EQ(shown(value_of({})), missing());
  EXPECT_EQ(shown(error_of({})), missing());
  EXPECT_EQ(shown(tier_of({})), missing());
  std::optional<Measured> without = value;
  without->error.reset();
  EXPECT_EQ(shown(error_of(without)), missing());
}

TEST(Cells, AnErrorBelowATenthOfAPerCentIsNotShownAsNone) {
  EXPECT_EQ(shown(error_of(measured(0.25, 0.0005))), "0.1|0.0005");
  EXPECT_EQ(shown(error_of(measured(0.25, 0.0004))), "<0.1|0.0004");
  EXPECT_EQ(shown(error_of(measured(0.25, 0))), "<0.1|0");
}

class LaunchCells : public ::testing::Test {
 protected:
  // The launches of the step are one that says this.
  void say(const analyzer::LaunchValues& values, LaunchStatus status = LaunchStatus::measured) {
    analyzer::LaunchUtilisation launch = capture_.analysis.utilisation.launches.front();
    launch.values = std::make_shared<const analyzer::LaunchValues>(values);
    launch.status = status;
    launch.ordinal = 12;
    launch.duration_ns = 345'600;
    capture_.analysis.utilisation.launches = {};
    capture_.analysis.utilisation.launches.push_back(launch);
  }
  Cell cell(const std::string& key) const {
    return launches_table(capture_.model, capture_.analysis).cell(0, key);
  }
  TemporaryCapture capture_;
};

TEST_F(LaunchCells, ShowWhatWasMeasured) {
  analyzer::LaunchValues values;
  values.dram_utilisation = measured(0.101, 0.0101);
  values.compute_utilisation = measured(0.102, 0.0102);
  values.dram_bytes = measured(103, 1);
  values.metrics.set("dram_read_bytes", measured(118, 1));
  values.metrics.set("dram_write_bytes", measured(119, 1));
  values.tensor_ops = measured(104, 1);
  values.metrics.set("l2_utilisation_ratio", measured(0.105, 0.01));
  values.metrics.set("l2_bytes", measured(106, 1));
  values.metrics.set("l2_hit_ratio", measured(0.107, 0.01));
  values.metrics.set("l1_bytes", measured(108, 1));
  values.metrics.set("l1_hit_ratio", measured(0.109, 0.01));
  values.metrics.set("occupancy_ratio", measured(0.110, 0.01));
  values.t1.dram_utilisation = measured(0.111, 0.0111, Tier::t1);
  values.t1.compute_utilisation = measured(0.112, 0.01, Tier::t1);
  values.t2.dram_utilisation = measured(0.113, 0.01);
  values.t2.compute_utilisation = measured(0.114, 0.01);
  values.cold.duration = measured(115'000, 1, Tier::t3);
  values.cold.dram_utilisation = measured(0.116, 0.01, Tier::t3);
  values.cold.dram_bytes = measured(117, 1, Tier::t3);
  say(values);
  const std::map<std::string, std::string> expected = {
      {"ordinal", "12|12"},
      {"duration_ns", "345.6|345600"},
      {"dram_utilisation_ratio", "10.1|0.101"},
      {"dram_error_ratio", "1.0|0.0101"},
      {"compute_utilisation_ratio", "10.2|0.102"},
      {"compute_error_ratio", "1.0|0.0102"},
      {"dram_bytes", "103|103"},
      {"dram_read_bytes", "118|118"},
      {"dram_write_bytes", "119|119"},
      {"tensor_ops", "104|104"},
      {"l2_utilisation_ratio", "10.5|0.105"},
      {"l2_bytes", "106|106"},
      {"l2_hit_ratio", "10.7|0.107"},
      {"l1_bytes", "108|108"},
      {"l1_hit_ratio", "10.9|0.109"},
      {"occupancy_ratio", "11.0|0.11"},
      {"dram_t1_utilisation_ratio", "11.1|0.111"},
      {"dram_t1_error_ratio", "1.1|0.0111"},
      {"dram_t1_samples", "77|77"},
      {"compute_t1_utilisation_ratio", "11.2|0.112"},
      {"dram_t2_utilisation_ratio", "11.3|0.113"},
      {"compute_t2_utilisation_ratio", "11.4|0.114"},
      {"cold_duration_ns", "115.0|115000"},
      {"cold_dram_utilisation_ratio", "11.6|0.116"},
      {"cold_dram_bytes", "117|117"},
      {"tier", "T2|T2"},
      {"status", "measured|measured"},
      {"reason", "|"},
  };
  for (const auto& [key, words] : expected) EXPECT_EQ(shown(cell(key)), words) << key;
}

// None by name: a metric that is added to the registry has its column if its entry has a header for it.
TEST_F(LaunchCells, ShowEveryMetricThatHasAHeader) {
  analyzer::LaunchValues values;
  for (const analyzer::Metric metric : analyzer::kAllMetrics)
    values.metrics.set(metric, measured(0.25 + static_cast<double>(metric.place()), 0));
  say(values);
  for (const analyzer::Metric metric : analyzer::kAllMetrics) {
    if (metric.entry().launch_header.empty()) continue;
    const std::string key(metric.entry().key);
    EXPECT_EQ(std::get<double>(cell(key).value()), 0.25 + static_cast<double>(metric.place())) << key;
  }
}

TEST_F(LaunchCells, ShowWhatTheLaunchIs) {
  say({});
  analyzer::Model& model = capture_.model;
  const auto index = capture_.analysis.utilisation.launches.front().launch;
  const store::Launch& launch = model.launches[index];
  EXPECT_EQ(cell("kernel").words(), model.kernel_name(launch));
  EXPECT_EQ(cell("class").words(), to_string(model.kernel_class(launch)));
  EXPECT_EQ(cell("nvtx_path").words(), model.string(launch.nvtx_path_id));
  EXPECT_EQ(std::get<std::int64_t>(cell("start_offset_ns").value()),
            launch.start_ns - capture_.analysis.steps.representative.window_start_ns);
  EXPECT_EQ(std::get<std::int64_t>(cell("stream_id").value()), launch.stream_id);
  EXPECT_EQ(std::get<std::int64_t>(cell("registers_per_thread").value()), launch.registers_per_thread);
  EXPECT_EQ(std::get<std::int64_t>(cell("static_smem_bytes").value()), launch.static_smem_bytes);
  EXPECT_EQ(std::get<std::int64_t>(cell("dynamic_smem_bytes").value()), launch.dynamic_smem_bytes);
  for (const char* key : {"dram_utilisation_ratio", "dram_error_ratio", "dram_t1_samples", "tensor_ops"})
    EXPECT_EQ(shown(cell(key)), missing()) << key;
}

TEST_F(LaunchCells, NameATierOrBoth) {
  analyzer::LaunchValues values;
  const auto tier = [&] {
    say(values);
    return cell("tier").words();
  };
  EXPECT_EQ(tier(), "T0");
  values.dram_utilisation = measured(0.1, 0, Tier::t2);
  EXPECT_EQ(tier(), "T2");
  values.compute_utilisation = measured(0.1, 0, Tier::t1);
  EXPECT_EQ(tier(), "T2/T1");
  values.dram_utilisation.reset();
  EXPECT_EQ(tier(), "T1");
}

TEST_F(LaunchCells, OfALaunchThatWasNotMeasuredSayWhyAndStandOut) {
  analyzer::LaunchValues values;
  values.why = {analyzer::Absence{.cause = analyzer::AbsenceCause::no_replay_step}};
  const auto status = [&](LaunchStatus is) {
    say(values, is);
    return cell("status");
  };
  EXPECT_EQ(shown(status(LaunchStatus::unmeasured)), "unmeasured|unmeasured");
  EXPECT_EQ(cell("status").style(), Style::fair);
  EXPECT_EQ(cell("reason").words(), "the recording has no replay step");
  EXPECT_EQ(shown(status(LaunchStatus::too_short)), "too short|launch_bound");
  EXPECT_EQ(shown(status(LaunchStatus::no_roof)), "no roof|no_roof");
  EXPECT_EQ(shown(status(LaunchStatus::measured)), "measured|measured");
  for (const LaunchStatus other : {LaunchStatus::measured, LaunchStatus::too_short, LaunchStatus::no_roof})
    EXPECT_EQ(status(other).style(), Style::plain);
}

TEST(TierCells, SayWhetherCountersAndSamplesAgree) {
  analyzer::Quality quality;
  analyzer::TierComparison one;
  one.kernel = "k<1>";
  one.calls = 5;
  one.mean_ns = 12'300;
  one.t1 = measured(0.51, 0.011, Tier::t1);
  one.t2 = measured(0.42, 0.012);
  one.difference = measured(0.09, 0.016);
  one.flagged = true;
  quality.comparisons = {one, one};
  quality.comparisons[1].flagged = false;
  const Table table = comparison_table(quality);
  const std::map<std::string, std::string> expected = {
      {"kernel", "k<1>|k<1>"},          {"calls", "5|5"},
      {"mean_ns", "12.3|12300"},        {"t1_ratio", "51.0|0.51"},
      {"t1_error_ratio", "1.1|0.011"},  {"t1_samples", "77|77"},
      {"t2_ratio", "42.0|0.42"},        {"t2_error_ratio", "1.2|0.012"},
      {"difference_ratio", "9.0|0.09"}, {"verdict", "disagree|false"},
  };
  for (const auto& [key, words] : expected) EXPECT_EQ(shown(table.cell(0, key)), words) << key;
  EXPECT_EQ(table.cell(0, "difference_ratio").style(), Style::bad);
  EXPECT_EQ(table.cell(0, "verdict").style(), Style::bad);
  EXPECT_EQ(shown(table.cell(1, "verdict")), "agree|true");
  EXPECT_EQ(table.cell(1, "difference_ratio").style(), Style::plain);
  EXPECT_EQ(table.cell(1, "verdict").style(), Style::good);
}

KernelChange change() {
  KernelChange k;
  k.kernels_a = {"old<int>"};
  k.kernels_b = {"new<int>", "more<int>"};
  k.path = "step / mlp";
  k.kernel_class = KernelClass::gemm;
  k.level = comparison::MatchLevel::group;
  k.confidence = 0.61;
  k.calls_a = 3;
  k.calls_b = 4;
  k.time = {.a = 100'100, .b = 120'200, .ratio = 0.201, .delta = 20'100};
  k.adjusted = {.a = 100'100, .b = 119'000, .ratio = 0.189, .delta = 18'900};
  k.adjusted.interval = comparison::ChangeInterval{-0.012, 0.25};
  k.adjusted.interval_level = 0.95;
  k.adjusted.p = 0.011;
  k.adjusted.adjusted_p = 0.0321;
  k.adjusted.same_p = 0.5;
  k.adjusted.detectable_ratio = 0.031;
  k.adjusted.pairs_needed = 9;
  k.cycles = Change{.ratio = 0.17};
  k.dram_a = 0.41;
  k.dram_b = 0.39;
  k.compute_b = 0.72;
  k.dram_bytes_a = 1.5e9;
  k.dram_bytes_b = 2.5e9;
  k.bound_a = analyzer::KernelBound::memory;
  k.bound_b = analyzer::KernelBound::too_short;
  k.code_changed = true;
  k.counts = {{"registers_per_thread", 32, 40}, {"inst.sum", 1e6, 2e6}};
  k.outcome = Outcome::regressed;
  k.reason = comparison::OutcomeReason::none;
  k.cause = comparison::ChangeCause::code;
  k.confirmed = true;
  return k;
}

TEST(CompareCells, ShowTheChangeOfAKernel) {
  const std::vector<KernelChange> kernels = {change()};
  const Table table = compare_table(kernels);
  const std::map<std::string, std::string> expected = {
      {"kernel", "old<int> → new<int>, more<int>|old<int> → new<int>, more<int>"},
      {"outcome", "regressed|regressed"},
      {"time_a_ns", "100.1|100100"},
      {"time_b_ns", "120.2|120200"},
      {"delta_ns", "+20.1|20100"},
      {"change_ratio", "+18.9|0.189"},
      {"interval", "−1.2 … +25.0|−1.2 … +25.0"},
      {"adjusted_p", "0.0321|0.0321"},
      {"dram", "41→39|41→39"},
      {"compute", "–→72|–→72"},
      {"bound", "memory→launch bound|memory→launch bound"},
      {"cause", "code|code"},
      {"match", "group|group"},
      {"path", "step / mlp|step / mlp"},
      {"class", "gemm|gemm"},
      {"reason", "none|none"},
      {"confidence", "0.61|0.61"},
      {"calls_a", "3|3"},
      {"calls_b", "4|4"},
      {"measured_ratio", "+20.1|0.201"},
      {"low_ratio", "-1.2|-0.012"},
      {"high_ratio", "25.0|0.25"},
      {"level_ratio", "95.0|0.95"},
      {"p", "0.011|0.011"},
      {"same_p", "0.5|0.5"},
      {"detectable_ratio", "3.1|0.031"},
      {"pairs_needed", "9|9"},
      {"cycles_ratio", "17.0|0.17"},
      {"dram_a_ratio", "41.0|0.41"},
      {"dram_b_ratio", "39.0|0.39"},
      {"compute_a_ratio", missing()},
      {"compute_b_ratio", "72.0|0.72"},
      {"dram_a_bytes", "1.500|1.5e+09"},
      {"dram_b_bytes", "2.500|2.5e+09"},
      {"counts",
       "registers_per_thread 32 → 40, inst.sum 1e+06 → 2e+06|registers_per_thread 32 → 40, inst.sum "
       "1e+06 → 2e+06"},
      {"code_changed", "yes|true"},
      {"confirmed", "yes|true"},
  };
  for (const auto& [key, words] : expected) EXPECT_EQ(shown(table.cell(0, key)), words) << key;
  EXPECT_EQ(expected.size(), table.columns().size());
  EXPECT_EQ(table.cell(0, "delta_ns").style(), Style::bad);
  EXPECT_EQ(table.cell(0, "change_ratio").style(), Style::bad);
}

// One kernel, changed; a column of its row.
Cell cell_of(const std::string& key, const std::function<void(KernelChange&)>& alter) {
  std::vector<KernelChange> kernels = {change()};
  alter(kernels[0]);
  return compare_table(kernels).cell(0, key);
}

TEST(CompareCells, NameAKernelThatIsOnlyOnOneSideOnce) {
  EXPECT_EQ(cell_of("kernel", [](KernelChange& k) { k.kernels_b.clear(); }).words(), "old<int>");
  EXPECT_EQ(cell_of("kernel", [](KernelChange& k) { k.kernels_a.clear(); }).words(), "new<int>, more<int>");
  EXPECT_EQ(cell_of("kernel", [](KernelChange& k) { k.kernels_b = k.kernels_a; }).words(), "old<int>");
  for (const char* key : {"change_ratio", "match"}) {
    EXPECT_EQ(shown(cell_of(key, [](KernelChange& k) { k.kernels_a.clear(); })), missing()) << key;
    EXPECT_EQ(shown(cell_of(key, [](KernelChange& k) { k.kernels_b.clear(); })), missing()) << key;
  }
}

TEST(CompareCells, SayAnOutcomeInAWordAndAColour) {
  const auto outcome = [](Outcome is, comparison::OutcomeReason reason, bool hint = false) {
    return cell_of("outcome", [&](KernelChange& k) {
      k.outcome = is;
      k.reason = reason;
      k.hint = hint;
    });
  };
  using Reason = comparison::OutcomeReason;
  EXPECT_EQ(shown(outcome(Outcome::same, Reason::none)), "same|same");
  EXPECT_EQ(shown(outcome(Outcome::same, Reason::small)), "negligible|same");
  EXPECT_EQ(shown(outcome(Outcome::inconclusive, Reason::small)), "inconclusive|inconclusive");
  EXPECT_EQ(shown(outcome(Outcome::inconclusive, Reason::single_run, true)),
            "inconclusive (hint)|inconclusive");
  EXPECT_EQ(shown(outcome(Outcome::not_measured, Reason::none)), "not measured|not_measured");
  const std::pair<Outcome, Style> styles[] = {
      {Outcome::regressed, Style::bad}, {Outcome::improved, Style::good},
      {Outcome::added, Style::fair},    {Outcome::removed, Style::fair},
      {Outcome::same, Style::dim},      {Outcome::inconclusive, Style::dim}};
  for (const auto& [each, style] : styles) {
    EXPECT_EQ(outcome(each, Reason::none).style(), style) << to_string(each);
    const bool judged = style == Style::bad || style == Style::good;
    const auto as = [is = each](KernelChange& k) { k.outcome = is; };
    EXPECT_EQ(cell_of("delta_ns", as).style(), judged ? style : Style::plain) << to_string(each);
  }
}

TEST(CompareCells, OfNothingHaveNoSign) {
  const auto delta = [](double ns) {
    return cell_of("delta_ns", [&](KernelChange& k) { k.time.delta = ns; }).words();
  };
  EXPECT_EQ(delta(-20'100), "−20.1");
  EXPECT_EQ(delta(40), "0.0");
  EXPECT_EQ(delta(-40), "0.0");
  EXPECT_EQ(delta(60), "+0.1");
  const auto interval = [](double low, double high) {
    return cell_of("interval",
                   [&](KernelChange& k) {
                     k.adjusted.interval = comparison::ChangeInterval{low, high};
                   })
        .words();
  };
  EXPECT_EQ(interval(-0.0002, 0.0002), "0.0 … 0.0");
  EXPECT_EQ(interval(-0.05, -0.01), "−5.0 … −1.0");
}

TEST(CompareCells, LeaveOutWhatIsNotKnown) {
  const auto nothing = [](KernelChange& k) {
    k.adjusted = {};
    k.cycles.reset();
    k.dram_a = k.dram_b = k.compute_b = k.dram_bytes_a = k.dram_bytes_b = std::nullopt;
    k.code_changed.reset();
    k.bound_a = k.bound_b = analyzer::KernelBound::unmeasured;
    k.cause = comparison::ChangeCause::none;
    k.counts.clear();
    k.confirmed = false;
  };
  for (const char* key :
       {"interval", "adjusted_p", "low_ratio", "high_ratio", "level_ratio", "p", "same_p", "detectable_ratio",
        "pairs_needed", "cycles_ratio", "dram", "compute", "dram_a_bytes", "dram_b_bytes", "code_changed"})
    EXPECT_EQ(shown(cell_of(key, nothing)), missing()) << key;
  EXPECT_EQ(shown(cell_of("bound", nothing)), "?|?");
  EXPECT_EQ(shown(cell_of("cause", nothing)), "|none");
  EXPECT_EQ(shown(cell_of("counts", nothing)), "|");
  EXPECT_EQ(shown(cell_of("confirmed", nothing)), "no|false");
  EXPECT_EQ(shown(cell_of("code_changed", [](KernelChange& k) { k.code_changed = false; })), "no|false");
  EXPECT_EQ(cell_of("adjusted_p", [](KernelChange& k) { k.adjusted.adjusted_p = 0.00009; }).words(),
            "<0.0001");
  EXPECT_EQ(cell_of("adjusted_p", [](KernelChange& k) { k.adjusted.adjusted_p = 0.0001; }).words(), "0.0001");
  EXPECT_EQ(cell_of("dram", [](KernelChange& k) { k.dram_b.reset(); }).words(), "41→–");
}

TEST(PartCells, ShowTheChangeOfAPart) {
  comparison::StepMetric part;
  part.name = "gaps";
  part.kind = comparison::PartKind::gaps;
  part.step_share = -0.031;
  part.outcome = Outcome::improved;
  part.reason = comparison::OutcomeReason::two_modes;
  part.time = {.a = 2'100'000, .b = 1'900'000, .ratio = -0.095, .delta = -200'000};
  part.time.interval = comparison::ChangeInterval{-0.12, -0.07};
  part.time.interval_level = 0.9;
  part.time.p = 0.00002;
  part.time.same_p = 0.6;
  part.time.detectable_ratio = 0.02;
  part.time.pairs_needed = 7;
  std::vector<comparison::StepMetric> parts = {part, {}};
  const Table table = step_metrics_table(parts);
  const std::map<std::string, std::string> expected = {
      {"part", "gaps|gaps"},
      {"outcome", "improved|improved"},
      {"time_a_ns", "2.100|2.1e+06"},
      {"time_b_ns", "1.900|1.9e+06"},
      {"delta_ns", "−200.0|-200000"},
      {"change_ratio", "−9.5|-0.095"},
      {"interval", "−12.0 … −7.0|−12.0 … −7.0"},
      {"p", "<0.0001|2e-05"},
      {"low_ratio", "-0.12|-0.12"},
      {"high_ratio", "-0.07|-0.07"},
      {"level_ratio", "0.9|0.9"},
      {"same_p", "0.6|0.6"},
      {"detectable_ratio", "0.02|0.02"},
      {"pairs_needed", "7|7"},
      {"reason", "two_modes|two_modes"},
      {"step_share_ratio", "−3.1|-0.031"},
      {"kind", "gaps|gaps"},
  };
  for (const auto& [key, words] : expected) EXPECT_EQ(shown(table.cell(0, key)), words) << key;
  EXPECT_EQ(expected.size(), table.columns().size());
  EXPECT_EQ(table.cell(0, "delta_ns").style(), Style::good);
  for (const char* key : {"interval", "p", "low_ratio", "high_ratio", "level_ratio", "same_p",
                          "detectable_ratio", "pairs_needed"})
    EXPECT_EQ(shown(table.cell(1, key)), missing()) << key;
}

// The line below the ranking holds the sums of all its rows, also of a recording whose step took no time.
TEST(RankingTotals, AreOfAllRows) {
  analyzer::UtilisationAnalysis utilisation;
  analyzer::Ranking ranking;
  analyzer::RankingRow row;
  row.key = row.kernel = "k";
  ranking.rows = {row};
  ranking.totals.calls = 7;
  ranking.totals.time_ns = 250'000;
  ranking.totals.step_ns = 1'000'000;
  const auto total = [&](const std::string& key) {
    const Table table = ranking_table(utilisation, ranking);
    return shown(table.total(table.total_count() - 1, table.column(key)));
  };
  EXPECT_EQ(total("calls"), "7|7");
  EXPECT_EQ(total("time_ns"), "0.250|250000");
  EXPECT_EQ(total("step_share_ratio"), "25.0|0.25");
  ranking.totals.step_ns = 0;
  EXPECT_EQ(total("step_share_ratio"), "0.0|0");
}

TEST(RankingTotals, OfRowsThatAreCutAreOneLine) {
  analyzer::UtilisationAnalysis utilisation;
  analyzer::Ranking ranking;
  for (const std::int64_t i : {1, 2, 3}) {
    analyzer::RankingRow row;
    row.key = row.kernel = "k" + std::to_string(i);
    row.calls = i;
    row.time_ns = 1'000'000 * i;
    row.step_share = 0.1 * static_cast<double>(i);
    row.saved_target_ns = 10'000.0 * static_cast<double>(i);
    row.saved_stretch_ns = 20'000.0 * static_cast<double>(i);
    row.measured_calls = i;
    ranking.rows.push_back(row);
  }
  Table table = ranking_table(utilisation, ranking);
  table.keep(1);
  ASSERT_EQ(table.total_count(), 2U);
  const auto rest = [&](const std::string& key) { return shown(table.total(0, table.column(key))); };
  EXPECT_EQ(rest("key"), "2 more|2 more");
  EXPECT_EQ(rest("calls"), "5|5");
  EXPECT_EQ(rest("time_ns"), "5.000|5000000");
  EXPECT_EQ(rest("step_share_ratio"), "50.0|0.5");
  EXPECT_EQ(rest("saved_target_ns"), "0.050|50000");
  EXPECT_EQ(rest("saved_stretch_ns"), "0.100|100000");
}

TEST(StepCells, SayHowLongAStepTookIfItDid) {
  analyzer::StepAnalysis analysis;
  analysis.steps.resize(4);
  for (std::size_t i = 0; i < 4; ++i) {
    analyzer::StepSummary& step = analysis.steps[i];
    step.index = i;
    step.step_id = static_cast<store::Id>(i + 1);
    step.step_index = static_cast<std::int64_t>(i);
    step.gpu_duration_ns = 1'500'000;
    step.host_duration_ns = 1'600'000;
    step.kernel_time_ns = 1'200'000;
    step.closed = true;
    step.kind = 0;
  }
  analysis.steps[2].closed = false;
  analysis.steps[2].status = StepStatus::interrupted;
  analysis.steps[2].reason = "killed";
  analysis.steps[2].source = StepSource::period;
  analysis.steps[3].gpu_duration_ns = analysis.steps[3].kernel_time_ns = 0;
  analysis.steps[3].host_duration_ns.reset();
  analysis.steps[3].kind = -1;
  analysis.representative.summary = analysis.steps[1];
  const Table table = steps_table(analysis);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(shown(table.cell(0, "gpu_duration_ns")), "1.500|1500000");
  EXPECT_EQ(table.cell(0, "gpu_duration_ns").style(), Style::plain);
  EXPECT_EQ(table.cell(0, "status").style(), Style::plain);
  EXPECT_EQ(shown(table.cell(0, "kernel_time_ns")), "1.200|1200000");
  EXPECT_EQ(shown(table.cell(0, "host_duration_ns")), "1.600|1600000");
  EXPECT_EQ(shown(table.cell(0, "kind")), "1|1");
  EXPECT_EQ(shown(table.cell(0, "closed")), "yes|true");
  EXPECT_EQ(table.cell(1, "gpu_duration_ns").style(), Style::strong) << "it stands for all";
  EXPECT_EQ(table.cell(1, "status").style(), Style::strong);
  EXPECT_EQ(shown(table.cell(2, "gpu_duration_ns")), "1.500*|1500000") << "open";
  EXPECT_EQ(table.cell(2, "gpu_duration_ns").style(), Style::bad);
  EXPECT_EQ(shown(table.cell(2, "status")), "interrupted|interrupted");
  EXPECT_EQ(table.cell(2, "status").style(), Style::bad);
  EXPECT_EQ(shown(table.cell(2, "reason")), "killed|killed");
  EXPECT_EQ(shown(table.cell(2, "closed")), "no|false");
  EXPECT_EQ(shown(table.cell(2, "source")), "period|period");
  for (const char* key : {"gpu_duration_ns", "kernel_time_ns", "host_duration_ns", "kind"})
    EXPECT_EQ(shown(table.cell(3, key)), missing()) << key;
}

TEST(PhaseCells, HaveNoTimeOfStepsWithoutAny) {
  analyzer::PhaseSummary timed;
  timed.process_id = 3;
  timed.phase = Phase::replay;
  timed.steps = 12;
  timed.not_ok = 2;
  timed.spread = {.count = 10,
                  .median_ns = 1.1e6,
                  .p10_ns = 1.2e6,
                  .p90_ns = 1.3e6,
                  .mad_ns = 1.4e6,
                  .min_ns = 1.5e6,
                  .max_ns = 1.6e6};
  timed.outliers = {4, 5, 6};
  analyzer::PhaseSummary untimed = timed;
  untimed.spread.count = 0;
  untimed.not_ok = 0;
  const std::vector<analyzer::PhaseSummary> phases = {timed, untimed};
  const Table table = phases_table(phases);
  const std::map<std::string, std::string> expected = {
      {"process_id", "3|3"},       {"phase", "replay|replay"},
      {"steps", "12|12"},          {"median_ns", "1.100|1.1e+06"},
      {"p10_ns", "1.200|1.2e+06"}, {"p90_ns", "1.300|1.3e+06"},
      {"min_ns", "1.500|1.5e+06"}, {"max_ns", "1.600|1.6e+06"},
      {"outliers", "3|3"},         {"not_ok", "2|2"}};
  for (const auto& [key, words] : expected) EXPECT_EQ(shown(table.cell(0, key)), words) << key;
  EXPECT_EQ(table.cell(0, "not_ok").style(), Style::bad);
  EXPECT_EQ(table.cell(1, "not_ok").style(), Style::plain);
  for (const char* key : {"median_ns", "p10_ns", "p90_ns", "min_ns", "max_ns"})
    EXPECT_EQ(shown(table.cell(1, key)), missing()) << key;
}

}  // namespace
}  // namespace ridgeline::reports
