#include <stdexcept>
#include <type_traits>

#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"

namespace ridgeline::gpt2 {

template <typename T>
std::int64_t GpuModelOf<T>::state_bytes(StatePart part) const {
  if (part == StatePart::scaling) return fp8_ ? fp8_scaling_bytes(options_.config) : 0;
  if (part != StatePart::narrow) return layout_.total() * static_cast<std::int64_t>(sizeof(float));
  return std::is_same_v<T, float> ? 0 : parameters_.size_bytes();
}

template <typename T>
const std::byte* GpuModelOf<T>::state_at(StatePart part, std::int64_t begin, std::size_t size) const {
  if (begin < 0 || begin + static_cast<std::int64_t>(size) > state_bytes(part)) {
    throw std::out_of_range("GpuModel: outside the part of the state");
  }
  const void* data = nullptr;
  switch (part) {
    case StatePart::master:
      if constexpr (std::is_same_v<T, float>) {
        data = parameters_.data();
      } else {
        data = master_.data();
      }
      break;
    case StatePart::moment1:
      data = m_.data();
      break;
    case StatePart::moment2:
      data = v_.data();
      break;
    case StatePart::narrow:
      data = parameters_.data();
      break;
    case StatePart::scaling:
      data = fp8_->state();  // within its bytes, so there is one
      break;
  }
  return static_cast<const std::byte*>(data) + begin;
}

template <typename T>
void GpuModelOf<T>::download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const {
  stream_.synchronize();
  RIDGELINE_CUDA_CHECK(
      cudaMemcpy(out.data(), state_at(part, begin, out.size()), out.size(), cudaMemcpyDeviceToHost));
}

template <typename T>
void GpuModelOf<T>::upload_state(StatePart part, std::int64_t begin, std::span<const std::byte> in) {
  stream_.synchronize();
  RIDGELINE_CUDA_CHECK(cudaMemcpy(const_cast<std::byte*>(state_at(part, begin, in.size())), in.data(),
                                  in.size(), cudaMemcpyHostToDevice));
  // As in DeviceBuffer::upload: the copy may outlast the call, and stream_ does not wait for it.
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  if (fp8_ && part == StatePart::master) fp8_->cast_weights(master_.data(), stream_.get());
}

template <typename T>
std::vector<float> GpuModelOf<T>::logits(const std::int32_t* inputs, std::int64_t row) {
  const NvtxRange range("logits");
  if (row < 0 || row >= rows_) throw std::out_of_range("GpuModel::logits: no such position");
  if (fp8_) fp8_->set_recording(false);
  forward_to_logits(inputs);
  std::vector<T> stored(static_cast<std::size_t>(options_.config.vocab));
  RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(stored.data(), act_.logits + row * options_.config.padded_vocab,
                                       stored.size() * sizeof(T), cudaMemcpyDeviceToHost, stream_.get()));
  stream_.synchronize();
  std::vector<float> out;
  out.reserve(stored.size());
  for (const T value : stored) out.push_back(to_float(value));
  return out;
}

template std::int64_t GpuModelOf<float>::state_bytes(StatePart) const;
template std::int64_t GpuModelOf<bf16>::state_bytes(StatePart) const;
template const std::byte* GpuModelOf<float>::state_at(StatePart, std::int64_t, std::size_t) const;
template const std::byte* GpuModelOf<bf16>::state_at(StatePart, std::int64_t, std::size_t) const;
template void GpuModelOf<float>::download_state(StatePart, std::int64_t, std::span<std::byte>) const;
template void GpuModelOf<bf16>::download_state(StatePart, std::int64_t, std::span<std::byte>) const;
template void GpuModelOf<float>::upload_state(StatePart, std::int64_t, std::span<const std::byte>);
template void GpuModelOf<bf16>::upload_state(StatePart, std::int64_t, std::span<const std::byte>);
template std::vector<float> GpuModelOf<float>::logits(const std::int32_t*, std::int64_t);
template std::vector<float> GpuModelOf<bf16>::logits(const std::int32_t*, std::int64_t);

}  // namespace ridgeline::gpt2
