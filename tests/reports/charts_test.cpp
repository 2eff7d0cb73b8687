// Charts as numbers: what their rectangles say.
#include "charts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>

#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/svg.h"
#include "svg_shapes.h"

namespace ridgeline::reports {
namespace {

using testing::all;
using testing::Shape;
using testing::shapes_of;

std::vector<double> widths(const std::string& svg, const std::string& css) {
  std::vector<double> found;
  for (const Shape& shape : all(svg, "rect", css)) found.push_back(shape.number("width"));
  return found;
}

// Every shape lies inside the picture, which is as wide as all are.
void expect_within(const std::string& svg) {
  EXPECT_EQ(testing::box_of(svg).first, kChartWidth);
  testing::expect_inside(svg);
}

// An axis as a reader has it: the ticks' numbers and where they stand. `along` is "x" or "y".
class Axis {
 public:
  // `beside`: the other coordinate, which tells the axes of a chart apart.
  Axis(const std::string& svg, const std::string& along, double beside) {
    const std::string across = along == "x" ? "y" : "x";
    for (const Shape& shape : all(svg, "text", "tick")) {
      if (std::abs(shape.number(across) - beside) > 0.6) continue;
      places_[std::stod(shape.text)] =
          shape.number(along) - (along == "y" ? 4 : 0);  // of the letters' middle
    }
  }
  [[nodiscard]] std::size_t ticks() const { return places_.size(); }
  [[nodiscard]] double linear(double at) const {
    const auto [low, from] = *places_.begin();
    const auto [high, to] = *places_.rbegin();
    return low + (at - from) / (to - from) * (high - low);
  }
  [[nodiscard]] double logarithmic(double at) const {
    const auto [low, from] = *places_.begin();
    const auto [high, to] = *places_.rbegin();
    return low * std::pow(high / low, (at - from) / (to - from));
  }

