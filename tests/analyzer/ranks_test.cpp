// Jobs of many ranks whose truth is known: merged, clocks aligned, stragglers named with their cause.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "generate/rank_job.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using generate::RankCause;
using generate::RankJob;
using generate::RankJobTruth;
using ridgeline::testing::TemporaryDirectory;

struct Made {
  RankJobTruth truth;
  store::Job job;
  JobAnalysis analysis;
};

std::vector<store::Job> parts_of(const std::vector<std::string>& files) {
  std::vector<store::Job> parts;
  for (const std::string& file : files) parts.push_back(ranks_of(file).value());
  return parts;
}

store::Job put_together(std::vector<store::Job> parts) {
  store::Job job = merged(std::move(parts)).value();
  align_clocks(job);
  return job;
}

store::Job merged_files(const std::vector<std::string>& files) {
  return put_together(parts_of(files));
}

Made made(const RankJob& options) {
  const TemporaryDirectory directory;
  Made made;
  made.truth = generate::generate_rank_job(options, directory.path());
  made.job = merged_files(made.truth.files);
  made.analysis = analyse_job(made.job).value();
  return made;
}

struct Planted {
  const char* name;
  RankCause cause;
  LatenessCause said;
};
constexpr Planted kPlanted[] = {{"MoreWork", RankCause::more_work, LatenessCause::more_work},
                                {"MoreCycles", RankCause::more_cycles, LatenessCause::more_cycles},
                                {"LowerClock", RankCause::lower_clock, LatenessCause::lower_clock},
                                {"HostGaps", RankCause::host_gaps, LatenessCause::host_gaps},
                                {"Copies", RankCause::copies, LatenessCause::copies}};

class PlantedStragglers : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedStragglers, AreNamedWithTheirCauseAndTime) {
  for (const int ranks : {2, 3, 6}) {
    SCOPED_TRACE(ranks);
    RankJob job;
    job.ranks = ranks;
    job.ranks_per_host = 4;
    job.steps = 12;
    job.cause = GetParam().cause;
    job.straggler = ranks - 1;
    job.late_ns = 700'000;
    job.clock_offset_ns = 3e6;
    job.clock_drift_ppb = 20'000;
    job.seed = 11 + static_cast<std::uint64_t>(ranks);
    const JobAnalysis analysis = made(job).analysis;
    EXPECT_EQ(analysis.recurrence, Recurrence::same_rank);
    EXPECT_EQ(analysis.straggler, ranks - 1);
    ASSERT_TRUE(analysis.cause.has_value());
    EXPECT_EQ(*analysis.cause, GetParam().said);
    const RankCost& late = analysis.rank_costs.back();
    EXPECT_GE(late.late_steps, 11);
    EXPECT_NEAR(late.late_ns, job.late_ns, 0.15 * job.late_ns);
    EXPECT_NEAR(late.parts.sum_ns(), late.late_ns, 0.1 * job.late_ns);
    EXPECT_GT(late.last_share, 0.8);
    for (std::size_t i = 0; i + 1 < analysis.rank_costs.size(); ++i)
      EXPECT_EQ(analysis.rank_costs[i].late_steps, 0);
  }
}

TEST_P(PlantedStragglers, ThatRotateAreToldFromOneRank) {
  RankJob job;
  job.ranks = 4;
  job.steps = 12;
  job.cause = GetParam().cause;
  job.rotating = true;
  job.late_ns = 700'000;
  job.clock_sample_ns = 1e6;  // each step has samples of its own
  const JobAnalysis analysis = made(job).analysis;
  EXPECT_EQ(analysis.recurrence, Recurrence::rotating);
  ASSERT_TRUE(analysis.cause.has_value());
  EXPECT_EQ(*analysis.cause, GetParam().said);
  EXPECT_EQ(analysis.late_steps, 12);
  for (const JobStepCost& step : analysis.step_costs) EXPECT_EQ(step.slowest_rank, step.step_index % 4);
}
INSTANTIATE_TEST_SUITE_P(Causes, PlantedStragglers, ::testing::ValuesIn(kPlanted),
                         [](const auto& parameters) { return parameters.param.name; });

TEST(ManyRanks, CollectivesOfTheCopyEnginesAreCollectives) {
  RankJob job;
  job.ranks = 3;
  job.steps = 8;
  job.cause = RankCause::host_gaps;
  const Made kernels = made(job);
  job.by_engines = true;
  const Made copies = made(job);
  ASSERT_EQ(copies.analysis.collectives.size(), kernels.analysis.collectives.size());
  for (std::size_t i = 0; i < copies.analysis.collectives.size(); ++i) {
    const CollectiveCost& by_kernel = kernels.analysis.collectives[i];
    const CollectiveCost& by_copies = copies.analysis.collectives[i];
    EXPECT_EQ(by_copies.function, CollectiveFunction::all_gather);
    EXPECT_EQ(by_copies.copies, 2);
    EXPECT_EQ(by_copies.blocks, std::nullopt);
    EXPECT_EQ(by_kernel.copies, std::nullopt);
    EXPECT_EQ(by_copies.bytes, by_kernel.bytes);
    EXPECT_EQ(by_copies.communicator, by_kernel.communicator);
    EXPECT_EQ(by_copies.steps, by_kernel.steps);
    EXPECT_NEAR(by_copies.duration_ns, by_kernel.duration_ns, 2);
    EXPECT_NEAR(by_copies.hidden_ns, by_kernel.hidden_ns, 2);
    EXPECT_NEAR(by_copies.exposed_ns, by_kernel.exposed_ns, 2);
    EXPECT_NEAR(by_copies.wait_ns, by_kernel.wait_ns, 2);
  }
  EXPECT_EQ(copies.analysis.recurrence, Recurrence::same_rank);
  EXPECT_EQ(copies.analysis.straggler, kernels.analysis.straggler);
  EXPECT_EQ(copies.analysis.cause, LatenessCause::host_gaps);
}

