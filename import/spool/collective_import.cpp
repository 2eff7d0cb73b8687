#include "spool/collective_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ridgeline/base/collective_name.h"
#include "ridgeline/store/collectives.h"

namespace ridgeline::import {

namespace {

// A payload of NCCL's is a few numbers.
constexpr std::size_t kLongestNcclPayloadBytes = 64;
constexpr std::size_t kMaxCallsOfGroup = 4096;
constexpr std::int64_t kMaxRanksOfGroup = 1'000'000;

// Its kernels for buffers that all ranks have at the same places: none of its algorithms and protocols.
constexpr std::string_view kSymmetricKernel = "ncclSym";

// These hand over the message's size of one rank; the array is as many times as long as the group has ranks.
bool message_is_a_part(CollectiveFunction function) {
  return function == CollectiveFunction::all_gather || function == CollectiveFunction::reduce_scatter ||
         function == CollectiveFunction::all_to_all;
}

// Behind the size these have nothing; the others a root, a peer or an operator.
bool ends_with_the_size(CollectiveFunction function) {
  return function == CollectiveFunction::all_gather || function == CollectiveFunction::all_to_all;
}

// Calls of all ranks of a group.
bool is_numbered(CollectiveFunction function) {
  return function != CollectiveFunction::send_receive;
}

std::optional<std::int64_t> whole_array(std::int64_t part_bytes, std::optional<std::int64_t> ranks) {
  if (!ranks || part_bytes > INT64_MAX / *ranks) return std::nullopt;
  return part_bytes * *ranks;
}

}  // namespace

void RecordedCollectives::know_paths() {
  for (const auto& [id, path] : spool_.paths) {
    if (reader_.string_or(path.domain, "") != kNcclDomain) continue;
    const std::string_view name = reader_.string_or(path.name, "");
    NcclPath known;
    if (name == "ncclGroupStart") {
      known.kind = PathKind::group_begins;
    } else if (name == "ncclGroupEnd") {
      known.kind = PathKind::group_ends;
    }
    if (const NcclGroupCall* call = group_call_of(name))
      known = {.kind = PathKind::of_group, .of_group = call};
    for (const std::string_view maker : kNcclUnnamedMakers) {
      if (name == maker) known.kind = PathKind::makes_groups;
    }
    for (const std::string_view call : kNcclOtherCalls) {
      if (name == call) known.kind = PathKind::other_call;
    }
    if (const auto function = nccl_function_of(name)) known = {.kind = PathKind::call, .function = *function};
    if (known.kind != PathKind::other) paths_[id] = known;
  }
}

void RecordedCollectives::scan() {
  know_paths();
  if (paths_.empty()) return;
  read_payloads();
  read_events();
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  for (const Event& event : events_) {
    if (event.is_launch) {
      on_launch(event);
    } else {
      on_range_end(event);
    }
  }
  events_ = {};
  payloads_ = {};
  know_groups_of_all_ranks();
  resolve_graphs();
  if (copies_.has_calls()) read_launches_beside_copies();
  know_what_is_left_out();
}

void RecordedCollectives::read_payloads() {
  visit_records(reader_, {spool::RecordType::nvtx_payload}, {}, [this](const spool::RecordView& view) {
    const auto* payload = view.as<spool::NvtxPayloadRecord>();
    if (payload != nullptr && payload->position == 0 && payload->length_bytes <= kLongestNcclPayloadBytes)
      payloads_[payload->range_id] = std::string(view.trailing_bytes());
  });
}

void RecordedCollectives::read_events() {
  using spool::RecordType;
  visit_records(reader_,
                {RecordType::launch, RecordType::nvtx_range, RecordType::graph_node,
                 RecordType::collective_detail, RecordType::step_start},
                {}, [this](const spool::RecordView& view) {
                  if (const auto* launch = view.as<spool::LaunchRecord>()) {
                    add_launch(*launch);
                  } else if (const auto* range = view.as<spool::NvtxRangeRecord>()) {
                    ordinals_.range_recorded(range->range_id);
                    if (!paths_.contains(range->path_id)) return;
                    Event event;
                    event.time_ns = range->end_ns;
                    event.range = range->range_id;
                    event.start_ns = range->start_ns;
                    event.thread = range->thread_id;
                    event.path = range->path_id;
                    event.graph = graphs_made_;
                    events_.push_back(event);
                  } else if (const auto* step = view.as<spool::StepStartRecord>()) {
                    if ((step->header.flags & spool::kStepAlone) != 0)
                      ordinals_.left_out_from(step->start_ns);
                  } else if (const auto* node = view.as<spool::GraphNodeRecord>()) {
                    if (node->graph != last_graph_) ++graphs_made_;
                    last_graph_ = node->graph;
                    ordinals_.graph_made();
                  } else if (const auto* detail = view.as<spool::CollectiveDetailRecord>()) {
                    details_.add(*detail);
                  }
                });
}

void RecordedCollectives::add_launch(const spool::LaunchRecord& launch) {
  if ((launch.header.flags & spool::kLaunchFailed) != 0) return;
  if ((launch.header.flags & spool::kLaunchIsGraph) != 0) {
    ordinals_.graph_launched(launch.correlation_id, launch.enter_ns);
    return;
  }
  if (!paths_.contains(launch.nvtx_path_id)) return;
  Event event;
  event.time_ns = launch.enter_ns;
  event.range = launch.nvtx_range_id;
  event.thread = launch.thread_id;
  event.path = launch.nvtx_path_id;
  event.correlation_id = launch.correlation_id;
  event.graph = graphs_made_;
  event.is_launch = true;
  event.captured = (launch.header.flags & spool::kLaunchCaptured) != 0;
  events_.push_back(event);
}

void RecordedCollectives::read_launches_beside_copies() {
  visit_records(reader_, {spool::RecordType::launch}, {}, [this](const spool::RecordView& view) {
    const auto* launch = view.as<spool::LaunchRecord>();
    if (launch == nullptr || (launch->header.flags & spool::kLaunchFailed) != 0) return;
    copies_.launched(launch->thread_id, launch->enter_ns, launch->correlation_id,
                     (launch->header.flags & spool::kLaunchCaptured) != 0);
  });
}

void RecordedCollectives::know_what_is_left_out() {
  for (const RecordedWindow& window : spool_.windows) {
    if (window.close_ns) ordinals_.left_out_from(*window.close_ns);
  }
  const auto& complete = spool_.completeness;
  if (!complete || complete->dropped_records > 0 || complete->spool_records_lost > 0 ||
      complete->strings_lost > 0)
    ordinals_.forget();
}

// What was captured since the last graph was made is in this one. Of graphs with the same calls it does not matter
// which one ran.
void RecordedCollectives::resolve_graphs() {
  for (const auto& [graph, captured] : captured_graphs_) {
    std::vector<Known> calls;
    for (const Launched& launched : captured) {
      if (const std::optional<Known> known = known_of(launched)) calls.push_back(*known);
    }
    const auto same = std::find_if(graphs_.begin(), graphs_.end(), [&](const std::vector<Known>& graph) {
      return std::equal(graph.begin(), graph.end(), calls.begin(), calls.end(),
                        [](const Known& a, const Known& b) { return a.call == b.call; });
    });
    if (same == graphs_.end()) {
      graphs_.push_back(std::move(calls));
      continue;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      (*same)[i].detail.keep_what_agrees(calls[i].detail);
      if ((*same)[i].calls != calls[i].calls) (*same)[i].calls = 0;
    }
  }
  captured_graphs_.clear();
}

void RecordedCollectives::on_launch(const Event& launch) {
  const NcclPath& path = paths_.at(launch.path);
  Launched launched;
  launched.range = launch.range;
  launched.correlation_id = launch.correlation_id;
  if (path.kind == PathKind::call) {
    launched.call = call_in(path.function, launch.range);
  } else if (path.kind == PathKind::group_ends) {
    const ThreadGroup& group = groups_of_threads_[launch.thread];
    launched.call = as_one(group.calls);
    launched.calls = group.ranges;
    launched.moves_messages = std::any_of(group.calls.begin(), group.calls.end(), [](const NcclCall& call) {
      return call.function == CollectiveFunction::send_receive ||
             call.function == CollectiveFunction::all_to_all;
    });
  } else {
    if (path.kind == PathKind::other_call) launch_of_other_call(launch);
    return;
  }
  calls_ = true;
  ++launches_of_range_[launched.range];
  if (launch.captured) {
    ordinals_.captured(launched.range);
    for (const std::uint64_t range : launched.calls) ordinals_.captured(range);
    captured_graphs_[launch.graph].push_back(std::move(launched));
  } else {
    launched_[launch.correlation_id] = std::move(launched);
  }
}

void RecordedCollectives::launch_of_other_call(const Event& launch) {
  of_other_calls_.insert(launch.correlation_id);
  ++launches_of_range_[launch.range];
  if (launch.captured) ordinals_.captured(launch.range);
}

void RecordedCollectives::on_range_end(const Event& range) {
  const NcclPath& path = paths_.at(range.path);
  ThreadGroup& group = groups_of_threads_[range.thread];
  switch (path.kind) {
    case PathKind::group_begins:
      ++group.depth;
      break;
    case PathKind::group_ends:
      group.depth = std::max(group.depth - 1, 0);
      if (group.depth > 0) break;
      if (!launches_of_range_.contains(range.range)) {
        for (std::size_t i = 0; i < group.calls.size(); ++i)
          without_kernel(range, group.calls[i], group.ranges[i]);
      }
      group.calls.clear();
      group.ranges.clear();
      break;
    case PathKind::call: {
      const NcclCall call = call_in(path.function, range.range);
      if (call.group && is_numbered(call.function))
        ordinals_.called(range.range, range.start_ns, *call.group);
      if (launches_of_range_.contains(range.range)) break;
      if (group.depth == 0) {
        without_kernel(range, call, range.range);
      } else if (group.calls.size() < kMaxCallsOfGroup) {
        group.calls.push_back(call);
        group.ranges.push_back(range.range);
      } else {
        ordinals_.forget();  // whether they are captured is not known of them
      }
      break;
    }
    case PathKind::other_call:
      note_other_call(range);
      break;
    case PathKind::of_group:
      note_group(*path.of_group, range.range);
      break;
    case PathKind::makes_groups:
      any_unnamed_ = true;
      break;
    case PathKind::other:
      break;
  }
}

// Versions before 2.25 do not have the communicator's hash in front of the size.
RecordedCollectives::NcclCall RecordedCollectives::call_in(CollectiveFunction function,
                                                           std::uint64_t range_id) {
  NcclCall call;
  call.function = function;
  const auto payload = payloads_.find(range_id);
  if (payload == payloads_.end()) return call;
  const std::string& bytes = payload->second;
  const std::size_t with_hash = ends_with_the_size(function) ? 16 : 24;
  if (bytes.size() != with_hash && bytes.size() != with_hash - 8) return call;
  const bool has_hash = bytes.size() == with_hash;
  if (has_hash) {
    call.group = number_at<std::uint64_t>(bytes, 0);
    groups_.try_emplace(*call.group);
  }
  const auto size = number_at<std::uint64_t>(bytes, has_hash ? 8 : 0);
  if (size <= kMaxMessageBytes) call.bytes = static_cast<std::int64_t>(size);
  return call;
}

// Engines add nothing up.
void RecordedCollectives::without_kernel(const Event& end, const NcclCall& call, std::uint64_t range_id) {
  ordinals_.without_launch(range_id);
  const bool copies =
      call.function == CollectiveFunction::all_gather || call.function == CollectiveFunction::all_to_all;
  if (copies && call.group && call.bytes)
    copies_.called(end.thread, end.time_ns, end.graph, range_id, {call.function, *call.group, *call.bytes});
}

// What one kernel does for several calls: they must be alike.
std::optional<RecordedCollectives::NcclCall> RecordedCollectives::as_one(const std::vector<NcclCall>& calls) {
  if (calls.empty()) return std::nullopt;
  NcclCall sum = calls.front();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    if (calls[i].function != sum.function || calls[i].group != sum.group) return std::nullopt;
    if (sum.bytes && calls[i].bytes) {
      *sum.bytes += *calls[i].bytes;
    } else {
      sum.bytes.reset();
    }
  }
  // Sends and receives are one kernel, in which neither's bytes are the others'.
  if (calls.size() > 1 && sum.function == CollectiveFunction::send_receive) sum.bytes.reset();
  return sum;
}

