#include "ridgeline/comparison/profile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

#include "chosen_steps.h"
#include "profile_parts.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/base/units.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::comparison {
namespace {

using analyzer::Answer;
using analyzer::BoundSplit;
using analyzer::ClockSummary;
using analyzer::KernelBound;
using analyzer::Launches;
using analyzer::LaunchUtilisation;
using analyzer::LaunchValues;
using analyzer::Model;
using analyzer::Quality;
using analyzer::QueryOptions;
using analyzer::Session;
using analyzer::StepAnalysis;
using analyzer::UtilisationAnalysis;
using store::Id;

// More shapes than this at one place are those of data, not of the program.
constexpr std::size_t kMaxShapes = 8;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Counters that two runs of the same work cannot disagree in.
bool is_deterministic(std::string_view metric) {
  static constexpr std::array<std::string_view, 4> kPrefixes = {
      "sm__ops_path_tensor_", "sm__thread_inst_executed_", "smsp__inst_executed", "sm__inst_executed"};
  if (!metric.ends_with(".sum")) return false;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return metric.starts_with(prefix); });
}

LaunchConfiguration shape_of(const store::Launch& site) {
  return {site.grid,
          site.block,
          site.cluster,
          site.registers_per_thread,
          site.static_smem_bytes,
          site.dynamic_smem_bytes};
}

// Launches of a site of the store, by step.
struct Sums {
  store::Launch site;
  std::vector<std::int64_t> time_ns;
  std::vector<std::int64_t> calls;
};

// What is read of the launches: sums by site and step, and the order of one step.
struct Reading {
  std::map<Id, Sums> sites;
  std::vector<std::pair<std::int64_t, Id>> order;  // of the representative step: ordinal, site
};

