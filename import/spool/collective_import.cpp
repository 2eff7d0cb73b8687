#include "spool/collective_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/base/collective_name.h"
#include "ridgeline/store/collectives.h"

namespace ridgeline::import {

namespace {

constexpr std::string_view kNcclDomain = "NCCL";
constexpr std::string_view kNcclKernel = "nccl";
// A payload of NCCL's is a few numbers.
constexpr std::size_t kLongestNcclPayloadBytes = 64;
constexpr std::size_t kMaxCallsOfGroup = 4096;
constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 50;
constexpr std::int64_t kMaxRanksOfGroup = 1'000'000;

constexpr std::pair<std::string_view, CollectiveFunction> kNcclCalls[] = {
    {"ncclAllReduce", CollectiveFunction::all_reduce},
    {"ncclAllGather", CollectiveFunction::all_gather},
    {"ncclReduceScatter", CollectiveFunction::reduce_scatter},
    {"ncclBroadcast", CollectiveFunction::broadcast},
    {"ncclReduce", CollectiveFunction::reduce},
    {"ncclAlltoAll", CollectiveFunction::all_to_all},
    {"ncclSend", CollectiveFunction::send_receive},
    {"ncclRecv", CollectiveFunction::send_receive}};

// These hand over the message's size of one rank; the array is as many times as long as the group has ranks.
bool message_is_a_part(CollectiveFunction function) {
  return function == CollectiveFunction::all_gather || function == CollectiveFunction::reduce_scatter ||
         function == CollectiveFunction::all_to_all;
}

// Behind the size these have nothing; the others a root, a peer or an operator.
bool ends_with_the_size(CollectiveFunction function) {
  return function == CollectiveFunction::all_gather || function == CollectiveFunction::all_to_all;
}

std::optional<std::int64_t> whole_array(std::int64_t part_bytes, std::optional<std::int64_t> ranks) {
  if (!ranks || part_bytes > INT64_MAX / *ranks) return std::nullopt;
  return part_bytes * *ranks;
}

template <typename T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
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
    } else if (name.starts_with("ncclCommInitRank")) {
      known.kind = PathKind::makes_group;
    }
    for (const auto& [call, function] : kNcclCalls) {
      if (name == call) known = {PathKind::call, function};
    }
    if (known.kind != PathKind::other) paths_[id] = known;
  }
}

void RecordedCollectives::scan() {
  know_paths();
  if (paths_.empty()) return;
  using spool::RecordType;
  visit_records(
      reader_, {RecordType::launch, RecordType::nvtx_range, RecordType::nvtx_payload, RecordType::graph_node},
      {}, [this](const spool::RecordView& view) {
        if (const auto* launch = view.as<spool::LaunchRecord>()) {
          on_launch(*launch);
        } else if (const auto* payload = view.as<spool::NvtxPayloadRecord>()) {
          if (payload->position == 0 && payload->length_bytes <= kLongestNcclPayloadBytes)
            payloads_[payload->range_id] = std::string(view.trailing_bytes());
        } else if (const auto* range = view.as<spool::NvtxRangeRecord>()) {
          on_range_end(*range);
        } else if (const auto* node = view.as<spool::GraphNodeRecord>()) {
          if (node->graph != last_graph_) captured_until_here();
          last_graph_ = node->graph;
        }
      });
  captured_until_here();
}

// What was captured since the last graph was made is in this one.
void RecordedCollectives::captured_until_here() {
  if (captured_.empty()) return;
  std::vector<NcclCall> calls;
  for (const Launched& launched : captured_) calls.push_back(bytes_if_alone(launched));
  graphs_.push_back(std::move(calls));
  captured_.clear();
}

void RecordedCollectives::on_launch(const spool::LaunchRecord& launch) {
  if ((launch.header.flags & (spool::kLaunchFailed | spool::kLaunchIsGraph)) != 0) return;
  const auto path = paths_.find(launch.nvtx_path_id);
  if (path == paths_.end()) return;
  Launched launched;
  launched.range = launch.nvtx_range_id;
  if (path->second.kind == PathKind::call) {
    launched.call = call_in(path->second.function, launch.nvtx_range_id);
  } else if (path->second.kind == PathKind::group_ends) {
    const std::optional<NcclCall> call = as_one(groups_of_threads_[launch.thread_id].calls);
    if (!call) return;
    launched.call = *call;
  } else {
    return;
  }
  ++launches_of_range_[launched.range];
  if ((launch.header.flags & spool::kLaunchCaptured) != 0) {
    captured_.push_back(launched);
  } else {
    launched_[launch.correlation_id] = launched;
  }
}

