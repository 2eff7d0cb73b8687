// ranks_test.cpp: `ridgeline merge` and `ridgeline ranks` of the built program.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generate/rank_job.h"
#include "program_testing.h"

namespace ridgeline {
namespace {

using testing::Outcome;
using testing::Program;

class Ranks : public Program {
 protected:
  static void SetUpTestSuite() {
    Program::SetUpTestSuite();
    std::filesystem::create_directory(file("job"));
    generate::RankJob job;
    job.ranks = 4;
    job.ranks_per_host = 2;
    job.steps = 8;
    job.layers = 3;
    job.cause = generate::RankCause::host_gaps;
    job.straggler = 2;
    job.late_ns = 600'000;
    job.clock_offset_ns = 4e6;
    files_ = generate::generate_rank_job(job, file("job")).files;
    std::filesystem::create_directory(file("alone"));
    job.ranks = 1;
    job.cause = generate::RankCause::none;
    alone_ = generate::generate_rank_job(job, file("alone")).files[0];
    std::vector<std::string> command = {"merge", "-q", "-o", "job.ridge"};
    command.insert(command.end(), files_.begin(), files_.end());
    const Outcome merged = run(command);
    ASSERT_EQ(merged.code, 0) << merged.err;
    ASSERT_EQ(merged.out, "");
  }
  inline static std::vector<std::string> files_;
  inline static std::string alone_;
};

TEST_F(Ranks, MergeSaysWhatItMergedAndWhatIsMissing) {
  const Outcome outcome = run({"merge", files_[0], files_[2], "-o", "two.ridge"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Merged 2 ranks of 4 on 2 hosts into two.ridge."), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("Missing: 1, 3."), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Clocks are aligned to within"), std::string::npos) << outcome.out;
  const Outcome rest = run({"merge", "two.ridge", files_[1], files_[3], "-o", "all.ridge"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_NE(rest.out.find("Merged 4 ranks of 4"), std::string::npos) << rest.out;
  EXPECT_EQ(run({"ranks", "all.ridge"}).out, run({"ranks", "job.ridge"}).out);
}

TEST_F(Ranks, MergeRefusesInOneLineAndLeavesNothing) {
  expect_error({"merge", files_[0], files_[0], "-o", "x.ridge"}, 2, "rank 0 is there twice");
  expect_error({"merge", files_[0], alone_, "-o", "x.ridge"}, 2, "rank 0 is there twice");
  expect_error({"merge", files_[1], alone_, "-o", "x.ridge"}, 2, "is of a job of 1 rank, rank 1");
  expect_error({"merge", "text.ridge", files_[0], "-o", "x.ridge"}, 3, "text.ridge");
  expect_error({"merge", "missing.ridge", "-o", "x.ridge"}, 4, "missing.ridge");
  expect_error({"merge", "c.ridge", files_[0], "-o", "x.ridge"}, 3, "no process has a rank");
  expect_error({"merge", files_[0], "-o", "job.ridge"}, 2, "is there already");
  expect_error({"merge", "job.ridge", "-f", "-o", "job.ridge"}, 2, "one of the captures");
  EXPECT_FALSE(std::filesystem::exists(file("x.ridge")));
  EXPECT_FALSE(std::filesystem::exists(file("x.ridge.merging")));
}

TEST_F(Ranks, TheStragglerIsNamedWithItsCause) {
  const Outcome outcome = run({"ranks", "job.ridge"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Rank 2 is the one that others wait for: late in 8 of 8 steps"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("gaps"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("host gaps"), std::string::npos) << outcome.out;
}

TEST_F(Ranks, EveryViewHasItsRowsInEveryFormat) {
  for (const char* by : {"rank", "step", "collective", "kernel", "account"}) {
    for (const char* format : {"text", "csv", "markdown", "json"}) {
      const Outcome outcome = run({"ranks", "job.ridge", "--by", by, "--format", format});
      EXPECT_EQ(outcome.code, 0) << by << ' ' << format << ' ' << outcome.err;
      EXPECT_NE(outcome.out, "") << by << ' ' << format;
      expect_no_control(outcome.out);
    }
  }
  expect_error({"ranks", "job.ridge", "--by", "host"}, 2, "use rank, step, collective, kernel or account");
}

TEST_F(Ranks, RankAndStepsAnswerOverRanksToo) {
  EXPECT_EQ(run({"rank", "job.ridge", "--ranks"}).out, run({"ranks", "job.ridge", "--by", "kernel"}).out);
  EXPECT_EQ(run({"steps", "job.ridge", "--ranks", "--format", "csv"}).out,
            run({"ranks", "job.ridge", "--by", "step", "--format", "csv"}).out);
  EXPECT_NE(run({"rank", "job.ridge", "--ranks"}).out.find("gemm_gradient"), std::string::npos);
  expect_error({"rank", "job.ridge", "--ranks", "--by", "layer"}, 2, "leave --by out");
  expect_error({"steps", "job.ridge", "--ranks", "--range", "x"}, 2, "leave --range out");
  expect_error({"rank", files_[0], "--ranks"}, 3, "there is one rank only");
}

TEST_F(Ranks, JsonHasAllOfIt) {
  const auto document =
      nlohmann::json::parse(run({"ranks", "job.ridge", "--format", "json", "--alone", alone_}).out);
  EXPECT_EQ(document["format"], "ridgeline.ranks");
  EXPECT_EQ(document["job"]["recurrence"], "same_rank");
  EXPECT_EQ(document["job"]["straggler"], 2);
  EXPECT_EQ(document["ranks"].size(), 4U);
  EXPECT_EQ(document["steps"].size(), 8U);
  EXPECT_EQ(document["collectives"].size(), 4U);
  EXPECT_EQ(document["lateness_ns"].size(), 4U);
  EXPECT_EQ(document["lateness_ns"][0].size(), 8U);
  EXPECT_EQ(document["clocks"].size(), 2U);
  EXPECT_LT(document["scaling_loss"]["efficiency_ratio"], 1.0);
  double sum = 0;
  for (const auto& row : document["account"]) {
    const double time = row["time_ns"];
    sum += row["part"] == "duration" ? -time : time;
  }
  EXPECT_NEAR(sum, 0, 10);
}

TEST_F(Ranks, OneRankIsTooFewAndAMergedJobHasNoStepOfItsOwn) {
  expect_error({"ranks", files_[0]}, 3, "there is one rank only");
  expect_error({"ranks", "c.ridge"}, 3, "no process has a rank");
  expect_error({"rank", "job.ridge"}, 3, "ask it with `ridgeline ranks`");
  expect_error({"report", "job.ridge"}, 3, "job.ridge is a merged job");
  EXPECT_EQ(run({"info", "job.ridge"}).code, 0);
  EXPECT_EQ(run({"info", "job.ridge", "--verify"}).code, 0);
  EXPECT_EQ(run({"sql", "job.ridge", "SELECT count(*) FROM v_job_collective"}).code, 0);
}

TEST_F(Ranks, LinksThatAreNotMeasuredAreSaid) {
  const std::string made = std::string(RIDGELINE_SOURCE_DIR) + "/tests/ceilings/made.json";
  const Outcome none = run({"ranks", "job.ridge", "--ceilings", made});
  EXPECT_EQ(none.code, 3);
  EXPECT_NE(none.err.find(made + " has no NVLink"), std::string::npos) << none.err;
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(run({"ranks", "job.ridge", "--ceilings", "missing.json"}).code, 4);
  const Outcome both = run({"ranks", "job.ridge", "--what-if", "overlap", "--ceilings", made});
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("leave --ceilings out"), std::string::npos) << both.err;
}

TEST_F(Ranks, ThePageIsOneFileWithThePicture) {
  const Outcome outcome = run({"ranks", "job.ridge", "--format", "html", "-o", "page.html"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = testing::read_file(file("page.html"));
  ASSERT_EQ(run({"ranks", "job.ridge", "-o", "named.html"}).code, 0);
  EXPECT_EQ(testing::read_file(file("named.html")), page) << "the name says what the file holds";
  EXPECT_NE(page.find("rank 2, step 3"), std::string::npos);
  EXPECT_NE(page.find("class=\"h3\""), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline
