#include "ridgeline/analyzer/ranks/job_what_if.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "ranks/collective_costs.h"
#include "ranks/contention.h"
#include "ranks/job_replay.h"
#include "ranks/job_view.h"
#include "ranks/link_fit.h"
#include "ranks/matching.h"
#include "ranks/rebucket.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

using ranks::BucketFill;
using ranks::ReplayedCall;
using ranks::ReplayedStep;
using ranks::SimulatedStep;
using ranks::StepChain;

// Of a chain of so many steps the first is not compared: ranks had entered it apart.
constexpr std::size_t kChainToSettle = 3;

std::vector<double> field_of(const std::vector<SimulatedStep>& steps, double SimulatedStep::*field) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const SimulatedStep& step : steps) values.push_back(step.*field);
  return values;
}

// Own time of the slowest rank less that of the median one.
double skew_of(const ReplayedStep& step) {
  std::vector<double> own;
  for (std::size_t r = 0; r < step.begin.size(); ++r) own.push_back(step.end[r] - step.begin[r]);
  const double most = *std::max_element(own.begin(), own.end());
  return most - median(std::move(own));
}

double transfer_of(const ReplayedStep& step) {
  double sum = 0;
  for (const ReplayedCall& call : step.calls) sum += call.transfer_ns;
  return sum;
}

// What collectives take less, and what the slowest rank does; buckets as they are then.
class Naive {
 public:
  void add(const ReplayedStep& before, const ReplayedStep& then, bool no_skew) {
    less_.push_back(transfer_of(before) - transfer_of(then) + (no_skew ? skew_of(before) : 0));
    std::vector<bool> bucket(then.calls.size());
    for (const ranks::BucketRun& run : ranks::bucket_runs(then)) {
      for (const std::size_t at : run.calls) bucket[at] = true;
    }
    // A row that is one bucket now is none.
    for (std::size_t at = 0; at < bucket.size(); ++at) {
      bucket[at] = bucket[at] || then.calls[at].recut;
      if (bucket[at]) largest_bytes_ = std::max(largest_bytes_.value_or(0), then.calls[at].bytes.value_or(0));
    }
    counts_.push_back(static_cast<double>(std::count(bucket.begin(), bucket.end(), true)));
  }
  void fill(JobGain& gain) {
    gain.naive_ns = median(std::move(less_));
    gain.buckets = std::llround(median(std::move(counts_)));
    gain.largest_bucket_bytes = largest_bytes_;
  }

 private:
  std::vector<double> less_, counts_;
  std::optional<std::int64_t> largest_bytes_;
};

struct Recorded {
  ranks::Matching matching;
  ranks::CollectiveCosts costs;
};

class JobQuestions {
 public:
  // `apart`: collectives beside kernels and alone.
  JobQuestions(const ranks::JobView& view, const Recorded& recorded, const ranks::Contention& contention,
               bool apart)
      : view_(view),
        contention_(contention.said),
        chains_(ranks::recorded_chains(view, recorded.matching, recorded.costs, contention.lost)),
        fits_(view, chains_, apart) {
    fits_.take_out_kernels(chains_);
    unchanged_ = compared(chains_);
    never_waited_ = never_waited();
  }

  // Whether kernels or collectives are slower beside each other.
  [[nodiscard]] bool contended() const { return contention_.factor_ratio || fits_.any_slowed(); }

