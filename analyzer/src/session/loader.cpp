#include "session/loader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "execution/step_recording.h"
#include "model/measured_steps.h"
#include "model/query_failed.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/store/collectives.h"

namespace ridgeline::analyzer {

namespace {

// Peers with more launches than this in all are known by their stored sums, not launch by launch.
constexpr std::int64_t kMaxPeerLaunches = 100'000;
constexpr std::int64_t kRowsBetweenReports = 65'536;
constexpr std::int64_t kMaxReserved = 16'000'000;

// Counts rows, and tells how far it has come.
class Counter {
 public:
  Counter(const QueryOptions& ask, Stage stage, std::int64_t& count)
      : ask_(ask), stage_(stage), count_(count) {}
  void row() {
    ++count_;
    if (++done_ % kRowsBetweenReports == 0 && ask_.progress) ask_.progress({stage_, done_, 0});
  }

 private:
  const QueryOptions& ask_;
  Stage stage_;
  std::int64_t& count_;
  std::int64_t done_ = 0;
};

void require_whole(bool whole) {
  if (!whole) throw QueryFailed{{ErrorKind::cancelled, "the question was cancelled"}};
}

bool is_measured(const store::Step& step) {
  return step.phase == Phase::sample || step.phase == Phase::replay || step.phase == Phase::cold ||
         step.phase == Phase::flops;
}

std::int64_t launches_of(const ModelStep& step) {
  return step.total ? step.total->launches : static_cast<std::int64_t>(step.launches.size());
}

bool overlaps(const store::StepTotal& total, const TimeWindow& window) {
  return total.kernel_start_ns > 0 && total.kernel_end_ns > window.start_ns &&
         total.kernel_start_ns < window.end_ns;
}

bool has_launches_outside_steps(store::Id process_id, const Model& model) {
  std::int64_t in_steps = 0;
  for (const ModelStep& step : model.steps) {
    if (step.step.process_id == process_id) in_steps += launches_of(step);
  }
  std::int64_t in_process = 0;
  for (const store::ProcessTotal& total : model.process_totals) {
    if (total.process_id == process_id) in_process = total.launches;
  }
  return in_process > in_steps;
}

// Fewer launches in the tables than the recording counted.
void add_lost_launches(Model& model) {
  std::map<store::Id, std::int64_t> stored;
  for (const store::ProcessTotal& total : model.process_totals) stored[total.process_id] = total.launches;
  for (const store::Completeness& row : model.completeness) {
    const std::int64_t recorded = row.kernel_records + row.graph_kernel_records;
    if (stored[row.process_id] < recorded)
      model.lost_rows.push_back({"launch", stored[row.process_id], recorded});
  }
}

// What was loaded of a step must be what its sums were made of.
void require_launches(const std::vector<store::Id>& steps, Model& model) {
  std::unordered_map<store::Id, std::int64_t> loaded;
  for (const store::Id id : steps) loaded.emplace(id, 0);
  for (std::size_t at = 1; at < model.launches.step_ids().size(); ++at) {
    const auto step = loaded.find(model.launches.step_ids()[at]);
    if (step != loaded.end()) step->second = static_cast<std::int64_t>(model.launches.step_sizes()[at]);
  }
  for (const ModelStep& step : model.steps) {
    const auto found = loaded.find(step.step.id);
    if (found == loaded.end() || !step.total || step.total->launches == found->second) continue;
    model.lost_rows.push_back(
        {"launch of step " + std::to_string(step.step.step_index), found->second, step.total->launches});
  }
}

}  // namespace

Launches::SiteIndex Loader::Sites::of(store::Id id, const store::Activity& activity, Launches& launches) {
  constexpr Launches::SiteIndex kUnknown = UINT32_MAX;
  constexpr store::Id kMaxIndexedId = 1'000'000;
  if (id >= 0 && id < kMaxIndexedId) {
    const auto place = static_cast<std::size_t>(id);
    if (place >= small_.size()) small_.resize(std::max(place + 1, 2 * small_.size()), kUnknown);
    if (small_[place] == kUnknown) small_[place] = launches.add_site(activity.launch_site(id));
    return small_[place];
  }
  const auto [place, fresh] = others_.try_emplace(id);
  if (fresh) place->second = launches.add_site(activity.launch_site(id));
  return place->second;
}

Loader::Loader(const store::Capture& capture, ReadCounts& counts)
    : capture_(capture), activity_(capture), counts_(counts) {}

Model Loader::overview(const QueryOptions& ask) {
  report_progress(ask, Stage::facts);
  ++counts_.queries;
  Model model = load_recording(capture_);
  report_progress(ask, Stage::steps, model.steps.size());
  ++counts_.queries;
  const std::vector<store::StepTotal> totals = activity_.step_totals();
  for (ModelStep& step : model.steps) {
    const auto found =
        std::lower_bound(totals.begin(), totals.end(), step.step.id,
                         [](const store::StepTotal& total, store::Id id) { return total.step_id < id; });
    step.total = found != totals.end() && found->step_id == step.step.id ? *found : store::StepTotal{};
  }
  model.process_totals = activity_.process_totals();
  add_lost_launches(model);
  require_sums_fit(model);  // those of the steps too
  return model;
}

void Loader::read_launches(const store::ActivityFilter& filter, const QueryOptions& ask,
                           const store::Activity::Visit<store::LaunchRow>& visit) {
  ++counts_.queries;
  require_whole(activity_.for_each_launch_row(filter, store::LaunchColumns::all, visit, ask.stop));
}

void Loader::add_launches(const store::ActivityFilter& filter, const QueryOptions& ask, Model& model) {
  Counter counter(ask, Stage::launches, counts_.launches);
  read_launches(filter, ask, [&](const store::LaunchRow& launch) {
    counter.row();
    model.launches.add(launch, sites_.of(launch.site_id, activity_, model.launches));
  });
}

// The end of the step before may reach into a step's time, and work outside of steps may lie in it.
void Loader::add_overlapping(const Selection& chosen, const std::vector<store::Id>& loaded,
                             store::Id process_id, const QueryOptions& ask, Model& model) {
  const std::unordered_set<store::Id> known(loaded.begin(), loaded.end());
  const bool outside_steps = has_launches_outside_steps(process_id, model);
  Counter counter(ask, Stage::launches, counts_.launches);
  std::unordered_set<store::Id> added;  // parts may overlap
  const auto add = [&](const store::LaunchRow& launch) {
    counter.row();
    if (launch.step_id && known.contains(*launch.step_id)) return;
    if (chosen.parts.size() > 1 && !added.insert(launch.id).second) return;
    model.launches.add(launch, sites_.of(launch.site_id, activity_, model.launches));
  };
  for (const Selection::Part& part : chosen.parts) {
    const TimeWindow window{part.step.window_start_ns, part.step.window_end_ns};
    if (window.end_ns <= window.start_ns) continue;
    // What the step's end waited for is the next step's first launch.
    read_launches({process_id, {}, store::TimeSpan{window.end_ns, window.end_ns + 1}}, ask,
                  [&](const store::LaunchRow& launch) {
                    if (launch.start_ns == window.end_ns) add(launch);
                  });
    store::ActivityFilter filter{process_id, {}, store::TimeSpan{window.start_ns, window.end_ns}};
    if (!outside_steps) {
      filter.step_ids.emplace();
      for (const ModelStep& step : model.steps) {
        if (step.step.process_id == process_id && step.total && !known.contains(step.step.id) &&
            overlaps(*step.total, window))
          filter.step_ids->push_back(step.step.id);
      }
      if (filter.step_ids->empty()) continue;
    }
    read_launches(filter, ask, add);
  }
}

// A window of time may end within a gap: what ended that is, on each device, the first launch behind the window. It is
// of a step that lies round the window's end, or of the first one behind that.
void Loader::add_behind(const TimeWindow& window, const std::vector<store::Id>& loaded, store::Id process_id,
                        const QueryOptions& ask, Model& model) {
  const std::unordered_set<store::Id> known(loaded.begin(), loaded.end());
  const ModelStep* next = nullptr;
  std::vector<store::Id> around;
  for (const ModelStep& step : model.steps) {
    if (step.step.process_id != process_id || !step.total || step.total->kernel_end_ns <= window.end_ns)
      continue;
    if (step.total->kernel_start_ns <= window.end_ns) {
      around.push_back(step.step.id);
    } else if (next == nullptr || step.total->kernel_start_ns < next->total->kernel_start_ns) {
      next = &step;
    }
  }
  store::ActivityFilter filter{
      process_id, {}, store::TimeSpan{window.end_ns, std::numeric_limits<std::int64_t>::max()}};
  if (has_launches_outside_steps(process_id, model)) {
    if (next != nullptr) filter.time->end_ns = next->total->kernel_start_ns + 1;
  } else {
    if (next != nullptr) around.push_back(next->step.id);
    std::erase_if(around, [&](store::Id id) { return known.contains(id); });
    if (around.empty()) return;
    filter.step_ids = std::move(around);
  }
  std::map<store::Id, store::LaunchRow> first;  // of each device
  Counter counter(ask, Stage::launches, counts_.launches);
  read_launches(filter, ask, [&](const store::LaunchRow& launch) {
    counter.row();
    if (launch.start_ns <= window.end_ns || (launch.step_id && known.contains(*launch.step_id))) return;
    const auto site = sites_.of(launch.site_id, activity_, model.launches);
    const auto [found, added] = first.try_emplace(model.launches.sites()[site].device_id, launch);
    if (!added && launch.start_ns < found->second.start_ns) found->second = launch;
  });
  for (const auto& [device, launch] : first)
    model.launches.add(launch, sites_.of(launch.site_id, activity_, model.launches));
}

void Loader::add_waits(store::Id process_id, TimeWindow time, Model& model) {
  ++counts_.queries;
  for (const store::Synchronisation& wait : capture_.synchronisations(process_id, time.start_ns, time.end_ns))
    model.synchronisations.push_back(wait);
}

void Loader::add_order(store::Id process_id, const Selection& chosen, Model& model) {
  const store::Order order(capture_);
  if (!order.recorded()) return;
  counts_.queries += 2;
  model.streams = order.streams(process_id);
  for (const store::LeftOutCount& row : order.left_out()) {
    if (row.process_id == process_id && row.what == LeftOut::stream_calls)
      model.stream_calls_left_out += row.count;
  }
  std::unordered_set<store::Id> steps;
  bool all = false;
  for (const Selection::Part& part : chosen.parts) {
    all = all || part.step.whole_recording || part.step.summary.step_id == 0;
    steps.insert(part.step.summary.step_id);
  }
  std::vector<bool> chosen_step(model.launches.step_ids().size(), all);
  for (std::size_t i = 1; i < chosen_step.size(); ++i)
    chosen_step[i] = all || steps.contains(model.launches.step_ids()[i]);
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  store::CallSpan span{kNone, -kNone};
  bool graphs = false;
  for (std::size_t i = 0; i < model.launches.size(); ++i) {
    const Launches::Row& row = model.launches.row(i);
    if (!chosen_step[row.step]) continue;
    span.first = std::min(span.first, row.correlation_id);
    span.last = std::max(span.last, row.correlation_id);
    graphs = graphs || model.launches.site(i).graph_node_id.has_value();
  }
  if (span.first > span.last) return;
  // What a step begins and ends with may be calls before its first launch and after its last.
  constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
  span.first = std::clamp(span.first, -kFarthest, kFarthest);
  span.last = std::clamp(span.last, -kFarthest, kFarthest);
  const std::int64_t margin = (span.last - span.first) / 2 + 4096;
  model.ordering_calls = order.calls(process_id, {span.first - margin, span.last + margin});
  if (!graphs) return;
  counts_.queries += 2;
  model.graph_nodes = order.graph_nodes(process_id);
  model.graph_edges = order.graph_edges(process_id);
}

void Loader::add_copies(const store::ActivityFilter& filter, const QueryOptions& ask, Model& model) {
  counts_.queries += 2;
  Counter counter(ask, Stage::launches, counts_.copies);
  require_whole(activity_.for_each_memcpy(
      filter,
      [&](const store::Memcpy& row) {
        counter.row();
        model.memcpys.push_back(row);
      },
      ask.stop));
  require_whole(activity_.for_each_memset(
      filter,
      [&](const store::Memset& row) {
        counter.row();
        model.memsets.push_back(row);
      },
      ask.stop));
}

void Loader::add_collectives(Model& model) {
  store::Id first = std::numeric_limits<store::Id>::max(), last = 0;
  for (std::size_t i = 0; i < model.launches.size(); ++i) {
    if (model.kernel_class(model.launches.site(i)) != KernelClass::communication) continue;
    first = std::min(first, model.launches.row(i).id);
    last = std::max(last, model.launches.row(i).id);
  }
  if (last == 0) return;
  ++counts_.queries;
  model.collective_traffic = store::collective_traffic(capture_, first, last);
}

void Loader::add_metrics(const store::ActivityFilter& filter, const QueryOptions& ask, Model& model) {
  report_progress(ask, Stage::counters);
  ++counts_.queries;
  Counter counter(ask, Stage::counters, counts_.launch_metrics);
  require_whole(activity_.for_each_launch_metric(
      filter,
      [&](const store::LaunchMetric& row) {
        counter.row();
        model.launch_metrics.push_back(row);
      },
      ask.stop));
}

void Loader::add_ranges(const store::ActivityFilter& filter, const std::string& pattern,
                        const QueryOptions& ask, Model& model) {
  report_progress(ask, Stage::ranges);
  ++counts_.queries;
  Counter counter(ask, Stage::ranges, counts_.ranges);
  std::unordered_set<store::Id> annotated;
  require_whole(activity_.for_each_annotation(
      filter,
      [&](const store::Annotation& row) {
        counter.row();
        annotated.insert(row.nvtx_range_id);
        model.annotations.push_back(row);
      },
      ask.stop));
  std::unordered_set<store::Id> loading;  // names of ranges
  for (const auto& [id, text] : model.strings) {
    if (text.find(kPathSeparator) == std::string::npos && loads_data(text)) loading.insert(id);
  }
  // Others answer nothing here.
  if (annotated.empty() && pattern.empty() && loading.empty()) return;
  const RangePattern meant(pattern);
  const auto is_meant = [&](const store::NvtxRange& row) {
    const std::string_view path = model.string(row.path_id);
    return meant.outermost(path) == path;
  };
  ++counts_.queries;
  require_whole(activity_.for_each_range(
      filter,
      [&](const store::NvtxRange& row) {
        counter.row();
        if (annotated.contains(row.id) || loading.contains(row.name_id) || is_meant(row))
          model.nvtx_ranges.push_back(row);
      },
      ask.stop));
}

// How much a launch's duration varies is known from the same launch in the peers.
void Loader::add_peers(const Selection& chosen, std::vector<store::Id>& steps, const QueryOptions& ask,
                       Model& model) {
  const RepresentativeStep& step = chosen.steps.representative;
  if (step.peers.empty()) return;
  std::int64_t launches = 0;
  for (const StepIndex peer : step.peers) launches += launches_of(model.steps[peer]);
  const auto add = [&](store::Id id) {
    if (std::find(steps.begin(), steps.end(), id) == steps.end()) steps.push_back(id);
  };
  const ModelStep& first = model.steps[step.peers.front()];
  std::vector<store::OrdinalSum> sums;
  if (launches > kMaxPeerLaunches && step.peers.size() > 1) {
    ++counts_.queries;
    sums = activity_.ordinal_sums({first.step.process_id, first.step.phase, first.total->sequence_hash});
  }
  if (sums.empty()) {
    for (const StepIndex peer : step.peers) add(model.steps[peer].step.id);
    return;
  }
  // The stored sums are over all steps of the sequence that are ok, the peers without those that are open.
  std::vector<store::Id> others;
  for (StepIndex i = 0; i < model.steps.size(); ++i) {
    const ModelStep& other = model.steps[i];
    if (other.step.process_id == first.step.process_id && other.step.phase == first.step.phase &&
        other.step.status == StepStatus::ok && other.total->sequence_hash == first.total->sequence_hash &&
        std::find(step.peers.begin(), step.peers.end(), i) == step.peers.end())
      others.push_back(other.step.id);
  }
  if (!others.empty()) {
    ++counts_.queries;
    Counter counter(ask, Stage::launches, counts_.launches);
    const store::ActivityFilter filter{{}, others, {}};
    require_whole(activity_.for_each_launch_row(
        filter, store::LaunchColumns::times,
        [&](const store::LaunchRow& launch) {
          counter.row();
          if (!launch.ordinal_in_step || launch.start_ns <= 0 || launch.end_ns < launch.start_ns) return;
          const auto sum = std::lower_bound(
              sums.begin(), sums.end(), *launch.ordinal_in_step,
              [](const store::OrdinalSum& s, std::int64_t ordinal) { return s.ordinal_in_step < ordinal; });
          if (sum == sums.end() || sum->ordinal_in_step != *launch.ordinal_in_step) return;
          const std::int64_t ns = launch.end_ns - launch.start_ns;
          --sum->count;
          sum->sum_ns -= ns;
          sum->sum_of_squares_ns2 -= static_cast<double>(ns) * static_cast<double>(ns);
        },
        ask.stop));
  }
  model.peer_sums = std::move(sums);
  model.peer_sequence = first.total->sequence_hash;
}

Model Loader::slice(const Model& overview, const Selection& chosen, const Scope& scope,
                    const QueryOptions& ask) {
  Model model = overview;
  sites_ = {};
  const store::Id process_id = chosen.steps.process_id;
  const RepresentativeStep& representative = chosen.steps.representative;
  const bool by_window =
      scope.window && !representative.whole_recording && scope.steps.kind != StepSelection::Kind::listed &&
      scope.steps.kind != StepSelection::Kind::phase && representative.summary.step_id == 0;
  report_progress(ask, Stage::launches);
  store::ActivityFilter ranges{process_id, {}, {}};
  if (representative.whole_recording) {
    add_launches({process_id, {}, {}}, ask, model);
    add_copies({process_id, {}, {}}, ask, model);
    add_waits(process_id, {0, std::numeric_limits<std::int64_t>::max()}, model);
    // Of launches that no step is counted for, too: counters of their own need no step to be joined by.
    add_metrics({process_id, {}, {}}, ask, model);
    model.graph_metrics = capture_.graph_metrics();
  } else {
    std::vector<store::Id> steps;
    if (!by_window) {
      for (const Selection::Part& part : chosen.parts) steps.push_back(part.step.summary.step_id);
    }
    ranges.step_ids = steps;
    std::vector<store::Id> measured;
    for (const ModelStep& step : model.steps) {
      if (step.step.process_id == process_id &&
          (is_measured(step.step) || has_joined_counters(step.step) || is_sampled_along(model, step.step)))
        measured.push_back(step.step.id);
    }
    for (const store::Id id : measured) {
      if (std::find(steps.begin(), steps.end(), id) == steps.end()) steps.push_back(id);
    }
    add_peers(chosen, steps, ask, model);
    std::int64_t expected = 0;
    for (const ModelStep& step : model.steps) {
      if (std::find(steps.begin(), steps.end(), step.step.id) != steps.end()) expected += launches_of(step);
    }
    // A damaged capture may claim any number.
    model.launches.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(expected, 0, kMaxReserved)));
    add_launches({process_id, steps, {}}, ask, model);
    require_launches(steps, model);
    add_overlapping(chosen, steps, process_id, ask, model);
    if (representative.scope == ScopeKind::window)
      add_behind({representative.window_start_ns, representative.window_end_ns}, steps, process_id, ask,
                 model);
    TimeWindow time{std::numeric_limits<std::int64_t>::max(), 0};
    for (const Selection::Part& part : chosen.parts) {
      time.start_ns = std::min(time.start_ns, part.step.window_start_ns);
      time.end_ns = std::max(time.end_ns, part.step.window_end_ns);
      // Of a step all of it, though a part may be asked about: it is simulated as a whole.
      const StepSummary& summary = part.step.summary;
      if (summary.step_id == 0 || summary.gpu_duration_ns <= 0) continue;
      time.start_ns = std::min(time.start_ns, summary.gpu_start_ns);
      time.end_ns = std::max(time.end_ns, summary.gpu_start_ns + summary.gpu_duration_ns);
    }
    // In the step's time on the GPU, and while the host made its calls, which may be long before.
    for (const Selection::Part& part : chosen.parts) {
      TimeWindow waits{part.step.window_start_ns, part.step.window_end_ns};
      if (const auto host = host_time_of(model, part.step)) {
        waits.start_ns = std::min(waits.start_ns, host->first);
        waits.end_ns = std::max(waits.end_ns, host->second);
      }
      add_waits(process_id, waits, model);
    }
    // Copies for a step may run before it, and one may end the gap at the end of a window.
    std::int64_t copies_end_ns = time.end_ns;
    if (representative.scope == ScopeKind::window) {
      std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
      for (const Launches::Row& launch : model.launches.rows()) {
        if (launch.start_ns >= time.end_ns) next_ns = std::min(next_ns, launch.start_ns);
      }
      copies_end_ns = next_ns;
    }
    add_copies({process_id, {}, store::TimeSpan{time.start_ns, copies_end_ns}}, ask, model);
    if (by_window) {
      std::unordered_set<store::Id> touched;
      for (const Launches::Row& launch : model.launches.rows()) {
        if (launch.step != 0 && launch.start_ns >= time.start_ns && launch.start_ns < time.end_ns)
          touched.insert(model.launches.step_ids()[launch.step]);
      }
      ranges.step_ids = std::vector<store::Id>(touched.begin(), touched.end());
    }
    // Launches whose time is not known may still have counters: no time in this filter, unless there are no steps.
    const bool no_steps = model.steps.empty();
    add_metrics({process_id, no_steps ? std::nullopt : std::optional(measured),
                 no_steps ? std::optional(store::TimeSpan{time.start_ns, time.end_ns}) : std::nullopt},
                ask, model);
    model.graph_metrics = capture_.graph_metrics();
  }
  add_order(process_id, chosen, model);
  add_collectives(model);
  add_ranges(ranges, scope.steps.kind == StepSelection::Kind::any ? scope.range : std::string(), ask, model);
  if (!model.stall_windows.empty()) {
    model.stall_samples = capture_.stall_samples();
    model.source_lines = capture_.source_lines();
    counts_.queries += 2;
  }
  require_sums_fit(model);
  model.index();
  return model;
}

}  // namespace ridgeline::analyzer
