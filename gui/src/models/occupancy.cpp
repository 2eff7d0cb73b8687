#include "models/occupancy.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ridgeline::gui {
namespace {

struct Limits {
  std::string_view capability;
  int warps, blocks;
  std::int64_t smem_bytes,
      smem_of_block_bytes;  // shared memory of an SM; what the driver takes of it for a block
};
constexpr std::array<Limits, 8> kLimits = {{
    {"7.0", 64, 32, 96 * 1024, 0},
    {"7.5", 32, 16, 64 * 1024, 0},
    {"8.0", 64, 32, 164 * 1024, 1024},
    {"8.6", 48, 16, 100 * 1024, 1024},
    {"8.9", 48, 24, 100 * 1024, 1024},
    {"9.0", 64, 32, 228 * 1024, 1024},
    {"10.0", 64, 32, 228 * 1024, 1024},
    {"12.0", 48, 24, 100 * 1024, 1024},
}};
constexpr std::int64_t kRegisters = 65536, kRegistersAtOnce = 256, kSmemAtOnce = 128, kPartitions = 4;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::optional<Occupancy> theoretical_occupancy(const store::Launch& launch,
                                               const std::string& compute_capability) {
  const auto limits = std::find_if(kLimits.begin(), kLimits.end(),
                                   [&](const Limits& each) { return each.capability == compute_capability; });
  if (limits == kLimits.end()) return std::nullopt;
  const std::int64_t threads = launch.block.x * launch.block.y * launch.block.z;
  if (threads <= 0 || threads > 1024) return std::nullopt;
  const std::int64_t warps = (threads + 31) / 32;
  struct Bound {
    std::int64_t blocks;
    const char* what;
  };
  std::array<Bound, 4> bounds = {{{limits->warps / warps, "warps"},
                                  {limits->blocks, "blocks"},
                                  {limits->blocks, "registers"},
                                  {limits->blocks, "shared memory"}}};
  if (launch.registers_per_thread > 0) {
    const std::int64_t of_warp = rounded_up(launch.registers_per_thread * 32, kRegistersAtOnce);
    // Each of the SM's partitions has its part of the registers.
    const std::int64_t fitting = kRegisters / kPartitions / of_warp * kPartitions;
    bounds[2].blocks = fitting / warps;
  }
  const std::int64_t smem = launch.static_smem_bytes + launch.dynamic_smem_bytes;
  if (smem > 0 || limits->smem_of_block_bytes > 0)
    bounds[3].blocks = limits->smem_bytes / rounded_up(smem + limits->smem_of_block_bytes, kSmemAtOnce);
  const auto tightest = std::min_element(bounds.begin(), bounds.end(),
                                         [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  if (tightest->blocks <= 0) return std::nullopt;
  return Occupancy{static_cast<int>(tightest->blocks * warps), limits->warps,
                   static_cast<int>(tightest->blocks), tightest->what};
}

}  // namespace ridgeline::gui
