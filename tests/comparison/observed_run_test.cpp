// What one recording says of a ladder's run, against sums over its rows: where steps and clock have settled, what the
// device was like meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "fabricated_capture.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/store/database.h"
#include "support/accepted_cases.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

struct ObservedStep {
  std::int64_t start_ns = 0, length_ns = 0;
};

struct ObservedSample {
  std::int64_t time_ns = 0;
  double clock_hz = 0, power_w = 0;
};

// A recording with samples of the clock every 2 ms, the i-th of `count` made by `clock` and `power`.
class ObservedRecording {
 public:
  ObservedRecording() : path_(directory_.file("run.ridge")) {
    ridgeline::testing::FabricatedCapture options;
    options.layers = 1;
    options.run = 3;
    ridgeline::testing::write_fabricated_capture(path_, options);
    store::Database database(path_, store::OpenMode::read_write);
    // The last one of the phase is followed by none of it: it has no length of its own.
    auto rows = database.prepare(
        "SELECT a.gpu_start_ns, b.gpu_start_ns - a.gpu_start_ns FROM step a JOIN step b ON b.process_id = "
        "a.process_id "
        "AND b.step_index = a.step_index + 1 AND b.phase = a.phase WHERE a.phase = 'timeline' ORDER BY 1");
    while (rows.step()) steps_.push_back({rows.int64(0), rows.int64(1)});
  }

  LadderRun with(int count, const std::function<double(int)>& clock_hz,
                 const std::function<double(int)>& power_w) {
    store::Database database(path_, store::OpenMode::read_write);
    database.execute("BEGIN; DELETE FROM clock_sample");
    samples_.clear();
    const std::int64_t from_ns = steps_.front().start_ns - 29'000'000, every_ns = 2'000'000;
    for (int i = 0; i < count; ++i) {
      const ObservedSample sample{from_ns + i * every_ns, clock_hz(i), power_w(i)};
      samples_.push_back(sample);
      auto insert = database.prepare(
          "INSERT INTO clock_sample (device_id, time_ns, sm_clock_hz, power_mw) VALUES (1, ?, ?, ?)");
      insert.bind(1, sample.time_ns);
      insert.bind(2, static_cast<std::int64_t>(sample.clock_hz));
      insert.bind(3, static_cast<std::int64_t>(sample.power_w * 1000));
      insert.run();
    }
    database.execute("COMMIT");
    const Result<LadderObservation> observed = accepted(observe_capture(path_));
    EXPECT_TRUE(observed.ok());
    return observed.value().run;
  }

  // Holds what was observed against the steps from `discarded` on and the samples in them.
  void expect_sums(const LadderRun& run) const {
    ASSERT_EQ(run.discarded + run.steps, static_cast<std::int64_t>(steps_.size()));
    std::vector<double> lengths, clocks;
    double watts = 0, count = 0;
    const auto first = static_cast<std::size_t>(run.discarded);
    for (std::size_t i = first; i < steps_.size(); ++i)
      lengths.push_back(static_cast<double>(steps_[i].length_ns));
    EXPECT_NEAR(run.step_ns, middle(lengths), 0.5);
    const std::int64_t end_ns = steps_.back().start_ns + steps_.back().length_ns;
    for (const ObservedSample& sample : samples_) {
      if (sample.time_ns < steps_[first].start_ns || sample.time_ns >= end_ns) continue;
      clocks.push_back(sample.clock_hz);
      watts += sample.power_w;
      count += 1;
    }
    if (count == 0) return;
    ASSERT_TRUE(run.sm_clock_hz && run.power_w && run.joules_per_step);
    EXPECT_NEAR(*run.sm_clock_hz, middle(clocks), 1);
    EXPECT_NEAR(*run.power_w, watts / count, 1e-3);
    EXPECT_NEAR(*run.joules_per_step, watts / count * run.step_ns * 1e-9, 1e-6);
  }

  [[nodiscard]] const std::vector<ObservedStep>& steps() const { return steps_; }

 private:
  static double middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  }

  ridgeline::testing::TemporaryDirectory directory_;
  std::string path_;
  std::vector<ObservedStep> steps_;
  std::vector<ObservedSample> samples_;
};

double rising_power(int i) {
  return 300 + i;
}

