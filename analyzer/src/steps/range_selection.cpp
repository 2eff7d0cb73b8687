#include "steps/range_selection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ridgeline/analyzer/model/nvtx_path.h"

namespace ridgeline::analyzer {

namespace {

// The less a phase disturbs, the earlier; work outside of steps is as in the timeline.
constexpr std::array kPhases = {Phase::timeline, Phase::sample, Phase::after, Phase::warmup,
                                Phase::stalls,   Phase::replay, Phase::cold,  Phase::flops};
constexpr std::size_t kNotTaken = kPhases.size();
// Ranges of one thread that begin after one that is still open: more are looked at only in a recording gone wrong.
constexpr int kOpenAtOnce = 16;

// What an instance launched, and when that ran.
struct Instance {
  std::vector<LaunchIndex> launches;
  std::vector<std::size_t> memcpys, memsets;
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = 0;

  // Of a row that the scope's window cuts, what lies inside.
  template <typename Row>
  void include(const Row& row, const std::optional<TimeWindow>& window) {
    if (row.start_ns <= 0 || row.end_ns < row.start_ns) return;
    start_ns = std::min(start_ns, window ? std::max(row.start_ns, window->start_ns) : row.start_ns);
    end_ns = std::max(end_ns, window ? std::min(row.end_ns, window->end_ns) : row.end_ns);
  }
};

class Instances {
 public:
  Instances(const Model& model, store::Id process_id, const Scope& scope)
      : model_(model), process_id_(process_id), scope_(scope), pattern_(scope.range) {
    for (const ModelStep& step : model.steps) {
      const auto* const phase = std::find(kPhases.begin(), kPhases.end(), step.step.phase);
      const auto degree = static_cast<std::size_t>(phase - kPhases.begin());
      degrees_.emplace(step.step.id, step.step.status == StepStatus::ok ? degree : kNotTaken);
    }
    for (const store::NvtxRange& range : model.nvtx_ranges) {
      const std::string_view path = model.string(range.path_id);
      if (range.process_id == process_id && !path.empty() && path == outermost(range.path_id))
        ranges_[range.thread_id].push_back(&range);
    }
    for (auto& [thread_id, ranges] : ranges_) {
      std::sort(ranges.begin(), ranges.end(), [](const auto* a, const auto* b) {
        return std::tie(a->start_ns, a->id) < std::tie(b->start_ns, b->id);
      });
    }
  }

  /// Of the least disturbed degree that there are any of, by time.
  std::vector<Instance> take() {
    std::array<std::map<Key, Instance>, kPhases.size()> of_degree;
    std::int64_t run = 0;
    std::optional<store::Id> step_of_run;
    for (LaunchIndex i = 0; i < model_.launches.size(); ++i) {
      const store::Launch launch = model_.launches[i];
      if (launch.process_id != process_id_) continue;
      if (outermost(launch.nvtx_path_id).empty() || launch.step_id != step_of_run) ++run;
      step_of_run = launch.step_id;
      const std::size_t degree = degree_of(launch);
      if (degree == kNotTaken) continue;
      Instance& instance = of_degree[degree][key_of(launch, run)];
      instance.launches.push_back(i);
      instance.include(launch, scope_.window);
    }
    std::vector<Instance> found;
    for (std::size_t degree = 0; degree < of_degree.size() && found.empty(); ++degree) {
      for (auto& [key, instance] : of_degree[degree]) {
        if (instance.end_ns > 0) found.push_back(std::move(instance));
      }
      if (found.empty()) continue;
      sort(found);
      add(model_.memcpys, degree, &Instance::memcpys, found);
      add(model_.memsets, degree, &Instance::memsets, found);
      sort(found);  // a copy may run before the first kernel
    }
    return found;
  }

 private:
  /// The NVTX range, where the call that launched is known to lie in one; else the launches that no other parts.
  using Key = std::pair<store::Id, std::int64_t>;

  static void sort(std::vector<Instance>& instances) {
    std::sort(instances.begin(), instances.end(), [](const Instance& a, const Instance& b) {
      return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
    });
  }

  std::string_view outermost(std::optional<store::Id> path_id) {
    if (!path_id) return {};
    const auto [known, fresh] = outermost_.try_emplace(*path_id);
    if (fresh) known->second = pattern_.outermost(model_.string(path_id)).value_or(std::string_view());
    return known->second;
  }

  // kNotTaken: it is not of the scope.
  template <typename Row>
  std::size_t degree_of(const Row& row) {
    if (row.process_id != process_id_ || (scope_.device_id && row.device_id != *scope_.device_id))
      return kNotTaken;
    if (scope_.window && !runs_in(row, *scope_.window)) return kNotTaken;
    if (outermost(row.nvtx_path_id).empty()) return kNotTaken;
    if (!row.step_id) return 0;
    const auto known = degrees_.find(*row.step_id);
    return known == degrees_.end() ? kNotTaken : known->second;
  }

