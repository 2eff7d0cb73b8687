#include <algorithm>
#include <memory>
#include <stdexcept>

#include "generate/generate.h"
#include "recording/activities.h"
#include "recording/order.h"
#include "ridgeline/store/capture_writer.h"

namespace ridgeline::generate {

namespace {

store::CaptureWriter created(const std::string& path) {
  auto result = store::CaptureWriter::create(path);
  if (!result.ok()) throw std::runtime_error(result.failure().message);
  return std::move(result).value();
}

// A source of import/recording beside the spool: what it describes becomes steps, places, paths and rows there. Steps
// come one by one, so that a recording of any size takes no memory.
class CaptureSink final : public Sink {
 public:
  explicit CaptureSink(const std::string& path) : writer_(created(path)), devices_(writer_) {}

  void begin_process(int number, const Description& description) override {
    options_ = description.options;
    kernels_ = description.kernels;
    if (number == 0) begin(description);
    process_ = std::make_unique<Recorded>(*this);
    store::Process process;
    process.pid = 1000 + number;
    process.rank = number;
    process.command = "generated";
    process.start_ns = kOrigin;
    process_->rows.begin(process);
    store::Device device;
    device.device_index = number;
    device.name = "NVIDIA H200";
    device.uuid = "GPU-" + std::to_string(number);
    device.sm_count = 132;
    device.max_sm_clock_hz = 1'980'000'000;
    process_->rows.add_device(0, device);
    const store::Id device_id = process_->rows.device_id(0);
    writer_.add(
        store::DevicePeak{device_id, Quantity::dram_bytes_per_s, PeakSource::spec, 4.8e12, "data sheet"});
    writer_.add(
        store::DevicePeak{device_id, Quantity::bf16_flops_per_s, PeakSource::spec, 9.89e14, "data sheet"});
    for (const Path& path : description.paths)
      process_->ranges.define(path.id, {.parent = path.parent, .name = path.name, .domain = std::nullopt});
    if (number == 0)
      configurations_ = import::write_configurations(
          process_->rows, {{1, {.name = "R1", .passes = 1}}, {2, {.name = "R2", .passes = 1}}});
    launches_ = 0;
    next_range_ = 1;
  }

  void step(const GeneratedStep& step) override {
    Recorded& process = *process_;
    process.steps.steps.clear();
    import::RecordedStep& recorded = process.steps.steps[step.index];
    recorded.index = recorded.position = step.index;
    recorded.phase = step.phase;
    recorded.start_ns = step.host_start_ns;
    recorded.end_ns = step.host_end_ns;
    recorded.configuration = step.configuration;
    import::RecordedSteps::LaunchPass pass(process.steps);
    for (std::size_t i = 0; i < step.launches.size(); ++i) {
      pass.add(call(step, i));
      pass.add(execution(step.launches[i]));
    }
    pass.finish();
    import::write_steps(process.rows, process.steps, configurations_, [](const auto&, store::Step&){},
                        process.outcomes);

    import::RecordedActivities activities(process.rows, process.kernels, process.steps, process.ranges,
                                          process.samples, [](const auto&, const auto*) { return 0;
  });
  const std::uint64_t outer = next_range_++;
  activities.add(import::Copy{.correlation_id = step.launches.front().correlation_id - 1,
                              .device = 0,
                              .context_id = 1,
                              .stream_id = 7,
                              .start_ns = step.copy_start_ns,
                              .end_ns = step.copy_end_ns,
                              .bytes = 4096,
                              .kind = CopyKind::host_to_device});
  for (std::size_t i = 0; i < step.launches.size(); ++i) {
    const GeneratedLaunch& launch = step.launches[i];
    activities.add(call(step, i));
    activities.add(execution(launch));
    if (options_.ranges) {
      const std::uint64_t inner = next_range_++;
      if (options_.annotations) declare(inner, launch);
      add_range(inner, outer, launch.path, 1, step.index, launch.host_start_ns - 100,
                launch.host_end_ns + 100);
    }
    if (step.phase == Phase::sample || step.phase == Phase::replay)
      values(step, launch, activities.last_launch_id());
  }
  activities.finish();
  add_range(outer, 0, 1, 0, step.index, step.host_start_ns, step.host_end_ns);
  order(step);
  if (step.wait_end_ns > 0) {
    activities.add(import::Wait{.thread_id = kThread,
                                .correlation_id = step.launches.back().correlation_id + 1,
                                .enter_ns = step.wait_start_ns,
                                .exit_ns = step.wait_end_ns,
                                .call = SynchronisationCall::stream,
                                .step = step.index});
  }
  launches_ += static_cast<std::int64_t>(step.launches.size());
}

