// In-situ samples of one step, binned: by hand, so that each number can be followed.
#include "ridgeline/analyzer/trace/sampled_step.h"

#include <gtest/gtest.h>

#include "fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;
using testing::kRead;
using testing::kSampledTensor;
using testing::kWritten;

// A sample step whose kernels run from 1000 to 2000, and a sample every 50 ns from 500 to 2500: 20 in the window.
class SampledSteps : public ::testing::Test {
 protected:
  SampledSteps() {
    f_.step(Phase::sample);
    f_.launch("a", 1000, 1400);
    f_.launch("b", 1400, 1700);
    f_.launch("b", 1700, 1900);
    f_.launch("a", 1900, 2000);
    f_.model.kernels[f_.kernel("a")].kernel_class = KernelClass::gemm;
    f_.model.kernels[f_.kernel("b")].kernel_class = KernelClass::copy;
    f_.done();
    utilisation_.sample_steps = {0};
    Peak peak;
    peak.quantity = Quantity::dram_bytes_per_s;
    peak.value = 1e12;  // 1000 bytes/ns
    utilisation_.peaks = {peak};
    add(kRead, 10'000);    // a fifth of what 50 ns can move
    add(kWritten, 5'000);  // a tenth
    add(kSampledTensor, 40);
  }
  void add(const char* metric, double value) {
    SampleTrace trace{1, metric, {}};
    // Those outside of the window are twice as far apart.
    for (std::int64_t at = 500; at < 1000; at += 100) trace.samples.push_back({1, at, 1, value * 100});
    for (std::int64_t at = 1000; at < 2000; at += 50) trace.samples.push_back({1, at, 1, value});
    for (std::int64_t at = 2000; at < 6000; at += 100) trace.samples.push_back({1, at, 1, value * 100});
    traces_.push_back(std::move(trace));
  }
  std::optional<SampledStep> sampled(std::size_t bins = 4, store::Id device = 1) const {
    return accepted(sampled_step(f_.model, utilisation_, traces_, device, bins));
  }
  FabricatedModel f_;
  UtilisationAnalysis utilisation_;
  std::vector<SampleTrace> traces_;
};

TEST_F(SampledSteps, BinsHoldTheSharesOfThePeak) {
  const auto step = sampled();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->step_index, 0);
  EXPECT_EQ(step->window.start_ns, 1000);
  EXPECT_EQ(step->window.end_ns, 2000);
  EXPECT_EQ(step->samples, 20);
  EXPECT_DOUBLE_EQ(step->interval_ns, 50);
  ASSERT_EQ(step->dram_ratio.size(), 4u);
  ASSERT_EQ(step->tensor_ratio.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(step->dram_ratio[i], 0.3, 1e-12) << i;
    EXPECT_NEAR(step->tensor_ratio[i], 0.4, 1e-12) << i;
  }
}

TEST_F(SampledSteps, ABinWithoutASampleTakesTheOneBefore) {
  for (SampleTrace& trace : traces_)
    std::erase_if(trace.samples, [](const auto& s) { return s.time_ns >= 1250 && s.time_ns < 1500; });
  traces_[0].samples[6].value = 20'000;  // one of five in the first bin: 12,000 a sample
  const auto step = sampled();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->samples, 15);
  EXPECT_NEAR(step->dram_ratio[0], 0.34, 1e-12);
  EXPECT_NEAR(step->dram_ratio[1], 0.34, 1e-12);
  EXPECT_NEAR(step->dram_ratio[2], 0.3, 1e-12);
}

TEST_F(SampledSteps, KernelsOfOneClassInARowAreOneRun) {
  const auto step = sampled();
  ASSERT_TRUE(step);
  ASSERT_EQ(step->classes.size(), 3u);
  EXPECT_EQ(step->classes[0].kernel_class, KernelClass::gemm);
  EXPECT_EQ(step->classes[0].start_ns, 1000);
  EXPECT_EQ(step->classes[0].end_ns, 1400);
  EXPECT_EQ(step->classes[1].kernel_class, KernelClass::copy);
  EXPECT_EQ(step->classes[1].end_ns, 1900);
  EXPECT_EQ(step->classes[2].kernel_class, KernelClass::gemm);
}

TEST_F(SampledSteps, WithoutASampleOfThatDeviceThereIsNone) {
  EXPECT_FALSE(sampled(4, 2));
  EXPECT_FALSE(sampled(0));
  for (SampleTrace& trace : traces_) trace.samples.resize(5 + 9);
  EXPECT_FALSE(sampled()) << "nine samples are too few";
  utilisation_.peaks.clear();
  EXPECT_FALSE(sampled());
}

// Ten samples of the window follow 40 ns after another and nine 60 ns; what lies between the window and the samples
// round it does not count, or the median would be 60.
TEST_F(SampledSteps, TheIntervalIsThatOfSamplesInTheWindow) {
  SampleTrace trace{1, kRead, {}};
  trace.samples.push_back({1, 900, 1, 100});
  std::int64_t at = 1000;
  for (int i = 0; i < 20; ++i) {
    trace.samples.push_back({1, at, 1, 100});
    at += i < 10 ? 40 : 60;
  }
  trace.samples.push_back({1, 2100, 1, 100});
  traces_ = {trace, trace};
  traces_[1].metric = kWritten;
  const auto step = sampled();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->samples, 20);
  EXPECT_DOUBLE_EQ(step->interval_ns, 40);
}

}  // namespace
}  // namespace ridgeline::analyzer
