// In-situ samples (T1) from a spool to the capture.
#include <cmath>
#include <limits>

#include "import/import_testing.h"
#include "import/pm_simulation.h"
#include "recording/sampled_windows.h"

namespace ridgeline::import::testing {
namespace {

constexpr char kRead[] = "dram__bytes_read.sum";
constexpr char kActive[] = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";
constexpr char kTensor[] = "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed";
constexpr char kClock[] = "gpc__cycles_elapsed.avg.per_second";
constexpr char kL2[] = "lts__t_bytes.sum";
constexpr char kHits[] = "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct";

// A run of which the last steps are sampled: steps 0 and 1 timeline, then sample steps, the first of them to
// settle.
class Sampled : public Importer {
 protected:
  static constexpr int kMeasured = 4;
  std::vector<SimulatedKernel> step() const {
    std::vector<SimulatedKernel> kernels;
    for (std::uint32_t k = 0; k < 12; ++k) {
      SimulatedKernel each;
      each.family = k;
      each.duration_ns = k % 3 == 0 ? 60'000 : k % 3 == 1 ? 25'000 : 4000;
      each.bytes_per_ns = 500.0 + 300 * k;
      each.idle_ns = 200;
      kernels.push_back(each);
    }
    return kernels;
  }
  // The spool of a window with that many of its samples; `values` makes the row of one sample.
  void fill(FakeSpool& spool, double keep = 1, WindowStatus status = WindowStatus::ok,
            const std::string& reason = {}, bool with_window = true) {
    spool.process(4242, again_ ? "timeline=1,sample=1" : "timeline=1,sample=5");
    const char* metrics[] = {kRead, kActive, kTensor, kClock, kL2, kHits};
    for (std::uint32_t m = 0; m < 6; ++m) spool.metric(m + 1, metrics[m]);
    for (std::uint32_t m = 0; m < 6; ++m) spool.pm_metric(1, m, m + 1);
    SimulationOptions options;
    options.steps = 2 + kMeasured;
    options.shift_ns = shift_ns_;
    window_ = simulate(step(), options);
    const std::int64_t base = FakeSpool::kOrigin;
    std::size_t next = 0;
    std::int64_t measured_from = 0;
    for (std::uint32_t s = 0; s < 2 + kMeasured; ++s) {
      spool.advance(window_.activities[next].start_ns - spool.now() - 5000);
      constexpr std::uint16_t kAgain = spool::kStepDeferred | spool::kStepSamplesAgain;
      if (!stretch_)
        spool.begin_step(s, s == 0 ? Phase::timeline : Phase::sample, 0,
                         s == 1            ? spool::kStepUnmeasured
                         : again_ && s > 1 ? kAgain
                                           : std::uint16_t{0});
      else if (s == 2)
        spool.begin_step(spool::kFirstStretch, Phase::sample, 0, spool::kStepByTime);
      if (s == 2) measured_from = window_.activities[next].start_ns - 4000;
      for (std::uint32_t k = 0; k < 12; ++k, ++next) {
        const spool::LaunchRecord call = spool.call();
        spool.put(call);
        spool::KernelRecord kernel = spool.kernel_of(call);
        kernel.start_ns = base + window_.activities[next].start_ns;
        kernel.end_ns = base + window_.activities[next].end_ns;
        spool.put(kernel);
      }
      spool.advance(window_.activities[next - 1].end_ns - spool.now() + 500);
      if (!stretch_ || s == 1 + kMeasured) spool.end_step(false);
    }
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < window_.samples.size(); ++i) {
      if (window_.samples.start_ns[i] >= measured_from) kept.push_back(i);
    }
    kept.resize(static_cast<std::size_t>(static_cast<double>(kept.size()) * keep));
    for (const std::size_t i : kept) {
      std::vector<double> row = {std::round(window_.amounts[i]), 100 * window_.active[i],
                                 40 * window_.active[i],         1.7e9,
                                 2 * window_.amounts[i],         window_.active[i] > 0 ? 60.0 : 0.0};
      if (spoil_) spoil_(i, row);
      spool.pm_sample(1, base + window_.samples.start_ns[i], base + window_.samples.end_ns[i], row);
    }
    samples_ = kept.size();
    const std::uint32_t first = stretch_ ? spool::kFirstStretch : 2;
    if (with_window) spool.pm_window(1, first, stretch_ ? first : 1 + kMeasured, status, reason);
    spool.completeness();
    spool.end();
  }
  std::string t1(const store::Capture& capture) const { return tier_text(capture, Tier::t1); }
  double number(const store::Capture& capture, const std::string& sql) const {
    return std::stod(scalar(capture, sql));
  }

