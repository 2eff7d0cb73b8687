#include "ridgeline/analyzer/utilisation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "findings/merge.h"
#include "pipe_utilisation.h"
#include "replay_values.h"
#include "statistics.h"
#include "tier_values.h"
#include "timeline_clock.h"

namespace ridgeline::analyzer {

namespace {

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

// A launch while its values are found.
struct Draft : LaunchVerdict, LaunchValues {
  std::int64_t duration_ns = 0;
  std::optional<double> duration_deviation_ns;
};

// What the launches of a site have in common, and the groups of those of which nothing was measured.
struct Site {
  using Group = std::optional<LaunchUtilisations::GroupIndex>;
  bool communicates = false;
  Group untimed, brief, other;
};

class Analyzer {
 public:
  Analyzer(const Model& model, const StepAnalysis& steps, const UtilisationOptions& options)
      : model_(model),
        steps_(steps),
        options_(options),
        replay_(model, steps, Phase::replay, Tier::t2),
        sample_(model, steps, Phase::sample, Tier::t1),
        cold_(model, steps, Phase::cold, Tier::t3) {}

  UtilisationAnalysis run() {
    result_.replay_steps = replay_.steps();
    for (StepIndex i = 0; i < model_.steps.size(); ++i) step_of_.emplace(model_.steps[i].step.id, i);
    // The spread of one says nothing.
    for (const StepIndex peer : steps_.representative.peers) {
      if (steps_.representative.peers.size() < 2 || !model_.peer_sums.empty()) break;
      peers_.push_back(by_ordinal(model_, model_.steps[peer].launches));
    }
    for (const store::ReplayExclusion& row : model_.replay_exclusions) {
      if (row.process_id == steps_.process_id) excluded_[row.kernel_id] = to_string(row.reason);
    }
    sites_.resize(model_.launches.sites().size());
    for (std::size_t site = 0; site < sites_.size(); ++site)
      sites_[site].communicates =
          model_.kernel_class(model_.launches.sites()[site]) == KernelClass::communication;
    any_measured_ = joins() && !(replay_.steps().empty() && sample_.steps().empty() && cold_.steps().empty());
    result_.launches.reserve(steps_.representative.launches.size());
    for (const LaunchIndex index : steps_.representative.launches) analyze(index);
    for (const store::Device& device : model_.devices) {
      if (const auto clock_hz = timeline_clock(device.id)) result_.sm_clock_hz[device.id] = *clock_hz;
    }
    result_.pipes.assign(pipes_.begin(), pipes_.end());
    result_.sample_steps.assign(sample_steps_.begin(), sample_steps_.end());
    result_.cold_steps.assign(cold_steps_.begin(), cold_steps_.end());
    report();
    return std::move(result_);
  }

 private:
  // Steps can be joined: there are some, and the representative is one of them.
  bool joins() const { return !steps_.representative.whole_recording; }

  TierRows rows_of(const TierSteps& tier, const store::Launch& launch, std::set<StepIndex>* used = nullptr) {
    TierRows found = joins() ? tier.rows(launch) : TierRows{};
    if (used != nullptr) {
      for (const TierRow& row : found.rows) {
        if (const auto step = step_of_.find(row.launch.step_id.value_or(0)); step != step_of_.end())
          used->insert(step->second);
      }
    }
    return found;
  }

  std::optional<double> deviation_from_sums(std::int64_t ordinal) const {
    if (steps_.representative.summary.sequence_hash != model_.peer_sequence) return std::nullopt;
    const auto sum =
        std::lower_bound(model_.peer_sums.begin(), model_.peer_sums.end(), ordinal,
                         [](const store::OrdinalSum& s, std::int64_t o) { return s.ordinal_in_step < o; });
    if (sum == model_.peer_sums.end() || sum->ordinal_in_step != ordinal || sum->count < 2)
      return std::nullopt;
    const auto n = static_cast<double>(sum->count);
    const auto total = static_cast<double>(sum->sum_ns);
    return std::sqrt(std::max(0.0, (sum->sum_of_squares_ns2 - total * total / n) / (n - 1.0)));
  }