// Three steps of ten are a habit, two are not.
TEST(ManyRanks, OneThatIsLateInFewStepsIsNoStraggler) {
  for (const int late_steps : {1, 2, 3}) {
    SCOPED_TRACE(late_steps);
    RankJob job;
    job.ranks = 4;
    job.steps = 10;
    job.cause = RankCause::more_work;
    job.late_steps = late_steps;
    const JobAnalysis analysis = made(job).analysis;
    EXPECT_EQ(analysis.late_steps, late_steps);
    EXPECT_EQ(analysis.recurrence, late_steps < 3 ? Recurrence::few_steps : Recurrence::same_rank);
    EXPECT_EQ(analysis.straggler, late_steps == 3 ? 1 : -1);
    EXPECT_EQ(analysis.cause, LatenessCause::more_work) << "of those steps";
  }
}

// A bucket's collective may end anywhere in a gap that the host leaves beside it.
TEST(ManyRanks, AGapBesideACollectiveIsNoWaitWhereverTheCollectiveEnds) {
  for (const int ranks : {2, 4}) {
    for (int late_us = 450; late_us <= 1200; late_us += 50) {
      SCOPED_TRACE(late_us);
      RankJob job;
      job.ranks = ranks;
      job.steps = 5;
      job.layers = 4;
      job.cause = late_us % 100 == 0 ? RankCause::host_gaps : RankCause::copies;
      job.late_ns = 1000.0 * late_us;
      const JobAnalysis analysis = made(job).analysis;
      EXPECT_EQ(analysis.straggler, 1);
      EXPECT_NEAR(analysis.rank_costs[1].late_ns, job.late_ns, 0.1 * job.late_ns);
      EXPECT_EQ(analysis.cause, late_us % 100 == 0 ? LatenessCause::host_gaps : LatenessCause::copies);
    }
  }
}

TEST(ManyRanks, ALatenessOfSeveralBucketsIsCountedWhole) {
  for (const int ranks : {2, 4}) {
    for (const RankCause cause : {RankCause::host_gaps, RankCause::more_cycles}) {
      RankJob job;
      job.ranks = ranks;
      job.steps = 8;
      job.cause = cause;
      job.late_ns = 6'000'000;
      const JobAnalysis analysis = made(job).analysis;
      EXPECT_EQ(analysis.straggler, 1);
      EXPECT_NEAR(analysis.rank_costs[1].late_ns, job.late_ns, 0.15 * job.late_ns);
      EXPECT_NEAR(analysis.rank_costs[0].exposed_wait_ns, job.late_ns, 0.15 * job.late_ns);
    }
  }
}

TEST(ManyRanks, AClockThatIsSampledTooSeldomIsNotToldFromCycles) {
  RankJob job;
  job.ranks = 4;
  job.steps = 12;
  job.cause = RankCause::lower_clock;
  job.rotating = true;
  job.clock_sample_ns = 100e6;
  const JobAnalysis analysis = made(job).analysis;
  ASSERT_TRUE(analysis.cause.has_value());
  EXPECT_EQ(*analysis.cause, LatenessCause::slower_kernels);
}

void expect_nobody(const JobAnalysis& analysis) {
  EXPECT_EQ(analysis.recurrence, Recurrence::nobody);
  EXPECT_EQ(analysis.late_steps, 0);
  EXPECT_FALSE(analysis.cause.has_value());
  EXPECT_TRUE(analysis.mismatches.empty());
}

TEST(ManyRanks, HealthyJobsNameNobodyWhateverTheirClocks) {
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    RankJob job;
    job.ranks = std::array{2, 3, 4, 6}[static_cast<std::size_t>(i) % 4];
    job.ranks_per_host = i % 2 == 0 ? 8 : 2;
    job.steps = 6;
    job.layers = 3;
    job.clock_offset_ns = i % 3 == 0 ? 0 : 4e6;
    job.clock_drift_ppb = i % 3 == 0 ? 0 : 30'000;
    job.seed = 100 + static_cast<std::uint64_t>(i);
    expect_nobody(made(job).analysis);
  }
}

TEST(ManyRanks, TheTrueOffsetIsInsideTheStatedInterval) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    RankJob job;
    job.ranks = 6;
    job.ranks_per_host = 2;
    job.steps = 10;
    job.clock_offset_ns = 11.56e9;
    job.clock_drift_ppb = 40'000;
    job.seed = seed;
    if (seed % 2 == 0) job.cause = RankCause::host_gaps;
    const Made all = made(job);
    ASSERT_EQ(all.job.clocks.size(), 3U);
    for (std::size_t host = 0; host < 3; ++host) {
      const store::JobClock& clock = all.job.clocks[host];
      EXPECT_EQ(clock.host, "host" + std::to_string(host));
      EXPECT_EQ(clock.status, host == 0 ? ClockStatus::reference : ClockStatus::aligned);
      // What a true time becomes on the host's clock less what the job says of it, early and late in the recording.
      for (const double true_ns : {0.0, 40e6}) {
        const double own_ns =
            true_ns + all.truth.offset_ns[2 * host] + all.truth.drift_ppb[2 * host] * 1e-9 * true_ns;
        const double since = own_ns - static_cast<double>(*clock.base_ns - 1'700'000'000'000'000'000);
        const double said = static_cast<double>(*clock.offset_ns) + *clock.drift_ppb * 1e-9 * since;
        const double error = own_ns - true_ns - said;
        // The beginning lies a little before the first collective: let a drift's error reach that far.
        EXPECT_GE(error, static_cast<double>(*clock.low_ns) - 2000);
        EXPECT_LE(error, static_cast<double>(*clock.high_ns) + 2000);
        EXPECT_LT(std::abs(error), 3000);
      }
      EXPECT_LT(*clock.high_ns - *clock.low_ns, 400'000);
    }
  }
}

