#include "spool/step_import.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

void StepImport::write_steps(const RecordingPlan& plan) {
  std::unordered_map<std::uint32_t, store::Id> configs;
  for (const auto& [id, config] : spool_.configs) {
    configs[id] = writer_.add(store::CounterConfiguration{
        .name = one_line(rows_.reader.string_or(config.name, fmt::format("R{}", id))),
        .pass_count = static_cast<int>(config.passes)});
  }
  for (auto& [index, step] : spool_.steps) {
    store::Step row;
    row.process_id = rows_.process_id;
    row.step_index = index;
    row.phase = phase_of(spool_, step, plan);
    row.source = step.by_period ? StepSource::period : StepSource::nvtx;
    row.host_start_ns = step.begin_ns;
    row.host_end_ns = step.end_ns;
    row.gpu_start_ns = step.gpu_start_ns;
    row.gpu_end_ns = step.gpu_end_ns;
    const std::uint32_t config = step.counters ? step.counters->config_id : step.config_id;
    if (auto id = configs.find(config); id != configs.end()) row.configuration_id = id->second;
    judge_step(rows_.reader, spool_, step, plan, row);
    step.id = writer_.add(row);
    ++rows_.summary.steps;
    if (row.status == StepStatus::ok && step.counters && step.counters->reason != 0) {
      rows_.say(Severity::warning,
                Reason(ReasonCode::counters_of_step, {{"step", index}},
                       {spool_.words_of(rows_.reader, ReasonCode::replay, step.counters->reason)}));
    }
    if (row.status == StepStatus::ok && row.phase == Phase::timeline) ++rows_.summary.timeline_steps;
    const auto count = [&](auto& outcome) {
      ++outcome.steps;
      if (row.status == StepStatus::ok) {
        ++outcome.ok;
      } else if (outcome.first_reason.empty()) {
        outcome.first_reason = row.reason.value_or(Reason(ReasonCode::no_reason));
      }
    };
    if (step.phase == Phase::sample && !step.unmeasured) count(rows_.outcomes.sampling);
    if (!step.is_replay()) continue;
    CounterOutcome& outcome = step.is_third_tier() ? rows_.outcomes.third_tier : rows_.outcomes.replay;
    count(outcome);
    if (row.status != StepStatus::ok) continue;
    outcome.unjoined_values += step.unjoined_values;
    if (!step.is_third_tier()) ++rows_.summary.replay_steps;
  }
}

void StepImport::write_windows() {
  std::int64_t index = 0;
  for (ScannedSpool::Window& window : spool_.windows) {
    const bool known = window.cause == WindowCause::delay || window.cause == WindowCause::signal;
    const WindowCause cause = known ? window.cause : WindowCause::start;
    writer_.add(store::RecordingWindow{.process_id = rows_.process_id,
                                       .start_ns = window.open_ns,
                                       .end_ns = window.close_ns,
                                       .cause = cause,
                                       .synchronisation = window.synchronisation});
    if (!spool_.steps.empty() || !window.gpu_start_ns) continue;
    store::Step row;
    row.process_id = rows_.process_id;
    row.step_index = index++;
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
    window.step_id = writer_.add(row);
    ++rows_.summary.steps;
  }
}
std::optional<store::Id> StepImport::window_step(std::int64_t time_ns) const {
  if (!spool_.steps.empty()) return std::nullopt;
  const ScannedSpool::Window* window = spool_.window_at(time_ns);
  return window == nullptr || window->step_id == 0 ? std::nullopt : std::optional(window->step_id);
}

}  // namespace ridgeline::import
