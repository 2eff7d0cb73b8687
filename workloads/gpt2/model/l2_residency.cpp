#include "gpt2/model/l2_residency.h"

#include <algorithm>
#include <array>

#include "gpt2/common/cuda_check.h"
#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

// The node that the stream's next captured node will follow; null when it captures nothing yet or at all.
cudaError_t last_captured(cudaStream_t stream, bool* capturing, cudaGraphNode_t* node) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  const cudaError_t code =
      cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &dependencies, &edges, &count);
  *capturing = status == cudaStreamCaptureStatusActive;
  *node = code == cudaSuccess && *capturing && count > 0 ? dependencies[0] : nullptr;
  return code;
}

// The node before `node` in a chain, null at its start. A model's step is one chain: it forks no stream.
cudaError_t predecessor(cudaGraphNode_t node, cudaGraphNode_t* before) {
  std::array<cudaGraphNode_t, 4> nodes{};
  std::array<cudaGraphEdgeData, 4> edges{};
  std::size_t count = nodes.size();
  const cudaError_t code = cudaGraphNodeGetDependencies(node, nodes.data(), edges.data(), &count);
  *before = code == cudaSuccess && count > 0 ? nodes[0] : nullptr;
  return code;
}

}  // namespace

cudaAccessPolicyWindow l2_window(const void* data, std::int64_t bytes, const L2Limits& limits) {
  cudaAccessPolicyWindow window{};
  const std::int64_t covered = std::min(bytes, limits.window_bytes);
  window.base_ptr = const_cast<void*>(data);
  window.num_bytes = static_cast<std::size_t>(covered);
  window.hitRatio = covered <= limits.persisting_bytes
                        ? 1.0F
                        : static_cast<float>(limits.persisting_bytes) / static_cast<float>(covered);
  window.hitProp = cudaAccessPropertyPersisting;
  window.missProp = cudaAccessPropertyNormal;
  return window;
}

L2Residency::L2Residency(unsigned tensors, cudaStream_t stream) : tensors_(tensors), stream_(stream) {
  if (tensors_ == 0) return;
  limits_ = {.persisting_bytes = attribute(cudaDevAttrMaxPersistingL2CacheSize),
             .window_bytes = attribute(cudaDevAttrMaxAccessPolicyWindowSize)};
  if (limits_.persisting_bytes <= 0 || limits_.window_bytes <= 0) {
    throw InputError("--l2-persist: this GPU sets no part of its L2 cache aside; use --l2-persist none");
  }
  RIDGELINE_CUDA_CHECK(cudaDeviceGetLimit(&previous_limit_bytes_, cudaLimitPersistingL2CacheSize));
  RIDGELINE_CUDA_CHECK(
      cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(limits_.persisting_bytes)));
  windows_.reserve(8);
}

L2Residency::~L2Residency() {
  if (tensors_ == 0) return;
  RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaCtxResetPersistingL2Cache());
  RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, previous_limit_bytes_));
}

L2Residency::Window L2Residency::hold(L2Persist tensor, const void* data, std::int64_t bytes) {
  if ((tensors_ & tensor) == 0) return Window(nullptr);
  push(l2_window(data, bytes, limits_));
  return Window(this);
}

void L2Residency::push(const cudaAccessPolicyWindow& window) {
  RIDGELINE_CUDA_CHECK(change());
  windows_.push_back(window);
  const cudaError_t code = apply();
  if (code != cudaSuccess) windows_.pop_back();  // no Window will be there to do it
  RIDGELINE_CUDA_CHECK(code);
}

void L2Residency::pop() noexcept {
  RIDGELINE_CUDA_CHECK_NOEXCEPT(change());
  windows_.pop_back();
  RIDGELINE_CUDA_CHECK_NOEXCEPT(apply());
}

cudaError_t L2Residency::change() noexcept {
  if (windows_.empty()) return cudaSuccess;
  bool capturing = false;
  cudaGraphNode_t node = nullptr;
  cudaError_t code = last_captured(stream_, &capturing, &node);
  cudaKernelNodeAttrValue value{};
  value.accessPolicyWindow = windows_.back();
  // Documented as permitted while the capture is in progress: everything but removing nodes.
  while (code == cudaSuccess && node != nullptr && node != marked_) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    code = cudaGraphNodeGetType(node, &type);
    if (code == cudaSuccess && type == cudaGraphNodeTypeKernel) {
      code = cudaGraphKernelNodeSetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &value);
    }
    if (code == cudaSuccess) code = predecessor(node, &node);
  }
  return code;
}

cudaError_t L2Residency::apply() noexcept {
  bool capturing = false;
  const cudaError_t code = last_captured(stream_, &capturing, &marked_);
  if (code != cudaSuccess || capturing) return code;
  cudaStreamAttrValue value{};  // a window of no bytes: none
  if (!windows_.empty()) value.accessPolicyWindow = windows_.back();
  return cudaStreamSetAttribute(stream_, cudaStreamAttributeAccessPolicyWindow, &value);
}

}  // namespace ridgeline::gpt2
