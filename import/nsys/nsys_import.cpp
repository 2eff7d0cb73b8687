#include "nsys/nsys_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "nsys/nsys_gpu_metrics.h"
#include "nsys/nsys_tables.h"
#include "ridgeline/base/text.h"
#include "ridgeline/store/device_peaks.h"
#include "traces/api_calls.h"

namespace ridgeline::import {

namespace {

constexpr auto kInteger = ColumnKind::integer;
constexpr auto kText = ColumnKind::text;
constexpr auto kRequired = ColumnNeed::required;

// Serialised ids: 8 bits hardware, 8 bits virtual machine, 24 bits process, 24 bits thread.
constexpr int kThreadBits = 24;
constexpr std::int64_t kIdMask = (1 << kThreadBits) - 1;

std::uint32_t narrow(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

class NsysReader {
 public:
  NsysReader(const std::string& path, const std::string& scratch_directory)
      : export_(path), scratch_directory_(scratch_directory) {}

  ForeignRecording read() {
    read_clock();
    read_strings();
    read_processes();
    read_calls();
    read_kernels();
    read_graphs();
    read_copies();
    read_sets();
    read_ranges();
    read_threads();
    read_devices();
    read_samples();
    describe();
    return std::move(recording_);
  }

 private:
  ForeignProcess& process_of(std::optional<std::int64_t> global_id) {
    const std::int64_t key = global_id.value_or(0) >> kThreadBits;
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) return *found->second;
    auto& made = recording_.processes.emplace_back(std::make_unique<ForeignProcess>(scratch_directory_));
    made->row.pid = key & kIdMask;
    if (const auto name = process_names_.find(key); name != process_names_.end())
      made->row.command = name->second;
    by_key_[key] = made.get();
    return *made;
  }

  [[nodiscard]] std::string string_of(std::int64_t id) const {
    const auto found = strings_.find(id);
    return found == strings_.end() ? fmt::format("string {}", id) : found->second;
  }

  // Times count from the start of the session, and may be before it.
  void read_clock() {
    recording_.run.clock = "session time of Nsight Systems";
    offset_ns_ = std::int64_t{1} << 50;  // 13 days: no session begins earlier before its own zero
    if (!export_.has("TARGET_INFO_SESSION_START_TIME")) return;
    store::Statement query = export_.rows("TARGET_INFO_SESSION_START_TIME", {{{"utcEpochNs"}}});
    if (!query.step()) return;
    const std::int64_t start_ns = query.int64(0);
    if (start_ns <= 0 || start_ns >= kLatestNs / 8 * 7) return;
    offset_ns_ = start_ns;
    recording_.run.clock = "UTC by the start of the session of Nsight Systems";
    recording_.run.start_ns = start_ns;
  }
  [[nodiscard]] std::int64_t at(std::int64_t time_ns) const {
    if (time_ns < -kLatestNs / 4 || time_ns > kLatestNs / 4) return 0;
    return time_ns + offset_ns_;
  }

  void read_strings() {
    if (!export_.has("StringIds")) {
      recording_.notes.emplace_back(ReasonCode::import_without_names);
      return;
    }
    store::Statement query =
        export_.rows("StringIds", {{{"id"}, kInteger, kRequired}, {{"value"}, kText, kRequired}});
    while (query.step()) strings_[query.int64(0)] = query.text(1);
  }

  void read_processes() {
    if (!export_.has("PROCESSES")) return;
    store::Statement query = export_.rows("PROCESSES", {{{"globalPid"}}, {{"name"}, kText}});
    while (query.step()) {
      if (!query.is_null(0) && !query.is_null(1))
        process_names_[query.int64(0) >> kThreadBits] = one_line(query.text(1));
    }
  }

  struct ApiRow {
    std::int64_t key, thread, start_ns, end_ns;
    std::optional<std::int64_t> correlation_id;
    ApiCall what;
  };

  void read_calls() {
    constexpr const char* kTable = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!export_.has(kTable)) {
      recording_.notes.emplace_back(ReasonCode::import_without_calls);
      return;
    }
    store::Statement query = export_.rows(kTable, {{{"start"}, kInteger, kRequired},
                                                   {{"end"}, kInteger, kRequired},
                                                   {{"globalTid"}},
                                                   {{"correlationId"}},
                                                   {{"nameId"}, kInteger, kRequired},
                                                   {{"returnValue"}}});
    std::unordered_map<std::int64_t, ApiCall> kinds;
    std::vector<ApiRow> rows;
    while (query.step()) {
      const auto [kind, fresh] = kinds.try_emplace(query.int64(4));
      if (fresh) kind->second = api_call(string_of(kind->first));
      if (kind->second.kind == ApiKind::other || query.optional_int64(5).value_or(0) != 0) continue;
      const std::int64_t thread = query.optional_int64(2).value_or(0);
      rows.push_back({thread >> kThreadBits, thread & kIdMask, at(query.int64(0)), at(query.int64(1)),
                      query.optional_int64(3), kind->second});
    }
    std::sort(rows.begin(), rows.end(), [](const ApiRow& a, const ApiRow& b) {
      return std::tuple(a.key, a.thread, a.start_ns) < std::tuple(b.key, b.thread, b.start_ns);
    });
    CaptureWatch capture;
    for (const ApiRow& row : rows) {
      ForeignProcess& process = process_of(row.key << kThreadBits);
      process.has_calls = true;
      add_api_call(process, capture,
                   {.what = row.what,
                    .thread_id = narrow(row.thread),
                    .thread_key = row.key << kThreadBits | row.thread,
                    .correlation_id = narrow(row.correlation_id.value_or(0)),
                    .enter_ns = row.start_ns,
                    .exit_ns = row.end_ns});
    }
  }

