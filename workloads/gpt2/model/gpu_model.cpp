#include "gpt2/model/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "gpt2/common/errors.h"
#include "gpt2/libs/matmul_cublas.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/model/switch_rules.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/matmul/hopper_matmul.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {
namespace {

// Sizes that FP8 takes.
void check_fp8(const GpuModelOptions& o) {
  const std::int64_t rows = static_cast<std::int64_t>(o.batch) * o.sequence;
  if (!layernorm_fp8_supported(rows, o.config.channels)) {
    throw InputError(fmt::format(
        "--precision fp8 needs B*T and C to be multiples of 16 and C at most 1792, here B*T={} C={}: "
        "use --precision bf16",
        rows, o.config.channels));
  }
  if (o.switches.fp8_classifier == Fp8Classifier::all &&
      !fused_classifier_fp8_supported(o.config.padded_vocab)) {
    throw InputError(
        fmt::format("--fp8-classifier all: rows of {} logits do not fit into shared memory: use "
                    "--fp8-classifier none",
                    o.config.padded_vocab));
  }
}

// What works on all parameters at once cannot on a rank's part of them.
void check_zero(const GpuModelOptions& o) {
  if (o.reduction.zero > 0 && o.switches.optimizer == OptimizerKind::per_tensor) {
    throw InputError(
        fmt::format("--zero {} cannot go with --optimizer per-tensor: a rank's part ends within tensors: use "
                    "--zero 0",
                    o.reduction.zero));
  }
}

// A device that multiplies FP8.
void check_fp8_device() {
  int device = 0;
  int major = 0;
  int minor = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (10 * major + minor < 90) {
    throw InputError(fmt::format(
        "--precision fp8 needs a GPU of compute capability 9.0 or later, this one has {}.{}", major, minor));
  }
}

bool needs_cublas(const Switches& s) {
  return s.matmul == MatmulLibrary::cublas || s.attention == AttentionKind::unfused;
}

// cuBLASLt's options, as far as the switches decide them.
MatmulOptions matmul_options(const GpuModelOptions& o) {
  MatmulOptions matmul = o.matmul;
  matmul.fp32_math = o.switches.precision == Precision::tf32 ? Fp32Math::tf32 : Fp32Math::fp32;
  if (o.switches.matmul == MatmulLibrary::cublas) matmul.workspace_bytes = 0;  // it computes nothing
  return matmul;
}

// Scratch shared by ops that run one after the other on the stream.
std::int64_t scratch_bytes(const GpuModelOptions& o) {
  std::int64_t bytes = global_norm_scratch_bytes();
  if (o.reduction.zero > 0) {
    std::vector<GradientRange> parts;
    for (const GradientBucket& bucket :
         gradient_buckets(DeviceLayout(o.config), o.config.layers, o.reduction.bucket_bytes, o.ranks)) {
      parts.push_back({0, bucket.count() / o.ranks});
    }
    bytes = std::max(bytes, global_norm_per_tensor_scratch_bytes(parts));
  }
  if (o.switches.optimizer == OptimizerKind::per_tensor) {
    std::vector<GradientRange> tensors;
    for (const TensorInstance& t : DeviceLayout(o.config).instances()) tensors.push_back({t.begin, t.end});
    bytes = global_norm_per_tensor_scratch_bytes(tensors);
  }
  bytes =
      std::max(bytes, encoder_backward_scratch_bytes(o.batch, o.sequence, o.config.channels,
                                                     o.switches.deterministic ? EncoderBackward::deterministic
                                                                              : EncoderBackward::atomic));
  if (o.switches.attention == AttentionKind::own) {
    bytes = std::max(bytes, attention_backward_scratch_bytes(o.batch, o.sequence, o.config.heads));
  }
  if (o.switches.attention == AttentionKind::hopper) {
    bytes = std::max(bytes, hopper_attention_backward_scratch_bytes(o.batch, o.sequence, o.config.heads));
  }
  return bytes;
}

// What cuDNN's attention allocates beside its plans' own needs: row sums and an FP32 sum of dq, or the score
// gradients that let it do without the latter's atomics.
std::int64_t cudnn_bytes(const GpuModelOptions& o) {
  if (o.switches.attention != AttentionKind::cudnn) return 0;
  const std::int64_t rows = static_cast<std::int64_t>(o.batch) * o.sequence;
  const std::int64_t row_sums = rows * o.config.heads * 4;
  return row_sums +
         (o.switches.deterministic ? rows * o.config.heads * o.sequence * 2 : rows * o.config.channels * 4);
}

// Partial sums of several ops at a time: all of a step of the 124M model, a few layers of a larger one.
std::int64_t partial_sums_bytes(const GpuModelOptions& o) {
  constexpr std::int64_t kUsualBytes = std::int64_t{40} << 20;
  const std::int64_t of_gelu_own =
      o.switches.gelu == GeluKind::own
          ? std::int64_t{sizeof(float)} *
                hopper_matmul_partial_sums(static_cast<std::int64_t>(o.batch) * o.sequence,
                                           4 * o.config.channels)
          : 0;
  const std::int64_t of_fp8 =
      o.switches.precision == Precision::fp8
          ? std::int64_t{sizeof(float)} *
                fp8_partial_sums(static_cast<std::int64_t>(o.batch) * o.sequence, 4 * o.config.channels)
          : 0;
  return std::max({kUsualBytes, layernorm_backward_scratch_bytes(o.config.channels),
                   bias_gradient_scratch_bytes(4 * o.config.channels), of_gelu_own, of_fp8});
}

// What this run shares out among its ranks: nothing, unless it is asked to.
Shards shards_of(const GpuModelOptions& o, const DeviceLayout& layout) {
  if (o.communicator == nullptr || o.reduction.zero == 0) return {};
  return {gradient_buckets(layout, o.config.layers, o.reduction.bucket_bytes, o.ranks), o.ranks};
}

// Where gradients lie.
GradientPlaces gradient_places(const GpuModelOptions& o, const DeviceLayout& layout) {
  std::vector<GradientBucket> buckets =
      gradient_buckets(layout, o.config.layers, o.reduction.bucket_bytes, o.ranks);
  if (o.reduction.zero == 2)
    return GradientPlaces::in_slots(layout, o.config.layers, std::move(buckets), o.ranks);
  return {layout, o.config.layers, std::move(buckets), o.ranks};
}

template <typename T>
std::int64_t activation_bytes(const GpuModelOptions& o) {
  Arena arena;
  const Activations<T> counted(arena, o.config, o.batch, o.sequence, o.switches);
  return arena.used_bytes();
}

}  // namespace

