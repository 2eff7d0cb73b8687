// Ranges, windows and recordings without steps as scopes, against sums over the whole capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabricated_model.h"
#include "generate/generate.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/trace/timeline.h"
#include "ridgeline/store/capture_writer.h"
#include "steps/selection.h"
#include "support/analysed_model.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"
#include "support/whole_model.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::whole_model;
using testing::FabricatedModel;

using Interval = std::pair<std::int64_t, std::int64_t>;

std::int64_t length_of_union(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t length = 0, end = INT64_MIN;
  for (const auto& [from, to] : intervals) {
    length += std::max<std::int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return length;
}

class ScopeTest : public ::testing::Test {
 protected:
  void make(generate::Shape shape) {
    generate::Options options;
    options.shape = shape;
    options.launches = 6000;
    options.launches_per_step = 60;
    options.ranges = true;
    options.annotations = true;
    path_ = directory_.file("made" + std::to_string(static_cast<int>(shape)) + ".ridge");
    generate::generate(options, *generate::make_capture_sink(path_));
  }
  [[nodiscard]] Session open() const { return Session::open(path_).value(); }
  [[nodiscard]] Model whole() const { return whole_model(store::Capture::open(path_).value()); }

  TemporaryDirectory directory_;
  std::string path_;
};

// What launches of the ranges did in timeline steps, each range by itself.
struct Expected {
  std::int64_t calls = 0, time_ns = 0, length_ns = 0, instances = 0;
};

Expected in_timeline_steps(const Model& model, std::string_view name) {
  std::map<store::Id, Phase> phases;
  for (const ModelStep& step : model.steps) phases[step.step.id] = step.step.phase;
  std::map<store::Id, std::vector<const store::NvtxRange*>> named;  // by step
  for (const store::NvtxRange& range : model.nvtx_ranges) {
    const std::string_view path = model.string(range.path_id);
    if (path == name || path.ends_with(" / " + std::string(name)))
      named[range.step_id.value_or(0)].push_back(&range);
  }
  std::map<store::Id, Interval> of_range;
  Expected expected;
  for (const store::Launch& launch : model.launches) {
    if (!launch.step_id || phases.at(*launch.step_id) != Phase::timeline) continue;
    const store::NvtxRange* inside = nullptr;
    for (const store::NvtxRange* range : named[*launch.step_id]) {
      if (range->start_ns <= *launch.host_start_ns &&
          *launch.host_start_ns <= range->end_ns.value_or(INT64_MAX))
        inside = range;
    }
    if (inside == nullptr) continue;
    ++expected.calls;
    expected.time_ns += duration_ns(launch);
    const auto [known, fresh] = of_range.try_emplace(inside->id, launch.start_ns, launch.end_ns);
    known->second.first = std::min(known->second.first, launch.start_ns);
    known->second.second = std::max(known->second.second, launch.end_ns);
  }
  std::vector<Interval> intervals;
  for (const auto& [id, interval] : of_range) intervals.push_back(interval);
  expected.instances = static_cast<std::int64_t>(intervals.size());
  expected.length_ns = length_of_union(std::move(intervals));
  return expected;
}

TEST_F(ScopeTest, ARangeIsAllThatItsInstancesLaunchedHoweverLateItRan) {
  for (const generate::Shape shape : {generate::Shape::after, generate::Shape::eager}) {
    make(shape);
    const Model model = whole();
    Session session = open();
    const std::vector<const char*> names = shape == generate::Shape::after
                                               ? std::vector<const char*>{"op 3", "op 11", "step"}
                                               : std::vector<const char*>{"step"};
    for (const char* name : names) {
      const Expected expected = in_timeline_steps(model, name);
      ASSERT_GT(expected.calls, 0) << name;
      const Scope scope = Scope::of_range(name);
      const auto ranking = session.ranking(scope).value();
      const RepresentativeStep step = session.steps(scope).value()->representative;
      EXPECT_EQ(step.scope, ScopeKind::range);
      EXPECT_EQ(step.range, name);
      EXPECT_EQ(step.instances, expected.instances) << name;
      EXPECT_EQ(ranking->totals.calls, expected.calls) << name;
      EXPECT_EQ(ranking->totals.time_ns, expected.time_ns) << name;
      EXPECT_EQ(ranking->totals.step_ns, expected.length_ns) << name;
      const auto accounting = session.accounting(scope).value();
      EXPECT_EQ(accounting->step_ns, expected.length_ns) << name;
      EXPECT_EQ(accounting->remainder_ns, 0) << name;
      EXPECT_EQ(accounting->scope, ScopeKind::range);
      ASSERT_TRUE(ranking->reach.has_value());
      ASSERT_FALSE(ranking->reach->known());
      EXPECT_EQ(ranking->reach->why.front().cause, AbsenceCause::cut_in_time);
    }
  }
}

TEST_F(ScopeTest, CountersAreJoinedInRangesOfAllSteps) {
  make(generate::Shape::after);
  Session session = open();
  const auto ranking = session.ranking(Scope::of_range("op 3")).value();
  EXPECT_EQ(ranking->totals.unmeasured_calls, 0);
  EXPECT_GT(ranking->totals.measured_calls, 0);
  EXPECT_GT(ranking->totals.saved_target_ns, 0);
}

TEST_F(ScopeTest, OfOneStepARangeIsPartOfIt) {
  make(generate::Shape::after);
  Session session = open();
  const RepresentativeStep step = session.steps().value()->representative;
  Scope scope = Scope::of_range("op 3");
  const std::int64_t in_all = session.ranking(scope).value()->totals.calls;
  scope.steps = StepSelection::one(step.summary.step_index);
  const auto of_step = session.ranking(scope).value();
  EXPECT_GT(of_step->totals.calls, 0);
  EXPECT_LT(of_step->totals.calls, in_all);
  EXPECT_EQ(session.steps(scope).value()->representative.scope, ScopeKind::range);
  EXPECT_EQ(in_all % of_step->totals.calls, 0) << "every step has as many";
}

TEST_F(ScopeTest, ARangeThatLaunchedNothingIsRefused) {
  make(generate::Shape::after);
  Session session = open();
  const auto answer = session.ranking(Scope::of_range("no such"));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, ErrorKind::usage);
  EXPECT_NE(answer.failure().message.find("no such"), std::string::npos);
}

