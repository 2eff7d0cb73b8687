// roof.h: what a launch may run up against. One word for the nearest roof, the busiest pipe, what bounds a kernel, and
// the peak that its operations are held against.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

/// From the memory to the arithmetic.
enum class RoofLevel : std::uint8_t {
  dram,
  l2,
  l1,
  issue,   ///< instructions issued of those that could have been
  pipe,    ///< one of an SM's
  launch,  ///< the least time of a launch
};

/// In the order of their names.
enum class Pipe : std::uint8_t { none, alu, fma, fp16, fp64, tensor, xu };

/// Of the data that operations are of, where a pipe does more of one than of another a cycle. In the order of their
/// names.
enum class Precision : std::uint8_t { any, bf16, fp16, fp32, fp64, fp8, int8, tf32 };

struct Roof {
  RoofLevel level = RoofLevel::dram;
  Pipe pipe = Pipe::none;                ///< RoofLevel::pipe only
  Precision precision = Precision::any;  ///< any: cycles of the pipe, whatever it works on
  friend constexpr auto operator<=>(const Roof&, const Roof&) = default;

  static const Roof kDram, kL2, kL1, kIssue, kTensor, kFma, kFp16, kFp64, kAlu, kXu;
};
inline constexpr Roof Roof::kDram{RoofLevel::dram};
inline constexpr Roof Roof::kL2{RoofLevel::l2};
inline constexpr Roof Roof::kL1{RoofLevel::l1};
inline constexpr Roof Roof::kIssue{RoofLevel::issue};
inline constexpr Roof Roof::kTensor{RoofLevel::pipe, Pipe::tensor};
inline constexpr Roof Roof::kFma{RoofLevel::pipe, Pipe::fma};
inline constexpr Roof Roof::kFp16{RoofLevel::pipe, Pipe::fp16};
inline constexpr Roof Roof::kFp64{RoofLevel::pipe, Pipe::fp64};
inline constexpr Roof Roof::kAlu{RoofLevel::pipe, Pipe::alu};
inline constexpr Roof Roof::kXu{RoofLevel::pipe, Pipe::xu};

/// All that a launch's use of is measured, of any precision; of two that are equally near the first counts.
inline constexpr std::array kRoofs = {Roof::kDram, Roof::kL2,   Roof::kIssue, Roof::kTensor, Roof::kFma,
                                      Roof::kFp16, Roof::kFp64, Roof::kAlu,   Roof::kXu};

[[nodiscard]] std::string_view to_string(Roof roof);  // "DRAM", "L2", "L1", "issue", "tensor", "fma", …
[[nodiscard]] std::string_view to_string(Precision precision);  // "bf16", …; "" of any

/// The roof that a peak of the quantity is.
[[nodiscard]] Roof roof_of(Quantity quantity);
/// The roof of operations that is called so: roof_name() backwards. Empty: none is.
[[nodiscard]] std::optional<Roof> compute_roof(std::string_view name);
/// The peak of floating-point operations of that type; of FP64 that of the pipe of its own, not of the tensor pipe.
/// Empty: there is none.
[[nodiscard]] std::optional<Quantity> flops_of(Precision precision);
/// What a roof of the quantity is called: "DRAM", "L2", "bf16", "fp64_tensor", "int8".
[[nodiscard]] std::string_view roof_name(Quantity quantity);

/// Traffic, or floating-point operations; neither: integer ones.
[[nodiscard]] bool is_bandwidth(Quantity quantity);
[[nodiscard]] bool is_flops(Quantity quantity);

/// How near a launch is to each roof, 0..1; a roof that was not measured has none. DRAM and pipes are the roofs
/// that targets are about; L2 and issue slots stand beside.
class RoofRatios {
 public:
  RoofRatios() { ratios_.fill(-1); }
  void set(Roof roof, double ratio) { ratios_[place_of(roof)] = static_cast<float>(ratio); }
  [[nodiscard]] std::optional<double> of(Roof roof) const {
    const float ratio = ratios_[place_of(roof)];
    return ratio < 0 ? std::nullopt : std::optional<double>(ratio);
  }

 private:
  /// Whatever the precision.
  static std::size_t place_of(Roof roof) {
    std::size_t place = 0;
    while (kRoofs[place].level != roof.level || kRoofs[place].pipe != roof.pipe) ++place;
    return place;
  }
  /// A step may have millions of launches.
  std::array<float, kRoofs.size()> ratios_{};
};

}  // namespace ridgeline::analyzer
