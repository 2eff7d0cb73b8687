// Access policy windows: what the stream carries, and what a captured kernel node does.
#include "gpt2/model/l2_residency.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/ops/elementwise/fill.h"
#include "model_test_support.h"

namespace ridgeline::gpt2 {
namespace {

constexpr unsigned kAll = l2_weights | l2_residual | l2_gradient;

class L2ResidencyGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!model_test::l2_can_persist()) GTEST_SKIP() << "this GPU sets no part of L2 aside";
  }
};

cudaAccessPolicyWindow stream_window(cudaStream_t stream) {
  cudaStreamAttrValue value{};
  RIDGELINE_CUDA_CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  return value.accessPolicyWindow;
}

TEST_F(L2ResidencyGpu, WindowsNestOnTheStream) {
  const Stream stream;
  DeviceBuffer<float> a(1 << 16), b(1 << 16);
  L2Residency l2(l2_weights | l2_residual, stream.get());
  EXPECT_EQ(stream_window(stream.get()).num_bytes, 0U);
  {
    const auto outer = l2.hold(l2_residual, a.data(), a.size_bytes());
    EXPECT_EQ(stream_window(stream.get()).base_ptr, a.data());
    {
      const auto inner = l2.hold(l2_weights, b.data(), b.size_bytes());
      const cudaAccessPolicyWindow window = stream_window(stream.get());
      EXPECT_EQ(window.base_ptr, b.data());
      EXPECT_EQ(window.num_bytes, static_cast<std::size_t>(b.size_bytes()));
      EXPECT_EQ(window.hitProp, cudaAccessPropertyPersisting);
    }
    {
      const auto not_chosen = l2.hold(l2_gradient, b.data(), b.size_bytes());
      EXPECT_EQ(stream_window(stream.get()).base_ptr, a.data());
    }
    EXPECT_EQ(stream_window(stream.get()).base_ptr, a.data());
  }
  EXPECT_EQ(stream_window(stream.get()).num_bytes, 0U);
}

TEST_F(L2ResidencyGpu, TheSetAsideIsGivenBack) {
  const Stream stream;
  std::size_t before = 0, during = 0, after = 0;
  RIDGELINE_CUDA_CHECK(cudaDeviceGetLimit(&before, cudaLimitPersistingL2CacheSize));
  {
    const L2Residency none(0, stream.get());
    RIDGELINE_CUDA_CHECK(cudaDeviceGetLimit(&during, cudaLimitPersistingL2CacheSize));
    EXPECT_EQ(during, before);
  }
  {
    const L2Residency l2(kAll, stream.get());
    RIDGELINE_CUDA_CHECK(cudaDeviceGetLimit(&during, cudaLimitPersistingL2CacheSize));
    EXPECT_GT(during, 0U);
  }
  RIDGELINE_CUDA_CHECK(cudaDeviceGetLimit(&after, cudaLimitPersistingL2CacheSize));
  EXPECT_EQ(after, before);
}

// Each captured kernel carries the window that was innermost when it was enqueued.
TEST_F(L2ResidencyGpu, ACapturedKernelNodeCarriesItsWindow) {
  const Stream stream;
  DeviceBuffer<float> a(1 << 16), b(1 << 16);
  L2Residency l2(kAll, stream.get());
  const auto enqueue = [&] { launch_fill(a.data(), 1.0F, a.size(), stream.get()); };
  cudaGraph_t graph = nullptr;
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  enqueue();  // none
  {
    const auto outer = l2.hold(l2_residual, a.data(), a.size_bytes());
    enqueue();                                            // a
    launch_zero(b.data(), b.size_bytes(), stream.get());  // a memset between kernels is passed over
    enqueue();                                            // a
    {
      const auto inner = l2.hold(l2_weights, b.data(), b.size_bytes());
      enqueue();  // b
    }
    enqueue();  // a
  }
  enqueue();  // none
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));

  std::size_t count = 0;
  RIDGELINE_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  RIDGELINE_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  int without = 0, with_a = 0, with_b = 0;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    RIDGELINE_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeAttrValue value{};
    RIDGELINE_CUDA_CHECK(
        cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &value));
    const cudaAccessPolicyWindow& window = value.accessPolicyWindow;
    without += window.num_bytes == 0 ? 1 : 0;
    with_a += window.num_bytes > 0 && window.base_ptr == a.data() ? 1 : 0;
    with_b += window.num_bytes > 0 && window.base_ptr == b.data() ? 1 : 0;
  }
  EXPECT_EQ(without, 2);
  EXPECT_EQ(with_a, 3);
  EXPECT_EQ(with_b, 1);
  EXPECT_EQ(stream_window(stream.get()).num_bytes, 0U);

  cudaGraphExec_t executable = nullptr;
  RIDGELINE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  RIDGELINE_CUDA_CHECK(cudaGraphExecDestroy(executable));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace ridgeline::gpt2
