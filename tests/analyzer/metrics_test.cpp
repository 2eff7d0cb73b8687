// Every entry of the registry, none by name: a new one is tested here as it is.
#include "ridgeline/analyzer/utilisation/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"

namespace ridgeline::analyzer {
namespace {

using testing::FabricatedModel;

// Two launches of one kernel, 100 µs and 300 µs, in a step of the timeline and in one of `phase`; the sources of both
// say 10 and 30.
template <typename Say>
Model two_launches(Phase phase, Say say) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("k", 1'000'000, 1'100'000);
  f.launch("k", 2'000'000, 2'300'000);
  f.step(phase);
  f.launch("k", 11'000'000, 11'100'000);
  say(f, 10.0);
  f.launch("k", 12'000'000, 12'300'000);
  say(f, 30.0);
  return f.done();
}

// The shown values of the launches, and what they add up to, are the tier's.
void expect_read(const Model& model, Metric metric, Tier tier) {
  const MetricEntry& entry = metric.entry();
  SCOPED_TRACE(entry.key);
  const StepAnalysis steps = analyze_steps(model).value();
  const UtilisationAnalysis utilisation = analyze_utilisation(model, steps);
  const double unit = entry.unit == MetricUnit::ratio ? 0.01 : 1;
  ASSERT_EQ(utilisation.launches.size(), 2U);
  for (const auto& [launch, expected] : std::map<std::size_t, double>{{0, 10}, {1, 30}}) {
    const std::optional<Measured> value = utilisation.launches[launch].values->metrics.of(metric);
    ASSERT_TRUE(value.has_value());
    EXPECT_NEAR(value->value, expected * unit, 1e-12);
    EXPECT_EQ(value->tier, TierSet(tier));
  }
  const Ranking ranking = rank_kernels(model, steps, utilisation, testing::exposed(model, steps));
  ASSERT_EQ(ranking.rows.size(), 1U);
  const std::optional<Measured> row = ranking.rows[0].metrics.of(metric);
  ASSERT_TRUE(row.has_value());
  // 25: a quarter of the time at 10, the rest at 30.
  EXPECT_NEAR(row->value, (entry.adds_up == AddsUp::sum ? 40 : 25) * unit, 1e-12);
}

TEST(Metrics, HaveDistinctKeysThatSayTheUnit) {
  std::set<std::string_view> keys;
  for (const Metric metric : kAllMetrics) {
    const MetricEntry& entry = metric.entry();
    EXPECT_TRUE(keys.insert(entry.key).second) << entry.key;
    EXPECT_TRUE(entry.key.ends_with(entry.unit == MetricUnit::bytes ? "_bytes" : "_ratio")) << entry.key;
    EXPECT_EQ(entry.adds_up, entry.unit == MetricUnit::bytes ? AddsUp::sum : AddsUp::mean) << entry.key;
    EXPECT_FALSE(entry.header.empty() || entry.help.empty()) << entry.key;
    EXPECT_EQ(entry.launch_header.empty(), entry.launch_help.empty()) << entry.key;
  }
}

TEST(Metrics, AreReadFromTheCountersOfTheirEntries) {
  for (const Metric metric : kAllMetrics) {
    const MetricSource& source = metric.entry().replayed;
    if (source.counter.empty()) continue;
    expect_read(two_launches(Phase::replay,
                             [&](FabricatedModel& f, double value) {
                               f.counters({{std::string(source.counter), value}});
                             }),
                metric, Tier::t2);
    if (source.hits.empty()) continue;
    expect_read(two_launches(Phase::replay,
                             [&](FabricatedModel& f, double value) {
                               f.counters({{std::string(source.hits), value},
                                           {std::string(source.misses), 100 - value},
                                           {std::string(source.counter), 99}});
                             }),
                metric, Tier::t2);
  }
}

TEST(Metrics, AreReadFromTheSamplesOfTheirEntries) {
  for (const Metric metric : kAllMetrics) {
    const MetricSource& source = metric.entry().sampled;
    if (source.counter.empty()) continue;
    expect_read(two_launches(Phase::sample,
                             [&](FabricatedModel& f, double value) {
                               f.samples({{std::string(source.counter), {value, 1}}}, 18);
                             }),
                metric, Tier::t1);
  }
}

TEST(Metrics, AreReplacedAndNotTakenBack) {
  MetricValues values;
  EXPECT_FALSE(values.of(kAllMetrics[0]).has_value());
  values.set(kAllMetrics[0], Measured{.value = 1});
  values.set(kAllMetrics[1], Measured{.value = 2});
  values.set(kAllMetrics[0], Measured{.value = 3});
  values.set(kAllMetrics[1], std::nullopt);
  EXPECT_EQ(values.of(kAllMetrics[0])->value, 3);
  EXPECT_EQ(values.of(kAllMetrics[1])->value, 2);
}

}  // namespace
}  // namespace ridgeline::analyzer
