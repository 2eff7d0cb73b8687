#include "ridgeline/counting/launch_times.h"

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

}  // namespace ridgeline::counting
