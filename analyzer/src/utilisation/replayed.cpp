#include <algorithm>
#include <cmath>

#include "measured_pipes.h"
#include "pipe_utilisation.h"
#include "ridgeline/analyzer/values/measured.h"
#include "ridgeline/base/statistics.h"
#include "tier_fill.h"

namespace ridgeline::analyzer {

namespace {

void fill_dram(const store::Launch& launch, const ReplayValues& values, Roofs& roofs, Draft& out) {
  out.t2.dram_bytes = measured_mean(values.dram_bytes, Tier::t2);
  if (!out.t2.dram_bytes) {
    set_missing(out.t2, MissingReason::metric_missing, AbsenceCause::replayed_without_dram);
    return;
  }
  const Peak* roof = roofs.dram(launch.device_id);
  if (roof == nullptr) {
    set_missing(out.t2, MissingReason::no_peak, roofs.no_dram(launch.device_id));
    return;
  }
  if (out.duration_ns > 0) {
    const double per_s = roofs.dram_bytes_per_s(launch.device_id, *roof, dram_read_share(values));
    out.t2.dram_utilisation = ratio_of(*out.t2.dram_bytes, out, per_s);
  }
}

void fill_metrics(const store::Launch& launch, const ReplayValues& values, Roofs& roofs, Draft& out) {
  MetricValues& metrics = out.t2.metrics;
  for (const Metric metric : kAllMetrics) metrics.set(metric, counted(values.values, metric.entry()));
  const std::optional<Measured> l2_bytes = metrics.of("l2_bytes");
  if (!l2_bytes || out.duration_ns <= 0) return;
  if (const Peak* roof = roofs.l2(launch.device_id))
    metrics.set("l2_utilisation_ratio", ratio_of(*l2_bytes, out, *roof));
}

void fill_compute_by_pipes(const ReplayValues& values, std::set<Pipe>& pipes, Draft& out) {
  const InSitu in_situ{.duration_ns = static_cast<double>(out.duration_ns),
                       .duration_deviation_ns = out.duration_deviation_ns,
                       .sampled_cycles = out.in_situ_cycles,
                       .clock_hz = out.timeline_clock_hz};
  if (!fill_pipes(values, in_situ, out, pipes))
    set_missing(out.t2, MissingReason::metric_missing, AbsenceCause::replayed_without_pipes);
}

// Operations of the tensor pipe ÷ their measured roofs; empty unless all types have one.
std::optional<double> tensor_at_measured_roofs(const store::Launch& launch,
                                               const std::vector<Operations>& types, Roofs& roofs,
                                               const Draft& out) {
  if (types.empty() || out.duration_ns <= 0) return std::nullopt;
  double ratio = 0;
  for (const Operations& type : types) {
    if (type.count.value == 0) continue;
    const Peak* roof = roofs.measured_operations(launch.device_id, type.peak_quantity);
    if (roof == nullptr) return std::nullopt;
    ratio += ratio_of(type.count, out, *roof).value;
  }
  return ratio;
}

void fill_compute_by_operations(const store::Launch& launch, const std::vector<Operations>& types,
                                Roofs& roofs, std::set<Pipe>& pipes, Draft& out) {
  Measured total{.value = 0, .error = 0.0, .sample_count = 0, .tier = Tier::t2};
  for (const Operations& type : types) {
    total.sample_count = std::max(total.sample_count, type.count.sample_count);
    if (type.count.value == 0) continue;
    const Peak* roof = roofs.operations(launch.device_id, type.peak_quantity);
    if (roof == nullptr) {
      set_missing(out.t2, MissingReason::no_peak, roofs.absence(launch.device_id, type.peak_quantity));
      return;
    }
    if (out.duration_ns <= 0) return;
    const Measured part = ratio_of(type.count, out, *roof);
    total.value += part.value;
    total.error =
        total.error && part.error ? std::optional(std::hypot(*total.error, *part.error)) : std::nullopt;
  }
  if (types.empty()) {
    set_missing(out.t2, MissingReason::metric_missing, AbsenceCause::replayed_without_tensor);
    return;
  }
  pipes.insert(Pipe::tensor);
  if (out.duration_ns > 0) {
    out.t2.compute_utilisation = total;
    out.t2.busiest_pipe = Roof::kTensor;
    out.t2.pipes.set(Roof::kTensor, total.value);
  }
}

void fill_operations(const std::vector<Operations>& types, Draft& out) {
  double most = 0;
  for (const Operations& type : types) {
    if (type.count.value > 0) out.tensor_types.push_back({type.peak_quantity, type.count.value});
    if (type.count.value > most) {
      most = type.count.value;
      out.tensor_quantity = type.peak_quantity;
    }
    if (!out.tensor_ops) {
      out.tensor_ops = type.count;
      continue;
    }
    Measured& sum = *out.tensor_ops;
    sum.value += type.count.value;
    sum.sample_count = std::max(sum.sample_count, type.count.sample_count);
    sum.error = sum.error && type.count.error ? std::optional(std::hypot(*sum.error, *type.count.error))
                                              : std::nullopt;
  }
}

}  // namespace

void fill_replayed(const store::Launch& launch, const ReplayValues& values,
                   const std::vector<Operations>& operations, PeakSource compute, Roofs& roofs,
                   std::set<Pipe>& pipes, Draft& out) {
  out.replay_duration = value_of(values, metric_name::kDuration);
  out.t2.duration = measured_mean(values.duration_ns, Tier::t2);
  if (!values.clock_hz.empty()) out.replay_clock_hz = mean(values.clock_hz);
  fill_operations(operations, out);
  fill_dram(launch, values, roofs, out);
  fill_metrics(launch, values, roofs, out);
  if (compute == PeakSource::clock || compute == PeakSource::counter || state_of(compute)) {
    fill_compute_by_pipes(values, pipes, out);
    if (state_of(compute)) {
      hold_pipes_against_roofs(roofs, launch.device_id, out.timeline_clock_hz, out.tensor_quantity,
                               tensor_at_measured_roofs(launch, operations, roofs, out), out.t2);
    }
  } else {
    fill_compute_by_operations(launch, operations, roofs, pipes, out);
  }
  // A duration of 0 ns with valid timestamps divides nothing.
  if (out.duration_ns <= 0)
    set_missing(out.t2, MissingReason::zero_timestamp, AbsenceCause::equal_timestamps);
}

void fill_cold(const store::Launch& launch, const TierRows& rows, bool any_cold_step, Roofs& roofs,
               TierUtilisation& out) {
  std::vector<double> bytes, durations, ratios;
  for (const TierRow& row : rows.rows) {
    const auto duration = row.duration_ns();
    const auto moved = row.dram_bytes();
    if (duration) durations.push_back(*duration);
    if (moved) bytes.push_back(*moved);
    if (!duration || !moved) continue;
    if (const Peak* roof = roofs.dram(launch.device_id))
      ratios.push_back(*moved / *duration /
                       (roofs.dram_bytes_per_s(launch.device_id, *roof, row.dram_read_share()) / 1e9));
  }
  out.duration = measured_mean(durations, Tier::t3);
  out.dram_bytes = measured_mean(bytes, Tier::t3);
  out.dram_utilisation = measured_mean(ratios, Tier::t3);
  if (out.dram_utilisation) return;
  set_missing(out, any_cold_step ? MissingReason::not_replayed : MissingReason::no_replay,
              any_cold_step ? AbsenceCause::not_replayed_cold : AbsenceCause::no_cold_step);
}

}  // namespace ridgeline::analyzer
