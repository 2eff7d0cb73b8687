// Recordings drawn by lot, as a comparison reads them: what a run is reduced to, how long its launches and steps took,
// what a ladder observes of it. All of it is held.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/run_durations.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/order.h"
#include "support/accepted_cases.h"
#include "support/lots.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

// Where a program launches a kernel: with the same few shapes in each step, or with others.
struct DrawnPlace {
  std::string path;
  store::Id kernel = 0;
  std::vector<store::Launch> shapes;
  std::int64_t calls = 1;
  bool shapes_follow_the_step = false, calls_follow_the_step = false;
  std::int64_t stream = 7, thread = 60;
  int device = 0;
  std::int64_t each_ns = 50'000;
};

class DrawnCapture {
 public:
  DrawnCapture(std::uint64_t seed, const std::string& path)
      : lots_(seed), writer_(store::CaptureWriter::create(path).value()) {
    add_facts();
    add_machine();
    add_places();
    const std::int64_t steps = lots_.one_in(6) ? 0 : lots_.one_in(5) ? lots_.below(3) : lots_.between(3, 22);
    if (steps == 0) add_launches(0, std::nullopt, Phase::timeline);
    const bool kinds = lots_.one_in(3);
    for (std::int64_t step = 0; step < steps; ++step) {
      kind_ = kinds && lots_.one_in(3) ? 1 : 0;
      add_step(step, step < first_timeline_ ? Phase::warmup : Phase::timeline);
    }
    const std::int64_t others = lots_.one_in(2) ? lots_.between(1, 3) : 0;
    for (std::int64_t step = 0; step < others && steps > 0; ++step)
      add_step(steps + step, replay_ ? Phase::replay : Phase::sample);
    if (synchronisation_)
      writer_.add(store::RecordingWindow{
          .process_id = processes_[0], .start_ns = 1, .end_ns = at_ns_ + 1'000'000, .synchronisation = true});
    add_memory();
    writer_.finish();
  }

  // Names of kernels, one of which is none.
  [[nodiscard]] static std::vector<std::string> kernels(std::int64_t first) {
    return {"kernel_" + std::to_string(first), "kernel_1", "nowhere"};
  }

 private:
  void add_facts() {
    store::Run run{.command_line = "./drawn --steps", .ridgeline_version = "test", .clock = "test"};
    if (!lots_.one_in(4)) run.git_commit = "c0ffee";
    if (lots_.one_in(2)) run.git_dirty = lots_.one_in(2);
    if (!lots_.one_in(4)) run.host_name = "box";
    if (!lots_.one_in(4)) run.start_ns = 1'700'000'000'000'000'000;
    writer_.set_run(run);
    if (lots_.one_in(2)) writer_.add_environment("NCCL_ALGO", "Ring");
    if (!lots_.one_in(4)) writer_.add_version("driver", "580");
  }

  void add_machine() {
    const std::int64_t count = lots_.between(1, 2);
    for (std::int64_t i = 0; i < count; ++i) {
      store::Process process{.pid = 10 + i, .command = "./drawn", .start_ns = 1};
      processes_.push_back(writer_.add(process));
    }
    const int devices = lots_.one_in(3) ? 2 : 1;
    for (int i = 0; i < devices; ++i) {
      store::Device device{.device_index = i, .name = "GPU " + std::to_string(i)};
      if (!lots_.one_in(4)) device.uuid = "GPU-" + std::to_string(i);
      if (!lots_.one_in(4)) device.sm_count = 100 + i;
      device.max_sm_clock_hz = 1'980'000'000;
      devices_.push_back(writer_.add(device));
      if (lots_.one_in(2))
        writer_.add(store::DevicePeak{.device_id = devices_.back(),
                                      .quantity = Quantity::dram_bytes_per_s,
                                      .source = lots_.one_in(2) ? PeakSource::spec : PeakSource::measured,
                                      .value = 4.8e12});
    }
    synchronisation_ = !lots_.one_in(3);
    replay_ = lots_.one_in(2);
    host_times_ = !lots_.one_in(6);
    first_timeline_ = lots_.one_in(3) ? 2 : 0;
    slow_start_ = lots_.one_in(3);
    clocks_ = lots_.below(4);
    max_samples_ = lots_.one_in(2) ? lots_.between(5, 7) : 1'000'000;
  }