TEST(ManyRanks, AClockThatJumpsContradictsAndIsNotUsed) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 2;
  job.ranks_per_host = 1;
  job.steps = 6;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  std::vector<store::Job> parts;
  for (const std::string& file : truth.files) parts.push_back(ranks_of(file).value());
  for (store::JobStep& step : parts[1].steps) step.start_ns += step.step_index >= 3 ? 40'000'000 : 0;
  store::Job whole = merged(std::move(parts)).value();
  align_clocks(whole);
  EXPECT_EQ(whole.clocks[1].status, ClockStatus::contradicts);
  const JobAnalysis analysis = analyse_job(whole).value();
  EXPECT_FALSE(analysis.rank_costs[1].clock_error_ns.has_value());
  for (const CollectiveCost& cost : analysis.collectives) {
    EXPECT_EQ(cost.source, WaitSource::durations);
    EXPECT_FALSE(cost.skew_ns.has_value());
  }
}

TEST(ManyRanks, TransferAndBusBandwidthAreThoseThatWerePlanted) {
  RankJob job;
  job.ranks = 8;
  job.cause = RankCause::more_cycles;
  const Made all = made(job);
  ASSERT_EQ(all.analysis.collectives.size(), 7U);
  const CollectiveCost& bucket = all.analysis.collectives[2];
  EXPECT_EQ(bucket.bytes, all.truth.bucket_bytes);
  EXPECT_NEAR(bucket.transfer_ns, all.truth.transfer_ns, 0.03 * all.truth.transfer_ns);
  ASSERT_TRUE(bucket.bus_bytes_per_s.has_value());
  EXPECT_NEAR(*bucket.bus_bytes_per_s,
              1.75 * static_cast<double>(all.truth.bucket_bytes) / all.truth.transfer_ns * 1e9, 1e10);
  EXPECT_NEAR(bucket.wait_ns + bucket.transfer_ns, bucket.duration_ns, 0.02 * bucket.duration_ns);
  EXPECT_NEAR(bucket.exposed_ns + bucket.hidden_ns, bucket.duration_ns, 0.02 * bucket.duration_ns);
  EXPECT_EQ(bucket.last_rank, 1);
  const CollectiveCost& norm = all.analysis.collectives.back();
  EXPECT_EQ(norm.bytes, 8);
}

// What NVLink carries, measured before one of the ranks was recorded: of collectives within a host alone.
TEST(ManyRanks, BusBandwidthIsHeldAgainstTheLinkOfAHost) {
  RankJob job;
  job.ranks = 4;
  job.steps = 4;
  for (const int ranks_per_host : {4, 2}) {
    job.ranks_per_host = ranks_per_host;
    const TemporaryDirectory directory;
    const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
    EXPECT_FALSE(analyse_job(merged_files(truth.files)).value().collectives[2].link_ratio.has_value());
    store::Database(truth.files[2], store::OpenMode::read_write)
        .execute(
            "INSERT INTO ceiling SELECT id, 'nvlink', 'to_peer', 'burst', NULL, 4e11, 'bytes_per_s', NULL, "
            "NULL, "
            "NULL, NULL, '' FROM device; INSERT INTO ceiling SELECT id, 'nvlink', 'both', 'burst', NULL, "
            "7e11, "
            "'bytes_per_s', NULL, NULL, NULL, NULL, '' FROM device; INSERT INTO ceiling SELECT id, 'pcie', "
            "'to_peer', 'burst', NULL, 9e11, 'bytes_per_s', NULL, NULL, NULL, NULL, '' FROM device");
    const store::Job all = merged_files(truth.files);
    EXPECT_EQ(all.links.size(), 2U);
    const JobAnalysis of_all = analyse_job(all).value();
    for (const CollectiveCost& cost : of_all.collectives) {
      ASSERT_TRUE(cost.bus_bytes_per_s.has_value());
      ASSERT_EQ(cost.link_ratio.has_value(), ranks_per_host == 4);
      if (ranks_per_host != 4) continue;
      EXPECT_DOUBLE_EQ(*cost.link_ratio, *cost.bus_bytes_per_s / 4e11);
    }
    // Of a rank that is not there nobody knows the host.
    const store::Job some = merged_files({truth.files[0], truth.files[1], truth.files[2]});
    const JobAnalysis of_some = analyse_job(some).value();
    for (const CollectiveCost& cost : of_some.collectives) EXPECT_FALSE(cost.link_ratio.has_value());
  }
}

// Behind the timeline steps come sampled ones: bytes over the links while each collective ran, beside what it
// has to send.
TEST(ManyRanks, TrafficIsOfSampledStepsAndOfTheCollectivesInThem) {
  RankJob job;
  job.ranks = 4;
  job.ranks_per_host = 2;
  job.steps = 6;
  job.sampled_steps = 2;
  job.cause = RankCause::more_cycles;
  const Made all = made(job);
  EXPECT_EQ(all.analysis.steps.size(), 6U) << "sampled steps are none of those that are compared";
  const CollectiveCost& bucket = all.analysis.collectives[2];
  const double sends = 1.5 * static_cast<double>(all.truth.bucket_bytes);
  ASSERT_TRUE(bucket.nvlink_ratio.has_value());
  EXPECT_NEAR(*bucket.nvlink_ratio, generate::kLinkOverhead, 0.01);
  EXPECT_NEAR(*bucket.link_bytes.nvlink_sent_bytes, generate::kLinkOverhead * sends, 0.01 * sends);
  EXPECT_EQ(bucket.link_bytes.nvlink_sent_bytes, bucket.link_bytes.nvlink_received_bytes);
  EXPECT_GT(bucket.link_calls, 0);
  EXPECT_LE(bucket.link_calls, 6 * 2 * 4) << "one for each bucket of a step, step and rank";
  const CollectiveCost& norm = all.analysis.collectives.back();
  EXPECT_EQ(norm.link_calls, 0) << "it is shorter than four samples";
  EXPECT_FALSE(norm.nvlink_ratio.has_value());
  for (const RankCost& rank : all.analysis.rank_costs) {
    ASSERT_TRUE(rank.link_bytes.nvlink_sent_bytes.has_value());
    EXPECT_NEAR(*rank.link_bytes.nvlink_sent_bytes, 6 * generate::kLinkOverhead * sends, 0.02 * 6 * sends);
    EXPECT_EQ(rank.link_bytes.pcie_sent_bytes, 0) << "sampled, and nothing was sent";
  }
}

