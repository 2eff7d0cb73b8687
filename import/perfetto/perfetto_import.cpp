#include "perfetto/perfetto_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>

#include "perfetto/packet_stream.h"
#include "perfetto/slice_pairs.h"
#include "perfetto/trace_packets.h"
#include "ridgeline/base/text.h"
#include "traces/api_calls.h"
#include "traces/copy_kind.h"
#include "traces/time_origin.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxTrackCategories = 32;
constexpr std::string_view kWaitsTrack = "Waits for the GPU";  // of our own export

std::optional<std::int64_t> decimal_in(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end && !text.empty() ? std::optional(value) : std::nullopt;
}

// "GPU 0 stream 7": 7.
std::optional<std::int64_t> number_at_end(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[text.size() - 1 - digits] >= '0' &&
         text[text.size() - 1 - digits] <= '9')
    ++digits;
  return decimal_in(text.substr(text.size() - digits));
}

std::uint32_t low_bits(std::int64_t value) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value));
}

class PerfettoReader {
 public:
  PerfettoReader(const std::string& path, const std::string& scratch_directory, const ReadProgress& progress)
      : stream_(path), scratch_directory_(scratch_directory), progress_(progress) {}

  ForeignRecording read() {
    TracePackets packets({.track = [this](const PerfettoTrack& track) { tracks_[track.uuid] = track; },
                          .begin = [this](const PerfettoSlice& slice) { take_begin(slice); },
                          .end =
                              [this](std::uint64_t track, std::int64_t time_ns) {
                                edges_[track].push_back({origin_.at(time_ns), SliceEdge::kEnd});
                              },
                          .stage = [this](const PerfettoStage& stage) { take_stage(stage); },
                          .utc = [this](std::int64_t offset_ns) { utc_offset_ns_ = offset_ns; },
                          .left_out = [this](std::string_view what) { leave_out(what); }});
    std::int64_t malformed = 0;
    while (stream_.next()) {
      if (packets.take(stream_.packet())) {
        ++packets_;
      } else {
        ++malformed;
      }
      if (((packets_ + malformed) & 0x3fff) == 0 && progress_) progress_(stream_.offset());
    }
    if (packets_ == 0)
      throw Error(ErrorKind::corrupt, "is no Perfetto trace: not one of its packets is whole");
    std::int64_t unmatched = 0;
    ends_ns_.assign(slices_.size(), kOpen);
    for (auto& [track, edges] : edges_) unmatched += pair_slices(edges, ends_ns_);
    join_calls();
    hand_over();
    describe();
    say_losses(malformed, unmatched);
    return std::move(recording_);
  }

 private:
  static constexpr std::int64_t kOpen = INT64_MIN;

  struct Slice {
    std::int64_t start_ns = 0;
    std::uint64_t track = 0;
    std::uint32_t name = 0, category = 0;            // in texts_
    std::int64_t correlation = 0;                    // 0: not said
    std::uint32_t first_launched = 0, launched = 0;  // in launched_
    std::uint32_t work = 0;                          // in works_, plus one; 0: none
    bool is_call = false;
  };
  struct Stage {
    std::uint64_t event_id = 0;
    std::int64_t pid = 0;
    bool joined = false;  // its correlation is the one of its call
  };
  struct Kernel : Stage {
    Execution execution;
    std::uint32_t collective = 0;  // in collectives_, plus one; 0: none
  };
  struct Transfer : Stage {
    Copy copy;
  };
  struct Owner {
    std::uint32_t correlation = 0;
    std::uint64_t node = 0;  // position among what the call launched, from 1; 0: it launched nothing else
  };

  void leave_out(std::string_view what) {
    if (left_out_.size() < kMaxTrackCategories || left_out_.contains(what))
      ++left_out_.try_emplace(std::string(what)).first->second;
  }