  // What its demangler refused stands there as it was.
  static KernelName written_name(std::string text) {
    const bool mangled = text.starts_with("_Z");
    return {.text = std::move(text), .mangled = mangled};
  }

  std::uint32_t kernel_number(std::optional<std::int64_t> mangled, std::optional<std::int64_t> demangled) {
    const auto [found, fresh] = kernel_numbers_.try_emplace(
        std::pair(mangled.value_or(-1), demangled.value_or(-1)), static_cast<std::uint32_t>(kernels_.size()));
    if (fresh) {
      const std::string name = mangled && strings_.contains(*mangled) ? string_of(*mangled) : "";
      const bool plain = !name.empty() && name.find_first_of(" (<") == std::string::npos;
      if (plain)
        kernels_.push_back({.text = name, .mangled = true});
      else
        kernels_.push_back(written_name(demangled ? string_of(*demangled) : name));
    }
    return found->second;
  }

  void add_execution(ForeignProcess& process, Execution execution) {
    // Without correlation ids each launch is one by itself.
    if (execution.correlation_id == 0) execution.correlation_id = next_correlation_id_--;
    if (has_time(execution.start_ns, execution.end_ns)) process.saw(execution.start_ns, execution.end_ns);
    ++process.executions;
    ++ran_[{&process, execution.device}];
    process.log.add(execution);
  }

  // Whatever runs on a device: its times and where it ran, columns 0 to 6, then what is its own.
  [[nodiscard]] store::Statement activity_rows(std::string_view table, ColumnNeed device,
                                               const std::vector<NsysColumn>& own) const {
    std::vector<NsysColumn> columns = {{{"start"}, kInteger, kRequired},
                                       {{"end"}, kInteger, kRequired},
                                       {{"deviceId"}, kInteger, device},
                                       {{"contextId"}},
                                       {{"streamId"}},
                                       {{"correlationId"}},
                                       {{"globalPid"}}};
    columns.insert(columns.end(), own.begin(), own.end());
    return export_.rows(table, columns);
  }
  template <typename Event>
  void place(Event& event, const store::Statement& row) const {
    event.start_ns = at(row.int64(0));
    event.end_ns = at(row.int64(1));
    event.device = narrow(row.int64(2));
    event.context_id = narrow(row.int64(3));
    event.stream_id = narrow(row.int64(4));
    event.correlation_id = narrow(row.int64(5));
  }

