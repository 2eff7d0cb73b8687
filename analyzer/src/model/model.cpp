#include "ridgeline/analyzer/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace ridgeline::analyzer {

namespace {

// The launches of a step while they are put together.
struct StepLaunches {
  std::vector<LaunchIndex> indices;
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  bool sorted = true;
  void add(LaunchIndex launch, std::int64_t ordinal) {
    sorted = sorted && ordinal >= last;
    last = ordinal;
    indices.push_back(launch);
  }
};

// Differences of times, and sums of a few of them, stay far inside int64.
class Range {
 public:
  void time(std::int64_t ns) { fits_ = fits_ && ns < kMax && ns > -kMax; }
  void time(const std::optional<std::int64_t>& ns) {
    if (ns) time(*ns);
  }
  void farthest(std::uint64_t ns) { fits_ = fits_ && ns < static_cast<std::uint64_t>(kMax); }
  void count(std::int64_t n) { fits_ = fits_ && n < kMaxCounted && n > -kMaxCounted; }
  template <typename Row>
  void span(const Row& row) {
    time(row.start_ns);
    time(row.end_ns);
  }
  [[nodiscard]] bool fits() const { return fits_; }

 private:
  static constexpr std::int64_t kMax = std::int64_t{1} << 61;  // 73 years; clocks of today count from 1970
  static constexpr std::int64_t kMaxCounted = std::int64_t{1} << 50;  // of anything
  bool fits_ = true;
};

}  // namespace

// Sums of times and bytes are kept in int64; a capture in which they cannot be is damaged or made up.
void require_sums_fit(const Model& model) {
  Range range;
  if (model.run) range.span(*model.run);
  for (const auto& row : model.processes) range.span(row);
  range.farthest(model.launches.farthest_time_ns());
  for (const auto& row : model.memcpys) range.span(row);
  for (const auto& row : model.memsets) range.span(row);
  for (const auto& row : model.nvtx_ranges) range.span(row);
  for (const auto& row : model.recording_windows) range.span(row);
  for (const auto& row : model.synchronisations) range.time(row.start_ns), range.time(row.duration_ns);
  for (const auto& row : model.clock_samples) range.time(row.time_ns);
  for (const auto& row : model.messages) range.time(row.time_ns);
  for (const auto& row : model.pm_windows) {
    range.span(row);
    range.time(row.clock_shift_ns);
    range.time(row.interval_ns);
    for (const auto& index : {row.first_step_index, row.last_step_index}) range.count(index.value_or(0));
    range.count(row.sample_count);
  }
  for (const auto& row : model.tier_coverage) range.time(row.kernel_time_ns), range.time(row.covered_ns);
  for (const auto& row : model.stall_windows) {
    for (const std::int64_t n : {row.first_step_index, row.last_step_index, row.samples, row.dropped_samples,
                                 row.foreign_samples, row.period_cycles})
      range.count(n);
  }
  for (const auto& row : model.stall_samples) range.count(row.samples);
  for (const auto& row : model.completeness) {
    for (const std::int64_t n :
         {row.launches_seen, row.kernel_records, row.graph_launches, row.graph_kernel_records,
          row.dropped_records, row.lost_spool_records, row.zero_timestamps, row.truncated_bytes,
          row.profiler_records, row.strings_lost, row.nvtx_unbalanced})
      range.count(n);
  }
  for (const ModelStep& item : model.steps) {
    const store::Step& step = item.step;
    for (const auto& time : {step.host_start_ns, step.host_end_ns, step.gpu_start_ns, step.gpu_end_ns})
      range.time(time);
    range.count(step.step_index);
    if (!item.total) continue;
    const store::StepTotal& total = *item.total;
    for (const std::int64_t time : {total.kernel_time_ns, total.kernel_start_ns, total.kernel_end_ns,
                                    total.copy_start_ns, total.copy_end_ns})
      range.time(time);
    for (const std::int64_t n : {total.launches, total.launches_without_time, total.copies}) range.count(n);
  }
  for (const auto& total : model.process_totals) {
    range.time(total.kernel_time_ns);
    range.count(total.launches), range.count(total.launches_without_time);
  }
  if (!range.fits())
    throw Error(ErrorKind::corrupt,
                model.path + ": times or counts out of any range, the capture is damaged");
  constexpr double kMax = 4e18;
  double time = model.launches.total_ns();
  double bytes = 0;
  const auto add = [&](const auto& row) {
    if (row.start_ns > 0 && row.end_ns > row.start_ns) time += static_cast<double>(row.end_ns - row.start_ns);
  };
  for (const auto& row : model.memcpys) add(row);
  for (const auto& row : model.memsets) add(row);
  for (const auto& row : model.memcpys) bytes += std::fabs(static_cast<double>(row.bytes));
  for (const auto& row : model.memsets) bytes += std::fabs(static_cast<double>(row.bytes));
  if (time > kMax || bytes > kMax) {
    throw Error(ErrorKind::corrupt, model.path + ": times or sizes out of any range, the capture is damaged");
  }
}

