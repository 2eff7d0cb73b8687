// step_import.h: the steps of a process, and what stands for them where there are none.
#pragma once

#include <cstdint>
#include <optional>

#include "spool/process_rows.h"

namespace ridgeline::import {

class StepImport {
 public:
  explicit StepImport(ProcessRows& rows) : rows_(rows), writer_(rows.writer), spool_(rows.spool) {}

  /// With their counter configurations.
  void write_steps(const RecordingPlan& plan);
  /// A program without steps: each recording window stands for one, so that it can be ranked like any other.
  void write_windows();
  /// The step that stands for the window of that time; empty if there are real ones.
  [[nodiscard]] std::optional<store::Id> window_step(std::int64_t time_ns) const;

 private:
  ProcessRows& rows_;
  store::CaptureWriter& writer_;
  ScannedSpool& spool_;
};

}  // namespace ridgeline::import
