// A shell script stands in for the benchmarks and one for the recorder: what is tried is what is made of what
// they leave.
#include "ridgeline/experiment/ceilings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temporary_directory.h"

namespace ridgeline::experiment {
namespace {

const std::string kMade = std::string(RIDGELINE_SOURCE_DIR) + "/tests/ceilings/made.json";

class Ceilings : public ::testing::Test {
 protected:
  std::string script(const std::string& name, const std::string& body) {
    const std::string path = directory_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    chmod(path.c_str(), 0755);
    return path;
  }
  // Leaves the made figures where -o says, and its arguments in `arguments`.
  std::string program() {
    return script("program", "echo \"$@\" >>" + (directory_ / "arguments") +
                                 "\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && cp " + kMade +
                                 " \"$2\"; shift; done\n");
  }
  CeilingsPlan plan(const std::string& program) {
    CeilingsPlan plan;
    plan.program = program;
    plan.verify = false;
    plan.tell = [this](const std::string& line) { told_ += line + "\n"; };
    return plan;
  }
  std::string arguments() {
    std::ifstream file(directory_ / "arguments");
    std::string line;
    std::getline(file, line);
    return line;
  }

  testing::TemporaryDirectory directory_;
  std::string told_;
};

TEST_F(Ceilings, WhatTheProgramWritesIsHandedBack) {
  CeilingsPlan asked = plan(program());
  asked.thorough = true;
  asked.seconds = 90;
  asked.device = 2;
  asked.only = {"dram", "compute.bf16"};
  asked.more = {"--plant", "l2-resident"};
  const Result<std::string> text = measure_ceilings(asked, nullptr);
  ASSERT_TRUE(text) << text.failure().message;
  EXPECT_EQ(store::parse_machine_ceilings(text.value()).value().device, "NVIDIA H200");
  EXPECT_EQ(
      arguments().find("--device 2 --thorough --seconds 90 --only dram,compute.bf16 --plant l2-resident -o "),
      0u)
      << arguments();
}

TEST_F(Ceilings, AProgramThatFailsIsQuotedWithItsLastLine) {
  const auto failure =
      measure_ceilings(plan(script("p", "echo first; echo no NVIDIA GPU is usable >&2; exit 4")), nullptr);
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.failure().kind, ErrorKind::environment);
  EXPECT_EQ(failure.failure().message, "no NVIDIA GPU is usable");
  const auto usage = measure_ceilings(plan(script("u", "echo bad argument; exit 2")), nullptr);
  EXPECT_EQ(usage.failure().kind, ErrorKind::usage);
  const auto none = measure_ceilings(plan(directory_ / "no-such"), nullptr);
  EXPECT_EQ(none.failure().kind, ErrorKind::environment);
  EXPECT_NE(none.failure().message.find("no-such"), std::string::npos);
  const auto silent = measure_ceilings(plan(script("s", "exit 9")), nullptr);
  EXPECT_NE(silent.failure().message.find("ended with 9"), std::string::npos);
}

TEST_F(Ceilings, AProgramThatWritesNothingOrSomethingElseIsAFailure) {
  EXPECT_FALSE(measure_ceilings(plan(script("nothing", "exit 0")), nullptr));
  const auto other = measure_ceilings(
      plan(script("other", "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo '{}' >\"$2\"; shift; done")),
      nullptr);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.failure().kind, ErrorKind::corrupt);
}

TEST_F(Ceilings, ARecordingThatFailsLeavesTheFiguresUnverifiedAndSaysWhy) {
  CeilingsPlan asked = plan(program());
  asked.verify = true;
  asked.recorder = {script("recorder", "echo counters are not permitted; exit 4")};
  const Result<std::string> text = measure_ceilings(asked, nullptr);
  ASSERT_TRUE(text);
  EXPECT_NE(told_.find("not verified by counters: the recording ended with 4: counters are not permitted"),
            std::string::npos)
      << told_;
  const auto ceilings = store::parse_machine_ceilings(text.value());
  ASSERT_TRUE(ceilings);
  for (const store::CeilingRoof& roof : ceilings.value().roofs) EXPECT_FALSE(roof.count);
}

analyzer::DeclaredWork work(const std::string& operation) {
  analyzer::DeclaredWork w;
  w.operation = operation;
  return w;
}

TEST(CeilingCounts, AreOfDramByBytesAndOfComputeByOperations) {
  analyzer::DeclaredWork read = work("dram.read"), bf16 = work("compute.bf16"), fp32 = work("compute.fp32"),
                         unknown = work("dram.copy"), cache = work("l2.read"), step = work("step");
  read.declared_bytes = 8e9;
  read.measured_bytes = 8.1e9;
  bf16.declared_flops = 1e12;
  bf16.measured_tensor_ops = 2e12;
  bf16.measured_bytes = 5;
  bf16.declared_bytes = 0;
  fp32.declared_flops = 1e12;
  fp32.measured_tensor_ops = 0;
  fp32.measured_fp_ops = 1.001e12;
  unknown.declared_bytes = 8e9;
  cache.declared_bytes = 0;
  cache.measured_bytes = 1e6;
  step.measured_bytes = 1e9;
  const auto counts = counts_of({read, bf16, fp32, unknown, cache, step});
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[0].roof, "dram.read");
  EXPECT_EQ(counts[0].count.counted, 8.1e9);
  EXPECT_EQ(counts[1].roof, "compute.bf16");
  EXPECT_EQ(counts[1].count.counted, 2e12);
  EXPECT_EQ(counts[2].count.counted, 1.001e12);
  EXPECT_EQ(counts[2].count.declared, 1e12);
}

}  // namespace
}  // namespace ridgeline::experiment