  bool stretch_ = false;  // of a program without steps
  bool again_ = false;    // the measured steps stand for one of the schedule that was missed
  double shift_ns_ = 750;
  std::function<void(std::size_t, std::vector<double>&)> spoil_;
  SimulatedWindow window_;
  std::size_t samples_ = 0;
};

TEST_F(Sampled, AStretchOfAProgramWithoutStepsIsAStepOfTheCapture) {
  stretch_ = true;
  FakeSpool spool(directory_.path());
  fill(spool);
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "ok");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(source || ' ' || status) FROM step WHERE phase = 'sample'"),
            "window ok");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric WHERE tier = 'T1'"),
            std::to_string(12 * kMeasured * 6));
  EXPECT_EQ(scalar(capture, "SELECT first_step_index FROM pm_window"),
            scalar(capture, "SELECT step_index FROM step WHERE phase = 'sample'"));
}

// Sampling started too late for the schedule's own steps: others beside the schedule stand for them.
TEST_F(Sampled, StepsThatMakeUpForMissedOnesAreOfTheSamplePhase) {
  again_ = true;
  FakeSpool spool(directory_.path());
  spool.pm_window(7, spool::kNoStep, spool::kNoStep, WindowStatus::failed, "starting it took 107 ms");
  fill(spool);
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "ok");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(phase || ' ' || status) FROM step ORDER BY step_index"),
            "timeline ok,sample ok,sample ok,sample ok,sample ok,sample ok");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric WHERE tier = 'T1'"),
            std::to_string(12 * kMeasured * 6));
}

// The last word on a window is what counts: its cut step has others in its place.
TEST_F(Sampled, AWindowThatMeansFewerStepsInTheEndMissesNone) {
  FakeSpool spool(directory_.path());
  fill(spool, 0.6, WindowStatus::overflow, "the hardware buffer was nearly full");
  spool.pm_window(1, 2, 3, WindowStatus::overflow, "the hardware buffer was nearly full");
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "ok");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(DISTINCT step_index) FROM v_launch_metric"), "2,3");
}

TEST_F(Sampled, AStretchWhoseSamplesEndEarlyHasThemAllTheSame) {
  stretch_ = true;
  FakeSpool spool(directory_.path());
  fill(spool, 0.6, WindowStatus::overflow, "the buffer was nearly full");
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT status FROM step WHERE phase = 'sample'"), "ok");
  EXPECT_GT(number(capture, "SELECT count(*) FROM launch_metric WHERE tier = 'T1'"), 12 * 6 * 2);
  EXPECT_NE(t1(capture), "ok") << "not of all";
}

