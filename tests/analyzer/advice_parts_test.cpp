// What the rules of advice ask in common: what a kernel's name says, held against
// tests/golden/tables/advice-names.txt, and what gaps of the CPU give.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "advice/gap_gain.h"
#include "advice/idle.h"
#include "advice/input.h"
#include "fabricated_model.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer {
namespace {

// An input of which only the model, the accounting and the cost of the recording are made.
class AdviceParts {
 public:
  testing::FabricatedModel made;
  UtilisationAnalysis utilisation;
  Accounting accounting;
  RecordingCost recording;
  std::vector<Idle> idle;

  template <typename Ask>
  auto with_input(const Ask& ask) {
    const Model& model = made.done();
    const SavingReach reach(model, {}, {});
    const AdviceInput input{.model = model,
                            .steps = steps_,
                            .utilisation = utilisation,
                            .ranking = ranking_,
                            .exposure = exposure_,
                            .accounting = accounting,
                            .quality = quality_,
                            .stalls = stalls_,
                            .reach = reach};
    const AdviceLaunches launches(input);
    return ask(RuleInput{input, launches, idle, nullptr, recording});
  }

 private:
  StepAnalysis steps_;
  Ranking ranking_;
  Exposure exposure_;
  Quality quality_;
  StallAnalysis stalls_;
};

std::string trait_words(const LaunchTraits& traits) {
  using T = LaunchTraits;
  std::string words;
  for (const auto& [bit, word] :
       std::initializer_list<std::pair<std::uint32_t, const char*>>{{T::kFetchesWork, "fetches-work"},
                                                                    {T::kElementwise, "elementwise"},
                                                                    {T::kCast, "cast"},
                                                                    {T::kGemm, "gemm"},
                                                                    {T::kSplitSum, "split-sum"},
                                                                    {T::kSoftmax, "softmax"},
                                                                    {T::kBias, "bias"},
                                                                    {T::kAdd, "add"},
                                                                    {T::kFp32Name, "fp32"},
                                                                    {T::kOptimizer, "optimizer"}}) {
    if (traits.is(bit)) words += std::string(" ") + word;
  }
  if (traits.precision != Precision::any) words += " of " + std::string(to_string(traits.precision));
  return words.empty() ? " nothing" : words;
}

constexpr const char* kAdviceNames[] = {"gemm",
                                        "persistent_gemm",
                                        "gemm_stream_k",
                                        "gemm_streamk",
                                        "nvjet_tst",
                                        "hopper_matmul",
                                        "splitKreduce_kernel",
                                        "split_k_reduce",
                                        "splitk_reduce",
                                        "sgemm_128x64",
                                        "cutlass_tensorop_sgemm",
                                        "sgemm_tf32",
                                        "hgemm",
                                        "add_kernel",
                                        "functor_add",
                                        "CUDAFunctor_add",
                                        "AddFunctor",
                                        "bias_add_kernel",
                                        "bias_kernel",
                                        "mul",
                                        "grad_add_kernel",
                                        "bias_backward",
                                        "dropout_add_kernel",
                                        "residual_bias",
                                        "layer_norm_bias",
                                        "softmax_bias",
                                        "bprop_bias",
                                        "triton_poi_fused_add",
                                        "loadwithcast",
                                        "StoreWithCast",
                                        "bfloat16_copy_kernel",
                                        "float16_copy",
                                        "float8_copy",
                                        "my_cast_kernel",
                                        "convert_weights",
                                        "to_cast",
                                        "cast_all",
                                        "to_bf16",
                                        "to_fp16",
                                        "to_fp8",
                                        "cudnn_cast_kernel",
                                        "convert_dq_to_16bits",
                                        "convert_dkv",
                                        "softmax_forward",
                                        "soft_max",
                                        "log_softmax",
                                        "logsoftmax",
                                        "softmax_loss",
                                        "softmax_entropy",
                                        "softmax_nll",
                                        "softmax_classifier",
                                        "flash_softmax",
                                        "fmha_softmax",
                                        "sdpa_softmax",
                                        "reduce",
                                        "transpose",
                                        "permute",
                                        "gather",
                                        "scatter",
                                        "norm",
                                        "adam",
                                        "sgd_step"};

TEST(AcceptedTable, WhatAdviceTakesFromNames) {
  std::string table;
  for (const char* name : kAdviceNames) {
    std::string before;
    for (const auto& word : Vocabulary<KernelClass>::kWords) {
      AdviceParts parts;
      parts.made.kernel(name, word.value);
      parts.made.launch(name, 1000, 2000);
      parts.utilisation.launches.push_back({});
      const std::string words =
          parts.with_input([](const RuleInput& in) { return trait_words(in.launches.traits(0)); });
      if (words != before) table += fmt::format("{} of {}:{}\n", name, word.text, words);
      before = words;
    }
  }
  ridgeline::testing::expect_accepted("advice-names.txt", table);
}

// Of gaps that the CPU makes: what of them the recording makes itself is no gain.
TEST(CpuGain, IsWhatTheRecordingLeaves) {
  struct Case {
    std::optional<RemedyGain> simulated;
    RecordingCost recording;
    CpuGain::State state;
    double ns;
  };
  using State = CpuGain::State;
  const auto of = [](double ns, double min_ns) { return std::optional(RemedyGain{ns, min_ns}); };
  for (const Case& one : std::vector<Case>{
           // What the recording costs was measured: its share of the gaps goes, a quarter of them here.
           {{}, {true, 10, 0, 10}, State::gained, 75},
           {{}, {true, 10, 75, 10}, State::gained, 75},
           {{}, {true, 10, 75.5, 10}, State::recording, 0},
           {of(60, 60), {true, 10, 0, 10}, State::gained, 60},
           {of(160, 60), {true, 10, 0, 10}, State::gained, 100},
           {of(0.5, 60), {true, 10, 0, 10}, State::gained, 0.5},
           {of(0, 0), {true, 10, 0, 10}, State::recording, 0},
           {of(-5, -5), {true, 10, 0, 10}, State::recording, 0},
           {of(8, 8), {true, 10, 9, 10}, State::recording, 0},
           // It was not: at the most that it may cost a quarter of the gain has to be left.
           {{}, {false, 20, 0, 80}, State::gained, 80},
           {{}, {false, 20, 0, 81}, State::unknown, 80},
           {{}, {false, 100, 0, 100}, State::recording, 0},
           // It was, but steps vary by as much: likewise.
           {{}, {true, 20, 15, 80}, State::gained, 80},
           {{}, {true, 20, 15, 81}, State::unknown, 80},
           {of(40, 10), {true, 20, 15, 80}, State::gained, 40},
           {of(40, 40), {true, 20, 15, 91}, State::unknown, 40},
           {of(40, 10), {false, 20, 0, 80}, State::gained, 40},
           {of(40, 9), {false, 20, 0, 80}, State::unknown, 40},
           {of(40, 40), {false, 20, 0, 91}, State::unknown, 40},
       }) {
    AdviceParts parts;
    parts.recording = one.recording;
    parts.accounting.gap_launch_bound_ns = 150;
    parts.accounting.gap_host_bound_ns = 50;
    parts.accounting.gap_recording_ns = 50;
    const CpuGain gain =
        parts.with_input([&](const RuleInput& in) { return cpu_gain(in, one.simulated, 100); });
    const std::string what =
        fmt::format("simulated {} at least {}, recording {} error {} most {}",
                    one.simulated ? one.simulated->ns : -1, one.simulated ? one.simulated->min_ns : -1,
                    one.recording.ns, one.recording.error_ns, one.recording.max_ns);
    EXPECT_EQ(gain.state, one.state) << what;
    EXPECT_NEAR(gain.ns, one.ns, 1e-9) << what;
  }
}

TEST(RecordedShare, IsOfTheGapsThatTheCpuMakes) {
  const auto share = [](std::optional<std::int64_t> recording_ns, std::int64_t launch_ns,
                        std::int64_t host_ns) {
    AdviceParts parts;
    parts.accounting.gap_recording_ns = recording_ns;
    parts.accounting.gap_launch_bound_ns = launch_ns;
    parts.accounting.gap_host_bound_ns = host_ns;
    return parts.with_input([](const RuleInput& in) { return recorded_share(in.input); });
  };
  EXPECT_EQ(share({}, 100, 100), 0);
  EXPECT_EQ(share(50, 0, 0), 0);
  EXPECT_EQ(share(50, 1, 0), 1);
  EXPECT_DOUBLE_EQ(share(50, 150, 50), 0.25);
  EXPECT_DOUBLE_EQ(share(300, 150, 50), 1);
  EXPECT_DOUBLE_EQ(share(-10, 150, 50), 0);
}

Idle idle_gap(std::uint32_t gap, IdleCause cause, std::int64_t length_ns) {
  Idle idle;
  idle.gap = gap;
  idle.cause = cause;
  idle.what.start_ns = 1000;
  idle.what.end_ns = 1000 + length_ns;
  return idle;
}

// Gaps of the remedy's own, and where it gains more than those, late launches elsewhere.
TEST(AddGaps, OwnOnesFirstAndLateLaunchesForTheRest) {
  const std::vector<OwnGap> own = {{0, 100}, {2, 300}, {3, 0}};
  const auto added = [&](std::optional<double> gained_ns) {
    AdviceParts parts;
    parts.idle = {idle_gap(0, IdleCause::wait, 100), idle_gap(1, IdleCause::launches, 50),
                  idle_gap(2, IdleCause::launches, 400), idle_gap(4, IdleCause::other, 1000),
                  idle_gap(5, IdleCause::launches, 150)};
    Proposal proposal;
    const double sum = parts.with_input([&](const RuleInput& in) {
      return add_gaps(in, own, gained_ns, GainShare{0.5, 0.75, 1}, proposal);
    });
    std::string text = fmt::format("{:g}:", sum);
    for (const auto& part : proposal.parts)
      text += fmt::format(" {}={:g}/{:g}/{:g}", part.index, part.saved.low_ns, part.saved.mid_ns,
                          part.saved.high_ns);
    return text;
  };
  EXPECT_EQ(added({}), "400: 0=50/75/100 2=150/225/300");
  EXPECT_EQ(added(400), "400: 0=50/75/100 2=150/225/300");
  EXPECT_EQ(added(200), "200: 0=25/37.5/50 2=75/112.5/150");
  EXPECT_EQ(added(0), "0:");
  EXPECT_EQ(added(500), "500: 0=50/75/100 2=150/225/300 1=12.5/18.75/25 5=37.5/56.25/75");
  EXPECT_EQ(added(600), "600: 0=50/75/100 2=150/225/300 1=25/37.5/50 5=75/112.5/150");
  EXPECT_EQ(added(900), "600: 0=50/75/100 2=150/225/300 1=25/37.5/50 5=75/112.5/150");
}

}  // namespace
}  // namespace ridgeline::analyzer
