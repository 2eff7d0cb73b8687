#include "recording/steps.h"

#include <algorithm>

namespace ridgeline::import {

Call RecordedSteps::in_step(Call call) const {
  if (!steps_found) return call;
  if (const auto own = steps.find(call.step); own != steps.end() && own->second.stretch) return call;
  const auto place = placed.find(call.correlation_id);
  call.step = place == placed.end() ? kNone : place->second.first;
  call.position = place == placed.end() ? kNone : place->second.second;
  return call;
}

std::uint32_t RecordedSteps::step_at(std::uint32_t recorded_step, std::int64_t time_ns) const {
  if (!steps_found) return recorded_step;
  // Found steps are numbered from 0 in order of time; stretches have later numbers. Asked for each range and wait: not
  // gone through.
  const auto begins_before = [&](std::uint32_t index) {
    const auto found = steps.find(index);
    return found != steps.end() && !found->second.stretch && found->second.start_ns <= time_ns;
  };
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(steps.size());
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (begins_before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return kNone;
  const RecordedStep& step = steps.at(low - 1);
  return time_ns < step.end_ns.value_or(INT64_MAX) ? step.index : kNone;
}

bool RecordedSteps::has_steps() const {
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return !step.second.stretch; });
}

// While launches are counted a program takes other times: a window is what lies between.
void RecordedSteps::cut_windows() {
  has_steps_ = has_steps();
  pieces.clear();
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches;
  for (const auto& [index, step] : steps)
    if (step.stretch) stretches.emplace_back(step.start_ns, step.end_ns.value_or(INT64_MAX));
  std::sort(stretches.begin(), stretches.end());
  for (const RecordedWindow& window : windows) {
    RecordedWindow rest = window;
    for (const auto& [start_ns, end_ns] : stretches) {
      if (start_ns <= rest.open_ns || start_ns >= window.close_ns.value_or(INT64_MAX)) continue;
      RecordedWindow piece = rest;
      piece.close_ns = start_ns;
      pieces.push_back(piece);
      rest.open_ns = end_ns;
    }
    if (rest.open_ns < window.close_ns.value_or(INT64_MAX)) pieces.push_back(rest);
  }
}

void RecordedSteps::number_steps() {
  std::uint32_t next = 0;
  if (has_steps()) {
    for (auto& [index, step] : steps) {
      step.number = step.stretch ? std::max(next, 1U) : index;
      next = step.number + 1;
    }
    return;
  }
  auto piece = pieces.begin();
  for (auto& [index, step] : steps) {
    for (; piece != pieces.end() && piece->open_ns <= step.start_ns; ++piece)
      if (piece->gpu_start_ns) piece->number = next++;
    step.number = next++;
  }
  for (; piece != pieces.end(); ++piece)
    if (piece->gpu_start_ns) piece->number = next++;
}

RecordedWindow* RecordedSteps::piece_at(std::int64_t time_ns) {
  const auto next =
      std::upper_bound(pieces.begin(), pieces.end(), time_ns,
                       [](std::int64_t at, const RecordedWindow& piece) { return at < piece.open_ns; });
  return next == pieces.begin() ? nullptr : &*std::prev(next);
}

std::optional<store::Id> RecordedSteps::window_step(std::int64_t time_ns) {
  if (has_steps_) return std::nullopt;
  const RecordedWindow* window = piece_at(time_ns);
  return window == nullptr || window->step_id == 0 ? std::nullopt : std::optional(window->step_id);
}

void RecordedSteps::LaunchPass::add(const Call& call) {
  ++(call.graph ? all_.graph_launches : all_.launches_seen);
  if (RecordedStep* step = finder_.find(call.step)) {
    if (!call.graph) ++step->launches_seen;
    step->first_correlation_id = std::min(step->first_correlation_id, call.correlation_id);
    step->last_correlation_id = std::max(step->last_correlation_id, call.correlation_id);
    if (call.position != kNone) {
      const auto later = std::upper_bound(
          step->graph_calls.begin(), step->graph_calls.end(), call.correlation_id,
          [](std::uint32_t id, const RecordedStep::GraphCall& graph) { return id < graph.correlation_id; });
      if (later != step->graph_calls.end())
        later->next_position = std::max(later->next_position, call.position + 1);
    }
  }
  join_.add(call, [this](const Execution& execution, const Call* of) { joined(execution, of); });
}

void RecordedSteps::LaunchPass::add(const Execution& execution) {
  ++(execution.graph_node ? all_.graph_kernel_records : all_.kernel_records);
  join_.add(execution, [this](const Execution& each, const Call* of) { joined(each, of); });
}

namespace {

// Executions come in any order.
void note_first(RecordedStep& step, std::uint32_t correlation_id, std::int64_t enter_ns,
                std::int64_t start_ns) {
  if (correlation_id < step.first_joined_id) {
    step.second_joined_id = step.first_joined_id;
    step.second_start_ns = step.first_start_ns;
    step.first_joined_id = correlation_id;
    step.first_enter_ns = enter_ns;
    step.first_start_ns = start_ns;
  } else if (correlation_id > step.first_joined_id && correlation_id < step.second_joined_id) {
    step.second_joined_id = correlation_id;
    step.second_start_ns = start_ns;
  }
}

}  // namespace

