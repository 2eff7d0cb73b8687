// The agent's side of the NVTX interface: functions that NVTX calls in place of its empty ones.
//
// The agent takes NVTX directly rather than through CUPTI: ranges then cost less, are seen before the first
// CUDA call, and their handles are the agent's own.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace ridgeline::agent {

/// Puts the agent's functions into one module's tables. False if the tables are not those of NVTX 3.
bool install_nvtx_functions(NvtxGetExportTableFunc_t get_export_table) noexcept;
/// The same of a module of NVTX's extensions, an nvtxExtModuleInfo_t. False unless it is the payload extension.
bool install_nvtx_payload_functions(void* module_info) noexcept;

}  // namespace ridgeline::agent