 private:
  std::map<double, double> places_;
};

TEST(StackedBar, SharesAreTheirPartOfTheWhole) {
  const std::string svg = stacked_bar({{"a", "k-a", 600}, {"b", "k-b", 300}}, 1000, "bar");
  ASSERT_FALSE(widths(svg, "k-a").empty());
  EXPECT_NEAR(widths(svg, "k-a")[0], 0.6 * kChartWidth, 2);
  EXPECT_NEAR(widths(svg, "k-b")[0], 0.3 * kChartWidth, 2);
}

// Kernels of several streams add up to more than the step; the bar stays as wide as the chart.
TEST(StackedBar, SharesThatExceedTheWholeShrinkToFit) {
  const std::string svg = stacked_bar({{"a", "k-a", 1500}, {"b", "k-b", 500}}, 1000, "bar");
  ASSERT_FALSE(widths(svg, "k-a").empty());
  EXPECT_NEAR(widths(svg, "k-a")[0], 0.75 * kChartWidth, 0.02);
  EXPECT_NEAR(widths(svg, "k-b")[0], 0.25 * kChartWidth, 0.02);
}

TEST(StackedBar, LeavesOutWhatIsNothing) {
  const std::string svg = stacked_bar({{"a", "k-a", 1000}, {"nothing", "k-b", 0.4}}, 1000, "bar");
  EXPECT_TRUE(widths(svg, "k-b").empty());
  EXPECT_EQ(svg.find("nothing"), std::string::npos);
}

TEST(StackedBar, LegendNamesEachShareWithItsNumbers) {
  const std::string svg = stacked_bar(
      {{"a", "k-a", 600e6}, {"b", "k-b", 300e6}, {"c", "k-c", 50e6}, {"d", "k-d", 50e6}}, 1000e6, "bar");
  expect_within(svg);
  const auto numbers = all(svg, "text", "number");
  ASSERT_EQ(numbers.size(), 4u);
  EXPECT_EQ(numbers[0].text, "600.000 ms · 60.0 %");
  EXPECT_EQ(numbers[3].text, "50.000 ms · 5.0 %");
  const auto names = all(svg, "text", "legend");
  EXPECT_EQ(names[0].number("y"), names[2].number("y")) << "three in a row";
  EXPECT_GT(names[3].number("y"), names[2].number("y") + 10);
  EXPECT_EQ(names[3].number("x"), names[0].number("x"));
  // A name stands in its share where there is room, in its middle.
  const auto inside = all(svg, "text", "on-bar");
  ASSERT_EQ(inside.size(), 4u);
  EXPECT_NEAR(inside[1].number("x"), 0.75 * kChartWidth, 0.02);
  EXPECT_EQ(stacked_bar({{"a", "k-a", 1}}, 0, "bar"), "");
}

TEST(StackedBar, ANameThatDoesNotFitIsLeftToTheLegend) {
  const std::string name(10, 'n');  // needs 88 of 1040
  EXPECT_EQ(all(stacked_bar({{name, "k-a", 80}}, 1000, "bar"), "text", "on-bar").size(), 0u);
  EXPECT_EQ(all(stacked_bar({{name, "k-a", 90}}, 1000, "bar"), "text", "on-bar").size(), 1u);
}

TEST(SampleChart, ReadsBackAsWhatWasSampled) {
  analyzer::SampledStep step;
  step.step_index = 4;
  step.window.start_ns = 1'000'000;
  step.window.end_ns = 11'000'000;
  step.samples = 1234;
  step.interval_ns = 5000;
  step.dram_ratio = {0.1, 0.9, 0.4, 1.2};
  step.tensor_ratio = {0.5, 0.0, 0.25, 1.0};
  step.classes = {{KernelClass::gemm, 1'000'000, 6'000'000}, {KernelClass::attention, 8'500'000, 11'000'000}};
  const SampleChart chart = sample_chart(step);
  expect_within(chart.svg);
  const auto grid = all(chart.svg, "line", "grid");
  ASSERT_EQ(grid.size(), 6u) << "0, 50 and 100 % of two panels";
  const char* css[] = {"m-dram", "m-tensor"};
  const std::vector<double>* values[] = {&step.dram_ratio, &step.tensor_ratio};
  for (std::size_t panel = 0; panel < 2; ++panel) {
    const double none = grid[3 * panel].number("y1"), full = grid[3 * panel + 2].number("y1");
    EXPECT_NEAR(grid[3 * panel + 1].number("y1"), (none + full) / 2, 0.02);
    EXPECT_GT(none, full + 50) << "upward";
    const auto areas = all(chart.svg, "polygon", css[panel]);
    ASSERT_EQ(areas.size(), 1u);
    std::istringstream points(areas[0].attributes.at("points"));
    std::vector<std::pair<double, double>> read;
    for (std::string pair; points >> pair;)
      read.emplace_back(std::stod(pair), std::stod(pair.substr(pair.find(',') + 1)));
    ASSERT_EQ(read.size(), 6u);
    EXPECT_NEAR(read.front().second, none, 0.06);
    EXPECT_NEAR(read.back().second, none, 0.06);
    EXPECT_NEAR(read.front().first, grid[0].number("x1"), 0.06);
    EXPECT_NEAR(read.back().first, kChartWidth, 0.06);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR((none - read[i + 1].second) / (none - full), std::min((*values[panel])[i], 1.0), 0.002)
          << i;
      const double left = grid[0].number("x1");
      EXPECT_NEAR((read[i + 1].first - left) / (kChartWidth - left), (static_cast<double>(i) + 0.5) / 4,
                  0.001);
    }
  }
  const double left = grid[0].number("x1"), plot = kChartWidth - left;
  const Shape gemm = all(chart.svg, "rect", "k-gemm").at(0),
              attention = all(chart.svg, "rect", "k-attention").at(0);
  EXPECT_NEAR(gemm.number("x"), left, 0.02);
  EXPECT_NEAR(gemm.number("width"), plot / 2, 0.02);
  EXPECT_NEAR(attention.number("x"), left + 0.75 * plot, 0.02);
  EXPECT_NEAR(attention.number("width"), plot / 4, 0.02);
  EXPECT_EQ(gemm.text, "gemm, 5.000 ms");
  EXPECT_EQ(attention.text, "attention, 2.500 ms");
  EXPECT_NE(chart.note.find("1,234 samples"), std::string::npos) << chart.note;
  step.tensor_ratio.clear();
  EXPECT_EQ(all(sample_chart(step).svg, "line", "grid").size(), 3u) << "one panel";
}

class Roofed : public ::testing::Test {
 protected:
  Roofed() {
    roofline_.dram = peak(Quantity::dram_bytes_per_s, 4.8e12);
    roofline_.compute = {peak(Quantity::bf16_flops_per_s, 960e12)};  // ridge at 200
  }
  static analyzer::Peak peak(Quantity quantity, double value) {
    analyzer::Peak result;
    result.quantity = quantity;
    result.value = value;
    return result;
  }
  void point(const std::string& css, std::optional<double> intensity, double flops, double share,
             std::optional<double> bytes = {}) {
    analyzer::RooflinePoint each;
    each.ranking_row = roofline_.points.size();
    each.key = css;
    each.kernel_class = parse_word<KernelClass>(css).value();
    each.step_share = share;
    each.intensity_flop_per_byte = intensity;
    if (intensity) each.flops_per_s = flops;
    each.dram_bytes_per_s = bytes;
    roofline_.points.push_back(each);
  }
  analyzer::Roofline roofline_;
};

TEST_F(Roofed, DotsReadBackAsIntensityAndRate) {
  point("gemm", 400, 700e12, 0.2);
  point("attention", 50, 100e12, 0.05);
  point("copy", 3, 10e12, 0.01);
  const RooflineChart chart = roofline_chart(roofline_, {.target = 0.7});
  expect_within(chart.svg);
  const auto dots = all(chart.svg, "circle", "dot k-gemm");
  ASSERT_EQ(dots.size(), 1u);
  double bottom = 0, left = 1e9;
  for (const Shape& tick : all(chart.svg, "text", "tick")) {
    bottom = std::max(bottom, tick.number("y"));
    left = std::min(left, tick.number("x"));
  }
  const Axis x(chart.svg, "x", bottom), y(chart.svg, "y", left);
  ASSERT_GE(x.ticks(), 2u);
  ASSERT_GE(y.ticks(), 2u);
  const struct {
    const char* css;
    double intensity, tera, share;
  } expected[] = {
      {"dot k-gemm", 400, 700, 0.2}, {"dot k-attention", 50, 100, 0.05}, {"dot k-copy", 3, 10, 0.01}};
  for (const auto& each : expected) {
    const Shape dot = all(chart.svg, "circle", each.css).at(0);
    EXPECT_NEAR(x.logarithmic(dot.number("cx")) / each.intensity, 1, 0.01) << each.css;
    EXPECT_NEAR(y.logarithmic(dot.number("cy")) / each.tera, 1, 0.01) << each.css;
  }
  // Areas are as shares.
  EXPECT_NEAR(
      std::pow(dots[0].number("r") / all(chart.svg, "circle", "dot k-attention").at(0).number("r"), 2), 4,
      0.05);
  // The roofs: up to the ridge at 200 FLOP/byte, level from there; the dashed one at 70 % of it.
  const auto roofs = all(chart.svg, "line", "roof");
  ASSERT_EQ(roofs.size(), 2u);
  EXPECT_NEAR(x.logarithmic(roofs[0].number("x2")), 200, 2);
  EXPECT_NEAR(y.logarithmic(roofs[0].number("y2")), 960, 10);
  EXPECT_NEAR(y.logarithmic(roofs[0].number("y1")) / x.logarithmic(roofs[0].number("x1")), 4.8, 0.05);
  EXPECT_NEAR(x.logarithmic(roofs[1].number("x1")), 200, 2);
  EXPECT_NEAR(y.logarithmic(roofs[1].number("y1")), 960, 10);
  EXPECT_EQ(roofs[1].number("y1"), roofs[1].number("y2"));
  const auto goal = all(chart.svg, "line", "roof-target");
  ASSERT_EQ(goal.size(), 1u);
  EXPECT_NEAR(y.logarithmic(goal[0].number("y2")) / x.logarithmic(goal[0].number("x2")), 0.7 * 4.8, 0.05);
  // Numbers are those of the ranking.
  std::vector<std::string> numbers;
  for (const Shape& number : all(chart.svg, "text", "dot-number")) numbers.push_back(number.text);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(Roofed, KernelsWithoutOperationsStandByTheirShareOfTheDramRoof) {
  point("gemm", 400, 700e12, 0.2);
  point("elementwise", {}, 0, 0.1, 1.2e12);
  point("reduction", {}, 0, 0.1, 3.6e12);
  const RooflineChart chart = roofline_chart(roofline_, {.target = 0.7});
  expect_within(chart.svg);
  double bottom = 0;
  for (const Shape& tick : all(chart.svg, "text", "tick")) bottom = std::max(bottom, tick.number("y"));
  const Axis share(chart.svg, "x", bottom);
  EXPECT_EQ(share.ticks(), 5u);
  EXPECT_NEAR(share.linear(all(chart.svg, "circle", "dot k-elementwise").at(0).number("cx")), 25, 0.1);
  EXPECT_NEAR(share.linear(all(chart.svg, "circle", "dot k-reduction").at(0).number("cx")), 75, 0.1);
}

TEST_F(Roofed, WithoutPointsOrPeakThereIsAReason) {
  EXPECT_EQ(roofline_chart(roofline_, {.target = 0.7}).svg, "");
  EXPECT_FALSE(roofline_chart(roofline_, {.target = 0.7}).note.empty());
  point("gemm", 400, 700e12, 0.2);
  roofline_.dram.reset();
  EXPECT_EQ(roofline_chart(roofline_, {.target = 0.7}).svg, "");
  EXPECT_NE(roofline_chart(roofline_, {.target = 0.7}).note.find("DRAM peak"), std::string::npos);
}

TEST(LimiterChart, BarsAreTimesAndTheirPaleEndsSavings) {
  analyzer::Ranking ranking;
  for (const auto& [key, time, saved, stretch] : {std::tuple{"small", 1'000'000, 0.0, 0.0},
                                                  {"large", 4'000'000, 1e6, 1.6e6},
                                                  {"left out", 500'000, 0.0, 0.0}}) {
    analyzer::RankingRow row;
    row.key = row.kernel = key;
    row.kernel_class = key == std::string("large") ? KernelClass::gemm : KernelClass::copy;
    row.time_ns = time;
    row.saved_target_ns = saved;
    row.saved_stretch_ns = stretch;
    ranking.rows.push_back(row);
  }
  const std::string svg = nearest_roof_chart(ranking, 2);
  expect_within(svg);
  double bottom = 0;
  for (const Shape& tick : all(svg, "text", "tick")) bottom = std::max(bottom, tick.number("y"));
  std::map<double, double> places;
  for (const Shape& tick : all(svg, "text", "tick")) {
    if (std::regex_match(tick.text, std::regex("[0-9.]+"))) places[std::stod(tick.text)] = tick.number("x");
  }
  ASSERT_GE(places.size(), 3u);
  const double from = places.begin()->second;
  const double a_ms = (places.rbegin()->second - from) / (places.rbegin()->first - places.begin()->first);
  const Shape solid = all(svg, "rect", "k-gemm").at(0), pale = all(svg, "rect", "k-gemm pale").at(0);
  EXPECT_GT(4 * a_ms, ridgeline::testing::box_of(svg).first / 3)
      << "the longest takes the room that names and values leave";
  EXPECT_NEAR(solid.number("x"), from, 0.02);
  EXPECT_NEAR(solid.number("width"), 3 * a_ms, 0.05);
  EXPECT_NEAR(pale.number("x"), from + 3 * a_ms, 0.05);
  EXPECT_NEAR(pale.number("width"), a_ms, 0.05);
  EXPECT_NEAR(all(svg, "line", "goal").at(0).number("x1"), from + 2.4 * a_ms, 0.05);
  EXPECT_EQ(all(svg, "line", "goal").size(), 1u);
  EXPECT_NEAR(all(svg, "rect", "k-copy").at(0).number("width"), a_ms, 0.05);
  EXPECT_LT(solid.number("y"), all(svg, "rect", "k-copy").at(0).number("y")) << "the longest first";
  EXPECT_EQ(all(svg, "text", "kernel").size(), 2u) << "no more rows than asked for";
  EXPECT_EQ(nearest_roof_chart(analyzer::Ranking{}, 5), "");
}

// A capture may hold any number as a peak.
TEST(LogScale, AnyNumbersGiveFewTicksAndPlacesInsideTheAxis) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const auto& [low, high] :
       {std::pair(1.0, kInfinite), std::pair(1e-310, 1.7e308), std::pair(0.0, 1.0), std::pair(-1.0, 1e300),
        std::pair(std::nan(""), std::nan("")), std::pair(5.0, 1.0)}) {
    const LogScale scale(low, high, 0, 100);
    EXPECT_LE(scale.ticks().size(), 60u) << low << " " << high;
    for (const double value : {low, high, 1.0, 0.0, kInfinite}) {
      EXPECT_GE(scale(value), 0.0) << low << " " << high << " " << value;
      EXPECT_LE(scale(value), 100.0) << low << " " << high << " " << value;
    }
  }
  for (const double limit : {0.0, -1.0, kInfinite, std::nan("")})
    EXPECT_GT(nice_tick(limit, 5), 0.0) << limit;
}

TEST(LogScale, EqualRatiosAreEqualDistances) {
  const LogScale scale(1, 100, 50, 250);
  EXPECT_NEAR(scale(1), 50, 1e-9);
  EXPECT_NEAR(scale(10), 150, 1e-9);
  EXPECT_NEAR(scale(100), 250, 1e-9);
  EXPECT_NEAR(scale(0.01), 50, 1e-9) << "clamped";
  EXPECT_NEAR(scale(1e9), 250, 1e-9);
}

TEST(LogScale, TicksArePowersOfTenFinerOnShortAxes) {
  EXPECT_EQ(LogScale(1, 100, 0, 1).ticks(), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
  EXPECT_EQ(LogScale(3, 40, 0, 1).ticks(), (std::vector<double>{5, 10, 20}));
  EXPECT_EQ(LogScale(0.5, 2000, 0, 1).ticks(), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(LogScale(1, 900, 0, 1).ticks(), (std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200, 500}));
  EXPECT_EQ(LogScale(1, 1000, 0, 1).ticks(), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(LogScale(0.001, 0.01, 0, 1).ticks().size(), 4u) << "0.001, 0.002, 0.005, 0.01";
}

TEST(NiceTick, IsOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_DOUBLE_EQ(nice_tick(10, 10), 1);
  EXPECT_DOUBLE_EQ(nice_tick(11, 10), 2);
  EXPECT_DOUBLE_EQ(nice_tick(21, 10), 5);
  EXPECT_DOUBLE_EQ(nice_tick(51, 10), 10);
  EXPECT_DOUBLE_EQ(nice_tick(0.04, 4), 0.01);
  EXPECT_DOUBLE_EQ(nice_tick(300, 6), 50);
  EXPECT_DOUBLE_EQ(nice_tick(7, 0), 10);
}

// Steps 0 to 7: two of warm-up, four of the timeline, one that failed, one of replay; step 3 stands for all.
analyzer::StepAnalysis eight_steps() {
  analyzer::StepAnalysis steps;
  steps.process_id = 1;
  for (const std::int64_t ms : {60, 50, 40, 44, 42, 41, 48, 100}) {
    analyzer::StepSummary step;
    step.process_id = 1;
    step.step_id = static_cast<store::Id>(steps.steps.size()) + 10;
    step.step_index = static_cast<std::int64_t>(steps.steps.size());
    step.phase = step.step_index < 2 ? Phase::warmup : step.step_index < 7 ? Phase::timeline : Phase::replay;
    step.status = step.step_index == 6 ? StepStatus::failed : StepStatus::ok;
    step.gpu_duration_ns = ms * 1'000'000;
    steps.steps.push_back(step);
  }
  steps.representative.summary = steps.steps[3];
  return steps;
}

TEST(StepChart, BarsReadBackAsDurations) {
  const std::string svg = step_chart(eight_steps());
  expect_within(svg);
  const Axis axis(svg, "y", 48);
  ASSERT_EQ(axis.ticks(), 3u) << "0, 50 and 100 ms\n" << svg;
  std::vector<Shape> bars;
  for (const Shape& shape : shapes_of(svg)) {
    if (shape.tag == "rect") bars.push_back(shape);
  }
  ASSERT_EQ(bars.size(), 8u);
  const char* css[] = {"s-rest",     "s-rest",     "s-timeline", "s-timeline chosen",
                       "s-timeline", "s-timeline", "s-bad",      "s-replay"};
  const double ms[] = {60, 50, 40, 44, 42, 41, 48, 100};
  const double slot = (kChartWidth - 56) / 8;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(bars[i].attributes.at("class"), css[i]);
    EXPECT_NEAR(axis.linear(bars[i].number("y")), ms[i], 0.05);
    EXPECT_NEAR(axis.linear(bars[i].number("y") + bars[i].number("height")), 0, 0.05);
    EXPECT_NEAR(bars[i].number("x"), 56 + slot * (static_cast<double>(i) + 0.1), 0.02);
    EXPECT_NEAR(bars[i].number("width"), 0.8 * slot, 0.02);
  }
  EXPECT_EQ(bars[3].text, "step 3, timeline, ok: 44.000 ms, stands for all");
  EXPECT_EQ(bars[6].text, "step 6, timeline, failed: 48.000 ms");
  std::string phases;
  for (const Shape& label : all(svg, "text", "tick")) {
    if (label.text.find_first_not_of("0123456789.") == std::string::npos) continue;
    phases += label.text + " ";
    EXPECT_GT(label.number("y"), bars[0].number("y") + bars[0].number("height") + 8) << "below the bars";
  }
  EXPECT_EQ(phases, "warmup timeline replay ");
}

TEST(StepChart, OneStepIsNoChart) {
  analyzer::StepAnalysis steps = eight_steps();
  steps.steps.resize(1);
  EXPECT_EQ(step_chart(steps), "");
  steps = eight_steps();
  for (analyzer::StepSummary& step : steps.steps) step.process_id = 2;
  EXPECT_EQ(step_chart(steps), "") << "of another process";
}

// The number over a bar that is cut needs 20 points of room: 49 bars leave it, 50 do not.
TEST(StepChart, NumbersOverBarsThatAreCutHaveRoom) {
  const auto numbered = [](std::int64_t count) {
    analyzer::StepAnalysis steps;
    steps.representative.whole_recording = true;
    for (std::int64_t i = 0; i < count; ++i) {
      analyzer::StepSummary step;
      step.step_index = i;
      step.gpu_duration_ns = (i == 3 ? 400 : 40) * 1'000'000;
      steps.steps.push_back(step);
    }
    const auto ticks = all(step_chart(steps), "text", "tick");
    return std::any_of(ticks.begin(), ticks.end(), [](const Shape& tick) { return tick.text == "400"; });
  };
  EXPECT_TRUE(numbered(49));
  EXPECT_FALSE(numbered(50));
}

// More than 200 steps are drawn as neighbours taken together, with the least, the most and the median of each heap.
TEST(StepChart, ManyStepsAreTakenTogether) {
  analyzer::StepAnalysis steps;
  steps.representative.whole_recording = true;
  for (std::int64_t i = 0; i < 600; ++i) {
    analyzer::StepSummary step;
    step.step_index = i;
    step.phase = Phase::timeline;
    step.status = StepStatus::ok;
    step.gpu_duration_ns = (40 + i % 3) * 1'000'000;
    steps.steps.push_back(step);
  }
  std::vector<Shape> bars = all(step_chart(steps), "rect", "s-timeline");
  ASSERT_EQ(bars.size(), 200u);
  EXPECT_EQ(bars[1].text, "steps 3 to 5, timeline: 40.000 to 42.000 ms, median 41.000 ms");
  steps.steps.resize(200);
  bars = all(step_chart(steps), "rect", "s-timeline");
  ASSERT_EQ(bars.size(), 200u);
  EXPECT_EQ(bars[5].text, "step 5, timeline, ok: 42.000 ms");
}

// The axis ends at the longest step up to two and a half times the usual one; beyond, where most end, with a
// fifth more.
TEST(StepChart, TheAxisEndsWhereMostStepsEnd) {
  const auto highest = [](double last_ms) {
    analyzer::StepAnalysis steps = eight_steps();
    steps.steps[7].gpu_duration_ns = static_cast<std::int64_t>(last_ms * 1e6);
    const std::string svg = step_chart(steps);
    return Axis(svg, "y", 48).linear(32);  // the top of the plot
  };
  EXPECT_NEAR(highest(119), 119, 0.5) << "the median is 48";
  EXPECT_NEAR(highest(121), 1.2 * 60, 0.5);
}

TEST(SampleChart, TicksStandBelowTheStrip) {
  analyzer::SampledStep step;
  step.window = {0, 10'000'000};
  step.dram_ratio = {0.5, 0.5};
  step.classes = {{KernelClass::gemm, 0, 10'000'000}};
  const std::string svg = sample_chart(step).svg;
  const Shape strip = all(svg, "rect", "k-gemm").at(0);
  std::vector<std::string> ticks;
  for (const Shape& tick : all(svg, "text", "tick")) {
    if (tick.text.find(" ms") == std::string::npos) continue;
    ticks.push_back(tick.text);
    EXPECT_GT(tick.number("y"), strip.number("y") + strip.number("height") + 8);
    EXPECT_NEAR((tick.number("x") - strip.number("x")) / strip.number("width"), std::stod(tick.text) / 10,
                0.002);
  }
  EXPECT_EQ(ticks, (std::vector<std::string>{"0 ms", "2 ms", "4 ms", "6 ms", "8 ms", "10 ms"}));
}

TEST_F(Roofed, TheAxesHoldPointsAndRidgeAndLittleMore) {
  point("gemm", 400, 700e12, 0.2);
  const std::string svg = roofline_chart(roofline_, {.target = 0.7}).svg;
  double bottom = 0, left = 1e9;
  for (const Shape& tick : all(svg, "text", "tick")) {
    bottom = std::max(bottom, tick.number("y"));
    left = std::min(left, tick.number("x"));
  }
  const Axis x(svg, "x", bottom), y(svg, "y", left);
  const auto grid = all(svg, "line", "grid");
  const Shape& level = grid.back();  // of the y axis: from the plot's left to its right
  EXPECT_NEAR(x.logarithmic(level.number("x1")), 200 / 4 / 1.8, 1) << "a quarter of the ridge, with room";
  EXPECT_NEAR(x.logarithmic(level.number("x2")), 600 * 1.8, 15) << "three times the ridge, with room";
  EXPECT_NEAR(y.logarithmic(grid.front().number("y2")), 960 / 4 / 1.8, 3);
  EXPECT_NEAR(y.logarithmic(grid.front().number("y1")), 960 * 1.8, 20);
  // The label of the compute roof ends just before the plot's end and stands just above its line.
  const Shape roof = all(svg, "line", "roof").at(1);
  const Shape label = all(svg, "text", "roof-label").back();
  EXPECT_NEAR(label.number("x"), roof.number("x2") - 4, 0.02);
  EXPECT_NEAR(label.number("y"), roof.number("y1") - 6, 0.02);
  // That of DRAM stands at the middle of the slope, to the right of the target's line.
  const Shape slope = all(svg, "line", "roof").at(0);
  const Shape of_dram = all(svg, "text", "roof-label").front();
  EXPECT_EQ(of_dram.text.substr(0, 5), "DRAM ");
  const double middle = (slope.number("x1") + slope.number("x2")) / 2;
  EXPECT_GT(of_dram.number("x"), middle + 8);
  EXPECT_LT(of_dram.number("x"), middle + 150);
  EXPECT_NEAR(of_dram.number("y"), (slope.number("y1") + slope.number("y2")) / 2 + 4, 0.05);
}

TEST_F(Roofed, NoDotIsTooSmallToSeeOrTooLargeToSeePast) {
  point("gemm", 400, 700e12, 1.0);
  point("attention", 50, 100e12, 0.25);
  point("copy", 3, 10e12, 1e-6);
  const std::string svg = roofline_chart(roofline_, {.target = 0.7}).svg;
  const auto radius = [&](const std::string& css) {
    return all(svg, "circle", "dot k-" + css).at(0).number("r");
  };
  EXPECT_NEAR(radius("gemm"), 22, 0.02);
  EXPECT_NEAR(radius("attention"), 17, 0.02);
  EXPECT_NEAR(radius("copy"), 4, 0.02);
}

// Dots in a heap: a number that is drawn lies on no dot but beside its own, and on no other number.
TEST_F(Roofed, NumbersOfDotsCoverNeitherDotsNorNumbers) {
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 7; ++j)
      point("gemm", 100 * std::pow(1.11, i), 1e14 * std::pow(1.11, j), 0.002 * (i + 1));
  }
  const std::string svg = roofline_chart(roofline_, {.target = 0.7}).svg;
  const auto dots = all(svg, "circle", "dot k-gemm"), numbers = all(svg, "text", "dot-number");
  EXPECT_GE(numbers.size(), 20u);
  EXPECT_LE(numbers.size(), 49u);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers[i].number("x"), y = numbers[i].number("y") - 4;
    for (const Shape& dot : dots) {
      const double away = std::hypot(dot.number("cx") - x, dot.number("cy") - y) - dot.number("r");
      const bool own = dot.text.starts_with(numbers[i].text + ". ");
      EXPECT_GE(away, own ? 4 : 4.95) << numbers[i].text << " at " << dot.text;
      if (own) {
        EXPECT_LE(away, 30) << "beside it";
      }
    }
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(std::abs(numbers[j].number("x") - x) >= 12.9 ||
                  std::abs(numbers[j].number("y") - 4 - y) >= 11.9);
    }
  }
}