TEST_F(Sampled, EveryLaunchOfTheSampledStepsGetsItsValues) {
  FakeSpool spool(directory_.path());
  fill(spool);
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "ok");
  EXPECT_TRUE(summary_.warnings.empty()) << warnings().front();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric WHERE tier = 'T1'"),
            std::to_string(12 * kMeasured * 6));
  EXPECT_EQ(scalar(capture, "SELECT group_concat(DISTINCT step_index) FROM v_launch_metric"), "2,3,4,5");
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM launch_metric WHERE error IS NULL OR sample_count < 1 OR "
                   "concurrent != 0"),
            "0");
  // Bytes of each launch, as they were.
  const auto launches = capture.query(
      "SELECT v.start_ns, v.duration_ns, m.value, m.error FROM v_launch_metric m JOIN v_launch v USING "
      "(launch_id)"
      " WHERE m.metric = 'dram__bytes_read.sum' ORDER BY v.start_ns");
  ASSERT_TRUE(launches.ok());
  ASSERT_EQ(launches.value().rows.size(), 12u * kMeasured);
  for (std::size_t i = 0; i < launches.value().rows.size(); ++i) {
    const auto& row = launches.value().rows[i];
    const std::size_t activity = 24 + i;
    ASSERT_EQ(std::get<std::int64_t>(row[0]), FakeSpool::kOrigin + window_.activities[activity].start_ns);
    const double duration = static_cast<double>(std::get<std::int64_t>(row[1]));
    const double points = 100 * (std::get<double>(row[2]) - window_.truth[activity]) / duration / 4800;
    EXPECT_LT(std::abs(points), duration >= 20'000 ? 2 : 8) << i;
    EXPECT_LT(std::abs(points), 100 * 3 * std::get<double>(row[3]) / duration / 4800 + 0.1) << i;
  }
  // Shares are means over the launch; a clock is a mean, gaps and all; hits are weighted by traffic.
  EXPECT_NEAR(number(capture, "SELECT avg(value) FROM v_launch_metric WHERE metric LIKE 'sm__pipe_tensor%'"),
              40, 2);
  EXPECT_NEAR(number(capture, "SELECT min(value) FROM v_launch_metric WHERE metric LIKE 'gpc%'"), 1.7e9, 1e3);
  EXPECT_NEAR(number(capture, "SELECT max(value) FROM v_launch_metric WHERE metric LIKE 'gpc%'"), 1.7e9, 1e3);
  EXPECT_NEAR(number(capture, "SELECT min(value) FROM v_launch_metric WHERE metric LIKE '%hit_rate%'"), 60,
              0.1);
  EXPECT_NEAR(number(capture, "SELECT max(value) FROM v_launch_metric WHERE metric LIKE '%hit_rate%'"), 60,
              0.1);
}

TEST_F(Sampled, TheWindowSaysWhatItWasAndHowTheClocksDiffered) {
  FakeSpool spool(directory_.path());
  fill(spool);
  const store::Capture capture = import();
  const auto windows = capture.pm_windows();
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].first_step_index, 2);
  EXPECT_EQ(windows[0].last_step_index, 5);
  EXPECT_EQ(windows[0].interval_ns, 5000);
  EXPECT_EQ(windows[0].sample_count, static_cast<std::int64_t>(samples_));
  EXPECT_EQ(windows[0].status, WindowStatus::ok);
  ASSERT_TRUE(windows[0].clock_shift_ns && windows[0].shift_correlation);
  // The kernels of the simulation do nothing in their first 200 ns, so their shift looks that much smaller.
  EXPECT_NEAR(static_cast<double>(*windows[0].clock_shift_ns), shift_ns_, 250);
  EXPECT_GT(*windows[0].shift_correlation, 0.95);
  EXPECT_EQ(number(capture, "SELECT count(*) FROM pm_sample"), 6.0 * static_cast<double>(samples_));
  EXPECT_EQ(scalar(capture, "SELECT min(time_ns) FROM v_pm_sample WHERE metric = 'dram__bytes_read.sum'"),
            scalar(capture, "SELECT start_ns + 5000 FROM pm_window"));
  EXPECT_EQ(scalar(capture, "SELECT max(time_ns) FROM pm_sample"),
            scalar(capture, "SELECT end_ns FROM pm_window"));
  const auto coverage = capture.tier_coverage();
  ASSERT_EQ(coverage.size(), 6u);
  for (const auto& row : coverage) {
    EXPECT_EQ(row.tier, Tier::t1);
    EXPECT_EQ(row.covered_ns, row.kernel_time_ns);
    EXPECT_GT(row.kernel_time_ns, 0);
  }
  EXPECT_EQ(scalar(capture, "SELECT DISTINCT kernel_time_ns FROM tier_coverage"),
            scalar(capture, "SELECT sum(duration_ns) FROM v_launch WHERE step_index >= 2"));
  EXPECT_EQ(scalar(capture, "SELECT group_concat(phase || ' ' || status) FROM step ORDER BY step_index"),
            "timeline ok,sample ok,sample ok,sample ok,sample ok,sample ok");
}

