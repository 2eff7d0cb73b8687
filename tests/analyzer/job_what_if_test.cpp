// What another communication would make of a job's steps, against the same job generated with it.
#include "ridgeline/analyzer/ranks/job_what_if.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "generate/rank_job.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using generate::RankCause;
using generate::RankJob;
using generate::RankJobTruth;

struct GeneratedJob {
  RankJobTruth truth;
  store::Job job;
};

GeneratedJob generated(const RankJob& options) {
  const ridgeline::testing::TemporaryDirectory directory;
  GeneratedJob made;
  made.truth = generate::generate_rank_job(options, directory.path());
  std::vector<store::Job> parts;
  for (const std::string& file : made.truth.files) parts.push_back(ranks_of(file).value());
  made.job = merged(std::move(parts)).value();
  align_clocks(made.job);
  return made;
}

// Six layers of which the last buckets queue, and an embedding that nothing hides.
RankJob base_job(int ranks) {
  RankJob job;
  job.ranks = ranks;
  job.ranks_per_host = 4;
  job.steps = 8;
  job.layers = 6;
  job.embedding_bytes = 150'000'000;
  job.links = 0.2;  // slow enough that collectives queue
  job.clock_offset_ns = 3e6;
  job.clock_drift_ppb = 20'000;
  job.seed = 5 + static_cast<std::uint64_t>(ranks);
  return job;
}

JobChange with_links(double links) {
  JobChange change;
  change.text = "links";
  change.links = links;
  return change;
}
JobChange with_buckets(std::int64_t bytes) {
  JobChange change;
  change.text = "bucket";
  change.bucket_bytes = bytes;
  return change;
}
JobChange overlapped() {
  JobChange change;
  change.text = "overlap";
  change.perfect_overlap = true;
  return change;
}
JobChange balanced() {
  JobChange change;
  change.text = "no-skew";
  change.no_skew = true;
  return change;
}

// The prediction for the change against the same job made that way, as a share of the step.
double error_of(const GeneratedJob& recorded, const JobChange& change, const RankJob& then) {
  const JobWhatIf answer = accepted(what_if_job(recorded.job, {change})).value();
  EXPECT_LT(answer.replay_error_ratio, 0.002);
  EXPECT_NEAR(answer.step_ns, recorded.truth.step_ns, 0.002 * recorded.truth.step_ns);
  EXPECT_TRUE(answer.rows.at(0).gain.has_value());
  const double truth_ns = generate::simulate_rank_job(then).step_ns;
  const double error = answer.rows[0].gain->step_ns / truth_ns - 1;
  ::testing::Test::RecordProperty("error", std::to_string(error));
  return error;
}

TEST(JobWhatIfs, FasterAndSlowerLinksArePredictedWithinHalfAPercentOfTheStep) {
  for (const int ranks : {2, 6}) {
    const RankJob job = base_job(ranks);
    const GeneratedJob recorded = generated(job);
    for (const double times : {0.5, 1.5, 2.0, 4.0, 10.0}) {
      SCOPED_TRACE(times);
      RankJob then = job;
      then.links = job.links * times;
      EXPECT_NEAR(error_of(recorded, with_links(times), then), 0, 0.005);
    }
  }
}

TEST(JobWhatIfs, PerfectOverlapIsPredictedWithinHalfAPercentOfTheStep) {
  for (const int ranks : {2, 6}) {
    for (const RankCause cause : {RankCause::none, RankCause::more_work}) {
      RankJob job = base_job(ranks);
      job.cause = cause;
      const GeneratedJob recorded = generated(job);
      RankJob then = job;
      then.free_transfers = true;
      EXPECT_NEAR(error_of(recorded, overlapped(), then), 0, 0.005);
    }
  }
}

TEST(JobWhatIfs, WithoutItsStragglerAJobTakesWhatAHealthyOneDoes) {
  for (const RankCause cause : {RankCause::more_work, RankCause::host_gaps, RankCause::copies}) {
    for (const bool rotating : {false, true}) {
      RankJob job = base_job(6);
      job.links = 1;
      job.cause = cause;
      job.rotating = rotating;
      const GeneratedJob recorded = generated(job);
      RankJob then = job;
      then.cause = RankCause::none;
      EXPECT_NEAR(error_of(recorded, balanced(), then), 0, 0.01);
    }
  }
}

