// Small recordings drawn by lot, each asked what a report, a window and an export ask of one: every field of
// the answers is held against what was accepted.
#include <gtest/gtest.h>

#include "analyzer/drawn_recording.h"
#include "ridgeline/analyzer/roofline/roofline_plot.h"
#include "ridgeline/analyzer/session/headline.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/trace/timeline.h"
#include "ridgeline/analyzer/utilisation/replayed_in_situ.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"
#include "support/whole_model.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::analysis_text;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;
using ridgeline::testing::TemporaryDirectory;

/// Asks a capture, and keeps what it says.
class AskedSession {
 public:
  AskedSession(const std::string& path, std::uint64_t seed)
      : path_(path),
        draw_(ridgeline::testing::lots_of(seed + 1'000'000)),
        session_(Session::open(path, drawn_options(draw_)).value()) {}

  std::string text() {
    steps_ = session_.steps();
    out_ = "steps: " + fields(steps_) + "\n";
    ask(Scope{}, true);
    for (int i = 0; i < 4; ++i) ask(drawn_scope(), false);
    what_ifs();
    replay();
    timeline();
    // With the rows of other processes and steps beside those of the one that is analysed.
    if (draw_.percent(33))
      out_ += analysis_text(ridgeline::testing::whole_model(store::Capture::open(path_).value()));
    return std::move(out_);
  }

 private:
  static AnalysisOptions drawn_options(Lots& draw) {
    AnalysisOptions options;
    static constexpr RankingKey kKeys[] = {RankingKey::kernel, RankingKey::kernel,
                                           RankingKey::kernel_and_grid, RankingKey::nvtx_path};
    options.ranking.key = draw.of(kKeys);
    if (draw.percent(25)) options.window_key = RankingKey::phase;
    static constexpr PeakSource kSources[] = {PeakSource::spec, PeakSource::clock, PeakSource::measured,
                                              PeakSource::burst, PeakSource::sustained};
    if (draw.percent(30)) options.utilisation.peaks.dram = draw.of(kSources);
    if (draw.percent(30)) options.utilisation.peaks.compute = draw.of(kSources);
    options.utilisation.clamp = draw.percent(15);
    if (draw.percent(15)) options.accounting.launch_latency_ns = 3'000;
    if (draw.percent(20)) options.targets.min_share = 0.05;
    if (draw.percent(20)) {
      KernelBudget budget;
      budget.kernel = draw.percent(50) ? "*gemm*" : "*norm*";
      budget.max_time_ns = 50'000;
      if (draw.percent(50)) budget.min_utilisation_ratio = 0.4;
      if (draw.percent(50)) budget.max_dram_bytes = 1e7;
      options.targets.budgets.push_back(budget);
    }
    if (draw.percent(40)) options.replay.total_tolerance_ratio = 0.2;
    if (draw.percent(40)) options.replay.phase_tolerance_ratio = 0.3;
    if (draw.percent(40)) options.reach.tolerance_ratio = 0.2;
    return options;
  }

  /// The first launch and the last end on the GPU of one of the steps; zeros without any.
  TimeWindow drawn_step_time() {
    if (!steps_.ok() || steps_.value()->steps.empty()) return {};
    const StepSummary& step = draw_.of(steps_.value()->steps);
    return {step.gpu_start_ns, step.gpu_end_ns};
  }

