#include "advice/advise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <tuple>

#include "advice/claims.h"
#include "advice/idle.h"
#include "advice/rule.h"
#include "ridgeline/analyzer/model/price.h"
#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/base/statistics.h"
#include "whatif/remedies.h"

namespace ridgeline::analyzer {

namespace {

// Of what is shown: cases whose most is less are not simulated, and are none.
constexpr double kWorthALook = 0.1;
// Steps after the schedule that tell how long one takes there, at least.
constexpr std::size_t kMinOthers = 3;
// Of two steps that are alike, one launches at most so many times what the other does.
constexpr double kSameLaunches = 1.5;

double noise_of(const StepAnalysis& steps) {
  const StepSpread& spread = steps.spread;
  if (spread.count < 2) return 0;
  return error_of_median(spread.mad_ns, static_cast<std::size_t>(spread.count));
}

struct Case {
  AdviceRule rule = AdviceRule::tail_wave;
  Proposal proposal;
  double alone_net_ns = 0;  // of the step, if it were the only one
};

// Turns what launches, gaps and copies save into what the step does.
class StepGain {
 public:
  StepGain(const AdviceInput& input, const AdviceOptions& options) : input_(input), options_(options) {}

  [[nodiscard]] bool simulates() const { return input_.reach.known(); }

  /// The step with these parts beside those that were taken before, less the step with those.
  [[nodiscard]] AdviceGain of(const std::vector<ProposalPart>& parts) {
    AdviceGain gain = others(parts);
    if (std::none_of(parts.begin(), parts.end(), is_launch)) return gain;
    if (!simulates() || visits_ > options_.max_visits) {
      for (const ProposalPart& part : parts) {
        if (is_launch(part)) add(gain, part.saved, exposed_ratio(part.index));
      }
      return gain;
    }
    const AdviceGain with = simulated(parts);
    gain.low_ns += std::max(with.low_ns - taken_gain_.low_ns, 0.0);
    gain.mid_ns += std::max(with.mid_ns - taken_gain_.mid_ns, 0.0);
    gain.high_ns += std::max(with.high_ns - taken_gain_.high_ns, 0.0);
    return gain;
  }

  void take(const std::vector<ProposalPart>& parts) {
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(taken_), is_launch);
    if (simulates() && visits_ <= options_.max_visits) taken_gain_ = simulated({});
  }

 private:
  static bool is_launch(const ProposalPart& part) { return part.kind == PartKind::launch; }
  static void add(AdviceGain& to, const AdviceGain& gain, double times = 1) {
    to.low_ns += times * gain.low_ns;
    to.mid_ns += times * gain.mid_ns;
    to.high_ns += times * gain.high_ns;
  }
  // Nothing else ran in them, so that they are of the step as they are.
  static AdviceGain others(const std::vector<ProposalPart>& parts) {
    AdviceGain gain;
    for (const ProposalPart& part : parts) {
      if (!is_launch(part)) add(gain, part.saved);
    }
    return gain;
  }
  // In order of their launches, each once.
  static void add_up(std::vector<SavingReach::Shorter>& list) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (kept > 0 && list[kept - 1].first == list[i].first)
        list[kept - 1].second += list[i].second;
      else
        list[kept++] = list[i];
    }
    list.resize(kept);
  }
  [[nodiscard]] double exposed_ratio(std::uint32_t position) const {
    const LaunchUtilisations::Row& row = input_.utilisation.launches.row(position);
    if (row.duration_ns <= 0) return 0;
    return std::min(input_.exposure.ns(row.launch) / static_cast<double>(row.duration_ns), 1.0);
  }

  AdviceGain simulated(const std::vector<ProposalPart>& more) {
    const auto saving = [&](double AdviceGain::*level) {
      std::vector<SavingReach::Shorter> list;
      const auto note = [&](const std::vector<ProposalPart>& parts) {
        for (const ProposalPart& part : parts) {
          if (is_launch(part))
            list.emplace_back(input_.utilisation.launches.row(part.index).launch, part.saved.*level);
        }
      };
      note(taken_);
      note(more);
      add_up(list);
      visits_ += input_.reach.visits();
      return input_.reach.if_shorter(list).value_or(0);
    };
    return {saving(&AdviceGain::low_ns), saving(&AdviceGain::mid_ns), saving(&AdviceGain::high_ns)};
  }

  const AdviceInput& input_;
  const AdviceOptions& options_;
  std::vector<ProposalPart> taken_;
  AdviceGain taken_gain_;
  std::int64_t visits_ = 0;
};

