/// schedule.h: which steps get which tier. The text form is `warmup=5,timeline=10,replay=4`: phases in order, each
/// with a count of steps; a phase may come again. After the last phase the timeline goes on.
/// Shared by the launcher, the agent and the importer: no exceptions in parsing, no allocation, no locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline {

inline constexpr std::size_t kMaxSchedulePhases = 32;
inline constexpr std::uint32_t kMaxScheduleSteps = 1'000'000'000;

/// Ten steps warm up (first-use loading, autotuning and the allocator's growth are over by then), twenty give a
/// median and its spread, six are sampled in situ (two of them only let the clocks settle), eight measure counters.
inline constexpr char kDefaultSchedule[] = "warmup=10,timeline=20,sample=6,replay=8";

enum class ScheduleError {
  none,
  empty,            // no phase at all
  syntax,           // not `name=count`
  unknown_phase,    // a name that is none of kScheduledPhases
  bad_count,        // not a whole number from 1 to kMaxScheduleSteps
  too_many_phases,  // more than kMaxSchedulePhases
};

struct ScheduledPhase {
  Phase phase = Phase::timeline;
  std::uint32_t steps = 0;
};

struct Schedule {
  ScheduledPhase phases[kMaxSchedulePhases];
  std::size_t phase_count = 0;

  /// Steps of all phases together; what comes after has no phase of its own.
  std::uint64_t total_steps() const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < phase_count; ++i) total += phases[i].steps;
    return total;
  }
  /// The phase of a step. Steps after the last phase are timeline steps.
  Phase phase_of(std::uint64_t step_index) const {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (step_index < phases[i].steps) return phases[i].phase;
      step_index -= phases[i].steps;
    }
    return Phase::timeline;
  }
  /// How many steps of this phase come before this step; the k-th replay step takes configuration k.
  std::uint64_t steps_of_phase_before(Phase phase, std::uint64_t step_index) const {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < phase_count && step_index > 0; ++i) {
      const std::uint64_t here = step_index < phases[i].steps ? step_index : phases[i].steps;
      if (phases[i].phase == phase) before += here;
      step_index -= here;
    }
    return before;
  }
  /// The phase that holds a step: its first step and how many it has; after the last phase *steps is 0.
  void extent_of_phase(std::uint64_t step_index, std::uint64_t* first, std::uint32_t* steps) const {
    *first = 0;
    *steps = 0;
    for (std::size_t i = 0; i < phase_count; ++i) {
      *steps = phases[i].steps;
      if (step_index < *first + *steps) return;
      *first += *steps;
    }
    *steps = 0;
  }
  /// Steps from this one to the end of its phase, this one included; 0 after the last phase.
  std::uint64_t steps_left_in_phase(std::uint64_t step_index) const {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (step_index < phases[i].steps) return phases[i].steps - step_index;
      step_index -= phases[i].steps;
    }
    return 0;
  }
  /// False if there is no room for another phase.
  bool append(Phase phase, std::uint32_t steps) {
    if (phase_count == kMaxSchedulePhases) return false;
    phases[phase_count++] = {phase, steps};
    return true;
  }
  bool has(Phase phase) const {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (phases[i].phase == phase) return true;
    }
    return false;
  }
};

/// Those that a schedule can name.
inline constexpr Phase kScheduledPhases[] = {Phase::warmup, Phase::timeline, Phase::sample, Phase::replay,
                                             Phase::cold,   Phase::stalls,   Phase::flops};

namespace detail {
inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
}  // namespace detail

/// Parses a text into *out. Blanks round names, counts and commas are allowed. On an error *out holds the phases
/// before it and *error_at (if given) the offset of the phase that is wrong.
inline ScheduleError parse_schedule(std::string_view text, Schedule* out, std::size_t* error_at = nullptr) {
  *out = Schedule{};
  const std::size_t length = text.size();
  std::size_t at = 0;
  while (true) {
    std::size_t end = at;
    while (end < length && text[end] != ',') ++end;
    if (error_at != nullptr) *error_at = at;
    std::size_t first = at;
    std::size_t last = end;
    while (first < last && detail::is_blank(text[first])) ++first;
    while (last > first && detail::is_blank(text[last - 1])) --last;
    if (first == last)
      return length == 0 || (at == 0 && end == length) ? ScheduleError::empty : ScheduleError::syntax;
    std::size_t equal = first;
    while (equal < last && text[equal] != '=') ++equal;
    if (equal == last) return ScheduleError::syntax;
    std::size_t name_end = equal;
    while (name_end > first && detail::is_blank(text[name_end - 1])) --name_end;
    ScheduledPhase phase;
    bool known = false;
    for (Phase candidate : kScheduledPhases) {
      if (std::string_view(text.data() + first, name_end - first) == to_string(candidate)) {
        phase.phase = candidate;
        known = true;
      }
    }
    if (!known) return ScheduleError::unknown_phase;
    std::size_t digit = equal + 1;
    while (digit < last && detail::is_blank(text[digit])) ++digit;
    if (digit == last) return ScheduleError::bad_count;
    std::uint64_t count = 0;
    for (; digit < last; ++digit) {
      if (text[digit] < '0' || text[digit] > '9') return ScheduleError::bad_count;
      count = count * 10 + static_cast<std::uint64_t>(text[digit] - '0');
      if (count > kMaxScheduleSteps) return ScheduleError::bad_count;
    }
    if (count == 0) return ScheduleError::bad_count;
    phase.steps = static_cast<std::uint32_t>(count);
    if (!out->append(phase.phase, phase.steps)) return ScheduleError::too_many_phases;
    if (end == length) return ScheduleError::none;
    at = end + 1;
  }
}

/// The text form, which gives this schedule again when parsed.
inline std::string to_string(const Schedule& schedule) {
  std::string text;
  for (std::size_t i = 0; i < schedule.phase_count; ++i) {
    if (i > 0) text += ',';
    text.append(to_string(schedule.phases[i].phase))
        .append("=")
        .append(std::to_string(schedule.phases[i].steps));
  }
  return text;
}

/// kDefaultSchedule, parsed.
inline Schedule default_schedule() {
  Schedule schedule;
  (void)parse_schedule(kDefaultSchedule, &schedule);
  return schedule;
}

}  // namespace ridgeline