// Names are wider than numbers: where they stand they cover no dot and no other name.
TEST_F(Roofed, NamesCoverNeitherDotsNorNames) {
  for (int i = 0; i < 9; ++i) {
    point(i % 2 == 0 ? "gemm" : "attention", 150 * std::pow(1.2, i), 2e14 * std::pow(1.08, i),
          0.01 * (i + 1));
    roofline_.points.back().key =
        "void library::kernel_with_a_rather_long_name_" + std::to_string(i) + "<float, 128>(float*)";
  }
  const std::string svg = roofline_chart(roofline_, {.target = 0.7, .names = true, .alone = true}).svg;
  EXPECT_NE(svg.find("<style>"), std::string::npos) << "colours of its own";
  const auto names = all(svg, "text", "dot-name");
  EXPECT_GE(names.size(), 3u);
  std::vector<Shape> dots = all(svg, "circle", "dot k-gemm");
  for (const Shape& other : all(svg, "circle", "dot k-attention")) dots.push_back(other);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_NE(names[i].text.find("…"), std::string::npos) << "cut with dots: " << names[i].text;
    const double half = 6.4 * display_width(names[i].text) / 2;
    const double x = names[i].number("x"), y = names[i].number("y") - 4;
    for (const Shape& dot : dots) {
      const double beside = std::abs(dot.number("cx") - x) - half, above = std::abs(dot.number("cy") - y) - 6;
      EXPECT_GE(std::max(beside, above), dot.number("r") - 0.05) << names[i].text;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const double other = 6.4 * display_width(names[j].text) / 2;
      EXPECT_TRUE(std::abs(names[j].number("x") - x) >= half + other - 0.1 ||
                  std::abs(names[j].number("y") - 4 - y) >= 11.9);
    }
  }
}

