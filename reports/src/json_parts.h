// json_parts.h: the parts that several JSON documents share.
#pragma once

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

[[nodiscard]] JsonPart capture_json(const analyzer::Model& model);
[[nodiscard]] JsonPart step_json(const analyzer::StepAnalysis& steps);
[[nodiscard]] JsonPart peaks_json(const analyzer::UtilisationAnalysis& utilisation);
/// Roofs and the step under them; its kernels are rows of roofline_table().
[[nodiscard]] JsonPart roofline_json(const analyzer::Roofline& roofline);
/// Cost of the clock and joules of the step; null what is not known.
[[nodiscard]] JsonPart power_json(const analyzer::StepPower& power);
[[nodiscard]] JsonPart ranking_options_json(const analyzer::RankingOptions& options);
[[nodiscard]] JsonPart ranking_totals_json(const analyzer::Ranking& ranking);
[[nodiscard]] JsonPart throughput_json(const analyzer::Throughput& throughput);
/// null if nothing is declared.
[[nodiscard]] JsonPart declared_json(const std::optional<analyzer::WorkSum>& total);
[[nodiscard]] JsonPart check_json(const analyzer::Ranking& ranking, const analyzer::TargetCheck& check);
[[nodiscard]] JsonPart accounting_json(const analyzer::Model& model, const analyzer::Accounting& accounting);
/// The lines of the headline: kind, text.
[[nodiscard]] JsonPart headline_json(const analyzer::Model& model, const analyzer::Analysis& analysis);
/// A list of texts.
[[nodiscard]] JsonPart texts_json(const std::vector<std::string>& texts);
[[nodiscard]] JsonPart stalls_json(const analyzer::StallAnalysis& stalls);
[[nodiscard]] JsonPart quality_json(const analyzer::Quality& quality);
[[nodiscard]] JsonPart advice_json(const analyzer::AdviceReport& report, const analyzer::Quality& quality);
[[nodiscard]] JsonPart findings_json(const analyzer::Findings& findings);

}  // namespace ridgeline::reports
