#include "ridgeline/launch/schedule.h"

#include <fmt/format.h>

#include "ridgeline/base/text.h"

namespace ridgeline::launch {

Result<Schedule> read_schedule(std::string_view text) {
  Schedule schedule;
  std::size_t at = 0;
  const ScheduleError error = parse_schedule(text, &schedule, &at);
  const std::string part = one_line(text.substr(at, text.find(',', at) - at));
  const auto usage = [](std::string message) { return Failure{ErrorKind::usage, std::move(message)}; };
  const std::string example = std::string("write it like ") + kDefaultSchedule;
  switch (error) {
    case ScheduleError::none:
      break;
    case ScheduleError::empty:
      return usage(fmt::format("the schedule is empty: {}", example));
    case ScheduleError::syntax:
      return usage(fmt::format("schedule: \"{}\" is not phase=steps: {}", part, example));
    case ScheduleError::unknown_phase:
      return usage(
          fmt::format("schedule: \"{}\" names no phase; the phases are warmup, timeline, sample, replay, "
                      "cold, stalls and flops",
                      part));
    case ScheduleError::bad_count:
      return usage(
          fmt::format("schedule: \"{}\" needs a whole number of steps, 1 to {}", part, kMaxScheduleSteps));
    case ScheduleError::too_many_phases:
      return usage(fmt::format("schedule: more than {} phases", kMaxSchedulePhases));
  }
  return schedule;
}

}  // namespace ridgeline::launch