template <class P>
GpuModelOf<P>::GpuModelOf(const GpuModelOptions& o)
    : options_(o),
      layout_(o.config),
      tensors_(layout_.instances()),
      rows_(static_cast<std::int64_t>(o.batch) * o.sequence),
      c_(o.config.channels),
      l2_(o.switches.l2_persist == L2Persist::none ? L2Limits{} : set_l2_aside()),
      shards_(shards_of(o, layout_)),
      places_(gradient_places(o, layout_)),
      parameters_(padded_elements(layout_, o.ranks)),
      gradients_(places_.elements()),
      m_(kept_elements()),
      v_(kept_elements()),
      activation_memory_(activation_bytes<T>(o)),
      scratch_(scratch_bytes(o)),
      sums_memory_(partial_sums_bytes(o)),
      sums_(sums_memory_.data(), sums_memory_.size_bytes()),
      result_(1),
      matmul_(o.matmul) {
  if constexpr (!std::is_same_v<T, float>) master_ = DeviceBuffer<float>(kept_elements());
  Arena arena(activation_memory_.data());
  act_ = Activations<T>(arena, o.config, o.batch, o.sequence, o.switches);
  for (int l = 0; l < o.config.layers; ++l) layer_names_.push_back("layer " + std::to_string(l));
  RIDGELINE_CUDA_CHECK(cudaMemsetAsync(result_.data(), 0, sizeof(StepResult), stream_.get()));
  if (needs_cublas(o.switches)) cublas_.emplace();
  if (o.switches.matmul == MatmulLibrary::cublas) {
    gemms_ = std::make_unique<CublasGemms<T>>(*cublas_, o.matmul.fp32_math);
  } else {
    gemms_ = std::make_unique<CublasLtGemms<T>>(matmul_);
  }
  attention_.emplace(options_, cublas_ ? &*cublas_ : nullptr, scratch_.data(), stream_.get());
  if (o.communicator != nullptr) {
    // What lies beyond the parameters is added up too.
    launch_zero(
        gradients_.data() + layout_.total() + places_.vectors_shift(),
        (padded_elements(layout_, o.ranks) - layout_.total()) * static_cast<std::int64_t>(sizeof(float)),
        stream_.get());
    reduction_.emplace(*o.communicator, o.reduction, layout_, o.config.layers, places_, gradients_.data(),
                       stream_.get());
  }
  const LinearContext<T> context{options_,
                                 layout_,
                                 parameters_.data(),
                                 gradients_.data(),
                                 places_,
                                 act_,
                                 matmul_,
                                 *gemms_,
                                 *attention_,
                                 sums_,
                                 scratch_.data(),
                                 stream_.get(),
                                 shards_,
                                 reduction_ ? reduction_->stream() : stream_.get()};
  linear_.emplace(context);
  if (!shards_.empty()) {
    const std::vector<GradientBucket>& buckets = reduction_->buckets();
    // The layers multiply bytes of their own in FP8: their BF16 matrices are for checkpoints, but for attproj's.
    const GatherPlace place = std::is_same_v<P, fp8> ? GatherPlace::forward : o.reduction.gather;
    const GatheredData all{parameters_.data(), sizeof(T)};
    gathers_.emplace(*o.communicator, buckets, gather_plan(layout_, o.config.layers, buckets, place), all,
                     stream_.get(), reduction_->stream());
    if (linear_->gathers() != nullptr && linear_->value_bias_after_projection())
      linear_->gathers()->add_pieces(all, pieces_of(Tensor::attprojw));
    own_parts_ = shards_.parts(o.communicator->rank());
    for (Shards::Part& part : own_parts_)
      part.end = std::max(part.begin, std::min(part.end, layout_.total()));
    squared_sum_ = DeviceBuffer<double>(1);
    for (DeviceBuffer<float>* kept : {&m_, &v_, &master_}) {  // beyond the parameters too
      launch_zero(kept->data(), kept->size_bytes(), stream_.get());
    }
    launch_zero(parameters_.data(), parameters_.size_bytes(), stream_.get());
  }
  stream_.synchronize();
}