std::int64_t recording_start_ns(const Model& model) {
  if (model.run && model.run->start_ns) return *model.run->start_ns;
  std::optional<std::int64_t> first;
  for (const store::RecordingWindow& window : model.recording_windows)
    first = std::min(first.value_or(window.start_ns), window.start_ns);
  return first.value_or(0);
}

Model load_recording(const store::Capture& capture) {
  Model model;
  model.path = capture.path();
  try {
    model.run = capture.run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_data) throw;  // the recording never began
  }
  model.versions = capture.versions();
  model.environment = capture.environment();
  model.processes = capture.processes();
  model.devices = capture.devices();
  model.device_peaks = capture.device_peaks();
  model.ceilings = capture.ceilings();
  model.clock_samples = capture.clock_samples();
  for (auto& kernel : capture.kernels()) model.kernels.emplace(kernel.id, std::move(kernel));
  for (auto& set : capture.counter_configurations()) model.configurations.emplace(set.id, std::move(set));
  std::vector<store::Step> steps = capture.steps();
  model.steps.resize(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) model.steps[i].step = std::move(steps[i]);
  for (auto& metric : capture.metrics()) model.metrics.emplace(metric.id, std::move(metric));
  model.completeness = capture.completeness();
  model.tier_statuses = capture.tier_statuses();
  model.messages = capture.messages();
  model.pm_windows = capture.pm_windows();
  model.tier_coverage = capture.tier_coverage();
  model.replay_exclusions = capture.replay_exclusions();
  model.recording_windows = capture.recording_windows();
  model.threads = capture.threads();
  model.stall_windows = capture.stall_windows();
  model.strings = capture.strings();
  model.lost_rows = capture.lost_rows();
  require_sums_fit(model);
  model.index();
  return model;
}

std::vector<SampleTrace> load_sample_traces(const store::Capture& capture, const Model& model,
                                            const std::vector<std::string_view>& metrics) {
  std::vector<SampleTrace> traces;
  std::vector<store::Id> devices;
  for (const store::PmWindow& window : model.pm_windows) {
    if (std::find(devices.begin(), devices.end(), window.device_id) == devices.end())
      devices.push_back(window.device_id);
  }
  for (const store::Id device : devices) {
    for (const auto& [id, metric] : model.metrics) {
      if (std::find(metrics.begin(), metrics.end(), metric.name) == metrics.end()) continue;
      SampleTrace trace{device, metric.name, capture.pm_samples(device, id)};
      if (!trace.samples.empty()) traces.push_back(std::move(trace));
    }
  }
  return traces;
}

