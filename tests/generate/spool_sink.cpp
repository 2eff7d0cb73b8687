#include <algorithm>
#include <stdexcept>

#include "generate/generate.h"
#include "ridgeline/spool/writer.h"

namespace ridgeline::generate {

namespace {

constexpr std::int64_t kPutsBetweenMaintenance = 4000;

// After the schedule the agent goes on with the timeline.
Phase spool_phase(Phase phase) {
  return phase == Phase::after ? Phase::timeline : phase;
}

class SpoolSink final : public Sink {
 public:
  explicit SpoolSink(std::string directory) : directory_(std::move(directory)) {}

  void begin_process(int number, const Description& description) override {
    description_ = description;
    spool::Writer::Options options;
    options.directory = directory_;
    options.pid = static_cast<std::uint32_t>(1000 + number);
    options.start_ns = kOrigin;
    options.clock = spool::kClockCupti;
    options.agent_version = "generated";
    options.limit_bytes = 64ull << 30;
    std::string error;
    writer_ = spool::Writer::create(options, &error);
    if (writer_ == nullptr) throw std::runtime_error(error);
    // A writer is never destroyed; kept here so that a leak checker can tell.
    static auto* const writers = new std::vector<spool::Writer*>;
    writers->push_back(writer_);
    next_range_ = 1;
    launches_ = 0;
    define(number);
  }

  void step(const GeneratedStep& step) override {
    spool::StepStartRecord begin{};
    begin.step_index = step.index;
    begin.phase = spool_phase(step.phase);
    begin.start_ns = step.host_start_ns;
    begin.thread_id = kThread;
    begin.config_id = step.configuration;
    put(begin);
    const std::uint64_t outer = next_range_++;
    spool::MemcpyRecord copy{};
    copy.correlation_id = step.launches.front().correlation_id - 1;
    copy.kind = spool::MemcpyKind::host_to_device;
    copy.start_ns = step.copy_start_ns;
    copy.end_ns = step.copy_end_ns;
    copy.bytes = 4096;
    copy.context_id = 1;
    copy.stream_id = 7;
    put(copy);
    for (std::size_t i = 0; i < step.launches.size(); ++i)
      launch(step, step.launches[i], static_cast<std::uint32_t>(i), outer);
    range(outer, 0, 1, 0, step.index, step.host_start_ns, step.host_end_ns);
    order(step);
    if (step.wait_end_ns > 0) {
      spool::SynchronisationRecord wait{};
      wait.thread_id = kThread;
      wait.correlation_id = step.launches.back().correlation_id + 1;
      wait.enter_ns = step.wait_start_ns;
      wait.exit_ns = step.wait_end_ns;
      wait.call = SynchronisationCall::stream;
      wait.context_id = 1;
      wait.step_index = step.index;
      put(wait);
    }
    spool::StepEndRecord end{};
    end.step_index = step.index;
    end.launches_seen = static_cast<std::uint32_t>(step.launches.size());
    end.end_ns = step.host_end_ns;
    put(end);
    if (step.phase == Phase::replay) {
      spool::CounterStepRecord counters{};
      counters.config_id = step.configuration;
      counters.step_index = step.index;
      counters.status = spool::CounterStatus::ok;
      counters.launches_expected = counters.ranges_received = end.launches_seen;
      put(counters);
    }
    if (step.phase == Phase::sample) samples(step);
    launches_ += static_cast<std::int64_t>(step.launches.size());
    last_ns_ = std::max(step.host_end_ns, step.launches.back().end_ns);
  }

  void end_process() override {
    if (description_.options.sample_steps > 0) {
      spool::PmWindowRecord window{};
      window.window_id = 1;
      window.first_step = description_.first_sample_step;
      window.last_step =
          window.first_step + static_cast<std::uint32_t>(description_.options.sample_steps) - 1;
      window.interval_ns = kSampleInterval_ns;
      window.status = WindowStatus::ok;
      put(window);
    }
    spool::CompletenessRecord totals{};
    totals.launches_seen = totals.kernel_records = static_cast<std::uint64_t>(launches_);
    writer_->put_completeness(totals);
    spool::EndRecord end{};
    end.time_ns = last_ns_;
    end.reason = spool::EndReason::exit;
    put(end);
  }
  void finish() override {}

 private:
  static constexpr std::uint32_t kThread = 9;

  template <typename Record>
  void put(const Record& record) {
    maintain();
    if (!writer_->put(record)) throw std::runtime_error("no room for the spool in " + directory_);
  }
  void maintain() {
    if (++puts_ % kPutsBetweenMaintenance == 0) writer_->maintain();
  }