  void add_places() {
    const std::array<const char*, 6> paths = {"step / forward / layer 0 / mlp",
                                              "step / forward / layer 1 / mlp",
                                              "step / backward / layer 12 / mlp",
                                              "step / optimizer",
                                              "",
                                              "step / fc1 / block2 3"};
    const std::int64_t places = lots_.between(1, 9);
    for (std::int64_t i = 0; i < places; ++i) {
      DrawnPlace place;
      place.path = lots_.of(paths);
      const std::int64_t name = lots_.below(6);
      const std::int64_t code = lots_.below(3);
      place.kernel = lots_.one_in(9) ? writer_.kernel_id("ncclDevKernel_AllReduce_Sum_f32_RING_LL")
                     : code == 0
                         ? writer_.kernel_id("kernel_" + std::to_string(name))
                         : writer_.kernel_id("kernel_" + std::to_string(name), "code" + std::to_string(code));
      const std::int64_t shapes = lots_.one_in(3) ? lots_.between(7, 10) : lots_.between(1, 3);
      for (std::int64_t k = 0; k < shapes; ++k) place.shapes.push_back(drawn_launch(k));
      place.calls = lots_.one_in(2) ? shapes : lots_.between(1, 4);
      place.shapes_follow_the_step = lots_.one_in(6);
      place.calls_follow_the_step = lots_.one_in(6);
      place.stream = 7 + lots_.below(2);
      place.thread = 60 + 10 * (lots_.below(4) / 3);
      place.device = static_cast<int>(lots_.below(4) / 3) % static_cast<int>(devices_.size());
      place.each_ns = lots_.between(1, 90) * 1000;
      places_.push_back(place);
    }
  }

  store::Launch drawn_launch(std::int64_t k) {
    store::Launch launch;
    launch.grid.x = 10 + k;
    launch.grid.y = lots_.between(1, 2);
    launch.block.x = 32 * lots_.between(1, 8);
    if (lots_.one_in(5)) launch.cluster = store::Dim3{2, 1, 1};
    launch.registers_per_thread = lots_.between(16, 128);
    launch.static_smem_bytes = 16 * lots_.below(3);
    launch.dynamic_smem_bytes = 1024 * lots_.below(3);
    return launch;
  }

  void add_step(std::int64_t index, Phase phase) {
    store::Step step;
    step.process_id = processes_[0];
    step.step_index = index;
    step.phase = phase;
    if (host_times_) {
      step.host_start_ns = at_ns_ - lots_.between(1'000, 40'000);
      step.host_end_ns = at_ns_ + lots_.between(100'000, 900'000);
    }
    if (lots_.one_in(25)) step.status = StepStatus::interrupted;
    const store::Id id = writer_.add(step);
    slowness_ = slow_start_ ? std::max<std::int64_t>(0, 300 - 60 * index) : 0;
    add_launches(index, id, phase);
  }

