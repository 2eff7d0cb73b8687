#include "gpt2/model/device_layout.h"

#include <algorithm>
#include <initializer_list>

namespace ridgeline::gpt2 {

DeviceLayout::DeviceLayout(const ModelConfig& config) : layers_(config.layers) {
  const ParameterLayout file(config);
  const auto place = [&](Tensor tensor, int instances) {
    Place& at = places_[static_cast<std::size_t>(tensor)];
    at.offset = total_;
    at.count = file.count(tensor) / instances;
    total_ += at.count;
  };
  const auto place_layers = [&](std::initializer_list<Tensor> tensors) {
    const std::int64_t begin = total_;
    for (const Tensor tensor : tensors) place(tensor, layers_);
    const std::int64_t stride = total_ - begin;
    for (const Tensor tensor : tensors) places_[static_cast<std::size_t>(tensor)].stride = stride;
    total_ = begin + stride * layers_;
  };
  place(Tensor::wte, 1);
  place(Tensor::wpe, 1);
  place_layers({Tensor::qkvw, Tensor::attprojw, Tensor::fcw, Tensor::fcprojw});
  place_layers({Tensor::ln1w, Tensor::ln1b, Tensor::qkvb, Tensor::attprojb, Tensor::ln2w, Tensor::ln2b,
                Tensor::fcb, Tensor::fcprojb});
  place(Tensor::lnfw, 1);
  place(Tensor::lnfb, 1);

  for (const TensorInstance& instance : file.instances()) {
    const std::int64_t count = instance.end - instance.begin;
    const auto layer = static_cast<int>((instance.begin - file.offset(instance.tensor)) / count);
    pieces_.push_back({instance.begin, offset(instance.tensor, layer), count});
  }
}

std::vector<TensorInstance> DeviceLayout::instances() const {
  std::vector<TensorInstance> all;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    for (int layer = 0; layer < (stride(tensor) > 0 ? layers_ : 1); ++layer) {
      all.push_back({tensor, offset(tensor, layer), offset(tensor, layer) + count(tensor)});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const TensorInstance& a, const TensorInstance& b) { return a.begin < b.begin; });
  return all;
}

}  // namespace ridgeline::gpt2
