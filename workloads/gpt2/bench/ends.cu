// The first and the last ops of a step: embedding, classifier, optimizer.
#include "gpt2/bench/bench.h"
#include "gpt2/bench/buffers.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "gpt2/ops/loss/loss_sum.h"
#include "gpt2/ops/optimizer/adamw.h"
#include "gpt2/ops/optimizer/global_norm.h"

namespace ridgeline::gpt2::bench {
namespace {

constexpr int kVocab = 50257;
constexpr int kPaddedVocab = 50304;

template <typename T>
void encoder(Bench& bench) {
  const Settings& s = bench.settings();
  const int b = s.batch, t = s.sequence, c = s.channels;
  const std::int64_t table = std::int64_t{kPaddedVocab} * c;
  Rotating<T> out(s.rows() * c, 4), wte(table, 2), wpe(std::int64_t{t} * c, 1);
  Rotating<float> dwte(table, 2), dwpe(std::int64_t{t} * c, 1);
  const auto tokens = random_tokens(s.rows(), kVocab);
  DeviceBuffer<char> scratch(encoder_backward_scratch_bytes(b, t, c, EncoderBackward::deterministic));
  const std::string type = std::string(" ") + dtype_name<T>();
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    const std::string what = type + (width == KernelWidth::scalar ? " scalar" : "");
    bench.add("encoder_forward" + what, encoder_forward_bytes<T>(b, t, c, 1), encoder_forward_flops(b, t, c),
              [&, width](int i, cudaStream_t st) {
                launch_encoder_forward(out[i], tokens.data(), wte[i], wpe[i], b, t, c, st, width);
              });
    for (const auto mode : {EncoderBackward::atomic, EncoderBackward::deterministic}) {
      bench.add(
          std::string("encoder_backward ") + (mode == EncoderBackward::atomic ? "atomic" : "sorted") + what,
          encoder_backward_bytes<T>(b, t, c, 1), encoder_backward_flops(b, t, c),
          [&, width, mode](int i, cudaStream_t st) {
            launch_encoder_backward(dwte[i], dwpe[i], static_cast<const T*>(out[i]), tokens.data(), b, t, c,
                                    kVocab, mode, scratch.data(), st, width);
          });
    }
  }
  bench.measure();
}

template <typename T>
void classifier(Bench& bench) {
  const std::int64_t n = bench.settings().rows();
  const float scale = 1.0F / static_cast<float>(n);
  Rotating<T> logits(n * kPaddedVocab, 1, 5.0F);
  Rotating<float> losses(n, 1), mean(1, 1), log_probs(log_probs_size(n, kPaddedVocab), 1);
  const auto targets = random_tokens(n, kVocab);
  const std::string type = std::string(" ") + dtype_name<T>();
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    const std::string what = type + (width == KernelWidth::scalar ? " scalar" : "");
    bench.add("classifier_loss" + what, classifier_loss_bytes<T>(n, kVocab), classifier_loss_flops(n, kVocab),
              [&, width](int i, cudaStream_t st) {
                launch_classifier_loss(losses[i], static_cast<const T*>(logits[i]), targets.data(), n, kVocab,
                                       kPaddedVocab, st, width);
              });
    bench.add("fused_classifier" + what, fused_classifier_bytes<T>(n, kPaddedVocab),
              fused_classifier_flops(n, kVocab), [&, width](int i, cudaStream_t st) {
                launch_fused_classifier(logits[i], losses[i], targets.data(), scale, n, kVocab, kPaddedVocab,
                                        st, width);
              });
    bench.add("log_softmax" + what, log_softmax_bytes<T>(n, kVocab), log_softmax_flops(n, kVocab),
              [&, width](int i, cudaStream_t st) {
                launch_log_softmax(log_probs[i], static_cast<const T*>(logits[i]), n, kVocab, kPaddedVocab,
                                   st, width);
              });
    bench.add("cross_entropy_backward" + what, cross_entropy_backward_bytes<T>(n, kVocab, kPaddedVocab),
              cross_entropy_backward_flops(n, kVocab), [&, width](int i, cudaStream_t st) {
                launch_cross_entropy_backward(logits[i], log_probs[i], targets.data(), scale, n, kVocab,
                                              kPaddedVocab, st, width);
              });
  }
  bench.add("loss_sum" + type, loss_sum_bytes(n), loss_sum_flops(n),
            [&](int i, cudaStream_t st) { launch_loss_sum(mean[i], losses[i], n, scale, false, st); });
  bench.measure();
}

template <typename T>
void optimizer(Bench& bench) {
  const DeviceLayout layout(model_config("124M"));
  const std::int64_t n = layout.total();
  std::vector<WeightDecayRange> tensors;
  std::vector<GradientRange> gradients;
  for (const TensorInstance& t : layout.instances()) {
    tensors.push_back({t.begin, t.end, tensor_is_matrix(t.tensor) ? 0.1F : 0.0F});
    gradients.push_back({t.begin, t.end});
  }
  const std::vector<WeightDecayRange> decayed = {{0, layout.vectors_start(), 0.1F}};
  Rotating<T> params(n, 1);
  Rotating<float> master(n, 1), m(n, 1), v(n, 1, 0.0F), grads(n, 1, 1e-3F);
  float* of_master = sizeof(T) == 2 ? master[0] : nullptr;
  DeviceBuffer<GradientNorm> norm(1);
  DeviceBuffer<char> scratch(
      std::max(global_norm_scratch_bytes(), global_norm_per_tensor_scratch_bytes(gradients)));
  // AdamW does nothing without a finite norm, also when --only leaves the norm's own row out.
  launch_global_norm(norm.data(), grads[0], n, 1.0F, scratch.data(), nullptr);
  const std::string type = std::string(" ") + dtype_name<T>();
  const auto adamw = [&](const std::string& what, const AdamwVariant& variant) {
    bench.add("adamw" + what + type, adamw_bytes<T>(n), adamw_flops(n), [&, variant](int i, cudaStream_t st) {
      launch_adamw<T>(params[i], of_master, m[i], v[i], grads[i], norm.data(), n, decayed, {}, st, nullptr,
                      variant);
    });
  };
  adamw("", {});
  adamw(" scalar", {KernelWidth::scalar, {}, 0});
  if (sizeof(T) == 2) adamw(" stochastic", {KernelWidth::packed, {true, 1}, 0});
  bench.add("adamw per tensor" + type, adamw_bytes<T>(n), adamw_flops(n), [&](int i, cudaStream_t st) {
    launch_adamw_per_tensor<T>(params[i], of_master, m[i], v[i], grads[i], norm.data(), tensors, {}, st);
  });
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    bench.add(std::string("global_norm") + (width == KernelWidth::scalar ? " scalar" : "") + type,
              global_norm_bytes(n), global_norm_flops(n), [&, width](int i, cudaStream_t st) {
                launch_global_norm(norm.data(), grads[i], n, 1.0F, scratch.data(), st, width);
              });
  }
  bench.add("global_norm per tensor" + type, global_norm_bytes(n), global_norm_flops(n),
            [&](int i, cudaStream_t st) {
              launch_global_norm_per_tensor(norm.data(), grads[i], gradients, 1.0F, scratch.data(), st);
            });
  bench.measure();
}

}  // namespace

void bench_ends(Bench& bench) {
  encoder<bf16>(bench);
  encoder<float>(bench);
  classifier<bf16>(bench);
  classifier<float>(bench);
  optimizer<bf16>(bench);
  optimizer<float>(bench);
}

}  // namespace ridgeline::gpt2::bench
