// ranks_text.cpp: what an analysis of many ranks says, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/ranks_document.h"

namespace ridgeline::reports {
namespace {

using analyzer::AccountPart;
using analyzer::CallMismatch;
using analyzer::InterferenceRefusal;
using analyzer::JobAnalysis;
using analyzer::JobStepCost;
using analyzer::LatenessCause;
using analyzer::MismatchKind;
using analyzer::RankCost;
using analyzer::Recurrence;

constexpr std::size_t kMismatchesSaid = 5;
constexpr std::size_t kRanksListed = 8;

double account_ns(const JobAnalysis& of, AccountPart part) {
  for (const auto& row : of.account) {
    if (row.part == part) return row.time_ns;
  }
  return 0;
}

std::string rank_list(const std::vector<std::int64_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kRanksListed; ++i)
    text.append(fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]));
  if (ranks.size() > kRanksListed) text.append(fmt::format(" and {} more", ranks.size() - kRanksListed));
  return text;
}

std::string presence(const JobAnalysis& of) {
  const auto here = static_cast<std::int64_t>(of.ranks.size());
  const std::string where = counted(of.hosts, "host");
  const std::string steps = counted(static_cast<std::int64_t>(of.steps.size()), "step");
  if (of.missing.empty())
    return fmt::format("{} on {}, {}{}.", counted(here, "rank"), where, steps,
                       of.world_size ? "" : "; how many the job has is not known");
  return fmt::format(
      "{} of {} ranks on {}, {}; missing: {}. Waits are at least, transfers at most what is said.", here,
      *of.world_size, where, steps, rank_list(of.missing));
}

std::string verdict(const JobAnalysis& of) {
  const std::string threshold = time_text(of.late_threshold_ns);
  const auto steps = static_cast<std::int64_t>(of.steps.size());
  switch (of.recurrence) {
    case Recurrence::nobody:
      return fmt::format("No rank is late: none needs {} more than the others for its own part of a step.",
                         threshold);
    case Recurrence::cannot_say:
      return fmt::format(
          "Who is late cannot be said: no rank that is here needs {} more than the others, but {} missing.",
          threshold, of.missing.size() == 1 ? "one is" : "some are");
    case Recurrence::same_rank: {
      const auto rank = std::find_if(of.rank_costs.begin(), of.rank_costs.end(),
                                     [&](const RankCost& cost) { return cost.rank == of.straggler; });
      return fmt::format("Rank {} is the one that others wait for: late in {} of {} by {}, {}.", of.straggler,
                         rank->late_steps, counted(steps, "step"), time_text(rank->late_ns),
                         cause_text(*of.cause));
    }
    case Recurrence::rotating:
      return fmt::format("The late rank changes from step to step: {} of {} have one, mostly {}.",
                         of.late_steps, counted(steps, "step"), cause_text(*of.cause));
    case Recurrence::few_steps:
      return fmt::format("A rank is late in {} of {} only, mostly {}.", of.late_steps, counted(steps, "step"),
                         cause_text(*of.cause));
  }
  return "";
}

std::string communication(const JobAnalysis& of) {
  const double wait = account_ns(of, AccountPart::exposed_wait);
  const double transfer = account_ns(of, AccountPart::exposed_transfer);
  return fmt::format(
      "Of a step of {}, {} are spent waiting for collectives: {} for the last rank, {} for the transfer.",
      time_text(account_ns(of, AccountPart::duration)), time_text(wait + transfer), time_text(wait),
      time_text(transfer));
}

// A few steps that take many times as long as the others, as the first ones do, are in the means: what most steps are
// like is said then.
std::string unlike_most_steps(const JobAnalysis& of) {
  constexpr double kManyTimes = 3;
  if (of.step_costs.size() < 3) return "";
  std::vector<double> durations, waits;
  for (const JobStepCost& step : of.step_costs) {
    durations.push_back(step.duration_ns);
    waits.push_back(step.exposed_ns);
  }
  const double usual = median(durations);
  const auto longest = std::max_element(
      of.step_costs.begin(), of.step_costs.end(),
      [](const JobStepCost& a, const JobStepCost& b) { return a.duration_ns < b.duration_ns; });
  const auto beyond = std::count_if(durations.begin(), durations.end(),
                                    [&](double duration) { return duration > kManyTimes * usual; });
  if (beyond == 0) return "";
  return fmt::format(
      "These are means, with {} that took more than three times the median: step {} took {}. In the median "
      "a step takes {} and waits {}.",
      counted(beyond, "step"), longest->step_index, time_text(longest->duration_ns), time_text(usual),
      time_text(median(waits)));
}

std::string joined_by_numbers(const JobAnalysis& of) {
  const auto hosts = static_cast<std::int64_t>(of.joined_by_numbers.size());
  if (hosts == 0) return "";
  return fmt::format(
      "The steps of {} are joined to those of the other hosts by their numbers, and nothing shows that they "
      "are the same: a recording counts steps from where it found their period. Waits across hosts may be "
      "those of different steps. Mark the steps by NVTX ranges.",
      hosts == 1 ? of.joined_by_numbers.front() : fmt::format("{} hosts", hosts));
}

