#include "ridgeline/analyzer/steps/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct Extent {
  std::int64_t start_ns = kNoEnd;
  std::int64_t end_ns = 0;
  void include(std::int64_t start, std::int64_t end) {
    if (start <= 0 || end < start) return;
    start_ns = std::min(start_ns, start);
    end_ns = std::max(end_ns, end);
  }
  [[nodiscard]] bool empty() const { return start_ns == kNoEnd; }
};

void mix(std::uint64_t& hash, std::int64_t value) {
  // FNV-1a over the value's bytes.
  for (int byte = 0; byte < 8; ++byte) {
    hash ^= static_cast<std::uint64_t>(value >> (8 * byte)) & 0xffU;
    hash *= 1099511628211ULL;
  }
}

std::uint64_t sequence_hash(const Model& model, const SharedVector<LaunchIndex>& launches) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const LaunchIndex index : launches) {
    const store::Launch& launch = model.launches.site(index);
    for (const std::int64_t value : {launch.kernel_id, launch.grid.x, launch.grid.y, launch.grid.z,
                                     launch.block.x, launch.block.y, launch.block.z}) {
      mix(hash, value);
    }
  }
  return hash;
}

// A step begins with its first kernel. Its copies may run ahead on another stream, while the step before still
// computes: from copy to copy one would measure the step before.
void set_gpu_time(const Extent& kernels, const Extent& others, StepSummary& summary) {
  const Extent& first = kernels.empty() ? others : kernels;
  if (first.empty()) return;
  summary.gpu_start_ns = first.start_ns;
  summary.gpu_end_ns = std::max(kernels.end_ns, others.end_ns);
}

StepSummary summarise(const Model& model, StepIndex index) {
  const ModelStep& item = model.steps[index];
  StepSummary summary;
  summary.index = index;
  summary.step_id = item.step.id;
  summary.process_id = item.step.process_id;
  summary.step_index = item.step.step_index;
  summary.phase = item.step.phase;
  summary.status = item.step.status;
  summary.reason = item.step.reason.value_or(Reason());
  summary.source = item.step.source;
  if (item.step.configuration_id) {
    const auto found = model.configurations.find(*item.step.configuration_id);
    if (found != model.configurations.end()) summary.configuration = found->second.name;
  }
  if (item.step.host_start_ns && item.step.host_end_ns) {
    summary.host_duration_ns = *item.step.host_end_ns - *item.step.host_start_ns;
  }
  Extent kernels;
  Extent others;
  if (item.total) {
    const store::StepTotal& total = *item.total;
    kernels.include(total.kernel_start_ns, total.kernel_end_ns);
    others.include(total.copy_start_ns, total.copy_end_ns);
    summary.kernel_time_ns = total.kernel_time_ns;
    summary.launches = total.launches;
    summary.launches_without_time = total.launches_without_time;
    summary.sequence_hash = total.sequence_hash;
    set_gpu_time(kernels, others, summary);
    return summary;
  }
  for (const LaunchIndex i : item.launches) {
    const Launches::Row& launch = model.launches.row(i);
    kernels.include(launch.start_ns, launch.end_ns);
    summary.kernel_time_ns += duration_ns(launch);
    if (!has_time(launch)) ++summary.launches_without_time;
  }
  for (const std::size_t i : item.memcpys) others.include(model.memcpys[i].start_ns, model.memcpys[i].end_ns);
  for (const std::size_t i : item.memsets) others.include(model.memsets[i].start_ns, model.memsets[i].end_ns);
  set_gpu_time(kernels, others, summary);
  summary.launches = static_cast<std::int64_t>(item.launches.size());
  summary.sequence_hash = sequence_hash(model, item.launches);
  return summary;
}

using Pool = std::vector<const StepSummary*>;

constexpr double kLaunchesApart = 0.05, kTimeApart = 0.3;
constexpr std::int64_t kFewLaunchesApart = 2;

