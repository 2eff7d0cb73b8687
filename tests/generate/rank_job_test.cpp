#include "generate/rank_job.h"

#include <gtest/gtest.h>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/collectives.h"
#include "support/temporary_directory.h"

namespace ridgeline::generate {
namespace {

using ridgeline::testing::TemporaryDirectory;

std::vector<store::Launch> collectives_of(const std::string& file) {
  const store::Capture capture = store::Capture::open(file).value();
  std::map<store::Id, KernelClass> classes;
  for (const store::Kernel& kernel : capture.kernels()) classes[kernel.id] = kernel.kernel_class;
  std::vector<store::Launch> found;
  for (const store::Launch& launch : capture.launches()) {
    if (classes.at(launch.kernel_id) == KernelClass::communication) found.push_back(launch);
  }
  return found;
}

TEST(RankJobs, NoRankLeavesACollectiveBeforeTheLastHasEntered) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 4;
  job.steps = 5;
  job.cause = RankCause::host_gaps;
  const RankJobTruth truth = generate_rank_job(job, directory.path());
  ASSERT_EQ(truth.files.size(), 4U);
  std::vector<std::vector<store::Launch>> calls;
  for (const std::string& file : truth.files) calls.push_back(collectives_of(file));
  ASSERT_EQ(calls[0].size(), 5U * 7U);
  int last_is_straggler = 0;
  for (std::size_t i = 0; i < calls[0].size(); ++i) {
    std::int64_t arrival = 0;
    for (const auto& rank : calls) arrival = std::max(arrival, rank[i].start_ns);
    for (const auto& rank : calls) EXPECT_GT(rank[i].end_ns, arrival);
    if (calls[1][i].start_ns == arrival) ++last_is_straggler;
  }
  EXPECT_GT(last_is_straggler, 20);
}

TEST(RankJobs, AnotherHostHasAnotherClockAndAllIsSaidOfACall) {
  const TemporaryDirectory directory;
  RankJob job;
  job.ranks = 4;
  job.ranks_per_host = 2;
  job.steps = 2;
  job.clock_offset_ns = 5e6;
  const RankJobTruth truth = generate_rank_job(job, directory.path());
  EXPECT_EQ(truth.offset_ns[0], 0);
  EXPECT_EQ(truth.offset_ns[1], 0);
  EXPECT_NE(truth.offset_ns[2], 0);
  EXPECT_EQ(truth.offset_ns[2], truth.offset_ns[3]);
  const store::Capture capture = store::Capture::open(truth.files[3]).value();
  for (const std::string& line : capture.verify().damage) ADD_FAILURE() << line;
  const auto groups = store::communicators(capture);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].ranks, 4);
  EXPECT_EQ(groups[0].rank, 3);
  const auto calls = store::collectives(capture);
  ASSERT_EQ(calls.size(), 14U);
  EXPECT_EQ(calls[0].bytes, truth.bucket_bytes);
  EXPECT_EQ(calls[6].bytes, 8);
  EXPECT_EQ(calls[7].ordinal, 7);
}

TEST(RankJobs, LostRanksHaveNoFileAndTheSameSeedGivesTheSameJob) {
  const TemporaryDirectory one, two;
  RankJob job;
  job.ranks = 3;
  job.steps = 2;
  job.lost = {1};
  const RankJobTruth truth = generate_rank_job(job, one.path());
  ASSERT_EQ(truth.files.size(), 2U);
  const RankJobTruth again = generate_rank_job(job, two.path());
  const auto a = collectives_of(truth.files[1]), b = collectives_of(again.files[1]);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].start_ns, b[i].start_ns);
}

}  // namespace
}  // namespace ridgeline::generate
