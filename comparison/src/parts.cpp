#include "parts.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

using analyzer::phase_of;
using Runs = std::vector<RunProfile>;
using Value = std::function<double(const RunProfile&)>;

// Of the step: less on both sides is no line.
constexpr double kMinShown = 0.0005;
constexpr std::size_t kMaxRanges = 12;

Series series_of(const Runs& a, const Runs& b, const Value& value) {
  Series series;
  for (const RunProfile& run : a) series.a.push_back(value(run));
  for (const RunProfile& run : b) series.b.push_back(value(run));
  return series;
}

double step_of(const RunProfile& run) {
  return run.step.median_ns;
}

// Spread of a run's median inside the run: standard error of the difference, as a ratio of A.
double within_run_ratio(const RunProfile& a, const RunProfile& b) {
  if (step_of(a) <= 0) return 0;
  const auto square = [](const RunProfile& run) {
    const double deviation = kDeviationPerMad * run.step.mad_ns;
    return deviation * deviation / std::max(1.0, static_cast<double>(run.step.count));
  };
  return std::sqrt(square(a) + square(b)) / step_of(a);
}

class Parts {
 public:
  Parts(const Runs& a, const Runs& b, const Judge& judge, bool modes_overlap)
      : a_(a), b_(b), judge_(judge), modes_overlap_(modes_overlap) {}

  std::vector<StepMetric> run() {
    add_step();
    using K = PartKind;
    using R = RunProfile;
    add("kernels", K::kernels, [](const R& run) { return run.kernel_ns; });
    add("overlap", K::overlap, [](const R& run) { return run.parts.overlap_ns; });
    add("collectives, exposed", K::collectives,
        [](const R& run) { return run.parts.communication_exposed_ns; });
    add("collectives, hidden", K::hidden_collectives,
        [](const R& run) { return run.parts.communication_hidden_ns; });
    add("copies, exposed", K::copies, [](const R& run) { return run.parts.copy_exposed_ns; });
    add("copies, hidden", K::hidden_copies, [](const R& run) { return run.parts.copy_hidden_ns; });
    add("memsets, exposed", K::memsets, [](const R& run) { return run.parts.memset_exposed_ns; });
    add("gaps", K::gaps, [](const R& run) { return run.gap_ns; });
    add("gaps: launch-bound", K::gap, [](const R& run) { return run.parts.gap_launch_bound_ns; });
    add("gaps: CPU", K::gap, [](const R& run) { return run.parts.gap_host_bound_ns; });
    add("gaps: synchronisation", K::gap, [](const R& run) { return run.parts.gap_synchronisation_ns; });
    add("gaps: queued", K::gap, [](const R& run) { return run.parts.gap_queued_ns; });
    add("gaps: other", K::gap, [](const R& run) { return run.parts.gap_other_ns; });
    add("unexplained", K::unexplained, [](const R& run) {
      const StepParts& parts = run.parts;
      return run.step.median_ns - (run.kernel_ns - parts.overlap_ns) - parts.copy_exposed_ns -
             parts.memset_exposed_ns - run.gap_ns;
    });
    if (std::all_of(a_.begin(), a_.end(), has_cpu) && std::all_of(b_.begin(), b_.end(), has_cpu)) {
      add("CPU, without waits", K::cpu, [](const R& run) { return run.parts.cpu_ns.value_or(0); });
      add("CPU waits for the GPU", K::waits, [](const R& run) { return run.parts.wait_ns.value_or(0); });
    }
    add_ranges();
    return std::move(parts_);
  }

 private:
  static bool has_cpu(const RunProfile& run) { return run.parts.cpu_ns && run.parts.wait_ns; }

