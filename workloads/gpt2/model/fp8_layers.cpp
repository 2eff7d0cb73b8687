#include "gpt2/model/fp8_layers.h"

#include <array>
#include <bit>
#include <span>
#include <stdexcept>
#include <utility>

#include "gpt2/common/nvtx.h"
#include "gpt2/ops/elementwise/fill.h"

namespace ridgeline::gpt2 {
namespace {

// Until a tensor's magnitudes are known. Activations: values to 56 are stored, normal ones from 2^-9 on; a model at its
// beginning has layernorms' outputs of 1 and all else below. Gradients of the mean loss are about 1 / tokens, and
// E5M2 has room for 2^30: this scale holds 224 / tokens as well as 2^-22 / tokens.
constexpr float kFirstActivationScale = 8.0F;
constexpr std::uint64_t kFirstGradientScale = 256;

std::int64_t weight_elements(const ModelConfig& config, bool classifier) {
  const std::int64_t c = config.channels;
  return 12 * c * c * config.layers + (classifier ? config.padded_vocab * c : 0);
}

}  // namespace

Fp8Layers::Fp8Layers(const ModelConfig& config, std::int64_t tokens, bool classifier, cudaStream_t stream,
                     std::optional<Fp8Sharing> sharing)
    : config_(config),
      layout_(config),
      layers_(config.layers),
      count_(classifier ? kWeights : kWeights - 1),
      first_gradient_scale_(
          static_cast<float>(std::bit_floor(kFirstGradientScale * static_cast<std::uint64_t>(tokens)))),
      state_memory_(fp8_scaling_bytes(config) / std::int64_t{sizeof(float)}),
      scaling_{state_memory_.data(), fp8_tensors(config), fp8_e4m3_tensors(config)},
      weights_(sharing ? sharing->shards.bytes() : weight_elements(config, classifier)),
      weights_transposed_(weight_elements(config, classifier)),
      weight_scales_(std::int64_t{kWeights} * config.layers),
      weight_amax_(std::int64_t{kWeights} * config.layers),
      weight_inverses_(std::int64_t{kFp8InverseStride} * kWeights * config.layers),
      dlogits_scale_(fp8_scale(1.0F / static_cast<float>(tokens), Fp8Format::e5m2)),
      dlogits_inverse_(1),
      found_amax_(1) {
  const std::int64_t c = config.channels;
  const std::int64_t square = c * c * config.layers;
  all_[0] = {kFp8Weights[0], 3 * c, c, 0, config.layers};
  all_[1] = {kFp8Weights[1], c, c, 3 * square, config.layers};
  all_[2] = {kFp8Weights[2], 4 * c, c, 4 * square, config.layers};
  all_[3] = {kFp8Weights[3], c, 4 * c, 8 * square, config.layers};
  all_[4] = {kFp8Weights[4], config.padded_vocab, c, 12 * square, 1};
  dlogits_inverse_.upload({1.0F / dlogits_scale_});
  launch_zero(weight_scales_.data(), weight_scales_.size_bytes(), stream);
  launch_zero(weight_amax_.data(), weight_amax_.size_bytes(), stream);
  reset(stream);
  if (!sharing) return;
  Communicator& ranks = *sharing->communicator;
  const std::vector<Fp8Part> parts = sharing->shards.parts(ranks.rank());
  DeviceBuffer<Fp8Part> memory(static_cast<std::int64_t>(parts.size()));
  memory.upload(parts);
  Fp8Parts own{memory.data(), memory.size(), 0};
  for (const Fp8Part& part : parts) own.elements += part.count;
  launch_zero(weights_.data(), weights_.size_bytes(), stream);  // what lies between weights travels too
  ParameterGathers gathers(ranks, sharing->shards.buckets(), sharing->shards.plan(), {weights_.data(), 1},
                           stream, sharing->beside);
  shared_.emplace(Shared{ranks, std::move(sharing->shards), std::move(memory), own, std::move(gathers)});
}

std::int64_t Fp8Layers::device_bytes(const ModelConfig& config, bool classifier, const Fp8Shards* shards) {
  const std::int64_t elements = weight_elements(config, classifier);
  // Ranks' lists of parts are about equally long.
  const std::int64_t shared =
      shards == nullptr
          ? elements
          : shards->bytes() + static_cast<std::int64_t>(shards->parts(0).size() * sizeof(Fp8Part));
  return fp8_scaling_bytes(config) + shared + elements +
         (std::int64_t{2 + kFp8InverseStride} * kWeights * config.layers + 2) * std::int64_t{sizeof(float)};
}

Fp8Output Fp8Layers::output(Fp8Tensor tensor, int layer, std::uint8_t* data, std::uint8_t* transposed) const {
  const std::int64_t at = fp8_tensor_index(config_, tensor, layer);
  return {data, transposed, {scaling_.scale(at), recording_ ? scaling_.amax(at) : nullptr}};
}

Fp8Operand Fp8Layers::operand(Fp8Tensor tensor, int layer, const std::uint8_t* data) const {
  return {data, scaling_.inverse(fp8_tensor_index(config_, tensor, layer))};
}

Fp8Result Fp8Layers::result(Fp8Tensor tensor, int layer, std::uint8_t* data) {
  return {data, scaling_.scale(fp8_tensor_index(config_, tensor, layer)), found_amax_.data()};
}

Fp8Input Fp8Layers::fresh_input(Fp8Tensor tensor, int layer, const std::uint8_t* data) const {
  const std::int64_t at = fp8_tensor_index(config_, tensor, layer);
  return {data, scaling_.inverse(at), found_amax_.data(), recording_ ? scaling_.amax(at) : nullptr};
}

Fp8Input Fp8Layers::input(Fp8Tensor tensor, int layer, const std::uint8_t* data) const {
  return {data, scaling_.inverse(fp8_tensor_index(config_, tensor, layer)), nullptr, nullptr};
}

int Fp8Layers::which(Tensor tensor) const {
  for (int i = 0; i < count_; ++i) {
    if (all_[i].tensor == tensor) return i;
  }
  throw std::invalid_argument("Fp8Layers: a tensor that is no weight of a linear layer");
}

std::int64_t Fp8Layers::place_transposed(int index, int layer) const {
  const Weights& w = all_[index];
  return w.offset + layer * w.rows * w.columns;
}

std::int64_t Fp8Layers::place(int index, int layer) const {
  return shared_ ? shared_->shards.at(all_[index].tensor, layer) : place_transposed(index, layer);
}

Fp8Operand Fp8Layers::weight_at(const std::uint8_t* data, int index, int layer) const {
  return {data, weight_inverses_.data() + (std::int64_t{index} * layers_ + layer) * kFp8InverseStride};
}

Fp8Operand Fp8Layers::weight(Tensor tensor, int layer) const {
  const int i = which(tensor);
  return weight_at(weights_.data() + place(i, layer), i, layer);
}

Fp8Operand Fp8Layers::weight_transposed(Tensor tensor, int layer) const {
  const int i = which(tensor);
  return weight_at(weights_transposed_.data() + place_transposed(i, layer), i, layer);
}

// Magnitudes are not negative, so that as floats they are ordered as their bits are.
void Fp8Layers::cast_shared_weights(const float* master, cudaStream_t stream) {
  Shared& s = *shared_;
  const std::int64_t count = std::int64_t{kWeights} * layers_;
  launch_fp8_amax_parts(weight_amax_.data(), master, s.parts, stream);
  s.communicator.all_reduce_max(reinterpret_cast<float*>(weight_amax_.data()), count, stream);
  launch_fp8_current_scales(weight_scales_.data(), weight_inverses_.data(), weight_amax_.data(), count,
                            stream);
  launch_fp8_cast_parts(weights_.data(), master, weight_scales_.data(), s.parts, stream);
  for (const std::size_t bucket : s.gathers.plan().order) s.gathers.updated(bucket);
  s.gathers.finish_update();
}

void Fp8Layers::transpose_weights(int layer, cudaStream_t stream) {
  if (!shared_) return;
  std::array<Fp8Transpose, kFp8TransposesAtOnce> tensors;
  std::size_t count = 0;
  const int of_layer = layer < layers_ ? layer : 0;
  for (int i = 0; i < count_; ++i) {
    const Weights& w = all_[i];
    if ((w.tensor == Tensor::wte) != (layer == layers_)) continue;
    tensors.at(count++) = {weights_transposed_.data() + place_transposed(i, of_layer),
                           weights_.data() + place(i, of_layer), w.rows, w.columns};
  }
  if (count > 0) launch_fp8_transpose(std::span(tensors).first(count), stream);
}

void Fp8Layers::cast_weights(const float* master, cudaStream_t stream) {
  const NvtxRange range("fp8_weights");
  if (shared_) return cast_shared_weights(master, stream);
  const std::int64_t count = std::int64_t{kWeights} * layers_;
  float* scales = weight_scales_.data();
  std::uint32_t* amax = weight_amax_.data();
  for (int i = 0; i < count_; ++i) {
    const Weights& w = all_[i];
    launch_fp8_amax(amax + std::int64_t{i} * layers_, master + layout_.offset(w.tensor), w.layers,
                    layout_.stride(w.tensor), w.rows * w.columns, stream);
  }
  launch_fp8_current_scales(scales, weight_inverses_.data(), amax, count, stream);
  for (int i = 0; i < count_; ++i) {
    const Weights& w = all_[i];
    const Fp8Output out{weights_.data() + w.offset,
                        weights_transposed_.data() + w.offset,
                        {scales + std::int64_t{i} * layers_, nullptr}};
    launch_fp8_cast_weights(out, master + layout_.offset(w.tensor), w.layers, layout_.stride(w.tensor),
                            w.rows, w.columns, stream);
  }
}

void Fp8Layers::update(cudaStream_t stream) {
  launch_fp8_update(scaling_, stream);
}

void Fp8Layers::reset(cudaStream_t stream) {
  launch_fp8_reset(scaling_, kFirstActivationScale, first_gradient_scale_, stream);
}

}  // namespace ridgeline::gpt2
