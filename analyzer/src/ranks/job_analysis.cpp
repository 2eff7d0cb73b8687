#include "ridgeline/analyzer/ranks/job_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "ranks/account.h"
#include "ranks/aligned_steps.h"
#include "ranks/causes.h"
#include "ranks/collective_costs.h"
#include "ranks/interference_cost.h"
#include "ranks/job_view.h"
#include "ranks/matching.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/analyzer/work/link_traffic.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

using ranks::JobView;

// Later than these is named. Chips differ by some per mille and steps by less than a percent.
constexpr double kLateShare = 0.02;           // of the step
constexpr double kLateShareOfTwo = 0.03;      // likewise, of two ranks: there is no majority to tell noise by
constexpr double kLateDeviations = 6;         // of what ranks differ by anyway
constexpr std::size_t kManyRanks = 5;         // from here on one rank does not move a median
constexpr double kFewSteps = 0.3;             // of all steps
constexpr double kSameRank = 0.7;             // of the late steps
constexpr double kClockFromNeighbours = 0.8;  // late in so many steps, a clock between samples is its own

class Stragglers {
 public:
  Stragglers(const JobView& view, const ranks::CollectiveCosts& costs, JobAnalysis& analysis)
      : view_(view), costs_(costs), analysis_(analysis) {}

  void run() {
    fill_lateness();
    set_threshold();
    fill_ranks();
    fill_steps();
    conclude();
  }

 private:
  [[nodiscard]] double& late(std::size_t rank, std::size_t step) {
    return lateness_[rank * view_.steps().size() + step];
  }
  [[nodiscard]] std::optional<std::size_t> left_out(std::size_t rank) const {
    return view_.ranks() < kManyRanks ? std::optional(rank) : std::nullopt;
  }

  [[nodiscard]] const ranks::StepParts& parts_of(std::size_t rank, std::size_t step) const {
    return costs_.parts[rank * view_.steps().size() + step];
  }