bool same_kind(const StepSummary& a, const StepSummary& b) {
  if (a.sequence_hash == b.sequence_hash) return true;
  const std::int64_t apart = std::abs(a.launches - b.launches), most = std::max(a.launches, b.launches);
  if (apart >
      std::max(kFewLaunchesApart, static_cast<std::int64_t>(kLaunchesApart * static_cast<double>(most))))
    return false;
  const auto [less, more] = std::minmax(a.kernel_time_ns, b.kernel_time_ns);
  return static_cast<double>(more - less) <= kTimeApart * static_cast<double>(more);
}

// By index into the pool; the kinds are those of the result, the most time first.
std::vector<int> kinds_of(const Pool& pool, std::vector<StepKind>& kinds) {
  std::vector<const StepSummary*> firsts;
  std::vector<std::vector<double>> durations;
  std::vector<std::size_t> found(pool.size());
  double all = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const auto first = std::find_if(firsts.begin(), firsts.end(),
                                    [&](const StepSummary* other) { return same_kind(*other, *pool[i]); });
    found[i] = static_cast<std::size_t>(first - firsts.begin());
    if (first == firsts.end()) {
      firsts.push_back(pool[i]);
      durations.emplace_back();
    }
    durations[found[i]].push_back(static_cast<double>(pool[i]->gpu_duration_ns));
    all += durations[found[i]].back();
  }
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = 0; k < firsts.size(); ++k)
    order.emplace_back(-std::accumulate(durations[k].begin(), durations[k].end(), 0.0), k);
  std::sort(order.begin(), order.end());
  std::vector<int> rank(firsts.size());
  kinds.clear();
  for (std::size_t r = 0; r < order.size(); ++r) {
    const std::size_t k = order[r].second;
    rank[k] = static_cast<int>(r);
    kinds.push_back({static_cast<std::int64_t>(durations[k].size()), all > 0 ? -order[r].first / all : 0,
                     median(durations[k]), firsts[k]->launches});
  }
  std::vector<int> result;
  for (const std::size_t k : found) result.push_back(rank[k]);
  return result;
}

Pool usable_steps(const std::vector<StepSummary>& steps, store::Id process_id, Phase phase) {
  Pool pool;
  for (const StepSummary& step : steps) {
    if (step.process_id == process_id && step.phase == phase && step.status == StepStatus::ok &&
        step.launches > 0 && step.gpu_duration_ns > 0) {
      pool.push_back(&step);
    }
  }
  return pool;
}

// The steps that the representative is chosen from, of one phase: the less a phase disturbs its steps, the earlier.
Pool pool_of(const std::vector<StepSummary>& steps, store::Id process_id) {
  static constexpr std::array kPhases = {Phase::timeline, Phase::sample, Phase::after, Phase::warmup,
                                         Phase::stalls,   Phase::replay, Phase::cold,  Phase::flops};
  for (const Phase phase : kPhases) {
    if (Pool pool = usable_steps(steps, process_id, phase); !pool.empty()) return pool;
  }
  return {};
}

// Of the processes that have a launch with a time.
std::map<store::Id, std::int64_t> kernel_times(const Model& model) {
  std::map<store::Id, std::int64_t> time;
  for (const store::ProcessTotal& total : model.process_totals) {
    if (total.launches > total.launches_without_time) time[total.process_id] = total.kernel_time_ns;
  }
  if (!model.process_totals.empty()) return time;
  for (LaunchIndex i = 0; i < model.launches.size(); ++i) {
    const Launches::Row& launch = model.launches.row(i);
    if (has_time(launch)) time[model.launches.site(i).process_id] += duration_ns(launch);
  }
  return time;
}