  void end_process() override {
  const store::Id process_id = process_->rows.process_id();
  if (options_.shape == Shape::eager || options_.shape == Shape::decode || options_.order) {
    writer_.add(store::RecordingWindow{.process_id = process_id,
                                       .start_ns = kOrigin,
                                       .end_ns = std::nullopt,
                                       .synchronisation = true,
                                       .stream_calls = options_.order});
  }
  store::Completeness completeness;
  completeness.process_id = process_id;
  completeness.launches_seen = completeness.kernel_records = launches_;
  writer_.add(completeness);
  for (const Tier tier : {Tier::t0, Tier::t1, Tier::t2, Tier::t3}) {
    const bool ran = tier == Tier::t0 || (tier == Tier::t1 && options_.sample_steps > 0) ||
                     (tier == Tier::t2 && options_.replay_steps > 0);
    writer_.add(store::TierStatus{process_id, tier, ran ? TierOutcome::ok : TierOutcome::not_requested,
                                  std::nullopt});
  }
}
void finish() override {
  writer_.finish();
}

private:
static constexpr std::uint32_t kThread = 9;

/// The parts of import/recording for one process.
struct Recorded {
  explicit Recorded(CaptureSink& sink)
      : rows(sink.writer_, sink.devices_, sink.summary_),
        kernels(rows,
                [&sink](std::uint32_t id) {
                  return import::KernelName{.text = sink.kernels_.at(id - 1).mangled_name};
                }),
        ranges(rows, steps),
        samples(rows) {}
  import::ProcessRows rows;
  import::RecordedSteps steps;
  import::RecordedKernels kernels;
  import::RecordedRanges ranges;
  import::SampledWindows samples;
  import::TierOutcomes outcomes;
};

void begin(const Description& description) {
  store::Run run;
  run.command_line = "generated";
  run.ridgeline_version = "0.1.0";
  run.clock = "cupti";
  run.start_ns = kOrigin;
  run.schedule = description.schedule;
  run.step_range = "step";
  writer_.set_run(run);
  for (const char* name :
       {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "gpc__cycles_elapsed.max",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"})
    metrics_.push_back(writer_.metric_id(name));
}

static import::Call call(const GeneratedStep& step, std::size_t position) {
  const GeneratedLaunch& launch = step.launches[position];
  return {.correlation_id = launch.correlation_id,
          .path_id = launch.path,
          .step = step.index,
          .position = static_cast<std::uint32_t>(position),
          .thread_id = kThread,
          .enter_ns = launch.host_start_ns,
          .exit_ns = launch.host_end_ns};
}

static import::Execution execution(const GeneratedLaunch& launch) {
  return {.correlation_id = launch.correlation_id,
          .kernel = launch.kernel,
          .device = 0,
          .context_id = 1,
          .stream_id = launch.stream,
          .start_ns = launch.start_ns,
          .end_ns = launch.end_ns,
          .grid = {launch.grid_x, 1, 1},
          .block = {256, 1, 1},
          .registers_per_thread = 32};
}

// Whole in each step: no event and no memory reaches into another.
void order(const GeneratedStep& step) {
  import::RecordedOrder order(process_->rows, process_->steps);
  for (const GeneratedOrder& made : step.order) {
    order.add(import::OrderingCall{.correlation_id = made.correlation_id,
                                   .thread_id = kThread,
                                   .time_ns = made.time_ns,
                                   .call = made.call,
                                   .stream = import::OrderingCall::Stream{1, made.stream},
                                   .event = made.event,
                                   .step = step.index});
  }
  for (const GeneratedMemory& use : step.memory) {
    order.add(import::MemoryUse{.correlation_id = use.correlation_id,
                                .thread_id = kThread,
                                .time_ns = use.time_ns,
                                .call = use.call,
                                .address = use.address,
                                .bytes = use.bytes,
                                .device = 0,
                                .step = step.index});
  }
  if (options_.order && step.index == 0) {
    for (const std::uint32_t id : {7u, kSideStream})
      order.add(import::StreamMade{1, id, StreamKind::non_blocking, 0});
  }
  order.finish();
}

void declare(std::uint64_t range, const GeneratedLaunch& launch) {
  const Work work = work_of(launch);
  const std::int64_t declared[2] = {static_cast<std::int64_t>(work.declared_bytes),
                                    static_cast<std::int64_t>(work.declared_flops)};
  process_->ranges.declare(range, kOpCostSchemaId,
                           {reinterpret_cast<const char*>(declared), sizeof declared});
}

void add_range(std::uint64_t id, std::uint64_t parent, std::uint32_t path, std::uint32_t depth,
               std::uint32_t step, std::int64_t start_ns, std::int64_t end_ns) {
  process_->ranges.add({.id = id,
                        .parent = parent,
                        .path = path,
                        .thread_id = kThread,
                        .depth = depth,
                        .step = step,
                        .start_ns = start_ns,
                        .end_ns = end_ns});
}

void values(const GeneratedStep& step, const GeneratedLaunch& launch, store::Id id) {
  const Work work = work_of(launch);
  const auto duration = static_cast<double>(launch.end_ns - launch.start_ns);
  const bool sampled = step.phase == Phase::sample;
  const auto add = [&](std::size_t metric, double value) {
    store::LaunchMetric row{id,    metrics_[metric], sampled ? Tier::t1 : Tier::t2,
                            value, std::nullopt,     std::nullopt};
    if (sampled) row.error = 0.01 * value;
    if (sampled) row.sample_count = 4;
    writer_.add(row);
  };
  if (!sampled) add(0, duration);
  add(1, work.dram_read_bytes);
  add(2, work.dram_write_bytes);
  if (!sampled) add(3, duration * 1e-9 * kClock_hz);
  if (!sampled && step.configuration == 2) add(4, work.tensor_percent);
}

store::CaptureWriter writer_;
import::RecordedDevices devices_;
import::ImportSummary summary_;
std::unique_ptr<Recorded> process_;
Options options_;
std::vector<Kernel> kernels_;
import::ConfigurationIds configurations_;
std::vector<store::Id> metrics_;
std::int64_t launches_ = 0;
std::uint64_t next_range_ = 1;
};  // namespace

}  // namespace ridgeline::generate

std::unique_ptr<Sink> make_capture_sink(const std::string& path) {
  return std::make_unique<CaptureSink>(path);
}

}  // namespace ridgeline::generate
