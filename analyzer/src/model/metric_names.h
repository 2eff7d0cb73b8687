// metric_names.h: metrics that the analysis takes by their names.
#pragma once

#include <string_view>

namespace ridgeline::analyzer {

/// What durations, clocks and the DRAM roof are made from; of all other metrics the entry says it (metrics.h).
namespace metric_name {
inline constexpr std::string_view kDuration = "gpu__time_duration.sum";
inline constexpr std::string_view kDramRead = "dram__bytes_read.sum";
inline constexpr std::string_view kDramWrite = "dram__bytes_write.sum";
inline constexpr std::string_view kDramBoth = "dram__bytes.sum";
inline constexpr std::string_view kCycles = "gpc__cycles_elapsed.max";
inline constexpr std::string_view kClockSampled = "gpc__cycles_elapsed.avg.per_second";
}  // namespace metric_name

}  // namespace ridgeline::analyzer
