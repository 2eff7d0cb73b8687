// export.h: a recording for other people's programs: as a trace, or as rows.
//
// A trace has what ran and who called it: kernels with their launches' dimensions, copies, NVTX ranges, waits, counters
// of launches and samples, arrows from a call to its kernels, and a process a rank. What a recording does not have is
// not in it. Nothing is made up: times and counters are the capture's, to the nanosecond and the last digit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "ridgeline/store/capture.h"

namespace ridgeline::exports {

enum class TraceFormat {
  perfetto,  ///< Perfetto's protobuf, with typed events of the GPU
  chrome,    ///< JSON of Chrome's trace viewer, which most viewers read
};

/// What of a recording.
struct ExportSelection {
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;  ///< first and last index, of every process
  std::string
      range;  ///< an analyzer::RangePattern: what was launched in such ranges, and the ranges; "": all
  bool strip =
      false;  ///< names are hashed, the same name always alike; command lines, paths and hosts are left out
};

/// What was written.
struct ExportCounts {
  std::int64_t kernels = 0;
  std::int64_t kernel_time_ns = 0;
  std::int64_t without_time = 0;  ///< launches that the driver gave no time: they are left out
  std::int64_t copies = 0;        ///< and memsets
  std::int64_t ranges = 0;
  std::int64_t calls = 0;  ///< that launched kernels
  std::int64_t flows = 0;  ///< kernels that an arrow leads to
  std::int64_t waits = 0;
  std::int64_t launch_counters = 0;  ///< values of launches
  std::int64_t joined_counters =
      0;                     ///< values that the analysis joins to launches of the step that stands for all
  std::int64_t samples = 0;  ///< values of periodic samples
};

using Sink = std::function<void(std::string_view)>;

/// Failures: no_data (nothing is selected), cancelled; what opening the capture says. Throws Error(corrupt), and what
/// `out` throws.
[[nodiscard]] Result<ExportCounts> export_trace(const store::Capture& capture, TraceFormat format,
                                                const ExportSelection& selection, const Sink& out,
                                                const std::stop_token& stop = {});

/// One of the documented views as RFC 4180, with a header; rows of the selected steps where the view has a step_index.
/// Returns how many rows. Failures: usage (no such view; steps or a range of a view that cannot be cut so).
[[nodiscard]] Result<std::int64_t> export_csv(const store::Capture& capture, const std::string& view,
                                              const ExportSelection& selection, const Sink& out);

}  // namespace ridgeline::exports