  [[nodiscard]] JobWhatIf answer(const std::vector<JobChange>& changes) const {
    JobWhatIf out;
    out.ranks = static_cast<std::int64_t>(view_.ranks());
    out.missing = static_cast<std::int64_t>(missing_ranks(view_.job()).size());
    out.steps = static_cast<std::int64_t>(unchanged_.size());
    out.step_ns = median(recorded());
    out.replayed_ns = median(field_of(unchanged_, &SimulatedStep::duration_ns));
    out.replay_error_ratio = out.step_ns > 0 ? std::abs(out.replayed_ns - out.step_ns) / out.step_ns : 1;
    out.exposed_wait_ns = mean(field_of(unchanged_, &SimulatedStep::exposed_wait_ns));
    out.exposed_transfer_ns = mean(field_of(unchanged_, &SimulatedStep::exposed_transfer_ns));
    count_calls(out);
    out.contention = contention_;
    out.fits = fits_.all();
    const bool departs = out.replay_error_ratio > kMaxReplayErrorRatio;
    for (const JobChange& change : changes) {
      if (departs)
        out.rows.push_back({change, JobWhatIfRefusal::replay_departs, std::nullopt});
      else
        out.rows.push_back(row(change, out.step_ns));
    }
    return out;
  }

 private:
  // Those of a chain that count.
  static void add_compared(std::vector<SimulatedStep> of, std::vector<SimulatedStep>& all) {
    const std::ptrdiff_t settled = of.size() >= kChainToSettle ? 1 : 0;
    all.insert(all.end(), of.begin() + settled, of.end());
  }
  [[nodiscard]] static std::vector<SimulatedStep> compared(const std::vector<StepChain>& chains) {
    std::vector<SimulatedStep> all;
    for (const StepChain& chain : chains) add_compared(ranks::simulated(chain), all);
    return all;
  }

  [[nodiscard]] std::vector<double> recorded() const {
    std::vector<double> steps;
    for (const SimulatedStep& step : unchanged_) {
      std::vector<double> durations;
      for (std::size_t rank = 0; rank < view_.ranks(); ++rank)
        durations.push_back(static_cast<double>(view_.step(rank, step.place).duration_ns));
      steps.push_back(median(std::move(durations)));
    }
    return steps;
  }

  void count_calls(JobWhatIf& out) const {
    for (const StepChain& chain : chains_) {
      for (const ReplayedStep& step : chain.steps) {
        for (const ReplayedCall& call : step.calls) {
          for (const ReplayedCall::OfRank& of : call.ranks) {
            out.calls += of.there ? 1 : 0;
            out.calls_without_ready += of.there && !of.ready_known ? 1 : 0;
            out.calls_hidden += of.there && of.may_stop ? 1 : 0;
          }
        }
      }
    }
  }

  // Of what is not recorded, one end.
  struct Variant {
    BucketFill fill = BucketFill::late;
    bool hidden_waited = false;
  };
  static std::vector<Variant> variants(const JobChange& change) {
    std::vector<Variant> all = {{}};
    if (change.bucket_bytes) all.push_back({.fill = BucketFill::evenly});
    if (change.links < 1) all.push_back({.hidden_waited = true});
    return all;
  }

  [[nodiscard]] JobWhatIfRefusal refusal(const JobChange& change) const {
    if ((change.links < 1 || change.bucket_bytes) && never_waited_) return JobWhatIfRefusal::never_waited;
    for (const StepChain& chain : chains_) {
      if (!change.bucket_bytes) break;
      const JobWhatIfRefusal refusal = refusal_of(ranks::can_rebucket(chain, *change.bucket_bytes));
      if (refusal != JobWhatIfRefusal::none) return refusal;
    }
    return JobWhatIfRefusal::none;
  }

  // What the steps are with the change, one after the other: of all of them together there is no copy.
  [[nodiscard]] std::vector<SimulatedStep> changed(const JobChange& change, Variant variant,
                                                   Naive* naive) const {
    std::vector<SimulatedStep> all;
    for (const StepChain& chain : chains_) {
      std::optional<ranks::EvenTimes> even;
      if (change.no_skew) even.emplace(chain);
      ReplayedStep step;
      add_compared(ranks::simulated(chain,
                                    [&](std::size_t i) -> const ReplayedStep& {
                                      step = chain.steps[i];
                                      if (variant.hidden_waited) ranks::take_hidden_as_waited(step);
                                      if (change.bucket_bytes)
                                        ranks::rebucket(step, *change.bucket_bytes, variant.fill, fits_);
                                      for (ReplayedCall& call : step.calls) speed_up(change, call);
                                      if (naive != nullptr) naive->add(chain.steps[i], step, change.no_skew);
                                      if (even) even->apply(i, step);
                                      return step;
                                    }),
                   all);
    }
    return all;
  }

