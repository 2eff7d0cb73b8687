#include "replay_values.h"

#include <algorithm>

namespace ridgeline::analyzer {

namespace {

struct OperationMetric {
  std::string_view metric;
  std::string_view peak_quantity;
  // Counts one kind of instruction: stands for its data type on chips that do not count the type as a whole,
  // and counts only there.
  bool by_instruction = false;
};
// Leaves of the metric tree only: a parent counts its children's operations again.
constexpr OperationMetric kOperationMetrics[] = {
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "bf16_flops_per_s"},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", "fp16_flops_per_s"},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", "fp16_flops_per_s"},
    {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", "fp16_flops_per_s", true},
    {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", "fp16_flops_per_s", true},
    {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum", "fp16_flops_per_s", true},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", "tf32_flops_per_s"},
    {"sm__ops_path_tensor_src_fp8.sum", "fp8_flops_per_s"},
    {"sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum", "fp8_flops_per_s"},
    {"sm__ops_path_tensor_src_int8.sum", "int8_ops_per_s"},
    {"sm__ops_path_tensor_op_igmma_src_int8.sum", "int8_ops_per_s", true},
    {"sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum", "int8_ops_per_s", true},
    {"sm__ops_path_tensor_src_fp64.sum", "fp64_tensor_flops_per_s"},
};

}  // namespace

ReplayValues::ReplayValues(const TierRows& rows) : mismatched(rows.mismatched), mismatch(rows.mismatch) {
  for (const TierRow& row : rows.rows) add(row);
  replayed = !rows.rows.empty();
}

void ReplayValues::add(const TierRow& row) {
  for (const auto& [name, value] : row.values) values[name].push_back(value.value);
  if (const auto bytes = row.dram_bytes()) dram_bytes.push_back(*bytes);
  using namespace metric_name;
  const auto duration = row.duration_ns();
  if (!duration) return;
  duration_ns.push_back(*duration);
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    if (const auto value = row.value(pipe.metric)) pipe_ns[pipe.metric].push_back(*value / 100.0 * *duration);
  }
  if (const auto cycles = row.value(kCycles)) clock_hz.push_back(*cycles / *duration * 1e9);
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
    if (auto count = value_of(values, type.metric))
      found.push_back({type.peak_quantity, std::move(*count), type.by_instruction});
  }
  return found;
}

}  // namespace ridgeline::analyzer
