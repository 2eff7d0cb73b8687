#include "launch_kinds.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ridgeline::analyzer {

namespace {

// More of one kind in one step tell nothing new.
constexpr std::size_t kMostOfOne = 64;
constexpr std::int64_t kUnitNs = 1'000'000;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 29);
}

// Ranges that are numbered, by layer or by step, are the same place.
std::uint64_t hash_without_numbers(std::string_view path) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : path)
    if (c < '0' || c > '9') hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace

LaunchKinds::LaunchKinds(const Model& model, const std::vector<StepIndex>& counted) : model_(model) {
  if (counted.empty()) return;
  note_sites();
  for (const StepIndex step : counted) {
    std::map<std::size_t, Counted>& by = steps_.emplace_back();
    const bool stretch = model_.steps[step].step.source == StepSource::window;
    const std::size_t coarsest = stretch ? finenesses : alone + 1;
    for (const LaunchIndex launch : model_.steps[step].launches) {
      const auto values = model_.metrics_of(model_.launches.row(launch).id);
      if (std::none_of(values.begin(), values.end(), [](const MetricValue& v) { return v.tier == Tier::t2; }))
        continue;
      for (std::size_t fineness = 0; fineness < coarsest; ++fineness) {
        auto& of_kind = by[fineness][key(launch, static_cast<Fineness>(fineness))];
        if (of_kind.size() < kMostOfOne) of_kind.push_back(launch);
      }
    }
  }
}

void LaunchKinds::note_sites() {
  for (const store::Launch& site : model_.launches.sites()) {
    Key key = 1;
    for (const std::int64_t part : {site.device_id, site.kernel_id, site.grid.x, site.grid.y, site.grid.z,
                                    site.block.x, site.block.y, site.block.z, site.dynamic_smem_bytes})
      key = mixed(key, static_cast<std::uint64_t>(part));
    alone_.push_back(key);
    const Key kernel = mixed(mixed(mixed(mixed(2, static_cast<std::uint64_t>(site.device_id)),
                                         static_cast<std::uint64_t>(site.kernel_id)),
                                   static_cast<std::uint64_t>(site.block.x)),
                             static_cast<std::uint64_t>(site.block.y * 4096 + site.block.z));
    const auto blocks = static_cast<double>(std::max<std::int64_t>(site.grid.x, 1)) *
                        static_cast<double>(std::max<std::int64_t>(site.grid.y, 1)) *
                        static_cast<double>(std::max<std::int64_t>(site.grid.z, 1));
    of_the_kernel_.push_back(kernel);
    of_about_the_size_.push_back(mixed(kernel, 1 + static_cast<std::uint64_t>(std::log2(blocks))));
    with_ranges_.push_back(mixed(key, hash_without_numbers(model_.string(site.nvtx_path_id))));
  }
  before_.assign(model_.launches.size(), 0);
  std::map<std::tuple<store::Id, store::Id, std::int64_t>, Key> latest;  // by process, device, stream
  for (LaunchIndex i = 0; i < model_.launches.size(); ++i) {
    const Launches::Row& row = model_.launches.row(i);
    const store::Launch& site = model_.launches.sites()[row.site];
    Key& before = latest[{site.process_id, site.device_id, site.stream_id}];
    before_[i] = before;
    before = alone_[row.site];
  }
}

LaunchKinds::Key LaunchKinds::key(LaunchIndex launch, Fineness fineness) const {
  const std::uint32_t site = model_.launches.row(launch).site;
  switch (fineness) {
    case with_neighbour:
      return mixed(with_ranges_[site], before_[launch]);
    case with_ranges:
      return with_ranges_[site];
    case of_about_the_size:
      return of_about_the_size_[site];
    case of_the_kernel:
      return of_the_kernel_[site];
    default:
      return alone_[site];
  }
}

const LaunchKinds::Known& LaunchKinds::values_of(LaunchIndex launch, const store::Device* device) {
  const Key finest = key(launch, with_neighbour);
  if (const auto found = known_.find(finest); found != known_.end()) return found->second;
  TierRows same, other;
  for (const auto& step : steps_) {
    for (const auto& [fineness, counted] : step) {
      const auto found = counted.find(key(launch, static_cast<Fineness>(fineness)));
      if (found == counted.end()) continue;
      for (const LaunchIndex index : found->second)
        fineness > alone ? add_scaled(index, other) : add_row(index, same);
      break;
    }
  }
  const auto values = [&](const TierRows& rows) {
    return rows.rows.empty() ? nullptr : std::make_shared<const ReplayValues>(rows, device);
  };
  return known_.emplace(finest, Known{values(same), values(other)}).first->second;
}

void LaunchKinds::add_row(LaunchIndex launch, TierRows& rows) const {
  TierRow row;
  row.launch = model_.launches[launch];
  for (const MetricValue& value : model_.metrics_of(row.launch.id))
    if (value.tier == Tier::t2 && std::isfinite(value.value)) row.values.emplace(value.name, value);
  if (!row.values.empty()) rows.rows.push_back(std::move(row));
}

void LaunchKinds::add_scaled(LaunchIndex launch, TierRows& rows) const {
  const std::int64_t took_ns = duration_ns(model_.launches.row(launch));
  const std::size_t before = rows.rows.size();
  if (took_ns > 0) add_row(launch, rows);
  if (rows.rows.size() == before) return;
  TierRow& row = rows.rows.back();
  row.launch.end_ns = row.launch.start_ns + kUnitNs;
  for (auto& [name, value] : row.values)
    if (is_amount(name)) value.value *= static_cast<double>(kUnitNs) / static_cast<double>(took_ns);
}

bool LaunchKinds::complete(LaunchIndex launch, const store::Device* device, ReplayValues& values) {
  const store::Launch& site = model_.launches.site(launch);
  // What a graph launches is counted as a whole: a kernel of the same name elsewhere is another kind.
  if (steps_.empty() || site.graph_node_id || site.graph_id) return false;
  const Known& of_kind = values_of(launch, device);
  if (of_kind.same != nullptr) values.complete(*of_kind.same);
  const std::int64_t takes_ns = duration_ns(model_.launches.row(launch));
  if (of_kind.other != nullptr && takes_ns > 0)
    values.complete(of_kind.other->times(static_cast<double>(takes_ns) / static_cast<double>(kUnitNs)));
  return values.by_kind;
}

}  // namespace ridgeline::analyzer
