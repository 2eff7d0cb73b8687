#include "absences.h"

#include "draft.h"

namespace ridgeline::analyzer {

Absences::Absences(const Model& model, const StepAnalysis& steps, const TierSteps& replay,
                   const TierSteps& sample)
    : model_(model), steps_(steps), replay_(replay), sample_(sample) {
  for (const store::ReplayExclusion& row : model.replay_exclusions) {
    if (row.process_id == steps.process_id) excluded_[row.kernel_id] = row.reason;
  }
}

// Empty if the tier ran.
std::optional<Absence> Absences::refusal(Tier tier) const {
  const store::TierStatus* status = model_.tier_status(steps_.process_id, tier);
  if (status == nullptr || status->status == TierOutcome::ok || status->status == TierOutcome::partial)
    return std::nullopt;
  return Absence{.cause = AbsenceCause::tier_refused,
                 .tier = tier,
                 .outcome = status->status,
                 .detail = status->reason.value_or(Reason())};
}

void Absences::explain_no_values(const store::Launch& launch, const ReplayValues& values,
                                 TierUtilisation& out) const {
  const bool no_replay = replay_.steps().empty();
  const std::optional<Absence> refused = no_replay ? refusal(Tier::t2) : std::nullopt;
  if (refused) {
    set_missing(out, MissingReason::tier_refused, *refused);
  } else if (no_replay || !has_steps()) {
    set_missing(out, MissingReason::no_replay,
                replay_.seen() == 0 ? Absence{.cause = AbsenceCause::no_replay_step}
                : no_replay         ? replay_.unusable(AbsenceCause::no_usable_replay_step)
                                    : Absence{.cause = AbsenceCause::kind_not_counted});
  } else if (const auto excluded = excluded_.find(launch.kernel_id); excluded != excluded_.end()) {
    set_missing(out, MissingReason::excluded,
                Absence{.cause = AbsenceCause::excluded, .exclusion = excluded->second});
  } else if (launch.graph_node_id || launch.graph_id) {
    set_missing(out, MissingReason::graph_node,
                model_.graph_metrics.empty() ? AbsenceCause::graph_node : AbsenceCause::graph_as_a_whole);
  } else if (values.mismatched > 0) {
    set_missing(out, MissingReason::mismatch, values.mismatch);
  } else {
    set_missing(out, MissingReason::not_replayed, AbsenceCause::not_replayed);
  }
}

void Absences::explain_no_samples(const TierRows& rows, TierUtilisation& out) const {
  const bool no_samples = sample_.steps().empty();
  const std::optional<Absence> refused = no_samples ? refusal(Tier::t1) : std::nullopt;
  if (refused) {
    set_missing(out, MissingReason::tier_refused, *refused);
  } else if (no_samples) {
    set_missing(out, MissingReason::no_sample,
                sample_.seen() == 0 ? Absence{.cause = AbsenceCause::no_sampled_step}
                                    : sample_.unusable(AbsenceCause::no_usable_sampled_step));
  } else if (!has_steps()) {
    set_missing(out, MissingReason::no_sample, AbsenceCause::kind_not_sampled);
  } else if (rows.mismatched > 0) {
    set_missing(out, MissingReason::mismatch, rows.mismatch);
  } else {
    set_missing(out, MissingReason::no_sample, AbsenceCause::not_told_apart);
  }
}

}  // namespace ridgeline::analyzer
