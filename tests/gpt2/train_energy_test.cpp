// Joules a step from readings of a counter.
#include <gtest/gtest.h>

#include <optional>

#include "gpt2/train/loop/step_energy.h"

namespace ridgeline::gpt2 {
namespace {

// 30 J per step of 50 ms, on top of what the card had used before.
struct Card {
  double joules = 5e6;
  int reads = 0;
  bool has_counter = true;

  StepEnergyMeter::Read counter() {
    return [this]() -> std::optional<double> {
      ++reads;
      return has_counter ? std::optional(joules) : std::nullopt;
    };
  }
};

double run_steps(StepEnergyMeter& meter, Card& card, double from, int steps) {
  for (int i = 0; i < steps; ++i) {
    card.joules += 30;
    from += 0.05;
    meter.step_ended(from);
  }
  return from;
}

TEST(StepEnergy, IsTheCountersDifferenceOverTheSteps) {
  Card card;
  StepEnergyMeter meter(card.counter());
  run_steps(meter, card, 100, 301);
  const std::optional<StepEnergy> energy = meter.longest();
  ASSERT_TRUE(energy.has_value());
  EXPECT_NEAR(energy->joules_per_step, 30, 1e-9);
  EXPECT_NEAR(energy->seconds, 15, 0.3);
  EXPECT_NEAR(energy->watts(), 600, 1e-6);
}

TEST(StepEnergy, TheCounterIsReadFourTimesASecond) {
  Card card;
  StepEnergyMeter meter(card.counter());
  run_steps(meter, card, 100, 301);
  EXPECT_LE(card.reads, 62);
  EXPECT_GE(card.reads, 50);
}

TEST(StepEnergy, AShortStretchSaysNothing) {
  Card card;
  StepEnergyMeter meter(card.counter());
  run_steps(meter, card, 100, 190);  // 9.5 s
  EXPECT_FALSE(meter.longest().has_value());
}

TEST(StepEnergy, WhatIsNoStepIsNotCountedIn) {
  Card card;
  StepEnergyMeter meter(card.counter());
  double now = run_steps(meter, card, 100, 100);
  meter.disturbed();
  card.joules += 1e5;
  now += 20;
  run_steps(meter, card, now, 250);
  const std::optional<StepEnergy> energy = meter.longest();
  ASSERT_TRUE(energy.has_value());
  EXPECT_NEAR(energy->joules_per_step, 30, 1e-9);
  EXPECT_NEAR(energy->seconds, 12.3, 0.3);
}

TEST(StepEnergy, WithoutACounterThereIsNone) {
  Card card;
  card.has_counter = false;
  StepEnergyMeter meter(card.counter());
  run_steps(meter, card, 100, 500);
  EXPECT_FALSE(meter.longest().has_value());
}

}  // namespace
}  // namespace ridgeline::gpt2
