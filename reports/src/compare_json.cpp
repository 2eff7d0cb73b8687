// compare_json.cpp: a comparison as JSON, and back: what one job has measured, another may render.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare_parts.h"
#include "ridgeline/base/json_field.h"
#include "ridgeline/base/text.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using comparison::Change;
using comparison::Comparison;
using comparison::KernelChange;
using ParsedJson = nlohmann::json;
using nlohmann::ordered_json;

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json side_json(const comparison::ComparisonSide& side) {
  ordered_json json;
  json["captures"] = side.captures;
  json["git_commit"] = side.git_commit.empty() ? ordered_json(nullptr) : ordered_json(side.git_commit);
  json["git_dirty"] = side.git_dirty;
  json["command_line"] = side.command_line;
  json["device"] = side.device;
  json["sm_clock_hz"] = or_null(side.sm_clock_hz);
  json["power_w"] = or_null(side.power_w);
  json["temperature_c"] = or_null(side.temperature_c);
  json["two_modes"] = side.two_modes;
  json["launches"] = side.launches;
  return json;
}

std::string bound_key(analyzer::KernelBound bound) {
  return std::string(to_string(bound));
}

ordered_json options_json(const comparison::ComparisonOptions& options) {
  return {{"alpha", options.alpha},
          {"equivalence_alpha", options.equivalence_alpha},
          {"false_discovery_rate", options.false_discovery_rate},
          {"step_ratio", options.step_ratio},
          {"kernel_ratio", options.kernel_ratio},
          {"kernel_ns", options.kernel_ns},
          {"kernel_step_share_ratio", options.kernel_step_share},
          {"part_step_share_ratio", options.part_step_share},
          {"any_order", options.any_order},
          {"strict", options.strict},
          {"least_pairs", options.min_pairs},
          {"least_matched_ratio", options.min_matched_share}};
}

ordered_json budget_json(const Comparison& comparison, const comparison::BudgetCheck& check) {
  const analyzer::KernelBudget& budget = comparison.options.budgets[check.budget];
  ordered_json json;
  json["kernel"] = budget.kernel;
  json["matched"] =
      check.kernel ? ordered_json(change_name(comparison.kernels[*check.kernel])) : ordered_json();
  json["row"] = or_null(check.kernel);
  json["missed"] = check.missed;
  json["measured"] = check.measured;
  json["max_time_ns"] = or_null(budget.max_time_ns);
  json["max_dram_bytes"] = or_null(budget.max_dram_bytes);
  json["min_utilisation_ratio"] = or_null(budget.min_utilisation_ratio);
  json["reason"] = budget.reason;
  return json;
}

// What of a kernel has no place in a table's cell.
ordered_json kernel_json(const KernelChange& change) {
  ordered_json counts = ordered_json::array();
  for (const comparison::CountChange& count : change.counts)
    counts.push_back({{"name", count.name}, {"a", count.a}, {"b", count.b}});
  ordered_json json;
  json["a"] = change.kernels_a;
  json["b"] = change.kernels_b;
  json["family"] = change.family;
  json["bound_a"] = bound_key(change.bound_a);
  json["bound_b"] = bound_key(change.bound_b);
  json["hint"] = change.hint;
  json["adjusted_delta_ns"] = change.adjusted.delta;
  json["measured_low_ratio"] =
      change.time.interval ? ordered_json(change.time.interval->low) : ordered_json();
  json["measured_high_ratio"] =
      change.time.interval ? ordered_json(change.time.interval->high) : ordered_json();
  json["counts"] = std::move(counts);
  return json;
}

ordered_json ratio_json(const std::optional<comparison::Change>& change) {
  if (!change) return nullptr;
  ordered_json json;
  json["change_ratio"] = change->ratio;
  json["low_ratio"] = change->interval ? ordered_json(change->interval->low) : ordered_json(nullptr);
  json["high_ratio"] = change->interval ? ordered_json(change->interval->high) : ordered_json(nullptr);
  return json;
}

// --- back ---------------------------------------------------------------------------------------------------

[[noreturn]] void wrong(const std::string& what) {
  throw Error(ErrorKind::corrupt, what);
}

