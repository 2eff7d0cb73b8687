// schedule.h: which steps get which tier. The text form is `warmup=5,timeline=10,replay=4`: phases in order,
// each with a count of steps; a phase may come again. After the last phase the timeline goes on.
// Shared by the launcher and the agent: no exceptions, no allocation, no locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ridgeline/spool/format.h"

namespace ridgeline::spool {

inline constexpr std::size_t kMaxSchedulePhases = 32;
inline constexpr std::uint32_t kMaxScheduleSteps = 1'000'000'000;

enum class ScheduleError {
  kNone,
  kEmpty,          // no phase at all
  kSyntax,         // not `name=count`
  kUnknownPhase,   // a name that is none of kAllPhases
  kBadCount,       // not a whole number from 1 to kMaxScheduleSteps
  kTooManyPhases,  // more than kMaxSchedulePhases
};

struct SchedulePhase {
  Phase phase = Phase::timeline;
  std::uint32_t steps = 0;
};

struct StepSchedule {
  SchedulePhase phases[kMaxSchedulePhases];
  std::size_t phase_count = 0;

  // Steps of all phases together; what comes after has no phase of its own.
  std::uint64_t total_steps() const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < phase_count; ++i) total += phases[i].steps;
    return total;
  }
  // The phase of a step. Steps behind the last phase are timeline steps.
  Phase phase_of(std::uint64_t step_index) const {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (step_index < phases[i].steps) return phases[i].phase;
      step_index -= phases[i].steps;
    }
    return Phase::timeline;
  }
  // How many steps of this phase come before this step; the k-th replay step takes configuration k.
  std::uint64_t steps_of_phase_before(Phase phase, std::uint64_t step_index) const {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < phase_count && step_index > 0; ++i) {
      const std::uint64_t here = step_index < phases[i].steps ? step_index : phases[i].steps;
      if (phases[i].phase == phase) before += here;
      step_index -= here;
    }
    return before;
  }
  // The phase that holds a step: its first step and how many it has; after the last phase *steps is 0.
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
  // Steps from this one to the end of its phase, this one included; 0 behind the last phase.
  std::uint64_t steps_left_in_phase(std::uint64_t step_index) const {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (step_index < phases[i].steps) return phases[i].steps - step_index;
      step_index -= phases[i].steps;
    }
    return 0;
  }
  bool has(Phase phase) const {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (phases[i].phase == phase) return true;
    }
    return false;
  }
};

/// Those that a schedule can name.
inline constexpr Phase kAllPhases[] = {Phase::warmup, Phase::timeline, Phase::sample, Phase::replay,
                                       Phase::cold,   Phase::stalls,   Phase::flops};

namespace detail {
inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
}  // namespace detail

// Parses `length` bytes of text into *out. Blanks round names, counts and commas are allowed. On an error
// *out holds the phases before it and *error_at (if given) the offset of the phase that is wrong.
inline ScheduleError parse_schedule(const char* text, std::size_t length, StepSchedule* out,
                                    std::size_t* error_at = nullptr) {
  *out = StepSchedule{};
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
      return length == 0 || (at == 0 && end == length) ? ScheduleError::kEmpty : ScheduleError::kSyntax;
    std::size_t equal = first;
    while (equal < last && text[equal] != '=') ++equal;
    if (equal == last) return ScheduleError::kSyntax;
    std::size_t name_end = equal;
    while (name_end > first && detail::is_blank(text[name_end - 1])) --name_end;
    SchedulePhase phase;
    bool known = false;
    for (Phase candidate : kAllPhases) {
      if (std::string_view(text + first, name_end - first) == to_string(candidate)) {
        phase.phase = candidate;
        known = true;
      }
    }
    if (!known) return ScheduleError::kUnknownPhase;
    std::size_t digit = equal + 1;
    while (digit < last && detail::is_blank(text[digit])) ++digit;
    if (digit == last) return ScheduleError::kBadCount;
    std::uint64_t count = 0;
    for (; digit < last; ++digit) {
      if (text[digit] < '0' || text[digit] > '9') return ScheduleError::kBadCount;
      count = count * 10 + static_cast<std::uint64_t>(text[digit] - '0');
      if (count > kMaxScheduleSteps) return ScheduleError::kBadCount;
    }
    if (count == 0) return ScheduleError::kBadCount;
    phase.steps = static_cast<std::uint32_t>(count);
    if (out->phase_count == kMaxSchedulePhases) return ScheduleError::kTooManyPhases;
    out->phases[out->phase_count++] = phase;
    if (end == length) return ScheduleError::kNone;
    at = end + 1;
  }
}

}  // namespace ridgeline::spool
