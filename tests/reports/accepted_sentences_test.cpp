// The sentence of every finding, reason, absence and piece of advice, with and without each of the figures that it may
// have, held against tests/golden/tables: people read them, so that a change of one is a diff to be read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/finding_text.h"
#include "ridgeline/reports/ranks_document.h"
#include "ridgeline/reports/reason_text.h"
#include "support/accepted_table.h"

namespace ridgeline::reports {
namespace {

using analyzer::Absence;
using analyzer::Advice;
using analyzer::AdviceReport;
using analyzer::Evidence;
using analyzer::Finding;
using analyzer::FindingCode;

constexpr std::string_view kFigures[] = {"allowed_ratio",
                                         "alone_ns",
                                         "communication_ns",
                                         "concurrent_ratio",
                                         "coverage_ratio",
                                         "difference_ratio",
                                         "dram_t1_ratio",
                                         "dram_t2_ratio",
                                         "error_ratio",
                                         "exit_status",
                                         "gaps_ns",
                                         "host_bound_ns",
                                         "kinds",
                                         "launch_bound_ns",
                                         "launches",
                                         "launches_recorded",
                                         "launches_seen",
                                         "least_hz",
                                         "longest_ns",
                                         "lowest_hz",
                                         "mean_ns",
                                         "measured_to_declared",
                                         "median_ns",
                                         "most_hz",
                                         "other_kind",
                                         "other_launches",
                                         "other_median_ns",
                                         "other_steps",
                                         "others_hz",
                                         "processes",
                                         "queued_ns",
                                         "ranked_launches",
                                         "ranked_median_ns",
                                         "ranked_steps",
                                         "reached_ns",
                                         "recorded_ns",
                                         "remained_ns",
                                         "replay_hz",
                                         "replay_ns",
                                         "rows",
                                         "rows_written",
                                         "samples_ratio",
                                         "saved_ns",
                                         "shortest_ns",
                                         "shown_ratio",
                                         "signal",
                                         "step_ns",
                                         "steps",
                                         "steps_alone",
                                         "steps_recorded",
                                         "surplus_bytes",
                                         "synchronisation_ns",
                                         "tail_ns",
                                         "target_ratio",
                                         "tensor_t1_ratio",
                                         "tensor_t2_ratio",
                                         "time_ns",
                                         "timeline_hz",
                                         "timeline_ns",
                                         "truncated_bytes",
                                         "unknown_ns",
                                         "utilisation_ratio",
                                         "without_gpu_ns"};

// Another for each name, in the range of its unit.
double figure(std::string_view name, std::size_t i) {
  if (name.ends_with("_ratio")) return 0.013 * static_cast<double>(i + 1);
  if (name.ends_with("_ns")) return 1.07e6 * static_cast<double>(i + 1);
  if (name.ends_with("_hz")) return 1.2e9 + 1e7 * static_cast<double>(i);
  if (name.ends_with("_bytes")) return 1.3e6 * static_cast<double>(i + 1);
  return static_cast<double>(i % 7 + 2);
}

Finding whole_finding(FindingCode code, std::int64_t count) {
  Finding finding{.code = code, .count = count};
  finding.subject.name = "void kernel<float>(float*)";
  finding.subject.process_id = 2;
  finding.subject.steps = {4, 5, 9};
  finding.subject.phase = Phase::replay;
  finding.subject.status = StepStatus::ok;
  finding.subject.tier = Tier::t1;
  finding.magnitude_ns = 1.5e6;
  finding.step_share = 0.031;
  finding.detail = "what was said";
  finding.also = {"second", "third"};
  finding.peak = analyzer::Peak{.value = 3e12, .detail = "a data sheet", .spread_ratio = 0.01};
  finding.missing_source = PeakSource::counter;
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    if (kFigures[i] != "processes") finding.evidence.push_back({kFigures[i], figure(kFigures[i], i), {}, {}});
  }
  return finding;
}

std::string findings_table() {
  std::string table;
  for (const auto& word : Vocabulary<FindingCode>::kWords) {
    const auto add = [&](const std::string& what, const Finding& finding) {
      table += fmt::format("finding {}, {}: {}\n", word.text, what, finding_text(finding));
    };
    const Finding whole = whole_finding(word.value, 3);
    add("three", whole);
    for (const std::int64_t count : {1, 2}) add(fmt::format("{}", count), whole_finding(word.value, count));
    add("alone", Finding{.code = word.value});
    const std::string usual = finding_text(whole);
    const auto differing = [&](const std::string& what, const Finding& finding) {
      if (finding_text(finding) != usual) add(what, finding);
    };
    for (std::size_t i = 0; i < whole.evidence.size(); ++i) {
      Finding one = whole;
      one.evidence.erase(one.evidence.begin() + static_cast<std::ptrdiff_t>(i));
      differing("without " + std::string(whole.evidence[i].name), one);
      one = whole;
      one.evidence[i].value = 0;
      differing("0 " + std::string(whole.evidence[i].name), one);
      one.evidence[i].value = 1;
      differing("1 " + std::string(whole.evidence[i].name), one);
      one.evidence[i].value = whole.evidence[i].value * 300;
      differing("much " + std::string(whole.evidence[i].name), one);
      one = whole;
      one.evidence[i].error = whole.evidence[i].value / 50;
      differing("error of " + std::string(whole.evidence[i].name), one);
    }
    const auto changed = [&](const std::string& what, const auto& change) {
      Finding one = whole;
      change(one);
      differing(what, one);
    };
    changed("of several processes", [](Finding& f) { f.evidence.push_back({"processes", 4, {}, {}}); });
    changed("without a name", [](Finding& f) { f.subject.name = {}; });
    changed("without a detail", [](Finding& f) { f.detail = {}; });
    changed("without others", [](Finding& f) { f.also = {}; });
    changed("without steps", [](Finding& f) { f.subject.steps = {}; });
    changed("one step", [](Finding& f) { f.subject.steps = {4}; });
    changed("seven steps", [](Finding& f) { f.subject.steps = {1, 3, 5, 7, 9, 11, 13}; });
    changed("without a share", [](Finding& f) { f.step_share.reset(); });
    changed("without a magnitude", [](Finding& f) { f.magnitude_ns.reset(); });
    changed("without a peak", [](Finding& f) { f.peak.reset(); });
    changed("of a range", [](Finding& f) { f.scope = analyzer::ScopeKind::range; });
    changed("of a recording", [](Finding& f) { f.scope = analyzer::ScopeKind::recording; });
    for (const auto& remedy : Vocabulary<analyzer::Remedy>::kWords)
      changed("remedy " + std::string(remedy.text), [&](Finding& f) { f.remedy = remedy.value; });
    for (const auto& tier : Vocabulary<Tier>::kWords)
      changed("tier " + std::string(tier.text), [&](Finding& f) { f.subject.tier = tier.value; });
  }
  for (const auto& missing : Vocabulary<MissingReason>::kWords) {
    Finding finding = whole_finding(FindingCode::missing, 3);
    finding.missing = missing.value;
    table += fmt::format("missing {}: {}\n", missing.text, finding_text(finding));
    finding.why = {Absence{.cause = analyzer::AbsenceCause::no_replay_step}};
    table += fmt::format("missing {}, and why: {}\n", missing.text, finding_text(finding));
  }
  return table;
}

constexpr std::string_view kNumbers[] = {
    "alone_ns",      "bytes",       "by_order",    "calls",     "candidates",     "correlation", "counted",
    "covered_ratio", "dropped",     "duration_ns", "error_ns",  "events",         "expected",    "first_step",
    "imported",      "interval_ns", "kernels",     "launches",  "launches_ratio", "limit",       "measured",
    "metrics",       "missing",     "no_device",   "no_metric", "of_launches",    "of_steps",    "periods",
    "pid",           "position",    "ran",         "ranges",    "received",       "recorded_ns", "records",
    "samples",       "searched",    "steps",       "step_ns",   "stretches",      "too_many",    "values",
    "varies"};
constexpr std::string_view kTexts[] = {"category", "cause",  "counted_grid", "damage", "end",   "event",
                                       "gzip",     "kernel", "metric",       "name",   "names", "outcome",
                                       "ran_grid", "source", "step_range",   "tier",   "trace"};

std::string reasons_table() {
  std::string table;
  for (const auto& word : Vocabulary<ReasonCode>::kWords) {
    std::vector<ReasonValue> values;
    for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
      const std::string_view name = kNumbers[i];
      if (name.ends_with("_ratio"))
        values.emplace_back(name, 0.011 * static_cast<double>(i + 1));
      else
        values.emplace_back(name,
                            static_cast<std::int64_t>(name.ends_with("_ns") ? 1'100'000 * (i + 1) : i + 2));
    }
    for (const std::string_view name : kTexts) values.emplace_back(name, "some " + std::string(name));
    const auto add = [&](const std::string& what, const Reason& reason) {
      table += fmt::format("reason {}, {}: {}\n", word.text, what, reason_text(reason));
    };
    const Reason whole(word.value, values, {"because of this", "and that"});
    add("whole", whole);
    add("alone", Reason(word.value));
    const std::string usual = reason_text(whole);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto differing = [&](const char* what, const std::vector<ReasonValue>& changed) {
        const Reason reason(word.value, changed, {"because of this", "and that"});
        if (reason_text(reason) != usual) add(what + values[i].name, reason);
      };
      std::vector<ReasonValue> changed = values;
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
      differing("without ", changed);
      if (i >= std::size(kNumbers)) continue;
      changed = values;
      changed[i].value = std::int64_t{0};
      differing("0 ", changed);
      changed[i].value = std::int64_t{1};
      differing("1 ", changed);
    }
  }
  return table;
}

