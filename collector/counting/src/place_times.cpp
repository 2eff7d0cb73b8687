#include "ridgeline/counting/place_times.h"

namespace ridgeline::counting {

void PlaceTimes::took(std::uint32_t correlation_id, Kind kind, std::int64_t duration_ns) noexcept {
  const std::uint64_t launched = under_way_[correlation_id % kUnderWay].load(std::memory_order_relaxed);
  const auto at = static_cast<std::uint32_t>(launched);
  if (launched >> 32 != correlation_id || correlation_id == 0 || at >= kPlaces || duration_ns < 0) return;
  Place& place = places_[at];
  if (place.kind.exchange(kind, std::memory_order_relaxed) != kind) {
    place.launches.store(0, std::memory_order_relaxed);
    place.time_ns.store(0, std::memory_order_relaxed);
  }
  place.launches.fetch_add(1, std::memory_order_relaxed);
  place.time_ns.fetch_add(duration_ns, std::memory_order_relaxed);
}

double PlaceTimes::mean_ns(std::uint32_t place, Kind kind) const noexcept {
  if (place >= kPlaces || places_[place].kind.load(std::memory_order_relaxed) != kind) return 0;
  const auto launches = places_[place].launches.load(std::memory_order_relaxed);
  return launches == 0 ? 0.0
                       : static_cast<double>(places_[place].time_ns.load(std::memory_order_relaxed)) /
                             static_cast<double>(launches);
}

}  // namespace ridgeline::counting
