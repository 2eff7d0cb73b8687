// What the launcher's tests share: a directory that goes away, fabricated spools, a program of one script.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ridgeline/import/importer.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/spool/format.h"
#include "ridgeline/spool/reader.h"
#include "ridgeline/spool/writer.h"
#include "ridgeline/store/capture.h"
#include "support/accepted_import.h"
#include "support/temporary_directory.h"

namespace ridgeline::import::testing {

namespace fs = std::filesystem;

using ridgeline::testing::TemporaryDirectory;

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string script(const TemporaryDirectory& directory, const std::string& name,
                          const std::string& body) {
  const std::string path = directory / name;
  std::ofstream(path) << "#!/bin/sh\n" << body;
  chmod(path.c_str(), 0755);
  return path;
}

/// A spool as the agent would write it. Times are in ns from kOrigin; calls and kernels get correlation ids in
/// order. Launch k of a step runs kernel k % 3 + 1 with grid (100 + k, 1, 1) for 1000 ns.
class FakeSpool {
 public:
  static constexpr std::int64_t kOrigin = 1'700'000'000'000'000'000;

  explicit FakeSpool(const std::string& directory, std::uint32_t pid = 4242, std::uint8_t gpu = 7) {
    spool::Writer::Options options;
    options.directory = directory;
    options.pid = pid;
    options.start_ns = kOrigin;
    options.clock = spool::kClockCupti;
    options.agent_version = "test";
    std::string error;
    writer_ = spool::Writer::create(options, &error);
    if (writer_ == nullptr) throw std::runtime_error(error);
    // A writer is never destroyed; kept here so that a leak checker can tell.
    static auto* const writers = new std::vector<spool::Writer*>;
    writers->push_back(writer_);
    process(pid, "warmup=1,timeline=2,replay=2");
    device(gpu);
    for (std::uint32_t id = 1; id <= 3; ++id) {
      spool::KernelFunctionRecord function{};
      function.kernel_id = id;
      function.name = text("_Z7kernel" + std::to_string(id) + "v");
      function.code_hash = id == 1 ? 0xabcdef : 0;
      put(function);
    }
    path(1, 0, "step");
    path(2, 1, "forward");
  }

  spool::Writer& writer() { return *writer_; }
  [[nodiscard]] const std::string& file() const { return writer_->path(); }
  spool::StringId text(std::string_view value) { return writer_->intern(value); }
  template <typename T>
  void put(const T& record) {
    ASSERT_TRUE(writer_->put(record));
  }

  /// The last one counts.
  void process(std::uint32_t pid, const std::string& schedule, const std::string& step_range = "step") {
    spool::ProcessRecord record{};
    record.pid = pid;
    record.parent_pid = 1;
    record.start_ns = kOrigin;
    record.arguments =
        text(std::string("./train\0--steps\0"
                         "8 8",
                         19));
    record.executable = text("/opt/train");
    record.working_directory = text("/tmp");
    record.host_name = text("host");
    record.schedule = text(schedule);
    record.step_range = text(step_range);
    put(record);
  }
  void device(std::uint8_t gpu) {
    spool::DeviceRecord record{};
    record.name = text("NVIDIA H200");
    record.chip_name = text("GH100");
    for (auto& byte : record.uuid) byte = gpu;
    record.compute_capability_major = 9;
    record.sm_count = 132;
    record.memory_bus_width_bits = 6144;
    record.memory_bytes = 150'000'000'000;
    record.l2_bytes = 62'914'560;
    record.max_sm_hz = 1'980'000'000;
    record.max_memory_hz = 3'201'000'000;
    put(record);
  }
  void path(std::uint32_t id, std::uint32_t parent, const std::string& name) {
    spool::NvtxPathRecord record{};
    record.path_id = id;
    record.parent_id = parent;
    record.name = text(name);
    put(record);
  }

  /// Another code of a kernel.
  void newer_code(std::uint32_t kernel_id, std::uint64_t hash, std::uint16_t revision) {
    spool::KernelFunctionRecord record{};
    record.header.flags = revision;
    record.kernel_id = kernel_id;
    record.code_hash = hash;
    put(record);
  }
  std::uint32_t code = 0;  ///< of the launches to come, see LaunchRecord

  std::int64_t now() const { return now_; }
  void advance(std::int64_t ns) { now_ += ns; }
  std::uint32_t next_correlation() const { return correlation_; }

