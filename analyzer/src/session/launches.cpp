#include "ridgeline/analyzer/launches.h"

#include <algorithm>
#include <tuple>

namespace ridgeline::analyzer {

std::uint32_t Launches::step_index(std::optional<store::Id> id) {
  if (!id) return 0;
  if (last_step_ != 0 && step_ids_[last_step_] == *id) return last_step_;
  const auto [place, fresh] = step_index_.try_emplace(*id, static_cast<std::uint32_t>(step_ids_.size()));
  if (fresh) step_ids_.push_back(*id);
  return last_step_ = place->second;
}

Launches::SiteIndex Launches::add_site(const store::Launch& site) {
  sites_.push_back(site);
  return static_cast<SiteIndex>(sites_.size() - 1);
}

void Launches::add(const store::LaunchRow& row, SiteIndex site) {
  rows_.push_back({.id = row.id,
                   .start_ns = row.start_ns,
                   .end_ns = row.end_ns,
                   .host_start_ns = row.host_start_ns.value_or(Row::kAbsent),
                   .host_end_ns = row.host_end_ns.value_or(Row::kAbsent),
                   .correlation_id = row.correlation_id,
                   .ordinal_in_step = row.ordinal_in_step.value_or(Row::kAbsent),
                   .site = site,
                   .step = step_index(row.step_id)});
}

void Launches::push_back(const store::Launch& launch) {
  const auto [place, fresh] = site_index_.try_emplace(store::launch_site_key(launch));
  if (fresh) {
    store::Launch site = launch;
    const store::Launch none;
    site.id = none.id;
    site.start_ns = none.start_ns;
    site.end_ns = none.end_ns;
    site.host_start_ns = none.host_start_ns;
    site.host_end_ns = none.host_end_ns;
    site.correlation_id = none.correlation_id;
    site.step_id = none.step_id;
    site.ordinal_in_step = none.ordinal_in_step;
    place->second = add_site(site);
  }
  add({launch.id, 0, launch.step_id, launch.ordinal_in_step, launch.start_ns, launch.end_ns,
       launch.host_start_ns, launch.host_end_ns, launch.correlation_id},
      place->second);
}

void Launches::sort() {
  const auto by_time = [this](const Row& a, const Row& b) {
    return std::tie(sites_[a.site].process_id, a.start_ns, a.id) <
           std::tie(sites_[b.site].process_id, b.start_ns, b.id);
  };
  if (!std::is_sorted(rows_.begin(), rows_.end(), by_time)) std::sort(rows_.begin(), rows_.end(), by_time);
  longest_ns_ = 0;
  for (const Row& row : rows_) longest_ns_ = std::max(longest_ns_, duration_ns(row));
}

std::size_t Launches::first_from(store::Id process_id, std::int64_t start_ns) const {
  const auto found =
      std::lower_bound(rows_.begin(), rows_.end(), start_ns, [&](const Row& row, std::int64_t start) {
        const store::Id process = sites_[row.site].process_id;
        return process != process_id ? process < process_id : row.start_ns < start;
      });
  return static_cast<std::size_t>(found - rows_.begin());
}

Launches::Range Launches::near(store::Id process_id, std::int64_t begin_ns, std::int64_t end_ns) const {
  const std::size_t first = first_from(process_id, std::max<std::int64_t>(begin_ns, 0) - longest_ns_);
  return {first, std::max(first, first_from(process_id, end_ns))};
}

}  // namespace ridgeline::analyzer