  std::optional<double> deviation(LaunchIndex index) const {
    const std::int64_t ordinal = model_.launches.row(index).ordinal_in_step;
    if (ordinal == Launches::Row::kAbsent) return std::nullopt;
    if (!model_.peer_sums.empty()) return deviation_from_sums(ordinal);
    if (peers_.empty()) return std::nullopt;
    std::vector<double> durations;
    for (const auto& peer : peers_) {
      const auto found = peer.find(ordinal);
      if (found == peer.end()) continue;
      const Launches::Row& other = model_.launches.row(found->second);
      if (same_launch(model_.launches.site(index), model_.launches.site(found->second)) && has_time(other))
        durations.push_back(static_cast<double>(duration_ns(other)));
    }
    return standard_deviation(durations);
  }

  const Result<Peak>& peak(store::Id device_id, std::string_view quantity, PeakSource source) {
    const auto key = std::pair(device_id, std::string(quantity));
    const auto found = peaks_.find(key);
    if (found != peaks_.end()) return found->second;
    auto chosen = choose_peak(model_, device_id, quantity, source, timeline_clock(device_id));
    if (chosen) {
      result_.peaks.push_back(chosen.value());
      if (chosen.value().fallback) {
        Finding fallback{.severity = Severity::warning, .code = FindingCode::peak_fallback};
        fallback.subject.name = quantity;
        fallback.subject.device_id = device_id;
        fallback.peak = chosen.value();
        fallback.missing_source = source;
        result_.findings.push_back(std::move(fallback));
      }
    }
    return peaks_.emplace(key, std::move(chosen)).first->second;
  }

  static void set_missing(TierUtilisation& tier, MissingReason missing, std::string reason) {
    if (tier.missing != MissingReason::none) return;
    tier.missing = missing;
    tier.reason = std::move(reason);
  }

  // "counters refused: no permission" if the tier as a whole gave nothing; "" if it ran.
  std::string refusal(Tier tier, std::string_view what) const {
    const store::TierStatus* status = model_.tier_status(steps_.process_id, tier);
    if (status == nullptr || status->status == TierOutcome::ok || status->status == TierOutcome::partial)
      return "";
    std::string text =
        std::string(what) + " " +
        (status->status == TierOutcome::not_requested ? "not requested"
                                                      : std::string(to_string(status->status)));
    if (status->reason) text += ": " + *status->reason;
    return text;
  }

  // Why nothing at all was replayed of this launch.
  void explain_no_values(const store::Launch& launch, const ReplayValues& values, TierUtilisation& out) {
    const bool no_replay = replay_.steps().empty();
    if (std::string text = refusal(Tier::t2, "counters"); no_replay && !text.empty()) {
      set_missing(out, MissingReason::tier_refused, std::move(text));
    } else if (no_replay || !joins()) {
      set_missing(out, MissingReason::no_replay,
                  replay_.seen() == 0 ? "the recording has no replay step"
                  : no_replay         ? "no replay step is usable (" + replay_.unusable() + ")"
                                      : "without steps there is nothing to join counters on");
    } else if (const auto excluded = excluded_.find(launch.kernel_id); excluded != excluded_.end()) {
      set_missing(out, MissingReason::excluded,
                  "replay steps leave this kernel out (" + excluded->second + ")");
    } else if (launch.graph_node_id || launch.graph_id) {
      set_missing(out, MissingReason::graph_node,
                  model_.graph_metrics.empty() ? "a CUDA graph's node: graphs are not replayed node by node"
                                               : "a CUDA graph's node: its counters are of the whole graph");
    } else if (values.mismatched > 0) {
      set_missing(out, MissingReason::mismatch, values.mismatch);
    } else {
      set_missing(out, MissingReason::not_replayed,
                  "no replay step measured a launch at this place of the step");
    }
  }

  void explain_no_samples(const TierRows& rows, TierUtilisation& out) {
    if (std::string text = refusal(Tier::t1, "samples (T1)"); sample_.steps().empty() && !text.empty()) {
      set_missing(out, MissingReason::tier_refused, std::move(text));
    } else if (sample_.steps().empty()) {
      set_missing(out, MissingReason::no_sample,
                  sample_.seen() == 0 ? "the recording has no sampled step"
                                      : "no sampled step is usable (" + sample_.unusable() + ")");
    } else if (!joins()) {
      set_missing(out, MissingReason::no_sample, "without steps there is nothing to join samples on");
    } else if (rows.mismatched > 0) {
      set_missing(out, MissingReason::mismatch, rows.mismatch);
    } else {
      set_missing(out, MissingReason::no_sample, "no sample tells this launch from its neighbours");
    }
  }

