// The verbs `commits`, `bisect` and `calibrate` on a repository of their own, with a recorder that makes captures
// up: how slow the program is stands in a file of the checkout.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

class Commits : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "ridgeline-commits-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    write(
        "recorder",
        "#!/bin/bash\n"
        "# recorder -q -f -o FILE --directory DIR ... -- PROGRAM\n"
        "echo \"$*\" >> \"" +
            directory_ +
            "/calls\"\n"
            "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; --directory) dir=$2; shift;; --) break;; "
            "esac; shift; done\n"
            "[ -e \"$dir/crash\" ] && { echo 'the program crashed'; exit 3; }\n"
            "n=$(cat \"" +
            directory_ + "/count\" 2>/dev/null || echo 0); echo $((n + 1)) > \"" + directory_ +
            "/count\"\n"
            "[ $n = 0 ] && sleep \"$(cat \"" +
            directory_ +
            "/first_run_lasts_s\" 2>/dev/null || echo 0)\"\n"
            "exec " FABRICATE
            " \"$out\" codes layers=2 run=$((n + 1)) factor=$(sed -n \"$((n + 1))p\" \"$dir/factors\" "
            "2>/dev/null | "
            "grep . || echo 1) slow=layernorm_backward:$(cat \"$dir/slow\") commit=$(git -C "
            "\"$dir\" rev-parse HEAD)\n");
    std::filesystem::permissions(directory_ + "/recorder", std::filesystem::perms::owner_all);
    shell("git init -q repo && cd repo && git config user.email a@b && git config user.name n");
    commit("1.0", "begin");
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  void shell(const std::string& command) {
    ASSERT_EQ(std::system(("cd '" + directory_ + "' && " + command).c_str()), 0) << command;
  }
  std::string output(const std::string& command) {
    EXPECT_EQ(std::system(("cd '" + directory_ + "' && " + command + " > output.txt").c_str()), 0) << command;
    return read_file(directory_ + "/output.txt");
  }
  std::string commit(const std::string& slow, const std::string& subject) {
    write("repo/slow", slow + "\n");
    write("repo/text", subject);
    shell("cd repo && git add -A && git commit -qm '" + subject + "'");
    return output("git -C repo rev-parse HEAD").substr(0, 40);
  }

  Outcome run(const std::string& arguments) {
    const std::string line = "cd '" + directory_ + "/repo' && '" RIDGELINE_PROGRAM "' " + arguments + " >'" +
                             directory_ + "/out.txt' 2>'" + directory_ + "/err.txt'";
    const int status = std::system(line.c_str());
    Outcome outcome;
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    outcome.out = read_file(directory_ + "/out.txt");
    outcome.err = read_file(directory_ + "/err.txt");
    return outcome;
  }
  std::string recorder() const {
    return " --recorder " + directory_ + "/recorder --directory " + directory_ + "/out ";
  }

  std::string directory_;
};

TEST_F(Commits, NameTheKernelThatACommitMadeSlower) {
  const std::string head = commit("1.3", "slower");
  const Outcome outcome =
      run("commits HEAD~1 HEAD --pairs 6 --build 'echo built > done.txt'" + recorder() + "-- ./program");
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("REGRESSED"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("layernorm_backward"), std::string::npos);
  EXPECT_NE(outcome.err.find("one more pair must show it again"), std::string::npos) << outcome.err;
  // Captures stay and say which commit they are of; checkouts do not.
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/out/b-" + head.substr(0, 12) + "-01.ridge"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/out/tree-" + head.substr(0, 12)));
  EXPECT_EQ(output("git -C repo worktree list | wc -l"), "1\n");
  EXPECT_NE(outcome.out.find(head.substr(0, 10)), std::string::npos);
}

// A kernel is often known before the step is: it is the step that was asked for.
TEST_F(Commits, GoOnUntilTheStepIsDecided) {
  write("repo/factors", "1\n1.02\n1.03\n1\n0.97\n1.01\n");
  commit("1.0", "a clock that wanders");
  commit("1.5", "slower");
  const Outcome outcome =
      run("commits HEAD~1 HEAD --pairs 9" + recorder() +
          "--record \"--tiers T0\" --first-record \"--schedule timeline=9\" -- ./program");
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("pair 6 of at most 9"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("REGRESSED: the step takes"), std::string::npos) << outcome.out;
  std::istringstream calls(read_file(directory_ + "/calls"));
  std::string line;
  for (int number = 1; std::getline(calls, line); ++number) {
    EXPECT_EQ(line.find("--schedule timeline=9") != std::string::npos, number <= 2) << number << line;
    EXPECT_EQ(line.find("--tiers T0") != std::string::npos, number > 2) << number << line;
  }
}

