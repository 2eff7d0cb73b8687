#include "recording/step_rows.h"

namespace ridgeline::import {

namespace {

template <typename Outcome>
void count(Outcome& outcome, const store::Step& row) {
  ++outcome.steps;
  if (row.status == StepStatus::ok) {
    ++outcome.ok;
  } else if (outcome.first_reason.empty()) {
    outcome.first_reason = row.reason.value_or(Reason(ReasonCode::no_reason));
  }
}

}  // namespace

ConfigurationIds write_configurations(ProcessRows& rows,
                                      const std::map<std::uint32_t, RecordedConfiguration>& configurations) {
  ConfigurationIds ids;
  for (const auto& [number, configuration] : configurations)
    ids[number] = rows.writer().add(
        store::CounterConfiguration{.name = configuration.name, .pass_count = configuration.passes});
  return ids;
}

void write_steps(ProcessRows& rows, RecordedSteps& recorded, const ConfigurationIds& configurations,
                 const std::function<void(const RecordedStep&, store::Step&)>& judge,
                 TierOutcomes& outcomes) {
  recorded.number_steps();
  std::optional<Reason> first_said;  // of counters that came
  std::int64_t said_of = 0;          // steps
  for (auto& [index, step] : recorded.steps) {
    store::Step row;
    row.process_id = rows.process_id();
    row.step_index = step.number;
    row.source = step.source;
    row.host_start_ns = step.start_ns;
    row.host_end_ns = step.end_ns;
    row.gpu_start_ns = step.gpu_start_ns;
    row.gpu_end_ns = step.gpu_end_ns;
    if (const auto id =
            configurations.find(step.counters ? step.counters->configuration : step.configuration);
        id != configurations.end())
      row.configuration_id = id->second;
    row.phase = step.phase;
    judge(step, row);
    if (step.superseded && !row.reason) row.reason = Reason(ReasonCode::step_superseded);
    step.id = rows.writer().add(row);
    ++rows.summary().steps;
    const bool ok = row.status == StepStatus::ok;
    if (ok && step.counters && step.counters->reason && said_of++ == 0)
      first_said = Reason(ReasonCode::counters_of_step, {{"step", step.number}}, {*step.counters->reason});
    if (ok && row.phase == Phase::timeline) ++rows.summary().timeline_steps;
    if (step.phase == Phase::sample && !step.unmeasured) count(outcomes.sampling, row);
    // What failed in a step that gave way to others is no loss: others count what they launch.
    if (!step.is_replay() || (step.superseded && !ok)) continue;
    CounterOutcome& outcome = step.is_third_tier() ? outcomes.third_tier : outcomes.replay;
    count(outcome, row);
    if (!ok) continue;
    outcome.unjoined_values += step.unjoined_values;
    if (!step.is_third_tier()) ++rows.summary().replay_steps;
  }
  // One line for all of them: a program that launches on several threads has it in every step.
  if (!first_said) return;
  if (said_of > 1) first_said->values.push_back({"steps", said_of});
  rows.say(Severity::warning, std::move(*first_said));
}

void write_windows(ProcessRows& rows, RecordedSteps& recorded) {
  for (const RecordedWindow& window : recorded.windows) {
    const bool known = window.cause == WindowCause::delay || window.cause == WindowCause::signal;
    rows.writer().add(store::RecordingWindow{.process_id = rows.process_id(),
                                             .start_ns = window.open_ns,
                                             .end_ns = window.close_ns,
                                             .cause = known ? window.cause : WindowCause::start,
                                             .synchronisation = window.synchronisation,
                                             .stream_calls = window.stream_calls});
  }
  if (recorded.has_steps()) return;
  for (RecordedWindow& window : recorded.pieces) {
    if (!window.gpu_start_ns) continue;
    store::Step row;
    row.process_id = rows.process_id();
    row.step_index = window.number;
    row.phase = Phase::timeline;
    row.source = StepSource::window;
    row.host_start_ns = window.open_ns;
    row.host_end_ns = window.close_ns;
    row.gpu_start_ns = window.gpu_start_ns;
    row.gpu_end_ns = window.gpu_end_ns;
    if (!window.close_ns) {
      row.status = StepStatus::interrupted;
      row.reason = Reason(ReasonCode::window_open);
    }
    window.step_id = rows.writer().add(row);
    ++rows.summary().steps;
  }
}

}  // namespace ridgeline::import