void RecordedCollectives::note_other_call(const Event& range) {
  const auto payload = payloads_.find(range.range);
  if (payload == payloads_.end() || payload->second.size() < sizeof(std::uint64_t)) return ordinals_.forget();
  ordinals_.called(range.range, range.start_ns, number_at<std::uint64_t>(payload->second, 0));
  if (!launches_of_range_.contains(range.range)) ordinals_.without_launch(range.range);
}

void RecordedCollectives::note_group(const NcclGroupCall& call, std::uint64_t range_id) {
  const auto payload = payloads_.find(range_id);
  const bool said = payload != payloads_.end() && payload->second.size() == call.payload_bytes;
  const std::string_view bytes = said ? std::string_view(payload->second) : std::string_view();
  // One that another thread still makes has none.
  const auto hash = number_at<std::uint64_t>(bytes, 0);
  if (hash == 0) {
    if (call.makes) ++unnamed_groups_;
    return;
  }
  if (call.ranks_at == 0) {
    ordinals_.group_made(hash);
    NcclGroup& group = groups_[hash];
    if (const auto place = splits_.of(hash, number_at<std::int32_t>(bytes, kSplitRankAt))) {
      group.ranks = place->ranks;
      group.rank = place->rank;
    }
    return;
  }
  const auto ranks = number_at<std::int32_t>(bytes, call.ranks_at);
  const auto rank = number_at<std::int32_t>(bytes, call.ranks_at + sizeof(std::int32_t));
  if (ranks < 1 || ranks > kMaxRanksOfGroup || rank < 0 || rank >= ranks) return;
  if (call.makes) ordinals_.group_made(hash);
  NcclGroup& group = groups_[hash];
  group.ranks = ranks;
  group.rank = rank;
}

