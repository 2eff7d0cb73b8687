#include "ridgeline/analyzer/declared_work.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ridgeline::analyzer {

namespace {

void add(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

// A sum that one missing part makes unknown.
class CompleteSum {
 public:
  void add(const std::optional<Measured>& value) {
    if (value) {
      sum_ += value->value;
      any_ = true;
    } else {
      complete_ = false;
    }
  }
  [[nodiscard]] std::optional<double> result() const {
    return any_ && complete_ ? std::optional(sum_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  bool any_ = false;
  bool complete_ = true;
};

std::optional<double> ratio(const std::optional<double>& measured, const std::optional<double>& declared) {
  if (!measured || !declared || *declared <= 0) return std::nullopt;
  return *measured / *declared;
}

}  // namespace

std::vector<DeclaredWork> compare_declared_work(const Model& model, const StepAnalysis& steps,
                                                const UtilisationAnalysis& utilisation) {
  const RepresentativeStep& step = steps.representative;
  std::unordered_map<store::Id, const store::NvtxRange*> ranges;
  for (const store::NvtxRange& range : model.nvtx_ranges) {
    if (range.process_id != steps.process_id || !range.end_ns) continue;
    if (!step.whole_recording && range.step_id != step.summary.step_id) continue;
    ranges.emplace(range.id, &range);
  }
  std::vector<std::pair<std::int64_t, std::size_t>> called;  // time of the call, launch
  for (std::size_t i = 0; i < utilisation.launches.size(); ++i) {
    const auto& host_start_ns = model.launches[utilisation.launches[i].launch].host_start_ns;
    if (host_start_ns) called.emplace_back(*host_start_ns, i);
  }
  std::sort(called.begin(), called.end());
  struct Group {
    DeclaredWork work;
    CompleteSum bytes, operations;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const store::Annotation& annotation : model.annotations) {
    const auto found = ranges.find(annotation.nvtx_range_id);
    if (found == ranges.end()) continue;
    const store::NvtxRange& range = *found->second;
    Group& group = groups[{std::string(model.string(range.path_id)), annotation.name}];
    ++group.work.ranges;
    add(group.work.declared_bytes, annotation.bytes);
    add(group.work.declared_flops, annotation.flops);
    auto next = std::lower_bound(called.begin(), called.end(), std::pair(range.start_ns, std::size_t{0}));
    for (; next != called.end() && next->first <= *range.end_ns; ++next) {
      const LaunchUtilisation& item = utilisation.launches[next->second];
      const store::Launch& launch = model.launches[item.launch];
      if (launch.thread_id && *launch.thread_id != range.thread_id) continue;
      ++group.work.launches;
      group.work.time_ns += item.duration_ns;
      group.bytes.add(item.dram_bytes);
      group.operations.add(item.tensor_ops);
    }
  }
  std::vector<DeclaredWork> result;
  for (auto& [key, group] : groups) {
    DeclaredWork& work = group.work;
    work.path = key.first;
    work.name = key.second;
    work.measured_bytes = group.bytes.result();
    work.measured_tensor_ops = group.operations.result();
    work.bytes_ratio = ratio(work.measured_bytes, work.declared_bytes);
    work.ops_ratio = ratio(work.measured_tensor_ops, work.declared_flops);
    result.push_back(std::move(work));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const DeclaredWork& a, const DeclaredWork& b) { return a.time_ns > b.time_ns; });
  return result;
}

}  // namespace ridgeline::analyzer