// Where names have no room, a file of its own numbers the dots, and its key says which kernels these are.
TEST_F(Roofed, AFileOfItsOwnSaysWhatItIsOfAndHasAKey) {
  for (int i = 0; i < 12; ++i) {
    point(i % 2 == 0 ? "gemm" : "attention", 300 * std::pow(1.04, i), 4e14 * std::pow(1.02, i), 0.08);
    roofline_.points.back().key = "void kernel_of_a_crowd_" + std::to_string(i) + "(float*)";
  }
  RooflineDrawing how{.target = 0.7, .names = true, .alone = true};
  how.title = "A device & its driver";
  how.subtitle = "Step 3";
  const std::string svg = roofline_chart(roofline_, how).svg;
  ASSERT_EQ(all(svg, "text", "title").size(), 1u);
  EXPECT_EQ(all(svg, "text", "title").at(0).text, "A device &amp; its driver");
  std::string key;
  for (const Shape& line : all(svg, "text", "key")) key += line.text + "\n";
  for (const char* said :
       {"Step 3\n", "gemm\n", "attention\n", "Area: share of the step.", "70 % of the DRAM roof."})
    EXPECT_NE(key.find(said), std::string::npos) << said << " in " << key;
  const auto numbers = all(svg, "text", "dot-inside");
  EXPECT_GE(numbers.size(), 2u) << "names of a crowd have no room";
  for (const Shape& number : numbers)
    EXPECT_NE(key.find("\n" + number.text + "  kernel_of_a_crowd_"), std::string::npos)
        << number.text << " in " << key;
  EXPECT_NE(svg.find("viewBox=\"0 -44 "), std::string::npos) << "room for the title";
  const std::string page = roofline_chart(roofline_, {.target = 0.7, .names = true}).svg;
  EXPECT_TRUE(all(page, "text", "key").empty()) << "a page has its own words";
  EXPECT_TRUE(all(page, "text", "dot-inside").empty());
}