  static JobWhatIfRefusal refusal_of(ranks::RebucketOutcome outcome) {
    switch (outcome) {
      case ranks::RebucketOutcome::done:
        return JobWhatIfRefusal::none;
      case ranks::RebucketOutcome::no_buckets:
        return JobWhatIfRefusal::no_buckets;
      case ranks::RebucketOutcome::ready_unknown:
        return JobWhatIfRefusal::ready_unknown;
      case ranks::RebucketOutcome::finer:
        return JobWhatIfRefusal::finer_buckets;
    }
    return JobWhatIfRefusal::none;
  }

  // Whether in most steps there is a row of reductions that no rank waits for: neither for them nor for what follows
  // them on their communicator. Where the program would is then not known.
  [[nodiscard]] bool never_waited() const {
    std::size_t steps = 0;
    std::size_t without = 0;
    for (const StepChain& chain : chains_) {
      for (const ReplayedStep& step : chain.steps) {
        ++steps;
        const auto runs = ranks::bucket_runs(step);
        if (std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return !waited(step, run); }))
          ++without;
      }
    }
    return 2 * without > steps;
  }
  static bool waited(const ReplayedStep& step, const ranks::BucketRun& run) {
    const std::size_t group = step.calls[run.calls.front()].group;
    for (std::size_t at = run.calls.front(); at < step.calls.size(); ++at) {
      const auto& of = step.calls[at].ranks;
      if (step.calls[at].group == group &&
          std::any_of(of.begin(), of.end(),
                      [](const ReplayedCall::OfRank& rank) { return rank.stops.has_value(); }))
        return true;
    }
    return false;
  }

  void speed_up(const JobChange& change, ReplayedCall& call) const {
    if (change.perfect_overlap) {
      call.unwaited_ns = call.transfer_ns;
      call.transfer_ns = 0;
      for (ReplayedCall::OfRank& of : call.ranks) of.alone_ns = 0;
      return;
    }
    const double latency = fits_.latency_ns(call);
    const auto faster = [&](double time) {
      return time <= latency ? time : latency + (time - latency) / change.links;
    };
    call.transfer_ns = faster(call.transfer_ns);
    for (ReplayedCall::OfRank& of : call.ranks) of.alone_ns = faster(of.alone_ns);
  }

  [[nodiscard]] JobWhatIfRow row(const JobChange& change, double step_ns) const {
    JobWhatIfRow row;
    row.change = change;
    row.refusal = refusal(change);
    if (row.refusal != JobWhatIfRefusal::none) return row;
    JobGain gain;
    Naive naive;
    std::vector<double> medians;
    const std::vector<Variant> ends = variants(change);
    for (const Variant& variant : ends)
      add_variant(changed(change, variant, medians.empty() ? &naive : nullptr), gain, medians);
    naive.fill(gain);
    const auto n = static_cast<double>(ends.size());
    gain.exposed_wait_ns /= n;
    gain.exposed_transfer_ns /= n;
    gain.gain_ns = mean(medians);
    gain.step_ns = step_ns - gain.gain_ns;
    gain.bound_ns = std::min(step_ns, bound(change));
    const double most = *std::max_element(medians.begin(), medians.end());
    const double least = *std::min_element(medians.begin(), medians.end());
    if (most - least > kMaxRangeRatio * step_ns)
      row.refusal = JobWhatIfRefusal::range_too_wide;
    else
      row.gain = gain;
    return row;
  }

  void add_variant(const std::vector<SimulatedStep>& then, JobGain& gain,
                   std::vector<double>& medians) const {
    const std::vector<double> gains = gains_of(then);
    const double low = quantile(gains, 0.05);
    const double high = quantile(gains, 0.95);
    gain.low_ns = medians.empty() ? low : std::min(gain.low_ns, low);
    gain.high_ns = medians.empty() ? high : std::max(gain.high_ns, high);
    gain.exposed_wait_ns += mean(field_of(then, &SimulatedStep::exposed_wait_ns));
    gain.exposed_transfer_ns += mean(field_of(then, &SimulatedStep::exposed_transfer_ns));
    medians.push_back(median(gains));
  }

  [[nodiscard]] std::vector<double> gains_of(const std::vector<SimulatedStep>& then) const {
    std::vector<double> gains;
    for (std::size_t i = 0; i < then.size(); ++i)
      gains.push_back(unchanged_[i].duration_ns - then[i].duration_ns);
    return gains;
  }

  [[nodiscard]] double bound(const JobChange& change) const {
    double bound = 0;
    if (change.perfect_overlap || change.bucket_bytes || change.links != 1)
      bound += median(field_of(unchanged_, &SimulatedStep::max_transfer_ns));
    if (change.no_skew) bound += median(field_of(unchanged_, &SimulatedStep::max_wait_ns));
    return bound + max_cost_ns();
  }
  // What collectives cost the kernels of the rank that has most of it, in a step.
  [[nodiscard]] double max_cost_ns() const {
    std::vector<double> of_steps;
    for (const SimulatedStep& step : unchanged_) {
      double most = 0;
      for (std::size_t rank = 0; rank < view_.ranks(); ++rank)
        most = std::max(most, chains_.front().lost[rank] *
                                  static_cast<double>(view_.step(rank, step.place).beside_ns.value_or(0)));
      of_steps.push_back(most);
    }
    return median(std::move(of_steps));
  }

  const ranks::JobView& view_;
  KernelContention contention_;
  std::vector<StepChain> chains_;
  ranks::LinkFits fits_;
  std::vector<SimulatedStep> unchanged_;
  bool never_waited_ = false;  // see never_waited()
};

