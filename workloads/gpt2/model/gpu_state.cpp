// What the host takes out and puts in again. Files have the parameters in another order (device_layout.h): both ways go
// through for_pieces.
#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/ops/elementwise/fill.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kEveryRank = -1;  // has it

}  // namespace

template <class P>
float* GpuModelOf<P>::master() const {
  if constexpr (std::is_same_v<T, float>) {
    return const_cast<float*>(parameters_.data());
  } else {
    return const_cast<float*>(master_.data());
  }
}

template <class P>
std::int64_t GpuModelOf<P>::element_bytes(StatePart part) {
  if (part == StatePart::narrow) return std::is_same_v<T, float> ? 0 : sizeof(T);
  return sizeof(float);
}

template <class P>
std::int64_t GpuModelOf<P>::state_bytes(StatePart part) const {
  if (part == StatePart::scaling) return Linear<P>::state_bytes(options_.config);
  return layout_.total() * element_bytes(part);
}

template <class P>
std::byte* GpuModelOf<P>::state_data(StatePart part) const {
  const void* data = nullptr;
  switch (part) {
    case StatePart::master:
      data = master();
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
      data = linear_->state();
      break;
  }
  return static_cast<std::byte*>(const_cast<void*>(data));
}

template <class P>
template <class Copy>
void GpuModelOf<P>::for_pieces(StatePart part, std::int64_t begin, std::size_t size, const Copy& copy) const {
  const std::int64_t end = begin + static_cast<std::int64_t>(size);
  if (begin < 0 || end > state_bytes(part)) {
    throw std::out_of_range("GpuModel: outside the part of the state");
  }
  std::byte* data = state_data(part);
  if (part == StatePart::scaling) {
    copy(data + begin, std::int64_t{0}, size, kEveryRank);
    return;
  }
  const std::int64_t element = element_bytes(part);
  const bool sharded = is_sharded(part);
  if (sharded && (begin % element != 0 || end % element != 0)) {
    throw std::out_of_range("GpuModel: a part of the state in shards is copied by whole elements");
  }
  for (const DeviceLayout::Piece& piece : layout_.pieces()) {
    const std::int64_t first = std::max(begin, piece.file * element);
    const std::int64_t last = std::min(end, (piece.file + piece.count) * element);
    if (first >= last) continue;
    const std::int64_t here = (piece.device - piece.file) * element + first;  // of the device layout
    if (!sharded) {
      copy(data + here, first - begin, static_cast<std::size_t>(last - first), kEveryRank);
      continue;
    }
    const std::int64_t device = here / element;
    shards_.for_segments(
        device, device + (last - first) / element, [&](int rank, const Shards::Part& segment) {
          copy(data + segment.packed * element, first - begin + (segment.begin - device) * element,
               static_cast<std::size_t>(segment.count() * element), rank);
        });
  }
}

template <class P>
void GpuModelOf<P>::download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const {
  stream_.synchronize();
  const auto to_host = [&](const std::byte* device, std::int64_t at, std::size_t bytes) {
    RIDGELINE_CUDA_CHECK(cudaMemcpy(out.data() + at, device, bytes, cudaMemcpyDeviceToHost));
  };
  if (!is_sharded(part)) {
    for_pieces(part, begin, out.size(),
               [&](const std::byte* device, std::int64_t at, std::size_t bytes, int) {
                 to_host(device, at, bytes);
               });
    return;
  }
  // Rank 0 gets what the others keep, and copies it when all of it has come.
  Communicator& ranks = *options_.communicator;
  const bool collects = ranks.rank() == 0;
  if (collects && staging_.size() < static_cast<std::int64_t>(out.size())) {
    staging_ = DeviceBuffer<std::byte>(static_cast<std::int64_t>(out.size()));
  }
  ranks.begin_group();
  for_pieces(part, begin, out.size(),
             [&](const std::byte* device, std::int64_t at, std::size_t bytes, int rank) {
               const auto count = static_cast<std::int64_t>(bytes);
               if (rank == 0) return;
               if (collects) ranks.receive(staging_.data() + at, count, rank, stream_.get());
               if (rank == ranks.rank()) ranks.send(device, count, 0, stream_.get());
             });
  ranks.end_group();
  stream_.synchronize();
  if (!collects) return;
  for_pieces(part, begin, out.size(),
             [&](const std::byte* device, std::int64_t at, std::size_t bytes, int rank) {
               to_host(rank == 0 ? device : staging_.data() + at, at, bytes);
             });
}

