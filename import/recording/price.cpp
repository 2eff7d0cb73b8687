#include "recording/price.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::import {

namespace {

// A kernel that starts so long after its launch was waited for: by what the device still had to do. Less is the launch.
constexpr std::int64_t kBehindNs = 50'000;
constexpr std::size_t kMinBlocks = 2;
// Blocks that run alone, each behind a recorded one, from which on these pairs are compared and not all with all: what
// the host's pace drifts by in the meantime is in both of a pair.
constexpr std::size_t kMinPairs = 5;
// Steps that differ by more than this part of themselves say nothing of what recording costs.
constexpr double kMaxError = 0.5;
// Launches of a step beside those of another of its kind, at most; two micro-steps have twice as many as one.
constexpr double kMaxRatio = 1.5;

// Two-sided 95 % of Student's t, by degrees of freedom.
double student_t(std::size_t freedom) {
  constexpr double kTable[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447,
                               2.365, 2.306, 2.262, 2.228, 2.201, 2.179};
  if (freedom == 0) return kTable[0];
  return freedom > std::size(kTable) ? student_95(static_cast<double>(freedom)) : kTable[freedom - 1];
}

double variance(const std::vector<double>& values) {
  const double deviation = standard_deviation(values).value_or(0);
  return deviation * deviation;
}

// Of the difference of the means, 95 %, with the variance that blocks of either kind have among themselves.
double error_of_all(const std::vector<double>& alone, const std::vector<double>& recorded) {
  const std::size_t freedom = alone.size() + recorded.size() - 2;
  const double pooled = (static_cast<double>(alone.size() - 1) * variance(alone) +
                         static_cast<double>(recorded.size() - 1) * variance(recorded)) /
                        static_cast<double>(freedom);
  return student_t(freedom) * std::sqrt(pooled * (1.0 / static_cast<double>(alone.size()) +
                                                  1.0 / static_cast<double>(recorded.size())));
}

// Of the mean of the differences of pairs, 95 %.
double error_of_pairs(const std::vector<double>& differences) {
  return student_t(differences.size() - 1) *
         std::sqrt(variance(differences) / static_cast<double>(differences.size()));
}

// The first step behind the block, if one of its launches has a kernel.
const RecordedStep* step_behind(const StepBlock& block, const RecordedSteps& steps) {
  const auto next = steps.steps.find(block.first_step + block.steps);
  return next == steps.steps.end() || next->second.first_joined_id == UINT32_MAX ? nullptr : &next->second;
}

// Recording comes back in the callback of a launch, where steps are found by those: it has no record, and the first
// kernel behind such a block is the step's second. From one start to the other, in steps that are recorded whole.
std::int64_t first_launch_ns(const std::vector<StepBlock>& blocks, const RecordedSteps& steps) {
  std::vector<double> between;
  for (const StepBlock& block : blocks) {
    const RecordedStep* const step = block.alone ? nullptr : step_behind(block, steps);
    if (step != nullptr && step->second_joined_id != UINT32_MAX)
      between.push_back(static_cast<double>(step->second_start_ns - step->first_start_ns));
  }
  return between.empty() ? 0 : std::max<std::int64_t>(std::llround(median(between)), 0);
}

// When the device was through with the last step, if the host was past it before that.
std::optional<std::int64_t> behind_until(const StepBlock& block, const RecordedSteps& steps,
                                         std::int64_t first_launch_ns) {
  const RecordedStep* const step = step_behind(block, steps);
  if (step == nullptr) return std::nullopt;
  const std::int64_t start_ns = step->first_start_ns - (block.alone && block.by_period ? first_launch_ns : 0);
  return start_ns - step->first_enter_ns > kBehindNs ? std::optional(start_ns) : std::nullopt;
}

// Of a step of the block, by the callbacks that counted them; empty if none did.
std::optional<double> launches_of(const StepBlock& block, const RecordedSteps& steps) {
  if (!block.by_period || block.steps == 0) return std::nullopt;
  double count = static_cast<double>(block.launches);
  for (std::uint32_t i = 0; !block.alone && i < block.steps; ++i) {
    const auto step = steps.steps.find(block.first_step + i);
    if (step != steps.steps.end()) count += static_cast<double>(step->second.launches_seen);
  }
  return count > 0 ? std::optional(count / block.steps) : std::nullopt;
}

std::vector<StepBlock> of_the_latest_period(const std::vector<StepBlock>& blocks,
                                            const RecordedSteps& steps) {
  const auto latest = std::find_if(blocks.rbegin(), blocks.rend(), [&](const StepBlock& block) {
    return launches_of(block, steps).has_value();
  });
  if (latest == blocks.rend()) return blocks;
  const double expected = *launches_of(*latest, steps);
  std::vector<StepBlock> kept;
  for (const StepBlock& block : blocks) {
    const double launches = launches_of(block, steps).value_or(expected);
    if (std::max(launches, expected) <= kMaxRatio * std::min(launches, expected)) kept.push_back(block);
  }
  return kept;
}

// Of a step alone; widens the error of the difference by it. Whether or not that is more than steps vary by: taken off
// only where the difference happens to be large, it would be too much in the mean.
double take_off_kept(double alone_ns, double recorded_ns,
                     const std::function<std::optional<KeptTracing>()>& kept_tracing, double& error_ns) {
  const double gone_ns = recorded_ns - alone_ns;
  if (!kept_tracing || gone_ns <= 0) return 0;
  const std::optional<KeptTracing> kept = kept_tracing();
  if (!kept || kept->share <= 0 || kept->share * gone_ns >= alone_ns) return 0;
  error_ns = std::hypot(error_ns * (1 + kept->share), gone_ns * kept->error);
  return kept->share * gone_ns;
}

}  // namespace