  void fill_dram(const store::Launch& launch, const ReplayValues& values, Draft& out) {
    out.t2.dram_bytes = measured_mean(values.dram_bytes, Tier::t2);
    out.dram_read_bytes = value_of(values, metric_name::kDramRead);
    out.dram_write_bytes = value_of(values, metric_name::kDramWrite);
    if (!out.t2.dram_bytes) {
      set_missing(out.t2, MissingReason::metric_missing, "replayed, but without a counter of DRAM bytes");
      return;
    }
    const Result<Peak>& roof = peak(launch.device_id, "dram_bytes_per_s", options_.peaks.dram);
    if (!roof) {
      set_missing(out.t2, MissingReason::no_peak, roof.failure().message);
      return;
    }
    if (out.duration_ns > 0) {
      out.t2.dram_utilisation = ratio_of(*out.t2.dram_bytes, static_cast<double>(out.duration_ns),
                                         out.duration_deviation_ns, roof.value().value / 1e9);
    }
  }

  void fill_caches(const store::Launch& launch, const ReplayValues& values, Draft& out) {
    out.t2.l2_bytes = value_of(values, metric_name::kL2Bytes);
    using namespace metric_name;
    out.t2.l2_hit_ratio = hit_ratio_of(values.values, kL2Hits, kL2Misses, kL2HitRate, Tier::t2);
    out.l1_bytes = value_of(values, kL1Bytes);
    out.l1_hit_ratio = hit_ratio_of(values.values, kL1Hits, kL1Misses, kL1HitRate, Tier::t2);
    if (auto percent = value_of(values, metric_name::kOccupancy)) {
      percent->value /= 100.0;
      if (percent->error) *percent->error /= 100.0;
      out.occupancy_ratio = percent;
    }
    if (!out.t2.l2_bytes || out.duration_ns <= 0) return;
    if (const Result<Peak>& roof = peak(launch.device_id, "l2_bytes_per_s", PeakSource::counter)) {
      out.t2.l2_utilisation = ratio_of(*out.t2.l2_bytes, static_cast<double>(out.duration_ns),
                                       out.duration_deviation_ns, roof.value().value / 1e9);
    }
  }

  void fill_compute_by_pipes(const ReplayValues& values, Draft& out) {
    const InSitu in_situ{.duration_ns = static_cast<double>(out.duration_ns),
                         .duration_deviation_ns = out.duration_deviation_ns,
                         .sampled_cycles = out.in_situ_cycles,
                         .clock_hz = out.timeline_clock_hz};
    if (!fill_pipes(values, in_situ, out, pipes_))
      set_missing(out.t2, MissingReason::metric_missing, "replayed, but without a counter of a compute pipe");
  }