  void define(int number) {
    spool::ProcessRecord process{};
    process.pid = static_cast<std::uint32_t>(1000 + number);
    process.start_ns = kOrigin;
    process.arguments = writer_->intern("generated");
    process.schedule = writer_->intern(description_.schedule);
    process.step_range = writer_->intern("step");
    put(process);
    spool::DeviceRecord device{};
    device.name = writer_->intern("NVIDIA H200");
    device.chip_name = writer_->intern("GH100");
    for (auto& byte : device.uuid) byte = static_cast<std::uint8_t>(number + 1);
    device.compute_capability_major = 9;
    device.sm_count = 132;
    device.memory_bus_width_bits = 6144;
    device.max_sm_hz = 1'980'000'000;
    device.max_memory_hz = 3'201'000'000;
    put(device);
    for (const Kernel& kernel : description_.kernels) {
      spool::KernelFunctionRecord function{};
      function.kernel_id = kernel.id;
      function.name = writer_->intern(kernel.mangled_name);
      put(function);
    }
    for (const Path& path : description_.paths) {
      spool::NvtxPathRecord record{};
      record.path_id = path.id;
      record.parent_id = path.parent;
      record.name = writer_->intern(path.name);
      put(record);
    }
    std::uint32_t id = 0;
    for (const char* name :
         {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
          "gpc__cycles_elapsed.max", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
          kSampledMetrics[0]}) {
      spool::MetricRecord metric{};
      metric.metric_id = ++id;
      metric.name = writer_->intern(name);
      put(metric);
    }
    for (const std::uint32_t config : {1u, 2u}) {
      spool::CounterConfigRecord record{};
      record.config_id = config;
      record.name = writer_->intern("R" + std::to_string(config));
      record.passes = 1;
      put(record);
    }
    if (description_.options.order) {
      spool::RecordingWindowRecord window{};
      window.header.flags = spool::kWindowHasSynchronisation | spool::kWindowHasStreamCalls;
      window.time_ns = kOrigin;
      window.edge = spool::WindowEdge::open;
      window.cause = WindowCause::start;
      put(window);
      for (const std::uint32_t stream_id : {7u, kSideStream}) {
        spool::StreamRecord stream{};
        stream.context_id = 1;
        stream.stream_id = stream_id;
        stream.kind = StreamKind::non_blocking;
        put(stream);
      }
    }
    if (description_.options.sample_steps == 0) return;
    std::uint32_t position = 0;
    for (const std::uint32_t metric_id : {6u, 2u, 3u}) {  // kSampledMetrics
      spool::PmMetricRecord column{};
      column.window_id = 1;
      column.position = position++;
      column.metric_id = metric_id;
      put(column);
    }
  }

  void launch(const GeneratedStep& step, const GeneratedLaunch& launch, std::uint32_t ordinal,
              std::uint64_t outer) {
    std::uint64_t inner = outer;
    if (description_.options.ranges) {
      inner = next_range_++;
      if (description_.options.annotations) declare(inner, launch);
    }
    spool::LaunchRecord call{};
    call.correlation_id = launch.correlation_id;
    call.thread_id = kThread;
    call.enter_ns = launch.host_start_ns;
    call.exit_ns = launch.host_end_ns;
    call.nvtx_path_id = launch.path;
    call.step_index = step.index;
    call.step_ordinal = ordinal;
    call.nvtx_range_id = inner;
    call.context_id = 1;
    put(call);
    if (description_.options.ranges)
      range(inner, outer, launch.path, 1, step.index, launch.host_start_ns - 100, launch.host_end_ns + 100);
    spool::KernelRecord kernel{};
    kernel.correlation_id = launch.correlation_id;
    kernel.kernel_id = launch.kernel;
    kernel.start_ns = launch.start_ns;
    kernel.end_ns = launch.end_ns;
    kernel.context_id = 1;
    kernel.stream_id = launch.stream;
    kernel.grid_x = launch.grid_x;
    kernel.grid_y = kernel.grid_z = 1;
    kernel.block_x = 256;
    kernel.block_y = kernel.block_z = 1;
    kernel.registers_per_thread = 32;
    put(kernel);
    if (step.phase == Phase::replay) values(step, launch, ordinal);
  }

