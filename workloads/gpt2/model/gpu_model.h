// gpu_model.h: GPT-2 on one GPU: forward, backward with gradient accumulation, optimizer step.
//
// Lifecycle: create (allocates everything) -> load, or upload_state of every part -> { micro_step x K ->
// optimizer_step }* -> download_parameters. Everything after load only enqueues work on stream(): no
// allocation and no host synchronisation, except that the first micro_step lets the libraries build their
// plans (seconds). One thread.
//
// Activations and parameters are T (float or bf16); gradients, master weights and both moments are FP32.
// NVTX: the caller opens "step"; here are "forward", "backward", "optimizer", "layer <k>", and below them the
// ops.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpt2/common/switches.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/model/config.h"
#include "gpt2/model/gradient_reduction.h"
#include "gpt2/model/training_state.h"
#include "gpt2/ops/optimizer/adamw.h"
#include "gpt2/ops/optimizer/global_norm.h"

namespace ridgeline::gpt2 {

struct GpuModelOptions {
  ModelConfig config;
  int batch = 1;     // B: sequences of one micro-batch
  int sequence = 1;  // T <= config.max_t
  int grad_accum = 1;
  Switches switches;                // vocabulary is config's matter, cuda_graph StepGraph's
  MatmulOptions matmul;             // fp32_math is set from the precision
  std::uint64_t rounding_seed = 0;  // of stochastic rounding
  /// Ranks that train this model together, each on a `batch` of its own: loss and gradients are means over the tokens
  /// of all of them.
  int ranks = 1;
  /// Of that many ranks, and it outlives the model; null: this process trains alone.
  Communicator* communicator = nullptr;
  ReductionOptions reduction;
};

struct OptimizerOptions {
  AdamwConfig adamw{.beta2 = 0.95F};  // its step counts from 1
  float weight_decay = 0.1F;          // of the matrices; biases and layernorms have none
  bool decay_embeddings = true;       // false: nor have wte and wpe
  float clip = 1.0F;                  // largest global norm of the gradient; 0: no clipping
  /// In device memory, read when the step runs in place of adamw's learning rate and step; null: adamw's. For
  /// a step that is captured once and run often.
  const AdamwStepFactors* step_factors = nullptr;
};

/// What one optimizer step measured, on the device.
struct StepResult {
  float loss = 0;         // mean over all tokens of the step, nats
  GradientNorm gradient;  // norm is the one before clipping
};

/// Device memory of a run, by what it holds.
struct MemoryPlan {
  std::int64_t parameters_bytes = 0;   // parameters, master weights
  std::int64_t optimizer_bytes = 0;    // gradients, both moments
  std::int64_t activations_bytes = 0;  // grows with B*T
  std::int64_t workspace_bytes = 0;    // scratch of the ops and the libraries
  std::int64_t total_bytes() const {
    return parameters_bytes + optimizer_bytes + activations_bytes + workspace_bytes;
  }
};

/// The switches as they will run on the current device: --gelu own is cuBLASLt's epilogue where hopper_matmul_supported
/// says no; --attention hopper is cudnn where hopper_attention_backward_supported says no, own where cuDNN cannot do it
/// either.
Switches switches_on_device(const GpuModelOptions& options);

class GpuModel : public TrainingState {
 public:
  /// Throws InputError for sizes the kernels do not support, CudaError or Error when allocation or a library
  /// fails.
  static std::unique_ptr<GpuModel> create(const GpuModelOptions& options);
  /// Throws InputError for sizes and switches that the kernels do not support. Asks no device.
  static void check(const GpuModelOptions& options);
  /// Of switches as they run on the current device. Throws what check() does.
  static MemoryPlan memory_plan(const GpuModelOptions& options);

  virtual cudaStream_t stream() const = 0;

  /// Sets the parameters from host FP32 values in ParameterLayout's order, zeroes both moments. Synchronises.
  virtual void load(const std::vector<float>& parameters) = 0;

  /// Forward and backward of one micro-batch, `micro` counting from 0 to grad_accum - 1 within a step: micro 0
  /// starts new gradients and a new loss. inputs and targets are device (B, T).
  virtual void micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) = 0;

  /// Global norm, clipping, AdamW. A gradient that is not finite changes nothing.
  virtual void optimizer_step(const OptimizerOptions& options) = 0;

  /// Forward only; the mean loss replaces the loss of result(). Leaves parameters and gradients alone.
  /// All ranks call it, each with tokens of its own; the loss is the mean over all.
  virtual void evaluate(const std::int32_t* inputs, const std::int32_t* targets) = 0;

  /// Forward only; the logits of position `row` of B*T over the vocabulary, on the host. inputs as above.
  /// Synchronises. Leaves parameters, gradients and result() alone.
  virtual std::vector<float> logits(const std::int32_t* inputs, std::int64_t row) = 0;

  /// Where ranks hand on parameters beside the next forward pass (GatherPlace::forward), an optimizer_step leaves each
  /// with its own part of the matrices alone: all ranks call this, in place of that pass, before any calls logits,
  /// download_parameters or download_state. With FP8 it does so in either place, since that pass does not need the
  /// matrices in BF16. micro_step and evaluate see to what they need themselves.
  virtual void complete_parameters() = 0;

  /// Device address of the latest StepResult: copy it in stream order.
  virtual const StepResult* device_result() const = 0;

  /// Synchronise, then copy. Master weights, in rank 0 where ranks keep parts of them, and all ranks call it; gradients
  /// of the last step as accumulated (before clipping), with zero 1 summed in this rank's parts only; with zero 2
  /// there is nothing else: 0.
  virtual std::vector<float> download_parameters() const = 0;
  virtual std::vector<float> download_gradients() const = 0;

  virtual Matmul& matmul() = 0;
};

}  // namespace ridgeline::gpt2