namespace {

void sort_by_launch(std::vector<store::LaunchMetric>& metrics) {
  const auto before = [](const store::LaunchMetric& a, const store::LaunchMetric& b) {
    return std::tie(a.launch_id, a.metric_id, a.tier) < std::tie(b.launch_id, b.metric_id, b.tier);
  };
  // The order of the capture's key: they mostly come so.
  if (!std::is_sorted(metrics.begin(), metrics.end(), before))
    std::sort(metrics.begin(), metrics.end(), before);
}

}  // namespace

void Model::index() {
  const auto by_time = [](const auto& a, const auto& b) {
    return std::tie(a.process_id, a.start_ns, a.id) < std::tie(b.process_id, b.start_ns, b.id);
  };
  launches.sort();
  std::sort(memcpys.begin(), memcpys.end(), by_time);
  std::sort(memsets.begin(), memsets.end(), by_time);
  const auto of_thread = [](const store::Synchronisation& wait) {
    return std::tuple(wait.process_id, wait.thread_id, wait.start_ns);
  };
  std::sort(synchronisations.begin(), synchronisations.end(),
            [&](const auto& a, const auto& b) { return of_thread(a) < of_thread(b); });
  // Parts of a selection that touch have those that reach from one into the other in common.
  synchronisations.erase(
      std::unique(synchronisations.begin(), synchronisations.end(),
                  [&](const auto& a, const auto& b) { return of_thread(a) == of_thread(b); }),
      synchronisations.end());
  std::sort(steps.begin(), steps.end(), [](const ModelStep& a, const ModelStep& b) {
    return std::tie(a.step.process_id, a.step.step_index) < std::tie(b.step.process_id, b.step.step_index);
  });
  std::unordered_map<store::Id, StepIndex> step_of;
  for (StepIndex i = 0; i < steps.size(); ++i) {
    steps[i].memcpys.clear();
    steps[i].memsets.clear();
    step_of[steps[i].step.id] = i;
  }
  const auto step_for = [&](const auto& row) -> ModelStep* {
    if (!row.step_id) return nullptr;
    const auto found = step_of.find(*row.step_id);
    return found == step_of.end() ? nullptr : &steps[found->second];
  };
  std::vector<ModelStep*> step_at;  // by Launches::Row::step
  for (const store::Id id : launches.step_ids()) {
    const auto found = step_of.find(id);
    step_at.push_back(step_at.empty() || found == step_of.end() ? nullptr : &steps[found->second]);
  }
  const auto ordinal = [&](LaunchIndex i) {
    const std::int64_t known = launches.row(i).ordinal_in_step;
    return known == Launches::Row::kAbsent ? std::numeric_limits<std::int64_t>::max() : known;
  };
  std::vector<StepLaunches> launches_of(step_at.size());  // likewise
  for (std::size_t at = 0; at < step_at.size(); ++at) {
    if (step_at[at] != nullptr) launches_of[at].indices.reserve(launches.step_sizes()[at]);
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::uint32_t at = launches.row(i).step;
    if (step_at[at] != nullptr) launches_of[at].add(i, ordinal(i));
  }
  for (std::size_t i = 0; i < memcpys.size(); ++i) {
    if (ModelStep* step = step_for(memcpys[i])) step->memcpys.push_back(i);
  }
  for (std::size_t i = 0; i < memsets.size(); ++i) {
    if (ModelStep* step = step_for(memsets[i])) step->memsets.push_back(i);
  }
  for (ModelStep& step : steps) step.launches = {};
  for (std::size_t at = 0; at < step_at.size(); ++at) {
    if (step_at[at] == nullptr) continue;
    StepLaunches& own = launches_of[at];
    if (!own.sorted)
      std::stable_sort(own.indices.begin(), own.indices.end(),
                       [&](LaunchIndex a, LaunchIndex b) { return ordinal(a) < ordinal(b); });
    step_at[at]->launches = std::move(own.indices);
  }

  metric_ids_.clear();
  for (const auto& [id, metric] : metrics) metric_ids_.emplace(metric.name, id);
  sort_by_launch(launch_metrics);
  metric_rows_.clear();
  for (std::size_t first = 0; first < launch_metrics.size();) {
    std::size_t last = first;
    while (last < launch_metrics.size() && launch_metrics[last].launch_id == launch_metrics[first].launch_id)
      ++last;
    metric_rows_[launch_metrics[first].launch_id] = {first, last};
    first = last;
  }
  narrow_wide_ranges();
}

