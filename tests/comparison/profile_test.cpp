#include "ridgeline/comparison/profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <numeric>

#include "fabricated_capture.h"
#include "ridgeline/comparison/comparison.h"
#include "ridgeline/store/capture_writer.h"
#include "support/accepted_cases.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using analyzer::KernelBound;
using analyzer::LaunchUtilisation;
using analyzer::LaunchValues;
using analyzer::Session;

const std::string kBundled = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";

TEST(ProfileRun, SitesHoldAllKernelTimeOfTheStep) {
  const RunProfile profile = accepted(profile_run(kBundled)).value();
  Session session = Session::open(kBundled).value();
  const auto ranking = session.ranking().value();
  ASSERT_FALSE(profile.sites.empty());
  // Medians of each site over the steps, against the one representative step.
  EXPECT_NEAR(profile.kernel_ns / static_cast<double>(ranking->totals.time_ns), 1, 0.02);
  EXPECT_EQ(static_cast<std::int64_t>(profile.order.size()), ranking->totals.calls);
  double calls = 0;
  for (const KernelSite& site : profile.sites) calls += site.calls;
  EXPECT_EQ(calls, static_cast<double>(ranking->totals.calls));
  EXPECT_EQ(profile.step.count, session.steps().value()->spread.count);
  EXPECT_EQ(profile.devices.size(), 1U);
  EXPECT_TRUE(profile.sm_clock_hz.has_value());
  EXPECT_GT(profile.busy_ns, 0);
}

TEST(ProfileRun, LayersAreFoldedAndCodesTold) {
  const RunProfile profile = accepted(profile_run(kBundled)).value();
  int in_layers = 0;
  for (const KernelSite& site : profile.sites) {
    EXPECT_EQ(site.path.find("layer 0"), std::string::npos) << site.path;
    in_layers += site.path.find("layer *") != std::string::npos && site.calls >= 12;
    EXPECT_FALSE(site.code.empty()) << site.kernel;
  }
  EXPECT_GE(in_layers, 10);
  EXPECT_LT(profile.sites.size(), 100U);
}

TEST(ProfileRun, MeasurementsComeFromTheRepresentativeStep) {
  const RunProfile profile = accepted(profile_run(kBundled)).value();
  double measured = 0;
  double all = 0;
  for (const KernelSite& site : profile.sites) {
    all += site.time_ns;
    if (site.dram_ratio && site.compute_ratio && site.dram_bytes && site.cycles) measured += site.time_ns;
  }
  EXPECT_GT(measured / all, 0.9);
  const auto tensor = std::find_if(profile.sites.begin(), profile.sites.end(),
                                   [](const KernelSite& s) { return s.kernel_class == KernelClass::gemm; });
  ASSERT_NE(tensor, profile.sites.end());
  EXPECT_FALSE(tensor->counts.empty());
}

