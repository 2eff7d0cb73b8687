// A stretch of a capture, written as one of its own: it must be a whole capture, and say nothing else of what it holds.
#include "ridgeline/store/capture_part.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "reports/fabricated_capture.h"
#include "ridgeline/analyzer/session/session.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::held;

class CapturePartTest : public ::testing::Test {
 protected:
  CapturePartTest() {
    ridgeline::testing::FabricatedCapture made;
    made.layers = 3;
    made.sample_steps = 2;
    made.cold_steps = 1;
    made.declared = true;
    made.codes = true;
    ridgeline::testing::write_fabricated_capture(whole_path(), made);
    per_step_ = ridgeline::testing::launches_per_step(made);
    auto opened = held(Capture::open(whole_path()));
    whole_ = std::make_unique<Capture>(std::move(opened).value());
    for (const Step& step : whole_->steps()) {
      if (step.phase == Phase::timeline) timeline_.push_back(step);
    }
  }
  std::string whole_path() const { return directory_.file("whole.ridge"); }
  std::string part_path() const { return directory_.file("part.ridge"); }
  // The middle of the second timeline step.
  TimeSpan inside() const {
    const std::int64_t middle = (*timeline_[1].gpu_start_ns + *timeline_[1].gpu_end_ns) / 2;
    return {middle, middle + 1000};
  }
  static std::map<Phase, int> phases(const Capture& capture) {
    std::map<Phase, int> count;
    for (const Step& step : capture.steps()) ++count[step.phase];
    return count;
  }

  ridgeline::testing::TemporaryDirectory directory_;
  std::int64_t per_step_ = 0;
  std::unique_ptr<Capture> whole_;
  std::vector<Step> timeline_;
};

TEST_F(CapturePartTest, HoldsTheStepsThatItTouchesAndThoseThatMeasured) {
  const auto part = write_part(*whole_, inside(), part_path());
  ASSERT_TRUE(part.ok()) << part.failure().message;
  const auto opened = held(Capture::open(part_path()));
  ASSERT_TRUE(opened.ok());
  const Capture& capture = opened.value();
  std::map<Phase, int> expected = phases(*whole_);
  expected[Phase::timeline] = 1;
  expected.erase(Phase::warmup);
  expected.erase(Phase::after);
  EXPECT_EQ(phases(capture), expected);
  EXPECT_EQ(part.value().steps, static_cast<std::int64_t>(capture.steps().size()));
  EXPECT_EQ(part.value().steps_of_whole, static_cast<std::int64_t>(whole_->steps().size()));
  const auto messages = capture.messages();
  const auto said = std::find_if(messages.begin(), messages.end(), [](const Message& message) {
    return message.what.code == ReasonCode::part_of_capture;
  });
  ASSERT_NE(said, messages.end());
  EXPECT_EQ(said->what.word("name"), "whole.ridge");
  EXPECT_EQ(said->what.number("steps"), part.value().steps);
  EXPECT_EQ(said->what.number("of_steps"), part.value().steps_of_whole);
  EXPECT_EQ(said->what.number("launches"), static_cast<std::int64_t>(capture.launches().size()));
  EXPECT_EQ(said->what.number("of_launches"), static_cast<std::int64_t>(whole_->launches().size()));
  EXPECT_EQ(said->what.number("duration_ns"), 1000);
  // The touched step is whole, at the times that it had.
  std::vector<std::pair<std::int64_t, std::int64_t>> then, now;
  Id kept = 0;
  for (const Step& each : capture.steps()) {
    if (each.phase == Phase::timeline) kept = each.id;
  }
  for (const Launch& launch : capture.launches()) {
    if (launch.step_id == kept) now.emplace_back(launch.start_ns, launch.end_ns);
  }
  for (const Launch& launch : whole_->launches()) {
    if (launch.step_id == timeline_[1].id) then.emplace_back(launch.start_ns, launch.end_ns);
  }
  EXPECT_EQ(static_cast<std::int64_t>(now.size()), per_step_);
  EXPECT_EQ(now, then);
}

