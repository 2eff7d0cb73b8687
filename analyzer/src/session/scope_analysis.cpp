#include "session/scope_analysis.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "accounting/account.h"
#include "accounting/kernel_time.h"
#include "accounting/step_power.h"
#include "advice/advise.h"
#include "findings/pace.h"
#include "ridgeline/analyzer/execution/exposure.h"
#include "ridgeline/analyzer/ranking/launch_shape.h"
#include "utilisation/cut_launches.h"

namespace ridgeline::analyzer {

namespace {

// What a damaged capture claims may be anything.
constexpr std::int64_t kFarthestBoundNs = 3'000'000'000'000'000'000;
// A clock this near to the highest is not held back.
constexpr double kFullClock = 0.97;

bool is_partial(const Scope& scope) {
  return scope.device_id || scope.window || !scope.range.empty() || scope.calls;
}

// A recording of one device: what held its clocks back held those of the kernels that ran below the highest one.
void name_clock_limits(const Model& model, const Quality& quality, Ranking& ranking) {
  if (quality.clocks.size() != 1) return;
  const ClockSummary& clocks = quality.clocks.front();
  const store::Device* device = model.device(clocks.device_id);
  if (device == nullptr || !device->max_sm_clock_hz) return;
  std::string reasons;
  for (const std::string& reason : clocks.throttle_reasons) reasons += (reasons.empty() ? "" : ", ") + reason;
  for (RankingRow& row : ranking.rows) {
    if (row.sm_clock_hz && *row.sm_clock_hz < kFullClock * static_cast<double>(*device->max_sm_clock_hz))
      row.clock_limit = reasons;
  }
}

// Of a job, that are in the recording; 0: it is of none.
std::size_t ranks_in(const Model& model) {
  std::set<int> ranks;
  for (const store::Process& process : model.processes) {
    if (process.rank) ranks.insert(*process.rank);
  }
  return ranks.size();
}

}  // namespace

ScopeAnalysis::ScopeAnalysis(std::shared_ptr<const Model> model, const AnalysisOptions& options, Scope scope,
                             const QueryOptions& ask)
    : model_(std::move(model)), options_(options), scope_(std::move(scope)) {
  report_progress(ask, Stage::steps, model_->steps.size());
  Selection selection = value_or_throw(select(*model_, options_.steps, scope_));
  RepresentativeStep& step = selection.steps.representative;
  const auto bounded = [](std::int64_t ns) { return std::clamp(ns, -kFarthestBoundNs, kFarthestBoundNs); };
  step.from_start_ns = bounded(step.window_start_ns) - bounded(recording_start_ns(*model_));
  if (scope_.window) step.cut_launches = cut_by(*scope_.window, *model_, step.launches);
  selection_ = share(std::move(selection));
}

std::shared_ptr<const UtilisationAnalysis> ScopeAnalysis::utilisation(const QueryOptions& ask) {
  if (!utilisation_) {
    const StepAnalysis& steps = selection_->steps;
    report_progress(ask, Stage::utilisation, steps.representative.launches.size());
    UtilisationAnalysis made = analyze_utilisation(*model_, steps, options_.utilisation);
    if (steps.representative.cut_launches > 0) cut_to(*scope_.window, *model_, made.launches);
    utilisation_ = share(std::move(made));
  }
  return utilisation_;
}

const Exposure& ScopeAnalysis::exposure(const QueryOptions& ask) {
  if (!exposure_) {
    check_stop(ask);
    std::vector<TimeWindow> windows;
    for (const Selection::Part& part : selection_->parts)
      windows.push_back({part.step.window_start_ns, part.step.window_end_ns});
    exposure_ = exposed_times(*model_, selection_->steps.process_id, windows);
  }
  return *exposure_;
}

DeclaredRanges& ScopeAnalysis::ranges(const QueryOptions& ask) {
  if (!ranges_) {
    const auto measured = utilisation(ask);
    report_progress(ask, Stage::ranges, model_->nvtx_ranges.size());
    ranges_ = std::make_unique<DeclaredRanges>(*model_, selection_->steps, *measured,
                                               options_.utilisation.peaks, is_partial(scope_));
  }
  return *ranges_;
}

const SavingReach& ScopeAnalysis::reach(const QueryOptions& ask) {
  if (!reach_) {
    report_progress(ask, Stage::ranking, selection_->steps.representative.launches.size());
    ReachOptions wanted = options_.reach;
    wanted.launch_latency_ns = options_.accounting.launch_latency_ns;
    // A part of a step shortens the whole of it.
    std::vector<RepresentativeStep> steps;
    for (const Selection::Part& part : selection_->parts) {
      const StepSummary& summary = part.step.summary;
      const bool found = !part.step.whole_recording && summary.step_id != 0;
      // What was launched before the boundaries of a window or an instance, and waited for after them, is not followed.
      wanted.cut = wanted.cut || (!found && !part.step.whole_recording);
      steps.push_back(found && is_partial(scope_) ? represent(*model_, summary) : part.step);
    }
    reach_ = std::make_unique<SavingReach>(*model_, steps, wanted);
  }
  return *reach_;
}

std::shared_ptr<const Ranking> ScopeAnalysis::ranking(const RankingKeys& key, const QueryOptions& ask) {
  auto& slot = rankings_[key];
  if (slot) return slot;
  const auto measured = utilisation(ask);
  report_progress(ask, Stage::ranking, measured->launches.size());
  RankingOptions wanted = options_.ranking;
  wanted.key = key;
  wanted.bounds = options_.accounting.bounds;
  wanted.peaks = options_.utilisation.peaks;
  Ranking made = rank_kernels(*model_, selection_->steps, *measured, exposure(ask), wanted);
  reach(ask).add_to(*measured, made);
  if (DeclaredRanges& declared = ranges(ask); !declared.empty()) {
    for (RankingRow& row : made.rows) row.work = declared.of(row.launches);
    std::vector<std::uint32_t> all(measured->launches.size());
    std::iota(all.begin(), all.end(), 0U);
    made.totals.work = declared.of(all);
  }
  describe_shapes(*model_, *measured, made);
  name_clock_limits(*model_, assessed(ask), made);
  add_power({*model_, selection_->steps, *measured, exposure(ask), options_.utilisation.peaks}, made);
  return slot = share(std::move(made));
}

std::shared_ptr<const TargetCheck> ScopeAnalysis::check(const QueryOptions& ask) {
  if (!check_) {
    const auto ranked = ranking(RankingKey::kernel, ask);
    TargetCheck made = value_or_throw(check_targets(*utilisation_, *ranked, options_.targets));
    std::vector<std::uint32_t> missed;
    for (const KernelCheck& kernel : made.kernels) {
      const auto& launches = ranked->rows[kernel.row].launches;
      if (kernel.verdict == KernelVerdict::missed)
        missed.insert(missed.end(), launches.begin(), launches.end());
    }
    made.missed_reached_ns = reach(ask).of(*utilisation_, missed, options_.targets.target);
    // Whatever is left of it may meet or miss any target.
    if (!model_->lost_rows.empty()) {
      made.overall = OverallVerdict::not_enough_data;
      made.reason = CheckReason::rows_lost;
    }
    made.scope = ranked->scope;
    check_ = share(std::move(made));
  }
  return check_;
}

std::shared_ptr<const Accounting> ScopeAnalysis::accounting(const QueryOptions& ask) {
  if (!accounting_) {
    report_progress(ask, Stage::accounting, selection_->steps.representative.launches.size());
    Accounting made = account(*model_, *selection_, options_.accounting, scope_.device_id);
    made.kernels =
        kernel_time(*model_, *utilisation(ask), exposure(ask), made.device_id, options_.accounting.bounds);
    if (selection_->parts.size() == 1) mark_recording_gaps(*model_, selection_->steps.representative, made);
    accounting_ = share(std::move(made));
  }
  return accounting_;
}

std::shared_ptr<const Roofline> ScopeAnalysis::roofline(const RankingKeys& key, const QueryOptions& ask) {
  auto& slot = rooflines_[key];
  if (slot) return slot;
  const auto ranked = ranking(key, ask);
  const store::Id device_id = accounting(ask)->device_id;
  return slot = share(make_roofline(*model_, *utilisation_, *ranked, device_id, options_.utilisation.peaks));
}

std::shared_ptr<const std::vector<DeclaredWork>> ScopeAnalysis::declared_work(bool by_operation,
                                                                              const QueryOptions& ask) {
  auto& slot = work_[by_operation ? 1 : 0];
  if (!slot) {
    const DeclaredRanges& declared = ranges(ask);
    slot = share(by_operation ? declared.by_operation() : declared.by_path());
  }
  return slot;
}

std::shared_ptr<const StallAnalysis> ScopeAnalysis::stalls(const QueryOptions& ask) {
  if (!stalls_) {
    const auto ranked = ranking(RankingKey::kernel, ask);
    stalls_ = share(analyze_stalls(*model_, *utilisation_, *ranked, options_.stalls));
  }
  return stalls_;
}

std::shared_ptr<const Throughput> ScopeAnalysis::throughput(const QueryOptions& ask) {
  if (!throughput_) {
    const auto ranked = ranking(RankingKey::kernel, ask);
    // A part of a step works through an unknown part of what the step does.
    const StepSize size = is_partial(scope_) ? StepSize{} : declared_size(*model_, selection_->steps);
    Throughput made = step_throughput(*model_, *utilisation(ask), *ranked, options_.utilisation.peaks, size);
    made.scope = ranked->scope;
    throughput_ = share(std::move(made));
  }
  return throughput_;
}

const Quality& ScopeAnalysis::assessed(const QueryOptions& ask) {
  if (assessed_) return *assessed_;
  const auto measured = utilisation(ask);
  const StepAnalysis& steps = selection_->steps;
  Quality made = assess_quality(*model_, steps, *measured, options_.quality);
  if (!measured->launches.empty() && !ranges(ask).empty()) {
    const store::Id device_id = model_->launches.site(measured->launches.row(0).launch).device_id;
    if (const auto peak = choose_peak(*model_, device_id, Quantity::dram_bytes_per_s,
                                      dram_source(*model_, device_id, options_.utilisation.peaks))) {
      const RepresentativeStep& step = steps.representative;
      const Findings found = excess_findings(*declared_work(true, ask), peak.value().value,
                                             step.window_end_ns - step.window_start_ns);
      made.findings.insert(made.findings.end(), found.begin(), found.end());
    }
  }
  assessed_ = std::make_unique<Quality>(std::move(made));
  return *assessed_;
}

std::shared_ptr<const Quality> ScopeAnalysis::quality(const QueryOptions& ask) {
  if (quality_) return quality_;
  Quality made = assessed(ask);
  const Findings pace =
      pace_findings(selection_->steps.representative, *accounting(ask), *ranking(RankingKey::kernel, ask));
  // Before anything that is said of kernels, but after what makes the recording doubtful.
  const auto first = std::find_if(made.findings.begin(), made.findings.end(),
                                  [](const Finding& f) { return f.severity < Severity::error; });
  made.findings.insert(first, pace.begin(), pace.end());
  if (const std::optional<std::int64_t> gaps_ns = accounting(ask)->gap_recording_ns) {
    for (Finding& finding : made.findings)
      if (finding.code == FindingCode::recording_price)
        finding.evidence.push_back({"gaps_ns", static_cast<double>(*gaps_ns), {}, {}});
  }
  if (const std::size_t ranks = ranks_in(*model_); ranks > 0) {
    for (Finding& finding : made.findings)
      if (finding.code == FindingCode::communication)
        finding.evidence.push_back({"ranks", static_cast<double>(ranks), {}, {}});
  }
  made.scope = selection_->steps.representative.scope;
  for (Finding& finding : made.findings) finding.scope = made.scope;
  return quality_ = share(std::move(made));
}

std::shared_ptr<const AdviceReport> ScopeAnalysis::advice(const QueryOptions& ask) {
  if (!advice_) {
    const auto ranked = ranking(RankingKey::kernel, ask);
    DeclaredRanges& declared = ranges(ask);
    const AdviceInput input{*model_,
                            selection_->steps,
                            *utilisation_,
                            *ranked,
                            exposure(ask),
                            *accounting(ask),
                            *quality(ask),
                            *stalls(ask),
                            reach(ask),
                            declared.empty() ? nullptr : &declared,
                            options_.utilisation.peaks};
    check_stop(ask);
    advice_ = share(advise(input, options_.advice));
  }
  return advice_;
}

Analysis ScopeAnalysis::together(unsigned parts, const QueryOptions& ask) {
  Analysis all;
  all.steps = selection_->steps;
  all.utilisation = *utilisation(ask);
  const RankingKeys key =
      all.steps.representative.scope == ScopeKind::step || all.steps.representative.scope == ScopeKind::range
          ? options_.ranking.key
          : options_.window_key.value_or(options_.ranking.key);
  all.ranking = *ranking(key, ask);
  all.throughput = *throughput(ask);
  all.quality = *quality(ask);
  if ((parts & Session::kCheck) != 0) {
    all.check_ranking = *ranking(RankingKey::kernel, ask);
    all.check = *check(ask);
  }
  if ((parts & (Session::kAccounting | Session::kCheck)) != 0) all.accounting = *accounting(ask);
  if ((parts & Session::kStalls) != 0) all.stalls = *stalls(ask);
  if ((parts & Session::kDeclared) != 0) {
    all.declared_work = *declared_work(false, ask);
    all.declared_operations = *declared_work(true, ask);
  }
  if ((parts & Session::kAdvice) != 0) all.advice = *advice(ask);
  if ((parts & Session::kRoofline) != 0) {
    all.roofline = *roofline(key, ask);
    all.classes = *ranking(RankingKey::kernel_class, ask);
  }
  return all;
}

}  // namespace ridgeline::analyzer