// A figure that cannot be, as the change of a kernel that was not there, is written as null.
double figure_of(const ParsedJson& object, const char* key) {
  return field::number_or_null(object, key).value_or(0);
}

std::int64_t count_of(const ParsedJson& object, const char* key) {
  return field::whole_or_null(object, key).value_or(0);
}

// What came later within version 1 is nothing where it is not there.
double figure_if(const ParsedJson& object, const char* key) {
  return object.contains(key) ? figure_of(object, key) : 0;
}

analyzer::KernelBound bound(const ParsedJson& object, const char* key) {
  using analyzer::KernelBound;
  const std::string name = field::text_or_null(object, key);
  for (const KernelBound each : {KernelBound::memory, KernelBound::compute, KernelBound::latency,
                                 KernelBound::too_short, KernelBound::no_roof, KernelBound::unmeasured}) {
    if (bound_key(each) == name) return each;
  }
  wrong(fmt::format("'{}' is no bound: '{}'", key, bounded_text(name, 40)));
}

std::optional<comparison::ChangeInterval> interval(const ParsedJson& object, const char* low,
                                                   const char* high) {
  const auto from = field::number_or_null(object, low);
  const auto to = field::number_or_null(object, high);
  if (!from || !to) return std::nullopt;
  return comparison::ChangeInterval{*from, *to};
}

std::optional<Change> ratio_of(const ParsedJson& document, const char* key, const char* a, const char* b) {
  const ParsedJson& object = field::member(document, key);
  if (object.is_null()) return std::nullopt;
  Change change;
  change.ratio = figure_of(object, "change_ratio");
  change.interval = interval(object, "low_ratio", "high_ratio");
  change.a = a != nullptr ? figure_of(object, a) : 1;
  change.b = b != nullptr ? figure_of(object, b) : 1 + change.ratio;
  return change;
}

comparison::ComparisonSide side_of(const ParsedJson& object) {
  comparison::ComparisonSide side;
  side.captures = field::texts(object, "captures");
  side.git_commit = field::text_or_null(object, "git_commit");
  side.git_dirty = field::flag(object, "git_dirty");
  side.command_line = field::text_or_null(object, "command_line");
  side.device = field::text_or_null(object, "device");
  side.sm_clock_hz = field::number_or_null(object, "sm_clock_hz");
  side.power_w = field::number_or_null(object, "power_w");
  if (const auto degrees = field::whole_or_null(object, "temperature_c"))
    side.temperature_c = static_cast<int>(std::clamp<std::int64_t>(*degrees, -300, 10000));
  side.two_modes = field::flag(object, "two_modes");
  side.launches = figure_if(object, "launches");
  return side;
}

comparison::ComparisonOptions options_of(const ParsedJson& object) {
  comparison::ComparisonOptions options;
  options.alpha = figure_of(object, "alpha");
  options.equivalence_alpha = figure_of(object, "equivalence_alpha");
  options.false_discovery_rate = figure_of(object, "false_discovery_rate");
  options.step_ratio = figure_of(object, "step_ratio");
  options.kernel_ratio = figure_of(object, "kernel_ratio");
  options.kernel_ns = figure_of(object, "kernel_ns");
  options.kernel_step_share = figure_of(object, "kernel_step_share_ratio");
  if (object.contains("part_step_share_ratio"))
    options.part_step_share = figure_of(object, "part_step_share_ratio");
  options.any_order = field::flag_if(object, "any_order");
  options.strict = field::flag(object, "strict");
  options.min_pairs = count_of(object, "least_pairs");
  options.min_matched_share = figure_of(object, "least_matched_ratio");
  return options;
}

void read_tests(const ParsedJson& row, Change& change) {
  change.interval = interval(row, "low_ratio", "high_ratio");
  change.interval_level = figure_of(row, "level_ratio");
  change.ratio = figure_of(row, "change_ratio");
  change.p = field::number_or_null(row, "p");
  change.same_p = field::number_or_null(row, "same_p");
  change.detectable_ratio = field::number_or_null(row, "detectable_ratio");
  change.pairs_needed = field::whole_or_null(row, "pairs_needed");
}

