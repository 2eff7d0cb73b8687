#include "ridgeline/analyzer/utilisation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "statistics.h"
#include "text.h"
#include "timeline_clock.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::string_view kT2 = "T2";
constexpr std::string_view kDurationMetric = "gpu__time_duration.sum";
constexpr std::string_view kDramRead = "dram__bytes_read.sum";
constexpr std::string_view kDramWrite = "dram__bytes_write.sum";
constexpr std::string_view kDramBoth = "dram__bytes.sum";
constexpr std::string_view kCycles = "gpc__cycles_elapsed.max";

struct OperationMetric {
  std::string_view metric;
  std::string_view peak_quantity;
};
// Leaves of the metric tree only: a parent counts its children's operations again. The hgmma name stands for
// the FP16 leaves on chips whose counters are not split by destination type, and counts only without them.
constexpr OperationMetric kOperationMetrics[] = {
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "bf16_flops_per_s"},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", "fp16_flops_per_s"},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", "fp16_flops_per_s"},
    {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", "fp16_flops_per_s"},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", "tf32_flops_per_s"},
    {"sm__ops_path_tensor_src_fp8.sum", "fp8_flops_per_s"},
    {"sm__ops_path_tensor_src_int8.sum", "int8_ops_per_s"},
    {"sm__ops_path_tensor_src_fp64.sum", "fp64_tensor_flops_per_s"},
};
constexpr std::string_view kHgmmaFp16 = "sm__ops_path_tensor_op_hgmma_src_fp16.sum";

using OrdinalMap = std::unordered_map<std::int64_t, LaunchIndex>;

OrdinalMap by_ordinal(const Model& model, const std::vector<LaunchIndex>& launches) {
  OrdinalMap map;
  for (const LaunchIndex index : launches) {
    if (const auto ordinal = model.launches[index].ordinal_in_step) map.emplace(*ordinal, index);
  }
  return map;
}

bool same_launch(const store::Launch& a, const store::Launch& b) {
  return a.kernel_id == b.kernel_id && a.grid == b.grid;
}

// What the replay steps say about one launch: a value a step.
struct ReplayValues {
  std::map<std::string_view, std::vector<double>> values;
  // Pipe metrics × that step's duration: ns of the pipe at its full rate.
  std::map<std::string_view, std::vector<double>> pipe_ns;
  std::vector<double> dram_bytes;
  std::vector<double> clock_hz;
  int replayed = 0;
  int mismatched = 0;
  std::string mismatch;  // the first
};

void read_replayed_launch(const Model& model, const store::Launch& launch, ReplayValues& into) {
  std::map<std::string_view, double> row;
  for (const MetricValue& value : model.metrics_of(launch.id)) {
    if (value.tier == kT2 && std::isfinite(value.value)) row[value.name] = value.value;
  }
  if (row.empty()) return;
  ++into.replayed;
  for (const auto& [name, value] : row) into.values[name].push_back(value);
  const auto find = [&](std::string_view name) -> std::optional<double> {
    const auto found = row.find(name);
    return found == row.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto read = find(kDramRead), written = find(kDramWrite); read && written) {
    into.dram_bytes.push_back(*read + *written);
  } else if (const auto both = find(kDramBoth)) {
    into.dram_bytes.push_back(*both);
  }
  std::optional<double> duration = find(kDurationMetric);
  if (!duration && has_time(launch)) duration = static_cast<double>(duration_ns(launch));
  if (!duration || *duration <= 0) return;
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    if (const auto value = find(pipe.metric)) into.pipe_ns[pipe.metric].push_back(*value / 100.0 * *duration);
  }
  if (const auto cycles = find(kCycles)) into.clock_hz.push_back(*cycles / *duration * 1e9);
}

std::optional<Measured> value_of(const ReplayValues& values, std::string_view metric) {
  const auto found = values.values.find(metric);
  return found == values.values.end() ? std::nullopt : measured_mean(found->second, kT2);
}

struct Operations {
  std::string_view peak_quantity;
  Measured count;
};

std::vector<Operations> operations_of(const ReplayValues& values) {
  std::vector<Operations> found;
  for (const OperationMetric& type : kOperationMetrics) {
    const bool counted = std::any_of(found.begin(), found.end(), [&](const Operations& o) {
      return o.peak_quantity == type.peak_quantity;
    });
    if (type.metric == kHgmmaFp16 && counted) continue;
    if (auto count = value_of(values, type.metric)) found.push_back({type.peak_quantity, std::move(*count)});
  }
  return found;
}