  void begin_step(std::uint32_t index, Phase phase, std::uint32_t config = 0, std::uint16_t flags = 0) {
    step_ = index;
    position_ = 0;
    spool::StepStartRecord begin{};
    begin.header.flags = flags;
    begin.step_index = index;
    begin.phase = phase;
    begin.start_ns = kOrigin + now_;
    begin.config_id = config;
    put(begin);
    step_start_ = now_;
    advance(100);
  }
  /// The step's range (with one inside it) and its end.
  void end_step(bool with_ranges = true) {
    advance(100);
    if (with_ranges) {
      const std::uint64_t outer = new_range();
      const std::uint64_t inner = new_range();
      range(inner, outer, 2, 1, step_start_ + 50, now_ - 50);
      range(outer, 0, 1, 0, step_start_, now_);
      last_inner_range_ = inner;
    }
    spool::StepEndRecord end{};
    end.step_index = step_;
    end.launches_seen = position_;
    end.end_ns = kOrigin + now_;
    put(end);
    step_ = spool::kNoStep;
    advance(1000);
  }
  std::uint64_t new_range() { return next_range_++; }
  void range(std::uint64_t id, std::uint64_t parent, std::uint32_t path, std::uint32_t depth,
             std::int64_t start, std::int64_t end, std::uint16_t flags = 0) {
    spool::NvtxRangeRecord record{};
    record.header.flags = flags;
    record.range_id = id;
    record.parent_range_id = parent;
    record.start_ns = kOrigin + start;
    record.end_ns = kOrigin + end;
    record.thread_id = 9;
    record.path_id = path;
    record.depth = depth;
    record.step_index = step_;
    record.kind = spool::NvtxKind::push_pop;
    put(record);
  }
  std::uint64_t last_inner_range() const { return last_inner_range_; }

  spool::LaunchRecord call(std::uint16_t flags = 0) {
    spool::LaunchRecord record{};
    record.header.flags = flags;
    record.correlation_id = correlation_++;
    record.thread_id = 9;
    record.enter_ns = kOrigin + now_;
    record.exit_ns = kOrigin + now_ + 5;
    record.nvtx_path_id = step_ == spool::kNoStep ? 0 : 2;
    record.step_index = step_;
    record.code = code;
    // As the agent does it: only launches of kernels have a position.
    record.step_ordinal = step_ == spool::kNoStep || flags != 0 ? spool::kNoStep : position_++;
    advance(10);
    return record;
  }
  spool::KernelRecord kernel_of(const spool::LaunchRecord& call) {
    spool::KernelRecord record{};
    record.correlation_id = call.correlation_id;
    const std::uint32_t position = call.step_ordinal == spool::kNoStep ? 0 : call.step_ordinal;
    record.kernel_id = position % 3 + 1;
    record.start_ns = call.enter_ns + 500;
    record.end_ns = record.start_ns + 1000;
    record.stream_id = 7;
    record.context_id = 1;
    record.grid_x = 100 + position;
    record.grid_y = record.grid_z = 1;
    record.block_x = 256;
    record.block_y = record.block_z = 1;
    record.registers_per_thread = 32;
    return record;
  }
  void launch(std::uint16_t kernel_flags = 0, bool with_record = true) {
    const spool::LaunchRecord record = call();
    put(record);
    ++launches_;
    advance(2000);
    if (!with_record) return;
    spool::KernelRecord kernel = kernel_of(record);
    kernel.header.flags = kernel_flags;
    if ((kernel_flags & spool::kZeroTimestamp) != 0) kernel.start_ns = kernel.end_ns = 0;
    put(kernel);
    ++kernels_;
  }
  void memcpy(spool::MemcpyKind kind, std::int64_t start) {
    spool::MemcpyRecord record{};
    record.correlation_id = correlation_++;
    record.kind = kind;
    record.start_ns = kOrigin + start;
    record.end_ns = record.start_ns + 50;
    record.bytes = 4096;
    put(record);
  }

