// Ladders of a program that is a shell script, read by its output or with a recorder that makes captures up.
#include "ridgeline/experiment/ladder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "support/temporary_directory.h"

namespace ridgeline::experiment {
namespace {

class LadderOfAProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    // Prints twelve steps of as many ms as its arguments say, and the loss of its seed.
    program("program",
            "ms=100\n"
            "for word in \"$@\"; do case $word in fast) ms=$((ms - 40));; slow) ms=$((ms + 10));; "
            "crash) echo 'no such kernel'; exit 3;; mute) exit 0;; [0-9]*) seed=$word;; esac; done\n"
            "[ -n \"$MODE\" ] && ms=$((ms / 2))\n"
            "echo \"$* MODE=$MODE\" >> " +
                folder_ / "calls" +
                "\n"
                "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"step $ms.$((i % 3)) ms\"; done\n"
                "echo \"loss 3.$seed\"\n");
    plan_.tell = [this](const std::string& line) { told_ += line + "\n"; };
    plan_.rounds = 3;
    plan_.keep = [this](const comparison::LadderRecord& record) {
      kept_.push_back(record.rounds);
      ends_.push_back(record.end);
    };
  }
  void program(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << "#!/bin/bash\n" << text;
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] LadderFile file(const std::string& rungs, const std::string& head = "") const {
    const std::string text = head + "command = [\"" + folder_ / "program" +
                             "\", \"{seed}\"]\n[output]\nstep_ms = 'step (\\S+) ms'\nloss = 'loss (\\S+)'\n" +
                             rungs;
    return parse_ladder_file(text, folder_ / "ladder.toml").value();
  }
  [[nodiscard]] Result<comparison::LadderRecord> measured(const LadderFile& what) {
    ExperimentDirectory directory(folder_ / "out");
    return measure_ladder(what, plan_, directory);
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "out"))
      names.insert(entry.path().filename().string());
    return names;
  }

  testing::TemporaryDirectory folder_;
  LadderPlan plan_;
  std::string told_;
  std::vector<std::int64_t> kept_;
  std::vector<comparison::LadderEnd> ends_;
};

const std::string kTwoRungs =
    "[[rung]]\nname = \"fast\"\nargs = [\"fast\"]\n[[rung]]\nname = \"mode\"\nenv = { MODE = \"1\" }\n";

TEST(MirroredOrder, EachRoundHasAllAndEverySecondIsTheMirror) {
  std::set<std::vector<std::size_t>> seen;
  for (std::int64_t round = 0; round < 40; round += 2) {
    std::vector<std::size_t> order = mirrored_order(7, round, 1);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 7U);
    seen.insert(order);
    std::reverse(order.begin(), order.end());
    EXPECT_EQ(mirrored_order(7, round + 1, 1), order);
  }
  EXPECT_GE(seen.size(), 19U) << "random";
  EXPECT_EQ(mirrored_order(7, 0, 1), mirrored_order(7, 0, 1));
  EXPECT_NE(mirrored_order(7, 0, 1), mirrored_order(7, 0, 2));
  EXPECT_TRUE(mirrored_order(0, 0, 1).empty());
}

TEST_F(LadderOfAProgram, IsReadFromWhatItPrints) {
  const auto record = measured(file(kTwoRungs));
  ASSERT_TRUE(record) << record.failure().message;
  EXPECT_EQ(record.value().rounds, 3);
  EXPECT_EQ(record.value().programs.size(), 4U) << "left out and alone share the programs of two rungs";
  EXPECT_EQ(record.value().runs.size(), 12U);
  EXPECT_EQ(record.value().end, comparison::LadderEnd::rounds);
  const auto result = comparison::analyse_ladder(record.value()).value();
  EXPECT_NEAR(*result.arms[0].step_ns, 100.1e6, 1);
  EXPECT_NEAR(*result.arms[1].step_ns, 60.1e6, 1);
  EXPECT_NEAR(*result.arms[2].step_ns, 30.1e6, 1);
  EXPECT_EQ(result.steps[1].loss.verdict, comparison::LossVerdict::same_bits);
  EXPECT_EQ(result.steps[0].loss.seeds, 3);
  EXPECT_EQ(kept_, (std::vector<std::int64_t>{1, 2, 3, 3}))
      << "nothing measured is lost by what comes behind it";
  EXPECT_EQ(ends_.front(), comparison::LadderEnd::stopped) << "what is read of it while it runs";
  EXPECT_EQ(ends_.back(), comparison::LadderEnd::rounds);
  EXPECT_NE(told_.find("round 1 took "), std::string::npos) << told_;
  EXPECT_NE(told_.find("round 2 of at most 3: 4 programs\n"), std::string::npos) << told_;
  // A program's first log stays, none of the others.
  EXPECT_EQ(files(),
            (std::set<std::string>{"captures.txt", "p01-01.log", "p02-01.log", "p03-01.log", "p04-01.log"}));
}

