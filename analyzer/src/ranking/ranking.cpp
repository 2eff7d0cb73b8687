#include "ridgeline/analyzer/ranking/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "ranking/rates.h"
#include "ranking/row_names.h"
#include "ridgeline/base/units.h"

namespace ridgeline::analyzer {

namespace {

// Time saved if a launch that runs at `ratio` of its roof ran at `target`.
double saving(double time_ns, double ratio, double target) {
  return ratio < target ? time_ns * (1.0 - ratio / target) : 0.0;
}

// Errors of launches: independent, but those of values of a kind, which may all be off the same way.
class Errors {
 public:
  /// Of one launch, as it enters the sum; its square.
  void add(double error, double square, bool by_kind) {
    if (by_kind)
      in_common_ += error;
    else
      squares_ += square;
  }
  void add_unknown() { known_ = false; }
  /// Of the weighted sum; empty if one is not known.
  [[nodiscard]] std::optional<double> of_sum() const {
    return known_ ? std::optional(std::hypot(std::sqrt(squares_), in_common_)) : std::nullopt;
  }

 private:
  double squares_ = 0, in_common_ = 0;
  bool known_ = true;
};

// True if the value that is shown rests on other launches of the kind.
bool is_by_kind(const LaunchValues& values, const Measured& shown) {
  return shown.tier.has(Tier::t2) ? values.t2.by_kind : values.t1.by_kind;
}

// Σ t·u ÷ Σ t; an unknown error makes the whole unknown.
class WeightedMean {
 public:
  void add(const Measured& value, double weight, bool by_kind) {
    weight_ += weight;
    sum_ += weight * value.value;
    samples_ = samples_ == 0 ? value.sample_count : std::min(samples_, value.sample_count);
    tiers_ |= value.tier;
    if (const auto& error = value.error)
      errors_.add(weight * *error, weight * *error * weight * *error, by_kind);
    else
      errors_.add_unknown();
  }
  [[nodiscard]] std::optional<Measured> result() const {
    if (weight_ <= 0) return std::nullopt;
    Measured mean;
    mean.value = sum_ / weight_;
    mean.sample_count = samples_;
    mean.tier = tiers_;
    if (const auto error = errors_.of_sum()) mean.error = *error / weight_;
    return mean;
  }

