#include "counted_kinds.h"

#include <cmath>
#include <map>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kUnitNs = 1'000'000;

}  // namespace

TierRow CountedKinds::row_of(LaunchIndex launch, bool in_a_time) const {
  TierRow row;
  row.launch = model_.launches[launch];
  const double took_ns = kinds_->usual_ns(launch);
  if (in_a_time && took_ns <= 0) return row;
  const double factor = in_a_time ? static_cast<double>(kUnitNs) / took_ns : 1;
  for (const MetricValue& value : model_.metrics_of(row.launch.id)) {
    if (value.tier != Tier::t2 || !std::isfinite(value.value)) continue;
    MetricValue& own = row.values.emplace(value.name, value).first->second;
    if (is_amount(value.name)) own.value *= factor;
  }
  if (in_a_time)
    row.launch.end_ns =
        row.launch.start_ns + std::llround(factor * static_cast<double>(duration_ns(row.launch)));
  return row;
}

namespace {

// What tells the same of others counts once: it has the mean of what its rows say.
TierRow joined(const std::vector<TierRow>& rows) {
  TierRow row = rows.front();
  ValuesByMetric values;
  for (const TierRow& each : rows)
    for (const auto& [name, value] : each.values) {
      row.values.emplace(name, value);
      values[name].push_back(value.value);
    }
  for (auto& [name, value] : row.values) value.value = mean(values[name]);
  return row;
}

}  // namespace

void CountedKinds::find_values(const store::Device* device, OfKind& of_kind) const {
  std::map<std::uint64_t, std::vector<TierRow>> observed;
  for (const LaunchIndex counted : of_kind.alike.launches)
    if (TierRow row = row_of(counted, of_kind.alike.in_a_time); !row.values.empty())
      observed[kinds_->observation(counted)].push_back(std::move(row));
  TierRows rows;
  for (const auto& [observation, same] : observed) rows.rows.push_back(joined(same));
  of_kind.values.emplace(rows, device);
}

void CountedKinds::complete(LaunchIndex launch, const store::Device* device, ReplayValues& values) {
  const store::Launch& site = model_.launches.site(launch);
  // What a graph launches is counted as a whole: a kernel of the same name elsewhere is another kind.
  if (site.graph_node_id || site.graph_id) return;
  if (!kinds_) kinds_.emplace(model_, analysis_, counted_, Tier::t2);
  if (kinds_->empty()) return;
  const std::int64_t takes_ns = duration_ns(model_.launches.row(launch));
  const auto [found, fresh] = found_.try_emplace(kinds_->number(launch));
  if (fresh)
    for (LaunchKinds::Alike& alike : kinds_->alike(launch)) found->second.push_back({std::move(alike), {}});
  for (OfKind& each : found->second) {
    if (values.values.size() >= kinds_->metrics()) break;
    if (each.alike.in_a_time && takes_ns <= 0) continue;
    if (!each.values) find_values(device, each);
    if (!each.values->replayed) continue;
    values.complete(*each.values, *kinds_, each.alike,
                    each.alike.in_a_time ? static_cast<double>(takes_ns) / static_cast<double>(kUnitNs) : 1);
  }
}

}  // namespace ridgeline::analyzer
