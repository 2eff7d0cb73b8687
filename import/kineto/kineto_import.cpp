#include "kineto/kineto_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "kineto/json_stream.h"
#include "kineto/op_shapes.h"
#include "ridgeline/base/text.h"
#include "traces/api_calls.h"
#include "traces/copy_kind.h"
#include "traces/counter_series.h"
#include "traces/time_origin.h"

namespace ridgeline::import {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxCounterValues = 4'000'000;
constexpr std::size_t kMaxWorks = 1u << 16;                     // arguments of operations that are remembered
constexpr std::int64_t kLongestSpanNs = std::int64_t{1} << 55;  // of one event: a year

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr == text.data()) return std::nullopt;
  return value;
}

// Microseconds with decimals as nanoseconds, from the text: a double holds today's microseconds to a quarter of one.
std::optional<std::int64_t> nanoseconds_in(std::string_view text) {
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, whole);
  if (read.ec != std::errc{} || std::abs(whole) > kLatestNs / 1000) return std::nullopt;
  std::int64_t ns = whole * 1000;
  if (read.ptr == end) return ns;
  if (*read.ptr == 'e' || *read.ptr == 'E') {
    double value = 0;
    const auto real = std::from_chars(text.data(), end, value);
    if (real.ec != std::errc{} || !(std::abs(value) < static_cast<double>(kLatestNs) / 1000))
      return std::nullopt;
    return std::llround(value * 1000);
  }
  if (*read.ptr != '.') return std::nullopt;
  std::int64_t part = 0;
  int digits = 0;
  for (const char* at = read.ptr + 1; at != end && *at >= '0' && *at <= '9'; ++at, ++digits) {
    if (digits < 3) part = part * 10 + (*at - '0');
    if (digits == 3 && *at >= '5') ++part;
  }
  for (; digits < 3; ++digits) part *= 10;
  return text.front() == '-' ? ns - part : ns + part;
}

std::optional<double> real_in(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr == text.data() || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Event {
  char phase = 0;
  std::string_view category, name, process, thread, start, duration, args;
};

// Arguments of an event on a device that are taken over.
struct DeviceArgs {
  std::optional<std::int64_t> process, device, context, stream, correlation, bytes, registers, shared_bytes,
      static_shared_bytes, graph_id, graph_node;
  std::string_view grid, block;
  CollectiveArguments collective;
  std::optional<std::int64_t> external_id;
};

store::Dim3 dim_in(std::string_view text) {
  store::Dim3 dim{0, 0, 0};  // not said
  if (!text.starts_with('[')) return dim;
  text.remove_prefix(1);
  for (std::int64_t* each : {&dim.x, &dim.y, &dim.z}) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(", \n\t\r")));
    const auto value = integer_in(text);
    if (!value || *value < 0 || *value > INT32_MAX) return {0, 0, 0};
    *each = *value;
    text.remove_prefix(std::min(text.size(), text.find_first_of(",]")));
  }
  return dim;
}

// Before 2023 torch.profiler called the categories otherwise.
std::string_view category_of_today(std::string_view category) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kBefore = {
      {{"Kernel", "kernel"},
       {"Memcpy", "gpu_memcpy"},
       {"Memset", "gpu_memset"},
       {"Runtime", "cuda_runtime"},
       {"Operator", "cpu_op"}}};
  for (const auto& [before, today] : kBefore)
    if (category == before) return today;
  return category;
}

std::uint32_t low_half(std::optional<std::int64_t> value) {
  return static_cast<std::uint32_t>(value.value_or(0));
}

class KinetoReader {
 public:
  KinetoReader(const std::string& path, const std::string& scratch_directory, const ReadProgress& progress)
      : stream_(path), progress_(progress) {
    recording_.processes.push_back(std::make_unique<ForeignProcess>(scratch_directory));
    process_ = recording_.processes.back().get();
  }

