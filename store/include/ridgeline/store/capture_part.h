// capture_part.h: writes a stretch of a capture as a capture of its own, to be sent to somebody or kept.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "ridgeline/base/error.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::store {

/// What a part holds of the whole.
struct CapturePart {
  std::int64_t launches = 0;
  std::int64_t launches_of_whole = 0;
  std::int64_t steps = 0;
  std::int64_t steps_of_whole = 0;
};

/// Writes what overlaps `time` into a new file. A step that it touches is kept whole, for half a step would be a false
/// one; so are the steps in which counters were sampled or replayed, for what is known of a kernel's utilisation is
/// theirs, and everything that is of the whole recording. A message says what the part is of. The file must not exist;
/// nothing is left of it if it fails. Times stay as they are.
/// Failures: no_data (nothing ran then), io, cancelled. Throws Error if the capture is damaged.
[[nodiscard]] Result<CapturePart> write_part(const Capture& whole, const TimeSpan& time,
                                             const std::string& path, const std::stop_token& stop = {});

}  // namespace ridgeline::store
