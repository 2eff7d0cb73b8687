#include "ridgeline/queries/interventions_query.h"

#include <memory>
#include <optional>
#include <utility>

namespace ridgeline::queries {
namespace {

// The launch at a place of the step that stands for all; empty if another kernel is there.
std::optional<std::size_t> position_of(const analyzer::Model& model, const analyzer::RepresentativeStep& step,
                                       store::Id kernel_id, std::int64_t ordinal) {
  for (std::size_t i = 0; i < step.launches.size(); ++i) {
    const auto& row = model.launches.row(step.launches[i]);
    if (row.ordinal_in_step != ordinal) continue;
    const bool same = model.launches.site(step.launches[i]).kernel_id == kernel_id;
    return same ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

analyzer::Answer<InterventionsAnswer> ask(analyzer::Session& session, const store::Capture& capture,
                                          const InterventionsQuery& query,
                                          const analyzer::QueryOptions& how) {
  const std::vector<store::Intervention> delays = store::interventions(capture);
  if (delays.empty())
    return Failure{ErrorKind::no_data, "no launch was delayed in this recording: record it with --intervene"};
  const auto replay = session.replay(query.scope, how);
  if (!replay) return replay.failure();
  const analyzer::Scope whole = analyzer::whole_step(query.scope);
  const auto model = session.model(whole, how);
  if (!model) return model.failure();
  const auto steps = session.steps(whole, how);
  if (!steps) return steps.failure();
  const analyzer::RepresentativeStep& step = steps.value()->representative;
  const auto simulate = [&](store::Id kernel_id, std::int64_t ordinal,
                            double delay_ns) -> std::optional<double> {
    const auto position = position_of(*model.value(), step, kernel_id, ordinal);
    if (!position) return std::nullopt;
    const auto& row = model.value()->launches.row(step.launches[*position]);
    analyzer::StepChange change;
    change.launches.push_back({*position, static_cast<double>(analyzer::duration_ns(row)) + delay_ns, false});
    const analyzer::Gain gain = replay.value()->gain(change);
    if (!gain.simulated) return std::nullopt;
    return -gain.simulated->value;
  };
  auto answer = std::make_shared<InterventionsAnswer>();
  answer->measured = analyzer::analyse_interventions(delays, capture.steps(), simulate);
  answer->check = replay.value()->check();
  answer->blocks =
      analyzer::analyse_power_blocks(delays, capture.steps(), model.value()->clock_samples, answer->measured);
  if (answer->blocks && answer->blocks->limited_ratio()) {
    // Whether the limit holds is what the blocks say: the steps before them may be the first that the device ran.
    const auto measured = session.utilisation(whole, how);
    if (!measured) return measured.failure();
    const auto ranking = session.ranking(whole, analyzer::RankingKey::kernel, how);
    if (!ranking) return ranking.failure();
    const analyzer::PowerTerm term =
        analyzer::power_term(answer->blocks->limited_ratio(), *measured.value(), ranking.value()->power);
    answer->expected_left = analyzer::power_leaves(term, {.idle_ns = 1});
  }
  return std::shared_ptr<const InterventionsAnswer>(std::move(answer));
}

}  // namespace ridgeline::queries