const store::Kernel* Model::kernel(store::Id id) const {
  const auto found = kernels.find(id);
  return found == kernels.end() ? nullptr : &found->second;
}

const store::Device* Model::device(store::Id id) const {
  const auto found =
      std::find_if(devices.begin(), devices.end(), [&](const auto& device) { return device.id == id; });
  return found == devices.end() ? nullptr : &*found;
}

std::string_view Model::string(std::optional<store::Id> id) const {
  if (!id) return {};
  const auto found = strings.find(*id);
  return found == strings.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view Model::kernel_name(const store::Launch& launch) const {
  const store::Kernel* found = kernel(launch.kernel_id);
  return found == nullptr ? std::string_view("?") : std::string_view(found->demangled_name);
}

std::string_view Model::kernel_family(const store::Launch& launch) const {
  const store::Kernel* found = kernel(launch.kernel_id);
  return found == nullptr ? std::string_view("?") : std::string_view(found->normalised_name);
}

KernelClass Model::kernel_class(const store::Launch& launch) const {
  const store::Kernel* found = kernel(launch.kernel_id);
  return found == nullptr ? KernelClass::other : found->kernel_class;
}

std::string_view Model::thread_name(store::Id process_id, std::int64_t thread_id) const {
  const auto found = std::lower_bound(threads.begin(), threads.end(), std::tie(process_id, thread_id),
                                      [](const store::Thread& row, const auto& key) {
                                        return std::tie(row.process_id, row.thread_id) < key;
                                      });
  const bool known =
      found != threads.end() && found->process_id == process_id && found->thread_id == thread_id;
  return known ? std::string_view(found->name) : std::string_view();
}

std::vector<MetricValue> Model::metrics_of(store::Id launch_id) const {
  std::vector<MetricValue> values;
  const auto rows = metric_rows_.find(launch_id);
  if (rows == metric_rows_.end()) return values;
  for (std::size_t i = rows->second.first; i < rows->second.second; ++i) {
    const store::LaunchMetric& row = launch_metrics[i];
    const auto metric = metrics.find(row.metric_id);
    if (metric == metrics.end()) continue;
    values.push_back({metric->second.name, metric->second.unit, row.tier, row.value, row.error,
                      row.sample_count, row.concurrent});
  }
  return values;
}

std::optional<double> Model::metric(store::Id launch_id, std::string_view name, Tier tier) const {
  const auto id = metric_ids_.find(name);
  if (id == metric_ids_.end()) return std::nullopt;
  const auto rows = metric_rows_.find(launch_id);
  if (rows == metric_rows_.end()) return std::nullopt;
  for (std::size_t i = rows->second.first; i < rows->second.second; ++i) {
    const store::LaunchMetric& row = launch_metrics[i];
    if (row.metric_id == id->second && row.tier == tier) return row.value;
  }
  return std::nullopt;
}

bool Model::imported() const {
  return std::any_of(tier_statuses.begin(), tier_statuses.end(), [](const store::TierStatus& status) {
    return status.reason && status.reason->code == ReasonCode::not_asked_for &&
           status.reason->word("source") == "trace";
  });
}

const store::TierStatus* Model::tier_status(store::Id process_id, Tier tier) const {
  const auto found =
      std::find_if(tier_statuses.begin(), tier_statuses.end(), [&](const store::TierStatus& status) {
        return status.process_id == process_id && status.tier == tier;
      });
  return found == tier_statuses.end() ? nullptr : &*found;
}

}  // namespace ridgeline::analyzer
