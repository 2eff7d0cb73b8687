#include "ridgeline/comparison/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "made_runs.h"
#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using testing::made;
using testing::MadeKernel;
using testing::training_step;

Matching match(const std::vector<MadeKernel>& a, const std::vector<MadeKernel>& b,
               const MatchOptions& options = {}) {
  return accepted(match_kernels(made({a}), made({b}), options)).value();
}

MadeKernel& named(std::vector<MadeKernel>& kernels, const std::string& name) {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const MadeKernel& kernel) { return kernel.kernel.find(name) == 0; });
  if (found == kernels.end()) throw std::runtime_error("no kernel " + name);
  return *found;
}

std::optional<SiteMatch> match_of_a(const Matching& matching, std::uint32_t site) {
  for (const SiteMatch& match : matching.matches) {
    if (std::find(match.a.begin(), match.a.end(), site) != match.a.end()) return match;
  }
  return std::nullopt;
}

/// How site `site` of A was matched; nothing if it was not.
std::optional<MatchLevel> level_of_a(const Matching& matching, std::uint32_t site) {
  const auto found = match_of_a(matching, site);
  return found ? std::optional(found->level) : std::nullopt;
}

std::uint32_t index_of(const std::vector<MadeKernel>& kernels, const std::string& name) {
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kernel.find(name) == 0) return i;
  }
  throw std::runtime_error("no kernel " + name);
}

TEST(Match, TheSameProgramMatchesItselfExactly) {
  const auto kernels = training_step();
  const Matching matching = match(kernels, kernels);
  EXPECT_EQ(matching.matches.size(), kernels.size());
  for (const SiteMatch& one : matching.matches) {
    EXPECT_EQ(one.level, MatchLevel::exact);
    EXPECT_EQ(one.confidence, 1);
    EXPECT_EQ(one.a, one.b);
  }
  EXPECT_EQ(matching.time_share, 1);
  EXPECT_TRUE(matching.only_a.empty() && matching.only_b.empty());
}

