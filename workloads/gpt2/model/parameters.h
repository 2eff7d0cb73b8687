// parameters.h: the 16 parameter tensors, and where each lies in a file and on the host.
//
// The order is that of the public model file; a tensor with one instance a layer is stacked over L. Parameters,
// gradients, master weights and both AdamW moments share it; on the device they lie otherwise (device_layout.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpt2/model/config.h"

namespace ridgeline::gpt2 {

enum class Tensor {
  wte,  // (Vp, C), tied: token embedding and classifier weight
  wpe,  // (max_t, C)
  ln1w,
  ln1b,      // (L, C)
  qkvw,      // (L, 3C, C)
  qkvb,      // (L, 3C)
  attprojw,  // (L, C, C)
  attprojb,  // (L, C)
  ln2w,
  ln2b,     // (L, C)
  fcw,      // (L, 4C, C)
  fcb,      // (L, 4C)
  fcprojw,  // (L, C, 4C)
  fcprojb,  // (L, C)
  lnfw,
  lnfb,  // (C)
};
constexpr int kTensorCount = 16;

std::string_view tensor_name(Tensor tensor);

/// Weight decay applies to matrices (wte, wpe, qkvw, attprojw, fcw, fcprojw) and to nothing else.
bool tensor_is_matrix(Tensor tensor);

/// One tensor as a framework's model holds it: a stacked tensor is L of them. Elements [begin, end).
struct TensorInstance {
  Tensor tensor;
  std::int64_t begin;
  std::int64_t end;
};

class ParameterLayout {
 public:
  explicit ParameterLayout(const ModelConfig& config);

  std::int64_t total() const { return total_; }  // elements of the whole buffer
  std::int64_t offset(Tensor tensor) const { return offset_[index(tensor)]; }
  std::int64_t count(Tensor tensor) const { return count_[index(tensor)]; }

  /// Element offset of layer `layer`'s slice of a stacked tensor.
  std::int64_t offset(Tensor tensor, int layer) const {
    return offset_[index(tensor)] + layer * (count_[index(tensor)] / layers_);
  }

  /// Every tensor of every layer, in the buffer's order and without gaps: 4 + 12 L of them.
  std::vector<TensorInstance> instances() const;

 private:
  static std::size_t index(Tensor tensor) { return static_cast<std::size_t>(tensor); }

  std::array<std::int64_t, kTensorCount> offset_{};
  std::array<std::int64_t, kTensorCount> count_{};
  std::int64_t total_ = 0;
  int layers_ = 1;
};

/// Pointers to the tensors of one layer.
template <typename T>
struct LayerTensors {
  T *ln1w, *ln1b, *qkvw, *qkvb, *attprojw, *attprojb, *ln2w, *ln2b, *fcw, *fcb, *fcprojw, *fcprojb;
};

/// Layout is ParameterLayout or DeviceLayout.
template <typename T, class Layout>
LayerTensors<T> layer_tensors(T* base, const Layout& layout, int layer) {
  const auto at = [&](Tensor tensor) { return base + layout.offset(tensor, layer); };
  return {at(Tensor::ln1w),     at(Tensor::ln1b),     at(Tensor::qkvw),    at(Tensor::qkvb),
          at(Tensor::attprojw), at(Tensor::attprojb), at(Tensor::ln2w),    at(Tensor::ln2b),
          at(Tensor::fcw),      at(Tensor::fcb),      at(Tensor::fcprojw), at(Tensor::fcprojb)};
}

/// GPT-2's initialisation: matrices N(0, 0.02), those that write into the residual stream (attprojw, fcprojw)
/// N(0, 0.02/sqrt(2L)), biases 0, layernorm weights 1, padded rows of wte 0. Every element is a function of
/// (seed, tensor, index) alone, so the result does not depend on the number of threads.
std::vector<float> random_parameters(const ModelConfig& config, std::uint64_t seed);

/// The same parameters for another padding of the vocabulary: rows of wte beyond the smaller of both Vp are
/// dropped or 0, the other tensors are moved. Holds for anything in this layout (parameters, moments).
/// Throws std::invalid_argument when `values` is not `from`'s or the two differ in more than padded_vocab.
std::vector<float> repad_vocabulary(const std::vector<float>& values, const ModelConfig& from,
                                    const ModelConfig& to);

}  // namespace ridgeline::gpt2