TEST_F(Sampled, AnOverflowKeepsWhatCameBeforeIt) {
  FakeSpool spool(directory_.path());
  fill(spool, 0.6, WindowStatus::overflow, "the hardware buffer was full after 180 samples");
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT status || overflow FROM pm_window"), "overflow1");
  EXPECT_EQ(capture.pm_windows().at(0).reason,
            Reason::said(ReasonCode::sampling, "the hardware buffer was full after 180 samples"));
  EXPECT_EQ(scalar(capture, "SELECT group_concat(status) FROM step WHERE step_index >= 2"),
            "ok,ok,interrupted,failed");
  // Six tenths of four steps' samples: four tenths of the third step.
  const std::string reason = step_reason(capture, 4);
  EXPECT_EQ(reason.find("samples cover "), 0u) << reason;
  EXPECT_NEAR(std::stod(reason.substr(14)), 40, 15) << reason;
  EXPECT_NE(reason.find(" % of this step: the hardware buffer was full after 180"), std::string::npos)
      << reason;
  EXPECT_EQ(t1(capture).find("partial: 2 of 4 sample steps are whole"), 0u) << t1(capture);
  EXPECT_TRUE(warned("tier T1 partial"));
  const double covered =
      number(capture, "SELECT 1.0 * covered_ns / kernel_time_ns FROM tier_coverage LIMIT 1");
  EXPECT_NEAR(covered, 0.6, 0.06);
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM v_launch_metric WHERE step_index = 5"), "0");
}

TEST_F(Sampled, ARecordingThatEndedWhileDecodingKeepsWhatWasDecoded) {
  for (const bool said_in_advance : {true, false}) {
    TemporaryDirectory spools;
    FakeSpool spool(spools.path());
    fill(spool, 0.3, WindowStatus::failed, "the program ended while its samples were being read",
         said_in_advance);
    Result<ImportSummary> imported =
        import_spools(spools.path(), directory_ / (said_in_advance ? "a.ridge" : "b.ridge"));
    ASSERT_TRUE(imported.ok());
    const store::Capture capture = open_capture(imported.value().capture_path);
    EXPECT_EQ(scalar(capture, "SELECT status || overflow FROM pm_window"), "overflow1");
    EXPECT_NE(reports::reason_text(*capture.pm_windows().at(0).reason).find("ended"), std::string::npos);
    EXPECT_GT(number(capture, "SELECT count(*) FROM launch_metric WHERE tier = 'T1'"), 0);
    EXPECT_EQ(t1(capture).find("partial"), 0u) << t1(capture);
    EXPECT_EQ(scalar(capture, "SELECT group_concat(status) FROM step WHERE step_index >= 2"),
              "ok,interrupted,failed,failed");
  }
}

TEST_F(Sampled, AWindowWithoutSamplesSaysWhy) {
  FakeSpool spool(directory_.path());
  fill(spool, 0, WindowStatus::failed, "the process began to exit");
  const store::Capture capture = import();
  EXPECT_EQ(capture.pm_windows().at(0).status, WindowStatus::failed);
  EXPECT_EQ(reports::reason_text(*capture.pm_windows().at(0).reason), "the process began to exit");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric"), "0");
  EXPECT_EQ(t1(capture), "failed: none of 4 sample steps gave values: no samples: the process began to exit");
  EXPECT_EQ(scalar(capture, "SELECT status FROM step WHERE step_index = 1"), "ok");  // was to settle only
}

TEST_F(Sampled, ARefusalIsToldInTheAgentsWords) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "timeline=1,sample=1");
  spool.message(Severity::warning, spool::Topic::sampling_refused, "sampling refused: run as root");
  for (std::uint32_t s = 0; s < 2; ++s) {
    spool.begin_step(s, s == 0 ? Phase::timeline : Phase::sample);
    spool.launch();
    spool.end_step();
  }
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "refused: sampling refused: run as root");
  EXPECT_EQ(step_reason(capture, 1), "no samples: sampling refused: run as root");
}

