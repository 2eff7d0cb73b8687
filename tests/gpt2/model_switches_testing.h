// model_switches_testing.h: settings of the switches, each held against the CPU reference model and against
// itself in micro-batches.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/model/reference_model.h"
#include "model_test_support.h"

namespace ridgeline::gpt2::model_test {

struct Bounds {
  Precision precision;
  double loss;      // relative
  double gradient;  // relative L2 error of each tensor
};
/// As for the fast sides (model_gpu_test.cpp), but a bf16 attention that stores its scores rounds them and the
/// probabilities at 2^-9 twice more; so do a bias and a GELU after the GEMM, and a naive bias gradient
/// reads its rounded argument.
inline const Bounds kBounds[] = {
    {Precision::fp32, 1e-6, 1e-5}, {Precision::tf32, 5e-5, 4e-3}, {Precision::bf16, 2e-3, 4e-2}};

struct Setting {
  const char* name;
  std::function<void(Switches&)> apply;
};
inline GpuModelOptions options_for(Precision precision, const Setting& setting, int batch, int sequence) {
  GpuModelOptions options = tiny_options(precision, AttentionKind::own, batch, sequence);
  setting.apply(options.switches);
  if (!l2_can_persist()) options.switches.l2_persist = L2Persist::none;
  options.config = with_vocabulary(options.config, options.switches.vocabulary);
  return options;
}

inline std::string name_of_case(const Bounds& bounds, const Setting& setting) {
  return std::string(name_of(bounds.precision)) + ", " + setting.name;
}

/// Loss and every gradient of each setting, in each precision, against the CPU reference model.
inline void expect_the_references_gradients(const std::vector<Setting>& settings) {
  const ModelConfig padded = model_config("tiny");
  const std::vector<float> start = lively_parameters(padded, 1);
  for (const auto& [batch_size, sequence] : {std::pair(4, 64), std::pair(3, 61)}) {
    const Batch batch = random_batch(batch_size * sequence, padded.vocab, 2);
    for (const VocabularyKind vocabulary : {VocabularyKind::padded, VocabularyKind::plain}) {
      const ModelConfig config = with_vocabulary(padded, vocabulary);
      const std::vector<float> parameters = repad_vocabulary(start, padded, config);
      ReferenceModel<double> reference(config, batch_size, sequence, widen(parameters));
      const double loss = reference.forward(batch.inputs, batch.targets);
      reference.backward();
      for (const Bounds& bounds : kBounds) {
        for (const Setting& setting : settings) {
          const GpuModelOptions options = options_for(bounds.precision, setting, batch_size, sequence);
          if (!(options.config == config)) continue;
          SCOPED_TRACE(name_of_case(bounds, setting) + " T=" + std::to_string(sequence));
          Device device(options, parameters);
          const StepResult result = device.step(batch, nullptr);
          EXPECT_TRUE(std::abs(result.loss - loss) <= bounds.loss * loss) << result.loss << " vs " << loss;
          const double worst = expect_gradients(device.model().download_gradients(), reference.gradients(),
                                                config, bounds.gradient);
          std::printf(
              "%-70s T=%d: loss off by %.1e (bound %.0e), worst gradient tensor by %.1e (bound %.0e)\n",
              name_of_case(bounds, setting).c_str(), sequence, std::abs(result.loss - loss) / loss,
              bounds.loss, worst, bounds.gradient);
        }
      }
    }
  }
}

/// Accumulated gradients add, overwritten ones do not, whatever kernel or library writes them.
inline void expect_micro_batches_to_add_up(const std::vector<Setting>& settings) {
  const ModelConfig padded = model_config("tiny");
  const std::vector<float> start = lively_parameters(padded, 5);
  const Batch batch = random_batch(8 * 32, padded.vocab, 6);
  for (const Bounds& bounds : kBounds) {
    for (const Setting& setting : settings) {
      SCOPED_TRACE(name_of_case(bounds, setting));
      const GpuModelOptions whole_options = options_for(bounds.precision, setting, 8, 32);
      expect_parts_make_the_whole(whole_options, repad_vocabulary(start, padded, whole_options.config),
                                  batch);
    }
  }
}

}  // namespace ridgeline::gpt2::model_test