// None is larger than the largest that it can have been split off: one on which as many processes call has their size.
void RecordedCollectives::know_groups_of_all_ranks() {
  if (any_unnamed_) return;
  std::int64_t largest = 0;
  for (const auto& [hash, group] : groups_) largest = std::max(largest, group.ranks.value_or(0));
  for (auto& [hash, group] : groups_) {
    if (!group.ranks && largest > 0 && splits_.callers(hash) == largest) group.ranks = largest;
  }
}

std::optional<int> RecordedCollectives::rank() const {
  const NcclGroup* largest = nullptr;
  for (const auto& [hash, group] : groups_) {
    if (group.rank && group.ranks.value_or(0) > 1 && (largest == nullptr || *group.ranks > *largest->ranks))
      largest = &group;
  }
  return largest == nullptr ? std::nullopt : std::optional(static_cast<int>(*largest->rank));
}

void RecordedCollectives::write_groups() {
  for (auto& [hash, group] : groups_) {
    group.id = rows_.writer().add(store::Communicator{.process_id = rows_.process_id(),
                                                      .hash = fmt::format("{:016x}", hash),
                                                      .ranks = group.ranks,
                                                      .rank = group.rank,
                                                      .name = std::nullopt});
    rows_.row_written();
  }
}

// Whose bytes they are is known of one kernel alone.
bool RecordedCollectives::is_alone(const Launched& launched) const {
  const auto launches = launches_of_range_.find(launched.range);
  return launches != launches_of_range_.end() && launches->second == 1;
}