// Of the launches of one kernel at one place, reckoned again from the session's answers.
TEST(ProfileRun, MeasurementsAreThoseOfTheLaunchesTogether) {
  const RunProfile profile = accepted(profile_run(kBundled)).value();
  Session session = Session::open(kBundled).value();
  const auto model = session.model().value();
  const auto utilisation = session.utilisation().value();
  struct Sums {
    double time = 0, cycles = 0, dram = 0, compute = 0, bytes = 0;
    bool all = true;
  };
  using Place = std::pair<std::string, std::string>;
  std::map<Place, Sums> sums;
  for (const LaunchUtilisation& u : utilisation->launches) {
    const store::Launch launch = model->launches[u.launch];
    Sums& sum =
        sums[{folded_path(model->string(launch.nvtx_path_id)), std::string(model->kernel_name(launch))}];
    const LaunchValues& values = *u.values;
    if (!values.timeline_clock_hz || !values.dram_utilisation || !values.compute_utilisation ||
        !values.dram_bytes) {
      sum.all = false;
      continue;
    }
    const auto time = static_cast<double>(u.duration_ns);
    sum.time += time;
    sum.cycles += time * *values.timeline_clock_hz;
    sum.dram += time * values.dram_utilisation->value;
    sum.compute += time * values.compute_utilisation->value;
    sum.bytes += values.dram_bytes->value;
  }
  std::map<Place, int> sites;
  for (const KernelSite& site : profile.sites) ++sites[{site.path, site.kernel}];
  int compared = 0;
  for (const KernelSite& site : profile.sites) {
    const Place place{site.path, site.kernel};
    const auto sum = sums.find(place);
    if (sites[place] != 1 || sum == sums.end() || !sum->second.all) continue;
    const Sums& of = sum->second;
    EXPECT_NEAR(site.dram_ratio.value(), of.dram / of.time, 1e-9) << site.kernel;
    EXPECT_NEAR(site.compute_ratio.value(), of.compute / of.time, 1e-9) << site.kernel;
    EXPECT_NEAR(site.dram_bytes.value() / of.bytes, 1, 1e-9) << site.kernel;
    EXPECT_NEAR(site.cycles.value() / (site.time_ns * 1e-9 * of.cycles / of.time), 1, 1e-9) << site.kernel;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(ProfileRun, FactsAreThoseOfTheRecording) {
  const RunProfile profile = accepted(profile_run(kBundled)).value();
  Session session = Session::open(kBundled).value();
  const auto model = session.recording().value();
  EXPECT_EQ(profile.path, kBundled);
  EXPECT_EQ(profile.command_line, model->run->command_line);
  EXPECT_EQ(profile.git_commit, model->run->git_commit.value_or(""));
  EXPECT_EQ(profile.git_dirty, model->run->git_dirty);
  EXPECT_EQ(profile.host_name, model->run->host_name.value_or(""));
  EXPECT_EQ(profile.start_ns, model->run->start_ns);
  EXPECT_EQ(profile.versions, model->versions);
  EXPECT_EQ(profile.environment, model->environment);
  const auto quality = session.quality().value();
  ASSERT_EQ(quality->clocks.size(), 1U);
  EXPECT_EQ(profile.power_w, quality->clocks[0].power_median_w);
  EXPECT_EQ(profile.temperature_c, quality->clocks[0].temperature_max_c);
  EXPECT_EQ(profile.throttled_share, quality->clocks[0].throttled_share);
  EXPECT_EQ(profile.throttle_reasons, quality->clocks[0].throttle_reasons);
}

TEST(ProfileRun, ARunAgainstItselfDoesNotDiffer) {
  const RunProfile profile = accepted(profile_run(kBundled)).value();
  const Comparison comparison = accepted(compare({profile}, {profile})).value();
  EXPECT_EQ(comparison.matched_share, 1);
  EXPECT_EQ(comparison.step_delta_ns, 0);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::inconclusive);
  for (const KernelChange& change : comparison.kernels) {
    EXPECT_EQ(change.time.delta, 0);
    EXPECT_TRUE(change.counts.empty());
    EXPECT_EQ(change.code_changed, false);
    EXPECT_FALSE(change.hint);
  }
}

TEST(ProfileRun, ARecordingWithoutStepsIsOneStep) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::FabricatedCapture options;
  options.step_ranges = false;
  ridgeline::testing::write_fabricated_capture(directory / "c.ridge", options);
  const RunProfile profile = accepted(profile_run(directory / "c.ridge")).value();
  EXPECT_TRUE(profile.whole_recording);
  EXPECT_GT(profile.kernel_ns, 0);
  EXPECT_GT(profile.step.median_ns, profile.kernel_ns * 0.9);
}

TEST(ProfileRun, TheOrderIsThatOfTheLaunches) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::write_fabricated_capture(directory / "c.ridge");
  const RunProfile profile = accepted(profile_run(directory / "c.ridge")).value();
  ASSERT_FALSE(profile.order.empty());
  EXPECT_EQ(profile.sites[profile.order.front()].path, "step / forward / encoder");
  EXPECT_EQ(profile.sites[profile.order.back()].path, "step / optimizer / adamw");
}

