// What people write of a change, as the analyzer's transforms.
#include "ridgeline/queries/what_if_query.h"

#include <gtest/gtest.h>

namespace ridgeline::queries {
namespace {

using analyzer::AtRoof;
using analyzer::Faster;
using analyzer::Fused;
using analyzer::InPrecision;
using analyzer::Precision;

TEST(WhatIfQuery, KernelsAndHowMuchFaster) {
  EXPECT_EQ(parse_faster("attention*=1.5x").value(), (Faster{"attention*", 1.5}));
  EXPECT_EQ(parse_faster("adamw=2").value(), (Faster{"adamw", 2}));
  EXPECT_EQ(parse_faster("k<(T)1, a=b>=0.5").value(), (Faster{"k<(T)1, a=b>", 0.5})) << "the last one counts";
  for (const char* wrong : {"", "=2", "k", "k=", "k=x", "k=-1", "k=0", "k=2y", "k=nan", "k=inf"}) {
    const auto parsed = parse_faster(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.failure().kind, ErrorKind::usage);
    EXPECT_NE(parsed.failure().message.find("attention*=1.5x"), std::string::npos) << "what to write instead";
  }
}

TEST(WhatIfQuery, ShareOfARoofAsPeopleWriteIt) {
  EXPECT_EQ(parse_at_roof("85").value(), (AtRoof{0.85, "*"}));
  EXPECT_EQ(parse_at_roof("85%").value(), (AtRoof{0.85, "*"}));
  EXPECT_EQ(parse_at_roof("0.85").value(), (AtRoof{0.85, "*"}));
  EXPECT_EQ(parse_at_roof("1").value(), (AtRoof{1, "*"}));
  EXPECT_EQ(parse_at_roof("layernorm*=70").value(), (AtRoof{0.7, "layernorm*"}));
  for (const char* wrong : {"", "0", "101", "-5", "x", "k=", "85%%", "spec"})
    EXPECT_FALSE(parse_at_roof(wrong).ok()) << wrong;
}

TEST(WhatIfQuery, APairIsDividedByTheCommaBetweenNames) {
  EXPECT_EQ(parse_fused("bias*,gelu*").value(), (Fused{"bias*", "gelu*"}));
  EXPECT_EQ(parse_fused("k<float, 4>(int, int),gelu").value(), (Fused{"k<float, 4>(int, int)", "gelu"}));
  EXPECT_EQ(parse_fused("bias*,gelu*", true).value(), (Fused{"bias*", "gelu*", true}));
  for (const char* wrong : {"", "a", "a,", ",b", "a,b,c", "k<a,b>"})
    EXPECT_FALSE(parse_fused(wrong).ok()) << wrong;
  EXPECT_NE(parse_fused("a", true).failure().message.find("--fuse-kept: 'a'"), std::string::npos);
}

TEST(WhatIfQuery, KernelsAndTheTypeOfTheirData) {
  EXPECT_EQ(parse_in_precision("gemm*=bf16").value(), (InPrecision{"gemm*", Precision::bf16}));
  EXPECT_EQ(parse_in_precision("*=fp8").value(), (InPrecision{"*", Precision::fp8}));
  for (const char* wrong : {"", "bf16", "k=", "k=half", "k=any", "=bf16"})
    EXPECT_FALSE(parse_in_precision(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace ridgeline::queries
