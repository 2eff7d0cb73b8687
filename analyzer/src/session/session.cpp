#include "ridgeline/analyzer/session/session.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "ridgeline/base/units.h"
#include "session/loader.h"
#include "session/scope_analysis.h"

namespace ridgeline::analyzer {

namespace {
// Two pixels of a report's chart each.
constexpr std::size_t kSampleBins = 520;
// No program runs for a century; what a damaged capture claims may be anything.
constexpr std::int64_t kFarthestNs = 3'000'000'000'000'000'000;

// A window that counts from the start of the recording, as one of its clock. What was not recorded is not idle: the
// window ends where the recording does.
TimeWindow within_recording(const Model& model, TimeWindow window) {
  const std::int64_t origin_ns = std::clamp(recording_start_ns(model), -kFarthestNs, kFarthestNs);
  TimeWindow recorded{0, kFarthestNs};
  std::optional<std::int64_t> first, last;
  bool closed = !model.recording_windows.empty();
  for (const store::RecordingWindow& one : model.recording_windows) {
    first = std::min(first.value_or(one.start_ns), one.start_ns);
    if (one.end_ns) last = std::max(last.value_or(*one.end_ns), *one.end_ns);
    closed = closed && one.end_ns.has_value();
  }
  if (!closed) last = model.run ? model.run->end_ns : std::nullopt;
  for (const ModelStep& step : model.steps) {  // of a capture that another program wrote, perhaps
    if (!step.total || step.total->kernel_start_ns <= 0) continue;
    if (first) first = std::min(*first, step.total->kernel_start_ns);
    if (last) last = std::max(*last, step.total->kernel_end_ns);
  }
  if (first) recorded.start_ns = std::clamp(*first, -kFarthestNs, kFarthestNs) - origin_ns;
  if (last) recorded.end_ns = std::clamp(*last, -kFarthestNs, kFarthestNs) - origin_ns;
  const TimeWindow common{std::max(window.start_ns, recorded.start_ns),
                          std::min(window.end_ns, recorded.end_ns)};
  if (window.end_ns > window.start_ns && common.end_ns <= common.start_ns) {
    throw QueryFailed{{ErrorKind::usage, "nothing was recorded in that window: the recording lasts from +" +
                                             time_text(static_cast<double>(recorded.start_ns)) + " to +" +
                                             time_text(static_cast<double>(recorded.end_ns))}};
  }
  return {common.start_ns + origin_ns, common.end_ns + origin_ns};
}

// In the place of those that the devices have.
void take_ceilings(const store::MachineCeilings& machine, Model& model) {
  std::string names;
  bool any = false;
  for (const store::Device& device : model.devices) {
    names += (names.empty() ? "" : ", ") + device.name;
    if (!store::measures(machine, device)) continue;
    any = true;
    std::erase_if(model.ceilings, [&](const store::Ceiling& row) { return row.device_id == device.id; });
    const std::vector<store::Ceiling> rows = store::ceiling_rows(machine, device);
    model.ceilings.insert(model.ceilings.end(), rows.begin(), rows.end());
  }
  if (any) return;
  throw QueryFailed{{ErrorKind::usage, "the machine file is of " + machine.device + ", the recording of " +
                                           (names.empty() ? "no device" : names) +
                                           ": give the file of that card, or of another of its model"}};
}
}  // namespace

struct Session::State {
  State(store::Capture opened, AnalysisOptions chosen)
      : capture(std::move(opened)), options(std::move(chosen)) {}

  store::Capture capture;
  AnalysisOptions options;
  mutable std::mutex mutex;
  ReadCounts reads;
  Loader loader{capture, reads};
  std::shared_ptr<const Model> overview;  // facts and totals
  std::vector<SampleTrace> traces;        // for sampled_step()
  std::map<Scope, std::unique_ptr<ScopeAnalysis>> scopes;
  std::map<Scope, std::shared_ptr<const Replay>> replays;

  // Runs one question under the lock.
  template <typename T, typename Work>
  Answer<T> answer(Work work) {
    const std::lock_guard lock(mutex);
    try {
      return std::shared_ptr<const T>(work());
    } catch (const QueryFailed& refused) {
      return refused.failure;
    }
  }

  const std::shared_ptr<const Model>& facts(const QueryOptions& ask) {
    if (overview) return overview;
    Model made = loader.overview(ask);
    if (options.ceilings) take_ceilings(*options.ceilings, made);
    return overview = share(std::move(made));
  }

  // Two scopes that mean the same are one.
  Scope resolved(Scope scope, const QueryOptions& ask) {
    if (scope.window && scope.window_from_start) {
      scope.window = within_recording(*facts(ask), *scope.window);
    }
    scope.window_from_start = false;
    return scope;
  }

  std::shared_ptr<const std::optional<SampledStep>> sampled_step(ScopeAnalysis& known, std::size_t bins,
                                                                 const QueryOptions& ask) {
    const auto measured = known.utilisation(ask);
    std::optional<SampledStep> made;
    if (!measured->sample_steps.empty()) {
      if (traces.empty()) {
        report_progress(ask, Stage::samples);
        traces = load_sample_traces(capture, *known.model(), sampled_step_metrics());
        ++reads.queries;
        for (const SampleTrace& trace : traces)
          reads.samples += static_cast<std::int64_t>(trace.samples.size());
      }
      made =
          analyzer::sampled_step(*known.model(), *measured, traces, known.accounting(ask)->device_id, bins);
    }
    return share(std::move(made));
  }