comparison::StepMetric part_of(const ParsedJson& row) {
  comparison::StepMetric part;
  part.name = field::text_or_null(row, "part");
  part.outcome = field::word<comparison::Outcome>(row, "outcome");
  part.reason = field::word<comparison::OutcomeReason>(row, "reason");
  part.time.a = figure_of(row, "time_a_ns");
  part.time.b = figure_of(row, "time_b_ns");
  part.time.delta = figure_of(row, "delta_ns");
  part.step_share = figure_if(row, "step_share_ratio");
  if (row.contains("kind")) part.kind = field::word<comparison::PartKind>(row, "kind");
  read_tests(row, part.time);
  return part;
}

comparison::TransferChange transfer_of(const ParsedJson& row) {
  comparison::TransferChange change;
  change.path = field::text_or_null(row, "path");
  change.kind = field::word<comparison::TransferKind>(row, "kind");
  if (change.kind == comparison::TransferKind::copy)
    change.direction = field::word<CopyKind>(row, "direction");
  change.outcome = field::word<comparison::Outcome>(row, "outcome");
  change.reason = field::word<comparison::OutcomeReason>(row, "reason");
  change.calls_a = figure_of(row, "calls_a");
  change.calls_b = figure_of(row, "calls_b");
  change.bytes_a = figure_of(row, "bytes_a");
  change.bytes_b = figure_of(row, "bytes_b");
  change.time.a = figure_of(row, "time_a_ns");
  change.time.b = figure_of(row, "time_b_ns");
  change.time.delta = change.time.b - change.time.a;
  change.exposed.a = figure_of(row, "exposed_a_ns");
  change.exposed.b = figure_of(row, "exposed_b_ns");
  change.exposed.delta = figure_of(row, "exposed_delta_ns");
  change.exposed.adjusted_p = field::number_or_null(row, "adjusted_p");
  return change;
}

KernelChange kernel_of(const ParsedJson& row, const ParsedJson& detail) {
  KernelChange change;
  change.kernels_a = field::texts(detail, "a");
  change.kernels_b = field::texts(detail, "b");
  if (change.kernels_a.empty() && change.kernels_b.empty()) wrong("a row without a kernel");
  change.family = field::text_or_null(detail, "family");
  change.bound_a = bound(detail, "bound_a");
  change.bound_b = bound(detail, "bound_b");
  change.hint = field::flag(detail, "hint");
  for (const ParsedJson& count : field::objects(detail, "counts"))
    change.counts.push_back(
        {field::text_or_null(count, "name"), figure_of(count, "a"), figure_of(count, "b")});
  change.path = field::text_or_null(row, "path");
  change.kernel_class = field::word<KernelClass>(row, "class");
  if (!field::member(row, "match").is_null())
    change.level = field::word<comparison::MatchLevel>(row, "match");
  change.confidence = figure_of(row, "confidence");
  change.calls_a = figure_of(row, "calls_a");
  change.calls_b = figure_of(row, "calls_b");
  change.time.a = figure_of(row, "time_a_ns");
  change.time.b = figure_of(row, "time_b_ns");
  change.time.delta = figure_of(row, "delta_ns");
  change.time.ratio = figure_of(row, "measured_ratio");
  change.time.interval = interval(detail, "measured_low_ratio", "measured_high_ratio");
  read_tests(row, change.adjusted);
  change.adjusted.adjusted_p = field::number_or_null(row, "adjusted_p");
  change.adjusted.delta = figure_of(detail, "adjusted_delta_ns");
  if (const auto cycles = field::number_or_null(row, "cycles_ratio")) {
    change.cycles.emplace();
    change.cycles->ratio = *cycles;
  }
  change.dram_a = field::number_or_null(row, "dram_a_ratio");
  change.dram_b = field::number_or_null(row, "dram_b_ratio");
  change.compute_a = field::number_or_null(row, "compute_a_ratio");
  change.compute_b = field::number_or_null(row, "compute_b_ratio");
  change.dram_bytes_a = field::number_or_null(row, "dram_a_bytes");
  change.dram_bytes_b = field::number_or_null(row, "dram_b_bytes");
  if (!field::member(row, "code_changed").is_null()) change.code_changed = field::flag(row, "code_changed");
  change.outcome = field::word<comparison::Outcome>(row, "outcome");
  change.reason = field::word<comparison::OutcomeReason>(row, "reason");
  change.cause = field::word<comparison::ChangeCause>(row, "cause");
  change.confirmed = field::flag(row, "confirmed");
  return change;
}