std::optional<store::Id> busiest_process(const Model& model) {
  std::map<store::Id, std::int64_t> time = kernel_times(model);
  if (time.empty()) return std::nullopt;
  return std::max_element(time.begin(), time.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

RepresentativeStep represent_recording(const Model& model, store::Id process_id) {
  RepresentativeStep all;
  all.scope = ScopeKind::recording;
  all.whole_recording = true;
  Extent extent;
  StepSummary& summary = all.summary;
  for (LaunchIndex i = 0; i < model.launches.size(); ++i) {
    const Launches::Row& launch = model.launches.row(i);
    if (model.launches.site(i).process_id != process_id) continue;
    all.launches.push_back(i);
    extent.include(launch.start_ns, launch.end_ns);
    summary.kernel_time_ns += duration_ns(launch);
    if (!has_time(launch)) ++summary.launches_without_time;
  }
  for (std::size_t i = 0; i < model.memcpys.size(); ++i) {
    if (model.memcpys[i].process_id != process_id) continue;
    all.memcpys.push_back(i);
    extent.include(model.memcpys[i].start_ns, model.memcpys[i].end_ns);
  }
  for (std::size_t i = 0; i < model.memsets.size(); ++i) {
    if (model.memsets[i].process_id != process_id) continue;
    all.memsets.push_back(i);
    extent.include(model.memsets[i].start_ns, model.memsets[i].end_ns);
  }
  summary.process_id = process_id;
  summary.status = StepStatus::ok;
  summary.gpu_start_ns = extent.start_ns;
  summary.gpu_end_ns = extent.end_ns;
  summary.gpu_duration_ns = extent.end_ns - extent.start_ns;
  summary.launches = static_cast<std::int64_t>(all.launches.size());
  summary.sequence_hash = sequence_hash(model, all.launches);
  summary.kind = 0;
  all.window_start_ns = extent.start_ns;
  all.window_end_ns = extent.end_ns;
  return all;
}

namespace {

// By GPU time; of an even number the lower of the two in the middle.
const StepSummary* median_of(Pool pool) {
  std::sort(pool.begin(), pool.end(), [](const StepSummary* a, const StepSummary* b) {
    return std::pair(a->gpu_duration_ns, a->step_index) < std::pair(b->gpu_duration_ns, b->step_index);
  });
  return pool[(pool.size() - 1) / 2];
}

StepSpread spread_of(const Pool& pool) {
  std::vector<double> durations;
  for (const StepSummary* step : pool) durations.push_back(static_cast<double>(step->gpu_duration_ns));
  StepSpread spread;
  spread.count = static_cast<std::int64_t>(durations.size());
  if (durations.empty()) return spread;
  spread.median_ns = median(durations);
  spread.p10_ns = quantile(durations, 0.1);
  spread.p90_ns = quantile(durations, 0.9);
  spread.mad_ns = median_absolute_deviation(durations);
  spread.min_ns = *std::min_element(durations.begin(), durations.end());
  spread.max_ns = *std::max_element(durations.begin(), durations.end());
  return spread;
}

void find_outliers(const Pool& pool, const StepSpread& spread, const StepOptions& options,
                   Findings& findings) {
  if (pool.size() < 4) return;  // the spread of three says nothing about the fourth
  const double limit = std::max(options.outlier_mads * kDeviationPerMad * spread.mad_ns,
                                options.outlier_ratio * spread.median_ns);
  const auto is_outlier = [&](const StepSummary& step) {
    // The first of a phase finds the GPU idle, so that the host's lead and its next copies shift its boundaries.
    return step.settled && std::fabs(static_cast<double>(step.gpu_duration_ns) - spread.median_ns) > limit;
  };
  Finding finding{.severity = Severity::warning, .code = FindingCode::steps_outlier, .count = 0};
  const StepSummary* worst = nullptr;
  const StepSummary* shortest = nullptr;
  const StepSummary* longest = nullptr;
  const auto distance = [&](const StepSummary* step) {
    return std::fabs(static_cast<double>(step->gpu_duration_ns) - spread.median_ns);
  };
  for (const StepSummary* step : pool) {
    if (!is_outlier(*step)) continue;
    ++finding.count;
    finding.subject.steps.push_back(step->step_index);
    if (worst == nullptr || distance(step) > distance(worst)) worst = step;
    if (shortest == nullptr || step->gpu_duration_ns < shortest->gpu_duration_ns) shortest = step;
    if (longest == nullptr || step->gpu_duration_ns > longest->gpu_duration_ns) longest = step;
  }
  if (worst == nullptr) return;
  finding.subject.process_id = worst->process_id;
  finding.subject.phase = worst->phase;
  finding.magnitude_ns = distance(worst);
  if (spread.median_ns > 0) finding.step_share = distance(worst) / spread.median_ns;
  finding.evidence = {{"shortest_ns", static_cast<double>(shortest->gpu_duration_ns), Tier::t0, {}},
                      {"longest_ns", static_cast<double>(longest->gpu_duration_ns), Tier::t0, {}},
                      {"median_ns", spread.median_ns, Tier::t0, {}}};
  finding.remedy = Remedy::steady_clocks;
  findings.push_back(std::move(finding));
}

void find_changes(const std::vector<StepSummary>& steps, store::Id process_id, Findings& findings) {
  std::map<std::tuple<Phase, StepStatus, Reason>, std::size_t> not_ok;  // into findings
  for (const StepSummary& step : steps) {
    if (step.process_id != process_id) continue;
    if (step.status != StepStatus::ok) {
      const auto [place, fresh] = not_ok.try_emplace({step.phase, step.status, step.reason}, findings.size());
      if (fresh) {
        // Nothing that is shown rests on the steps before the schedule and after it.
        const bool measured = step.phase != Phase::warmup && step.phase != Phase::after;
        Finding finding{.severity = measured ? Severity::warning : Severity::info,
                        .code = FindingCode::steps_not_ok,
                        .count = 0};
        finding.subject.process_id = process_id;
        finding.subject.phase = step.phase;
        finding.subject.status = step.status;
        finding.detail = step.reason;
        findings.push_back(std::move(finding));
      }
      ++findings[place->second].count;
      findings[place->second].subject.steps.push_back(step.step_index);
    }
  }
}

// The steps of other kinds than the ranked one, and what they take.
void find_kinds(const StepAnalysis& analysis, Phase phase, Findings& findings) {
  if (analysis.kinds.size() < 2) return;
  Finding kinds{.severity = Severity::info, .code = FindingCode::steps_kinds, .count = 0};
  std::int64_t all = 0;
  for (const StepSummary& step : analysis.steps) {
    if (step.process_id != analysis.process_id || step.phase != phase || step.kind < 0) continue;
    ++all;
    if (static_cast<std::size_t>(step.kind) == analysis.kind) continue;
    ++kinds.count;
    kinds.subject.steps.push_back(step.step_index);
  }
  const StepKind& ranked = analysis.kinds[analysis.kind];
  const StepKind& other = analysis.kinds[analysis.kind == 0 ? 1 : 0];
  kinds.subject.process_id = analysis.process_id;
  kinds.subject.phase = phase;
  kinds.step_share = 1 - ranked.time_share;
  kinds.evidence = {{"steps", static_cast<double>(all), {}, {}},
                    {"kinds", static_cast<double>(analysis.kinds.size()), {}, {}},
                    {"ranked_kind", static_cast<double>(analysis.kind + 1), {}, {}},
                    {"ranked_steps", static_cast<double>(ranked.steps), {}, {}},
                    {"ranked_median_ns", ranked.median_ns, Tier::t0, {}},
                    {"ranked_launches", static_cast<double>(ranked.launches), {}, {}},
                    {"other_kind", static_cast<double>(analysis.kind == 0 ? 2 : 1), {}, {}},
                    {"other_steps", static_cast<double>(other.steps), {}, {}},
                    {"other_median_ns", other.median_ns, Tier::t0, {}},
                    {"other_launches", static_cast<double>(other.launches), {}, {}}};
  findings.push_back(std::move(kinds));
}

// Indices of the rows, which are by process and start, that start in the step's window.
template <typename Row>
std::vector<std::size_t> started_in(const std::vector<Row>& rows, const RepresentativeStep& step,
                                    store::Id process_id) {
  const auto before = [](const Row& row, const std::pair<store::Id, std::int64_t>& place) {
    return std::pair(row.process_id, row.start_ns) < place;
  };
  const auto place_of = [&](std::int64_t at_ns) {
    return std::lower_bound(rows.begin(), rows.end(), std::pair(process_id, at_ns), before) - rows.begin();
  };
  std::vector<std::size_t> found;
  const auto end = place_of(step.window_end_ns);
  for (auto i = place_of(step.window_start_ns); i < end; ++i) found.push_back(static_cast<std::size_t>(i));
  return found;
}

}  // namespace

RepresentativeStep represent(const Model& model, const StepSummary& summary) {
  RepresentativeStep representative;
  const ModelStep& item = model.steps[summary.index];
  if (summary.source == StepSource::window) representative.scope = ScopeKind::recording;
  representative.summary = summary;
  representative.launches = item.launches;
  representative.window_start_ns = summary.gpu_start_ns;
  representative.window_end_ns = summary.gpu_start_ns + summary.gpu_duration_ns;
  // By time: what a step copies before its first kernel runs in the window of the step before it, as idle time does.
  representative.memcpys = started_in(model.memcpys, representative, summary.process_id);
  representative.memsets = started_in(model.memsets, representative, summary.process_id);
  return representative;
}

std::vector<StepSummary> summarise_steps(const Model& model) {
  std::vector<StepSummary> steps;
  steps.reserve(model.steps.size());
  for (StepIndex i = 0; i < model.steps.size(); ++i) steps.push_back(summarise(model, i));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepSummary& step = steps[i];
    step.settled = i > 0 && steps[i - 1].process_id == step.process_id &&
                   steps[i - 1].step_index + 1 == step.step_index && steps[i - 1].phase == step.phase;
    if (step.gpu_start_ns == 0) continue;
    const StepSummary* next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
    step.closed = next != nullptr && next->process_id == step.process_id &&
                  next->step_index == step.step_index + 1 && next->phase == step.phase &&
                  step.source != StepSource::window &&  // nothing was recorded between two of them
                  next->gpu_start_ns > step.gpu_start_ns;
    step.gpu_duration_ns = (step.closed ? next->gpu_start_ns : step.gpu_end_ns) - step.gpu_start_ns;
  }
  std::set<store::Id> processes;
  for (const StepSummary& step : steps) processes.insert(step.process_id);
  for (const store::Id process : processes) {
    const Pool pool = pool_of(steps, process);
    if (pool.empty()) continue;
    std::vector<StepKind> kinds;
    const std::vector<int> of = kinds_of(pool, kinds);
    std::map<const StepSummary*, int> known;
    std::vector<const StepSummary*> firsts(kinds.size(), nullptr);
    for (std::size_t i = 0; i < pool.size(); ++i) {
      known.emplace(pool[i], of[i]);
      auto& first = firsts[static_cast<std::size_t>(of[i])];
      if (first == nullptr) first = pool[i];
    }
    for (StepSummary& step : steps) {
      if (step.process_id != process || step.launches == 0) continue;
      if (const auto found = known.find(&step); found != known.end()) {
        step.kind = found->second;
        continue;
      }
      const auto like = std::find_if(firsts.begin(), firsts.end(),
                                     [&](const StepSummary* first) { return same_kind(*first, step); });
      if (like != firsts.end()) step.kind = static_cast<int>(like - firsts.begin());
    }
  }
  return steps;
}

namespace {

// The steps of the pool that are of the kind asked for, those that are closed if some are.
Pool of_one_kind(const Pool& pool, const StepOptions& options, StepAnalysis& analysis) {
  const std::vector<int> of = kinds_of(pool, analysis.kinds);
  analysis.kind = std::min(options.kind, analysis.kinds.size() - 1);
  Pool chosen;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    if (static_cast<std::size_t>(of[i]) == analysis.kind) chosen.push_back(pool[i]);
  }
  if (std::any_of(chosen.begin(), chosen.end(), [](const StepSummary* step) { return step->closed; }))
    std::erase_if(chosen, [](const StepSummary* step) { return !step->closed; });
  return chosen;
}

Remedy mark_steps(const Model& model) {
  return model.imported() ? Remedy::name_steps : Remedy::mark_steps;
}
Remedy more_steps(const Model& model) {
  return model.imported() ? Remedy::trace_more_steps : Remedy::record_more_steps;
}

void find(StepAnalysis& analysis, Severity severity, FindingCode code, Remedy remedy, std::size_t count = 1) {
  Finding finding{.severity = severity, .code = code, .remedy = remedy};
  finding.count = static_cast<std::int64_t>(count);
  analysis.findings.push_back(std::move(finding));
}

// Chooses the representative step, or the one that is asked for. Failure: usage.
Result<RepresentativeStep> choose(const Model& model, const Pool& pool, const StepOptions& options,
                                  StepAnalysis& analysis) {
  if (options.step_index) {
    const auto asked =
        std::find_if(analysis.steps.begin(), analysis.steps.end(), [&](const StepSummary& step) {
          return step.process_id == analysis.process_id && step.step_index == *options.step_index;
        });
    if (asked == analysis.steps.end() || asked->gpu_duration_ns <= 0 || asked->launches == 0) {
      return Failure{ErrorKind::usage, "the capture holds no GPU work of step " +
                                           std::to_string(*options.step_index) +
                                           ": `ridgeline steps` lists what there is"};
    }
    return represent(model, *asked);
  }
  if (!pool.empty()) return represent(model, *median_of(pool));
  find(analysis, Severity::warning, FindingCode::steps_none, mark_steps(model), analysis.steps.size());
  return represent_recording(model, analysis.process_id);
}

// What marks the steps, and how well they stand for all.
void find_basis(const Model& model, const Pool& pool, Phase phase, StepAnalysis& analysis) {
  if (!pool.empty() && phase != Phase::timeline) {
    find(analysis, Severity::warning, FindingCode::steps_no_timeline, more_steps(model));
    analysis.findings.back().subject.phase = phase;
  }
  const RepresentativeStep& representative = analysis.representative;
  std::optional<StepSource> source;
  if (!representative.whole_recording) source = model.steps[representative.summary.index].step.source;
  const bool window = source == StepSource::window;
  if (window) find(analysis, Severity::warning, FindingCode::steps_window, mark_steps(model));
  if (source == StepSource::period)
    find(analysis, Severity::info, FindingCode::steps_period, mark_steps(model));
  if (!pool.empty() && pool.size() < 3 && !window)
    find(analysis, Severity::info, FindingCode::steps_few, more_steps(model), pool.size());
  if (!pool.empty() && !representative.whole_recording && !representative.summary.closed)
    find(analysis, Severity::info, FindingCode::steps_open, more_steps(model));
}

}  // namespace