  void fill_compute_by_operations(const store::Launch& launch, const ReplayValues& values, Draft& out) {
    Measured total{.value = 0, .error = 0.0, .sample_count = 0, .tier = Tier::t2};
    const std::vector<Operations> types = operations_of(values);
    for (const Operations& type : types) {
      total.sample_count = std::max(total.sample_count, type.count.sample_count);
      if (type.count.value == 0) continue;
      const Result<Peak>& roof = peak(launch.device_id, type.peak_quantity, options_.peaks.compute);
      if (!roof) {
        set_missing(out.t2, MissingReason::no_peak, roof.failure().message);
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
      set_missing(out.t2, MissingReason::metric_missing,
                  "replayed, but without a counter of tensor operations");
      return;
    }
    pipes_.insert("tensor");
    if (out.duration_ns > 0) {
      out.t2.compute_utilisation = total;
      out.t2.compute_pipe = "tensor";
      out.t2.pipes.set(Roof::tensor, total.value);
    }
  }

  // The sampled steps may have run at another clock than the timeline's: their cycles over the timeline's time.
  std::optional<double> clock_of(const store::Launch& launch, const Draft& out) {
    if (out.in_situ_cycles && out.duration_ns > 0)
      return out.in_situ_cycles->value / static_cast<double>(out.duration_ns) * 1e9;
    return out.t1.clock_hz ? out.t1.clock_hz : timeline_clock(launch.device_id);
  }

  bool plausible_clock(const store::Launch& launch, double clock_hz) const {
    const store::Device* device = model_.device(launch.device_id);
    const double most = device != nullptr && device->max_sm_clock_hz
                            ? 1.1 * static_cast<double>(*device->max_sm_clock_hz)
                            : 5e9;
    return clock_hz > 0.05 * most && clock_hz <= most;
  }

  // Bytes ÷ own duration ÷ peak, step by step: the sampled steps' own times belong to their own bytes.
  void fill_sampled(const store::Launch& launch, const TierRows& rows, TierUtilisation& out) {
    std::vector<double> durations, clocks;
    std::vector<Estimate> dram, l2, hits, cycles, active;
    std::map<std::string_view, std::vector<Estimate>> pipes;
    double own = 0;
    const auto rate = [&own](const MetricValue& value, double over) {
      return Estimate{value.value / over,
                      value.error ? std::optional(std::fabs(*value.error / over)) : std::nullopt,
                      value.sample_count.value_or(0), own};
    };
    // A step in which it ran alone says more than one in which it did not.
    out.concurrent =
        std::all_of(rows.rows.begin(), rows.rows.end(), [](const TierRow& row) { return row.concurrent(); });
    for (const TierRow& row : rows.rows) {
      if (!has_time(row.launch) || duration_ns(row.launch) <= 0) continue;
      if (row.concurrent() && !out.concurrent) continue;
      own = static_cast<double>(duration_ns(row.launch));
      durations.push_back(own);
      using namespace metric_name;
      const MetricValue* read = row.find(kDramRead);
      const MetricValue* written = row.find(kDramWrite);
      if (read != nullptr && written != nullptr) {
        Estimate both = rate(*read, own);
        const Estimate other = rate(*written, own);
        both.value += other.value;
        both.error =
            both.error && other.error ? std::optional(std::hypot(*both.error, *other.error)) : std::nullopt;
        dram.push_back(both);
      }
      if (const MetricValue* bytes = row.find(kL2Bytes)) l2.push_back(rate(*bytes, own));
      if (const MetricValue* clock = row.find(kClockSampled);
          clock != nullptr && plausible_clock(launch, clock->value)) {
        clocks.push_back(clock->value);
        cycles.push_back(rate(*clock, 1e9 / own));
      }
      if (const MetricValue* ratio = row.find(kSmActive)) active.push_back(rate(*ratio, 100.0));
      if (const MetricValue* ratio = row.find(kL2HitRateSampled)) hits.push_back(rate(*ratio, 100.0));
      for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
        if (const MetricValue* value = row.find(pipe.metric))
          pipes[pipe.metric].push_back(rate(*value, 100.0));
      }
    }
    if (durations.empty()) {
      set_missing(out, MissingReason::zero_timestamp, "the driver gave its sampled launches no timestamps");
      return;
    }
    out.duration = measured_mean(durations, Tier::t1);
    if (!clocks.empty()) out.clock_hz = mean(clocks);
    out.cycles = mean_of_estimates(cycles, Tier::t1);
    out.sm_active_ratio = mean_of_estimates(active, Tier::t1);
    const auto scaled = [](std::optional<Measured> value, double by) {
      if (!value) return value;
      value->value *= by;
      if (value->error) *value->error *= by;
      return value;
    };
    const std::optional<Measured> dram_rate = mean_of_estimates(dram, Tier::t1);  // bytes a ns
    const std::optional<Measured> l2_rate = mean_of_estimates(l2, Tier::t1);
    out.dram_bytes = scaled(dram_rate, out.duration->value);
    out.l2_bytes = scaled(l2_rate, out.duration->value);
    out.l2_hit_ratio = mean_of_estimates(hits, Tier::t1);
    if (dram_rate) {
      if (const Result<Peak>& roof = peak(launch.device_id, "dram_bytes_per_s", options_.peaks.dram)) {
        out.dram_utilisation = scaled(dram_rate, 1e9 / roof.value().value);
      } else {
        set_missing(out, MissingReason::no_peak, roof.failure().message);
      }
    } else {
      set_missing(out, MissingReason::metric_missing, "sampled, but without DRAM bytes");
    }
    if (l2_rate) {
      if (const Result<Peak>& roof = peak(launch.device_id, "l2_bytes_per_s", PeakSource::counter))
        out.l2_utilisation = scaled(l2_rate, 1e9 / roof.value().value);
    }
    std::set<std::string_view> done;
    for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
      const auto found = pipes.find(pipe.metric);
      if (found == pipes.end() || !done.insert(pipe.pipe).second) continue;
      const auto ratio = mean_of_estimates(found->second, Tier::t1);
      if (pipe.roof == Roof::tensor) out.tensor_utilisation = ratio;
      out.pipes.set(pipe.roof, ratio->value);
      if (!out.compute_utilisation || ratio->value > out.compute_utilisation->value) {
        out.compute_utilisation = ratio;
        out.compute_pipe = pipe.pipe;
      }
    }
    if (done.empty()) set_missing(out, MissingReason::metric_missing, "sampled, but without a compute pipe");
  }

