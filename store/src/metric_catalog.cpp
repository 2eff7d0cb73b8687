#include "ridgeline/store/metric_catalog.h"

#include <algorithm>
#include <array>

namespace ridgeline::store {

namespace {
constexpr std::array kCatalog = {
    MetricDescription{"gpu__time_duration.sum", "Replay duration", "ns",
                      "GPU time of the launch in the replay step, serialised; the timeline's duration is the authoritative one"},
    MetricDescription{"dram__bytes_read.sum", "DRAM read", "bytes", "Bytes read from device memory"},
    MetricDescription{"dram__bytes_write.sum", "DRAM written", "bytes", "Bytes written to device memory"},
    MetricDescription{"dram__bytes.sum.peak_sustained_elapsed.per_second", "DRAM peak", "bytes/s",
                      "Device-memory bandwidth at the memory clock of the launch, all channels busy every cycle"},
    MetricDescription{"dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM throughput", "percent",
                      "Busiest part of the device-memory path, of its peak"},
    MetricDescription{"gpc__cycles_elapsed.max", "GPC cycles", "cycles", "Clock cycles that passed during the launch"},
    MetricDescription{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "SM active", "percent",
                      "Share of cycles in which an SM had a warp resident"},
    MetricDescription{"sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved occupancy", "percent",
                      "Resident warps of the most an SM can hold, while it was active"},
    MetricDescription{"smsp__issue_active.avg.pct_of_peak_sustained_active", "Issue slots busy", "percent",
                      "Share of active cycles in which a scheduler issued an instruction"},
    MetricDescription{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "Tensor pipe", "percent",
                      "Share of cycles in which the tensor pipe worked"},
    MetricDescription{"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", "FMA pipe", "percent",
                      "Instructions executed by the FP32 FMA pipe, of the most it can issue"},
    MetricDescription{"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed", "ALU pipe", "percent",
                      "Instructions executed by the integer and logic pipe, of the most it can issue"},
    MetricDescription{"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed", "FP64 pipe", "percent",
                      "Instructions executed by the FP64 pipe, of the most it can issue"},
    MetricDescription{"sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_elapsed", "FP16 pipe", "percent",
                      "Instructions executed by the packed FP16 pipe, of the most it can issue"},
    MetricDescription{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "BF16 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with BF16 inputs and FP32 sums; one FMA is two"},
    MetricDescription{"sm__ops_path_tensor_src_bf16_dst_fp32.avg.pct_of_peak_sustained_elapsed",
                      "BF16 tensor operations of peak", "percent", "BF16 tensor operations of the most the SMs can do"},
    MetricDescription{"sm__ops_path_tensor_src_fp16_dst_fp32.sum", "FP16 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with FP16 inputs and FP32 sums; one FMA is two"},
    MetricDescription{"sm__ops_path_tensor_src_tf32_dst_fp32.sum", "TF32 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with TF32 inputs and FP32 sums; one FMA is two"},
    MetricDescription{"sm__ops_path_tensor_src_fp8.sum", "FP8 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with FP8 inputs; one FMA is two"},
    MetricDescription{"lts__t_bytes.sum", "L2 bytes", "bytes", "Bytes that passed through the L2 cache's tag stage"},
    MetricDescription{"l1tex__t_bytes.sum", "L1 bytes", "bytes", "Bytes that passed through the L1 cache's tag stage"},
};
}  // namespace

std::span<const MetricDescription> metric_catalog() { return kCatalog; }

std::optional<MetricDescription> describe_metric(std::string_view name) {
  const auto found = std::find_if(kCatalog.begin(), kCatalog.end(),
                                  [&](const MetricDescription& metric) { return metric.name == name; });
  if (found == kCatalog.end()) return std::nullopt;
  return *found;
}

}  // namespace ridgeline::store
