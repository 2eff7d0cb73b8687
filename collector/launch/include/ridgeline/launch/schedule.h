// schedule.h: which steps of the program get which tier, as the command line says it.
// Text form: `warmup=5,timeline=10,replay=4`; phases in order, a phase may come again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::launch {

struct ScheduledPhase {
  Phase phase = Phase::timeline;
  std::uint32_t steps = 0;  // >= 1
  friend bool operator==(const ScheduledPhase&, const ScheduledPhase&) = default;
};

struct Schedule {
  std::vector<ScheduledPhase> phases;

  // Ten steps warm up (first-use loading, autotuning and the allocator's growth are over by then), twenty
  // give a median and its spread, six are sampled in situ (two of them only let the clocks settle), eight
  // measure counters.
  [[nodiscard]] static Schedule defaults();
  // Failure: usage, naming the phase that is wrong.
  [[nodiscard]] static Result<Schedule> parse(std::string_view text);

  [[nodiscard]] std::string text() const;  // parse(text()) gives this schedule again
  [[nodiscard]] std::uint64_t total_steps() const;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace ridgeline::launch
