#include "ridgeline/analyzer/whatif/power_blocks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ridgeline/base/statistics.h"
#include "whatif/delays.h"
#include "whatif/sampled_power.h"

namespace ridgeline::analyzer {

namespace {

using store::Id;
using store::Intervention;

// A clock that has to find its place swings for about so long.
constexpr std::int64_t kMaxSettlingNs = 3'000'000'000;
constexpr std::size_t kMinBlockSteps = 4;  // settled
constexpr double kTwoSided95 = 1.96;

struct BlockStep {
  std::int64_t index = 0;
  std::int64_t start_ns = 0;                // of its first work, a delay in front of it included
  std::vector<const Intervention*> delays;  // by target
};

// Steps one after another with the same delay.
struct Block {
  std::vector<const BlockStep*> steps;
  const Intervention* delayed = nullptr;  // of its first step; null: shams alone
};

// Those after the schedule, of the first process that has any.
std::vector<BlockStep> steps_of_blocks(const std::vector<Intervention>& delays,
                                       const std::vector<store::Step>& rows) {
  std::map<Id, std::map<std::int64_t, BlockStep>> processes;
  std::map<Id, BlockStep*> by_id;
  for (const store::Step& row : rows) {
    if (row.phase != Phase::after || !row.gpu_start_ns) continue;
    BlockStep& step = processes[row.process_id][row.step_index];
    step.index = row.step_index;
    step.start_ns = *row.gpu_start_ns;
    by_id[row.id] = &step;
  }
  for (const Intervention& delay : delays) {
    const auto step = by_id.find(delay.step_id);
    if (step == by_id.end()) continue;
    step->second->delays.push_back(&delay);
    if (delay.start_ns) step->second->start_ns = std::min(step->second->start_ns, *delay.start_ns);
  }
  for (auto& [process_id, steps] : processes) {
    std::vector<BlockStep> all;
    for (auto& [index, step] : steps) {
      if (!step.delays.empty()) all.push_back(std::move(step));
    }
    if (!all.empty()) return all;
  }
  return {};
}

std::vector<Block> blocks_of(const std::vector<BlockStep>& steps) {
  std::vector<Block> blocks;
  for (const BlockStep& step : steps) {
    const Intervention* delayed = delayed_in(step.delays);
    const bool goes_on = !blocks.empty() && blocks.back().steps.back()->index + 1 == step.index &&
                         (blocks.back().delayed == nullptr) == (delayed == nullptr);
    if (!goes_on) blocks.push_back({{}, delayed});
    blocks.back().steps.push_back(&step);
  }
  return blocks;
}

std::int64_t length_of(const Block& block) {
  return block.steps.back()->start_ns - block.steps.front()->start_ns;
}

// What is looked at of a block, once it has settled.
struct Settled {
  std::int64_t first_index = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t steps = 0;
  double step_ns = 0;
  double delay_ns = 0;  // mean, less a sham
};

std::optional<Settled> settled_of(const Block& block, std::int64_t settling_ns, double sham_ns) {
  const std::int64_t from_ns = block.steps.front()->start_ns + settling_ns;
  const auto first = std::find_if(block.steps.begin(), block.steps.end(),
                                  [&](const BlockStep* step) { return step->start_ns >= from_ns; });
  const auto count = static_cast<std::size_t>(block.steps.end() - first);
  if (count < kMinBlockSteps + 1) return std::nullopt;
  Settled part{(*first)->index, (*first)->start_ns, block.steps.back()->start_ns,
               static_cast<std::int64_t>(count) - 1};
  if (part.end_ns <= part.start_ns) return std::nullopt;
  part.step_ns = static_cast<double>(part.end_ns - part.start_ns) / static_cast<double>(part.steps);
  if (block.delayed == nullptr) return part;
  double sum_ns = 0, known = 0;
  for (auto step = first; step != block.steps.end(); ++step) {
    const Intervention* delay = delayed_in((*step)->delays);
    const auto length = delay != nullptr ? taken_ns(*delay) : std::nullopt;
    if (!length) continue;
    sum_ns += *length - sham_ns;
    known += 1;
  }
  if (known == 0) return std::nullopt;
  part.delay_ns = sum_ns / known;
  return part;
}

// Clock, power and limit of blocks, added up over them.
class Sampled {
 public:
  explicit Sampled(const std::vector<store::ClockSample>& clocks) : clocks_(clocks) {}

  void add(const Settled& part, std::optional<Id> device) {
    SampledPower sampled;
    for (const store::ClockSample& sample : clocks_) {
      if (sample.time_ns < part.start_ns || sample.time_ns > part.end_ns) continue;
      if (device && sample.device_id != *device) continue;
      sampled.add(sample);
    }
    known_ += sampled.known;
    limited_ += sampled.limited;
    if (!sampled.hz.empty()) hz_.push_back(mean(sampled.hz));
    if (!sampled.watts.empty()) watts_.push_back(median(std::move(sampled.watts)));
  }
  void fill(BlockSide& side) const {
    if (!hz_.empty()) side.clock_hz = mean(hz_);
    if (!watts_.empty()) side.power_w = mean(watts_);
    if (known_ > 0) side.limited_ratio = static_cast<double>(limited_) / static_cast<double>(known_);
  }

