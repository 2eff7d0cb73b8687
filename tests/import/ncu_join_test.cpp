// Which launch is which that Nsight Compute profiled: names of two demanglers, and order where names say too little.
// Names are those of a PyTorch step that both recorded.
#include "ncu/ncu_join.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ncu/ncu_names.h"
#include "ncu/ncu_order.h"
#include "support/accepted_cases.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::accepted;

struct TwoNames {
  const char* printed;    // by Nsight Compute
  const char* demangled;  // by the C++ runtime, as captures have it
};

constexpr TwoNames kCopy = {
    "void native::vectorized_elementwise_kernel<8, native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase "
    "&)::[lambda(float) (instance 1)], std::array<char *, 2>>(int, T2, T3)",
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda"
    "(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::"
    "bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul>)"};
constexpr TwoNames kFill = {
    "void native::vectorized_elementwise_kernel<4, native::FillFunctor<float>, std::array<char *, 1>>(int, "
    "T2, T3)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "
    "1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"};
constexpr TwoNames kAdd = {
    "void native::vectorized_elementwise_kernel<4, native::CUDAFunctor_add<float>, std::array<char *, "
    "3>>(int, T2, T3)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, "
    "3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"};
constexpr TwoNames kAdam = {
    "void native::<unnamed>::multi_tensor_apply_kernel<native::<unnamed>::FusedOptimizerTensorListMetadata<4>"
    ", native::<unnamed>::FusedAdamMathFunctor<float, 4, 1, 0>, const float *, double, bool, const float *>"
    "(T1, T2, T3...)",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
    "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double, bool, float "
    "const*>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, float const*)"};
constexpr TwoNames kStrided = {
    "void native::elementwise_kernel<128, 2, void native::gpu_kernel_impl_nocast<native::CUDAFunctor_add"
    "<float>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
    "CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> "
    "const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> "
    ">(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})"};
constexpr TwoNames kCast = {
    "void native::unrolled_elementwise_kernel<native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::"
    "[lambda() (instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() const::"
    "[lambda(float) (instance 1)], memory::LoadWithCast<1>>(int, T1, T2, T4)",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase"
    "&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, at::native::"
    "memory::LoadWithCast<1> >(int, at::native::memory::LoadWithCast<1>)"};
constexpr TwoNames kSort = {
    "void radix_sort::DeviceRadixSortHistogramKernel<radix::policy_hub<long, cuda::OpaqueType<8>, unsigned "
    "long long>::Policy1000, 0, long, unsigned long long, at_cuda_detail::identity_decomposer_t>(T4 *, const "
    "T3 *, T4, int, int, T5)",
    "void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortHistogramKernel<at_cuda_detail::cub::detail"
    "::radix::policy_hub<long, at::cuda::cub::detail::OpaqueType<8>, unsigned long long>::Policy1000, "
    "(at_cuda_detail::cub::SortOrder)0, long, unsigned long long, at_cuda_detail::cub::detail::"
    "identity_decomposer_t>(unsigned long long*, long const*, unsigned long long, int, int)"};
constexpr TwoNames kGather = {
    "void native::vectorized_gather_kernel<16, long>(char *, char *, T2 *, int, long, long, long, long, "
    "bool)",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, "
    "bool)"};
constexpr TwoNames kProduct = {"nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
                               "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT"};
constexpr TwoNames kAll[] = {kCopy, kFill, kAdd, kAdam, kStrided, kCast, kSort, kGather, kProduct};