std::vector<std::string> clock_sentences(const JobAnalysis& of) {
  std::vector<std::string> all;
  std::int64_t widest = 0;
  std::int64_t aligned = 0;
  std::int64_t unknown = 0;
  for (const store::JobClock& clock : of.clocks) {
    if (clock.status == ClockStatus::aligned) {
      ++aligned;
      widest = std::max({widest, -clock.low_ns.value_or(0), clock.high_ns.value_or(0)});
    }
    if (clock.status == ClockStatus::unknown) ++unknown;
    if (clock.status == ClockStatus::contradicts)
      all.push_back(
          fmt::format("The clock of {} cannot be aligned: with any offset some rank would leave a collective "
                      "before another enters it. Waits there are taken from durations.",
                      clock.host));
  }
  if (aligned > 0)
    all.push_back(fmt::format("Clocks of {} are aligned by their collectives, to within {}.",
                              counted(aligned + 1, "host"), time_text(static_cast<double>(widest))));
  if (unknown > 0)
    all.push_back(
        fmt::format("No collective joins {} to the first one: waits there are taken from durations.",
                    counted(unknown, "host")));
  return all;
}

std::string mismatch_text(const CallMismatch& of) {
  const std::string where = fmt::format("Rank {}, step {}: ", of.rank, of.step_index);
  switch (of.kind) {
    case MismatchKind::lost:
      return where + fmt::format("{} of the others {} no record.", counted(of.missing, "collective"),
                                 of.missing == 1 ? "has" : "have");
    case MismatchKind::extra:
      return where + fmt::format("{} that the others do not have.", counted(of.extra, "collective"));
    case MismatchKind::reordered:
      return where +
             fmt::format("{} in another order than the others have.", counted(of.missing, "collective"));
    case MismatchKind::different:
      return where + fmt::format("{} of the others missing, {} of its own.",
                                 counted(of.missing, "collective"), of.extra);
  }
  return where;
}

std::string loss_sentence(const analyzer::ScalingLoss& loss) {
  const auto& parts = loss.parts;
  return fmt::format(
      "A rank alone takes {}, so that {} of the time is kept. The difference: waiting for the last rank {}, "
      "for the transfer {}, more work {}, more cycles {}, kernels slowed by collectives beside them {}, "
      "clock "
      "{}, gaps {}, copies {}, rest {}.",
      time_text(loss.alone_ns), percent_text(loss.efficiency_ratio), time_text(loss.exposed_wait_ns),
      time_text(loss.exposed_transfer_ns), time_text(parts.more_work_ns),
      time_text(parts.more_cycles_ns + parts.slower_kernels_ns), time_text(parts.beside_collectives_ns),
      time_text(parts.lower_clock_ns), time_text(parts.host_gaps_ns), time_text(parts.copies_ns),
      time_text(parts.rest_ns));
}

// What collectives cost the kernels beside them, or why that cannot be said.
std::string interference(const JobAnalysis& of) {
  const auto& found = of.interference;
  const std::string unsaid = "What collectives cost the kernels beside them cannot be said: ";
  switch (found.refusal) {
    case InterferenceRefusal::not_kept:
      return unsaid + "the job was merged without it; merge the ranks' captures again.";
    case InterferenceRefusal::none_beside:
      return "No kernel ran beside a collective.";
    case InterferenceRefusal::no_controls:
      return unsaid + "there are no launches of the same kinds beside none.";
    case InterferenceRefusal::few_steps:
      return unsaid + "there are too few steps for an interval.";
    case InterferenceRefusal::none:
      break;
  }
  const auto& cost = found.cost;
  const std::string interval = fmt::format("{} to {}", time_text(cost.low_ns), time_text(cost.high_ns));
  const std::string controls = fmt::format(
      "Of {} beside collectives in a step {} have such launches; cycles and clock are not told apart.",
      time_text(cost.beside_ns), time_text(cost.controlled_ns));
  if (!cost.shown())
    return fmt::format(
        "Kernels beside collectives take as long as launches of the same kinds beside none, as far as can be "
        "told: {} more in a step, {}. {}",
        time_text(cost.cost_ns), interval, controls);
  const bool slower = cost.cost_ns > 0;
  return fmt::format(
      "Kernels beside collectives take {} {} in a step ({}) than launches of the same kinds "
      "beside none{}. {}",
      time_text(std::abs(cost.cost_ns)), slower ? "longer" : "less", interval,
      found.factor_ratio ? fmt::format(", {:.2f} times their time there", *found.factor_ratio)
                         : std::string(),
      controls);
}

}  // namespace

std::string cause_text(LatenessCause cause) {
  switch (cause) {
    case LatenessCause::more_work:
      return "with more work in its kernels";
    case LatenessCause::more_cycles:
      return "with more cycles for the same work";
    case LatenessCause::lower_clock:
      return "with a lower clock";
    case LatenessCause::host_gaps:
      return "with gaps in which the device has nothing to do";
    case LatenessCause::copies:
      return "with copies that nothing runs beside";
    case LatenessCause::slower_kernels:
      return "with slower kernels (cycles or clock: the clock was not sampled often enough)";
    case LatenessCause::unexplained:
      return "for no single reason";
  }
  return "";
}

std::vector<std::string> ranks_sentences(const JobAnalysis& of) {
  std::vector<std::string> all = {presence(of), verdict(of), communication(of)};
  if (std::string steps = unlike_most_steps(of); !steps.empty()) all.push_back(std::move(steps));
  if (std::string joined = joined_by_numbers(of); !joined.empty()) all.push_back(std::move(joined));
  all.push_back(interference(of));
  if (of.loss) all.push_back(loss_sentence(*of.loss));
  for (std::string& sentence : clock_sentences(of)) all.push_back(std::move(sentence));
  for (std::size_t i = 0; i < of.mismatches.size() && i < kMismatchesSaid; ++i)
    all.push_back(mismatch_text(of.mismatches[i]));
  if (of.mismatches.size() > kMismatchesSaid)
    all.push_back(fmt::format("{} more of this kind.", of.mismatches.size() - kMismatchesSaid));
  return all;
}

}  // namespace ridgeline::reports
