// schedule.h: the learning rate of a step.
#pragma once

namespace ridgeline::gpt2 {

/// wsd: warmup, stable, decay: the peak until the last `decay` steps, which fall linearly to the floor.
enum class ScheduleKind { cosine, linear, constant, wsd };

struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double peak = 6e-4;   // after warmup
  double floor = 6e-5;  // at the last step (cosine, linear, wsd)
  int warmup = 0;       // steps that rise linearly from peak/warmup to peak
  int decay = 0;        // wsd: the last steps, which fall; warmup + decay <= total
  int total = 1;        // steps of the whole run

  /// Learning rate of step `step`, counted from 0.
  double at(int step) const;
};

}  // namespace ridgeline::gpt2