  // As Nsight Compute shows it: bytes and time both of the launch with cold caches.
  void fill_cold(const store::Launch& launch, const TierRows& rows, TierUtilisation& out) {
    std::vector<double> bytes, durations, ratios;
    ValuesByMetric values;
    for (const TierRow& row : rows.rows) {
      for (const auto& [name, value] : row.values) values[name].push_back(value.value);
      const auto duration = row.duration_ns();
      const auto moved = row.dram_bytes();
      if (duration) durations.push_back(*duration);
      if (moved) bytes.push_back(*moved);
      if (!duration || !moved) continue;
      if (const Result<Peak>& roof = peak(launch.device_id, "dram_bytes_per_s", options_.peaks.dram))
        ratios.push_back(*moved / *duration / (roof.value().value / 1e9));
    }
    out.duration = measured_mean(durations, Tier::t3);
    out.dram_bytes = measured_mean(bytes, Tier::t3);
    out.dram_utilisation = measured_mean(ratios, Tier::t3);
    using namespace metric_name;
    out.l2_hit_ratio = hit_ratio_of(values, kL2Hits, kL2Misses, kL2HitRate, Tier::t3);
    if (out.dram_utilisation) return;
    set_missing(out, cold_.seen() == 0 ? MissingReason::no_replay : MissingReason::not_replayed,
                cold_.seen() == 0 ? "the recording has no cold step"
                                  : "no cold step measured a launch at this place of the step");
  }

