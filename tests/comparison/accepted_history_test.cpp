// Where series of runs change, and which runs are of one kind, over many inputs: held against
// tests/golden/tables/history.txt and against a slower way to the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "history_runs.h"
#include "ridgeline/comparison/history.h"
#include "support/accepted_table.h"

namespace ridgeline::comparison {
namespace {

// A series of parts with a level each, and noise that no library draws.
std::vector<double> series_of_parts(const std::vector<std::pair<int, double>>& parts, double noise,
                                    std::uint64_t seed) {
  std::vector<double> values;
  std::uint64_t state = seed;
  const auto next = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 40U) / static_cast<double>(1U << 24U);
  };
  for (const auto& [count, level] : parts) {
    for (int i = 0; i < count; ++i) values.push_back(level * (1 + noise * (next() + next() + next() - 1.5)));
  }
  return values;
}

std::string points_text(const std::vector<ChangePoint>& points) {
  std::string text;
  for (const ChangePoint& point : points)
    text += fmt::format(" [{} {:.5g} -> {:.5g} p {:.4g}]", point.at, point.before, point.after, point.p);
  return text.empty() ? " none" : text;
}

std::string change_points_table() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::string table;
  const auto one = [&](const std::string& what, const std::vector<double>& values,
                       const ChangeOptions& options = {}) {
    table += what + ":" + points_text(change_points(values, options)) + "\n";
  };
  for (const int length : {2, 5, 6, 9, 10, 11, 12, 20})
    one(fmt::format("a step after {} of twice as many", length),
        series_of_parts({{length, 50}, {length, 55}}, 0.003, 1));
  for (const double level : {50.05, 50.2, 50.4, 51.0, 47.0, -50.0, 0.0})
    one(fmt::format("15 of 50 and 15 of {}", level), series_of_parts({{15, 50}, {15, level}}, 0.004, 2));
  one("three levels", series_of_parts({{12, 50}, {15, 52}, {10, 47}}, 0.003, 3));
  one("there and back", series_of_parts({{12, 50}, {8, 53}, {14, 50}}, 0.003, 4));
  one("constant", std::vector<double>(30, 5.0));
  one("two constants", series_of_parts({{9, 5}, {9, 5.0001}}, 0, 1));
  one("a long series", series_of_parts({{137, 50}, {211, 50.4}, {90, 49.8}}, 0.004, 5));
  for (const double ratio : {0.0, 0.005, 0.012, 0.02, 0.1})
    one(fmt::format("two steps, at least {}", ratio),
        series_of_parts({{14, 50}, {14, 50.6}, {14, 52.6}}, 0.002, 6), {.min_ratio = ratio});
  for (const double significance : {0.001, 0.01, 0.2})
    one(fmt::format("significance {}", significance), series_of_parts({{8, 50}, {8, 50.25}}, 0.004, 7),
        {.significance = significance});
  std::vector<double> holes = series_of_parts({{15, 50}, {15, 53}}, 0.003, 8);
  for (std::size_t i = 2; i < holes.size(); i += 4)
    holes[i] = i % 3 == 0 ? kNone : -std::numeric_limits<double>::infinity();
  one("with holes", holes);
  one("nothing but holes", std::vector<double>(12, kNone));
  one("nothing", {});
  const auto joint = joint_change_points({series_of_parts({{12, 50}, {12, 53}}, 0.003, 9),
                                          series_of_parts({{24, 7}}, 0.003, 10),
                                          holes,
                                          series_of_parts({{18, 3}, {6, 3.1}}, 0.004, 11),
                                          {}});
  for (const auto& points : joint) table += "jointly:" + points_text(points) + "\n";
  return table;
}

StoredRun stored_run(std::int64_t id, std::optional<std::int64_t> launches) {
  StoredRun run;
  run.id = run.start_ns = id;
  run.gpu = "NVIDIA H200";
  run.card = "GPU-1";
  run.driver = "580";
  run.cuda = "13.0";
  run.program = "train";
  run.launches = launches;
  return run;
}