  void config(std::uint32_t id, const std::string& name) {
    spool::CounterConfigRecord record{};
    record.config_id = id;
    record.name = text(name);
    record.passes = 1;
    put(record);
  }
  void metric(std::uint32_t id, const std::string& name) {
    spool::MetricRecord record{};
    record.metric_id = id;
    record.name = text(name);
    record.unit = text("bytes");
    put(record);
  }
  void counter_value(std::uint32_t step, std::uint32_t position, std::uint32_t metric_id, double value,
                     std::uint32_t kernel = 0, std::uint32_t grid = 0) {
    spool::CounterValueRecord record{};
    record.config_id = 1;
    record.step_index = step;
    record.step_ordinal = position;
    record.kernel_id = kernel == 0 ? position % 3 + 1 : kernel;
    record.grid_x = grid == 0 ? 100 + position : grid;
    record.grid_y = record.grid_z = 1;
    record.metric_id = metric_id;
    record.value = value;
    put(record);
  }
  void counter_step(std::uint32_t step, spool::CounterStatus status, const std::string& reason = {}) {
    spool::CounterStepRecord record{};
    record.config_id = 1;
    record.step_index = step;
    record.status = status;
    record.reason = text(reason);
    put(record);
  }
  void pm_metric(std::uint32_t window, std::uint32_t position, std::uint32_t metric_id) {
    spool::PmMetricRecord record{};
    record.window_id = window;
    record.position = position;
    record.metric_id = metric_id;
    put(record);
  }
  /// Times are absolute.
  void pm_sample(std::uint32_t window, std::int64_t start_ns, std::int64_t end_ns,
                 const std::vector<double>& values) {
    spool::PmSampleRecord record{};
    record.window_id = window;
    record.value_count = static_cast<std::uint32_t>(values.size());
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    ASSERT_TRUE(
        writer_->put(record, values.data(), static_cast<std::uint32_t>(values.size() * sizeof(double))));
  }
  void pm_window(std::uint32_t window, std::uint32_t first_step, std::uint32_t last_step, WindowStatus status,
                 const std::string& reason = {}) {
    spool::PmWindowRecord record{};
    record.window_id = window;
    record.first_step = first_step;
    record.last_step = last_step;
    record.interval_ns = 5000;
    record.hardware_buffer_bytes = 1 << 30;
    record.status = status;
    record.reason = text(reason);
    put(record);
  }
  void message(Severity severity, spool::Topic topic, const std::string& line,
               RefusalCause cause = RefusalCause::none_given, std::uint16_t cupti_result = 0) {
    spool::MessageRecord record{};
    record.time_ns = kOrigin + now_;
    record.severity = severity;
    record.topic = topic;
    record.text = text(line);
    record.cause = cause;
    record.cupti_result = cupti_result;
    put(record);
  }
  void completeness(std::uint64_t dropped = 0, std::uint64_t launches_seen = 0) {
    spool::CompletenessRecord record{};
    record.launches_seen = launches_seen == 0 ? launches_ : launches_seen;
    record.kernel_records = kernels_;
    record.own_kernel_records = 5;
    record.dropped_records = dropped;
    writer_->put_completeness(record);
  }
  void end() {
    spool::EndRecord record{};
    record.time_ns = kOrigin + now_;
    record.reason = spool::EndReason::exit;
    put(record);
  }

  /// What orders streams. Each takes a correlation id, as launches do, and returns it.
  std::uint32_t order(StreamCall call, std::uint32_t stream, std::uint64_t event = 0,
                      std::uint32_t context = 1) {
    auto record = call_now<spool::StreamCallRecord>();
    record.event = event;
    record.context_id = context;
    record.stream_id = stream;
    record.call = call;
    put(record);
    return record.correlation_id;
  }
  std::uint32_t memory(MemoryCall call, std::uint64_t address, std::int64_t bytes = 0,
                       std::uint32_t device = 0) {
    auto record = call_now<spool::MemoryCallRecord>();
    record.address = address;
    record.bytes = bytes;
    record.call = call;
    record.device_id = device;
    put(record);
    return record.correlation_id;
  }
  void graph_node(std::uint32_t graph, std::uint64_t id, GraphNodeKind kind, std::uint64_t parent = 0) {
    spool::GraphNodeRecord record{};
    record.node_id = id;
    record.parent_id = parent;
    record.graph = graph;
    record.kind = kind;
    put(record);
  }
  void graph_clone(std::uint32_t graph, std::uint64_t original, std::uint64_t id) {
    spool::GraphNodeCloneRecord record{};
    record.node_id = id;
    record.original_id = original;
    record.graph = graph;
    put(record);
  }
  void graph_edge(std::uint32_t graph, std::uint64_t from, std::uint64_t to, std::uint16_t flags = 0) {
    spool::GraphEdgeRecord record{};
    record.header.flags = flags;
    record.from_id = from;
    record.to_id = to;
    record.graph = graph;
    put(record);
  }
  void left_out(LeftOut what, std::uint64_t count) {
    spool::LeftOutRecord record{};
    record.what = what;
    record.count = count;
    put(record);
  }
  void stream(std::uint32_t id, StreamKind kind, std::int32_t priority = 0) {
    spool::StreamRecord record{};
    record.context_id = 1;
    record.stream_id = id;
    record.kind = kind;
    record.priority = priority;
    put(record);
  }
  /// warmup=1, timeline=2, replay=2 with `launches` each and two metrics in the replay steps.
  void whole_run(std::uint32_t launches = 6) {
    config(1, "R1");
    metric(1, "dram__bytes_read.sum");
    metric(2, "dram__bytes.sum.peak_sustained_elapsed.per_second");
    for (std::uint32_t step = 0; step < 5; ++step) {
      const bool replay = step >= 3;
      begin_step(step, step == 0 ? Phase::warmup : replay ? Phase::replay : Phase::timeline, replay ? 1 : 0);
      for (std::uint32_t i = 0; i < launches; ++i) launch();
      end_step();
      if (!replay) continue;
      for (std::uint32_t i = 0; i < launches; ++i) {
        counter_value(step, i, 1, 1000.0 + i);
        counter_value(step, i, 2, 4.81e12);
      }
      counter_step(step, spool::CounterStatus::ok);
    }
    completeness();
    end();
  }

