/// place_times.h: how long the launch at each place of a step takes, where steps launch the same: launches of one
/// kernel with one grid may have problems of any size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ridgeline/counting/kind.h"
#include "ridgeline/counting/launch_times.h"

namespace ridgeline::counting {

/// Any thread, without a lock. Bounded: further places are not known, nor launches whose records come very late.
class PlaceTimes {
 public:
  static constexpr std::uint32_t kPlaces = 1u << 16;
  static constexpr std::uint32_t kUnderWay = 1u << 17;

  PlaceTimes() : under_way_(new std::atomic<std::uint64_t>[kUnderWay]()), places_(new Place[kPlaces]()) {}
  ~PlaceTimes() {
    delete[] under_way_;
    delete[] places_;
  }
  PlaceTimes(const PlaceTimes&) = delete;
  PlaceTimes& operator=(const PlaceTimes&) = delete;

  /// A launch of a step, from 0 by its order.
  void launched(std::uint32_t correlation_id, std::uint32_t place) noexcept {
    under_way_[correlation_id % kUnderWay].store(std::uint64_t{correlation_id} << 32 | place,
                                                 std::memory_order_relaxed);
  }
  /// Its record came. A place at which another kind is launched than before begins anew.
  void took(std::uint32_t correlation_id, Kind kind, std::int64_t duration_ns) noexcept;
  /// Mean of the launches of the kind at the place; 0: not known.
  [[nodiscard]] double mean_ns(std::uint32_t place, Kind kind) const noexcept;

 private:
  struct Place {
    std::atomic<Kind> kind{0};
    std::atomic<std::uint64_t> launches{0};
    std::atomic<std::int64_t> time_ns{0};
  };
  std::atomic<std::uint64_t>* under_way_;
  Place* places_;
};

/// Of a kind the launches that take about as long, to a quarter: what they do is about as much. 0 ns: not known.
[[nodiscard]] constexpr Kind of_duration(Kind kind, double duration_ns) noexcept {
  std::uint64_t size = 0;
  for (double ns = 1; ns < duration_ns && size < 256; ns *= 1.25) ++size;
  return size == 0 ? kind : mixed(kind, size);
}

/// What is known of a program's time.
struct ProgramTimes {
  LaunchTimes by_grid, by_size;  // of kind_of(), of size_kind_of()
  PlaceTimes places;             // of steps; kinds as in by_grid
};

}  // namespace ridgeline::counting