TEST_F(LadderOfAProgram, StopsWhenAllIsDecided) {
  plan_.rounds = 20;
  plan_.questions = {false, false, false};
  const auto record = measured(file(kTwoRungs));
  ASSERT_TRUE(record) << record.failure().message;
  EXPECT_EQ(record.value().end, comparison::LadderEnd::decided);
  EXPECT_EQ(record.value().rounds, 6);
  EXPECT_LT(record.value().look_alpha, 0.01) << "the first of several looks has little of the error";
}

TEST_F(LadderOfAProgram, EndsWithinItsBudget) {
  std::chrono::steady_clock::time_point now{};
  plan_.now = [&] { return now; };
  plan_.tell = [&](const std::string& line) {
    told_ += line + "\n";
    if (line.find(" of at most ") != std::string::npos) now += std::chrono::seconds(10);
  };
  plan_.rounds = 20;
  plan_.budget = std::chrono::seconds(45);
  const auto record = measured(file(kTwoRungs));
  ASSERT_TRUE(record) << record.failure().message;
  EXPECT_EQ(record.value().end, comparison::LadderEnd::budget);
  EXPECT_EQ(record.value().rounds, 4);
  EXPECT_NEAR(record.value().look_alpha, 0.05, 1e-9) << "the only look has all of it";
  EXPECT_NE(told_.find("round 1 took 10.00 s: 35.00 s of the budget is left, enough for about 3 rounds more"),
            std::string::npos)
      << told_;
}

TEST_F(LadderOfAProgram, ASweepIsDecidedInRoundsOfItsOwn) {
  const auto record =
      measured(file("[[rung]]\nname = \"setting\"\n[[rung.choice]]\nname = \"a\"\nargs = "
                    "[\"slow\"]\n[[rung.choice]]\nname = "
                    "\"b\"\nargs = [\"fast\"]\n[[rung.choice]]\nname = \"c\"\nargs = "
                    "[\"crash\"]\n[[rung]]\nname = \"mode\"\n"
                    "env = { MODE = \"1\" }\n"));
  ASSERT_TRUE(record) << record.failure().message;
  const auto& rung = record.value().rungs[0];
  ASSERT_EQ(rung.chosen, 1U);
  EXPECT_EQ(rung.choices[1].step_ns.size(), 3U);
  EXPECT_EQ(rung.choices[2].step_ns.size(), 0U);
  EXPECT_EQ(record.value().runs.size(), 12U) << "rounds of choosing count for nothing else";
  const auto result = comparison::analyse_ladder(record.value()).value();
  EXPECT_NEAR(*result.arms[2].step_ns, 30.1e6, 1) << "the rungs above stand on what was chosen";
  EXPECT_NE(told_.find("setting: b is taken\n"), std::string::npos) << told_;
}

TEST_F(LadderOfAProgram, AProgramThatDoesNotRunIsLeftOut) {
  const auto record = measured(file("[[rung]]\nname = \"bad\"\nargs = [\"crash\"]\n" + kTwoRungs));
  ASSERT_TRUE(record) << record.failure().message;
  int failed = 0;
  for (const auto& program : record.value().programs) {
    if (program.failure.empty()) continue;
    ++failed;
    EXPECT_NE(program.failure.find("ended with 3: no such kernel"), std::string::npos) << program.failure;
  }
  EXPECT_EQ(failed, 4) << "all with that rung";
  const auto none = measured(file("[[rung]]\nname = \"x\"\nargs = [\"x\"]\n", "env = { MODE = \"\" }\n"));
  EXPECT_TRUE(none);
  LadderFile broken = file(kTwoRungs);
  broken.command.emplace_back("mute");
  const auto bottom = measured(broken);
  ASSERT_FALSE(bottom);
  EXPECT_EQ(bottom.failure().kind, ErrorKind::no_data);
  EXPECT_NE(bottom.failure().message.find("the bottom of the ladder does not run: it printed no step"),
            std::string::npos)
      << bottom.failure().message;
}

