#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cause.h"
#include "environment.h"
#include "judge.h"
#include "modes.h"
#include "parts.h"
#include "ridgeline/base/pattern.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/comparison/comparison.h"
#include "sides.h"
#include "statistics.h"
#include "transfers.h"
#include "units.h"

namespace ridgeline::comparison {
namespace {

using analyzer::KernelBudget;
using Runs = std::vector<RunProfile>;

// Kernels of unchanged code that a common mode must be the mode of.
constexpr std::int64_t kMinCommon = 5;
// Where one in so many kernels of unchanged code runs on a different grid, the sides do other work.
constexpr std::int64_t kOtherShapes = 3;
// Shorter launches are noisier: their variances have a prior of their own.
constexpr double kShortLaunchNs = 20'000;
constexpr std::size_t kMinStratum = 10;
// What was measured must move by that part of what matters in the direction in which it is blamed.
constexpr double kSeenPart = 0.5;

double time_of(const KernelSite& site) {
  return site.time_ns;
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
  Comparer(const Runs& a, const Runs& b, const ComparisonOptions& options)
      : a_(a),
        b_(b),
        options_(options),
        layout_(layout_of(a, b, options)),
        judge_(options, layout_, recorded_in_blocks(a, b)) {}

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
    out_.in_blocks = recorded_in_blocks(a_, b_);
    out_.same_recording = share_a_recording(a_, b_);
    out_.without_steps = a_.front().whole_recording;  // of all runs or of none: refused_sides()
    out_.a = describe_side(a_, options_);
    out_.b = describe_side(b_, options_);
    find_common_mode();
    out_.step_metrics = compare_parts(a_, b_, judge_, modes_overlap(out_, a_, b_));
    out_.step_delta_ns = out_.step().time.delta;
    compare_clock();
    compare_kernels();
    out_.transfers = compare_transfers(a_, b_, judge_, out_.step().time.a);
    check_budgets();
    conclude();
    return std::move(out_);
  }

 private:
  static RunLayout layout_of(const Runs& a, const Runs& b, const ComparisonOptions& options) {
    return {a.size(), b.size(), options.paired && a.size() == b.size(),
            static_cast<std::size_t>(options.confirmation_pairs)};
  }

  // --- the common mode ------------------------------------------------------------------------------------