  ForeignRecording read() {
    const bool events =
        stream_.read([this](std::string_view text) { return take(text); },
                     [this](std::string_view key, std::string_view value) { note(key, value); });
    const JsonLosses& losses = stream_.losses();
    if (!events) throw Error(ErrorKind::not_a_capture, without_events(losses));
    if (losses.events == 0 && losses.malformed > 0)
      throw Error(ErrorKind::corrupt, fmt::format("{} events, and none of them is whole", losses.malformed));
    leave_out_captured(*process_, std::move(captures_));
    for (const auto& [correlation_id, id] : launched_by_)
      if (const auto by = collective_ops_.find(id); by != collective_ops_.end())
        process_->collectives.ran(correlation_id, by->second);
    process_->samples = counters_.samples();
    process_->shift(origin_.shift_ns(base_ns_));
    describe();
    say_losses(losses);
    return std::move(recording_);
  }

 private:
  static std::string without_events(const JsonLosses& losses) {
    for (const std::string& member : losses.members)
      if (member.starts_with("rocprof"))
        return "is a result of rocprof, which is not read: of AMD GPUs, traces of torch.profiler are";
    if (!losses.long_member && (losses.cut || losses.damaged_gzip))
      return "ends before its events begin: it is cut";
    return fmt::format(
        "is JSON without an array traceEvents{}, and no trace of torch.profiler or in Chrome's format",
        losses.members.empty()
            ? ""
            : fmt::format(" (it begins with '{}')", one_line(bounded_text(losses.members.front(), 40))));
  }

  bool take(std::string_view text) {
    if ((++taken_ & 0x3fff) == 0 && progress_) progress_(stream_.offset());
    Event event;
    JsonMembers members(text);
    while (members.next()) {
      const std::string_view key = members.key(), value = members.value();
      if (key == "ph") {
        event.phase = value.empty() ? '\0' : value.front();
      } else if (key == "cat") {
        event.category = value;
      } else if (key == "name") {
        event.name = value;
      } else if (key == "pid") {
        event.process = value;
      } else if (key == "tid") {
        event.thread = value;
      } else if (key == "ts") {
        event.start = value;
      } else if (key == "dur") {
        event.duration = value;
      } else if (key == "args" && !members.is_text()) {
        event.args = value;
      }
    }
    if (members.malformed() || event.phase == 0) return false;
    event.category = category_of_today(event.category);
    if (event.phase == 'M') return take_name(event);
    if (event.phase == 'X') return take_span(event);
    if (event.phase == 'C' && event.category == "hardware_counters") return take_counter(event);
    return true;
  }

  bool take_name(const Event& event) {
    if (event.name != "process_name" && event.name != "thread_name") return true;
    std::string name;
    for (JsonMembers args(event.args); args.next();)
      if (args.key() == "name") name = one_line(json_text(args.value()));
    const auto pid = integer_in(event.process);
    if (!pid || *pid <= 0 || name.empty()) return true;
    if (event.name == "process_name")
      process_names_.try_emplace(*pid, name);
    else if (const auto tid = integer_in(event.thread); tid && *tid > 0)
      thread_names_.try_emplace(low_half(tid), std::pair(*pid, name));
    return true;
  }

  bool take_span(const Event& event) {
    const std::string_view category = event.category;
    const bool on_device = category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
    const bool range = category == "cpu_op" || category == "user_annotation";
    // What `ridgeline export` calls them.
    const bool own_call = category == "launch" || category == "wait";
    const bool call = own_call || category == "cuda_runtime" || category == "cuda_driver";
    if (!on_device && !range && !call) {
      leave_out(category);
      return true;
    }
    const auto time_ns = nanoseconds_in(event.start);
    const auto duration_ns =
        event.duration.empty() ? std::optional<std::int64_t>(0) : nanoseconds_in(event.duration);
    if (!time_ns || !duration_ns || *duration_ns < 0 || *duration_ns > kLongestSpanNs) {
      if (category == "kernel") ++unread_kernels_;
      return false;
    }
    const std::int64_t start_ns = origin_.at(*time_ns);
    const std::int64_t end_ns = start_ns + *duration_ns;
    if (on_device) return take_device(event, start_ns, end_ns);
    const auto pid = integer_in(event.process);
    if (pid && *pid > 0 && process_->row.pid == 0) process_->row.pid = *pid;
    if (call) return take_call(event, start_ns, end_ns);
    if (!has_time(start_ns, end_ns)) return false;
    if (event.name == "record_param_comms") take_collective_op(event);
    process_->ranges.push_back({.start_ns = start_ns,
                                .end_ns = end_ns,
                                .thread_id = low_half(integer_in(event.thread)),
                                .name = range_name(event.name),
                                .work = declares_work(event.name) ? work_of(event) : 0});
    return true;
  }