void RecordedCollectives::on_range_end(const spool::NvtxRangeRecord& range) {
  const auto path = paths_.find(range.path_id);
  if (path != paths_.end()) {
    ThreadGroup& group = groups_of_threads_[range.thread_id];
    switch (path->second.kind) {
      case PathKind::group_begins:
        ++group.depth;
        break;
      case PathKind::group_ends:
        group.depth = std::max(group.depth - 1, 0);
        if (group.depth == 0) group.calls.clear();
        break;
      case PathKind::call:
        if (group.depth > 0 && !launches_of_range_.contains(range.range_id) &&
            group.calls.size() < kMaxCallsOfGroup)
          group.calls.push_back(call_in(path->second.function, range.range_id));
        break;
      case PathKind::makes_group:
        note_group(range.range_id);
        break;
      case PathKind::other:
        break;
    }
  }
  payloads_.erase(range.range_id);
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

void RecordedCollectives::note_group(std::uint64_t range_id) {
  const auto payload = payloads_.find(range_id);
  if (payload == payloads_.end() || payload->second.size() != 24) return;
  const std::string& bytes = payload->second;
  const auto ranks = number_at<std::int32_t>(bytes, 8);
  const auto rank = number_at<std::int32_t>(bytes, 12);
  if (ranks < 1 || ranks > kMaxRanksOfGroup || rank < 0 || rank >= ranks) return;
  NcclGroup& group = groups_[number_at<std::uint64_t>(bytes, 0)];
  group.ranks = ranks;
  group.rank = rank;
}

std::optional<int> RecordedCollectives::rank() const {
  const NcclGroup* largest = nullptr;
  for (const auto& [hash, group] : groups_) {
    if (group.ranks.value_or(0) > 1 && (largest == nullptr || *group.ranks > *largest->ranks))
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
RecordedCollectives::NcclCall RecordedCollectives::bytes_if_alone(const Launched& launched) const {
  NcclCall call = launched.call;
  const auto launches = launches_of_range_.find(launched.range);
  if (launches == launches_of_range_.end() || launches->second != 1) call.bytes.reset();
  return call;
}

void RecordedCollectives::ran(const Execution& execution, store::Id launch_id, std::string_view kernel) {
  if (paths_.empty() || kernel.find(kNcclKernel) == std::string_view::npos) return;
  if (execution.graph_node) {
    graph_launches_[execution.correlation_id].push_back(
        {execution.start_ns, launch_id, collective_in_name(kernel)});
    return;
  }
  const auto launched = launched_.find(execution.correlation_id);
  if (launched != launched_.end()) write(launch_id, bytes_if_alone(launched->second));
}

// Of one graph alone, or of several that say the same.
const std::vector<RecordedCollectives::NcclCall>* RecordedCollectives::calls_of(
    const std::vector<NodeRun>& runs) const {
  const std::vector<NcclCall>* found = nullptr;
  for (const std::vector<NcclCall>& calls : graphs_) {
    if (calls.size() != runs.size()) continue;
    const bool fits = std::equal(
        calls.begin(), calls.end(), runs.begin(),
        [](const NcclCall& call, const NodeRun& run) { return !run.named || *run.named == call.function; });
    if (!fits || (found != nullptr && *found == calls)) continue;
    if (found != nullptr) return nullptr;
    found = &calls;
  }
  return found;
}

void RecordedCollectives::finish() {
  for (auto& [correlation, runs] : graph_launches_) {
    std::sort(runs.begin(), runs.end(), [](const NodeRun& a, const NodeRun& b) {
      return std::pair(a.start_ns, a.launch_id) < std::pair(b.start_ns, b.launch_id);
    });
    const std::vector<NcclCall>* calls = calls_of(runs);
    if (calls == nullptr) continue;
    for (std::size_t i = 0; i < runs.size(); ++i) write(runs[i].launch_id, (*calls)[i]);
  }
}

void RecordedCollectives::write(store::Id launch_id, const NcclCall& call) {
  store::Collective row;
  row.launch_id = launch_id;
  row.function = call.function;
  row.bytes = call.bytes;
  row.source = CollectiveSource::nvtx;
  if (call.group) {
    const NcclGroup& group = groups_.at(*call.group);
    if (group.id != 0) row.communicator_id = group.id;
    if (row.bytes && message_is_a_part(call.function)) row.bytes = whole_array(*row.bytes, group.ranks);
  } else if (message_is_a_part(call.function)) {
    row.bytes.reset();
  }
  rows_.writer().add(row);
  rows_.row_written();
}

}  // namespace ridgeline::import
