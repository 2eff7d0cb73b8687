#include "ridgeline/analyzer/session/session.h"

#include <map>
#include <mutex>

#include "session/loader.h"
#include "session/scope_analysis.h"

namespace ridgeline::analyzer {

namespace {
// Two pixels of a report's chart each.
constexpr std::size_t kSampleBins = 520;
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

  // Runs one question under the lock.
  template <typename T, typename Work>
  Answer<T> answer(Work work) {
    const std::lock_guard lock(mutex);
    try {
      return std::shared_ptr<const T>(work());
    } catch (const Refused& refused) {
      return refused.failure;
    }
  }

  const std::shared_ptr<const Model>& facts(const Ask& ask) {
    if (!overview) overview = share(loader.overview(ask));
    return overview;
  }

  // An empty scope means what the options say.
  Scope resolved(Scope scope) const {
    if (!scope.process_id) scope.process_id = options.steps.process_id;
    if (options.steps.step_index && scope.steps.kind == StepSelection::Kind::representative && !scope.window)
      scope.steps = StepSelection::one(*options.steps.step_index);
    return scope;
  }

  std::shared_ptr<const std::optional<SampledStep>> sampled_step(ScopeAnalysis& known, std::size_t bins,
                                                                 const Ask& ask) {
    const auto measured = known.utilisation(ask);
    std::optional<SampledStep> made;
    if (!measured->sample_steps.empty()) {
      if (traces.empty()) {
        tell(ask, Stage::samples);
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

  ScopeAnalysis& at(const Scope& asked, const Ask& ask) {
    check_stop(ask);
    const Scope scope = resolved(asked);
    auto& known = scopes[scope];
    if (known) return *known;
    const Model& all = *facts(ask);
    Scope wide = scope;  // which of a step's launches are in the subtree shows when they are loaded
    wide.nvtx_path.clear();
    const Selection chosen = granted(select(all, options.steps, wide));
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

Answer<Model> Session::recording(const Ask& ask) {
  return state_->answer<Model>([&] { return state_->facts(ask); });
}

Answer<StepAnalysis> Session::steps(const Scope& scope, const Ask& ask) {
  return state_->answer<StepAnalysis>([&] {
    const auto selection = state_->at(scope, ask).selection();
    return std::shared_ptr<const StepAnalysis>(selection, &selection->steps);
  });
}

Answer<Model> Session::model(const Scope& scope, const Ask& ask) {
  return state_->answer<Model>([&] { return state_->at(scope, ask).model(); });
}

Answer<UtilisationAnalysis> Session::utilisation(const Scope& scope, const Ask& ask) {
  return state_->answer<UtilisationAnalysis>([&] { return state_->at(scope, ask).utilisation(ask); });
}

Answer<Ranking> Session::ranking(const Scope& scope, RankKey key, const Ask& ask) {
  return state_->answer<Ranking>([&] { return state_->at(scope, ask).ranking(key, ask); });
}

Answer<Accounting> Session::accounting(const Scope& scope, const Ask& ask) {
  return state_->answer<Accounting>([&] { return state_->at(scope, ask).accounting(ask); });
}

Answer<Roofline> Session::roofline(const Scope& scope, RankKey key, const Ask& ask) {
  return state_->answer<Roofline>([&] { return state_->at(scope, ask).roofline(key, ask); });
}

Answer<Quality> Session::quality(const Scope& scope, const Ask& ask) {
  return state_->answer<Quality>([&] { return state_->at(scope, ask).quality(ask); });
}

Answer<Analysis> Session::analysis(const Scope& scope, unsigned parts, const Ask& ask) {
  return state_->answer<Analysis>([&] {
    ScopeAnalysis& known = state_->at(scope, ask);
    Analysis all = known.together(parts, ask);
    if ((parts & kSamples) != 0) all.sampled = *state_->sampled_step(known, kSampleBins, ask);
    return share(std::move(all));
  });
}

}  // namespace ridgeline::analyzer
