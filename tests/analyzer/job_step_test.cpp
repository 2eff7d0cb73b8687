// One step of all ranks, and the collectives that join them, of jobs whose truth is known.
#include "ridgeline/analyzer/ranks/job_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generate/rank_job.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using generate::RankCause;
using generate::RankJob;

struct StepOfJob {
  store::Job job;
  JobAnalysis analysis;
};

StepOfJob late_job(int ranks, int straggler) {
  RankJob options;
  options.ranks = ranks;
  options.ranks_per_host = 2;
  options.steps = 6;
  options.layers = 4;
  options.cause = RankCause::more_work;
  options.straggler = straggler;
  options.late_ns = 2e6;
  options.clock_offset_ns = 3e6;
  options.clock_drift_ppb = 20'000;
  const ridgeline::testing::TemporaryDirectory directory;
  std::vector<store::Job> parts;
  for (const std::string& file : generate::generate_rank_job(options, directory.path()).files)
    parts.push_back(ranks_of(file).value());
  StepOfJob made;
  made.job = merged(std::move(parts)).value();
  align_clocks(made.job);
  made.analysis = analyse_job(made.job).value();
  return made;
}

TEST(JobSteps, CollectivesEndTogetherOnAllRanksAndTheStragglerIsLastIn) {
  const StepOfJob of = late_job(6, 3);
  const std::int64_t index = telling_step(of.analysis);
  const JobStepRows step = job_step_rows(of.job, of.analysis, index, 100).value();
  ASSERT_EQ(step.rows.size(), 6U);
  ASSERT_EQ(step.collectives.size(), 5U);  // a bucket a layer, and the norm
  ASSERT_TRUE(step.error_ns.has_value());
  EXPECT_GT(*step.error_ns, 0);
  for (const RankRow& row : step.rows) {
    ASSERT_EQ(row.calls.size(), 5U);
    for (const RankCall& call : row.calls)
      EXPECT_NEAR(call.end_ns, step.rows[0].calls[call.collective].end_ns, *step.error_ns + 1000);
    EXPECT_LE(row.end_ns, step.duration_ns + 1);
    EXPECT_GE(row.start_ns, 0);
  }
  int last = 0;
  for (const JoinedCollective& joined : step.collectives) last += joined.last_rank == 3 ? 1 : 0;
  EXPECT_GE(last, 3);
  EXPECT_GT(step.rows[3].lateness_ns, of.analysis.late_threshold_ns);
}

TEST(JobSteps, SegmentsAreTheCallWithoutHolesAndWaitsEndWhenTheLastRankEnters) {
  const StepOfJob of = late_job(4, 1);
  const JobStepRows step = job_step_rows(of.job, of.analysis, telling_step(of.analysis), 100).value();
  double waited = 0;
  for (const RankRow& row : step.rows) {
    for (const RankCall& call : row.calls) {
      double at = call.start_ns;
      for (const CallSegment& segment : call.segments) {
        EXPECT_EQ(segment.start_ns, at);
        EXPECT_GT(segment.end_ns, segment.start_ns);
        EXPECT_EQ(segment.waits, segment.end_ns <= *step.collectives[call.collective].arrival_ns);
        if (segment.waits) waited += segment.end_ns - segment.start_ns;
        at = segment.end_ns;
      }
      EXPECT_EQ(at, call.end_ns);
    }
  }
  EXPECT_GT(waited, 3 * 0.5e6);  // three ranks wait for one that is 2 ms late, in parts
}

TEST(JobSteps, OfManyRanksTheLatestAndSomeOfTheOthersAreThere) {
  const StepOfJob of = late_job(12, 7);
  const JobStepRows step = job_step_rows(of.job, of.analysis, telling_step(of.analysis), 4).value();
  ASSERT_EQ(step.rows.size(), 4U);
  EXPECT_EQ(step.ranks, 12);
  bool there = false;
  for (std::size_t i = 0; i < step.rows.size(); ++i) {
    there = there || step.rows[i].rank == 7;
    if (i > 0) {
      EXPECT_LT(step.rows[i - 1].rank, step.rows[i].rank);
    }
  }
  EXPECT_TRUE(there);
}

TEST(JobSteps, WithoutClocksEveryRankBeginsAtTheSamePlaceAndNobodyIsLast) {
  StepOfJob of = late_job(4, 1);
  of.job.clocks.clear();
  const JobStepRows step = job_step_rows(of.job, of.analysis, telling_step(of.analysis), 100).value();
  EXPECT_FALSE(step.error_ns.has_value());
  for (const RankRow& row : step.rows) EXPECT_EQ(row.start_ns, 0);
  for (const JoinedCollective& joined : step.collectives) {
    EXPECT_EQ(joined.last_rank, -1);
    EXPECT_FALSE(joined.arrival_ns.has_value());
  }
}

TEST(JobSteps, AStepThatIsNotThereIsSaid) {
  const StepOfJob of = late_job(2, 1);
  const auto step = job_step_rows(of.job, of.analysis, 999, 100);
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.failure().kind, ErrorKind::no_data);
}

}  // namespace
}  // namespace ridgeline::analyzer