TEST(ProfileRun, WhatWasNotMeasuredHasNoUtilisation) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::write_fabricated_capture(directory / "c.ridge", {.replay_steps = 0});
  const RunProfile profile = accepted(profile_run(directory / "c.ridge")).value();
  ASSERT_FALSE(profile.sites.empty());
  for (const KernelSite& site : profile.sites) {
    EXPECT_FALSE(site.dram_ratio.has_value()) << site.kernel;
    EXPECT_FALSE(site.compute_ratio.has_value()) << site.kernel;
    EXPECT_FALSE(site.dram_bytes.has_value()) << site.kernel;
    EXPECT_EQ(site.bound,
              site.time_ns < 5'000 * site.calls ? KernelBound::too_short : KernelBound::unmeasured)
        << site.kernel;
  }
}

// A capture of one process on one device, while it is written.
struct OneProcess {
  OneProcess() {
    writer.set_run({.command_line = "program", .ridgeline_version = "test", .clock = "test"});
    launch.process_id = writer.add(store::Process{.pid = 1, .command = "program", .start_ns = 1});
    launch.device_id = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
  }
  // The launches that follow are in it.
  void step(int index, Phase phase) {
    store::Step row;
    row.process_id = launch.process_id;
    row.step_index = index;
    row.phase = phase;
    launch.step_id = writer.add(row);
  }
  RunProfile profile() {
    writer.finish();
    return accepted(profile_run(directory / "c.ridge")).value();
  }

  ridgeline::testing::TemporaryDirectory directory;
  store::CaptureWriter writer = store::CaptureWriter::create(directory / "c.ridge").value();
  store::Launch launch;  // the next one
};

// One kernel at one place, launched once a step with each of so many grids. `smem_bytes`: by step and grid.
RunProfile profile_of_grids(int grids, const std::function<int(int step, int grid)>& smem_bytes = {}) {
  OneProcess capture;
  store::CaptureWriter& writer = capture.writer;
  store::Launch& launch = capture.launch;
  launch.kernel_id = writer.kernel_id("kernel");
  launch.nvtx_path_id = writer.string_id("step / op");
  launch.block.x = 128;
  for (int step = 0; step < 6; ++step) {
    capture.step(step, Phase::timeline);
    for (int grid = 0; grid < grids; ++grid) {
      launch.grid.x = grid + 1;
      if (smem_bytes) launch.dynamic_smem_bytes = smem_bytes(step, grid);
      launch.ordinal_in_step = grid;
      launch.start_ns = 1'000'000 * (step + 1) + 10'000 * grid;
      launch.end_ns = launch.start_ns + 5'000;
      ++launch.correlation_id;
      writer.add(launch);
    }
  }
  return capture.profile();
}

