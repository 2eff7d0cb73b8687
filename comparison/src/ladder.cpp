#include "ridgeline/comparison/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ridgeline/base/statistics.h"
#include "statistics.h"

namespace ridgeline::comparison {
namespace {

// Of a second test that a kind of contribution is asked for in: what an interval covers.
constexpr double kIntervalAlpha = 0.05;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMinSeeds = 3;
constexpr double kMinStepNs = 1e-3, kMaxStepNs = 1e18;
constexpr double kMaxLossRatio = 1e30;

// What one quantity is in each round that has all of its programs, and what is known of its mean.
struct Estimation {
  std::vector<double> values;
  std::optional<Sample> sample;
  double squares = 0;  // Σ weight² over programs; 0: the programs cancel out
  bool measured = false;
};

std::map<std::size_t, double> program_weights(const LadderRecord& record, const LadderQuantity& quantity) {
  std::map<std::size_t, double> weights;
  for (const LadderTerm& term : quantity.terms) weights[record.program_of_arm[term.arm]] += term.weight;
  std::erase_if(weights, [](const auto& entry) { return std::abs(entry.second) < 1e-12; });
  return weights;
}

// ln of the step's time by round and program; NaN where there is no run.
class Logs {
 public:
  explicit Logs(const LadderRecord& record) {
    for (const LadderRun& run : record.runs) {
      auto& row = rows_[run.round];
      if (row.empty()) row.assign(record.programs.size(), kNone);
      row[run.program] = std::log(run.step_ns);
    }
  }

  [[nodiscard]] std::vector<double> of(const std::map<std::size_t, double>& weights) const {
    std::vector<double> values;
    for (const auto& [round, row] : rows_) {
      double sum = 0;
      for (const auto& [program, weight] : weights) sum += weight * row[program];
      if (std::isfinite(sum)) values.push_back(sum);
    }
    return values;
  }

 private:
  std::map<std::int64_t, std::vector<double>> rows_;
};

Estimation estimation(const LadderRecord& record, const Logs& logs, const LadderQuantity& quantity) {
  Estimation found;
  const auto weights = program_weights(record, quantity);
  for (const auto& [program, weight] : weights) found.squares += weight * weight;
  if (weights.empty()) return found;
  found.values = logs.of(weights);
  found.measured = !found.values.empty();
  found.sample = paired_sample(found.values);
  return found;
}

// Moderated by the variances of all differences of two programs, each scaled to one of two.
class Moderation {
 public:
  Moderation(const std::vector<Estimation>& all, std::size_t programs) {
    std::map<double, std::vector<double>> by_freedom;
    for (const Estimation& each : all) {
      if (each.sample && std::abs(each.squares - 2) < 1e-9)
        by_freedom[each.sample->degrees_of_freedom].push_back(each.sample->variance);
    }
    for (const auto& [freedom, variances] : by_freedom) {
      if (variances.size() > most_) {
        most_ = variances.size();
        prior_ = fit_variance_prior(variances, freedom);
        // Differences share programs: there is no more to know than so many programs have.
        limit_ = freedom * static_cast<double>(programs - 1);
      }
    }
  }

  [[nodiscard]] Sample of(const Estimation& each) const {
    if (!prior_) return *each.sample;
    VariancePrior scaled = *prior_;
    scaled.variance *= each.squares / 2;
    Sample sample = moderated(*each.sample, scaled);
    sample.degrees_of_freedom = std::min(sample.degrees_of_freedom, limit_);
    return sample;
  }