  void take_begin(const PerfettoSlice& from) {
    const bool call = from.category == "cuda_runtime" || from.category == "cuda_driver" ||
                      !from.launched.empty() || api_call(from.name).kind != ApiKind::other;
    Slice slice{.start_ns = origin_.at(from.time_ns),
                .track = from.track,
                .name = texts_.number_of(from.name),
                .category = texts_.number_of(from.category),
                .correlation = from.correlation.value_or(0),
                .first_launched = static_cast<std::uint32_t>(launched_.size()),
                .launched = static_cast<std::uint32_t>(from.launched.size()),
                .is_call = call};
    launched_.insert(launched_.end(), from.launched.begin(), from.launched.end());
    if (from.arguments) {
      if (const auto work = work_of_op(from.name, *from.arguments)) {
        works_.push_back(*work);
        slice.work = static_cast<std::uint32_t>(works_.size());
      }
    }
    edges_[from.track].push_back({slice.start_ns, static_cast<std::uint32_t>(slices_.size())});
    slices_.push_back(slice);
  }

  static std::optional<std::int64_t> extra(const PerfettoStage& stage, std::string_view name) {
    const auto found = stage.extra.find(name);
    return found == stage.extra.end() ? std::nullopt : decimal_in(found->second);
  }

  void take_stage(const PerfettoStage& from) {
    const bool copy = from.stage == "Memcpy" || from.stage == "Copy" || from.stage == "Memset";
    if (!from.is_kernel && !copy) {
      leave_out(from.stage.empty() ? "stages without a name" : from.stage);
      return;
    }
    if (from.device < 0 || from.device > 4096 || (from.is_kernel && from.name.empty())) {
      leave_out("stages without a device or a name");
      return;
    }
    std::optional<std::int64_t> stream = extra(from, "stream id");
    if (!stream) stream = extra(from, "stream");
    if (const auto queue = from.extra.find("hardware queue"); !stream && queue != from.extra.end())
      stream = number_at_end(queue->second);
    const Stage stage{.event_id = from.event_id, .pid = extra(from, "process_id").value_or(from.pid)};
    const std::int64_t node = extra(from, "graph node id").value_or(0);
    const std::int64_t start_ns = origin_.at(from.time_ns);
    if (!from.is_kernel) {
      Transfer transfer{stage, {}};
      transfer.copy = {.correlation_id = low_bits(extra(from, "correlation").value_or(0)),
                       .device = low_bits(from.device),
                       .context_id = low_bits(extra(from, "context id").value_or(0)),
                       .stream_id = low_bits(stream.value_or(0)),
                       .start_ns = start_ns,
                       .end_ns = start_ns + from.duration_ns,
                       .bytes = std::max<std::int64_t>(extra(from, "bytes").value_or(0), 0)};
      if (from.stage != "Memset") transfer.copy.kind = copy_kind_in(from.name);
      if (node != 0) transfer.copy.graph_node = static_cast<std::uint64_t>(node);
      transfers_.push_back(transfer);
      return;
    }
    Kernel kernel{stage, {}, 0};
    kernel.execution = {.correlation_id = low_bits(extra(from, "correlation").value_or(0)),
                        .kernel = texts_.number_of(from.name),
                        .device = low_bits(from.device),
                        .context_id = low_bits(extra(from, "context id").value_or(0)),
                        .stream_id = low_bits(stream.value_or(0)),
                        .start_ns = start_ns,
                        .end_ns = start_ns + from.duration_ns,
                        .grid = from.grid.value_or(store::Dim3{0, 0, 0}),
                        .block = from.block.value_or(store::Dim3{0, 0, 0}),
                        .registers_per_thread = low_bits(extra(from, "registers_per_thread").value_or(0)),
                        .static_smem_bytes = low_bits(extra(from, "shared_mem_static").value_or(0)),
                        .dynamic_smem_bytes = low_bits(extra(from, "shared_mem_dynamic").value_or(0))};
    if (node != 0) {
      kernel.execution.graph_node = static_cast<std::uint64_t>(node);
      kernel.execution.graph_id = low_bits(extra(from, "graph id").value_or(0));
    }
    if (from.extra.contains("Collective name")) {
      collectives_.push_back(from.extra);
      kernel.collective = static_cast<std::uint32_t>(collectives_.size());
    }
    kernels_.push_back(kernel);
  }