// quantity ÷ (duration × peak), its error from the replay steps' and the timeline steps' spread.
Measured ratio_of(const Measured& quantity, double duration_ns, std::optional<double> deviation_ns,
                  double peak_per_ns) {
  Measured ratio;
  ratio.value = quantity.value / duration_ns / peak_per_ns;
  ratio.sample_count = quantity.sample_count;
  ratio.tier = quantity.tier;
  if (quantity.error) {
    const double from_duration = ratio.value * deviation_ns.value_or(0) / duration_ns;
    ratio.error = std::hypot(*quantity.error / duration_ns / peak_per_ns, from_duration);
  }
  return ratio;
}

class Analyzer {
 public:
  Analyzer(const Model& model, const StepAnalysis& steps, const UtilisationOptions& options)
      : model_(model), steps_(steps), options_(options) {}

  UtilisationAnalysis run() {
    collect_steps();
    for (std::size_t i = 0; i < steps_.representative.launches.size(); ++i) {
      result_.launches.push_back(analyze(steps_.representative.launches[i], static_cast<std::int64_t>(i)));
    }
    result_.pipes.assign(pipes_.begin(), pipes_.end());
    report();
    return std::move(result_);
  }

 private:
  void collect_steps() {
    for (const StepSummary& step : steps_.steps) {
      if (step.process_id != steps_.process_id || step.phase != "replay") continue;
      ++replay_steps_seen_;
      if (step.status != "ok") {
        if (unusable_.empty()) unusable_ = step.status + (step.reason.empty() ? "" : ": " + step.reason);
        continue;
      }
      result_.replay_steps.push_back(step.index);
      replay_.push_back(by_ordinal(model_, model_.steps[step.index].launches));
    }
    for (const StepIndex peer : steps_.representative.peers) {
      peers_.push_back(by_ordinal(model_, model_.steps[peer].launches));
    }
  }

  ReplayValues replay_values(const store::Launch& launch) const {
    ReplayValues values;
    if (steps_.representative.whole_recording || !launch.ordinal_in_step) return values;
    for (std::size_t i = 0; i < replay_.size(); ++i) {
      const auto found = replay_[i].find(*launch.ordinal_in_step);
      if (found == replay_[i].end()) continue;
      const store::Launch& replayed = model_.launches[found->second];
      if (same_launch(launch, replayed)) {
        read_replayed_launch(model_, replayed, values);
        continue;
      }
      ++values.mismatched;
      if (values.mismatch.empty()) {
        values.mismatch =
            "replay step " + std::to_string(model_.steps[result_.replay_steps[i]].step.step_index) +
            " launched " +
            (launch.kernel_id == replayed.kernel_id ? std::string("it with another grid")
                                                    : short_name(model_.kernel_name(replayed))) +
            " at this place";
      }
    }
    return values;
  }

  std::optional<double> deviation(const store::Launch& launch) const {
    if (!launch.ordinal_in_step) return std::nullopt;
    std::vector<double> durations;
    for (const OrdinalMap& peer : peers_) {
      const auto found = peer.find(*launch.ordinal_in_step);
      if (found == peer.end()) continue;
      const store::Launch& other = model_.launches[found->second];
      if (same_launch(launch, other) && has_time(other))
        durations.push_back(static_cast<double>(duration_ns(other)));
    }
    return standard_deviation(durations);
  }

  const Result<Peak>& peak(store::Id device_id, std::string_view quantity, PeakSource source) {
    const auto key = std::pair(device_id, std::string(quantity));
    const auto found = peaks_.find(key);
    if (found != peaks_.end()) return found->second;
    auto chosen = choose_peak(model_, device_id, quantity, source);
    if (chosen) {
      result_.peaks.push_back(chosen.value());
      if (chosen.value().fallback) {
        result_.findings.push_back({Severity::warning, "peak.fallback",
                                    "no " + std::string(to_string(source)) + " peak of " +
                                        std::string(quantity) + ": measured against " + chosen.value().text});
      }
    }
    return peaks_.emplace(key, std::move(chosen)).first->second;
  }

  void set_missing(LaunchUtilisation& launch, MissingReason missing, std::string reason) {
    if (launch.missing != MissingReason::none) return;
    launch.missing = missing;
    launch.reason = std::move(reason);
  }