std::string absences_table() {
  std::string table;
  for (int cause = 0; cause <= static_cast<int>(analyzer::AbsenceCause::cut_in_time); ++cause) {
    Absence absence{.cause = static_cast<analyzer::AbsenceCause>(cause),
                    .tier = Tier::t2,
                    .outcome = TierOutcome::partial,
                    .status = StepStatus::ok,
                    .phase = Phase::replay,
                    .step_index = 7,
                    .exclusion = ExclusionReason::unknown,
                    .name = "a name",
                    .detail = "what was said"};
    const auto add = [&](std::string_view what) {
      table += fmt::format("absence {}, {}: {}\n", cause, what, absence_text(absence));
    };
    add("whole");
    absence.detail = {};
    add("without a detail");
    absence.name = {};
    add("without a name");
    for (const auto& phase : Vocabulary<Phase>::kWords) {
      const std::string usual = absence_text(absence);
      Absence other = absence;
      other.phase = phase.value;
      if (absence_text(other) != usual)
        table += fmt::format("absence {}, {}: {}\n", cause, phase.text, absence_text(other));
    }
    for (const auto& outcome : Vocabulary<TierOutcome>::kWords) {
      Absence other = absence;
      other.outcome = outcome.value;
      if (absence_text(other) != absence_text(absence))
        table += fmt::format("absence {}, {}: {}\n", cause, outcome.text, absence_text(other));
    }
  }
  return table;
}