  void add_step() {
    const ComparisonOptions& options = judge_.options();
    const RunLayout& layout = judge_.layout();
    const Series series = series_of(a_, b_, step_of);
    std::optional<Sample> sample = sample_of(series, layout);
    Demand wanted = judge_.demand(options.step_ratio);
    // Only the step's noise is known beforehand.
    if (sample && options.floor && options.floor->pairs > 2) {
      const double deviation = options.floor->step_ratio;
      const auto freedom = static_cast<double>(options.floor->pairs - 1);
      // A pooled variance is of one run, the floor's of a pair's difference: twice that.
      sample =
          moderated(*sample, {layout.paired ? deviation * deviation : deviation * deviation / 2, freedom});
      wanted.prior_freedom = freedom;
    }
    StepMetric step;
    step.name = "step";
    step.time = change_of(series, layout, sample, wanted);
    step.time.within_run_ratio = within_run_ratio(a_.front(), b_.front());
    const bool significant = step.time.p && *step.time.p <= options.alpha;
    conclude(step, series, sample, significant, std::abs(step.time.ratio) >= options.step_ratio);
    parts_.push_back(std::move(step));
  }

  void add(const std::string& name, PartKind kind, const Value& value) {
    Series series = series_of(a_, b_, value);
    series.unit = parts_.front().time.a;
    const auto small = [&](const std::vector<double>& values) {
      return std::abs(median(values)) < kMinShown * series.unit;
    };
    if (kind != PartKind::kernels && kind != PartKind::gaps && small(series.a) && small(series.b)) return;
    add(name, kind, series);
  }

  void add(const std::string& name, PartKind kind, const Series& series) {
    const ComparisonOptions& options = judge_.options();
    const std::optional<Sample> sample = series.unit > 0 ? sample_of(series, judge_.layout()) : std::nullopt;
    StepMetric part;
    part.name = name;
    part.kind = kind;
    part.time = change_of(series, judge_.layout(), sample, judge_.demand(options.step_ratio));
    if (series.unit > 0) part.step_share = part.time.delta / series.unit;
    const bool significant = part.time.p && *part.time.p <= options.alpha;
    const bool large = std::abs(part.time.ratio) >= options.step_ratio &&
                       std::abs(part.step_share) >= options.part_step_share;
    conclude(part, series, sample, significant, large);
    parts_.push_back(std::move(part));
  }

  void conclude(StepMetric& part, const Series& series, const std::optional<Sample>& sample, bool significant,
                bool large) const {
    judge_.decide(part.outcome, part.reason, part.time, significant, large, series);
    if (is_moved(part.outcome) && modes_overlap_) {
      part.outcome = Outcome::inconclusive;
      part.reason = OutcomeReason::two_modes;
    }
    if (!series.usable()) part.outcome = Outcome::not_measured;
    if (part.outcome == Outcome::same && sample)
      take_equivalence_interval(part.time, *sample, judge_.options().equivalence_alpha, series.unit);
  }

  void add_ranges() {
    std::vector<std::string> ranges;
    for (const Runs* runs : {&a_, &b_}) {
      for (const KernelSite& site : runs->front().sites) {
        const std::string range(phase_of(site.path));
        if (std::find(ranges.begin(), ranges.end(), range) == ranges.end()) ranges.push_back(range);
      }
    }
    if (ranges.size() < 2 || ranges.size() > kMaxRanges) return;
    for (const std::string& range : ranges) {
      Series series = series_of(a_, b_, [&](const RunProfile& run) {
        double sum = 0;
        for (const KernelSite& site : run.sites) {
          if (phase_of(site.path) == range) sum += site.time_ns;
        }
        return sum;
      });
      series.unit = parts_.front().time.a;
      add(range, PartKind::range, series);
      StepMetric& part = parts_.back();
      const auto nothing = [](const std::vector<double>& values) {
        return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
      };
      const auto lacking = [](const std::vector<double>& values) {
        return std::any_of(values.begin(), values.end(), [](double value) { return value == 0; });
      };
      // A range of one side has no change; one that only some runs of a side have says nothing.
      if (nothing(series.a) != nothing(series.b)) {
        part.outcome = nothing(series.a) ? Outcome::added : Outcome::removed;
        part.reason = OutcomeReason::none;
      } else if (lacking(series.a) || lacking(series.b)) {
        part.outcome = Outcome::not_measured;
      }
    }
  }

  const Runs& a_;
  const Runs& b_;
  const Judge& judge_;
  bool modes_overlap_;
  std::vector<StepMetric> parts_;
};

}  // namespace

std::vector<StepMetric> compare_parts(const Runs& a, const Runs& b, const Judge& judge, bool modes_overlap) {
  return Parts(a, b, judge, modes_overlap).run();
}

}  // namespace ridgeline::comparison