  static std::optional<store::Dim3> cluster_in(const store::Statement& row, int first) {
    const store::Dim3 cluster{row.int64(first), row.int64(first + 1), row.int64(first + 2)};
    return cluster.x > 0 && cluster.y > 0 && cluster.z > 0 ? std::optional(cluster) : std::nullopt;
  }

  void read_kernels() {
    constexpr const char* kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
    if (!export_.has(kTable)) return;
    store::Statement row = activity_rows(kTable, kRequired,
                                         {{{"mangledName"}},
                                          {{"demangledName", "shortName"}, kInteger, kRequired},
                                          {{"gridX"}},
                                          {{"gridY"}},
                                          {{"gridZ"}},
                                          {{"blockX"}},
                                          {{"blockY"}},
                                          {{"blockZ"}},
                                          {{"registersPerThread"}},
                                          {{"staticSharedMemory"}},
                                          {{"dynamicSharedMemory"}},
                                          {{"graphNodeId"}},
                                          {{"graphId"}},
                                          {{"clusterX"}},
                                          {{"clusterY"}},
                                          {{"clusterZ"}}});
    while (row.step()) {
      Execution execution;
      place(execution, row);
      execution.kernel = kernel_number(row.optional_int64(7), row.optional_int64(8));
      execution.grid = {row.int64(9), row.int64(10), row.int64(11)};
      execution.block = {row.int64(12), row.int64(13), row.int64(14)};
      execution.registers_per_thread = narrow(row.int64(15));
      execution.static_smem_bytes = narrow(row.int64(16));
      execution.dynamic_smem_bytes = narrow(row.int64(17));
      if (row.int64(18) != 0) {
        execution.graph_node = static_cast<std::uint64_t>(row.int64(18));
        execution.graph_id = narrow(row.int64(19));
      }
      execution.cluster = cluster_in(row, 20);
      add_execution(process_of(row.optional_int64(6)), execution);
    }
  }

  // By default nsys records a launch of a graph as a whole: its time is known, its kernels are not.
  void read_graphs() {
    constexpr const char* kTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    if (!export_.has(kTable)) return;
    store::Statement row = activity_rows(kTable, ColumnNeed::optional, {{{"graphId"}}});
    std::map<std::int64_t, std::uint32_t> graphs;
    std::map<ForeignProcess*, std::int64_t> hidden_ns;
    while (row.step()) {
      const std::int64_t id = row.int64(7);
      const auto [kernel, fresh] = graphs.try_emplace(id, static_cast<std::uint32_t>(kernels_.size()));
      if (fresh) kernels_.push_back({.text = fmt::format("[CUDA graph {}]", id), .mangled = false});
      Execution execution{.kernel = kernel->second,
                          .grid = {0, 0, 0},
                          .block = {0, 0, 0},
                          .graph_id = narrow(id),
                          .graph_node = 0};
      place(execution, row);
      ForeignProcess& process = process_of(row.optional_int64(6));
      ++process.hidden_graphs;
      if (has_time(execution.start_ns, execution.end_ns))
        hidden_ns[&process] += execution.end_ns - execution.start_ns;
      add_execution(process, execution);
    }
    for (const auto& [process, time_ns] : hidden_ns)
      process->losses.insert(
          process->losses.begin(),
          {.severity = Severity::error,
           .what = Reason(ReasonCode::import_hidden_graphs,
                          {{"launches", process->hidden_graphs}, {"duration_ns", time_ns}})});
  }

  static CopyKind copy_kind(std::int64_t kind) {
    switch (kind) {
      case 1:
      case 3:
      case 11:
        return CopyKind::host_to_device;
      case 2:
      case 4:
      case 12:
        return CopyKind::device_to_host;
      case 5:
      case 6:
      case 7:
      case 8:
      case 13:
        return CopyKind::device_to_device;
      case 9:
        return CopyKind::host_to_host;
      case 10:
        return CopyKind::peer_to_peer;
      default:
        return CopyKind::unknown;
    }
  }