  Key key_of(const store::Launch& launch, std::int64_t run) {
    const store::Id range =
        launch.host_start_ns && launch.thread_id
            ? range_of(*launch.thread_id, *launch.host_start_ns, outermost(launch.nvtx_path_id))
            : 0;
    return range != 0 ? Key{range, 0} : Key{0, run};
  }

  // The range of that path that was open on the thread then; 0 without one.
  [[nodiscard]] store::Id range_of(std::int64_t thread_id, std::int64_t call_ns,
                                   std::string_view path) const {
    const auto known = ranges_.find(thread_id);
    if (known == ranges_.end()) return 0;
    const auto& all = known->second;
    auto after = std::upper_bound(all.begin(), all.end(), call_ns,
                                  [](std::int64_t ns, const auto* range) { return ns < range->start_ns; });
    for (int looked = 0; after != all.begin() && looked < kOpenAtOnce; ++looked) {
      const store::NvtxRange& range = **--after;
      if (range.end_ns.value_or(std::numeric_limits<std::int64_t>::max()) >= call_ns &&
          model_.string(range.path_id) == path)
        return range.id;
    }
    return 0;
  }

  // When a copy was called is not stored: it goes with the last instance that had begun on the GPU when it ran.
  template <typename Rows>
  void add(const Rows& rows, std::size_t degree, std::vector<std::size_t> Instance::*into,
           std::vector<Instance>& found) {
    std::vector<std::int64_t> starts_ns;
    for (const Instance& instance : found) starts_ns.push_back(instance.start_ns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (degree_of(rows[i]) != degree) continue;
      const auto after = std::upper_bound(starts_ns.begin(), starts_ns.end(), rows[i].start_ns);
      Instance& instance =
          found[after == starts_ns.begin() ? 0 : static_cast<std::size_t>(after - starts_ns.begin()) - 1];
      (instance.*into).push_back(i);
      instance.include(rows[i], scope_.window);
    }
  }

  const Model& model_;
  const store::Id process_id_;
  const Scope& scope_;
  const RangePattern pattern_;
  std::unordered_map<store::Id, std::size_t> degrees_;                   // of steps
  std::unordered_map<store::Id, std::string_view> outermost_;            // of paths
  std::map<std::int64_t, std::vector<const store::NvtxRange*>> ranges_;  // by thread
};

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Failure no_range(const Scope& scope, const std::string& where) {
  return {ErrorKind::usage, "no NVTX range '" + scope.range + "' launched a kernel" + where +
                                ": `ridgeline rank --by nvtx` lists those that did"};
}

Result<Selection> select_range(const Model& model, Selection selection, const Scope& scope) {
  const std::vector<Instance> instances = Instances(model, selection.steps.process_id, scope).take();
  if (instances.empty()) return no_range(scope, scope.window ? " in that window" : "");
  RepresentativeStep& step = selection.steps.representative;
  RepresentativeStep all;
  all.scope = ScopeKind::range;
  all.range = scope.range;
  all.instances = static_cast<std::int64_t>(instances.size());
  all.summary.process_id = selection.steps.process_id;
  all.summary.phase = step.summary.phase;
  all.peers = step.peers;
  std::vector<LaunchIndex> launches;
  for (const Instance& instance : instances) {
    append(launches, instance.launches);
    append(all.memcpys, instance.memcpys);
    append(all.memsets, instance.memsets);
    const bool apart =
        selection.parts.empty() || selection.parts.back().step.window_end_ns < instance.start_ns;
    if (apart) {
      RepresentativeStep part;
      part.scope = ScopeKind::range;
      part.summary.process_id = all.summary.process_id;
      part.window_start_ns = instance.start_ns;
      selection.parts.push_back({std::move(part)});
    }
    RepresentativeStep& part = selection.parts.back().step;
    part.window_end_ns = std::max(part.window_end_ns, instance.end_ns);
    part.launches.append(SharedVector<LaunchIndex>(instance.launches));
    append(part.memcpys, instance.memcpys);
    append(part.memsets, instance.memsets);
  }
  all.launches = std::move(launches);
  all.summary.launches = static_cast<std::int64_t>(all.launches.size());
  // Shares are of the instances' own time: what lies between them is not counted.
  all.window_start_ns = selection.parts.front().step.window_start_ns;
  all.window_end_ns = all.window_start_ns;
  for (const Selection::Part& part : selection.parts)
    all.window_end_ns += part.step.window_end_ns - part.step.window_start_ns;
  step = std::move(all);
  return selection;
}

}  // namespace ridgeline::analyzer
