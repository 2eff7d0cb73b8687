// stall_import.h: samples of program counters (T3) from a spool into a capture: windows, samples by kernel,
// instruction and reason, source lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

struct StallTarget {
  store::CaptureWriter& writer;
  store::Id process_id = 0;
  std::function<store::Id(std::uint32_t)> device_id;  // of a CUDA ordinal
  std::function<std::optional<store::Id>(std::uint32_t)>
      kernel_id;  // of the spool's id; none: not to be told
  std::function<void(Reason)> warn;
};

/// One pass over the spool; memory grows with the distinct instructions sampled.
void write_stalls(const spool::Reader& reader, const StallTarget& target, const OffsetProgress& progress);

}  // namespace ridgeline::import