  void add_launches(std::int64_t index, std::optional<store::Id> step, Phase phase) {
    const std::int64_t start_ns = at_ns_;
    std::int64_t ordinal = 0;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const DrawnPlace& place = places_[p];
      if (kind_ == 1 && p % 2 == 1) continue;
      const std::int64_t calls = place.calls + (place.calls_follow_the_step ? index % 3 : 0);
      for (std::int64_t call = 0; call < calls; ++call) {
        const std::size_t shape =
            static_cast<std::size_t>(call + (place.shapes_follow_the_step ? index : 0)) % place.shapes.size();
        add_launch(place, place.shapes[shape], step, ordinal++, phase);
      }
      add_transfer(step);
      if (synchronisation_ && lots_.one_in(3)) add_wait(step, place.thread);
    }
    if (processes_.size() > 1) add_foreign();
    add_clocks(start_ns);
    at_ns_ += lots_.one_in(3) ? 2'000 : lots_.between(1, 60) * 1000;
  }

  void add_launch(const DrawnPlace& place, const store::Launch& shape, std::optional<store::Id> step,
                  std::int64_t ordinal, Phase phase) {
    store::Launch launch = shape;
    launch.process_id = processes_[0];
    launch.device_id = devices_[static_cast<std::size_t>(place.device)];
    launch.stream_id = place.stream;
    launch.thread_id = place.thread;
    launch.correlation_id = ++correlation_;
    launch.kernel_id = place.kernel;
    if (!place.path.empty()) launch.nvtx_path_id = writer_.string_id(place.path);
    launch.step_id = step;
    if (step) launch.ordinal_in_step = ordinal;
    const std::int64_t length = place.each_ns * (1000 + slowness_ + lots_.below(40)) / 1000;
    const bool beside = lots_.one_in(5);
    launch.start_ns = at_ns_ - (beside ? 3'000 : 0);
    launch.end_ns = launch.start_ns + length;
    launch.host_start_ns = launch.start_ns - lots_.between(1, 20) * 1000;
    launch.host_end_ns = *launch.host_start_ns + 700;
    at_ns_ = std::max(at_ns_, launch.end_ns) + lots_.between(0, 9) * 500;
    if (lots_.one_in(60)) launch.start_ns = launch.end_ns = 0;
    const store::Id id = writer_.add(launch);
    if (phase != Phase::replay) return;
    for (const char* metric : {"sm__inst_executed.sum", "sm__ops_path_tensor_src_bf16.sum",
                               "smsp__inst_executed.avg", "smsp__inst_executed_pipe_fma.sum"}) {
      if (!lots_.one_in(12))
        writer_.add(store::LaunchMetric{.launch_id = id,
                                        .metric_id = writer_.metric_id(metric, "inst"),
                                        .tier = lots_.one_in(15) ? Tier::t1 : Tier::t2,
                                        .value = static_cast<double>(1000 + ordinal)});
    }
    if (!lots_.one_in(9))
      writer_.add(store::LaunchMetric{.launch_id = id,
                                      .metric_id = writer_.metric_id("dram__bytes.sum", "bytes"),
                                      .tier = Tier::t2,
                                      .value = static_cast<double>(1'000'000 * (1 + ordinal % 3))});
  }

  void add_transfer(std::optional<store::Id> step) {
    if (!lots_.one_in(2)) return;
    const auto fill = [&](auto row) {
      row.process_id = processes_[0];
      row.device_id = lots_.of(devices_);
      row.stream_id = 20;
      row.correlation_id = ++correlation_;
      row.bytes = 4096 * lots_.between(1, 64);
      row.start_ns = at_ns_ - lots_.between(0, 30) * 1000;
      row.end_ns = row.start_ns + lots_.between(-1, 40) * 1000;
      if (!lots_.one_in(6)) row.step_id = step;
      if (!lots_.one_in(3)) row.nvtx_path_id = writer_.string_id("step / layer 3 / load");
      writer_.add(row);
    };
    const auto kind = static_cast<CopyKind>(lots_.below(6));
    if (lots_.one_in(3))
      fill(store::Memset{});
    else
      fill(store::Memcpy{.kind = kind});
  }

  void add_wait(std::optional<store::Id> step, std::int64_t thread) {
    writer_.add(store::Synchronisation{.process_id = processes_[0],
                                       .thread_id = thread,
                                       .start_ns = at_ns_,
                                       .duration_ns = lots_.between(1, 50) * 1000,
                                       .call = SynchronisationCall::stream,
                                       .correlation_id = ++correlation_,
                                       .step_id = step});
  }

  // A kernel of another process on the same device.
  void add_foreign() {
    store::Launch launch = places_.front().shapes.front();
    launch.process_id = processes_[1];
    launch.device_id = devices_.front();
    launch.stream_id = 9;
    launch.correlation_id = ++correlation_;
    launch.kernel_id = places_.front().kernel;
    launch.start_ns = at_ns_ - 9'000;
    launch.end_ns = at_ns_;
    writer_.add(launch);
  }

  void add_clocks(std::int64_t from_ns) {
    if (clocks_ == 0) return;
    for (const store::Id device : devices_) {
      for (std::int64_t at = from_ns; at < at_ns_; at += 60'000 * clocks_) {
        if (max_samples_-- <= 0) return;
        store::ClockSample sample{.device_id = device, .time_ns = at + 10 * device};
        if (!lots_.one_in(9))
          sample.sm_clock_hz = 1'500'000'000 + 1'000'000 * lots_.below(slow_start_ ? 200 : 9);
        if (!lots_.one_in(5)) sample.power_mw = 300'000 + 1000 * lots_.below(90) + 50'000 * device;
        if (!lots_.one_in(5)) sample.temperature_c = static_cast<int>(lots_.between(50, 70));
        if (!lots_.one_in(5)) sample.throttle_reasons = lots_.one_of<std::int64_t>({0, 0, 1, 4, 8, 0x40});
        writer_.add(sample);
      }
    }
  }

  void add_memory() {
    if (lots_.one_in(2)) return;
    std::int64_t held = 0;
    for (std::int64_t i = 0; i < 5; ++i) {
      store::MemoryUse use;
      use.process_id = lots_.of(processes_);
      use.device_id = lots_.of(devices_);
      use.correlation_id = ++correlation_;
      use.time_ns = at_ns_ + i;
      use.bytes = 1'000'000 * lots_.between(1, 50);
      use.allocation_id = i;
      held += *use.bytes;
      use.allocated_bytes = held;
      writer_.add(use);
    }
  }

  Lots lots_;
  store::CaptureWriter writer_;
  std::vector<store::Id> processes_, devices_;
  std::vector<DrawnPlace> places_;
  std::int64_t at_ns_ = 1'000'000'000, correlation_ = 0, clocks_ = 0, max_samples_ = 0, first_timeline_ = 0,
               slowness_ = 0;
  int kind_ = 0;
  bool synchronisation_ = false, replay_ = false, host_times_ = false, slow_start_ = false;
};