// Of calls whose launch is not known it holds for a launch of them all what they agree on, if it is known of all.
std::optional<CollectiveDetail> RecordedCollectives::said_of(const Launched& launched) const {
  if (const CollectiveDetail* said = details_.of_launch(launched.correlation_id)) return *said;
  const std::span<const std::uint64_t> calls =
      launched.calls.empty() ? std::span(&launched.range, 1) : std::span(launched.calls);
  std::optional<CollectiveDetail> all;
  for (const std::uint64_t range : calls) {
    const CollectiveDetail* said = details_.of_call(range);
    if (said == nullptr) return std::nullopt;
    if (all) {
      all->keep_what_agrees(*said);
    } else {
      all = *said;
    }
    all->message_bytes.reset();
  }
  return all;
}

std::optional<RecordedCollectives::Known> RecordedCollectives::known_of(const Launched& launched) const {
  const auto differ = [](const auto& a, const auto& b) { return a && b && *a != *b; };
  std::optional<CollectiveDetail> said = said_of(launched);
  Known known;
  if (launched.call) {
    known.call = *launched.call;
    if (is_alone(launched)) {
      known.calls = launched.calls.empty() ? 1 : static_cast<std::int64_t>(launched.calls.size());
    } else {
      known.call.bytes.reset();
    }
    if (said &&
        (differ(said->function, std::optional(known.call.function)) || differ(said->group, known.call.group)))
      said.reset();
    if (said && !known.call.bytes && said->function) {
      known.call.bytes = said->message_bytes;
      known.bytes_source = CollectiveSource::plugin;
    }
  } else if (said && said->function && !launched.moves_messages) {
    known.call = {*said->function, said->group, said->message_bytes};
    known.source = known.bytes_source = CollectiveSource::plugin;
  } else {
    return std::nullopt;
  }
  if (said) known.detail = *said;
  return known;
}

