#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "cause.h"
#include "environment.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/base/pattern.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/comparison/comparison.h"
#include "series.h"
#include "statistics.h"
#include "units.h"

namespace ridgeline::comparison {
namespace {

using analyzer::KernelBudget;
using analyzer::phase_of;
using Runs = std::vector<RunProfile>;

// Kernels of unchanged code that a common mode must be the mode of.
constexpr std::int64_t kLeastCommon = 5;
// Shorter launches are noisier: their variances have a prior of their own.
constexpr double kShortLaunchNs = 20'000;
constexpr std::size_t kLeastStratum = 10;
// Of the difference that was found: so much of it must show again.
constexpr double kConfirmedPart = 0.5;

double time_of(const KernelSite& site) {
  return site.time_ns;
}

Series series_of(const Runs& a, const Runs& b, const std::function<double(const RunProfile&)>& value) {
  Series series;
  for (const RunProfile& run : a) series.a.push_back(value(run));
  for (const RunProfile& run : b) series.b.push_back(value(run));
  return series;
}

Series series_of(const Unit& unit, const Runs& a, const Runs& b,
                 const std::function<double(const KernelSite&)>& value) {
  Series series;
  for (std::size_t r = 0; r < a.size(); ++r) series.a.push_back(sum_of(a[r], unit.a[r], value));
  for (std::size_t r = 0; r < b.size(); ++r) series.b.push_back(sum_of(b[r], unit.b[r], value));
  return series;
}

// Spread of a run's median inside the run: standard error of the mean difference, as a ratio of A.
double within_run_ratio(double deviation_a, double deviation_b, double count_a, double count_b,
                        double value_a) {
  if (value_a <= 0) return 0;
  return std::sqrt(deviation_a * deviation_a / std::max(1.0, count_a) +
                   deviation_b * deviation_b / std::max(1.0, count_b)) /
         value_a;
}

class Comparer {
 public:
  Comparer(const Runs& a, const Runs& b, const ComparisonOptions& options) : a_(a), b_(b), options_(options) {
    layout_.runs_a = a.size();
    layout_.runs_b = b.size();
    layout_.paired = options.paired && a.size() == b.size();
    layout_.confirmation = static_cast<std::size_t>(options.confirmation_pairs);
  }

  Result<Comparison> run() {
    auto units = make_units(a_, b_, options_.match);
    if (!units) return units.failure();
    units_ = std::move(units).value();
    out_.options = options_;
    out_.paired = layout_.paired;
    out_.pairs = static_cast<std::int64_t>(layout_.tested());
    out_.matched_share = units_.matched_share;
    out_.families_only = units_.families_only;
    out_.environment = environment_differences(a_, b_);
    describe_sides();
    find_common_mode();
    compare_endpoints();
    compare_clock();
    compare_kernels();
    check_budgets();
    conclude();
    return std::move(out_);
  }

 private:
  // --- sides ----------------------------------------------------------------------------------------------

  ComparisonSide side_of(const Runs& runs) const {
    ComparisonSide side;
    std::vector<double> clocks, powers, steps;
    std::set<std::string> commits;
    for (const RunProfile& run : runs) {
      side.captures.push_back(run.path);
      commits.insert(run.git_commit);
      side.git_dirty = side.git_dirty || run.git_dirty.value_or(false);
      if (run.sm_clock_hz) clocks.push_back(*run.sm_clock_hz);
      if (run.power_w) powers.push_back(*run.power_w);
      if (run.temperature_c)
        side.temperature_c = std::max(side.temperature_c.value_or(0), *run.temperature_c);
      steps.push_back(std::log(std::max(1.0, run.step.median_ns)));
    }
    if (commits.size() == 1) side.git_commit = *commits.begin();
    side.command_line = runs.front().command_line;
    if (!runs.front().devices.empty()) side.device = runs.front().devices.front().name;
    if (!clocks.empty()) side.sm_clock_hz = median(clocks);
    if (!powers.empty()) side.power_w = median(powers);
    side.two_modes = has_two_modes(steps, std::log1p(options_.step_ratio));
    return side;
  }

  void describe_sides() {
    out_.a = side_of(a_);
    out_.b = side_of(b_);
  }

  // --- the common mode ------------------------------------------------------------------------------------

