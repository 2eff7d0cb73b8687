// reason_text.h: the sentence of a reason: what is missing, refused or as it is, and why.
#pragma once

#include <string>

#include "ridgeline/base/reason.h"

namespace ridgeline::reports {

/// One line without a full stop; "" of a reason that says nothing.
[[nodiscard]] std::string reason_text(const Reason& reason);

}  // namespace ridgeline::reports