  // Why nothing at all was replayed of this launch.
  void explain_no_values(const store::Launch& launch, const ReplayValues& values, LaunchUtilisation& out) {
    const store::TierStatus* status = model_.tier_status(steps_.process_id, kT2);
    const bool refused = status != nullptr && status->status != "ok" && status->status != "partial";
    if (replay_.empty() && refused) {
      std::string text =
          "counters " + std::string(status->status == "not_requested" ? "not requested" : status->status);
      if (status->reason) text += ": " + *status->reason;
      set_missing(out, MissingReason::tier_refused, std::move(text));
    } else if (replay_.empty() || steps_.representative.whole_recording) {
      set_missing(out, MissingReason::no_replay,
                  replay_steps_seen_ == 0 ? "the recording has no replay step"
                  : replay_.empty()       ? "no replay step is usable (" + unusable_ + ")"
                                          : "without steps there is nothing to join counters on");
    } else if (launch.graph_node_id || launch.graph_id) {
      set_missing(out, MissingReason::graph_node,
                  "a CUDA graph's node: graphs are not replayed node by node");
    } else if (values.mismatched > 0) {
      set_missing(out, MissingReason::mismatch, values.mismatch);
    } else {
      set_missing(out, MissingReason::not_replayed,
                  "no replay step measured a launch at this place of the step");
    }
  }

  void fill_dram(const store::Launch& launch, const ReplayValues& values, LaunchUtilisation& out) {
    out.dram_bytes = measured_mean(values.dram_bytes, kT2);
    out.dram_read_bytes = value_of(values, kDramRead);
    out.dram_write_bytes = value_of(values, kDramWrite);
    if (!out.dram_bytes) {
      set_missing(out, MissingReason::metric_missing, "replayed, but without a counter of DRAM bytes");
      return;
    }
    const Result<Peak>& roof = peak(launch.device_id, "dram_bytes_per_s", options_.peaks.dram);
    if (!roof) {
      set_missing(out, MissingReason::no_peak, roof.failure().message);
      return;
    }
    if (out.duration_ns > 0) {
      out.dram_utilisation = ratio_of(*out.dram_bytes, static_cast<double>(out.duration_ns),
                                      out.duration_deviation_ns, roof.value().value / 1e9);
    }
  }

  // Pipe-active cycles do not depend on when they are counted: those of the replay step, over the cycles that
  // passed in the timeline, are the in-situ utilisation. The two run at different clocks when power is the
  // limit.
  void fill_compute_by_pipes(const store::Launch& launch, const ReplayValues& values,
                             LaunchUtilisation& out) {
    double clock_ratio = 1.0;
    out.timeline_clock_hz = timeline_clock(launch.device_id);
    if (out.timeline_clock_hz && out.replay_clock_hz) {
      // The cycle counter of a very short launch includes the time around it; no clock is above the device's.
      double replay_hz = *out.replay_clock_hz;
      if (const store::Device* device = model_.device(launch.device_id);
          device != nullptr && device->max_sm_clock_hz)
        replay_hz = std::min(replay_hz, static_cast<double>(*device->max_sm_clock_hz));
      clock_ratio = replay_hz / *out.timeline_clock_hz;
    }
    std::set<std::string_view> done;
    for (const PipeMetric& pipe : known_pipe_metrics()) {
      const auto found = values.pipe_ns.find(pipe.metric);
      if (found == values.pipe_ns.end() || !done.insert(pipe.pipe).second) continue;
      pipes_.insert(std::string(pipe.pipe));
      if (out.duration_ns <= 0) continue;
      const Measured ratio =
          ratio_of(*measured_mean(found->second, kT2), static_cast<double>(out.duration_ns),
                   out.duration_deviation_ns, 1.0 / clock_ratio);
      if (!out.compute_utilisation || ratio.value > out.compute_utilisation->value) {
        out.compute_utilisation = ratio;
        out.compute_pipe = pipe.pipe;
      }
    }
    if (done.empty())
      set_missing(out, MissingReason::metric_missing, "replayed, but without a counter of a compute pipe");
  }

