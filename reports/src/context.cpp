#include "ridgeline/reports/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "ridgeline/analyzer/session/headline.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/check_text.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/finding_text.h"

namespace ridgeline::reports {
namespace {

// Before this a run's clock cannot be one of the Unix epoch (2001-09-09).
constexpr std::int64_t kEpochPlausibleNs = 1'000'000'000'000'000'000;

const store::Device* main_device(const analyzer::Model& model) {
  return model.devices.empty() ? nullptr : &model.devices.front();
}

std::string commit_text(const store::Run& run) {
  if (!run.git_commit || run.git_commit->empty()) return "";
  return run.git_commit->substr(0, 10) + (run.git_dirty.value_or(false) ? " (modified)" : "");
}

std::string version_of(const analyzer::Model& model, const std::string& component) {
  const auto found = model.versions.find(component);
  return found == model.versions.end() ? "" : found->second;
}

std::string date_text(const store::Run& run) {
  if (!run.start_ns || *run.start_ns < kEpochPlausibleNs) return "";
  return utc_text(*run.start_ns);
}

}  // namespace

std::string in_words(std::string_view identifier) {
  std::string text(identifier);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

bool anything_measured(const analyzer::Ranking& ranking) {
  return ranking.totals.measured_calls > 0;
}

std::string target_text(double ratio) {
  const double in_percent = ratio * 100.0;
  const bool whole = std::fabs(in_percent - std::round(in_percent)) < 0.05;
  return fixed(in_percent, whole ? 0 : 1) + " %";
}

std::string command_line(const analyzer::Model& model) {
  return model.run ? model.run->command_line : "";
}

std::vector<Fact> run_facts(const analyzer::Model& model) {
  std::vector<Fact> facts;
  const auto add = [&](std::string key, std::string label, std::string value) {
    if (!value.empty()) facts.push_back({std::move(key), std::move(label), std::move(value)});
  };
  if (model.run) add("program", "Program", model.run->command_line);
  std::string devices;
  for (const store::Device& device : model.devices) {
    std::string text = device.name;
    if (device.sm_count) text += fmt::format(", {} SMs", *device.sm_count);
    if (device.memory_bytes) text += ", " + bytes_text(static_cast<double>(*device.memory_bytes));
    devices += (devices.empty() ? "" : "; ") + text;
  }
  add("gpu", "GPU", devices);
  add("driver", "Driver", version_of(model, "driver"));
  std::string libraries;
  for (const auto& [component, version] : model.versions) {
    if (component == "driver") continue;
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", component, version);
  }
  add("libraries", "Libraries", libraries);
  if (model.run) {
    add("date", "Recorded", date_text(*model.run));
    add("commit", "Commit", commit_text(*model.run));
    add("host", "Host", model.run->host_name.value_or(""));
    add("schedule", "Schedule", model.run->schedule.value_or(""));
    if (model.run->exit_signal) {
      add("exit", "Program ended", fmt::format("by signal {}", *model.run->exit_signal));
    } else if (model.run->exit_status) {
      add("exit", "Program ended", fmt::format("with exit status {}", *model.run->exit_status));
    }
    add("ridgeline", model.imported() ? "Imported with" : "Recorded with",
        "Ridgeline " + model.run->ridgeline_version);
  }
  add("capture", "Capture", model.path);
  return facts;
}

std::string run_line(const analyzer::Model& model) {
  std::vector<std::string> parts;
  if (const store::Device* device = main_device(model)) {
    parts.push_back(model.devices.size() == 1 ? device->name
                                              : fmt::format("{} × {}", model.devices.size(), device->name));
  }
  if (const std::string driver = version_of(model, "driver"); !driver.empty())
    parts.push_back("driver " + driver);
  if (model.run) {
    if (const std::string date = date_text(*model.run); !date.empty()) parts.push_back(date);
    if (const std::string commit = commit_text(*model.run); !commit.empty())
      parts.push_back("commit " + commit);
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string_view scope_noun(analyzer::ScopeKind scope) {
  switch (scope) {
    case analyzer::ScopeKind::step:
      break;
    case analyzer::ScopeKind::range:
    case analyzer::ScopeKind::window:
      return "range";
    case analyzer::ScopeKind::recording:
      return "recording";
  }
  return "step";
}

std::string_view simulated_noun(analyzer::ScopeKind scope) {
  return scope == analyzer::ScopeKind::recording ? "recording" : "step";
}

namespace {

// "10.0 µs", 0 too.
std::string offset_text(std::int64_t ns) {
  return (ns < 0 ? "−" : "+") + time_text(std::fabs(static_cast<double>(ns)));
}

// What is no step.
std::string scope_line(const analyzer::RepresentativeStep& step) {
  const std::int64_t length_ns = step.window_end_ns - step.window_start_ns;
  const std::string launches = counted(static_cast<std::int64_t>(step.launches.size()), "launch", "launches");
  const std::string length = time_text(static_cast<double>(length_ns));
  if (step.scope == analyzer::ScopeKind::recording)
    return fmt::format("The whole recording, for lack of steps: {}, {}.", length, launches);
  // Of those that the range's edges cut counts what lies inside.
  const std::string cut =
      step.cut_launches > 0 ? fmt::format(", {} of them cut by its edges", step.cut_launches) : std::string();
  if (step.scope == analyzer::ScopeKind::window) {
    return fmt::format("The range from {} to {} of the recording: {}, {}{}.", offset_text(step.from_start_ns),
                       offset_text(step.from_start_ns + length_ns), length, launches, cut);
  }
  const std::string whose = step.instances > 0 ? ", " + counted(step.instances, "instance")
                                               : fmt::format(" of step {}", step.summary.step_index);
  return fmt::format("NVTX range '{}'{}: {}, {}{}.", step.range, whose, length, launches, cut);
}

}  // namespace

std::string step_line(const analyzer::StepAnalysis& steps) {
  const analyzer::RepresentativeStep& step = steps.representative;
  const double window_ns = static_cast<double>(step.window_end_ns - step.window_start_ns);
  if (step.scope != analyzer::ScopeKind::step) return scope_line(step);
  std::string text = fmt::format("Step {}", step.summary.step_index);
  if (steps.spread.count > 1 && step.is_median) {
    // Percentiles lie between two steps; of a few, the lowest one would lie above the step that is shown.
    constexpr std::int64_t kFewSteps = 5;
    const bool few = steps.spread.count < kFewSteps;
    text +=
        fmt::format(", the median of {} {} steps: {} ({} {}, {} {} ms)", steps.spread.count,
                    to_string(step.summary.phase), time_text(window_ns), few ? "fastest" : "p10",
                    milliseconds(few ? steps.spread.min_ns : steps.spread.p10_ns), few ? "slowest" : "p90",
                    milliseconds(few ? steps.spread.max_ns : steps.spread.p90_ns));
  } else if (steps.spread.count > 1 && !step.peers.empty()) {
    text += fmt::format(", a {} step: {} (the median of {} {} steps: {})", to_string(step.summary.phase),
                        time_text(window_ns), steps.spread.count,
                        to_string(steps.steps[step.peers.front()].phase), time_text(steps.spread.median_ns));
  } else {
    text += fmt::format(", a {} step: {}", to_string(step.summary.phase), time_text(window_ns));
  }
  return text + fmt::format(", {}.", counted(step.summary.launches, "launch", "launches"));
}

std::string roof_label(const analyzer::Peak& roof) {
  return fmt::format(
      "{} {} ({})", analyzer::roof_name(roof.quantity),
      analyzer::is_bandwidth(roof.quantity) ? bandwidth_text(roof.value) : operations_text(roof.value),
      to_string(roof.source));
}

std::string peak_text(const analyzer::Peak& peak) {
  std::string text = analyzer::is_bandwidth(peak.quantity) ? bandwidth_text(peak.value)
                     : analyzer::is_flops(peak.quantity)   ? operations_text(peak.value)
                                                           : fixed(peak.value, 0);
  text.append(", ").append(to_string(peak.source));
  return peak.detail.empty() ? text : text + " (" + peak.detail + ")";
}

std::string roofs_line(const analyzer::UtilisationAnalysis& utilisation) {
  std::set<std::string> seen;
  std::string text;
  for (const analyzer::Peak& peak : utilisation.peaks) {
    if (peak.quantity == Quantity::l2_bytes_per_s) continue;  // L2 is shown, but limits nobody here
    std::string one = (peak.quantity == Quantity::dram_bytes_per_s ? "DRAM " : "") + peak_text(peak);
    if (peak.fallback) one += " (fallback)";
    if (seen.insert(one).second) text += (text.empty() ? "" : "; ") + one;
  }
  return text.empty() ? "" : "Roofs: " + text + ".";
}

std::string clock_cost_line(const analyzer::Ranking& ranking) {
  const std::optional<analyzer::ClockCost>& cost = ranking.power.clock;
  if (!cost || ranking.totals.step_ns <= 0) return "";
  const auto share = [&](double ns) {
    return percent_text(ns / static_cast<double>(ranking.totals.step_ns));
  };
  std::string text = fmt::format("Clock: kernels ran at {} of at most {}", clock_text(cost->clock_hz),
                                 clock_text(cost->reference_hz));
  std::string held;
  for (const std::string& reason : analyzer::throttle_words(cost->throttle_reasons))
    held += (held.empty() ? "" : ", ") + reason;
  if (!held.empty()) text += fmt::format(", held by {}", held);
  text += fmt::format("; that costs the {} {} ({}), 95 % between {} and {}", scope_noun(ranking.scope),
                      time_text(cost->cost_ns), share(cost->cost_ns), time_text(cost->low_ns),
                      time_text(cost->high_ns));
  if (cost->steps > 0)
    return text + fmt::format(", as the times of {} steps followed their clocks.", cost->steps);
  return text + ", by what bounds each kernel" +
         (cost->steps_alike ? ": the steps' clocks hardly differ." : ".");
}

std::string energy_line(const analyzer::Ranking& ranking) {
  const std::optional<analyzer::StepEnergy>& energy = ranking.power.energy;
  if (!energy) return "";
  std::string text;
  if (energy->modelled_j) {
    text = fmt::format("Energy: {} J by the energy model of the measured ceilings, ± {}",
                       fixed(*energy->modelled_j, 2), fixed(energy->modelled_error_j, 2));
  }
  if (energy->measured_j) {
    text += fmt::format("{}{} J by {} s of power samples", text.empty() ? "Energy: " : ", ",
                        fixed(*energy->measured_j, 2), fixed(energy->measured_s, 1));
  }
  text += fmt::format(" for the {}.", scope_noun(ranking.scope));
  if (!energy->modelled_j || !energy->measured_j || *energy->measured_j <= 0) return text;
  const double off = *energy->modelled_j / *energy->measured_j - 1;
  if (std::abs(*energy->modelled_j - *energy->measured_j) <= energy->modelled_error_j) return text;
  return text +
         fmt::format(
             " The model is {} {} what was measured, more than its error: so far off kernels' joules may be.",
             percent_text(std::abs(off)), off < 0 ? "below" : "above");
}

std::string ceiling_text(const store::Ceiling& ceiling) {
  if (ceiling.unit == "ns") return time_text(ceiling.value);
  if (ceiling.unit == "W") return fixed(ceiling.value, 0) + " W";
  if (ceiling.unit == "J") return fixed(ceiling.value * 1e12, 2) + " pJ";
  if (ceiling.unit == "bytes_per_s") return bandwidth_text(ceiling.value);
  std::string text = operations_text(ceiling.value);
  // Integers are no floating-point operations.
  if (const auto flop = text.find("FLOP"); flop != std::string::npos && ceiling.kind.starts_with("int"))
    text.erase(flop, 2);
  return text;
}

namespace {

// At both targets, or at the second only; so that nobody reads a saving of "0.0 % (0 ns)".
std::string saving_at(std::string_view noun, double at_target_ns, double at_stretch_ns,
                      const analyzer::RankingOptions& options, std::string_view at_target,
                      std::string_view at_stretch) {
  const std::string target = target_text(options.target), stretch = target_text(options.stretch);
  if (is_no_time(at_stretch_ns))
    return fmt::format("nothing of the {} at {} or {} of the nearest roof", noun, target, stretch);
  if (is_no_time(at_target_ns))
    return fmt::format("nothing of the {} at {} of the nearest roof, up to {} at {}", noun, target,
                       at_stretch, stretch);
  return fmt::format("up to {} at {} of the nearest roof, {} at {}", at_target, target, at_stretch, stretch);
}

}  // namespace

std::string saving_text(const analyzer::Ranking& ranking) {
  const analyzer::RankingTotals& t = ranking.totals;
  if (ranking.rows.empty())
    return fmt::format("none, for no kernel started in the {}", scope_noun(ranking.scope));
  if (!anything_measured(ranking)) return "not known, for no kernel's utilisation was measured";
  // A stretch of time is as long as it was asked for: what counts is what each second of it could do without.
  const std::string_view noun = scope_noun(ranking.scope);
  const auto amount = [&](double ns, double of_all) {
    return ranking.scope == analyzer::ScopeKind::step
               ? time_text(ns)
               : fmt::format("{}, {} ms in each second of it", time_text(ns), fixed(of_all * 1e3, 1));
  };
  if (ranking.reach && ranking.reach->known()) {
    const analyzer::StepReach& reach = *ranking.reach;
    const auto share = [&](double ns) {
      return percent_text(reach.measured_ns > 0 ? ns / static_cast<double>(reach.measured_ns) : 0);
    };
    const auto part = [&](double ns) {
      return ranking.scope == analyzer::ScopeKind::recording && reach.measured_ns > 0
                 ? amount(ns, ns / static_cast<double>(reach.measured_ns))
                 : time_text(ns);
    };
    const std::string_view whole = simulated_noun(ranking.scope);
    return saving_at(whole, reach.target_ns, reach.stretch_ns, ranking.options,
                     fmt::format("{} of the {} ({})", share(reach.target_ns), whole, part(reach.target_ns)),
                     fmt::format("{} ({})", share(reach.stretch_ns), part(reach.stretch_ns)));
  }
  return saving_at(noun, t.saved_target_ns, t.saved_stretch_ns, ranking.options,
                   fmt::format("{} of the {} ({})", percent_text(t.saved_target_share), noun,
                               amount(t.saved_target_ns, t.saved_target_share)),
                   fmt::format("{} ({})", percent_text(t.saved_stretch_share),
                               amount(t.saved_stretch_ns, t.saved_stretch_share)));
}

namespace {

// Beside the saving that reaches the step: how much less time kernels would take, why the step does not follow, and
// what the simulation had to assume.
std::string reach_notes(const analyzer::Ranking& ranking) {
  if (!ranking.reach || !anything_measured(ranking)) return "";
  const analyzer::StepReach& reach = *ranking.reach;
  const analyzer::RankingTotals& t = ranking.totals;
  if (!reach.known()) {
    return t.saved_stretch_ns > 0
               ? fmt::format(" This is kernel time; how much of it reaches the {} is not known: {}.",
                             scope_noun(ranking.scope), absence_text(reach.why))
               : "";
  }
  std::string text;
  if (t.saved_target_ns - reach.target_ns >= 0.01 * t.saved_target_ns + 1000.0) {
    text = fmt::format(
        " Kernel time would fall by {} at {} and {} at {}, but elsewhere the {} waits for the CPU or for "
        "another "
        "stream.",
        time_text(t.saved_target_ns), target_text(ranking.options.target), time_text(t.saved_stretch_ns),
        target_text(ranking.options.stretch), simulated_noun(ranking.scope));
  }
  if (t.saved_stretch_ns <= 0) return text;
  if (reach.launches_with_call == 0) {
    text += " When the CPU launched each kernel is not recorded: it is assumed to have been early enough.";
  } else if (reach.launches_with_call < reach.launches) {
    text += fmt::format(
        " When the CPU launched {} of {} kernels is not recorded: it is assumed to have been early enough.",
        integer(reach.launches - reach.launches_with_call), integer(reach.launches));
  }
  if (reach.other_processes > 0) {
    text += fmt::format(" Work of {} is taken as it was.",
                        reach.other_processes == 1
                            ? "the other process"
                            : fmt::format("the other {} processes", reach.other_processes));
  }
  return text;
}

// Less of the saving than this in launches that were only sampled is not worth a sentence.
constexpr double kSampledShare = 0.05;

}  // namespace

std::string saving_notes(const analyzer::Ranking& ranking) {
  const analyzer::RankingTotals& t = ranking.totals;
  const std::string target = target_text(ranking.options.target),
                    stretch = target_text(ranking.options.stretch);
  std::string text = reach_notes(ranking);
  const bool simulated = ranking.reach && ranking.reach->known();
  if (t.saved_stretch_latency_ns > 0) {
    text += fmt::format(
        " {} {} at {} and {} at {} are in latency-bound kernels, none of whose roofs is at {} or more: find "
        "out "
        "what holds them (record --stalls).",
        simulated ? "Of the kernel time saved," : "Of that,", time_text(t.saved_target_latency_ns), target,
        time_text(t.saved_stretch_latency_ns), stretch, target_text(ranking.options.bounds.min_ratio));
    if (t.saved_target_sampled_ns >= kSampledShare * t.saved_target_ns) {
      text += fmt::format(
          " {} of it at {} is of launches that were sampled and not counted: samples have few of the pipes, "
          "and one that they do not have may be near its peak.",
          time_text(t.saved_target_sampled_ns), target);
    }
  }
  if (!simulated && t.saved_target_ns - t.saved_target_exposed_ns >= 0.01 * t.saved_target_ns + 1.0) {
    text += fmt::format(
        " Kernels overlap: {} at {} and {} at {} are exposed: no other kernel runs beside them.",
        time_text(t.saved_target_exposed_ns), target, time_text(t.saved_stretch_exposed_ns), stretch);
  }
  return text;
}

std::string kernels_verdict_sentence(const analyzer::Analysis& analysis) {
  const analyzer::TargetCheck& check = analysis.check;
  const analyzer::RankingTotals& t = analysis.check_ranking.totals;
  const std::int64_t reached = check.stretch_count + check.met_count;
  const std::int64_t judged = reached + check.missed_count;
  const std::string target = target_text(check.options.target);
  const std::string stretch = target_text(check.options.stretch);
  const bool budgets = !check.options.budgets.empty();
  const std::string_view noun = scope_noun(check.scope);
  // Kernels that are good enough do not make a step so in which the GPU idles.
  const bool idles = gpu_idles(analysis.quality);
  const std::string meets = idles ? fmt::format("The {}'s kernels meet their target", noun)
                                  : fmt::format("The {} meets its target", noun);
  const std::string misses = idles ? fmt::format("The {}'s kernels miss their target", noun)
                                   : fmt::format("The {} misses its target", noun);
  const std::string kernels = fmt::format("{} of at least {} of the {}", counted(judged, "kernel"),
                                          target_text(check.options.min_share), noun);
  switch (check.overall) {
    case analyzer::OverallVerdict::met:
      return fmt::format("{}: {} {} is at {} of its nearest roof or above{}, {} at {} or above.", meets,
                         judged == 1 ? "its" : "each of the", kernels, target,
                         budgets ? " or within its own budget" : "", integer(check.stretch_count), stretch);
    case analyzer::OverallVerdict::missed: {
      const bool one = check.missed_count == 1;
      const std::string counts =
          fmt::format("{}: {} of {} {} below {} of {} nearest roof{}, {} at {} or above.", misses,
                      integer(check.missed_count), kernels, one ? "is" : "are", target, one ? "its" : "their",
                      budgets ? " or over budget" : "", integer(check.stretch_count), stretch);
      const std::string these = one ? "it" : fmt::format("these {}", integer(check.missed_count));
      if (const auto& reach = analysis.check_ranking.reach;
          reach && reach->known() && check.missed_reached_ns) {
        const auto share = [&](double ns) {
          return percent_text(reach->measured_ns > 0 ? ns / static_cast<double>(reach->measured_ns) : 0);
        };
        const std::string length = time_text(static_cast<double>(reach->measured_ns));
        if (std::max({*check.missed_reached_ns, reach->target_ns, reach->stretch_ns}) < 1)
          return fmt::format("{} At {} or {} the {} of {} would be no shorter.", counts, target, stretch,
                             simulated_noun(check.scope), length);
        return fmt::format(
            "{} At {} {} would shorten the {} of {} by up to {}, all kernels together by {} ({}); at {}, by "
            "{} ({}).",
            counts, target, these, simulated_noun(check.scope), length, time_text(*check.missed_reached_ns),
            time_text(reach->target_ns), share(reach->target_ns), stretch, time_text(reach->stretch_ns),
            share(reach->stretch_ns));
      }
      return fmt::format(
          "{} At {} {} would save up to {} of the {}'s {}, all kernels together {} ({}); at {}, {} ({}).",
          counts, target, these, time_text(check.missed_saving_ns), noun,
          time_text(static_cast<double>(analysis.accounting.step_ns)), time_text(t.saved_target_ns),
          percent_text(t.saved_target_share), stretch, time_text(t.saved_stretch_ns),
          percent_text(t.saved_stretch_share));
    }
    case analyzer::OverallVerdict::not_enough_data:
      break;
  }
  return "No verdict against " + target + " and " + stretch +
         " of the nearest roof: " + check_text(analysis.check_ranking, check);
}

std::string verdict_sentence(const analyzer::Analysis& analysis) {
  for (const analyzer::Finding& finding : analysis.quality.findings) {
    if (finding.code != analyzer::FindingCode::gpu_idle) continue;
    return fmt::format("The GPU is idle for {}. {}", idle_share_text(finding),
                       kernels_verdict_sentence(analysis));
  }
  return kernels_verdict_sentence(analysis);
}

std::string completeness_line(const analyzer::Quality& quality) {
  std::string text;
  if (!quality.completeness_known) {
    text = "Whether every launch was recorded is not known: the recording was cut short or imported.";
  } else {
    const std::int64_t lost = quality.launches_seen - quality.kernel_records;
    text = fmt::format("{} seen, {}{}; {} dropped, {} without a timestamp.",
                       counted(quality.launches_seen, "launch", "launches"),
                       integer(quality.kernel_records) + " recorded",
                       lost != 0 ? fmt::format(" ({} missing)", integer(lost)) : "",
                       integer(quality.dropped_records), integer(quality.zero_timestamps));
    if (quality.graph_kernel_records > 0) {
      text += fmt::format(" {} more from CUDA graphs.", counted(quality.graph_kernel_records, "kernel"));
    }
  }
  return text + fmt::format(" Utilisation known for {} of the {}'s kernel time (DRAM {}, compute {}).",
                            percent_text(quality.coverage), scope_noun(quality.scope),
                            percent_text(quality.dram_coverage), percent_text(quality.compute_coverage));
}

std::string tiers_line(const analyzer::Quality& quality) {
  const auto reach = [&](Tier tier) {
    const auto found = std::find_if(quality.reach.begin(), quality.reach.end(),
                                    [&](const analyzer::TierShare& r) { return r.tier == tier; });
    return found == quality.reach.end() ? nullptr : &*found;
  };
  const analyzer::TierShare* t1 = reach(Tier::t1);
  if (t1 == nullptr) return "";
  std::string text =
      fmt::format("DRAM utilisation is known by samples of running steps (T1) for {} of the kernel time",
                  percent_text(t1->dram_coverage));
  if (t1->dram_mean_error)
    text += fmt::format(", mean error {} points", fixed(*t1->dram_mean_error * 100.0, 2));
  const analyzer::TierShare* t2 = reach(Tier::t2);
  text += fmt::format(", and by counters of replayed steps (T2) for {}.",
                      percent_text(t2 == nullptr ? 0.0 : t2->dram_coverage));
  const auto compared = [&](const std::vector<analyzer::TierComparison>& rows, std::string_view what) {
    if (rows.empty()) return;
    const analyzer::TierComparison& worst = rows.front();
    const auto flagged =
        std::count_if(rows.begin(), rows.end(), [](const analyzer::TierComparison& c) { return c.flagged; });
    text += fmt::format(
        " On {} of {} or more the two differ by at most {} points of {} ({}), by more than {} on {}.",
        counted(static_cast<std::int64_t>(rows.size()), "kernel"),
        time_text(static_cast<double>(quality.comparison_floor_ns)),
        fixed(std::fabs(worst.difference.value) * 100.0, 1), what,
        elide_kernel_name(terminal_safe(worst.kernel), 40), fixed(quality.comparison_limit * 100.0, 0),
        flagged == 0 ? "none" : integer(flagged));
  };
  compared(quality.comparisons, "DRAM");
  compared(quality.tensor_comparisons, "the tensor pipe");
  return text;
}

std::string work_line(const analyzer::Analysis& analysis) {
  if (!analysis.ranking.totals.work) return "";
  const analyzer::WorkSum& total = *analysis.ranking.totals.work;
  std::string text = fmt::format("Minimum work declared by {}: {} and {} TFLOP.",
                                 counted(total.ranges, "range"), bytes_text(total.declared_bytes.value_or(0)),
                                 fixed(total.declared_flops.value_or(0) * 1e-12, 2));
  text += fmt::format(" Their {} took {}", counted(total.launches, "launch", "launches"),
                      time_text(static_cast<double>(total.time_ns)));
  if (total.measured_bytes) {
    text += fmt::format(" and moved {}", bytes_text(*total.measured_bytes));
    if (total.bytes_ratio) text += fmt::format(", {} × the minimum", fixed(*total.bytes_ratio, 2));
  }
  if (total.minimum_ns) text += fmt::format("; their roofline time is {}", time_text(*total.minimum_ns));
  text += ".";
  if (total.undeclared_launches > 0) {
    text += fmt::format(" {} no declaration.",
                        total.undeclared_launches == 1
                            ? "1 launch has"
                            : fmt::format("{} launches have", integer(total.undeclared_launches)));
  }
  std::string excess;
  for (const analyzer::Finding& finding : analysis.quality.findings) {
    if (finding.code == analyzer::FindingCode::excess_bytes) excess += " " + finding_text(finding) + ".";
  }
  return text + excess;
}

namespace {

// A capture may claim any number.
std::string whole(double value) {
  return integer(static_cast<std::int64_t>(std::llround(std::clamp(value, -1e18, 1e18))));
}

std::string tera(double value, int decimals) {
  return fixed(value * 1e-12, decimals) + " TFLOP";
}

// Beside MFU the peak and the step have been named.
std::string tensor_text(const analyzer::Throughput& t, const std::string& peak, const std::string& step) {
  const std::string text =
      fmt::format("The tensor pipe did {}: {}/s", tera(*t.tensor_ops, 2), tera(*t.tensor_ops_per_s, 1));
  if (t.mfu && t.hardware) return text + ", " + percent_text(*t.hardware) + " of that peak.";
  return text + " over " + step +
         (t.hardware ? fmt::format(", {} of {}.", percent_text(*t.hardware), peak) : ".");
}

}  // namespace

std::string rate_text(double per_s) {
  return per_s < 100 ? fixed(per_s, 2) : whole(per_s);
}

std::string throughput_line(const analyzer::Throughput& t) {
  std::string peak;
  if (t.peak) {
    peak = t.device_count > 1 ? fmt::format("{} × ", t.device_count) : "";
    peak += peak_text(*t.peak);
  }
  const std::string step =
      fmt::format("the {}'s {}", scope_noun(t.scope), time_text(static_cast<double>(t.step_ns)));
  std::string text;
  if (t.mfu) {
    text = fmt::format("MFU {}: {} {} ÷ {} ÷ {}.", percent_text(*t.mfu), tera(*t.declared_flops, 2),
                       t.imported ? "by the shapes in the trace" : "that the program declares", step, peak);
  } else if (t.declared_flops_per_s) {
    text =
        fmt::format("{} {} for the {}: {}/s over {}.",
                    t.imported ? "The shapes in the trace make" : "The program declares",
                    tera(*t.declared_flops, 2), scope_noun(t.scope), tera(*t.declared_flops_per_s, 1), step);
  }
  if (t.tensor_ops_per_s) {
    if (!text.empty()) text += " ";
    text += tensor_text(t, peak, step);
  }
  const auto rate = [&](const std::optional<double>& per_s, const std::optional<double>& amount,
                        const char* noun) {
    if (!per_s || !amount) return;
    if (!text.empty()) text += " ";
    text += fmt::format("{} {}/s: {} that the program declares ÷ {}.", rate_text(*per_s), noun,
                        whole(*amount) + " " + noun, step);
  };
  rate(t.tokens_per_s, t.size.tokens, "tokens");
  rate(t.samples_per_s, t.size.samples, "samples");
  return text;
}

analyzer::Findings notices(const analyzer::Quality& quality, Severity least) {
  analyzer::Findings out;
  for (const analyzer::Finding& finding : quality.findings) {
    if (finding.severity >= least) out.push_back(finding);
  }
  return out;
}

analyzer::Findings other_notices(const analyzer::Quality& quality, Severity least) {
  analyzer::Findings out = notices(quality, least);
  std::erase_if(out, analyzer::is_of_headline);
  return out;
}

bool gpu_idles(const analyzer::Quality& quality) {
  return std::any_of(quality.findings.begin(), quality.findings.end(), [](const analyzer::Finding& finding) {
    return finding.code == analyzer::FindingCode::gpu_idle;
  });
}

std::string notices_text(const analyzer::Findings& findings, const TextStyle& style) {
  std::string out;
  for (const analyzer::Finding& finding : findings) {
    const std::string label = std::string(to_string(finding.severity)) + ":";
    const std::string text = wrapped(label + " " + terminal_safe(finding_text(finding)), style.columns, 2);
    const Style colour = finding.severity == Severity::error     ? Style::bad
                         : finding.severity == Severity::warning ? Style::fair
                                                                 : Style::dim;
    out += styled(text.substr(0, label.size()), colour, style.colour) + text.substr(label.size()) + "\n";
  }
  return out;
}

std::string notices_markdown(const analyzer::Findings& findings) {
  std::string out;
  for (const analyzer::Finding& finding : findings) {
    out += fmt::format("- **{}**: {}\n", to_string(finding.severity), markdown_cell(finding_text(finding)));
  }
  return out;
}

const std::vector<Term>& tier_glossary() {
  static const std::vector<Term> kTerms = {
      {"T0", "timeline", "start and end of every launch, in the undisturbed run"},
      {"T1", "sampled", "hardware counters read every few µs while steps run undisturbed"},
      {"T2", "counted", "each launch counted on its own, one after the other, in replayed steps"},
      {"T3", "cold", "caches emptied before each launch: the worst case, as Nsight Compute shows it"},
  };
  return kTerms;
}

namespace {

// What another profiler did to the run, and what it lost without a trace, nobody knows here.
std::string imported_timeline(const analyzer::Model& model, const analyzer::Quality& quality) {
  const std::int64_t without = quality.launches_seen - quality.kernel_records;
  std::int64_t graphs = 0;
  for (const store::Message& message : model.messages)
    if (message.what.code == ReasonCode::import_hidden_graphs) graphs += message.what.number("launches");
  return fmt::format(
      "{}{}{}", counted(quality.launches_seen, "launch", "launches"),
      without == 0 ? " with their kernels" : fmt::format(", {} without a kernel", integer(without)),
      graphs == 0 ? "" : fmt::format(", {} graphs without", integer(graphs)));
}

}  // namespace

std::vector<std::string> tier_lines(const analyzer::Model& model, const analyzer::Quality& quality) {
  const bool imported = model.imported();
  std::string t0 =
      fmt::format("T0 timeline  times {}; ", imported ? "of the trace" : "of the undisturbed run");
  const std::int64_t lost = quality.launches_seen - quality.kernel_records;
  if (!quality.completeness_known)
    t0 += "how many launches were lost is not known";
  else if (!model.lost_rows.empty())
    t0 += counted(quality.launches_seen, "launch", "launches") + ", but the capture has lost rows";
  else if (imported)
    t0 += imported_timeline(model, quality);
  else
    t0 += fmt::format("{}, {} lost", counted(quality.launches_seen, "launch", "launches"),
                      lost == 0 && quality.dropped_records == 0
                          ? "none"
                          : integer(std::max(lost, quality.dropped_records)));
  std::vector<std::string> lines = {t0};
  for (const analyzer::TierShare& reach : quality.reach) {
    std::string share = percent_text(reach.dram_coverage) + " of kernel time";
    const bool by_kind = reach.kind_share > 0;
    if (by_kind) share += fmt::format(", {} by kind", percent_text(reach.kind_share));
    if (reach.tier == Tier::t1) {
      const std::string every =
          model.pm_windows.empty()
              ? "every few µs"
              : "every " + time_text(static_cast<double>(model.pm_windows.front().interval_ns));
      lines.push_back(
          fmt::format("T1 sampled   counters read {}{}: {}", every, by_kind ? "" : " as steps run", share));
    } else if (reach.tier == Tier::t2) {
      lines.push_back(
          fmt::format("T2 counted   {}: {}",
                      by_kind ? "launches on their own" : "each launch on its own in replayed steps", share));
    } else if (reach.tier == Tier::t3) {
      lines.push_back("T3 cold      caches emptied before each launch: " + share);
    }
  }
  return lines;
}

}  // namespace ridgeline::reports
