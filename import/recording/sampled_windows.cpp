#include "recording/sampled_windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ridgeline::import {

namespace {

constexpr std::int64_t kMarginNs = 2 * kLargestShiftNs;
constexpr double kMaxUnevaluatedShare = 0.1;  // of a column; above, it is left out
constexpr double kPoorCorrelation = 0.3;
constexpr std::int64_t kLongestNs = 3'600'000'000'000;  // of a launch; a damaged record may say more
constexpr std::uint32_t kForeign = UINT32_MAX - 1;      // kind of another process's work

constexpr std::string_view kSmActive = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_usable(std::int64_t start_ns, std::int64_t end_ns) {
  return has_time(start_ns, end_ns) && end_ns > start_ns && end_ns - start_ns <= kLongestNs;
}

std::uint64_t grid_number(const Execution& kernel) {
  auto number = static_cast<std::uint64_t>(kernel.grid.x);
  for (const std::int64_t each :
       {kernel.grid.y, kernel.grid.z, kernel.block.x, kernel.block.y, kernel.block.z}) {
    number = number * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(each);
  }
  return number;
}

}  // namespace

PmMeaning pm_meaning(std::string_view metric) {
  if (holds(metric, "hit_rate")) return PmMeaning::ratio;
  if (holds(metric, "cycles_elapsed.") || holds(metric, ".peak_sustained")) return PmMeaning::background;
  return metric.ends_with(".sum") ? PmMeaning::amount : PmMeaning::mean;
}

bool SampledWindows::in_window(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) const {
  for (const auto& [id, window] : windows_) {
    if (window.samples == 0 || window.device != device) continue;
    if (start_ns <= window.last_end_ns + kMarginNs && end_ns >= window.first_start_ns - kMarginNs)
      return true;
  }
  return false;
}

void SampledWindows::add(const Execution& kernel, store::Id kernel_id, const RecordedStep* step,
                         std::optional<std::int64_t> ordinal, store::Id launch_id) {
  if (!is_usable(kernel.start_ns, kernel.end_ns)) return;
  const bool sampled =
      step == nullptr ? take_all_ : step->sampled || (step->phase == Phase::sample && !step->unmeasured);
  if (sampled) covered_.kernel_time_ns += kernel.end_ns - kernel.start_ns;
  if (!in_window(kernel.device, kernel.start_ns, kernel.end_ns)) return;
  const std::uint64_t grid = grid_number(kernel);
  Ran ran{.start_ns = kernel.start_ns,
          .end_ns = kernel.end_ns,
          .device = kernel.device,
          .position = 0,
          .family = 0,
          .launch_id = sampled ? launch_id : 0,
          .kernel = true};
  ran.family =
      families_.try_emplace({0, kernel_id, grid}, static_cast<std::uint32_t>(families_.size())).first->second;
  if (step != nullptr && ordinal) {
    const auto [found, fresh] =
        positions_.try_emplace({kernel.device, *ordinal, kernel_id, grid}, next_position_);
    if (fresh) ++next_position_;
    ran.position = found->second;
  } else {
    ran.position = next_position_++;
  }
  ran_.push_back(ran);
}

void SampledWindows::add_other(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns,
                               std::uint32_t kind, std::int64_t bytes) {
  if (!is_usable(start_ns, end_ns) || !in_window(device, start_ns, end_ns)) return;
  const auto family = families_
                          .try_emplace({1, kind, static_cast<std::uint64_t>(bytes)},
                                       static_cast<std::uint32_t>(families_.size()))
                          .first->second;
  ran_.push_back({.start_ns = start_ns,
                  .end_ns = end_ns,
                  .device = device,
                  .position = next_position_++,
                  .family = family,
                  .launch_id = 0,
                  .kernel = false});
}

void SampledWindows::add(const Copy& copy) {
  add_other(copy.device, copy.start_ns, copy.end_ns, copy.kind ? copy.likeness : UINT32_MAX, copy.bytes);
}

void SampledWindows::add_foreign(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) {
  add_other(device, start_ns, end_ns, kForeign, next_position_);  // like nothing else
}

void SampledWindows::sort_ran() {
  if (sorted_) return;
  sorted_ = true;
  std::sort(ran_.begin(), ran_.end(), [](const Ran& a, const Ran& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
  });
}

void SampledWindows::add_sample(std::uint32_t window, std::int64_t start_ns, std::int64_t end_ns,
                                std::vector<double> values) {
  const auto expected = windows_.find(window);
  if (expected == windows_.end()) return;
  Samples& samples = open_[window];
  samples.times.start_ns.push_back(start_ns);
  samples.times.end_ns.push_back(end_ns);
  samples.values.push_back(std::move(values));
  if (static_cast<std::int64_t>(samples.values.size()) < expected->second.samples) return;
  Samples whole = std::move(samples);
  open_.erase(window);
  write_window(expected->second, std::move(whole));
}

