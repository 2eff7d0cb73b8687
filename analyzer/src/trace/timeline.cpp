// timeline.cpp: a capture's rows, once through, into the lines of a timeline.
#include "ridgeline/analyzer/trace/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ridgeline/store/activity.h"
#include "trace/gpu_ranges.h"
#include "trace/timeline_counters.h"

namespace ridgeline::analyzer {
namespace {

using store::Id;

constexpr int kMaxLanes = 6;  // of one stream or thread, and of its ranges those that are shown unasked
// Deeper ranges are shown on the GPU only if asked for: the streams below them are what is looked at first.
constexpr int kGpuRangeDepths = 4;
constexpr std::size_t kGpuRangeRows = 5;  // likewise more of a process than these, by depth
constexpr int kGpuRanges = 4;             // their place among a process's rows
constexpr int kHost = 10;                 // after the rows of devices
constexpr int kDepths = 64;               // of ranges within ranges

std::string words(CopyKind kind) {
  switch (kind) {
    case CopyKind::host_to_device:
      return "copy host → device";
    case CopyKind::device_to_host:
      return "copy device → host";
    case CopyKind::device_to_device:
      return "copy device → device";
    case CopyKind::peer_to_peer:
      return "copy peer → peer";
    case CopyKind::host_to_host:
      return "copy host → host";
    case CopyKind::unknown:
      return "copy";
  }
  return "copy";
}

std::string plain_words(std::string_view identifier) {
  std::string text(identifier);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

class Reader {
 public:
  Reader(const store::Capture& capture, const std::stop_token& stop, const ReadProgress& progress)
      : capture_(capture), activity_(capture), stop_(stop), progress_(progress) {}

  Result<std::shared_ptr<const Timeline>> read() {
    for (const store::Device& device : capture_.devices()) devices_[device.id] = device;
    for (const store::Process& process : capture_.processes()) processes_[process.id] = process;
    several_ = processes_.size() > 1 || devices_.size() > 1;
    for (const store::ProcessTotal& total : activity_.process_totals()) total_ += total.launches;
    read_steps();
    const bool whole = read_ranges() && read_launches() && read_copies();
    if (!whole || stop_.stop_requested()) return Failure{ErrorKind::cancelled, "reading was cancelled"};
    read_waits();
    // Sorting what ran and what called it is about as much work as projecting ranges.
    std::future<void> in_order = std::async([lines = unordered_lines()] {
      for (Line* line : lines) line->lanes = in_lanes(std::move(line->row.events), kMaxLanes);
    });
    project_ranges();
    in_order.get();
    put_rows();
    add_counter_rows(capture_, *data_);
    std::int64_t start = INT64_MAX, end = INT64_MIN;
    for (const TimelineRow& row : data_->rows) {
      if (row.kind == RowKind::counter || row.events.empty()) continue;
      start = std::min(start, row.events.extent().start_ns);
      end = std::max(end, row.events.extent().end_ns);
    }
    if (start < end) data_->extent = {start, end};
    return std::shared_ptr<const Timeline>(std::move(data_));
  }

 private:
  // Rows come in the order in which they are shown: processes, of each its devices, then what the host did.
  using RowKey =
      std::tuple<Id, int, std::int64_t, std::int64_t, int>;  // process, order, device, stream/thread, depth
  struct Line {
    TimelineRow row;
    std::vector<Lane> lanes;  // its events, of ranges as soon as they are read
  };

  std::uint32_t name_of(EventName::Kind kind, int code, const std::string& text) {
    const auto [found, added] = codes_.try_emplace({kind, code}, 0);
    if (added) {
      found->second = static_cast<std::uint32_t>(data_->names.size());
      data_->names.push_back({text, kind, KernelClass::other, 0, code});
    }
    return found->second;
  }

  TimelineRow& row(RowKind kind, int order, Id process, Id device, std::int64_t line, int depth) {
    const auto [found, added] = rows_.try_emplace({process, order, device, line, depth});
    TimelineRow& made = found->second.row;
    if (added) {
      made.kind = kind;
      made.process_id = process;
      made.device_id = device;
      made.depth = depth;
    }
    return made;
  }

  [[nodiscard]] int process_number(Id id) const {
    return static_cast<int>(std::distance(processes_.begin(), processes_.find(id)));
  }
  [[nodiscard]] int device_index(Id id) const {
    const auto found = devices_.find(id);
    return found == devices_.end() ? 0 : found->second.device_index;
  }
  // " · rank 1, GPU 0" where there are several.
  [[nodiscard]] std::string where(Id process, Id device) const {
    if (!several_) return "";
    std::string text;
    if (processes_.size() > 1) {
      const auto found = processes_.find(process);
      if (found != processes_.end()) {
        text += found->second.rank ? " · rank " + std::to_string(*found->second.rank)
                                   : " · pid " + std::to_string(found->second.pid);
      }
    }
    if (devices_.size() > 1 && device != 0) text += " · GPU " + std::to_string(device_index(device));
    return text;
  }

  void read_steps() {
    for (const store::Step& step : capture_.steps()) {
      if (!step.gpu_start_ns || !step.gpu_end_ns || *step.gpu_end_ns <= *step.gpu_start_ns) continue;
      data_->names.push_back({step_event_name(step), EventName::Kind::step, KernelClass::other, 0,
                              static_cast<int>(step.phase)});
      TimelineRow& line = row(RowKind::steps, 0, step.process_id, 0, 0, 0);
      // A recorded window among steps, as a warm-up that has none, leaves the row theirs.
      if (line.label.empty() || step.source != StepSource::window)
        line.label = std::string(steps_row_label(step)) + where(step.process_id, 0);
      line.id = "steps/" + std::to_string(process_number(step.process_id));
      line.events.add(*step.gpu_start_ns, *step.gpu_end_ns,
                      static_cast<std::uint32_t>(data_->names.size() - 1));
    }
  }

  bool read_ranges() {
    const std::map<Id, std::string> strings = capture_.strings();
    std::unordered_map<Id, std::uint32_t> names;
    for (const store::Thread& thread : capture_.threads())
      threads_[{thread.process_id, thread.thread_id}] = thread.name;
    // Of the thread whose range was the last, its line of each depth.
    std::pair<Id, std::int64_t> last{0, 0};
    std::array<TimelineRow*, kDepths> of_last{};
    const auto line_of = [&](const store::NvtxRange& range) -> TimelineRow& {
      if (last != std::pair(range.process_id, range.thread_id)) {
        last = {range.process_id, range.thread_id};
        of_last = {};
      }
      TimelineRow*& line = of_last.at(static_cast<std::size_t>(range.depth));
      if (line == nullptr) {
        line = &row(RowKind::ranges, kHost, range.process_id, 0, range.thread_id, range.depth);
        line->thread_id = range.thread_id;
      }
      return *line;
    };
    const bool whole = activity_.for_each_range(
        {},
        [&](const store::NvtxRange& range) {
          if (!range.end_ns || *range.end_ns < range.start_ns || range.depth < 0 || range.depth >= kDepths)
            return;
          const auto [found, added] = names.try_emplace(range.name_id, 0);
          if (added) {
            found->second = static_cast<std::uint32_t>(data_->names.size());
            const auto text = strings.find(range.name_id);
            data_->names.push_back({text == strings.end() ? "?" : text->second, EventName::Kind::range});
          }
          line_of(range).events.add(range.start_ns, *range.end_ns, found->second);
        },
        stop_);
    for (auto& [key, line] : rows_) {
      if (line.row.kind != RowKind::ranges) continue;
      line.lanes = in_lanes(std::move(line.row.events), RangeLinks::kLanes);
      gpu_ranges_.add(line.row.process_id, line.row.thread_id, line.row.depth, line.lanes);
    }
    return whole;
  }

  // Those whose events are not in lanes yet. A map's entries stay where they are when others come.
  [[nodiscard]] std::vector<Line*> unordered_lines() {
    std::vector<Line*> lines;
    for (auto& [key, line] : rows_)
      if (line.lanes.empty()) lines.push_back(&line);
    return lines;
  }

  // Above what ran: of each thread and depth a row of what its ranges launched.
  void project_ranges() {
    for (auto& [id, thread] : gpu_ranges_.threads()) {
      for (auto& [depth, ranges] : thread) {
        std::vector<Lane> lanes = ranges.project();
        if (lanes.empty()) continue;
        TimelineRow& line = row(RowKind::gpu_ranges, kGpuRanges, id.first, 0, id.second, depth);
        line.thread_id = id.second;
        line.secondary = depth >= kGpuRangeDepths;
        rows_.at({id.first, kGpuRanges, 0, id.second, depth}).lanes = std::move(lanes);
      }
    }
    limit_projections();
  }

  // Of many threads the outermost ranges are shown, so that the streams stay in sight.
  void limit_projections() {
    std::map<std::tuple<Id, int, std::int64_t>, Line*> by_depth;
    for (auto& [key, line] : rows_) {
      if (line.row.kind == RowKind::gpu_ranges)
        by_depth[{line.row.process_id, line.row.depth, line.row.thread_id}] = &line;
    }
    std::map<Id, std::size_t> shown;
    for (const auto& [key, line] : by_depth) {
      std::size_t& before = shown[line->row.process_id];
      const std::size_t more = std::min<std::size_t>(line->lanes.size(), kMaxLanes);
      line->row.secondary = line->row.secondary || (before > 0 && before + more > kGpuRangeRows);
      if (!line->row.secondary) before += more;
    }
  }

  struct Site {
    TimelineRow* kernels = nullptr;
    TimelineRow* collectives = nullptr;
    TimelineRow* calls = nullptr;
    GpuRanges::Thread* ranges = nullptr;  // of the thread that launches
    std::uint32_t name = 0;
    std::uint32_t call_name = 0;
    bool of_graph = false;
  };

  bool read_launches() {
    std::unordered_map<Id, std::uint32_t> names;
    std::set<Id> communicates;
    for (const store::Kernel& kernel : capture_.kernels()) {
      names[kernel.id] = static_cast<std::uint32_t>(data_->names.size());
      data_->names.push_back(
          {kernel.demangled_name, EventName::Kind::kernel, kernel.kernel_class, kernel.id});
      if (kernel.kernel_class == KernelClass::communication) communicates.insert(kernel.id);
    }
    std::unordered_map<Id, Site> sites;
    Id last_id = 0;
    Site* last = nullptr;
    const auto site_of = [&](Id id) -> Site& {
      if (last != nullptr && id == last_id) return *last;
      const auto [found, added] = sites.try_emplace(id);
      if (added) {
        const store::Launch site = activity_.launch_site(id);
        found->second.kernels = &row(RowKind::kernels, 6, site.process_id, site.device_id, site.stream_id, 0);
        found->second.kernels->stream_id = site.stream_id;
        if (communicates.contains(site.kernel_id))
          found->second.collectives = &row(RowKind::collectives, 5, site.process_id, site.device_id, 0, 0);
        if (site.thread_id) {
          found->second.calls = &row(RowKind::calls, kHost + 1, site.process_id, 0, *site.thread_id, 0);
          found->second.calls->thread_id = *site.thread_id;
          found->second.ranges = gpu_ranges_.thread(site.process_id, *site.thread_id);
        }
        const auto name = names.find(site.kernel_id);
        found->second.of_graph = site.graph_id.has_value();
        found->second.name = name == names.end() ? name_of(EventName::Kind::kernel, -1, "?") : name->second;
      }
      if (added) {
        found->second.call_name = found->second.of_graph
                                      ? name_of(EventName::Kind::range, 1, "launch of a CUDA graph")
                                      : found->second.name;
      }
      last_id = id;
      last = &found->second;
      return *last;
    };
    // One call launches all kernels of a graph: it is one event.
    std::unordered_map<const TimelineRow*, std::int64_t> last_graph_call;
    return activity_.for_each_launch_row(
        {}, store::LaunchColumns::events,
        [&](const store::LaunchRow& launch) {
          if ((++data_->launches & 0x3ffff) == 0 && progress_) progress_(data_->launches, total_);
          Site& site = site_of(launch.site_id);
          if (launch.start_ns > 0 && launch.end_ns >= launch.start_ns) {
            site.kernels->events.add(launch.start_ns, launch.end_ns, site.name);
            if (site.collectives != nullptr)
              site.collectives->events.add(launch.start_ns, launch.end_ns, site.name);
            if (site.ranges != nullptr && launch.host_start_ns)
              GpuRanges::include(*site.ranges, *launch.host_start_ns, launch.start_ns, launch.end_ns);
          }
          if (site.calls != nullptr && launch.host_start_ns && launch.host_end_ns &&
              *launch.host_end_ns > *launch.host_start_ns) {
            if (site.of_graph &&
                std::exchange(last_graph_call[site.calls], *launch.host_start_ns) == *launch.host_start_ns)
              return;
            site.calls->events.add(*launch.host_start_ns, *launch.host_end_ns, site.call_name);
          }
        },
        stop_);
  }

  bool read_copies() {
    const auto add = [&](const auto& copy, std::uint32_t name) {
      if (copy.start_ns <= 0 || copy.end_ns < copy.start_ns) return;
      TimelineRow& line = row(RowKind::copies, 7, copy.process_id, copy.device_id, 0, 0);
      line.events.add(copy.start_ns, copy.end_ns, name);
    };
    return activity_.for_each_memcpy(
               {},
               [&](const store::Memcpy& copy) {
                 add(copy, name_of(EventName::Kind::copy, static_cast<int>(copy.kind), words(copy.kind)));
               },
               stop_) &&
           activity_.for_each_memset(
               {}, [&](const store::Memset& set) { add(set, name_of(EventName::Kind::copy, 100, "memset")); },
               stop_);
  }

  void read_waits() {
    for (const auto& [id, process] : processes_) {
      for (const store::Synchronisation& wait : capture_.synchronisations(id, INT64_MIN / 2, INT64_MAX / 2)) {
        TimelineRow& line = row(RowKind::waits, kHost + 2, id, 0, wait.thread_id, 0);
        line.thread_id = wait.thread_id;
        line.events.add(wait.start_ns, wait.end_ns(),
                        name_of(EventName::Kind::wait, static_cast<int>(wait.call),
                                "waits: " + plain_words(to_string(wait.call))));
      }
    }
  }

  std::string thread_words(const TimelineRow& line) const {
    const auto found = threads_.find({line.process_id, line.thread_id});
    const bool named = found != threads_.end() && !found->second.empty();
    return (named ? found->second : "thread " + std::to_string(line.thread_id)) + where(line.process_id, 0);
  }

  // What overlaps within a line goes to lanes below it.
  void put_rows() {
    // By the order of the host's rows, wherever a thread's ranges are shown first.
    for (const auto& [key, line] : rows_) {
      if (std::get<1>(key) >= kHost) thread_number(line.row);
    }
    for (auto& [key, line] : rows_) {
      name_line(line.row);
      first_rows_[key] = data_->rows.size();
      for (std::size_t lane = 0; lane < line.lanes.size(); ++lane) put_lane(line, lane);
    }
    for (const auto& [key, line] : rows_) lead_to_other_side(key, line);
    rows_.clear();
  }

  void put_lane(Line& line, std::size_t lane) {
    TimelineRow made = line.row;
    if (lane > 0) {
      if (!made.label.empty()) made.label.append(" (").append(std::to_string(lane + 1)).append(")");
      made.id.append("/lane").append(std::to_string(lane + 1));
      made.secondary = made.secondary || lane >= static_cast<std::size_t>(kMaxLanes);
    }
    made.events = std::move(line.lanes[lane].events);
    made.links = std::move(line.lanes[lane].links);
    data_->rows.push_back(std::move(made));
  }

  // The rows of a thread's ranges, on the host and on the GPU, are each other's other side.
  void lead_to_other_side(const RowKey& key, const Line& line) {
    RowKey other = key;
    std::get<1>(other) = line.row.kind == RowKind::ranges ? kGpuRanges : kHost;
    const auto first = first_rows_.find(other);
    if ((line.row.kind != RowKind::ranges && line.row.kind != RowKind::gpu_ranges) ||
        first == first_rows_.end())
      return;
    for (std::size_t lane = 0; lane < line.lanes.size(); ++lane)
      data_->rows[first_rows_.at(key) + lane].links.lead_to(first->second);
  }

  // What it is called on the screen and in what is kept about it.
  void name_line(TimelineRow& line) {
    const std::string process = std::to_string(process_number(line.process_id));
    const std::string of_process = processes_.size() > 1 ? "/" + process : "";
    const std::string device = std::to_string(device_index(line.device_id)) + of_process;
    const auto of_thread = [&](const char* what) {
      line.thread = thread_words(line);
      line.id = what + process + "/" + std::to_string(thread_number(line));
    };
    switch (line.kind) {
      case RowKind::ranges:
      case RowKind::gpu_ranges: {
        const bool on_gpu = line.kind == RowKind::gpu_ranges;
        of_thread(on_gpu ? "nvtx-gpu/" : "nvtx/");
        line.id += "/" + std::to_string(line.depth);
        // The outermost that there is: one that was never closed leaves no row.
        std::set<std::pair<Id, std::int64_t>>& named = on_gpu ? projected_threads_ : named_threads_;
        if (named.emplace(line.process_id, line.thread_id).second)
          line.label = (on_gpu ? "NVTX on the GPU · " : "NVTX · ") + line.thread;
        break;
      }
      case RowKind::calls:
        of_thread("calls/");
        line.label = "Launch calls · " + line.thread;
        break;
      case RowKind::waits:
        of_thread("waits/");
        line.label = "Waits · " + line.thread;
        break;
      case RowKind::kernels:
        line.label = "Stream " + std::to_string(line.stream_id) + where(line.process_id, line.device_id);
        line.id = "stream/" + std::to_string(device_index(line.device_id)) + "/" +
                  std::to_string(line.stream_id) + of_process;
        break;
      case RowKind::collectives:
        line.label = "Collectives" + where(line.process_id, line.device_id);
        line.id = "collectives/" + device;
        break;
      case RowKind::copies:
        line.label = "Copies" + where(line.process_id, line.device_id);
        line.id = "copies/" + device;
        break;
      default:
        break;
    }
  }

  // Numbers of threads differ from run to run; their order does not.
  int thread_number(const TimelineRow& line) {
    const auto [found, added] = thread_numbers_.try_emplace({line.process_id, line.thread_id}, 0);
    if (added) found->second = static_cast<int>(thread_numbers_.size()) - 1;
    return found->second;
  }

  const store::Capture& capture_;
  store::Activity activity_;
  std::stop_token stop_;
  const ReadProgress& progress_;
  std::shared_ptr<Timeline> data_ = std::make_shared<Timeline>();
  std::map<RowKey, Line> rows_;
  std::map<RowKey, std::size_t> first_rows_;  // of each line in the timeline
  std::map<std::pair<EventName::Kind, int>, std::uint32_t> codes_;
  std::map<Id, store::Device> devices_;
  std::map<Id, store::Process> processes_;
  std::map<std::pair<Id, std::int64_t>, std::string> threads_;
  std::map<std::pair<Id, std::int64_t>, int> thread_numbers_;
  std::set<std::pair<Id, std::int64_t>> named_threads_, projected_threads_;  // that have a row which says so
  GpuRanges gpu_ranges_;
  std::int64_t total_ = 0;
  bool several_ = false;
};

}  // namespace

std::size_t Timeline::bytes() const {
  std::size_t all = 0;
  for (const TimelineRow& row : rows) all += row.events.bytes() + row.links.bytes() + row.counter.bytes();
  return all;
}

std::optional<RangeInstance> instance_of(const Timeline& timeline, const TimelineRow& row,
                                         std::size_t event) {
  const auto other = row.links.of(event);
  if (!other) return std::nullopt;
  const EventRow& there = timeline.rows.at(other->row).events;
  const TimeWindow here_ns{row.events.start_ns(event), row.events.end_ns(event)};
  const TimeWindow there_ns{there.start_ns(other->event), there.end_ns(other->event)};
  return row.kind == RowKind::gpu_ranges ? RangeInstance{there_ns, here_ns}
                                         : RangeInstance{here_ns, there_ns};
}

TimelineRow gap_row(const Accounting& accounting) {
  TimelineRow row;
  row.kind = RowKind::gaps;
  row.id = "gaps";
  row.label = "Gaps by cause";
  row.process_id = accounting.process_id;
  row.device_id = accounting.device_id;
  for (const Gap& gap : accounting.gaps)
    row.events.add(gap.start_ns, gap.end_ns, static_cast<std::uint32_t>(gap.kind));
  row.events.finish();
  return row;
}

std::string step_event_name(const store::Step& step) {
  if (step.source == StepSource::window) return "recorded time";
  return "step " + std::to_string(step.step_index) + " · " + std::string(to_string(step.phase));
}

std::string_view steps_row_label(const store::Step& step) {
  return step.source == StepSource::window ? "Recording" : "Steps";
}

Result<std::shared_ptr<const Timeline>> read_timeline(const std::string& path, const std::stop_token& stop,
                                                      const ReadProgress& progress) {
  const auto capture = store::Capture::open(path);
  if (!capture) return capture.failure();
  return Reader(capture.value(), stop, progress).read();
}

}  // namespace ridgeline::analyzer