TEST(NcuNames, TemplateArgumentsAreOneTextWhoeverPrintsThem) {
  for (const TwoNames& names : kAll)
    EXPECT_EQ(accepted(template_text(names.printed)), template_text(names.demangled)) << names.printed;
  for (const TwoNames& one : kAll)
    for (const TwoNames& other : kAll) {
      if (one.printed == other.printed) continue;
      EXPECT_NE(accepted(template_text(one.printed)), template_text(other.demangled)) << one.printed;
    }
  EXPECT_EQ(accepted(template_text(kAdd.demangled)),
            "vectorized_elementwise_kernel<4,CUDAFunctor_add<float>,array<char*,3>>");
  EXPECT_EQ(accepted(template_text(kProduct.printed)), "")
      << "a function without arguments is known by its name";
  EXPECT_EQ(accepted(template_text("void f<(int)4, true, -1, 0x1u>(int)")), "f<4,1,-1,0x1u>");
  EXPECT_NE(accepted(template_text("f<ns::g(int)::{lambda(float)#1}>")),
            template_text("f<ns::g(int)::{lambda(float)#2}>"));
  EXPECT_NE(accepted(template_text("f<ns::g(int)::{lambda(float)#1}>")),
            template_text("f<ns::g(int)::{lambda(int)#1}>"));
  EXPECT_EQ(accepted(template_text("f<")), "f<") << "a name that is cut";
  EXPECT_EQ(accepted(template_text("f<g(a")), "f<g");
}

TEST(NcuNames, DemanglersMayDiffer) {
  EXPECT_EQ(accepted(comparable_name("void <unnamed>::add<(int)4>(float *, int)")),
            comparable_name("(anonymous namespace)::add<(int)4>(float*, int)"));
  EXPECT_EQ(
      plain_function_name("void at::native::(anonymous namespace)::elementwise<4, F<float>>(int, F<float>)"),
      "elementwise");
  EXPECT_EQ(plain_function_name("std::enable_if<true, int>::type ns::k<2>(int)"), "k");
  EXPECT_EQ(plain_function_name("gemm_kernel"), "gemm_kernel");
}

// A step and what was profiled of it. A launch is a pair of names with a grid.
struct Launched {
  TwoNames names;
  std::uint32_t grid = 1;
};

class NcuJoined : public ::testing::Test {
 protected:
  // Names by Nsight Compute, or those of the functions alone.
  static NcuResults profiled(const std::vector<Launched>& launches, bool functions = false) {
    NcuResults results;
    for (const Launched& launch : launches) {
      NcuLaunch row;
      row.id = static_cast<std::int64_t>(results.launches.size());
      row.kernel = functions ? plain_function_name(launch.names.printed) : std::string(launch.names.printed);
      row.grid = {launch.grid, 1, 1};
      row.block = {128, 1, 1};
      results.launches.push_back(row);
    }
    return results;
  }

  void ran(const std::vector<Launched>& launches) {
    std::map<std::string, store::Id> ids;
    for (const Launched& launch : launches) {
      const auto [found, fresh] =
          ids.try_emplace(launch.names.demangled, static_cast<store::Id>(ids.size() + 1));
      if (fresh) {
        store::Kernel kernel;
        kernel.id = found->second;
        kernel.demangled_name = launch.names.demangled;
        kernels_[kernel.id] = kernel;
      }
      store::Launch row;
      row.id = static_cast<store::Id>(launches_.size() + 1);
      row.correlation_id = static_cast<std::uint32_t>(launches_.size() + 1);
      row.kernel_id = found->second;
      row.grid = {launch.grid, 1, 1};
      row.block = {128, 1, 1};
      launches_.push_back(row);
    }
  }

  [[nodiscard]] NcuJoin joined(const NcuResults& results, bool repeats = true) const {
    return ridgeline::testing::accepted(join_ncu(results, kernels_, launches_, repeats));
  }

  // Profiled launches by the place that they were joined onto.
  static std::map<std::size_t, store::Id> places(const NcuJoin& join) {
    std::map<std::size_t, store::Id> found;
    for (const NcuJoin::Pair& pair : join.pairs) found[pair.profiled] = pair.launch_id;
    return found;
  }

  std::map<store::Id, store::Kernel> kernels_;
  std::vector<store::Launch> launches_;
};

// Two layers, whose copies, sums and fills are of one function and, but for the names, of one size.
const std::vector<Launched> kStep = {{kGather, 8192}, {kCopy, 6144},  {kProduct, 132}, {kAdd, 6144},
                                     {kCast, 12288},  {kStrided, 32}, {kCopy, 6144},   {kCopy, 576},
                                     {kProduct, 132}, {kAdd, 6144},   {kFill, 6144},   {kCast, 12288},
                                     {kSort, 10},     {kAdd, 576},    {kAdam, 320},    {kAdam, 320}};