TEST(Match, ARenamedKernelIsKnownByItsCode) {
  const auto a = training_step();
  auto b = a;
  named(b, "gelu_forward").kernel = "activation_fwd_v2";
  const auto found = match_of_a(match(a, b), index_of(a, "gelu_forward"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->level, MatchLevel::code);
  EXPECT_GE(found->confidence, 0.9);
  EXPECT_EQ(found->b, std::vector<std::uint32_t>{index_of(b, "activation_fwd_v2")});
}

TEST(Match, ARenamedAndRewrittenKernelIsKnownByItsPlace) {
  const auto a = training_step();
  auto b = a;
  named(b, "gelu_forward") = {"step / forward / layer * / activation", "activation_fwd_v2", 500, 12, "new"};
  const auto found = match_of_a(match(a, b), index_of(a, "gelu_forward"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->b, std::vector<std::uint32_t>{index_of(b, "activation_fwd_v2")});
  EXPECT_TRUE(found->level == MatchLevel::sequence || found->level == MatchLevel::group);
  EXPECT_LT(found->confidence, 0.9);
}

TEST(Match, ARetunedProductIsOfTheSameFamily) {
  const auto a = training_step();
  auto b = a;
  named(b, "nvjet_sm90_tst_128x160").kernel = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT";
  named(b, "nvjet_sm90_tst_256x128").code = "other";
  const auto found = match_of_a(match(a, b), index_of(a, "nvjet_sm90_tst_128x160"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->level, MatchLevel::normalised);
  EXPECT_EQ(found->b, std::vector<std::uint32_t>{index_of(b, "nvjet_sm90_tst_256x128")});
}

TEST(Match, ALibraryWithAnotherNumberOfKernelsIsOneGroup) {
  const auto a = training_step();
  auto b = a;
  named(b, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop").code = "newer";
  std::erase_if(b, [](const MadeKernel& k) {
    return k.kernel == "compute_dot_do_o" || k.kernel == "convert_dq_to_16bits";
  });
  const Matching matching = match(a, b);
  const auto found = match_of_a(matching, index_of(a, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->level, MatchLevel::group);
  EXPECT_EQ(found->a.size(), 3U);
  EXPECT_EQ(found->b.size(), 1U);
  EXPECT_EQ(matching.time_share, 1);
  // And the other way round: fission.
  const Matching back = match(b, a);
  EXPECT_EQ(
      match_of_a(back, index_of(b, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop")).value().b.size(),
      3U);
}

TEST(Match, AFusedPairIsOneGroup) {
  const auto a = training_step();
  auto b = a;
  std::erase_if(b, [](const MadeKernel& k) { return k.kernel == "gelu_forward"; });
  MadeKernel& product = named(b, "nvjet_sm90_tst_128x256");
  product.kernel = "nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_gelu_bias_TNT";
  product.code = "fused";
  const Matching matching = match(a, b);
  const auto found = match_of_a(matching, index_of(a, "gelu_forward"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->level, MatchLevel::group);
  EXPECT_EQ(found->a.size(), 2U);
  EXPECT_EQ(found->a, match_of_a(matching, index_of(a, "nvjet_sm90_tst_128x256")).value().a);
  EXPECT_EQ(found->b, std::vector<std::uint32_t>{index_of(b, "nvjet_sm90_tst_128x256")});
}

// Seen on an H200: two products had a tile each, and got the same one; what is left is no match for another kernel.
TEST(Match, TwoProductsThatGotOneTileAreOneGroup) {
  const std::string path = "step / backward / layer * / matmul_backward_weight";
  const std::vector<MadeKernel> a = {
      {path, "nvjet_sm90_tss_192x192_64x3_1x2_h_bz_coopB_splitK_NTN", 2513, 12, "1"},
      {path, "nvjet_sm90_tss_192x96_64x5_1x1_v_bz_NTT", 2512, 12, "2"}};
  const std::vector<MadeKernel> b = {
      {path, "nvjet_sm90_tss_192x192_64x3_1x2_h_bz_coopB_splitK_NTN", 4942, 24, "1"},
      {path, "cublasLt::splitKreduce_kernel", 150, 12, "3"}};
  const Matching matching = match(a, b);
  ASSERT_EQ(matching.matches.size(), 1U);
  EXPECT_EQ(matching.matches[0].a.size(), 2U);
  EXPECT_EQ(matching.matches[0].level, MatchLevel::group);
  EXPECT_DOUBLE_EQ(matching.matches[0].confidence, 0.6)
      << "less sure than the pair that it took the other up";
  EXPECT_EQ(matching.time_share, 1);
}

// As above, but the product that is left gained fewer calls than the other had: where these went is not known.
TEST(Match, AProductThatGainedTooFewCallsTakesNothingUp) {
  const std::string path = "step / backward / layer * / matmul_backward_weight";
  const MadeKernel kept = {path, "nvjet_sm90_tss_192x192_64x3_1x2_h_bz_coopB_splitK_NTN", 2513, 12, "1"};
  const MadeKernel gone = {path, "nvjet_sm90_tss_192x96_64x5_1x1_v_bz_NTT", 2512, 12, "2"};
  MadeKernel gained = kept;
  const auto matches = [&](double calls) {
    gained.calls = calls;
    const Matching matching = match({kept, gone}, {gained});
    EXPECT_EQ(match({gained}, {kept, gone}).matches.at(0).b.size(), matching.matches.at(0).a.size());
    return matching.matches.at(0).a.size();
  };
  EXPECT_EQ(matches(24), 2U);
  EXPECT_EQ(matches(23), 1U);
  EXPECT_EQ(matches(12), 1U);
}

// What is between two matched kernels on both sides is one unit if it is of one place.
TEST(Match, WhatStandsBetweenMatchedKernelsIsOneGroupIfItIsOfOnePlace) {
  const MadeKernel first{"step / forward / layer * / in", "first_kernel", 100, 12, "1"};
  const MadeKernel last{"step / forward / layer * / out", "last_kernel", 100, 12, "2"};
  MadeKernel of_a{"step / forward / layer * / pool", "gelu_forward", 100, 12, "3"};
  MadeKernel of_b{"step / forward / layer * / mix", "cublasLt::splitKreduce_kernel", 100, 24, "4"};
  const Matching joined = match({first, of_a, last}, {first, of_b, last});
  ASSERT_TRUE(match_of_a(joined, 1).has_value());
  EXPECT_EQ(match_of_a(joined, 1).value().b, std::vector<std::uint32_t>{1});
  EXPECT_EQ(level_of_a(joined, 1), MatchLevel::group);
  EXPECT_DOUBLE_EQ(match_of_a(joined, 1).value().confidence, 0.6);
  of_b.path = "step / backward / layer * / mix";
  const Matching apart = match({first, of_a, last}, {first, of_b, last});
  EXPECT_EQ(apart.only_a, std::vector<std::uint32_t>{1});
  EXPECT_EQ(apart.only_b, std::vector<std::uint32_t>{1});
}

// The work of a kernel without a counterpart is sought beside it: in a kernel whose code is another.
TEST(Match, OnlyAChangedNeighbourOfTheSameRangeAndStreamTakesAKernelUp) {
  const std::string layer = "step / forward / layer * / ";
  const MadeKernel lone{layer + "gelu", "gelu_forward", 60, 12, "1"};
  const MadeKernel neighbour{layer + "mlp", "mlp_kernel", 100, 12, "2"};
  const auto taken = [&](const std::function<void(MadeKernel&)>& change, const std::string& code = "new") {
    MadeKernel before = neighbour;
    change(before);
    MadeKernel after = before;
    after.code = code;
    const Matching matching = match({lone, before}, {after});
    const Matching back = match({after}, {lone, before});
    EXPECT_EQ(matching.only_a.empty(), back.only_b.empty());
    return matching.only_a.empty();
  };
  EXPECT_TRUE(taken([](MadeKernel&) {}));
  EXPECT_FALSE(taken([](MadeKernel&) {}, "2")) << "its code is what it was";
  EXPECT_FALSE(taken([](MadeKernel&) {}, "")) << "not known to be another";
  EXPECT_FALSE(taken([](MadeKernel& k) { k.stream = 1; }));
  EXPECT_FALSE(taken([](MadeKernel& k) { k.path = "step / backward / layer * / mlp"; }));
}

// Of two changed kernels of its own range the nearer one takes it up; its own range comes before its neighbours.
TEST(Match, TheNearestOfItsOwnRangeTakesAKernelUp) {
  const std::string layer = "step / forward / layer * / ";
  const std::vector<MadeKernel> a = {{layer + "mlp", "far_kernel", 100, 12, "1"},
                                     {layer + "norm", "between_kernel", 100, 12, "2"},
                                     {layer + "mlp", "near_kernel", 100, 12, "3"},
                                     {layer + "head", "beside_kernel", 100, 12, "4"},
                                     {layer + "mlp", "gelu_forward", 60, 12, "5"}};
  std::vector<MadeKernel> b(a.begin(), a.end() - 1);
  for (MadeKernel& kernel : b) kernel.code += " changed";
  const auto found = match_of_a(match(a, b), 4);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->b, std::vector<std::uint32_t>{2});
}

TEST(Match, AnInsertedLayerChangesCallsOnly) {
  const Matching matching = match(training_step(12), training_step(13));
  EXPECT_EQ(matching.matches.size(), training_step().size());
  for (const SiteMatch& one : matching.matches) EXPECT_EQ(one.level, MatchLevel::exact);
}

TEST(Match, AnotherOrderIsNoOtherKernel) {
  const auto a = training_step();
  auto b = a;
  std::swap(b[1], b[4]);
  std::swap(b[8], b[12]);
  const Matching matching = match(a, b);
  EXPECT_EQ(matching.matches.size(), a.size());
  for (const SiteMatch& one : matching.matches) {
    EXPECT_EQ(one.confidence, 1);
    EXPECT_EQ(a[one.a.front()].kernel, b[one.b.front()].kernel);
  }
}

TEST(Match, BetweenGpuModelsOnlyRangesAndFamiliesAreCompared) {
  const auto a = training_step();
  auto b = a;
  named(b, "nvjet_sm90_tst_128x160").kernel = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
  const Matching matching =
      accepted(match_kernels(made({a}), made({.kernels = b, .device = "NVIDIA A100"}))).value();
  EXPECT_TRUE(matching.families_only);
  EXPECT_EQ(matching.time_share, 1);
  const auto product = match_of_a(matching, index_of(a, "nvjet_sm90_tst_128x160"));
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->level, MatchLevel::group);
  EXPECT_EQ(level_of_a(matching, index_of(a, "adamw_kernel")), MatchLevel::normalised);
  EXPECT_DOUBLE_EQ(product->confidence, 0.5);
  EXPECT_DOUBLE_EQ(match_of_a(matching, index_of(a, "adamw_kernel")).value().confidence, 0.8);
  // Without ranges all kernels of a class are one.
  const std::vector<MadeKernel> here = {{"", "ampere_bf16_s16816gemm_bf16_128x128_tn", 100, 1, "1"},
                                        {"", "gelu_forward", 10, 1, "2"}};
  const std::vector<MadeKernel> there = {{"", "nvjet_sm90_tst_128x160_64x5_2x1_v_bz_bias_TNT", 50, 1, "3"},
                                         {"", "nvjet_sm90_tst_192x160_64x5_2x1_v_bz_TNN", 50, 1, "4"}};
  const Matching classes = match(here, there, {.rules = {}, .families_only = true});
  ASSERT_TRUE(match_of_a(classes, 0).has_value());
  EXPECT_EQ(match_of_a(classes, 0).value().b.size(), 2U);
  EXPECT_EQ(classes.only_a, std::vector<std::uint32_t>{1});
}

TEST(Match, WhatHasNoCounterpartIsAddedOrRemoved) {
  const auto a = training_step();
  auto b = a;
  b.insert(b.begin() + 6, {"step / forward / dropout", "dropout_kernel", 300, 1, "d1"});
  const Matching more = match(a, b);
  EXPECT_EQ(more.only_b, std::vector<std::uint32_t>{6});
  EXPECT_TRUE(more.only_a.empty());
  EXPECT_LT(more.time_share_b, 1);
  EXPECT_EQ(more.time_share_a, 1);
  const Matching less = match(b, a);
  EXPECT_EQ(less.only_a, std::vector<std::uint32_t>{6});
}

TEST(Match, TwoCodesOfOneNameStayApart) {
  std::vector<MadeKernel> a = training_step();
  a.push_back({"step / optimizer", "adamw_kernel", 50, 1, "c14"});
  std::vector<MadeKernel> b = a;
  std::swap(b[12], b[13]);
  const Matching matching = match(a, b);
  EXPECT_EQ(match_of_a(matching, 12).value().b, std::vector<std::uint32_t>{13});
  EXPECT_EQ(match_of_a(matching, 13).value().b, std::vector<std::uint32_t>{12});
}

// Two codes of one name that launch alike and take as long: nothing but the code tells which is which.
TEST(Match, TwoCodesOfOneNameAreToldApartByTheCodeAlone) {
  const MadeKernel one{"step / optimizer", "adamw_kernel", 50, 1, "c1"};
  MadeKernel other = one;
  other.code = "c2";
  const Matching matching = match({one, other}, {other, one});
  EXPECT_EQ(match_of_a(matching, 0).value().b, std::vector<std::uint32_t>{1});
  EXPECT_EQ(match_of_a(matching, 1).value().b, std::vector<std::uint32_t>{0});
  EXPECT_DOUBLE_EQ(match_of_a(matching, 0).value().confidence, 1);
}

TEST(Match, WithoutRangesNamesAndOrderDecide) {
  std::vector<MadeKernel> a = {
      {"", "a_kernel", 100, 4, "1"}, {"", "old_softmax<float>", 100, 2, "2"}, {"", "c_kernel", 100, 4, "3"}};
  std::vector<MadeKernel> b = {
      {"", "a_kernel", 100, 4, "1"}, {"", "softmax_v2<float>", 90, 2, "9"}, {"", "c_kernel", 100, 4, "3"}};
  const auto found = match_of_a(match(a, b), 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->level, MatchLevel::sequence);
  EXPECT_EQ(found->b, std::vector<std::uint32_t>{1});
  // What takes a tenth of the time of the other is no longer the same by its looks: only by what stands around it.
  a[1].calls = 5;
  const auto level = [&](double time_us) {
    b[1].time_us = time_us;
    return level_of_a(match(a, b), 1);
  };
  EXPECT_EQ(level(4.4), MatchLevel::sequence) << "2.2 µs a call against 20";
  EXPECT_EQ(level(3.6), MatchLevel::group);
  EXPECT_EQ(level(360), MatchLevel::sequence) << "180 µs a call against 20";
  EXPECT_EQ(level(440), MatchLevel::group);
}

TEST(Match, OfMoreThanFourThousandSitesOfAStreamTheOrderIsNotSought) {
  std::vector<MadeKernel> a;
  for (int i = 0; i <= 4000; ++i) a.push_back({"", "kernel_" + std::to_string(i), 1, 1, std::to_string(i)});
  a[2000] = {"", "old_softmax<float>", 100, 2, "old"};
  auto b = a;
  b[2000] = {"", "softmax_v2<float>", 90, 2, "new"};
  const Matching matching = match(a, b);
  EXPECT_EQ(matching.only_a, std::vector<std::uint32_t>{2000});
  EXPECT_EQ(matching.matches.size(), 4000U);
}

TEST(Match, SharesAreOfTheTimeOfEachSideAndOfBoth) {
  const std::vector<MadeKernel> a = {{"x", "a_kernel", 300, 1, "1"}, {"y", "gelu_forward", 100, 1, "2"}};
  const std::vector<MadeKernel> b = {{"x", "a_kernel", 150, 1, "1"},
                                     {"z / z", "adamw_kernel", 50, 7, "3"},
                                     {"u / u", "layernorm_forward", 400, 3, "4"}};
  const Matching matching = match(a, b);
  ASSERT_EQ(matching.matches.size(), 1U);
  EXPECT_DOUBLE_EQ(matching.time_share_a, 0.75);
  EXPECT_DOUBLE_EQ(matching.time_share_b, 0.25);
  EXPECT_DOUBLE_EQ(matching.time_share, 0.45);
}

TEST(Match, RulesComeFirst) {
  std::vector<MadeKernel> a = {{"forward / x", "my_gelu_v1", 100, 1, "1"},
                               {"backward / y", "my_tanh_v1", 100, 1, "2"}};
  std::vector<MadeKernel> b = {{"forward / x", "my_tanh_v2", 100, 1, "1"},
                               {"backward / y", "my_gelu_v2", 100, 1, "2"}};
  MatchOptions options;
  options.rules = {{"my_(\\w+)_v1", "my_$1_v2", ""}};
  const Matching matching = match(a, b, options);
  EXPECT_EQ(match_of_a(matching, 0).value().b, std::vector<std::uint32_t>{1});
  EXPECT_EQ(level_of_a(matching, 0), MatchLevel::rule);
  // At that path only; what a rule leads to may be a family.
  options.rules = {{"my_(\\w+)_v1", "my_$1_v2", "y$"}};
  EXPECT_NE(level_of_a(match(a, b, options), 0), MatchLevel::rule);
  EXPECT_EQ(level_of_a(match(a, b, options), 1), MatchLevel::rule);
  const std::vector<MadeKernel> product = {
      {"optimizer / z", "nvjet_sm90_tst_128x160_64x5_2x1_v_bz_bias_TNT", 100, 1, "3"}};
  options.rules = {{"my_gelu.*", store::identify_kernel(product[0].kernel).normalised_name, ""}};
  EXPECT_EQ(level_of_a(match(a, product, options), 0), MatchLevel::rule);
  options.rules = {{"gelu", "my_gelu_v2", ""}};
  EXPECT_NE(level_of_a(match(a, b, options), 0), MatchLevel::rule) << "a rule's kernel is the whole name";
  options.rules = {{"(", "", ""}};
  const auto bad = accepted(match_kernels(made({a}), made({b}), options));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.failure().kind, ErrorKind::usage);
}

TEST(FoldedPath, FoldsNumbersThatStandAlone) {
  EXPECT_EQ(folded_path("step 4 / layer 11 / mlp"), "step * / layer * / mlp");
  EXPECT_EQ(folded_path("h.11.attn / conv2d / fc1"), "h.*.attn / conv2d / fc1");
  EXPECT_EQ(folded_path("block_7 / 3x3"), "block_* / 3x3");
  EXPECT_EQ(folded_path(""), "");
}

// How sure a match is, by what the two have in common; less where several candidates share a key.
TEST(Match, ConfidenceFollowsFromWhatIsShared) {
  const MadeKernel kernel{"step / op", "gelu_forward", 100, 1, "c1"};
  const auto confidence = [](const std::vector<MadeKernel>& a, const std::vector<MadeKernel>& b) {
    const auto found = match_of_a(match(a, b), 0);
    return found ? found->confidence : -1;
  };
  const auto changed = [&](const std::function<void(MadeKernel&)>& change) {
    MadeKernel other = kernel;
    other.code = "other";
    change(other);
    return other;
  };
  EXPECT_DOUBLE_EQ(confidence({kernel}, {changed([](MadeKernel&) {})}), 1.0);
  EXPECT_DOUBLE_EQ(confidence({kernel}, {changed([](MadeKernel& k) { k.grid = 264; })}), 0.97)
      << "another grid";
  EXPECT_DOUBLE_EQ(confidence({kernel}, {changed([](MadeKernel& k) { k.path = "step / moved"; })}), 0.9);
  EXPECT_DOUBLE_EQ(
      confidence({kernel}, {changed([](MadeKernel& k) { k.kernel = "renamed", k.code = "c1"; })}), 0.95);
  EXPECT_DOUBLE_EQ(
      confidence({kernel},
                 {changed([](MadeKernel& k) { k.path = "moved", k.kernel = "renamed", k.code = "c1"; })}),
      0.90);
  MadeKernel product{"step / mlp", "nvjet_sm90_tst_128x160_64x5_2x1_v_bz_bias_TNT", 100, 1, "c3"};
  MadeKernel retuned = product;
  retuned.kernel = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT";
  retuned.code = "c4";
  EXPECT_DOUBLE_EQ(confidence({product}, {retuned}), 0.9) << "of the same family at the same place";
  retuned.path = "step / head";
  EXPECT_DOUBLE_EQ(confidence({product}, {retuned}), 0.75) << "of the same family below the same range";
  retuned.path = "evaluation / head";
  EXPECT_EQ(level_of_a(match({product}, {retuned}), 0), MatchLevel::sequence)
      << "elsewhere only their order makes them one";
  EXPECT_LT(confidence({product}, {retuned}), 0.75);
}

TEST(Match, ConfidenceOfACodeThatSeveralHaveIsLess) {
  const auto pair = [](const std::string& path, const std::string& name, std::int64_t grid = 132) {
    return std::vector<MadeKernel>{{path, name + "_x", 100, 1, "code", grid},
                                   {path, name + "_y", 100, 1, "code", grid}};
  };
  const auto confidence = [](const std::vector<MadeKernel>& a, const std::vector<MadeKernel>& b) {
    const auto found = match_of_a(match(a, b), 0);
    return found && found->level == MatchLevel::code ? found->confidence : -1;
  };
  EXPECT_DOUBLE_EQ(confidence(pair("p", "old"), pair("p", "new")), 0.875);
  EXPECT_DOUBLE_EQ(confidence(pair("p", "old"), pair("q", "new")), 0.825) << "at another place";
  // Of the same name and code at another place, with a different grid: its name did not change.
  const auto moved = match_of_a(match({pair("p", "same")[0]}, {pair("q", "same", 264)[0]}), 0);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->level, MatchLevel::exact);
  EXPECT_DOUBLE_EQ(moved->confidence, 0.90);
}

TEST(Match, SitesOfManyShapesHaveTheSameLaunch) {
  const auto confidence = [](const std::function<void(KernelSite&)>& of_a,
                             const std::function<void(KernelSite&)>& of_b) {
    RunProfile a = made({{{"step / op", "gelu_forward", 100, 1, "c1"}}});
    RunProfile b = made({{{"step / op", "gelu_forward", 100, 1, "c2"}}});
    of_a(a.sites[0]);
    of_b(b.sites[0]);
    return accepted(match_kernels(a, b)).value().matches.at(0).confidence;
  };
  const auto none = [](KernelSite& site) { site.shape.reset(); };
  const auto as_made = [](KernelSite&) {};
  EXPECT_DOUBLE_EQ(confidence(none, none), 1);
  EXPECT_DOUBLE_EQ(confidence(none, as_made), 0.97);
  EXPECT_DOUBLE_EQ(confidence(as_made, none), 0.97);
  EXPECT_DOUBLE_EQ(confidence(as_made, [](KernelSite& s) { s.shape->registers_per_thread = 99; }), 1)
      << "registers are the code's";
  EXPECT_DOUBLE_EQ(confidence(as_made, [](KernelSite& s) { s.shape->block.x = 512; }), 0.97);
  EXPECT_DOUBLE_EQ(confidence(as_made, [](KernelSite& s) { s.shape->cluster = store::Dim3{2, 1, 1}; }), 0.97);
  EXPECT_DOUBLE_EQ(confidence(as_made, [](KernelSite& s) { s.shape->dynamic_smem_bytes = 512; }), 0.97);
}

TEST(SiteSimilarity, IsOfClassPathWordsAndCalls) {
  const auto site = [](const std::string& path, const std::string& kernel, KernelClass kernel_class,
                       double calls) {
    KernelSite out;
    out.path = path;
    out.kernel = kernel;
    out.kernel_class = kernel_class;
    out.calls = calls;
    return out;
  };
  const KernelSite one = site("step / mlp", "gelu_forward<float>", KernelClass::elementwise, 2);
  EXPECT_DOUBLE_EQ(site_similarity(one, one), 1);
  EXPECT_DOUBLE_EQ(site_similarity(one, site("step / mlp", "gelu_forward<float>", KernelClass::gemm, 2)),
                   0.65);
  EXPECT_DOUBLE_EQ(
      site_similarity(one, site("step / mlp", "gelu_forward<float>", KernelClass::elementwise, 3)), 0.85);
  // {step, mlp} and {step, head} share one of three; {gelu, forward, float} and {gelu, backward, float} two of four.
  EXPECT_DOUBLE_EQ(
      site_similarity(one, site("step / head", "gelu_backward<float>", KernelClass::elementwise, 2)),
      0.35 + 0.25 / 3 + 0.25 / 2 + 0.15);
  const KernelSite other = site("", "x", KernelClass::other, 1);
  EXPECT_DOUBLE_EQ(site_similarity(other, other), 0.85) << "the class of what has none says little";
  EXPECT_DOUBLE_EQ(site_similarity(other, site("a", "x", KernelClass::other, 1)), 0.6);
}

}  // namespace
}  // namespace ridgeline::comparison
