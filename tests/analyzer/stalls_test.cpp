#include "ridgeline/analyzer/ranking/stalls.h"

#include <gtest/gtest.h>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer::testing {
namespace {

constexpr char kPrefix[] = "smsp__pcsamp_warps_issue_stalled_";

class StallModel : public FabricatedModel {
 public:
  // Three kernels, the first the worst.
  StallModel() {
    for (int i = 0; i < 3; ++i) {
      const std::int64_t at = 1000 + i * 200'000;
      step(Phase::timeline);
      launch("slow", at, at + 90'000);
      launch("middle", at + 90'000, at + 130'000);
      launch("fast", at + 130'000, at + 140'000);
    }
    window(WindowStatus::ok);
  }
  void window(WindowStatus status, const std::string& reason = {}, std::int64_t dropped = 0) {
    store::StallWindow row;
    row.process_id = row.device_id = 1;
    row.first_step_index = 3;
    row.last_step_index = 6;
    row.period_cycles = 16384;
    row.samples = 1000;
    row.dropped_samples = dropped;
    row.status = status;
    if (!reason.empty()) row.reason = reason;
    model.stall_windows = {row};
  }
  void sample(const std::string& name, std::int64_t offset, const std::string& reason, std::int64_t samples) {
    model.stall_samples.push_back({kernel(name), offset, kPrefix + reason, samples});
  }
  void line(const std::string& name, std::int64_t offset, std::int64_t number) {
    model.strings[9] = "/src/kernel.cu";
    model.source_lines.push_back({kernel(name), offset, 9, number});
  }
  StallAnalysis analysed(const StallOptions& options = {}) {
    AnalysisOptions how;
    how.stalls = options;
    auto analysis = analyse(done(), how);
    if (!analysis.ok()) throw std::runtime_error(analysis.failure().message);
    return std::move(analysis).value().stalls;
  }
};

TEST(Stalls, LabelsAreTheVendorsNameInWords) {
  EXPECT_EQ(stall_label("smsp__pcsamp_warps_issue_stalled_long_scoreboard"), "long scoreboard");
  EXPECT_EQ(stall_label("smsp__pcsamp_warps_issue_stalled_wait_not_issued"), "wait");
  EXPECT_EQ(stall_label("something_else"), "something else");
}

TEST(Stalls, SamplesDivideIntoIssuingReadyAndStalled) {
  StallModel m;
  m.sample("slow", 0x10, "selected", 10);
  m.sample("slow", 0x10, "not_selected", 20);
  m.sample("slow", 0x20, "long_scoreboard", 50);
  m.sample("slow", 0x20, "long_scoreboard_not_issued", 45);
  m.sample("slow", 0x30, "wait", 20);
  m.sample("slow", 0x30, "wait_not_issued", 5);
  const StallAnalysis stalls = m.analysed();
  ASSERT_EQ(stalls.kernels.size(), 1u);
  const KernelStalls& slow = stalls.kernels[0];
  EXPECT_EQ(slow.kernel, "slow");
  EXPECT_EQ(slow.ranking_row, 0u);
  EXPECT_EQ(slow.samples, 100);
  EXPECT_DOUBLE_EQ(slow.issuing_share, 0.10);
  EXPECT_DOUBLE_EQ(slow.ready_share, 0.20);
  EXPECT_DOUBLE_EQ(slow.stalled_share, 0.70);
  EXPECT_DOUBLE_EQ(slow.idle_share, 0.50);
  ASSERT_EQ(slow.reasons.size(), 2u);
  EXPECT_EQ(slow.reasons[0].label, "long scoreboard");
  EXPECT_EQ(slow.reasons[0].name, std::string(kPrefix) + "long_scoreboard");
  EXPECT_DOUBLE_EQ(slow.reasons[0].share, 0.5);
  EXPECT_EQ(slow.reasons[1].label, "wait");
  ASSERT_EQ(slow.instructions.size(), 3u);
  EXPECT_EQ(slow.instructions[0].pc_offset, 0x20);
  EXPECT_DOUBLE_EQ(slow.instructions[0].share, 0.5);
  EXPECT_EQ(slow.instructions[0].main_reason, "long scoreboard");
  EXPECT_DOUBLE_EQ(slow.instructions[0].main_reason_share, 1.0);
  EXPECT_EQ(slow.instructions[1].main_reason, "") << "nothing waits there";
  EXPECT_TRUE(slow.lines.empty());
  EXPECT_EQ(stalls.steps, 4);
  EXPECT_EQ(stalls.unsampled, 2);
}

TEST(Stalls, LinesGatherTheirInstructions) {
  StallModel m;
  m.sample("slow", 0x10, "wait", 30);
  m.sample("slow", 0x20, "barrier", 25);
  m.sample("slow", 0x30, "barrier", 25);
  m.sample("slow", 0x40, "barrier", 20);
  m.line("slow", 0x10, 7);
  m.line("slow", 0x20, 8);
  m.line("slow", 0x30, 8);
  const StallAnalysis stalls = m.analysed();
  ASSERT_EQ(stalls.kernels.size(), 1u);
  const auto& lines = stalls.kernels[0].lines;
  ASSERT_EQ(lines.size(), 2u) << "an instruction without a line belongs to none";
  EXPECT_EQ(lines[0].line, 8);
  EXPECT_EQ(lines[0].file, "/src/kernel.cu");
  EXPECT_DOUBLE_EQ(lines[0].share, 0.5);
  EXPECT_EQ(lines[0].main_reason, "barrier");
  EXPECT_FALSE(lines[0].pc_offset);
  EXPECT_EQ(stalls.kernels[0].instructions[0].line, 7);
}

TEST(Stalls, OnlyTheWorstKernelsAndTheHottestSpots) {
  StallModel m;
  for (std::int64_t i = 0; i < 20; ++i) m.sample("slow", i * 16, "wait", i + 1);
  m.sample("middle", 0, "wait", 1000);
  m.sample("fast", 0, "wait", 1000);
  const StallAnalysis stalls = m.analysed({.kernels = 2, .spots = 3});
  ASSERT_EQ(stalls.kernels.size(), 2u);
  EXPECT_EQ(stalls.kernels[0].kernel, "slow");
  EXPECT_EQ(stalls.kernels[1].kernel, "middle");
  ASSERT_EQ(stalls.kernels[0].instructions.size(), 3u);
  EXPECT_EQ(stalls.kernels[0].instructions[0].pc_offset, 19 * 16);
}

TEST(Stalls, FailuresAndLossesAreSaid) {
  StallModel m;
  m.window(WindowStatus::failed, "no stall reasons: run as root");
  m.model.stall_windows[0].samples = 0;
  StallAnalysis stalls = m.analysed();
  EXPECT_TRUE(stalls.requested);
  EXPECT_EQ(stalls.steps, 0);
  EXPECT_EQ(stalls.reason, "no stall reasons: run as root");
  EXPECT_TRUE(stalls.kernels.empty());

  m.window(WindowStatus::overflow, {}, 12);
  m.sample("slow", 0, "wait", 5);
  stalls = m.analysed();
  EXPECT_TRUE(stalls.buffer_full);
  EXPECT_EQ(stalls.reason, "");
  EXPECT_EQ(stalls.dropped_samples, 12);
  EXPECT_EQ(stalls.kernels.size(), 1u);

  const store::StallWindow overflow = m.model.stall_windows.front();
  m.window(WindowStatus::failed, "the driver ended");
  m.model.stall_windows.insert(m.model.stall_windows.begin(), overflow);
  stalls = m.analysed();
  EXPECT_FALSE(stalls.buffer_full) << "the last window that says something counts";
  EXPECT_EQ(stalls.reason, "the driver ended");
}

TEST(Stalls, ARecordingWithoutThemSaysSo) {
  StallModel m;
  m.model.stall_windows.clear();
  const StallAnalysis stalls = m.analysed();
  EXPECT_FALSE(stalls.requested);
  EXPECT_TRUE(stalls.kernels.empty());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
