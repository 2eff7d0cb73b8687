// The latest launch on each device, as launches are noted: whether a device is used at all, and, beside the newest
// record of it (timeline.h), whether it is through with what was launched. Any thread; takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace ridgeline::agent {

/// Devices beyond are neither described nor sampled.
inline constexpr std::uint32_t kMaxDevices = 64;

class DeviceLaunches {
 public:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;

  /// A context was made; ids from kMaxContexts on are not remembered.
  void context_created(std::uint32_t context_id, std::uint32_t device_id) noexcept {
    if (context_id < kMaxContexts && device_id < kMaxDevices)
      element(near_.device_of_context, far_contexts_, context_id)
          .store(static_cast<std::uint8_t>(device_id + 1), std::memory_order_relaxed);
  }
  /// kUnknown: the context was made unseen, or too many were.
  std::uint32_t device_of(std::uint32_t context_id) const noexcept {
    const std::uint8_t known =
        context_id < kMaxContexts
            ? element(near_.device_of_context, far_contexts_, context_id).load(std::memory_order_relaxed)
            : 0;
    return known > 0 ? known - 1u : kUnknown;
  }
  void note(std::uint32_t device_id, std::uint32_t correlation_id) noexcept {
    if (device_id >= kMaxDevices) return;
    element(near_.latest, far_latest_, device_id).store(correlation_id, std::memory_order_relaxed);
    const std::uint64_t bit = std::uint64_t{1} << device_id;
    if ((near_.used.load(std::memory_order_relaxed) & bit) == 0)
      near_.used.fetch_or(bit, std::memory_order_release);
  }
  /// Correlation id of the latest launch; 0 before the first.
  std::uint32_t latest(std::uint32_t device_id) const noexcept {
    return device_id < kMaxDevices
               ? element(near_.latest, far_latest_, device_id).load(std::memory_order_relaxed)
               : 0;
  }
  /// A bit a device that something was launched on.
  std::uint64_t used() const noexcept { return near_.used.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t kMaxContexts = 256, kNearContexts = 24, kNearDevices = 8;
  using DeviceOfContext = std::atomic<std::uint8_t>;  // device + 1; 0: not known
  using Latest = std::atomic<std::uint32_t>;

  /// In an array whose first elements lie apart from the others.
  template <typename Near, typename Far>
  static auto element(Near& near, Far& far, std::uint32_t at) noexcept -> decltype(near[at]) {
    return at < near.size() ? near[at] : far[at - near.size()];
  }

  /// What the launches of most programs come by, on one line of the cache.
  struct alignas(64) Near {
    std::atomic<std::uint64_t> used{0};
    std::array<Latest, kNearDevices> latest{};
    std::array<DeviceOfContext, kNearContexts> device_of_context{};
  };
  static_assert(sizeof(Near) == 64);
  Near near_;
  std::array<DeviceOfContext, kMaxContexts - kNearContexts> far_contexts_{};
  std::array<Latest, kMaxDevices - kNearDevices> far_latest_{};
};

}  // namespace ridgeline::agent
