// Work that operations declare by the shapes of their arguments, against sums by hand.
#include "kineto/op_shapes.h"

#include <gtest/gtest.h>

#include "support/accepted_cases.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::accepted;

std::optional<store::Annotation> work(const char* name, const char* sizes, const char* types = "",
                                      const char* values = "") {
  const auto arguments = accepted(op_arguments(sizes, types, values));
  return arguments ? accepted(work_of_op(name, *arguments)) : std::nullopt;
}

TEST(OpShapes, AProductOfMatricesIsTwiceItsMultiplyAdds) {
  const auto mm = work("aten::mm", "[[64, 128], [128, 32]]", R"(["c10::BFloat16", "c10::BFloat16"])");
  ASSERT_TRUE(mm.has_value());
  EXPECT_EQ(mm->name, "shapes");
  EXPECT_DOUBLE_EQ(mm->flops.value(), 2.0 * 64 * 128 * 32);
  EXPECT_DOUBLE_EQ(mm->bytes.value(), 2.0 * (64 * 128 + 128 * 32 + 64 * 32));
  EXPECT_EQ(mm->m, 64);
  EXPECT_EQ(mm->n, 32);
  EXPECT_EQ(mm->k, 128);
  const auto addmm =
      work("aten::addmm", "[[32], [64, 128], [128, 32], [], []]",
           R"(["float", "c10::Half", "c10::Half", "Scalar", "Scalar"])", R"(["", "", "", "1", "1"])");
  EXPECT_DOUBLE_EQ(addmm.value().flops.value(), 2.0 * 64 * 128 * 32);
  EXPECT_DOUBLE_EQ(addmm.value().bytes.value(), 2.0 * (64 * 128 + 128 * 32 + 64 * 32) + 4 * 32);
  const auto bmm = work("aten::bmm", "[[8, 16, 4], [8, 4, 2]]", R"(["float", "float"])");
  EXPECT_DOUBLE_EQ(bmm.value().flops.value(), 2.0 * 8 * 16 * 4 * 2);
  EXPECT_DOUBLE_EQ(bmm.value().bytes.value(), 4.0 * (8 * 16 * 4 + 8 * 4 * 2 + 8 * 16 * 2));
  EXPECT_FALSE(bmm.value().m.has_value()) << "a batch is no product of two matrices";
}

// Names of element types as PyTorch writes them, and what each takes there.
TEST(OpShapes, EachTypeHasItsBytes) {
  const std::vector<std::pair<std::string, double>> types = {
      {"float", 4},         {"double", 8}, {"c10::Half", 2}, {"c10::BFloat16", 2}, {"signed char", 1},
      {"unsigned char", 1}, {"bool", 1},   {"short int", 2}, {"short", 2},         {"int", 4},
      {"long int", 8},      {"long", 8},   {"long long", 8}};
  for (const auto& [type, bytes] : types) {
    const std::string pair = R"([")" + type + R"(", ")" + type + R"("])";
    const auto mm = work("aten::mm", "[[64, 128], [128, 32]]", pair.c_str());
    ASSERT_TRUE(mm && mm->bytes) << type;
    EXPECT_DOUBLE_EQ(*mm->bytes, bytes * (64 * 128 + 128 * 32 + 64 * 32)) << type;
  }
  EXPECT_FALSE(work("aten::mm", "[[64, 128], [128, 32]]", R"(["quint8", "quint8"])")->bytes) << "not known";
}

TEST(OpShapes, TheTypeOfAResultThatIsNotSaidLeavesBytesOpen) {
  const auto scaled = work("aten::_scaled_mm", "[[16, 32], [32, 16], [], []]",
                           R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn"])");
  EXPECT_DOUBLE_EQ(scaled.value().flops.value(), 2.0 * 16 * 32 * 16);
  EXPECT_FALSE(scaled.value().bytes.has_value());
  EXPECT_FALSE(work("aten::mm", "[[2, 2], [2, 2]]").value().bytes.has_value()) << "no types at all";
}

