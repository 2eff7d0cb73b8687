#include "tier_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "alignment.h"
#include "model/measured_steps.h"
#include "ridgeline/analyzer/values/measured.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/base/units.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMaxUnlikeShare = 0.25;  // of the launches

}  // namespace

std::optional<double> TierRow::value(std::string_view name) const {
  const MetricValue* found = find(name);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

const MetricValue* TierRow::find(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

bool TierRow::concurrent() const {
  return std::any_of(values.begin(), values.end(), [](const auto& entry) { return entry.second.concurrent; });
}

std::optional<double> TierRow::duration_ns() const {
  std::optional<double> duration = value(metric_name::kDuration);
  if (!duration && has_time(launch)) duration = static_cast<double>(analyzer::duration_ns(launch));
  return duration && *duration > 0 ? duration : std::nullopt;
}

std::optional<double> TierRow::dram_read_share() const {
  const auto read = value(metric_name::kDramRead);
  const auto written = value(metric_name::kDramWrite);
  return read && written && *read + *written > 0 ? std::optional(*read / (*read + *written)) : std::nullopt;
}

std::optional<double> TierRow::dram_bytes() const {
  if (const auto read = value(metric_name::kDramRead), written = value(metric_name::kDramWrite);
      read && written) {
    return *read + *written;
  }
  return value(metric_name::kDramBoth);
}

std::optional<Measured> mean_of(const ValuesByMetric& values, std::string_view metric, Tier tier) {
  if (metric.empty()) return std::nullopt;
  const auto found = values.find(metric);
  return found == values.end() ? std::nullopt : measured_mean(found->second, tier);
}

std::optional<Measured> counted(const ValuesByMetric& values, const MetricEntry& entry) {
  const MetricSource& source = entry.replayed;
  // Hits and misses may have been counted in different steps.
  const auto hit = mean_of(values, source.hits, Tier::t2);
  const auto miss = mean_of(values, source.misses, Tier::t2);
  if (hit && miss) {
    const double all = hit->value + miss->value;
    if (all <= 0) return std::nullopt;
    Measured ratio{.value = hit->value / all,
                   .error = {},
                   .sample_count = std::min(hit->sample_count, miss->sample_count),
                   .tier = Tier::t2};
    if (hit->error && miss->error)
      ratio.error = std::hypot(miss->value * *hit->error, hit->value * *miss->error) / (all * all);
    return ratio;
  }
  std::optional<Measured> value = mean_of(values, source.counter, Tier::t2);
  if (value && entry.unit == MetricUnit::ratio) {
    value->value /= 100.0;
    if (value->error) *value->error /= 100.0;
  }
  return value;
}

std::unordered_map<std::int64_t, LaunchIndex> by_ordinal(const Model& model,
                                                         const SharedVector<LaunchIndex>& launches) {
  std::unordered_map<std::int64_t, LaunchIndex> map;
  for (const LaunchIndex index : launches) {
    if (const std::int64_t ordinal = model.launches.row(index).ordinal_in_step;
        ordinal != Launches::Row::kAbsent)
      map.emplace(ordinal, index);
  }
  return map;
}

TierSteps::TierSteps(const Model& model, const StepAnalysis& steps, Phase phase, Tier tier)
    : model_(model), phase_(phase), tier_(tier) {
  const bool own_phase = std::any_of(steps.steps.begin(), steps.steps.end(), [&](const StepSummary& step) {
    return step.process_id == steps.process_id && step.phase == phase && step.status == StepStatus::ok;
  });
  // Counters that somebody joined come before those of the recording itself; samples along the timeline stand in.
  const auto is_joined = [&](const StepSummary& step) {
    const store::Step& row = model.steps[step.index].step;
    return (phase == Phase::replay && has_joined_counters(row)) ||
           (phase == Phase::sample && !own_phase && is_sampled_along(model, row));
  };
  add_steps(steps, [&](const StepSummary& step) { return is_joined(step); });
  joined_ = steps_.size();
  add_steps(steps, [&](const StepSummary& step) { return step.phase == phase; });
}

template <typename Wanted>
void TierSteps::add_steps(const StepAnalysis& steps, Wanted&& wanted) {
  for (const StepSummary& step : steps.steps) {
    if (step.process_id != steps.process_id || !wanted(step)) continue;
    ++seen_;
    if (step.status != StepStatus::ok) {
      if (unusable_ == nullptr) unusable_ = &step;
      continue;
    }
    steps_.push_back(step.index);
    places_.push_back(places_in(step, steps.representative));
  }
}

TierSteps::Places TierSteps::places_in(const StepSummary& step,
                                       const RepresentativeStep& representative) const {
  const auto& launches = model_.steps[step.index].launches;
  const bool one_step = !representative.whole_recording && representative.summary.step_id != 0;
  // A stretch of time is like no step.
  if (one_step && step.source == StepSource::window) return {};
  if (!one_step || step.sequence_hash == representative.summary.sequence_hash)
    return {.by_ordinal = by_ordinal(model_, launches), .other_sequence = false};
  const auto in_order = [&](const auto& all) {
    std::vector<LaunchIndex> found;
    for (const LaunchIndex i : all) {
      if (model_.launches.row(i).ordinal_in_step != Launches::Row::kAbsent) found.push_back(i);
    }
    std::sort(found.begin(), found.end(), [&](LaunchIndex a, LaunchIndex b) {
      return model_.launches.row(a).ordinal_in_step < model_.launches.row(b).ordinal_in_step;
    });
    return found;
  };
  const auto keys_of = [&](const std::vector<LaunchIndex>& all, bool with_blocks) {
    std::vector<LaunchKey> keys;
    keys.reserve(all.size());
    for (const LaunchIndex i : all) {
      const store::Launch& site = model_.launches.site(i);
      const store::Dim3 block = with_blocks ? site.block : store::Dim3{};
      std::uint64_t configuration = 0;
      for (const std::int64_t n : {site.grid.x, site.grid.y, site.grid.z, block.x, block.y, block.z})
        configuration = configuration * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(n);
      keys.push_back({site.kernel_id, configuration});
    }
    return keys;
  };
  // A step whose instructions are counted has no kernel records, from which a block's size comes; grids are noted at
  // the call.
  const auto have_blocks = [&](const std::vector<LaunchIndex>& all) {
    return std::all_of(all.begin(), all.end(),
                       [&](LaunchIndex i) { return model_.launches.site(i).block.x > 0; });
  };
  const std::vector<LaunchIndex> ours = in_order(representative.launches), theirs = in_order(launches);
  if (ours.empty()) return {};  // a window: its launches have no places
  const bool with_blocks = have_blocks(ours) && have_blocks(theirs);
  const Alignment alignment = align(keys_of(ours, with_blocks), keys_of(theirs, with_blocks));
  Places places;
  const auto unlike = std::count(alignment.same.begin(), alignment.same.end(), Alignment::kNone);
  places.only_kinds = static_cast<double>(unlike) > kMaxUnlikeShare * static_cast<double>(ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::uint32_t place =
        alignment.same[i] != Alignment::kNone ? alignment.same[i] : alignment.other_configuration[i];
    if (place != Alignment::kNone)
      places.by_ordinal.emplace(model_.launches.row(ours[i]).ordinal_in_step, theirs[place]);
  }
  return places;
}

Absence TierSteps::unusable(AbsenceCause cause) const {
  Absence absence{.cause = cause};
  if (unusable_ == nullptr) return absence;
  absence.status = unusable_->status;
  absence.detail = unusable_->reason;
  return absence;
}

TierRow TierSteps::values_of(const store::Launch& launch) const {
  TierRow row;
  row.launch = launch;
  for (const MetricValue& value : model_.metrics_of(launch.id)) {
    if (value.tier == tier_ && std::isfinite(value.value)) row.values.emplace(value.name, value);
  }
  return row;
}

TierRows TierSteps::own(const store::Launch& launch) const {
  TierRows found;
  TierRow row = values_of(launch);
  if (!row.values.empty()) found.rows.push_back(std::move(row));
  return found;
}

namespace {

// One of them may have run alone, with the clock and the caches that this brings.
bool takes_about_as_long(const store::Launch& launch, const store::Launch& other) {
  constexpr double kMaxRatio = 1.3, kJitterNs = 2000;
  // Of a list, since two values that are gone at the end of the line would be referred to.
  const auto [less, more] = std::minmax({duration_ns(launch), duration_ns(other)});
  return less <= 0 || static_cast<double>(more) <= kMaxRatio * static_cast<double>(less) + kJitterNs;
}

}  // namespace

TierRows TierSteps::rows(const store::Launch& launch) const {
  if (!launch.step_id) return own(launch);
  TierRows found;
  if (!launch.ordinal_in_step) return found;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i == joined_ && !found.rows.empty()) break;
    const Places& places = places_[i];
    const auto place = places.by_ordinal.find(*launch.ordinal_in_step);
    if (place == places.by_ordinal.end()) continue;
    const store::Launch& other = model_.launches[place->second];
    if (!same_launch(launch, other)) {
      ++found.mismatched;
      if (found.mismatch.empty()) {
        const bool same_kernel = launch.kernel_id == other.kernel_id;
        found.mismatch.cause = same_kernel ? AbsenceCause::another_grid : AbsenceCause::another_kernel;
        found.mismatch.phase = phase_;
        found.mismatch.step_index = model_.steps[steps_[i]].step.step_index;
        if (!same_kernel) found.mismatch.name = model_.kernel_family(other);
      }
      continue;
    }
    // In a step that launches other things the same kernel and grid may have another problem to solve.
    if (places.only_kinds || (places.other_sequence && !takes_about_as_long(launch, other))) continue;
    TierRow row = values_of(other);
    row.same_sequence = !places.other_sequence;
    if (!row.values.empty()) found.rows.push_back(std::move(row));
  }
  return found;
}

