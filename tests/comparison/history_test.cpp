#include "ridgeline/comparison/history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "made_runs.h"
#include "ridgeline/store/database.h"
#include "support/accepted_cases.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::TemporaryDirectory;
using testing::training_step;

std::vector<double> noisy(const std::vector<std::pair<int, double>>& parts, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (const auto& [count, mean] : parts) {
    for (int i = 0; i < count; ++i) values.push_back(mean * (1 + 0.003 * normal(random)));
  }
  return values;
}

TEST(ChangePoints, AreWhereValuesChange) {
  const auto found = accepted(change_points(noisy({{12, 50.0}, {15, 52.0}, {10, 47.0}})));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at, 12U);
  EXPECT_NEAR(found[0].before, 50, 0.2);
  EXPECT_NEAR(found[0].after, 52, 0.2);
  EXPECT_EQ(found[1].at, 27U);
  EXPECT_NEAR(found[1].after, 47, 0.2);
  EXPECT_LE(found[0].p, 0.05);
}

TEST(ChangePoints, NoiseHasHardlyAny) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    found += !accepted(change_points(noisy({{25, 50.0}}, seed))).empty();
  EXPECT_LE(found, 6) << "of 40 at 5 %";
}

// Changes that do not matter are taken back, the smallest first: the 1.2 % between the first two parts join them, and
// the 4 % after them stay, held against both.
TEST(ChangePoints, TheSmallestGoFirst) {
  const std::vector<double> values = noisy({{14, 50.0}, {14, 50.6}, {14, 52.6}});
  ASSERT_EQ(accepted(change_points(values)).size(), 2U);
  const auto found = accepted(change_points(values, {.min_ratio = 0.02}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at, 28U);
  EXPECT_NEAR(found[0].before, 50.3, 0.2);
  EXPECT_NEAR(found[0].after, 52.6, 0.2);
}

TEST(ChangePoints, ShortAndConstantSeriesHaveNone) {
  EXPECT_TRUE(accepted(change_points({})).empty());
  EXPECT_TRUE(accepted(change_points({1, 2})).empty());
  EXPECT_TRUE(accepted(change_points({1, 9, 1, 9, 1})).empty());
  EXPECT_TRUE(accepted(change_points(std::vector<double>(20, 5.0))).empty());
}

// Series of the same runs, of which each has noise of its own.
std::vector<std::vector<double>> many(std::size_t series, int runs, std::uint64_t seed) {
  std::vector<std::vector<double>> all;
  for (std::size_t s = 0; s < series; ++s) all.push_back(noisy({{runs, 50.0}}, seed * 1000 + s));
  return all;
}

TEST(JointChangePoints, ManySeriesOfNoiseHaveHardlyAny) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    bool any = false;
    for (const auto& changes : accepted(joint_change_points(many(30, 12, seed), {.permutations = 199})))
      any = any || !changes.empty();
    found += any;
  }
  EXPECT_LE(found, 6) << "of 40 at 5 % for all series of one together";
}

TEST(JointChangePoints, AChangeIsFoundAmongManySeries) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto series = many(30, 12, seed);
    for (std::size_t run = 7; run < 12; ++run) series[4][run] *= 1.03;
    const double gap = std::numeric_limits<double>::quiet_NaN();
    series[5][0] = series[5][11] = gap;  // a kernel that comes and goes
    const auto changes = accepted(joint_change_points(series));
    ASSERT_EQ(changes[4].size(), 1U) << seed;
    EXPECT_EQ(changes[4][0].at, 7U);
    EXPECT_TRUE(changes[5].empty());
  }
}

// Of a long series not every place is looked at in each permutation; the change is found at its place all the same.
TEST(JointChangePoints, LongSeriesKeepTheirPlaces) {
  const auto found = accepted(change_points(noisy({{403, 50.0}, {301, 50.6}, {96, 52.0}})));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found[0].at), 403, 3);
  EXPECT_EQ(found[1].at, 704U);
}

std::vector<RunProfile> one(RunProfile run) {
  return {std::move(run)};
}

RunProfile run_at(int number, double slow) {
  auto kernels = training_step();
  for (auto& kernel : kernels) {
    if (kernel.kernel == "layernorm_backward") kernel.time_us *= slow;
  }
  RunProfile run =
      testing::made({.kernels = kernels, .noise = 0.002, .seed = static_cast<std::uint64_t>(number)});
  run.start_ns = 1'700'000'000'000'000'000 + number * 1'000'000'000LL;
  run.git_commit = "c" + std::string(1, static_cast<char>('a' + number)) + "0000000000";
  run.host_name = "box";
  return run;
}