  void fill_lateness() {
    lateness_.resize(view_.ranks() * view_.steps().size());
    for (std::size_t step = 0; step < view_.steps().size(); ++step) {
      std::vector<double> own;
      for (std::size_t rank = 0; rank < view_.ranks(); ++rank) own.push_back(parts_of(rank, step).own_ns);
      const double all = median(own);
      for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
        double others = all;
        if (left_out(rank)) {
          std::vector<double> rest = own;
          rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(rank));
          others = median(std::move(rest));
        }
        late(rank, step) = own[rank] - others;
      }
    }
  }

  void set_threshold() {
    std::vector<double> durations;
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
      for (std::size_t step = 0; step < view_.steps().size(); ++step)
        durations.push_back(static_cast<double>(view_.step(rank, step).duration_ns));
    }
    const double step_ns = median(std::move(durations));
    if (view_.ranks() == 2) {
      analysis_.late_threshold_ns = kLateShareOfTwo * step_ns;
      return;
    }
    const double deviation = kDeviationPerMad * median_absolute_deviation(lateness_);
    analysis_.late_threshold_ns = std::max(kLateShare * step_ns, kLateDeviations * deviation);
  }

  [[nodiscard]] LatenessParts parts(std::size_t rank, std::size_t step, bool often) {
    auto reference = std::make_shared<const ranks::ReferenceStep>();
    if (left_out(rank)) {
      reference =
          std::make_shared<const ranks::ReferenceStep>(ranks::reference_of(view_, costs_.parts, step, rank));
    } else {
      auto& known = references_[step];
      if (!known)
        known = std::make_shared<const ranks::ReferenceStep>(
            ranks::reference_of(view_, costs_.parts, step, std::nullopt));
      reference = known;
    }
    const bool clock = often || view_.step(rank, step).clock_samples > 0;
    return ranks::lateness_parts(ranks::step_of(view_, costs_.parts, rank, step), *reference, clock);
  }

  void fill_ranks() {
    const std::size_t steps = view_.steps().size();
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
      RankCost cost;
      cost.rank = view_.job().ranks[rank].rank;
      cost.host = clock_of(view_.job().ranks[rank]);
      cost.clock_error_ns = costs_.clock_error_ns[rank];
      std::vector<double> duration, compute, copy, idle, wait, transfer, own, lateness, clock, late_ns;
      for (std::size_t step = 0; step < steps; ++step) {
        const store::JobStep& row = view_.step(rank, step);
        const ranks::StepParts& of = parts_of(rank, step);
        duration.push_back(static_cast<double>(row.duration_ns));
        compute.push_back(static_cast<double>(row.compute_ns));
        copy.push_back(of.copies_ns);
        idle.push_back(of.idle_ns);
        wait.push_back(of.wait_ns);
        transfer.push_back(of.transfer_ns);
        own.push_back(of.own_ns);
        lateness.push_back(late(rank, step));
        if (row.sm_clock_hz) clock.push_back(*row.sm_clock_hz);
        if (late(rank, step) > analysis_.late_threshold_ns) late_ns.push_back(late(rank, step));
      }
      cost.duration_ns = median(std::move(duration));
      cost.compute_ns = median(std::move(compute));
      cost.copy_ns = median(std::move(copy));
      cost.idle_ns = median(std::move(idle));
      cost.exposed_wait_ns = median(std::move(wait));
      cost.exposed_transfer_ns = median(std::move(transfer));
      cost.own_ns = median(std::move(own));
      cost.lateness_ns = median(std::move(lateness));
      if (!clock.empty()) cost.sm_clock_hz = median(std::move(clock));
      cost.late_steps = static_cast<std::int64_t>(late_ns.size());
      if (!late_ns.empty()) cost.late_ns = median(std::move(late_ns));
      if (costs_.told > 0)
        cost.last_share = static_cast<double>(costs_.times_last[rank]) / static_cast<double>(costs_.told);
      if (cost.late_steps > 0) add_cause(rank, cost);
      for (const store::JobTraffic& row : view_.job().traffic) {
        if (row.rank == cost.rank && !row.site_id) cost.link_bytes = mean_link_bytes(row.bytes, row.count);
      }
      analysis_.rank_costs.push_back(std::move(cost));
    }
  }

  // Of the steps in which the rank is late: means of the parts.
  void add_cause(std::size_t rank, RankCost& cost) {
    const std::size_t steps = view_.steps().size();
    const bool often =
        static_cast<double>(cost.late_steps) >= kClockFromNeighbours * static_cast<double>(steps);
    for (std::size_t step = 0; step < steps; ++step) {
      if (late(rank, step) <= analysis_.late_threshold_ns) continue;
      const LatenessParts of = parts(rank, step, often);
      causes_[{rank, step}] = ranks::cause_of(of);
      cost.parts.more_work_ns += of.more_work_ns;
      cost.parts.more_cycles_ns += of.more_cycles_ns;
      cost.parts.lower_clock_ns += of.lower_clock_ns;
      cost.parts.slower_kernels_ns += of.slower_kernels_ns;
      cost.parts.host_gaps_ns += of.host_gaps_ns;
      cost.parts.copies_ns += of.copies_ns;
      cost.parts.rest_ns += of.rest_ns;
    }
    const auto n = static_cast<double>(cost.late_steps);
    for (double* part : {&cost.parts.more_work_ns, &cost.parts.more_cycles_ns, &cost.parts.lower_clock_ns,
                         &cost.parts.slower_kernels_ns, &cost.parts.host_gaps_ns, &cost.parts.copies_ns,
                         &cost.parts.rest_ns})
      *part /= n;
    cost.cause = ranks::cause_of(cost.parts);
  }

  void fill_steps() {
    for (std::size_t step = 0; step < view_.steps().size(); ++step) {
      JobStepCost cost;
      cost.step_index = view_.steps()[step];
      std::vector<double> durations;
      std::size_t slowest = 0;
      for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
        durations.push_back(static_cast<double>(view_.step(rank, step).duration_ns));
        cost.exposed_ns += static_cast<double>(view_.step(rank, step).exposed_ns);
        const ranks::StepParts& of = parts_of(rank, step);
        cost.exposed_wait_ns += of.wait_ns;
        cost.exposed_transfer_ns += of.transfer_ns;
        cost.rank_lateness_ns.push_back(late(rank, step));
        if (late(rank, step) > late(slowest, step)) slowest = rank;
      }
      const auto n = static_cast<double>(view_.ranks());
      cost.exposed_ns /= n;
      cost.exposed_wait_ns /= n;
      cost.exposed_transfer_ns /= n;
      cost.duration_ns = median(std::move(durations));
      cost.slowest_rank = view_.job().ranks[slowest].rank;
      cost.lateness_ns = late(slowest, step);
      cost.late = cost.lateness_ns > analysis_.late_threshold_ns;
      if (cost.late) cost.cause = causes_.at({slowest, step});
      analysis_.step_costs.push_back(std::move(cost));
    }
  }

  void conclude() {
    std::map<std::int64_t, std::int64_t> ranks_late;
    std::map<LatenessCause, std::int64_t> causes;
    for (const JobStepCost& step : analysis_.step_costs) {
      if (!step.late) continue;
      ++analysis_.late_steps;
      ++ranks_late[step.slowest_rank];
      ++causes[*step.cause];
    }
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    if (analysis_.late_steps == 0) {
      analysis_.recurrence = someone_unseen() ? Recurrence::cannot_say : Recurrence::nobody;
      return;
    }
    analysis_.cause = std::max_element(causes.begin(), causes.end(), by_count)->first;
    const auto most = std::max_element(ranks_late.begin(), ranks_late.end(), by_count);
    const auto late_steps = static_cast<double>(analysis_.late_steps);
    if (late_steps < kFewSteps * static_cast<double>(view_.steps().size())) {
      analysis_.recurrence = Recurrence::few_steps;
    } else if (static_cast<double>(most->second) >= kSameRank * late_steps) {
      analysis_.recurrence = Recurrence::same_rank;
      analysis_.straggler = most->first;
      analysis_.cause = analysis_.rank_costs[view_.place_of(most->first)].cause;
    } else {
      analysis_.recurrence = Recurrence::rotating;
    }
  }

  // Ranks are missing: whoever all wait for may be among them.
  [[nodiscard]] bool someone_unseen() const { return !analysis_.missing.empty(); }

  const JobView& view_;
  const ranks::CollectiveCosts& costs_;
  JobAnalysis& analysis_;
  std::vector<double> lateness_;  // by rank, step
  std::map<std::size_t, std::shared_ptr<const ranks::ReferenceStep>> references_;
  std::map<std::pair<std::size_t, std::size_t>, LatenessCause> causes_;
};

