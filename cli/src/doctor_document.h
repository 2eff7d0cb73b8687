// doctor_document.h: what `doctor` found, in every format.
#pragma once

#include "ridgeline/launch/doctor.h"
#include "ridgeline/reports/documents.h"

namespace ridgeline::cli {

/// Refers to `report`, which outlives it.
[[nodiscard]] reports::Document doctor_document(const launch::DoctorReport& report,
                                                const reports::DocumentOptions& how);

}  // namespace ridgeline::cli
