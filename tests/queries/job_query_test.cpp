// Many ranks for a client that shows them: the job, one of its steps, and where a rank's own capture is.
#include "ridgeline/queries/job_query.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "generate/rank_job.h"
#include "ridgeline/queries/ranks_query.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

namespace fs = std::filesystem;

struct AskedJob {
  ridgeline::testing::TemporaryDirectory directory;
  std::vector<std::string> files;
  std::string path;

  AskedJob() {
    generate::RankJob job;
    job.ranks = 3;
    job.steps = 5;
    job.layers = 2;
    job.cause = generate::RankCause::copies;
    job.straggler = 2;
    job.late_ns = 1e6;
    files = generate::generate_rank_job(job, directory.path()).files;
    path = directory.file("job.ridge");
    EXPECT_TRUE(merge_ranks(files, path).ok());
  }
};

TEST(JobQuery, AMergedJobIsToldFromTheCaptureOfARank) {
  const AskedJob job;
  EXPECT_TRUE(is_merged_job(job.path).value());
  EXPECT_FALSE(is_merged_job(job.files[0]).value());
  EXPECT_FALSE(is_merged_job(job.directory.file("none.ridge")).ok());
}

TEST(JobQuery, TheAnswerHasItsStepsRankByRank) {
  const AskedJob job;
  const JobAnswer answer = ask_job(job.path).value();
  EXPECT_TRUE(answer.merged);
  EXPECT_EQ(answer.analysis->straggler, 2);
  const analyzer::JobStepRows step = ask_job_step(answer, analyzer::telling_step(*answer.analysis)).value();
  EXPECT_EQ(step.rows.size(), 3U);
  EXPECT_GT(step.rows[2].lateness_ns, answer.analysis->late_threshold_ns);
  EXPECT_EQ(ask_job_step(answer, 77).failure().kind, ErrorKind::no_data);
  const auto one = ask_job(job.files[0]);
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.failure().kind, ErrorKind::no_data);
}

TEST(JobQuery, ARanksCaptureIsFoundWhereItWasOrBesideTheJob) {
  const AskedJob job;
  const JobAnswer answer = ask_job(job.path).value();
  EXPECT_EQ(capture_of_rank(answer, 1).value(), job.files[1]);
  EXPECT_EQ(capture_of_rank(answer, 9).failure().kind, ErrorKind::no_data);

  // Moved together to another folder.
  const ridgeline::testing::TemporaryDirectory other;
  const std::string moved = other.file(fs::path(job.path).filename().string());
  fs::rename(job.path, moved);
  fs::rename(job.files[1], other.file(fs::path(job.files[1]).filename().string()));
  const JobAnswer there = ask_job(moved).value();
  EXPECT_EQ(capture_of_rank(there, 1).value(), other.file(fs::path(job.files[1]).filename().string()));

  fs::remove(job.files[0]);
  const auto gone = capture_of_rank(there, 0);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.failure().kind, ErrorKind::io);
  EXPECT_NE(gone.failure().message.find("rank 0"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::queries
