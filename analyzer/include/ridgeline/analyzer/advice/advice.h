// advice.h: what to do first, what it would give, and how sure that is.
//
// A rule looks for one defect. It finds cases of it, or finds none where it could have, or cannot say and knows what
// it lacks. What a case gives is the time of the step after overlap, after the power limit, and after what the cases
// before it have claimed: each millisecond is promised once. docs/metrics.md has the rules with their thresholds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ridgeline/analyzer/advice/advice_words.h"
#include "ridgeline/analyzer/values/absence.h"
#include "ridgeline/analyzer/values/finding.h"
#include "ridgeline/analyzer/values/scope_kind.h"

namespace ridgeline::analyzer {

/// Of the step, ns: what is safe to expect, what is likely, what there is at most. low <= mid <= high.
struct AdviceGain {
  double low_ns = 0;
  double mid_ns = 0;
  double high_ns = 0;
};

/// A case of a defect, and what it costs.
struct Advice {
  AdviceRule rule = AdviceRule::tail_wave;
  AdviceBasis basis = AdviceBasis::measured;
  std::string subject = {};  ///< kernel (demangled), operation, call or cause; "": the step as a whole
  /// Ids in the capture, in order of time; the first kMaxLaunches of launch_count.
  std::vector<store::Id> launches = {};
  std::int64_t launch_count = 0;
  std::vector<Evidence> evidence = {};
  AdviceGain alone = {};    ///< of the launches, copies and gaps themselves, ns
  AdviceGain net = {};      ///< of the step, after overlap, power and what was claimed before
  double claimed_ns = 0;    ///< of alone.mid_ns, what cases before it have claimed
  bool simulated = false;   ///< overlap by simulation; else by what ran beside it
  double power_factor = 1;  ///< of the gain, that the power limit leaves; 1: none holds the clock
  static constexpr std::size_t kMaxLaunches = 64;
};

/// A rule that looked and found nothing.
struct AdviceHealthy {
  AdviceRule rule = AdviceRule::tail_wave;
  std::vector<Evidence> evidence;  ///< of the nearest to a case; empty: there is nothing of the kind
};

/// A rule that could not judge.
struct AdviceUnknown {
  AdviceRule rule = AdviceRule::tail_wave;
  AdviceNeed need = AdviceNeed::counters;
  std::string subject;           ///< of which it cannot say; "": of nothing
  std::optional<double> max_ns;  ///< time of the step that hangs on it
};

using AdviceVerdict = std::variant<Advice, AdviceHealthy, AdviceUnknown>;

struct AdviceOptions {
  double min_share = 0.003;   ///< of the step: less is not shown …
  double noise_multiple = 3;  ///< … nor less than so many times the noise of the step
  double min_once_ns = 10e3;  ///< … nor less than that in a recording without steps, of which nothing repeats
  std::int64_t max_visits = 60'000'000;  ///< pieces of work gone through in simulations, as in ReachOptions
};

struct AdviceReport {
  ScopeKind scope = ScopeKind::step;  ///< what "step" means here
  double step_ns = 0;
  double noise_ns = 0;                 ///< standard error of the steps' median; 0: one step, unknown
  double min_ns = 0;                   ///< net.mid_ns of what is shown
  bool once = false;                   ///< a recording without steps: AdviceOptions::min_once_ns holds too
  std::vector<Advice> advice;          ///< net.mid_ns >= min_ns, most first
  std::vector<Advice> small;           ///< the other cases, most first
  std::vector<AdviceHealthy> healthy;  ///< rules, in their order
  std::vector<AdviceUnknown> unknown;  ///< likewise
  AdviceGain together;                 ///< all of `advice`; no millisecond is in it twice
  std::vector<Absence> not_simulated;  ///< why overlap is not by simulation; empty: it is
  bool power_limited = false;          ///< the power limit held the clock
  double kernels_target = 0;  ///< the goal of kernels_ns, as a share of a launch's nearest roof, 0 to 1
  double kernels_ns =
      0;  ///< what the step were shorter by at most if all kernels reached it, whatever holds them
  bool imported = false;  ///< another profiler recorded: what is missing is to be asked of it
  /// What one rule says in a word: its first case, else what it lacks, else that it found nothing that matters.
  [[nodiscard]] AdviceVerdict verdict(AdviceRule rule) const;
  [[nodiscard]] static std::size_t rules();  ///< that there are
  /// What one rule says; its cases are still less what others claimed, and `together` is of them.
  [[nodiscard]] AdviceReport of(AdviceRule rule) const;
};

}  // namespace ridgeline::analyzer