std::string kinds_text(const std::vector<StoredRun>& runs) {
  std::string text;
  for (const RunKind& kind : kinds_of(runs)) {
    text += "  " + kind.name + ":";
    for (const std::size_t run : kind.runs) text += fmt::format(" {}", run);
    text += "\n";
  }
  return text;
}

std::string kinds_of_launches(const std::vector<std::optional<std::int64_t>>& launches) {
  std::vector<StoredRun> runs;
  for (const auto& count : launches)
    runs.push_back(stored_run(static_cast<std::int64_t>(runs.size()), count));
  return kinds_text(runs);
}

std::string kinds_table() {
  std::string table;
  const auto of_launches = [&](const std::string& what,
                               const std::vector<std::optional<std::int64_t>>& launches) {
    table += what + ":\n" + kinds_of_launches(launches);
  };
  of_launches("none", {});
  of_launches("within a quarter", {100, 125, 156, 100});
  of_launches("beyond a quarter", {100, 126, 80, 79});
  of_launches("nearest", {100, 150, 121, 124, 123});
  of_launches("as near to either joins the first", {100, {}, 1000, {}, 144});
  of_launches("few", {0, 1, {}, 2, 0});
  std::vector<StoredRun> runs;
  const auto other = [&](const std::function<void(StoredRun&)>& change) {
    runs.push_back(stored_run(static_cast<std::int64_t>(runs.size()), 100));
    change(runs.back());
    runs.push_back(stored_run(static_cast<std::int64_t>(runs.size()), 101));
  };
  other([](StoredRun& run) { run.gpu = "NVIDIA H100"; });
  other([](StoredRun& run) { run.card = "GPU-2"; });
  other([](StoredRun& run) { run.card = "GPU-1, GPU-2"; });
  other([](StoredRun& run) { run.devices = 2; });
  other([](StoredRun& run) { run.devices = 1; });
  other([](StoredRun& run) { run.driver = ""; });
  other([](StoredRun& run) { run.cuda = ""; });
  other([](StoredRun& run) { run.policy = "clocks locked"; });
  other([](StoredRun& run) { run.program = ""; });
  other([](StoredRun& run) { run.program = std::string(200, 'p') + "1"; });
  other([](StoredRun& run) { run.program = std::string(200, 'p') + "2"; });
  other([](StoredRun& run) { run.program = "two\nlines"; });
  return table + "of other facts:\n" + kinds_text(runs);
}

TEST(AcceptedTable, ChangesAndKindsOfAHistory) {
  ridgeline::testing::expect_accepted("history.txt", change_points_table() + kinds_table());
}

// Each run in turn goes to the kind that is nearest by the rule, looked for one after the other.
TEST(RunKinds, AreTheNearestInTheOrderOfTime) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<StoredRun> runs;
    for (std::int64_t i = 0; i < 40; ++i) {
      runs.push_back(stored_run(i, 20 + static_cast<std::int64_t>(random() % 60)));
      if (random() % 8 == 0) runs.back().launches.reset();
      if (random() % 5 == 0) runs.back().program = "other";
    }
    std::vector<std::pair<std::string, std::optional<std::int64_t>>> kinds;
    std::vector<std::vector<std::size_t>> expected;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::size_t nearest = kinds.size();
      double least = 1.25 * (1 + 1e-9);
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        if (kinds[k].first != runs[i].program) continue;
        double ratio = 1.25;
        if (kinds[k].second && runs[i].launches) {
          const auto [low, high] = std::minmax(*kinds[k].second, *runs[i].launches);
          ratio = static_cast<double>(high) / static_cast<double>(low);
        }
        if (ratio < least * (nearest == kinds.size() ? 1 : 1 - 1e-12)) {
          nearest = k;
          least = ratio;
        }
      }
      if (nearest == kinds.size()) {
        kinds.emplace_back(runs[i].program, std::nullopt);
        expected.emplace_back();
      }
      if (runs[i].launches) kinds[nearest].second = runs[i].launches;
      expected[nearest].push_back(i);
    }
    const std::vector<RunKind> found = kinds_of(runs);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) EXPECT_EQ(found[k].runs, expected[k]);
  }
}

}  // namespace
}  // namespace ridgeline::comparison
