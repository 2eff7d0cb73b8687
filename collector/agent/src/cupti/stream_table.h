// The program's streams by the driver's handles, with the ids that CUPTI's records name them by.
//
// Written where a stream is made, read at each call of an event. No lock: a slot's key is written last. A handle that
// the driver gives out again takes its old slot over. Streams for which there is no slot are asked of CUPTI each time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

class StreamTable {
 public:
  static constexpr std::uint32_t kSlots = 4096;
  struct Stream {
    std::uint32_t context_id = 0, stream_id = 0;
  };

  void add(CUstream handle, const Stream& stream) noexcept {
    const std::uint64_t packed = std::uint64_t{stream.context_id} << 32 | stream.stream_id;
    for (std::uint32_t probe = 0; probe < kLongestProbe; ++probe) {
      Slot& slot = slots_[place(handle, probe)];
      CUstream key = slot.handle.load(std::memory_order_acquire);
      if (key == nullptr && !slot.handle.compare_exchange_strong(key, kTaken, std::memory_order_acq_rel) &&
          key != handle)
        continue;
      if (key != nullptr && key != handle) continue;
      slot.stream.store(packed, std::memory_order_release);
      slot.handle.store(handle, std::memory_order_release);
      return;
    }
  }

  [[nodiscard]] std::optional<Stream> find(CUstream handle) const noexcept {
    for (std::uint32_t probe = 0; probe < kLongestProbe; ++probe) {
      const Slot& slot = slots_[place(handle, probe)];
      const CUstream key = slot.handle.load(std::memory_order_acquire);
      if (key == nullptr) return std::nullopt;
      if (key != handle) continue;
      const std::uint64_t packed = slot.stream.load(std::memory_order_acquire);
      return Stream{static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed)};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kLongestProbe = 16;
  /// No handle of the driver's: the slot's stream is about to be written.
  inline static const CUstream kTaken = reinterpret_cast<CUstream>(~std::uintptr_t{0});
  struct Slot {
    std::atomic<CUstream> handle{nullptr};
    std::atomic<std::uint64_t> stream{0};
  };
  static std::uint32_t place(CUstream handle, std::uint32_t probe) noexcept {
    const std::uint64_t hash = (reinterpret_cast<std::uintptr_t>(handle) >> 4) * 0x9e3779b97f4a7c15ull;
    return (static_cast<std::uint32_t>(hash >> 40) + probe) % kSlots;
  }
  std::array<Slot, kSlots> slots_;
};

}  // namespace ridgeline::agent
