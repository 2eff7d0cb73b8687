// price.h: what recording cost the program, as the recording itself measured it.
#pragma once

#include <cstdint>
#include <optional>

#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::analyzer {

/// From begin to begin of steps, means over blocks of them that ran alone and blocks that were recorded.
struct RecordingPrice {
  double alone_ns = 0;
  double recorded_ns = 0;
  double error_ns = 0;  ///< of the difference: half of its 95 % interval
  std::int64_t steps_alone = 0, steps_recorded = 0;
  std::int64_t launches = 0;      ///< a step
  double remained_ns = 0;         ///< a step: what callbacks took in those alone, estimated and taken off
  std::optional<double> kept_ns;  ///< likewise what CUPTI took of launches without a record; none: not known

  [[nodiscard]] double difference_ns() const { return recorded_ns - alone_ns; }
  /// Recorded steps are longer by more than steps vary by. Shorter than alone they cannot be: steps that run alone then
  /// have what switching the recording off and on takes, which is much of a short one.
  [[nodiscard]] bool certain() const { return difference_ns() > error_ns; }
  /// Of a step with so many launches: the part of the price that it has, 0..1. One that launches less than those by
  /// which it was measured, as an evaluation does among training steps, has as much less of it.
  [[nodiscard]] double part_of(std::int64_t launches_of_step) const {
    if (launches <= 0 || launches_of_step >= launches) return 1;
    return static_cast<double>(launches_of_step) / static_cast<double>(launches);
  }
};

/// Empty if the recording did not measure it.
[[nodiscard]] std::optional<RecordingPrice> recording_price(const Model& model, store::Id process_id);

}  // namespace ridgeline::analyzer