Reading read_launches(const store::Activity& activity, Id process_id, const ChosenSteps& chosen,
                      const QueryOptions& ask) {
  std::unordered_map<Id, std::size_t> column;
  for (std::size_t i = 0; i < chosen.ids.size(); ++i) column.emplace(chosen.ids[i], i);
  const std::size_t columns = std::max<std::size_t>(1, chosen.ids.size());
  store::ActivityFilter filter;
  filter.process_id = process_id;
  if (!chosen.ids.empty()) filter.step_ids = chosen.ids;
  Reading reading;
  std::unordered_map<Id, Sums*> known;
  std::int64_t arrival = 0;
  activity.for_each_launch_row(
      filter, store::LaunchColumns::times,
      [&](const store::LaunchRow& row) {
        Sums*& sums = known[row.site_id];
        if (sums == nullptr) {
          sums = &reading.sites[row.site_id];
          sums->site = activity.launch_site(row.site_id);
          sums->time_ns.resize(columns);
          sums->calls.resize(columns);
        }
        const std::size_t at = chosen.ids.empty() || !row.step_id ? 0 : column.at(*row.step_id);
        ++sums->calls[at];
        if (row.start_ns > 0 && row.end_ns >= row.start_ns) sums->time_ns[at] += row.end_ns - row.start_ns;
        if (at == 0) reading.order.emplace_back(row.ordinal_in_step.value_or(arrival), row.site_id);
        ++arrival;
      },
      ask.stop);
  std::stable_sort(reading.order.begin(), reading.order.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  return reading;
}

// A place of the program: folded path and kernel; launches of one shape or, where shapes change, of all.
using PlaceKey = std::tuple<std::string, Id>;
using SiteKey = std::tuple<std::string, Id, std::array<std::int64_t, 10>, bool>;

std::array<std::int64_t, 10> shape_key(const store::Launch& site) {
  const store::Dim3 cluster = site.cluster.value_or(store::Dim3{0, 0, 0});
  return {site.grid.x,  site.grid.y, site.grid.z, site.block.x, site.block.y,
          site.block.z, cluster.x,   cluster.y,   cluster.z,    site.dynamic_smem_bytes};
}

// Places whose launches do not have the same few shapes in every step.
std::map<PlaceKey, bool> varying_places(const Reading& reading, const std::map<Id, std::string>& paths) {
  std::map<PlaceKey, std::map<std::array<std::int64_t, 10>, std::vector<std::int64_t>>> shapes;
  for (const auto& [id, sums] : reading.sites) {
    auto& calls = shapes[{paths.at(id), sums.site.kernel_id}][shape_key(sums.site)];
    calls.resize(sums.calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += sums.calls[i];
  }
  std::map<PlaceKey, bool> varying;
  for (const auto& [place, by_shape] : shapes) {
    bool& varies = varying[place] = by_shape.size() > kMaxShapes;
    for (const auto& [shape, calls] : by_shape) {
      const std::int64_t first = calls.front();
      varies =
          varies || std::any_of(calls.begin(), calls.end(), [first](std::int64_t n) { return n != first; });
    }
  }
  return varying;
}

// What the launches of the representative step add up to in one site.
struct Measurements {
  double time_ns = 0, clock_time = 0, cycles = 0;
  double dram_time = 0, dram_weighted = 0, compute_time = 0, compute_weighted = 0;
  double dram_bytes = 0;
  std::int64_t calls = 0, with_bytes = 0, with_counted_bytes = 0;
  BoundSplit bounds;
};

void measure(Measurements& sum, const LaunchUtilisation& launch) {
  const auto time = static_cast<double>(launch.duration_ns);
  const LaunchValues& values = *launch.values;
  ++sum.calls;
  sum.time_ns += time;
  sum.bounds.add(bound_of(launch), launch.duration_ns);
  if (values.timeline_clock_hz) {
    sum.clock_time += time;
    sum.cycles += time * 1e-9 * *values.timeline_clock_hz;
  }
  if (values.dram_utilisation) {
    sum.dram_time += time;
    sum.dram_weighted += time * values.dram_utilisation->value;
  }
  if (values.compute_utilisation) {
    sum.compute_time += time;
    sum.compute_weighted += time * values.compute_utilisation->value;
  }
  if (values.dram_bytes) {
    ++sum.with_bytes;
    sum.dram_bytes += values.dram_bytes->value;
    if (values.dram_bytes->tier == Tier::t2 && !values.t2.by_kind) ++sum.with_counted_bytes;
  }
}

KernelBound largest(const BoundSplit& split) {
  const std::array<std::pair<std::int64_t, KernelBound>, 6> parts = {
      {{split.memory_ns, KernelBound::memory},
       {split.compute_ns, KernelBound::compute},
       {split.latency_ns, KernelBound::latency},
       {split.too_short_ns, KernelBound::too_short},
       {split.no_roof_ns, KernelBound::no_roof},
       {split.unmeasured_ns, KernelBound::unmeasured}}};
  const auto most = std::max_element(parts.begin(), parts.end(),
                                     [](const auto& x, const auto& y) { return x.first < y.first; });
  return most->first > 0 ? most->second : KernelBound::unmeasured;
}

void set_measurements(KernelSite& site, const Measurements& sum) {
  if (sum.clock_time > 0) site.cycles = site.time_ns * sum.cycles / sum.clock_time;
  if (sum.dram_time > 0) site.dram_ratio = sum.dram_weighted / sum.dram_time;
  if (sum.compute_time > 0) site.compute_ratio = sum.compute_weighted / sum.compute_time;
  if (sum.calls > 0 && sum.with_bytes == sum.calls) site.dram_bytes = sum.dram_bytes;
  site.dram_bytes_counted = sum.calls > 0 && sum.with_counted_bytes == sum.calls;
  site.bound = largest(sum.bounds);
}

std::vector<double> as_doubles(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

void fill_facts(RunProfile& profile, const Model& model, const Quality& quality) {
  profile.path = model.path;
  if (model.run) {
    profile.command_line = model.run->command_line;
    profile.git_commit = model.run->git_commit.value_or("");
    profile.git_dirty = model.run->git_dirty;
    profile.host_name = model.run->host_name.value_or("");
    profile.start_ns = model.run->start_ns;
  }
  profile.versions = model.versions;
  profile.environment = model.environment;
  const ClockSummary* most = nullptr;
  for (const ClockSummary& clock : quality.clocks) {
    if (most == nullptr || clock.power_median_w.value_or(0) > most->power_median_w.value_or(0)) most = &clock;
  }
  if (most != nullptr) {
    profile.power_w = most->power_median_w;
    profile.temperature_c = most->temperature_max_c;
    profile.throttled_share = most->throttled_share;
    profile.throttle_reasons = most->throttle_reasons;
  }
}

// The counters that were counted in replay, by ordinal. In another sequence of launches another launch has the ordinal.
std::map<std::int64_t, std::map<std::string, double>> deterministic_counts(const Model& model,
                                                                           const StepAnalysis& steps) {
  std::map<Id, std::string> wanted;
  for (const auto& [id, metric] : model.metrics) {
    if (is_deterministic(metric.name)) wanted.emplace(id, metric.name);
  }
  std::map<std::int64_t, std::map<std::string, double>> counts;
  if (wanted.empty()) return counts;
  std::set<Id> alike;
  for (const analyzer::StepSummary& step : steps.steps) {
    if (step.process_id == steps.process_id &&
        step.sequence_hash == steps.representative.summary.sequence_hash)
      alike.insert(step.step_id);
  }
  std::unordered_map<Id, std::int64_t> ordinals;
  for (const Launches::Row& row : model.launches.rows()) {
    if (row.ordinal_in_step != Launches::Row::kAbsent && alike.contains(model.launches.step_ids()[row.step]))
      ordinals.emplace(row.id, row.ordinal_in_step);
  }
  for (const store::LaunchMetric& value : model.launch_metrics) {
    const auto name = wanted.find(value.metric_id);
    if (name == wanted.end() || value.tier != Tier::t2) continue;
    const auto ordinal = ordinals.find(value.launch_id);
    // Steps count the same work the same: the last one stands for all.
    if (ordinal != ordinals.end()) counts[ordinal->second][name->second] = value.value;
  }
  return counts;
}

class Builder {
 public:
  Builder(RunProfile& profile, const Model& model, const Reading& reading, std::size_t steps)
      : profile_(profile), model_(model), reading_(reading), steps_(steps) {
    for (const auto& [id, sums] : reading.sites)
      paths_[id] = folded_path(model.string(sums.site.nvtx_path_id));
    varying_ = varying_places(reading, paths_);
  }

  void build() {
    // In the order of first launch; sites of other steps than the representative come after.
    for (const auto& [ordinal, id] : reading_.order) profile_.order.push_back(place(id));
    for (const auto& [id, sums] : reading_.sites) place(id);
    for (std::size_t i = 0; i < profile_.sites.size(); ++i) {
      KernelSite& site = profile_.sites[i];
      const std::vector<double> times = as_doubles(time_ns_[i]);
      site.time_ns = median(times);
      site.time_deviation_ns = standard_deviation(times);
      site.calls = median(as_doubles(calls_[i]));
      profile_.kernel_ns += site.time_ns;
    }
  }

 private:
  std::uint32_t place(Id id) {
    if (const auto known = index_of_.find(id); known != index_of_.end()) return known->second;
    const Sums& sums = reading_.sites.at(id);
    const store::Launch& launch = sums.site;
    const bool varies = varying_.at({paths_.at(id), launch.kernel_id});
    const SiteKey key{paths_.at(id), launch.kernel_id,
                      varies ? std::array<std::int64_t, 10>{} : shape_key(launch), varies};
    const auto [at, added] = by_key_.try_emplace(key, static_cast<std::uint32_t>(profile_.sites.size()));
    if (added) {
      KernelSite site;
      site.path = paths_.at(id);
      site.kernel = model_.kernel_name(launch);
      site.family = model_.kernel_family(launch);
      site.kernel_class = model_.kernel_class(launch);
      if (const store::Kernel* kernel = model_.kernel(launch.kernel_id))
        site.code = kernel->code_hash.value_or("");
      if (!varies) site.shape = shape_of(launch);
      site.stream = streams_.try_emplace(launch.stream_id, static_cast<int>(streams_.size())).first->second;
      profile_.sites.push_back(std::move(site));
      time_ns_.emplace_back(steps_);
      calls_.emplace_back(steps_);
    }
    for (std::size_t i = 0; i < steps_; ++i) {
      time_ns_[at->second][i] += sums.time_ns[i];
      calls_[at->second][i] += sums.calls[i];
    }
    index_of_.emplace(id, at->second);
    return at->second;
  }

  RunProfile& profile_;
  const Model& model_;
  const Reading& reading_;
  std::size_t steps_;
  std::map<Id, std::string> paths_;  // of the store's sites, folded
  std::map<PlaceKey, bool> varying_;
  std::map<SiteKey, std::uint32_t> by_key_;
  std::unordered_map<Id, std::uint32_t> index_of_;
  std::map<std::int64_t, int> streams_;
  std::vector<std::vector<std::int64_t>> time_ns_, calls_;
};

void add_measurements(RunProfile& profile, const Model& model, const StepAnalysis& steps,
                      const UtilisationAnalysis& utilisation) {
  std::vector<Measurements> sums(profile.sites.size());
  const auto counts = deterministic_counts(model, steps);
  std::vector<std::int64_t> counted(profile.sites.size());
  for (std::size_t i = 0; i < utilisation.launches.size() && i < profile.order.size(); ++i) {
    const LaunchUtilisation& launch = utilisation.launches[i];
    const std::uint32_t site = profile.order[i];
    measure(sums[site], launch);
    if (const auto of = counts.find(launch.ordinal); of != counts.end()) {
      ++counted[site];
      for (const auto& [name, value] : of->second) profile.sites[site].counts[name] += value;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    set_measurements(profile.sites[i], sums[i]);
    // A sum over some of the calls is of no use.
    if (counted[i] != sums[i].calls) profile.sites[i].counts.clear();
  }
}

template <typename T>
std::shared_ptr<const T> value_or_throw(Answer<T> answer) {
  if (!answer) throw Error(answer.failure().kind, answer.failure().message);
  return std::move(answer).value();
}

RunProfile read_profile(const std::string& path, const ProfileOptions& options, const QueryOptions& ask) {
  auto capture = store::Capture::open(path);
  if (!capture) throw Error(capture.failure().kind, capture.failure().message);
  const store::Capture file = std::move(capture).value();
  Session session(store::Capture::open(path).value(), options.analysis);

  RunProfile profile;
  const auto steps = value_or_throw(session.steps({}, ask));
  const auto utilisation = value_or_throw(session.utilisation({}, ask));
  const auto model = value_or_throw(session.model({}, ask));
  const auto accounting = value_or_throw(session.accounting({}, ask));
  fill_facts(profile, *model, *value_or_throw(session.quality({}, ask)));
  profile.path = path;
  profile.step = steps->spread;
  profile.whole_recording =
      steps->representative.whole_recording || steps->representative.scope == analyzer::ScopeKind::recording;
  if (profile.step.count == 0) {  // the step was asked for, or all of the recording is one
    profile.step.count = 1;
    profile.step.median_ns = static_cast<double>(accounting->step_ns);
  }
  profile.busy_ns = static_cast<double>(accounting->kernel_busy_ns);
  profile.gap_ns = static_cast<double>(accounting->gap_total_ns);
  profile.processes = static_cast<std::int64_t>(
      std::max<std::size_t>(1, value_or_throw(session.recording(ask))->process_totals.size()));

  const ChosenSteps chosen = choose_steps(*steps, options);
  const store::Activity activity(file);
  const Reading reading = read_launches(activity, steps->process_id, chosen, ask);
  Builder(profile, *model, reading, std::max<std::size_t>(1, chosen.ids.size())).build();
  add_measurements(profile, *model, *steps, *utilisation);
  double own_kernels_ns = 0;
  for (const auto& [id, sums] : reading.sites) own_kernels_ns += static_cast<double>(sums.time_ns.front());
  profile.parts = parts_of(*model, *steps, *accounting, own_kernels_ns);
  profile.transfers = transfers_of(activity, *model, *steps, chosen.ids, ask);

  std::map<Id, bool> used;
  for (const auto& [id, sums] : reading.sites) used[sums.site.device_id] = true;
  for (const store::Device& device : model->devices) {
    if (used.contains(device.id))
      profile.devices.push_back({device.name, device.uuid.value_or(""), device.sm_count.value_or(0)});
  }
  for (const auto& [id, clock_hz] : utilisation->sm_clock_hz) {
    if (used.contains(id) && !profile.sm_clock_hz) profile.sm_clock_hz = clock_hz;
  }
  for (const analyzer::Peak& peak : utilisation->peaks) {
    if (peak.quantity == ridgeline::Quantity::dram_bytes_per_s)
      profile.dram_roof = bandwidth_text(peak.value) + ", " + std::string(to_string(peak.source));
  }
  return profile;
}

}  // namespace

Result<RunProfile> profile_run(const std::string& path, const ProfileOptions& options,
                               const QueryOptions& ask) {
  try {
    return read_profile(path, options, ask);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    const bool named = error.message().find(path) != std::string::npos;
    return Failure{error.kind(), named ? error.message() : path + ": " + error.message()};
  }
}

double RunProfile::launches() const {
  double sum = 0;
  for (const KernelSite& site : sites) sum += site.calls;
  return sum;
}

std::string folded_path(std::string_view path) {
  std::string folded;
  for (std::size_t i = 0; i < path.size();) {
    if (!is_digit(path[i]) || (i > 0 && is_word(path[i - 1]))) {
      folded += path[i++];
      continue;
    }
    std::size_t end = i;
    while (end < path.size() && is_digit(path[end])) ++end;
    if (end < path.size() && is_word(path[end])) {
      folded += path.substr(i, end - i);
    } else {
      folded += '*';
    }
    i = end;
  }
  return folded;
}

}  // namespace ridgeline::comparison
