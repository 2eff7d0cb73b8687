// recording_gaps_test.cpp: what of a step's gaps is the recording's own.
#include <gtest/gtest.h>

#include "accounting/account.h"
#include "ridgeline/analyzer/model/price.h"

namespace ridgeline::analyzer {
namespace {

// Steps of 100 launches take 8 ms alone and 10 recorded, give or take `error_us`.
Model priced(std::int64_t error_us) {
  Model model;
  store::Message message;
  message.process_id = 1;
  message.what = Reason(ReasonCode::recording_price, {{"alone_ns", 8'000'000},
                                                      {"recorded_ns", 10'000'000},
                                                      {"error_ns", error_us * 1000},
                                                      {"launches", 100}});
  model.messages.push_back(message);
  return model;
}

// Of a timeline step of 10 ms.
std::optional<std::int64_t> recording_us(const Model& model, std::int64_t launches, std::int64_t gaps_us,
                                         Phase phase = Phase::timeline) {
  RepresentativeStep step;
  step.summary.phase = phase;
  Accounting accounting;
  accounting.process_id = 1;
  accounting.step_ns = 10'000'000;
  accounting.launches = launches;
  accounting.gap_launch_bound_ns = gaps_us * 600;
  accounting.gap_host_bound_ns = gaps_us * 400;
  mark_recording_gaps(model, step, accounting);
  if (!accounting.gap_recording_ns) return std::nullopt;
  return *accounting.gap_recording_ns / 1000;
}

TEST(RecordingGaps, AreAsLongAsThePriceAsFarAsTheyGo) {
  EXPECT_EQ(recording_us(priced(100), 100, 5000), 2000);
  EXPECT_EQ(recording_us(priced(100), 100, 1500), 1500);
  EXPECT_EQ(recording_us(priced(100), 100, 5000, Phase::replay), std::nullopt);
  EXPECT_EQ(recording_us(priced(2500), 100, 5000), std::nullopt) << "no more than steps vary by";
  EXPECT_EQ(recording_us(Model{}, 100, 5000), std::nullopt);
}

TEST(RecordingGaps, OfAStepThatLaunchesLessAreAsMuchShorter) {
  EXPECT_EQ(recording_us(priced(100), 10, 5000), 200);
  EXPECT_EQ(recording_us(priced(100), 0, 5000), 0);
  EXPECT_EQ(recording_us(priced(100), 300, 5000), 2000) << "that it has more of it was not measured";
}

}  // namespace
}  // namespace ridgeline::analyzer