void SampledWindows::finish(SamplingOutcome& outcome) {
  for (auto& [window, samples] : open_) write_window(windows_.at(window), std::move(samples));
  open_.clear();
  for (const auto& [id, window] : windows_) {
    if (window.samples == 0) write_window(window, {});
  }
  outcome.kernel_time_ns = covered_.kernel_time_ns;
  for (const auto& [metric_id, covered_ns] : covered_.by_metric) {
    rows_.writer().add(store::TierCoverage{.process_id = rows_.process_id(),
                                           .tier = Tier::t1,
                                           .metric_id = metric_id,
                                           .kernel_time_ns = covered_.kernel_time_ns,
                                           .covered_ns = covered_ns});
    outcome.covered_ns = std::max(outcome.covered_ns, covered_ns);
  }
}

std::vector<SampledWindows::Column> SampledWindows::columns_of(const SampledWindow& window,
                                                               const Samples& samples) {
  std::vector<Column> columns;
  for (std::uint32_t place = 0; place < window.metrics.size(); ++place) {
    const SampledMetric& metric = window.metrics[place];
    if (metric.name.empty()) continue;
    Column column{.place = place,
                  .name = metric.name,
                  .metric_id = 0,
                  .meaning = pm_meaning(metric.name),
                  .values = {}};
    std::size_t missing = 0;
    for (const std::vector<double>& row : samples.values) {
      const double value = place < row.size() ? row[place] : NAN;
      if (!std::isfinite(value)) ++missing;
      column.values.push_back(value);
    }
    if (static_cast<double>(missing) > kMaxUnevaluatedShare * static_cast<double>(samples.values.size())) {
      rows_.say(Severity::warning,
                Reason(ReasonCode::sampled_metric_left_out,
                       {{"metric", metric.name}, {"missing", missing}, {"samples", samples.values.size()}}));
      continue;
    }
    column.metric_id = rows_.writer().metric_id(metric.name, metric.unit, metric.meaning);
    columns.push_back(std::move(column));
  }
  return columns;
}

void SampledWindows::write_window(const SampledWindow& window, Samples samples) {
  sort_ran();
  store::PmWindow row;
  row.process_id = rows_.process_id();
  row.first_step_index = window.first_step;
  row.last_step_index = window.last_step;
  row.interval_ns = window.interval_ns;
  row.buffer_bytes = window.buffer_bytes;
  // Said in advance, in case that the program is killed: what came until then counts.
  if (window.whole) {
    row.status = WindowStatus::ok;
  } else if (window.samples > 0) {
    row.status = WindowStatus::overflow;
    row.overflow = true;
  } else {
    row.status = WindowStatus::failed;
  }
  if (!window.whole) row.reason = window.reason;
  row.device_id = rows_.device_id(window.device);

  std::vector<Column> columns = columns_of(window, samples);

  // In order of time, disjoint; and for the attribution only those with a value in every column.
  std::vector<std::size_t> order(samples.times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return samples.times.start_ns[a] < samples.times.start_ns[b];
  });
  PmSamples clean;
  std::vector<std::size_t> of_clean;
  std::int64_t last_end = INT64_MIN;
  for (const std::size_t i : order) {
    const std::int64_t start = std::max(samples.times.start_ns[i], last_end);
    const std::int64_t end = samples.times.end_ns[i];
    if (2 * (end - start) <= end - samples.times.start_ns[i]) continue;  // a sample twice, or no time at all
    last_end = end;
    if (std::any_of(columns.begin(), columns.end(),
                    [&](const Column& column) { return !std::isfinite(column.values[i]); })) {
      continue;
    }
    clean.start_ns.push_back(start);
    clean.end_ns.push_back(end);
    of_clean.push_back(i);
  }
  std::vector<Ran> ran;
  std::vector<PmActivity> kernels;
  for (const Ran& each : ran_) {
    if (each.device != window.device || clean.size() == 0 ||
        each.start_ns > clean.end_ns.back() + kMarginNs || each.end_ns < clean.start_ns.front() - kMarginNs) {
      continue;
    }
    ran.push_back(each);
    if (each.kernel) kernels.push_back({each.start_ns, each.end_ns, each.position, each.family});
  }

  const auto active = std::find_if(columns.begin(), columns.end(),
                                   [](const Column& column) { return column.name == kSmActive; });
  PmShift shift;
  if (active != columns.end()) {
    std::vector<double> values;
    for (const std::size_t i : of_clean) values.push_back(active->values[i]);
    shift = calibrate_shift(kernels, clean, values);
  }
  for (std::size_t i = 0; i < clean.size(); ++i) {
    clean.start_ns[i] += shift.shift_ns;
    clean.end_ns[i] += shift.shift_ns;
  }
  row.sample_count = static_cast<std::int64_t>(samples.times.size());
  row.shift_correlation = shift.correlation;
  if (clean.size() > 0) {
    row.clock_shift_ns = shift.shift_ns;
    row.start_ns = clean.start_ns.front();
    row.end_ns = clean.end_ns.back();
    if (!kernels.empty() && shift.correlation.value_or(0) < kPoorCorrelation) {
      rows_.say(Severity::warning,
                Reason(ReasonCode::samples_uncorrelated, {{"correlation", shift.correlation.value_or(0)}}));
    }
  }
  rows_.writer().add(row);

  for (const Column& column : columns) {
    for (const std::size_t i : order) {
      if (!std::isfinite(column.values[i])) continue;
      rows_.writer().add(store::PmSample{.device_id = row.device_id,
                                         .time_ns = samples.times.end_ns[i] + shift.shift_ns,
                                         .metric_id = column.metric_id,
                                         .value = column.values[i]});
      rows_.row_written();
    }
  }
  if (clean.size() == 0) return;
  for (Column& column : columns) {
    std::vector<double> values;
    values.reserve(of_clean.size());
    for (const std::size_t i : of_clean) values.push_back(column.values[i]);
    column.values = std::move(values);
  }
  samples = {};
  write_values(ran, clean, columns);
}

