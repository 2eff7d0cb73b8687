// launch_kinds.h: what the counted launches of a kind say of the others of that kind.
//
// A recording counts all launches of a few steps, or those that tell most within its budget. Where a launch was not
// counted itself, with a metric or with any, it has the mean of what was counted of its kind, and their spread as
// error: what the next one of the kind may differ by, not what the mean of many does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "replay_values.h"

namespace ridgeline::analyzer {

class LaunchKinds {
 public:
  /// `counted`: the steps in which launches were counted (T2).
  LaunchKinds(const Model& model, const std::vector<StepIndex>& counted);

  /// Adds to what the launch's own counters say what its kind's do. False if the kind was not counted.
  bool complete(LaunchIndex launch, const store::Device* device, ReplayValues& values);

 private:
  /// The finest way of telling launches apart first: kernel, configuration, ranges and the launch before it on its
  /// stream; without that one; kernel and configuration alone. In a program without steps launches are seldom of one
  /// size: there the kernel with about as many blocks follows, and the kernel; such a launch is as near to the roofs as
  /// those that were counted, so that amounts are in proportion to the time.
  enum Fineness : std::size_t {
    with_neighbour,
    with_ranges,
    alone,
    of_about_the_size,
    of_the_kernel,
    finenesses
  };
  using Key = std::uint64_t;
  struct Known {
    std::shared_ptr<const ReplayValues> same;   // launches of the same configuration
    std::shared_ptr<const ReplayValues> other;  // of another, as if each took kUnitNs
  };

  void note_sites();
  [[nodiscard]] Key key(LaunchIndex launch, Fineness fineness) const;
  void add_row(LaunchIndex launch, TierRows& rows) const;
  void add_scaled(LaunchIndex launch, TierRows& rows) const;
  [[nodiscard]] const Known& values_of(LaunchIndex launch, const store::Device* device);

  const Model& model_;
  std::vector<Key> with_ranges_, alone_, of_about_the_size_, of_the_kernel_;  // by site
  std::vector<Key> before_;  // by launch: key of what ran before it on its stream
  using Counted = std::unordered_map<Key, std::vector<LaunchIndex>>;
  std::vector<std::map<std::size_t, Counted>> steps_;  // by counted step and fineness
  std::unordered_map<Key, Known> known_;
};

}  // namespace ridgeline::analyzer