  std::shared_ptr<const Replay> replay(const Scope& scope, const QueryOptions& ask) {
    auto& known = replays[scope];
    if (known) return known;
    ReplayOptions wanted = options.replay;
    wanted.launch_latency_ns = options.accounting.launch_latency_ns;
    const Scope whole = whole_step(scope);
    const StepAnalysis& steps = at(whole, ask).selection()->steps;
    const std::vector<std::int64_t> numbers = steps_to_replay(steps, wanted);
    if (numbers.size() < 2)
      return known =
                 share(Replay(*at(whole, ask).model(), steps.representative, {steps.representative}, wanted));
    Scope together = whole;
    together.process_id = steps.process_id;
    together.steps = StepSelection::many(numbers);
    ScopeAnalysis& all = at(together, ask);
    std::vector<RepresentativeStep> parts;
    for (const Selection::Part& part : all.selection()->parts) parts.push_back(part.step);
    const auto own = std::find_if(parts.begin(), parts.end(), [&](const RepresentativeStep& part) {
      return part.summary.step_id == steps.representative.summary.step_id;
    });
    return known = share(Replay(*all.model(), own == parts.end() ? parts.front() : *own, parts, wanted));
  }

  ScopeAnalysis& at(const Scope& asked, const QueryOptions& ask) {
    check_stop(ask);
    const Scope scope = resolved(asked, ask);
    auto& known = scopes[scope];
    if (known) return *known;
    const Model& all = *facts(ask);
    Scope wide = scope;  // which launches are in the range shows when they are loaded
    wide.range.clear();
    wide.calls.reset();
    const Selection chosen = value_or_throw(select(all, options.steps, wide));
    known =
        std::make_unique<ScopeAnalysis>(share(loader.slice(all, chosen, scope, ask)), options, scope, ask);
    return *known;
  }
};

Result<Session> Session::open(const std::string& path, AnalysisOptions options) {
  auto capture = store::Capture::open(path);
  if (!capture) return capture.failure();
  return Session(std::move(capture).value(), std::move(options));
}

Session::Session(store::Capture capture, AnalysisOptions options)
    : state_(std::make_unique<State>(std::move(capture), std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const AnalysisOptions& Session::options() const {
  return state_->options;
}

ReadCounts Session::reads() const {
  const std::lock_guard lock(state_->mutex);
  return state_->reads;
}

Answer<Model> Session::recording(const QueryOptions& ask) {
  return state_->answer<Model>([&] { return state_->facts(ask); });
}

Answer<StepAnalysis> Session::steps(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<StepAnalysis>([&] {
    const auto selection = state_->at(scope, ask).selection();
    return std::shared_ptr<const StepAnalysis>(selection, &selection->steps);
  });
}

Answer<Model> Session::model(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<Model>([&] { return state_->at(scope, ask).model(); });
}

Answer<UtilisationAnalysis> Session::utilisation(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<UtilisationAnalysis>([&] { return state_->at(scope, ask).utilisation(ask); });
}

Answer<Ranking> Session::ranking(const Scope& scope, const RankingKeys& key, const QueryOptions& ask) {
  return state_->answer<Ranking>([&] { return state_->at(scope, ask).ranking(key, ask); });
}

Answer<Accounting> Session::accounting(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<Accounting>([&] { return state_->at(scope, ask).accounting(ask); });
}

Answer<Roofline> Session::roofline(const Scope& scope, const RankingKeys& key, const QueryOptions& ask) {
  return state_->answer<Roofline>([&] { return state_->at(scope, ask).roofline(key, ask); });
}

Answer<Replay> Session::replay(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<Replay>([&] { return state_->replay(scope, ask); });
}

Answer<WhatIf> Session::what_if(const Scope& scope, const WhatIfRequest& request, const QueryOptions& ask) {
  return state_->answer<WhatIf>([&] {
    if (scope.window)
      throw QueryFailed{
          {ErrorKind::usage, "a range of time is not simulated, only whole steps: leave the window out"}};
    WhatIfRequest wanted = request;
    if (wanted.range.empty()) wanted.range = scope.range;
    ScopeAnalysis& whole = state_->at(whole_step(scope), ask);
    const auto measured = whole.utilisation(ask);
    const StepPower power = whole.ranking(RankingKey::kernel, ask)->power;
    const auto replay = state_->replay(scope, ask);
    return share(
        value_or_throw(analyzer::what_if(*whole.model(), whole.selection()->steps, *measured, *replay,
                                         state_->options.utilisation.peaks, wanted, power)));
  });
}

Answer<Quality> Session::quality(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<Quality>([&] { return state_->at(scope, ask).quality(ask); });
}

Answer<AdviceReport> Session::advice(const Scope& scope, const QueryOptions& ask) {
  return state_->answer<AdviceReport>([&] { return state_->at(scope, ask).advice(ask); });
}

Answer<Analysis> Session::analysis(const Scope& scope, unsigned parts, const QueryOptions& ask) {
  return state_->answer<Analysis>([&] {
    ScopeAnalysis& known = state_->at(scope, ask);
    Analysis all = known.together(parts, ask);
    if ((parts & kSamples) != 0) all.sampled = *state_->sampled_step(known, kSampleBins, ask);
    return share(std::move(all));
  });
}

}  // namespace ridgeline::analyzer
