// activities.h: the rows of what ran and what the host did, while a recording streams by: launches, copies, ranges,
// waits, clocks.
//
// Order: steps, windows and paths have been written. add() in any order, each thing once, then finish().
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "recording/kernels.h"
#include "recording/ranges.h"
#include "recording/sampled_windows.h"

namespace ridgeline::import {

class RecordedActivities {
 public:
  /// Hash of the machine code that ran; 0: the source does not know it. The call is null if it never came.
  using CodeOf = std::function<std::uint64_t(const Execution&, const Call*)>;
  /// Keeps references to all. Executions and copies go to `samples` too.
  RecordedActivities(ProcessRows& rows, RecordedKernels& kernels, RecordedSteps& steps,
                     RecordedRanges& ranges, SampledWindows& samples, CodeOf code_of)
      : rows_(rows),
        kernels_(kernels),
        recorded_(steps),
        ranges_(ranges),
        samples_(samples),
        code_of_(std::move(code_of)),
        finder_(steps.steps) {}

  /// Of calls that expect a kernel.
  void add(const Call& call);
  void add(const Execution& execution);
  void add(const Copy& copy);
  void add(const Wait& wait);
  void add(const Clocks& clocks);
  void finish();
  /// Told of each execution once it has its row.
  void on_launch(std::function<void(const Execution&, store::Id)> told) { told_ = std::move(told); }
  /// Likewise of each copy.
  void on_copy(std::function<void(const Copy&, store::Id)> told) { told_of_copy_ = std::move(told); }
  /// As LaunchJoin says it, once finish() was called.
  [[nodiscard]] std::int64_t kernels_of_one_call() const { return join_.kernels_of_one_call(); }
  /// Rows of executions so far.
  [[nodiscard]] std::int64_t launches() const { return launches_; }
  /// Of the execution that was written last; 0: none as yet.
  [[nodiscard]] store::Id last_launch_id() const { return last_launch_id_; }

 private:
  void write_launch(const Execution& execution, const Call* call);
  [[nodiscard]] std::optional<std::int64_t> ordinal_in_graph(const Execution& execution);
  template <typename Row>
  [[nodiscard]] Row copy_row(const Copy& copy);

  struct NodeKeyHash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& key) const {
      return std::hash<std::uint64_t>{}(key.second * 0x9e3779b97f4a7c15ull + key.first);
    }
  };

  ProcessRows& rows_;
  RecordedKernels& kernels_;
  RecordedSteps& recorded_;
  RecordedRanges& ranges_;
  SampledWindows& samples_;
  CodeOf code_of_;
  std::function<void(const Execution&, store::Id)> told_;
  std::function<void(const Copy&, store::Id)> told_of_copy_;
  StepFinder finder_;
  LaunchJoin join_;
  std::int64_t launches_ = 0;
  store::Id last_launch_id_ = 0;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t, NodeKeyHash> repeated_nodes_;
};

}  // namespace ridgeline::import