  // Per pair, or per run where there are no pairs: what the kernels of unchanged code did together.
  void find_common_mode() {
    if (units_.families_only) return;
    std::vector<const Unit*> all, same;
    for (const Unit& unit : units_.units) {
      if (!unit.in_a() || !unit.in_b() || !series_of(unit, a_, b_, time_of).usable()) continue;
      KernelChange change;
      describe(change, unit, a_.front(), b_.front());
      if (change.calls_a != change.calls_b) continue;
      all.push_back(&unit);
      if (change.code_changed == false && !change.launch_changed) same.push_back(&unit);
    }
    const bool enough = static_cast<std::int64_t>(same.size()) >= kLeastCommon;
    const std::vector<const Unit*>& chosen = enough ? same : all;
    if (static_cast<std::int64_t>(chosen.size()) < kLeastCommon) return;
    out_.common_mode_of_all = !enough;
    out_.common_mode_kernels = static_cast<std::int64_t>(chosen.size());
    std::vector<std::vector<std::pair<double, double>>> values(a_.size() + b_.size());
    for (const Unit* unit : chosen) {
      const Series series = series_of(*unit, a_, b_, time_of);
      const auto logs_a = series.logs_a();
      const auto logs_b = series.logs_b();
      const double weight = median(series.a);
      if (layout_.paired) {
        for (std::size_t i = 0; i < logs_a.size(); ++i) values[i].emplace_back(logs_b[i] - logs_a[i], weight);
        continue;
      }
      const double centre = (mean(logs_a) + mean(logs_b)) / 2;
      for (std::size_t i = 0; i < logs_a.size(); ++i) values[i].emplace_back(logs_a[i] - centre, weight);
      for (std::size_t i = 0; i < logs_b.size(); ++i)
        values[a_.size() + i].emplace_back(logs_b[i] - centre, weight);
    }
    offset_a_.assign(a_.size(), 0);
    offset_b_.assign(b_.size(), 0);
    for (std::size_t i = 0; i < b_.size(); ++i)
      offset_b_[i] = weighted_median(values[layout_.paired ? i : a_.size() + i]).value_or(0);
    if (!layout_.paired) {
      for (std::size_t i = 0; i < a_.size(); ++i) offset_a_[i] = weighted_median(values[i]).value_or(0);
    }
    Series mode;
    for (const double offset : offset_a_) mode.a.push_back(std::exp(offset));
    for (const double offset : offset_b_) mode.b.push_back(std::exp(offset));
    out_.common_mode = change_of(mode, layout_, sample_of(mode, layout_), demand(options_.step_ratio));
  }

  Demand demand(double margin_ratio) const {
    return {options_.alpha, options_.equivalence_alpha, margin_ratio, 0, false};
  }

  // --- the step and its parts -----------------------------------------------------------------------------

  void compare_endpoints() {
    add_endpoint("step", [](const RunProfile& run) { return run.step.median_ns; });
    Change& step = out_.endpoints.front().time;
    step.within_run_ratio =
        within_run_ratio(1.4826 * a_.front().step.mad_ns, 1.4826 * b_.front().step.mad_ns,
                         static_cast<double>(a_.front().step.count),
                         static_cast<double>(b_.front().step.count), a_.front().step.median_ns);
    out_.step_delta_ns = step.delta;
    add_endpoint("kernels", [](const RunProfile& run) { return run.kernel_ns; });
    add_endpoint("gaps", [](const RunProfile& run) { return run.gap_ns; });
    std::vector<std::string> phases;
    for (const Runs* runs : {&a_, &b_}) {
      for (const KernelSite& site : runs->front().sites) {
        const std::string phase(phase_of(site.path));
        if (std::find(phases.begin(), phases.end(), phase) == phases.end()) phases.push_back(phase);
      }
    }
    if (phases.size() < 2 || phases.size() > 12) return;
    for (const std::string& phase : phases) {
      add_endpoint(phase, [&](const RunProfile& run) {
        double sum = 0;
        for (const KernelSite& site : run.sites) {
          if (phase_of(site.path) == phase) sum += site.time_ns;
        }
        return sum;
      });
    }
  }

