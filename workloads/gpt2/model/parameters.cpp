#include "gpt2/model/parameters.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "gpt2/common/parallel_parts.h"

namespace ridgeline::gpt2 {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

float normal(std::uint64_t key, std::int64_t index) {
  const std::uint64_t bits = mix(key ^ mix(static_cast<std::uint64_t>(index)));
  const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
  const float v = static_cast<float>((bits >> 8) & 0xffffff) * 0x1p-24f;
  return std::sqrt(-2.0f * std::log(u)) * std::cos(2.0f * std::numbers::pi_v<float> * v);
}

}  // namespace

std::string_view tensor_name(Tensor tensor) {
  constexpr std::string_view kNames[kTensorCount] = {"wte",      "wpe",      "ln1w", "ln1b", "qkvw", "qkvb",
                                                     "attprojw", "attprojb", "ln2w", "ln2b", "fcw",  "fcb",
                                                     "fcprojw",  "fcprojb",  "lnfw", "lnfb"};
  return kNames[static_cast<std::size_t>(tensor)];
}

bool tensor_is_matrix(Tensor tensor) {
  switch (tensor) {
    case Tensor::wte:
    case Tensor::wpe:
    case Tensor::qkvw:
    case Tensor::attprojw:
    case Tensor::fcw:
    case Tensor::fcprojw:
      return true;
    default:
      return false;
  }
}

ParameterLayout::ParameterLayout(const ModelConfig& config) : layers_(config.layers) {
  const std::int64_t c = config.channels;
  const std::int64_t l = config.layers;
  count_ = {config.padded_vocab * c,
            config.max_t * c,
            l * c,
            l * c,
            l * 3 * c * c,
            l * 3 * c,
            l * c * c,
            l * c,
            l * c,
            l * c,
            l * 4 * c * c,
            l * 4 * c,
            l * c * 4 * c,
            l * c,
            c,
            c};
  for (std::size_t i = 0; i < count_.size(); ++i) {
    offset_[i] = total_;
    total_ += count_[i];
  }
}

std::vector<TensorInstance> ParameterLayout::instances() const {
  std::vector<TensorInstance> all;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    const bool stacked =
        tensor != Tensor::wte && tensor != Tensor::wpe && tensor != Tensor::lnfw && tensor != Tensor::lnfb;
    const int parts = stacked ? layers_ : 1;
    const std::int64_t each = count(tensor) / parts;
    for (int i = 0; i < parts; ++i) {
      const std::int64_t begin = offset(tensor) + i * each;
      all.push_back({tensor, begin, begin + each});
    }
  }
  return all;
}

std::vector<float> random_parameters(const ModelConfig& config, std::uint64_t seed) {
  const ParameterLayout layout(config);
  std::vector<float> out(static_cast<std::size_t>(layout.total()), 0.0f);
  for (Tensor tensor : {Tensor::ln1w, Tensor::ln2w, Tensor::lnfw}) {
    std::fill_n(out.begin() + layout.offset(tensor), layout.count(tensor), 1.0f);
  }
  for (int t = 0; t < kTensorCount; ++t) {
    const Tensor tensor = static_cast<Tensor>(t);
    if (!tensor_is_matrix(tensor)) continue;
    const bool residual = tensor == Tensor::attprojw || tensor == Tensor::fcprojw;
    const float scale = residual ? 0.02f / std::sqrt(2.0f * static_cast<float>(config.layers)) : 0.02f;
    const std::int64_t count = tensor == Tensor::wte
                                   ? static_cast<std::int64_t>(config.vocab) * config.channels
                                   : layout.count(tensor);
    float* base = out.data() + layout.offset(tensor);
    const std::uint64_t key = mix(seed * kTensorCount + static_cast<std::uint64_t>(t));
    constexpr std::int64_t kOfANormal = 64;  // operations
    for_parts(count, kOfANormal, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) base[i] = scale * normal(key, i);
    });
  }
  return out;
}

std::vector<float> repad_vocabulary(const std::vector<float>& values, const ModelConfig& from,
                                    const ModelConfig& to) {
  ModelConfig same = from;
  same.padded_vocab = to.padded_vocab;
  const ParameterLayout old_layout(from);
  const ParameterLayout new_layout(to);
  if (!(same == to) || static_cast<std::int64_t>(values.size()) != old_layout.total()) {
    throw std::invalid_argument("repad_vocabulary: these are not the parameters of the same model");
  }
  std::vector<float> out(static_cast<std::size_t>(new_layout.total()), 0.0f);
  const std::int64_t kept = std::min(old_layout.count(Tensor::wte), new_layout.count(Tensor::wte));
  std::copy_n(values.begin(), kept, out.begin());
  // wte comes first, and everything after it keeps its size and order.
  std::copy(values.begin() + old_layout.offset(Tensor::wpe), values.end(),
            out.begin() + new_layout.offset(Tensor::wpe));
  return out;
}

}  // namespace ridgeline::gpt2
