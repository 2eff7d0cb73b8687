#include "execution/step_recording.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "execution/event_records.h"
#include "execution/stream_order.h"

namespace ridgeline::analyzer {

namespace {

using Index = RecordedStep::Index;

// A capture may claim any time; what is farther from the step than this is not of it.
constexpr std::int64_t kLongestNs = 1'000'000'000'000'000;

// The step after, where it follows at once.
const store::Step* next_step(const Model& model, const StepSummary& summary) {
  if (!summary.closed || summary.index + 1 >= model.steps.size()) return nullptr;
  const store::Step& next = model.steps[summary.index + 1].step;
  return next.process_id == summary.process_id ? &next : nullptr;
}

// A step that was found in the capture, not a window or a whole recording.
bool is_step(const Model& model, const RepresentativeStep& step) {
  return !step.whole_recording && step.summary.step_id != 0 && step.summary.index < model.steps.size();
}

class Recorder {
 public:
  Recorder(const Model& model, const RepresentativeStep& step)
      : model_(model), source_(step), process_id_(step.summary.process_id) {
    if (step.whole_recording && !step.launches.empty())
      process_id_ = model.launches.site(step.launches[0]).process_id;
  }

  std::optional<StepRecording> record() {
    RecordedStep& step = out_.step;
    step.start_ns = source_.window_start_ns;
    step.end_ns = source_.window_end_ns;
    for (const LaunchIndex i : source_.launches) add_launch(i);
    for (const std::size_t i : source_.memcpys) copies_.push_back(i);
    for (const std::size_t i : source_.memsets) sets_.push_back(i);
    if (is_step(model_, source_)) add_what_no_step_has();
    find_host_time();
    add_waits();
    for (const std::size_t i : copies_) {
      const std::size_t before = step.works.size();
      add_transfer(model_.memcpys[i]);
      const CopyKind kind = model_.memcpys[i].kind;
      if (step.works.size() > before &&
          (kind == CopyKind::host_to_device || kind == CopyKind::device_to_host))
        out_.host_copies.push_back({static_cast<Index>(before), kind, i});
    }
    for (const std::size_t i : sets_) add_transfer(model_.memsets[i]);
    if (step.works.empty() || !times_are_near()) return std::nullopt;
    add_order();
    find_first();
    std::sort(out_.launches.begin(), out_.launches.end(),
              [](const auto& a, const auto& b) { return a.launch < b.launch; });
    return std::move(out_);
  }

 private:
  std::uint32_t stream(store::Id device_id, std::int64_t context_id, std::int64_t stream_id) {
    const auto [known, fresh] =
        streams_.try_emplace({device_id, context_id, stream_id}, static_cast<std::uint32_t>(streams_.size()));
    if (fresh) ordered_.streams.push_back({context_id, std::nullopt});
    return known->second;
  }

  void add_launch(LaunchIndex i) {
    const Launches::Row& row = model_.launches.row(i);
    if (!has_time(row)) return;
    const store::Launch& site = model_.launches.site(i);
    RecordedStep::Work work{row.start_ns,
                            row.end_ns,
                            stream(site.device_id, site.context_id, site.stream_id),
                            RecordedStep::kNone,
                            RecordedStep::kNone,
                            site.graph_id.has_value(),
                            0};
    if (row.host_start_ns != Launches::Row::kAbsent) {
      work.call = call_of(row, site);
      ++out_.launches_with_call;
    }
    out_.launches.push_back({i, static_cast<Index>(out_.step.works.size())});
    out_.step.works.push_back(work);
    ordered_.works.push_back({row.correlation_id, work.stream, site.graph_node_id});
  }

  // Nodes of a graph share the call that launched it.
  Index call_of(const Launches::Row& row, const store::Launch& site) {
    const auto [known, fresh] =
        call_of_correlation_.try_emplace(row.correlation_id, static_cast<Index>(out_.step.calls.size()));
    if (fresh) {
      const std::int64_t end_ns =
          row.host_end_ns == Launches::Row::kAbsent ? row.host_start_ns : row.host_end_ns;
      out_.step.calls.push_back(
          {row.host_start_ns, std::max(row.host_start_ns, end_ns), site.thread_id.value_or(0), false});
    }
    return known->second;
  }

