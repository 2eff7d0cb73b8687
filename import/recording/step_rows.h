// step_rows.h: the rows of a process's steps, and of the recording windows that stand for them where there are none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "recording/process_rows.h"
#include "recording/steps.h"

namespace ridgeline::import {

/// What became of the steps with counters of one tier: T2's replay steps, T3's cold and instrumented ones.
struct CounterOutcome {
  std::int64_t steps = 0;
  std::int64_t ok = 0;
  Reason first_reason;               // of the first step that is not ok
  std::int64_t unjoined_values = 0;  // of steps that are ok
};
/// What became of the sample steps (T1), those left out that only let the clocks settle.
struct SamplingOutcome {
  std::int64_t steps = 0;
  std::int64_t ok = 0;
  Reason first_reason;              // of the first step that is not ok
  std::int64_t kernel_time_ns = 0;  // of the sampled steps
  std::int64_t covered_ns = 0;      // of kernels with a value and an error
};
struct TierOutcomes {
  SamplingOutcome sampling;
  CounterOutcome replay;
  CounterOutcome third_tier;
  std::int64_t kernels_of_one_call = 0;  ///< launch_join.h
};

/// A configuration of counters, as the source numbers it.
struct RecordedConfiguration {
  std::string name;
  int passes = 1;
};

/// The capture's ids of configurations, by the source's numbers.
using ConfigurationIds = std::map<std::uint32_t, store::Id>;
[[nodiscard]] ConfigurationIds write_configurations(
    ProcessRows& rows, const std::map<std::uint32_t, RecordedConfiguration>& configurations);

/// All steps that `recorded` has. `judge` sets phase, status and reason of a row as the source knows them.
void write_steps(ProcessRows& rows, RecordedSteps& recorded, const ConfigurationIds& configurations,
                 const std::function<void(const RecordedStep&, store::Step&)>& judge, TierOutcomes& outcomes);

/// Windows; of a program without steps each stands for one, so that it can be ranked like any other.
void write_windows(ProcessRows& rows, RecordedSteps& recorded);

}  // namespace ridgeline::import