TEST_F(NcuJoined, LaunchesOfOneFunctionAndSizeAreKnownByTheirTemplateArguments) {
  ran(kStep);
  const NcuJoin join = joined(profiled(kStep));
  ASSERT_EQ(join.pairs.size(), kStep.size());
  EXPECT_EQ(join.by_order, 0);
  for (const auto& [profiled, place] : places(join)) EXPECT_EQ(place, static_cast<store::Id>(profiled) + 1);
}

TEST_F(NcuJoined, FunctionsAloneAreToldApartByWhatWasLaunchedAroundThem) {
  ran(kStep);
  const NcuJoin join = joined(profiled(kStep, true));
  ASSERT_EQ(join.pairs.size(), kStep.size());
  EXPECT_EQ(join.by_order, 7) << "copies, sums and a fill of the two sizes";
  EXPECT_TRUE(join.ambiguous.empty());
  for (const auto& [profiled, place] : places(join)) EXPECT_EQ(place, static_cast<store::Id>(profiled) + 1);
}

TEST_F(NcuJoined, PassesMayBeginWithinTheStep) {
  ran(kStep);
  std::vector<Launched> passes;
  for (std::size_t i = 0; i < 2 * kStep.size(); ++i) passes.push_back(kStep[(i + 5) % kStep.size()]);
  const NcuJoin join = joined(profiled(passes, true));
  EXPECT_EQ(join.pairs.size(), passes.size());
  for (const NcuJoin::Pair& pair : join.pairs) {
    const store::Launch& launch = launches_[static_cast<std::size_t>(pair.launch_id) - 1];
    EXPECT_EQ(kernels_[launch.kernel_id].demangled_name, passes[pair.profiled].names.demangled);
  }
}

TEST_F(NcuJoined, WhatAFilterLeavesOutIsNotMissed) {
  ran(kStep);
  std::vector<Launched> filtered;
  for (const Launched& launch : kStep) {
    const std::string function = plain_function_name(launch.names.printed);
    if (function == "vectorized_elementwise_kernel" || function.starts_with("nvjet"))
      filtered.push_back(launch);
  }
  const NcuJoin join = joined(profiled(filtered, true));
  EXPECT_EQ(join.pairs.size(), filtered.size());
  for (const NcuJoin::Pair& pair : join.pairs) {
    const store::Launch& launch = launches_[static_cast<std::size_t>(pair.launch_id) - 1];
    EXPECT_EQ(kernels_[launch.kernel_id].demangled_name, filtered[pair.profiled].names.demangled);
  }
}

TEST_F(NcuJoined, FewLaunchesAreNotTakenForOthersByOrder) {
  ran(kStep);
  // In the step a sum of that size is followed by a cast. So few say nothing: they may be of two ranges.
  const NcuJoin join = joined(profiled({{kAdd, 6144}, {kCast, 12288}}, true));
  ASSERT_EQ(join.ambiguous.size(), 1u);
  EXPECT_EQ(join.ambiguous[0].launches, 1);
  EXPECT_NE(join.ambiguous[0].candidates.find("FillFunctor"), std::string::npos);
  EXPECT_EQ(join.pairs.size(), 1u) << "the cast";
}

TEST_F(NcuJoined, OtherTemplateArgumentsAreAnotherKernel) {
  ran({{kProduct, 132}, {kCopy, 6144}, {kProduct, 132}});
  const NcuJoin join = joined(profiled({{kFill, 6144}}));
  EXPECT_TRUE(join.pairs.empty());
  ASSERT_EQ(join.unmatched.size(), 1u);
  EXPECT_NE(join.unmatched[0].candidates.find("bfloat16_copy"), std::string::npos);
}