template <class P>
void GpuModelOf<P>::upload_state(StatePart part, std::int64_t begin, std::span<const std::byte> in) {
  stream_.synchronize();
  const int own = options_.communicator != nullptr ? options_.communicator->rank() : 0;
  for_pieces(part, begin, in.size(), [&](std::byte* device, std::int64_t at, std::size_t bytes, int rank) {
    if (rank != kEveryRank && rank != own) return;
    RIDGELINE_CUDA_CHECK(cudaMemcpy(device, in.data() + at, bytes, cudaMemcpyHostToDevice));
  });
  // As in DeviceBuffer::upload: the copy may outlast the call, and stream_ does not wait for it.
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  if (part == StatePart::master) linear_->cast_weights(master());
}

template <class P>
void GpuModelOf<P>::convert_parameters() {
  if constexpr (!std::is_same_v<T, float>) {
    if (shards_.empty()) {
      launch_convert(parameters_.data(), master_.data(), layout_.total(), stream_.get());
      return;
    }
    for (std::size_t bucket = 0; bucket < own_parts_.size(); ++bucket) {
      const Shards::Part& part = own_parts_[bucket];
      launch_convert(parameters_.data() + part.begin, master_.data() + part.packed, part.count(),
                     stream_.get());
      gathers_->updated(bucket);
    }
    gathers_->finish_update();
  }
}

template <class P>
void GpuModelOf<P>::complete_parameters() {
  if (gathers_) gathers_->complete();
  if (ParameterGathers* of_weights = linear_->gathers()) of_weights->complete();
}

template <class P>
void GpuModelOf<P>::load(const std::vector<float>& parameters) {
  if (static_cast<std::int64_t>(parameters.size()) != layout_.total()) {
    throw std::invalid_argument("GpuModel::load: wrong number of parameters");
  }
  upload_state(StatePart::master, 0, std::as_bytes(std::span(parameters)));
  convert_parameters();
  linear_->load(master());
  complete_parameters();
  launch_zero(m_.data(), m_.size_bytes(), stream_.get());
  launch_zero(v_.data(), v_.size_bytes(), stream_.get());
  stream_.synchronize();
}

template <class P>
std::vector<float> GpuModelOf<P>::download_parameters() const {
  std::vector<float> all(static_cast<std::size_t>(layout_.total()));
  download_state(StatePart::master, 0, std::as_writable_bytes(std::span(all)));
  return all;
}

template <class P>
std::vector<float> GpuModelOf<P>::download_gradients() const {
  stream_.synchronize();
  std::vector<float> here = gradients_.download();
  if (options_.reduction.zero == 2 && reduction_) {
    std::vector<float> placed(static_cast<std::size_t>(layout_.total()), 0.0F);
    for (std::size_t bucket = 0; bucket < own_parts_.size(); ++bucket) {
      const Shards::Part& part = own_parts_[bucket];
      std::copy_n(here.begin() + places_.own(bucket, options_.communicator->rank()), part.count(),
                  placed.begin() + part.begin);
    }
    here = std::move(placed);
  }
  std::vector<float> all(static_cast<std::size_t>(layout_.total()));
  for (const DeviceLayout::Piece& piece : layout_.pieces()) {
    std::copy_n(here.begin() + piece.device, piece.count, all.begin() + piece.file);
  }
  return all;
}

template <class P>
std::vector<float> GpuModelOf<P>::logits(const std::int32_t* inputs, std::int64_t row) {
  const NvtxRange range("logits");
  if (row < 0 || row >= rows_) throw std::out_of_range("GpuModel::logits: no such position");
  linear_->set_recording(false);
  forward_to_logits(inputs, false);
  std::vector<T> stored(static_cast<std::size_t>(options_.config.vocab));
  const Matrix<T> logits = act_.logits.template get<T>(live::logits);
  RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(stored.data(), logits.data + row * logits.columns,
                                       stored.size() * sizeof(T), cudaMemcpyDeviceToHost, stream_.get()));
  stream_.synchronize();
  std::vector<float> out;
  out.reserve(stored.size());
  for (const T value : stored) out.push_back(to_float(value));
  return out;
}

#define RIDGELINE_INSTANTIATE(P)                                                                    \
  template float* GpuModelOf<P>::master() const;                                                    \
  template std::int64_t GpuModelOf<P>::state_bytes(StatePart) const;                                \
  template void GpuModelOf<P>::download_state(StatePart, std::int64_t, std::span<std::byte>) const; \
  template void GpuModelOf<P>::upload_state(StatePart, std::int64_t, std::span<const std::byte>);   \
  template void GpuModelOf<P>::convert_parameters();                                                \
  template void GpuModelOf<P>::complete_parameters();                                               \
  template void GpuModelOf<P>::load(const std::vector<float>&);                                     \
  template std::vector<float> GpuModelOf<P>::download_parameters() const;                           \
  template std::vector<float> GpuModelOf<P>::download_gradients() const;                            \
  template std::vector<float> GpuModelOf<P>::logits(const std::int32_t*, std::int64_t);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
RIDGELINE_INSTANTIATE(fp8)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