  void add_endpoint(const std::string& name, const std::function<double(const RunProfile&)>& value) {
    const Series series = series_of(a_, b_, value);
    std::optional<Sample> sample = sample_of(series, layout_);
    Demand wanted = demand(options_.step_ratio);
    // Only the step's noise is known beforehand.
    if (sample && name == "step" && options_.floor && options_.floor->pairs > 2) {
      const double deviation = options_.floor->step_ratio;
      const auto freedom = static_cast<double>(options_.floor->pairs - 1);
      // A pooled variance is of one run, the floor's of a pair's difference: twice that.
      sample =
          moderated(*sample, {layout_.paired ? deviation * deviation : deviation * deviation / 2, freedom});
      wanted.prior_freedom = freedom;
    }
    Endpoint endpoint;
    endpoint.name = name;
    endpoint.time = change_of(series, layout_, sample, wanted);
    const bool significant = endpoint.time.p && *endpoint.time.p <= options_.alpha;
    decide(endpoint.outcome, endpoint.reason, endpoint.time, significant,
           std::abs(endpoint.time.ratio) >= options_.step_ratio, series);
    if ((endpoint.outcome == Outcome::regressed || endpoint.outcome == Outcome::improved) &&
        modes_overlap()) {
      endpoint.outcome = Outcome::inconclusive;
      endpoint.reason = OutcomeReason::two_modes;
    }
    if (!series.usable()) endpoint.outcome = Outcome::not_measured;
    if (endpoint.outcome == Outcome::same && sample)
      take_equivalence_interval(endpoint.time, *sample, options_.equivalence_alpha);
    out_.endpoints.push_back(std::move(endpoint));
  }

  // A side in two modes proves nothing unless the other side lies beyond both.
  bool modes_overlap() const {
    if (!out_.a.two_modes && !out_.b.two_modes) return false;
    const auto step = [](const RunProfile& x, const RunProfile& y) {
      return x.step.median_ns < y.step.median_ns;
    };
    const auto [low_a, high_a] = std::minmax_element(a_.begin(), a_.end(), step);
    const auto [low_b, high_b] = std::minmax_element(b_.begin(), b_.end(), step);
    return low_b->step.median_ns <= high_a->step.median_ns && low_a->step.median_ns <= high_b->step.median_ns;
  }

  void decide(Outcome& outcome, OutcomeReason& reason, const Change& change, bool significant, bool large,
              const Series& series) const {
    outcome = Outcome::inconclusive;
    reason = OutcomeReason::noise;
    if (layout_.runs_a < 2 || layout_.runs_b < 2) {
      reason = OutcomeReason::single_run;
    } else if (out_.pairs < options_.least_pairs) {
      reason = OutcomeReason::too_few_pairs;
    } else if (significant && large) {
      if (!confirmed(series)) {
        reason = OutcomeReason::not_confirmed;
        return;
      }
      outcome = change.ratio > 0 ? Outcome::regressed : Outcome::improved;
      reason = OutcomeReason::none;
    } else if (change.same_p && *change.same_p <= options_.equivalence_alpha) {
      outcome = Outcome::same;
      reason = OutcomeReason::none;
    } else if (significant) {
      reason = OutcomeReason::small;
    }
  }

  bool confirmed(const Series& series) const {
    const auto again = confirmation_difference(series, layout_);
    if (!again) return true;
    const double found = mean_difference(series, layout_);
    return *again * found > 0 && std::abs(*again) >= kConfirmedPart * std::abs(found);
  }

  void compare_clock() {
    const Series series =
        series_of(a_, b_, [](const RunProfile& run) { return run.sm_clock_hz.value_or(0); });
    if (series.usable())
      out_.clock = change_of(series, layout_, sample_of(series, layout_), demand(options_.step_ratio));
  }

  // --- kernels --------------------------------------------------------------------------------------------

  struct Tested {
    std::size_t kernel = 0;  // into out_.kernels
    Series series;
    std::optional<Sample> sample;
    bool brief = false;
    double prior_freedom = 0;
  };

  double margin_of(KernelClass kernel_class) const {
    double margin = options_.kernel_ratio;
    if (options_.floor) {
      const auto floor = options_.floor->class_ratio.find(kernel_class);
      if (floor != options_.floor->class_ratio.end()) margin = std::max(margin, 3 * floor->second);
    }
    return margin;
  }