// Remedies that make the CPU or a copy no longer late end the same lateness: a wait that goes and launches that become
// one each do alone what both do together. Of a later case is what they gain more together.
class TakenRemedies {
 public:
  explicit TakenRemedies(const Remedies* remedies) : remedies_(remedies) {}

  /// Makes the gaps and copies of a case less by as much as those taken before gain already.
  void leave_of(const Proposal& proposal, StepGain& step, std::vector<ProposalPart>& parts) {
    if (!proposal.remedy || edits_.empty()) return;
    edits_.push_back(*proposal.remedy);
    const std::optional<RemedyGain> both = remedies_->together(edits_);
    edits_.pop_back();
    if (!both) return;
    std::vector<ProposalPart> launches;
    double others_ns = 0;
    for (const ProposalPart& part : parts) {
      if (part.kind == PartKind::launch)
        launches.push_back(part);
      else
        others_ns += part.saved.high_ns;
    }
    const double by_launches_ns = launches.empty() ? 0 : step.of(launches).mid_ns;
    const double left_ns = std::max(both->ns - gained_ns_ - by_launches_ns, 0.0);
    if (others_ns <= left_ns) return;
    for (ProposalPart& part : parts) {
      if (part.kind == PartKind::launch) continue;
      part.saved.low_ns *= left_ns / others_ns;
      part.saved.mid_ns *= left_ns / others_ns;
      part.saved.high_ns *= left_ns / others_ns;
    }
  }

  void take(const Proposal& proposal) {
    if (!proposal.remedy) return;
    edits_.push_back(*proposal.remedy);
    if (const auto gained = remedies_->together(edits_)) gained_ns_ = gained->ns;
  }

 private:
  const Remedies* remedies_;  // nullptr: no proposal has a remedy
  std::vector<StepEdit> edits_;
  double gained_ns_ = 0;  // by all of them
};

std::vector<store::Id> launch_ids(const AdviceInput& input, const std::vector<ProposalPart>& parts,
                                  std::int64_t& count) {
  std::vector<LaunchIndex> launches;
  for (const ProposalPart& part : parts) {
    if (part.kind == PartKind::launch) launches.push_back(input.utilisation.launches.row(part.index).launch);
    if (part.kind != PartKind::gap) continue;
    const Gap gap = input.accounting.gaps[part.index];
    if (gap.after) launches.push_back(*gap.after);
  }
  std::sort(launches.begin(), launches.end());
  launches.erase(std::unique(launches.begin(), launches.end()), launches.end());
  count = static_cast<std::int64_t>(launches.size());
  std::vector<store::Id> ids;
  for (const LaunchIndex launch : launches) {
    if (ids.size() == Advice::kMaxLaunches) break;
    ids.push_back(input.model.launches.row(launch).id);
  }
  return ids;
}

// Where the power limit holds, a part of what is saved is given back by a lower clock.
AdviceGain after_power(const PowerTerm& term, PowerEffect effect, const AdviceGain& gain) {
  if (effect == PowerEffect::clock || term.state != PowerTerm::State::holds) return gain;
  SavedWork saved;
  (effect == PowerEffect::same_work ? saved.same_energy_ns
   : effect == PowerEffect::idle    ? saved.idle_ns
                                    : saved.traffic_ns) = 1;
  Gain of_step;
  of_step.simulated = GainRange{gain.mid_ns, gain.low_ns, gain.high_ns};
  apply_power(term, saved, of_step);
  if (!of_step.after_power) return gain;
  const GainRange& left = *of_step.after_power;
  return {left.low.value_or(left.value), left.value, left.high.value_or(left.value)};
}