TEST(ManyRanks, WithoutSamplesThereIsNoTraffic) {
  RankJob job;
  job.ranks = 2;
  job.steps = 4;
  const Made all = made(job);
  EXPECT_TRUE(all.job.traffic.empty());
  EXPECT_FALSE(all.analysis.collectives[0].link_bytes.nvlink_sent_bytes.has_value());
  EXPECT_FALSE(all.analysis.rank_costs[0].link_bytes.pcie_received_bytes.has_value());
}

TEST(ManyRanks, BandwidthIsNotKnownWhereBytesAreNot) {
  RankJob job;
  job.ranks = 2;
  job.steps = 4;
  job.bytes_known = false;
  const JobAnalysis analysis = made(job).analysis;
  for (const CollectiveCost& cost : analysis.collectives) {
    EXPECT_EQ(cost.function, CollectiveFunction::all_reduce);
    EXPECT_FALSE(cost.bytes.has_value());
    EXPECT_FALSE(cost.bus_bytes_per_s.has_value());
    EXPECT_EQ(cost.communicator, "stream 21");
  }
}

TEST(ManyRanks, TheAccountAddsUp) {
  RankJob job;
  job.ranks = 4;
  job.cause = RankCause::copies;
  const JobAnalysis analysis = made(job).analysis;
  double sum = 0;
  for (const AccountRow& row : analysis.account)
    sum += row.part == AccountPart::duration ? -row.time_ns : row.time_ns;
  EXPECT_NEAR(sum, 0, 1);
}

store::Job job_of_one_rank() {
  const TemporaryDirectory directory;
  RankJob one;
  one.ranks = 1;
  one.seed = 5;
  return ranks_of(generate::generate_rank_job(one, directory.path()).files[0]).value();
}

TEST(ManyRanks, TheScalingLossAddsUpToTheDifferenceFromOneRankAlone) {
  const store::Job alone_job = job_of_one_rank();
  RankJob job;
  job.ranks = 4;
  job.cause = RankCause::host_gaps;
  const Made all = made(job);
  const auto analysis = analyse_job(all.job, &alone_job);
  ASSERT_TRUE(analysis.ok()) << analysis.failure().message;
  ASSERT_TRUE(analysis.value().loss.has_value());
  const ScalingLoss& loss = *analysis.value().loss;
  EXPECT_LT(loss.efficiency_ratio, 1);
  EXPECT_NEAR(loss.alone_ns + loss.exposed_wait_ns + loss.exposed_transfer_ns + loss.parts.sum_ns(),
              loss.job_ns, 1);
  EXPECT_GT(loss.exposed_wait_ns, 0.5 * job.late_ns);
  EXPECT_NEAR(loss.parts.host_gaps_ns, job.late_ns / 4, 0.1 * job.late_ns / 4);  // of one rank in four
  EXPECT_LT(std::abs(loss.parts.rest_ns), 0.02 * (loss.job_ns - loss.alone_ns));
  const auto several = analyse_job(all.job, &all.job);
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.failure().kind, ErrorKind::usage);
}

TEST(ManyRanks, WhatCollectivesCostKernelsBesideThemIsThatWhichWasPlanted) {
  for (const double factor : {1.1, 1.3, 1.8}) {
    SCOPED_TRACE(factor);
    RankJob job;
    job.ranks = 3;
    job.steps = 12;
    job.links = 0.5;
    job.interference = factor;
    job.seed = 40;
    const Made all = made(job);
    const InterferenceOfJob& of = all.analysis.interference;
    ASSERT_EQ(of.refusal, InterferenceRefusal::none);
    EXPECT_GT(of.cost.low_ns, 0);
    EXPECT_LT(of.cost.controlled_ns,
              of.cost.beside_ns);  // the first kernel of a layer has none in the first layer
    EXPECT_GT(of.cost.controlled_ns, 0.5 * of.cost.beside_ns);
    const double whole = of.cost.cost_ns * of.cost.beside_ns / of.cost.controlled_ns;
    EXPECT_NEAR(whole, all.truth.interference_ns, 0.05 * all.truth.interference_ns);
    ASSERT_TRUE(of.factor_ratio.has_value());
    EXPECT_NEAR(*of.factor_ratio, factor, 0.05 * (factor - 1) * factor);
    ASSERT_EQ(of.ranks.size(), 3U);
    for (const RankInterference& rank : of.ranks) EXPECT_GT(rank.cost.low_ns, 0);
    for (const KernelInterference& kernel : of.kernels) {
      EXPECT_EQ(kernel.function, CollectiveFunction::all_reduce);
      EXPECT_EQ(kernel.compared > 0, kernel.cost_ns.has_value());
      EXPECT_EQ(kernel.compared > 0, kernel.controls >= 4);
    }
  }
}