  // A model repeats its layers: arguments that were read before are known by their text.
  std::uint32_t work_of(const Event& event) {
    std::string_view sizes, types, values;
    for (JsonMembers args(event.args); args.next();) {
      if (args.key() == "Input Dims") {
        sizes = args.value();
      } else if (args.key() == "Input type") {
        types = args.value();
      } else if (args.key() == "Concrete Inputs") {
        values = args.value();
      }
    }
    if (sizes.empty()) return 0;
    std::string key;
    for (const std::string_view part : {event.name, sizes, types, values}) key.append(part).append(1, '\0');
    if (const auto read = works_.find(key); read != works_.end()) return read->second;
    std::uint32_t number = 0;
    if (const auto arguments = op_arguments(sizes, types, values)) {
      if (const auto work = work_of_op(event.name, *arguments)) {
        process_->works.push_back(*work);
        number = static_cast<std::uint32_t>(process_->works.size());
      }
    }
    if (works_.size() < kMaxWorks) works_.emplace(std::move(key), number);
    return number;
  }

  // A value of a device at a time: {"name": metric, "pid": "GPU 0 Counters", "ts": …, "args": {"": value}}.
  bool take_counter(const Event& event) {
    std::string_view device = event.process;
    constexpr std::string_view kBefore = "GPU ";
    if (device.starts_with(kBefore)) device.remove_prefix(kBefore.size());
    const auto number = integer_in(device);
    const auto time_ns = nanoseconds_in(event.start);
    if (!number || *number < 0 || *number > 4096 || !time_ns || event.name.empty()) return false;
    std::optional<double> value;
    for (JsonMembers args(event.args); args.next() && !value;) value = real_in(args.value());
    if (!value) return false;
    if (!counters_.add({origin_.at(*time_ns), low_half(number), event.name, *value}))
      ++left_out_["hardware_counters"];
    return true;
  }

  std::uint32_t range_name(std::string_view raw) {
    return raw.find('\\') == std::string_view::npos ? process_->names.number_of(raw)
                                                    : process_->names.number_of(json_text(raw));
  }

  void leave_out(std::string_view category) {
    // What others of the same say, or what is no work.
    constexpr std::array<std::string_view, 7> kExpected = {
        "Trace", "ac2g", "fwdbwd", "gpu_user_annotation", "overhead", "cuda_sync", "cuda_event"};
    if (std::find(kExpected.begin(), kExpected.end(), category) != kExpected.end()) return;
    constexpr std::size_t kMaxCategories = 32;
    if (left_out_.size() < kMaxCategories) ++left_out_[std::string(category)];
  }

  static DeviceArgs device_args(std::string_view text) {
    DeviceArgs args;
    for (JsonMembers members(text); members.next();) {
      const std::string_view key = members.key();
      const auto number = [&] { return integer_in(members.value()); };
      if (key == "device") {
        args.device = number();
      } else if (key == "context") {
        args.context = number();
      } else if (key == "stream") {
        args.stream = number();
      } else if (key == "correlation") {
        args.correlation = number();
      } else if (key == "bytes") {
        args.bytes = number();
      } else if (key == "registers per thread") {
        args.registers = number();
      } else if (key == "shared memory" || key == "dynamic shared memory") {
        args.shared_bytes = number();
      } else if (key == "static shared memory") {
        args.static_shared_bytes = number();
      } else if (key == "process") {
        args.process = number();
      } else if (key == "graph id") {
        args.graph_id = number();
      } else if (key == "graph node id") {
        args.graph_node = number();
      } else if (key == "grid") {
        args.grid = members.value();
      } else if (key == "block") {
        args.block = members.value();
      } else if (key == "External id" || key == "external id") {
        args.external_id = number();
      } else {
        (void)args.collective.take(key, members.value());
      }
    }
    return args;
  }

