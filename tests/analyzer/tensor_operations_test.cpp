// Of a launch some types' operations were counted and others' were not.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer {
namespace {

using testing::analyse;
using testing::FabricatedModel;
using testing::kDuration;
using testing::kOperations;
using testing::kRead;
using testing::kSampledTensor;
using testing::kTensor;
using testing::kWritten;

constexpr const char* kFp8Operations = "sm__ops_path_tensor_src_fp8.sum";

struct Counted {
  std::map<std::string, double> counters;              // of the launch "k", beside its bytes and time
  std::optional<std::pair<double, double>> sampled{};  // per cent of the tensor pipe, and the error of it
  KernelClass kernel_class = KernelClass::gemm;
};

// "k", and a product whose BF16 operations were counted, so that BF16 is a type that the program uses.
Analysis analysed(const Counted& of, const AnalysisOptions& options = {}) {
  FabricatedModel f;
  f.kernel("k", of.kernel_class);
  f.model.device_peaks.push_back({1, Quantity::bf16_flops_per_s, PeakSource::spec, 1e15, "test"});
  f.model.device_peaks.push_back({1, Quantity::fp8_flops_per_s, PeakSource::spec, 2e15, "test"});
  const auto step = [&](Phase phase, std::int64_t at) {
    f.step(phase);
    f.launch("k", at, at + 100'000);
    if (phase == Phase::replay) {
      f.counters({{kRead, 1e6}, {kWritten, 0}, {kDuration, 100e3}});
      f.counters(of.counters);
    }
    if (phase == Phase::sample && of.sampled) f.samples({{kSampledTensor, *of.sampled}}, 20);
    f.launch("product", at + 100'000, at + 200'000);
    if (phase == Phase::replay)
      f.counters({{kRead, 1e6}, {kWritten, 0}, {kDuration, 100e3}, {kTensor, 50}, {kOperations, 40e9}});
  };
  step(Phase::timeline, 1'000'000);
  if (of.sampled) step(Phase::sample, 5'000'000);
  step(Phase::replay, 9'000'000);
  return analyse(f.done(), options).value();
}

std::optional<double> operations(const Analysis& a) {
  const auto& ops = a.utilisation.launches[0].values->tensor_ops;
  return ops ? std::optional(ops->value) : std::nullopt;
}

TEST(TensorOperations, AreUnknownWhereATypeThatIsUsedWasNotCounted) {
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}})), std::nullopt) << "nothing else is known of it";
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}, {kTensor, 40}}})), std::nullopt) << "its pipe is busy";
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}, std::pair(60.0, 1.0)})), std::nullopt);
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}, std::pair(1.0, 3.0)})), std::nullopt)
      << "samples that may be of 7 %";
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}, {}, KernelClass::attention})), std::nullopt);
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}, {}, KernelClass::other})), std::nullopt);
}

TEST(TensorOperations, AreUnknownWhereAllThatWereCountedAreNoneAndThePipeIsBusy) {
  EXPECT_EQ(operations(analysed({{{kOperations, 0}, {kTensor, 40}}})), std::nullopt);
  EXPECT_EQ(operations(analysed({{{kOperations, 0}}, std::pair(60.0, 1.0)})), std::nullopt);
}

TEST(TensorOperations, AreNoneWhereThePipeIsKnownToIdle) {
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}, {kTensor, 0.5}}})), 0);
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}, std::pair(0.5, 0.2)})), 0);
  EXPECT_EQ(operations(analysed({{{kOperations, 0}}})), 0) << "the only type that is used";
  EXPECT_EQ(operations(analysed({{{kOperations, 0}}, std::pair(60.0, 30.0)})), 0)
      << "samples that may be of none";
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 0}}, std::pair(60.0, 1.0), KernelClass::elementwise})), 0)
      << "samples see its neighbours";
}

TEST(TensorOperations, AreThoseOfTheOneTypeThatALaunchHas) {
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 30e9}}})), 30e9);
  EXPECT_EQ(operations(analysed({{{kFp8Operations, 30e9}, {kOperations, 10e9}}})), 40e9);
}

TEST(TensorOperations, WithoutThoseOfALaunchAreNoSumOfTheStepAndNoShareOfAPeak) {
  AnalysisOptions by_operations;
  by_operations.utilisation.peaks.compute = PeakSource::spec;
  for (const bool known : {true, false}) {
    const Counted of{{{known ? kOperations : kFp8Operations, 0}, {kTensor, known ? 0 : 40}}};
    const Analysis a = analysed(of);
    EXPECT_EQ(a.throughput.tensor_ops, known ? std::optional(40e9) : std::nullopt);
    const Analysis with_spec = analysed(of, by_operations);
    const LaunchValues& k = *with_spec.utilisation.launches[0].values;
    EXPECT_EQ(k.compute_utilisation.has_value(), known);
    EXPECT_EQ(known ? k.compute_utilisation->value : 0, 0);
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