TEST(OpShapes, AConvolutionCountsItsOutput) {
  // 2 images of 3 channels, 8 × 6, by 4 kernels of 3 × 3, stride 2, padding 1: 4 × 3 each.
  constexpr const char* kSizes = "[[2, 3, 8, 6], [4, 3, 3, 3], [4], [], [], [], [], [], []]";
  constexpr const char* kTypes = R"(["float", "float", "float", "", "", "", "", "", ""])";
  const auto forward = work("aten::convolution", kSizes, kTypes,
                            R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])");
  EXPECT_DOUBLE_EQ(forward.value().flops.value(), 2.0 * (2 * 4 * 4 * 3) * (3 * 3 * 3));
  EXPECT_DOUBLE_EQ(forward.value().bytes.value(), 4.0 * (2 * 3 * 8 * 6 + 4 * 3 * 3 * 3 + 4 + 2 * 4 * 4 * 3));
  EXPECT_FALSE(work("aten::convolution", kSizes, kTypes)) << "the stride is not said";
  const auto transposed =
      work("aten::convolution", "[[2, 4, 4, 3], [4, 3, 3, 3], [], [], [], [], [], [], []]", kTypes,
           R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])");
  EXPECT_DOUBLE_EQ(transposed.value().flops.value(), 2.0 * (2 * 4 * 4 * 3) * (3 * 3 * 3));
  const auto backward = [&](const char* mask) {
    const std::string values =
        R"(["", "", "", "[4]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ")" + std::string(mask) +
        R"("])";
    return work("aten::convolution_backward",
                "[[2, 4, 4, 3], [2, 3, 8, 6], [4, 3, 3, 3], [], [], [], [], [], [], [], []]", kTypes,
                values.c_str());
  };
  EXPECT_DOUBLE_EQ(backward("[True, True, False]").value().flops.value(), 2 * forward.value().flops.value());
  EXPECT_DOUBLE_EQ(backward("[False, True, True]").value().flops.value(), forward.value().flops.value());
  EXPECT_FALSE(backward("[False, False, True]")) << "a sum, not a product";
}

TEST(OpShapes, AttentionCountsThePairsThatItsMaskLeaves) {
  constexpr const char* kSizes = "[[2, 4, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8], [], [], []]";
  constexpr const char* kTypes = R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar"])";
  const auto flash = [&](const char* causal) {
    const std::string values = R"(["", "", "", "0.", ")" + std::string(causal) + R"(", "False"])";
    return work("aten::_scaled_dot_product_flash_attention", kSizes, kTypes, values.c_str());
  };
  EXPECT_DOUBLE_EQ(flash("False").value().flops.value(), 2.0 * 8 * (10 * 10) * 16);
  EXPECT_DOUBLE_EQ(flash("True").value().flops.value(), 2.0 * 8 * (10 * 11 / 2) * 16);
  EXPECT_DOUBLE_EQ(flash("True").value().bytes.value(), 2.0 * 4 * (2 * 4 * 10 * 8));
  EXPECT_FALSE(flash("")) << "by two more or less, and nobody says which";
  const auto backward = work("aten::_scaled_dot_product_flash_attention_backward",
                             "[[2, 4, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8], "
                             "[2, 4, 10], [], [], [], []]",
                             R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half", "c10::Half", "float"])",
                             R"(["", "", "", "", "", "", "", "", "10", "10", "0.", "False"])");
  EXPECT_DOUBLE_EQ(backward.value().flops.value(), 2.5 * flash("False").value().flops.value());
}

TEST(OpShapes, WhatIsNotKnownDeclaresNothing) {
  EXPECT_FALSE(declares_work("aten::linear")) << "its addmm declares it";
  EXPECT_FALSE(declares_work("aten::add"));
  EXPECT_TRUE(declares_work("aten::mm"));
  EXPECT_FALSE(work("aten::mm", "[[2, 3], [4, 5]]")) << "they do not fit";
  EXPECT_FALSE(work("aten::mm", "[[2, 3]]"));
  EXPECT_FALSE(work("aten::mm", "[[2, 0], [0, 5]]")) << "nothing to compute";
  EXPECT_FALSE(work("aten::mm", "[[2, 3], [3, 5]]", R"(["c10::complex<float>", "c10::complex<float>"])"));
  EXPECT_FALSE(work("aten::mm", "[[[2, 3]], [3, 5]]")) << "a list of tensors";
  for (const char* malformed : {"", "[", "7", "[7]", "[[1.5]]", "[[-1, 2], [2, 3]]", "[[\"a\"]]"})
    EXPECT_FALSE(work("aten::mm", malformed)) << malformed;
}

}  // namespace
}  // namespace ridgeline::import