template <class P>
std::vector<GatheredPiece> GpuModelOf<P>::pieces_of(Tensor tensor) const {
  std::vector<GatheredPiece> pieces;
  for (int l = 0; l < options_.config.layers; ++l) {
    const std::int64_t begin = layout_.offset(tensor, l);
    shards_.for_segments(begin, begin + layout_.count(tensor), [&](int rank, const Shards::Part& part) {
      pieces.push_back({part.begin, part.count(), rank});
    });
  }
  return pieces;
}

template class GpuModelOf<float>;
template class GpuModelOf<bf16>;
template class GpuModelOf<fp8>;

Switches switches_on_device(const GpuModelOptions& o) {
  Switches switches = o.switches;
  if (switches.gelu == GeluKind::own &&
      !hopper_matmul_supported(static_cast<std::int64_t>(o.batch) * o.sequence, o.config.channels,
                               4 * o.config.channels)) {
    switches.gelu = GeluKind::fused;
  }
  if (switches.attention == AttentionKind::hopper &&
      !hopper_attention_backward_supported(o.batch, o.sequence, o.config.heads, o.config.head_size())) {
    const bool cudnn = cudnn_attention_available() && o.config.head_size() % 8 == 0;
    switches.attention = cudnn ? AttentionKind::cudnn : AttentionKind::own;
  }
  return switches;
}

