// The page of a history: its charts, read back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ridgeline/comparison/history.h"
#include "ridgeline/reports/history_documents.h"
#include "svg_shapes.h"

namespace ridgeline::reports {
namespace {

using ridgeline::testing::all;
using ridgeline::testing::Shape;

std::string page_of(const comparison::HistorySeries& series) {
  return history_html({{series}, {}});
}

// Values of 100, 104, 110 and 130 ms, the last after a change by another commit.
TEST(HistoryChart, ValuesReadBackFromTheirPlaces) {
  comparison::HistorySeries series;
  series.name = "step";
  for (const double ms : {100.0, 104.0, 110.0, 130.0})
    series.values.push_back({1'700'000'000'000'000'000, "0123456789abcdef", "GPU-1", ms * 1e6});
  series.changes.push_back({{3, 104e6, 130e6, 0.001}, "fedcba9876543210", false, ""});
  const std::string page = page_of(series);
  const auto grid = all(page, "line", "grid");
  ASSERT_EQ(grid.size(), 2u);
  const double low = grid[0].number("y1"), high = grid[1].number("y1");
  EXPECT_GT(low, high + 50) << "upward";
  const auto values = all(page, "circle", "value");
  ASSERT_EQ(values.size(), 4u);
  const double ms[] = {100, 104, 110, 130};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(values[i].number("cx"), 70 + 920.0 / 3 * static_cast<double>(i), 0.05) << i;
    EXPECT_NEAR(100 + (low - values[i].number("cy")) / (low - high) * 30, ms[i], 0.2) << i;
    EXPECT_EQ(values[i].text.find("0123456789ab "), 0u) << values[i].text;
  }
  EXPECT_EQ(all(page, "line", "trend").size(), 3u);
  const auto worse = all(page, "line", "worse");
  ASSERT_EQ(worse.size(), 1u) << page;
  EXPECT_NEAR(worse[0].number("x1"), (values[2].number("cx") + values[3].number("cx")) / 2, 0.05);
  EXPECT_EQ(worse[0].number("x1"), worse[0].number("x2"));
  series.changes[0].accepted = true;
  EXPECT_EQ(all(page_of(series), "line", "meant").size(), 1u);
  series.changes[0].accepted = false;
  series.changes[0].point = {3, 130e6, 104e6, 0.001};
  EXPECT_EQ(all(page_of(series), "line", "better").size(), 1u);
  series.changes.clear();
  series.values.resize(1);
  EXPECT_NEAR(all(page_of(series), "circle", "value").at(0).number("cx"), 530, 0.05) << "in the middle";
}

// Without a change the axis names the first commit and the last, with their days.
TEST(HistoryChart, WithoutAChangeTheEndsAreNamed) {
  comparison::HistorySeries series;
  series.kind = "kind";
  series.name = "step";
  series.values.push_back({1'700'000'000'000'000'000, "0123456789abcdef", "GPU-1", 1e6});
  series.values.push_back({1'700'100'000'000'000'000, "fedcba9876543210", "GPU-1", 1e6});
  const auto ends = [&] {
    std::vector<std::string> found;
    for (const Shape& tick : all(page_of(series), "text", "tick")) {
      if (tick.text.find(" ms") == std::string::npos) found.push_back(tick.text);
    }
    return found;
  };
  EXPECT_EQ(ends(), (std::vector<std::string>{"0123456789 2023-11-14", "fedcba9876 2023-11-16"}));
  series.values.pop_back();
  EXPECT_EQ(ends(), std::vector<std::string>{"0123456789 2023-11-14"});
}

// A name of a series stands whole up to 300 bytes; of a longer one both ends are left.
TEST(HistoryChart, LongNamesOfSeriesKeepTheirEnds) {
  const auto caption = [](std::size_t bytes) {
    comparison::HistorySeries series;
    series.kind = "kind";
    series.name = std::string(bytes - 3, 'n') + "end";
    series.values.push_back({1'700'000'000'000'000'000, "0123456789abcdef", "GPU-1", 1e6});
    const std::string page = page_of(series);
    const std::size_t begin = page.find("<figcaption>") + 12;
    return page.substr(begin, page.find(", 1 run", begin) - begin);
  };
  EXPECT_EQ(caption(300), std::string(297, 'n') + "end");
  EXPECT_EQ(caption(301), std::string(150, 'n') + "…" + std::string(147, 'n') + "end");
}

TEST(NewestSentence, SaysWhatIsKnownAndHowSureThatIs) {
  comparison::NewestRun run;
  run.commit = "0123456789abcdef";
  run.start_ns = 1'700'000'000'000'000'000;
  EXPECT_NE(newest_sentence(run).find("the first of its kind"), std::string::npos) << newest_sentence(run);
  run.step = comparison::NewestChange{"step", 51e6, 50e6, 0.02, 0.012, 0.028, 0.998};
  run.runs_before = 8;
  run.spread_ratio = 0.003;
  run.verdict = comparison::NewestVerdict::slower;
  run.kernels = {{"mlp: gemm", 11e6, 10e6, 0.1, 0.08, 0.12, 0.99999}};
  EXPECT_EQ(
      newest_sentence(run),
      "Newest run 0123456789ab of 2023-11-14 22:13:20 UTC: step 51.000 ms, +2.0 % against the 8 runs before "
      "it "
      "(50.000 ms). It is slower, sure to 99.80 % (95 % interval +1.2 % to +2.8 %). Kernels: mlp: gemm +10.0 "
      "% "
      "(10.000 ms to 11.000 ms).");
  run.kernels.clear();
  run.runs_before = 1;
  run.spread_guessed = true;
  run.other_cards = true;
  run.verdict = comparison::NewestVerdict::undecided;
  const std::string text = newest_sentence(run);
  EXPECT_NE(text.find("against the run before it"), std::string::npos) << text;
  EXPECT_NE(text.find("Not shown to be slower or faster"), std::string::npos) << text;
  EXPECT_NE(text.find("None of those ran on its card"), std::string::npos) << text;
  EXPECT_NE(text.find("0.3 % is taken for it, with room for twice as much; the estimate begins with three"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace ridgeline::reports