TEST_F(Sampled, AProgramThatEndedBeforeItsSampleStepsIsToldSo) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "timeline=3,sample=4");
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.end_step();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture),
            "failed: the program ended after 1 steps and sampling begins with step 3: run more steps or "
            "shorten the "
            "schedule");
}

TEST_F(Sampled, ValuesThatCouldNotBeEvaluatedCostTheirSamplesOrTheirMetric) {
  spoil_ = [](std::size_t i, std::vector<double>& row) {
    row[2] = std::numeric_limits<double>::quiet_NaN();  // never
    if (i % 40 == 0) row[0] = std::numeric_limits<double>::quiet_NaN();
  };
  FakeSpool spool(directory_.path());
  fill(spool);
  const store::Capture capture = import();
  EXPECT_TRUE(warned("sm__pipe_tensor_cycles_active_realtime"));
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM v_pm_sample WHERE metric LIKE 'sm__pipe_tensor%'"), "0");
  EXPECT_LT(number(capture, "SELECT count(*) FROM v_pm_sample WHERE metric = 'dram__bytes_read.sum'"),
            static_cast<double>(samples_));
  // Long launches lose a sample and stand; their totals are scaled for it.
  double worst = 0;
  const auto rows = capture.query(
      "SELECT v.step_index, v.ordinal_in_step, v.duration_ns, m.value FROM v_launch_metric m JOIN v_launch v "
      "USING "
      "(launch_id) WHERE m.metric = 'dram__bytes_read.sum' AND v.duration_ns > 50000");
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.value().rows.size(), 16u);
  for (const auto& row : rows.value().rows) {
    const auto activity =
        static_cast<std::size_t>(std::get<std::int64_t>(row[0]) * 12 + std::get<std::int64_t>(row[1]));
    worst = std::max(worst, std::abs(std::get<double>(row[3]) - window_.truth[activity]) /
                                static_cast<double>(std::get<std::int64_t>(row[2])) / 48);
  }
  EXPECT_LT(worst, 5);
}

TEST_F(Sampled, SamplesThatDoNotFollowTheKernelsAreDoubted) {
  spoil_ = [](std::size_t i, std::vector<double>& row) {
    row[1] = static_cast<double>(i * 2654435761u % 1000) / 10;  // nobody's
  };
  FakeSpool spool(directory_.path());
  fill(spool);
  (void)import();
  EXPECT_TRUE(warned("hardly follow the kernels"));
}

TEST_F(Sampled, DamagedRecordsChangeNothing) {
  const auto spoilt = [&](FakeSpool& spool) {
    const double nothing[] = {1, 2, 3};
    for (const auto& [start, end] : {std::pair<std::int64_t, std::int64_t>{INT64_MIN, INT64_MAX},
                                     {0, 5000},
                                     {FakeSpool::kOrigin, FakeSpool::kOrigin},
                                     {INT64_MAX - 10, INT64_MAX},
                                     {FakeSpool::kOrigin + 10, FakeSpool::kOrigin}}) {
      spool.pm_sample(1, start, end, {nothing, nothing + 3});
    }
    spool::PmSampleRecord lying{};  // says more values than it holds
    lying.window_id = 1;
    lying.value_count = UINT32_MAX;
    lying.start_ns = FakeSpool::kOrigin + 60'000;
    lying.end_ns = lying.start_ns + 10;
    spool.put(lying);
    spool.pm_metric(1, UINT32_MAX, 1);
    spool.pm_metric(1, 200, 77);
  };
  FakeSpool spool(directory_.path());
  spoilt(spool);
  fill(spool);
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "ok");
  EXPECT_EQ(number(capture, "SELECT sample_count FROM pm_window"), static_cast<double>(samples_ + 1));
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch_metric WHERE tier = 'T1'"),
            std::to_string(12 * kMeasured * 6));
}

