// The driver's calls on which a thread may wait for the device.
#pragma once

#include <optional>
#include <span>

#include "cupti/cupti_api.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::agent {

/// All of them; a CUPTI older than this header may not know the last ones.
std::span<const CUpti_CallbackId> wait_callbacks() noexcept;

/// What a driver call is in the runtime's terms; nothing for calls that do not wait.
std::optional<SynchronisationCall> wait_call(CUpti_CallbackId id) noexcept;

}  // namespace ridgeline::agent
