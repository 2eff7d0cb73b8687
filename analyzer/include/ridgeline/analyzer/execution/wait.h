// wait.h: what a thread of the host waited for.
#pragma once

#include <cstdint>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

/// A call on which a thread waited for the device.
struct Wait {
  SynchronisationCall call = SynchronisationCall::device;
  std::int64_t length_ns = 0;  // of the whole call, most of which may lie before the gap
  friend bool operator==(const Wait&, const Wait&) = default;
};

}  // namespace ridgeline::analyzer
