#include "pipe_utilisation.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/analyzer/values/measured.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

// What all pipes of a launch share.
class Denominator {
 public:
  Denominator(const ReplayValues& values, const InSitu& in_situ) : values_(values), in_situ_(in_situ) {
    const double duration_ratio = in_situ.duration_deviation_ns.value_or(0) / in_situ.duration_ns;
    if (in_situ.sampled_cycles && in_situ.sampled_cycles->value > 0) {
      cycles_ = in_situ.sampled_cycles->value;
      relative_error_ = in_situ.sampled_cycles->error.value_or(0) / cycles_;
    } else if (in_situ.clock_hz) {
      cycles_ = *in_situ.clock_hz * in_situ.duration_ns * 1e-9;
      relative_error_ = duration_ratio;
    }
    if (const auto spread = standard_deviation(values.cycles)) {
      spread_known_ = true;
      relative_error_ = std::hypot(relative_error_, *spread / mean(values.cycles));
    }
    relative_error_ =
        std::hypot(relative_error_, values.normalisation.deviation / values.normalisation.ratio);
  }

  [[nodiscard]] std::optional<Measured> utilisation(std::string_view metric) const {
    const auto cycles = values_.pipe_cycles.find(metric);
    const auto ns = values_.pipe_ns.find(metric);
    const bool every_step = cycles != values_.pipe_cycles.end() &&
                            (ns == values_.pipe_ns.end() || cycles->second.size() == ns->second.size());
    if (every_step && cycles_ > 0) return of(*measured_mean(cycles->second, Tier::t2), cycles_);
    if (ns == values_.pipe_ns.end()) return std::nullopt;
    Measured ratio = *measured_mean(ns->second, Tier::t2);
    ratio.value /= in_situ_.duration_ns;
    if (ratio.error) {
      ratio.error =
          std::hypot(*ratio.error / in_situ_.duration_ns,
                     ratio.value * in_situ_.duration_deviation_ns.value_or(0) / in_situ_.duration_ns);
    }
    return ratio;
  }

 private:
  // A pipe that was counted in one step has no spread of its own; how much the launch's cycles differ from step to
  // step is known from all of them.
  [[nodiscard]] Measured of(Measured counted, double cycles) const {
    counted.value /= cycles;
    if (counted.error || spread_known_)
      counted.error = std::hypot(counted.error.value_or(0) / cycles, counted.value * relative_error_);
    return counted;
  }

  const ReplayValues& values_;
  const InSitu& in_situ_;
  double cycles_ = 0;
  double relative_error_ = 0;
  bool spread_known_ = false;
};

// Two instruments on one quantity: what their errors do not explain of their difference is an error too.
void widen(std::optional<Measured>& counted, const TierUtilisation& sampled) {
  if (!counted || !sampled.tensor_utilisation || sampled.concurrent) return;
  const double known = std::hypot(counted->error.value_or(0), sampled.tensor_utilisation->error.value_or(0));
  const double unexplained = std::fabs(counted->value - sampled.tensor_utilisation->value) - known;
  if (unexplained > 0) counted->error = std::hypot(counted->error.value_or(0), unexplained);
}

}  // namespace

bool fill_pipes(const ReplayValues& values, const InSitu& in_situ, LaunchValues& out, std::set<Pipe>& pipes) {
  std::set<Roof> done;
  std::optional<Denominator> denominator;
  if (in_situ.duration_ns > 0) denominator.emplace(values, in_situ);
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    if (!values.pipe_ns.contains(pipe.metric) || !done.insert(pipe.roof).second) continue;
    pipes.insert(pipe.roof.pipe);
    if (!denominator) continue;
    std::optional<Measured> ratio = denominator->utilisation(pipe.metric);
    if (pipe.roof == Roof::kTensor) {
      widen(ratio, out.t1);
      out.t2.tensor_utilisation = ratio;
    }
    out.t2.pipes.set(pipe.roof, ratio->value);
    if (!out.t2.compute_utilisation || ratio->value > out.t2.compute_utilisation->value) {
      out.t2.compute_utilisation = ratio;
      out.t2.busiest_pipe = pipe.roof;
    }
  }
  out.t2.metrics.set("sm_active_ratio", measured_mean(values.sm_active, Tier::t2));
  if (denominator) {
    const std::optional<Measured> issue = denominator->utilisation(kIssueSlots);
    out.t2.metrics.set("issue_utilisation_ratio", issue);
    if (issue) out.t2.pipes.set(Roof::kIssue, issue->value);
  }
  return !done.empty();
}

}  // namespace ridgeline::analyzer