TEST(JobWhatIfs, LargerBucketsArePredictedWithinFivePercentOfTheStep) {
  for (const int ranks : {2, 6}) {
    for (const std::int64_t recorded_bytes :
         {std::int64_t{0}, std::int64_t{1'000'000}, std::int64_t{10'000'000}}) {
      RankJob job = base_job(ranks);
      job.bucket_bytes = recorded_bytes;
      const GeneratedJob recorded = generated(job);
      for (const std::int64_t bytes : {28'311'552, 57'000'000, 85'000'000, 114'000'000, 1'000'000'000}) {
        SCOPED_TRACE(bytes);
        RankJob then = job;
        then.bucket_bytes = bytes;
        EXPECT_NEAR(error_of(recorded, with_buckets(bytes), then), 0, 0.05);
      }
    }
  }
}

TEST(JobWhatIfs, OfSmallBucketsAllLargerOnesArePredicted) {
  RankJob job = base_job(4);
  job.bucket_bytes = 1'000'000;
  const GeneratedJob recorded = generated(job);
  for (const std::int64_t bytes : {2'500'000, 5'000'000, 12'000'000, 25'000'000, 60'000'000}) {
    SCOPED_TRACE(bytes);
    RankJob then = job;
    then.bucket_bytes = bytes;
    EXPECT_NEAR(error_of(recorded, with_buckets(bytes), then), 0, 0.05);
  }
}

// Kernels and collectives that are slower beside each other. Kernels of the first layer of the backward pass are beside
// none: the controls; the layers' buckets are hidden, and the embedding's is not.
RankJob contending_job(int ranks, double kernels, double collectives) {
  RankJob job = base_job(ranks);
  job.steps = 12;
  job.interference = kernels;
  job.interference_of_collectives = collectives;
  return job;
}

// What is predicted if both stay as fast as they were.
double predicted_without(const JobGain& gain) {
  return gain.step_ns + *gain.contention_ns;
}

std::string text_of(const JobChange& change) {
  if (change.bucket_bytes) return "bucket of " + std::to_string(*change.bucket_bytes);
  return change.perfect_overlap ? "overlap" : "links " + std::to_string(change.links);
}

struct Errors {
  double with = 0, without = 0;  // of the step
};
Errors contended_errors(const GeneratedJob& recorded, const JobChange& change, const RankJob& then) {
  const JobWhatIf answer = accepted(what_if_job(recorded.job, {change})).value();
  EXPECT_LT(answer.replay_error_ratio, 0.01);
  const double truth_ns = generate::simulate_rank_job(then).step_ns;
  const JobGain gain = answer.rows.at(0).gain.value_or(JobGain{});
  if (!gain.contention_ns) {
    ADD_FAILURE() << "nothing is said of what kernels and collectives cost each other";
    return {};
  }
  const Errors errors{gain.step_ns / truth_ns - 1, predicted_without(gain) / truth_ns - 1};
  ::testing::Test::RecordProperty(text_of(change),
                                  std::to_string(errors.with) + " " + std::to_string(errors.without));
  return errors;
}

TEST(JobWhatIfs, WhatCollectivesCostKernelsIsInThePredictionOfOtherBuckets) {
  for (const double factor : {1.3, 1.9}) {
    SCOPED_TRACE(factor);
    const RankJob job = contending_job(2, factor, 1);
    const GeneratedJob recorded = generated(job);
    const JobWhatIf answer = accepted(what_if_job(recorded.job, {overlapped()})).value();
    EXPECT_NEAR(answer.contention.factor_ratio.value(), factor, 0.05 * factor);
    EXPECT_NEAR(answer.contention.cost_ns, recorded.truth.interference_ns,
                0.1 * recorded.truth.interference_ns);
    for (const std::int64_t bytes : {57'000'000, 85'000'000, 114'000'000, 1'000'000'000}) {
      SCOPED_TRACE(bytes);
      RankJob then = job;
      then.bucket_bytes = bytes;
      const Errors errors = contended_errors(recorded, with_buckets(bytes), then);
      EXPECT_NEAR(errors.with, 0, 0.03);
      if (bytes == 1'000'000'000) {
        EXPECT_GT(errors.without, 0.05 * (factor - 1));
      }
    }
  }
}

TEST(JobWhatIfs, KernelsAndCollectivesThatSlowEachOtherAreToldApart) {
  for (const int ranks : {2, 4}) {
    const RankJob job = contending_job(ranks, 1.9, 1.6);
    const GeneratedJob recorded = generated(job);
    const JobWhatIf answer = accepted(what_if_job(recorded.job, {overlapped()})).value();
    ASSERT_EQ(answer.fits.size(), 1U);
    EXPECT_NEAR(answer.fits[0].beside_factor_ratio.value(), 1.6, 0.08);
    EXPECT_NEAR(answer.contention.factor_ratio.value(), 1.9, 0.1);
    for (const std::int64_t bytes : {57'000'000, 85'000'000, 114'000'000, 1'000'000'000}) {
      SCOPED_TRACE(bytes);
      RankJob then = job;
      then.bucket_bytes = bytes;
      const Errors errors = contended_errors(recorded, with_buckets(bytes), then);
      EXPECT_NEAR(errors.with, 0, 0.03);
      if (bytes == 1'000'000'000) {
        EXPECT_GT(errors.without, 0.08);
      }
    }
  }
}

TEST(JobWhatIfs, FasterLinksFreeKernelsAndPerfectOverlapDoesNot) {
  for (const double collectives : {1.0, 1.6}) {
    SCOPED_TRACE(collectives);
    const RankJob job = contending_job(4, 1.7, collectives);
    const GeneratedJob recorded = generated(job);
    for (const double times : {0.7, 2.0, 4.0}) {
      RankJob then = job;
      then.links = job.links * times;
      EXPECT_NEAR(contended_errors(recorded, with_links(times), then).with, 0, 0.02);
    }
    RankJob then = job;
    then.free_transfers = true;
    const Errors errors = contended_errors(recorded, overlapped(), then);
    EXPECT_NEAR(errors.with, 0, 0.03);
    EXPECT_LT(errors.without, -0.03);
  }
}

TEST(JobWhatIfs, WithoutControlsKernelsStayAsFastAsTheyWere) {
  RankJob job = contending_job(2, 1.5, 1);
  GeneratedJob recorded = generated(job);
  for (store::JobStep& step : recorded.job.steps) step.beside_cost_ns.reset();
  const JobWhatIf answer = accepted(what_if_job(recorded.job, {with_buckets(60'000'000)})).value();
  EXPECT_EQ(answer.contention.refusal, InterferenceRefusal::no_controls);
  EXPECT_FALSE(answer.contention.factor_ratio.has_value());
  EXPECT_FALSE(answer.rows.at(0).gain->contention_ns.has_value());
}

TEST(JobWhatIfs, HalfOfTheControlsTellTheRest) {
  const RankJob job = contending_job(2, 1.6, 1);
  GeneratedJob recorded = generated(job);
  for (store::JobStep& step : recorded.job.steps) {
    step.beside_controlled_ns = *step.beside_controlled_ns / 2;
    step.beside_cost_ns = *step.beside_cost_ns / 2;
  }
  const JobWhatIf answer = accepted(what_if_job(recorded.job, {overlapped()})).value();
  EXPECT_NEAR(answer.contention.factor_ratio.value(), 1.6, 0.08);
  EXPECT_NEAR(answer.contention.cost_ns, recorded.truth.interference_ns,
              0.1 * recorded.truth.interference_ns);
}

JobWhatIfRefusal refusal_of(const GeneratedJob& recorded, const JobChange& change) {
  const JobWhatIf answer = accepted(what_if_job(recorded.job, {change})).value();
  EXPECT_FALSE(answer.rows.at(0).gain.has_value());
  return answer.rows[0].refusal;
}

TEST(JobWhatIfs, SmallerBucketsThanRecordedAreRefused) {
  const GeneratedJob recorded = generated(base_job(2));
  EXPECT_EQ(refusal_of(recorded, with_buckets(2'000'000)), JobWhatIfRefusal::finer_buckets);
  EXPECT_EQ(refusal_of(recorded, with_buckets(20'000'000)), JobWhatIfRefusal::finer_buckets);
}

TEST(JobWhatIfs, WithoutTimesOfReadinessOtherBucketsAreRefusedAndFasterLinksAreNot) {
  GeneratedJob recorded = generated(base_job(2));
  for (store::JobCall& call : recorded.job.calls) call.ready_offset_ns.reset();
  const JobWhatIf answer =
      accepted(what_if_job(recorded.job, {with_buckets(60'000'000), overlapped()})).value();
  EXPECT_EQ(answer.rows.at(0).refusal, JobWhatIfRefusal::ready_unknown);
  EXPECT_EQ(answer.rows.at(1).refusal, JobWhatIfRefusal::none);
  EXPECT_EQ(answer.calls_without_ready, answer.calls);
}

TEST(JobWhatIfs, WithoutBytesThereAreNoBuckets) {
  RankJob job = base_job(2);
  job.bytes_known = false;
  EXPECT_EQ(refusal_of(generated(job), with_buckets(60'000'000)), JobWhatIfRefusal::no_buckets);
}

TEST(JobWhatIfs, ReductionsThatNothingWaitsForTellNothingOfSlowerOnes) {
  GeneratedJob recorded = generated(base_job(2));
  for (store::JobCall& call : recorded.job.calls) call.hidden_ns = {0, call.duration_ns};
  EXPECT_EQ(refusal_of(recorded, with_links(0.5)), JobWhatIfRefusal::never_waited);
  EXPECT_EQ(refusal_of(recorded, with_buckets(60'000'000)), JobWhatIfRefusal::never_waited);
}

TEST(JobWhatIfs, OneRankAloneHasNoAnswer) {
  const GeneratedJob recorded = generated(base_job(2));
  store::Job one = recorded.job;
  one.ranks.resize(1);
  EXPECT_EQ(accepted(what_if_job(one, {overlapped()})).failure().kind, ErrorKind::no_data);
}

}  // namespace
}  // namespace ridgeline::analyzer