void RecordedSteps::LaunchPass::joined(const Execution& execution, const Call* call) {
  const bool timed = has_time(execution.start_ns, execution.end_ns);
  RecordedStep* step = call == nullptr ? nullptr : finder_.find(call->step);
  if (!all_.has_steps_ && step == nullptr && timed) {
    const std::int64_t at =
        call != nullptr ? call->enter_ns.value_or(execution.start_ns) : execution.start_ns;
    if (auto* window = all_.piece_at(at)) {
      window->gpu_start_ns = std::min(window->gpu_start_ns.value_or(execution.start_ns), execution.start_ns);
      window->gpu_end_ns = std::max(window->gpu_end_ns.value_or(execution.end_ns), execution.end_ns);
    }
  }
  if (step == nullptr) return;
  if (!call->graph) ++step->kernel_records;
  if (timed && call->enter_ns) note_first(*step, call->correlation_id, *call->enter_ns, execution.start_ns);
  if (timed) {
    step->gpu_start_ns = std::min(step->gpu_start_ns.value_or(execution.start_ns), execution.start_ns);
    step->gpu_end_ns = std::max(step->gpu_end_ns.value_or(execution.end_ns), execution.end_ns);
    step->kernel_end_ns = std::max(step->kernel_end_ns, execution.end_ns);
  }
  if (step->is_replay() && call->position != kNone) {
    step->counted[call->position] = {.kernel = execution.kernel,
                                     .grid = execution.grid,
                                     .device = execution.device,
                                     .duration_ns = timed ? execution.end_ns - execution.start_ns : 0};
  }
}

void RecordedSteps::LaunchPass::finish() {
  join_.finish([this](const Execution& execution, const Call* of) { joined(execution, of); });
  all_.graphs = join_.take_graphs();
  for (auto& [correlation_id, graph] : all_.graphs) std::sort(graph.nodes.begin(), graph.nodes.end());
  all_.steps_by_correlation_.clear();
  for (auto& [index, step] : all_.steps) {
    std::uint32_t position = 0;
    std::int64_t kernels = 0;
    for (RecordedStep::GraphCall& call : step.graph_calls) {
      position = call.next_position = std::max(call.next_position, position);
      GraphLaunch& graph = all_.graphs[call.correlation_id];
      graph.first_ordinal_in_step = position + kernels;
      kernels += static_cast<std::int64_t>(graph.nodes.size());
      call.kernels_until_here = kernels;
    }
    if (step.first_correlation_id <= step.last_correlation_id)
      all_.steps_by_correlation_.emplace_back(step.first_correlation_id, index);
  }
  std::sort(all_.steps_by_correlation_.begin(), all_.steps_by_correlation_.end());
}

void RecordedSteps::add_copy(const Copy& copy) {
  RecordedStep* step = step_of(copy);
  if (step == nullptr || !has_time(copy.start_ns, copy.end_ns)) return;
  // A copy may run ahead on another stream, beside the step before: a step with kernels begins with the first.
  if (step->kernel_end_ns == 0)
    step->gpu_start_ns = std::min(step->gpu_start_ns.value_or(copy.start_ns), copy.start_ns);
  step->gpu_end_ns = std::max(step->gpu_end_ns.value_or(copy.end_ns), copy.end_ns);
}

std::int64_t RecordedSteps::ordinal_in_step(const RecordedStep& step, std::uint32_t position) {
  const auto later = std::upper_bound(
      step.graph_calls.begin(), step.graph_calls.end(), position,
      [](std::uint32_t at, const RecordedStep::GraphCall& graph) { return at < graph.next_position; });
  return position + (later == step.graph_calls.begin() ? 0 : std::prev(later)->kernels_until_here);
}

RecordedStep* RecordedSteps::step_of(const Copy& copy) {
  const auto step_with = [&](std::uint32_t index) -> RecordedStep* {
    const auto found = steps.find(index);
    return found == steps.end() ? nullptr : &found->second;
  };
  if (copy.graph_node) {
    const auto graph = graphs.find(copy.correlation_id);
    return graph == graphs.end() ? nullptr : step_with(graph->second.call.step);
  }
  const auto next =
      std::upper_bound(steps_by_correlation_.begin(), steps_by_correlation_.end(),
                       std::pair<std::uint32_t, std::uint32_t>(copy.correlation_id, UINT32_MAX));
  RecordedStep* const following = next == steps_by_correlation_.end() ? nullptr : step_with(next->second);
  const bool begun = following != nullptr && copy.start_ns >= following->start_ns;
  if (next == steps_by_correlation_.begin()) return begun ? following : nullptr;
  RecordedStep* const step = step_with(std::prev(next)->second);
  if (copy.correlation_id <= step->last_correlation_id) return step;
  // After the step's last launch and before the next step's first. A result read back belongs to what made it.
  if (begun) return copy.kind == CopyKind::device_to_host ? step : following;
  // Of this step while the host was in its range, or if it was queued behind its kernels.
  constexpr std::int64_t kQueueGapNs = 100'000;
  const std::int64_t end_ns = std::max(step->end_ns.value_or(INT64_MAX), step->kernel_end_ns + kQueueGapNs);
  return copy.start_ns <= end_ns ? step : nullptr;
}

}  // namespace ridgeline::import
