#include "steps/selection.h"

#include <algorithm>
#include <limits>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "steps/range_selection.h"

namespace ridgeline::analyzer {

namespace {

bool was_called_in(const CalledIn& calls, const store::Launch& launch) {
  return launch.thread_id == calls.thread_id && launch.host_start_ns &&
         *launch.host_start_ns >= calls.start_ns && *launch.host_start_ns <= calls.end_ns;
}

// Leaves of a step what runs on the device, in the window, and was launched where the scope says.
void keep_members(const Model& model, const Scope& scope, RepresentativeStep& step) {
  const RangePattern range(scope.range);
  const RangePattern copied(scope.calls ? scope.calls->name : std::string());
  const auto outside = [&](const auto& row) {
    return (scope.device_id && row.device_id != *scope.device_id) ||
           (scope.window && !runs_in(row, *scope.window)) ||
           (!scope.range.empty() && !range.holds(model.string(row.nvtx_path_id)));
  };
  const auto copied_elsewhere = [&](const auto& row) {
    return outside(row) || (scope.calls && !copied.holds(model.string(row.nvtx_path_id)));
  };
  step.launches.erase_if([&](LaunchIndex i) {
    const store::Launch launch = model.launches[i];
    return outside(launch) || (scope.calls && !was_called_in(*scope.calls, launch));
  });
  std::erase_if(step.memcpys, [&](std::size_t i) { return copied_elsewhere(model.memcpys[i]); });
  std::erase_if(step.memsets, [&](std::size_t i) { return copied_elsewhere(model.memsets[i]); });
}

// What of a step a scope keeps.
void filter(const Model& model, const Scope& scope, RepresentativeStep& step) {
  if (scope.device_id || scope.window || !scope.range.empty() || scope.calls)
    keep_members(model, scope, step);
  if (scope.window) {
    step.window_start_ns = std::max(step.window_start_ns, scope.window->start_ns);
    step.window_end_ns = std::max(step.window_start_ns, std::min(step.window_end_ns, scope.window->end_ns));
    step.scope = ScopeKind::window;
  }
  if (scope.range.empty() && !scope.calls) return;
  step.scope = ScopeKind::range;
  step.range = scope.calls ? scope.calls->name : scope.range;
  if (scope.calls) step.instances = 1;
  // A range's time: from its first work on the GPU to the end of its last.
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

// Everything of the process that ran in the window, whichever step it is of.
RepresentativeStep whole_window(const Model& model, store::Id process_id, const TimeWindow& window) {
  RepresentativeStep all;
  all.scope = ScopeKind::window;
  all.summary.process_id = process_id;
  all.summary.status = StepStatus::ok;
  all.window_start_ns = window.start_ns;
  all.window_end_ns = window.end_ns;
  const auto take = [&](const auto& rows, auto& into) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].process_id == process_id && runs_in(rows[i], window)) into.push_back(i);
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

// For people: of a scope that nothing is in.
std::string where(const Scope& scope, const RepresentativeStep& step) {
  if (scope.window) return " in that window";
  return step.summary.step_id != 0 ? " in step " + std::to_string(step.summary.step_index) : "";
}

// For people, who count kinds from 1.
Failure no_kind(const StepAnalysis& steps, std::size_t kind) {
  const std::size_t kinds = steps.kinds.size();
  std::string there = "no steps";
  if (kinds == 1) there = "steps of one kind";
  if (kinds > 1) there = "steps of " + std::to_string(kinds) + " kinds";
  return {ErrorKind::usage,
          "there is no step of kind " + std::to_string(kind + 1) + ": the process has " + there};
}

// Steps one after the other as if they were one.
Result<Selection> together(const Model& model, Selection selection, const Scope& scope) {
  RepresentativeStep& step = selection.steps.representative;
  RepresentativeStep all;
  all.scope = step.scope;
  all.summary = step.summary;
  all.peers = step.peers;
  all.summary.launches = 0;
  std::int64_t length_ns = 0;
  for (const StepSummary& summary : selection.steps.steps) {
    if (summary.process_id != selection.steps.process_id || !chosen(summary, scope.steps)) continue;
    RepresentativeStep part = represent(model, summary);
    filter(model, scope, part);
    if (selection.parts.empty()) {
      all.window_start_ns = part.window_start_ns;
      all.scope = part.scope;
      all.range = part.range;
    }
    all.instances += part.instances;
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
  if (!scope.range.empty() && all.launches.empty()) return no_range(scope, " in those steps");
  all.summary.launches = static_cast<std::int64_t>(all.launches.size());
  // Shares are of the steps' own time: what lies between them is not counted.
  all.window_end_ns = all.window_start_ns + length_ns;
  step = std::move(all);
  return selection;
}

}  // namespace

Result<Selection> select(const Model& model, const StepOptions& options, const Scope& scope) {
  using Kind = StepSelection::Kind;
  StepOptions wanted = options;
  if (scope.process_id) wanted.process_id = scope.process_id;
  if (scope.steps.kind == Kind::representative && scope.steps.step_kind > 0)
    wanted.kind = scope.steps.step_kind;
  const bool listed = scope.steps.kind == Kind::listed;
  if (listed && scope.steps.indices.size() == 1) wanted.step_index = scope.steps.indices.front();
  if (scope.window && scope.window->end_ns <= scope.window->start_ns)
    return Failure{ErrorKind::usage, "the time window is empty: its end is not after its start"};
  auto steps = analyze_steps(model, wanted);
  if (!steps) return steps.failure();
  Selection selection;
  selection.steps = std::move(steps).value();
  if (wanted.kind > 0 && wanted.kind >= selection.steps.kinds.size())
    return no_kind(selection.steps, wanted.kind);
  RepresentativeStep& step = selection.steps.representative;
  if (scope.steps.kind == Kind::phase || (listed && scope.steps.indices.size() > 1))
    return together(model, std::move(selection), scope);
  if (scope.steps.kind == Kind::any && !scope.range.empty())
    return select_range(model, std::move(selection), scope);
  const bool any =
      scope.steps.kind == Kind::any || (scope.steps.kind == Kind::representative && !wanted.step_index);
  if (any && scope.window) {
    std::vector<StepIndex> peers = std::move(step.peers);
    step = whole_window(model, selection.steps.process_id, *scope.window);
    step.peers = std::move(peers);
  } else if (scope.steps.kind == Kind::any) {
    step = represent_recording(model, selection.steps.process_id);
  } else if (any && step.scope == ScopeKind::recording && !step.whole_recording) {
    // Without steps each recording window counts as one, and all of them are what was recorded.
    Scope all = scope;
    all.steps = StepSelection::all_of(step.summary.phase);
    const auto windows = std::count_if(
        selection.steps.steps.begin(), selection.steps.steps.end(), [&](const StepSummary& summary) {
          return summary.process_id == selection.steps.process_id && chosen(summary, all.steps);
        });
    if (windows > 1) return together(model, std::move(selection), all);
  }
  filter(model, scope, step);
  if (!scope.range.empty() && step.launches.empty()) return no_range(scope, where(scope, step));
  if (scope.calls && step.launches.empty()) {
    return Failure{ErrorKind::no_data,
                   "this instance of the NVTX range '" + scope.calls->name + "' launched no kernel"};
  }
  selection.parts.push_back({step});
  return selection;
}

}  // namespace ridgeline::analyzer
