#include "execution/event_records.h"

#include <tuple>

namespace ridgeline::analyzer {

namespace {

// As far back as a call is thought to wait (step_builder.cpp).
constexpr std::size_t kFarthestRecordedBack = 4;

}  // namespace

EventRecords::EventRecords(const std::vector<store::OrderingCall>& calls, store::Id process_id,
                           std::int64_t start_ns, std::int64_t end_ns) {
  for (const store::OrderingCall& call : calls) {
    if (call.process_id != process_id || call.call != StreamCall::event_record || call.time_ns >= end_ns)
      continue;
    place_of_.emplace(call.correlation_id, records_.size());
    records_.push_back({call.correlation_id, call.context_id, call.stream_id});
    if (call.time_ns < start_ns) first_ = records_.size();
  }
}

std::optional<EventRecords::Counterpart> EventRecords::counterpart(std::int64_t correlation_id) const {
  const auto asked = place_of_.find(correlation_id);
  const std::size_t in_step = records_.size() - first_;
  if (asked == place_of_.end() || asked->second >= first_ || in_step == 0) return std::nullopt;
  const std::size_t back = (first_ - asked->second + in_step - 1) / in_step;
  if (back > kFarthestRecordedBack) return std::nullopt;
  const auto stream = [&](std::size_t place) {
    return std::tie(records_[place].context_id, records_[place].stream_id);
  };
  for (std::size_t place = asked->second; place < first_; ++place) {
    if (stream(place) != stream(place + in_step)) return std::nullopt;
  }
  return Counterpart{records_[asked->second + back * in_step].correlation_id,
                     static_cast<std::uint32_t>(back)};
}

}  // namespace ridgeline::analyzer