  void fill_operations(const ReplayValues& values, Draft& out) {
    double most = 0;
    for (const Operations& type : operations_of(values)) {
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

  void clamp(std::optional<Measured>& ratio, Draft& out) {
    if (!ratio || ratio->value <= 1.0) return;
    above_[out.kernel_id] = std::max(above_[out.kernel_id], ratio->value);
    if (!options_.clamp) return;
    ratio->value = 1.0;
    out.clamped = true;
  }

  // T2 where there is one, else T1; what neither has keeps T2's reason, and T1's if T1 was asked for.
  void choose(Draft& out) {
    const auto first = [](const std::optional<Measured>& a, const std::optional<Measured>& b) {
      return a ? a : b;
    };
    out.dram_bytes = first(out.t2.dram_bytes, out.t1.dram_bytes);
    out.dram_utilisation = first(out.t2.dram_utilisation, out.t1.dram_utilisation);
    out.l2_bytes = first(out.t2.l2_bytes, out.t1.l2_bytes);
    out.l2_utilisation = first(out.t2.l2_utilisation, out.t1.l2_utilisation);
    out.l2_hit_ratio = first(out.t2.l2_hit_ratio, out.t1.l2_hit_ratio);
    out.compute_utilisation = first(out.t2.compute_utilisation, out.t1.compute_utilisation);
    const TierUtilisation& pipes = out.t2.compute_utilisation ? out.t2 : out.t1;
    out.compute_pipe = pipes.compute_pipe;
    out.sm_active_ratio = first(out.t2.sm_active_ratio, out.t1.sm_active_ratio);
    out.roofs = pipes.pipes;
    if (out.dram_utilisation) out.roofs.set(Roof::dram, out.dram_utilisation->value);
    if (out.l2_utilisation) out.roofs.set(Roof::l2, out.l2_utilisation->value);
    if (out.missing != MissingReason::none || (out.dram_utilisation && out.compute_utilisation)) return;
    out.missing = out.t2.missing;
    out.reason = out.t2.reason;
    if (sample_.seen() > 0 && !out.t1.reason.empty()) out.reason += "; " + out.t1.reason;
  }

  void judge(const store::Launch& launch, Draft& out) {
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
    } else if (model_.kernel_class(launch) == KernelClass::communication) {
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

  static bool is_nothing(const TierRows& rows) { return rows.rows.empty() && rows.mismatched == 0; }

  // What is known of a launch without any counter.
  LaunchUtilisations::Row outline(LaunchIndex index) const {
    const Launches::Row& row = model_.launches.row(index);
    const bool placed =
        !steps_.representative.whole_recording && row.ordinal_in_step != Launches::Row::kAbsent;
    return {.duration_ns = duration_ns(row),
            .ordinal = placed ? row.ordinal_in_step : static_cast<std::int64_t>(result_.launches.size()),
            .deviation_ns = deviation(index).value_or(std::numeric_limits<double>::quiet_NaN()),
            .launch = static_cast<std::uint32_t>(index)};
  }

  void analyze(LaunchIndex index) {
    LaunchUtilisations::Row row = outline(index);
    if (any_measured_) {
      const store::Launch launch = model_.launches[index];
      const TierRows sampled = rows_of(sample_, launch, &sample_steps_);
      const TierRows replayed = rows_of(replay_, launch);
      const TierRows cold = rows_of(cold_, launch, &cold_steps_);
      if (!is_nothing(sampled) || !is_nothing(replayed) || !is_nothing(cold)) {
        row.group = result_.launches.add_group(measure(row, launch, sampled, replayed, cold));
        result_.launches.add(row);
        return;
      }
    }
    row.group = unmeasured_group(row);
    result_.launches.add(row);
  }

  // Launches of a site of which nothing was measured share their verdict, as far as their time lets them.
  LaunchUtilisations::GroupIndex unmeasured_group(const LaunchUtilisations::Row& row) {
    const Launches::Row& launch = model_.launches.row(row.launch);
    Site& site = sites_[launch.site];
    const bool timed = has_time(launch);
    const bool brief = timed && row.duration_ns < options_.launch_floor_ns;
    auto& known = !timed ? site.untimed : brief ? site.brief : site.other;
    if (known) return *known;
    const store::Launch& shared = model_.launches.sites()[launch.site];
    const std::tuple same(timed, excluded_.contains(shared.kernel_id) ? shared.kernel_id : 0,
                          shared.graph_node_id || shared.graph_id);
    auto values = unmeasured_.find(same);
    if (values == unmeasured_.end()) {
      const LaunchVerdict first = measure(row, model_.launches[row.launch], {}, {}, {});
      LaunchValues blank = *first.values;
      blank.blank = true;
      values =
          unmeasured_
              .emplace(same, std::pair(std::make_shared<const LaunchValues>(std::move(blank)), first.missing))
              .first;
    }
    LaunchVerdict verdict;
    verdict.kernel_id = shared.kernel_id;
    verdict.values = values->second.first;
    verdict.missing = values->second.second;
    verdict.status = brief                        ? LaunchStatus::launch_bound
                     : timed && site.communicates ? LaunchStatus::no_roof
                                                  : LaunchStatus::unmeasured;
    return known.emplace(result_.launches.add_group(verdict));
  }

  LaunchVerdict measure(const LaunchUtilisations::Row& row, const store::Launch& launch,
                        const TierRows& sampled, const TierRows& replayed, const TierRows& cold) {
    Draft out;
    out.kernel_id = launch.kernel_id;
    out.duration_ns = row.duration_ns;
    if (!std::isnan(row.deviation_ns)) out.duration_deviation_ns = row.deviation_ns;
    if (!has_time(launch)) {
      out.missing = MissingReason::zero_timestamp;
      out.reason = "the driver gave no timestamps for it";
    }
    if (sampled.rows.empty()) {
      explain_no_samples(sampled, out.t1);
    } else {
      fill_sampled(launch, sampled, out.t1);
    }
    if (!out.t1.concurrent) out.in_situ_cycles = out.t1.cycles;
    if (!is_nothing(sampled) || !is_nothing(replayed) || !is_nothing(cold))
      out.timeline_clock_hz = clock_of(launch, out);
    const ReplayValues values(replayed, model_.device(launch.device_id));
    if (!values.replayed) {
      explain_no_values(launch, values, out.t2);
    } else {
      out.replay_duration = value_of(values, metric_name::kDuration);
      out.t2.duration = measured_mean(values.duration_ns, Tier::t2);
      if (!values.clock_hz.empty()) out.replay_clock_hz = mean(values.clock_hz);
      fill_operations(values, out);
      fill_dram(launch, values, out);
      fill_caches(launch, values, out);
      if (options_.peaks.compute == PeakSource::clock || options_.peaks.compute == PeakSource::counter) {
        fill_compute_by_pipes(values, out);
      } else {
        fill_compute_by_operations(launch, values, out);
      }
      // A duration of 0 ns with valid timestamps divides nothing.
      if (out.duration_ns <= 0) {
        set_missing(out.t2, MissingReason::zero_timestamp,
                    "its timestamps are equal: no duration to divide by");
      }
    }
    fill_cold(launch, cold, out.cold);
    choose(out);
    clamp(out.dram_utilisation, out);
    clamp(out.compute_utilisation, out);
    judge(launch, out);
    out.values = std::make_shared<const LaunchValues>(std::move(static_cast<LaunchValues&>(out)));
    return out;
  }

  void report() {
    std::vector<std::pair<double, store::Id>> worst;
    for (const auto& [kernel_id, ratio] : above_) worst.emplace_back(ratio, kernel_id);
    std::sort(worst.rbegin(), worst.rend());
    for (const auto& [ratio, kernel_id] : worst) {
      const store::Kernel* kernel = model_.kernel(kernel_id);
      Finding finding{.severity = ratio > 1.05 ? Severity::warning : Severity::info,
                      .code = FindingCode::above_peak};
      finding.subject.name = kernel == nullptr ? "?" : kernel->demangled_name;
      finding.subject.kernel_id = kernel_id;
      finding.evidence = {{"utilisation_ratio", ratio, {}, {}}};
      if (options_.clamp) finding.evidence.push_back({"shown_ratio", 1.0, {}, {}});
      result_.findings.push_back(std::move(finding));
    }
    result_.findings = merged(result_.findings);
    if (!result_.pipes.empty() && options_.peaks.compute == PeakSource::clock &&
        std::all_of(result_.pipes.begin(), result_.pipes.end(),
                    [](const auto& pipe) { return pipe == "tensor"; })) {
      result_.findings.push_back({.severity = Severity::info, .code = FindingCode::tensor_only});
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
  const TierSteps replay_;
  const TierSteps sample_;
  const TierSteps cold_;
  bool any_measured_ = false;  // a step that counters or samples were taken in can be joined
  std::vector<Site> sites_;    // of the model's launches
  std::map<store::Id, StepIndex> step_of_;
  std::set<StepIndex> sample_steps_, cold_steps_;
  std::map<store::Id, std::string> excluded_;  // kernel → why replay leaves it out
  std::map<store::Id, std::optional<double>> timeline_clocks_;
  UtilisationAnalysis result_;
  std::vector<std::unordered_map<std::int64_t, LaunchIndex>> peers_;
  std::map<std::pair<store::Id, std::string>, Result<Peak>> peaks_;
  std::set<std::string> pipes_;
  // Values of launches of which nothing was measured, by what makes the reasons differ: time, excluded kernel, graph.
  std::map<std::tuple<bool, store::Id, bool>, std::pair<std::shared_ptr<const LaunchValues>, MissingReason>>
      unmeasured_;
  std::map<store::Id, double> above_;  // kernel → its largest ratio above 1
};

}  // namespace

UtilisationAnalysis analyze_utilisation(const Model& model, const StepAnalysis& steps,
                                        const UtilisationOptions& options) {
  return Analyzer(model, steps, options).run();
}

}  // namespace ridgeline::analyzer