TEST(ManyRanks, FortyHealthyJobsNameNobodyAndHaveNoCostOfCollectivesMoreOftenThanTheIntervalMayMiss) {
  int jobs = 0;
  int ranks = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RankJob job;
    job.ranks = 2 + static_cast<int>(seed % 3);
    job.steps = 8;
    job.seed = 500 + seed;
    const JobAnalysis analysis = made(job).analysis;
    expect_nobody(analysis);
    const InterferenceOfJob& of = analysis.interference;
    ASSERT_EQ(of.refusal, InterferenceRefusal::none);
    EXPECT_LT(std::abs(of.cost.cost_ns), 0.01 * of.cost.beside_ns);
    jobs += of.cost.shown() ? 1 : 0;
    for (const RankInterference& rank : of.ranks) ranks += rank.cost.shown() ? 1 : 0;
  }
  // 2 of 40 and 6 of 119 are expected; so many or fewer have a probability of 98 %.
  EXPECT_LE(jobs, 5);
  EXPECT_LE(ranks, 11);
}

TEST(ManyRanks, WithoutControlsTheCostOfCollectivesIsRefusedWithItsReason) {
  RankJob job;
  job.steps = 8;
  Made all = made(job);
  for (store::JobStep& step : all.job.steps) step.beside_cost_ns.reset();
  EXPECT_EQ(analyse_job(all.job).value().interference.refusal, InterferenceRefusal::no_controls);
  for (store::JobStep& step : all.job.steps) step.beside_ns = 0;
  EXPECT_EQ(analyse_job(all.job).value().interference.refusal, InterferenceRefusal::none_beside);
  for (store::JobStep& step : all.job.steps) step.beside_ns.reset();
  EXPECT_EQ(analyse_job(all.job).value().interference.refusal, InterferenceRefusal::not_kept);
  store::Job few = made(job).job;
  std::erase_if(few.steps, [](const store::JobStep& step) { return step.step_index >= 3; });
  std::erase_if(few.calls, [](const store::JobCall& call) { return call.step_index >= 3; });
  std::erase_if(few.kernel_steps, [](const store::JobKernelStep& row) { return row.step_index >= 3; });
  EXPECT_EQ(analyse_job(few).value().interference.refusal, InterferenceRefusal::few_steps);
  job.layers = 1;  // its only bucket runs beside nothing
  EXPECT_EQ(made(job).analysis.interference.refusal, InterferenceRefusal::none_beside);
}

TEST(ManyRanks, TheScalingLossHasWhatCollectivesCostKernelsApart) {
  const store::Job alone_job = job_of_one_rank();
  RankJob job;
  job.ranks = 4;
  job.links = 0.5;
  job.interference = 1.5;
  const Made all = made(job);
  const ScalingLoss loss = *analyse_job(all.job, &alone_job).value().loss;
  EXPECT_NEAR(loss.parts.beside_collectives_ns, all.analysis.interference.cost.cost_ns,
              0.05 * all.analysis.interference.cost.cost_ns);
  EXPECT_NEAR(loss.alone_ns + loss.exposed_wait_ns + loss.exposed_transfer_ns + loss.parts.sum_ns(),
              loss.job_ns, 1);
}