TEST_F(ScopeTest, AWindowMayCountFromTheStart) {
  make(generate::Shape::after);
  Session session = open();
  const RepresentativeStep step = session.steps().value()->representative;
  const std::int64_t origin_ns = accepted(recording_start_ns(*session.recording().value()));
  const Scope absolute{.window = TimeWindow{step.window_start_ns, step.window_end_ns}};
  const Scope relative{.window = TimeWindow{step.window_start_ns - origin_ns, step.window_end_ns - origin_ns},
                       .window_from_start = true};
  const auto a = session.ranking(absolute).value(), b = session.ranking(relative).value();
  EXPECT_EQ(a.get(), b.get()) << "they are one scope";
  EXPECT_EQ(a->scope, ScopeKind::window);
  EXPECT_EQ(session.steps(relative).value()->representative.from_start_ns, relative.window->start_ns);
  EXPECT_EQ(a->totals.calls, step.summary.launches) << "those of the step, by time";
  ASSERT_TRUE(a->reach.has_value());
  EXPECT_FALSE(a->reach->known()) << "what a window's borders cut is not followed";
}

TEST_F(ScopeTest, WindowsSideBySideAddUp) {
  make(generate::Shape::after);
  Session session = open();
  const auto steps = session.steps().value();
  const std::int64_t from = steps->steps.front().gpu_start_ns, to = steps->steps.back().gpu_end_ns;
  std::int64_t calls = 0, time_ns = 0, cut = 0;
  constexpr std::int64_t kParts = 7;
  for (std::int64_t i = 0; i < kParts; ++i) {
    const Scope part{.window =
                         TimeWindow{from + (to - from) * i / kParts, from + (to - from) * (i + 1) / kParts}};
    const auto ranking = session.ranking(part).value();
    calls += ranking->totals.calls;
    time_ns += ranking->totals.time_ns;
    cut += session.steps(part).value()->representative.cut_launches;
  }
  std::int64_t all_calls = 0, all_ns = 0;
  const Model model = whole();
  for (const store::Launch& launch : model.launches) {
    ++all_calls;
    all_ns += duration_ns(launch);
  }
  // A launch over an edge is in both windows, with what lies in each.
  EXPECT_EQ(cut % 2, 0);
  EXPECT_EQ(calls - cut / 2, all_calls);
  EXPECT_EQ(time_ns, all_ns);
}

