#include "ridgeline/launch/schedule.h"

#include <fmt/format.h>

#include "ridgeline/base/text.h"
#include "ridgeline/spool/schedule.h"

namespace ridgeline::launch {

Schedule Schedule::defaults() {
  return Schedule{{{Phase::warmup, 10}, {Phase::timeline, 20}, {Phase::sample, 6}, {Phase::replay, 8}}};
}

Result<Schedule> Schedule::parse(std::string_view text) {
  spool::StepSchedule parsed;
  std::size_t at = 0;
  const spool::ScheduleError error = spool::parse_schedule(text.data(), text.size(), &parsed, &at);
  const std::string part = one_line(text.substr(at, text.find(',', at) - at));
  const auto usage = [](std::string message) { return Failure{ErrorKind::usage, std::move(message)}; };
  constexpr const char* example = "write it like warmup=10,timeline=20,sample=6,replay=8";
  switch (error) {
    case spool::ScheduleError::kNone:
      break;
    case spool::ScheduleError::kEmpty:
      return usage(fmt::format("the schedule is empty: {}", example));
    case spool::ScheduleError::kSyntax:
      return usage(fmt::format("schedule: \"{}\" is not phase=steps: {}", part, example));
    case spool::ScheduleError::kUnknownPhase:
      return usage(
          fmt::format("schedule: \"{}\" names no phase; the phases are warmup, timeline, sample, replay, "
                      "cold, stalls and flops",
                      part));
    case spool::ScheduleError::kBadCount:
      return usage(fmt::format("schedule: \"{}\" needs a whole number of steps, 1 to {}", part,
                               spool::kMaxScheduleSteps));
    case spool::ScheduleError::kTooManyPhases:
      return usage(fmt::format("schedule: more than {} phases", spool::kMaxSchedulePhases));
  }
  Schedule schedule;
  for (std::size_t i = 0; i < parsed.phase_count; ++i) {
    schedule.phases.push_back({parsed.phases[i].phase, parsed.phases[i].steps});
  }
  return schedule;
}

std::string Schedule::text() const {
  std::string line;
  for (const ScheduledPhase& phase : phases) {
    line += fmt::format("{}{}={}", line.empty() ? "" : ",", to_string(phase.phase), phase.steps);
  }
  return line;
}

std::uint64_t Schedule::total_steps() const {
  std::uint64_t total = 0;
  for (const ScheduledPhase& phase : phases) total += phase.steps;
  return total;
}

}  // namespace ridgeline::launch