TEST(ObservedRun, OfASteadyClockAllStepsCount) {
  ObservedRecording recording;
  const LadderRun run = recording.with(
      200, [](int i) { return 1.7e9 + 1e4 * i; }, rising_power);
  EXPECT_EQ(run.discarded, 0);
  EXPECT_TRUE(run.settled);
  EXPECT_GE(run.steps, 5);
  recording.expect_sums(run);
  EXPECT_EQ(run.device, "NVIDIA H200");
  ASSERT_TRUE(run.launches.has_value());
  EXPECT_EQ(*run.launches, 27);
}

TEST(ObservedRun, StepsBeforeTheClockHasSettledAreLeftOut) {
  ObservedRecording recording;
  // Of the samples in the steps, the first fifth is of a higher clock.
  const std::int64_t settles_ns = recording.steps()[1].start_ns + 3'000'000;
  const std::int64_t from_ns = recording.steps().front().start_ns - 29'000'000;
  const auto falling = [&](int i) {
    const std::int64_t at_ns = from_ns + 2'000'000 * std::int64_t{i};
    return at_ns < settles_ns ? 1.98e9 - 5e6 * i : 1.6e9 + 1e4 * i;
  };
  const LadderRun run = recording.with(200, falling, rising_power);
  EXPECT_GT(run.discarded, 0);
  EXPECT_LE(run.discarded, static_cast<std::int64_t>(recording.steps().size()) / 2);
  EXPECT_TRUE(run.settled);
  recording.expect_sums(run);
}

TEST(ObservedRun, OfAClockThatNeverSettlesTheSecondHalfCounts) {
  ObservedRecording recording;
  const LadderRun run = recording.with(
      200, [](int i) { return 1.98e9 - 6e6 * i; }, rising_power);
  EXPECT_FALSE(run.settled);
  EXPECT_EQ(run.discarded, static_cast<std::int64_t>(recording.steps().size()) / 2);
  recording.expect_sums(run);
}

TEST(ObservedRun, FewSamplesSayNothingOfTheClocksCourse) {
  ObservedRecording recording;
  // From 29 ms before the steps, every 2 ms: 5 fall into them, then 6.
  const auto steep = [](int i) { return 1.98e9 - 5e7 * i; };
  const LadderRun five = recording.with(20, steep, rising_power);
  EXPECT_EQ(five.discarded, 0);
  EXPECT_TRUE(five.settled);
  recording.expect_sums(five);
  const LadderRun six = recording.with(21, steep, rising_power);
  EXPECT_FALSE(six.settled);
  recording.expect_sums(six);
  const LadderRun none = recording.with(0, steep, rising_power);
  EXPECT_FALSE(none.power_w.has_value());
  EXPECT_FALSE(none.joules_per_step.has_value());
  recording.expect_sums(none);
}

TEST(ObservedRun, TimesThatAProgramPrints) {
  EXPECT_EQ(accepted(observe_times({5, 1, 3})).step_ns, 3);
  const LadderRun constant = accepted(observe_times(std::vector<double>(20, 7.0)));
  EXPECT_EQ(constant.step_ns, 7);
  EXPECT_EQ(constant.steps, 20);
  EXPECT_EQ(constant.discarded, 0);
  EXPECT_TRUE(constant.settled);
  std::vector<double> falling(40, 100);
  for (std::size_t i = 0; i < 10; ++i) falling[i] = 200 - 10 * static_cast<double>(i);
  const LadderRun settles = accepted(observe_times(falling));
  EXPECT_TRUE(settles.settled);
  EXPECT_GT(settles.discarded, 0);
  EXPECT_EQ(settles.discarded + settles.steps, 40);
  EXPECT_EQ(settles.step_ns, 100);
  std::vector<double> rising(30);
  std::iota(rising.begin(), rising.end(), 1.0);
  const LadderRun never = accepted(observe_times(rising));
  EXPECT_FALSE(never.settled);
  EXPECT_EQ(never.discarded, 15);
  EXPECT_EQ(never.step_ns, 23);
}

TEST(ObservedRun, AFileThatIsNoneIsNamed) {
  const auto missing = accepted(observe_capture("/nowhere/at all.ridge"));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.failure().message.find("/nowhere/at all.ridge"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::comparison
