#include "ridgeline/analyzer/utilisation/replayed_in_situ.h"

#include <algorithm>
#include <array>
#include <map>

#include "tier_values.h"

namespace ridgeline::analyzer {

namespace {

struct Sums {
  ReplayedKernel row;
  double sampled = 0, replayed = 0, counted = 0;
  std::int64_t both = 0, with_bytes = 0;
  double in_situ_hz = 0, replayed_hz = 0;
  std::int64_t in_situ_clocks = 0, replayed_clocks = 0;
};

// Of a launch: what was counted of it itself. Some metrics of it may be those of its kind all the same.
struct Counted {
  bool time = true, bytes = true, clock = true;
};

Counted counted_of(const Model& model, const LaunchUtilisations::Row& launch, const LaunchValues& values) {
  if (!values.t2.by_kind) return {};
  // Values of another run are joined onto the launch itself; of a replay step it is not said which are its own.
  Counted counted{.time = false, .bytes = false, .clock = false};
  bool read = false, written = false, cycles = false;
  for (const MetricValue& value : model.metrics_of(model.launches[launch.launch].id)) {
    if (value.tier != Tier::t2) continue;
    counted.time = counted.time || value.name == metric_name::kDuration;
    read = read || value.name == metric_name::kDramRead;
    written = written || value.name == "dram__bytes_write.sum";
    cycles = cycles || value.name == metric_name::kCycles;
  }
  counted.bytes = read && written;
  counted.clock = counted.time && cycles;
  return counted;
}

void add_values(const LaunchValues& values, const Counted& counted, Sums& sums) {
  if (values.t2.dram_bytes && counted.bytes) {
    sums.counted += values.t2.dram_bytes->value;
    ++sums.with_bytes;
    if (values.t1.dram_bytes && !values.t1.concurrent && !values.t1.by_kind) {
      sums.sampled += values.t1.dram_bytes->value;
      sums.replayed += values.t2.dram_bytes->value;
      ++sums.both;
    }
  }
  if (values.timeline_clock_hz) {
    sums.in_situ_hz += *values.timeline_clock_hz;
    ++sums.in_situ_clocks;
  }
  if (values.replay_clock_hz && counted.clock) {
    sums.replayed_hz += *values.replay_clock_hz;
    ++sums.replayed_clocks;
  }
}

ReplayedKernel summed(Sums& sums) {
  ReplayedKernel row = std::move(sums.row);
  if (sums.with_bytes > 0) row.counted_dram_bytes = sums.counted;
  if (sums.both > 0) {
    row.sampled_dram_bytes = sums.sampled;
    row.replayed_dram_bytes = sums.replayed;
  }
  if (sums.in_situ_clocks > 0)
    row.in_situ_clock_hz = sums.in_situ_hz / static_cast<double>(sums.in_situ_clocks);
  if (sums.replayed_clocks > 0)
    row.replayed_clock_hz = sums.replayed_hz / static_cast<double>(sums.replayed_clocks);
  return row;
}

}  // namespace

std::optional<double> ReplayedKernel::time_difference() const {
  return in_situ_ns > 0 ? std::optional(replayed_ns / static_cast<double>(in_situ_ns) - 1) : std::nullopt;
}

std::optional<double> ReplayedKernel::dram_difference() const {
  return sampled_dram_bytes && replayed_dram_bytes && *sampled_dram_bytes > 0
             ? std::optional(*replayed_dram_bytes / *sampled_dram_bytes - 1)
             : std::nullopt;
}

ReplayedInSitu replayed_in_situ(const Model& model, const UtilisationAnalysis& utilisation) {
  ReplayedInSitu result;
  std::map<std::pair<store::Id, std::array<std::int64_t, 6>>, Sums> kernels;
  const LaunchUtilisations& launches = utilisation.launches;
  result.step_launches = static_cast<std::int64_t>(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchUtilisations::Row& launch = launches.row(i);
    const store::Launch& site = model.launches.site(launch.launch);
    const std::array<std::int64_t, 6> sizes = {site.grid.x,  site.grid.y,  site.grid.z,
                                               site.block.x, site.block.y, site.block.z};
    Sums& sums = kernels[{site.kernel_id, sizes}];
    if (sums.row.launches++ == 0) {
      const store::Kernel* kernel = model.kernel(site.kernel_id);
      sums.row.kernel_id = site.kernel_id;
      sums.row.kernel = kernel == nullptr ? "?" : kernel->demangled_name;
      sums.row.grid = site.grid;
      sums.row.block = site.block;
    }
    const LaunchValues& values = *launches.group_of(i).values;
    const Counted counted = counted_of(model, launch, values);
    if (!values.replay_duration || !counted.time || launch.duration_ns <= 0) continue;
    ++sums.row.replayed;
    sums.row.in_situ_ns += launch.duration_ns;
    sums.row.replayed_ns += values.replay_duration->value;
    add_values(values, counted, sums);
  }
  for (auto& [key, sums] : kernels) {
    if (sums.row.replayed == 0) continue;
    ReplayedKernel row = summed(sums);
    result.in_situ_ns += row.in_situ_ns;
    result.replayed_ns += row.replayed_ns;
    result.launches += row.replayed;
    result.kernels.push_back(std::move(row));
  }
  std::stable_sort(
      result.kernels.begin(), result.kernels.end(),
      [](const ReplayedKernel& a, const ReplayedKernel& b) { return a.in_situ_ns > b.in_situ_ns; });
  return result;
}

}  // namespace ridgeline::analyzer
