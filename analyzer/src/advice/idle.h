// idle.h: the gaps of a step, told apart by what the rules ask of them: no gap is of two rules without one of them
// knowing.
#pragma once

#include <cstdint>
#include <vector>

#include "advice/rule.h"

namespace ridgeline::analyzer {

/// Why a gap is of no use to the rule that looks for late launches.
enum class IdleCause : std::uint8_t {
  launches,  ///< the next launch was late, and nothing else is known to have held it
  wait,      ///< the CPU waited for the GPU before
  copy,      ///< the CPU was inside a call that copies from or to memory
  loader,    ///< the next batch was loaded
  loading,   ///< the call itself took a millisecond or more: it loaded code
  other,     ///< longer than any launch takes, or not of the CPU
};

struct Idle {
  std::uint32_t gap = 0;  ///< into Accounting::gaps
  Gap what;
  IdleCause cause = IdleCause::other;
  bool in_loader_range = false;  ///< most of it, by the range's name
  [[nodiscard]] double length_ns() const { return static_cast<double>(what.end_ns - what.start_ns); }
};

/// In order of time; empty if the step has not the program's own pace.
[[nodiscard]] std::vector<Idle> idle_times(const AdviceInput& input);
/// Of the gaps that the CPU makes, what the recording itself adds, 0..1.
[[nodiscard]] double recorded_share(const AdviceInput& input);

}  // namespace ridgeline::analyzer