void read_budgets(const ParsedJson& list, Comparison& comparison) {
  for (const ParsedJson& object : list) {
    analyzer::KernelBudget budget;
    budget.kernel = field::text_or_null(object, "kernel");
    budget.max_time_ns = field::number_or_null(object, "max_time_ns");
    budget.max_dram_bytes = field::number_or_null(object, "max_dram_bytes");
    budget.min_utilisation_ratio = field::number_or_null(object, "min_utilisation_ratio");
    budget.reason = field::text_or_null(object, "reason");
    comparison::BudgetCheck check;
    check.budget = comparison.options.budgets.size();
    if (const auto row = field::whole_or_null(object, "row")) {
      if (*row < 0 || *row >= static_cast<std::int64_t>(comparison.kernels.size()))
        wrong("a budget is of a row that is not there");
      check.kernel = static_cast<std::size_t>(*row);
    }
    check.missed = field::flag(object, "missed");
    check.measured = field::flag(object, "measured");
    comparison.options.budgets.push_back(std::move(budget));
    comparison.budgets.push_back(check);
  }
}

Comparison comparison_of(const ParsedJson& document) {
  if (!document.is_object() || document.value("format", ParsedJson()) != "ridgeline.compare")
    wrong("no comparison: `ridgeline compare --format json` writes one");
  if (field::whole(document, "version") != 1)
    wrong("of another version: render it with the Ridgeline that wrote it");
  Comparison comparison;
  comparison.options = options_of(field::member(document, "options"));
  comparison.a = side_of(field::member(document, "a"));
  comparison.b = side_of(field::member(document, "b"));
  comparison.pairs = count_of(document, "pairs");
  comparison.paired = field::flag(document, "paired");
  comparison.verdict = field::word<comparison::ComparisonVerdict>(document, "verdict");
  comparison.matched_share = figure_of(document, "matched_ratio");
  comparison.families_only = field::flag(document, "families_only");
  comparison.common_mode = ratio_of(document, "common_mode", nullptr, nullptr);
  if (comparison.common_mode) {
    comparison.common_mode_kernels = count_of(document["common_mode"], "kernels");
    comparison.common_mode_of_all = field::flag(document["common_mode"], "of_all");
  }
  comparison.clock = ratio_of(document, "clock", "a_hz", "b_hz");
  for (const ParsedJson& difference : field::objects(document, "environment"))
    comparison.environment.push_back({field::word<comparison::EnvironmentWeight>(difference, "weight"),
                                      field::text_or_null(difference, "what"),
                                      field::text_or_null(difference, "a"),
                                      field::text_or_null(difference, "b")});
  const ParsedJson& counts = field::member(document, "counts");
  const std::pair<const char*, std::int64_t*> counted[] = {
      {"regressed", &comparison.regressed}, {"improved", &comparison.improved},
      {"same", &comparison.same},           {"inconclusive", &comparison.inconclusive},
      {"added", &comparison.added},         {"removed", &comparison.removed}};
  for (const auto& [key, count] : counted) *count = count_of(counts, key);
  for (const ParsedJson& row : field::objects(document, "parts"))
    comparison.step_metrics.push_back(part_of(row));
  if (comparison.step_metrics.empty()) wrong("'parts' is empty: the step is the first");
  comparison.step_metrics.front().time.pair_ratios = field::numbers(document, "pair_ratios");
  const ParsedJson& rows = field::objects(document, "rows");
  const ParsedJson& kernels = field::objects(document, "kernels");
  if (rows.size() != kernels.size()) wrong("'rows' and 'kernels' are not of the same kernels");
  for (std::size_t i = 0; i < rows.size(); ++i) comparison.kernels.push_back(kernel_of(rows[i], kernels[i]));
  if (document.contains("transfers")) {
    for (const ParsedJson& row : field::objects(document, "transfers"))
      comparison.transfers.push_back(transfer_of(row));
  }
  const auto count_if = [&](const char* name) {
    return static_cast<std::int64_t>(std::clamp(figure_if(document, name), 0.0, 1e9));
  };
  comparison.two_mode_kernels = count_if("two_mode_kernels");
  comparison.other_shape_kernels = count_if("other_shape_kernels");
  comparison.in_blocks = field::flag_if(document, "in_blocks");
  comparison.same_recording = field::flag_if(document, "same_recording");
  comparison.without_steps = field::flag_if(document, "without_steps");
  read_budgets(field::objects(document, "budgets"), comparison);
  return comparison;
}

}  // namespace

