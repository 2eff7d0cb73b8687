#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "findings/assess.h"

namespace ridgeline::analyzer {

void assess_coverage(const QualityInput& input, Quality& quality) {
  double time = 0, dram = 0, compute = 0, both = 0;
  std::int64_t explained = 0;
  const LaunchUtilisations& launches = input.utilisation.launches;
  std::map<MissingReason, std::pair<std::int64_t, const LaunchUtilisations::Group*>> missing;
  for (const LaunchUtilisations::Group& launch : launches.groups()) {
    const auto t = static_cast<double>(launch.time_ns);
    time += t;
    if (launch.values->dram_utilisation) dram += t;
    if (launch.values->compute_utilisation) compute += t;
    if (launch.nearest_roof_ratio) both += t;
    if (launch.nearest_roof_ratio || (launch.missing != MissingReason::none && !launch.values->why.empty()))
      explained += launch.calls;
    if (launch.nearest_roof_ratio) continue;
    auto& entry = missing[launch.missing];
    entry.first += launch.calls;
    // The first of the longest.
    if (entry.second == nullptr || std::tuple(launch.longest_ns, entry.second->longest) >
                                       std::tuple(entry.second->longest_ns, launch.longest))
      entry.second = &launch;
  }
  if (time > 0) {
    quality.dram_coverage = dram / time;
    quality.compute_coverage = compute / time;
    quality.coverage = both / time;
  }
  if (!launches.empty())
    quality.explained_share = static_cast<double>(explained) / static_cast<double>(launches.size());
  if (quality.coverage < input.options.coverage_warning) {
    Finding finding{.severity = Severity::warning, .code = FindingCode::t2_coverage};
    finding.evidence = {{"coverage_ratio", quality.coverage, {}, {}}};
    finding.magnitude_ns = time - both;
    finding.remedy = Remedy::run_doctor;
    if (input.step_ns() > 0) finding.step_share = (time - both) / static_cast<double>(input.step_ns());
    quality.findings.push_back(std::move(finding));
  }
  for (const auto& [reason, entry] : missing) {
    Finding finding{.severity = Severity::info, .code = FindingCode::missing, .count = entry.first};
    finding.missing = reason;
    finding.why = entry.second->values->why;
    finding.subject.launch_id = input.model.launches.row(launches.row(entry.second->longest).launch).id;
    finding.subject.kernel_id = entry.second->kernel_id;
    finding.magnitude_ns = static_cast<double>(entry.second->longest_ns);
    if (input.step_ns() > 0)
      finding.step_share = *finding.magnitude_ns / static_cast<double>(input.step_ns());
    quality.findings.push_back(std::move(finding));
  }
}

void assess_tier_shares(const QualityInput& input, Quality& quality) {
  const auto add = [&](Tier tier, bool recorded, const TierUtilisation LaunchValues::*part) {
    if (!recorded) return;
    TierShare row;
    row.tier = tier;
    double time = 0, dram = 0, compute = 0, concurrent = 0, with_error = 0, errors = 0, of_kind = 0;
    for (const LaunchUtilisations::Group& launch : input.utilisation.launches.groups()) {
      const auto t = static_cast<double>(launch.time_ns);
      const TierUtilisation& said = (*launch.values).*part;
      time += t;
      if (said.compute_utilisation) compute += t;
      if (said.concurrent) concurrent += t;
      if (!said.dram_utilisation) continue;
      row.launches += launch.calls;
      if (said.by_kind) of_kind += t;
      if (said.dram_utilisation->error) {
        with_error += t;
        errors += t * *said.dram_utilisation->error;
        dram += t;
      } else if (row.tier != Tier::t1) {
        dram += t;  // a counter needs no error to be a value
      }
    }
    if (time > 0) {
      row.dram_coverage = dram / time;
      row.compute_coverage = compute / time;
      row.concurrent_share = concurrent / time;
      row.kind_share = of_kind / time;
    }
    if (row.concurrent_share > 0) {
      Finding finding{.severity = Severity::info, .code = FindingCode::t1_concurrent};
      finding.evidence = {{"concurrent_ratio", row.concurrent_share, Tier::t1, {}}};
      finding.magnitude_ns = concurrent;
      if (input.step_ns() > 0) finding.step_share = concurrent / static_cast<double>(input.step_ns());
      quality.findings.push_back(std::move(finding));
    }
    if (with_error > 0) row.dram_mean_error = errors / with_error;
    quality.reach.push_back(row);
  };
  add(Tier::t1, input.utilisation.sampled, &LaunchValues::t1);
  add(Tier::t2, !input.utilisation.replay_steps.empty(), &LaunchValues::t2);
  add(Tier::t3, !input.utilisation.cold_steps.empty(), &LaunchValues::cold);
}

}  // namespace ridgeline::analyzer
