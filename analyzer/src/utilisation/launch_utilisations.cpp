#include "ridgeline/analyzer/utilisation/launch_utilisations.h"

#include <cmath>
#include <limits>

#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

const std::shared_ptr<const LaunchValues>& LaunchVerdict::nothing() {
  static const auto kNothing = std::make_shared<const LaunchValues>();
  return kNothing;
}

LaunchUtilisations::LaunchUtilisations() : all_(std::make_shared<All>()) {}

LaunchUtilisations::All& LaunchUtilisations::own() {
  if (all_.use_count() > 1) all_ = std::make_shared<All>(*all_);
  return *all_;
}

LaunchUtilisation LaunchUtilisations::operator[](std::size_t i) const {
  const Row& row = all_->rows[i];
  LaunchUtilisation launch;
  static_cast<LaunchVerdict&>(launch) = all_->groups[row.group];
  launch.launch = row.launch;
  launch.ordinal = row.ordinal;
  launch.duration_ns = row.duration_ns;
  if (!std::isnan(row.deviation_ns)) launch.duration_deviation_ns = row.deviation_ns;
  return launch;
}

LaunchUtilisations::GroupIndex LaunchUtilisations::add_group(const LaunchVerdict& verdict) {
  std::vector<Group>& groups = own().groups;
  Group group;
  static_cast<LaunchVerdict&>(group) = verdict;
  groups.push_back(std::move(group));
  return static_cast<GroupIndex>(groups.size() - 1);
}

void LaunchUtilisations::add(const Row& row) {
  All& all = own();
  if (all.rows.size() >= std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::corrupt, "more launches in one step than any program makes");
  Group& group = all.groups[row.group];
  ++group.calls;
  group.time_ns += row.duration_ns;
  if (row.duration_ns > group.longest_ns) {
    group.longest_ns = row.duration_ns;
    group.longest = all.rows.size();
  }
  all.rows.push_back(row);
}

void LaunchUtilisations::push_back(const LaunchUtilisation& launch) {
  add({.duration_ns = launch.duration_ns,
       .ordinal = launch.ordinal,
       .deviation_ns = launch.duration_deviation_ns.value_or(std::numeric_limits<double>::quiet_NaN()),
       .launch = static_cast<std::uint32_t>(launch.launch),
       .group = add_group(launch)});
}

}  // namespace ridgeline::analyzer