  void add_copy(store::Statement& row, std::optional<CopyKind> kind) {
    Copy copy{.bytes = row.int64(7), .kind = kind, .likeness = narrow(row.int64(8))};
    place(copy, row);
    if (row.int64(9) != 0) copy.graph_node = static_cast<std::uint64_t>(row.int64(9));
    ForeignProcess& process = process_of(row.optional_int64(6));
    if (has_time(copy.start_ns, copy.end_ns)) process.saw(copy.start_ns, copy.end_ns);
    process.log.add(copy);
  }

  [[nodiscard]] store::Statement copy_rows(const char* table, std::string_view kind) const {
    return activity_rows(table, ColumnNeed::optional,
                         {{{"bytes"}, kInteger, kRequired}, {{kind}}, {{"graphNodeId"}}});
  }

  void read_copies() {
    if (!export_.has("CUPTI_ACTIVITY_KIND_MEMCPY")) return;
    store::Statement row = copy_rows("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind");
    while (row.step()) add_copy(row, copy_kind(row.int64(8)));
  }

  void read_sets() {
    if (!export_.has("CUPTI_ACTIVITY_KIND_MEMSET")) return;
    store::Statement row = copy_rows("CUPTI_ACTIVITY_KIND_MEMSET", "memKind");
    while (row.step()) add_copy(row, std::nullopt);
  }

  // Domains of NVTX, by process and number; 0 is the default one, which has no name.
  using Domains = std::map<std::pair<std::int64_t, std::int64_t>, std::string>;
  [[nodiscard]] store::Statement nvtx_rows() const {
    return export_.rows("NVTX_EVENTS", {{{"start"}, kInteger, kRequired},
                                        {{"end"}},
                                        {{"eventType"}, kInteger, kRequired},
                                        {{"text"}, kText},
                                        {{"textId"}},
                                        {{"domainId"}},
                                        {{"globalTid"}}});
  }
  [[nodiscard]] std::string nvtx_text(const store::Statement& row) const {
    if (!row.is_null(3)) return row.text(3);
    return row.is_null(4) ? std::string("(no name)") : string_of(row.int64(4));
  }

  void read_ranges() {
    if (!export_.has("NVTX_EVENTS")) return;
    constexpr std::int64_t kPushPop = 59, kStartEnd = 60, kDomain = 75;
    Domains domains;
    {
      store::Statement row = nvtx_rows();
      while (row.step()) {
        if (row.int64(2) == kDomain) domains[{row.int64(6) >> kThreadBits, row.int64(5)}] = nvtx_text(row);
      }
    }
    store::Statement row = nvtx_rows();
    while (row.step()) {
      const std::int64_t type = row.int64(2);
      if (type != kPushPop && type != kStartEnd) continue;
      ForeignProcess& process = process_of(row.optional_int64(6));
      std::string domain;
      if (const auto found = domains.find({row.int64(6) >> kThreadBits, row.int64(5)});
          found != domains.end())
        domain = found->second;
      ForeignRange range{.start_ns = at(row.int64(0)),
                         .thread_id = narrow(row.int64(6) & kIdMask),
                         .name = process.names.number_of(nvtx_text(row), domain),
                         .apart = type == kStartEnd,
                         .open = row.is_null(1)};
      range.end_ns = range.open ? kLatestNs - 1 : at(row.int64(1));
      if (!has_time(range.start_ns, range.end_ns)) continue;
      process.ranges.push_back(range);
    }
  }

  void read_threads() {
    if (!export_.has("ThreadNames")) return;
    store::Statement row = export_.rows("ThreadNames", {{{"nameId"}}, {{"globalTid"}}});
    while (row.step()) {
      const auto process = by_key_.find(row.int64(1) >> kThreadBits);
      if (process != by_key_.end() && !row.is_null(0))
        process->second->threads[narrow(row.int64(1) & kIdMask)] = string_of(row.int64(0));
    }
  }