std::string capture_text(std::uint64_t seed) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory / "drawn.ridge";
  static_cast<void>(DrawnCapture(seed, path));
  std::string text;
  std::vector<RunProfile> runs;
  for (const std::int64_t most : {5'000'000, 60}) {
    const ProfileOptions options{.analysis = {}, .max_launches = most};
    const auto profile = profile_run(path, options);
    text += "profile: " + fields(profile) + "\n";
    if (profile) {
      std::uint64_t order = 0;
      for (const std::uint32_t site : profile.value().order) order = 31 * order + site;
      text += "order: " + std::to_string(order) + ", launches " + fields(profile.value().launches()) + "\n";
      runs.push_back(profile.value());
    }
  }
  const auto kernels = DrawnCapture::kernels(static_cast<std::int64_t>(seed % 6));
  text += "launches: " + fields(durations_of_run(path, kernels)) + "\n";
  text += "steps: " + fields(steps_of_run(path)) + "\n";
  text += "observed: " + fields(observe_capture(path)) + "\n";
  if (runs.size() == 2) text += "compared: " + fields(compare({runs[0]}, {runs[1]})) + "\n";
  return text;
}

class DrawnCaptures : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DrawnCaptures, AreReducedToWhatIsHeld) {
  for (std::uint64_t i = 0; i < 10; ++i) AcceptedCases::expect([&] { return capture_text(GetParam() + i); });
}
INSTANTIATE_TEST_SUITE_P(Seeds, DrawnCaptures, ::testing::Values(1, 101));

TEST(RunsOfNoCapture, AreRefusedByName) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory / "none.ridge";
  AcceptedCases::expect([&] {
    return fields(profile_run(path)) + fields(durations_of_run(path, {"a"})) + fields(steps_of_run(path)) +
           fields(observe_capture(path));
  });
}

}  // namespace
}  // namespace ridgeline::comparison
