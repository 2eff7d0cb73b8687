#include "ridgeline/analyzer/utilisation/peaks.h"

#include <algorithm>
#include <array>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/units.h"
#include "ridgeline/store/device_peaks.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::string_view kDramPeakMetric = "dram__bytes.sum.peak_sustained_elapsed.per_second";
constexpr std::string_view kL2PeakMetric = "lts__t_bytes.sum.peak_sustained_elapsed.per_second";

Peak make_peak(Quantity quantity, double value, PeakSource source, std::string_view detail) {
  Peak peak;
  peak.quantity = quantity;
  peak.value = value;
  peak.source = source;
  peak.detail = detail;
  return peak;
}

std::optional<Peak> peak_of(const Model& model, store::Id device_id, Quantity quantity, PeakSource source,
                            std::optional<double> sm_clock_hz) {
  if (const store::Device* device = model.device(device_id); device != nullptr) {
    std::optional<store::DevicePeak> known;
    if (source == PeakSource::spec) known = store::datasheet_operations(*device, quantity);
    if (source == PeakSource::clock && sm_clock_hz)
      known = store::operations_at_clock(*device, quantity, *sm_clock_hz,
                                         "median SM clock of the analysed steps");
    if (known) return make_peak(quantity, known->value, source, known->detail.value_or(""));
  }
  for (const store::DevicePeak& row : model.device_peaks) {
    // Beyond these no device is, and a logarithm or a product would not be a number.
    const bool usable = row.value >= 1.0 && row.value <= 1e24;
    if (row.device_id == device_id && row.quantity == quantity && row.source == source && usable) {
      return make_peak(quantity, row.value, source, row.detail.value_or(""));
    }
  }
  const std::string_view peak_metric = quantity == Quantity::dram_bytes_per_s ? kDramPeakMetric
                                       : quantity == Quantity::l2_bytes_per_s ? kL2PeakMetric
                                                                              : std::string_view();
  if (source == PeakSource::counter && !peak_metric.empty()) {
    std::vector<double> values;
    for (LaunchIndex i = 0; i < model.launches.size() && !model.launch_metrics.empty(); ++i) {
      if (model.launches.site(i).device_id != device_id) continue;
      if (const auto value = model.metric(model.launches.row(i).id, peak_metric, Tier::t2);
          value && *value >= 1.0 && *value <= 1e24) {
        values.push_back(*value);
      }
    }
    if (!values.empty()) return make_peak(quantity, median(values), source, peak_metric);
  }
  if (source == PeakSource::clock && quantity == Quantity::dram_bytes_per_s) {
    const store::Device* device = model.device(device_id);
    if (device != nullptr && device->memory_bus_bits && device->max_memory_clock_hz &&
        *device->memory_bus_bits > 0 && *device->max_memory_clock_hz > 0) {
      // Double data rate: two transfers a clock on each of the bus's wires.
      const double value =
          2.0 * static_cast<double>(*device->max_memory_clock_hz) * *device->memory_bus_bits / 8.0;
      return make_peak(quantity, value, source,
                       std::to_string(*device->memory_bus_bits) + " bit x 2 x " +
                           clock_text(static_cast<double>(*device->max_memory_clock_hz)) + " / 8");
    }
  }
  return std::nullopt;
}

constexpr std::array kSources = {PeakSource::spec, PeakSource::measured, PeakSource::clock,
                                 PeakSource::counter};

}  // namespace

Result<PeakSource> parse_peak_source(std::string_view text) {
  if (const std::optional<PeakSource> source = parse_word<PeakSource>(text)) return *source;
  return Failure{ErrorKind::usage, std::string(text).insert(0, 1, '\'') +
                                       "' is no source of a peak: use spec, clock, measured or counter"};
}

PeakSource rate_source(const PeakPolicy& policy) {
  return policy.compute == PeakSource::measured ? PeakSource::measured : PeakSource::spec;
}

Result<Peak> choose_peak(const Model& model, store::Id device_id, Quantity quantity, PeakSource source,
                         std::optional<double> sm_clock_hz) {
  if (auto peak = peak_of(model, device_id, quantity, source, sm_clock_hz)) return *peak;
  for (const PeakSource other : kSources) {
    if (other == source) continue;
    if (auto peak = peak_of(model, device_id, quantity, other, sm_clock_hz)) {
      peak->fallback = true;
      return *peak;
    }
  }
  const store::Device* device = model.device(device_id);
  return Failure{ErrorKind::no_data,
                 "the capture holds no peak '" + std::string(to_string(quantity)) + "' of device " +
                     (device == nullptr ? std::to_string(device_id) : device->name) +
                     ": record it again with a driver that reports memory clock and bus width"};
}

}  // namespace ridgeline::analyzer
