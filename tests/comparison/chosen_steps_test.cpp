// Which steps of a run a comparison reads.
#include "chosen_steps.h"

#include <gtest/gtest.h>

namespace ridgeline::comparison {
namespace {

using Ids = std::vector<store::Id>;

// Ten steps, ids from 1; the fifth stands for those of even ids and itself.
analyzer::StepAnalysis ten_steps(std::int64_t launches) {
  analyzer::StepAnalysis analysis;
  for (std::size_t i = 0; i < 10; ++i) {
    analyzer::StepSummary summary;
    summary.index = static_cast<analyzer::StepIndex>(i);
    summary.step_id = static_cast<store::Id>(i) + 1;
    summary.launches = launches;
    analysis.steps.push_back(summary);
    if (i % 2 == 1 || i == 4) analysis.representative.peers.push_back(summary.index);
  }
  analysis.representative.summary = analysis.steps[4];
  return analysis;
}

Ids chosen(std::int64_t launches, std::int64_t max_launches) {
  ProfileOptions options;
  options.max_launches = max_launches;
  return choose_steps(ten_steps(launches), options).ids;
}

TEST(ChosenSteps, AreTheRepresentativeAndItsPeersAsFarAsLaunchesGo) {
  EXPECT_EQ(chosen(1, 100), (Ids{5, 2, 4, 6, 8, 10}));
  EXPECT_EQ(chosen(1, 5), (Ids{5, 2, 4, 6, 8}));
  EXPECT_EQ(chosen(2, 9), (Ids{5, 2, 4, 6}));
  EXPECT_EQ(chosen(0, 5), (Ids{5, 2, 4, 6, 8})) << "a step of copies counts for one launch";
}

TEST(ChosenSteps, AreThreeAtLeast) {
  EXPECT_EQ(chosen(100, 5), (Ids{5, 2, 4}));
}

TEST(ChosenSteps, ARecordingWithoutStepsHasNone) {
  analyzer::StepAnalysis analysis = ten_steps(1);
  analysis.representative.whole_recording = true;
  const ChosenSteps none = choose_steps(analysis, {});
  EXPECT_TRUE(none.ids.empty());
  EXPECT_EQ(none.representative, 0);
}

}  // namespace
}  // namespace ridgeline::comparison
