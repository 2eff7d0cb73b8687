#include <algorithm>
#include <stdexcept>

#include "generate/generate.h"
#include "ridgeline/store/capture_writer.h"

namespace ridgeline::generate {

namespace {

store::CaptureWriter created(const std::string& path) {
  auto result = store::CaptureWriter::create(path);
  if (!result.ok()) throw std::runtime_error(result.failure().message);
  return std::move(result).value();
}

class CaptureSink final : public Sink {
 public:
  explicit CaptureSink(const std::string& path) : writer_(created(path)) {}

  void begin_process(int number, const Description& description) override {
    options_ = description.options;
    if (number == 0) begin(description);
    store::Process process;
    process.pid = 1000 + number;
    process.rank = number;
    process.command = "generated";
    process.start_ns = kOrigin;
    process_ = writer_.add(process);
    store::Device device;
    device.device_index = number;
    device.name = "NVIDIA H200";
    device.uuid = "GPU-" + std::to_string(number);
    device.sm_count = 132;
    device.max_sm_clock_hz = 1'980'000'000;
    device_ = writer_.add(device);
    writer_.add(
        store::DevicePeak{device_, Quantity::dram_bytes_per_s, PeakSource::spec, 4.8e12, "data sheet"});
    writer_.add(
        store::DevicePeak{device_, Quantity::bf16_flops_per_s, PeakSource::spec, 9.89e14, "data sheet"});
    kernels_.assign(1, 0);
    for (const Kernel& kernel : description.kernels)
      kernels_.push_back(writer_.kernel_id(kernel.mangled_name));
    paths_.assign(1, 0);
    names_.assign(1, 0);
    for (const Path& path : description.paths) {
      const std::string text = path.parent == 0 ? path.name : "step / " + path.name;
      paths_.push_back(writer_.string_id(text));
      names_.push_back(writer_.string_id(path.name));
    }
    launches_ = 0;
  }

  void step(const GeneratedStep& step) override {
    store::Step row;
    row.process_id = process_;
    row.step_index = step.index;
    row.phase = step.phase;
    row.host_start_ns = step.host_start_ns;
    row.host_end_ns = step.host_end_ns;
    row.gpu_start_ns = step.launches.front().start_ns;
    row.gpu_end_ns = step.launches.back().end_ns;
    if (step.configuration > 0) row.configuration_id = configurations_.at(step.configuration - 1);
    const store::Id step_id = writer_.add(row);
    store::NvtxRange outer = range(step_id, 1, 0, step.host_start_ns, step.host_end_ns);
    const store::Id outer_id = writer_.add(outer);
    writer_.add(store::Memcpy{0, process_, device_, 1, 7, 0, CopyKind::host_to_device, 4096,
                              step.copy_start_ns, step.copy_end_ns, step_id, std::nullopt});
    for (std::size_t i = 0; i < step.launches.size(); ++i) {
      const GeneratedLaunch& launch = step.launches[i];
      const store::Id id = writer_.add(row_of(launch, step_id, static_cast<std::int64_t>(i)));
      if (options_.ranges) {
        store::NvtxRange inner =
            range(step_id, launch.path, 1, launch.host_start_ns - 100, launch.host_end_ns + 100);
        inner.parent_id = outer_id;
        const store::Id inner_id = writer_.add(inner);
        const Work work = work_of(launch);
        if (options_.annotations)
          writer_.add(store::Annotation{0, inner_id, "op_cost", work.declared_bytes, work.declared_flops});
      }
      if (step.phase == Phase::sample || step.phase == Phase::replay) values(step, launch, id);
    }
    if (step.wait_end_ns > 0) {
      writer_.add(store::Synchronisation{process_, 9, step.wait_start_ns,
                                         step.wait_end_ns - step.wait_start_ns, SynchronisationCall::stream,
                                         step.launches.back().correlation_id + 1, step_id});
    }
    launches_ += static_cast<std::int64_t>(step.launches.size());
    since_checkpoint_ += static_cast<std::int64_t>(step.launches.size());
    if (since_checkpoint_ < 200'000) return;
    writer_.checkpoint();
    since_checkpoint_ = 0;
  }

  void end_process() override {
    if (options_.shape == Shape::eager || options_.shape == Shape::decode) {
      writer_.add(store::RecordingWindow{
          .process_id = process_, .start_ns = kOrigin, .end_ns = std::nullopt, .synchronisation = true});
    }
    store::Completeness completeness;
    completeness.process_id = process_;
    completeness.launches_seen = completeness.kernel_records = launches_;
    writer_.add(completeness);
    for (const Tier tier : {Tier::t0, Tier::t1, Tier::t2, Tier::t3}) {
      const bool ran = tier == Tier::t0 || (tier == Tier::t1 && options_.sample_steps > 0) ||
                       (tier == Tier::t2 && options_.replay_steps > 0);
      writer_.add(store::TierStatus{process_, tier, ran ? TierOutcome::ok : TierOutcome::not_requested,
                                    std::nullopt});
    }
  }
  void finish() override { writer_.finish(); }

 private:
  void begin(const Description& description) {
    store::Run run;
    run.command_line = "generated";
    run.ridgeline_version = "0.1.0";
    run.clock = "cupti";
    run.start_ns = kOrigin;
    run.schedule = description.schedule;
    run.step_range = "step";
    writer_.set_run(run);
    configurations_ = {writer_.add(store::CounterConfiguration{0, "R1", 1}),
                       writer_.add(store::CounterConfiguration{0, "R2", 1})};
    for (const char* name :
         {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
          "gpc__cycles_elapsed.max", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"})
      metrics_.push_back(writer_.metric_id(name));
  }
  store::NvtxRange range(store::Id step_id, std::uint32_t path, int depth, std::int64_t start,
                         std::int64_t end) const {
    store::NvtxRange row;
    row.process_id = process_;
    row.thread_id = 9;
    row.depth = depth;
    row.name_id = names_[path];
    row.path_id = paths_[path];
    row.step_id = step_id;
    row.start_ns = start;
    row.end_ns = end;
    return row;
  }
  store::Launch row_of(const GeneratedLaunch& launch, store::Id step_id, std::int64_t ordinal) const {
    store::Launch row;
    row.process_id = process_;
    row.device_id = device_;
    row.context_id = 1;
    row.stream_id = 7;
    row.correlation_id = launch.correlation_id;
    row.kernel_id = kernels_[launch.kernel];
    row.start_ns = launch.start_ns;
    row.end_ns = launch.end_ns;
    row.host_start_ns = launch.host_start_ns;
    row.host_end_ns = launch.host_end_ns;
    row.thread_id = 9;
    row.grid.x = launch.grid_x;
    row.block.x = 256;
    row.registers_per_thread = 32;
    row.step_id = step_id;
    row.ordinal_in_step = ordinal;
    row.nvtx_path_id = paths_[launch.path];
    return row;
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
  Options options_;
  store::Id process_ = 0, device_ = 0;
  std::vector<store::Id> kernels_, paths_, names_, metrics_, configurations_;
  std::int64_t launches_ = 0;
  std::int64_t since_checkpoint_ = 0;
};

}  // namespace

std::unique_ptr<Sink> make_capture_sink(const std::string& path) {
  return std::make_unique<CaptureSink>(path);
}

}  // namespace ridgeline::generate
