#include "ridgeline/counting/launch_times.h"

#include <array>
#include <bit>

namespace ridgeline::counting {

void LaunchTimes::add(Kind kind, std::int64_t duration_ns) noexcept {
  if (kind == 0 || duration_ns < 0) return;
  for (std::size_t i = kind % kSlots;; i = (i + 1) % kSlots) {
    Slot& slot = slots_[i];
    Kind there = slot.kind.load(std::memory_order_acquire);
    if (there == 0) {
      if (kinds_.load(std::memory_order_relaxed) >= kMaxKinds) return;
      if (slot.kind.compare_exchange_strong(there, kind, std::memory_order_acq_rel)) {
        kinds_.fetch_add(1, std::memory_order_relaxed);
        there = kind;
      }
    }
    if (there != kind) continue;
    slot.launches.fetch_add(1, std::memory_order_relaxed);
    slot.time_ns.fetch_add(duration_ns, std::memory_order_relaxed);
    return;
  }
}

LaunchTimes::Times LaunchTimes::of(Kind kind) const noexcept {
  if (kind == 0) return {};
  for (std::size_t i = kind % kSlots;; i = (i + 1) % kSlots) {
    const Kind there = slots_[i].kind.load(std::memory_order_acquire);
    if (there == kind) return read(slots_[i]);
    if (there == 0) return {};
  }
}

std::int64_t LaunchTimes::duration_at_ns(double share) const noexcept {
  std::array<double, 64> time_ns{};  // by the logarithm of the duration
  double all_ns = 0;
  for_each([&](Kind, Times times) {
    const auto mean_ns = static_cast<std::uint64_t>(times.mean_ns());
    if (mean_ns == 0) return;
    time_ns[std::bit_width(mean_ns) - 1u] += static_cast<double>(times.time_ns);
    all_ns += static_cast<double>(times.time_ns);
  });
  if (all_ns <= 0) return 0;
  double below_ns = 0;
  std::size_t power = 0;
  for (std::size_t i = 0; i < time_ns.size() && below_ns < share * all_ns; ++i) {
    below_ns += time_ns[i];
    power = i;
  }
  return std::int64_t{1} << power;
}

}  // namespace ridgeline::counting
