// accounting.h: where the time of the representative step went. The parts add up to the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/kernel_time.h"
#include "ridgeline/analyzer/steps.h"

namespace ridgeline::analyzer {

enum class GapKind {
  launch_bound,     // the next launch was being issued, or queued and only its start-up latency passed
  host_bound,       // the next launch's call had not begun when the GPU fell idle
  synchronisation,  // the same, and its thread spent at least half of the gap inside calls that wait
  queued,           // issued well before, yet not started: it waited for an event, a copy or another stream
  unknown,          // the call behind the next work is not known (most copies)
  tail,             // the same, after the step's last work
};
[[nodiscard]] std::string_view to_string(GapKind kind);

/// A call on which a thread waited for the device.
struct Wait {
  SynchronisationCall call = SynchronisationCall::device;
  std::int64_t length_ns = 0;  // of the whole call, most of which may lie before the gap
};

/// A stretch of the step in which the device did nothing.
struct Gap {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  GapKind kind = GapKind::unknown;
  std::optional<LaunchIndex> before;      // the launch it follows; empty if a copy, a memset or nothing
  std::optional<LaunchIndex> after;       // the launch that ended it; the next step's first at the step's end
  std::optional<std::int64_t> thread_id;  // that made the call which ended it; empty: not known
  /// Host-bound and synchronisation, where waits are recorded: the time of the gap that this thread spent inside
  /// calls that wait, before that call; and the one of them that took most of it.
  std::int64_t synchronisation_ns = 0;
  std::optional<Wait> wait;
};

struct AccountingOptions {
  std::int64_t launch_latency_ns = 5000;  // a queued launch starts within this after its predecessor's end
  BoundOptions bounds;
};

/// One device of one process. Busy time is exclusive in this order: kernels, copies, memsets.
///   step = kernel_busy + copy_exposed + memset_exposed + gaps + remainder
struct Accounting {
  store::Id process_id = 0;
  store::Id device_id = 0;
  std::int64_t step_ns = 0;
  std::int64_t kernel_sum_ns = 0;      // plain sum, clipped to the step
  std::int64_t kernel_busy_ns = 0;     // union over streams
  std::int64_t kernel_overlap_ns = 0;  // sum − union
  std::int64_t copy_sum_ns = 0;
  std::int64_t copy_exposed_ns = 0;  // while no kernel ran
  std::int64_t copy_hidden_ns = 0;   // union of copies − exposed
  std::int64_t copy_bytes = 0;
  std::int64_t memset_sum_ns = 0;
  std::int64_t memset_exposed_ns = 0;  // while neither kernel nor copy ran
  std::int64_t memset_bytes = 0;
  std::int64_t communication_sum_ns = 0;      // kernels of class communication
  std::int64_t communication_exposed_ns = 0;  // of those, while no other kernel ran; part of kernel_busy_ns
  std::int64_t communication_hidden_ns = 0;   // union of them − exposed
  std::int64_t gap_launch_bound_ns = 0;
  std::int64_t gap_host_bound_ns = 0;  // less what is gap_synchronisation_ns
  std::int64_t gap_queued_ns = 0;
  std::int64_t gap_unknown_ns = 0;
  std::int64_t gap_tail_ns = 0;
  /// Of host-bound and synchronisation gaps: Gap::synchronisation_ns. Empty if the recording does not have what the
  /// host waited for: it is then inside host_bound.
  std::optional<std::int64_t> gap_synchronisation_ns;
  std::int64_t gap_total_ns = 0;  // sum of the six
  std::int64_t remainder_ns = 0;  // what the parts do not explain; 0 unless records contradict each other
  std::int64_t launches = 0;
  std::int64_t launches_without_time = 0;  // not in any figure above
  std::int64_t foreign_busy_ns = 0;        // of the busy time, work launched outside this step
  std::int64_t stream_count = 0;
  SharedVector<Gap> gaps;  // in order of time
  /// kernel_busy_ns by what bounds the kernels and by part of the program; empty from account_step().
  KernelTime kernels;
};

/// Accounts for the device that did the most kernel time of the step; others: by device_id.
[[nodiscard]] Accounting account_step(const Model& model, const StepAnalysis& steps,
                                      const AccountingOptions& options = {},
                                      std::optional<store::Id> device_id = {});

/// The longest gap, the first of several; nullptr without gaps.
[[nodiscard]] const Gap* longest_gap(const Accounting& accounting);

/// Adds another step's times, launches and gaps to those of `sum`; the device is that of both.
void add_to(Accounting& sum, const Accounting& other);

}  // namespace ridgeline::analyzer