JobAnalysis analysed(const JobView& view, const ranks::Alone* alone) {
  const store::Job& job = view.job();
  JobAnalysis analysis;
  std::set<std::string> hosts;
  for (const store::JobRank& rank : job.ranks) {
    analysis.ranks.push_back(rank.rank);
    hosts.insert(clock_of(rank));
  }
  analysis.hosts = static_cast<std::int64_t>(hosts.size());
  analysis.world_size = job.ranks.front().world_size;
  analysis.missing = missing_ranks(job);
  analysis.steps = view.steps();
  analysis.clocks = job.clocks;
  analysis.joined_by_numbers = ranks::joined_by_numbers(job);
  ranks::Matching matching = ranks::match_calls(view);
  const ranks::CollectiveCosts costs = ranks::collective_costs(view, matching);
  analysis.mismatches = std::move(matching.mismatches);
  analysis.collectives = costs.rows;
  Stragglers(view, costs, analysis).run();
  analysis.account = ranks::account_of(view, costs, alone);
  analysis.interference = ranks::interference_cost(view);
  if (alone != nullptr)
    analysis.loss = ranks::scaling_loss(analysis.account, analysis.interference, view, alone->view);
  analysis.kernels = ranks::kernels_over_ranks(view);
  return analysis;
}

}  // namespace

Result<JobAnalysis> analyse_job(const store::Job& job, const store::Job* alone) {
  try {
    if (job.ranks.size() < 2)
      return Failure{ErrorKind::no_data,
                     "there is one rank only: merge the captures of several with `ridgeline merge`"};
    if (alone != nullptr && alone->ranks.size() != 1)
      return Failure{ErrorKind::usage,
                     fmt::format("{} has {} ranks: give the capture of a run of one rank alone",
                                 alone->ranks.front().file, alone->ranks.size())};
    const JobView view(job);
    if (view.steps().empty())
      return Failure{ErrorKind::no_data, "there is no timeline step that all ranks have"};
    if (alone == nullptr) return analysed(view, nullptr);
    const JobView one(*alone);
    if (one.steps().empty())
      return Failure{ErrorKind::no_data, fmt::format("{} has no timeline step", alone->ranks.front().file)};
    const ranks::CollectiveCosts costs = ranks::collective_costs(one, ranks::match_calls(one));
    const ranks::Alone of_one{one, costs};
    return analysed(view, &of_one);
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  } catch (const std::out_of_range&) {
    return Failure{ErrorKind::corrupt, "the job refers to a rank, a site or a kernel that is not there"};
  }
}

}  // namespace ridgeline::analyzer