  // Launched between steps, and running in the time of this one: it is part of what repeats.
  void add_what_no_step_has() {
    const auto in_window = [&](const auto& row) {
      return row.start_ns >= source_.window_start_ns && row.start_ns < source_.window_end_ns;
    };
    const Launches::Range near =
        model_.launches.near(process_id_, source_.window_start_ns, source_.window_end_ns);
    for (LaunchIndex i = near.first; i < near.last; ++i) {
      if (model_.launches.row(i).step == 0 && in_window(model_.launches.row(i))) add_launch(i);
    }
    const auto add = [&](const auto& rows, std::vector<std::size_t>& into) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].process_id == process_id_ && !rows[i].step_id && in_window(rows[i])) into.push_back(i);
      }
    };
    add(model_.memcpys, copies_);
    add(model_.memsets, sets_);
  }

  void find_host_time() {
    RecordedStep& step = out_.step;
    step.repeats = is_step(model_, source_) && next_step(model_, source_.summary) != nullptr;
    step.host_start_ns = step.start_ns;
    step.host_end_ns = step.end_ns;
    if (const auto time = host_time_of(model_, source_)) {
      std::tie(step.host_start_ns, step.host_end_ns) = *time;
    } else if (!step.calls.empty()) {
      const auto earliest =
          std::min_element(step.calls.begin(), step.calls.end(),
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
      step.host_start_ns = earliest->start_ns;
      step.host_end_ns = earliest->start_ns + (step.end_ns - step.start_ns);
    }
  }

  void add_waits() {
    RecordedStep& step = out_.step;
    out_.waits = std::any_of(model_.recording_windows.begin(), model_.recording_windows.end(),
                             [&](const store::RecordingWindow& window) {
                               return window.synchronisation && window.process_id == process_id_;
                             });
    std::set<std::int64_t> threads;
    for (const RecordedStep::Call& call : step.calls) threads.insert(call.thread_id);
    for (const store::Synchronisation& wait : model_.synchronisations) {
      if (wait.process_id != process_id_ || !threads.contains(wait.thread_id)) continue;
      if (wait.start_ns < step.host_start_ns || wait.start_ns >= step.host_end_ns) continue;
      const auto place = static_cast<Index>(step.calls.size());
      if (!call_of_correlation_.try_emplace(wait.correlation_id, place).second) continue;
      step.calls.push_back(
          {wait.start_ns, wait.end_ns(), wait.thread_id, true, wait.call == SynchronisationCall::device});
      out_.host_waits.push_back({place, wait.call});
    }
    for (const auto& [correlation_id, call] : call_of_correlation_)
      by_correlation_.push_back({correlation_id, call});
    std::sort(by_correlation_.begin(), by_correlation_.end());
  }

  template <typename Row>
  void add_transfer(const Row& row) {
    if (row.start_ns <= 0 || row.end_ns < row.start_ns) return;
    RecordedStep::Work work{row.start_ns,
                            row.end_ns,
                            stream(row.device_id, row.context_id, row.stream_id),
                            RecordedStep::kNone,
                            RecordedStep::kNone,
                            false,
                            0};
    // Correlation ids count the calls of a process.
    const auto after = std::upper_bound(by_correlation_.begin(), by_correlation_.end(),
                                        std::pair(row.correlation_id, RecordedStep::kNone));
    if (after != by_correlation_.begin()) {
      const auto& [correlation_id, call] = *std::prev(after);
      if (correlation_id == row.correlation_id) {
        work.call = call;
      } else if (out_.step.calls[call].end_ns <= row.start_ns) {
        work.after = call;
      }
    } else if (out_.step.repeats && !by_correlation_.empty()) {
      work.after = by_correlation_.back().second;
      work.after_back = 1;
    }
    out_.step.works.push_back(work);
    ordered_.works.push_back({row.correlation_id, work.stream, row.graph_node_id});
  }

  // What orders streams and nodes, as far as the capture has it.
  void add_order() {
    RecordedStep& step = out_.step;
    out_.order = std::any_of(model_.recording_windows.begin(), model_.recording_windows.end(),
                             [&](const store::RecordingWindow& window) {
                               return window.stream_calls && window.process_id == process_id_;
                             });
    if (!out_.order) return;
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> by_id;
    for (const auto& [key, index] : streams_) by_id[{std::get<1>(key), std::get<2>(key)}] = index;
    for (const store::Stream& row : model_.streams) {
      const auto known = by_id.find({row.context_id, row.stream_id});
      if (row.process_id == process_id_ && known != by_id.end())
        ordered_.streams[known->second].kind = row.kind;
    }
    const EventRecords records(model_.ordering_calls, process_id_, step.host_start_ns, step.host_end_ns);
    for (const store::OrderingCall& row : model_.ordering_calls) {
      if (row.process_id != process_id_ || row.time_ns < step.host_start_ns ||
          row.time_ns >= step.host_end_ns)
        continue;
      OrderedStep::Call call{row.correlation_id, row.call, std::nullopt, row.event, row.source_id};
      if (const auto known = by_id.find({row.context_id.value_or(0), row.stream_id.value_or(0)});
          row.stream_id && known != by_id.end())
        call.stream = known->second;
      if (const auto earlier =
              row.source_id && step.repeats ? records.counterpart(*row.source_id) : std::nullopt) {
        call.source_id = earlier->correlation_id;
        call.source_back = earlier->back;
      }
      ordered_.calls.push_back(call);
    }
    for (const store::GraphNode& row : model_.graph_nodes) {
      if (row.process_id == process_id_) ordered_.nodes[row.node_id] = {row.kind, row.parent_node_id};
    }
    for (const store::GraphEdge& row : model_.graph_edges) {
      if (row.process_id == process_id_) ordered_.edges.push_back({row.from_node_id, row.to_node_id});
    }
    ordered_.repeats = step.repeats;
    StepOrder order = order_of(ordered_);
    step.dependencies = std::move(order.dependencies);
    step.dependencies_recorded = order.complete && model_.stream_calls_left_out == 0;
    for (Index i = 0; i < step.works.size(); ++i)
      step.works[i].order_known = order.graph_known[i] && step.works[i].call != RecordedStep::kNone;
    for (auto& [correlation_id, awaited] : order.awaited) {
      if (const auto call = call_of_correlation_.find(correlation_id); call != call_of_correlation_.end())
        step.calls[call->second].awaited = std::move(awaited);
    }
  }

  [[nodiscard]] bool times_are_near() const {
    const RecordedStep& step = out_.step;
    if (step.start_ns < 0 || step.start_ns > INT64_MAX - 3 * kLongestNs) return false;
    const auto near = [&](std::int64_t time_ns) {
      return time_ns >= step.start_ns - kLongestNs && time_ns <= step.start_ns + kLongestNs;
    };
    const auto all_near = [&](const auto& rows) {
      return std::all_of(rows.begin(), rows.end(),
                         [&](const auto& row) { return near(row.start_ns) && near(row.end_ns); });
    };
    return near(step.end_ns) && near(step.host_start_ns) && near(step.host_end_ns) && all_near(step.calls) &&
           all_near(step.works);
  }

  // What the step's time is counted from: its first kernel, or its first copy.
  void find_first() {
    RecordedStep& step = out_.step;
    const auto earlier = [&](Index a, Index b) { return step.works[a].start_ns < step.works[b].start_ns; };
    if (!out_.launches.empty()) {
      step.first =
          std::min_element(out_.launches.begin(), out_.launches.end(), [&](const auto& a, const auto& b) {
            return earlier(a.work, b.work);
          })->work;
      return;
    }
    for (Index i = 1; i < step.works.size(); ++i) {
      if (earlier(i, step.first)) step.first = i;
    }
  }

  const Model& model_;
  const RepresentativeStep& source_;
  store::Id process_id_;
  StepRecording out_;
  std::map<std::tuple<store::Id, std::int64_t, std::int64_t>, std::uint32_t> streams_;
  std::unordered_map<std::int64_t, Index> call_of_correlation_;
  std::vector<std::pair<std::int64_t, Index>> by_correlation_;
  std::vector<std::size_t> copies_, sets_;
  OrderedStep ordered_;
};

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> host_time_of(const Model& model,
                                                                  const RepresentativeStep& step) {
  if (!is_step(model, step)) return std::nullopt;
  const std::optional<std::int64_t> start_ns = model.steps[step.summary.index].step.host_start_ns;
  const store::Step* next = next_step(model, step.summary);
  if (!start_ns || next == nullptr || !next->host_start_ns || *next->host_start_ns <= *start_ns)
    return std::nullopt;
  return std::pair(*start_ns, *next->host_start_ns);
}

std::optional<StepRecording> record_step(const Model& model, const RepresentativeStep& step) {
  return Recorder(model, step).record();
}

}  // namespace ridgeline::analyzer
