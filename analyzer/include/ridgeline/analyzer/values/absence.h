// absence.h: why a value of a launch is not there, as data; the words for it are made where they are shown.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "ridgeline/base/reason.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

/// More exactly than MissingReason what is missing. What each tells beside itself is a field of Absence.
enum class AbsenceCause : std::uint8_t {
  none,
  no_timestamps,            ///< the driver gave none for the launch
  equal_timestamps,         ///< no duration to divide by
  no_sampled_timestamps,    ///< the driver gave none for the same launch in sampled steps
  tier_refused,             ///< `tier`, `outcome`, `detail`: the collector's words
  no_replay_step,           ///< the recording has none
  no_usable_replay_step,    ///< `status`, `detail`: what the first is and why
  kind_not_counted,         ///< no launch of the kind was, in a recording without steps
  excluded,                 ///< `exclusion`: replay steps leave the kernel out
  graph_node,               ///< graphs are not replayed node by node
  graph_as_a_whole,         ///< the counters are of the whole graph
  another_grid,             ///< `phase`, `step_index`: the kernel had a different grid there
  another_kernel,           ///< likewise; `name`: the kernel that was there instead
  not_replayed,             ///< no replay step measured a launch at this place
  no_sampled_step,          ///< the recording has none
  no_usable_sampled_step,   ///< `status`, `detail`: what the first is and why
  kind_not_sampled,         ///< likewise
  not_told_apart,           ///< no sample tells the launch from its neighbours
  replayed_without_dram,    ///< no counter of DRAM bytes
  replayed_without_pipes,   ///< no counter of a compute pipe
  replayed_without_tensor,  ///< no counter of tensor operations
  sampled_without_dram,     ///< no DRAM bytes
  sampled_without_pipes,    ///< no compute pipe
  no_peak,                  ///< `detail`: the quantity; `name`: the device
  no_cold_step,             ///< the recording has none
  not_replayed_cold,        ///< no cold step measured a launch at this place
  communication,            ///< the link bounds it, neither DRAM nor a pipe
  no_work,                  ///< moves no bytes and uses no pipe to speak of
  paced_by_recorder,        ///< `phase`: in such a step launches wait for the recorder
  too_many_launches,        ///< for a step to be simulated
  waits_not_recorded,       ///< a pause of the CPU may be work or a wait for the GPU
  not_reproduced,           ///< a simulation with the recorded durations gives another step
  phase_not_reproduced,     ///< `name`: it gives this phase of the step another length
  calls_not_recorded,       ///< of the host: nothing says when the work was given to the device
  cut_in_time,              ///< a window or a range begins and ends in the middle of what the program did
  replayed_without_busiest,  ///< no counter of the pipe thought to be busiest: by samples, or as it multiplies matrices
};

/// Fields that the cause does not name are empty.
struct Absence {
  AbsenceCause cause = AbsenceCause::none;
  Tier tier = Tier::t0;
  TierOutcome outcome = TierOutcome::ok;
  StepStatus status = StepStatus::ok;
  Phase phase = Phase::timeline;
  std::int64_t step_index = 0;
  ExclusionReason exclusion = ExclusionReason::unknown;
  std::string name;
  Reason detail;  ///< what the recording says

  [[nodiscard]] bool empty() const { return cause == AbsenceCause::none; }
  friend auto operator<=>(const Absence&, const Absence&) = default;
};

}  // namespace ridgeline::analyzer