std::string advice_table() {
  std::string table;
  AdviceReport report;
  report.step_ns = 40e6;
  for (const auto& word : Vocabulary<analyzer::AdviceRule>::kWords) {
    Advice advice{.rule = word.value, .subject = "a subject", .launches = {12, 13, 14}, .launch_count = 43};
    advice.net = {1.9e6, 3.21e6, 3.78e6};
    table += fmt::format("advice {}: {} | {} | {} | {}\n", word.text, rule_meaning(word.value),
                         advice_action(advice), look_command(word.value, "a capture.ridge"),
                         rule_reference(word.value));
    for (const std::string_view name :
         {"gaps_ns", "bytes", "bytes_per_s", "flops", "launches_vary", "waits_ns", "n", "n_padded",
          "alignment_elements", "between_ns", "ranks", "held_ratio"}) {
      Advice with = advice;
      with.evidence = {{name, 5, {}, {}}};
      if (advice_action(with) != advice_action(advice))
        table += fmt::format("advice {} with {}: {}\n", word.text, name, advice_action(with));
    }
    for (const auto& basis : Vocabulary<analyzer::AdviceBasis>::kWords) {
      advice.basis = basis.value;
      for (const bool simulated : {false, true}) {
        advice.simulated = simulated;
        for (const double factor : {1.0, 0.75}) {
          advice.power_factor = factor;
          if (word.value == analyzer::AdviceRule::tail_wave)
            table += fmt::format("certainty {} {} {}: {}\n", basis.text, simulated, factor,
                                 certainty_text(advice));
        }
      }
    }
    for (const auto& need : Vocabulary<analyzer::AdviceNeed>::kWords) {
      for (const bool imported : {false, true}) {
        report.imported = imported;
        analyzer::AdviceUnknown unknown{word.value, need.value, "a kernel", 2.5e6};
        table += fmt::format("need {} of {}, imported {}: {}\n", need.text, word.text, imported,
                             need_text(report, unknown));
      }
    }
  }
  for (const double mid_ns : {0.0, 900.0, 45e3, 3.21e6}) {
    for (const double width : {0.0, 0.001, 0.5}) {
      const analyzer::AdviceGain gain{mid_ns * (1 - width), mid_ns, mid_ns * (1 + width)};
      table += fmt::format("gain {} ±{}: {}\n", mid_ns, width, gain_text(report, gain));
    }
  }
  std::vector<Evidence> evidence;
  for (std::size_t i = 0; i < std::size(kFigures); ++i)
    evidence.push_back({kFigures[i], figure(kFigures[i], i), {}, {}});
  for (const std::string_view name :
       {"moved_bytes", "rate_bytes_per_s", "flops", "power_w", "clock_hz", "launches"})
    evidence.push_back({name, 1'234'567, {}, {}});
  table += "evidence: " + evidence_text(evidence) + "\n";
  Advice many{.launches = {}, .launch_count = 0};
  for (const std::int64_t count : {0, 1, 2, 5, 12, 64, 100}) {
    many.launches.clear();
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 64); ++i) many.launches.push_back(10 + 3 * i);
    many.launch_count = count;
    table += fmt::format("launches {}: {}\n", count, launches_text(many));
  }
  return table;
}

