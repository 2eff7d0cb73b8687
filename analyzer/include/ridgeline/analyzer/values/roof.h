// roof.h: what a launch may run up against.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline::analyzer {

/// What a launch may run up against.
enum class Roof : std::uint8_t { dram, l2, issue, tensor, fma, fp16, fp64, alu, xu };
inline constexpr std::size_t kRoofCount = 9;
[[nodiscard]] std::string_view to_string(Roof roof);  // "DRAM", "L2", "issue", "tensor", "fma", …

/// How near a launch is to each roof, 0..1; a roof that was not measured has none. DRAM and pipes are the roofs
/// that targets are about; L2 and issue slots (instructions issued of those that could have been) stand beside.
class RoofRatios {
 public:
  void set(Roof roof, double ratio) { ratios_[static_cast<std::size_t>(roof)] = static_cast<float>(ratio); }
  [[nodiscard]] std::optional<double> of(Roof roof) const {
    const float ratio = ratios_[static_cast<std::size_t>(roof)];
    return ratio < 0 ? std::nullopt : std::optional<double>(ratio);
  }

 private:
  /// A step may have millions of launches.
  std::array<float, kRoofCount> ratios_{-1, -1, -1, -1, -1, -1, -1, -1, -1};
};

}  // namespace ridgeline::analyzer