RecordedCollectives::KernelFacts RecordedCollectives::facts_of(const Execution& execution,
                                                               std::string_view kernel) {
  constexpr std::int64_t kMaxBlocks = INT32_MAX;
  const auto& [x, y, z] = execution.grid;
  KernelFacts facts{collective_in_name(kernel), element_in_name(kernel), 0,
                    kernel.find(kSymmetricKernel) != std::string_view::npos};
  if (x > 0 && x <= kMaxBlocks && y == 1 && z == 1) facts.blocks = x;
  return facts;
}

void RecordedCollectives::ran(const Execution& execution, store::Id launch_id, std::string_view kernel) {
  if (paths_.empty()) return;
  const bool communicates = kernel.find(kNcclPrefix) != std::string_view::npos;
  if (execution.graph_node) {
    GraphLaunch& launch = graph_launches_[execution.correlation_id];  // that it ran none is known, too
    if (communicates) launch.runs.push_back({execution.start_ns, launch_id, facts_of(execution, kernel)});
    return;
  }
  if (!communicates) return;
  if (launched_.contains(execution.correlation_id)) {
    eager_runs_.push_back({execution.correlation_id, launch_id, facts_of(execution, kernel)});
  } else if (!of_other_calls_.contains(execution.correlation_id)) {
    ordinals_.forget();  // its call is not known
  }
}

// Of one graph alone.
const std::vector<RecordedCollectives::Known>* RecordedCollectives::calls_of(
    const std::vector<NodeRun>& runs) const {
  const std::vector<Known>* found = nullptr;
  for (const std::vector<Known>& calls : graphs_) {
    const bool fits = std::equal(calls.begin(), calls.end(), runs.begin(), runs.end(),
                                 [](const Known& known, const NodeRun& run) {
                                   return !run.kernel.function || *run.kernel.function == known.call.function;
                                 });
    if (!fits) continue;
    if (found != nullptr) return nullptr;
    found = &calls;
  }
  return found;
}

void RecordedCollectives::count_graphs() {
  for (auto& [correlation, launch] : graph_launches_) {
    std::vector<NodeRun>& runs = launch.runs;
    std::sort(runs.begin(), runs.end(), [](const NodeRun& a, const NodeRun& b) {
      return std::pair(a.start_ns, a.launch_id) < std::pair(b.start_ns, b.launch_id);
    });
    if (runs.empty()) {
      ordinals_.graph_ran(correlation, {});
      continue;
    }
    launch.calls = calls_of(runs);
    if (launch.calls == nullptr) continue;
    std::vector<CollectiveOrdinals::GraphCall> numbered;
    for (const Known& known : *launch.calls)
      numbered.push_back({known.call.group, known.calls, is_numbered(known.call.function)});
    ordinals_.graph_ran(correlation, std::move(numbered));
  }
  ordinals_.count(any_unnamed_ ? 0 : unnamed_groups_);
}