// Samples are of the device, whoever runs on it.
TEST_F(Sampled, AnotherProcessOnTheDeviceMakesValuesThoseOfBoth) {
  FakeSpool spool(directory_.path());
  fill(spool);
  FakeSpool other(directory_.path(), 4243);
  FakeSpool elsewhere(directory_.path(), 4244, 8);  // on another device
  for (FakeSpool* each : {&other, &elsewhere}) {
    const spool::LaunchRecord call = each->call();
    each->put(call);
    spool::KernelRecord kernel = each->kernel_of(call);
    const std::size_t beside = each == &other ? 24 : 36;  // first launch of step 2, of step 3
    kernel.start_ns = FakeSpool::kOrigin + window_.activities[beside].start_ns + 1000;
    kernel.end_ns = kernel.start_ns + 30'000;
    each->put(kernel);
    each->completeness();
    each->end();
  }
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(DISTINCT step_index || ':' || ordinal_in_step) FROM "
                   "v_launch_metric WHERE concurrent = 1"),
            "2:0");
}

// A window of 250 ms at 5 us, as the default schedule takes of a step of 60 ms.
TEST_F(Sampled, AFullWindowStaysSmallOnDisk) {
  constexpr std::int64_t kSamples = 50'000;
  constexpr std::uint32_t kMetrics = 11;
  FakeSpool spool(directory_.path());
  spool.process(4242, "sample=4");
  for (std::uint32_t m = 0; m < kMetrics; ++m) {
    spool.metric(m + 1, m == 0 ? kActive : "metric_" + std::to_string(m) + (m % 2 == 1 ? ".sum" : ".pct"));
    spool.pm_metric(1, m, m + 1);
  }
  const std::int64_t base = FakeSpool::kOrigin;
  for (std::uint32_t s = 0; s < 4; ++s) {
    spool.advance(10'000 + s * 62'500'000ll - spool.now());
    spool.begin_step(s, Phase::sample);
    for (std::int64_t k = 0; k < 400; ++k) {
      const spool::LaunchRecord call = spool.call();
      spool.put(call);
      spool::KernelRecord kernel = spool.kernel_of(call);
      kernel.start_ns = base + s * 62'500'000ll + 50'000 + k * 150'000;
      kernel.end_ns = kernel.start_ns + (k % 4 == 0 ? 8000 : 140'000);
      spool.put(kernel);
    }
    spool.end_step(false);
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> u(0, 1);
  for (std::int64_t i = 0; i < kSamples; ++i) {
    std::vector<double> row;
    for (std::uint32_t m = 0; m < kMetrics; ++m)
      row.push_back(m % 2 == 1 ? std::round(2e7 * u(random)) : 100 * u(random));
    row[0] = (i * 5000 - 50'000) % 150'000 < 140'000 ? 99.5 : 1;
    spool.pm_sample(1, base + i * 5000, base + (i + 1) * 5000, row);
  }
  spool.pm_window(1, 0, 3, WindowStatus::ok);
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(t1(capture), "ok");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM pm_sample"), std::to_string(kSamples * kMetrics));
  RecordProperty("capture_bytes", std::to_string(fs::file_size(output_)));
  EXPECT_LT(fs::file_size(output_), 20'000'000u);
}

TEST(PmMeaning, IsToldByTheName) {
  EXPECT_EQ(pm_meaning(kRead), PmMeaning::amount);
  EXPECT_EQ(pm_meaning(kTensor), PmMeaning::mean);
  EXPECT_EQ(pm_meaning("pcie__read_bytes.sum.per_second"), PmMeaning::mean);
  EXPECT_EQ(pm_meaning(kClock), PmMeaning::background);
  EXPECT_EQ(pm_meaning("dram__bytes.sum.peak_sustained_elapsed.per_second"), PmMeaning::background);
  EXPECT_EQ(pm_meaning(kHits), PmMeaning::ratio);
}

}  // namespace
}  // namespace ridgeline::import::testing
