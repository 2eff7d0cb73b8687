#include "gpt2/libs/attention_cudnn.h"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/libs/attention_graphs.h"
#include "gpt2/libs/cudnn_graph.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/ops/attention/attention.h"

namespace ridgeline::gpt2 {
namespace {

struct HandleDeleter {
  using pointer = cudnnHandle_t;
  void operator()(cudnnHandle_t handle) const noexcept { cudnnDestroy(handle); }
};

constexpr std::int64_t kAlignment_bytes = 256;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
}

// Adds what to do to a refusal of cuDNN.
template <class Function>
auto with_advice(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const LibraryError& error) {
    throw std::runtime_error(std::string(error.what()) + "; run with --attention own");
  }
}

}  // namespace

bool cudnn_attention_available() noexcept {
  return true;
}

std::string cudnn_version() {
  const std::size_t version = cudnnGetVersion();
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

struct CudnnAttention::Impl {
  struct Plans {
    AttentionShape shape;
    AttentionForwardPlan forward;
    AttentionBackwardPlan backward;
    float scale = 0.0F;
    // Offsets into the workspace, bytes.
    std::int64_t dq_sum = 0;
    std::int64_t row_sum = 0;
    std::int64_t scratch = 0;
  };

  explicit Impl(bool deterministic_backward) : deterministic(deterministic_backward) {
    cudnnHandle_t raw = nullptr;
    RIDGELINE_CUDNN_CHECK(cudnnCreate(&raw));
    handle.reset(raw);
  }

  Plans& plans_of(std::int64_t b, std::int64_t t, std::int64_t nh, std::int64_t hs) {
    const auto key = std::make_tuple(b, t, nh, hs);
    const auto found = plans.find(key);
    if (found != plans.end()) return found->second;
    if (b < 1 || t < 1 || nh < 1 || hs < 8 || hs % 8 != 0 || hs > 128) {
      throw std::invalid_argument(
          "cuDNN attention: B " + std::to_string(b) + ", T " + std::to_string(t) + ", NH " +
          std::to_string(nh) + ", HS " + std::to_string(hs) +
          ": the head size must be a multiple of 8, at most 128; run with --attention own");
    }
    Plans made;
    made.shape = {b, t, nh, hs};
    made.scale = 1.0F / std::sqrt(static_cast<float>(hs));
    made.forward = build_attention_forward(CudnnGraph(handle.get()), made.shape);
    made.backward = build_attention_backward(CudnnGraph(handle.get()), made.shape, deterministic);
    made.row_sum = made.backward.dq_sum == 0 ? 0 : aligned(b * nh * t * hs * std::int64_t{sizeof(float)});
    made.scratch = made.row_sum + aligned(b * nh * t * std::int64_t{sizeof(float)});
    const std::int64_t needed_bytes =
        std::max(static_cast<std::int64_t>(made.forward.plan.workspace_bytes()),
                 made.scratch + static_cast<std::int64_t>(made.backward.plan.workspace_bytes()));
    if (needed_bytes > workspace.size()) workspace = DeviceBuffer<unsigned char>(needed_bytes);
    return plans.emplace(key, std::move(made)).first->second;
  }

  // A shape seen first during capture would allocate and compile.
  Plans& plans_for_run(std::int64_t b, std::int64_t t, std::int64_t nh, std::int64_t hs,
                       cudaStream_t stream) {
    if (plans.find(std::make_tuple(b, t, nh, hs)) == plans.end()) {
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      RIDGELINE_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
      if (status != cudaStreamCaptureStatusNone) {
        throw std::logic_error(
            "cuDNN attention: its plans are not built yet and cannot be during stream capture; "
            "call prepare first");
      }
    }
    Plans& result = plans_of(b, t, nh, hs);
    RIDGELINE_CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
    return result;
  }

  bool deterministic = false;
  std::unique_ptr<cudnnHandle_t, HandleDeleter> handle;
  DeviceBuffer<unsigned char> workspace;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, Plans> plans;
  float minus_infinity = -std::numeric_limits<float>::infinity();
  float one = 1.0F;
};

CudnnAttention::CudnnAttention(bool deterministic)
    : impl_(with_advice([&] { return std::make_unique<Impl>(deterministic); })) {}
CudnnAttention::~CudnnAttention() = default;
CudnnAttention::CudnnAttention(CudnnAttention&&) noexcept = default;
CudnnAttention& CudnnAttention::operator=(CudnnAttention&&) noexcept = default;

void CudnnAttention::prepare(std::int64_t b, std::int64_t t, std::int64_t nh, std::int64_t hs) {
  with_advice([&] { impl_->plans_of(b, t, nh, hs); });
}

void CudnnAttention::forward(__nv_bfloat16* out, float* lse, const __nv_bfloat16* qkv, std::int64_t b,
                             std::int64_t t, std::int64_t nh, std::int64_t hs, cudaStream_t stream) {
  const NvtxRange range("attention_forward", {attention_forward_bytes<__nv_bfloat16>(b, t, nh, hs),
                                              attention_forward_flops(b, t, nh, hs)});
  with_advice([&] {
    const Impl::Plans& p = impl_->plans_for_run(b, t, nh, hs, stream);
    const AttentionForwardPlan& f = p.forward;
    const std::int64_t part = nh * hs;
    f.plan.execute(impl_->handle.get(),
                   {{f.q, qkv},
                    {f.k, qkv + part},
                    {f.v, qkv + 2 * part},
                    {f.out, out},
                    {f.lse, lse},
                    {f.scale, &p.scale},
                    {f.minus_infinity, &impl_->minus_infinity}},
                   impl_->workspace.data());
  });
}

void CudnnAttention::backward(__nv_bfloat16* dqkv, const __nv_bfloat16* dout, const __nv_bfloat16* qkv,
                              const __nv_bfloat16* out, const float* lse, std::int64_t b, std::int64_t t,
                              std::int64_t nh, std::int64_t hs, cudaStream_t stream) {
  const NvtxRange range("attention_backward", {attention_backward_bytes<__nv_bfloat16>(b, t, nh, hs),
                                               attention_backward_flops(b, t, nh, hs)});
  with_advice([&] {
    const Impl::Plans& p = impl_->plans_for_run(b, t, nh, hs, stream);
    const AttentionBackwardPlan& w = p.backward;
    const std::int64_t part = nh * hs;
    unsigned char* workspace = impl_->workspace.data();
    const std::vector<CudnnPlan::Binding> bindings = [&] {
      std::vector<CudnnPlan::Binding> list = {{w.q, qkv},
                                              {w.k, qkv + part},
                                              {w.v, qkv + 2 * part},
                                              {w.out, out},
                                              {w.dout, dout},
                                              {w.lse, lse},
                                              {w.dq, dqkv},
                                              {w.dk, dqkv + part},
                                              {w.dv, dqkv + 2 * part},
                                              {w.row_sum, workspace + p.row_sum},
                                              {w.scale, &p.scale},
                                              {w.minus_infinity, &impl_->minus_infinity},
                                              {w.one, &impl_->one}};
      if (w.dq_sum != 0) list.emplace_back(w.dq_sum, workspace + p.dq_sum);
      return list;
    }();
    w.plan.execute(impl_->handle.get(), bindings, workspace + p.scratch);
  });
}

std::size_t CudnnAttention::workspace_bytes() const {
  return static_cast<std::size_t>(impl_->workspace.size_bytes());
}

}  // namespace ridgeline::gpt2