TEST(ManyRanks, LostRanksAreSaidAndNobodyIsClearedThen) {
  RankJob job;
  job.ranks = 6;
  job.steps = 5;
  job.lost = {2, 5};
  const JobAnalysis analysis = made(job).analysis;
  EXPECT_EQ(analysis.world_size, 6);
  EXPECT_EQ(analysis.missing, (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(analysis.recurrence, Recurrence::cannot_say);
}

TEST(ManyRanks, CallsInAnotherOrderAndLostOnesAreListed) {
  RankJob job;
  job.ranks = 4;
  job.steps = 6;
  job.reordered = 2;
  job.lost_calls = 3;
  const JobAnalysis analysis = made(job).analysis;
  ASSERT_EQ(analysis.mismatches.size(), 2U);
  EXPECT_EQ(analysis.mismatches[0].rank, 2);
  EXPECT_EQ(analysis.mismatches[0].step_index, 3);
  EXPECT_EQ(analysis.mismatches[0].kind, MismatchKind::reordered);
  EXPECT_EQ(analysis.mismatches[1].rank, 3);
  EXPECT_EQ(analysis.mismatches[1].step_index, 4);
  EXPECT_EQ(analysis.mismatches[1].kind, MismatchKind::lost);
  EXPECT_EQ(analysis.mismatches[1].missing, 2);
  EXPECT_EQ(analysis.recurrence, Recurrence::nobody);
}

TEST(ManyRanks, WhatKernelsOfACollectiveDoNotAgreeOnIsNotSaid) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 2;
  job.steps = 4;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  std::vector<store::Job> parts;
  for (const std::string& file : truth.files) parts.push_back(ranks_of(file).value());
  ASSERT_EQ(parts[1].sites.size(), 2U);
  parts[1].sites[0].blocks = parts[0].sites[0].blocks.value() + 1;
  parts[1].sites[0].protocol = CollectiveProtocol::ll;
  parts[1].sites[1].element_type = ElementType::bf16;
  parts[1].sites[1].algorithm = CollectiveAlgorithm::tree;
  const std::optional<std::int64_t> blocks = parts[0].sites[1].blocks;
  store::Job all = merged(std::move(parts)).value();
  align_clocks(all);
  const JobAnalysis analysis = analyse_job(all).value();
  int without_blocks = 0;
  int without_type = 0;
  for (const CollectiveCost& row : analysis.collectives) {
    EXPECT_EQ(row.blocks.value_or(*blocks), *blocks);
    EXPECT_EQ(row.element_type.value_or(ElementType::fp32), ElementType::fp32);
    EXPECT_EQ(row.algorithm.value_or(CollectiveAlgorithm::ring), CollectiveAlgorithm::ring);
    EXPECT_EQ(row.protocol.value_or(CollectiveProtocol::simple), CollectiveProtocol::simple);
    EXPECT_EQ(row.protocol.has_value(), row.blocks.has_value());
    EXPECT_EQ(row.algorithm.has_value(), row.element_type.has_value());
    without_blocks += row.blocks ? 0 : 1;
    without_type += row.element_type ? 0 : 1;
  }
  EXPECT_GT(without_blocks, 0);
  EXPECT_LT(without_blocks, static_cast<int>(analysis.collectives.size()));
  EXPECT_GT(without_type, 0);
  EXPECT_LT(without_type, static_cast<int>(analysis.collectives.size()));
}

// Numbers of the steps of a rank from elsewhere, as a recording has them that finds steps by their period.
void count_from(store::Job& part, std::int64_t rank, std::int64_t further) {
  const auto renumber = [&](auto& rows) {
    for (auto& row : rows) {
      if (row.rank == rank) row.step_index += further;
    }
  };
  renumber(part.steps);
  renumber(part.calls);
  renumber(part.kernel_steps);
}

// Which call on its communicator each is, known of the first `steps` steps alone.
void number_calls(store::Job& part, std::int64_t steps) {
  std::map<store::Id, std::int64_t> counts;  // by communicator
  for (store::JobCall& call : part.calls) {
    std::int64_t& count = counts[part.sites.at(static_cast<std::size_t>(call.site_id - 1)).communicator_id];
    call.ordinal = call.step_index < steps ? std::optional(count) : std::nullopt;
    ++count;
  }
}

TEST(ManyRanks, StepsThatEachRankCountsFromElsewhereAreTheSameSteps) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 4;
  job.steps = 12;
  job.straggler = 3;
  job.cause = RankCause::more_work;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  std::vector<store::Job> parts = parts_of(truth.files);
  for (store::Job& part : parts) number_calls(part, 0);
  const JobAnalysis expected = analyse_job(put_together(parts)).value();
  count_from(parts[0], 0, 218);
  count_from(parts[1], 1, 229);
  count_from(parts[2], 2, 3);
  count_from(parts[3], 3, 218);
  const JobAnalysis analysis = analyse_job(put_together(parts)).value();
  ASSERT_EQ(analysis.steps.size(), expected.steps.size());
  EXPECT_EQ(analysis.steps.front(), expected.steps.front() + 218);
  EXPECT_EQ(analysis.straggler, 3);
  ASSERT_EQ(analysis.collectives.size(), expected.collectives.size());
  for (std::size_t i = 0; i < expected.collectives.size(); ++i)
    EXPECT_DOUBLE_EQ(analysis.collectives[i].skew_ns.value_or(-1),
                     expected.collectives[i].skew_ns.value_or(-1));

  // In parts it is the same: ranks 2 and 3 are put together first, by the numbers of rank 2.
  std::vector<store::Job> halves;
  halves.push_back(merged({parts[0], parts[1]}).value());
  halves.push_back(merged({parts[2], parts[3]}).value());
  EXPECT_EQ(halves[1].steps.back().step_index, halves[1].steps[job.steps - 1].step_index);
  const store::Job in_parts = merged(std::move(halves)).value(), at_once = merged(std::move(parts)).value();
  ASSERT_EQ(in_parts.calls.size(), at_once.calls.size());
  for (std::size_t i = 0; i < at_once.calls.size(); ++i)
    EXPECT_EQ(in_parts.calls[i].step_index, at_once.calls[i].step_index);
}

TEST(ManyRanks, OfOtherHostsStepsWithTheSameCallsAreTheSameSteps) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 4;
  job.ranks_per_host = 2;
  job.steps = 12;
  job.straggler = 3;
  job.cause = RankCause::more_work;
  job.clock_offset_ns = 5e9;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  std::vector<store::Job> parts = parts_of(truth.files);
  const JobAnalysis expected = analyse_job(put_together(parts)).value();
  const auto numbered = [&](const std::vector<std::int64_t>& steps) {
    std::vector<store::Job> changed = parts;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      number_calls(changed[i], steps[i]);
      constexpr std::int64_t kFurther[] = {218, 229, 3, 40};
      count_from(changed[i], static_cast<std::int64_t>(i), kFurther[i]);
    }
    return changed;
  };
  // Of rank 1 no call is known: its host's clock tells.
  const JobAnalysis analysis = analyse_job(put_together(numbered({12, 0, 2, 5}))).value();
  EXPECT_EQ(analysis.steps.size(), expected.steps.size());
  EXPECT_EQ(analysis.steps.front(), expected.steps.front() + 218);
  EXPECT_EQ(analysis.straggler, 3);
  EXPECT_TRUE(analysis.mismatches.empty());
  ASSERT_EQ(analysis.collectives.size(), expected.collectives.size());
  for (std::size_t i = 0; i < expected.collectives.size(); ++i)
    EXPECT_DOUBLE_EQ(analysis.collectives[i].skew_ns.value_or(-1),
                     expected.collectives[i].skew_ns.value_or(-1));

  const auto first_of_each = [](std::vector<store::Job> changed) {
    std::vector<std::int64_t> first;
    const store::Job whole = merged(std::move(changed)).value();
    for (std::size_t i = 0; i < whole.steps.size(); i += 12) first.push_back(whole.steps[i].step_index);
    return first;
  };
  // The host without any that is known keeps its own numbers.
  EXPECT_EQ(first_of_each(numbered({12, 12, 0, 0})), (std::vector<std::int64_t>{218, 218, 3, 3}));
  EXPECT_EQ(first_of_each(numbered({0, 0, 12, 12})), (std::vector<std::int64_t>{218, 218, 3, 3}));
  EXPECT_EQ(first_of_each(numbered({12, 12, 12, 12})), (std::vector<std::int64_t>{218, 218, 218, 218}));
  // Two calls say nothing: one step has six buckets and the norm's.
  std::vector<store::Job> few = numbered({12, 12, 12, 12});
  for (std::size_t part : {2, 3}) {
    int left = 2;
    for (store::JobCall& call : few[part].calls) {
      if (left-- <= 0) call.ordinal.reset();
    }
  }
  EXPECT_EQ(first_of_each(few), (std::vector<std::int64_t>{218, 218, 3, 3}));
}

