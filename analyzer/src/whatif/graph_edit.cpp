#include "whatif/graph_edit.h"

#include <algorithm>
#include <map>
#include <vector>

namespace ridgeline::analyzer {

using Index = RecordedStep::Index;

void edit_as_graph(const RecordedStep& step, const ReplayOptions& options, StepEdit& edit) {
  std::vector<Index> order;
  for (Index i = 0; i < step.calls.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return step.calls[a].start_ns < step.calls[b].start_ns; });
  std::vector<bool> graph(step.calls.size(), false);
  for (const RecordedStep::Work& work : step.works) {
    if (work.graph && work.call != RecordedStep::kNone) graph[work.call] = true;
  }
  std::map<std::int64_t, Index> first_of;  // of the launches since the thread's last wait
  std::vector<std::vector<Index>> segments(step.calls.size());
  for (const Index i : order) {
    const RecordedStep::Call& call = step.calls[i];
    if (call.waits || graph[i]) {
      first_of.erase(call.thread_id);
      continue;
    }
    segments[first_of.try_emplace(call.thread_id, i).first->second].push_back(i);
  }
  std::vector<bool> captured(step.calls.size(), false);
  for (const std::vector<Index>& segment : segments) {
    if (segment.size() < 2) continue;  // a graph of one kernel is no gain
    std::int64_t calls_ns = 0;
    for (const Index i : segment) {
      captured[i] = true;
      calls_ns += std::max<std::int64_t>(step.calls[i].end_ns - step.calls[i].start_ns, 0);
      edit.calls[i] = {0, 0};
    }
    edit.calls[segment.front()] = {std::min(options.graph_launch_ns, calls_ns), std::nullopt};
  }
  for (Index i = 0; i < step.works.size(); ++i) {
    const RecordedStep::Work& work = step.works[i];
    if (work.call == RecordedStep::kNone || !captured[work.call]) continue;
    std::optional<std::int64_t>& max_ns = edit.works[i].max_pause_ns;
    max_ns = std::min(max_ns.value_or(options.graph_pause_ns), options.graph_pause_ns);
  }
}

}  // namespace ridgeline::analyzer
