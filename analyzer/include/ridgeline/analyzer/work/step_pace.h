// step_pace.h: what each step got done in its time, and the memory that was held meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/work/link_traffic.h"
#include "ridgeline/analyzer/work/step_size.h"

namespace ridgeline::analyzer {

/// A range whose program says what it works through.
struct SizedRange {
  store::Id step_id = 0;
  std::int64_t thread_id = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  int depth = 0;
  StepSize size;
};

/// Device memory that a process holds on a device once a call has returned.
struct HeldMemory {
  store::Id process_id = 0;
  store::Id device_id = 0;
  std::int64_t time_ns = 0;
  std::int64_t allocated_bytes = 0;  ///< of what was seen to be taken
};

/// A step on the host's clock.
struct HostStep {
  store::Id step_id = 0;
  store::Id process_id = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

/// What is not known is empty: rates of a step without a time on the GPU, of tokens and samples without a declaration,
/// and memory where no call was recorded before or in the step.
struct StepPace {
  store::Id step_id = 0;
  StepSize size;
  std::optional<double> steps_per_s, tokens_per_s, samples_per_s;
  std::optional<std::int64_t>
      allocated_bytes;  ///< the most held at once during the step, over the devices together
  LinkBytes links;      ///< moved over NVLink and PCIe in the step's GPU time, over the devices together
};

/// The sum of the outermost ranges of each thread: a step and its micro-batches may both say what they work through.
/// Any order.
[[nodiscard]] StepSize size_of(std::vector<SizedRange> ranges);

/// One for each of `steps`, in their order. `ranges`, `memory` and `hosts` in any order; what is of other steps or
/// processes is left out.
[[nodiscard]] std::vector<StepPace> step_pace(const std::vector<StepSummary>& steps,
                                              const std::vector<SizedRange>& ranges,
                                              std::vector<HeldMemory> memory,
                                              const std::vector<HostStep>& hosts);

/// Adds to each step what `devices` that its process was sampled on moved in its GPU time. Both as
/// step_pace() has them.
void add_links(const std::vector<StepSummary>& steps, store::Id process_id,
               const std::vector<LinkSamples>& devices, std::vector<StepPace>& pace);

/// Over the timeline steps of a process, or over all of its steps if it has none: what a table need not say line by
/// line.
struct PaceSummary {
  struct Spread {
    std::int64_t steps = 0;  ///< that have a value
    double p10 = 0, median = 0, p90 = 0;
  };
  std::optional<Spread> steps_per_s, tokens_per_s, samples_per_s;
  std::optional<std::int64_t> min_allocated_bytes, max_allocated_bytes;
};
/// `pace` is step_pace() of those steps.
[[nodiscard]] PaceSummary summarise_pace(const StepAnalysis& steps, const std::vector<StepPace>& pace);

}  // namespace ridgeline::analyzer
