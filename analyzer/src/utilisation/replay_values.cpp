#include "replay_values.h"

#include <algorithm>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

struct OperationMetric {
  std::string_view metric;
  Quantity peak_quantity;
  // Counts one kind of instruction: stands for its data type on chips that do not count the type as a whole,
  // and counts only there.
  bool by_instruction = false;
};
// Leaves of the metric tree only: a parent counts its children's operations again.
constexpr OperationMetric kOperationMetrics[] = {
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", Quantity::bf16_flops_per_s},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", Quantity::fp16_flops_per_s},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", Quantity::fp16_flops_per_s},
    {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", Quantity::fp16_flops_per_s, true},
    {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", Quantity::fp16_flops_per_s, true},
    {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum", Quantity::fp16_flops_per_s, true},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", Quantity::tf32_flops_per_s},
    {"sm__ops_path_tensor_src_fp8.sum", Quantity::fp8_flops_per_s},
    {"sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum", Quantity::fp8_flops_per_s},
    {"sm__ops_path_tensor_src_int8.sum", Quantity::int8_ops_per_s},
    {"sm__ops_path_tensor_op_igmma_src_int8.sum", Quantity::int8_ops_per_s, true},
    {"sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum", Quantity::int8_ops_per_s, true},
    {"sm__ops_path_tensor_src_fp64.sum", Quantity::fp64_tensor_flops_per_s},
};

}  // namespace

ReplayValues::ReplayValues(const TierRows& rows, const store::Device* device)
    : mismatched(rows.mismatched), mismatch(rows.mismatch) {
  std::vector<StepCycles> steps;
  for (const TierRow& row : rows.rows) steps.push_back(cycles_of(row, device));
  normalisation = normalisation_of(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) add(rows.rows[i], steps[i]);
  replayed = !rows.rows.empty();
}

void ReplayValues::add(const TierRow& row, const StepCycles& step) {
  for (const auto& [name, value] : row.values) values[name].push_back(value.value);
  if (const auto bytes = row.dram_bytes()) dram_bytes.push_back(*bytes);
  const auto duration = row.duration_ns();
  if (!duration) return;
  duration_ns.push_back(*duration);
  std::optional<double> elapsed = step.sm;
  if (!elapsed && step.gpc) elapsed = *step.gpc * normalisation.ratio;
  if (elapsed) {
    cycles.push_back(*elapsed);
    clock_hz.push_back(*elapsed / *duration * 1e9);
  }
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    const auto value = row.value(pipe.metric);
    if (!value) continue;
    pipe_ns[pipe.metric].push_back(*value / 100.0 * *duration);
    if (elapsed) pipe_cycles[pipe.metric].push_back(*value / 100.0 * *elapsed);
  }
  const auto active = row.value("sm__cycles_active.avg");
  if (active && elapsed) sm_active.push_back(*active / *elapsed);
  if (const auto issued = row.value(kIssueSlots); issued && active)
    pipe_cycles[kIssueSlots].push_back(*issued / 100.0 * *active);
}

namespace {

// Of the mean of many the error is small; one more of the kind may differ from it by the spread. Two values say so:
// their mean is the mean, its standard error the spread.
std::vector<double> of_one_more(const std::vector<double>& values) {
  const auto spread = standard_deviation(values);
  if (!spread) return values;
  const double middle = mean(values);
  return {middle - *spread, middle + *spread};
}

void complete_with(ValuesByMetric& own, const ValuesByMetric& of_kind) {
  for (const auto& [name, values] : of_kind)
    if (!own.contains(name)) own.emplace(name, of_one_more(values));
}

}  // namespace

void ReplayValues::complete(const ReplayValues& of_kind) {
  complete_with(values, of_kind.values);
  for (const auto& [name, ns] : of_kind.pipe_ns) {
    if (pipe_ns.contains(name)) continue;
    pipe_ns.emplace(name, of_one_more(ns));
    const auto in_cycles = of_kind.pipe_cycles.find(name);
    // Only where each has its cycles is it a number of cycles.
    if (in_cycles != of_kind.pipe_cycles.end() && in_cycles->second.size() == ns.size())
      pipe_cycles.emplace(name, of_one_more(in_cycles->second));
  }
  if (const auto issue = of_kind.pipe_cycles.find(kIssueSlots);
      issue != of_kind.pipe_cycles.end() && !pipe_cycles.contains(kIssueSlots))
    pipe_cycles.emplace(kIssueSlots, of_one_more(issue->second));
  for (std::vector<double> ReplayValues::*part :
       {&ReplayValues::cycles, &ReplayValues::sm_active, &ReplayValues::dram_bytes,
        &ReplayValues::duration_ns, &ReplayValues::clock_hz})
    if ((this->*part).empty()) this->*part = of_one_more(of_kind.*part);
  if (!normalisation.known) normalisation = of_kind.normalisation;
  replayed = by_kind = true;
}

bool is_amount(std::string_view metric) {
  for (const std::string_view share : {".pct", ".ratio", "per_second", "peak_sustained"})
    if (metric.find(share) != std::string_view::npos) return false;
  return true;
}

ReplayValues ReplayValues::times(double factor) const {
  ReplayValues scaled = *this;
  const auto scale = [&](std::vector<double>& all) {
    for (double& value : all) value *= factor;
  };
  for (auto& [name, all] : scaled.values)
    if (is_amount(name)) scale(all);
  for (ValuesByMetric ReplayValues::*part : {&ReplayValues::pipe_ns, &ReplayValues::pipe_cycles})
    for (auto& [name, all] : scaled.*part) scale(all);
  for (std::vector<double> ReplayValues::*part :
       {&ReplayValues::cycles, &ReplayValues::dram_bytes, &ReplayValues::duration_ns})
    scale(scaled.*part);
  return scaled;
}

std::optional<Measured> value_of(const ReplayValues& values, std::string_view metric) {
  return mean_of(values.values, metric, Tier::t2);
}

std::vector<Operations> operations_of(const ReplayValues& values) {
  std::vector<Operations> found;
  for (const OperationMetric& type : kOperationMetrics) {
    const bool counted = std::any_of(found.begin(), found.end(), [&](const Operations& o) {
      return o.peak_quantity == type.peak_quantity && !o.by_instruction;
    });
    if (type.by_instruction && counted) continue;
    if (const auto count = value_of(values, type.metric))
      found.push_back({type.peak_quantity, *count, type.by_instruction});
  }
  return found;
}

}  // namespace ridgeline::analyzer