  void order(const GeneratedStep& step) {
    for (const GeneratedOrder& made : step.order) {
      spool::StreamCallRecord call{};
      call.thread_id = kThread;
      call.correlation_id = made.correlation_id;
      call.time_ns = made.time_ns;
      call.event = made.event;
      call.context_id = 1;
      call.stream_id = made.stream;
      call.call = made.call;
      call.step_index = step.index;
      put(call);
    }
    for (const GeneratedMemory& use : step.memory) {
      spool::MemoryCallRecord call{};
      call.thread_id = kThread;
      call.correlation_id = use.correlation_id;
      call.time_ns = use.time_ns;
      call.address = use.address;
      call.bytes = use.bytes;
      call.call = use.call;
      call.step_index = step.index;
      put(call);
    }
  }

  void declare(std::uint64_t range_id, const GeneratedLaunch& launch) {
    const Work work = work_of(launch);
    const std::int64_t declared[2] = {static_cast<std::int64_t>(work.declared_bytes),
                                      static_cast<std::int64_t>(work.declared_flops)};
    spool::NvtxPayloadRecord payload{};
    payload.range_id = range_id;
    payload.schema_id = kOpCostSchemaId;
    payload.length_bytes = sizeof declared;
    maintain();
    if (!writer_->put(payload, declared, sizeof declared))
      throw std::runtime_error("no room for the spool in " + directory_);
  }

  void range(std::uint64_t id, std::uint64_t parent, std::uint32_t path, std::uint32_t depth,
             std::uint32_t step_index, std::int64_t start, std::int64_t end) {
    spool::NvtxRangeRecord record{};
    record.range_id = id;
    record.parent_range_id = parent;
    record.start_ns = start;
    record.end_ns = end;
    record.thread_id = kThread;
    record.path_id = path;
    record.depth = depth;
    record.step_index = step_index;
    record.kind = spool::NvtxKind::push_pop;
    put(record);
  }

  void values(const GeneratedStep& step, const GeneratedLaunch& launch, std::uint32_t ordinal) {
    const Work work = work_of(launch);
    const auto duration = static_cast<double>(launch.end_ns - launch.start_ns);
    const auto add = [&](std::uint32_t metric_id, double value) {
      spool::CounterValueRecord record{};
      record.config_id = step.configuration;
      record.step_index = step.index;
      record.step_ordinal = ordinal;
      record.kernel_id = launch.kernel;
      record.grid_x = launch.grid_x;
      record.grid_y = record.grid_z = 1;
      record.metric_id = metric_id;
      record.value = value;
      put(record);
    };
    add(1, duration);
    add(2, work.dram_read_bytes);
    add(3, work.dram_write_bytes);
    add(4, duration * 1e-9 * kClock_hz);
    if (step.configuration == 2) add(5, work.tensor_percent);
  }

  // Samples of the device over a step: what its launches moved, spread over their time.
  void samples(const GeneratedStep& step) {
    std::size_t first = 0;
    const std::int64_t end = step.launches.back().end_ns + kSampleInterval_ns;
    for (std::int64_t at = step.launches.front().start_ns - kSampleInterval_ns; at < end;
         at += kSampleInterval_ns) {
      double sums[3] = {0, 0, 0};
      while (first < step.launches.size() && step.launches[first].end_ns <= at) ++first;
      for (std::size_t i = first;
           i < step.launches.size() && step.launches[i].start_ns < at + kSampleInterval_ns; ++i) {
        const GeneratedLaunch& launch = step.launches[i];
        const auto overlap = static_cast<double>(std::min(launch.end_ns, at + kSampleInterval_ns) -
                                                 std::max(launch.start_ns, at));
        const double share = overlap / static_cast<double>(launch.end_ns - launch.start_ns);
        const Work work = work_of(launch);
        sums[0] += 100.0 * overlap / static_cast<double>(kSampleInterval_ns);
        sums[1] += share * work.dram_read_bytes;
        sums[2] += share * work.dram_write_bytes;
      }
      spool::PmSampleRecord sample{};
      sample.window_id = 1;
      sample.value_count = 3;
      sample.start_ns = at;
      sample.end_ns = at + kSampleInterval_ns;
      maintain();
      if (!writer_->put(sample, sums, sizeof sums))
        throw std::runtime_error("no room for the spool in " + directory_);
    }
  }

  std::string directory_;
  Description description_;
  spool::Writer* writer_ = nullptr;
  std::uint64_t next_range_ = 1;
  std::int64_t launches_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t puts_ = 0;
};

}  // namespace

std::unique_ptr<Sink> make_spool_sink(const std::string& directory) {
  return std::make_unique<SpoolSink>(directory);
}

}  // namespace ridgeline::generate