std::optional<Reason> price_of(const std::vector<StepBlock>& blocks, const RecordedSteps& steps,
                               const std::function<std::optional<KeptTracing>()>& kept_tracing) {
  std::vector<double> alone, recorded, remained, launches;  // of a step, each
  std::vector<double> of_pairs_alone, of_pairs_recorded, differences;
  double before = 0;  // pace of the recorded block that none alone has followed yet; 0: none
  std::int64_t steps_alone = 0, steps_recorded = 0;
  std::size_t behind = 0;  // blocks alone whose device sets the pace
  bool by_period = false;
  const std::vector<StepBlock> latest = of_the_latest_period(blocks, steps);
  const std::int64_t first_ns = first_launch_ns(latest, steps);
  for (const StepBlock& block : latest) {
    if (block.steps == 0 || block.end_ns <= block.start_ns) continue;
    const double count = block.steps;
    const std::optional<std::int64_t> behind_ns = behind_until(block, steps, first_ns);
    const std::int64_t end_ns = std::max(block.end_ns, behind_ns.value_or(block.end_ns));
    const auto pace = static_cast<double>(end_ns - block.start_ns) / count;
    by_period = by_period || block.by_period;
    if (block.alone) {
      remained.push_back(static_cast<double>(block.remained_ns) / count);
      alone.push_back(pace - remained.back());
      behind += behind_ns ? 1 : 0;
      steps_alone += block.steps;
      if (before > 0) {
        of_pairs_alone.push_back(alone.back());
        of_pairs_recorded.push_back(before);
        differences.push_back(before - alone.back());
        before = 0;
      }
    } else {
      recorded.push_back(pace);
      before = pace;
      steps_recorded += block.steps;
      for (std::uint32_t i = 0; i < block.steps; ++i)
        if (const auto step = steps.steps.find(block.first_step + i); step != steps.steps.end())
          launches.push_back(static_cast<double>(step->second.launches_seen));
    }
  }
  if (alone.size() < kMinBlocks || recorded.size() < kMinBlocks) return std::nullopt;
  const bool in_pairs = differences.size() >= kMinPairs;
  const bool host_sets_pace = 2 * behind < alone.size();
  if (in_pairs) {
    alone = std::move(of_pairs_alone);
    recorded = std::move(of_pairs_recorded);
  }
  double error_ns = in_pairs ? error_of_pairs(differences) : error_of_all(alone, recorded);
  if (error_ns > kMaxError * std::min(mean(alone), mean(recorded))) return std::nullopt;
  const double kept_ns =
      host_sets_pace ? take_off_kept(mean(alone), mean(recorded), kept_tracing, error_ns) : 0;
  return Reason(ReasonCode::recording_price, {{"alone_ns", std::llround(mean(alone) - kept_ns)},
                                              {"recorded_ns", std::llround(mean(recorded))},
                                              {"error_ns", std::llround(error_ns)},
                                              {"steps_alone", steps_alone},
                                              {"steps_recorded", steps_recorded},
                                              {"launches", std::llround(median(launches))},
                                              {"remained_ns", std::llround(mean(remained))},
                                              {"kept_ns", std::llround(kept_ns)},
                                              {"by_period", by_period ? 1 : 0}});
}

}  // namespace ridgeline::import