TEST_F(Roofed, WhatTakesNextToNothingLeavesTheAxesToOthers) {
  const auto y_of_gemm = [](const RooflineChart& chart) {
    return all(chart.svg, "circle", "dot k-gemm").at(0).number("cy");
  };
  point("gemm", 400, 700e12, 0.5);
  const double kept = y_of_gemm(roofline_chart(roofline_, {.target = 0.7}));
  point("reduction", 0.5, 1e9, 0.0005);
  const RooflineChart chart = roofline_chart(roofline_, {.target = 0.7});
  EXPECT_EQ(y_of_gemm(chart), kept);
  EXPECT_EQ(all(chart.svg, "circle", "dot k-reduction").size(), 1u) << "drawn, at the edge";
  EXPECT_NE(chart.note.find("One kernel takes less than a thousandth of the step and lies beyond the axes"),
            std::string::npos)
      << chart.note;
  roofline_.points.back().step_share = 0.01;
  EXPECT_NE(y_of_gemm(roofline_chart(roofline_, {.target = 0.7})), kept) << "what takes time has room";
}

TEST_F(Roofed, CachesAndTheStepStandBesideTheKernels) {
  point("gemm", 400, 700e12, 0.2);
  roofline_.points[0].l2_intensity = 200;
  roofline_.points[0].l1_intensity = 100;
  roofline_.step.intensity_flop_per_byte = 300;
  roofline_.step.flops_per_s = 500e12;
  roofline_.l2 = peak(Quantity::l2_bytes_per_s, 10e12);
  const std::string svg = roofline_chart(roofline_, {.target = 0.7}).svg;
  const Shape dot = all(svg, "circle", "dot k-gemm").at(0);
  const Shape l2 = all(svg, "circle", "level level-l2 k-gemm").at(0),
              l1 = all(svg, "circle", "level level-l1 k-gemm").at(0);
  EXPECT_EQ(l2.number("cy"), dot.number("cy")) << "the same rate";
  EXPECT_LT(l1.number("cx"), l2.number("cx"));
  EXPECT_LT(l2.number("cx"), dot.number("cx")) << "more traffic, less intensity";
  EXPECT_NEAR(dot.number("cx") - l2.number("cx"), l2.number("cx") - l1.number("cx"), 0.05) << "each twice";
  EXPECT_EQ(all(svg, "circle", "step-dot").size(), 1u);
  EXPECT_EQ(all(svg, "line", "roof-cache").size(), 1u);
  EXPECT_TRUE(
      all(roofline_chart(roofline_, {.target = 0.7, .step = false}).svg, "circle", "step-dot").empty());
}

