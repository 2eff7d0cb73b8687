// stall_import.h: samples of program counters (T3) from a spool into a capture: windows, samples by kernel,
// instruction and reason, source lines.
#pragma once

#include "recording/kernels.h"
#include "ridgeline/spool/reader.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// One pass over the spool; memory grows with the distinct instructions sampled.
void write_stalls(const spool::Reader& reader, const ScannedSpool& spool, ProcessRows& rows,
                  RecordedKernels& kernels, const OffsetProgress& progress);

}  // namespace ridgeline::import