std::optional<Measured> mean_of_estimates(const std::vector<Estimate>& estimates, Tier tier) {
  if (estimates.empty()) return std::nullopt;
  std::vector<double> values;
  double squares = 0;
  bool errors_known = true;
  std::int64_t sum = 0, most = 0;
  for (const Estimate& estimate : estimates) {
    values.push_back(estimate.value);
    if (estimate.error && std::isfinite(*estimate.error)) {
      squares += *estimate.error * *estimate.error;
    } else {
      errors_known = false;
    }
    sum += estimate.samples;
    most = std::max(most, estimate.samples);
  }
  Measured result = *measured_mean(values, tier);
  const auto count = static_cast<double>(values.size());
  const auto all_alike = [&](auto&& quantity) {
    double least = quantity(estimates.front()), largest = least;
    for (const Estimate& estimate : estimates) {
      least = std::min(least, quantity(estimate));
      largest = std::max(largest, quantity(estimate));
    }
    return largest - least <= 1e-9 * std::fabs(largest);
  };
  const bool pooled =
      values.size() > 1 && (all_alike([](const Estimate& e) { return e.value; }) ||
                            all_alike([](const Estimate& e) { return e.value * e.duration_ns; }));
  result.sample_count = pooled ? most : sum;
  if (pooled) {
    result.error.reset();  // equal because they are one, not because they agree
    if (errors_known) result.error = std::sqrt(squares / count);
  } else if (errors_known) {
    result.error = std::max(result.error.value_or(0), std::sqrt(squares) / count);
  }
  return result;
}

}  // namespace ridgeline::analyzer