  bool take_device(const Event& event, std::int64_t start_ns, std::int64_t end_ns) {
    const DeviceArgs args = device_args(event.args);
    const auto device = args.device ? args.device : integer_in(event.process);
    const auto stream = args.stream ? args.stream : integer_in(event.thread);
    if (!device || *device < 0 || *device > 4096 || (event.category == "kernel" && event.name.empty())) {
      if (event.category == "kernel") ++unread_kernels_;
      return false;
    }
    if (args.process) require_one_process(*args.process);
    used_devices_.insert(low_half(device));
    if (has_time(start_ns, end_ns)) process_->saw(start_ns, end_ns);
    if (event.category != "kernel") {
      Copy copy{.correlation_id = low_half(args.correlation),
                .device = low_half(device),
                .context_id = low_half(args.context),
                .stream_id = low_half(stream),
                .start_ns = start_ns,
                .end_ns = end_ns,
                .bytes = std::max<std::int64_t>(args.bytes.value_or(0), 0)};
      if (event.category == "gpu_memcpy") copy.kind = copy_kind_in(event.name);
      if (args.graph_node.value_or(0) != 0) copy.graph_node = static_cast<std::uint64_t>(*args.graph_node);
      process_->log.add(copy);
      return true;
    }
    Execution execution{.correlation_id = low_half(args.correlation),
                        .kernel = kernels_.number_of(event.name),
                        .device = low_half(device),
                        .context_id = low_half(args.context),
                        .stream_id = low_half(stream),
                        .start_ns = start_ns,
                        .end_ns = end_ns,
                        .grid = dim_in(args.grid),
                        .block = dim_in(args.block),
                        .registers_per_thread = low_half(args.registers),
                        .static_smem_bytes = low_half(args.static_shared_bytes),
                        .dynamic_smem_bytes = low_half(args.shared_bytes)};
    if (args.graph_node.value_or(0) != 0) {
      execution.graph_node = static_cast<std::uint64_t>(*args.graph_node);
      execution.graph_id = low_half(args.graph_id);
    }
    if (execution.correlation_id == 0) execution.correlation_id = next_correlation_id_--;
    take_collective(event, args, execution.correlation_id);
    ++process_->executions;
    process_->log.add(execution);
    return true;
  }

  // A Chrome trace that `ridgeline export` wrote names the process of each event; of several, as of ranks, streams and
  // devices with one number are not one.
  void require_one_process(std::int64_t pid) {
    if (!own_process_) own_process_ = pid;
    if (*own_process_ != pid)
      throw Error(ErrorKind::usage,
                  "is an export of Ridgeline with several processes, which this format does not tell apart: "
                  "use the capture itself, or export --format perfetto");
  }

  // The kernel says it itself, or the operation that launched it does.
  void take_collective(const Event& event, const DeviceArgs& args, std::uint32_t correlation_id) {
    if (!args.collective.name.empty()) {
      if (auto collective = process_->collectives.collective_of(args.collective))
        process_->collectives.ran(correlation_id, std::move(*collective));
    } else if (args.external_id && event.name.find("nccl") != std::string_view::npos) {
      launched_by_.emplace_back(correlation_id, *args.external_id);
    }
  }

  void take_collective_op(const Event& event) {
    CollectiveArguments arguments;
    std::optional<std::int64_t> id;
    for (JsonMembers args(event.args); args.next();) {
      if (args.key() == "External id") id = integer_in(args.value());
      (void)arguments.take(args.key(), args.value());
    }
    if (auto collective = process_->collectives.collective_of(arguments); id && collective)
      collective_ops_.insert_or_assign(*id, std::move(*collective));
  }

  static ApiCall call_of(const Event& event) {
    if (event.category == "wait") {
      const auto wait = parse_word<SynchronisationCall>(event.name);
      return wait ? ApiCall{.kind = ApiKind::wait, .wait = *wait} : ApiCall{};
    }
    if (event.category != "launch") return api_call(event.name);
    bool graph = false;
    for (JsonMembers args(event.args); args.next();)
      if (args.key() == "graph") graph = args.value() == "true";
    return {.kind = graph ? ApiKind::graph_launch : ApiKind::launch};
  }

