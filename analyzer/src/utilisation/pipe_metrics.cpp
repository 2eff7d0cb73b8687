// pipe_metrics.cpp: the metrics of pipes that are known.
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

const std::vector<PipeMetric>& known_pipe_metrics() {
  // Not sm__ops_path_tensor_*.pct_of_peak: its peak counts structured sparsity, so a dense GEMM ends at 50
  // %.
  static const std::vector<PipeMetric> kPipes = {
      {Roof::kTensor, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kTensor, "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kTensor, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFma, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFma, "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFp16, "sm__pipe_fp16_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFp16, "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFp64, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFp64, "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kAlu, "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kAlu, "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kXu, "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed"},
  };
  return kPipes;
}

const std::vector<PipeMetric>& known_sampled_pipe_metrics() {
  static const std::vector<PipeMetric> kPipes = {
      {Roof::kTensor, "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kTensor,
       "TPC.TriageCompute.sm__pipe_tensor_op_hmma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFma, "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed"},
      {Roof::kFp64,
       "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"},
  };
  return kPipes;
}

}  // namespace ridgeline::analyzer
