#include "utilisation/cut_launches.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

namespace {

bool is_cut(const Launches::Row& row, const TimeWindow& window) {
  return has_time(row) && (row.start_ns < window.start_ns || row.end_ns > window.end_ns);
}

void scale(std::optional<Measured>& value, double share) {
  if (!value) return;
  value->value *= share;
  if (value->error) *value->error *= share;
}

void scale(MetricValues& metrics, double share) {
  for (const Metric metric : kAllMetrics) {
    std::optional<Measured> value = metrics.of(metric);
    if (!value || metric.entry().adds_up != AddsUp::sum) continue;
    scale(value, share);
    metrics.set(metric, value);
  }
}

void scale(TierUtilisation& tier, double share) {
  for (std::optional<Measured>* value : {&tier.duration, &tier.dram_bytes, &tier.cycles})
    scale(*value, share);
  scale(tier.metrics, share);
}

std::shared_ptr<const LaunchValues> scaled(const LaunchValues& whole, double share) {
  auto part = std::make_shared<LaunchValues>(whole);
  for (TierUtilisation* tier : {&part->t1, &part->t2, &part->cold}) scale(*tier, share);
  for (std::optional<Measured>* value :
       {&part->dram_bytes, &part->tensor_ops, &part->replay_duration, &part->in_situ_cycles})
    scale(*value, share);
  for (TypedOperations& type : part->tensor_types) type.count *= share;
  if (part->instruction_ops) {
    for (double* count :
         {&part->instruction_ops->fp16, &part->instruction_ops->fp32, &part->instruction_ops->fp64})
      *count *= share;
  }
  scale(part->metrics, share);
  return part;
}

}  // namespace

std::int64_t cut_by(const TimeWindow& window, const Model& model, const SharedVector<LaunchIndex>& launches) {
  return std::count_if(launches.begin(), launches.end(),
                       [&](LaunchIndex i) { return is_cut(model.launches.row(i), window); });
}

void cut_to(const TimeWindow& window, const Model& model, LaunchUtilisations& launches) {
  LaunchUtilisations cut;
  cut.reserve(launches.size());
  std::unordered_map<LaunchUtilisations::GroupIndex, LaunchUtilisations::GroupIndex> groups;
  for (LaunchUtilisations::Row row : launches.rows()) {
    const LaunchVerdict& verdict = launches.groups()[row.group];
    const Launches::Row& launch = model.launches.row(row.launch);
    if (!is_cut(launch, window) || row.duration_ns <= 0) {
      const auto [known, added] = groups.try_emplace(row.group, 0);
      if (added) known->second = cut.add_group(verdict);
      row.group = known->second;
    } else {
      const std::int64_t inside_ns = std::max<std::int64_t>(
          std::min(launch.end_ns, window.end_ns) - std::max(launch.start_ns, window.start_ns), 0);
      const double share = static_cast<double>(inside_ns) / static_cast<double>(row.duration_ns);
      row.duration_ns = inside_ns;
      row.deviation_ns *= share;  // not a number stays what it is
      LaunchVerdict part = verdict;
      if (!part.values->blank) part.values = scaled(*part.values, share);
      row.group = cut.add_group(part);
    }
    cut.add(row);
  }
  launches = std::move(cut);
}

}  // namespace ridgeline::analyzer
