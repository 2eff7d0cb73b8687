// device_layout.h: where the parameters lie on the device.
//
// Files and the host hold them in ParameterLayout's order, where a tensor with one instance a layer is stacked over L.
// On the device a layer's matrices lie together, layer after layer, and after all matrices so do its vectors:
// wte, wpe, {qkvw, attprojw, fcw, fcprojw} x L, {ln1w, ln1b, qkvb, attprojb, ln2w, ln2b, fcb, fcprojb} x L, lnfw, lnfb
// So what a layer's backward pass completes is one piece of memory, what decays is one range, and what only ever
// accumulates is another. Parameters, gradients, master weights and both AdamW moments share this layout.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2 {

class DeviceLayout {
 public:
  explicit DeviceLayout(const ModelConfig& config);

  std::int64_t total() const { return total_; }  // elements of the whole buffer
  /// Where layer `layer`'s instance of a tensor begins; layer 0 of one that is not stacked.
  std::int64_t offset(Tensor tensor, int layer = 0) const {
    const Place& place = places_[static_cast<std::size_t>(tensor)];
    return place.offset + layer * place.stride;
  }
  /// Elements of one instance.
  std::int64_t count(Tensor tensor) const { return places_[static_cast<std::size_t>(tensor)].count; }
  /// Elements from one layer's instance to the next layer's: the same for all matrices, and for all vectors.
  std::int64_t stride(Tensor tensor) const { return places_[static_cast<std::size_t>(tensor)].stride; }
  /// Matrices are in front of it, the embeddings first; vectors after.
  std::int64_t vectors_start() const { return offset(Tensor::ln1w); }
  std::int64_t embeddings_end() const { return offset(Tensor::qkvw); }

  /// Every tensor of every layer, in the buffer's order and without gaps: 4 + 12 L of them.
  std::vector<TensorInstance> instances() const;

  /// The permutation: elements of one instance in a row, here and in ParameterLayout's order, in the latter's order.
  struct Piece {
    std::int64_t file;
    std::int64_t device;
    std::int64_t count;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  struct Place {
    std::int64_t offset = 0;
    std::int64_t count = 0;
    std::int64_t stride = 0;
  };
  std::array<Place, kTensorCount> places_{};
  std::int64_t total_ = 0;
  int layers_;
  std::vector<Piece> pieces_;
};

}  // namespace ridgeline::gpt2
