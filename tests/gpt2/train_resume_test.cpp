// A run that stops, writes a checkpoint and is resumed in a new model against the run that did not stop:
// losses, parameters and moments, bit by bit. In between the model evaluates and writes, which must leave no
// trace.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/parameters.h"
#include "gpt2/model/step_graph.h"
#include "gpt2/train/data/token_source.h"
#include "gpt2/train/files/checkpoint.h"
#include "model_test_support.h"

namespace ridgeline::gpt2::train_resume_test {
namespace {

constexpr int kBatch = 3;
constexpr int kSequence = 64;
constexpr std::int64_t kTokens = kBatch * kSequence;
constexpr int kSteps = 7;
constexpr int kStop = 3;

constexpr std::array kParts = {StatePart::master, StatePart::moment1, StatePart::moment2, StatePart::narrow,
                               StatePart::scaling};

// One process's worth of a run.
class TrainingRun {
 public:
  explicit TrainingRun(const GpuModelOptions& options)
      : options_(options),
        model_(GpuModel::create(options)),
        graph_(*model_, kTokens, options.grad_accum),
        source_(synthetic_source(options.config.vocab, 5, 0)) {}

  GpuModel& model() { return *model_; }
  TokenSource& source() { return *source_; }

  float step(int step) {
    std::vector<std::int32_t> host(2 * kTokens);
    const std::span<std::int32_t> tokens(host);
    for (int micro = 0; micro < options_.grad_accum; ++micro) {
      source_->next(tokens.first(kTokens), tokens.subspan(kTokens));
      RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(graph_.tokens(micro), host.data(), host.size() * sizeof(host[0]),
                                           cudaMemcpyHostToDevice, model_->stream()));
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model_->stream()));
      if (!options_.switches.cuda_graph) {
        model_->micro_step(graph_.tokens(micro), graph_.tokens(micro) + kTokens, micro);
      }
    }
    OptimizerOptions optimizer;
    optimizer.adamw.learning_rate = 1e-3F / static_cast<float>(step + 1);
    optimizer.adamw.step = step + 1;
    if (options_.switches.cuda_graph) {
      graph_.step(optimizer);
    } else {
      model_->optimizer_step(optimizer);
    }
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model_->stream()));
    StepResult result;
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(&result, model_->device_result(), sizeof(result), cudaMemcpyDeviceToHost));
    return result.loss;
  }

  // What happens between steps: validation and a sample.
  void look() {
    model_->evaluate(graph_.tokens(0), graph_.tokens(0) + kTokens);
    EXPECT_EQ(static_cast<int>(model_->logits(graph_.tokens(0), kTokens - 1).size()), options_.config.vocab);
  }

  std::vector<std::vector<std::byte>> state() const {
    std::vector<std::vector<std::byte>> parts;
    for (const StatePart part : kParts) {
      parts.emplace_back(static_cast<std::size_t>(model_->state_bytes(part)));
      model_->download_state(part, 0, parts.back());
    }
    return parts;
  }

 private:
  GpuModelOptions options_;
  std::unique_ptr<GpuModel> model_;
  StepGraph graph_;
  std::unique_ptr<TokenSource> source_;
};

GpuModelOptions options_of(Precision precision, AttentionKind attention, bool graph, int grad_accum) {
  GpuModelOptions options = model_test::tiny_options(precision, attention, kBatch, kSequence);
  options.grad_accum = grad_accum;
  options.switches.cuda_graph = graph;
  options.switches.deterministic = true;
  return options;
}