// What the cases before claim at most leaves least of the most: of a single case the three are in order all the same.
void put_in_order(AdviceGain& gain) {
  gain.low_ns = std::min(gain.low_ns, gain.mid_ns);
  gain.high_ns = std::max(gain.high_ns, gain.mid_ns);
}

bool more_first(const Advice& a, const Advice& b) {
  if (a.net.mid_ns != b.net.mid_ns) return a.net.mid_ns > b.net.mid_ns;
  return std::tie(a.rule, a.subject) < std::tie(b.rule, b.subject);
}

// Of a phase, what steps take that launch the same as the one that is looked at.
std::vector<double> alike_ns(const AdviceInput& input, Phase phase) {
  const StepSummary& own = input.steps.representative.summary;
  std::vector<double> alike;
  for (const StepSummary& step : input.steps.steps) {
    if (step.process_id == own.process_id && step.phase == phase && step.sequence_hash == own.sequence_hash &&
        step.closed && step.status == StepStatus::ok)
      alike.push_back(static_cast<double>(step.gpu_duration_ns));
  }
  return alike;
}

// A timeline step may be longer than steps of the same launches after the schedule: counters that are to follow make a
// program's launches slower (docs/results/decisions.md).
double longer_than_others_ns(const AdviceInput& input) {
  std::vector<double> others = alike_ns(input, Phase::after);
  if (others.size() < kMinOthers) return 0;
  return std::max(static_cast<double>(input.accounting.step_ns) - median(std::move(others)), 0.0);
}

// Or than those by which the price was measured: in the mean, as they are, for a host that is slow in most of its steps
// has a median of slow ones. A single step that takes long is not in the one that is looked at.
double longer_than_priced_ns(const AdviceInput& input, const RecordingPrice& price) {
  const auto launches = static_cast<double>(input.accounting.launches);
  const auto priced = static_cast<double>(price.launches);
  if (launches > kSameLaunches * priced || priced > kSameLaunches * launches) return 0;
  const std::vector<double> alike = alike_ns(input, Phase::timeline);
  if (alike.empty()) return 0;
  const double more_ns =
      std::min(mean(alike), static_cast<double>(input.accounting.step_ns)) - price.recorded_ns;
  return more_ns > price.error_ns ? more_ns : 0;
}

RecordingCost recording_of(const AdviceInput& input) {
  const RepresentativeStep& step = input.steps.representative;
  const auto launches = static_cast<double>(input.accounting.launches);
  const RecordingCost unknown{false, RecordingCost::kUsualNs * launches, 0, RecordingCost::kMaxNs * launches};
  // It is measured of steps that are recorded launch by launch and in no other way.
  if (step.whole_recording || step.scope != ScopeKind::step || step.summary.phase != Phase::timeline)
    return unknown;
  if (const std::optional<RecordingPrice> price = recording_price(input.model, input.accounting.process_id)) {
    const double part = price->part_of(input.accounting.launches);
    const double more_ns = longer_than_priced_ns(input, *price);
    const double ns = std::max(price->difference_ns(), 0.0) * part + more_ns;
    const double max_ns = std::max(price->difference_ns() + price->error_ns, 0.0) * part + more_ns;
    // Half of a 95 % interval is two standard errors. Of a difference that steps may vary by the most counts too.
    return {true, ns, part * price->error_ns / 2, price->certain() ? ns : max_ns};
  }
  const double longer_ns = longer_than_others_ns(input);
  return {false, std::max(unknown.ns, longer_ns), 0, std::max(unknown.max_ns, unknown.ns + longer_ns)};
}

std::optional<Remedies> remedies_of(const AdviceInput& input, const RecordingCost& recording) {
  const RepresentativeStep& step = input.steps.representative;
  const bool one = step.window_end_ns - step.window_start_ns == input.accounting.step_ns;
  if (!input.reach.known() || step.scope != ScopeKind::step || !one) return std::nullopt;
  const auto launches = std::max(static_cast<double>(input.accounting.launches), 1.0);
  RemedyOptions options{.usual_per_work_ns = recording.ns / launches,
                        .max_per_work_ns = recording.max_ns / launches};
  if (recording.measured) options.recording_ns = recording.ns;
  return Remedies(input.model, step, options);
}

