#include "steps/selection.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "ridgeline/analyzer/model/nvtx_path.h"

namespace ridgeline::analyzer {

namespace {

// What of a step a scope keeps. `from_start`: the scope's window replaces the step's own.
void filter(const Model& model, const Scope& scope, RepresentativeStep& step) {
  if (scope.device_id || scope.window || !scope.nvtx_path.empty()) {
    const auto outside = [&](const auto& row) {
      return (scope.device_id && row.device_id != *scope.device_id) ||
             (scope.window &&
              (row.start_ns < scope.window->start_ns || row.start_ns >= scope.window->end_ns)) ||
             (!scope.nvtx_path.empty() && !in_subtree(model.string(row.nvtx_path_id), scope.nvtx_path));
    };
    step.launches.erase_if([&](LaunchIndex i) { return outside(model.launches[i]); });
    std::erase_if(step.memcpys, [&](std::size_t i) { return outside(model.memcpys[i]); });
    std::erase_if(step.memsets, [&](std::size_t i) { return outside(model.memsets[i]); });
  }
  if (scope.window) {
    step.window_start_ns = std::max(step.window_start_ns, scope.window->start_ns);
    step.window_end_ns = std::max(step.window_start_ns, std::min(step.window_end_ns, scope.window->end_ns));
  }
  if (scope.nvtx_path.empty()) return;
  // A subtree's time: from its first work on the GPU to the end of its last.
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = 0;
  const auto include = [&](const auto& row) {
    if (row.start_ns <= 0 || row.end_ns < row.start_ns) return;
    start_ns = std::min(start_ns, row.start_ns);
    end_ns = std::max(end_ns, row.end_ns);
  };
  for (const LaunchIndex i : step.launches) include(model.launches[i]);
  for (const std::size_t i : step.memcpys) include(model.memcpys[i]);
  for (const std::size_t i : step.memsets) include(model.memsets[i]);
  step.window_start_ns = std::max(step.window_start_ns, start_ns);
  step.window_end_ns = std::max(step.window_start_ns, std::min(step.window_end_ns, end_ns));
}

// Everything of the process that began in the window, whichever step it is of.
RepresentativeStep whole_window(const Model& model, store::Id process_id, const TimeWindow& window) {
  RepresentativeStep all;
  all.summary.process_id = process_id;
  all.summary.status = StepStatus::ok;
  all.window_start_ns = window.start_ns;
  all.window_end_ns = window.end_ns;
  const auto take = [&](const auto& rows, auto& into) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].process_id == process_id && rows[i].start_ns >= window.start_ns &&
          rows[i].start_ns < window.end_ns)
        into.push_back(i);
    }
  };
  std::vector<LaunchIndex> launches;
  take(model.launches, launches);
  all.launches = std::move(launches);
  take(model.memcpys, all.memcpys);
  take(model.memsets, all.memsets);
  all.summary.launches = static_cast<std::int64_t>(all.launches.size());
  return all;
}

bool chosen(const StepSummary& step, const StepSelection& selection) {
  if (step.gpu_duration_ns <= 0 || step.launches == 0) return false;
  if (selection.kind == StepSelection::Kind::phase)
    return step.phase == selection.phase && step.status == StepStatus::ok;
  return std::binary_search(selection.indices.begin(), selection.indices.end(), step.step_index);
}

}  // namespace

Result<Selection> select(const Model& model, const StepOptions& options, const Scope& scope) {
  StepOptions wanted = options;
  if (scope.process_id) wanted.process_id = scope.process_id;
  const bool listed = scope.steps.kind == StepSelection::Kind::listed;
  if (listed && scope.steps.indices.size() == 1) wanted.step_index = scope.steps.indices.front();
  if (scope.window && scope.window->end_ns <= scope.window->start_ns)
    return Failure{ErrorKind::usage, "the time window is empty: its end is not after its start"};
  auto steps = analyze_steps(model, wanted);
  if (!steps) return steps.failure();
  Selection selection;
  selection.steps = std::move(steps).value();
  RepresentativeStep& step = selection.steps.representative;
  const bool several =
      scope.steps.kind == StepSelection::Kind::phase || (listed && scope.steps.indices.size() > 1);
  if (!several) {
    if (scope.window && scope.steps.kind == StepSelection::Kind::representative && !wanted.step_index) {
      std::vector<StepIndex> peers = std::move(step.peers);
      step = whole_window(model, selection.steps.process_id, *scope.window);
      step.peers = std::move(peers);
    }
    filter(model, scope, step);
    selection.parts.push_back({step});
    return selection;
  }
  RepresentativeStep all;
  all.summary = step.summary;
  all.peers = step.peers;
  all.summary.launches = 0;
  std::int64_t length_ns = 0;
  for (const StepSummary& summary : selection.steps.steps) {
    if (summary.process_id != selection.steps.process_id || !chosen(summary, scope.steps)) continue;
    RepresentativeStep part = represent(model, summary);
    filter(model, scope, part);
    if (selection.parts.empty()) all.window_start_ns = part.window_start_ns;
    length_ns += part.window_end_ns - part.window_start_ns;
    all.launches.append(part.launches);
    all.memcpys.insert(all.memcpys.end(), part.memcpys.begin(), part.memcpys.end());
    all.memsets.insert(all.memsets.end(), part.memsets.begin(), part.memsets.end());
    selection.parts.push_back({std::move(part)});
  }
  if (selection.parts.empty())
    return Failure{ErrorKind::usage,
                   "the capture holds no GPU work of the steps asked for: `ridgeline steps` lists "
                   "what there is"};
  all.summary.launches = static_cast<std::int64_t>(all.launches.size());
  // Shares are of the steps' own time: what lies between them is not counted.
  all.window_end_ns = all.window_start_ns + length_ns;
  step = std::move(all);
  return selection;
}

}  // namespace ridgeline::analyzer
