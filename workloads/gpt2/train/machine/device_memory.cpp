#include "gpt2/train/machine/device_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpt2/common/cuda_check.h"
#include "gpt2/common/errors.h"
#include "gpt2/train/data/batch_pipeline.h"
#include "gpt2/train/machine/memory_fit.h"

namespace ridgeline::gpt2 {

std::int64_t run_bytes(const GpuModelOptions& o) {
  const std::int64_t batch_tokens = static_cast<std::int64_t>(o.batch) * o.sequence;
  std::int64_t bytes =
      GpuModel::memory_plan(o).total_bytes() + BatchPipeline::device_bytes(batch_tokens) + kLibraryBytes;
  if (o.ranks > 1) bytes += kNcclBytes;
  if (o.switches.cuda_graph) bytes += 2 * batch_tokens * o.grad_accum * std::int64_t{sizeof(std::int32_t)};
  return bytes;
}

std::int64_t held_since(std::int64_t free_bytes) {
  std::size_t now = 0, total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&now, &total_bytes));
  return std::max<std::int64_t>(free_bytes - static_cast<std::int64_t>(now), 0);
}

std::int64_t require_memory(const GpuModelOptions& options) {
  std::size_t free_bytes = 0, total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  const auto available = static_cast<std::int64_t>(free_bytes);
  if (run_bytes(options) > available) throw_out_of_memory(options, available);
  return available;
}

void throw_out_of_memory(const GpuModelOptions& options, std::int64_t free_bytes) {
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  const auto needed = [&](int batch, int grad_accum) {
    GpuModelOptions other = options;
    other.batch = batch;
    other.grad_accum = grad_accum;
    return run_bytes(other);
  };
  const MemoryPlan plan = GpuModel::memory_plan(options);
  const std::int64_t sequences = static_cast<std::int64_t>(options.batch) * options.grad_accum;
  // Where the run had seemed to fit, something else holds memory in pieces: leave a tenth.
  const std::int64_t trusted = run_bytes(options) > free_bytes ? free_bytes : free_bytes / 10 * 9;
  const int fitting = largest_batch(
      [&](int batch) { return needed(batch, static_cast<int>((sequences + batch - 1) / batch)); }, trusted,
      options.batch - 1);
  std::string advice = batch_advice(options.batch, options.grad_accum, fitting, options.ranks);
  if (advice.empty()) advice = "not even -B 1 fits: lower -T, raise --recompute or take a smaller --model";
  throw EnvironmentError(fmt::format(
      "out of GPU memory: the run needs {:.2f} GiB (parameters {:.2f}, gradients and moments {:.2f}, "
      "activations {:.2f}, workspaces {:.2f}, batches and libraries {:.2f}), {:.2f} GiB are free: {}",
      gib(run_bytes(options)), gib(plan.parameters_bytes), gib(plan.optimizer_bytes),
      gib(plan.activations_bytes), gib(plan.workspace_bytes), gib(run_bytes(options) - plan.total_bytes()),
      gib(free_bytes), advice));
}

}  // namespace ridgeline::gpt2