TEST(History, FindsTheCommitOfAChangeAndKeepsWhyItWasAccepted) {
  const TemporaryDirectory directory;
  History history = History::open(directory / "h.db").value();
  std::vector<RunProfile> runs;
  for (int i = 0; i < 16; ++i) runs.push_back(run_at(i, i < 8 ? 1.0 : 1.2));
  EXPECT_EQ(history.add(runs), 16);
  EXPECT_EQ(history.add(one(run_at(3, 1.0))), 0) << "known already";
  EXPECT_EQ(history.runs(), 16);
  const auto find = [&](const std::string& name) {
    for (const HistorySeries& series : history.report(100).series) {
      if (series.name.find(name) != std::string::npos) return series;
    }
    throw std::runtime_error("no series " + name);
  };
  HistorySeries series = find("layernorm_backward");
  EXPECT_EQ(series.values.size(), 16U);
  ASSERT_EQ(series.changes.size(), 1U);
  EXPECT_EQ(series.changes[0].point.at, 8U);
  EXPECT_EQ(series.changes[0].commit, run_at(8, 1).git_commit);
  EXPECT_FALSE(series.changes[0].accepted);
  EXPECT_TRUE(find("adamw").changes.empty());
  EXPECT_EQ(history.report(3).series.size(), 4U) << "the step and three kernels";
  EXPECT_EQ(history.report(3).series.front().name, "step");

  EXPECT_EQ(history.accept("nope", "x").failure().kind, ErrorKind::no_data);
  EXPECT_EQ(history.accept("c", "x").failure().kind, ErrorKind::usage) << "sixteen commits begin so";
  ASSERT_TRUE(history.accept(run_at(8, 1).git_commit.substr(0, 4), "more accurate statistics").ok());
  series = find("layernorm_backward");
  EXPECT_TRUE(series.changes[0].accepted);
  EXPECT_EQ(series.changes[0].reason, "more accurate statistics");
}

TEST(History, KeepsKindsOfRunsApart) {
  const TemporaryDirectory directory;
  History history = History::open(directory / "h.db").value();
  for (int i = 0; i < 8; ++i) {
    RunProfile run = run_at(i, 1.0);
    if (i % 2 == 1) run.devices[0].uuid = "GPU-2";  // another card of the model is of the same kind
    if (i == 5) run.command_line = "./generate";
    if (i == 6) run.order.resize(run.order.size() / 2);
    EXPECT_EQ(history.add(one(run), {.policy = i % 4 == 0 ? "locked" : "", .name = {}}), 1);
  }
  std::map<std::string, std::size_t> runs;
  for (const HistorySeries& series : history.report().series) {
    if (series.name == "step") runs[series.kind] = series.values.size();
  }
  const std::string on = "NVIDIA H200, driver 580";
  const std::map<std::string, std::size_t> expected = {{"./train, 13 launches a step, " + on, 4},
                                                       {"./train, 13 launches a step, " + on + ", locked", 2},
                                                       {"./train, 6 launches a step, " + on, 1},
                                                       {"./generate, 13 launches a step, " + on, 1}};
  EXPECT_EQ(runs, expected);
}

// Cards that differ by 4 %, in turn: nothing changed. Then a change of 3 %, which neither card hides.
TEST(History, CardsOfAModelAreAFactor) {
  const auto changes = [](double factor) {
    const TemporaryDirectory directory;
    History history = History::open(directory / "h.db").value();
    std::vector<RunProfile> runs;
    for (int i = 0; i < 24; ++i) {
      RunProfile run = testing::made({.kernels = training_step(),
                                      .factor = (i % 2 == 1 ? 1.04 : 1.0) * (i >= 12 ? factor : 1.0),
                                      .noise = 0.002,
                                      .seed = static_cast<std::uint64_t>(i) + 1});
      run.start_ns = 1'700'000'000'000'000'000 + i * 1'000'000'000LL;
      run.git_commit = "c" + std::to_string(100 + i);
      run.devices[0].uuid = i % 2 == 1 ? "GPU-2" : "GPU-1";
      runs.push_back(std::move(run));
    }
    EXPECT_EQ(history.add(runs), 24);
    std::vector<std::size_t> found;
    const HistoryReport report = history.report();
    for (const HistoryChange& change : report.series.front().changes) found.push_back(change.point.at);
    return found;
  };
  EXPECT_EQ(changes(1.0), std::vector<std::size_t>{});
  EXPECT_EQ(changes(1.03), std::vector<std::size_t>{12});
}

