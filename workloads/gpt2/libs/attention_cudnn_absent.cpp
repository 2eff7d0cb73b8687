// attention_cudnn_absent.cpp: the same interface in a build without cuDNN.
#include <stdexcept>

#include "gpt2/libs/attention_cudnn.h"

namespace ridgeline::gpt2 {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "this program was built without cuDNN: run with --attention own, or install cudnn9-cuda-13 and "
      "rebuild");
}

}  // namespace

struct CudnnAttention::Impl {};

bool cudnn_attention_available() noexcept {
  return false;
}

std::string cudnn_version() {
  return {};
}

CudnnAttention::CudnnAttention(bool /*deterministic*/) {
  refuse();
}
CudnnAttention::~CudnnAttention() = default;
CudnnAttention::CudnnAttention(CudnnAttention&&) noexcept = default;
CudnnAttention& CudnnAttention::operator=(CudnnAttention&&) noexcept = default;

void CudnnAttention::forward(__nv_bfloat16*, float*, const __nv_bfloat16*, std::int64_t, std::int64_t,
                             std::int64_t, std::int64_t, cudaStream_t) {
  refuse();
}

void CudnnAttention::backward(__nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                              const __nv_bfloat16*, const float*, std::int64_t, std::int64_t, std::int64_t,
                              std::int64_t, cudaStream_t) {
  refuse();
}

void CudnnAttention::prepare(std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  refuse();
}

std::size_t CudnnAttention::workspace_bytes() const {
  return 0;
}

}  // namespace ridgeline::gpt2
