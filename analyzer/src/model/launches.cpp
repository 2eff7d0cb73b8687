#include "ridgeline/analyzer/model/launches.h"

#include <algorithm>
#include <tuple>

namespace ridgeline::analyzer {

std::uint32_t Launches::step_index(std::optional<store::Id> id) {
  if (!id) return 0;
  if (last_step_ != 0 && step_ids_[last_step_] == *id) return last_step_;
  const auto [place, fresh] = step_index_.try_emplace(*id, static_cast<std::uint32_t>(step_ids_.size()));
  if (fresh) {
    step_ids_.push_back(*id);
    step_sizes_.push_back(0);
  }
  return last_step_ = place->second;
}

Launches::SiteIndex Launches::add_site(const store::Launch& site) {
  sites_.push_back(site);
  return static_cast<SiteIndex>(sites_.size() - 1);
}

bool Launches::in_order(const Row& a, const Row& b) const {
  return std::tie(sites_[a.site].process_id, a.start_ns, a.id) <
         std::tie(sites_[b.site].process_id, b.start_ns, b.id);
}

void Launches::note_time(std::int64_t time_ns) {
  const auto value = static_cast<std::uint64_t>(time_ns);
  farthest_time_ns_ = std::max(farthest_time_ns_, time_ns < 0 ? 0 - value : value);
}

void Launches::add(const store::LaunchRow& launch, SiteIndex site) {
  const Row row{.id = launch.id,
                .start_ns = launch.start_ns,
                .end_ns = launch.end_ns,
                .host_start_ns = launch.host_start_ns.value_or(Row::kAbsent),
                .host_end_ns = launch.host_end_ns.value_or(Row::kAbsent),
                .correlation_id = launch.correlation_id,
                .ordinal_in_step = launch.ordinal_in_step.value_or(Row::kAbsent),
                .site = site,
                .step = step_index(launch.step_id)};
  ++step_sizes_[row.step];
  note_time(row.start_ns);
  note_time(row.end_ns);
  if (launch.host_start_ns) note_time(row.host_start_ns);
  if (launch.host_end_ns) note_time(row.host_end_ns);
  const std::int64_t length_ns = duration_ns(row);
  longest_ns_ = std::max(longest_ns_, length_ns);
  total_ns_ += static_cast<double>(length_ns);
  sorted_ = sorted_ && (rows_.empty() || in_order(rows_.back(), row));
  rows_.push_back(row);
}

void Launches::push_back(const store::Launch& launch) {
  const auto [place, fresh] = site_index_.try_emplace(store::launch_site_key(launch));
  if (fresh) place->second = add_site(store::site_of(launch));
  add(store::row_of(launch), place->second);
}

void Launches::sort() {
  if (!sorted_)
    std::sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) { return in_order(a, b); });
  sorted_ = true;
}

std::size_t Launches::first_from(store::Id process_id, std::int64_t start_ns) const {
  const auto found =
      std::lower_bound(rows_.begin(), rows_.end(), start_ns, [&](const Row& row, std::int64_t start) {
        const store::Id process = sites_[row.site].process_id;
        return process != process_id ? process < process_id : row.start_ns < start;
      });
  return static_cast<std::size_t>(found - rows_.begin());
}

Launches::Range Launches::near(store::Id process_id, std::int64_t start_ns, std::int64_t end_ns) const {
  const std::size_t first = first_from(process_id, std::max<std::int64_t>(start_ns, 0) - longest_ns_);
  return {first, std::max(first, first_from(process_id, end_ns))};
}

}  // namespace ridgeline::analyzer