// What of the gains is not there if kernels and collectives stay as fast as they were.
void compare_with(const JobWhatIf& without, JobWhatIf& answer) {
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const std::optional<JobGain>& other = without.rows[i].gain;
    if (!answer.rows[i].gain || !other) continue;
    answer.rows[i].gain->contention_ns = answer.rows[i].gain->gain_ns - other->gain_ns;
    answer.rows[i].gain->naive_ns = other->naive_ns;
  }
}

// Chains of a thousand ranks are large: the second are built when the first are gone.
JobWhatIf answered(const ranks::JobView& view, const std::vector<JobChange>& changes) {
  Recorded recorded{ranks::match_calls(view), {}};
  recorded.costs = ranks::collective_costs(view, recorded.matching);
  JobWhatIf answer;
  {
    const JobQuestions questions(view, recorded, ranks::contention_of(view), true);
    answer = questions.answer(changes);
    if (!questions.contended()) return answer;
  }
  compare_with(JobQuestions(view, recorded, ranks::no_contention(view), false).answer(changes), answer);
  return answer;
}

}  // namespace

Result<JobWhatIf> what_if_job(const store::Job& job, const std::vector<JobChange>& changes) {
  try {
    if (job.ranks.size() < 2)
      return Failure{ErrorKind::no_data,
                     "there is one rank only: merge the captures of several with `ridgeline merge`"};
    if (job.calls.empty())
      return Failure{ErrorKind::no_data, "there is no collective: nothing of it can be otherwise"};
    const ranks::JobView view(job);
    if (view.steps().empty())
      return Failure{ErrorKind::no_data, "there is no timeline step that all ranks have"};
    return answered(view, changes);
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  } catch (const std::out_of_range&) {
    return Failure{ErrorKind::corrupt, "the job refers to a rank, a site or a kernel that is not there"};
  }
}

}  // namespace ridgeline::analyzer
