// Other communication of a job as people write it, and what they get.
#include "ridgeline/queries/job_what_if_query.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generate/rank_job.h"
#include "ridgeline/queries/ranks_query.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

analyzer::JobChange only_change(std::string_view text) {
  return parse_job_changes(text).value().at(0);
}

TEST(JobWhatIfQuery, ReadsWhatPeopleWrite) {
  EXPECT_TRUE(only_change("overlap").perfect_overlap);
  EXPECT_TRUE(only_change("no-skew").no_skew);
  EXPECT_EQ(only_change("links=2").links, 2);
  EXPECT_EQ(only_change("links=0.5x").links, 0.5);
  EXPECT_EQ(only_change("bucket=25MB").bucket_bytes, 25'000'000);
  EXPECT_EQ(only_change("bucket=25MiB").bucket_bytes, 26'214'400);
  const analyzer::JobChange several = only_change("bucket=1.5GB,links=4,no-skew");
  EXPECT_EQ(several.bucket_bytes, 1'500'000'000);
  EXPECT_EQ(several.links, 4);
  EXPECT_TRUE(several.no_skew);
  EXPECT_EQ(several.text, "bucket=1.5GB,links=4,no-skew");
}

TEST(JobWhatIfQuery, ARowOfBucketSizesIsOneChangeEach) {
  const auto sweep = parse_job_changes("buckets").value();
  ASSERT_EQ(sweep.size(), 9U);
  EXPECT_EQ(sweep.front().bucket_bytes, 1'000'000);
  EXPECT_EQ(sweep.back().text, "bucket=500MB");
}

TEST(JobWhatIfQuery, WhatIsMisreadIsNamed) {
  for (const char* text :
       {"", "faster", "links", "links=", "links=0", "links=-1", "links=nan", "links=2y", "links=1e9",
        "bucket=25", "bucket=MB", "bucket=0MB", "bucket=-5MB", "bucket=1e99GB", "overlap,", ",overlap",
        "overlap,links=2", "overlap,bucket=25MB"}) {
    SCOPED_TRACE(text);
    const auto read = parse_job_changes(text);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.failure().kind, ErrorKind::usage);
    EXPECT_NE(read.failure().message.find("'" + std::string(text) + "'"), std::string::npos);
  }
}

std::string answered(const std::string& path, const std::vector<std::string>& changes) {
  reports::DocumentOptions how;
  how.format = reports::Format::json;
  std::string text;
  ask_job_what_if(path, changes, how).value().document.write([&](std::string_view part) {
    text.append(part);
  });
  return text;
}

TEST(JobWhatIfQuery, AMergedJobAnswersAndSaysWhatItCannot) {
  const ridgeline::testing::TemporaryDirectory directory;
  generate::RankJob job;
  job.ranks = 3;
  job.steps = 6;
  job.layers = 4;
  job.links = 0.2;
  const auto files = generate::generate_rank_job(job, directory.path()).files;
  const std::string path = directory.file("job.ridge");
  ASSERT_TRUE(merge_ranks(files, path).ok());
  const auto document = nlohmann::json::parse(answered(path, {"overlap", "bucket=1MB", "bucket=56623104B"}));
  EXPECT_EQ(document["format"], "ridgeline.job_what_if");
  EXPECT_LT(document["replay"]["replay_error_ratio"], 0.01);
  EXPECT_EQ(document["replay"]["calls_without_ready"], 0);
  const auto& rows = document["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_GT(rows[0]["gain_ns"], 0);
  EXPECT_LE(rows[0]["gain_ns"], rows[0]["bound_ns"]);
  EXPECT_EQ(rows[1]["refusal"], "finer_buckets");
  EXPECT_TRUE(rows[1]["gain_ns"].is_null());
  EXPECT_EQ(rows[2]["buckets"], 2);
  EXPECT_NE(document["said"].dump().find("record once with small buckets"), std::string::npos);
}

TEST(JobWhatIfQuery, ACaptureOfOneRankIsNamed) {
  const ridgeline::testing::TemporaryDirectory directory;
  generate::RankJob job;
  job.ranks = 1;
  job.steps = 3;
  const auto files = generate::generate_rank_job(job, directory.path()).files;
  const auto answer = ask_job_what_if(files[0], {"overlap"}, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, ErrorKind::no_data);
  EXPECT_NE(answer.failure().message.find(files[0]), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::queries
