// Charts as numbers: what their rectangles say.
#include "charts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace ridgeline::reports {
namespace {

// Widths of the rectangles of a CSS class, in their order.
std::vector<double> widths(const std::string& svg, const std::string& css) {
  std::vector<double> found;
  const std::regex rectangle("<rect[^>]*>");
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), rectangle); at != std::sregex_iterator();
       ++at) {
    const std::string tag = at->str();
    std::smatch width;
    if (tag.find("class=\"" + css + "\"") != std::string::npos &&
        std::regex_search(tag, width, std::regex("width=\"([0-9.]+)\""))) {
      found.push_back(std::stod(width[1]));
    }
  }
  return found;
}

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
  EXPECT_NEAR(widths(svg, "k-a")[0], 0.75 * kChartWidth, 2);
  EXPECT_NEAR(widths(svg, "k-b")[0], 0.25 * kChartWidth, 2);
}

TEST(StackedBar, LeavesOutWhatIsNothing) {
  const std::string svg = stacked_bar({{"a", "k-a", 1000}, {"nothing", "k-b", 0.4}}, 1000, "bar");
  EXPECT_TRUE(widths(svg, "k-b").empty());
  EXPECT_EQ(svg.find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::reports