  TimeWindow drawn_window() {
    const TimeWindow step = drawn_step_time();
    const std::int64_t length_ns = std::max<std::int64_t>(step.length_ns(), 2'000);
    const std::int64_t from_ns = step.start_ns + draw_.between(-length_ns / 2, length_ns);
    return {from_ns, from_ns + draw_.between(1, 2 * length_ns)};
  }

  Scope drawn_scope() {
    static constexpr const char* kPatterns[] = {"forward", "layer *", "backward / layer ?", "adam",
                                                "step",    "layer 0", "optimizer",          "nothing"};
    Scope scope;
    switch (draw_.below(14)) {
      case 0:
        scope.steps = StepSelection::all_of(Phase::timeline);
        break;
      case 1: {
        static constexpr Phase kPhases[] = {Phase::warmup, Phase::sample, Phase::replay, Phase::after};
        scope.steps = StepSelection::all_of(draw_.of(kPhases));
        break;
      }
      case 2:
      case 3:
        scope.window = drawn_window();
        break;
      case 4: {
        const std::int64_t from_ns = draw_.between(-100'000, 4'000'000);
        scope.window = TimeWindow{from_ns, from_ns + draw_.between(0, 6'000'000)};
        scope.window_from_start = true;
        break;
      }
      case 5:
        scope = Scope::of_range(draw_.of(kPatterns));
        break;
      case 6:
        scope.range = draw_.of(kPatterns);
        break;
      case 7:
        scope.device_id = draw_.between(1, 2);
        break;
      case 8:
        scope.process_id = draw_.between(1, 2);
        break;
      case 9: {
        const std::int64_t first = draw_.below(8);
        scope.steps = StepSelection::many({first, first + draw_.between(1, 4)});
        if (draw_.percent(40)) scope.range = draw_.of(kPatterns);
        break;
      }
      case 10:
        scope.steps = StepSelection::one(draw_.below(10));
        if (draw_.percent(30)) scope.window = drawn_window();
        break;
      case 11:
        scope.steps = draw_.percent(50) ? StepSelection::of_kind(1) : StepSelection::everything();
        break;
      case 12: {
        const TimeWindow step = drawn_step_time();
        scope.steps = StepSelection::everything();
        scope.calls =
            CalledIn{100, step.start_ns - 60'000, step.start_ns + draw_.between(0, 500'000), "forward"};
        break;
      }
      default:
        scope = Scope::of_range(draw_.of(kPatterns));
        scope.window = drawn_window();
        break;
    }
    return scope;
  }

  /// What is known of each launch is long: it is held of the first scope, and of windows, which cut some of them.
  void ask(const Scope& scope, bool each_launch) {
    const auto analysis = session_.analysis(scope);
    out_ += "of " + fields(scope) + ": ";
    if (!analysis.ok()) {
      out_ += fields(analysis.failure()) + "\n";
      return;
    }
    EXPECT_EQ(analysis.value()->accounting.remainder_ns, 0) << fields(scope);
    Analysis shown = *analysis.value();
    if (!each_launch && !scope.window) shown.utilisation.launches = {};
    out_ += fields(shown) + "\n";
    out_ += "headline: " + fields(headline(*analysis.value())) + "\n";
    static constexpr RankingKey kKeys[] = {
        RankingKey::kernel,    RankingKey::kernel_and_grid, RankingKey::family, RankingKey::kernel_class,
        RankingKey::nvtx_path, RankingKey::phase,           RankingKey::layer,  RankingKey::launch};
    const RankingKey key = draw_.of(kKeys);
    out_ += "by " + std::string(to_string(key)) + ": " + fields(session_.ranking(scope, key)) + "\n";
    if (draw_.percent(30))
      out_ += fields(session_.ranking(scope, RankingKeys({RankingKey::layer, RankingKey::phase}))) + "\n";
    const auto model = session_.model(scope);
    if (!model.ok()) return;
    const Analysis& all = *analysis.value();
    if (all.ranking.options.key == RankingKey::kernel) {
      for (std::size_t row = 0; row < std::min<std::size_t>(all.ranking.rows.size(), 4); ++row)
        out_ += "row: " + fields(explain_kernel(*model.value(), all, row)) + "\n";
    }
    plots({*model.value(), all.ranking, all.roofline});
    out_ += "gaps: " + row_text(gap_row(all.accounting)) + "\n";
    out_ += "in situ: " + fields(replayed_in_situ(*model.value(), all.utilisation)) + "\n";
  }

  void plots(const RooflineSource& source) {
    RooflineSettings settings;
    settings.l2 = draw_.percent(50);
    settings.min_share = draw_.percent(50) ? 1.0 : 0.7;
    if (draw_.percent(30)) settings.roofs = PeakSource::burst;
    for (const RooflineMode mode : {RooflineMode::intensity, RooflineMode::time}) {
      settings.mode = mode;
      out_ += "plot: " + fields(make_plot(source, settings)) + "\n";
    }
    for (std::size_t row = 0; row < std::min<std::size_t>(source.ranking.rows.size(), 3); ++row)
      out_ += "levels: " + fields(level_dots(source, row)) + "\n";
  }

  std::vector<Transform> drawn_transforms() {
    static constexpr const char* kNames[] = {"*",      "*gemm*", "*norm*", "*kernel*", "nvjet*",
                                             "*adam*", "*add*",  "*nccl*", "softmax*", "gelu_forward_kernel"};
    std::vector<Transform> all;
    const std::int64_t count = draw_.percent(70) ? 1 : draw_.between(0, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = draw_.of(kNames);
      static constexpr double kTimes[] = {2, 1.25, 0.5, 1, 1000, 0.001, 2000};
      static constexpr double kRatios[] = {0.85, 0.5, 1, 0, 1.5};
      static constexpr Precision kPrecisions[] = {Precision::bf16, Precision::fp8,  Precision::fp16,
                                                  Precision::fp32, Precision::int8, Precision::fp64};
      switch (draw_.below(7)) {
        case 0:
          all.push_back(Faster{name, draw_.of(kTimes)});
          break;
        case 1:
          all.push_back(AtRoof{draw_.of(kRatios), name});
          break;
        case 2:
        case 3: {
          const std::string consumer = draw_.of(kNames);
          all.push_back(Fused{name, consumer, draw_.percent(40)});
          break;
        }
        case 4:
          all.push_back(InPrecision{name, draw_.of(kPrecisions)});
          break;
        case 5:
          all.push_back(AsGraph{});
          break;
        default:
          all.push_back(HiddenCopies{});
          break;
      }
    }
    return all;
  }

  void what_ifs() {
    const std::vector<std::vector<Transform>> always = {
        {Faster{"*", 2}},
        {AtRoof{}},
        {Fused{"*", "*"}},
        {Fused{"*", "*", true}},
        {AsGraph{}},
        {HiddenCopies{}},
        {InPrecision{"*", Precision::bf16}},
        {Faster{"*", 1.5}, AtRoof{}, AsGraph{}, HiddenCopies{}}};
    for (const auto& transforms : always)
      out_ += "what if: " + fields(session_.what_if({}, {.transforms = transforms})) + "\n";
    for (int i = 0; i < 6; ++i) {
      Scope scope;
      if (draw_.percent(30)) scope = drawn_scope();
      WhatIfRequest request{.transforms = drawn_transforms()};
      if (draw_.percent(25)) request.range = draw_.percent(50) ? "forward" : "layer *";
      if (draw_.percent(20)) request.shortest_kernel_ns = 5'000;
      out_ += "what if: " + fields(session_.what_if(scope, request)) + "\n";
    }
  }

  // Launches changed one by one, and none at all.
  void replay() {
    const auto answer = session_.replay();
    if (!answer.ok()) {
      out_ += "replay: " + fields(answer.failure()) + "\n";
      return;
    }
    const Replay& replay = *answer.value();
    out_ += "replay: " + fields(replay.check()) + fields(replay.gain({})) + "\n";
    for (int i = 0; i < 6; ++i) {
      StepChange change;
      const std::int64_t count = draw_.below(5);
      for (std::int64_t k = 0; k < count; ++k) {
        LaunchChange one{.position = static_cast<std::size_t>(draw_.below(20)), .time_ns = 0};
        one.time_ns = static_cast<double>(draw_.between(0, 40'000));
        one.removed = draw_.percent(30);
        change.launches.push_back(one);
      }
      change.as_graph = draw_.percent(20);
      change.hide_copies = draw_.percent(20);
      out_ += "gain: " + fields(replay.gain(change)) + "\n";
    }
  }

  std::string row_text(const TimelineRow& row) {
    std::string text = fields(row);
    TimeWindow all = row.kind == RowKind::counter ? row.counter.extent() : row.events.extent();
    if (all.length_ns() <= 0) all = {0, 1000};
    for (int zoom = 0; zoom < 3; ++zoom) {
      const std::int64_t length_ns = all.length_ns();
      const std::int64_t from_ns = all.start_ns + draw_.between(-length_ns / 4, length_ns);
      const TimeWindow window{from_ns, from_ns + draw_.between(1, 1 + length_ns / (1 + zoom * zoom))};
      const auto pixels = static_cast<std::size_t>(draw_.between(1, 40));
      if (row.kind == RowKind::counter) {
        std::vector<CounterBin> bins(pixels);
        row.counter.bins(window, bins);
        text += fields(bins) + fields(row.counter.over(window));
      } else {
        std::vector<EventBin> bins(pixels);
        row.events.bins(window, bins);
        text += fields(bins) + fields(row.events.sum(window)) +
                std::to_string(row.events.at(window.start_ns)) + "/" +
                std::to_string(row.events.first_from(window.end_ns)) + "/" +
                std::to_string(row.events.first_ending_after(window.end_ns));
      }
    }
    return text;
  }

  void timeline() {
    const auto read = read_timeline(path_, {});
    if (!read.ok()) {
      out_ += "timeline: " + fields(read.failure()) + "\n";
      return;
    }
    const Timeline& timeline = *read.value();
    out_ +=
        "timeline: " + fields(timeline.names) + fields(timeline.extent) + std::to_string(timeline.launches);
    for (const TimelineRow& row : timeline.rows) {
      out_ += "\nrow: " + row_text(row);
      for (std::size_t i = 0; i < std::min<std::size_t>(row.events.size(), 20); ++i)
        out_ += fields(instance_of(timeline, row, i));
    }
    out_ += "\n";
  }

  std::string path_, out_;
  Lots draw_;
  Session session_;
  Answer<StepAnalysis> steps_ = Failure{};
};

constexpr std::uint64_t kSeedsOfACase = 8;

void hold_drawn_sessions(std::uint64_t first_seed) {
  const TemporaryDirectory directory;
  for (std::uint64_t seed = first_seed; seed < first_seed + kSeedsOfACase; ++seed) {
    AcceptedCases::expect([&] {
      const std::string path = directory / (std::to_string(seed) + ".ridge");
      ridgeline::testing::write_drawn_recording(path, seed);
      return AskedSession(path, seed).text();
    });
  }
}

TEST(DrawnSessions, First) {
  hold_drawn_sessions(1);
}
TEST(DrawnSessions, Second) {
  hold_drawn_sessions(101);
}
TEST(DrawnSessions, Third) {
  hold_drawn_sessions(201);
}
TEST(DrawnSessions, Fourth) {
  hold_drawn_sessions(301);
}

}  // namespace
}  // namespace ridgeline::analyzer