void GpuModel::check(const GpuModelOptions& o) {
  validate(o.config);
  if (o.batch < 1 || o.grad_accum < 1)
    throw InputError(fmt::format("B={} K={}: must be at least 1", o.batch, o.grad_accum));
  if (o.ranks < 1 || (o.communicator != nullptr && o.communicator->size() != o.ranks)) {
    throw std::invalid_argument("GpuModel: a communicator of another number of ranks");
  }
  if (o.sequence < 1 || o.sequence > o.config.max_t) {
    throw InputError(fmt::format("T={}: the model's positions allow 1 to {}", o.sequence, o.config.max_t));
  }
  if (static_cast<std::int64_t>(o.batch) * o.sequence > (std::int64_t{1} << 30)) {
    throw InputError(fmt::format("B*T={} is beyond 2^30 positions: lower -B and raise --grad-accum",
                                 static_cast<std::int64_t>(o.batch) * o.sequence));
  }
  if (o.config.head_size() > 128)
    throw InputError(fmt::format("head size {}: attention supports up to 128", o.config.head_size()));
  check_switches(o.switches);
  check_zero(o);
  if (o.switches.precision == Precision::fp8) check_fp8(o);
  if (o.switches.attention == AttentionKind::cudnn) {
    if (!cudnn_attention_available()) throw InputError("this build has no cuDNN: use --attention own");
    if (o.config.head_size() % 8 != 0) {
      throw InputError(fmt::format("head size {}: cuDNN needs a multiple of 8, use --attention own",
                                   o.config.head_size()));
    }
  }
}

MemoryPlan GpuModel::memory_plan(const GpuModelOptions& o) {
  check(o);
  const bool narrow = has_bf16_activations(o.switches.precision);
  const std::int64_t n = ParameterLayout(o.config).total();
  MemoryPlan plan;
  const std::int64_t kept = o.reduction.zero > 0 ? (n + o.ranks - 1) / o.ranks : n;  // of each rank
  plan.parameters_bytes = narrow ? n * 2 + kept * 4 : n * 4;
  if (o.switches.precision == Precision::fp8) plan.parameters_bytes += Linear<fp8>::device_bytes(o);
  const std::int64_t gradients =
      o.reduction.zero == 2 ? gradient_places(o, DeviceLayout(o.config)).elements() : n;
  plan.optimizer_bytes = gradients * 4 + kept * 2 * 4;
  plan.activations_bytes = narrow ? activation_bytes<bf16>(o) : activation_bytes<float>(o);
  plan.workspace_bytes =
      scratch_bytes(o) + cudnn_bytes(o) + partial_sums_bytes(o) +
      static_cast<std::int64_t>(matmul_options(o).workspace_bytes) +
      reduction_bytes(o.reduction, gradient_buckets(DeviceLayout(o.config), o.config.layers,
                                                    o.reduction.bucket_bytes, o.ranks)) +
      static_cast<std::int64_t>(needs_cublas(o.switches) ? CublasHandle::kWorkspaceBytes : 0);
  return plan;
}

std::unique_ptr<GpuModel> GpuModel::create(const GpuModelOptions& options) {
  check(options);
  GpuModelOptions o = options;
  o.switches = switches_on_device(options);
  o.matmul = matmul_options(o);
  if (o.switches.precision == Precision::fp8) {
    check_fp8_device();
    return std::make_unique<GpuModelOf<fp8>>(o);
  }
  if (o.switches.precision == Precision::bf16) return std::make_unique<GpuModelOf<bf16>>(o);
  return std::make_unique<GpuModelOf<float>>(o);
}

}  // namespace ridgeline::gpt2