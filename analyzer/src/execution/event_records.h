// event_records.h: which record of an event in a step stands for one that was made in a step before. Programs take
// their events from a pool, so that the event itself may be another one in each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ridgeline/store/order.h"

namespace ridgeline::analyzer {

class EventRecords {
 public:
  /// A record of the step, and how many steps before it the one that was asked about was made: 1 or more.
  struct Counterpart {
    std::int64_t correlation_id = 0;
    std::uint32_t back = 0;
  };

  /// `calls`: by correlation id. Those of the step are made on the host from `start_ns` to before `end_ns`.
  EventRecords(const std::vector<store::OrderingCall>& calls, store::Id process_id, std::int64_t start_ns,
               std::int64_t end_ns);

  /// The record of the step at the place that the call `correlation_id` had among those of an earlier step. Empty: that
  /// call was made in the step, or long before it, or what was recorded since then differs from what the step records.
  [[nodiscard]] std::optional<Counterpart> counterpart(std::int64_t correlation_id) const;

 private:
  struct Record {
    std::int64_t correlation_id = 0;
    std::optional<std::int64_t> context_id, stream_id;
  };
  std::vector<Record> records_;  // until the end of the step
  std::unordered_map<std::int64_t, std::size_t> place_of_;
  std::size_t first_ = 0;  // of the step
};

}  // namespace ridgeline::analyzer