  // A call says what it launched by a number that both have, or by the event ids of that.
  void join_calls() {
    std::unordered_map<std::uint64_t, Owner> owners;
    for (Slice& slice : slices_) {
      if (!slice.is_call || slice.correlation != 0 || slice.launched == 0) continue;
      slice.correlation = next_correlation_id_--;
      for (std::uint32_t i = 0; i < slice.launched; ++i)
        owners[launched_[slice.first_launched + i]] = {low_bits(slice.correlation),
                                                       slice.launched > 1 ? std::uint64_t{i} + 1 : 0};
    }
    const auto join = [&](Stage& stage, auto& event) {
      if (event.correlation_id != 0) return;
      if (const auto owner = owners.find(stage.event_id); owner != owners.end()) {
        event.correlation_id = owner->second.correlation;
        if (owner->second.node != 0 && !event.graph_node) event.graph_node = owner->second.node;
      } else {
        event.correlation_id = next_correlation_id_--;
      }
    };
    for (Kernel& kernel : kernels_) join(kernel, kernel.execution);
    for (Transfer& transfer : transfers_) join(transfer, transfer.copy);
  }

  [[nodiscard]] ForeignProcess& process_of(std::int64_t pid) {
    auto& process = processes_[pid];
    if (process == nullptr) {
      process = std::make_unique<ForeignProcess>(scratch_directory_);
      process->row.pid = pid;
    }
    return *process;
  }

  // Of a kernel's name in all of the trace: its number in that process.
  std::uint32_t kernel_in(std::int64_t pid, std::uint32_t text) {
    const auto [known, fresh] = kernel_numbers_.try_emplace({pid, text}, 0);
    if (fresh) {
      ForeignProcess& process = process_of(pid);
      known->second = static_cast<std::uint32_t>(process.kernels.size());
      const std::string& name = texts_.text(text);
      process.kernels.push_back({.text = name, .mangled = name.starts_with("_Z")});
    }
    return known->second;
  }

  void hand_over() {
    for (Kernel& kernel : kernels_) {
      ForeignProcess& process = process_of(kernel.pid);
      kernel.execution.kernel = kernel_in(kernel.pid, kernel.execution.kernel);
      if (has_time(kernel.execution.start_ns, kernel.execution.end_ns))
        process.saw(kernel.execution.start_ns, kernel.execution.end_ns);
      ++process.executions;
      if (kernel.collective != 0) hand_over_collective(process, kernel);
      process.log.add(kernel.execution);
    }
    for (const Transfer& transfer : transfers_) {
      ForeignProcess& process = process_of(transfer.pid);
      if (has_time(transfer.copy.start_ns, transfer.copy.end_ns))
        process.saw(transfer.copy.start_ns, transfer.copy.end_ns);
      process.log.add(transfer.copy);
    }
    for (std::size_t i = 0; i < slices_.size(); ++i) hand_over(slices_[i], ends_ns_[i]);
    for (auto& [pid, process] : processes_) leave_out_captured(*process, captures_[pid]);
  }

  void hand_over_collective(ForeignProcess& process, const Kernel& kernel) {
    CollectiveArguments arguments;
    for (const auto& [key, value] : collectives_[kernel.collective - 1]) (void)arguments.take(key, value);
    if (auto collective = process.collectives.collective_of(arguments))
      process.collectives.ran(kernel.execution.correlation_id, std::move(*collective));
  }

