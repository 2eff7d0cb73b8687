#include <algorithm>
#include <cmath>
#include <map>

#include "findings/assess.h"

namespace ridgeline::analyzer {

namespace {

using UtilisationOf = std::optional<Measured> TierUtilisation::*;

// What the tiers say of one quantity of each kernel, largest difference first.
std::vector<TierComparison> compare(const QualityInput& input, UtilisationOf quantity) {
  struct Sum {
    std::int64_t calls = 0;
    double time_ns = 0;
    double t1 = 0, t2 = 0;
    double t2_as_sampled = 0;  // had the launches taken as long as in the sampled steps
    double t1_variance = 0, t2_variance = 0;
    double t1_of_kind = 0, t2_of_kind = 0;  // errors of values of a kind, which may all be off the same way
    bool t1_error = true, t2_error = true;
    std::int64_t t1_samples = 0, t2_samples = 0;
  };
  std::map<store::Id, Sum> kernels;
  for (const LaunchUtilisations::Group& launch : input.utilisation.launches.groups()) {
    if (launch.values->blank) continue;
    const auto& t1 = launch.values->t1.*quantity;
    const auto& t2 = launch.values->t2.*quantity;
    if (!t1 || !t2 || launch.values->t1.concurrent || launch.time_ns <= 0) continue;
    Sum& sum = kernels[launch.kernel_id];
    const auto t = static_cast<double>(launch.time_ns);
    ++sum.calls;
    sum.time_ns += t;
    sum.t1 += t * t1->value;
    sum.t2 += t * t2->value;
    const std::optional<Measured>& sampled = launch.values->t1.duration;
    const bool of_time = quantity == &TierUtilisation::dram_utilisation;  // a pipe's is of cycles
    sum.t2_as_sampled +=
        t * t2->value * (of_time && sampled && sampled->value > 0 ? t / sampled->value : 1.0);
    sum.t1_error = sum.t1_error && t1->error.has_value();
    sum.t2_error = sum.t2_error && t2->error.has_value();
    const auto add = [t](const Measured& value, bool by_kind, double& variance, double& of_kind) {
      const double error = t * value.error.value_or(0);
      if (by_kind)
        of_kind += error;
      else
        variance += error * error;
    };
    add(*t1, launch.values->t1.by_kind, sum.t1_variance, sum.t1_of_kind);
    add(*t2, launch.values->t2.by_kind, sum.t2_variance, sum.t2_of_kind);
    sum.t1_samples += t1->sample_count;
    sum.t2_samples += t2->sample_count;
  }
  std::vector<TierComparison> rows;
  for (const auto& [id, of_kernel] : kernels) {
    const auto& sum = of_kernel;  // a lambda cannot take a name of a structured binding
    TierComparison row;
    row.calls = sum.calls;
    row.mean_ns = sum.time_ns / static_cast<double>(sum.calls);
    if (row.mean_ns < static_cast<double>(input.options.tier_difference_floor_ns)) continue;
    const store::Kernel* kernel = input.model.kernel(id);
    row.kernel = kernel == nullptr ? "?" : kernel->demangled_name;
    const auto measured = [&](double value, double error, bool known, std::int64_t samples, Tier tier) {
      Measured out{.value = value / sum.time_ns, .error = {}, .sample_count = samples, .tier = tier};
      if (known) out.error = error / sum.time_ns;
      return out;
    };
    row.t1 = measured(sum.t1, std::hypot(std::sqrt(sum.t1_variance), sum.t1_of_kind), sum.t1_error,
                      sum.t1_samples, Tier::t1);
    row.t2 = measured(sum.t2, std::hypot(std::sqrt(sum.t2_variance), sum.t2_of_kind), sum.t2_error,
                      sum.t2_samples, Tier::t2);
    row.difference = tier_difference(row.t1, row.t2);
    // Where the step ran at another clock than the sampled ones, the same bytes are another share of its time.
    const double as_sampled = (sum.t1 - sum.t2_as_sampled) / sum.time_ns;
    // Values of a kind say themselves how far they may be off.
    const double of_kinds = (sum.t1_of_kind + sum.t2_of_kind) / sum.time_ns;
    row.flagged = std::min(std::fabs(row.difference.value), std::fabs(as_sampled)) >
                  input.options.tier_difference_ratio + of_kinds;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TierComparison& a, const TierComparison& b) {
    return std::fabs(a.difference.value) > std::fabs(b.difference.value);
  });
  return rows;
}

void report(const std::vector<TierComparison>& rows, FindingCode code, std::string_view t1_name,
            std::string_view t2_name, const QualityInput& input, Quality& quality) {
  for (const TierComparison& row : rows) {
    if (!row.flagged) continue;
    Finding finding{.severity = Severity::warning, .code = code};
    finding.subject.name = row.kernel;
    finding.magnitude_ns = std::fabs(row.difference.value) * row.mean_ns * static_cast<double>(row.calls);
    if (input.step_ns() > 0)
      finding.step_share = *finding.magnitude_ns / static_cast<double>(input.step_ns());
    finding.evidence = {{t1_name, row.t1.value, Tier::t1, row.t1.error},
                        {t2_name, row.t2.value, Tier::t2, row.t2.error},
                        {"difference_ratio", row.difference.value, {}, row.difference.error},
                        {"launches", static_cast<double>(row.calls), {}, {}},
                        {"mean_ns", row.mean_ns, Tier::t0, {}}};
    quality.findings.push_back(std::move(finding));
  }
}

}  // namespace

