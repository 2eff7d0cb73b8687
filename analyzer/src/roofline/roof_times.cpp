#include "ridgeline/analyzer/roofline/roof_times.h"

#include <algorithm>

#include "ridgeline/store/device_peaks.h"
#include "utilisation/measured_pipes.h"

namespace ridgeline::analyzer {

namespace {

// A launch takes about this on the GPU however little it does (docs/metrics.md).
constexpr double kLaunchFloorNs = 1600;
// Of the L1 cache and shared memory of one SM, on every architecture since Volta.
constexpr double kL1BytesPerCycle = 128;

bool is_of_sms(const Roof& roof) {
  return roof.level == RoofLevel::l1 || roof.level == RoofLevel::issue || roof.level == RoofLevel::pipe;
}

}  // namespace

// What of a launch the roofs are held against.
struct RoofTimes::Launch {
  const LaunchValues& values;
  store::Id device_id = 0;
  double time_ns = 0;
  std::optional<double> clock_hz;
};

RoofTimes::RoofTimes(const Model& model, const UtilisationAnalysis& utilisation, const PeakPolicy& policy)
    : model_(model), utilisation_(utilisation), policy_(policy) {}

PeakSource RoofTimes::source(store::Id device_id) const {
  return rate_source(model_, device_id, policy_);
}

const MeasuredRoofs& RoofTimes::measured(store::Id device_id) {
  const auto found = measured_.find(device_id);
  return found != measured_.end()
             ? found->second
             : measured_.emplace(device_id, MeasuredRoofs(model_.ceilings, device_id)).first->second;
}

double RoofTimes::launch_floor_ns(store::Id device_id) {
  const auto [place, fresh] = floors_.try_emplace(device_id, kLaunchFloorNs);
  if (!fresh) return place->second;
  for (const store::Ceiling& row : model_.ceilings) {
    // A graph's launches follow each other faster than a stream's: the least there is.
    if (row.device_id == device_id && row.level == CeilingLevel::launch && row.kind == "graph" &&
        row.value > 0)
      place->second = row.value;
  }
  return place->second;
}

std::optional<RoofTimes::Rate> RoofTimes::dram(store::Id device_id, std::optional<double> read_share) {
  const PeakSource source = dram_source(model_, device_id, policy_);
  if (const auto state = state_of(source)) {
    if (const auto roof = measured(device_id).of(Roof::kDram, *state, read_share))
      return Rate{roof->per_s, source};
  }
  const auto [place, fresh] = rates_.try_emplace({device_id, Quantity::dram_bytes_per_s});
  if (fresh) {
    if (const auto peak = choose_peak(model_, device_id, Quantity::dram_bytes_per_s, source))
      place->second = Rate{peak.value().value, peak.value().source};
  }
  return place->second;
}

std::optional<RoofTimes::Rate> RoofTimes::l2(store::Id device_id) {
  const auto [place, fresh] = rates_.try_emplace({device_id, Quantity::l2_bytes_per_s});
  if (!fresh) return place->second;
  const PeakSource wanted = dram_source(model_, device_id, policy_);
  const PeakSource source = state_of(wanted) ? wanted : PeakSource::counter;
  if (const auto peak = choose_peak(model_, device_id, Quantity::l2_bytes_per_s, source))
    place->second = Rate{peak.value().value, peak.value().source};
  return place->second;
}

std::optional<RoofTimes::Rate> RoofTimes::l1(store::Id device_id, std::optional<double> clock_hz) {
  const PeakSource source = dram_source(model_, device_id, policy_);
  if (const auto state = state_of(source)) {
    if (const auto roof = measured(device_id).of(Roof::kL1, *state)) return Rate{roof->per_s, source};
  }
  const store::Device* device = model_.device(device_id);
  if (device == nullptr || device->sm_count.value_or(0) <= 0) return std::nullopt;
  if (!clock_hz && device->max_sm_clock_hz) clock_hz = static_cast<double>(*device->max_sm_clock_hz);
  if (!clock_hz || *clock_hz <= 0) return std::nullopt;
  return Rate{kL1BytesPerCycle * *device->sm_count * *clock_hz, PeakSource::clock};
}

std::optional<RoofTimes::Rate> RoofTimes::operations(store::Id device_id, Quantity quantity) {
  const auto [place, fresh] = rates_.try_emplace({device_id, quantity});
  if (fresh) {
    if (const auto peak = choose_peak(model_, device_id, quantity, source(device_id)))
      place->second = Rate{peak.value().value, peak.value().source};
  }
  return place->second;
}

void RoofTimes::add_memory(const Launch& launch, LaunchRoofTimes& out) {
  const auto bytes = [&](Metric metric) {
    const auto value = launch.values.metrics.of(metric);
    return value && value->value > 0 ? std::optional(value->value) : std::nullopt;
  };
  const auto add = [&](const Roof& roof, std::optional<double> work, const std::optional<Rate>& rate) {
    if (work && rate && rate->per_s > 0)
      out.roofs.push_back({roof, *work / rate->per_s * 1e9, *work, rate->source});
  };
  const std::optional<double> read = bytes("dram_read_bytes"), written = bytes("dram_write_bytes");
  std::optional<double> share;
  if (read || written) share = read.value_or(0) / (read.value_or(0) + written.value_or(0));
  add(Roof::kDram, launch.values.dram_bytes->value, dram(launch.device_id, share));
  add(Roof::kL2, bytes("l2_bytes"), l2(launch.device_id));
  add(Roof::kL1, bytes("l1_bytes"), l1(launch.device_id, launch.clock_hz));
}

// Operations of all types share the pipe: their times add up.
void RoofTimes::add_tensor(const Launch& launch, LaunchRoofTimes& out) {
  RoofTime sum{Roof::kTensor, 0, 0, source(launch.device_id)};
  double longest = 0;
  for (const TypedOperations& type : launch.values.tensor_types) {
    const auto rate = operations(launch.device_id, type.quantity);
    if (!rate || rate->per_s <= 0) continue;
    const double time_ns = type.count / rate->per_s * 1e9;
    sum.time_ns += time_ns;
    sum.work += type.count;
    if (time_ns <= longest) continue;
    longest = time_ns;
    sum.roof = roof_of(type.quantity);
    sum.source = rate->source;
  }
  if (sum.time_ns > 0) out.roofs.push_back(sum);
}

// Where operations were not counted, the cycles in which the pipe was busy are the time that it needs.
void RoofTimes::add_pipes(const Launch& launch, LaunchRoofTimes& out) {
  const store::Device* device = model_.device(launch.device_id);
  const auto state = state_of(source(launch.device_id));
  const TierUtilisation& tier = launch.values.t2.compute_utilisation ? launch.values.t2 : launch.values.t1;
  for (const Roof& roof : kRoofs) {
    const auto share = tier.cycles_of(roof);
    if (!share || *share <= 0 || (roof.level != RoofLevel::pipe && roof.level != RoofLevel::issue)) continue;
    if (roof == Roof::kTensor && std::any_of(out.roofs.begin(), out.roofs.end(), [](const RoofTime& time) {
          return time.roof.pipe == Pipe::tensor;
        }))
      continue;
    RoofTime time{roof, *share * launch.time_ns, 0, PeakSource::clock};
    const auto quantity = operations_of_pipe(roof, launch.values.tensor_quantity);
    const auto measured_roof =
        state && quantity ? measured(launch.device_id).of(roof_of(*quantity), *state) : std::nullopt;
    if (measured_roof && device != nullptr && launch.clock_hz) {
      // The same operations at the roof that was measured, whatever its clock was.
      if (const auto full = store::operations_at_clock(*device, *quantity, *launch.clock_hz, "")) {
        time.time_ns *= full->value / measured_roof->per_s;
        time.source = source(launch.device_id);
        time.roof = roof_of(*quantity);
      }
    }
    out.roofs.push_back(time);
  }
}

std::optional<LaunchRoofTimes> RoofTimes::of(std::size_t index) {
  const LaunchUtilisations::Row& row = utilisation_.launches.row(index);
  const LaunchVerdict& verdict = utilisation_.launches.group_of(index);
  const LaunchValues& values = *verdict.values;
  if (!values.dram_bytes || !values.compute_utilisation || row.duration_ns <= 0) return std::nullopt;
  const store::Launch& site = model_.launches.site(row.launch);
  const auto clock = utilisation_.sm_clock_hz.find(site.device_id);
  Launch launch{values, site.device_id, static_cast<double>(row.duration_ns), values.timeline_clock_hz};
  if (!launch.clock_hz && clock != utilisation_.sm_clock_hz.end()) launch.clock_hz = clock->second;
  LaunchRoofTimes out;
  add_memory(launch, out);
  add_tensor(launch, out);
  add_pipes(launch, out);
  std::sort(out.roofs.begin(), out.roofs.end(),
            [](const RoofTime& a, const RoofTime& b) { return a.roof < b.roof; });
  out.sol_ns = std::min(launch_floor_ns(site.device_id), launch.time_ns);
  out.filled_ns = out.sol_ns;
  out.bound = Roof{RoofLevel::launch};
  const store::Device* device = model_.device(site.device_id);
  const auto sms = static_cast<double>(device != nullptr ? device->sm_count.value_or(0) : 0);
  const double blocks =
      static_cast<double>(site.grid.x) * static_cast<double>(site.grid.y) * static_cast<double>(site.grid.z);
  const double idle = sms > 0 && blocks > 0 && blocks < sms ? sms / blocks : 1;
  for (const RoofTime& time : out.roofs) {
    out.filled_ns = std::max(out.filled_ns, time.time_ns * (is_of_sms(time.roof) ? idle : 1));
    if (time.time_ns <= out.sol_ns) continue;
    out.sol_ns = time.time_ns;
    out.bound = time.roof;
  }
  return out;
}

}  // namespace ridgeline::analyzer
