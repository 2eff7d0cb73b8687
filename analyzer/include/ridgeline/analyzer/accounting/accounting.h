// accounting.h: where the time of the representative step went. The parts add up to the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/accounting/gaps.h"
#include "ridgeline/analyzer/accounting/kernel_time.h"
#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

struct AccountingOptions {
  std::int64_t launch_latency_ns = 5000;  // a queued launch starts within this after its predecessor's end
  BoundOptions bounds;
};

/// One device of one process. Busy time is exclusive in this order: kernels, copies, memsets.
///   step = kernel_busy + copy_exposed + memset_exposed + gaps + remainder
struct Accounting {
  store::Id process_id = 0;
  store::Id device_id = 0;
  ScopeKind scope = ScopeKind::step;  // what `step` means here
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
  /// Of the launch-bound and host-bound gaps: what recording itself made the step longer by. Empty if that was not
  /// measured or is within what steps vary by.
  std::optional<std::int64_t> gap_recording_ns;
  double alone_step_ns = 0;       // with it: from begin to begin of a step that was not recorded
  std::int64_t remainder_ns = 0;  // what the parts do not explain; 0 unless records contradict each other
  std::int64_t launches = 0;
  std::int64_t launches_without_time = 0;  // not in any figure above
  std::int64_t foreign_busy_ns = 0;        // of the busy time, work launched outside this step
  std::int64_t stream_count = 0;
  Gaps gaps;  // in order of time
  /// kernel_busy_ns by what bounds the kernels and by part of the program; empty from account_step().
  KernelTime kernels;
};

/// Accounts for the device that did the most kernel time of the step; others: by device_id.
[[nodiscard]] Accounting account_step(const Model& model, const StepAnalysis& steps,
                                      const AccountingOptions& options = {},
                                      std::optional<store::Id> device_id = {});

/// The longest gap, the first of several; empty without gaps.
[[nodiscard]] std::optional<Gap> longest_gap(const Accounting& accounting);

/// Adds another step's times, launches and gaps to those of `sum`; the device is that of both.
void add_to(Accounting& sum, const Accounting& other);

}  // namespace ridgeline::analyzer