Result<StepAnalysis> analyze_steps(const Model& model, const StepOptions& options) {
  const std::optional<store::Id> busiest = busiest_process(model);
  if (!busiest) {
    return Failure{
        ErrorKind::no_data,
        model.launches.empty() && model.process_totals.empty()
            ? "the capture holds no kernel launch: was the program's GPU work recorded? see `ridgeline info`"
            : "no launch of the capture has a timestamp: record it again, see `ridgeline doctor`"};
  }
  StepAnalysis analysis;
  analysis.process_id = options.process_id.value_or(*busiest);
  if (!kernel_times(model).contains(analysis.process_id)) {
    return Failure{ErrorKind::usage, "the capture holds no GPU work of process " +
                                         std::to_string(analysis.process_id) +
                                         ": `ridgeline info` lists its processes"};
  }
  analysis.steps = summarise_steps(model);

  Pool pool = pool_of(analysis.steps, analysis.process_id);
  const Phase phase = pool.empty() ? Phase::timeline : pool.front()->phase;
  if (!pool.empty()) {
    pool = of_one_kind(pool, options, analysis);
    analysis.spread = spread_of(pool);
  }
  Result<RepresentativeStep> chosen = choose(model, pool, options, analysis);
  if (!chosen) return chosen.failure();
  analysis.representative = std::move(chosen).value();
  analysis.representative.is_median =
      !pool.empty() && analysis.representative.summary.index == median_of(pool)->index;
  // What varies between launches at one place is known from steps that launch the same.
  for (const StepSummary* step : pool) {
    if (step->sequence_hash == analysis.representative.summary.sequence_hash)
      analysis.representative.peers.push_back(step->index);
  }

  find_basis(model, pool, phase, analysis);
  find_outliers(pool, analysis.spread, options, analysis.findings);
  if (!pool.empty()) {
    // Pieces of a window are not alike, and need not be.
    if (!options.step_index && pool.front()->source != StepSource::window)
      find_kinds(analysis, phase, analysis.findings);
    find_changes(analysis.steps, analysis.process_id, analysis.findings);
  }
  return analysis;
}

}  // namespace ridgeline::analyzer
