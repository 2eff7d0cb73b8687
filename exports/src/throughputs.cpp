#include "throughputs.h"

#include <algorithm>
#include <optional>

#include "ridgeline/analyzer/session/session.h"

namespace ridgeline::exports {
namespace {

using analyzer::LaunchValues;
using analyzer::Roof;

// In the order of described_counters().
enum class Place : std::size_t { sm, memory, dram, l2, warps, duration };

std::vector<TraceCounter> described_counters() {
  const std::string joined = ", joined by the place in the step (T2, else T1)";
  const std::string elapsed = ".avg.pct_of_peak_sustained_elapsed";
  return {
      {0, "sm__throughput" + elapsed, "percent",
       "the largest of the pipes and the issue slots that were measured" + joined +
           ": no more than Nsight Compute's, which has more parts",
       true},
      {0, "gpu__compute_memory_throughput" + elapsed, "percent", "the larger of DRAM and L2" + joined, true},
      {0, "gpu__dram_throughput" + elapsed, "percent", "bytes of DRAM of its peak" + joined, true},
      {0, "lts__throughput" + elapsed, "percent", "bytes of L2 of its peak" + joined, true},
      {0, "sm__warps_active.avg.pct_of_peak_sustained_active", "percent", "achieved occupancy" + joined,
       true},
      {0, "gpu__time_duration.sum", "ns", "in the timeline, undisturbed (T0)", true}};
}

std::optional<double> largest(const LaunchValues& values, std::initializer_list<Roof> roofs) {
  std::optional<double> most;
  for (const Roof roof : roofs)
    if (const auto ratio = values.roofs.of(roof)) most = std::max(most.value_or(0), *ratio);
  return most;
}

std::vector<std::pair<std::size_t, double>> values_of(const LaunchValues& values, std::int64_t duration_ns) {
  std::vector<std::pair<std::size_t, double>> out;
  const auto add = [&](Place place, std::optional<double> ratio) {
    if (ratio) out.emplace_back(static_cast<std::size_t>(place), 100 * *ratio);
  };
  add(Place::sm, largest(values, {Roof::kIssue, Roof::kTensor, Roof::kFma, Roof::kFp16, Roof::kFp64,
                                  Roof::kAlu, Roof::kXu}));
  add(Place::memory, largest(values, {Roof::kDram, Roof::kL2}));
  add(Place::dram, values.roofs.of(Roof::kDram));
  add(Place::l2, values.roofs.of(Roof::kL2));
  if (const auto occupancy = values.metrics.of("occupancy_ratio")) add(Place::warps, occupancy->value);
  if (!out.empty())
    out.emplace_back(static_cast<std::size_t>(Place::duration), static_cast<double>(duration_ns));
  return out;
}

}  // namespace

Throughputs throughputs(const store::Capture& capture, const std::stop_token& stop) {
  Throughputs out;
  auto session = analyzer::Session::open(capture.path());
  if (!session) return out;
  analyzer::QueryOptions how;
  how.stop = stop;
  const auto model = session.value().model({}, how);
  const auto utilisation = session.value().utilisation({}, how);
  if (!model || !utilisation) return out;  // a recording without a launch that has a time
  for (const analyzer::LaunchUtilisation& launch : utilisation.value()->launches) {
    auto values = values_of(*launch.values, launch.duration_ns);
    if (!values.empty())
      out.of_launch.emplace(model.value()->launches.row(launch.launch).id, std::move(values));
  }
  if (!out.of_launch.empty()) out.counters = described_counters();
  return out;
}

}  // namespace ridgeline::exports