void expect_resumes_bit_for_bit(const GpuModelOptions& options) {
  const std::string directory =
      (std::filesystem::temp_directory_path() /
       ("ridgeline_resume_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();
  prepare_checkpoint_directory(directory);
  CheckpointHeader header;
  header.run = {.config = options.config,
                .precision = options.switches.precision == Precision::bf16  ? 0
                             : options.switches.precision == Precision::fp8 ? 3
                                                                            : 2,
                .batch = kBatch,
                .sequence = kSequence,
                .grad_accum = options.grad_accum};
  header.run.stochastic_rounding = options.switches.stochastic_rounding;
  header.steps_done = kStop;

  std::vector<float> straight_losses, resumed_losses;
  std::vector<std::vector<std::byte>> stopped_state;
  TrainingRun straight(options);
  straight.model().load(random_parameters(options.config, 9));
  for (int step = 0; step < kSteps; ++step) {
    straight_losses.push_back(straight.step(step));
    if (step + 1 == kStop) stopped_state = straight.state();
  }

  {
    TrainingRun first(options);
    first.model().load(random_parameters(options.config, 9));
    for (int step = 0; step < kStop; ++step) {
      resumed_losses.push_back(first.step(step));
      first.look();
    }
    EXPECT_EQ(first.state(), stopped_state);
    write_checkpoint(directory, 1, header, first.source().position(), first.model());
  }
  TrainingRun second(options);
  second.source().restore(load_checkpoint(find_checkpoint(directory), second.model()));
  EXPECT_EQ(second.state(), stopped_state);
  for (int step = kStop; step < kSteps; ++step) resumed_losses.push_back(second.step(step));
  EXPECT_EQ(resumed_losses, straight_losses);
  EXPECT_EQ(second.state(), straight.state());
  EXPECT_NE(straight.state(), stopped_state);
  EXPECT_NE(straight_losses.front(), straight_losses.back());
  std::filesystem::remove_all(directory);
}

TEST(Resume, Fp32) {
  expect_resumes_bit_for_bit(options_of(Precision::fp32, AttentionKind::own, false, 1));
}

TEST(Resume, Bf16OwnAttentionTwoMicroBatches) {
  expect_resumes_bit_for_bit(options_of(Precision::bf16, AttentionKind::own, false, 2));
}

TEST(Resume, Bf16CudnnAttention) {
  if (!cudnn_attention_available()) GTEST_SKIP() << "built without cuDNN";
  expect_resumes_bit_for_bit(options_of(Precision::bf16, AttentionKind::cudnn, false, 1));
}

TEST(Resume, Fp32AsOneGraph) {
  expect_resumes_bit_for_bit(options_of(Precision::fp32, AttentionKind::own, true, 1));
}

TEST(Resume, Bf16AsOneGraphTwoMicroBatches) {
  expect_resumes_bit_for_bit(options_of(Precision::bf16, AttentionKind::own, true, 2));
}

// Scales are state; what an evaluation stores as FP8 in between is not.
TEST(Resume, Fp8TwoMicroBatches) {
  for (const bool graph : {false, true}) {
    SCOPED_TRACE(graph ? "as one graph" : "launch by launch");
    for (const auto& [classifier, hidden] :
         {std::pair(Fp8Classifier::none, Fp8Hidden::bf16), std::pair(Fp8Classifier::all, Fp8Hidden::bf16),
          std::pair(Fp8Classifier::all, Fp8Hidden::fp8)}) {
      GpuModelOptions options = options_of(Precision::fp8, AttentionKind::own, graph, 2);
      options.switches.fp8_classifier = classifier;
      options.switches.fp8_hidden = hidden;
      expect_resumes_bit_for_bit(options);
    }
  }
}

TEST(Resume, StochasticRounding) {
  for (const bool graph : {false, true}) {
    SCOPED_TRACE(graph ? "as one graph" : "launch by launch");
    GpuModelOptions options = options_of(Precision::bf16, AttentionKind::own, graph, 1);
    options.switches.stochastic_rounding = true;
    options.rounding_seed = 77;
    expect_resumes_bit_for_bit(options);
  }
}

// The BF16 parameters of a run that rounds stochastically are no function of its master weights. Here they
// are set to something else altogether: a checkpoint must bring back those, not the rounded master weights.
TEST(Resume, Bf16ParametersComeBackAsTheyWere) {
  const GpuModelOptions options = options_of(Precision::bf16, AttentionKind::own, false, 1);
  TrainingRun run(options);
  run.model().load(random_parameters(options.config, 9));
  std::vector<std::byte> narrow(static_cast<std::size_t>(run.model().state_bytes(StatePart::narrow)));
  run.model().download_state(StatePart::narrow, 0, narrow);
  for (std::size_t i = 0; i < narrow.size(); i += 2) narrow[i] ^= std::byte{1};  // the last mantissa bit
  // In two pieces, of which one begins in the middle.
  run.model().upload_state(StatePart::narrow, 0, std::span(narrow).first(1000));
  run.model().upload_state(StatePart::narrow, 1000, std::span(narrow).subspan(1000));
  const auto before = run.state();
  EXPECT_EQ(before[3], narrow);
  const std::string directory = (std::filesystem::temp_directory_path() / "ridgeline_resume_narrow").string();
  prepare_checkpoint_directory(directory);
  CheckpointHeader header;
  header.run = {.config = options.config, .batch = kBatch, .sequence = kSequence, .grad_accum = 1};
  write_checkpoint(directory, 1, header, run.source().position(), run.model());
  TrainingRun other(options);
  other.model().load(random_parameters(options.config, 10));
  load_checkpoint(find_checkpoint(directory), other.model());
  EXPECT_EQ(other.state(), before);
  EXPECT_THROW(run.model().upload_state(StatePart::narrow, 2, narrow), std::out_of_range);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace ridgeline::gpt2::train_resume_test