Document compare_json(const Comparison& comparison) {
  return Document([&comparison](const Sink& sink) {
    JsonWriter out(sink, "ridgeline.compare");
    out.value("verdict", std::string(to_string(comparison.verdict)));
    out.value("text", compare_verdict_sentence(comparison));
    out.value("blame", compare_blame(comparison));
    out.value("notes", compare_notes(comparison));
    out.value("a", side_json(comparison.a));
    out.value("b", side_json(comparison.b));
    out.value("pairs", comparison.pairs);
    out.value("paired", comparison.paired);
    out.value("matched_ratio", comparison.matched_share);
    out.value("families_only", comparison.families_only);
    out.value("in_blocks", comparison.in_blocks);
    out.value("same_recording", comparison.same_recording);
    out.value("without_steps", comparison.without_steps);
    out.value("two_mode_kernels", comparison.two_mode_kernels);
    out.value("other_shape_kernels", comparison.other_shape_kernels);
    ordered_json mode = ratio_json(comparison.common_mode);
    if (comparison.common_mode) {
      mode["kernels"] = comparison.common_mode_kernels;
      mode["of_all"] = comparison.common_mode_of_all;
    }
    out.value("common_mode", mode);
    ordered_json clock = ratio_json(comparison.clock);
    if (comparison.clock) {
      clock["a_hz"] = comparison.clock->a;
      clock["b_hz"] = comparison.clock->b;
    }
    out.value("clock", clock);
    out.value("options", options_json(comparison.options));
    ordered_json environment = ordered_json::array();
    for (const comparison::EnvironmentDifference& difference : comparison.environment) {
      environment.push_back({{"weight", std::string(to_string(difference.weight))},
                             {"what", difference.what},
                             {"a", difference.a},
                             {"b", difference.b}});
    }
    out.value("environment", environment);
    out.value("counts", ordered_json{{"regressed", comparison.regressed},
                                     {"improved", comparison.improved},
                                     {"same", comparison.same},
                                     {"inconclusive", comparison.inconclusive},
                                     {"added", comparison.added},
                                     {"removed", comparison.removed}});
    ordered_json budgets = ordered_json::array();
    for (const comparison::BudgetCheck& check : comparison.budgets)
      budgets.push_back(budget_json(comparison, check));
    out.value("budgets", budgets);
    out.rows("parts", step_metrics_table(comparison.step_metrics));
    out.value("pair_ratios", comparison.step().time.pair_ratios);
    out.rows("transfers", transfers_table(comparison.transfers));
    out.rows("rows", compare_table(comparison.kernels));
    ordered_json kernels = ordered_json::array();
    for (const KernelChange& change : comparison.kernels) kernels.push_back(kernel_json(change));
    out.value("kernels", kernels);
    out.finish();
  });
}

Result<Comparison> parse_comparison(std::string_view text, const std::string& path) {
  try {
    return comparison_of(ParsedJson::parse(text));
  } catch (const ParsedJson::exception&) {
    return Failure{ErrorKind::corrupt, path + ": no JSON, or not that of a comparison"};
  } catch (const Error& error) {
    return Failure{error.kind(), one_line(fmt::format("{}: {}", path, error.message()))};
  }
}

}  // namespace ridgeline::reports
