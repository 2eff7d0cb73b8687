// The page of a comparison, read back: its charts, its notices, its columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "comparison/made_runs.h"
#include "ridgeline/reports/compare_documents.h"
#include "svg_shapes.h"

namespace ridgeline::reports {
namespace {

using comparison::Comparison;
using comparison::RunProfile;
using comparison::testing::made_side;
using comparison::testing::MadeKernel;
using comparison::testing::training_step;
using ridgeline::testing::all;
using ridgeline::testing::box_of;
using ridgeline::testing::expect_inside;
using ridgeline::testing::Shape;

std::vector<RunProfile> side(std::size_t runs, std::uint64_t seed, double noise = 0.002) {
  return made_side({.kernels = training_step(), .noise = noise}, runs, seed);
}

std::string page_of(const Comparison& comparison) {
  return compare_document(comparison, ReportFormat::html, {}).text();
}

// The picture whose name begins so; "": the page has none.
std::string chart(const std::string& page, const std::string& label) {
  const std::size_t name = page.find("aria-label=\"" + label);
  if (name == std::string::npos) return "";
  const std::size_t begin = page.rfind("<svg", name);
  return page.substr(begin, page.find("</svg>", name) - begin);
}

// From `begin` up to the next heading.
std::string section(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find("<h2>" + heading + "</h2>");
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("</section>", begin) - begin);
}

// Of three kernels two changed: one takes 300 µs more a step, one 100 less.
TEST(CompareChart, BarsReadBackAsWhatKernelsAddToTheStep) {
  std::vector<MadeKernel> a, b;
  for (int i = 0; i < 10; ++i) a.push_back({"step / op", "kernel" + std::to_string(i), 1000, 1, "c"});
  b = a;
  b[3].time_us += 300;
  b[7].time_us -= 100;
  b[3].code = b[7].code = "changed";
  const std::string svg =
      chart(page_of(comparison::compare(made_side({a}, 3, 1), made_side({b}, 3, 9)).value()),
            "Difference of the step");
  ASSERT_FALSE(svg.empty());
  expect_inside(svg);
  const std::vector<Shape> worse = all(svg, "rect", "worse"), better = all(svg, "rect", "better");
  ASSERT_EQ(worse.size(), 1U) << "the gaps grew too, by less than half a per cent of the step";
  ASSERT_EQ(better.size(), 1U);
  EXPECT_EQ(worse[0].text.substr(0, 4), "+300") << "the largest first";
  EXPECT_NEAR(worse[0].number("width"), 3 * better[0].number("width"), 0.02);
  const double zero = all(svg, "line", "zero").at(0).number("x1");
  EXPECT_NEAR(worse[0].number("x"), zero, 0.02) << "to the right what got slower";
  EXPECT_NEAR(better[0].number("x") + better[0].number("width"), zero, 0.02);
  // The words below stand clear of the bars.
  double lowest = 0;
  for (const char* css : {"worse", "better", "neither"})
    for (const Shape& bar : all(svg, "rect", css))
      lowest = std::max(lowest, bar.number("y") + bar.number("height"));
  for (const char* word : {"faster", "slower"}) {
    const std::vector<Shape> ticks = all(svg, "text", "tick");
    const auto found =
        std::find_if(ticks.begin(), ticks.end(), [&](const Shape& text) { return text.text == word; });
    ASSERT_NE(found, ticks.end()) << word;
    EXPECT_GT(found->number("y"), lowest + 10);
  }
}

// Kernels that say nothing are one bar, the one with the largest difference among them.
TEST(CompareChart, AllOtherKernelsAreOneBarWithTheSumOfTheirDifferences) {
  std::vector<MadeKernel> kernels;
  for (int i = 0; i < 12; ++i) kernels.push_back({"step / op", "kernel" + std::to_string(i), 1000, 1, "c"});
  Comparison comparison = comparison::compare(made_side({kernels}, 3, 1), made_side({kernels}, 3, 9)).value();
  ASSERT_EQ(comparison.kernels.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    comparison.kernels[i].time.delta = i == 0 ? 500'000 : 10'000;
    // The first and the last five are quiet.
    const bool told = i > 0 && i < 7;
    comparison.kernels[i].outcome = told ? comparison::Outcome::regressed : comparison::Outcome::same;
    comparison.kernels[i].time.delta *= told ? 2 : 1;
  }
  const std::string svg = chart(page_of(comparison), "Difference of the step");
  const auto labels = all(svg, "text", "tick");
  const auto others = std::find_if(labels.begin(), labels.end(),
                                   [](const Shape& text) { return text.text == "6 other kernels"; });
  ASSERT_NE(others, labels.end());
  std::vector<std::string> words;
  for (const Shape& number : all(svg, "text", "number")) {
    if (std::abs(number.number("y") - others->number("y")) < 0.1) words.push_back(number.text);
  }
  EXPECT_EQ(words, std::vector<std::string>{"+550.0 µs"});
}

TEST(PairChart, HasADotAPairWhereItsChangeIs) {
  const Comparison comparison = comparison::compare(side(4, 1, 0.02), side(4, 50, 0.02)).value();
  const std::vector<double>& ratios = comparison.step().time.pair_ratios;
  const std::string svg = chart(page_of(comparison), "Change of the step in each pair");
  ASSERT_FALSE(svg.empty());
  expect_inside(svg);
  std::vector<Shape> dots;
  for (const Shape& shape : ridgeline::testing::shapes_of(svg))
    if (shape.tag == "circle") dots.push_back(shape);
  ASSERT_EQ(dots.size(), ratios.size());
  // The band reaches as far to either side as a change that does not matter.
  const Shape band = all(svg, "rect", "track").at(0);
  const double zero = all(svg, "line", "zero").at(0).number("x1");
  const double scale = band.number("width") / 2 / comparison.options.step_ratio;
  for (std::size_t i = 0; i < dots.size(); ++i)
    EXPECT_NEAR(dots[i].number("cx"), zero + ratios[i] * scale, 0.1) << i;
}

// Three pairs: the interval is wider than they are apart.
TEST(PairChart, AnIntervalWiderThanThePairsIsInside) {
  const Comparison comparison = comparison::compare(side(3, 1, 0.05), side(3, 50, 0.05)).value();
  const comparison::Change& time = comparison.step().time;
  ASSERT_TRUE(time.interval.has_value());
  double widest = 0;
  for (const double ratio : time.pair_ratios) widest = std::max(widest, std::abs(ratio));
  ASSERT_GT(std::max(-time.interval->low, time.interval->high), 1.2 * widest);
  const std::string svg = chart(page_of(comparison), "Change of the step in each pair");
  ASSERT_EQ(all(svg, "line", "whisker").size(), 3U);
  expect_inside(svg);
}

TEST(CompareHtmlNotices, WhatExplainsComesFirstAndWhatIsWorthKnowingLast) {
  auto b = side(3, 50);
  for (RunProfile& run : b) {
    run.environment["NCCL_ALGO"] = "Ring";  // may explain more than the code does
    run.host_name = "elsewhere";            // worth knowing
  }
  std::string page = page_of(comparison::compare(side(3, 1), b).value());
  const std::string notice =
      "<div class=\"notice warning\">variable NCCL_ALGO: not set in A, Ring in B</div>";
  EXPECT_LT(page.find(notice), page.find("<h2>Step</h2>")) << page.substr(0, 4000);
  EXPECT_EQ(page.find("class=\"notice error\""), std::string::npos);
  EXPECT_EQ(page.find("<p class=\"soft\">variable NCCL_ALGO"), std::string::npos) << "said once";
  EXPECT_NE(section(page, "What this rests on").find("elsewhere in B"), std::string::npos);
  EXPECT_EQ(page.find("elsewhere in B"), page.rfind("elsewhere in B"));
  for (RunProfile& run : b) run.versions["driver"] = "590";
  page = page_of(comparison::compare(side(3, 1), b).value());
  EXPECT_NE(page.find("<div class=\"notice error\">version driver: 580 in A, 590 in B</div>"),
            std::string::npos);
}

TEST(CompareHtmlColumns, ThatNoKernelHasAValueOfAreLeftOut) {
  const auto kernels = [](const std::vector<RunProfile>& a, const std::vector<RunProfile>& b) {
    return section(page_of(comparison::compare(a, b).value()), "Kernels");
  };
  auto a = side(3, 1), b = side(3, 50);
  const auto has = [&](const std::string& header) {
    return kernels(a, b).find(">" + header + "<") != std::string::npos;
  };
  EXPECT_FALSE(has("DRAM"));
  EXPECT_FALSE(has("compute"));
  for (auto* runs : {&a, &b}) {  // one side is enough
    for (RunProfile& run : *runs) run.sites[0].dram_ratio = run.sites[0].compute_ratio = 0.5;
    EXPECT_TRUE(has("DRAM"));
    EXPECT_TRUE(has("compute"));
    for (RunProfile& run : *runs) run.sites[0].dram_ratio = run.sites[0].compute_ratio = std::nullopt;
  }
  // What bounds kernels, why they changed and how surely they were matched.
  EXPECT_FALSE(has("cause"));
  EXPECT_FALSE(has("match"));
  const auto bound_by = [](std::vector<RunProfile>& runs, analyzer::KernelBound bound) {
    for (RunProfile& run : runs)
      for (comparison::KernelSite& site : run.sites) site.bound = bound;
  };
  for (auto* runs : {&a, &b}) bound_by(*runs, analyzer::KernelBound::unmeasured);
  EXPECT_FALSE(has("bound by"));
  for (auto* runs : {&a, &b}) {
    bound_by(*runs, analyzer::KernelBound::memory);
    EXPECT_TRUE(has("bound by"));
    bound_by(*runs, analyzer::KernelBound::unmeasured);
  }
  b = made_side({.kernels = training_step(), .noise = 0.002}, 3, 50);
  for (RunProfile& run : b) {
    run.sites[5].code = "another";
    run.sites[5].time_ns *= 1.4;
  }
  EXPECT_TRUE(has("cause"));
  EXPECT_FALSE(has("match"));
  for (RunProfile& run : b) run.sites[5].kernel = "gelu_forward_vectorized";
  EXPECT_TRUE(has("match"));
}

}  // namespace
}  // namespace ridgeline::reports