// The recorder of the other experiments' tests: kernels and clocks come from captures.
TEST_F(LadderOfAProgram, IsRecorded) {
  program("recorder",
          "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; --) break;; esac; shift; done\n"
          "echo \"$*\" >> " +
              folder_ / "calls" +
              "\nslow=1; extra=\nfor word in \"$@\"; do [ \"$word\" = fast ] && slow=0.5; done\n"
              "echo 'loss 3.25'\n"
              "exec " FABRICATE " \"$out\" codes layers=2 run=$(wc -l < " +
              folder_ / "calls" + ") slow=layernorm_backward:$slow\n");
  plan_.recorder = {folder_ / "recorder"};
  const LadderFile what = parse_ladder_file(
                              "command = [\"./program\", \"{seed}\"]\n[output]\nloss = 'loss (\\S+)'\n"
                              "[[rung]]\nname = \"fast\"\nargs = [\"fast\"]\n",
                              folder_ / "ladder.toml")
                              .value();
  const auto record = measured(what);
  ASSERT_TRUE(record) << record.failure().message;
  const auto result = comparison::analyse_ladder(record.value()).value();
  EXPECT_EQ(result.steps[0].estimate(comparison::Contribution::cumulative)->outcome,
            comparison::Outcome::improved);
  EXPECT_GT(result.arms[0].launches.value_or(0), 10);
  EXPECT_TRUE(result.arms[0].sm_clock_hz);
  EXPECT_TRUE(result.arms[0].power_w);
  EXPECT_TRUE(result.arms[0].joules_per_step);
  EXPECT_EQ(result.steps[0].loss.verdict, comparison::LossVerdict::same_bits);
  EXPECT_TRUE(result.steps[0].kernels_came.empty());
  EXPECT_FALSE(record.value().programs[0].kernels.empty());
  EXPECT_FALSE(record.value().runs[0].device.empty());
  EXPECT_EQ(files(), (std::set<std::string>{"captures.txt", "p01-01.log", "p01-01.ridge", "p02-01.log",
                                            "p02-01.ridge"}));
}

class LadderOfCommits : public LadderOfAProgram {
 protected:
  void SetUp() override {
    LadderOfAProgram::SetUp();
    before_ = std::filesystem::current_path();
    shell(
        "git init -q . && git config user.email a@b && git config user.name n && mkdir -p patches && "
        "echo 50 > ms && printf '#!/bin/bash\\nfor i in 1 2 3 4; do echo \"step $(cat ms).$i ms\"; done\\n' "
        "> run && "
        "chmod +x run && git add ms run && git commit -qm one && git tag one && echo 40 > ms && git commit "
        "-qam two && "
        "git tag two && echo 30 > ms && git diff > patches/faster.patch && git checkout -q ms");
    std::filesystem::current_path(folder_.path());
  }
  void TearDown() override { std::filesystem::current_path(before_); }
  void shell(const std::string& command) const {
    ASSERT_EQ(std::system(("cd '" + folder_.path() + "' && " + command).c_str()), 0) << command;
  }
  [[nodiscard]] LadderFile commits(const std::string& build) const {
    return parse_ladder_file(
               "command = [\"./run\"]\ncommit = \"one\"\n" + build +
                   "[output]\nstep_ms = 'step (\\S+) ms'\n[[rung]]\nname = \"two\"\ncommit = \"two\"\n"
                   "[[rung]]\nname = \"patch\"\npatch = [\"patches/faster.patch\"]\nneeds = [\"two\"]\n",
               folder_ / "ladder.toml")
        .value();
  }

  std::filesystem::path before_;
};

TEST_F(LadderOfCommits, AndPatchesRunsInCheckouts) {
  const auto record = measured(commits("build = \"echo built > built\"\n"));
  ASSERT_TRUE(record) << record.failure().message;
  const auto result = comparison::analyse_ladder(record.value()).value();
  EXPECT_NEAR(*result.arms[0].step_ns, 50.25e6, 1);
  EXPECT_NEAR(*result.arms[1].step_ns, 40.25e6, 1);
  EXPECT_NEAR(*result.arms[2].step_ns, 30.25e6, 1);
  shell("[ $(git worktree list | wc -l) = 1 ]");
  EXPECT_EQ(read("ms"), "40\n") << "the user's own files are as they were";
  for (const std::string& name : files()) EXPECT_EQ(name.find("tree-"), std::string::npos) << name;
}

TEST_F(LadderOfCommits, SaysWhichBuildOrPatchFails) {
  const auto failed = measured(commits("build = \"exit 7\"\n"));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.failure().message.find("failed with 7: see "), std::string::npos)
      << failed.failure().message;
  std::ofstream(folder_ / "patches/faster.patch") << "--- a/moon\n+++ b/moon\n@@ -1 +1 @@\n-1\n+2\n";
  const auto patch = measured(commits(""));
  ASSERT_FALSE(patch);
  EXPECT_NE(patch.failure().message.find("faster.patch does not apply to "), std::string::npos)
      << patch.failure().message;
  shell("[ $(git worktree list | wc -l) = 1 ]");
}

}  // namespace
}  // namespace ridgeline::experiment
