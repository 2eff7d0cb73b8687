#include "ridgeline/analyzer/whatif/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/query_failed.h"
#include "whatif/transformer.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMaxTimes = 1000;

// Numbers that make no sense, wherever they come from.
void check_numbers(const WhatIfRequest& request) {
  const auto refuse_number = [](const std::string& what) { throw QueryFailed{{ErrorKind::usage, what}}; };
  if (request.transforms.empty())
    refuse_number(
        "nothing is to be different: name kernels as 'attention*=1.5x', or give --at-roof, --fuse, "
        "--fuse-kept, --precision, --graph or --hide-copies");
  for (const Transform& transform : request.transforms) {
    if (const auto* faster = std::get_if<Faster>(&transform);
        faster != nullptr && !(faster->times >= 1 / kMaxTimes && faster->times <= kMaxTimes))
      refuse_number(fmt::format("'{}={}x': between 0.001x and 1000x", faster->kernels, faster->times));
    if (const auto* roof = std::get_if<AtRoof>(&transform);
        roof != nullptr && !(roof->ratio > 0 && roof->ratio <= 1))
      refuse_number("--at-roof: above 0 and at most 100 per cent of the roof");
  }
}

// What kind of work a transform does away with, so far as the power is concerned.
SavedWork saved_work(const Transform& transform, const TransformAnswer& answer) {
  SavedWork saved;
  const double ns = std::max(answer.gain.naive_ns, 0.0);
  if (std::holds_alternative<AsGraph>(transform) || std::holds_alternative<HiddenCopies>(transform))
    saved.idle_ns = ns;
  else if (std::holds_alternative<Fused>(transform))
    saved.traffic_ns = ns;
  else if (std::holds_alternative<InPrecision>(transform))
    saved.cheaper_ns = ns;
  else
    saved.same_energy_ns = ns;
  return saved;
}

StepChange change_of(const Transformer& transformer, const Transformer::Times& times,
                     const std::vector<Transform>& transforms) {
  StepChange change;
  change.launches = transformer.changes(times);
  for (const Transform& transform : transforms) {
    change.as_graph = change.as_graph || std::holds_alternative<AsGraph>(transform);
    change.hide_copies = change.hide_copies || std::holds_alternative<HiddenCopies>(transform);
  }
  return change;
}

WhatIf answered(const Model& model, const RepresentativeStep& step, const UtilisationAnalysis& utilisation,
                const Replay& replay, const PeakPolicy& peaks, const WhatIfRequest& request,
                const PowerTerm& power) {
  check_numbers(request);
  WhatIf answer;
  answer.check = replay.check();
  answer.step_ns = answer.check.measured_ns;
  answer.power = power;
  const Transformer transformer(model, step, utilisation, peaks, request);
  Transformer::Times together = transformer.recorded();
  SavedWork saved;
  for (const Transform& transform : request.transforms) {
    Transformer::Times alone = transformer.recorded();
    TransformAnswer one = transformer.apply(transform, alone);
    one.gain = replay.gain(change_of(transformer, alone, {transform}));
    const SavedWork own = saved_work(transform, one);
    apply_power(power, own, one.gain);
    saved.same_energy_ns += own.same_energy_ns;
    saved.idle_ns += own.idle_ns;
    saved.traffic_ns += own.traffic_ns;
    saved.cheaper_ns += own.cheaper_ns;
    answer.transforms.push_back(std::move(one));
    // Together each goes on from what those before it made; a pair of theirs may be gone.
    try {
      (void)transformer.apply(transform, together);
    } catch (const QueryFailed&) {
      continue;
    }
  }
  answer.together = replay.gain(change_of(transformer, together, request.transforms));
  apply_power(power, saved, answer.together);
  return answer;
}

}  // namespace

Result<WhatIf> what_if(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
                       const Replay& replay, const PeakPolicy& peaks, const WhatIfRequest& request,
                       const StepPower& power) {
  try {
    return answered(model, steps.representative, utilisation, replay, peaks, request,
                    power_term(model, steps, utilisation, power));
  } catch (const QueryFailed& refused) {
    return refused.failure;
  }
}

}  // namespace ridgeline::analyzer