// A few grids are those of the program's operations; more are those of its data, and one kernel.
TEST(ProfileRun, UpToEightGridsOfAKernelAreKeptApart) {
  const RunProfile few = profile_of_grids(8);
  ASSERT_EQ(few.sites.size(), 8U);
  for (const KernelSite& site : few.sites) {
    ASSERT_TRUE(site.shape.has_value());
    EXPECT_EQ(site.calls, 1);
    EXPECT_EQ(site.time_ns, 5'000);
  }
  EXPECT_EQ(few.sites.back().shape->grid.x, 8);
  const RunProfile many = profile_of_grids(9);
  ASSERT_EQ(many.sites.size(), 1U);
  EXPECT_FALSE(many.sites[0].shape.has_value());
  EXPECT_EQ(many.sites[0].calls, 9);
  EXPECT_EQ(many.sites[0].time_ns, 45'000);
}

// Nor are those kept apart that are not launched the same way in every step.
TEST(ProfileRun, ConfigurationsThatDifferFromStepToStepAreOneKernel) {
  const RunProfile same = profile_of_grids(3, [](int, int grid) { return 1024 * grid; });
  ASSERT_EQ(same.sites.size(), 3U);
  for (std::size_t grid = 0; grid < 3; ++grid) {
    EXPECT_EQ(same.sites[grid].calls, 1);
    ASSERT_TRUE(same.sites[grid].shape.has_value());
    EXPECT_EQ(same.sites[grid].shape->dynamic_smem_bytes, 1024 * static_cast<std::int64_t>(grid));
  }
  for (int differing = 0; differing < 4; ++differing) {
    const RunProfile varying =
        profile_of_grids(3, [&](int step, int grid) { return step == differing && grid == 1 ? 2048 : 1024; });
    ASSERT_EQ(varying.sites.size(), 1U) << "in step " << differing;
    EXPECT_FALSE(varying.sites[0].shape.has_value());
    EXPECT_EQ(varying.sites[0].calls, 3);
    EXPECT_EQ(varying.sites[0].time_ns, 15'000);
  }
}

// Two kernels, measured in a step that launches the same or in one that launches something else before them.
TEST(ProfileRun, CountsAreThoseOfStepsThatLaunchTheSame) {
  struct Case {
    bool same, sampled;
  };
  for (const Case& c : {Case{true, false}, Case{false, false}, Case{true, true}}) {
    OneProcess capture;
    store::CaptureWriter& writer = capture.writer;
    store::Launch& launch = capture.launch;
    const std::vector<std::pair<store::Id, double>> metrics = {
        {writer.metric_id("sm__ops_path_tensor_src_bf16_dst_fp32.sum"), 1},
        {writer.metric_id("dram__bytes_read.sum"), 1},
        {writer.metric_id("dram__bytes_write.sum"), 0}};
    for (int step = 0; step < 4; ++step) {
      const bool measured = step == 3;
      capture.step(step, !measured ? Phase::timeline : c.sampled ? Phase::sample : Phase::replay);
      int ordinal = 0;
      const auto add = [&](const char* kernel, double value) {
        launch.kernel_id = writer.kernel_id(kernel);
        launch.ordinal_in_step = ordinal;
        launch.start_ns = 10'000'000 * (step + 1) + 100'000 * ordinal++;
        launch.end_ns = launch.start_ns + 50'000;
        ++launch.correlation_id;
        const store::Id id = writer.add(launch);
        if (!measured) return;
        for (const auto& [metric, times] : metrics)
          writer.add(store::LaunchMetric{id, metric, c.sampled ? Tier::t1 : Tier::t2, times * value, {}, {}});
      };
      if (measured && !c.same) add("something else", 700);
      add("first", 100);
      add("second", 200);
    }
    const RunProfile profile = capture.profile();
    ASSERT_EQ(profile.sites.size(), 2U);
    for (const KernelSite& site : profile.sites) {
      const double value = site.kernel == "first" ? 100 : 200;
      std::map<std::string, double> counts;
      if (c.same && !c.sampled) counts["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = value;
      EXPECT_EQ(site.counts, counts);
      EXPECT_EQ(site.dram_bytes, value) << "its own, also where it is at another place";
      EXPECT_EQ(site.dram_bytes_counted, !c.sampled);
    }
  }
}

TEST(ProfileRun, FailuresNameTheFile) {
  const auto missing = accepted(profile_run("/nonexistent/x.ridge"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().kind, ErrorKind::io);
  EXPECT_NE(missing.failure().message.find("/nonexistent/x.ridge"), std::string::npos);
  const ridgeline::testing::TemporaryDirectory directory;
  std::ofstream(directory / "text") << "no capture";
  EXPECT_EQ(accepted(profile_run(directory / "text")).failure().kind, ErrorKind::not_a_capture);
}

}  // namespace
}  // namespace ridgeline::comparison
