#include "ridgeline/reports/timeline_text.h"

namespace ridgeline::reports {

std::string row_help(const analyzer::TimelineRow& row) {
  using analyzer::RowKind;
  switch (row.kind) {
    case RowKind::ranges:
      return "NVTX ranges of " + row.thread + ", depth " + std::to_string(row.depth);
    case RowKind::gpu_ranges:
      return "What NVTX ranges of " + row.thread + " at depth " + std::to_string(row.depth) +
             " launched, from the first start to the last end on the GPU";
    case RowKind::calls:
      return "Calls of the host that launched kernels";
    case RowKind::waits:
      return "Calls on which the host waited for the device";
    case RowKind::gaps:
      return "Stretches of the analysed steps in which the device did nothing, by what it waited for";
    case RowKind::collectives:
      return "Kernels of class communication on any stream of this GPU; what overlaps, as with several "
             "communicators, has a line below";
    case RowKind::copies:
      return "Copies and memsets on any stream of this GPU";
    case RowKind::counter:
      return row.metric.empty() ? "What the driver says a few times a second"
                                : row.meaning + " (" + row.metric + ", in-situ samples)";
    case RowKind::steps:
    case RowKind::kernels:
      break;
  }
  return "";
}

}  // namespace ridgeline::reports