// Asks every rule; what is not proposed goes into the report as it is.
std::vector<Case> ask_rules(const AdviceInput& input, const RecordingCost& recording,
                            const Remedies* remedies, AdviceReport& report) {
  std::vector<Case> cases;
  const AdviceLaunches launches(input);
  const std::vector<Idle> idle = idle_times(input);
  const RuleInput asked{input, launches, idle, remedies, recording};
  for (const Rule& rule : advice_rules()) {
    RuleAnswer answer = rule.judge(asked);
    std::erase_if(answer.proposals, [&](const Proposal& proposal) {
      return proposal.alone().high_ns < kWorthALook * report.min_ns;
    });
    // What nothing that is shown hangs on.
    std::erase_if(answer.unknown, [&](const AdviceUnknown& unknown) {
      return unknown.max_ns && *unknown.max_ns < report.min_ns;
    });
    if (answer.proposals.empty() && answer.unknown.empty())
      report.healthy.push_back({rule.id, std::move(answer.nearest)});
    for (AdviceUnknown& unknown : answer.unknown) {
      unknown.rule = rule.id;
      report.unknown.push_back(std::move(unknown));
    }
    for (Proposal& proposal : answer.proposals) cases.push_back({rule.id, std::move(proposal)});
  }
  return cases;
}

}  // namespace

std::size_t AdviceReport::rules() {
  return advice_rules().size();
}

AdviceVerdict AdviceReport::verdict(AdviceRule rule) const {
  const auto of_rule = [rule](const auto& item) { return item.rule == rule; };
  if (const auto found = std::find_if(advice.begin(), advice.end(), of_rule); found != advice.end())
    return *found;
  if (const auto found = std::find_if(unknown.begin(), unknown.end(), of_rule); found != unknown.end())
    return *found;
  if (const auto found = std::find_if(healthy.begin(), healthy.end(), of_rule); found != healthy.end())
    return *found;
  return AdviceHealthy{rule, {}};
}

AdviceReport AdviceReport::of(AdviceRule rule) const {
  AdviceReport one = *this;
  const auto other = [rule](const auto& item) { return item.rule != rule; };
  std::erase_if(one.advice, other);
  std::erase_if(one.small, other);
  std::erase_if(one.healthy, other);
  std::erase_if(one.unknown, other);
  one.together = {};
  for (const Advice& kept : one.advice) {
    one.together.low_ns += kept.net.low_ns;
    one.together.mid_ns += kept.net.mid_ns;
    one.together.high_ns += kept.net.high_ns;
  }
  return one;
}

AdviceGain Proposal::alone() const {
  AdviceGain sum;
  for (const ProposalPart& part : parts) {
    sum.low_ns += part.saved.low_ns;
    sum.mid_ns += part.saved.mid_ns;
    sum.high_ns += part.saved.high_ns;
  }
  return sum;
}