void SampledWindows::write_values(const std::vector<Ran>& ran, const PmSamples& samples,
                                  const std::vector<Column>& columns) {
  // Positions and families of this window alone, numbered without holes.
  std::vector<PmActivity> activities;
  std::unordered_map<std::uint32_t, std::uint32_t> positions, families;
  for (const Ran& each : ran) {
    const auto position =
        positions.try_emplace(each.position, static_cast<std::uint32_t>(positions.size())).first->second;
    const auto family =
        families.try_emplace(each.family, static_cast<std::uint32_t>(families.size())).first->second;
    activities.push_back({each.start_ns, each.end_ns, position, family});
  }
  const Attribution attribution(activities, samples);
  const double interval = attribution.interval_ns();
  const auto length = [&](std::size_t i) {
    return static_cast<double>(samples.end_ns[i] - samples.start_ns[i]);
  };

  for (const Column& column : columns) {
    std::vector<double> amounts = column.values;
    const Column* weight = nullptr;
    if (column.meaning == PmMeaning::ratio) {
      const auto unit = column.name.find("lts__") != std::string::npos ? "lts__t_" : "l1tex__t_";
      for (const Column& each : columns) {
        if (each.meaning == PmMeaning::amount && each.name.starts_with(unit)) weight = &each;
      }
    }
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (weight != nullptr) {
        amounts[i] *= weight->values[i];
      } else if (column.meaning != PmMeaning::amount) {
        amounts[i] *= length(i) / interval;
      }
    }
    const bool by_time =
        column.meaning == PmMeaning::background || (column.meaning == PmMeaning::ratio && weight == nullptr);
    const std::vector<std::optional<PmValue>> values =
        by_time ? attribution.means(column.values) : attribution.values(amounts);
    const std::vector<std::optional<PmValue>> weights =
        weight != nullptr ? attribution.values(weight->values) : std::vector<std::optional<PmValue>>{};
    for (std::size_t i = 0; i < ran.size(); ++i) {
      if (ran[i].launch_id == 0 || !values[i]) continue;
      const PmValue& value = *values[i];
      const double duration_ns = static_cast<double>(ran[i].end_ns - ran[i].start_ns);
      store::LaunchMetric row{.launch_id = ran[i].launch_id,
                              .metric_id = column.metric_id,
                              .tier = Tier::t1,
                              .value = value.total,
                              .error = value.error,
                              .sample_count = value.samples,
                              .concurrent = value.concurrent};
      if (weight != nullptr) {
        if (!weights[i] || weights[i]->total <= 0) continue;  // no look-ups, no rate
        row.value /= weights[i]->total;
        if (row.error && weights[i]->error) {
          row.error = std::hypot(*row.error, row.value * *weights[i]->error) / weights[i]->total;
        } else {
          row.error.reset();
        }
      } else if (!by_time && column.meaning == PmMeaning::mean) {
        row.value *= interval / duration_ns;
        if (row.error) *row.error *= interval / duration_ns;
      }
      rows_.writer().add(row);
      rows_.row_written();
      covered_.by_metric[column.metric_id] += row.error ? ran[i].end_ns - ran[i].start_ns : 0;
    }
  }
}

}  // namespace ridgeline::import
