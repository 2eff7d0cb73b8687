#include "ridgeline/analyzer/findings/quality.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "findings/assess.h"
#include "ridgeline/analyzer/model/price.h"
#include "values/merge.h"

namespace ridgeline::analyzer {

namespace {

void add(Quality& quality, Severity severity, FindingCode code, std::int64_t count = 1,
         Remedy remedy = Remedy::none) {
  Finding finding{.severity = severity, .code = code, .count = count, .remedy = remedy};
  quality.findings.push_back(std::move(finding));
}

void assess_run(const store::Run& run, Quality& quality) {
  if (!run.end_ns) add(quality, Severity::warning, FindingCode::run_interrupted);
  if (run.exit_signal) {
    add(quality, Severity::warning, FindingCode::run_signal);
    quality.findings.back().evidence = {{"signal", static_cast<double>(*run.exit_signal), {}, {}}};
  } else if (run.exit_status.value_or(0) != 0) {
    add(quality, Severity::warning, FindingCode::run_exit_status);
    quality.findings.back().evidence = {{"exit_status", static_cast<double>(*run.exit_status), {}, {}}};
  }
}

FindingCode code_of(TierOutcome outcome) {
  if (outcome == TierOutcome::partial) return FindingCode::tier_partial;
  return outcome == TierOutcome::refused ? FindingCode::tier_refused : FindingCode::tier_failed;
}

// Without the timeline there are no times; without another tier some values are missing.
Severity severity_of(const store::TierStatus& row) {
  if (row.status == TierOutcome::partial) return Severity::info;
  return row.tier == Tier::t0 ? Severity::error : Severity::warning;
}

// The worst case is the table that misses the most.
void assess_lost_rows(const Model& model, Quality& quality) {
  const store::LostRows* worst = nullptr;
  const auto missing = [](const store::LostRows& lost) {
    return std::fabs(static_cast<double>(lost.written) - static_cast<double>(lost.rows));
  };
  for (const store::LostRows& lost : model.lost_rows) {
    if (worst == nullptr || missing(lost) > missing(*worst)) worst = &lost;
  }
  if (worst == nullptr) return;
  add(quality, Severity::error, FindingCode::rows_lost, static_cast<std::int64_t>(model.lost_rows.size()),
      Remedy::record_again);
  Finding& finding = quality.findings.back();
  finding.subject.name = worst->table;
  finding.evidence = {{"rows", static_cast<double>(worst->rows), {}, {}},
                      {"rows_written", static_cast<double>(worst->written), {}, {}}};
  quality.complete = false;
}

// Of which of several processes a finding is must be said: another one is analysed, perhaps.
void name_process(const Model& model, std::optional<store::Id> process_id, Finding& finding) {
  finding.subject.process_id = process_id;
  if (process_id && model.processes.size() > 1)
    finding.evidence.push_back({"processes", static_cast<double>(model.processes.size()), {}, {}});
}

// Information that a reader of the figures needs: which steps they are of where the program's own word was
// not asked for.
bool tells_of_steps(const Reason& said) {
  return said.code == ReasonCode::steps_by_range || said.code == ReasonCode::price ||
         said.code == ReasonCode::turns ||
         (said.code == ReasonCode::steps_by_period && said.number("varies") != 0);
}

// Below this share of a step what recording costs is information.
constexpr double kPriceThatMatters = 0.02;

// Alone and recorded, as the recording itself measured it.
void add_price(const Model& model, store::Id process_id, Quality& quality) {
  const auto price = recording_price(model, process_id);
  if (!price) return;
  const double ratio = price->difference_ns() / price->alone_ns;
  const bool matters = price->certain() && ratio >= kPriceThatMatters;
  add(quality, matters ? Severity::warning : Severity::info, FindingCode::recording_price);
  Finding& finding = quality.findings.back();
  name_process(model, process_id, finding);
  if (price->certain()) {
    finding.magnitude_ns = price->difference_ns();
    finding.step_share = price->difference_ns() / price->recorded_ns;
  }
  finding.evidence.insert(finding.evidence.end(),
                          {{"alone_ns", price->alone_ns, {}, {}},
                           {"recorded_ns", price->recorded_ns, {}, {}},
                           {"difference_ratio", ratio, {}, {}},
                           {"error_ratio", price->error_ns / price->alone_ns, {}, {}},
                           {"steps_alone", static_cast<double>(price->steps_alone), {}, {}},
                           {"steps_recorded", static_cast<double>(price->steps_recorded), {}, {}},
                           {"launches", static_cast<double>(price->launches), {}, {}},
                           {"remained_ns", price->remained_ns, {}, {}}});
  if (price->kept_ns) finding.evidence.push_back({"kept_ns", *price->kept_ns, {}, {}});
}

void add_messages(const Model& model, Quality& quality) {
  for (const store::Message& message : model.messages) {
    if (message.severity == Severity::info && !tells_of_steps(message.what)) continue;
    add(quality, message.severity, FindingCode::collector);
    quality.findings.back().detail = message.what;
    name_process(model, message.process_id, quality.findings.back());
  }
}

}  // namespace

void assess_completeness(const QualityInput& input, Quality& quality) {
  std::int64_t truncated = 0;
  Finding differ{.severity = Severity::error, .code = FindingCode::completeness_launches, .count = 0};
  double seen = 0, recorded = 0;
  for (const store::Completeness& row : input.model.completeness) {
    quality.launches_seen += row.launches_seen;
    quality.kernel_records += row.kernel_records;
    quality.graph_kernel_records += row.graph_kernel_records;
    quality.dropped_records += row.dropped_records + row.lost_spool_records;
    quality.zero_timestamps += row.zero_timestamps;
    truncated += row.truncated_bytes;
    if (row.launches_seen == row.kernel_records) continue;
    ++differ.count;
    differ.subject.process_id = row.process_id;
    seen += static_cast<double>(row.launches_seen);
    recorded += static_cast<double>(row.kernel_records);
  }
  quality.completeness_known = !input.model.completeness.empty();
  quality.complete = quality.completeness_known && differ.count == 0 && quality.dropped_records == 0 &&
                     quality.zero_timestamps == 0 && truncated == 0;
  if (differ.count > 0) {
    differ.evidence = {{"launches_seen", seen, {}, {}}, {"launches_recorded", recorded, {}, {}}};
    differ.remedy = Remedy::record_again;
    quality.findings.push_back(std::move(differ));
  }
  if (!quality.completeness_known) add(quality, Severity::warning, FindingCode::completeness_unknown);
  if (quality.dropped_records > 0)
    add(quality, Severity::error, FindingCode::completeness_dropped, quality.dropped_records,
        Remedy::record_again);
  if (quality.zero_timestamps > 0)
    add(quality, Severity::warning, FindingCode::completeness_zero_timestamps, quality.zero_timestamps);
  if (truncated > 0) {
    add(quality, Severity::warning, FindingCode::completeness_truncated);
    quality.findings.back().evidence = {{"truncated_bytes", static_cast<double>(truncated), {}, {}}};
  }
  assess_lost_rows(input.model, quality);
  if (input.model.run) assess_run(*input.model.run, quality);
}

void assess_tiers(const QualityInput& input, Quality& quality) {
  for (const store::TierStatus& row : input.model.tier_statuses) {
    quality.tiers.push_back({row.process_id, row.tier, row.status, row.reason.value_or(Reason())});
    if (row.status == TierOutcome::ok || row.status == TierOutcome::not_requested) continue;
    add(quality, severity_of(row), code_of(row.status), 1, Remedy::run_doctor);
    Finding& finding = quality.findings.back();
    name_process(input.model, row.process_id, finding);
    finding.subject.tier = row.tier;
    finding.detail = row.reason.value_or(Reason());
  }
  for (const StepSummary& step : input.steps.steps) {
    if (step.process_id == input.steps.process_id && step.status == StepStatus::mismatch)
      ++quality.mismatched_steps;
  }
}

Quality assess_quality(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
                       const QualityOptions& options) {
  const QualityInput input{model, steps, utilisation, options};
  Quality quality;
  assess_completeness(input, quality);
  assess_tiers(input, quality);
  assess_coverage(input, quality);
  assess_tier_shares(input, quality);
  assess_disagreements(input, quality);
  compare_tiers(input, quality);
  assess_clocks(input, quality);
  add_price(model, steps.process_id, quality);
  add_messages(model, quality);
  // Who recorded says it too: with what was looked for, or for what its timeline is not whole.
  const auto is_message = [&](ReasonCode code) {
    return std::any_of(model.messages.begin(), model.messages.end(),
                       [&](const store::Message& message) { return message.what.code == code; });
  };
  const bool said = is_message(ReasonCode::no_steps);
  std::erase_if(quality.findings, [&](const Finding& finding) {
    return finding.code == FindingCode::tier_partial &&
           finding.detail.code == ReasonCode::import_hidden_graphs && is_message(finding.detail.code);
  });
  for (const Findings* found : {&steps.findings, &utilisation.findings}) {
    std::copy_if(
        found->begin(), found->end(), std::back_inserter(quality.findings),
        [&](const Finding& finding) { return !(said && finding.code == FindingCode::steps_window); });
  }
  explain_outliers(input, quality.findings);
  quality.findings = merged(quality.findings);
  std::stable_sort(quality.findings.begin(), quality.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return quality;
}

}  // namespace ridgeline::analyzer
