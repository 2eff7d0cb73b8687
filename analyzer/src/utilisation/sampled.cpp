#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ridgeline/analyzer/values/measured.h"
#include "ridgeline/base/statistics.h"
#include "tier_fill.h"

namespace ridgeline::analyzer {

namespace {

bool plausible_clock(const store::Device* device, double clock_hz) {
  const double most = device != nullptr && device->max_sm_clock_hz
                          ? 1.1 * static_cast<double>(*device->max_sm_clock_hz)
                          : 5e9;
  return clock_hz > 0.05 * most && clock_hz <= most;
}

// A launch that takes so many times longer or shorter in one step than in another, in nanoseconds and in cycles, does
// so because of what runs beside it. Clocks that are read now and then are off by less.
constexpr double kOtherCompany = 1.15;

// The launch did the same in a sampled step as in the timeline's, and took another time, which no clock explains.
bool had_other_company(const TierRows& rows, double timeline_ns, std::optional<double> timeline_clock_hz) {
  if (timeline_ns <= 0 || timeline_clock_hz.value_or(0) <= 0) return false;
  return std::any_of(rows.rows.begin(), rows.rows.end(), [&](const TierRow& row) {
    const auto own = static_cast<double>(duration_ns(row.launch));
    const double clock_hz = row.value(metric_name::kClockSampled).value_or(0);
    if (!row.same_sequence || !has_time(row.launch) || own <= 0 || clock_hz <= 0) return false;
    const double time = std::log(own / timeline_ns), cycles = time + std::log(clock_hz / *timeline_clock_hz);
    return std::min(std::fabs(time), std::fabs(cycles)) > std::log(kOtherCompany);
  });
}

// A share, in per cent, that may as well be half of all more or less: a launch shorter than a sample has such.
bool says_nothing(const MetricValue& share) {
  return share.error.value_or(0) > 50;
}

// What the samples of all steps say of one launch: an estimate a step.
struct Samples {
  std::optional<double> over_ns;  // what all estimates are over; none: each over its own step's duration
  // Of a collective: instructions are those of waiting, and their share of the cycles holds, whatever the time.
  bool waits = false;
  bool waits_with_others =
      false;  // bytes are also those of whatever ran beside it: their rates hold likewise
  std::vector<double> durations_ns;
  std::vector<double> clocks_hz;
  std::vector<Estimate> cycles;
  std::vector<Estimate> dram;                       // bytes a ns
  double read_bytes = 0, moved_bytes = 0;           // over all steps
  std::map<Metric, std::vector<Estimate>> metrics;  // bytes: a ns
  std::map<std::string_view, std::vector<Estimate>> pipes;

  void add(const TierRow& row, std::uint64_t observation, const store::Device* device);
};

void Samples::add(const TierRow& row, std::uint64_t observation, const store::Device* device) {
  const auto own = static_cast<double>(duration_ns(row.launch));
  const double took = over_ns.value_or(own);
  const double percent =
      over_ns && !waits ? 100.0 * took / own : 100.0;  // of a pipe's share of the cycles that passed
  const double moved_in = waits_with_others ? own : took;
  const auto rate = [took, observation](const MetricValue& value, double over) {
    return Estimate{value.value / over,
                    value.error ? std::optional(std::fabs(*value.error / over)) : std::nullopt,
                    value.sample_count.value_or(0), took, observation};
  };
  durations_ns.push_back(own);
  const MetricValue* read = row.find(metric_name::kDramRead);
  const MetricValue* written = row.find(metric_name::kDramWrite);
  if (read != nullptr && written != nullptr) {
    Estimate both = rate(*read, moved_in);
    const Estimate other = rate(*written, moved_in);
    read_bytes += read->value;
    moved_bytes += read->value + written->value;
    both.value += other.value;
    both.error =
        both.error && other.error ? std::optional(std::hypot(*both.error, *other.error)) : std::nullopt;
    dram.push_back(both);
  }
  if (const MetricValue* clock = row.find(metric_name::kClockSampled);
      clock != nullptr && plausible_clock(device, clock->value)) {
    clocks_hz.push_back(clock->value);
    cycles.push_back(rate(*clock, 1e9 / took));
  }
  for (const Metric metric : kAllMetrics) {
    const MetricEntry& entry = metric.entry();
    if (entry.sampled.counter.empty()) continue;
    if (const MetricValue* value = row.find(entry.sampled.counter);
        value != nullptr && !(entry.unit == MetricUnit::ratio && says_nothing(*value))) {
      metrics[metric].push_back(rate(*value, entry.unit == MetricUnit::ratio ? 100.0 : moved_in));
    }
  }
  for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
    if (const MetricValue* value = row.find(pipe.metric)) pipes[pipe.metric].push_back(rate(*value, percent));
  }
}

std::optional<Measured> scaled(std::optional<Measured> value, double by) {
  if (!value) return value;
  value->value *= by;
  if (value->error) *value->error *= by;
  return value;
}

// Of look-ups that hit and of SMs with a warp there are no more than all.
std::optional<Measured> at_most_all(std::optional<Measured> share) {
  if (share) share->value = std::min(share->value, 1.0);
  return share;
}

// Estimates of the launch itself, or of others of its kind: one more of them may be farther from their mean.
class Means {
 public:
  explicit Means(const SampledKind* kind) : kind_(kind) {}