  void fill_compute_by_operations(const store::Launch& launch, const ReplayValues& values,
                                  LaunchUtilisation& out) {
    Measured total{.value = 0, .error = 0.0, .sample_count = 0, .tier = std::string(kT2)};
    const std::vector<Operations> types = operations_of(values);
    for (const Operations& type : types) {
      total.sample_count = std::max(total.sample_count, type.count.sample_count);
      if (type.count.value == 0) continue;
      const Result<Peak>& roof = peak(launch.device_id, type.peak_quantity, options_.peaks.compute);
      if (!roof) {
        set_missing(out, MissingReason::no_peak, roof.failure().message);
        return;
      }
      if (out.duration_ns <= 0) return;
      const Measured part = ratio_of(type.count, static_cast<double>(out.duration_ns),
                                     out.duration_deviation_ns, roof.value().value / 1e9);
      total.value += part.value;
      total.error =
          total.error && part.error ? std::optional(std::hypot(*total.error, *part.error)) : std::nullopt;
    }
    if (types.empty()) {
      set_missing(out, MissingReason::metric_missing, "replayed, but without a counter of tensor operations");
      return;
    }
    pipes_.insert("tensor");
    if (out.duration_ns > 0) {
      out.compute_utilisation = total;
      out.compute_pipe = "tensor";
    }
  }