  void compare_kernels() {
    std::vector<Tested> tested;
    for (const Unit& unit : units_.units) {
      KernelChange change;
      describe(change, unit, a_.front(), b_.front());
      Series series = series_of(unit, a_, b_, time_of);
      change.time =
          change_of(series, layout_, sample_of(series, layout_), demand(margin_of(change.kernel_class)));
      compare_cycles(change, unit);
      series.offset_a = offset_a_;
      series.offset_b = offset_b_;
      const bool matched = unit.in_a() && unit.in_b();
      if (!matched) {
        change.outcome = unit.in_a() ? Outcome::removed : Outcome::added;
        change.reason = OutcomeReason::none;
      } else if (!series.usable()) {
        change.outcome = Outcome::not_measured;
      } else {
        Tested item;
        item.kernel = out_.kernels.size();
        item.sample = sample_of(series, layout_);
        item.brief = change.calls_a > 0 && change.time.a / change.calls_a < kShortLaunchNs;
        item.series = std::move(series);
        tested.push_back(std::move(item));
      }
      out_.kernels.push_back(std::move(change));
    }
    moderate(tested);
    judge(tested);
    for (KernelChange& change : out_.kernels) {
      const bool moved = change.outcome == Outcome::regressed || change.outcome == Outcome::improved ||
                         (change.outcome == Outcome::inconclusive &&
                          std::abs(change.adjusted.ratio) >= margin_of(change.kernel_class));
      if (moved) change.cause = cause_of(change, margin_of(change.kernel_class));
    }
    std::stable_sort(out_.kernels.begin(), out_.kernels.end(),
                     [](const KernelChange& x, const KernelChange& y) {
                       return std::abs(x.time.delta) > std::abs(y.time.delta);
                     });
  }

  void compare_cycles(KernelChange& change, const Unit& unit) const {
    bool known = true;
    const auto cycles = [&](const KernelSite& site) {
      known = known && site.cycles.has_value();
      return site.cycles.value_or(0);
    };
    const Series series = series_of(unit, a_, b_, cycles);
    if (known && series.usable())
      change.cycles =
          change_of(series, layout_, sample_of(series, layout_), demand(margin_of(change.kernel_class)));
  }

  void moderate(std::vector<Tested>& tested) const {
    for (const bool brief : {false, true}) {
      std::vector<double> variances, all;
      double freedom = 0;
      for (const Tested& item : tested) {
        if (!item.sample) continue;
        freedom = item.sample->degrees_of_freedom;
        all.push_back(item.sample->variance);
        if (item.brief == brief) variances.push_back(item.sample->variance);
      }
      const auto prior = fit_variance_prior(variances.size() >= kLeastStratum ? variances : all, freedom);
      if (!prior) continue;
      // No kernel is known better than all of them together.
      const double most = freedom * static_cast<double>(all.size());
      for (Tested& item : tested) {
        if (!item.sample || item.brief != brief) continue;
        item.prior_freedom = prior->degrees_of_freedom;
        item.sample = moderated(*item.sample, *prior);
        item.sample->degrees_of_freedom = std::min(item.sample->degrees_of_freedom, most);
      }
    }
  }

  void judge(std::vector<Tested>& tested) {
    std::vector<double> p_values;
    std::vector<std::size_t> with_p;
    for (std::size_t i = 0; i < tested.size(); ++i) {
      KernelChange& change = out_.kernels[tested[i].kernel];
      Demand wanted = demand(margin_of(change.kernel_class));
      wanted.prior_freedom = std::min(tested[i].prior_freedom, 1e6);
      wanted.beyond_margin = options_.strict;
      change.adjusted = change_of(tested[i].series, layout_, tested[i].sample, wanted);
      change.adjusted.b = change.time.a * (1 + change.adjusted.ratio);
      change.adjusted.delta = change.adjusted.b - change.time.a;
      change.adjusted.a = change.time.a;
      if (change.adjusted.p) {
        p_values.push_back(*change.adjusted.p);
        with_p.push_back(i);
      }
    }
    const std::vector<double> adjusted = adjusted_p_values(p_values);
    for (std::size_t i = 0; i < with_p.size(); ++i)
      out_.kernels[tested[with_p[i]].kernel].adjusted.adjusted_p = adjusted[i];
    for (const Tested& item : tested) judge_one(out_.kernels[item.kernel], item);
  }