// What a scope of one instance holds must be what its range launched, wherever and whenever that ran.
TEST(ScopeOfAnInstance, HoldsWhatItsCallsLaunchedOnTheGpu) {
  const std::string path = RIDGELINE_SOURCE_DIR "/examples/gpt2-h200.ridge";
  const auto timeline = read_timeline(path, {}).value();
  const Model all = whole_model(store::Capture::open(path).value());
  Session session = Session::open(path).value();
  std::size_t tried = 0;
  bool ran_later = false;
  for (const TimelineRow& row : timeline->rows) {
    if (row.kind != RowKind::gpu_ranges || row.depth < 1) continue;
    for (std::size_t event = row.events.size() / 3; event < row.events.size() && tried < 8;
         event += row.events.size() / 4 + 1) {
      const auto instance = instance_of(*timeline, row, event);
      ASSERT_TRUE(instance);
      const std::string& name = timeline->names[row.events.name(event)].text;
      const CalledIn calls{row.thread_id, instance->calls.start_ns, instance->calls.end_ns, name};
      const Scope scope{.process_id = row.process_id, .window = instance->on_gpu, .calls = calls};
      std::int64_t launches = 0, time_ns = 0;
      for (const store::Launch& launch : all.launches) {
        if (launch.process_id != row.process_id || launch.thread_id != row.thread_id ||
            !launch.host_start_ns || *launch.host_start_ns < calls.start_ns ||
            *launch.host_start_ns > calls.end_ns)
          continue;
        ++launches;
        time_ns += duration_ns(launch);
        EXPECT_NE(all.string(launch.nvtx_path_id).find(name), std::string_view::npos);
      }
      ASSERT_GT(launches, 0);
      const auto ranking = session.ranking(scope).value();
      EXPECT_EQ(ranking->totals.calls, launches) << name;
      EXPECT_EQ(ranking->totals.time_ns, time_ns) << name;
      EXPECT_EQ(ranking->scope, ScopeKind::range);
      const RepresentativeStep& step = session.steps(scope).value()->representative;
      EXPECT_EQ(step.range, name);
      EXPECT_EQ(step.instances, 1);
      EXPECT_EQ(step.cut_launches, 0);
      EXPECT_EQ(step.window_start_ns, instance->on_gpu.start_ns);
      EXPECT_EQ(step.window_end_ns, instance->on_gpu.end_ns);
      const auto accounting = session.accounting(scope).value();
      EXPECT_EQ(accounting->step_ns, instance->on_gpu.length_ns());
      EXPECT_EQ(accounting->remainder_ns, 0);
      ran_later = ran_later || instance->on_gpu.start_ns > instance->calls.end_ns;
      ++tried;
    }
  }
  EXPECT_GE(tried, 4U);
  EXPECT_TRUE(ran_later) << "the host ran ahead: by the range's own time these would be others' kernels";
}

TEST(ScopeOfAnInstance, ThatLaunchedNothingIsSaid) {
  Session session = Session::open(RIDGELINE_SOURCE_DIR "/examples/gpt2-h200.ridge").value();
  const RepresentativeStep step = session.steps().value()->representative;
  const CalledIn calls{1, step.window_start_ns, step.window_start_ns + 1, "nothing"};
  const auto answer =
      session.ranking({.window = TimeWindow{step.window_start_ns, step.window_end_ns}, .calls = calls});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, ErrorKind::no_data);
  EXPECT_NE(answer.failure().message.find("'nothing' launched no kernel"), std::string::npos);
}

