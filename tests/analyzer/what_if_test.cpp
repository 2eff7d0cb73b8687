#include "ridgeline/analyzer/whatif/what_if.h"

#include <gtest/gtest.h>

#include "analyzer/fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;
using testing::kDuration;
using testing::kFma;
using testing::kOperations;
using testing::kRead;
using testing::kTensor;
using testing::kWritten;

constexpr const char* kAlu = "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed";

// writer → reader → product → other on one stream, 100 µs each, 10 µs apart; peak 1 TB/s. No calls of the CPU: what is
// looked at is what a transform makes of the launches.
class WhatIfOfLaunches {
 public:
  // `counted`: what operations the tensor pipe did is counted; else only names say what types kernels work on.
  explicit WhatIfOfLaunches(bool counted = true) : counted_(counted) {
    made_.model.device_peaks.push_back({1, Quantity::tf32_flops_per_s, PeakSource::spec, 500e12, "test"});
    made_.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1000e12, "test"});
    made_.model.device_peaks.push_back({1, Quantity::fp8_flops_per_s, PeakSource::spec, 2000e12, "test"});
    for (const Phase phase : {Phase::timeline, Phase::timeline, Phase::replay}) step(phase);
    const Model& model = made_.done();
    steps_ = analyze_steps(model).value();
    measured_ = analyze_utilisation(model, steps_);
    replay_.emplace(model, steps_.representative, std::vector{steps_.representative});
  }

  [[nodiscard]] Result<WhatIf> ask(std::vector<Transform> transforms) const {
    return accepted(what_if(made_.model, steps_, measured_, *replay_, {},
                            {.transforms = std::move(transforms), .range = ""}));
  }
  [[nodiscard]] TransformAnswer alone(Transform transform) const {
    return ask({std::move(transform)}).value().transforms.front();
  }

  FabricatedModel made_;

 private:
  void step(Phase phase) {
    made_.step(phase);
    int place = 0;
    for (const char* name :
         {"lib::writer<4>(float*)", "lib::reader(float*)",
          counted_ ? "product" : "sm90_gemm_f32f32_tf32f32_nt", counted_ ? "other" : "scale<float, 4>"}) {
      const std::int64_t start_ns = now_ns_ + 110'000 * place;
      made_.launch(name, start_ns, start_ns + 100'000);
      if (phase == Phase::replay) {
        // 80, 40, 20 and 10 MB of the 100 that 100 µs could move.
        if (place == 0) made_.counters({{kRead, 20e6}, {kWritten, 60e6}, {kFma, 10}, {kDuration, 100e3}});
        if (place == 1) made_.counters({{kRead, 30e6}, {kWritten, 10e6}, {kFma, 20}, {kDuration, 100e3}});
        if (place == 2 && counted_)
          made_.counters(
              {{kRead, 10e6}, {kWritten, 10e6}, {kTensor, 60}, {kOperations, 60e9}, {kDuration, 100e3}});
        if (place == 2 && !counted_)
          made_.counters({{kRead, 10e6}, {kWritten, 10e6}, {kTensor, 60}, {kDuration, 100e3}});
        if (place == 3 && !counted_)
          made_.counters({{kRead, 40e6}, {kWritten, 40e6}, {kAlu, 10}, {kDuration, 100e3}});
      }
      ++place;
    }
    for (auto& [id, kernel] : made_.model.kernels) {
      if (kernel.demangled_name.starts_with("sm90_gemm")) kernel.kernel_class = KernelClass::gemm;
      if (kernel.demangled_name.starts_with("lib::"))
        kernel.normalised_name = kernel.demangled_name.substr(0, kernel.demangled_name.find_first_of("<("));
    }
    now_ns_ += 1'000'000;
  }

  bool counted_;
  std::int64_t now_ns_ = 1'000'000;
  StepAnalysis steps_;
  UtilisationAnalysis measured_;
  std::optional<Replay> replay_;
};