  struct Thread {
    std::int64_t pid = 0;
    std::uint32_t tid = 0;
    std::string_view track;
  };
  // Tracks of one thread hang below it.
  [[nodiscard]] std::optional<Thread> thread_of(std::uint64_t uuid) const {
    constexpr int kMaxParents = 16;
    Thread thread;
    for (int depth = 0; depth < kMaxParents; ++depth) {
      const auto found = tracks_.find(uuid);
      if (found == tracks_.end()) return std::nullopt;
      const PerfettoTrack& track = found->second;
      if (depth == 0) thread.track = track.name;
      if (track.tid || (track.pid && track.parent == 0)) {
        thread.pid = track.pid.value_or(0);
        thread.tid = low_bits(track.tid.value_or(0));
        return thread;
      }
      uuid = track.parent;
    }
    return std::nullopt;
  }

  void hand_over(const Slice& slice, std::int64_t end_ns) {
    const auto thread = thread_of(slice.track);
    const auto found = thread ? processes_.find(thread->pid) : processes_.end();
    if (found == processes_.end()) {
      leave_out("slices of what launched nothing");
      return;
    }
    ForeignProcess& process = *found->second;
    const std::string& category = texts_.text(slice.category);
    const bool open = end_ns == kOpen;
    if (!open && !has_time(slice.start_ns, end_ns)) return;
    if (slice.is_call) {
      if (!open) hand_over_call(process, *thread, slice, end_ns);
      return;
    }
    if (!open && thread->track == kWaitsTrack) {
      if (const auto call = parse_word<SynchronisationCall>(texts_.text(slice.name))) {
        process.log.add(
            Wait{.thread_id = thread->tid, .enter_ns = slice.start_ns, .exit_ns = end_ns, .call = *call});
        return;
      }
    }
    if (!category.empty() && category != "cpu_op" && category != "user_annotation") {
      leave_out(category);
      return;
    }
    std::uint32_t work = 0;
    if (slice.work != 0) {
      process.works.push_back(works_[slice.work - 1]);
      work = static_cast<std::uint32_t>(process.works.size());
    }
    process.ranges.push_back({.start_ns = slice.start_ns,
                              .end_ns = open ? slice.start_ns : end_ns,
                              .thread_id = thread->tid,
                              .name = process.names.number_of(texts_.text(slice.name)),
                              .work = work,
                              .open = open});
  }

  void hand_over_call(ForeignProcess& process, const Thread& thread, const Slice& slice,
                      std::int64_t end_ns) {
    process.has_calls = true;
    ApiCall what = api_call(texts_.text(slice.name));
    if (what.kind == ApiKind::other && slice.launched > 0)
      what.kind = slice.launched > 1 ? ApiKind::graph_launch : ApiKind::launch;
    if (what.kind == ApiKind::capture_begin || what.kind == ApiKind::capture_end) {
      captures_[thread.pid].push_back({thread.tid, slice.start_ns, what.kind == ApiKind::capture_begin});
      return;
    }
    CaptureWatch none;
    add_api_call(process, none,
                 {.what = what,
                  .thread_id = thread.tid,
                  .thread_key = thread.tid,
                  .correlation_id = low_bits(slice.correlation),
                  .enter_ns = slice.start_ns,
                  .exit_ns = end_ns});
  }

