#include "ridgeline/experiment/project_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_directory.h"

namespace ridgeline::experiment {
namespace {

TEST(ProjectFile, SaysWhatAProjectSaysOnce) {
  const ProjectFile project = parse_project(R"(
build = "cmake --build build"
record = ["--schedule", "warmup=5,timeline=10"]
[compare]
pairs = 5
budget = "10min"
step_ratio = 0.02
kernel_ratio = 0.03
kernel_us = 2.5
kernel_step_share = 0
false_discovery_rate = 0.1
strict = true
fail_on = ["regression", "unmatched"]
match = "match.toml"
noise = "/abs/noise.toml"
[[budget]]
kernel = "*layernorm*"
max_time_us = 450
reason = "agreed"
[[budget]]
kernel = "gemm"
min_utilisation_ratio = 0.6
)",
                                            "dir/ridgeline.toml")
                                  .value();
  EXPECT_EQ(project.build, "cmake --build build");
  EXPECT_EQ(project.record.size(), 2U);
  EXPECT_EQ(project.pairs, 5);
  EXPECT_EQ(project.budget_time, "10min");
  EXPECT_EQ(project.step_ratio, 0.02);
  EXPECT_EQ(project.kernel_ratio, 0.03);
  EXPECT_EQ(project.kernel_us, 2.5);
  EXPECT_EQ(project.kernel_step_share, 0);
  EXPECT_EQ(project.false_discovery_rate, 0.1);
  EXPECT_EQ(project.strict, true);
  EXPECT_EQ(project.fail_on.size(), 2U);
  EXPECT_EQ(project.match, "dir/match.toml");
  EXPECT_EQ(project.noise, "/abs/noise.toml");
  ASSERT_EQ(project.budgets.size(), 2U);
  EXPECT_EQ(project.budgets[0].max_time_ns, 450'000);
  EXPECT_EQ(project.budgets[0].reason, "agreed");
  EXPECT_EQ(project.budgets[1].min_utilisation_ratio, 0.6);
}

TEST(ProjectFile, WhatIsWrongIsNamedWithItsLine) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const auto result = parse_project(text, "p.toml");
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.failure().kind, ErrorKind::usage);
    EXPECT_NE(result.failure().message.find("p.toml:"), std::string::npos) << result.failure().message;
    EXPECT_NE(result.failure().message.find(part), std::string::npos) << result.failure().message;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
  };
  refused("biuld = 'x'", "'biuld' is no key");
  refused("build = 3", "build is not a text");
  refused("[compare]\npairs = 1", "pairs is not a number from 3");
  refused("[compare]\nstrict = 'yes'", "strict");
  refused("record = 'x'", "list of texts");
  refused("[[budget]]\nkernel = 'x'", "asks for nothing");
  refused("[[budget]]\nmax_time_us = 1", "kernel is missing");
  refused("[budget]\nkernel = 'x'", "[[budget]]");
  refused("build = ", "p.toml:1");
}

TEST(ProjectFile, NumbersOfABudgetHaveBounds) {
  const auto budget = [](const std::string& line) {
    return parse_project("[[budget]]\nkernel = 'x'\n" + line + "\n", "p.toml");
  };
  for (const char* line : {"max_time_us = 0", "max_time_us = 0.5", "max_time_us = 1e12", "max_dram_bytes = 0",
                           "max_dram_bytes = 1e18", "min_utilisation_ratio = 0", "min_utilisation_ratio = 1"})
    EXPECT_TRUE(budget(line).ok()) << line;
  for (const char* line : {"max_time_us = -1", "max_time_us = 1.1e12", "max_dram_bytes = -1",
                           "max_dram_bytes = 1.1e18", "min_utilisation_ratio = 1.01", "max_time_us = nan"}) {
    ASSERT_FALSE(budget(line).ok()) << line;
    EXPECT_NE(budget(line).failure().message.find("is not a number from 0 to"), std::string::npos);
  }
}

TEST(ProjectFile, NumbersOfAComparisonHaveBounds) {
  const auto reads = [](const std::string& line) {
    return parse_project("[compare]\n" + line + "\n", "p.toml").ok();
  };
  for (const char* line :
       {"pairs = 3", "pairs = 1000", "step_ratio = 0.0001", "step_ratio = 1", "kernel_ratio = 0.0001",
        "kernel_ratio = 1", "kernel_us = 0", "kernel_us = 1e9", "kernel_step_share = 0",
        "kernel_step_share = 1", "false_discovery_rate = 0.0001", "false_discovery_rate = 0.5"})
    EXPECT_TRUE(reads(line)) << line;
  for (const char* line :
       {"pairs = 2", "pairs = 1001", "step_ratio = 0.00009", "step_ratio = 1.1", "kernel_ratio = 0.00009",
        "kernel_ratio = 1.1", "kernel_us = -1", "kernel_us = 1.1e9", "kernel_step_share = -0.1",
        "kernel_step_share = 1.1", "false_discovery_rate = 0.00009", "false_discovery_rate = 0.51"})
    EXPECT_FALSE(reads(line)) << line;
}

TEST(ProjectFile, IsLookedForAndMayBeAbsent) {
  const testing::TemporaryDirectory directory;
  EXPECT_EQ(read_project("", directory.path()).value().build, "");
  std::ofstream(directory / "ridgeline.toml") << "build = 'make'";
  EXPECT_EQ(read_project("", directory.path()).value().build, "make");
  EXPECT_FALSE(read_project(directory / "none.toml").ok());
}

TEST(MatchRules, AreReadAndChecked) {
  const auto rules =
      parse_rules("[[rule]]\nkernel = 'a(.*)'\nbecomes = 'b$1'\npath = 'fwd'\n", "m.toml").value();
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].kernel, "a(.*)");
  EXPECT_EQ(rules[0].becomes, "b$1");
  EXPECT_EQ(rules[0].path, "fwd");
  EXPECT_FALSE(parse_rules("[[rule]]\nkernel = 'a'\n", "m.toml").ok());
}

TEST(NoiseFloor, ReadsAsItWasWritten) {
  comparison::NoiseFloor floor;
  floor.pairs = 12;
  floor.step_ratio = 0.0031;
  floor.class_ratio = {{KernelClass::gemm, 0.002}, {KernelClass::reduction, 0.0125}};
  const comparison::NoiseFloor again = parse_noise(noise_text(floor), "n.toml").value();
  EXPECT_EQ(again.pairs, 12);
  EXPECT_EQ(again.step_ratio, 0.0031);
  EXPECT_EQ(again.class_ratio, floor.class_ratio);
  EXPECT_FALSE(parse_noise("pairs = 3", "n.toml").ok());
}

}  // namespace
}  // namespace ridgeline::experiment
