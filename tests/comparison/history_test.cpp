#include "ridgeline/comparison/history.h"

#include <gtest/gtest.h>

#include <random>

#include "made_runs.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

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
  const auto found = change_points(noisy({{12, 50.0}, {15, 52.0}, {10, 47.0}}));
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
  for (std::uint64_t seed = 1; seed <= 40; ++seed) found += !change_points(noisy({{25, 50.0}}, seed)).empty();
  EXPECT_LE(found, 6) << "of 40 at 5 %";
}

// Changes that do not matter are taken back, the smallest first: the 1.2 % between the first two parts join them, and
// the 4 % behind them stay, held against both.
TEST(ChangePoints, TheSmallestGoFirst) {
  const std::vector<double> values = noisy({{14, 50.0}, {14, 50.6}, {14, 52.6}});
  ASSERT_EQ(change_points(values).size(), 2U);
  const auto found = change_points(values, 0.05, 3, 199, 0.02);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at, 28U);
  EXPECT_NEAR(found[0].before, 50.3, 0.2);
  EXPECT_NEAR(found[0].after, 52.6, 0.2);
}

TEST(ChangePoints, ShortAndConstantSeriesHaveNone) {
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points({1, 2}).empty());
  EXPECT_TRUE(change_points({1, 9, 1, 9, 1}).empty());
  EXPECT_TRUE(change_points(std::vector<double>(20, 5.0)).empty());
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
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(history.add(run_at(i, i < 8 ? 1.0 : 1.2)));
  EXPECT_FALSE(history.add(run_at(3, 1.0))) << "known already";
  EXPECT_EQ(history.runs(), 16);
  const auto find = [&](const std::string& name) {
    for (const HistorySeries& series : history.series(100)) {
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
  EXPECT_EQ(history.series(3).size(), 4U) << "the step and three kernels";
  EXPECT_EQ(history.series(3).front().name, "step");

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
    if (i % 2 == 1) run.devices[0].uuid = "GPU-2";
    EXPECT_TRUE(history.add(run, i % 4 == 0 ? "locked" : ""));
  }
  std::size_t steps = 0;
  for (const HistorySeries& series : history.series()) steps += series.name == "step";
  EXPECT_EQ(steps, 3U);
}

TEST(History, MergesWithoutDoubles) {
  const TemporaryDirectory directory;
  History one = History::open(directory / "one.db").value();
  History two = History::open(directory / "two.db").value();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(one.add(run_at(i, 1)));
  for (int i = 2; i < 7; ++i) ASSERT_TRUE(two.add(run_at(i, 1)));
  ASSERT_TRUE(two.accept(run_at(5, 1).git_commit, "meant").ok());
  EXPECT_EQ(one.merge(directory / "two.db").value(), 3);
  EXPECT_EQ(one.runs(), 7);
  EXPECT_EQ(one.merge(directory / "two.db").value(), 0);
  EXPECT_EQ(one.merge(directory / "none.db").failure().kind, ErrorKind::io);
}

TEST(History, RefusesOtherFiles) {
  const TemporaryDirectory directory;
  { store::Database(directory / "other.db", store::OpenMode::create).execute("CREATE TABLE t (a)"); }
  EXPECT_EQ(History::open(directory / "other.db").failure().kind, ErrorKind::not_a_capture);
}

}  // namespace
}  // namespace ridgeline::comparison