// Of steps with numbers of their own, or shown to be the same, nothing is said.
TEST(ManyRanks, HostsWhoseStepsAreJoinedByNumberAloneAreNamed) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 6;
  job.ranks_per_host = 2;
  job.steps = 4;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  const auto joined = [&](const std::vector<std::optional<StepSource>>& sources,
                          const std::vector<std::int64_t>& numbered) {
    std::vector<store::Job> parts = parts_of(truth.files);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].ranks.front().step_source = sources[i];
      number_calls(parts[i], numbered[i]);
    }
    return analyse_job(put_together(std::move(parts))).value().joined_by_numbers;
  };
  const std::optional<StepSource> marked = StepSource::nvtx, period = StepSource::period, unknown;
  using Hosts = std::vector<std::string>;
  std::set<std::string> hosts;
  for (const store::Job& part : parts_of(truth.files)) hosts.insert(*part.ranks.front().host);
  ASSERT_EQ(hosts.size(), 3U);
  const Hosts all(hosts.begin(), hosts.end());

  EXPECT_EQ(joined({marked, marked, marked, marked, marked, marked}, {0, 0, 0, 0, 0, 0}), Hosts{});
  EXPECT_EQ(joined({unknown, unknown, unknown, unknown, unknown, unknown}, {0, 0, 0, 0, 0, 0}), Hosts{});
  EXPECT_EQ(joined({marked, marked, period, marked, marked, marked}, {0, 0, 0, 0, 0, 0}), Hosts{all[1]});
  EXPECT_EQ(joined({period, period, period, period, period, period}, {4, 0, 0, 2, 4, 0}), Hosts{});
  EXPECT_EQ(joined({period, period, marked, marked, period, period}, {0, 0, 0, 0, 0, 0}),
            (Hosts{all[1], all[2]}));
  // The host of the lowest rank with ordinals is the one that others are held against.
  EXPECT_EQ(joined({period, period, period, period, period, period}, {0, 0, 4, 0, 0, 4}), Hosts{all[0]});
}

// Ordinals are right where time is not: a rank a whole step behind the others leaves with them.
TEST(ManyRanks, OrdinalsDecideBeforeTime) {
  const TemporaryDirectory directory;
  RankJob job;
  job.steps = 8;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  std::vector<store::Job> parts = parts_of(truth.files);
  for (store::Job& part : parts) number_calls(part, 8);
  const std::int64_t calls_of_step = static_cast<std::int64_t>(parts[0].calls.size()) / 8;
  for (store::JobCall& call : parts[1].calls) *call.ordinal += calls_of_step;
  const store::Job whole = merged(parts).value();
  EXPECT_EQ(whole.steps.front().step_index, 0);
  EXPECT_EQ(whole.steps[8].step_index, 1);
  // Steps are numbered from 0: none is put before.
  for (store::JobCall& call : parts[1].calls) *call.ordinal -= 2 * calls_of_step;
  const store::Job kept = merged(parts).value();
  EXPECT_EQ(kept.steps[8].step_index, 0);
}

// What is too short to be told by its time keeps its numbers.
TEST(ManyRanks, TwoStepsSayNothingOfTheirNumbers) {
  const TemporaryDirectory directory;
  RankJob job;
  job.steps = 2;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  std::vector<store::Job> parts = parts_of(truth.files);
  for (store::Job& part : parts) number_calls(part, 0);
  count_from(parts[1], 1, 5);
  const store::Job whole = merged(std::move(parts)).value();
  EXPECT_EQ(whole.steps.back().step_index, whole.steps.front().step_index + 1 + 5);
}