  void judge_one(KernelChange& change, const Tested& item) const {
    const Change& adjusted = change.adjusted;
    const double margin = margin_of(change.kernel_class);
    const double least_ns = std::max(options_.kernel_ns, options_.kernel_step_share * out_.step().time.a);
    // A look at a part of the data has a part of the error to spend, on discoveries too.
    const bool significant = adjusted.adjusted_p && *adjusted.adjusted_p <= options_.false_discovery_rate;
    const bool large = std::abs(adjusted.ratio) >= margin && std::abs(adjusted.delta) >= least_ns;
    decide(change.outcome, change.reason, adjusted, significant, large, item.series);
    change.confirmed = layout_.confirmation > 0 && significant && large && confirmed(item.series);
    if (change.outcome == Outcome::inconclusive && out_.pairs >= options_.least_pairs && adjusted.interval) {
      // Whatever it does, the step does not feel it.
      const double most = std::max(std::abs(adjusted.interval->low), std::abs(adjusted.interval->high));
      if (most * change.time.a < least_ns) {
        change.outcome = Outcome::same;
        change.reason = OutcomeReason::small;
      }
    }
    if (change.outcome == Outcome::same && change.reason == OutcomeReason::none && item.sample)
      take_equivalence_interval(change.adjusted, *item.sample, options_.equivalence_alpha);
    if (change.reason == OutcomeReason::single_run) hint(change, margin, least_ns, item);
  }

  // One run a side: whether the change is more than what one run's steps differ by.
  void hint(KernelChange& change, double margin, double least_ns, const Tested& item) const {
    double variance_a = 0, variance_b = 0;
    const Unit& unit = units_.units[item.kernel];
    const auto square = [](const KernelSite& site) {
      return site.time_deviation_ns.value_or(0) * site.time_deviation_ns.value_or(0);
    };
    variance_a = sum_of(a_.front(), unit.a.front(), square);
    variance_b = sum_of(b_.front(), unit.b.front(), square);
    const double spread = within_run_ratio(std::sqrt(variance_a), std::sqrt(variance_b),
                                           static_cast<double>(a_.front().step.count),
                                           static_cast<double>(b_.front().step.count), change.time.a);
    change.time.within_run_ratio = spread;
    change.hint = std::abs(change.adjusted.ratio) >= std::max(margin, 3 * spread) &&
                  std::abs(change.adjusted.delta) >= least_ns;
  }

  static bool matches(const KernelBudget& budget, const KernelChange& change) {
    return matches_pattern(budget.kernel, change.family) ||
           std::any_of(change.kernels_b.begin(), change.kernels_b.end(),
                       [&](const std::string& name) { return matches_pattern(budget.kernel, name); });
  }

  void check_budgets() {
    for (std::size_t i = 0; i < options_.budgets.size(); ++i) {
      const KernelBudget& budget = options_.budgets[i];
      bool found = false;
      for (std::size_t k = 0; k < out_.kernels.size(); ++k) {
        const KernelChange& change = out_.kernels[k];
        if (change.kernels_b.empty() || !matches(budget, change)) continue;
        found = true;
        BudgetCheck check{i, k, false, true};
        if (budget.max_time_ns) check.missed = change.time.b > *budget.max_time_ns;
        if (budget.max_dram_bytes) {
          check.measured = check.measured && change.dram_bytes_b.has_value();
          check.missed = check.missed || change.dram_bytes_b.value_or(0) > *budget.max_dram_bytes;
        }
        if (budget.min_utilisation_ratio) {
          const bool known = change.dram_b && change.compute_b;
          check.measured = check.measured && known;
          check.missed = check.missed || (known && std::max(*change.dram_b, *change.compute_b) <
                                                       *budget.min_utilisation_ratio);
        }
        out_.budgets.push_back(check);
      }
      if (!found) out_.budgets.push_back({i, std::nullopt, false, false});
    }
  }

  // --- the verdict ----------------------------------------------------------------------------------------

