#include "ncu/ncu_metrics.h"

#include <algorithm>
#include <array>

namespace ridgeline::import {

namespace {

struct Detail {
  std::string_view section, name;
  std::string_view metric;
  std::string_view unit_holds = {};  // one name stands for two metrics of different units
};

constexpr std::string_view kSpeed = "GPU Speed Of Light Throughput";
constexpr std::string_view kMemory = "Memory Workload Analysis";
constexpr std::array kDetails = {
    Detail{kSpeed, "Duration", "gpu__time_duration.sum"},
    Detail{kSpeed, "Elapsed Cycles", "gpc__cycles_elapsed.max"},
    Detail{kSpeed, "SM Active Cycles", "sm__cycles_active.avg"},
    Detail{kSpeed, "SM Frequency", "gpc__cycles_elapsed.avg.per_second"},
    Detail{kSpeed, "DRAM Frequency", "dram__cycles_elapsed.avg.per_second"},
    Detail{kSpeed, "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%"},
    Detail{kSpeed, "Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
           "%"},
    Detail{kSpeed, "Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
    Detail{kSpeed, "L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active", "%"},
    Detail{kSpeed, "L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
    Detail{kMemory, "Memory Throughput", "dram__bytes.sum.per_second", "yte/"},
    Detail{kMemory, "L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct", "%"},
    Detail{kMemory, "L2 Hit Rate", "lts__t_sector_hit_rate.pct", "%"},
    Detail{"Compute Workload Analysis", "Issue Slots Busy",
           "smsp__issue_active.avg.pct_of_peak_sustained_active", "%"},
    Detail{"Occupancy", "Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "%"},
};

}  // namespace

std::string_view metric_of_detail(std::string_view section, std::string_view name, std::string_view unit) {
  // What was asked for by name has that name.
  if (section == "Command line profiler metrics") return is_counter(name) ? name : std::string_view();
  const auto found = std::find_if(kDetails.begin(), kDetails.end(), [&](const Detail& each) {
    return each.section == section && each.name == name &&
           unit.find(each.unit_holds) != std::string_view::npos;
  });
  return found == kDetails.end() ? std::string_view() : found->metric;
}

bool is_counter(std::string_view metric) {
  constexpr std::array<std::string_view, 6> kOthers = {"device__", "launch__",    "profiler__",
                                                       "numa__",   "pmsampling:", "breakdown:"};
  return metric.find("__") != std::string_view::npos &&
         std::none_of(kOthers.begin(), kOthers.end(),
                      [&](std::string_view other) { return metric.starts_with(other); });
}

}  // namespace ridgeline::import
