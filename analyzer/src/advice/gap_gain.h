// gap_gain.h: what of the time in which the GPU had nothing to do a remedy gains.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "advice/rule.h"
#include "whatif/remedies.h"

namespace ridgeline::analyzer {

/// Of what there is to be gained: low, mid, high.
struct GainShare {
  double low = 0.5;
  double mid = 0.85;
  double high = 1;
};

struct OwnGap {
  std::uint32_t gap = 0;  ///< into Accounting::gaps
  double max_ns = 0;      ///< of it, that a remedy may end
};

/// Adds the gaps to the proposal, each with its part of what the step gains, `gained_ns`; empty: nobody simulated
/// that, and the gaps go as they are. Where the step gains more than its own gaps, late launches elsewhere are no
/// longer late either, the CPU being ahead again: their gaps are added, as far as that goes. Returns the largest
/// gain, ns.
double add_gaps(const RuleInput& in, std::span<const OwnGap> own, std::optional<double> gained_ns,
                const GainShare& share, Proposal& proposal);

/// What gaps that the CPU makes give, `max_ns` of them at most, and whether the program is what makes them.
struct CpuGain {
  enum class State : std::uint8_t {
    gained,
    recording,  ///< the recording makes them, as far as its price is known
    unknown,    ///< its price is not, and may be as much
  };
  State state = State::gained;
  double ns = 0;
};
/// `simulated`: what a remedy gains; empty: not simulated.
[[nodiscard]] CpuGain cpu_gain(const RuleInput& in, const std::optional<RemedyGain>& simulated,
                               double max_ns);

}  // namespace ridgeline::analyzer