 private:
  double weight_ = 0;
  double sum_ = 0;
  Errors errors_;
  std::int64_t samples_ = 0;
  TierSet tiers_;
};

template <typename Key>
Key key_of_most_time(const std::map<Key, std::int64_t>& time, Key none) {
  const auto most = std::max_element(time.begin(), time.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == time.end() ? none : most->first;
}

// Launches of a row with one verdict: a measured one, or several of which nothing was measured.
struct Part {
  const LaunchVerdict* verdict = nullptr;
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;
  std::int64_t longest_ns = 0;
  std::size_t longest = 0;  // position of the first that took longest_ns
};

// What bounds the launches of a row, and which roofs it is near to.
class BoundSums {
 public:
  void add(const Part& part, const BoundOptions& options) {
    const LaunchVerdict& item = *part.verdict;
    const KernelBound bound = bound_of(item, options);
    bounds_[bound] += part.time_ns;
    if (item.values->blank) return;
    if (const auto roof = bounding_roof(item, options)) roofs_[{bound, *roof}] += part.time_ns;
    const auto time = static_cast<double>(part.time_ns);
    for (std::size_t i = 0; i < kRoofs.size(); ++i) {
      const auto ratio = item.values->roofs.of(kRoofs[i]);
      if (!ratio || item.status != LaunchStatus::measured) continue;
      sums_[i].first += time * *ratio;
      sums_[i].second += time;
    }
  }

  void finish(const BoundOptions& options, RankingRow& row) const {
    row.bound = key_of_most_time(bounds_, KernelBound::unmeasured);
    std::int64_t most = 0;
    for (const auto& [key, time] : roofs_) {
      if (key.first != row.bound || time <= most) continue;
      most = time;
      row.bound_roof = key.second;
    }
    for (std::size_t i = 0; i < kRoofs.size(); ++i) {
      if (sums_[i].second > 0) row.roofs.set(kRoofs[i], sums_[i].first / sums_[i].second);
    }
    if (!row.nearest || !row.nearest_roof_ratio) return;
    for (const Roof roof : kRoofs) {
      const auto ratio = row.roofs.of(roof);
      if (roof != *row.nearest && ratio && *ratio >= *row.nearest_roof_ratio - options.tie_ratio)
        row.near_roofs.push_back(roof);
    }
    std::stable_sort(row.near_roofs.begin(), row.near_roofs.end(),
                     [&](Roof a, Roof b) { return *row.roofs.of(a) > *row.roofs.of(b); });
  }

 private:
  std::map<KernelBound, std::int64_t> bounds_;
  std::map<std::pair<KernelBound, Roof>, std::int64_t> roofs_;
  std::array<std::pair<double, double>, kRoofs.size()> sums_{};  // Σ time × ratio, Σ time
};

void count_status(const Part& part, RankingRow& row) {
  switch (part.verdict->status) {
    case LaunchStatus::measured:
      row.measured_time_ns += part.time_ns;
      row.measured_calls += part.calls;
      break;
    case LaunchStatus::too_short:
      row.too_short_time_ns += part.time_ns;
      row.too_short_calls += part.calls;
      break;
    case LaunchStatus::no_roof:
      row.no_roof_time_ns += part.time_ns;
      row.no_roof_calls += part.calls;
      break;
    case LaunchStatus::unmeasured:
      row.unmeasured_time_ns += part.time_ns;
      row.unmeasured_calls += part.calls;
      break;
  }
}

void add_up(std::optional<double>& sum, const std::optional<Measured>& value) {
  if (value) sum = sum.value_or(0) + value->value;
}

// All metrics, each added up in its own way.
class MetricSums {
 public:
  void add(const LaunchValues& values, double time) {
    for (const Metric metric : kAllMetrics) {
      const std::optional<Measured> value = values.metrics.of(metric);
      if (!value) continue;
      if (metric.entry().adds_up == AddsUp::sum) {
        add_up(sums_[metric.place()], value);
      } else {
        means_[metric.place()].add(*value, time, is_by_kind(values, *value));
      }
    }
  }
  [[nodiscard]] MetricValues result() const {
    MetricValues values;
    for (const Metric metric : kAllMetrics) {
      values.set(metric, means_[metric.place()].result());
      if (const auto& sum = sums_[metric.place()]) values.set(metric, Measured{.value = *sum});
    }
    return values;
  }

 private:
  std::array<WeightedMean, kAllMetrics.size()> means_;
  std::array<std::optional<double>, kAllMetrics.size()> sums_;
};

// What each tier says about the launches of a row, side by side.
class TierSums {
 public:
  void add(const Part& part, RankingRow& row) {
    const LaunchValues& values = *part.verdict->values;
    const auto time = static_cast<double>(part.time_ns);
    const bool by_kind = values.t1.by_kind || values.t2.by_kind;
    const auto weigh = [&](WeightedMean& mean, const TierUtilisation& tier,
                           const std::optional<Measured>& value) {
      if (value) mean.add(*value, time, tier.by_kind);
    };
    weigh(dram_t1_, values.t1, values.t1.dram_utilisation);
    weigh(dram_t2_, values.t2, values.t2.dram_utilisation);
    weigh(compute_t1_, values.t1, values.t1.compute_utilisation);
    weigh(compute_t2_, values.t2, values.t2.compute_utilisation);
    metrics_.add(values, time);
    weigh(tensor_t1_, values.t1, values.t1.tensor_utilisation);
    weigh(tensor_t2_, values.t2, values.t2.tensor_utilisation);
    if (values.t1.dram_utilisation) row.t1_time_ns += part.time_ns;
    if (values.t1.dram_utilisation && values.t1.concurrent) row.t1_concurrent_time_ns += part.time_ns;
    if (values.t2.dram_utilisation) row.t2_time_ns += part.time_ns;
    if (values.t1.dram_utilisation && values.t2.dram_utilisation && !values.t1.concurrent)
      difference_.add(tier_difference(*values.t1.dram_utilisation, *values.t2.dram_utilisation), time,
                      by_kind);
    if (values.t1.tensor_utilisation && values.t2.tensor_utilisation && !values.t1.concurrent)
      tensor_difference_.add(tier_difference(*values.t1.tensor_utilisation, *values.t2.tensor_utilisation),
                             time, by_kind);
    if (!values.cold.dram_utilisation || !values.cold.duration) return;
    cold_.add(*values.cold.dram_utilisation, values.cold.duration->value, false);
    add_up(row.cold_time_ns, values.cold.duration);
    row.cold_in_situ_time_ns = row.cold_in_situ_time_ns.value_or(0) + time;
    add_up(row.cold_dram_bytes, values.cold.dram_bytes);
    add_up(row.cold_in_situ_dram_bytes, values.dram_bytes);
  }

  void finish(RankingRow& row) const {
    row.dram_t1 = dram_t1_.result();
    row.dram_t2 = dram_t2_.result();
    row.compute_t1 = compute_t1_.result();
    row.compute_t2 = compute_t2_.result();
    row.dram_difference = difference_.result();
    row.metrics = metrics_.result();
    row.tensor_t1 = tensor_t1_.result();
    row.tensor_t2 = tensor_t2_.result();
    row.tensor_difference = tensor_difference_.result();
    row.cold_dram = cold_.result();
  }

 private:
  WeightedMean dram_t1_, dram_t2_, compute_t1_, compute_t2_, difference_;
  WeightedMean tensor_t1_, tensor_t2_, tensor_difference_;
  WeightedMean cold_;
  MetricSums metrics_;
};

// The utilisations that are shown, the pipe that was busiest, and what they come from.
class ShownSums {
 public:
  void add(const Part& part) {
    const LaunchValues& values = *part.verdict->values;
    const auto time = static_cast<double>(part.time_ns);
    for (const auto* shown : {&values.dram_utilisation, &values.compute_utilisation}) {
      if (*shown) tiers_ |= (*shown)->tier;
    }
    if (const auto& dram = values.dram_utilisation) dram_.add(*dram, time, is_by_kind(values, *dram));
    if (const auto& compute = values.compute_utilisation) {
      compute_.add(*compute, time, is_by_kind(values, *compute));
      pipes_[values.busiest_pipe] += part.time_ns;
    }
    if (values.replay_duration && part.time_ns > 0) {
      replay_ns_ += values.replay_duration->value;
      replayed_timeline_ns_ += time;
    }
  }

  void finish(RankingRow& row) const {
    row.tier = tiers_.empty() ? TierSet(Tier::t0) : tiers_;
    row.dram = dram_.result();
    row.compute = compute_.result();
    row.busiest_pipe = key_of_most_time(pipes_, std::optional<Roof>());
    if (replayed_timeline_ns_ > 0) row.replay_disagreement = replay_ns_ / replayed_timeline_ns_ - 1.0;
  }

 private:
  WeightedMean dram_, compute_;
  TierSet tiers_;
  std::map<std::optional<Roof>, std::int64_t> pipes_;
  double replay_ns_ = 0;
  double replayed_timeline_ns_ = 0;
};

// How near the measured launches came to their nearest roofs, and what they could save.
class SavingSums {
 public:
  explicit SavingSums(const RankingOptions& options) : options_(options) {}

  void add(const Part& part, double exposed_ns, RankingRow& row) {
    const LaunchVerdict& item = *part.verdict;
    const auto time = static_cast<double>(part.time_ns);
    const double ratio = *item.nearest_roof_ratio;
    nearest_roof_sum_ += time * ratio;
    levels_[item.nearest ? std::optional(item.nearest->level) : std::nullopt] += part.time_ns;
    row.saved_target_ns += saving(time, ratio, options_.target);
    row.saved_stretch_ns += saving(time, ratio, options_.stretch);
    row.saved_target_exposed_ns += saving(exposed_ns, ratio, options_.target);
    row.saved_stretch_exposed_ns += saving(exposed_ns, ratio, options_.stretch);
    if (bound_of(item, options_.bounds) == KernelBound::latency) {
      row.saved_target_latency_ns += saving(time, ratio, options_.target);
      row.saved_stretch_latency_ns += saving(time, ratio, options_.stretch);
      if (!item.values->t2.compute_utilisation)
        row.saved_target_sampled_ns += saving(time, ratio, options_.target);
    }
    if (ratio < options_.target) add_error(item, time);
  }

  // Of a row whose busiest pipe is known.
  void finish(RankingRow& row) const {
    if (row.measured_time_ns > 0)
      row.nearest_roof_ratio = nearest_roof_sum_ / static_cast<double>(row.measured_time_ns);
    if (const auto level = key_of_most_time(levels_, std::optional<RoofLevel>()))
      row.nearest = *level == RoofLevel::pipe ? row.busiest_pipe : Roof::kDram;
    if (row.measured_calls > 0) row.saved_target_error_ns = errors_.of_sum();
  }

 private:
  void add_error(const LaunchVerdict& item, double time) {
    const bool by_pipe = item.nearest && item.nearest->level == RoofLevel::pipe;
    const LaunchValues& values = *item.values;
    const Measured& shown = by_pipe ? *values.compute_utilisation : *values.dram_utilisation;
    if (!shown.error) return errors_.add_unknown();
    const double error = time * *shown.error / options_.target;
    errors_.add(error, error * error, is_by_kind(values, shown));
  }

  const RankingOptions& options_;
  double nearest_roof_sum_ = 0;
  std::map<std::optional<RoofLevel>, std::int64_t> levels_;  // of the nearest roofs
  Errors errors_;
};

// Why launches were not measured: what holds for the most time.
class AbsenceSums {
 public:
  void add(const Part& part) {
    missing_[part.verdict->missing] += part.time_ns;
    unmeasured_[part.verdict->values.get()] += part.time_ns;
  }
  void finish(RankingRow& row) const {
    row.missing = key_of_most_time(missing_, MissingReason::none);
    std::map<std::vector<Absence>, std::int64_t> reasons;
    for (const auto& [shared, time] : unmeasured_) reasons[shared->why] += time;
    row.why = key_of_most_time(reasons, std::vector<Absence>());
  }

 private:
  std::map<MissingReason, std::int64_t> missing_;
  std::map<const LaunchValues*, std::int64_t> unmeasured_;
};

void describe_kernel(const Model& model, const store::Launch& site, RankingRow& row) {
  row.kernel = model.kernel_name(site);
  row.kernel_class = model.kernel_class(site);
  const store::Kernel* kernel = model.kernel(site.kernel_id);
  row.normalised_name = kernel == nullptr ? row.kernel : kernel->normalised_name;
}

RankingRow make_row(const Model& model, const UtilisationAnalysis& utilisation,
                    const std::vector<std::string>& keys, const std::vector<Part>& parts,
                    const RankingOptions& options, std::int64_t step_ns, const Exposure& exposure) {
  RankingRow row;
  row.keys = keys;
  row.key = joined_keys(keys);
  ShownSums shown;
  SavingSums savings(options);
  AbsenceSums absences;
  TierSums tier_sums;
  RateSums rates(model);
  BoundSums bounds;
  const Part* longest = nullptr;
  const auto launch_of = [&](const Part& part) { return utilisation.launches.row(part.longest).launch; };
  for (const Part& part : parts) {
    const LaunchVerdict& item = *part.verdict;
    row.calls += part.calls;
    row.time_ns += part.time_ns;
    count_status(part, row);
    // The first of the longest.
    if (longest == nullptr ||
        std::tuple(part.longest_ns, longest->longest) > std::tuple(longest->longest_ns, part.longest))
      longest = &part;
    if (item.status == LaunchStatus::unmeasured) absences.add(part);
    bounds.add(part, options.bounds);
    if (item.values->blank) continue;
    add_up(row.dram_bytes, item.values->dram_bytes);
    add_up(row.tensor_ops, item.values->tensor_ops);
    tier_sums.add(part, row);
    rates.add(*item.values, part.time_ns, model.launches.site(launch_of(part)));
    shown.add(part);
    if (item.status == LaunchStatus::measured) savings.add(part, exposure.ns(launch_of(part)), row);
  }
  if (longest != nullptr) describe_kernel(model, model.launches.site(launch_of(*longest)), row);
  tier_sums.finish(row);
  rates.finish(utilisation, options.peaks, row);
  shown.finish(row);
  savings.finish(row);
  bounds.finish(options.bounds, row);
  absences.finish(row);
  if (step_ns > 0) {
    const auto step = static_cast<double>(step_ns);
    row.step_share = static_cast<double>(row.time_ns) / step;
    row.saved_target_share = row.saved_target_ns / step;
    row.saved_stretch_share = row.saved_stretch_ns / step;
  }
  return row;
}

// What a row of the ranking is made of.
struct Members {
  std::vector<Part> parts;
  std::vector<std::uint32_t> launches;  // positions, ascending
};

using Rows = std::map<std::vector<std::string>, Members>;  // by what the row's keys say

Rows each_launch(const RowNames& names, const LaunchUtilisations& launches) {
  Rows rows;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchUtilisations::Row& item = launches.row(i);
    Members& row = rows[names.of(item, RankingKey::launch)];
    row.parts.push_back({&launches.group_of(i), 1, item.duration_ns, item.duration_ns, i});
    row.launches.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

// Launches of one site have one key, whichever it is: the text is made once.
Rows by_site(const Model& model, const RowNames& names, const LaunchUtilisations& launches,
             const RankingKeys& keys) {
  Rows rows;
  std::vector<Members*> of_site(model.launches.sites().size(), nullptr);
  std::vector<Members*> of_group;
  std::map<Members*, std::int64_t> calls;
  for (const LaunchUtilisations::Group& group : launches.groups()) {
    const LaunchUtilisations::Row& item = launches.row(group.longest);
    Members*& row = of_site[model.launches.row(item.launch).site];
    if (row == nullptr) row = &rows[names.of(item, keys)];
    row->parts.push_back({&group, group.calls, group.time_ns, group.longest_ns, group.longest});
    of_group.push_back(row);
    calls[row] += group.calls;
  }
  for (const auto& [row, count] : calls) row->launches.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < launches.size(); ++i)
    of_group[launches.row(i).group]->launches.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

RankingTotals add_up(const UtilisationAnalysis& utilisation, const Ranking& ranking, std::int64_t step_ns) {
  RankingTotals totals;
  totals.step_ns = step_ns;
  for (const RankingRow& row : ranking.rows) {
    totals.calls += row.calls;
    totals.time_ns += row.time_ns;
    totals.saved_target_ns += row.saved_target_ns;
    totals.saved_stretch_ns += row.saved_stretch_ns;
    totals.saved_target_latency_ns += row.saved_target_latency_ns;
    totals.saved_stretch_latency_ns += row.saved_stretch_latency_ns;
    totals.saved_target_sampled_ns += row.saved_target_sampled_ns;
    totals.saved_target_exposed_ns += row.saved_target_exposed_ns;
    totals.saved_stretch_exposed_ns += row.saved_stretch_exposed_ns;
    totals.measured_time_ns += row.measured_time_ns;
    totals.too_short_time_ns += row.too_short_time_ns;
    totals.no_roof_time_ns += row.no_roof_time_ns;
    totals.unmeasured_time_ns += row.unmeasured_time_ns;
    totals.measured_calls += row.measured_calls;
    totals.too_short_calls += row.too_short_calls;
    totals.no_roof_calls += row.no_roof_calls;
    totals.unmeasured_calls += row.unmeasured_calls;
  }
  double at_target = 0;
  double at_stretch = 0;
  for (const LaunchUtilisations::Group& item : utilisation.launches.groups()) {
    totals.bounds.add(bound_of(item, ranking.options.bounds), item.time_ns);
    if (item.status != LaunchStatus::measured) continue;
    const double ratio = *item.nearest_roof_ratio;
    if (ratio >= ranking.options.target) at_target += static_cast<double>(item.time_ns);
    if (ratio >= ranking.options.stretch) at_stretch += static_cast<double>(item.time_ns);
  }
  if (totals.time_ns > 0) {
    totals.time_share_at_target = at_target / static_cast<double>(totals.time_ns);
    totals.time_share_at_stretch = at_stretch / static_cast<double>(totals.time_ns);
  }
  if (step_ns > 0) {
    totals.saved_target_share = std::min(1.0, totals.saved_target_ns / static_cast<double>(step_ns));
    totals.saved_stretch_share = std::min(1.0, totals.saved_stretch_ns / static_cast<double>(step_ns));
  }
  return totals;
}

}  // namespace

Ranking rank_kernels(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
                     const Exposure& exposure, const RankingOptions& options) {
  Ranking ranking;
  ranking.options = options;
  ranking.scope = steps.representative.scope;
  const std::int64_t step_ns = steps.representative.window_end_ns - steps.representative.window_start_ns;
  const RowNames names(model, utilisation);
  Rows rows = options.key == RankingKey::launch ? each_launch(names, utilisation.launches)
                                                : by_site(model, names, utilisation.launches, options.key);
  for (auto& [keys, members] : rows) {
    ranking.rows.push_back(make_row(model, utilisation, keys, members.parts, options, step_ns, exposure));
    ranking.rows.back().launches = std::move(members.launches);
  }
  std::sort(ranking.rows.begin(), ranking.rows.end(), [](const RankingRow& a, const RankingRow& b) {
    if (a.saved_target_ns != b.saved_target_ns) return a.saved_target_ns > b.saved_target_ns;
    if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
    return a.key < b.key;
  });
  ranking.totals = add_up(utilisation, ranking, step_ns);
  return ranking;
}

std::vector<std::size_t> rows_by_time(const Ranking& ranking) {
  std::vector<std::size_t> order(ranking.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return ranking.rows[a].time_ns > ranking.rows[b].time_ns;
  });
  return order;
}

}  // namespace ridgeline::analyzer
