/// interventions.h: delays that were put in front of launches of the program (`record --intervene`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/store/capture.h"

namespace ridgeline::store {

/// A delay kernel of the recorder's in front of a launch. Every target has one in every step of the phase; of the
/// targets of a drawn step one at most has a level, all others are shams.
struct Intervention {
  Id process_id = 0;
  Id step_id = 0;
  std::int64_t target = 0;                       // from 0 in each process
  Id kernel_id = 0;                              // of the program's launch
  std::int64_t ordinal = 0;                      // of that launch among those of its step
  bool drawn = false;                            // false: the step lets the one before it settle
  std::int64_t level_ns = 0;                     // asked for; 0: a sham
  std::optional<std::int64_t> start_ns, end_ns;  // of the delay kernel on the device; without a record: empty
  std::string seed;                              // of the draws of this process
};

/// By step, target; none before schema version kInterventionsAreKept.
[[nodiscard]] std::vector<Intervention> interventions(const Capture& capture);

}  // namespace ridgeline::store