TEST(WhatIf, AKernelIsMeantByItsNameWithAndWithoutNamespacesAndParameters) {
  const WhatIfOfLaunches step;
  for (const char* pattern : {"writer", "lib::writer", "lib::writer<4>(float*)", "writ*", "w?iter"}) {
    const TransformAnswer answer = step.alone(Faster{pattern, 2});
    EXPECT_EQ(answer.launches, 1) << pattern;
    EXPECT_DOUBLE_EQ(answer.before_ns, 100e3);
    EXPECT_DOUBLE_EQ(answer.after_ns, 50e3);
    EXPECT_DOUBLE_EQ(answer.gain.naive_ns, 50e3);
    EXPECT_FALSE(answer.gain.simulated.has_value()) << "the CPU's calls are not there";
  }
  EXPECT_EQ(step.alone(Faster{"*", 2}).launches, 4);
}

TEST(WhatIf, AtARoofALaunchTakesAsLongAsItsShareSaysAndNeverLonger) {
  const WhatIfOfLaunches step;
  EXPECT_DOUBLE_EQ(step.alone(AtRoof{0.8, "reader"}).after_ns, 50e3) << "40 % of DRAM";
  const TransformAnswer writer = step.alone(AtRoof{0.5, "writer"});
  EXPECT_EQ(writer.changed, 0) << "it is at 80 % already";
  EXPECT_EQ(writer.left_alone, LeftAlone::at_goal);
  const TransformAnswer other = step.alone(AtRoof{0.8, "other"});
  EXPECT_EQ(other.left_alone, LeftAlone::not_measured);
  EXPECT_EQ(other.left, 1);
  const TransformAnswer all = step.alone(AtRoof{1, "*"});
  EXPECT_EQ(all.launches, 4);
  EXPECT_EQ(all.changed, 3);
  EXPECT_DOUBLE_EQ(all.before_ns - all.after_ns, 20e3 + 60e3 + 40e3);
}

TEST(WhatIf, AFusedPairMovesNeitherWhatOneWritesNorWhatTheOtherReads) {
  const WhatIfOfLaunches step;
  const TransformAnswer answer = step.alone(Fused{"writer", "reader"});
  EXPECT_EQ(answer.launches, 1);
  EXPECT_DOUBLE_EQ(answer.shared_bytes, 2 * 30e6) << "the smaller of 60 MB written and 30 MB read";
  // 120 - 60 MB take 60 µs at the peak; the better of the two is at 80 % of it.
  EXPECT_NEAR(answer.after_ns, 75e3, 1);
  EXPECT_NEAR(answer.gain.naive_ns, 125e3, 1);
  const TransformAnswer unknown = step.alone(Fused{"product", "other"});
  EXPECT_EQ(unknown.left_alone, LeftAlone::traffic_unknown);
  EXPECT_DOUBLE_EQ(unknown.after_ns, 200e3) << "only the launch goes";
}

TEST(WhatIf, WhatAFusedPairKeepsIsStillWritten) {
  const WhatIfOfLaunches step;
  const TransformAnswer answer = step.alone(Fused{"writer", "reader", true});
  EXPECT_DOUBLE_EQ(answer.shared_bytes, 30e6) << "what is read";
  // 120 - 30 MB take 90 µs at the peak; the better of the two is at 80 % of it.
  EXPECT_NEAR(answer.after_ns, 112.5e3, 1);
  const WhatIfOfLaunches uncounted(false);
  const TransformAnswer product = uncounted.alone(Fused{"sm90_gemm*", "scale*", true});
  EXPECT_DOUBLE_EQ(product.shared_bytes, 10e6);
  EXPECT_NEAR(product.after_ns, 100e3 + 87.5e3, 1) << "the product goes on writing what it wrote";
}

// 80 MB less what is written once and read once are 60 that the product did not move: three quarters of what they took.
TEST(WhatIf, WhatAProductMovesBesidesComesAfterItsOperations) {
  const WhatIfOfLaunches step(false);
  const TransformAnswer answer = step.alone(Fused{"sm90_gemm*", "scale*"});
  ASSERT_EQ(answer.launches, 1);
  EXPECT_DOUBLE_EQ(answer.shared_bytes, 2 * 10e6);
  EXPECT_NEAR(answer.after_ns, 100e3 + 75e3, 1);
}

