#include "ridgeline/analyzer/ranking/occupancy.h"

#include <algorithm>
#include <array>

namespace ridgeline::analyzer {
namespace {

// Of an SM: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
struct SmLimits {
  std::string_view capability;
  std::int64_t warps, blocks, shared_bytes;
};
constexpr std::int64_t kKiB = 1024;
constexpr SmLimits kSmLimits[] = {
    {"5.0", 64, 32, 64 * kKiB},   {"5.2", 64, 32, 96 * kKiB},   {"6.0", 64, 32, 64 * kKiB},
    {"6.1", 64, 32, 96 * kKiB},   {"7.0", 64, 32, 96 * kKiB},   {"7.2", 64, 32, 96 * kKiB},
    {"7.5", 32, 16, 64 * kKiB},   {"8.0", 64, 32, 164 * kKiB},  {"8.6", 48, 16, 100 * kKiB},
    {"8.7", 48, 16, 164 * kKiB},  {"8.9", 48, 24, 100 * kKiB},  {"9.0", 64, 32, 228 * kKiB},
    {"10.0", 64, 32, 228 * kKiB}, {"10.1", 48, 24, 228 * kKiB}, {"10.3", 64, 32, 228 * kKiB},
    {"11.0", 48, 24, 228 * kKiB}, {"12.0", 48, 24, 100 * kKiB}, {"12.1", 48, 24, 100 * kKiB},
};
constexpr std::int64_t kWarpThreads = 32;
constexpr std::int64_t kBlockThreads = 1024;
constexpr std::int64_t kThreadRegisters = 256;  // 255 can be named
constexpr std::int64_t kSmRegisters = 65536;    // of all these capabilities; also the most of a block
constexpr std::int64_t kRegisterUnit = 256;     // registers are given to a warp in such pieces
constexpr std::int64_t kNoLimit = INT64_MAX;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

// Of a block. 0: there is no such block.
std::int64_t threads_of(const store::Dim3& block) {
  for (const std::int64_t size : {block.x, block.y, block.z}) {
    if (size < 1 || size > kBlockThreads) return 0;
  }
  const std::int64_t threads = block.x * block.y * block.z;
  return threads <= kBlockThreads ? threads : 0;
}

std::int64_t blocks_by_registers(std::string_view capability, std::int64_t registers, std::int64_t warps) {
  if (registers <= 0) return kNoLimit;
  if (registers > kThreadRegisters) return 0;
  const std::int64_t partitions = capability == "6.0" ? 2 : 4;
  const std::int64_t of_warp = rounded_up(registers * kWarpThreads, kRegisterUnit);
  // Whether a block may be launched is judged as if its warps were dealt out evenly …
  if (of_warp * rounded_up(warps, partitions) > kSmRegisters) return 0;
  // … but the warps of several blocks share the partitions as they fit.
  return kSmRegisters / partitions / of_warp * partitions / warps;
}

std::int64_t blocks_by_shared_memory(const SmLimits& sm, const store::Launch& launch) {
  // Larger than any SM has is larger, however much: sums stay small.
  const auto bounded = [&](std::int64_t bytes) {
    return std::clamp<std::int64_t>(bytes, 0, sm.shared_bytes + 1);
  };
  // Of each block the driver takes 1 KiB for itself, from Ampere on.
  const bool before_ampere = sm.capability.size() == 3 && sm.capability.front() < '8';
  const std::int64_t bytes = rounded_up(
      bounded(launch.static_smem_bytes) + bounded(launch.dynamic_smem_bytes) + (before_ampere ? 0 : kKiB),
      before_ampere ? 256 : 128);
  return bytes > 0 ? sm.shared_bytes / bytes : kNoLimit;
}

}  // namespace

std::vector<OccupancyLimiter> Occupancy::limiters() const {
  std::vector<OccupancyLimiter> list;
  for (const auto& word : Vocabulary<OccupancyLimiter>::kWords) {
    if ((limiter_bits >> static_cast<unsigned>(word.value) & 1U) != 0) list.push_back(word.value);
  }
  return list;
}

std::optional<Occupancy> theoretical_occupancy(const store::Launch& launch,
                                               std::string_view compute_capability) {
  const auto sm = std::find_if(std::begin(kSmLimits), std::end(kSmLimits), [&](const SmLimits& limits) {
    return limits.capability == compute_capability;
  });
  const std::int64_t threads = threads_of(launch.block);
  if (sm == std::end(kSmLimits) || threads == 0) return std::nullopt;
  const std::int64_t warps = ceil_div(threads, kWarpThreads);
  // By limiter, in the order of the enumerators.
  const std::array<std::int64_t, 4> fit = {
      sm->warps / warps, sm->blocks,
      blocks_by_registers(compute_capability, launch.registers_per_thread, warps),
      blocks_by_shared_memory(*sm, launch)};
  const auto tightest = std::min_element(fit.begin(), fit.end());
  if (*tightest <= 0) return std::nullopt;
  Occupancy occupancy{.blocks = *tightest,
                      .warps = *tightest * warps,
                      .max_warps = sm->warps,
                      .limiter = static_cast<OccupancyLimiter>(tightest - fit.begin()),
                      .limiter_bits = 0};
  for (std::size_t i = 0; i < fit.size(); ++i)
    if (fit[i] == *tightest) occupancy.limiter_bits |= static_cast<std::uint8_t>(1U << i);
  return occupancy;
}

}  // namespace ridgeline::analyzer