std::string comparison_words_table() {
  std::string table;
  for (const auto& word : Vocabulary<comparison::ChangeCause>::kWords)
    table += fmt::format("cause {}: {}\n", word.text, cause_text(word.value));
  for (const auto& word : Vocabulary<comparison::OutcomeReason>::kWords)
    table += fmt::format("outcome {}: {}\n", word.text, outcome_reason_text(word.value));
  for (int cause = 0; cause <= static_cast<int>(analyzer::LatenessCause::unexplained); ++cause)
    table += fmt::format("late {}: {}\n", cause, cause_text(static_cast<analyzer::LatenessCause>(cause)));
  return table;
}

TEST(AcceptedTable, EveryWordOfComparisons) {
  ridgeline::testing::expect_accepted("comparison-words.txt", comparison_words_table());
}

TEST(AcceptedTable, EverySentenceOfFindings) {
  ridgeline::testing::expect_accepted("findings.txt", findings_table());
}

TEST(AcceptedTable, EverySentenceOfReasonsAndAbsences) {
  ridgeline::testing::expect_accepted("reasons.txt", reasons_table() + absences_table());
}

TEST(AcceptedTable, EverySentenceOfAdvice) {
  ridgeline::testing::expect_accepted("advice-sentences.txt", advice_table());
}

}  // namespace
}  // namespace ridgeline::reports