TEST_F(CapturePartTest, IsAWholeCapture) {
  ASSERT_TRUE(write_part(*whole_, inside(), part_path()).ok());
  const auto opened = held(Capture::open(part_path()));
  ASSERT_TRUE(opened.ok());
  const Verification verification = opened.value().verify();
  EXPECT_TRUE(verification.noted);
  EXPECT_TRUE(verification.damage.empty()) << verification.damage.front();
  EXPECT_EQ(opened.value().run().command_line, whole_->run().command_line);
  EXPECT_EQ(opened.value().device_peaks().size(), whole_->device_peaks().size());
  EXPECT_EQ(opened.value().tier_coverage().size(), whole_->tier_coverage().size());
  const std::vector<Message> messages = opened.value().messages();
  ASSERT_EQ(messages.size(), whole_->messages().size() + 1);
  EXPECT_EQ(messages.back().what.code, ReasonCode::part_of_capture);
  EXPECT_EQ(messages.back().what.word("name"), "whole.ridge");
}

// Measured values are of other steps than the timeline's: they must come along.
TEST_F(CapturePartTest, AKernelIsUtilisedAsInTheWhole) {
  ASSERT_TRUE(write_part(*whole_, inside(), part_path()).ok());
  std::map<std::string, std::pair<double, double>> known[2];
  for (const bool part : {false, true}) {
    auto session = analyzer::Session::open(part ? part_path() : whole_path());
    ASSERT_TRUE(session.ok());
    const auto ranking = session.value().ranking({});
    ASSERT_TRUE(ranking.ok()) << ranking.failure().message;
    for (const analyzer::RankingRow& row : ranking.value()->rows) {
      if (row.dram && row.compute) known[part ? 1 : 0][row.key] = {row.dram->value, row.compute->value};
    }
  }
  ASSERT_GT(known[0].size(), 5U);
  ASSERT_EQ(known[0].size(), known[1].size());
  // The same bytes and operations over the duration in one step, not in all.
  for (const auto& [kernel, utilisation] : known[0]) {
    ASSERT_TRUE(known[1].contains(kernel)) << kernel;
    EXPECT_NEAR(known[1][kernel].first, utilisation.first, 0.02 * utilisation.first) << kernel;
    EXPECT_NEAR(known[1][kernel].second, utilisation.second, 0.02 * utilisation.second) << kernel;
  }
}

TEST_F(CapturePartTest, RangesKeepTheirParentsAndWhatIsDeclared) {
  const Capture recorded = Capture::open(RIDGELINE_BUNDLED_CAPTURE).value();
  TimeSpan some;
  for (const Step& step : recorded.steps()) {
    if (step.step_index == 14) some = {*step.gpu_start_ns, *step.gpu_end_ns};
  }
  ASSERT_TRUE(write_part(recorded, some, part_path()).ok());
  const Capture capture = held(Capture::open(part_path())).value();
  EXPECT_TRUE(capture.verify().damage.empty());
  const std::map<Id, std::string> strings = capture.strings();
  std::map<Id, NvtxRange> ranges;
  for (const NvtxRange& range : capture.nvtx_ranges()) ranges[range.id] = range;
  std::size_t inner = 0;
  for (const auto& [id, range] : ranges) {
    if (!range.parent_id) continue;
    ++inner;
    ASSERT_TRUE(ranges.contains(*range.parent_id));
    EXPECT_TRUE(strings.at(range.path_id).starts_with(strings.at(ranges.at(*range.parent_id).path_id)));
  }
  EXPECT_GT(inner, 10U);
  EXPECT_GT(capture.annotations().size(), 10U);
}

TEST_F(CapturePartTest, NothingIsLeftOfOneThatFails) {
  const std::int64_t later = whole_->launches().back().end_ns + 1'000'000'000;
  const auto nothing = write_part(*whole_, {later, later + 1000}, part_path());
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.failure().kind, ErrorKind::no_data);
  EXPECT_FALSE(std::filesystem::exists(part_path()));
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = write_part(*whole_, inside(), part_path(), stop.get_token());
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.failure().kind, ErrorKind::cancelled);
  EXPECT_FALSE(std::filesystem::exists(part_path()));
  // Nor of what SQLite keeps beside a file.
  std::ofstream(part_path() + "-shm") << "of an earlier one";
  EXPECT_FALSE(write_part(*whole_, inside(), part_path(), stop.get_token()).ok());
  EXPECT_FALSE(std::filesystem::exists(part_path() + "-shm"));
  // What is there is not written over.
  const auto there = write_part(*whole_, inside(), whole_path());
  ASSERT_FALSE(there.ok());
  EXPECT_EQ(there.failure().kind, ErrorKind::io);
  EXPECT_TRUE(held(Capture::open(whole_path())).value().verify().damage.empty());
}

}  // namespace
}  // namespace ridgeline::store
