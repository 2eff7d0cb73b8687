#include "ridgeline/analyzer/utilisation/utilisation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "absences.h"
#include "counted_kinds.h"
#include "draft.h"
#include "measured_pipes.h"
#include "replay_values.h"
#include "ridgeline/base/statistics.h"
#include "roofs.h"
#include "tensor_operations.h"
#include "tier_fill.h"
#include "timeline_clock.h"
#include "values/merge.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinNoise = 0.01;  // of a figure beside a measured roof

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
        cold_(model, steps, Phase::cold, Tier::t3),
        flops_(model, steps, Phase::flops, Tier::t3),
        roofs_(model, steps, options.peaks),
        absences_(model, steps, replay_, sample_),
        counted_(model, steps, replay_.steps()),
        operations_(model) {}

  UtilisationAnalysis run() {
    result_.replay_steps = replay_.steps();
    for (StepIndex i = 0; i < model_.steps.size(); ++i) step_of_.emplace(model_.steps[i].step.id, i);
    // The spread of one says nothing.
    for (const StepIndex peer : steps_.representative.peers) {
      if (steps_.representative.peers.size() < 2 || !model_.peer_sums.empty()) break;
      peers_.push_back(by_ordinal(model_, model_.steps[peer].launches));
    }
    sites_.resize(model_.launches.sites().size());
    for (std::size_t site = 0; site < sites_.size(); ++site)
      sites_[site].communicates =
          model_.kernel_class(model_.launches.sites()[site]) == KernelClass::communication;
    tensor_counted_ =
        std::any_of(known_pipe_metrics().begin(), known_pipe_metrics().end(), [this](const PipeMetric& pipe) {
          return pipe.roof == Roof::kTensor &&
                 std::any_of(model_.metrics.begin(), model_.metrics.end(),
                             [&](const auto& metric) { return metric.second.name == pipe.metric; });
        });
    const bool none_counted = replay_.seen() + sample_.seen() + cold_.seen() == 0;
    any_measured_ = none_counted ? !model_.launch_metrics.empty()
                                 : joins() && !(replay_.steps().empty() && sample_.steps().empty() &&
                                                cold_.steps().empty());
    result_.launches.reserve(steps_.representative.launches.size());
    for (const LaunchIndex index : steps_.representative.launches) analyse(index);
    for (const store::Device& device : model_.devices) {
      if (const auto clock_hz = roofs_.timeline_clock(device.id)) result_.sm_clock_hz[device.id] = *clock_hz;
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
    TierRows found = joins() ? tier.rows(launch) : launch.step_id ? TierRows{} : tier.own(launch);
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

  // The sampled steps may have run at another clock than the timeline's: their cycles over the timeline's time. No
  // clock is above the device's highest: there the launch took another time for another reason.
  std::optional<double> clock_of(const store::Launch& launch, const Draft& out) {
    if (out.in_situ_cycles && out.duration_ns > 0)
      return possible_clock(model_.device(launch.device_id),
                            out.in_situ_cycles->value / static_cast<double>(out.duration_ns) * 1e9);
    return out.t1.clock_hz ? out.t1.clock_hz : roofs_.timeline_clock(launch.device_id);
  }

  // `roof`: what the ratio is of; null: cycles, or not known.
  void clamp(std::optional<Measured>& ratio, const Peak* roof, Draft& out) {
    if (!ratio || ratio->value <= 1.0) return;
    const bool is_measured = roof != nullptr && state_of(roof->source);
    const double allowed =
        is_measured ? 1 + std::max(kMinNoise, roof->spread_ratio + 2 * ratio->error.value_or(0)) : 1.0;
    Above& worst = above_[{out.kernel_id, is_measured}];
    if (ratio->value > std::max(allowed, worst.ratio))
      worst = {ratio->value, allowed, is_measured ? std::optional(*roof) : std::nullopt};
    if (!options_.clamp) return;
    ratio->value = 1.0;
    out.clamped = true;
  }

  const Peak* compute_roof_of(store::Id device_id, const Draft& out) {
    if (!out.busiest_pipe) return nullptr;
    const std::optional<Quantity> quantity = operations_of_pipe(*out.busiest_pipe, out.tensor_quantity);
    return quantity ? roofs_.measured_operations(device_id, *quantity) : nullptr;
  }

  // What was counted of the launch itself is known better than any sample. What others of its kind have is not always:
  // of a kind that was only counted far from it, or spreads, samples may say more.
  static bool samples_say_more(const Draft& out, const std::optional<Measured>& counted,
                               const std::optional<Measured>& sampled) {
    if (!out.t2.by_kind || out.t1.concurrent) return false;
    if (!counted || !counted->error || !sampled || !sampled->error) return false;
    // Of a launch's own samples it is the standard error, of a kind's how far one more may be.
    return (out.t1.by_kind ? 1 : kStandardErrors95) * *sampled->error < *counted->error;
  }

  // T2 where there is one, else T1, and T1 where it says more; what neither has keeps T2's reason, and T1's if T1 was
  // asked for.
  void choose(Draft& out) {
    using Value = std::optional<Measured>;
    const auto shown = [](bool sampled_say_more, const Value& counted, const Value& sampled) {
      return counted && !sampled_say_more ? counted : sampled;
    };
    const auto better = [&](const Value& counted, const Value& sampled) {
      return shown(samples_say_more(out, counted, sampled), counted, sampled);
    };
    const bool dram = samples_say_more(out, out.t2.dram_utilisation, out.t1.dram_utilisation);
    out.dram_bytes = shown(dram, out.t2.dram_bytes, out.t1.dram_bytes);
    out.dram_utilisation = shown(dram, out.t2.dram_utilisation, out.t1.dram_utilisation);
    for (const Metric metric : kAllMetrics)
      out.metrics.set(metric, better(out.t2.metrics.of(metric), out.t1.metrics.of(metric)));
    // Few pipes are sampled. Where none of them is the busiest of those that were counted, samples say nothing of it.
    const bool compute = samples_say_more(out, out.t2.compute_utilisation, out.t1.compute_utilisation) &&
                         (!out.t2.busiest_pipe || out.t1.pipes.of(*out.t2.busiest_pipe));
    out.compute_utilisation = shown(compute, out.t2.compute_utilisation, out.t1.compute_utilisation);
    const TierUtilisation& pipes =
        out.compute_utilisation && out.compute_utilisation->tier == Tier::t2 ? out.t2 : out.t1;
    out.busiest_pipe = pipes.busiest_pipe;
    out.roofs = pipes.pipes;
    if (out.dram_utilisation) out.roofs.set(Roof::kDram, out.dram_utilisation->value);
    if (const auto l2 = out.metrics.of("l2_utilisation_ratio")) out.roofs.set(Roof::kL2, l2->value);
    if (out.missing != MissingReason::none || (out.dram_utilisation && out.compute_utilisation)) return;
    out.missing = out.t2.missing;
    if (!out.t2.why.empty()) out.why.push_back(out.t2.why);
    if (sample_.seen() > 0 && !out.t1.why.empty()) out.why.push_back(out.t1.why);
  }

  void judge(const store::Launch& launch, Draft& out) {
    if (out.dram_utilisation && out.compute_utilisation) {
      const double dram = out.dram_utilisation->value;
      const double compute = out.compute_utilisation->value;
      out.nearest_roof_ratio = std::max(dram, compute);
      if (*out.nearest_roof_ratio > 0) out.nearest = compute > dram ? out.busiest_pipe : Roof::kDram;
    }
    out.status = status_of(launch, out);
    if (out.status != LaunchStatus::no_roof) return;
    if (model_.kernel_class(launch) != KernelClass::communication) {
      out.why = {Absence{.cause = AbsenceCause::no_work}};
    } else if (out.why.empty()) {
      out.why = {Absence{.cause = AbsenceCause::communication}};
    }
  }

  [[nodiscard]] LaunchStatus status_of(const store::Launch& launch, const Draft& out) const {
    if (out.duration_ns == 0 && !has_time(launch)) return LaunchStatus::unmeasured;
    if (out.duration_ns < options_.launch_floor_ns) return LaunchStatus::too_short;
    if (model_.kernel_class(launch) == KernelClass::communication) return LaunchStatus::no_roof;
    if (!out.nearest_roof_ratio) return LaunchStatus::unmeasured;
    return *out.nearest_roof_ratio < options_.no_roof_ratio ? LaunchStatus::no_roof : LaunchStatus::measured;
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

  void analyse(LaunchIndex index) {
    LaunchUtilisations::Row row = outline(index);
    if (any_measured_) {
      const store::Launch launch = model_.launches[index];
      const TierRows sampled = rows_of(sample_, launch, &sample_steps_);
      const TierRows replayed = rows_of(replay_, launch);
      const TierRows cold = rows_of(cold_, launch, &cold_steps_);
      ReplayValues values(replayed, model_.device(launch.device_id));
      if (replayed.rows.size() < replay_.steps().size())
        counted_.complete(index, model_.device(launch.device_id), values);
      std::vector<LaunchKinds::Alike> alike;
      if (sampled.rows.empty() && duration_ns(launch) > 0) {
        if (!sampled_) sampled_.emplace(model_, steps_, sample_.steps(), Tier::t1);
        alike = sampled_->alike(index);
      }
      if (!is_nothing(sampled) || !alike.empty() || !is_nothing(replayed) || !is_nothing(cold) ||
          values.replayed) {
        row.group = result_.launches.add_group(measure(row, launch, sampled, alike, values, cold));
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
    const std::tuple same(timed, absences_.is_excluded(shared.kernel_id) ? shared.kernel_id : 0,
                          shared.graph_node_id || shared.graph_id);
    auto values = unmeasured_.find(same);
    if (values == unmeasured_.end()) {
      const LaunchVerdict first =
          measure(row, model_.launches[row.launch], {}, {}, ReplayValues({}, nullptr), {});
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
    verdict.status = brief                        ? LaunchStatus::too_short
                     : timed && site.communicates ? LaunchStatus::no_roof
                                                  : LaunchStatus::unmeasured;
    return known.emplace(result_.launches.add_group(verdict));
  }

  LaunchVerdict measure(const LaunchUtilisations::Row& row, const store::Launch& launch,
                        const TierRows& sampled, const std::vector<LaunchKinds::Alike>& alike,
                        const ReplayValues& values, const TierRows& cold) {
    Draft out;
    out.kernel_id = launch.kernel_id;
    out.duration_ns = row.duration_ns;
    if (!std::isnan(row.deviation_ns)) out.duration_deviation_ns = row.deviation_ns;
    if (!has_time(launch)) {
      out.missing = MissingReason::zero_timestamp;
      out.why = {Absence{.cause = AbsenceCause::no_timestamps}};
    }
    result_.sampled = result_.sampled || !sampled.rows.empty() || !alike.empty();
    if (!sampled.rows.empty()) {
      fill_sampled(model_, launch, sampled, nullptr, roofs_, out.t1);
    } else if (!alike.empty()) {
      fill_sampled_kind(launch, alike.front(), out);
    } else {
      absences_.explain_no_samples(sampled, out.t1);
    }
    if (state_of(compute_source(options_.peaks)))
      hold_pipes_against_roofs(roofs_, launch.device_id, out.t1.clock_hz, {}, {}, out.t1);
    if (!out.t1.concurrent) out.in_situ_cycles = out.t1.cycles;
    if (!is_nothing(sampled) || !alike.empty() || values.replayed || values.mismatched > 0 ||
        !is_nothing(cold))
      out.timeline_clock_hz = clock_of(launch, out);
    if (!values.replayed) {
      absences_.explain_no_values(launch, values, out.t2);
    } else {
      fill_replayed(launch, values, operations_.of(values, out.t1, model_.kernel_class(launch)),
                    compute_source(options_.peaks), roofs_, pipes_, out);
      withhold_minor_pipe(launch, out);
      out.t2.by_kind = values.by_kind;
    }
    fill_cold(launch, cold, cold_.seen() > 0, roofs_, out.cold);
    if (flops_.seen() > 0) out.instruction_ops = instruction_operations(rows_of(flops_, launch));
    choose(out);
    clamp(out.dram_utilisation, roofs_.dram(launch.device_id), out);
    clamp(out.compute_utilisation, compute_roof_of(launch.device_id, out), out);
    judge(launch, out);
    out.values = std::make_shared<const LaunchValues>(std::move(static_cast<LaunchValues&>(out)));
    return std::move(static_cast<LaunchVerdict&>(out));
  }

  // Where only some pipes were counted the busiest of them need not be the launch's busiest.
  void withhold_minor_pipe(const store::Launch& launch, Draft& out) const {
    TierUtilisation& t2 = out.t2;
    if (!t2.compute_utilisation) return;
    const TierUtilisation& t1 = out.t1;
    const bool seen_busier = t1.compute_utilisation && t1.busiest_pipe && !t2.pipes.of(*t1.busiest_pipe) &&
                             t1.compute_utilisation->value > t2.compute_utilisation->value;
    const bool multiplies =
        tensor_counted_ && !t2.pipes.of(Roof::kTensor) && model_.kernel_class(launch) == KernelClass::gemm;
    if (!seen_busier && !multiplies) return;
    t2.compute_utilisation.reset();
    t2.busiest_pipe.reset();
    set_missing(t2, MissingReason::metric_missing, AbsenceCause::replayed_without_busiest);
  }

  void fill_sampled_kind(const store::Launch& launch, const LaunchKinds::Alike& alike, Draft& out) {
    TierRows rows;
    std::vector<std::uint64_t> observations;
    for (const LaunchIndex index : alike.launches) {
      TierRows own = sample_.own(model_.launches[index]);
      std::move(own.rows.begin(), own.rows.end(), std::back_inserter(rows.rows));
      observations.resize(rows.rows.size(), sampled_->observation(index));
    }
    const SampledKind kind{*sampled_, alike, observations};
    fill_sampled(model_, launch, rows, &kind, roofs_, out.t1);
    out.t1.by_kind = true;
  }

  void report() {
    result_.peaks = roofs_.take_used();
    result_.findings = roofs_.take_findings();
    std::vector<std::tuple<double, store::Id, const Above*>> worst;
    for (const auto& [kernel, above] : above_) {
      if (above.ratio > 0) worst.emplace_back(above.ratio, kernel.first, &above);
    }
    std::sort(worst.rbegin(), worst.rend());
    for (const auto& [ratio, kernel_id, above] : worst) {
      const store::Kernel* kernel = model_.kernel(kernel_id);
      Finding finding{.severity = above->roof || ratio > 1.05 ? Severity::warning : Severity::info,
                      .code = above->roof ? FindingCode::above_measured_roof : FindingCode::above_peak};
      finding.subject.name = kernel == nullptr ? "?" : kernel->demangled_name;
      finding.subject.kernel_id = kernel_id;
      finding.evidence = {{"utilisation_ratio", ratio, {}, {}}};
      if (above->roof) finding.evidence.push_back({"allowed_ratio", above->allowed, {}, {}});
      finding.peak = above->roof;
      if (options_.clamp) finding.evidence.push_back({"shown_ratio", 1.0, {}, {}});
      result_.findings.push_back(std::move(finding));
    }
    result_.findings = merged(result_.findings);
    if (!result_.pipes.empty() && compute_source(options_.peaks) == PeakSource::clock &&
        std::all_of(result_.pipes.begin(), result_.pipes.end(),
                    [](Pipe pipe) { return pipe == Pipe::tensor; })) {
      result_.findings.push_back({.severity = Severity::info, .code = FindingCode::tensor_only});
    }
  }

  const Model& model_;
  const StepAnalysis& steps_;
  const UtilisationOptions& options_;
  const TierSteps replay_;
  const TierSteps sample_;
  const TierSteps cold_;
  const TierSteps flops_;
  Roofs roofs_;
  const Absences absences_;
  CountedKinds counted_;
  const TensorOperations operations_;
  std::optional<LaunchKinds> sampled_;  // once a launch needs them
  bool tensor_counted_ = false;         // the tensor pipe's cycles, of any launch
  bool any_measured_ = false;           // a step that counters or samples were taken in can be joined
  std::vector<Site> sites_;             // of the model's launches
  std::map<store::Id, StepIndex> step_of_;
  std::set<StepIndex> sample_steps_, cold_steps_;
  UtilisationAnalysis result_;
  std::vector<std::unordered_map<std::int64_t, LaunchIndex>> peers_;
  std::set<Pipe> pipes_;
  // Values of launches of which nothing was measured, by what makes the reasons differ: time, excluded kernel, graph.
  std::map<std::tuple<bool, store::Id, bool>, std::pair<std::shared_ptr<const LaunchValues>, MissingReason>>
      unmeasured_;
  struct Above {
    double ratio = 0;
    double allowed = 1;
    std::optional<Peak> roof;  // that was measured
  };
  // Kernel, and whether it is of a measured roof → its largest ratio above what is allowed; 0: none is.
  std::map<std::pair<store::Id, bool>, Above> above_;
};

}  // namespace

UtilisationAnalysis analyze_utilisation(const Model& model, const StepAnalysis& steps,
                                        const UtilisationOptions& options) {
  return Analyzer(model, steps, options).run();
}

}  // namespace ridgeline::analyzer