  [[nodiscard]] std::optional<Measured> of(const std::vector<Estimate>& estimates,
                                           std::string_view metric) const {
    std::optional<Measured> mean = mean_of_estimates(estimates, Tier::t1);
    if (!mean || kind_ == nullptr) return mean;
    std::map<std::uint64_t, std::vector<double>> observed;
    for (const Estimate& estimate : estimates) observed[estimate.observation].push_back(estimate.value);
    std::vector<double> values;
    for (const auto& [observation, same] : observed) values.push_back(ridgeline::mean(same));
    const RelativeVariance variance = kind_->kinds.relative_variance(metric, kind_->alike.fineness);
    mean->error = std::hypot(mean->error.value_or(0), reach_of_one_more(values, variance),
                             mean->value * doubt_of_another_time(kind_->alike));
    return mean;
  }

 private:
  const SampledKind* kind_;
};

void fill_dram(const Samples& samples, const Means& means, store::Id device_id, Roofs& roofs,
               TierUtilisation& out) {
  const std::optional<Measured> bytes_per_ns = means.of(samples.dram, LaunchKinds::kDramInAll);
  out.dram_bytes = scaled(bytes_per_ns, samples.over_ns.value_or(out.duration->value));
  if (!bytes_per_ns) {
    set_missing(out, MissingReason::metric_missing, AbsenceCause::sampled_without_dram);
  } else if (const Peak* roof = roofs.dram(device_id)) {
    const std::optional<double> read_share =
        samples.moved_bytes > 0 ? std::optional(samples.read_bytes / samples.moved_bytes) : std::nullopt;
    out.dram_utilisation = scaled(bytes_per_ns, 1e9 / roofs.dram_bytes_per_s(device_id, *roof, read_share));
  } else {
    set_missing(out, MissingReason::no_peak, roofs.no_dram(device_id));
  }
}

void fill_metrics(const Samples& samples, const Means& means, store::Id device_id, Roofs& roofs,
                  TierUtilisation& out) {
  for (const auto& [metric, estimates] : samples.metrics) {
    const std::optional<Measured> mean = means.of(estimates, metric.entry().sampled.counter);
    const bool bytes = metric.entry().unit == MetricUnit::bytes;
    out.metrics.set(metric,
                    bytes ? scaled(mean, samples.over_ns.value_or(out.duration->value)) : at_most_all(mean));
    if (metric != Metric("l2_bytes")) continue;
    if (const Peak* roof = roofs.l2(device_id))
      out.metrics.set("l2_utilisation_ratio", scaled(mean, 1e9 / roof->value));
  }
}

void fill_sampled_pipes(const Samples& samples, const Means& means, TierUtilisation& out) {
  std::set<Roof> done;
  for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
    const auto found = samples.pipes.find(pipe.metric);
    if (found == samples.pipes.end() || !done.insert(pipe.roof).second) continue;
    const auto ratio = means.of(found->second, pipe.metric);
    if (pipe.roof == Roof::kTensor) out.tensor_utilisation = ratio;
    out.pipes.set(pipe.roof, ratio->value);
    if (!out.compute_utilisation || ratio->value > out.compute_utilisation->value) {
      out.compute_utilisation = ratio;
      out.busiest_pipe = pipe.roof;
    }
  }
  if (done.empty()) set_missing(out, MissingReason::metric_missing, AbsenceCause::sampled_without_pipes);
}

}  // namespace

void fill_sampled(const Model& model, const store::Launch& launch, const TierRows& rows,
                  const SampledKind* kind, Roofs& roofs, TierUtilisation& out) {
  // A step in which it ran alone says more than one in which it did not.
  out.concurrent =
      std::all_of(rows.rows.begin(), rows.rows.end(), [](const TierRow& row) { return row.concurrent(); });
  Samples samples;
  if (kind == nullptr && had_other_company(rows, static_cast<double>(duration_ns(launch)),
                                           roofs.timeline_clock(launch.device_id)))
    samples.over_ns = static_cast<double>(duration_ns(launch));
  samples.waits = model.kernel_class(launch) == KernelClass::communication;
  samples.waits_with_others = samples.waits && out.concurrent;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const TierRow& row = rows.rows[i];
    if (!has_time(row.launch) || duration_ns(row.launch) <= 0) continue;
    if (row.concurrent() && !out.concurrent) continue;
    samples.add(row, kind == nullptr ? 0 : kind->observations[i], model.device(launch.device_id));
  }
  if (samples.durations_ns.empty()) {
    set_missing(out, MissingReason::zero_timestamp, AbsenceCause::no_sampled_timestamps);
    return;
  }
  if (!samples.clocks_hz.empty()) out.clock_hz = mean(samples.clocks_hz);
  if (kind != nullptr) {  // the others took a time of their own, and as many cycles
    out.duration = measured_mean({static_cast<double>(duration_ns(launch))}, Tier::t1);
  } else {
    out.duration = measured_mean(samples.durations_ns, Tier::t1);
    out.cycles = mean_of_estimates(samples.cycles, Tier::t1);
  }
  const Means means(kind);
  fill_dram(samples, means, launch.device_id, roofs, out);
  fill_metrics(samples, means, launch.device_id, roofs, out);
  fill_sampled_pipes(samples, means, out);
}

}  // namespace ridgeline::analyzer
