// counter_import.h: the values of counters, joined with the launches that were written before, and the kernels that
// replay steps leave out.
#pragma once

#include "recording/kernels.h"
#include "ridgeline/spool/reader.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// One pass over the spool.
void write_counters(const spool::Reader& reader, ScannedSpool& spool, ProcessRows& rows,
                    RecordedKernels& kernels, const OffsetProgress& progress);

}  // namespace ridgeline::import