// Of several calls in one launch it is the first one's.
std::optional<std::int64_t> RecordedCollectives::ordinal_of(const Launched& launched,
                                                            const Known& known) const {
  if (known.calls == 0) return std::nullopt;
  return ordinals_.of_call(launched.calls.empty() ? launched.range : launched.calls.front());
}

void RecordedCollectives::finish() {
  find_copies();
  count_graphs();
  for (const EagerRun& run : eager_runs_) {
    const Launched& launched = launched_.at(run.correlation_id);
    if (const std::optional<Known> known = known_of(launched))
      write(run.launch_id, *known, run.kernel, ordinal_of(launched, *known));
  }
  for (const auto& [correlation, launch] : graph_launches_) {
    if (launch.calls == nullptr) continue;
    for (std::size_t i = 0; i < launch.runs.size(); ++i)
      write(launch.runs[i].launch_id, (*launch.calls)[i], launch.runs[i].kernel,
            ordinals_.of_graph(correlation, i));
  }
  write_copies();
}

void RecordedCollectives::find_copies() {
  copied_ = copies_.finish([this](std::uint64_t hash) -> std::optional<std::int64_t> {
    const auto group = groups_.find(hash);
    return group != groups_.end() && group->second.ranks ? std::optional(*group->second.ranks - 1)
                                                         : std::nullopt;
  });
  for (const CopyCollectives::Copied& one : copied_) {
    if (one.range != 0) ordinals_.done_by_engines(one.range);
  }
}

void RecordedCollectives::write_copies() {
  for (const CopyCollectives::Copied& one : copied_) {
    const NcclGroup& group = groups_.at(one.call.group);
    for (const store::Id copy : one.copies) {
      rows_.writer().add(store::CopiedCollective{.copy_id = copy,
                                                 .first_copy_id = one.copies.front(),
                                                 .communicator_id = group.id,
                                                 .function = one.call.function,
                                                 .bytes = whole_array(one.call.part_bytes, group.ranks),
                                                 .source = CollectiveSource::nvtx,
                                                 .ordinal = ordinals_.of_call(one.range)});
      rows_.row_written();
    }
  }
}

void RecordedCollectives::write(store::Id launch_id, const Known& known, const KernelFacts& kernel,
                                std::optional<std::int64_t> ordinal) {
  const NcclCall& call = known.call;
  store::Collective row;
  row.launch_id = launch_id;
  row.function = call.function;
  row.bytes = call.bytes;
  row.source = known.source;
  row.ordinal = ordinal;
  const auto group = call.group ? groups_.find(*call.group) : groups_.end();
  if (group != groups_.end()) {
    if (group->second.id != 0) row.communicator_id = group->second.id;
    if (row.bytes && message_is_a_part(call.function))
      row.bytes = whole_array(*row.bytes, group->second.ranks);
  } else if (message_is_a_part(call.function)) {
    row.bytes.reset();
  }
  if (row.bytes) row.bytes_source = known.bytes_source;
  const CollectiveDetail& said = known.detail;
  // A kernel's name has the type that it computes with: of signed integers their sum is that of unsigned ones.
  row.element_type = said.element_type ? said.element_type : kernel.element_type;
  if (row.element_type)
    row.element_type_source = said.element_type ? CollectiveSource::plugin : CollectiveSource::kernel;
  row.channels = said.channels;
  if (!row.channels && kernel.blocks > 0) row.channels = kernel.blocks;
  if (row.channels) row.channels_source = said.channels ? CollectiveSource::plugin : CollectiveSource::kernel;
  if (!kernel.symmetric) {
    row.algorithm = said.algorithm;
    row.protocol = said.protocol;
  }
  if (row.algorithm || row.protocol) row.algorithm_source = CollectiveSource::plugin;
  rows_.writer().add(row);
  rows_.row_written();
}

}  // namespace ridgeline::import
