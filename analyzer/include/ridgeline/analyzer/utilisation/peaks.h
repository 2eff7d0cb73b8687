// peaks.h: the roof a utilisation is measured against, always with its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/values/peak.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

/// Failure: usage (lists the valid names).
[[nodiscard]] Result<PeakSource> parse_peak_source(std::string_view text);

/// Empty: as default_source() says.
struct PeakPolicy {
  std::optional<PeakSource> dram;
  /// clock, the default: pipe-active cycles over elapsed cycles, no operation count needed. spec and measured: tensor
  /// operations ÷ time ÷ the operation peak of their data type. burst and sustained: pipes at the measured roofs of
  /// their operations, where there are any; others by their cycles.
  std::optional<PeakSource> compute;
};
/// The policy that `--roof` means. `spec`: as if no roof had been measured. Failure: usage, for a source that is none
/// of spec, burst, sustained.
[[nodiscard]] Result<PeakPolicy> roof_policy(std::string_view text);

/// What the roofs of a device are by default: sustained where it was measured, else burst, else the data sheet.
[[nodiscard]] PeakSource default_source(const Model& model, store::Id device_id);
[[nodiscard]] PeakSource dram_source(const Model& model, store::Id device_id, const PeakPolicy& policy);
[[nodiscard]] PeakSource compute_source(const PeakPolicy& policy);
/// Where the peaks of operations a second come from: of roofline time and efficiency, the roofline and MFU. By
/// default default_source(); the data sheet for what has no rate, which is pipe cycles (`clock`).
[[nodiscard]] PeakSource rate_source(const Model& model, store::Id device_id, const PeakPolicy& policy);

/// `spec` of operations is the data sheet's as this program knows it, whatever the program that recorded wrote down;
/// `clock` of operations is at `sm_clock_hz`, that of the analysed steps, if it is given.
/// `burst` and `sustained` are of Model::ceilings; of DRAM at `read_share`, as MeasuredRoofs::of() says.
/// Failure: no_data, naming device and quantity. If the source asked for is missing, the next of spec, sustained,
/// burst, measured, clock, counter is taken and marked as a fallback (of the two measured ones the other first); for
/// DRAM at last bus width × memory clock × 2 of the device.
[[nodiscard]] Result<Peak> choose_peak(const Model& model, store::Id device_id, Quantity quantity,
                                       PeakSource source, std::optional<double> sm_clock_hz = {},
                                       std::optional<double> read_share = {});

}  // namespace ridgeline::analyzer
