// Events of NCCL's profiler interface as they lie in memory: by the offsets that NCCL's headers give their fields
// (plugins/profiler/example/nccl/profiler_v3.h to profiler_v5.h, on x86-64 and AArch64), not by the agent's own
// declarations.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace ridgeline::agent::testing {

inline constexpr std::uint64_t kNcclHash = 0xfedcba9876543210;

class NcclEvent {
 public:
  static constexpr std::uint64_t kGroup = 1 << 0, kCollective = 1 << 1, kGroupCall = 1 << 8,
                                 kCollectiveCall = 1 << 9;

  /// Of version 5 the type has 64 bits, before it eight.
  NcclEvent(int version, std::uint64_t type) {
    if (version >= 5)
      put(0, type);
    else
      put(0, static_cast<std::uint8_t>(type));
  }
  template <typename T>
  NcclEvent& put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  void* data() { return bytes_.data(); }

 private:
  alignas(16) std::array<unsigned char, 256> bytes_{};  // with room for kinds of events that are larger
};

struct NcclCollective {
  const char* function = "AllReduce";
  std::size_t count = 256;
  const char* type = "ncclFloat32";
  std::uint8_t channels = 16;
  const char* algorithm = "NVLS";
  const char* protocol = "LL128";
};

/// Its kernel was launched; `parent`: of version 5 its call's handle, else its group's.
inline NcclEvent nccl_collective(int version, const NcclCollective& of, void* parent = nullptr) {
  NcclEvent event(version, NcclEvent::kCollective);
  std::size_t at = 24;
  if (version == 3) {
    event.put(at + 8, kNcclHash);
    at += 16;  // the communicator's name and hash
  }
  event.put(8, parent).put(16, 1);                                     // parent, rank
  event.put(at, std::uint64_t{5});                                     // sequence number
  event.put(at + 8, of.function);                                      // buffers at 16 and 24
  event.put(at + 32, of.count).put(at + 40, 0).put(at + 48, of.type);  // root between them
  event.put(at + 56, of.channels).put(at + 57, std::uint8_t{17});      // warps
  event.put(at + 64, of.algorithm).put(at + 72, of.protocol);
  return event;
}

/// The program calls for a collective, version 5.
inline NcclEvent nccl_call(const char* type) {
  NcclEvent event(5, NcclEvent::kCollectiveCall);
  event.put(24, "AllReduce").put(32, std::size_t{256}).put(40, type);
  return event;
}

}  // namespace ridgeline::agent::testing