// With no time left the last look has all of the error: three pairs, fewer than which decide nothing, tell what one
// look at three pairs tells. The first run alone lasts longer than the budget, so that on no machine a fourth pair
// fits in but for the one that confirms.
TEST_F(Commits, TheLastLookHasWhatIsLeftOfTheError) {
  write("repo/factors", "1\n1.003\n0.998\n1\n1.001\n0.997\n");
  write("first_run_lasts_s", "1.1");
  commit("1.0", "some noise");
  commit("1.5", "slower");
  const Outcome outcome = run("commits HEAD~1 HEAD --pairs 10 --budget 1s" + recorder() + "-- ./program");
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("(95 % interval"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err.find("pair 5"), std::string::npos) << outcome.err;
}

TEST_F(Commits, ThatChangeNothingAreTheSameAfterFewPairs) {
  commit("1.0", "docs only");
  const Outcome outcome = run("commits HEAD~1 HEAD --pairs 10" + recorder() + "-- ./program");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("SAME"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err.find("pair 9"), std::string::npos) << outcome.err;
}

// What one look may spend is what was asked for; with several it is shared out.
TEST_F(Commits, TheErrorsThatAreAskedForAreThoseOfAllLooks) {
  commit("1.0", "docs only");
  const auto options = [&](const std::string& pairs) {
    const Outcome outcome =
        run("commits HEAD~1 HEAD --format json --pairs " + pairs + recorder() + "-- ./program");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    return nlohmann::json::parse(outcome.out)["options"];
  };
  const nlohmann::json one = options("3"), several = options("10");
  EXPECT_NEAR(one["alpha"].get<double>(), 0.05, 1e-6);
  EXPECT_NEAR(one["false_discovery_rate"].get<double>(), 0.05, 1e-6);
  EXPECT_LT(several["alpha"].get<double>(), 0.01) << "the first of eight looks";
  EXPECT_NEAR(several["false_discovery_rate"].get<double>(), several["alpha"].get<double>(), 1e-9);
}

TEST_F(Commits, RefuseWhatCannotBeMeasured) {
  commit("1.3", "slower");
  const auto refused = [&](const std::string& arguments, int code, const std::string& word) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << arguments << outcome.err;
  };
  refused("commits HEAD~1 HEAD" + recorder(), 2, "no program");
  refused("commits nowhere HEAD" + recorder() + "-- ./program", 2, "no commit 'nowhere'");
  refused("commits HEAD HEAD" + recorder() + "-- ./program", 2, "same commit");
  refused("commits HEAD~1 HEAD --build 'exit 7'" + recorder() + "-- ./program", 4, "failed with 7");
  refused("commits HEAD~1 HEAD --budget soon" + recorder() + "-- ./program", 2, "soon");
  refused("commits HEAD~1 HEAD --format xml" + recorder() + "-- ./program", 2, "xml");
  write("repo/slow", "2.0\n");
  refused("commits HEAD~1 HEAD" + recorder() + "-- ./program", 2, "not committed");
  shell("cd repo && git checkout -q slow && touch crash && git add crash && git commit -qm crash");
  refused("commits HEAD~1 HEAD" + recorder() + "-- ./program", 3, "the program crashed");
  EXPECT_EQ(output("git -C repo worktree list | wc -l"), "1\n") << "checkouts are removed after failures too";
}

// A signal to the program alone, as a job's runner sends it: neither checkouts nor what was running in them
// stay after.
TEST_F(Commits, LeaveNoCheckoutsWhenTheyAreStopped) {
  commit("1.3", "slower");
  // stop.sh SIGNAL READY OPTIONS...: the signal comes when a file is there.
  write("stop.sh",
        "signal=$1 ready=$2; shift 2\n"
        "(cd repo && exec '" RIDGELINE_PROGRAM "' commits HEAD~1 HEAD \"$@\"" +
            recorder() +
            "-- ./program) > out.txt 2> err.txt &\n"
            "for i in $(seq 600); do [ -e \"$ready\" ] && break; sleep 0.05; done\n"
            "git -C repo worktree list > trees.txt\n"
            "kill -$signal $!\n"
            "wait $!\n"
            "echo $? > status.txt\n");
  const auto stopped = [&](const std::string& signal, const std::string& arguments) {
    // Of a script's background processes SIGINT is ignored, but with job control.
    shell("bash -m stop.sh " + signal + " " + arguments);
    EXPECT_NE(read_file(directory_ + "/trees.txt").find("/out/tree-"), std::string::npos)
        << "nothing to remove";
    EXPECT_EQ(output("git -C repo worktree list | wc -l"), "1\n") << signal;
    EXPECT_EQ(output("ls -d out/tree-* 2>/dev/null | wc -l"), "0\n") << signal;
    EXPECT_NE(read_file(directory_ + "/err.txt").find("SIG" + signal + ": stopping"), std::string::npos)
        << read_file(directory_ + "/err.txt");
    return read_file(directory_ + "/status.txt");
  };
  write("first_run_lasts_s", "600");
  EXPECT_EQ(stopped("TERM", "count"), "143\n");
  EXPECT_EQ(stopped("INT", "building --build 'sleep 600 & echo $! > ../../pid; touch ../../building; wait'"),
            "130\n");
  EXPECT_EQ(output("kill -0 $(cat pid) 2>/dev/null; echo $?"), "1\n") << "the build runs on";
}