TEST_F(ScopeTest, OfALaunchThatAWindowCutsCountsWhatLiesInside) {
  make(generate::Shape::after);
  Session session = open();
  const auto whole_step = session.utilisation().value();
  const auto model = session.model({}).value();
  // The first launch with counters that is long enough to be cut in half.
  std::size_t at = 0;
  while (at < whole_step->launches.size() &&
         (!whole_step->launches[at].values->dram_bytes || whole_step->launches.row(at).duration_ns < 1000))
    ++at;
  ASSERT_LT(at, whole_step->launches.size());
  const LaunchUtilisation launch = whole_step->launches[at];
  const Launches::Row& row = model->launches.row(launch.launch);
  const std::int64_t half_ns = launch.duration_ns / 2;
  const Scope half{.window = TimeWindow{row.start_ns + launch.duration_ns - half_ns, row.end_ns}};
  const auto part = session.utilisation(half).value();
  const auto found = std::find_if(part->launches.begin(), part->launches.end(), [&](const auto& one) {
    return session.model(half).value()->launches.row(one.launch).start_ns == row.start_ns;
  });
  ASSERT_NE(found, part->launches.end());
  const LaunchUtilisation cut = *found;
  EXPECT_EQ(cut.duration_ns, half_ns);
  const double share = static_cast<double>(half_ns) / static_cast<double>(launch.duration_ns);
  EXPECT_NEAR(cut.values->dram_bytes->value, launch.values->dram_bytes->value * share, 1e-3);
  EXPECT_EQ(cut.values->dram_utilisation->value, launch.values->dram_utilisation->value)
      << "how busy it kept the device does not depend on where it is looked at";
  EXPECT_EQ(cut.status, launch.status);
}

