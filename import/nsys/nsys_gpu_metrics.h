// nsys_gpu_metrics.h: samples of GPU metrics in an export of Nsight Systems (nsys profile --gpu-metrics-devices).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "nsys/nsys_tables.h"
#include "ridgeline/base/reason.h"
#include "traces/foreign_process.h"

namespace ridgeline::import {

struct NsysGpuMetrics {
  std::vector<ForeignSamples> samples;  ///< `device` is the number of the GPU in the export
  std::vector<Reason> notes;            ///< what is not taken over
};

/// Of the metrics that have a meaning here, with the names of the counters that they are. Shares of the DRAM's peak
/// become bytes by `dram_bytes_per_s`, a peak by GPU; without it they are left out. `at`: the time of a time of the
/// export. Throws Error(corrupt) as NsysExport::rows() does.
[[nodiscard]] NsysGpuMetrics read_gpu_metrics(const NsysExport& from,
                                              const std::map<std::uint32_t, double>& dram_bytes_per_s,
                                              const std::function<std::int64_t(std::int64_t)>& at);

}  // namespace ridgeline::import