 private:
  std::optional<VariancePrior> prior_;
  std::size_t most_ = 0;
  double limit_ = 0;
};

LadderEstimate estimate_of(const Estimation& from, const Moderation& moderation,
                           const LadderOptions& options) {
  LadderEstimate result;
  result.rounds = static_cast<std::int64_t>(from.values.size());
  result.same_program = from.squares == 0;
  if (!from.measured) return result;
  result.log_ratio = mean(from.values);
  if (!from.sample) return result;
  const Sample sample = moderation.of(from);
  result.half_width = half_width(sample, kIntervalAlpha);
  result.p = p_value(sample);
  result.same_p = p_value_within(sample, std::log1p(options.margin_ratio));
  return result;
}

void decide(LadderEstimate& estimate, const LadderRecord& record) {
  if (estimate.same_program) {
    estimate.outcome = Outcome::same;
    return;
  }
  if (estimate.rounds == 0) return;
  estimate.outcome = Outcome::inconclusive;
  if (estimate.rounds < record.options.min_rounds || !estimate.adjusted_p) return;
  if (*estimate.adjusted_p <= record.look_alpha) {
    estimate.outcome = estimate.log_ratio > 0 ? Outcome::improved : Outcome::regressed;
  } else if (*estimate.same_p <= record.look_equivalence_alpha) {
    estimate.outcome = Outcome::same;
  }
}

// Holm over the rungs of a kind, then the outcomes.
void judge_kind(std::vector<LadderEstimate*> estimates, const LadderRecord& record) {
  std::vector<LadderEstimate*> tested;
  std::vector<double> p_values;
  for (LadderEstimate* estimate : estimates) {
    if (!estimate->p) continue;
    tested.push_back(estimate);
    p_values.push_back(*estimate->p);
  }
  const std::vector<double> adjusted = holm_p_values(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = adjusted[i];
  for (LadderEstimate* estimate : estimates) decide(*estimate, record);
}

std::optional<double> median_of(const std::vector<const LadderRun*>& runs,
                                std::optional<double> LadderRun::*member) {
  std::vector<double> values;
  for (const LadderRun* run : runs) {
    if (run->*member) values.push_back(*(run->*member));
  }
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

std::optional<double> geometric_mean(const std::vector<const LadderRun*>& runs) {
  if (runs.empty()) return std::nullopt;
  double sum = 0;
  for (const LadderRun* run : runs) sum += std::log(run->step_ns);
  return std::exp(sum / static_cast<double>(runs.size()));
}

std::vector<std::vector<const LadderRun*>> runs_by_program(const LadderRecord& record) {
  std::vector<std::vector<const LadderRun*>> runs(record.programs.size());
  for (const LadderRun& run : record.runs) runs[run.program].push_back(&run);
  return runs;
}

LadderArmFacts facts_of(const std::vector<const LadderRun*>& runs) {
  LadderArmFacts facts;
  facts.rounds = static_cast<std::int64_t>(runs.size());
  facts.step_ns = geometric_mean(runs);
  facts.sm_clock_hz = median_of(runs, &LadderRun::sm_clock_hz);
  facts.power_w = median_of(runs, &LadderRun::power_w);
  facts.joules_per_step = median_of(runs, &LadderRun::joules_per_step);
  facts.peak_memory_bytes = median_of(runs, &LadderRun::peak_memory_bytes);
  facts.loss = median_of(runs, &LadderRun::loss);
  facts.launches = median_of(runs, &LadderRun::launches);
  facts.unsettled =
      std::count_if(runs.begin(), runs.end(), [](const LadderRun* run) { return !run->settled; });
  return facts;
}

// Geometric mean of the program over the rounds that both have.
std::optional<double> before_ns(const std::vector<const LadderRun*>& before,
                                const std::vector<const LadderRun*>& after) {
  std::set<std::int64_t> rounds;
  for (const LadderRun* run : after) rounds.insert(run->round);
  std::vector<const LadderRun*> both;
  std::copy_if(before.begin(), before.end(), std::back_inserter(both),
               [&](const LadderRun* run) { return rounds.contains(run->round); });
  return geometric_mean(both);
}

// Runs of one round have one seed; rounds of one seed are one observation, for the bits may be the same each time.
LadderLoss loss_of(const std::vector<const LadderRun*>& below, const std::vector<const LadderRun*>& above,
                   const LadderOptions& options) {
  LadderLoss result;
  std::map<std::int64_t, std::vector<double>> by_seed;
  bool equal = true;
  for (const LadderRun* run : above) {
    const auto other = std::find_if(below.begin(), below.end(),
                                    [&](const LadderRun* one) { return one->round == run->round; });
    if (other == below.end() || !run->loss || !(*other)->loss || *(*other)->loss == 0) continue;
    const double was = *(*other)->loss;
    equal = equal && *run->loss == was;
    const double ratio = (*run->loss - was) / std::abs(was);
    if (!(std::abs(ratio) <= kMaxLossRatio)) continue;  // of a loss that is no number any more
    by_seed[run->seed].push_back(ratio);
  }
  if (by_seed.empty()) return result;
  std::vector<double> ratios;
  for (const auto& [seed, values] : by_seed) ratios.push_back(mean(values));
  result.seeds = static_cast<std::int64_t>(ratios.size());
  result.ratio = mean(ratios);
  result.verdict = equal ? LossVerdict::same_bits : LossVerdict::open;
  const auto sample = paired_sample(ratios);
  if (equal || !sample || result.seeds < kMinSeeds) return result;
  result.half_width = half_width(*sample, kIntervalAlpha);
  if (p_value_within(*sample, options.loss_margin_ratio) <= options.equivalence_alpha)
    result.verdict = LossVerdict::same;
  else if (p_value(*sample) <= options.alpha)
    result.verdict = LossVerdict::differs;
  return result;
}

void compare_kernels(LadderStep& step, const LadderProgram& below, const LadderProgram& above) {
  if (below.kernels.empty() || above.kernels.empty()) return;
  for (const auto& [name, calls] : above.kernels) {
    if (!below.kernels.contains(name)) step.kernels_came.push_back(name);
  }
  for (const auto& [name, calls] : below.kernels) {
    if (!above.kernels.contains(name)) step.kernels_went.push_back(name);
  }
}

std::vector<RungSet> needs_of(const LadderRecord& record) {
  std::vector<RungSet> needs;
  for (const LadderRungFacts& rung : record.rungs) {
    RungSet set = 0;
    for (const std::size_t need : rung.needs) set |= RungSet{1} << need;
    needs.push_back(set);
  }
  return needs;
}

std::optional<std::string> misfit(const LadderRecord& record, const LadderDesign& design) {
  if (record.arms != design.arms) return "its arms are not those of its rungs";
  if (record.program_of_arm.size() != record.arms.size()) return "its arms have no programs";
  for (const std::size_t program : record.program_of_arm) {
    if (program >= record.programs.size()) return "an arm has no program";
  }
  std::set<std::pair<std::size_t, std::int64_t>> seen;
  for (const LadderRun& run : record.runs) {
    if (run.program >= record.programs.size()) return "a run has no program";
    if (!(run.step_ns >= kMinStepNs && run.step_ns <= kMaxStepNs)) return "a run has no time";
    if (!seen.insert({run.program, run.round}).second)
      return fmt::format("program {} has two runs in round {}", run.program, run.round);
  }
  return std::nullopt;
}

}  // namespace

const LadderEstimate* LadderStep::estimate(Contribution kind) const {
  const auto found = std::find_if(estimates.begin(), estimates.end(),
                                  [&](const LadderEstimate& each) { return each.kind == kind; });
  return found == estimates.end() ? nullptr : &*found;
}

Result<LadderResult> analyse_ladder(const LadderRecord& record) {
  const auto design = ladder_design(needs_of(record), record.questions);
  if (!design) return Failure{ErrorKind::corrupt, design.failure().message};
  if (const auto wrong = misfit(record, design.value()))
    return Failure{ErrorKind::corrupt, "a ladder that does not fit together: " + *wrong};
  const auto runs = runs_by_program(record);
  if (runs[record.program_of_arm.front()].empty()) {
    const std::string& why = record.programs[record.program_of_arm.front()].failure;
    return Failure{ErrorKind::no_data, why.empty() ? "no run of the bottom of the ladder"
                                                   : "the bottom of the ladder does not run: " + why};
  }
  const Logs logs(record);
  const auto& quantities = design.value().quantities;
  const std::size_t rungs = record.rungs.size();
  std::vector<Estimation> estimations;
  for (const LadderQuantity& quantity : quantities) estimations.push_back(estimation(record, logs, quantity));
  const Moderation moderation(estimations, record.programs.size());

  LadderResult result;
  for (std::size_t arm = 0; arm < record.arms.size(); ++arm) {
    result.arms.push_back(facts_of(runs[record.program_of_arm[arm]]));
    result.arms.back().rungs = record.arms[arm];
    result.arms.back().program = record.program_of_arm[arm];
  }
  for (std::size_t rung = 0; rung < rungs; ++rung) {
    LadderStep step;
    step.rung = rung;
    step.below = rung;  // the climb comes first among the arms
    step.arm = rung + 1;
    const std::size_t below = record.program_of_arm[step.below];
    const std::size_t above = record.program_of_arm[step.arm];
    step.loss = loss_of(runs[below], runs[above], record.options);
    compare_kernels(step, record.programs[below], record.programs[above]);
    result.steps.push_back(std::move(step));
  }
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    LadderEstimate estimate = estimate_of(estimations[i], moderation, record.options);
    estimate.kind = quantities[i].kind;
    const auto& terms = quantities[i].terms;
    if (terms.size() == 2 && estimate.kind <= Contribution::left_out)
      estimate.before_ns =
          before_ns(runs[record.program_of_arm[terms[0].arm]], runs[record.program_of_arm[terms[1].arm]]);
    result.steps[quantities[i].rung].estimates.push_back(estimate);
  }
  for (const auto& word : Vocabulary<Contribution>::kWords) {
    std::vector<LadderEstimate*> of_kind;
    for (LadderStep& step : result.steps) {
      for (LadderEstimate& estimate : step.estimates) {
        if (estimate.kind == word.value) of_kind.push_back(&estimate);
      }
    }
    judge_kind(std::move(of_kind), record);
  }
  const LadderQuantity whole{Contribution::cumulative, 0, {{0, 1}, {rungs, -1}}};
  result.whole = estimate_of(estimation(record, logs, whole), moderation, record.options);
  result.whole.before_ns = before_ns(runs[record.program_of_arm[0]], runs[record.program_of_arm[rungs]]);
  judge_kind({&result.whole}, record);
  return result;
}

bool is_settled(const LadderResult& result) {
  return std::none_of(result.steps.begin(), result.steps.end(), [](const LadderStep& step) {
    const LadderEstimate* climb = step.estimate(Contribution::cumulative);
    return climb != nullptr && climb->outcome == Outcome::inconclusive;
  });
}

}  // namespace ridgeline::comparison