  bool take_call(const Event& event, std::int64_t start_ns, std::int64_t end_ns) {
    const ApiCall what = call_of(event);
    process_->has_calls = true;
    if (what.kind == ApiKind::other) return true;
    const std::uint32_t thread = low_half(integer_in(event.thread));
    if (what.kind == ApiKind::capture_begin || what.kind == ApiKind::capture_end) {
      captures_.push_back({thread, start_ns, what.kind == ApiKind::capture_begin});
      return true;
    }
    std::uint32_t correlation = 0;
    for (JsonMembers args(event.args); args.next();)
      if (args.key() == "correlation") correlation = low_half(integer_in(args.value()));
    CaptureWatch none;  // events are in no order: what is captured goes when all are there
    add_api_call(*process_, none,
                 {.what = what,
                  .thread_id = thread,
                  .thread_key = thread,
                  .correlation_id = correlation,
                  .enter_ns = start_ns,
                  .exit_ns = end_ns});
    return true;
  }

  void note(std::string_view key, std::string_view value) {
    if (key == "baseTimeNanoseconds") {
      const auto base = integer_in(value.starts_with('"') ? value.substr(1) : value);
      if (base && *base > 0 && *base < kLatestNs / 8 * 7) base_ns_ = *base;
    } else if (key == "deviceProperties") {
      devices_ = Json::parse(value, nullptr, false);
    } else if (key == "distributedInfo") {
      distributed_ = Json::parse(value, nullptr, false);
    } else if (key.find("version") != std::string_view::npos && value.size() < 64) {
      std::string text =
          value.starts_with('"') ? json_text(value.substr(1, value.size() - 2)) : std::string(value);
      if (key != "schemaVersion") versions_.emplace_back(std::string(key), one_line(text));
    }
  }