TEST(ManyRanks, MergingInPartsGivesTheSameAsMergingAtOnce) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 5;
  job.ranks_per_host = 2;
  job.steps = 4;
  job.sampled_steps = 1;
  job.clock_offset_ns = 2e6;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  const store::Job at_once = merged_files(truth.files);
  std::vector<store::Job> halves;
  for (const auto& files : {std::vector<std::string>{truth.files[4], truth.files[1]},
                            std::vector<std::string>{truth.files[2], truth.files[0], truth.files[3]}}) {
    const std::string path = directory.file("part" + std::to_string(halves.size()) + ".ridge");
    store::write_job(path, store::Run{.ridgeline_version = "0.1.0", .clock = "cupti"}, merged_files(files))
        .value();
    halves.push_back(ranks_of(path).value());
  }
  store::Job in_parts = merged(std::move(halves)).value();
  align_clocks(in_parts);
  ASSERT_EQ(in_parts.calls.size(), at_once.calls.size());
  for (std::size_t i = 0; i < at_once.calls.size(); ++i) {
    EXPECT_EQ(in_parts.calls[i].rank, at_once.calls[i].rank);
    EXPECT_EQ(in_parts.calls[i].site_id, at_once.calls[i].site_id);
    EXPECT_EQ(in_parts.calls[i].hidden_ns, at_once.calls[i].hidden_ns);
  }
  ASSERT_EQ(in_parts.sites.size(), at_once.sites.size());
  for (std::size_t i = 0; i < at_once.sites.size(); ++i) {
    EXPECT_EQ(in_parts.sites[i].bytes, at_once.sites[i].bytes);
    EXPECT_EQ(in_parts.sites[i].element_type, ElementType::fp32);
    EXPECT_EQ(in_parts.sites[i].algorithm, CollectiveAlgorithm::ring);
    EXPECT_EQ(in_parts.sites[i].protocol, CollectiveProtocol::simple);
    EXPECT_EQ(in_parts.sites[i].blocks, at_once.sites[i].blocks);
    EXPECT_GT(at_once.sites[i].blocks.value_or(0), 0);
  }
  ASSERT_EQ(in_parts.kernel_steps.size(), at_once.kernel_steps.size());
  for (std::size_t i = 0; i < at_once.kernel_steps.size(); ++i) {
    EXPECT_EQ(in_parts.kernel_steps[i].kernel_id, at_once.kernel_steps[i].kernel_id);
    EXPECT_EQ(in_parts.kernel_steps[i].time_ns, at_once.kernel_steps[i].time_ns);
  }
  ASSERT_EQ(in_parts.traffic.size(), at_once.traffic.size());
  EXPECT_GT(at_once.traffic.size(), 5U);
  for (std::size_t i = 0; i < at_once.traffic.size(); ++i) {
    EXPECT_EQ(in_parts.traffic[i].rank, at_once.traffic[i].rank);
    EXPECT_EQ(in_parts.traffic[i].site_id, at_once.traffic[i].site_id);
    EXPECT_EQ(in_parts.traffic[i].bytes, at_once.traffic[i].bytes);
  }
  ASSERT_EQ(in_parts.interference.size(), at_once.interference.size());
  EXPECT_GT(at_once.interference.size(), 5U);
  for (std::size_t i = 0; i < at_once.interference.size(); ++i) {
    EXPECT_EQ(in_parts.interference[i].rank, at_once.interference[i].rank);
    EXPECT_EQ(in_parts.interference[i].kernel_id, at_once.interference[i].kernel_id);
    EXPECT_EQ(in_parts.interference[i].cost_ns, at_once.interference[i].cost_ns);
  }
  for (std::size_t i = 0; i < at_once.steps.size(); ++i)
    EXPECT_EQ(in_parts.steps[i].beside_cost_ns, at_once.steps[i].beside_cost_ns);
  ASSERT_EQ(in_parts.clocks.size(), at_once.clocks.size());
  for (std::size_t i = 0; i < at_once.clocks.size(); ++i) {
    EXPECT_EQ(in_parts.clocks[i].host, at_once.clocks[i].host);
    EXPECT_EQ(in_parts.clocks[i].offset_ns, at_once.clocks[i].offset_ns);
    EXPECT_EQ(in_parts.clocks[i].low_ns, at_once.clocks[i].low_ns);
  }
}

// Workers of a rank have its environment and are recorded as that rank; only who works on the device counts.
TEST(ManyRanks, AProcessWithoutKernelsIsNoSecondOneOfItsRank) {
  const TemporaryDirectory directory;
  RankJob job;
  job.steps = 2;
  job.layers = 1;
  const RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  const auto before = ranks_of(truth.files[0]);
  ASSERT_TRUE(before.ok());
  store::Database(truth.files[0], store::OpenMode::read_write)
      .execute("INSERT INTO process(pid, rank, command) VALUES (77, 0, 'loader')");
  const auto with_worker = ranks_of(truth.files[0]);
  ASSERT_TRUE(with_worker.ok()) << with_worker.failure().message;
  EXPECT_EQ(with_worker.value().ranks.size(), 1U);
  EXPECT_EQ(with_worker.value().ranks[0].process_id, before.value().ranks[0].process_id);
  EXPECT_EQ(with_worker.value().calls.size(), before.value().calls.size());
  store::Database(truth.files[0], store::OpenMode::read_write)
      .execute("INSERT INTO process(pid, rank, command) VALUES (78, 5, 'loader')");
  const auto idle = ranks_of(truth.files[0]);
  ASSERT_FALSE(idle.ok());
  EXPECT_EQ(idle.failure().kind, ErrorKind::no_data);
  EXPECT_NE(idle.failure().message.find("rank 5 has no timeline step"), std::string::npos);
}

// What merging says of two jobs' captures.
std::string refusal(const RankJob& one, const RankJob& other, std::size_t rank_of_one,
                    std::size_t rank_of_other) {
  const TemporaryDirectory first, second;
  const auto a = generate::generate_rank_job(one, first.path()).files[rank_of_one];
  const auto b = generate::generate_rank_job(other, second.path()).files[rank_of_other];
  const auto result = merged({ranks_of(a).value(), ranks_of(b).value()});
  if (result.ok()) return "";
  EXPECT_EQ(result.failure().kind, ErrorKind::usage);
  EXPECT_NE(result.failure().message.find(".ridge"), std::string::npos);
  EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
  return result.failure().message;
}

TEST(Merging, RefusesWhatDoesNotBelongTogether) {
  RankJob job;
  job.steps = 2;
  job.layers = 1;
  EXPECT_EQ(refusal(job, job, 0, 1), "");
  EXPECT_NE(refusal(job, job, 1, 1).find("rank 1 is there twice"), std::string::npos);
  RankJob other = job;
  other.command_line = "serve --layers 6";
  EXPECT_NE(refusal(job, other, 0, 1).find("ran another program"), std::string::npos);
  other = job;
  other.ranks = 3;
  EXPECT_NE(refusal(job, other, 0, 1).find("is of a job of 3 ranks"), std::string::npos);
  other = job;
  other.communicator = "beef";
  EXPECT_NE(refusal(job, other, 0, 1).find("are of two runs"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::analyzer