 private:
  /// A record of a call that the program makes now, in the step that is open.
  template <typename Record>
  Record call_now() {
    Record record{};
    record.thread_id = 11;
    record.correlation_id = correlation_++;
    record.time_ns = kOrigin + now_;
    record.step_index = step_;
    return record;
  }

  spool::Writer* writer_ = nullptr;
  std::int64_t now_ = 1000;
  std::int64_t step_start_ = 0;
  std::uint32_t correlation_ = 10;
  std::uint32_t step_ = spool::kNoStep;
  std::uint32_t position_ = 0;
  std::uint64_t next_range_ = 1;
  std::uint64_t last_inner_range_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t kernels_ = 0;
};

inline store::Capture open_capture(const std::string& path) {
  Result<store::Capture> capture = store::Capture::open(path);
  if (!capture.ok()) throw std::runtime_error(capture.failure().message);
  return std::move(capture).value();
}

/// The one value of a query, as text.
inline std::string scalar(const store::Capture& capture, const std::string& sql) {
  const auto table = capture.query(sql);
  if (!table.ok()) return "failed: " + table.failure().message;
  if (table.value().rows.size() != 1) return std::to_string(table.value().rows.size()) + " rows";
  const store::Value& value = table.value().rows[0][0];
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return std::to_string(*real);
  return "NULL";
}

/// "status: reason" of a tier, of the first process.
inline std::string tier_text(const store::Capture& capture, Tier tier) {
  for (const store::TierStatus& status : capture.tier_statuses()) {
    if (status.tier != tier) continue;
    return std::string(to_string(status.status)) +
           (status.reason ? ": " + reports::reason_text(*status.reason) : "");
  }
  return "none";
}

/// Why a step is not ok; "" if it is.
inline std::string step_reason(const store::Capture& capture, std::int64_t index) {
  for (const store::Step& step : capture.steps()) {
    if (step.step_index == index) return step.reason ? reports::reason_text(*step.reason) : "";
  }
  return "no such step";
}

/// Messages with these words in them.
inline std::size_t messages_with(const store::Capture& capture, const std::string& words) {
  std::size_t count = 0;
  for (const store::Message& message : capture.messages())
    count += reports::reason_text(message.what).find(words) != std::string::npos;
  return count;
}

/// Imports a directory of fabricated spools.
class Importer : public ::testing::Test {
 protected:
  store::Capture import() {
    Result<ImportSummary> imported =
        ridgeline::testing::expect_accepted_import(import_spools(directory_.path(), output_), output_);
    if (!imported.ok()) throw std::runtime_error(imported.failure().message);
    summary_ = std::move(imported).value();
    return open_capture(output_);
  }
  bool warned(const std::string& part) const {
    for (const std::string& warning : warnings()) {
      if (warning.find(part) != std::string::npos) return true;
    }
    return false;
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> words;
    for (const Reason& warning : summary_.warnings) words.push_back(reports::reason_text(warning));
    return words;
  }
  TemporaryDirectory directory_;
  std::string output_ = directory_ / "out.ridge";
  ImportSummary summary_;
};

}  // namespace ridgeline::import::testing