// A demangler that is not known yet: the names contradict each other, everything around them agrees.
TEST_F(NcuJoined, ANameInAnotherHandIsJoinedWhereAllAroundItAgrees) {
  ran(kStep);
  NcuResults results = profiled(kStep);
  for (NcuLaunch& launch : results.launches)
    if (launch.kernel == kSort.printed)
      launch.kernel = "void radix_sort::DeviceRadixSortHistogramKernel<$_4>()";
  const NcuJoin join = joined(results);
  EXPECT_EQ(join.pairs.size(), kStep.size());
  EXPECT_EQ(join.by_order, 1);
}

TEST_F(NcuJoined, FilesAndProcessesAreSequencesOfTheirOwn) {
  ran(kStep);
  NcuResults results = profiled(kStep, true);
  NcuResults second = profiled(kStep, true);
  for (NcuLaunch& launch : second.launches) results.launches.push_back(launch);
  EXPECT_EQ(joined(results).pairs.size(), 2 * kStep.size());
  // Cut in the midst of what was around them, most are not known.
  for (std::size_t i = 0; i < results.launches.size(); ++i)
    results.launches[i].pid = static_cast<std::int64_t>(i / 2);
  const NcuJoin cut = joined(results);
  EXPECT_EQ(cut.by_order, 0);
  EXPECT_FALSE(cut.ambiguous.empty());
}

// --- Order alone ---

// Random steps of few kinds, of which a class has two or three; every other round launches are left out and put in.
TEST(NcuOrder, WhatIsSaidIsRight) {
  std::mt19937 random(7);
  std::size_t asked = 0, said = 0, wrong = 0;
  for (int round = 0; round < 300; ++round) {
    LaunchOrder order;
    const std::size_t kinds = 4 + random() % 5;
    order.fits.assign(kinds / 2, std::vector<bool>(kinds, false));
    order.asked.assign(kinds / 2, true);
    for (std::size_t kind = 0; kind < kinds; ++kind) order.fits[kind % (kinds / 2)][kind] = true;
    std::vector<std::size_t> layer(5 + random() % 12);
    for (std::size_t& kind : layer) kind = random() % kinds;
    const std::size_t layers = 1 + random() % 4;
    for (std::size_t i = 0; i < layers; ++i) order.ran.insert(order.ran.end(), layer.begin(), layer.end());
    for (int i = 0; i < 10; ++i) order.ran.push_back(random() % kinds);
    std::vector<std::size_t> truth;
    const std::size_t begin = random() % order.ran.size(), length = 2 * order.ran.size();
    for (std::size_t i = 0; i < length; ++i) {
      if (round % 2 == 1 && random() % 60 == 0) continue;
      truth.push_back(order.ran[(begin + i) % order.ran.size()]);
      if (round % 2 == 1 && random() % 60 == 0) truth.push_back(random() % kinds);
    }
    for (const std::size_t kind : truth) order.profiled.push_back(kind % (kinds / 2));
    const auto told = accepted(kinds_by_order(order));
    std::size_t wrong_here = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      ++asked;
      if (!told[i]) continue;
      ++said;
      wrong_here += *told[i] != truth[i] ? 1 : 0;
    }
    wrong += wrong_here;
    if (round % 2 == 0) {
      EXPECT_EQ(wrong_here, 0u) << "round " << round << ": nothing is missing or new there";
    }
  }
  // A launch that takes the place of one that is missing, and looks like it, cannot be told from it.
  EXPECT_LT(wrong, said / 500);
  EXPECT_GT(said, asked / 2);
}

TEST(NcuOrder, WithoutAnotherStepTheEndIsTheEnd) {
  LaunchOrder order{.profiled = {1, 1, 1, 1, 1, 0},
                    .ran = {1, 2, 2, 2, 2, 2, 2},
                    .fits = {{true, true, false}, {false, false, true}},
                    .asked = {true, false},
                    .repeats = true};
  EXPECT_EQ(accepted(kinds_by_order(order))[5], 1u) << "the step's first launch, of the next step";
  order.repeats = false;
  EXPECT_FALSE(accepted(kinds_by_order(order))[5].has_value());
}

}  // namespace
}  // namespace ridgeline::import
