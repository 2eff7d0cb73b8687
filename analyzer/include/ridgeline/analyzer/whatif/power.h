// power.h: how much of a gain the power limit takes back.
//
// At its limit a GPU that does the same work in less time draws more, and its clock falls until the power is the
// limit's again. With power as f^alpha and time as f^-beta, of a gain D remains D (1 - beta / alpha e); e is 1 where
// the energy of the step stays, 0 where what goes drew the limit's power. Only where the capture shows that the limit
// holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/ranking/power.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/whatif/replay.h"

namespace ridgeline::analyzer {

/// Of store::ClockSample::throttle_reasons: NVML's nvmlClocksEventReasonSwPowerCap.
inline constexpr std::int64_t kPowerCapReason = 0x4;

struct Interval {
  double low = 0, value = 0, high = 0;
};

struct PowerTerm {
  enum class State : std::uint8_t {
    unknown,  ///< no clock samples with reasons fall into the steps
    clear,    ///< the limit does not hold the clock
    holds,    ///< it does in at least half of the samples
  };
  State state = State::unknown;
  double limited_ratio = 0;       ///< samples in which it holds
  std::optional<double> power_w;  ///< median in the steps
  Interval alpha, beta;           ///< State::holds only
};

/// What the clock samples in these steps say. Beta is that of what the clock costs the step, if that is known and the
/// clock was clearly below its highest; else what bounds the launches makes of it.
[[nodiscard]] PowerTerm power_term(const Model& model, const StepAnalysis& steps,
                                   const UtilisationAnalysis& utilisation, const StepPower& power = {});

/// The same where the limit is known to hold in this share of the samples (0 to 1; empty: unknown), whenever they were
/// taken: blocks of seconds follow the steps that are analysed. Without the power.
[[nodiscard]] PowerTerm power_term(std::optional<double> limited_ratio,
                                   const UtilisationAnalysis& utilisation, const StepPower& power = {});

/// What kind of work goes, for e.
struct SavedWork {
  double same_energy_ns = 0;  ///< of a gain: the same work in less time
  double idle_ns = 0;         ///< pauses
  double traffic_ns = 0;      ///< bytes that are not moved
  double cheaper_ns = 0;      ///< the same in a type of fewer bits
};

/// Of a gain in such work, the share that the limit leaves; 1 where it does not hold.
[[nodiscard]] Interval power_leaves(const PowerTerm& term, const SavedWork& saved);

/// Fills in Gain::after_power, if the term holds and the gain is simulated.
void apply_power(const PowerTerm& term, const SavedWork& saved, Gain& gain);

}  // namespace ridgeline::analyzer
