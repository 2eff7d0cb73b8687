#include "ridgeline/reports/absence_text.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

using analyzer::Absence;
using Cause = analyzer::AbsenceCause;

TEST(AbsenceText, SaysWhatTheCollectorSaid) {
  Absence refused{.cause = Cause::tier_refused, .tier = Tier::t2, .outcome = TierOutcome::refused};
  EXPECT_EQ(absence_text(refused), "counters refused");
  refused.detail = "no permission";
  EXPECT_EQ(absence_text(refused), "counters refused: no permission");
  refused.tier = Tier::t1;
  refused.outcome = TierOutcome::not_requested;
  refused.detail = {};
  EXPECT_EQ(absence_text(refused), "samples (T1) not requested");
}

TEST(AbsenceText, NamesTheFirstStepThatIsNotUsable) {
  Absence steps{.cause = Cause::no_usable_replay_step, .status = StepStatus::mismatch};
  EXPECT_EQ(absence_text(steps), "no replay step is usable (mismatch)");
  steps.cause = Cause::no_usable_sampled_step;
  steps.status = StepStatus::failed;
  steps.detail = "the buffer was full";
  EXPECT_EQ(absence_text(steps), "no sampled step is usable (failed: the buffer was full)");
}

TEST(AbsenceText, NamesWhatStoodAtThePlace) {
  Absence other{.cause = Cause::another_grid, .phase = Phase::replay, .step_index = 12};
  EXPECT_EQ(absence_text(other), "replay step 12 launched it with a different grid at this position");
  other.cause = Cause::another_kernel;
  other.phase = Phase::sample;
  other.name = "softmax";
  EXPECT_EQ(absence_text(other), "sample step 12 launched softmax at this position");
}

TEST(AbsenceText, NamesTheRuleThePeakAndTheDevice) {
  EXPECT_EQ(absence_text(Absence{.cause = Cause::excluded, .exclusion = ExclusionReason::user}),
            "replay steps leave this kernel out (user)");
  Absence peak{.cause = Cause::no_peak, .name = "NVIDIA H200", .detail = "dram_bytes_per_s"};
  EXPECT_EQ(absence_text(peak),
            "the capture holds no peak 'dram_bytes_per_s' of device NVIDIA H200: record it again with a "
            "driver that "
            "reports memory clock and bus width");
}

TEST(AbsenceText, EveryCauseHasItsOwnWords) {
  std::vector<std::string> words;
  for (int cause = 1; cause <= static_cast<int>(Cause::no_work); ++cause)
    words.push_back(absence_text(Absence{.cause = static_cast<Cause>(cause), .name = "x", .detail = "y"}));
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_FALSE(words[i].empty()) << i + 1;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(words[i], words[j]);
  }
}

TEST(AbsenceText, JoinsWhatTwoTiersLack) {
  EXPECT_EQ(absence_text(std::vector<Absence>{}), "");
  EXPECT_EQ(absence_text(std::vector{Absence{.cause = Cause::no_replay_step},
                                     Absence{.cause = Cause::not_told_apart}}),
            "the recording has no replay step; no sample tells this launch from its neighbours");
}

}  // namespace
}  // namespace ridgeline::reports
