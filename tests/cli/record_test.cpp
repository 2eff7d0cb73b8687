// record from outside: how its options reach the program. What happens to the program's spool is the launcher's test.
#include <gtest/gtest.h>

#include <map>

#include "program_testing.h"

namespace ridgeline {
namespace {

using testing::Outcome;

class Record : public testing::Program {
 protected:
  // The environment that a program sees under `record` with these options. It never uses CUDA: exit 3.
  static std::map<std::string, std::string> environment_under(std::vector<std::string> options) {
    const std::string path = file("environment.txt");
    std::filesystem::remove(path);
    options.insert(options.begin(), {"record", "--agent", RIDGELINE_PROGRAM, "--cupti", RIDGELINE_PROGRAM});
    options.insert(options.end(), {"-o", "recorded.ridge", "--", "/bin/sh", "-c", "env > '" + path + "'"});
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("recorded.ridge")));
    std::map<std::string, std::string> variables;
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equal = line.find('=');
      if (equal != std::string::npos) variables[line.substr(0, equal)] = line.substr(equal + 1);
    }
    return variables;
  }
  static std::string value(const std::map<std::string, std::string>& variables, const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "(unset)" : found->second;
  }
};

TEST_F(Record, OptionsReachTheAgentInItsUnits) {
  const auto seen = environment_under({"--sample-interval", "2.5", "--sample-buffer", "64", "--after",
                                       "1m30s", "--duration", "2s", "--step-range", "epoch", "--tiers",
                                       "T0,T2", "--replay-exclude", "nccl,,spin", "--budget", "2.5"});
  EXPECT_EQ(value(seen, "RIDGELINE_SAMPLE_NS"), "2500");
  EXPECT_EQ(value(seen, "RIDGELINE_SAMPLE_BUFFER_BYTES"), "67108864");
  EXPECT_EQ(value(seen, "RIDGELINE_AFTER_MS"), "90000");
  EXPECT_EQ(value(seen, "RIDGELINE_DURATION_MS"), "2000");
  EXPECT_EQ(value(seen, "RIDGELINE_STEP_RANGE"), "epoch");
  EXPECT_EQ(value(seen, "RIDGELINE_TIERS"), "T0,T2");
  EXPECT_EQ(value(seen, "RIDGELINE_REPLAY_EXCLUDE"), "nccl,spin");
  EXPECT_EQ(value(seen, "RIDGELINE_BUDGET_MS"), "2500");
  EXPECT_EQ(value(seen, "RIDGELINE_WAIT"), "(unset)");
}

TEST_F(Record, WithoutOptionsTheAgentChooses) {
  const auto seen = environment_under({});
  EXPECT_EQ(value(seen, "RIDGELINE_SCHEDULE"), "warmup=10,timeline=20,sample=6,replay=8");
  EXPECT_EQ(value(seen, "RIDGELINE_STEP_RANGE"), "step");
  EXPECT_EQ(value(seen, "RIDGELINE_TIERS"), "T0,T1,T2,T3");
  EXPECT_EQ(value(seen, "RIDGELINE_BUDGET_MS"), "10000");
  EXPECT_EQ(value(seen, "RIDGELINE_ALONE_STEPS"), "10");
  for (const char* name : {"RIDGELINE_SAMPLE_NS", "RIDGELINE_SAMPLE_BUFFER_BYTES", "RIDGELINE_AFTER_MS",
                           "RIDGELINE_DURATION_MS", "RIDGELINE_REPLAY_EXCLUDE"}) {
    EXPECT_EQ(value(seen, name), "(unset)") << name;
  }
}

TEST_F(Record, SwitchesAddPhasesToTheSchedule) {
  const auto schedule = [](const std::vector<std::string>& options) {
    return value(environment_under(options), "RIDGELINE_SCHEDULE");
  };
  const std::string base = "warmup=1,timeline=2";
  EXPECT_EQ(schedule({"--schedule", base}), base);
  EXPECT_EQ(schedule({"--schedule", base, "--cold"}), base + ",cold=2");
  EXPECT_EQ(schedule({"--schedule", base + ",cold=5", "--cold"}), base + ",cold=5");
  EXPECT_EQ(schedule({"--schedule", base, "--sass-flops", "--stalls"}), base + ",stalls=4,flops=1");
  EXPECT_EQ(schedule({"--schedule", base + ",stalls=7", "--stalls"}), base + ",stalls=7");
}

TEST_F(Record, BoundsOfNumbersAreKept) {
  for (const char* interval : {"0.5", "1000001"}) {
    expect_error({"record", "--sample-interval", interval, "--", "/bin/true"}, 2, "--sample-interval");
  }
  for (const char* budget : {"-1", "3601", "ten"}) {
    expect_error({"record", "--budget", budget, "--", "/bin/true"}, 2, "--budget");
  }
  for (const char* buffer : {"63", "1048577"}) {
    expect_error({"record", "--sample-buffer", buffer, "--", "/bin/true"}, 2, "--sample-buffer");
  }
}

// The program asks for a window itself and waits until it was told so.
TEST_F(Record, QuietTellsNothingOfWindows) {
  const auto told = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"record", "--agent", RIDGELINE_PROGRAM, "--cupti", RIDGELINE_PROGRAM});
    options.insert(options.end(),
                   {"-o", "recorded.ridge", "--", "/bin/sh", "-c",
                    "control=\"$RIDGELINE_SPOOL_DIR/control\"; cp \"$control\" before; kill -s USR2 "
                    "$PPID; for i in $(seq 1000); do cmp -s \"$control\" before || exit 0; "
                    "sleep 0.02; done; exit 1"});
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(outcome.err.find("ended with"), std::string::npos) << outcome.err;
    return outcome.err.find("a recording window opens") != std::string::npos;
  };
  EXPECT_TRUE(told({}));
  EXPECT_FALSE(told({"-q"}));
}

}  // namespace
}  // namespace ridgeline
