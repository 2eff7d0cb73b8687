// Samples of program counters, from the spool to the capture.
#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

constexpr char kWait[] = "smsp__pcsamp_warps_issue_stalled_wait";
constexpr char kSelected[] = "smsp__pcsamp_warps_issue_stalled_selected";

void stall_steps(FakeSpool& spool, std::uint32_t steps = 2) {
  spool.process(100, "stalls=2");
  for (std::uint32_t step = 0; step < steps; ++step) {
    spool.begin_step(step, Phase::stalls);
    for (int i = 0; i < 3; ++i) spool.launch();
    spool.end_step();
  }
}

void sample(FakeSpool& spool, std::uint32_t kernel, std::uint32_t offset, const char* reason,
            std::uint64_t samples, std::uint32_t step = 0) {
  spool::StallSampleRecord record{};
  record.kernel_id = kernel;
  record.pc_offset = offset;
  record.stall_reason = spool.text(reason);
  record.samples = samples;
  record.step_index = step;
  spool.put(record);
}

void stall_window(FakeSpool& spool, std::uint64_t samples, std::uint64_t dropped = 0,
                  WindowStatus status = WindowStatus::ok, const std::string& reason = {}) {
  spool::StallWindowRecord record{};
  record.last_step = 1;
  record.period_log2 = 14;
  record.samples = samples;
  record.dropped_samples = dropped;
  record.foreign_samples = 7;
  record.status = status;
  record.reason = spool.text(reason);
  spool.put(record);
}

void line(FakeSpool& spool, std::uint32_t kernel, std::uint32_t offset, const char* file,
          std::uint32_t number) {
  spool::SourceLineRecord record{};
  record.kernel_id = kernel;
  record.pc_offset = offset;
  record.file = spool.text(file);
  record.line = number;
  spool.put(record);
}

void finish(FakeSpool& spool) {
  spool.completeness();
  spool.end();
}

std::string tier(const store::Capture& capture) {
  return tier_text(capture, Tier::t3);
}

TEST_F(Importer, StallSamplesOfAllStepsAddUpAndFindTheirSource) {
  FakeSpool spool(directory_.path());
  stall_steps(spool);
  sample(spool, 1, 0x10, kWait, 5, 0);
  sample(spool, 1, 0x10, kWait, 6, 1);
  sample(spool, 1, 0x10, kSelected, 3, 1);
  sample(spool, 2, 0x10, kWait, 1, 1);
  line(spool, 1, 0x10, "/src/kernel.cu", 42);
  stall_window(spool, 15);
  finish(spool);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM stall_sample"), "3");
  EXPECT_EQ(
      scalar(capture,
             "SELECT kernel || ' ' || file || ':' || line || ' ' || samples FROM v_stall WHERE pc_offset = "
             "16 AND stall_reason LIKE '%wait' AND line IS NOT NULL"),
      "kernel1() /src/kernel.cu:42 11");
  EXPECT_EQ(scalar(capture,
                   "SELECT period_cycles || ' ' || samples || ' ' || foreign_samples || ' ' || status "
                   "FROM stall_window"),
            "16384 15 7 ok");
  EXPECT_EQ(tier(capture), "ok");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE phase = 'stalls' AND status = 'ok'"), "2");
  EXPECT_FALSE(warned("stall"));
}

TEST_F(Importer, DroppedStallSamplesAreSaid) {
  FakeSpool spool(directory_.path());
  stall_steps(spool);
  sample(spool, 1, 0, kWait, 5);
  stall_window(spool, 5, 1234);
  finish(spool);
  const store::Capture capture = import();
  EXPECT_TRUE(warned("1,234 samples were dropped"));
  EXPECT_EQ(scalar(capture, "SELECT dropped_samples FROM stall_window"), "1234");
}

TEST_F(Importer, RefusedStallsFailTheTierWithTheReason) {
  FakeSpool spool(directory_.path());
  stall_steps(spool);
  spool.message(Severity::warning, spool::Topic::stalls, "no stall reasons: run as root");
  stall_window(spool, 0, 0, WindowStatus::failed, "no stall reasons: run as root");
  finish(spool);
  const store::Capture capture = import();
  EXPECT_EQ(tier(capture), "failed: no stall reasons: run as root");
  EXPECT_EQ(capture.stall_windows().at(0).status, WindowStatus::failed);
  EXPECT_EQ(reports::reason_text(*capture.stall_windows().at(0).reason), "no stall reasons: run as root");
}

TEST_F(Importer, StallsOfAPartOfThePhaseMakeTheTierPartial) {
  FakeSpool spool(directory_.path());
  stall_steps(spool, 1);
  sample(spool, 1, 0, kWait, 5);
  spool.message(Severity::warning, spool::Topic::stalls, "the program ended inside the phase");
  stall_window(spool, 5, 0, WindowStatus::ok, "the program ended inside the phase");
  finish(spool);
  EXPECT_EQ(tier(import()), "partial: the program ended inside the phase");
}

TEST_F(Importer, StallSamplesWithoutAKernelAreLeftOutAndCounted) {
  FakeSpool spool(directory_.path());
  stall_steps(spool);
  sample(spool, 0, 0, kWait, 9);
  sample(spool, 1, 0, kWait, 5);
  finish(spool);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT sum(samples) FROM stall_sample"), "5");
  EXPECT_TRUE(warned("9 samples name no kernel"));
}

constexpr std::uint64_t kOtherCode = 0x1234;  // of kernel 1

TEST_F(Importer, StallSamplesAreOfTheCodeThatRan) {
  FakeSpool spool(directory_.path());
  spool.newer_code(1, kOtherCode, 1);
  spool.code = 0xabcdef;
  stall_steps(spool);
  sample(spool, 1, 0x10, kWait, 5);
  stall_window(spool, 5);
  finish(spool);
  EXPECT_EQ(scalar(import(),
                   "SELECT code_hash || ' ' || samples FROM stall_sample JOIN kernel k ON k.id = kernel_id"),
            "0000000000abcdef 5");
}

TEST_F(Importer, StallSamplesOfTwoCodesAreLeftOut) {
  FakeSpool spool(directory_.path());
  spool.newer_code(1, kOtherCode, 1);
  spool.process(100, "stalls=2");
  for (std::uint32_t step = 0; step < 2; ++step) {
    spool.begin_step(step, Phase::stalls);
    spool.code = step == 0 ? 0xabcdef : static_cast<std::uint32_t>(kOtherCode);
    for (int i = 0; i < 3; ++i) spool.launch();
    spool.end_step();
  }
  sample(spool, 1, 0x10, kWait, 5);
  sample(spool, 2, 0x10, kWait, 3);
  line(spool, 1, 0x10, "/src/kernel.cu", 42);
  stall_window(spool, 8);
  finish(spool);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT group_concat(samples) FROM stall_sample"), "3");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM source_line"), "0");
  EXPECT_EQ(messages_with(capture, "5 samples are of kernels that ran in two machine codes"), 1u);
}

}  // namespace
}  // namespace ridgeline::import::testing
