#include "ridgeline/analyzer/utilisation/peaks.h"

#include <algorithm>
#include <vector>

#include "ridgeline/analyzer/values/measured_roofs.h"
#include "ridgeline/analyzer/values/roof.h"
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

// What the mixes reach: a kernel's roof is that of its own share of reads.
std::string mixes_text(const MeasuredRoofs& roofs, CeilingState state) {
  std::string text;
  for (const auto& [share, per_s] : roofs.dram_mixes(state)) {
    text += (text.empty() ? "" : ", ") + percent_text(share, 0) + " reads " + bandwidth_text(per_s);
  }
  return text;
}

std::optional<Peak> measured_peak(const Model& model, store::Id device_id, Quantity quantity,
                                  CeilingState state, std::optional<double> read_share) {
  const MeasuredRoofs roofs(model.ceilings, device_id);
  const auto roof = roofs.of(roof_of(quantity), state, read_share);
  if (!roof) return std::nullopt;
  Peak peak = make_peak(quantity, roof->per_s,
                        state == CeilingState::burst ? PeakSource::burst : PeakSource::sustained,
                        quantity == Quantity::dram_bytes_per_s ? mixes_text(roofs, state) : roof->conditions);
  peak.spread_ratio = roof->spread_ratio;
  return peak;
}

std::optional<Peak> peak_of(const Model& model, store::Id device_id, Quantity quantity, PeakSource source,
                            std::optional<double> sm_clock_hz, std::optional<double> read_share) {
  if (const auto state = state_of(source))
    return measured_peak(model, device_id, quantity, *state, read_share);
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

// In their order in for one that is missing.
std::vector<PeakSource> stand_ins(PeakSource source) {
  std::vector<PeakSource> sources = {PeakSource::spec,     PeakSource::sustained, PeakSource::burst,
                                     PeakSource::measured, PeakSource::clock,     PeakSource::counter};
  std::erase(sources, source);
  if (state_of(source)) std::rotate(sources.begin(), sources.begin() + 1, sources.begin() + 2);
  return sources;
}

}  // namespace

Result<PeakSource> parse_peak_source(std::string_view text) {
  if (const std::optional<PeakSource> source = parse_word<PeakSource>(text)) return *source;
  return Failure{ErrorKind::usage,
                 std::string(text).insert(0, 1, '\'') +
                     "' is no source of a peak: use spec, burst, sustained, clock, measured or counter"};
}

Result<PeakPolicy> roof_policy(std::string_view text) {
  const std::optional<PeakSource> source = parse_word<PeakSource>(text);
  if (source == PeakSource::spec) return PeakPolicy{PeakSource::spec, PeakSource::clock};
  if (source && state_of(*source)) return PeakPolicy{source, source};
  return Failure{ErrorKind::usage, "'" + std::string(text) + "' is no roof: use spec, burst or sustained"};
}

PeakSource default_source(const Model& model, store::Id device_id) {
  PeakSource best = PeakSource::spec;
  for (const store::Ceiling& row : model.ceilings) {
    if (row.device_id != device_id || row.level == CeilingLevel::energy) continue;
    if (row.state == CeilingState::sustained) return PeakSource::sustained;
    best = PeakSource::burst;
  }
  return best;
}

PeakSource dram_source(const Model& model, store::Id device_id, const PeakPolicy& policy) {
  return policy.dram ? *policy.dram : default_source(model, device_id);
}

PeakSource compute_source(const PeakPolicy& policy) {
  return policy.compute.value_or(PeakSource::clock);
}

PeakSource rate_source(const Model& model, store::Id device_id, const PeakPolicy& policy) {
  if (!policy.compute) return default_source(model, device_id);
  return policy.compute == PeakSource::measured || state_of(*policy.compute) ? *policy.compute
                                                                             : PeakSource::spec;
}

Result<Peak> choose_peak(const Model& model, store::Id device_id, Quantity quantity, PeakSource source,
                         std::optional<double> sm_clock_hz, std::optional<double> read_share) {
  if (auto peak = peak_of(model, device_id, quantity, source, sm_clock_hz, read_share)) return *peak;
  for (const PeakSource other : stand_ins(source)) {
    if (auto peak = peak_of(model, device_id, quantity, other, sm_clock_hz, read_share)) {
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
