// device_memory.h: whether a run fits the GPU, and what would.
#pragma once

#include <cstdint>

#include "gpt2/model/gpu_model.h"

namespace ridgeline::gpt2 {

/// Device bytes of a run: the model's plan, the batches on their way to it, what the libraries load.
std::int64_t run_bytes(const GpuModelOptions& options);

/// Throws EnvironmentError (one line: needed, free, the batch that fits) when the run needs more than is free.
/// Call with the CUDA context made: what it takes is not free any more. Returns the free bytes.
std::int64_t require_memory(const GpuModelOptions& options);

/// Of the device since `free_bytes` were free: the run's own, and whatever others on it have taken meanwhile.
/// At least 0.
std::int64_t held_since(std::int64_t free_bytes);

/// The same line, for an allocation that failed although the run had seemed to fit.
[[noreturn]] void throw_out_of_memory(const GpuModelOptions& options, std::int64_t free_bytes);

}  // namespace ridgeline::gpt2
