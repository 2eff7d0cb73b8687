// rule.h: what a rule is, and what it proposes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "advice/input.h"
#include "execution/step_edit.h"

namespace ridgeline::analyzer {

/// What a proposal makes shorter.
enum class PartKind : std::uint8_t {
  launch,  ///< index: into UtilisationAnalysis::launches
  gap,     ///< index: into Accounting::gaps
  copy,    ///< index: into Model::memcpys; its time is what no kernel hides
};
inline constexpr std::size_t kPartKinds = 3;

struct ProposalPart {
  PartKind kind = PartKind::launch;
  std::uint32_t index = 0;
  AdviceGain saved;  ///< ns of it
};

/// What becomes of the energy of the time that is saved.
enum class PowerEffect : std::uint8_t {
  same_work,  ///< done in less time: what was saved in time is drawn again elsewhere
  less_work,  ///< bytes or operations are not needed any more
  idle,       ///< the device did nothing
  clock,      ///< the clock itself changes
};

/// A case, before overlap, power and claims.
struct Proposal {
  AdviceBasis basis = AdviceBasis::measured;
  std::string subject = {};
  PowerEffect power = PowerEffect::same_work;
  std::vector<ProposalPart> parts = {};
  /// What the simulation does otherwise for its gaps and copies; empty: they are as the rule has them.
  std::optional<StepEdit> remedy = {};
  std::vector<Evidence> evidence = {};

  void add_launch(std::uint32_t position, const AdviceGain& saved) {
    parts.push_back({PartKind::launch, position, saved});
  }
  void say(std::string_view name, double value) { evidence.push_back({name, value, {}, {}}); }
  [[nodiscard]] AdviceGain alone() const;
};

/// Some of a rule's kernels may not be judged while others are cases.
struct RuleAnswer {
  std::vector<Proposal> proposals;
  std::vector<AdviceUnknown> unknown;
  std::vector<Evidence> nearest;  ///< of what came nearest to a case

  void cannot_say(AdviceNeed need, std::string subject = {}, std::optional<double> max_ns = {}) {
    unknown.push_back({AdviceRule::tail_wave, need, std::move(subject), max_ns});
  }
};

struct Idle;
class Remedies;

/// What the recording adds to the CPU's part of the step, ns.
struct RecordingCost {
  /// Of each launch. The usual is what a step of 1,537 launches took longer on an H100 (docs/results/decisions.md);
  /// on hosts that are slow or busy with others three times as much was seen.
  static constexpr double kUsualNs = 1700, kMaxNs = 5000;
  bool measured = false;
  double ns = 0;
  double error_ns = 0;  ///< standard error; 0: not measured
  double max_ns = 0;    ///< measured with certainty: the same as ns

  [[nodiscard]] bool certain() const { return measured && max_ns <= ns; }
  /// What is missing where too little of a gain is left at the most that recording may cost.
  [[nodiscard]] AdviceNeed need() const {
    return measured ? AdviceNeed::surer_price : AdviceNeed::recording_price;
  }
};

struct RuleInput {
  const AdviceInput& input;
  const AdviceLaunches& launches;
  const std::vector<Idle>& idle;  ///< the gaps, idle.h
  const Remedies* remedies;       ///< nullptr: the step is not simulated
  const RecordingCost& recording;
};

/// One file each in rules/.
struct Rule {
  AdviceRule id;
  RuleAnswer (*judge)(const RuleInput&);
};

/// All of them, in the order of AdviceRule.
[[nodiscard]] std::span<const Rule> advice_rules();

RuleAnswer judge_tail_wave(const RuleInput&);
RuleAnswer judge_too_few_blocks(const RuleInput&);
RuleAnswer judge_narrow_access(const RuleInput&);
RuleAnswer judge_fold_elementwise(const RuleInput&);
RuleAnswer judge_bias_kernel(const RuleInput&);
RuleAnswer judge_unfused_attention(const RuleInput&);
RuleAnswer judge_fp32_gemm(const RuleInput&);
RuleAnswer judge_ugly_dimension(const RuleInput&);
RuleAnswer judge_faster_library(const RuleInput&);
RuleAnswer judge_split_k(const RuleInput&);
RuleAnswer judge_casts(const RuleInput&);
RuleAnswer judge_optimiser(const RuleInput&);
RuleAnswer judge_launch_overhead(const RuleInput&);
RuleAnswer judge_l2_fit(const RuleInput&);
RuleAnswer judge_occupancy(const RuleInput&);
RuleAnswer judge_sync_in_step(const RuleInput&);
RuleAnswer judge_pageable_copy(const RuleInput&);
RuleAnswer judge_copy_exposed(const RuleInput&);
RuleAnswer judge_comm_exposed(const RuleInput&);
RuleAnswer judge_loader_wait(const RuleInput&);
RuleAnswer judge_clock_down(const RuleInput&);
RuleAnswer judge_cold_start(const RuleInput&);

}  // namespace ridgeline::analyzer
