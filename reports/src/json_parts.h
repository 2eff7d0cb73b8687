// json_parts.h: the parts that several JSON documents share.
#pragma once

#include <nlohmann/json.hpp>

#include "ridgeline/analyzer/analysis.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json capture_json(const analyzer::Model& model);
[[nodiscard]] Json step_json(const analyzer::StepAnalysis& steps);
[[nodiscard]] Json peaks_json(const analyzer::UtilisationAnalysis& utilisation);
[[nodiscard]] Json ranking_options_json(const analyzer::RankOptions& options);
[[nodiscard]] Json ranking_totals_json(const analyzer::Ranking& ranking);
[[nodiscard]] Json throughput_json(const analyzer::Throughput& throughput);
/// null if nothing is declared.
[[nodiscard]] Json declared_json(const std::optional<analyzer::WorkSum>& total);
[[nodiscard]] Json check_json(const analyzer::Ranking& ranking, const analyzer::TargetCheck& check);
[[nodiscard]] Json accounting_json(const analyzer::Model& model, const analyzer::Accounting& accounting);
[[nodiscard]] Json stalls_json(const analyzer::StallAnalysis& stalls);
[[nodiscard]] Json quality_json(const analyzer::Quality& quality);
[[nodiscard]] Json findings_json(const analyzer::Findings& findings);

/// null or the value.
template <typename T>
[[nodiscard]] Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace ridgeline::reports
