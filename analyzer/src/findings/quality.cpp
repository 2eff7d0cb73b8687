#include "ridgeline/analyzer/quality.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "statistics.h"
#include "text.h"
#include "utilisation/timeline_clock.h"

namespace ridgeline::analyzer {

namespace {

struct ThrottleReason {
  std::int64_t bit;
  const char* text;
};
// NVML's nvmlClocksEventReason* bits. 0x1 (idle) and 0x2, 0x100 (clocks set by the user) are no throttling.
constexpr ThrottleReason kThrottleReasons[] = {
    {0x4, "power limit"},         {0x8, "hardware slowdown"},   {0x10, "sync boost"},
    {0x20, "thermal (software)"}, {0x40, "thermal (hardware)"}, {0x80, "external power brake"},
};

class Assessor {
 public:
  Assessor(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
           const QualityOptions& options)
      : model_(model), steps_(steps), utilisation_(utilisation), options_(options) {}

  Quality run() {
    completeness();
    tiers();
    coverage();
    reach();
    disagreements();
    compare_tiers();
    clocks();
    messages();
    add_all(steps_.findings);
    add_all(utilisation_.findings);
    std::stable_sort(quality_.findings.begin(), quality_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return std::move(quality_);
  }

 private:
  void find(Severity severity, std::string code, std::string text) {
    quality_.findings.push_back({severity, std::move(code), std::move(text)});
  }

  void add_all(const Findings& findings) {
    quality_.findings.insert(quality_.findings.end(), findings.begin(), findings.end());
  }

  void completeness() {
    std::int64_t truncated = 0;
    bool complete = true;
    for (const store::Completeness& row : model_.completeness) {
      quality_.launches_seen += row.launches_seen;
      quality_.kernel_records += row.kernel_records;
      quality_.graph_kernel_records += row.graph_kernel_records;
      quality_.dropped_records += row.dropped_records + row.lost_spool_records;
      quality_.zero_timestamps += row.zero_timestamps;
      truncated += row.truncated_bytes;
      if (row.launches_seen != row.kernel_records) {
        complete = false;
        find(Severity::error, "completeness.launches",
             "process " + std::to_string(row.process_id) + ": " + std::to_string(row.launches_seen) +
                 " kernel launches seen, " + std::to_string(row.kernel_records) +
                 " recorded: times and shares below miss the difference");
      }
    }
    quality_.completeness_known = !model_.completeness.empty();
    if (!quality_.completeness_known) {
      find(Severity::warning, "completeness.unknown",
           "the capture does not say how many launches there were: nothing proves that all are in it");
    }
    if (quality_.dropped_records > 0) {
      find(Severity::error, "completeness.dropped",
           count(quality_.dropped_records, "record was", "records were") + " lost (buffers or disk full)");
    }
    if (quality_.zero_timestamps > 0) {
      find(
          Severity::warning, "completeness.zero_timestamps",
          count(quality_.zero_timestamps, "kernel has", "kernels have") + " no timestamps: in no time below");
    }
    if (truncated > 0) {
      find(Severity::warning, "completeness.truncated",
           std::to_string(truncated) + " bytes at the end of the recording were unreadable");
    }
    quality_.complete = quality_.completeness_known && complete && quality_.dropped_records == 0 &&
                        quality_.zero_timestamps == 0 && truncated == 0;
    if (model_.run && !model_.run->end_ns) {
      find(Severity::warning, "run.interrupted",
           "the recording was interrupted: this is what happened until then");
    }
    if (model_.run && model_.run->exit_signal) {
      find(Severity::warning, "run.signal",
           "the program was ended by signal " + std::to_string(*model_.run->exit_signal));
    } else if (model_.run && model_.run->exit_status.value_or(0) != 0) {
      find(Severity::warning, "run.exit_status",
           "the program ended with exit status " + std::to_string(*model_.run->exit_status));
    }
  }

  void tiers() {
    for (const store::TierStatus& row : model_.tier_statuses) {
      quality_.tiers.push_back({row.process_id, row.tier, row.status, row.reason.value_or("")});
      if (row.status == TierOutcome::ok || row.status == TierOutcome::not_requested) continue;
      const std::string status(to_string(row.status));
      find(row.status == TierOutcome::partial ? Severity::info : Severity::warning, "tier." + status,
           std::string(to_string(row.tier)) + " " + status + (row.reason ? ": " + *row.reason : ""));
    }
    for (const StepSummary& step : steps_.steps) {
      if (step.process_id == steps_.process_id && step.status == StepStatus::mismatch)
        ++quality_.mismatched_steps;
    }
  }

  void coverage() {
    double time = 0, dram = 0, compute = 0, both = 0;
    std::int64_t explained = 0;
    std::map<MissingReason, std::pair<std::int64_t, const LaunchUtilisation*>> missing;
    for (const LaunchUtilisation& launch : utilisation_.launches) {
      const auto t = static_cast<double>(launch.duration_ns);
      time += t;
      if (launch.dram_utilisation) dram += t;
      if (launch.compute_utilisation) compute += t;
      if (launch.limiter_utilisation) both += t;
      if (launch.limiter_utilisation || (launch.missing != MissingReason::none && !launch.reason.empty()))
        ++explained;
      if (launch.limiter_utilisation) continue;
      auto& entry = missing[launch.missing];
      ++entry.first;
      if (entry.second == nullptr || launch.duration_ns > entry.second->duration_ns) entry.second = &launch;
    }
    if (time > 0) {
      quality_.dram_coverage = dram / time;
      quality_.compute_coverage = compute / time;
      quality_.coverage = both / time;
    }
    if (!utilisation_.launches.empty()) {
      quality_.explained_share =
          static_cast<double>(explained) / static_cast<double>(utilisation_.launches.size());
    }
    if (quality_.coverage < options_.coverage_warning) {
      find(Severity::warning, "t2.coverage",
           "DRAM and compute utilisation are known for " + percent(quality_.coverage) +
               " of the step's kernel time");
    }
    for (const auto& [reason, entry] : missing) {
      find(Severity::info, "missing." + std::string(to_string(reason)),
           count(entry.first, "launch", "launches") + " without utilisation, the longest " +
               time_text(static_cast<double>(entry.second->duration_ns)) + ": " + entry.second->reason);
    }
  }

  void reach() {
    const auto add = [&](Tier tier, bool recorded, const TierUtilisation LaunchUtilisation::*part) {
      if (!recorded) return;
      TierReach row;
      row.tier = tier;
      double time = 0, dram = 0, compute = 0, concurrent = 0, with_error = 0, errors = 0;
      for (const LaunchUtilisation& launch : utilisation_.launches) {
        const auto t = static_cast<double>(launch.duration_ns);
        const TierUtilisation& said = launch.*part;
        time += t;
        if (said.compute_utilisation) compute += t;
        if (said.concurrent) concurrent += t;
        if (!said.dram_utilisation) continue;
        ++row.launches;
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
      }
      if (row.concurrent_share > 0) {
        find(Severity::info, "t1.concurrent",
             percent(row.concurrent_share) +
                 " of the kernel time ran beside other kernels: its T1 values are of all that ran then");
      }
      if (with_error > 0) row.dram_mean_error = errors / with_error;
      quality_.reach.push_back(std::move(row));
    };
    add(Tier::t1, !utilisation_.sample_steps.empty(), &LaunchUtilisation::t1);
    add(Tier::t2, !utilisation_.replay_steps.empty(), &LaunchUtilisation::t2);
    add(Tier::t3, !utilisation_.cold_steps.empty(), &LaunchUtilisation::cold);
  }

  // Two instruments on one quantity: what one says of a kernel, the other must say too.
  void compare_tiers() {
    quality_.comparison_limit = options_.tier_difference_ratio;
    quality_.comparison_floor_ns = options_.tier_difference_floor_ns;
    struct Sum {
      std::int64_t calls = 0;
      double time_ns = 0;
      double t1 = 0, t2 = 0;
      double t1_variance = 0, t2_variance = 0;
      bool t1_error = true, t2_error = true;
      std::int64_t t1_samples = 0, t2_samples = 0;
    };
    std::map<store::Id, Sum> kernels;
    for (const LaunchUtilisation& launch : utilisation_.launches) {
      const auto& t1 = launch.t1.dram_utilisation;
      const auto& t2 = launch.t2.dram_utilisation;
      if (!t1 || !t2 || launch.t1.concurrent || launch.duration_ns <= 0) continue;
      Sum& sum = kernels[launch.kernel_id];
      const auto t = static_cast<double>(launch.duration_ns);
      ++sum.calls;
      sum.time_ns += t;
      sum.t1 += t * t1->value;
      sum.t2 += t * t2->value;
      sum.t1_error = sum.t1_error && t1->error.has_value();
      sum.t2_error = sum.t2_error && t2->error.has_value();
      sum.t1_variance += std::pow(t * t1->error.value_or(0), 2);
      sum.t2_variance += std::pow(t * t2->error.value_or(0), 2);
      sum.t1_samples += t1->sample_count;
      sum.t2_samples += t2->sample_count;
    }
    for (const auto& [id, sum] : kernels) {
      TierComparison row;
      row.calls = sum.calls;
      row.mean_ns = sum.time_ns / static_cast<double>(sum.calls);
      if (row.mean_ns < static_cast<double>(options_.tier_difference_floor_ns)) continue;
      const store::Kernel* kernel = model_.kernel(id);
      row.kernel = kernel == nullptr ? "?" : kernel->demangled_name;
      const auto measured = [time_ns = sum.time_ns](double value, double variance, bool known,
                                                    std::int64_t samples, Tier tier) {
        Measured out{.value = value / time_ns, .error = {}, .sample_count = samples, .tier = tier};
        if (known) out.error = std::sqrt(variance) / time_ns;
        return out;
      };
      row.t1 = measured(sum.t1, sum.t1_variance, sum.t1_error, sum.t1_samples, Tier::t1);
      row.t2 = measured(sum.t2, sum.t2_variance, sum.t2_error, sum.t2_samples, Tier::t2);
      row.difference = tier_difference(row.t1, row.t2);
      row.flagged = std::fabs(row.difference.value) > options_.tier_difference_ratio;
      quality_.comparisons.push_back(std::move(row));
    }
    std::stable_sort(quality_.comparisons.begin(), quality_.comparisons.end(),
                     [](const TierComparison& a, const TierComparison& b) {
                       return std::fabs(a.difference.value) > std::fabs(b.difference.value);
                     });
    const auto with_error = [](const Measured& value) {
      return percent(value.value) + (value.error ? " ± " + number(*value.error * 100, 1) : "");
    };
    for (const TierComparison& row : quality_.comparisons) {
      if (!row.flagged) continue;
      find(Severity::warning, "t1.disagreement",
           short_name(row.kernel) + ": DRAM utilisation " + with_error(row.t1) +
               " by in-situ samples (T1) against " + with_error(row.t2) + " by counters (T2), " +
               (row.difference.value > 0 ? "+" : "−") + number(std::fabs(row.difference.value) * 100, 1) +
               " points over " + count(row.calls, "launch", "launches") + " of " + time_text(row.mean_ns));
    }
  }

  // A kernel that is bound by memory takes the same time at any SM clock, one that computes the same cycles:
  // only one that takes neither behaved differently.
  void disagreements() {
    struct Sum {
      std::int64_t calls = 0;
      double timeline_ns = 0;
      double replay_ns = 0;
      double replay_at_timeline_clock_ns = 0;
    };
    std::map<store::Id, Sum> kernels;
    for (const LaunchUtilisation& launch : utilisation_.launches) {
      if (!launch.replay_duration || launch.duration_ns <= 0) continue;
      Sum& sum = kernels[launch.kernel_id];
      ++sum.calls;
      sum.timeline_ns += static_cast<double>(launch.duration_ns);
      sum.replay_ns += launch.replay_duration->value;
      sum.replay_at_timeline_clock_ns +=
          launch.replay_duration->value * (launch.replay_clock_hz && launch.timeline_clock_hz
                                               ? *launch.replay_clock_hz / *launch.timeline_clock_hz
                                               : 1.0);
    }
    for (const auto& [id, sum] : kernels) {
      const auto calls = static_cast<double>(sum.calls);
      const double ratio = sum.replay_ns / sum.timeline_ns - 1.0;
      const double cycle_ratio = sum.replay_at_timeline_clock_ns / sum.timeline_ns - 1.0;
      if (std::min(std::fabs(ratio), std::fabs(cycle_ratio)) <= options_.disagreement_ratio ||
          ratio * cycle_ratio < 0 ||
          sum.timeline_ns / calls < static_cast<double>(options_.disagreement_floor_ns)) {
        continue;
      }
      const store::Kernel* kernel = model_.kernel(id);
      quality_.disagreements.push_back({kernel == nullptr ? "?" : kernel->demangled_name, sum.calls,
                                        sum.timeline_ns / calls, sum.replay_ns / calls, ratio});
    }
    std::sort(quality_.disagreements.begin(), quality_.disagreements.end(),
              [](const Disagreement& a, const Disagreement& b) {
                return a.timeline_ns * static_cast<double>(a.calls) >
                       b.timeline_ns * static_cast<double>(b.calls);
              });
    for (const Disagreement& item : quality_.disagreements) {
      find(Severity::warning, "t2.disagreement",
           short_name(item.kernel) + " took " + time_text(item.replay_ns) + " in replay against " +
               time_text(item.timeline_ns) + " in the timeline (" + (item.ratio > 0 ? "+" : "") +
               percent(item.ratio) +
               "), in cycles too: overlap or caches differ there, and its counters may differ as well");
    }
  }

  // The time that the representative's peers cover; everything if none has times.
  bool in_timeline(std::int64_t time_ns, std::int64_t begin_ns, std::int64_t end_ns) const {
    return begin_ns < end_ns ? time_ns >= begin_ns && time_ns <= end_ns : true;
  }

  ClockSummary summarise_clocks(const store::Device& device, std::int64_t begin_ns,
                                std::int64_t end_ns) const {
    ClockSummary summary;
    summary.device_id = device.id;
    std::vector<double> sm, memory, power;
    std::int64_t with_reasons = 0, throttled = 0, seen = 0;
    for (const store::ClockSample& sample : model_.clock_samples) {
      if (sample.device_id != device.id || !in_timeline(sample.time_ns, begin_ns, end_ns)) continue;
      ++summary.samples;
      if (sample.sm_clock_hz) sm.push_back(static_cast<double>(*sample.sm_clock_hz));
      if (sample.memory_clock_hz) memory.push_back(static_cast<double>(*sample.memory_clock_hz));
      if (sample.power_mw) power.push_back(static_cast<double>(*sample.power_mw) / 1e3);
      if (sample.temperature_c) {
        summary.temperature_max_c = std::max(summary.temperature_max_c.value_or(-273), *sample.temperature_c);
      }
      if (!sample.throttle_reasons) continue;
      ++with_reasons;
      std::int64_t known = 0;
      for (const ThrottleReason& reason : kThrottleReasons) known |= reason.bit;
      if ((*sample.throttle_reasons & known) != 0) ++throttled;
      seen |= *sample.throttle_reasons;
    }
    if (!sm.empty()) {
      summary.sm_clock_min_hz = *std::min_element(sm.begin(), sm.end());
      summary.sm_clock_max_hz = *std::max_element(sm.begin(), sm.end());
      summary.sm_clock_median_hz = median(sm);
    }
    if (!memory.empty()) summary.memory_clock_median_hz = median(memory);
    if (!power.empty()) {
      summary.power_max_w = *std::max_element(power.begin(), power.end());
      summary.power_median_w = median(power);
    }
    for (const ThrottleReason& reason : kThrottleReasons) {
      if ((seen & reason.bit) != 0) summary.throttle_reasons.emplace_back(reason.text);
    }
    if (with_reasons > 0)
      summary.throttled_share = static_cast<double>(throttled) / static_cast<double>(with_reasons);
    return summary;
  }

  void report_clocks(const store::Device& device, const ClockSummary& summary) {
    if (summary.sm_clock_median_hz && *summary.sm_clock_median_hz > 0) {
      const double spread =
          (*summary.sm_clock_max_hz - *summary.sm_clock_min_hz) / *summary.sm_clock_median_hz;
      if (spread > options_.clock_spread_warning) {
        find(Severity::warning, "clock.spread",
             device.name + ": the SM clock moved between " + number(*summary.sm_clock_min_hz / 1e6, 0) +
                 " and " + number(*summary.sm_clock_max_hz / 1e6, 0) + " MHz during the timeline");
      }
    }
    if (summary.throttle_reasons.empty()) return;
    std::string reasons;
    for (const std::string& reason : summary.throttle_reasons)
      reasons += (reasons.empty() ? "" : ", ") + reason;
    find(Severity::info, "clock.throttled",
         device.name + ": clocks were throttled in " + percent(summary.throttled_share, 0) +
             " of the samples (" + reasons + ")");
  }

  // Worth knowing although compute utilisation counts cycles at each one's clock: the memory did not slow
  // with the SMs.
  void compare_replay_clock() {
    double weight = 0, sum = 0;
    store::Id device_id = 0;
    for (const LaunchUtilisation& launch : utilisation_.launches) {
      // The cycle counter of a short launch includes the time around it.
      if (!launch.replay_clock_hz || launch.duration_ns < options_.disagreement_floor_ns) continue;
      weight += static_cast<double>(launch.duration_ns);
      sum += static_cast<double>(launch.duration_ns) * *launch.replay_clock_hz;
      device_id = model_.launches[launch.launch].device_id;
    }
    if (weight <= 0) return;
    for (const ClockSummary& summary : quality_.clocks) {
      if (summary.device_id != device_id || !summary.sm_clock_median_hz || *summary.sm_clock_median_hz <= 0)
        continue;
      const double ratio = sum / weight / *summary.sm_clock_median_hz - 1.0;
      if (std::fabs(ratio) <= options_.clock_spread_warning) continue;
      find(Severity::info, "clock.replay_differs",
           "replay ran at " + number(sum / weight / 1e6, 0) + " MHz, the timeline at " +
               number(*summary.sm_clock_median_hz / 1e6, 0) +
               " MHz: compute utilisation counts the cycles of each at its own clock");
    }
  }

  void clocks() {
    const auto [begin_ns, end_ns] = timeline_window(steps_);
    for (const store::Device& device : model_.devices) {
      ClockSummary summary = summarise_clocks(device, begin_ns, end_ns);
      if (summary.samples == 0) summary = summarise_clocks(device, 0, 0);
      if (summary.samples == 0) continue;
      report_clocks(device, summary);
      quality_.clocks.push_back(std::move(summary));
    }
    const bool clock_known =
        std::any_of(utilisation_.launches.begin(), utilisation_.launches.end(),
                    [](const LaunchUtilisation& l) { return l.t1.clock_hz.has_value(); });
    if (quality_.clocks.empty() && !clock_known) {
      find(Severity::info, "clock.unknown",
           "clocks and power were not recorded: compute utilisation takes replay and timeline to have run at "
           "one clock");
    }
    compare_replay_clock();
  }

  void messages() {
    for (const store::Message& message : model_.messages) {
      if (message.severity == Severity::info) continue;
      find(message.severity, "collector", message.text);
    }
  }

  const Model& model_;
  const StepAnalysis& steps_;
  const UtilisationAnalysis& utilisation_;
  const QualityOptions& options_;
  Quality quality_;
};

}  // namespace

Quality assess_quality(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
                       const QualityOptions& options) {
  return Assessor(model, steps, utilisation, options).run();
}

}  // namespace ridgeline::analyzer