  void conclude() {
    for (const KernelChange& change : out_.kernels) {
      switch (change.outcome) {
        case Outcome::regressed:
          ++out_.regressed;
          break;
        case Outcome::improved:
          ++out_.improved;
          break;
        case Outcome::same:
          ++out_.same;
          break;
        case Outcome::added:
          ++out_.added;
          break;
        case Outcome::removed:
          ++out_.removed;
          break;
        case Outcome::inconclusive:
        case Outcome::not_measured:
          ++out_.inconclusive;
          break;
      }
    }
    const bool invalid =
        std::any_of(out_.environment.begin(), out_.environment.end(),
                    [](const auto& difference) { return difference.weight == EnvironmentWeight::invalid; });
    if (invalid && !options_.any_environment) {
      out_.verdict = ComparisonVerdict::invalid_environment;
      return;
    }
    const Outcome step = out_.step().outcome;
    // Where the step itself is undecided, kernels that got slower count unless others got faster by more.
    double blamed_ns = 0;
    for (const KernelChange& change : out_.kernels) {
      if (change.outcome == Outcome::regressed || change.outcome == Outcome::improved)
        blamed_ns += change.time.delta;
    }
    bool worse = out_.regressed > 0 && (step == Outcome::same || blamed_ns > 0);
    if (out_.matched_share < options_.least_matched_share || out_.families_only) {
      // Kernels cannot be told from each other well enough: the ranges decide.
      worse = std::any_of(out_.endpoints.begin(), out_.endpoints.end(), [](const Endpoint& part) {
        return part.outcome == Outcome::regressed && part.name != "gaps";
      });
    }
    if (step == Outcome::improved)
      out_.verdict = ComparisonVerdict::improved;
    else if (step == Outcome::regressed || worse)
      out_.verdict = ComparisonVerdict::regressed;
    else if (step == Outcome::same)
      out_.verdict = ComparisonVerdict::same;
    else
      out_.verdict = ComparisonVerdict::inconclusive;
  }

  const Runs& a_;
  const Runs& b_;
  const ComparisonOptions& options_;
  RunLayout layout_;
  Units units_;
  std::vector<double> offset_a_, offset_b_;  // the common mode, as logarithms; empty: none
  Comparison out_;
};

}  // namespace

Result<Comparison> compare(const std::vector<RunProfile>& a, const std::vector<RunProfile>& b,
                           const ComparisonOptions& options) {
  if (a.empty() || b.empty()) return Failure{ErrorKind::usage, "a comparison needs a run on either side"};
  if (options.confirmation_pairs > 0 && (!options.paired || a.size() != b.size()))
    return Failure{ErrorKind::usage, "confirmation needs pairs: as many runs of A as of B"};
  if (options.confirmation_pairs < 0 ||
      static_cast<std::size_t>(options.confirmation_pairs) >= std::min(a.size(), b.size()))
    return Failure{ErrorKind::usage, "confirmation leaves no pair to test"};
  for (const auto* runs : {&a, &b}) {
    for (const RunProfile& run : *runs) {
      if (run.kernel_ns <= 0) return Failure{ErrorKind::no_data, run.path + ": no kernel time to compare"};
    }
  }
  return Comparer(a, b, options).run();
}

int exit_code(const Comparison& comparison, const FailOn& fail_on) {
  if (comparison.verdict == ComparisonVerdict::invalid_environment) return 4;
  if (comparison.verdict == ComparisonVerdict::regressed && fail_on.regression) return 1;
  const auto any = [&](auto is) {
    return std::any_of(comparison.budgets.begin(), comparison.budgets.end(), is);
  };
  if (any([](const BudgetCheck& check) { return check.missed; })) return 1;
  if (any([](const BudgetCheck& check) { return !check.measured; })) return 3;
  if (comparison.pairs < comparison.options.least_pairs) return 3;
  if (comparison.matched_share < comparison.options.least_matched_share) return 3;
  if (fail_on.inconclusive && comparison.verdict == ComparisonVerdict::inconclusive) return 3;
  if (fail_on.unmatched && comparison.added + comparison.removed > 0) return 3;
  return 0;
}

Result<NoiseFloor> noise_floor(const Comparison& comparison) {
  if (!comparison.paired || comparison.pairs < 3)
    return Failure{ErrorKind::no_data, "a noise floor needs at least three pairs of identical code"};
  const auto deviation_of = [](const Change& change) {
    std::vector<double> logs;
    for (const double ratio : change.pair_ratios) logs.push_back(std::log1p(ratio));
    return standard_deviation(logs);
  };
  NoiseFloor floor;
  floor.pairs = comparison.pairs;
  floor.step_ratio = deviation_of(comparison.step().time).value_or(0);
  std::map<KernelClass, std::vector<double>> by_class;
  for (const KernelChange& kernel : comparison.kernels) {
    if (const auto deviation = deviation_of(kernel.adjusted))
      by_class[kernel.kernel_class].push_back(*deviation);
  }
  for (const auto& [kernel_class, deviations] : by_class)
    floor.class_ratio[kernel_class] = median(deviations);
  return floor;
}

}  // namespace ridgeline::comparison