  // Which GPU a process means by its device's number, where the file says so.
  [[nodiscard]] std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpus_of_processes() const {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpus;
    if (!export_.has("TARGET_INFO_CUDA_DEVICE")) return gpus;
    store::Statement row = export_.rows("TARGET_INFO_CUDA_DEVICE", {{{"pid"}}, {{"cudaId"}}, {{"gpuId"}}});
    while (row.step()) {
      if (!row.is_null(2)) gpus[{row.int64(0), row.int64(1)}] = row.int64(2);
    }
    return gpus;
  }

  static ForeignDevice device_in(const store::Statement& row) {
    const auto positive = [&](int column) {
      const std::int64_t value = row.int64(column);
      return value > 0 ? std::optional(value) : std::nullopt;
    };
    const auto text = [&](int column) {
      const std::string value = one_line(row.text(column));
      return value.empty() ? std::nullopt : std::optional(value);
    };
    ForeignDevice made;
    made.device.device_index = static_cast<int>(row.int64(0));
    made.device.name = text(1).value_or("unknown device");
    if (const auto uuid = text(2)) made.device.uuid = uuid->starts_with("GPU-") ? *uuid : "GPU-" + *uuid;
    made.device.chip = text(3);
    if (const auto count = positive(4)) made.device.sm_count = static_cast<int>(*count);
    made.device.max_sm_clock_hz = positive(5);
    made.device.memory_bytes = positive(7);
    made.device.l2_bytes = positive(8);
    if (const auto major = positive(9))
      made.device.compute_capability = fmt::format("{}.{}", *major, row.int64(10));
    if (const auto bandwidth = positive(6))
      made.peaks.push_back({.quantity = Quantity::dram_bytes_per_s,
                            .value = static_cast<double>(*bandwidth),
                            .detail = "memoryBandwidth of TARGET_INFO_GPU"});
    return made;
  }

  void read_devices() {
    const bool newer = export_.has("TARGET_INFO_GPU");
    const char* table = newer ? "TARGET_INFO_GPU" : "TARGET_INFO_CUDA_GPU";
    if (!export_.has(table)) {
      recording_.notes.emplace_back(ReasonCode::import_without_devices);
      return;
    }
    store::Statement row = export_.rows(table, {{{"id"}},
                                                {{"name"}, kText},
                                                {{"uuid"}, kText},
                                                {{"chipName"}, kText},
                                                {{"smCount"}},
                                                {{"clockRate"}},
                                                {{"memoryBandwidth"}},
                                                {{"totalMemory"}},
                                                {{"l2CacheSize"}},
                                                {{"computeMajor"}},
                                                {{"computeMinor"}},
                                                {{"cuDevice"}}});
    const auto gpus = gpus_of_processes();
    while (row.step()) {
      const ForeignDevice device = device_in(row);
      const std::int64_t id = row.int64(0);
      note_peak(id, device);
      for (const auto& process : recording_.processes) {
        bool listed = false;
        for (const auto& [key, gpu] : gpus) {
          if (key.first != process->row.pid) continue;
          listed = true;
          if (gpu == id) place_device(*process, key.second, id, device);
        }
        if (!listed) place_device(*process, row.optional_int64(11).value_or(id), id, device);
      }
    }
  }

  void place_device(ForeignProcess& process, std::int64_t number, std::int64_t gpu,
                    const ForeignDevice& device) {
    process.devices[narrow(number)] = device;
    gpu_of_[{&process, narrow(number)}] = gpu;
  }

  // What shares of the DRAM's peak are shares of.
  void note_peak(std::int64_t gpu, const ForeignDevice& device) {
    if (!device.peaks.empty())
      dram_peaks_[narrow(gpu)] = device.peaks.front().value;
    else if (const auto sheet = store::datasheet_dram_bytes_per_s(device.device.name))
      dram_peaks_[narrow(gpu)] = *sheet;
  }

