#include "ridgeline/analyzer/work/step_size.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/work/step_pace.h"

namespace ridgeline::analyzer {

namespace {

void add_known(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

}  // namespace

StepSize declared_size(const Model& model, const StepAnalysis& steps) {
  std::unordered_map<store::Id, StepSize> sizes;  // by range
  for (const store::Annotation& annotation : model.annotations) {
    if (!annotation.tokens && !annotation.samples) continue;
    StepSize& size = sizes[annotation.nvtx_range_id];
    add_known(size.tokens, annotation.tokens);
    add_known(size.samples, annotation.samples);
  }
  if (sizes.empty()) return {};
  const RepresentativeStep& step = steps.representative;
  std::unordered_set<store::Id> chosen = {step.summary.step_id};
  for (const LaunchIndex index : step.launches) {
    if (const std::uint32_t at = model.launches.row(index).step; at != 0)
      chosen.insert(model.launches.step_ids()[at]);
  }
  std::vector<SizedRange> ranges;
  for (const store::NvtxRange& range : model.nvtx_ranges) {
    const auto size = sizes.find(range.id);
    if (size == sizes.end() || range.process_id != steps.process_id) continue;
    if (step.whole_recording || chosen.contains(range.step_id.value_or(0)))
      ranges.push_back({range.step_id.value_or(0), range.thread_id, range.start_ns,
                        range.end_ns.value_or(range.start_ns), range.depth, size->second});
  }
  return size_of(std::move(ranges));
}

}  // namespace ridgeline::analyzer