  template <typename Number>
  static std::optional<Number> number_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    const auto value = found->template get<std::int64_t>();
    return value > 0 && value <= std::numeric_limits<Number>::max()
               ? std::optional(static_cast<Number>(value))
               : std::nullopt;
  }

  void describe_devices() {
    if (!devices_.is_array()) return;
    for (const Json& each : devices_) {
      if (!each.is_object()) continue;
      const auto id = each.find("id");
      if (id == each.end() || !id->is_number_integer()) continue;
      const auto number = id->get<std::int64_t>();
      if (number < 0 || number > 4096 || !used_devices_.contains(static_cast<std::uint32_t>(number)))
        continue;
      store::Device device;
      device.device_index = static_cast<int>(number);
      const auto name = each.find("name");
      device.name =
          name != each.end() && name->is_string() ? one_line(name->get<std::string>()) : "unknown device";
      device.memory_bytes = number_in<std::int64_t>(each, "totalGlobalMem");
      device.sm_count = number_in<int>(each, "numSms");
      const auto major = number_in<int>(each, "computeMajor");
      const auto minor = each.find("computeMinor");
      if (major && minor != each.end() && minor->is_number_integer())
        device.compute_capability = fmt::format("{}.{}", *major, minor->get<std::int64_t>());
      process_->devices[static_cast<std::uint32_t>(number)] = {.device = device, .peaks = {}};
    }
  }

  void describe_groups() {
    const auto groups = distributed_.find("pg_config");
    if (groups == distributed_.end() || !groups->is_array()) return;
    for (const Json& each : *groups) {
      if (!each.is_object()) continue;
      const auto name = each.find("pg_name");
      if (name == each.end() || !name->is_string()) continue;
      std::string members;
      if (const auto ranks = each.find("ranks"); ranks != each.end() && ranks->is_array()) {
        for (const Json& rank : *ranks) members.append(members.empty() ? "[" : ", ").append(rank.dump());
        if (!members.empty()) members.append("]");
      }
      process_->collectives.note_group(name->get_ref<const std::string&>(), members,
                                       number_in<std::int32_t>(each, "pg_size"));
    }
  }

  void describe() {
    process_->kernels.reserve(kernels_.size());
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
      std::string name = json_text(kernels_.text(i));
      const bool mangled = name.starts_with("_Z");
      process_->kernels.push_back({.text = std::move(name), .mangled = mangled});
    }
    describe_devices();
    if (distributed_.is_object()) {
      const auto rank = distributed_.find("rank");
      if (rank != distributed_.end() && rank->is_number_integer() && rank->get<std::int64_t>() >= 0 &&
          rank->get<std::int64_t>() < (1 << 24))
        process_->row.rank = static_cast<int>(rank->get<std::int64_t>());
      process_->world_ranks = number_in<std::int32_t>(distributed_, "world_size");
      describe_groups();
    }
    for (auto& [thread, named] : thread_names_)
      if (named.first == process_->row.pid) process_->threads[thread] = named.second;
    if (const auto name = process_names_.find(process_->row.pid); name != process_names_.end())
      process_->row.command = name->second;
    recording_.run.command_line = process_->row.command.value_or("");
    recording_.run.clock =
        base_ns_ != 0 ? "UTC by baseTimeNanoseconds of the trace" : "microseconds of the trace";
    if (const std::int64_t later_s = origin_.later_s(base_ns_); later_s != 0)
      recording_.run.clock += fmt::format(", {} s later: it has times of zero or below", later_s);
    recording_.versions = versions_;
    recording_.empty_because =
        "the trace has no kernel: profile with activities=[ProfilerActivity.CUDA], and check that no other "
        "profiler "
        "held CUPTI (one program at a time can)";
    // Whoever wrote those has no word for kernels that is known here; torch.profiler on the CPU has operations.
    if (!left_out_.empty() && process_->ranges.empty() && !process_->has_calls) {
      std::string categories;
      for (const auto& [category, count] : left_out_)
        categories.append(categories.empty() ? "" : ", ")
            .append(category.empty() ? "none" : "'" + one_line(bounded_text(category, 40)) + "'");
      recording_.empty_because = fmt::format(
          "the trace has no kernel: its events are of another program than torch.profiler (categories: {}); "
          "of JSON, traces of torch.profiler and of ridgeline export --format chrome are read",
          categories);
    }
    if (unread_kernels_ > 0)
      recording_.empty_because = fmt::format(
          "{} kernels, and none has a start, a duration, a device and a name that can be read: the trace is "
          "of another program or damaged",
          unread_kernels_);
  }

  void say_losses(const JsonLosses& losses) {
    recording_.cut = losses.cut || losses.damaged_gzip;
    if (recording_.cut)
      process_->losses.push_back(
          {.severity = Severity::error,
           .what = Reason(ReasonCode::import_cut, {{"end", losses.given_up       ? "damage"
                                                           : losses.damaged_gzip ? "gzip"
                                                                                 : "list"},
                                                   {"events", losses.events}})});
    if (losses.malformed > 0)
      process_->losses.push_back(
          {.what = Reason(ReasonCode::import_malformed, {{"events", losses.malformed}})});
    if (left_out_.empty()) return;
    Reason left_out(ReasonCode::import_left_out);
    for (const auto& [category, count] : left_out_)
      left_out.because.emplace_back(
          ReasonCode::import_left_out_events,
          std::vector<ReasonValue>{{"category", one_line(bounded_text(category, 40))}, {"events", count}});
    process_->losses.push_back(
        {.severity = Severity::info, .what = std::move(left_out), .of_timeline = false});
  }

  JsonStream stream_;
  const ReadProgress& progress_;
  ForeignRecording recording_;
  ForeignProcess* process_ = nullptr;
  NameTable kernels_;  // as they stand in the file
  CounterSeries counters_{kMaxCounterValues};
  std::uint64_t taken_ = 0;
  std::int64_t unread_kernels_ = 0;
  std::optional<std::int64_t> own_process_;
  std::int64_t base_ns_ = 0;
  TimeOrigin origin_;
  std::uint32_t next_correlation_id_ = UINT32_MAX - 1;
  std::set<std::uint32_t> used_devices_;
  std::map<std::string, std::int64_t> left_out_;
  std::unordered_map<std::string, std::uint32_t> works_;  // by the text of an operation and its arguments
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::uint32_t, std::pair<std::int64_t, std::string>> thread_names_;
  std::vector<CaptureEdge> captures_;
  std::unordered_map<std::int64_t, ForeignCollective> collective_ops_;  // by external id
  std::vector<std::pair<std::uint32_t, std::int64_t>> launched_by_;     // correlation, external id
  std::vector<std::pair<std::string, std::string>> versions_;
  Json devices_, distributed_;
};

}  // namespace

ForeignRecording read_kineto(const std::string& path, const std::string& scratch_directory,
                             const ReadProgress& progress) {
  return KinetoReader(path, scratch_directory, progress).read();
}

}  // namespace ridgeline::import