TEST_F(Commits, AShorterSecondRunLeavesNoCapturesOfTheFirst) {
  commit("1.0", "docs only");
  commit("1.3", "slower");
  const auto captures = [&] { return output("ls out/*.ridge | wc -l"); };
  EXPECT_EQ(run("commits HEAD~1 HEAD --pairs 3" + recorder() + "-- ./program").code, 1);
  EXPECT_EQ(captures(), "8\n") << "three pairs and the one that confirms";
  EXPECT_EQ(run("commits HEAD~2 HEAD~1 --pairs 3" + recorder() + "-- ./program").code, 0);
  EXPECT_EQ(captures(), "6\n");
  EXPECT_EQ(output("wc -l < out/captures.txt"), "6\n");
}

TEST_F(Commits, TakeBuildAndLimitsFromTheProjectFile) {
  write("repo/ridgeline.toml", "build = 'exit 9'\n[compare]\npairs = 3\n");
  commit("1.3", "slower");
  EXPECT_EQ(run("commits HEAD~1 HEAD" + recorder() + "-- ./program").code, 4);
  EXPECT_EQ(run("commits HEAD~1 HEAD --build true --fail-on none" + recorder() + "-- ./program").code, 0);
}

TEST_F(Commits, BisectFindsTheCommitAndRefusesEndsThatDoNotDiffer) {
  commit("1.0", "two");
  commit("1.0", "three");
  const std::string culprit = commit("1.4", "four is slow");
  commit("1.4", "five");
  const Outcome found = run("bisect HEAD~4 HEAD --pairs 4 --build true" + recorder() + "-- ./program");
  EXPECT_EQ(found.code, 0) << found.out << found.err;
  EXPECT_NE(found.out.find("first slower commit: " + culprit + " (four is slow)"), std::string::npos)
      << found.out;
  EXPECT_NE(found.out.find("layernorm_backward"), std::string::npos);
  const Outcome nothing = run("bisect HEAD~4 HEAD~2 --pairs 4" + recorder() + "-- ./program");
  EXPECT_EQ(nothing.code, 3) << nothing.out << nothing.err;
  EXPECT_NE(nothing.err.find("nothing to look for"), std::string::npos) << nothing.err;
  EXPECT_EQ(run("bisect HEAD HEAD~1" + recorder() + "-- ./program").code, 2);
}

TEST_F(Commits, BisectLeavesOutWhatCannotBeBuilt) {
  write("repo/broken", "");
  const std::string broken = commit("1.0", "does not build");
  shell("cd repo && git rm -q broken");
  const std::string culprit = commit("1.4", "slow");
  commit("1.4", "last");
  const Outcome found =
      run("bisect HEAD~3 HEAD --pairs 4 --build 'test ! -e broken'" + recorder() + "-- ./program");
  EXPECT_EQ(found.code, 0) << found.out << found.err;
  EXPECT_NE(found.err.find("the build of " + broken.substr(0, 12) + " failed"), std::string::npos)
      << found.err;
  EXPECT_NE(found.out.find("first slower commit: " + culprit), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("could not be built: " + broken.substr(0, 12)), std::string::npos) << found.out;
}

TEST_F(Commits, CalibrateStoresTheNoiseOfIdenticalCode) {
  const Outcome outcome =
      run("calibrate --pairs 4 -o '" + directory_ + "/noise.toml'" + recorder() + "-- ./program");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string text = read_file(directory_ + "/noise.toml");
  EXPECT_NE(text.find("ridgeline.noise"), std::string::npos) << text;
  EXPECT_NE(text.find("gemm = "), std::string::npos);
  EXPECT_NE(outcome.out.find("Identical code differs"), std::string::npos);
  EXPECT_EQ(run("calibrate" + recorder()).code, 2);
}

}  // namespace
}  // namespace ridgeline::testing
