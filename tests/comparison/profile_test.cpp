#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "fabricated_capture.h"
#include "ridgeline/analyzer/comparison.h"
#include "ridgeline/analyzer/comparison_profile.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

const std::string kBundled = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";

TEST(ProfileRun, SitesHoldAllKernelTimeOfTheStep) {
  const RunProfile profile = profile_run(kBundled).value();
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
  const RunProfile profile = profile_run(kBundled).value();
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
  const RunProfile profile = profile_run(kBundled).value();
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

TEST(ProfileRun, ARunAgainstItselfDoesNotDiffer) {
  const RunProfile profile = profile_run(kBundled).value();
  const Comparison comparison = compare({profile}, {profile}).value();
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
  const RunProfile profile = profile_run(directory / "c.ridge").value();
  EXPECT_TRUE(profile.whole_recording);
  EXPECT_GT(profile.kernel_ns, 0);
  EXPECT_GT(profile.step.median_ns, profile.kernel_ns * 0.9);
}

TEST(ProfileRun, FailuresNameTheFile) {
  const auto missing = profile_run("/nonexistent/x.ridge");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().kind, ErrorKind::io);
  EXPECT_NE(missing.failure().message.find("/nonexistent/x.ridge"), std::string::npos);
  const ridgeline::testing::TemporaryDirectory directory;
  std::ofstream(directory / "text") << "no capture";
  EXPECT_EQ(profile_run(directory / "text").failure().kind, ErrorKind::not_a_capture);
}

}  // namespace
}  // namespace ridgeline::analyzer
