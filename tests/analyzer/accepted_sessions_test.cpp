// Whole recordings, each with something otherwise, asked everything: every field of the answers is held against what
// was accepted, scope by scope.
#include <gtest/gtest.h>

#include "fabricated_capture.h"
#include "generate/generate.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/trace/timeline.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::FabricatedCapture;
using ridgeline::testing::fields;
using ridgeline::testing::TemporaryDirectory;

std::vector<std::pair<std::string, Scope>> some_scopes() {
  Scope middle;
  middle.window = TimeWindow{3'000'000, 9'000'000};
  middle.window_from_start = true;
  Scope timeline;
  timeline.steps = StepSelection::all_of(Phase::timeline);
  Scope forward = Scope::of_range("forward");
  Scope device;
  device.device_id = 1;
  device.steps = StepSelection::one(3);
  return {{"step", {}},
          {"all timeline steps", timeline},
          {"a window", middle},
          {"forward", forward},
          {"the fourth step on the first device", device}};
}

std::vector<std::pair<std::string, WhatIfRequest>> some_requests() {
  std::vector<std::pair<std::string, WhatIfRequest>> all;
  const auto ask = [&](const std::string& name, std::vector<Transform> transforms,
                       const std::string& range = {}) {
    all.emplace_back(name, WhatIfRequest{.transforms = std::move(transforms), .range = range});
  };
  ask("all twice as fast", {Faster{"*", 2}});
  ask("forward slower", {Faster{"*", 0.8}}, "forward");
  ask("at the roof", {AtRoof{}, AtRoof{0.5, "*gemm*"}});
  ask("fused", {Fused{"*layernorm*", "*"}});
  ask("fused and kept", {Fused{"*", "*gelu*", true}});
  ask("in FP8", {InPrecision{"*", Precision::fp8}});
  ask("a graph", {AsGraph{}});
  ask("hidden copies", {HiddenCopies{}});
  ask("several", {Faster{"*", 1.5}, AtRoof{}, AsGraph{}});
  return all;
}

std::string session_text(const std::string& path) {
  Session session = Session::open(path).value();
  std::string text;
  for (const auto& [name, scope] : some_scopes())
    text += "of " + name + ": " + fields(session.analysis(scope)) + "\n";
  text += "steps: " + fields(session.steps()) + "\n";
  for (const auto& [name, request] : some_requests())
    text += "what if " + name + ": " + fields(session.what_if({}, request)) + "\n";
  if (const auto replay = session.replay()) text += "replay: " + fields(replay.value()->check()) + "\n";
  return text + "timeline: " + fields(read_timeline(path, {})) + "\n";
}

void hold_session(const FabricatedCapture& made) {
  const TemporaryDirectory directory;
  const std::string path = directory / "made.ridge";
  write_fabricated_capture(path, made);
  AcceptedCases::expect([&] { return session_text(path); });
}

void hold_session(const generate::Options& options) {
  const TemporaryDirectory directory;
  const std::string path = directory / "made.ridge";
  generate::generate(options, *generate::make_capture_sink(path));
  AcceptedCases::expect([&] { return session_text(path); });
}

TEST(AcceptedSessions, OfARecordingWithAllTiers) {
  hold_session({.layers = 1,
                .timeline_steps = 3,
                .sample_steps = 3,
                .cold_steps = 1,
                .declared = true,
                .codes = true});
}
TEST(AcceptedSessions, OfTiersThatDisagree) {
  hold_session({.layers = 1,
                .timeline_steps = 3,
                .sample_steps = 3,
                .t1_bias = 0.1,
                .t1_outlier = 0.3,
                .unpadded = true});
}
TEST(AcceptedSessions, OfARefusedTierAndLosses) {
  hold_session({.layers = 1, .timeline_steps = 3, .tier_refused = true, .losses = true});
}
TEST(AcceptedSessions, OfRanksWithOverlapAndCopies) {
  hold_session({.layers = 1,
                .timeline_steps = 3,
                .sample_steps = 2,
                .exclude_attention = true,
                .copies = 2,
                .ranks = 2,
                .overlap = true});
}
TEST(AcceptedSessions, OfGraphs) {
  hold_session({.layers = 1, .timeline_steps = 3, .graphs = true});
}
TEST(AcceptedSessions, OfARecordingWithoutStepsOrPeaks) {
  hold_session({.layers = 1, .timeline_steps = 3, .device_peaks = false, .step_ranges = false, .fast = true});
}
TEST(AcceptedSessions, OfEagerSteps) {
  hold_session({.shape = generate::Shape::eager,
                .launches = 1200,
                .launches_per_step = 200,
                .replay_steps = 1,
                .sample_steps = 1});
}
TEST(AcceptedSessions, OfTokens) {
  hold_session({.shape = generate::Shape::decode,
                .launches = 900,
                .launches_per_step = 100,
                .replay_steps = 0,
                .order = true});
}
TEST(AcceptedSessions, OfOutliersOnTwoProcesses) {
  hold_session({.shape = generate::Shape::timeline,
                .launches = 900,
                .launches_per_step = 60,
                .processes = 2,
                .replay_steps = 2,
                .ranges = true,
                .annotations = true,
                .order = true,
                .outlier_every = 4});
}
TEST(AcceptedSessions, OfPairs) {
  hold_session({.shape = generate::Shape::pairs,
                .launches = 400,
                .launches_per_step = 200,
                .replay_steps = 1,
                .ranges = true});
}

}  // namespace
}  // namespace ridgeline::analyzer
