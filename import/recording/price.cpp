#include "recording/price.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::import {

namespace {

// A kernel that starts so long after its launch was waited for: by what the device still had to do. Less is the launch.
constexpr std::int64_t kBehindNs = 50'000;
constexpr std::size_t kMinBlocks = 2;
// Blocks that run alone, each between two recorded ones, from which on each is compared with the mean of these and not
// all with all: what the host's pace drifts by in the meantime is in both, as far as it drifts evenly.
constexpr std::size_t kMinBetween = 5;
// Steps that differ by more than this part of themselves say nothing of what recording costs.
constexpr double kMaxError = 0.5;
// Of a step: a difference that is so little above what launching explains is explained.
constexpr double kUnexplained = 0.002;
// Launches of a step beside those of another of its kind, at most; two micro-steps have twice as many as one.
constexpr double kMaxRatio = 1.5;

// Two-sided 95 % of Student's t, by degrees of freedom: of a few blocks student_95() is low by up to 0.9 %.
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

// Of the mean of the differences, 95 %. Each has half of a recorded block in common with the next one: if all blocks
// vary alike, a sixth of its variance is common to the two. That makes the mean vary more, and the differences among
// themselves a little less.
double error_of_differences(const std::vector<double>& differences) {
  const auto n = static_cast<double>(differences.size());
  const double of_one = variance(differences) / (1 - 1 / (3 * n));
  return student_t(differences.size() - 1) * std::sqrt(of_one / n * (1 + (n - 1) / (3 * n)));
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

// From the boundary that a range marks to the first launch behind it, which is as long at a block's begin, where the
// device has nothing to do yet: in recorded blocks, for those that run alone end with the switch there.
std::int64_t before_launch_ns(const std::vector<StepBlock>& blocks, const RecordedSteps& steps) {
  std::vector<double> before;
  for (const StepBlock& block : blocks) {
    const RecordedStep* const step = block.alone || block.by_period ? nullptr : step_behind(block, steps);
    if (step != nullptr) before.push_back(static_cast<double>(step->first_enter_ns - block.end_ns));
  }
  return before.empty() ? 0 : std::max<std::int64_t>(std::llround(median(before)), 0);
}

// When the host would have been through with the last step at the device's pace, if it was past it before that.
std::optional<std::int64_t> behind_until(const StepBlock& block, const RecordedSteps& steps,
                                         std::int64_t first_launch_ns, std::int64_t before_launch_ns) {
  const RecordedStep* const step = step_behind(block, steps);
  if (step == nullptr) return std::nullopt;
  const std::int64_t start_ns = step->first_start_ns - (block.alone && block.by_period ? first_launch_ns : 0);
  if (start_ns - step->first_enter_ns <= kBehindNs) return std::nullopt;
  return start_ns - (block.by_period ? 0 : before_launch_ns);
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

// What blocks of steps took, of a step each; those alone without their callbacks.
struct Paces {
  std::vector<double> alone, recorded, remained, launches;
  std::int64_t steps_alone = 0, steps_recorded = 0;
  std::size_t behind = 0;  // blocks alone whose device sets the pace
  bool by_period = false;
};

// Blocks alone with a recorded one before and behind them, and the mean of these.
struct PacesBetween {
  std::vector<double> alone, recorded, remained, differences;

  void add(double of_alone, double remained_ns, double of_recorded) {
    alone.push_back(of_alone);
    remained.push_back(remained_ns);
    recorded.push_back(of_recorded);
    differences.push_back(of_recorded - of_alone);
  }
};

class PaceReader {
 public:
  PaceReader(const std::vector<StepBlock>& blocks, const RecordedSteps& steps)
      : steps_(steps),
        first_launch_ns_(first_launch_ns(blocks, steps)),
        before_launch_ns_(before_launch_ns(blocks, steps)) {
    for (const StepBlock& block : blocks)
      if (block.steps > 0 && block.end_ns > block.start_ns) read(block);
  }

  Paces paces;
  PacesBetween between;

 private:
  void read(const StepBlock& block) {
    const double count = block.steps;
    const std::optional<std::int64_t> behind_ns =
        behind_until(block, steps_, first_launch_ns_, before_launch_ns_);
    const std::int64_t end_ns = std::max(block.end_ns, behind_ns.value_or(block.end_ns));
    const auto pace = static_cast<double>(end_ns - block.start_ns) / count;
    paces.by_period = paces.by_period || block.by_period;
    if (block.alone) {
      paces.remained.push_back(static_cast<double>(block.remained_ns) / count);
      paces.alone.push_back(pace - paces.remained.back());
      paces.behind += behind_ns ? 1 : 0;
      paces.steps_alone += block.steps;
      if (!paces.recorded.empty()) ++waiting_;
    } else {
      // Those since the recorded block before: the latest of all.
      for (; waiting_ > 0; --waiting_) {
        const std::size_t at = paces.alone.size() - waiting_;
        between.add(paces.alone[at], paces.remained[at], (paces.recorded.back() + pace) / 2);
      }
      paces.recorded.push_back(pace);
      paces.steps_recorded += block.steps;
      for (std::uint32_t i = 0; i < block.steps; ++i)
        if (const auto step = steps_.steps.find(block.first_step + i); step != steps_.steps.end())
          paces.launches.push_back(static_cast<double>(step->second.launches_seen));
    }
  }

  const RecordedSteps& steps_;
  std::int64_t first_launch_ns_ = 0, before_launch_ns_ = 0;
  std::size_t waiting_ = 0;  // blocks alone, the latest, behind a recorded one, for the next recorded one
};

// Of a step.
struct Price {
  double alone_ns = 0, recorded_ns = 0, error_ns = 0;
  double remained_ns = 0, kept_ns = 0;  // that alone is without: all callbacks and nothing of CUPTI, at first
  bool kept_known = false;
};

using AskKept = std::function<std::optional<KeptTracing>()>;

// What stays of launches over what goes differs from program to program by so much of itself: 0.9 in an LSTM of
// PyTorch, 1.29 in a loop of additions (docs/results/collector.md), where the loop that measures it said 1.16.
constexpr double kBetweenPrograms = 0.2;

// Of the share, all that is not known of it.
double error_of(const KeptTracing& kept) {
  return std::hypot(kept.error, kBetweenPrograms * kept.share);
}

// As if each nanosecond of launching were one of the step. Whether or not the difference is more than steps vary by,
// and less than nothing by chance: taken off only where it happens to be large, it would be too much in the mean.
void take_off_in_proportion(Price& price, bool host_sets_pace, const AskKept& kept_tracing) {
  const double gone_ns = price.recorded_ns - price.alone_ns;
  if (!host_sets_pace || !kept_tracing) return;
  const std::optional<KeptTracing> kept = kept_tracing();
  price.kept_known = kept.has_value();
  if (!kept || kept->share <= 0 || kept->share * gone_ns >= price.alone_ns) return;
  price.error_ns = std::hypot(price.error_ns * (1 + kept->share), gone_ns * error_of(*kept));
  price.kept_ns = kept->share * gone_ns;
  price.alone_ns -= price.kept_ns;
}

// What a step would take less without a recorder, from the difference as it was timed.
class Reached {
 public:
  Reached(const LaunchCost& cost, double callbacks_ns)
      : cost_(cost), callback_ns_(callbacks_ns / cost.calls()) {}

  // `times` what goes of a launch with its callbacks: 1 is without the callbacks alone.
  [[nodiscard]] double saved_ns(double timed_ns, double times) const {
    const double gone_ns = cost_.of_a_call_ns(timed_ns);
    const double off_ns = gone_ns + callback_ns_;
    return timed_ns + cost_.saved_ns(off_ns * times) - cost_.saved_ns(gone_ns);
  }

 private:
  const LaunchCost& cost_;
  double callback_ns_;
};

// As much of it as reaches the step, whose host hides some behind its device. What launching takes more while it is
// recorded follows from the difference.
void take_off_what_reaches(Price& price, const LaunchCost& cost, const AskKept& kept_tracing) {
  constexpr double kNothing = 1e-4;  // of a step: not worth a measurement
  constexpr double kMaxTimes = 3;
  const Reached reached(cost, price.remained_ns);
  const double timed_ns = price.recorded_ns - price.alone_ns - price.remained_ns;
  const double without_callbacks_ns = reached.saved_ns(timed_ns, 1);
  std::optional<KeptTracing> kept;
  if (std::abs(reached.saved_ns(timed_ns, kMaxTimes) - without_callbacks_ns) <= kNothing * price.alone_ns)
    price.kept_known = true;
  else if (kept_tracing)
    price.kept_known = (kept = kept_tracing()).has_value();
  double times = kept ? 1 + std::max(kept->share, 0.0) : 1;
  if (reached.saved_ns(timed_ns, times) >= price.recorded_ns) times = 1;
  const double all_ns = reached.saved_ns(timed_ns, times);
  price.alone_ns = price.recorded_ns - all_ns;
  price.remained_ns = without_callbacks_ns - timed_ns;
  price.kept_ns = all_ns - without_callbacks_ns;
  const double of_steps_ns = (reached.saved_ns(timed_ns + price.error_ns, times) -
                              reached.saved_ns(timed_ns - price.error_ns, times)) /
                             2;
  const double times_error = kept ? std::min(error_of(*kept), times) : 0;
  const double of_times_ns =
      (reached.saved_ns(timed_ns, times + times_error) - reached.saved_ns(timed_ns, times - times_error)) / 2;
  price.error_ns = std::hypot(std::max(of_steps_ns, price.error_ns), of_times_ns);
}

}  // namespace

std::optional<Reason> price_of(
    const std::vector<StepBlock>& blocks, const RecordedSteps& steps,
    const std::function<std::optional<KeptTracing>()>& kept_tracing,
    const std::function<std::vector<BlockCalls>(const std::vector<StepBlock>&)>& calls_of_blocks) {
  const std::vector<StepBlock> latest = of_the_latest_period(blocks, steps);
  PaceReader read(latest, steps);
  Paces& paces = read.paces;
  if (paces.alone.size() < kMinBlocks || paces.recorded.size() < kMinBlocks) return std::nullopt;
  const bool host_sets_pace = 2 * paces.behind < paces.alone.size();
  const bool between = read.between.differences.size() >= kMinBetween;
  if (between) {
    paces.alone = std::move(read.between.alone);
    paces.recorded = std::move(read.between.recorded);
    paces.remained = std::move(read.between.remained);
  }
  Price price{.alone_ns = mean(paces.alone),
              .recorded_ns = mean(paces.recorded),
              .error_ns = between ? error_of_differences(read.between.differences)
                                  : error_of_all(paces.alone, paces.recorded),
              .remained_ns = mean(paces.remained)};
  if (price.error_ns > kMaxError * std::min(price.alone_ns, price.recorded_ns)) return std::nullopt;
  const LaunchCost cost(calls_of_blocks ? calls_of_blocks(latest) : std::vector<BlockCalls>());
  // What launching does not explain has another cause, of which nobody knows how much is hidden.
  const double explained_ns = cost.saved_ns(LaunchCost::kMaxNs) + kUnexplained * price.recorded_ns;
  const double timed_ns = price.recorded_ns - price.alone_ns - price.remained_ns;
  if (cost.calls() > 0 && timed_ns - price.error_ns <= explained_ns)
    take_off_what_reaches(price, cost, kept_tracing);
  else
    take_off_in_proportion(price, host_sets_pace, kept_tracing);
  return Reason(ReasonCode::recording_price,
                {{"alone_ns", std::llround(price.alone_ns)},
                 {"recorded_ns", std::llround(price.recorded_ns)},
                 {"error_ns", std::llround(price.error_ns)},
                 {"steps_alone", paces.steps_alone},
                 {"steps_recorded", paces.steps_recorded},
                 {"launches", std::llround(median(paces.launches))},
                 {"remained_ns", std::llround(price.remained_ns)},
                 {"kept_ns", std::max<std::int64_t>(std::llround(price.kept_ns), 0)},
                 {"kept_known", price.kept_known ? 1 : 0},
                 {"by_period", paces.by_period ? 1 : 0}});
}

}  // namespace ridgeline::import