TEST(WhatIf, AnotherTypeMovesAsManyBytesAsItsValuesHave) {
  const WhatIfOfLaunches step;
  // FP32 by its busiest pipe: 40 % of DRAM becomes 20 %, as much as its pipe takes.
  EXPECT_NEAR(step.alone(InPrecision{"reader", Precision::bf16}).after_ns, 50e3, 1);
  // A product is faster by the peaks of the types, as long as its bytes let it.
  EXPECT_NEAR(step.alone(InPrecision{"product", Precision::fp8}).after_ns, 50e3, 1);
  EXPECT_EQ(step.alone(InPrecision{"product", Precision::bf16}).left_alone, LeftAlone::at_goal);
  EXPECT_EQ(step.alone(InPrecision{"other", Precision::bf16}).left_alone, LeftAlone::not_measured);
}

TEST(WhatIf, ANameSaysTheTypeWhereNothingCountsIt) {
  const WhatIfOfLaunches step(false);
  const TransformAnswer gemm = step.alone(InPrecision{"sm90_gemm*", Precision::bf16});
  EXPECT_EQ(gemm.left_alone, LeftAlone::none);
  EXPECT_NEAR(gemm.after_ns, 50e3, 1);
  EXPECT_NEAR(step.alone(InPrecision{"scale*", Precision::bf16}).after_ns, 50e3, 1) << "half of its bytes";
  EXPECT_NEAR(step.alone(InPrecision{"scale*", Precision::fp64}).after_ns, 200e3, 1);
  EXPECT_EQ(step.alone(InPrecision{"scale*", Precision::fp32}).left_alone, LeftAlone::at_goal);
}

TEST(WhatIf, EachGoesOnFromWhatThoseBeforeItMade) {
  const WhatIfOfLaunches step;
  const WhatIf answer = step.ask({AtRoof{0.8, "reader"}, Faster{"reader", 2}}).value();
  EXPECT_DOUBLE_EQ(answer.transforms[0].gain.naive_ns, 50e3);
  EXPECT_DOUBLE_EQ(answer.transforms[1].gain.naive_ns, 50e3) << "alone: of the recorded time";
  EXPECT_DOUBLE_EQ(answer.together.naive_ns, 75e3);
}

TEST(WhatIf, WhatCannotBeMeantIsRefused) {
  const WhatIfOfLaunches step;
  const auto message = [&](Transform transform) {
    const auto answer = step.ask({std::move(transform)});
    if (answer) return std::string();
    EXPECT_EQ(answer.failure().kind, ErrorKind::usage);
    return answer.failure().message;
  };
  EXPECT_NE(message(Faster{"no_such*", 2}).find("no kernel of the step is called 'no_such*'"),
            std::string::npos);
  EXPECT_NE(message(Fused{"reader", "writer", true}).find("--fuse-kept reader,writer: no launch"),
            std::string::npos);
  EXPECT_NE(message(Fused{"reader", "writer"}).find("no launch of the second follows"), std::string::npos);
  EXPECT_NE(message(HiddenCopies{}).find("copies nothing"), std::string::npos);
  EXPECT_NE(message(Faster{"reader", 0}), "");
  EXPECT_NE(message(AtRoof{1.5, "*"}), "");
  EXPECT_EQ(step.ask({}).failure().kind, ErrorKind::usage);
}