  // Per pair, or per run where there are no pairs: what the kernels of unchanged code did together.
  void find_common_mode() {
    if (units_.families_only) return;
    std::vector<const Unit*> all, same;
    std::int64_t of_one_code = 0, on_other_grid = 0;
    for (const Unit& unit : units_.units) {
      if (!unit.in_a() || !unit.in_b() || !series_of(unit, a_, b_, time_of).usable()) continue;
      KernelChange change;
      describe(change, unit, a_, b_);
      if (change.calls_a != change.calls_b) continue;
      if (change.code_changed != true) {
        ++of_one_code;
        if (change.shape_a && change.shape_b && change.shape_a->grid != change.shape_b->grid) ++on_other_grid;
      }
      all.push_back(&unit);
      if (change.code_changed == false && !change.launch_changed) same.push_back(&unit);
    }
    if (on_other_grid >= kMinCommon && kOtherShapes * on_other_grid >= of_one_code) {
      // Another batch: what kernels do together then is no clock's doing, whatever grid some of them keep.
      out_.other_shape_kernels = on_other_grid;
      return;
    }
    const bool enough = static_cast<std::int64_t>(same.size()) >= kMinCommon;
    const std::vector<const Unit*>& chosen = enough ? same : all;
    if (static_cast<std::int64_t>(chosen.size()) < kMinCommon) return;
    out_.common_mode_of_all = !enough;
    out_.common_mode_kernels = static_cast<std::int64_t>(chosen.size());
    std::vector<std::vector<std::pair<double, double>>> values(a_.size() + b_.size());
    for (const Unit* unit : chosen) {
      const Series series = series_of(*unit, a_, b_, time_of);
      const auto logs_a = series.levels_a();
      const auto logs_b = series.levels_b();
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
    out_.common_mode = change_of(mode, layout_, sample_of(mode, layout_), judge_.demand(options_.step_ratio));
  }

  void compare_clock() {
    Series series;
    for (const RunProfile& run : a_) series.a.push_back(run.sm_clock_hz.value_or(0));
    for (const RunProfile& run : b_) series.b.push_back(run.sm_clock_hz.value_or(0));
    if (series.usable())
      out_.clock = change_of(series, layout_, sample_of(series, layout_), judge_.demand(options_.step_ratio));
  }

  // --- kernels --------------------------------------------------------------------------------------------

  struct Tested {
    std::size_t kernel = 0;  // into out_.kernels
    Series series;
    std::optional<Sample> sample;
    bool brief = false;
    bool mixed = false;  // seen to be in two modes
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
      describe(change, unit, a_, b_);
      Series series = series_of(unit, a_, b_, time_of);
      change.time = change_of(series, layout_, sample_of(series, layout_),
                              judge_.demand(margin_of(change.kernel_class)));
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
    find_kernel_modes(tested);
    judge(tested);
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
      change.cycles = change_of(series, layout_, sample_of(series, layout_),
                                judge_.demand(margin_of(change.kernel_class)));
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
      const auto prior = fit_variance_prior(variances.size() >= kMinStratum ? variances : all, freedom);
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

  void find_kernel_modes(std::vector<Tested>& tested) {
    std::vector<const Series*> all;
    for (const Tested& item : tested) all.push_back(&item.series);
    modes_ = find_modes(all, std::log1p(options_.kernel_ratio) / 2);
    for (std::size_t i = 0; i < tested.size(); ++i) tested[i].mixed = modes_.mixed[i];
    out_.two_mode_kernels = modes_.seen;
  }

  void judge(std::vector<Tested>& tested) {
    std::vector<double> p_values;
    std::vector<std::size_t> with_p;
    for (std::size_t i = 0; i < tested.size(); ++i) {
      KernelChange& change = out_.kernels[tested[i].kernel];
      Demand wanted = judge_.demand(margin_of(change.kernel_class));
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
    const double min_ns = judge_.min_ns(out_.step().time.a);
    // A look at a part of the data has a part of the error to spend, on discoveries too.
    const bool significant = adjusted.adjusted_p && *adjusted.adjusted_p <= options_.false_discovery_rate;
    const bool large = std::abs(adjusted.ratio) >= margin && std::abs(adjusted.delta) >= min_ns;
    judge_.decide(change.outcome, change.reason, adjusted, significant, large, item.series);
    change.confirmed = layout_.confirmation > 0 && significant && large && judge_.confirmed(item.series);
    if (is_moved(change.outcome) ||
        (change.outcome == Outcome::inconclusive && std::abs(adjusted.ratio) >= margin))
      change.cause = cause_of(change, margin);
    if (is_moved(change.outcome)) doubt(change, item, margin, min_ns);
    if (change.outcome == Outcome::inconclusive && judge_.enough_pairs() && adjusted.interval) {
      // Whatever it does, the step does not feel it.
      const double most = std::max(std::abs(adjusted.interval->low), std::abs(adjusted.interval->high));
      if (most * change.time.a < min_ns) {
        change.outcome = Outcome::same;
        change.reason = OutcomeReason::small;
      }
    }
    if (change.outcome == Outcome::same && change.reason == OutcomeReason::none && item.sample)
      take_equivalence_interval(change.adjusted, *item.sample, options_.equivalence_alpha);
    if (change.reason == OutcomeReason::single_run) hint(change, margin, min_ns, item);
  }

  // What speaks against blaming a kernel whose difference is no chance.
  void doubt(KernelChange& change, const Tested& item, double margin, double min_ns) const {
    const bool same_program =
        change.code_changed != true && !change.launch_changed && change.cause != ChangeCause::data;
    if (item.mixed || (same_program && may_be_modes(modes_, std::log1p(change.adjusted.ratio)))) {
      change.outcome = Outcome::inconclusive;
      change.reason = OutcomeReason::two_modes;
      return;
    }
    // As many cycles at another clock; or all kernels moved, and this one stayed where it was.
    const double direction = change.adjusted.ratio > 0 ? 1 : -1;
    const bool seen = direction * change.time.ratio >= kSeenPart * margin &&
                      direction * change.time.delta >= kSeenPart * min_ns;
    if (seen && change.cause != ChangeCause::clock) return;
    const auto shown_same = [&](const Change& of) {
      return of.same_p && *of.same_p <= options_.equivalence_alpha;
    };
    const bool same = shown_same(change.time) || (change.cycles && shown_same(*change.cycles));
    change.outcome = same ? Outcome::same : Outcome::inconclusive;
    change.reason = OutcomeReason::clock;
    if (same_program) change.cause = ChangeCause::clock;
  }

  // One run per side: whether the change is more than what one run's steps differ by.
  void hint(KernelChange& change, double margin, double min_ns, const Tested& item) const {
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
                  std::abs(change.adjusted.delta) >= min_ns;
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
    if (out_.other_length()) {
      out_.verdict = ComparisonVerdict::inconclusive;
      return;
    }
    const Outcome step = out_.step().outcome;
    // Where the step itself is undecided, kernels that got slower count unless others got faster by more.
    double blamed_ns = 0;
    for (const KernelChange& change : out_.kernels) {
      if (is_moved(change.outcome)) blamed_ns += change.time.delta;
    }
    std::int64_t slower = out_.regressed;
    for (const TransferChange& change : out_.transfers) {
      if (is_moved(change.outcome)) blamed_ns += change.exposed.delta;
      slower += change.outcome == Outcome::regressed ? 1 : 0;
    }
    bool worse = slower > 0 && (step == Outcome::same || blamed_ns > 0);
    if (out_.matched_share < options_.min_matched_share || out_.families_only) {
      // Kernels cannot be told from each other well enough: the ranges decide.
      worse = std::any_of(out_.step_metrics.begin(), out_.step_metrics.end(), [](const StepMetric& part) {
        return part.outcome == Outcome::regressed &&
               (part.kind == PartKind::kernels || part.kind == PartKind::range ||
                part.kind == PartKind::copies);
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
  const RunLayout layout_;
  const Judge judge_;
  Units units_;
  KernelModes modes_;
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
  if (auto refused = refused_sides(a, b)) return *refused;
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
  if (comparison.pairs < comparison.options.min_pairs) return 3;
  // A step that is slower or faster for certain is so whichever of its kernels have a counterpart.
  const bool decided =
      comparison.verdict == ComparisonVerdict::regressed || comparison.verdict == ComparisonVerdict::improved;
  if (!decided && comparison.matched_share < comparison.options.min_matched_share) return 3;
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
  floor.step_ratio = deviation_of(comparison.step().time).value();  // of three pairs at least
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