  void fill_operations(const ReplayValues& values, LaunchUtilisation& out) {
    for (const Operations& type : operations_of(values)) {
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

  void clamp(std::optional<Measured>& ratio, LaunchUtilisation& out) {
    if (!ratio || ratio->value <= 1.0) return;
    above_[out.kernel_id] = std::max(above_[out.kernel_id], ratio->value);
    if (!options_.clamp) return;
    ratio->value = 1.0;
    out.clamped = true;
  }

  void judge(const store::Launch& launch, LaunchUtilisation& out) {
    if (out.dram_utilisation && out.compute_utilisation) {
      const double dram = out.dram_utilisation->value;
      const double compute = out.compute_utilisation->value;
      out.limiter_utilisation = std::max(dram, compute);
      out.limiter = compute > dram ? LimiterKind::compute : LimiterKind::dram;
      if (*out.limiter_utilisation <= 0) out.limiter = LimiterKind::none;
    }
    if (out.duration_ns == 0 && !has_time(launch)) {
      out.status = LaunchStatus::unmeasured;
    } else if (out.duration_ns < options_.launch_floor_ns) {
      out.status = LaunchStatus::launch_bound;
    } else if (model_.kernel_class(launch) == "communication") {
      out.status = LaunchStatus::no_roof;
      if (out.reason.empty()) out.reason = "communication: the link bounds it, not DRAM or a pipe";
    } else if (!out.limiter_utilisation) {
      out.status = LaunchStatus::unmeasured;
    } else if (*out.limiter_utilisation < options_.no_roof_ratio) {
      out.status = LaunchStatus::no_roof;
      out.reason = "moves no bytes and uses no pipe to speak of";
    } else {
      out.status = LaunchStatus::measured;
    }
  }

  LaunchUtilisation analyze(LaunchIndex index, std::int64_t position) {
    const store::Launch& launch = model_.launches[index];
    LaunchUtilisation out;
    out.launch = index;
    out.launch_id = launch.id;
    out.kernel_id = launch.kernel_id;
    out.ordinal =
        steps_.representative.whole_recording ? position : launch.ordinal_in_step.value_or(position);
    out.duration_ns = duration_ns(launch);
    out.duration_deviation_ns = deviation(launch);
    if (!has_time(launch)) {
      set_missing(out, MissingReason::zero_timestamp, "the driver gave no timestamps for it");
    }
    const ReplayValues values = replay_values(launch);
    if (values.replayed == 0) {
      explain_no_values(launch, values, out);
    } else {
      out.replay_duration = value_of(values, kDurationMetric);
      if (!values.clock_hz.empty()) out.replay_clock_hz = mean(values.clock_hz);
      fill_operations(values, out);
      fill_dram(launch, values, out);
      if (options_.peaks.compute == PeakSource::clock || options_.peaks.compute == PeakSource::counter) {
        fill_compute_by_pipes(launch, values, out);
      } else {
        fill_compute_by_operations(launch, values, out);
      }
      // A duration of 0 ns with valid timestamps divides nothing.
      if (out.duration_ns <= 0) {
        set_missing(out, MissingReason::zero_timestamp, "its timestamps are equal: no duration to divide by");
      }
    }
    clamp(out.dram_utilisation, out);
    clamp(out.compute_utilisation, out);
    judge(launch, out);
    return out;
  }

  void report() {
    int shown = 0;
    std::vector<std::pair<double, store::Id>> worst;
    for (const auto& [kernel, ratio] : above_) worst.emplace_back(ratio, kernel);
    std::sort(worst.rbegin(), worst.rend());
    for (const auto& [ratio, kernel_id] : worst) {
      const store::Kernel* kernel = model_.kernel(kernel_id);
      result_.findings.push_back({ratio > 1.05 ? Severity::warning : Severity::info, "utilisation.above_peak",
                                  short_name(kernel == nullptr ? "?" : kernel->demangled_name) + " reaches " +
                                      percent(ratio) +
                                      " of its peak: its duration varies between steps, its caches were "
                                      "colder in replay, or the peak is "
                                      "too low" +
                                      (options_.clamp ? "; shown as 100 %" : "")});
      if (++shown == 5) break;
    }
    if (worst.size() > 5) {
      result_.findings.push_back(
          {Severity::info, "utilisation.above_peak",
           "and " + std::to_string(worst.size() - 5) + " other kernels above their peak"});
    }
    if (!result_.pipes.empty() && options_.peaks.compute == PeakSource::clock &&
        std::all_of(result_.pipes.begin(), result_.pipes.end(),
                    [](const auto& pipe) { return pipe == "tensor"; })) {
      result_.findings.push_back(
          {Severity::info, "pipes.tensor_only",
           "only the tensor pipe was counted: kernels that use the FP pipes show a compute "
           "utilisation of about 0"});
    }
  }

  std::optional<double> timeline_clock(store::Id device_id) {
    const auto found = timeline_clocks_.find(device_id);
    if (found != timeline_clocks_.end()) return found->second;
    return timeline_clocks_[device_id] = timeline_sm_clock_hz(model_, steps_, device_id);
  }

  const Model& model_;
  const StepAnalysis& steps_;
  const UtilisationOptions& options_;
  std::map<store::Id, std::optional<double>> timeline_clocks_;
  UtilisationAnalysis result_;
  std::vector<OrdinalMap> replay_;
  std::vector<OrdinalMap> peers_;
  std::map<std::pair<store::Id, std::string>, Result<Peak>> peaks_;
  std::set<std::string> pipes_;
  std::map<store::Id, double> above_;  // kernel → its largest ratio above 1
  int replay_steps_seen_ = 0;
  std::string unusable_;  // status of the first replay step that cannot be used
};

}  // namespace

std::string_view to_string(LimiterKind kind) {
  switch (kind) {
    case LimiterKind::none:
      return "none";
    case LimiterKind::dram:
      return "dram";
    case LimiterKind::compute:
      return "compute";
  }
  return "none";
}

std::string_view to_string(LaunchStatus status) {
  switch (status) {
    case LaunchStatus::measured:
      return "measured";
    case LaunchStatus::launch_bound:
      return "launch_bound";
    case LaunchStatus::no_roof:
      return "no_roof";
    case LaunchStatus::unmeasured:
      return "unmeasured";
  }
  return "unmeasured";
}

std::string_view to_string(MissingReason reason) {
  switch (reason) {
    case MissingReason::none:
      return "none";
    case MissingReason::zero_timestamp:
      return "zero_timestamp";
    case MissingReason::tier_refused:
      return "tier_refused";
    case MissingReason::no_replay:
      return "no_replay";
    case MissingReason::graph_node:
      return "graph_node";
    case MissingReason::not_replayed:
      return "not_replayed";
    case MissingReason::mismatch:
      return "mismatch";
    case MissingReason::metric_missing:
      return "metric_missing";
    case MissingReason::no_peak:
      return "no_peak";
  }
  return "none";
}

const std::vector<PipeMetric>& known_pipe_metrics() {
  // Not sm__ops_path_tensor_*.pct_of_peak: its peak counts structured sparsity, so a dense product ends at 50
  // %.
  static const std::vector<PipeMetric> kPipes = {
      {"tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {"tensor", "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {"tensor", "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"},
      {"fma", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {"fma", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"},
      {"fp16", "sm__pipe_fp16_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {"fp16", "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_elapsed"},
      {"fp64", "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {"fp64", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed"},
      {"alu", "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed"},
      {"alu", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed"},
      {"xu", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed"},
  };
  return kPipes;
}

UtilisationAnalysis analyze_utilisation(const Model& model, const StepAnalysis& steps,
                                        const UtilisationOptions& options) {
  return Analyzer(model, steps, options).run();
}

}  // namespace ridgeline::analyzer
