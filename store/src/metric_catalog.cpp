#include "ridgeline/store/metric_catalog.h"

#include <algorithm>
#include <array>

namespace ridgeline::store {

namespace {
constexpr std::array kCatalog = {
    MetricDescription{"gpu__time_duration.sum", "Replay duration", "ns",
                      "GPU time of the launch in the replay step, serialised; the timeline's duration is the "
                      "authoritative one"},
    MetricDescription{"dram__bytes_read.sum", "DRAM read", "bytes", "Bytes read from device memory"},
    MetricDescription{"dram__bytes_write.sum", "DRAM written", "bytes", "Bytes written to device memory"},
    MetricDescription{
        "dram__bytes.sum.peak_sustained_elapsed.per_second", "DRAM peak", "bytes/s",
        "Device-memory bandwidth at the memory clock of the launch, all channels busy every cycle"},
    MetricDescription{"dram__bytes.sum.pct_of_peak_sustained_elapsed", "DRAM bytes of peak", "percent",
                      "DRAM bytes of what the memory could move in the replay step's time"},
    MetricDescription{"gpc__cycles_elapsed.max", "GPC cycles", "cycles",
                      "Clock cycles that passed during the launch"},
    MetricDescription{"sm__cycles_active.avg", "SM active cycles", "cycles",
                      "Cycles in which an SM had a warp resident, mean over SMs"},
    MetricDescription{"sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved occupancy", "percent",
                      "Resident warps of the most an SM can hold, while it was active"},
    MetricDescription{"smsp__issue_active.avg.pct_of_peak_sustained_active", "Issue slots busy", "percent",
                      "Share of active cycles in which a scheduler issued an instruction"},
    MetricDescription{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "Tensor pipe",
                      "percent", "Share of cycles in which the tensor pipe worked"},
    MetricDescription{"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", "FMA pipe", "percent",
                      "Instructions executed by the FP32 FMA pipe, of the most it can issue"},
    MetricDescription{"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed", "ALU pipe", "percent",
                      "Instructions executed by the integer and logic pipe, of the most it can issue"},
    MetricDescription{
        "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed", "XU pipe", "percent",
        "Transcendental and conversion instructions executed, of the most their pipe can issue"},
    MetricDescription{"sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed", "LSU pipe", "percent",
                      "Instructions executed by the load-store pipe, of the most it can issue"},
    MetricDescription{"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed", "FP64 pipe", "percent",
                      "Instructions executed by the FP64 pipe, of the most it can issue"},
    MetricDescription{
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "BF16 tensor operations", "ops",
        "Multiplies and adds done by the tensor pipe with BF16 inputs and FP32 sums; one FMA is two"},
    MetricDescription{"sm__ops_path_tensor_src_bf16_dst_fp32.avg.pct_of_peak_sustained_elapsed",
                      "BF16 tensor operations of peak", "percent",
                      "BF16 tensor operations of the most the SMs can do with structured sparsity; a dense "
                      "product ends at 50 %"},
    MetricDescription{
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained_elapsed.per_second", "BF16 tensor peak",
        "ops/s",
        "The most BF16 tensor operations a second at the launch's clock, structured sparsity counted"},
    MetricDescription{
        "sm__ops_path_tensor_op_hgmma_src_fp16.sum", "FP16 tensor operations", "ops",
        "Multiplies and adds of warpgroup matrix instructions with FP16 inputs; one FMA is two"},
    MetricDescription{"sm__ops_path_tensor_op_hgmma_src_fp16.avg.pct_of_peak_sustained_elapsed",
                      "FP16 tensor operations of peak", "percent",
                      "FP16 warpgroup matrix operations of the most the SMs can do with structured sparsity; "
                      "dense ends at 50 %"},
    MetricDescription{"sm__ops_path_tensor_op_hgmma_src_fp16.sum.peak_sustained_elapsed.per_second",
                      "FP16 tensor peak", "ops/s",
                      "The most FP16 warpgroup matrix operations a second at the launch's clock, structured "
                      "sparsity counted"},
    MetricDescription{
        "sm__ops_path_tensor_src_tf32_dst_fp32.sum", "TF32 tensor operations", "ops",
        "Multiplies and adds done by the tensor pipe with TF32 inputs and FP32 sums; one FMA is two"},
    MetricDescription{
        "sm__ops_path_tensor_src_tf32_dst_fp32.avg.pct_of_peak_sustained_elapsed",
        "TF32 tensor operations of peak", "percent",
        "TF32 tensor operations of the most the SMs can do with structured sparsity; dense ends at 50 %"},
    MetricDescription{
        "sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained_elapsed.per_second", "TF32 tensor peak",
        "ops/s",
        "The most TF32 tensor operations a second at the launch's clock, structured sparsity counted"},
    MetricDescription{"sm__ops_path_tensor_src_fp8.sum", "FP8 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with FP8 inputs; one FMA is two"},
    MetricDescription{
        "sm__ops_path_tensor_src_fp8.sum.peak_sustained_elapsed.per_second", "FP8 tensor peak", "ops/s",
        "The most FP8 tensor operations a second at the launch's clock, structured sparsity counted"},
    MetricDescription{"lts__t_bytes.sum", "L2 bytes", "bytes",
                      "Bytes that passed through the L2 cache's tag stage"},
    MetricDescription{"lts__t_bytes.sum.peak_sustained_elapsed.per_second", "L2 peak", "bytes/s",
                      "The most bytes a second through the L2 cache's tag stage at the launch's clock"},
    MetricDescription{"l1tex__t_bytes.sum", "L1 bytes", "bytes",
                      "Bytes that passed through the L1 cache's tag stage"},
    MetricDescription{"l1tex__t_bytes.sum.peak_sustained_elapsed.per_second", "L1 peak", "bytes/s",
                      "The most bytes a second through the L1 cache's tag stage at the launch's clock"},
    MetricDescription{"l1tex__t_sectors_lookup_hit.sum", "L1 hits", "sectors",
                      "Sectors of 32 bytes asked for and found in the L1 cache"},
    MetricDescription{"l1tex__t_sectors_lookup_miss.sum", "L1 misses", "sectors",
                      "Sectors of 32 bytes asked for and not found in the L1 cache"},
    MetricDescription{"lts__t_sectors_lookup_hit.sum", "L2 hits", "sectors",
                      "Sectors of 32 bytes asked for and found in the L2 cache"},
    MetricDescription{"lts__t_sectors_lookup_miss.sum", "L2 misses", "sectors",
                      "Sectors of 32 bytes asked for and not found in the L2 cache"},
    MetricDescription{"sm__thread_inst_executed_pipe_fma_pred_on.sum", "FMA pipe, threads", "instructions",
                      "Instructions of the FMA pipe times the threads that executed them; an FMA is one"},
    MetricDescription{"sm__thread_inst_executed_pipe_fma_type_fp16_pred_on.sum",
                      "FP16 on the FMA pipe, threads", "instructions",
                      "The part of the FMA pipe's thread instructions that works on packed FP16"},
    MetricDescription{"sm__thread_inst_executed_pipe_fp16_pred_on.sum", "FP16 pipe, threads", "instructions",
                      "Instructions of the FP16 pipe times the threads that executed them"},
    MetricDescription{"sm__thread_inst_executed_pipe_fp64_pred_on.sum", "FP64 pipe, threads", "instructions",
                      "Instructions of the FP64 pipe times the threads that executed them; an FMA is one"},
    MetricDescription{"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum",
                      "FP16 tensor operations, warp-wide, FP32 sums", "ops",
                      "Multiplies and adds of warp-wide matrix instructions with FP16 inputs and FP32 sums"},
    MetricDescription{"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum",
                      "FP16 tensor operations, warp-wide, FP16 sums", "ops",
                      "Multiplies and adds of warp-wide matrix instructions with FP16 inputs and sums"},
    MetricDescription{"sm__ops_path_tensor_src_fp16_dst_fp32.sum", "FP16 tensor operations, FP32 sums", "ops",
                      "Multiplies and adds done by the tensor pipe with FP16 inputs and FP32 sums"},
    MetricDescription{"sm__ops_path_tensor_src_fp16_dst_fp16.sum", "FP16 tensor operations, FP16 sums", "ops",
                      "Multiplies and adds done by the tensor pipe with FP16 inputs and sums"},
    MetricDescription{"sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum",
                      "FP4, FP6 and FP8 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with inputs of 4 to 8 bits"},
    MetricDescription{"sm__ops_path_tensor_src_int8.sum", "INT8 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with INT8 inputs"},
    MetricDescription{"sm__ops_path_tensor_op_igmma_src_int8.sum", "INT8 tensor operations, warpgroup", "ops",
                      "Multiplies and adds of warpgroup matrix instructions with INT8 inputs"},
    MetricDescription{"sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum",
                      "INT8 tensor operations, warp-wide", "ops",
                      "Multiplies and adds of dense warp-wide matrix instructions with INT8 inputs"},
    MetricDescription{"sm__ops_path_tensor_src_fp64.sum", "FP64 tensor operations", "ops",
                      "Multiplies and adds done by the tensor pipe with FP64 inputs"},
    MetricDescription{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "SM active", "percent",
                      "Cycles in which an SM had a warp resident, of those that passed"},
    MetricDescription{"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
                      "Tensor pipe, sampled", "percent",
                      "Cycles in which the tensor pipe was busy, of those that passed, in situ"},
    MetricDescription{
        "TPC.TriageCompute.sm__pipe_tensor_op_hmma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
        "Tensor pipe (half), sampled", "percent",
        "The same on chips that sample the half-precision part alone"},
    MetricDescription{
        "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed",
        "FMA pipe, sampled", "percent",
        "Instructions executed by the FP32 FMA pipe, of the most it can issue, in situ"},
    MetricDescription{
        "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
        "FP64 pipe, sampled", "percent",
        "Cycles in which the FP64 pipe was busy, of those that passed, in situ"},
    MetricDescription{"SM_A.TriageCompute.l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
                      "L1 throughput, sampled", "percent",
                      "Busiest part of the L1 cache, of its peak, in situ; a maximum of several counters"},
    MetricDescription{"LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct", "L2 hit rate, sampled",
                      "percent", "Sectors found in the L2 cache, of those asked for, in situ"},
    MetricDescription{"dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM throughput", "percent",
                      "Busiest part of the device-memory path, of its peak; a maximum of several counters"},
    MetricDescription{"gpc__cycles_elapsed.avg.per_second", "GPC clock, sampled", "Hz",
                      "Clock of the graphics processing clusters, in situ"},
    MetricDescription{"nvltx__bytes_data_user.sum", "NVLink sent", "bytes",
                      "Bytes of data that the device sent over NVLink, without the protocol, all links"},
    MetricDescription{"nvlrx__bytes_data_user.sum", "NVLink received", "bytes",
                      "Bytes of data that the device received over NVLink, without the protocol, all links"},
    MetricDescription{"pcie__read_bytes.sum", "PCIe received", "bytes",
                      "Bytes that the device received over PCIe, from the host or another device"},
    MetricDescription{"pcie__write_bytes.sum", "PCIe sent", "bytes",
                      "Bytes that the device sent over PCIe, to the host or another device"},
    MetricDescription{"sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum.peak_sustained_elapsed.per_second",
                      "FP4, FP6 and FP8 tensor peak", "ops/s",
                      "The most tensor operations on inputs of 4 to 8 bits a second at the launch's clock"},
    MetricDescription{
        "sm__ops_path_tensor_src_fp16_dst_fp32.avg.pct_of_peak_sustained_elapsed",
        "FP16 tensor operations of peak, FP32 sums", "percent",
        "FP16 tensor operations of the most the SMs can do with structured sparsity; dense ends at 50 %"},
    MetricDescription{
        "sm__ops_path_tensor_src_fp16_dst_fp32.sum.peak_sustained_elapsed.per_second",
        "FP16 tensor peak, FP32 sums", "ops/s",
        "The most FP16 tensor operations a second at the launch's clock, structured sparsity counted"},
    MetricDescription{"sm__ops_path_tensor_src_fp64.sum.peak_sustained_elapsed.per_second",
                      "FP64 tensor peak", "ops/s",
                      "The most FP64 tensor operations a second at the launch's clock"},
    MetricDescription{
        "sm__ops_path_tensor_op_igmma_src_int8.sum.peak_sustained_elapsed.per_second",
        "INT8 tensor peak, warpgroup", "ops/s",
        "The most INT8 operations of warpgroup matrix instructions a second at the launch's clock"},
    MetricDescription{"sm__ops_path_tensor_src_int8.sum.peak_sustained_elapsed.per_second",
                      "INT8 tensor peak", "ops/s",
                      "The most INT8 tensor operations a second at the launch's clock"},
    MetricDescription{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "FP32 FMA instructions", "inst",
                      "FP32 fused multiply-adds counted by instrumented code: thread instructions whose "
                      "predicate was true"},
    MetricDescription{
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "FP32 add instructions", "inst",
        "FP32 additions counted by instrumented code: thread instructions whose predicate was true"},
    MetricDescription{
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "FP32 multiply instructions", "inst",
        "FP32 multiplications counted by instrumented code: thread instructions whose predicate was true"},
    MetricDescription{"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", "FP16 FMA instructions", "inst",
                      "FP16 fused multiply-adds counted by instrumented code: thread instructions whose "
                      "predicate was true"},
    MetricDescription{
        "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", "FP16 add instructions", "inst",
        "FP16 additions counted by instrumented code: thread instructions whose predicate was true"},
    MetricDescription{
        "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", "FP16 multiply instructions", "inst",
        "FP16 multiplications counted by instrumented code: thread instructions whose predicate was true"},
    MetricDescription{"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "FP64 FMA instructions", "inst",
                      "FP64 fused multiply-adds counted by instrumented code: thread instructions whose "
                      "predicate was true"},
    MetricDescription{
        "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", "FP64 add instructions", "inst",
        "FP64 additions counted by instrumented code: thread instructions whose predicate was true"},
    MetricDescription{
        "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", "FP64 multiply instructions", "inst",
        "FP64 multiplications counted by instrumented code: thread instructions whose predicate was true"},
};
}  // namespace

std::span<const MetricDescription> metric_catalog() {
  return kCatalog;
}

std::optional<MetricDescription> describe_metric(std::string_view name) {
  const auto found = std::find_if(kCatalog.begin(), kCatalog.end(),
                                  [&](const MetricDescription& metric) { return metric.name == name; });
  if (found == kCatalog.end()) return std::nullopt;
  return *found;
}

}  // namespace ridgeline::store
