// intervention_import.h: delays in front of launches (`record --intervene`), joined to the delay kernels as they ran.
#pragma once

#include "recording/kernels.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// Once the steps and launches of the process are written.
void write_interventions(const spool::Reader& reader, const ScannedSpool& spool, ProcessRows& rows,
                         RecordedKernels& kernels);

}  // namespace ridgeline::import
