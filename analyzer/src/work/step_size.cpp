#include "ridgeline/analyzer/work/step_size.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ridgeline::analyzer {

namespace {

struct SizedRange {
  const store::NvtxRange* range;
  StepSize size;
};

void add_known(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

// Of ranges in one another only the outermost counts: a step and its micro-batches may both say it.
std::optional<double> sum_of(const std::vector<SizedRange>& ranges,
                             std::optional<double> StepSize::*quantity) {
  std::optional<double> sum;
  std::unordered_map<std::int64_t, std::int64_t> covered_until;  // by thread
  for (const SizedRange& item : ranges) {
    const std::optional<double>& amount = item.size.*quantity;
    if (!amount) continue;
    const auto [until, fresh] = covered_until.try_emplace(item.range->thread_id, item.range->start_ns);
    if (!fresh && item.range->start_ns < until->second) continue;
    until->second = std::max(until->second, item.range->end_ns.value_or(item.range->start_ns));
    add_known(sum, amount);
  }
  return sum;
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
      ranges.push_back({&range, size->second});
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const SizedRange& a, const SizedRange& b) {
    return a.range->start_ns != b.range->start_ns ? a.range->start_ns < b.range->start_ns
                                                  : a.range->depth < b.range->depth;
  });
  return {sum_of(ranges, &StepSize::tokens), sum_of(ranges, &StepSize::samples)};
}

}  // namespace ridgeline::analyzer