TEST_F(Roofed, TimesAtTheRoofsStandWithTheirHeadroomBehindThem) {
  point("gemm", 400, 700e12, 0.2);
  EXPECT_EQ(roof_times_chart(roofline_, {}).svg, "") << "nothing is known of them";
  analyzer::RooflinePoint& gemm = roofline_.points[0];
  gemm.sol_ns = 50e3;
  gemm.covered_ns = 100e3;
  gemm.headroom_ns = 50e3;
  gemm.bound = analyzer::roof_of(Quantity::bf16_flops_per_s);
  gemm.roofs = {{analyzer::Roof::kDram, 10e3, 1e8, PeakSource::spec},
                {analyzer::roof_of(Quantity::bf16_flops_per_s), 50e3, 5e10, PeakSource::spec}};
  const std::string svg = roof_times_chart(roofline_, {}).svg;
  const Shape at_roof = all(svg, "circle", "level level-l1 k-gemm").at(0),
              dot = all(svg, "circle", "dot k-gemm").at(0);
  EXPECT_GT(dot.number("cx"), at_roof.number("cx")) << "twice as long";
  EXPECT_LT(dot.number("cy"), at_roof.number("cy"));
  EXPECT_EQ(all(svg, "line", "level-line").size(), 1u);
}

TEST_F(Roofed, TwoHundredDotsAreDrawnTheLargestSharesFirst) {
  for (int i = 0; i < 201; ++i) point("gemm", 100 + i, 1e12 * (100 + i), i == 7 ? 0.0001 : 0.001);
  const RooflineChart chart = roofline_chart(roofline_, {.target = 0.7});
  const auto dots = all(chart.svg, "circle", "dot k-gemm");
  EXPECT_EQ(dots.size(), 200u);
  for (const Shape& dot : dots) EXPECT_NE(dot.text.find("0.1 % of the step"), std::string::npos) << dot.text;
  roofline_.points.resize(200);
  EXPECT_EQ(all(roofline_chart(roofline_, {.target = 0.7}).svg, "circle", "dot k-gemm").size(), 200u);
}

}  // namespace
}  // namespace ridgeline::reports