AdviceReport advise(const AdviceInput& input, const AdviceOptions& options) {
  AdviceReport report;
  report.scope = input.accounting.scope;
  report.imported = input.model.imported();
  report.step_ns = static_cast<double>(input.accounting.step_ns);
  report.noise_ns = noise_of(input.steps);
  report.min_ns = std::max(options.min_share * report.step_ns, options.noise_multiple * report.noise_ns);
  report.once = report.scope == ScopeKind::recording;
  if (report.once) report.min_ns = std::max(report.min_ns, options.min_once_ns);
  const PowerTerm power = power_term(input.model, input.steps, input.utilisation);
  report.power_limited = power.state == PowerTerm::State::holds;
  if (input.ranking.reach) report.not_simulated = input.ranking.reach->why;
  report.kernels_target = input.ranking.options.target;
  report.kernels_ns = input.ranking.reach && input.ranking.reach->known()
                          ? input.ranking.reach->target_ns
                          : input.ranking.totals.saved_target_exposed_ns;

  StepGain step(input, options);
  const RecordingCost recording = recording_of(input);
  const std::optional<Remedies> remedies = remedies_of(input, recording);
  std::vector<Case> cases = ask_rules(input, recording, remedies ? &*remedies : nullptr, report);
  TakenRemedies taken(remedies ? &*remedies : nullptr);
  for (Case& one : cases) {
    one.alone_net_ns = after_power(power, one.proposal.power, step.of(one.proposal.parts)).mid_ns;
  }
  std::stable_sort(cases.begin(), cases.end(),
                   [](const Case& a, const Case& b) { return a.alone_net_ns > b.alone_net_ns; });
  Claims claims(input);
  for (const Case& one : cases) {
    Advice advice{.rule = one.rule, .basis = one.proposal.basis, .subject = one.proposal.subject};
    advice.evidence = one.proposal.evidence;
    advice.alone = one.proposal.alone();
    advice.launches = launch_ids(input, one.proposal.parts, advice.launch_count);
    std::vector<ProposalPart> left;
    for (const ProposalPart& part : one.proposal.parts) left.push_back(claims.left_of(part));
    taken.leave_of(one.proposal, step, left);
    double left_ns = 0;
    for (const ProposalPart& part : left) left_ns += part.saved.mid_ns;
    advice.claimed_ns = std::max(advice.alone.mid_ns - left_ns, 0.0);
    advice.simulated = step.simulates();
    const AdviceGain of_step = step.of(left);
    advice.net = after_power(power, one.proposal.power, of_step);
    advice.power_factor = of_step.mid_ns > 0 ? advice.net.mid_ns / of_step.mid_ns : 1;
    if (advice.net.mid_ns < report.min_ns) {
      put_in_order(advice.net);
      report.small.push_back(std::move(advice));
      continue;
    }
    for (const ProposalPart& part : left) claims.claim(part);
    step.take(left);
    taken.take(one.proposal);
    report.together.low_ns += advice.net.low_ns;
    report.together.mid_ns += advice.net.mid_ns;
    report.together.high_ns += advice.net.high_ns;
    report.advice.push_back(std::move(advice));
    put_in_order(report.advice.back().net);
  }
  std::stable_sort(report.advice.begin(), report.advice.end(), more_first);
  std::stable_sort(report.small.begin(), report.small.end(), more_first);
  // A rule with small cases only has looked and found nothing that matters: it is in no other list.
  return report;
}

std::span<const Rule> advice_rules() {
  static constexpr std::array kRules = {
      Rule{AdviceRule::tail_wave, judge_tail_wave},
      Rule{AdviceRule::too_few_blocks, judge_too_few_blocks},
      Rule{AdviceRule::narrow_access, judge_narrow_access},
      Rule{AdviceRule::fold_elementwise, judge_fold_elementwise},
      Rule{AdviceRule::bias_kernel, judge_bias_kernel},
      Rule{AdviceRule::unfused_attention, judge_unfused_attention},
      Rule{AdviceRule::fp32_gemm, judge_fp32_gemm},
      Rule{AdviceRule::ugly_dimension, judge_ugly_dimension},
      Rule{AdviceRule::faster_library, judge_faster_library},
      Rule{AdviceRule::split_k, judge_split_k},
      Rule{AdviceRule::casts, judge_casts},
      Rule{AdviceRule::optimiser, judge_optimiser},
      Rule{AdviceRule::launch_overhead, judge_launch_overhead},
      Rule{AdviceRule::l2_fit, judge_l2_fit},
      Rule{AdviceRule::occupancy, judge_occupancy},
      Rule{AdviceRule::sync_in_step, judge_sync_in_step},
      Rule{AdviceRule::pageable_copy, judge_pageable_copy},
      Rule{AdviceRule::copy_exposed, judge_copy_exposed},
      Rule{AdviceRule::comm_exposed, judge_comm_exposed},
      Rule{AdviceRule::loader_wait, judge_loader_wait},
      Rule{AdviceRule::clock_down, judge_clock_down},
      Rule{AdviceRule::cold_start, judge_cold_start},
  };
  return kRules;
}

}  // namespace ridgeline::analyzer