TEST(History, SaysOfTheNewestRunWhetherItIsSlower) {
  const TemporaryDirectory directory;
  History history = History::open(directory / "h.db").value();
  const auto newest = [&](int number, double factor, const std::string& card = "GPU-1") {
    RunProfile run = testing::made({.kernels = training_step(),
                                    .factor = factor,
                                    .noise = 0.002,
                                    .seed = static_cast<std::uint64_t>(number) + 1});
    run.start_ns = 1'700'000'000'000'000'000 + number * 1'000'000'000LL;
    run.git_commit = "c" + std::to_string(100 + number);
    run.devices[0].uuid = card;
    EXPECT_EQ(history.add(one(run)), 1);
    const HistoryReport report = history.report();
    EXPECT_EQ(report.newest.size(), 1U);
    EXPECT_EQ(report.newest.front().commit, run.git_commit);
    return report.newest.front();
  };
  NewestRun run = newest(0, 1);
  EXPECT_FALSE(run.step.has_value()) << "the first";
  run = newest(1, 1.06);
  ASSERT_TRUE(run.step.has_value());
  EXPECT_EQ(run.runs_before, 1U);
  EXPECT_EQ(run.verdict, NewestVerdict::slower) << "6 % is told from the second run on";
  EXPECT_NEAR(run.step->ratio, 0.06, 0.01);
  EXPECT_TRUE(run.spread_guessed);
  EXPECT_LT(run.step->confidence, 0.97) << "one run before it says little of how runs differ";
  for (int i = 2; i < 10; ++i) run = newest(i, 1.06);
  EXPECT_FALSE(run.spread_guessed);
  EXPECT_EQ(run.verdict, NewestVerdict::undecided);
  EXPECT_LT(run.step->low_ratio, 0);
  EXPECT_GT(run.step->high_ratio, 0);
  run = newest(10, 1.06 * 1.02);
  EXPECT_EQ(run.verdict, NewestVerdict::slower);
  EXPECT_GT(run.step->confidence, 0.95);
  EXPECT_GT(run.step->low_ratio, 0);
  EXPECT_FALSE(run.kernels.empty());
  EXPECT_FALSE(run.other_cards);
  // On a card that nobody has seen nothing is said of 2 %.
  run = newest(11, 1.06 * 1.02, "GPU-2");
  EXPECT_TRUE(run.other_cards);
  EXPECT_EQ(run.verdict, NewestVerdict::undecided);
  run = newest(12, 1.06 * 0.9);
  EXPECT_EQ(run.verdict, NewestVerdict::faster);
}

// A file of version 1 holds runs without launches: it is read as it is, and the next run joins its series.
TEST(History, OlderFilesAreReadAndConverted) {
  const TemporaryDirectory directory;
  const std::string path = directory / "h.db";
  {
    std::ifstream file(RIDGELINE_SOURCE_DIR "/tests/cli/history_v1.sql");
    const std::string sql{std::istreambuf_iterator<char>(file), {}};
    store::Database old(path, store::OpenMode::create);
    old.execute(
        sql +
        "INSERT INTO run VALUES (1, 5, 'box', 'NVIDIA H200', 'GPU-1', '580', '', '', './train', 'abc', 0);"
        "INSERT INTO series VALUES (1, 'step'); INSERT INTO value VALUES (1, 1, 5e7);"
        "INSERT INTO accepted VALUES ('abc', '', 'meant')");
  }
  History history = History::open(path).value();
  EXPECT_EQ(history.runs(), 1);
  EXPECT_EQ(history.report().series.front().values.size(), 1U);
  EXPECT_EQ(history.add(one(run_at(1, 1))), 1);
  const HistoryReport report = history.report();
  EXPECT_EQ(report.series.front().values.size(), 2U) << report.series.front().kind;
  EXPECT_EQ(store::Database(path, store::OpenMode::read_only).scalar_int64("SELECT count(*) FROM accepted"),
            1);
  EXPECT_EQ(store::Database(path, store::OpenMode::read_only).scalar_int64("PRAGMA user_version"), 2);
}

TEST(History, AddsAllOrNothing) {
  const TemporaryDirectory directory;
  History history = History::open(directory / "h.db").value();
  EXPECT_EQ(history.add(std::vector<RunProfile>{run_at(1, 1), run_at(2, 1), run_at(1, 1)}), 2);
  EXPECT_EQ(history.merge(directory / "h.db").failure().kind, ErrorKind::usage) << "itself";
  EXPECT_EQ(history.runs(), 2);
}

TEST(History, MergesWithoutDoubles) {
  const TemporaryDirectory directory;
  History first = History::open(directory / "one.db").value();
  History two = History::open(directory / "two.db").value();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(first.add(one(run_at(i, 1))), 1);
  for (int i = 2; i < 7; ++i) ASSERT_EQ(two.add(one(run_at(i, 1))), 1);
  ASSERT_TRUE(two.accept(run_at(5, 1).git_commit, "meant").ok());
  EXPECT_EQ(first.merge(directory / "two.db").value(), 3);
  EXPECT_EQ(first.runs(), 7);
  EXPECT_EQ(first.merge(directory / "two.db").value(), 0);
  EXPECT_EQ(first.merge(directory / "none.db").failure().kind, ErrorKind::io);
}

TEST(History, RefusesOtherFiles) {
  const TemporaryDirectory directory;
  { store::Database(directory / "other.db", store::OpenMode::create).execute("CREATE TABLE t (a)"); }
  EXPECT_EQ(History::open(directory / "other.db").failure().kind, ErrorKind::not_a_capture);
}

}  // namespace
}  // namespace ridgeline::comparison