// Clock samples in the steps: of `limited` in 10 the power limit holds the clock.
PowerTerm term_of(int limited, bool reasons = true) {
  FabricatedModel made;
  for (int i = 0; i < 4; ++i) {
    made.step(Phase::timeline);
    made.launch("k", 1'000'000 * (i + 1), 1'000'000 * (i + 1) + 900'000);
  }
  for (int i = 0; i < 10; ++i) {
    store::ClockSample sample;
    sample.device_id = 1;
    sample.time_ns = 1'100'000 + 200'000 * i;
    sample.power_mw = 690'000;
    if (reasons) sample.throttle_reasons = i < limited ? 0x4 : 0;
    made.model.clock_samples.push_back(sample);
  }
  const Model& model = made.done();
  const StepAnalysis steps = analyze_steps(model).value();
  return accepted(power_term(model, steps, analyze_utilisation(model, steps)));
}

TEST(WhatIfPower, HoldsOnlyWhereTheDriverSaysSo) {
  EXPECT_EQ(term_of(0, false).state, PowerTerm::State::unknown);
  EXPECT_EQ(term_of(1).state, PowerTerm::State::clear);
  const PowerTerm holds = term_of(8);
  EXPECT_EQ(holds.state, PowerTerm::State::holds);
  EXPECT_DOUBLE_EQ(holds.limited_ratio, 0.8);
  EXPECT_DOUBLE_EQ(*holds.power_w, 690);
  EXPECT_LE(holds.beta.low, holds.beta.value);
}

TEST(WhatIfPower, BetaIsThatOfWhatTheClockCostsWhereItIsClearlyLow) {
  FabricatedModel made;
  for (int i = 0; i < 4; ++i) {
    made.step(Phase::timeline);
    made.launch("k", 1'000'000 * (i + 1), 1'000'000 * (i + 1) + 900'000);
  }
  store::ClockSample sample;
  sample.device_id = 1;
  sample.time_ns = 1'500'000;
  sample.throttle_reasons = 0x4;
  made.model.clock_samples.push_back(sample);
  const Model& model = made.done();
  const StepAnalysis steps = analyze_steps(model).value();
  const UtilisationAnalysis measured = analyze_utilisation(model, steps);
  StepPower power;
  // A fifth of the clock is lost, and a tenth of the time with it.
  power.clock = ClockCost{.reference_hz = 2e9,
                          .clock_hz = 1.6e9,
                          .cost_ns = 90'000,
                          .low_ns = 45'000,
                          .high_ns = 900'000,
                          .covered_ns = 900'000};
  const PowerTerm term = accepted(power_term(model, steps, measured, power));
  EXPECT_NEAR(term.beta.value, 0.5, 1e-9);
  EXPECT_NEAR(term.beta.low, 0.25, 1e-9);
  EXPECT_DOUBLE_EQ(term.beta.high, 1) << "no time follows the clock more than in full";
  power.clock->clock_hz = 1.99e9;
  EXPECT_NE(accepted(power_term(model, steps, measured, power)).beta.low, term.beta.low)
      << "of its bounds then";
}

TEST(WhatIfPower, TakesBackWhatTheClockLosesAndNothingWhereItDoesNotHold) {
  PowerTerm term;
  term.state = PowerTerm::State::holds;
  term.alpha = {2, 2, 2};
  term.beta = {0.7, 0.7, 0.7};
  Gain gain;
  gain.simulated = GainRange{100, 90, 110};
  apply_power(term, {.same_energy_ns = 1}, gain);
  EXPECT_NEAR(gain.after_power->value, 65, 1e-9) << "1 - 0.7 / 2";
  EXPECT_NEAR(*gain.after_power->low, 58.5, 1e-9);
  EXPECT_NEAR(*gain.after_power->high, 71.5, 1e-9);
  apply_power(term, {.idle_ns = 1}, gain);
  EXPECT_NEAR(gain.after_power->value, 75.5, 1e-9) << "1 - 0.7 / 2 * 0.7";
  EXPECT_LE(*gain.after_power->low, gain.after_power->value);
  EXPECT_GE(*gain.after_power->high, gain.after_power->value);
  // A step that gets longer draws less: part of it comes back.
  gain.simulated = GainRange{-100, -110, -90};
  apply_power(term, {.same_energy_ns = 1}, gain);
  EXPECT_NEAR(gain.after_power->value, -65, 1e-9);
  EXPECT_LE(*gain.after_power->low, *gain.after_power->high);
  term.state = PowerTerm::State::clear;
  apply_power(term, {.same_energy_ns = 1}, gain);
  EXPECT_FALSE(gain.after_power.has_value());
}

}  // namespace
}  // namespace ridgeline::analyzer