  // Samples of a GPU are of the process that launched most on it; of those that launched as much, of the one that comes
  // first in the export, wherever in memory they are. With its number of the device; null: none ran on it.
  [[nodiscard]] std::pair<ForeignProcess*, std::uint32_t> owner_of(std::uint32_t sampled_gpu) const {
    std::pair<ForeignProcess*, std::uint32_t> owner{nullptr, 0};
    std::int64_t most = 0;
    for (const auto& process : recording_.processes) {
      for (auto ran = ran_.lower_bound({process.get(), 0});
           ran != ran_.end() && ran->first.first == process.get(); ++ran) {
        const auto gpu = gpu_of_.find(ran->first);
        const std::int64_t number = gpu != gpu_of_.end() ? gpu->second : ran->first.second;
        if (number != sampled_gpu || ran->second <= most) continue;
        owner = ran->first;
        most = ran->second;
      }
    }
    return owner;
  }

  void read_samples() {
    if (!export_.has("GPU_METRICS")) return;
    NsysGpuMetrics metrics =
        read_gpu_metrics(export_, dram_peaks_, [this](std::int64_t time_ns) { return at(time_ns); });
    for (Reason& note : metrics.notes) recording_.notes.push_back(std::move(note));
    for (ForeignSamples& samples : metrics.samples) {
      const std::pair<ForeignProcess*, std::uint32_t> owner = owner_of(samples.device);
      if (owner.first == nullptr) {
        recording_.notes.emplace_back(
            ReasonCode::import_samples_unused,
            std::vector<ReasonValue>{{"samples", samples.size()}, {"cause", "no_device"}});
        continue;
      }
      samples.device = owner.second;
      owner.first->samples.push_back(std::move(samples));
    }
  }

  void describe() {
    store::Run& run = recording_.run;
    for (const auto& process : recording_.processes) {
      process->kernels = kernels_;
      if (run.command_line.empty() && ran_something(*process))
        run.command_line = process->row.command.value_or("");
    }
    if (export_.has("TARGET_INFO_SYSTEM_ENV")) {
      store::Statement row = export_.rows("TARGET_INFO_SYSTEM_ENV", {{{"name"}, kText}, {{"value"}, kText}});
      while (row.step()) {
        if (row.text(0) == "Hostname") run.host_name = one_line(row.text(1));
      }
    }
    if (!export_.product_version().empty())
      recording_.versions.emplace_back("nsight-systems", export_.product_version());
    if (!export_.schema_version().empty())
      recording_.versions.emplace_back("nsight-systems-schema", export_.schema_version());
    recording_.empty_because =
        "the export has no kernel and no copy: record with nsys profile --trace=cuda, and check that no "
        "other "
        "profiler was attached";
  }

  NsysExport export_;
  std::string scratch_directory_;
  ForeignRecording recording_;
  std::int64_t offset_ns_ = 0;
  std::uint32_t next_correlation_id_ = UINT32_MAX - 1;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::int64_t, ForeignProcess*> by_key_;
  std::map<std::pair<ForeignProcess*, std::uint32_t>, std::int64_t> ran_;     // launches, by device
  std::map<std::pair<ForeignProcess*, std::uint32_t>, std::int64_t> gpu_of_;  // number in the export
  std::map<std::uint32_t, double> dram_peaks_;
  std::vector<KernelName> kernels_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> kernel_numbers_;
};

// What is said of a damaged capture, for an export; SQLite's own words quote text of the file, of any number of lines.
std::string of_export(const std::string& message) {
  constexpr std::string_view kOfCaptures = "record again or use a backup";
  std::string text = one_line(message);
  if (text.ends_with(kOfCaptures)) {
    text.resize(text.size() - kOfCaptures.size());
    text += "export the report again";
  }
  return text;
}

}  // namespace

ForeignRecording read_nsys(const std::string& path, const std::string& scratch_directory) {
  try {
    return NsysReader(path, scratch_directory).read();
  } catch (const Error& error) {
    throw Error(error.kind(), of_export(error.message()));
  }
}

}  // namespace ridgeline::import
