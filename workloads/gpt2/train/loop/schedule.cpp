#include "gpt2/train/loop/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ridgeline::gpt2 {

double Schedule::at(int step) const {
  if (step < warmup) return peak * (step + 1) / warmup;
  if (kind == ScheduleKind::constant) return peak;
  if (kind == ScheduleKind::wsd) {
    const int falling = step - (total - decay) + 1;  // 1 at the first step below the peak, decay at the last
    if (falling <= 0) return peak;
    return peak - (peak - floor) * std::min(1.0, static_cast<double>(falling) / decay);
  }
  const int span = std::max(1, total - 1 - warmup);
  const double done = std::clamp(static_cast<double>(step - warmup) / span, 0.0, 1.0);
  const double keep =
      kind == ScheduleKind::linear ? 1.0 - done : 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return floor + keep * (peak - floor);
}

}  // namespace ridgeline::gpt2
