// switch_rules.h: which of the trainer's switches cannot go together, and which of them gives way. What depends on the
// model's size, the build or the device is GpuModel's to say.
#pragma once

#include <functional>
#include <string_view>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// Makes the switches go together: of two that cannot, the one that was not asked for by name falls back to what can.
/// given: whether an option ("--gelu") was. Throws InputError with one line where nothing may give way.
void settle_switches(Switches& switches, const std::function<bool(std::string_view option)>& given);

/// Throws InputError with one line about the first two that cannot go together.
void check_switches(const Switches& switches);

}  // namespace ridgeline::gpt2