 private:
  const std::vector<store::ClockSample>& clocks_;
  std::vector<double> hz_, watts_;
  std::int64_t known_ = 0, limited_ = 0;
};

// One device has samples, or it is not known whose they are.
std::optional<Id> only_device(const std::vector<store::ClockSample>& clocks) {
  for (const store::ClockSample& sample : clocks) {
    if (sample.device_id != clocks.front().device_id) return std::nullopt;
  }
  return clocks.empty() ? std::nullopt : std::optional(clocks.front().device_id);
}

// Both slopes vary by themselves.
InterventionEstimate estimate_ratio(const InterventionEstimate& blocks, const InterventionEstimate& single) {
  const double value = blocks.value / single.value;
  const auto part = [](const InterventionEstimate& of) { return (of.high - of.low) / 2 / of.value; };
  const double half = std::fabs(blocks.value) > 0 ? std::fabs(value) * std::hypot(part(blocks), part(single))
                                                  : (blocks.high - blocks.low) / 2 / single.value;
  return {value, value - half, value + half};
}

const LaunchIntervention* single_of(const InterventionAnalysis& singles, const PowerBlocks& made) {
  for (const LaunchIntervention& launch : singles.launches) {
    if (launch.process_id == made.process_id && launch.target == made.target) return &launch;
  }
  return nullptr;
}

void conclude(const InterventionAnalysis& singles, PowerBlocks& made) {
  if (made.delayed.blocks < kMinBlocks || made.alone.blocks < kMinBlocks || !made.slope) return;
  const LaunchIntervention* single = single_of(singles, made);
  if (single == nullptr || !single->slope || single->slope->value < kMinSingleSlope) {
    made.verdict = BlockVerdict::no_slope;
    return;
  }
  made.left = estimate_ratio(*made.slope, *single->slope);
  made.verdict =
      made.left->high - made.left->low > kMaxLeftInterval ? BlockVerdict::too_uncertain : BlockVerdict::known;
}

}  // namespace

std::optional<double> PowerBlocks::limited_ratio() const {
  if (!delayed.limited_ratio || !alone.limited_ratio) return std::nullopt;
  return (*delayed.limited_ratio + *alone.limited_ratio) / 2;
}

std::optional<PowerBlocks> analyse_power_blocks(const std::vector<Intervention>& delays,
                                                const std::vector<store::Step>& steps,
                                                const std::vector<store::ClockSample>& clocks,
                                                const InterventionAnalysis& singles) {
  const std::vector<BlockStep> all = steps_of_blocks(delays, steps);
  const std::vector<Block> blocks = blocks_of(all);
  const auto with_delay =
      std::find_if(blocks.begin(), blocks.end(), [](const Block& block) { return block.delayed != nullptr; });
  if (with_delay == blocks.end()) return std::nullopt;
  const Intervention& of = *with_delay->delayed;
  PowerBlocks made{of.process_id, of.target, of.kernel_id, of.ordinal, of.level_ns};
  std::vector<double> shams, lengths;
  for (const BlockStep& step : all) {
    for (const Intervention* delay : step.delays) {
      const auto length = taken_ns(*delay);
      if (delay->target == of.target && delay->level_ns == 0 && length) shams.push_back(*length);
    }
  }
  // The last one ends with the program, or is cut off.
  for (const Block& block : blocks) lengths.push_back(static_cast<double>(length_of(block)));
  made.block_ns = median(std::move(lengths));
  const std::int64_t settling_ns = std::min<std::int64_t>(kMaxSettlingNs, std::llround(made.block_ns / 2));
  made.settling_ns = static_cast<double>(settling_ns);
  const double sham_ns = shams.empty() ? 0 : median(std::move(shams));
  std::vector<DelayedStep> points;
  Sampled sampled_delayed(clocks), sampled_alone(clocks);
  const std::optional<Id> device = only_device(clocks);
  double delay_ns = 0;
  for (const Block& block : blocks) {
    const auto part = settled_of(block, settling_ns, sham_ns);
    if (!part) continue;
    points.push_back({part->first_index, part->delay_ns, part->step_ns});
    BlockSide& side = block.delayed != nullptr ? made.delayed : made.alone;
    ++side.blocks;
    side.steps += part->steps;
    side.step_ns += part->step_ns;
    if (block.delayed != nullptr) delay_ns += part->delay_ns;
    (block.delayed != nullptr ? sampled_delayed : sampled_alone).add(*part, device);
  }
  if (made.delayed.blocks > 0) {
    made.delay_ns = delay_ns / static_cast<double>(made.delayed.blocks);
    made.delayed.step_ns /= static_cast<double>(made.delayed.blocks);
  }
  if (made.alone.blocks > 0) made.alone.step_ns /= static_cast<double>(made.alone.blocks);
  sampled_delayed.fill(made.delayed);
  sampled_alone.fill(made.alone);
  if (made.delayed.blocks >= kMinBlocks && made.alone.blocks >= kMinBlocks) made.slope = delay_slope(points);
  conclude(singles, made);
  return made;
}

}  // namespace ridgeline::analyzer
