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

struct PeakPolicy {
  PeakSource dram = PeakSource::spec;
  /// clock: pipe-active cycles over elapsed cycles, no operation count needed. spec and measured: tensor
  /// operations ÷ time ÷ the operation peak of their data type.
  PeakSource compute = PeakSource::clock;
};

/// Where the peaks of operations a second come from: of roofline time and efficiency, the roofline and MFU. The
/// data sheet, unless measured ones are asked for: pipe cycles (`clock`) have no rate.
[[nodiscard]] PeakSource rate_source(const PeakPolicy& policy);

/// `spec` of operations is the data sheet's as this program knows it, whatever the program that recorded wrote down;
/// `clock` of operations is at `sm_clock_hz`, that of the analysed steps, if it is given.
/// Failure: no_data, naming device and quantity. If the source asked for is missing, the next of spec,
/// measured, clock, counter is taken and marked as a fallback; for DRAM at last bus width × memory clock × 2
/// of the device.
[[nodiscard]] Result<Peak> choose_peak(const Model& model, store::Id device_id, Quantity quantity,
                                       PeakSource source, std::optional<double> sm_clock_hz = {});

}  // namespace ridgeline::analyzer
