// The driver's calls that may load a kernel's code or change a graph.
//
// Kernels that are loaded while CUPTI traces nothing fail once they are part of a graph and tracing is on again
// (docs/design/008). In a program with graphs these calls are watched while nothing is traced.
#pragma once

#include <span>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

std::span<const CUpti_CallbackId> load_callbacks() noexcept;
bool is_load(CUpti_CallbackId id) noexcept;

}  // namespace ridgeline::agent
