#include "ridgeline/analyzer/accounting/kernel_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "fabricated_model.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer {
namespace {

using testing::analyse;
using testing::FabricatedModel;
using testing::kFma;
using testing::kRead;
using testing::kWritten;

struct Row {
  const char* kernel;
  const char* path;
  std::int64_t start_ns, end_ns;
  double dram_ratio, compute_ratio;  // at 1000 bytes/ns; below 0: not replayed
};

// Two steps alike, one of the timeline and one replayed.
Analysis analysed(FabricatedModel& f, const std::vector<Row>& rows, const AnalysisOptions& options = {}) {
  for (const Phase phase : {Phase::timeline, Phase::replay}) {
    const bool replay = phase == Phase::replay;
    f.step(phase);
    for (const Row& row : rows) {
      const std::int64_t shift_ns = replay ? 10'000'000 : 0;
      store::Launch& launch = f.launch(row.kernel, row.start_ns + shift_ns, row.end_ns + shift_ns);
      if (*row.path != '\0') {
        const auto id = static_cast<store::Id>(std::hash<std::string>()(row.path) % 1'000'000 + 1);
        f.model.strings[id] = row.path;
        launch.nvtx_path_id = id;
      }
      if (!replay || row.dram_ratio < 0) continue;
      const auto ns = static_cast<double>(row.end_ns - row.start_ns);
      f.counters({{kRead, row.dram_ratio * ns * 1000},
                  {kWritten, 0},
                  {testing::kDuration, ns},
                  {kFma, row.compute_ratio * 100}});
    }
  }
  return analyse(f.done(), options).value();
}

TEST(KernelTime, EachBoundHasItsTime) {
  FabricatedModel f;
  const Analysis a = analysed(f, {{"memory", "", 1'000'000, 1'100'000, 0.60, 0.10},
                                  {"compute", "", 1'100'000, 1'300'000, 0.10, 0.95},
                                  {"latency", "", 1'300'000, 1'350'000, 0.59, 0.20},
                                  {"short", "", 1'350'000, 1'354'000, 0.9, 0.1},
                                  {"idle", "", 1'354'000, 1'384'000, 0, 0},
                                  {"unknown", "", 1'384'000, 1'394'000, -1, -1}});
  const BoundSplit& t = a.accounting.kernels.total;
  EXPECT_EQ(t.memory_ns, 100'000);
  EXPECT_EQ(t.compute_ns, 200'000);
  EXPECT_EQ(t.latency_ns, 50'000);
  EXPECT_EQ(t.too_short_ns, 4'000);
  EXPECT_EQ(t.no_roof_ns, 30'000);
  EXPECT_EQ(t.unmeasured_ns, 10'000);
  EXPECT_EQ(t.total_ns(), a.accounting.kernel_busy_ns);
}

// One launch of 100 µs with these utilisations: DRAM, L2, tensor pipe, issue slots.
LaunchUtilisation near(double dram, double l2, double tensor, double issue) {
  LaunchValues values;
  values.dram_utilisation = Measured{.value = dram, .error = {}, .tier = Tier::t2};
  values.compute_utilisation = Measured{.value = tensor, .error = {}, .tier = Tier::t2};
  values.busiest_pipe = Roof::kTensor;
  values.roofs.set(Roof::kDram, dram);
  values.roofs.set(Roof::kL2, l2);
  values.roofs.set(Roof::kTensor, tensor);
  values.roofs.set(Roof::kIssue, issue);
  LaunchUtilisation launch;
  launch.duration_ns = 100'000;
  launch.status = LaunchStatus::measured;
  launch.nearest = tensor > dram ? Roof::kTensor : Roof::kDram;
  launch.nearest_roof_ratio = std::max(dram, tensor);
  launch.values = std::make_shared<const LaunchValues>(std::move(values));
  return launch;
}

TEST(Bound, TheNearestRoofBoundsOnlyAtSixtyPerCentAndL2AndIssueSlotsTakePart) {
  struct Case {
    LaunchUtilisation launch;
    KernelBound bound;
    std::optional<Roof> roof;
  };
  const Case cases[] = {
      {near(0.60, 0.1, 0.2, 0.2), KernelBound::memory, Roof::kDram},
      {near(0.59, 0.1, 0.2, 0.2), KernelBound::latency, std::nullopt},
      {near(0.30, 0.7, 0.2, 0.2), KernelBound::memory, Roof::kL2},
      {near(0.65, 0.7, 0.2, 0.2), KernelBound::memory, Roof::kL2},
      {near(0.10, 0.1, 0.37, 0.36), KernelBound::latency, std::nullopt},
      {near(0.10, 0.1, 0.75, 0.7), KernelBound::compute, Roof::kTensor},
      {near(0.52, 0.3, 0.2, 0.69), KernelBound::compute, Roof::kIssue},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(to_string(bound_of(c.launch)), to_string(c.bound));
    EXPECT_EQ(bounding_roof(c.launch), c.roof);
  }
  EXPECT_EQ(bound_of(near(0.55, 0.1, 0.2, 0.2), {.min_ratio = 0.5}), KernelBound::memory);
  LaunchUtilisation brief = near(0.9, 0.1, 0.2, 0.2);
  brief.status = LaunchStatus::too_short;
  EXPECT_EQ(bound_of(brief), KernelBound::too_short);
  EXPECT_FALSE(bounding_roof(brief).has_value());
}

TEST(KernelTime, PhaseAndLayerOfAPath) {
  EXPECT_EQ(phase_of("step / forward / layer 3 / attention"), "forward");
  EXPECT_EQ(layer_of("step / forward / layer 3 / attention"), "layer 3");
  EXPECT_EQ(phase_of("step"), "(no range)");
  EXPECT_EQ(layer_of("step / optimizer"), "(no range)");
  EXPECT_EQ(layer_of("Train step 64"), "(no range)") << "steps that are counted are no layers";
  EXPECT_EQ(layer_of("Iteration #7 / layer 3 / attention"), "layer 3");
  EXPECT_EQ(layer_of("layer 3 / step 2"), "layer 3");
  EXPECT_EQ(layer_of("block 1 / layer 3"), "block 1");
  EXPECT_EQ(phase_of(""), "(no range)");
}

TEST(KernelTime, OverlapIsSharedAndAddsUpToTheBusyTime) {
  FabricatedModel f;
  // Three at once for 10,001 ns, which does not divide by three.
  const Analysis a = analysed(f, {{"a", "", 1'000'000, 1'010'001, 0.9, 0.1},
                                  {"b", "", 1'000'000, 1'010'001, 0.1, 0.9},
                                  {"c", "", 1'000'000, 1'030'001, 0.1, 0.1}});
  const BoundSplit& t = a.accounting.kernels.total;
  EXPECT_EQ(a.accounting.kernel_busy_ns, 30'001);
  EXPECT_EQ(t.total_ns(), 30'001);
  EXPECT_EQ(t.memory_ns, 3'335);
  EXPECT_EQ(t.compute_ns, 3'333);
  EXPECT_EQ(t.latency_ns, 23'333);
}

TEST(KernelTime, CutsThroughTheTreeAddUp) {
  FabricatedModel f;
  const Analysis a = analysed(f, {{"k", "step / forward / layer 0 / norm", 1'000'000, 1'010'000, 0.9, 0.1},
                                  {"k", "step / forward / layer 1 / norm", 1'010'000, 1'030'000, 0.9, 0.1},
                                  {"k", "step / backward / layer 1 / norm", 1'030'000, 1'070'000, 0.9, 0.1},
                                  {"k", "step / optimizer", 1'070'000, 1'080'000, 0.9, 0.1},
                                  {"k", "", 1'080'000, 1'085'000, 0.9, 0.1}});
  const KernelTime& k = a.accounting.kernels;
  const auto named = [](const std::vector<TimePart>& parts) {
    std::string text;
    for (const TimePart& part : parts)
      text +=
          part.name + " " + std::to_string(part.launches) + " " + std::to_string(part.time.total_ns()) + "\n";
    return text;
  };
  EXPECT_EQ(named(k.by_phase), "backward 1 40000\nforward 2 30000\noptimizer 1 10000\n(no range) 1 5000\n");
  EXPECT_EQ(named(k.by_layer), "layer 1 2 60000\n(no range) 2 15000\nlayer 0 1 10000\n");
  EXPECT_EQ(named(k.by_operation), "norm 3 70000\noptimizer 1 10000\n(no range) 1 5000\n");
  ASSERT_EQ(k.tree.size(), 11u);
  EXPECT_EQ(k.tree[0].path, "step");
  EXPECT_EQ(k.tree[0].time.total_ns(), 80'000);
  EXPECT_EQ(k.tree[0].time.memory_ns, 80'000);
  EXPECT_EQ(k.tree[1].path, "step / forward");
  EXPECT_EQ(k.tree[1].parent, 0u);
  EXPECT_EQ(k.tree[1].launches, 2);
  EXPECT_EQ(k.total.total_ns(), a.accounting.kernel_busy_ns);
}

TEST(KernelTime, WorkOfTheStepBeforeIsForeign) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("late", 1'000'000, 1'060'000);
  f.step(Phase::timeline);
  f.launch("own", 1'050'000, 1'090'000).stream_id = 9;
  f.step(Phase::timeline);
  f.launch("next", 1'100'000, 1'110'000);
  AnalysisOptions options;
  options.steps.step_index = 1;
  const Analysis a = analyse(f.done(), options).value();
  EXPECT_EQ(a.accounting.kernel_busy_ns, 40'000);
  EXPECT_EQ(a.accounting.kernels.foreign_ns, 5'000) << "it has half of the 10 µs in which both ran";
  EXPECT_EQ(a.accounting.kernels.total.unmeasured_ns, 35'000);
}

}  // namespace
}  // namespace ridgeline::analyzer
