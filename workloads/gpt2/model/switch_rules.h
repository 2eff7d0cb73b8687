// switch_rules.h: which of the trainer's switches cannot go together.
#pragma once

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// Throws InputError with one line about the first two that cannot. What depends on the model's size, the
/// build or the device is GpuModel's to say.
void check_switches(const Switches& switches);

}  // namespace ridgeline::gpt2