// Two instruments on one quantity: what one says of a kernel, the other must say too.
void compare_tiers(const QualityInput& input, Quality& quality) {
  quality.comparison_limit = input.options.tier_difference_ratio;
  quality.comparison_floor_ns = input.options.tier_difference_floor_ns;
  quality.comparisons = compare(input, &TierUtilisation::dram_utilisation);
  quality.tensor_comparisons = compare(input, &TierUtilisation::tensor_utilisation);
  report(quality.comparisons, FindingCode::t1_disagreement, "dram_t1_ratio", "dram_t2_ratio", input, quality);
  report(quality.tensor_comparisons, FindingCode::t1_tensor_disagreement, "tensor_t1_ratio",
         "tensor_t2_ratio", input, quality);
}

// A kernel that is bound by memory takes the same time at any SM clock, one that computes the same cycles:
// only one that takes neither behaved differently.
void assess_disagreements(const QualityInput& input, Quality& quality) {
  struct Sum {
    std::int64_t calls = 0;
    double timeline_ns = 0;
    double replay_ns = 0;
    double replay_at_timeline_clock_ns = 0;
  };
  std::map<store::Id, Sum> kernels;
  for (const LaunchUtilisations::Group& launch : input.utilisation.launches.groups()) {
    if (launch.values->blank || !launch.values->replay_duration || launch.time_ns <= 0) continue;
    Sum& sum = kernels[launch.kernel_id];
    ++sum.calls;
    sum.timeline_ns += static_cast<double>(launch.time_ns);
    sum.replay_ns += launch.values->replay_duration->value;
    sum.replay_at_timeline_clock_ns +=
        launch.values->replay_duration->value *
        (launch.values->replay_clock_hz && launch.values->timeline_clock_hz
             ? *launch.values->replay_clock_hz / *launch.values->timeline_clock_hz
             : 1.0);
  }
  for (const auto& [id, sum] : kernels) {
    const auto calls = static_cast<double>(sum.calls);
    const double ratio = sum.replay_ns / sum.timeline_ns - 1.0;
    const double cycle_ratio = sum.replay_at_timeline_clock_ns / sum.timeline_ns - 1.0;
    if (std::min(std::fabs(ratio), std::fabs(cycle_ratio)) <= input.options.disagreement_ratio ||
        ratio * cycle_ratio < 0 ||
        sum.timeline_ns / calls < static_cast<double>(input.options.disagreement_floor_ns)) {
      continue;
    }
    const store::Kernel* kernel = input.model.kernel(id);
    quality.disagreements.push_back({kernel == nullptr ? "?" : kernel->demangled_name, sum.calls,
                                     sum.timeline_ns / calls, sum.replay_ns / calls, ratio});
  }
  std::sort(quality.disagreements.begin(), quality.disagreements.end(),
            [](const Disagreement& a, const Disagreement& b) {
              return a.timeline_ns * static_cast<double>(a.calls) >
                     b.timeline_ns * static_cast<double>(b.calls);
            });
  for (const Disagreement& item : quality.disagreements) {
    Finding finding{.severity = Severity::warning, .code = FindingCode::t2_disagreement};
    finding.subject.name = item.kernel;
    finding.magnitude_ns = std::fabs(item.replay_ns - item.timeline_ns) * static_cast<double>(item.calls);
    if (input.step_ns() > 0)
      finding.step_share = *finding.magnitude_ns / static_cast<double>(input.step_ns());
    finding.evidence = {{"replay_ns", item.replay_ns, Tier::t2, {}},
                        {"timeline_ns", item.timeline_ns, Tier::t0, {}},
                        {"difference_ratio", item.ratio, {}, {}},
                        {"launches", static_cast<double>(item.calls), {}, {}}};
    quality.findings.push_back(std::move(finding));
  }
}

}  // namespace ridgeline::analyzer
