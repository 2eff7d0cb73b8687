#include "replay_values.h"

#include <algorithm>
#include <cmath>
#include <iterator>

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

void ReplayValues::complete(const ReplayValues& of_kind, const LaunchKinds& kinds,
                            const LaunchKinds::Alike& alike, double factor) {
  // Two values say what one more of them may be: their mean is the mean, its standard error how far.
  const auto one_more = [&](const std::vector<double>& of_them, std::string_view metric, double times) {
    const double middle = times * mean(of_them);
    const double reach =
        std::hypot(times * reach_of_one_more(of_them, kinds.relative_variance(metric, alike.fineness)),
                   middle * doubt_of_another_time(alike));
    return std::vector<double>{middle - reach, middle + reach};
  };
  const auto fill = [&](std::vector<double>& own, const std::vector<double>& of_them, std::string_view metric,
                        double times) {
    if (!own.empty() || of_them.empty()) return;
    own = one_more(of_them, metric, times);
    replayed = by_kind = true;
  };
  for (const auto& [name, of_them] : of_kind.values)
    fill(values[name], of_them, name, is_amount(name) ? factor : 1.0);
  for (const auto& [name, ns] : of_kind.pipe_ns) {
    if (pipe_ns.contains(name)) continue;
    fill(pipe_ns[name], ns, name, factor);
    const auto in_cycles = of_kind.pipe_cycles.find(name);
    // Only where each has its cycles is it a number of cycles.
    if (in_cycles != of_kind.pipe_cycles.end() && in_cycles->second.size() == ns.size())
      fill(pipe_cycles[name], in_cycles->second, name, factor);
  }
  if (const auto issue = of_kind.pipe_cycles.find(kIssueSlots); issue != of_kind.pipe_cycles.end())
    fill(pipe_cycles[kIssueSlots], issue->second, kIssueSlots, factor);
  fill(cycles, of_kind.cycles, metric_name::kCycles, factor);
  fill(dram_bytes, of_kind.dram_bytes, LaunchKinds::kDramInAll, factor);
  fill(duration_ns, of_kind.duration_ns, metric_name::kCycles, factor);
  fill(sm_active, of_kind.sm_active, "sm__cycles_active.avg", 1);
  if (clock_hz.empty()) clock_hz = of_kind.clock_hz;
  if (!normalisation.known) normalisation = of_kind.normalisation;
}

std::optional<Measured> value_of(const ReplayValues& values, std::string_view metric) {
  return mean_of(values.values, metric, Tier::t2);
}

std::optional<double> dram_read_share(const ReplayValues& values) {
  const auto read = value_of(values, metric_name::kDramRead);
  const auto written = value_of(values, metric_name::kDramWrite);
  if (!read || !written || !(read->value + written->value > 0)) return std::nullopt;
  return read->value / (read->value + written->value);
}

std::optional<InstructionOperations> instruction_operations(const TierRows& rows) {
  constexpr std::string_view kPrefix = "smsp__sass_thread_inst_executed_op_";
  constexpr std::string_view kSuffix = "_pred_on.sum";
  InstructionOperations sum;
  double steps = 0;
  for (const TierRow& row : rows.rows) {
    bool any = false;
    for (const auto& [name, value] : row.values) {
      if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
      const std::string_view operation =
          name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
      if (operation.size() != 4) continue;
      const double each = operation.ends_with("fma")                                 ? 2
                          : operation.ends_with("add") || operation.ends_with("mul") ? 1
                                                                                     : 0;
      double* type = operation.front() == 'h'   ? &sum.fp16
                     : operation.front() == 'f' ? &sum.fp32
                     : operation.front() == 'd' ? &sum.fp64
                                                : nullptr;
      if (type == nullptr || each == 0) continue;
      any = true;
      *type += each * value.value;
    }
    steps += any ? 1 : 0;
  }
  if (steps == 0) return std::nullopt;
  return InstructionOperations{sum.fp16 / steps, sum.fp32 / steps, sum.fp64 / steps};
}

bool counts_tensor_operations(std::string_view metric) {
  return std::any_of(std::begin(kOperationMetrics), std::end(kOperationMetrics),
                     [&](const OperationMetric& type) { return type.metric == metric; });
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