// The CPU is as late in the middle of a gap as it is in all of it, whatever the window's edges cut off.
void expect_gaps_keep_their_kind_in_part(Session& session) {
  const auto whole = session.accounting({}).value();
  std::size_t tried = 0;
  for (std::size_t i = 0; i < whole->gaps.size(); ++i) {
    const Gap gap = whole->gaps[i];
    const std::int64_t length_ns = gap.end_ns - gap.start_ns;
    // What a launch call does within the gap lies at its end only.
    if (gap.kind != GapKind::host_bound || gap.synchronisation_ns > 0 || length_ns < 15'000) continue;
    ++tried;
    const Scope middle{.window = TimeWindow{gap.start_ns + length_ns / 8, gap.start_ns + length_ns / 2}};
    const auto part = session.accounting(middle).value();
    ASSERT_EQ(part->gaps.size(), 1U);
    EXPECT_EQ(part->gap_host_bound_ns, length_ns / 2 - length_ns / 8) << "from " << gap.start_ns;
    EXPECT_EQ(part->gap_tail_ns, 0);
    const Gap found = part->gaps[0];
    EXPECT_EQ(found.thread_id, gap.thread_id);
    ASSERT_EQ(found.after.has_value(), gap.after.has_value());
    if (!gap.after) continue;
    EXPECT_EQ(session.model(middle).value()->launches.row(*found.after).start_ns,
              session.model({}).value()->launches.row(*gap.after).start_ns);
  }
  EXPECT_GT(tried, 0U);
}

TEST_F(ScopeTest, AWindowInAGapIsAsLateAsTheGap) {
  make(generate::Shape::decode);
  Session decoding = open();
  expect_gaps_keep_their_kind_in_part(decoding);
}

// A window reaches no further than the recording: what was not recorded is not idle.
TEST(Scope, AWindowEndsWithTheRecording) {
  TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  {
    auto writer = store::CaptureWriter::create(path).value();
    writer.set_run({.command_line = "program",
                    .ridgeline_version = "test",
                    .clock = "test",
                    .start_ns = 1'000'000,
                    .end_ns = 1'900'000});
    const store::Id process = writer.add(store::Process{.pid = 1, .start_ns = 1'000'000});
    const store::Id device = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
    writer.add(store::RecordingWindow{.process_id = process, .start_ns = 1'100'000, .end_ns = 1'800'000});
    store::Launch launch{.process_id = process, .device_id = device, .kernel_id = writer.kernel_id("k")};
    launch.start_ns = 1'200'000;
    launch.end_ns = 1'300'000;
    writer.add(launch);
    writer.finish();
  }
  Session session = Session::open(path).value();
  const auto asked = [&](std::int64_t from_ns, std::int64_t to_ns) {
    return session.ranking({.window = TimeWindow{from_ns, to_ns}, .window_from_start = true});
  };
  EXPECT_EQ(asked(0, 10'000'000).value()->totals.step_ns, 700'000);
  EXPECT_EQ(asked(150'000, 250'000).value()->totals.step_ns, 100'000);
  EXPECT_EQ(asked(150'000, 250'000).value()->totals.calls, 1);
  const auto before = asked(0, 100'000);
  ASSERT_FALSE(before.ok());
  EXPECT_EQ(before.failure().kind, ErrorKind::usage);
  EXPECT_NE(before.failure().message.find("+100.0 µs to +800.0 µs"), std::string::npos)
      << before.failure().message;
}

store::Id path_id(FabricatedModel& f, const std::string& path) {
  for (const auto& [id, text] : f.model.strings) {
    if (text == path) return id;
  }
  const auto id = static_cast<store::Id>(f.model.strings.size() + 1);
  f.model.strings[id] = path;
  return id;
}

void launch_in(FabricatedModel& f, const std::string& path, std::int64_t start_ns, std::int64_t end_ns) {
  f.launch("k", start_ns, end_ns).nvtx_path_id = path_id(f, path);
}

Selection selected(const Model& model, const Scope& scope) {
  return accepted(select(model, {}, scope)).value();
}

TEST(Scope, OfARangesInstancesThoseThatTheRecorderLeftAloneAreTaken) {
  FabricatedModel f;
  f.step(Phase::warmup);
  launch_in(f, "step / a", 1000, 1400);
  f.step(Phase::timeline);
  launch_in(f, "step / a", 2000, 2100);
  launch_in(f, "step / b", 2100, 2200);
  launch_in(f, "step / a", 2300, 2350);
  f.step(Phase::timeline, StepStatus::mismatch);
  launch_in(f, "step / a", 3000, 3500);
  f.step(Phase::replay);
  launch_in(f, "step / a", 4000, 4900);
  launch_in(f, "step / only here", 5000, 5100);
  const Model& model = f.done();
  const Selection a = selected(model, Scope::of_range("a"));
  EXPECT_EQ(a.steps.representative.launches.size(), 2u);
  EXPECT_EQ(a.steps.representative.instances, 2) << "without rows of ranges, what another path parts is two";
  EXPECT_EQ(a.steps.representative.window_end_ns - a.steps.representative.window_start_ns, 150);
  ASSERT_EQ(a.parts.size(), 2u);
  EXPECT_EQ(a.parts[1].step.window_start_ns, 2300);
  EXPECT_EQ(selected(model, Scope::of_range("only here")).steps.representative.launches.size(), 1u)
      << "what only the recorder's own steps have is better than nothing";
}

TEST(Scope, InstancesThatRunAtTheSameTimeShareIt) {
  FabricatedModel f;
  const store::Id id = path_id(f, "a");
  for (const std::int64_t at : {100, 200, 300}) {
    store::NvtxRange range{.id = at, .process_id = 1, .thread_id = 5, .path_id = id, .start_ns = at};
    range.end_ns = at + 50;
    f.model.nvtx_ranges.push_back(range);
  }
  const auto launch = [&](std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns) {
    store::Launch& row = f.launch("k", start_ns, end_ns);
    row.nvtx_path_id = id;
    row.host_start_ns = call_ns;
    row.thread_id = 5;
  };
  launch(110, 1000, 1500);
  launch(120, 1500, 1600);
  launch(210, 1550, 1900);  // beside the first
  launch(310, 3000, 3100);
  const Selection selection = selected(f.done(), Scope::of_range("a"));
  const RepresentativeStep& all = selection.steps.representative;
  EXPECT_EQ(all.instances, 3);
  ASSERT_EQ(selection.parts.size(), 2u);
  EXPECT_EQ(selection.parts[0].step.window_start_ns, 1000);
  EXPECT_EQ(selection.parts[0].step.window_end_ns, 1900);
  EXPECT_EQ(all.window_end_ns - all.window_start_ns, 900 + 100);
  EXPECT_EQ(all.launches.size(), 4u);
}

TEST(Scope, WithoutStepsAllRecordingWindowsAreRanked) {
  FabricatedModel f;
  for (const std::int64_t at : {1000, 5000}) {
    f.step(Phase::timeline).source = StepSource::window;
    f.launch("a", at, at + 100);
    f.launch("b", at + 300, at + (at == 1000 ? 500 : 700));
  }
  const Selection selection = selected(f.done(), {});
  const RepresentativeStep& all = selection.steps.representative;
  EXPECT_EQ(all.scope, ScopeKind::recording);
  EXPECT_EQ(selection.parts.size(), 2u);
  EXPECT_EQ(all.launches.size(), 4u);
  std::int64_t length_ns = 0;
  for (const Selection::Part& part : selection.parts)
    length_ns += part.step.window_end_ns - part.step.window_start_ns;
  EXPECT_EQ(length_ns, 500 + 700) << "what lies between them was not recorded";
  EXPECT_EQ(all.window_end_ns - all.window_start_ns, length_ns);
}

// Launches that no step is there to join by may have been counted themselves.
TEST(Scope, WithoutStepsALaunchsOwnCountersAreItsValues) {
  FabricatedModel f;
  f.launch("a", 10'000, 20'000).block = {128, 1, 1};
  f.counters(
      {{testing::kRead, 2e6}, {testing::kWritten, 1e6}, {testing::kTensor, 10.0}, {testing::kDuration, 1e4}});
  f.launch("a", 30'000, 40'000).block = {128, 1, 1};
  f.launch("a", 50'000, 60'000).block = {256, 1, 1};
  f.launch("b", 70'000, 90'000);
  AnalysisOptions options;
  options.window_key = RankingKey::kernel_and_grid;
  const Analysis all = testing::analyse(f.done(), options).value();
  EXPECT_EQ(all.ranking.scope, ScopeKind::recording);
  EXPECT_EQ(all.ranking.options.key, RankingKey::kernel_and_grid);
  ASSERT_EQ(all.ranking.rows.size(), 3u) << "a launch configuration is grid and block";
  const RankingRow& row = all.ranking.rows.front();
  EXPECT_EQ(row.key, "a [1,1,1] × [128,1,1]");
  EXPECT_EQ(row.calls, 2);
  EXPECT_EQ(row.measured_calls, 1);
  EXPECT_EQ(row.unmeasured_calls, 1);
  ASSERT_TRUE(row.dram.has_value());
  EXPECT_DOUBLE_EQ(row.dram->value, 3e6 / 1e4 / 1000.0) << "bytes ÷ time ÷ 1000 bytes/ns";
  EXPECT_EQ(row.tier, TierSet(Tier::t2));
  EXPECT_DOUBLE_EQ(row.saved_target_ns, 1e4 * (1 - 0.3 / 0.7));
  EXPECT_EQ(all.ranking.totals.step_ns, 80'000);
  for (const Finding& finding : all.quality.findings) EXPECT_EQ(finding.scope, ScopeKind::recording);
}

}  // namespace
}  // namespace ridgeline::analyzer
