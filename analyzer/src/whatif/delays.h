// delays.h: what is read of the delays of one step, drawn or of a block of seconds.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// Of a delay kernel, a sham's own time included, ns; empty: it has no record.
[[nodiscard]] inline std::optional<double> taken_ns(const store::Intervention& delay) {
  if (!delay.start_ns || !delay.end_ns) return std::nullopt;
  return static_cast<double>(*delay.end_ns - *delay.start_ns);
}

/// The one among the delays of a step that is none of its shams; null: all are, as in steps that let one settle.
[[nodiscard]] inline const store::Intervention* delayed_in(
    const std::vector<const store::Intervention*>& delays) {
  for (const store::Intervention* delay : delays) {
    if (delay->level_ns > 0) return delay;
  }
  return nullptr;
}

}  // namespace ridgeline::analyzer
