// Every attention: our own for Hopper, cuDNN's, the portable one; and what the FP8 step takes of the first.
#include "gpt2/ops/attention/attention.h"

#include <algorithm>
#include <memory>

#include "gpt2/bench/bench.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/bias_gradient_fp8.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace ridgeline::gpt2::bench {

void bench_attention(Bench& bench) {
  const Settings& s = bench.settings();
  const int b = s.batch, t = s.sequence, nh = s.heads, hs = s.channels / s.heads;
  const std::int64_t n = s.rows() * s.channels;
  DeviceBuffer<bf16> qkv(3 * n), dout(n), out(n), dqkv(3 * n);
  DeviceBuffer<float> lse(s.rows() * nh);
  launch_fill_normal(qkv.data(), 3 * n, 1.0F, 1, nullptr);
  launch_fill_normal(dout.data(), n, 1.0F, 2, nullptr);
  std::int64_t scratch_bytes = attention_backward_scratch_bytes(b, t, nh);
  const bool hopper = hopper_attention_backward_supported(b, t, nh, hs);
  if (hopper) scratch_bytes = std::max(scratch_bytes, hopper_attention_backward_scratch_bytes(b, t, nh));
  DeviceBuffer<char> scratch(scratch_bytes);
  const bf16* q = qkv.data();
  const bf16* d = dout.data();
  const bf16* y = out.data();
  const float* statistics = lse.data();
  launch_attention_forward(out.data(), lse.data(), q, b, t, nh, hs, nullptr);

  const std::int64_t bytes = attention_forward_bytes<bf16>(b, t, nh, hs);
  const std::int64_t flops = attention_forward_flops(b, t, nh, hs);
  const std::int64_t backward_bytes = attention_backward_bytes<bf16>(b, t, nh, hs);
  const std::int64_t backward_flops = attention_backward_flops(b, t, nh, hs);
  std::unique_ptr<CudnnAttention> cudnn;
  if (cudnn_attention_available()) {
    cudnn = std::make_unique<CudnnAttention>(false);
    cudnn->prepare(b, t, nh, hs);
    bench.add("attention forward cuDNN", bytes, flops,
              [&](int, cudaStream_t st) { cudnn->forward(out.data(), lse.data(), q, b, t, nh, hs, st); });
    bench.add("attention backward cuDNN", backward_bytes, backward_flops, [&](int, cudaStream_t st) {
      cudnn->backward(dqkv.data(), d, q, y, statistics, b, t, nh, hs, st);
    });
  }
  const auto own = [&](bool deterministic) {
    return [&, deterministic](int, cudaStream_t st) {
      launch_hopper_attention_backward(dqkv.data(), d, q, y, statistics, b, t, nh, hs, scratch.data(),
                                       deterministic, st);
    };
  };
  if (hopper) {
    bench.add("attention forward Hopper", bytes, flops, [&](int, cudaStream_t st) {
      launch_hopper_attention_forward(out.data(), lse.data(), q, b, t, nh, hs, st);
    });
    bench.add("attention backward Hopper", backward_bytes, backward_flops, own(false));
    bench.add("attention backward Hopper, deterministic", backward_bytes, backward_flops, own(true));
  }
  bench.add("attention forward portable", bytes, flops, [&](int, cudaStream_t st) {
    launch_attention_forward(out.data(), lse.data(), q, b, t, nh, hs, st);
  });
  bench.add("attention backward portable", backward_bytes, backward_flops, [&](int, cudaStream_t st) {
    launch_attention_backward(dqkv.data(), d, q, y, statistics, b, t, nh, hs, scratch.data(), st);
  });
  // dqkv in E5M2 both ways with the queries' bias gradient, by attention or by a cast after it.
  const int columns = 3 * s.channels;
  DeviceBuffer<std::uint8_t> narrow, transposed;
  DeviceBuffer<float> scale(1), dbias(columns), memory;
  if (hopper_attention_backward_fp8_supported(b, t, nh, hs)) {
    narrow = DeviceBuffer<std::uint8_t>(3 * n);
    transposed = DeviceBuffer<std::uint8_t>(3 * n);
    memory = DeviceBuffer<float>(fp8_partial_sums(s.rows(), columns));
    scale.upload({1024.0F});
    dbias.upload(std::vector<float>(static_cast<std::size_t>(columns)));
    const Fp8Output target{narrow.data(), transposed.data(), {scale.data(), nullptr}};
    bench.add(
        "attention backward Hopper, E5M2", backward_bytes, backward_flops, [&, target](int, cudaStream_t st) {
          launch_hopper_attention_backward_fp8(target, d, q, y, statistics, b, t, nh, hs, scratch.data(),
                                               false, st);
          launch_bias_gradient_fp8(dbias.data(), transposed.data(), scale.data(), s.rows(), s.channels, st);
        });
    bench.add("attention backward Hopper, then cast", backward_bytes, backward_flops,
              [&, target](int i, cudaStream_t st) {
                own(false)(i, st);
                PartialSums sums(memory.data(), memory.size_bytes());
                launch_fp8_cast(target, Fp8Format::e5m2, dbias.data(), dqkv.data(), s.rows(), columns, &sums,
                                st);
              });
  }
  bench.measure();
}

}  // namespace ridgeline::gpt2::bench