  void describe() {
    for (const auto& [uuid, track] : tracks_) {
      const auto found = track.pid ? processes_.find(*track.pid) : processes_.end();
      if (found == processes_.end()) continue;
      ForeignProcess& process = *found->second;
      if (track.tid && !track.thread_name.empty())
        process.threads[low_bits(*track.tid)] = one_line(track.thread_name);
      if (track.process_name.empty()) continue;
      process.row.command = one_line(track.process_name);
      constexpr std::string_view kRank = "rank ";  // of our own export
      if (track.process_name.starts_with(kRank)) {
        const std::string_view rest = std::string_view(track.process_name).substr(kRank.size());
        if (const auto rank = decimal_in(rest.substr(0, rest.find(':'))); rank && *rank < (1 << 24))
          process.row.rank = static_cast<int>(*rank);
      }
    }
    for (auto& [pid, process] : processes_) {
      process->shift(origin_.shift_ns(utc_offset_ns_.value_or(0)));
      if (recording_.run.command_line.empty())
        recording_.run.command_line = process->row.command.value_or("");
      recording_.processes.push_back(std::move(process));
    }
    recording_.run.clock = utc_offset_ns_ ? "UTC by the clock snapshot of the trace" : "that of the trace";
    if (const std::int64_t later_s = origin_.later_s(utc_offset_ns_.value_or(0)); later_s != 0)
      recording_.run.clock += fmt::format(", {} s later: it has times of zero or below", later_s);
    recording_.empty_because =
        "the trace has no render stage of a GPU that runs a kernel: record CUDA with torch.profiler, or "
        "export the trace as JSON";
  }

  void say_losses(std::int64_t malformed, std::int64_t unmatched) {
    recording_.cut = stream_.cut() || stream_.damaged_gzip();
    if (recording_.processes.empty()) return;
    std::vector<ForeignLoss>& losses = recording_.processes.front()->losses;
    if (recording_.cut)
      losses.push_back(
          {.severity = Severity::error,
           .what = Reason(ReasonCode::import_cut,
                          {{"end", stream_.damaged_gzip() ? "gzip" : "list"}, {"events", packets_}})});
    if (malformed + unmatched > 0)
      losses.push_back({.what = Reason(ReasonCode::import_malformed, {{"events", malformed + unmatched}})});
    // What others of the same say, or what is no work.
    for (const std::string_view expected :
         {"Annotation", "EventRecord", "HostNode", "Trace", "overhead", "cuda_sync", "gpu_user_annotation",
          "slices of what launched nothing"})
      if (const auto found = left_out_.find(expected); found != left_out_.end()) left_out_.erase(found);
    if (left_out_.empty()) return;
    Reason left_out(ReasonCode::import_left_out);
    for (const auto& [category, count] : left_out_)
      left_out.because.emplace_back(
          ReasonCode::import_left_out_events,
          std::vector<ReasonValue>{{"category", one_line(bounded_text(category, 40))}, {"events", count}});
    losses.push_back({.severity = Severity::info, .what = std::move(left_out), .of_timeline = false});
  }

  PacketStream stream_;
  const std::string& scratch_directory_;
  const ReadProgress& progress_;
  ForeignRecording recording_;
  std::int64_t packets_ = 0;
  NameTable texts_;
  std::map<std::uint64_t, PerfettoTrack> tracks_;
  std::unordered_map<std::uint64_t, std::vector<SliceEdge>> edges_;  // by track
  std::vector<Slice> slices_;
  std::vector<std::int64_t> ends_ns_;  // of slices; kOpen: it has none
  std::vector<std::uint64_t> launched_;
  std::vector<store::Annotation> works_;
  std::vector<Kernel> kernels_;
  std::vector<std::map<std::string, std::string, std::less<>>> collectives_;  // arguments of kernels
  std::vector<Transfer> transfers_;
  std::uint32_t next_correlation_id_ = UINT32_MAX - 1;
  std::optional<std::int64_t> utc_offset_ns_;
  TimeOrigin origin_;
  std::map<std::int64_t, std::unique_ptr<ForeignProcess>> processes_;  // by pid
  std::map<std::pair<std::int64_t, std::uint32_t>, std::uint32_t> kernel_numbers_;
  std::map<std::int64_t, std::vector<CaptureEdge>> captures_;
  std::map<std::string, std::int64_t, std::less<>> left_out_;
};

}  // namespace

ForeignRecording read_perfetto(const std::string& path, const std::string& scratch_directory,
                               const ReadProgress& progress) {
  return PerfettoReader(path, scratch_directory, progress).read();
}

}  // namespace ridgeline::import
