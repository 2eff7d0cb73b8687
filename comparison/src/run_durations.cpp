#include "ridgeline/comparison/run_durations.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "chosen_steps.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::comparison {
namespace {

using store::Id;

std::vector<double> durations_ns(const store::Capture& capture, const analyzer::StepAnalysis& steps,
                                 const std::vector<std::string>& kernels, const ProfileOptions& options,
                                 const analyzer::QueryOptions& ask) {
  std::unordered_map<Id, bool> wanted;  // by kernel, then by site
  for (const store::Kernel& kernel : capture.kernels())
    wanted[kernel.id] = std::find(kernels.begin(), kernels.end(), kernel.demangled_name) != kernels.end();
  const ChosenSteps chosen = choose_steps(steps, options);
  store::ActivityFilter filter;
  filter.process_id = steps.process_id;
  if (!chosen.ids.empty()) filter.step_ids = chosen.ids;
  const store::Activity activity(capture);
  std::unordered_map<Id, bool> of_site;
  std::vector<double> took_ns;
  activity.for_each_launch_row(
      filter, store::LaunchColumns::times,
      [&](const store::LaunchRow& row) {
        const auto [site, added] = of_site.try_emplace(row.site_id, false);
        if (added) site->second = wanted[activity.launch_site(row.site_id).kernel_id];
        if (site->second && row.start_ns > 0 && row.end_ns >= row.start_ns)
          took_ns.push_back(static_cast<double>(row.end_ns - row.start_ns));
      },
      ask.stop);
  return took_ns;
}

DurationSpread spread_of(std::vector<double> took_ns) {
  std::sort(took_ns.begin(), took_ns.end());
  return {.count = static_cast<std::int64_t>(took_ns.size()),
          .low_ns = quantile_of_sorted(took_ns, 0.05),
          .quarter_ns = quantile_of_sorted(took_ns, 0.25),
          .median_ns = quantile_of_sorted(took_ns, 0.5),
          .three_quarters_ns = quantile_of_sorted(took_ns, 0.75),
          .high_ns = quantile_of_sorted(took_ns, 0.95)};
}

}  // namespace

Result<DurationSpread> durations_of_run(const std::string& path, const std::vector<std::string>& kernels,
                                        const ProfileOptions& options, const analyzer::QueryOptions& ask) {
  auto capture = store::Capture::open(path);
  if (!capture) return capture.failure();
  auto session = analyzer::Session::open(path, options.analysis);
  if (!session) return session.failure();
  const auto steps = session.value().steps({}, ask);
  if (!steps) return steps.failure();
  try {
    return spread_of(durations_ns(capture.value(), *steps.value(), kernels, options, ask));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return Failure{error.kind(), error.message()};
  }
}

Result<DurationSpread> steps_of_run(const std::string& path, const ProfileOptions& options,
                                    const analyzer::QueryOptions& ask) {
  auto session = analyzer::Session::open(path, options.analysis);
  if (!session) return session.failure();
  const auto steps = session.value().steps({}, ask);
  if (!steps) return steps.failure();
  const std::vector<Id> chosen = choose_steps(*steps.value(), options).ids;
  std::vector<double> took_ns;
  for (const analyzer::StepSummary& step : steps.value()->steps) {
    if (step.gpu_duration_ns > 0 && std::find(chosen.begin(), chosen.end(), step.step_id) != chosen.end())
      took_ns.push_back(static_cast<double>(step.gpu_duration_ns));
  }
  return spread_of(took_ns);
}

}  // namespace ridgeline::comparison
