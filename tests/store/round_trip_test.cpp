// What a writer is given is what a reader gets: every field of every row, set and not set, each with a value of its
// own, so that no two can be taken for one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/capture_writer.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::TemporaryDirectory;

#define EXPECT_SAME(field) EXPECT_EQ(read.field, written.field) << "field " #field

// The same rows through the other reader.
template <typename Row, typename ForEach>
std::vector<Row> through_activity(const Capture& capture, ForEach for_each) {
  const Activity activity(capture);
  std::vector<Row> rows;
  EXPECT_TRUE((activity.*for_each)({}, [&](const Row& row) { rows.push_back(row); }, {}));
  return rows;
}

class RoundTrip : public ::testing::Test {
 protected:
  RoundTrip() {
    Result<CaptureWriter> made = CaptureWriter::create(path_);
    if (!made.ok()) throw std::runtime_error(made.failure().message);
    writer_ = std::make_unique<CaptureWriter>(std::move(made).value());
    writer_->set_run({.command_line = "train", .ridgeline_version = "0.1.0", .clock = "cupti"});
    Process process;
    process.pid = 42;
    process_ = writer_->add(process);
    process.pid = 43;
    other_process_ = writer_->add(process);
    Device device;
    device.name = "first";
    device_ = writer_->add(device);
    device.device_index = 1;
    device.name = "second";
    other_device_ = writer_->add(device);
    kernel_ = writer_->kernel_id("_Z5firstv");
    other_kernel_ = writer_->kernel_id("_Z6secondv", "c0ffee");
  }
  Capture finished() {
    writer_->finish();
    Result<Capture> opened = Capture::open(path_);
    if (!opened.ok()) throw std::runtime_error(opened.failure().message);
    return std::move(opened).value();
  }
  Id add_step(std::int64_t index, Id process = 0) {
    Step step;
    step.process_id = process == 0 ? process_ : process;
    step.step_index = index;
    step.phase = Phase::timeline;
    return writer_->add(step);
  }
  [[nodiscard]] Launch some_launch(std::int64_t start_ns = 1000) const {
    Launch launch;
    launch.process_id = process_;
    launch.device_id = device_;
    launch.kernel_id = kernel_;
    launch.start_ns = start_ns;
    launch.end_ns = start_ns + 10;
    return launch;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.file("a.ridge");
  std::unique_ptr<CaptureWriter> writer_;
  Id process_ = 0, other_process_ = 0, device_ = 0, other_device_ = 0, kernel_ = 0, other_kernel_ = 0;
};

TEST_F(RoundTrip, Run) {
  const store::Run written{.command_line = "./train --x",
                           .working_directory = "/work",
                           .git_commit = "abc",
                           .git_dirty = false,
                           .host_name = "host",
                           .os = "Linux",
                           .ridgeline_version = "9.9",
                           .clock = "monotonic",
                           .start_ns = 11,
                           .end_ns = 12,
                           .exit_status = 13,
                           .exit_signal = 14,
                           .schedule = "warmup=1",
                           .step_range = "step"};
  writer_->set_run(written);
  writer_->add_version("driver", "580");
  writer_->add_environment("CUDA_VISIBLE_DEVICES", "3");
  const Capture capture = finished();
  ASSERT_TRUE(capture.has_run());
  const store::Run read = capture.run();
  EXPECT_SAME(command_line);
  EXPECT_SAME(working_directory);
  EXPECT_SAME(git_commit);
  EXPECT_SAME(git_dirty);
  EXPECT_SAME(host_name);
  EXPECT_SAME(os);
  EXPECT_SAME(ridgeline_version);
  EXPECT_SAME(clock);
  EXPECT_SAME(start_ns);
  EXPECT_SAME(end_ns);
  EXPECT_SAME(exit_status);
  EXPECT_SAME(exit_signal);
  EXPECT_SAME(schedule);
  EXPECT_SAME(step_range);
  EXPECT_EQ(capture.versions(), (std::map<std::string, std::string>{{"driver", "580"}}));
  EXPECT_EQ(capture.environment(), (std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", "3"}}));
}

TEST_F(RoundTrip, WhatARunDoesNotSayStaysUnsaid) {
  const Capture capture = finished();
  const store::Run read = capture.run();
  for (const auto& text :
       {read.working_directory, read.git_commit, read.host_name, read.os, read.schedule, read.step_range})
    EXPECT_FALSE(text.has_value());
  EXPECT_FALSE(read.git_dirty || read.start_ns || read.end_ns || read.exit_status || read.exit_signal);
  const store::Process process = capture.processes().at(0);
  EXPECT_FALSE(process.parent_pid || process.command || process.rank || process.start_ns || process.end_ns);
  const store::Device device = capture.devices().at(0);
  EXPECT_FALSE(device.uuid || device.chip || device.compute_capability || device.sm_count ||
               device.memory_bytes);
  EXPECT_FALSE(capture.kernels().at(0).code_hash.has_value());
  EXPECT_EQ(capture.kernels().at(1).code_hash, "c0ffee");
}

TEST_F(RoundTrip, Process) {
  store::Process written;
  written.pid = 21;
  written.parent_pid = 22;
  written.command = "worker";
  written.rank = 23;
  written.start_ns = 24;
  written.end_ns = 25;
  const Id id = writer_->add(written);
  const Capture capture = finished();
  ASSERT_EQ(capture.processes().size(), 3u);
  const store::Process read = capture.processes()[2];
  EXPECT_EQ(read.id, id);
  EXPECT_SAME(pid);
  EXPECT_SAME(parent_pid);
  EXPECT_SAME(command);
  EXPECT_SAME(rank);
  EXPECT_SAME(start_ns);
  EXPECT_SAME(end_ns);
}

TEST_F(RoundTrip, DeviceItsPeaksAndClocks) {
  store::Device written;
  written.device_index = 5;
  written.name = "NVIDIA H200";
  written.uuid = "GPU-1";
  written.chip = "GH100";
  written.compute_capability = "9.0";
  written.sm_count = 132;
  written.max_sm_clock_hz = 1'980'000'000;
  written.max_memory_clock_hz = 3'201'000'000;
  written.memory_bus_bits = 6144;
  written.memory_bytes = 150'000'000'000;
  written.l2_bytes = 62'914'560;
  const Id id = writer_->add(written);
  writer_->add(DevicePeak{id, "dram_bytes_per_s", PeakSource::spec, 4.8e12, "datasheet"});
  writer_->add(DevicePeak{id, "dram_bytes_per_s", PeakSource::counter, 4.9e12, std::nullopt});
  writer_->add(DevicePeak{id, "dram_bytes_per_s", PeakSource::counter, 5.0e12, std::nullopt});
  writer_->add(ClockSample{id, 31, 32, 33, 34, 35, 36});
  writer_->add(ClockSample{id, 30, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt});
  writer_->add(ClockSample{id, 31, 1, 1, 1, 1, 1});
  const Capture capture = finished();
  const store::Device read = capture.devices().at(2);
  EXPECT_EQ(read.id, id);
  EXPECT_SAME(device_index);
  EXPECT_SAME(name);
  EXPECT_SAME(uuid);
  EXPECT_SAME(chip);
  EXPECT_SAME(compute_capability);
  EXPECT_SAME(sm_count);
  EXPECT_SAME(max_sm_clock_hz);
  EXPECT_SAME(max_memory_clock_hz);
  EXPECT_SAME(memory_bus_bits);
  EXPECT_SAME(memory_bytes);
  EXPECT_SAME(l2_bytes);

  auto peaks = capture.device_peaks();
  ASSERT_EQ(peaks.size(), 2u) << "the same peak again replaces";
  std::sort(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  EXPECT_EQ(peaks[0].device_id, id);
  EXPECT_EQ(peaks[0].quantity, "dram_bytes_per_s");
  EXPECT_EQ(peaks[0].value, 4.8e12);
  EXPECT_EQ(peaks[0].detail, "datasheet");
  EXPECT_EQ(peaks[1].value, 5.0e12);
  EXPECT_FALSE(peaks[1].detail.has_value());

  const auto clocks = capture.clock_samples();
  ASSERT_EQ(clocks.size(), 2u) << "the same instant again is ignored";
  EXPECT_EQ(clocks[0].time_ns, 30) << "in the order of time";
  EXPECT_FALSE(clocks[0].sm_clock_hz || clocks[0].memory_clock_hz || clocks[0].power_mw ||
               clocks[0].temperature_c || clocks[0].throttle_reasons);
  EXPECT_EQ(clocks[1].device_id, id);
  EXPECT_EQ(clocks[1].sm_clock_hz, 32);
  EXPECT_EQ(clocks[1].memory_clock_hz, 33);
  EXPECT_EQ(clocks[1].power_mw, 34);
  EXPECT_EQ(clocks[1].temperature_c, 35);
  EXPECT_EQ(clocks[1].throttle_reasons, 36);
}

TEST_F(RoundTrip, Step) {
  store::Step written;
  written.process_id = other_process_;
  written.step_index = 41;
  written.phase = Phase::replay;
  written.host_start_ns = 42;
  written.host_end_ns = 43;
  written.gpu_start_ns = 44;
  written.gpu_end_ns = 45;
  written.configuration_id = writer_->add(CounterConfiguration{0, "R7", 3});
  written.status = StepStatus::mismatch;
  written.reason = "different kernels";
  written.source = StepSource::period;
  const Id id = writer_->add(written);
  const Id plain = add_step(3);
  const Capture capture = finished();
  EXPECT_EQ(capture.counter_configurations().at(0).name, "R7");
  EXPECT_EQ(capture.counter_configurations().at(0).pass_count, 3);
  ASSERT_EQ(capture.steps().size(), 2u);
  const store::Step read = capture.steps()[1];
  EXPECT_EQ(read.id, id);
  EXPECT_SAME(process_id);
  EXPECT_SAME(step_index);
  EXPECT_SAME(phase);
  EXPECT_SAME(host_start_ns);
  EXPECT_SAME(host_end_ns);
  EXPECT_SAME(gpu_start_ns);
  EXPECT_SAME(gpu_end_ns);
  EXPECT_SAME(configuration_id);
  EXPECT_SAME(status);
  EXPECT_SAME(reason);
  EXPECT_SAME(source);
  const store::Step other = capture.steps()[0];
  EXPECT_EQ(other.id, plain) << "by process, then by index";
  EXPECT_FALSE(other.host_start_ns || other.host_end_ns || other.gpu_start_ns || other.gpu_end_ns ||
               other.configuration_id || other.reason);
}

TEST_F(RoundTrip, LaunchWithEverythingSet) {
  Launch written = some_launch(50'000);
  written.process_id = other_process_;
  written.device_id = other_device_;
  written.context_id = 61;
  written.stream_id = 62;
  written.correlation_id = 63;
  written.graph_id = 64;
  written.graph_node_id = 65;
  written.kernel_id = other_kernel_;
  written.host_start_ns = 49'000;
  written.host_end_ns = 49'500;
  written.thread_id = 66;
  written.grid = {67, 68, 69};
  written.block = {70, 71, 72};
  written.cluster = Dim3{73, 74, 75};
  written.registers_per_thread = 76;
  written.static_smem_bytes = 77;
  written.dynamic_smem_bytes = 78;
  written.step_id = add_step(3, other_process_);
  written.ordinal_in_step = 79;
  written.nvtx_path_id = writer_->string_id("step / forward");
  const Id id = writer_->add(written);
  const Capture capture = finished();
  ASSERT_EQ(capture.launches().size(), 1u);
  for (const Launch& read :
       {capture.launches()[0], through_activity<Launch>(capture, &Activity::for_each_launch).at(0)}) {
    EXPECT_EQ(read.id, id);
    EXPECT_SAME(process_id);
    EXPECT_SAME(device_id);
    EXPECT_SAME(context_id);
    EXPECT_SAME(stream_id);
    EXPECT_SAME(correlation_id);
    EXPECT_SAME(graph_id);
    EXPECT_SAME(graph_node_id);
    EXPECT_SAME(kernel_id);
    EXPECT_SAME(start_ns);
    EXPECT_SAME(end_ns);
    EXPECT_SAME(host_start_ns);
    EXPECT_SAME(host_end_ns);
    EXPECT_SAME(thread_id);
    EXPECT_SAME(grid);
    EXPECT_SAME(block);
    EXPECT_SAME(cluster);
    EXPECT_SAME(registers_per_thread);
    EXPECT_SAME(static_smem_bytes);
    EXPECT_SAME(dynamic_smem_bytes);
    EXPECT_SAME(step_id);
    EXPECT_SAME(ordinal_in_step);
    EXPECT_SAME(nvtx_path_id);
  }
}

TEST_F(RoundTrip, LaunchWithNothingBeyondWhatItMustSay) {
  writer_->add(some_launch());
  const Capture capture = finished();
  const Launch read = capture.launches().at(0);
  EXPECT_FALSE(read.graph_id || read.graph_node_id || read.host_start_ns || read.host_end_ns ||
               read.thread_id || read.cluster || read.step_id || read.ordinal_in_step || read.nvtx_path_id);
  EXPECT_EQ(read.grid, (Dim3{1, 1, 1}));
}

// Launches of one kernel that differ in a single property of their configuration, a hundred times each.
TEST_F(RoundTrip, LaunchesThatDifferInOnePropertyStayApart) {
  const std::vector<std::function<void(Launch&)>> differences = {
      [](Launch&) {},
      [this](Launch& l) { l.kernel_id = other_kernel_; },
      [this](Launch& l) { l.process_id = other_process_; },
      [this](Launch& l) { l.device_id = other_device_; },
      [](Launch& l) { l.context_id = 2; },
      [](Launch& l) { l.stream_id = 2; },
      [](Launch& l) { l.grid.x = 2; },
      [](Launch& l) { l.grid.y = 2; },
      [](Launch& l) { l.grid.z = 2; },
      [](Launch& l) { l.block.x = 2; },
      [](Launch& l) { l.block.y = 2; },
      [](Launch& l) { l.block.z = 2; },
      [](Launch& l) {
        l.cluster = Dim3{1, 1, 1};
      },
      [](Launch& l) {
        l.cluster = Dim3{2, 1, 1};
      },
      [](Launch& l) {
        l.cluster = Dim3{1, 2, 1};
      },
      [](Launch& l) {
        l.cluster = Dim3{1, 1, 2};
      },
      [](Launch& l) { l.registers_per_thread = 2; },
      [](Launch& l) { l.static_smem_bytes = 2; },
      [](Launch& l) { l.dynamic_smem_bytes = 2; },
      [this](Launch& l) { l.nvtx_path_id = writer_->string_id("a path"); },
      [](Launch& l) { l.thread_id = 2; },
      [](Launch& l) { l.graph_id = 2; },
      [](Launch& l) { l.graph_node_id = 2; },
      [](Launch& l) { l.host_start_ns = 2; },
      [](Launch& l) { l.host_end_ns = 2; },
      [](Launch& l) { l.end_ns += 2; },
  };
  std::map<Id, Launch> given;
  for (std::int64_t round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < differences.size(); ++i) {
      Launch written = some_launch(1'000'000 + (round * 100 + static_cast<std::int64_t>(i)) * 1000);
      written.correlation_id = round * 100 + static_cast<std::int64_t>(i);
      differences[i](written);
      given.emplace(writer_->add(written), written);
    }
  }
  const Capture capture = finished();
  std::vector<Launch> launches = capture.launches();
  ASSERT_EQ(launches.size(), given.size());
  for (const Launch& launch : through_activity<Launch>(capture, &Activity::for_each_launch))
    launches.push_back(launch);
  ASSERT_EQ(launches.size(), 2 * given.size());
  for (const Launch& read : launches) {
    const Launch& written = given.at(read.id);
    EXPECT_SAME(process_id);
    EXPECT_SAME(device_id);
    EXPECT_SAME(context_id);
    EXPECT_SAME(stream_id);
    EXPECT_SAME(correlation_id);
    EXPECT_SAME(graph_id);
    EXPECT_SAME(graph_node_id);
    EXPECT_SAME(kernel_id);
    EXPECT_SAME(start_ns);
    EXPECT_SAME(end_ns);
    EXPECT_SAME(host_start_ns);
    EXPECT_SAME(host_end_ns);
    EXPECT_SAME(thread_id);
    EXPECT_SAME(grid);
    EXPECT_SAME(block);
    EXPECT_SAME(cluster);
    EXPECT_SAME(registers_per_thread);
    EXPECT_SAME(static_smem_bytes);
    EXPECT_SAME(dynamic_smem_bytes);
    EXPECT_SAME(nvtx_path_id);
  }
}

TEST_F(RoundTrip, Ranges) {
  NvtxRange parent;
  parent.process_id = process_;
  parent.name_id = writer_->string_id("step");
  parent.path_id = parent.name_id;
  const Id parent_id = writer_->add(parent);
  NvtxRange written;
  written.process_id = process_;
  written.thread_id = 81;
  written.parent_id = parent_id;
  written.depth = 82;
  written.name_id = writer_->string_id("forward");
  written.path_id = writer_->string_id("step / forward");
  written.domain_id = writer_->string_id("torch");
  written.step_id = add_step(1);
  written.start_ns = 83;
  written.end_ns = 84;
  const Id id = writer_->add(written);
  writer_->add(Annotation{0, id, "attention", 85.5, 86.5});
  writer_->add(Annotation{0, id, "copy", std::nullopt, std::nullopt});
  Annotation size{0, id, "attention", 85.5, 86.5};  // another work for each that differs in anything
  size.tokens = 87;
  size.samples = 88;
  size.m = 89;
  size.n = 90;
  size.k = 91;
  EXPECT_NE(writer_->work_id(size), writer_->work_id(Annotation{0, id, "attention", 85.5, 86.5}));
  writer_->add(size);
  const Capture capture = finished();
  ASSERT_EQ(capture.nvtx_ranges().size(), 2u);
  EXPECT_FALSE(capture.nvtx_ranges()[0].parent_id || capture.nvtx_ranges()[0].domain_id ||
               capture.nvtx_ranges()[0].step_id || capture.nvtx_ranges()[0].end_ns);
  for (const NvtxRange& read :
       {capture.nvtx_ranges()[1], through_activity<NvtxRange>(capture, &Activity::for_each_range).at(1)}) {
    EXPECT_EQ(read.id, id);
    EXPECT_SAME(process_id);
    EXPECT_SAME(thread_id);
    EXPECT_SAME(parent_id);
    EXPECT_SAME(depth);
    EXPECT_SAME(name_id);
    EXPECT_SAME(path_id);
    EXPECT_SAME(domain_id);
    EXPECT_SAME(step_id);
    EXPECT_SAME(start_ns);
    EXPECT_SAME(end_ns);
  }
  for (const auto& annotations :
       {capture.annotations(), through_activity<Annotation>(capture, &Activity::for_each_annotation)}) {
    ASSERT_EQ(annotations.size(), 3u);
    EXPECT_EQ(annotations[0].nvtx_range_id, id);
    EXPECT_EQ(annotations[0].name, "attention");
    EXPECT_EQ(annotations[0].bytes, 85.5);
    EXPECT_EQ(annotations[0].flops, 86.5);
    EXPECT_FALSE(annotations[1].bytes || annotations[1].flops);
    EXPECT_FALSE(annotations[0].tokens || annotations[0].samples || annotations[0].m || annotations[0].n ||
                 annotations[0].k);
    EXPECT_EQ(annotations[2].tokens, 87);
    EXPECT_EQ(annotations[2].samples, 88);
    EXPECT_EQ(annotations[2].m, 89);
    EXPECT_EQ(annotations[2].n, 90);
    EXPECT_EQ(annotations[2].k, 91);
  }
}

TEST_F(RoundTrip, CopiesAndFills) {
  Memcpy copy;
  copy.process_id = other_process_;
  copy.device_id = other_device_;
  copy.context_id = 91;
  copy.stream_id = 92;
  copy.correlation_id = 93;
  copy.kind = CopyKind::device_to_host;
  copy.bytes = 94;
  copy.start_ns = 95;
  copy.end_ns = 96;
  copy.step_id = add_step(1, other_process_);
  copy.nvtx_path_id = writer_->string_id("path");
  Memset fill;
  fill.process_id = other_process_;
  fill.device_id = other_device_;
  fill.context_id = 101;
  fill.stream_id = 102;
  fill.correlation_id = 103;
  fill.bytes = 104;
  fill.start_ns = 105;
  fill.end_ns = 106;
  fill.step_id = copy.step_id;
  fill.nvtx_path_id = copy.nvtx_path_id;
  writer_->add(copy);
  writer_->add(fill);
  const Capture capture = finished();
  {
    const Memcpy& written = copy;
    for (const Memcpy& read :
         {capture.memcpys().at(0), through_activity<Memcpy>(capture, &Activity::for_each_memcpy).at(0)}) {
      EXPECT_SAME(process_id);
      EXPECT_SAME(device_id);
      EXPECT_SAME(context_id);
      EXPECT_SAME(stream_id);
      EXPECT_SAME(correlation_id);
      EXPECT_SAME(kind);
      EXPECT_SAME(bytes);
      EXPECT_SAME(start_ns);
      EXPECT_SAME(end_ns);
      EXPECT_SAME(step_id);
      EXPECT_SAME(nvtx_path_id);
    }
  }
  const Memset& written = fill;
  for (const Memset& read :
       {capture.memsets().at(0), through_activity<Memset>(capture, &Activity::for_each_memset).at(0)}) {
    EXPECT_SAME(process_id);
    EXPECT_SAME(device_id);
    EXPECT_SAME(context_id);
    EXPECT_SAME(stream_id);
    EXPECT_SAME(correlation_id);
    EXPECT_SAME(bytes);
    EXPECT_SAME(start_ns);
    EXPECT_SAME(end_ns);
    EXPECT_SAME(step_id);
    EXPECT_SAME(nvtx_path_id);
  }
}

TEST_F(RoundTrip, MetricsOfLaunchesAndGraphs) {
  const Id metric = writer_->metric_id("own__metric", "bytes", "what it means");
  const Id launch = writer_->add(some_launch());
  writer_->add(LaunchMetric{launch, metric, Tier::t1, 1.5, 0.25, 7, true});
  writer_->add(LaunchMetric{launch, metric, Tier::t2, 1.0, std::nullopt, std::nullopt, false});
  writer_->add(LaunchMetric{launch, metric, Tier::t2, 2.5, std::nullopt, std::nullopt, false});
  const Id step = add_step(1);
  writer_->add(GraphMetric{step, 111, metric, Tier::t2, 3.5});
  writer_->add(TierCoverage{other_process_, Tier::t1, metric, 112, 113});
  const Capture capture = finished();
  const auto metrics = capture.metrics();
  const auto described =
      std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) { return m.id == metric; });
  ASSERT_NE(described, metrics.end());
  EXPECT_EQ(described->name, "own__metric");
  EXPECT_EQ(described->unit, "bytes");
  EXPECT_EQ(described->meaning, "what it means");
  for (const auto& values : {capture.launch_metrics(),
                             through_activity<LaunchMetric>(capture, &Activity::for_each_launch_metric)}) {
    ASSERT_EQ(values.size(), 2u) << "the same value again replaces";
    const LaunchMetric& sampled = values[0].concurrent ? values[0] : values[1];
    const LaunchMetric& counted = values[0].concurrent ? values[1] : values[0];
    EXPECT_EQ(sampled.launch_id, launch);
    EXPECT_EQ(sampled.metric_id, metric);
    EXPECT_EQ(sampled.value, 1.5);
    EXPECT_EQ(sampled.error, 0.25);
    EXPECT_EQ(sampled.sample_count, 7);
    EXPECT_TRUE(sampled.concurrent);
    EXPECT_EQ(counted.value, 2.5);
    EXPECT_FALSE(counted.error || counted.sample_count || counted.concurrent);
  }
  const GraphMetric of_graph = capture.graph_metrics().at(0);
  EXPECT_EQ(of_graph.step_id, step);
  EXPECT_EQ(of_graph.correlation_id, 111);
  EXPECT_EQ(of_graph.metric_id, metric);
  EXPECT_EQ(of_graph.value, 3.5);
  const TierCoverage coverage = capture.tier_coverage().at(0);
  EXPECT_EQ(coverage.process_id, other_process_);
  EXPECT_EQ(coverage.metric_id, metric);
  EXPECT_EQ(coverage.kernel_time_ns, 112);
  EXPECT_EQ(coverage.covered_ns, 113);
}

TEST_F(RoundTrip, Completeness) {
  const store::Completeness written{other_process_, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  writer_->add(written);
  const Capture capture = finished();
  const store::Completeness read = capture.completeness().at(0);
  EXPECT_SAME(process_id);
  EXPECT_SAME(launches_seen);
  EXPECT_SAME(kernel_records);
  EXPECT_SAME(graph_launches);
  EXPECT_SAME(graph_kernel_records);
  EXPECT_SAME(profiler_records);
  EXPECT_SAME(dropped_records);
  EXPECT_SAME(lost_spool_records);
  EXPECT_SAME(zero_timestamps);
  EXPECT_SAME(truncated_bytes);
}

TEST_F(RoundTrip, WindowsOfSampling) {
  PmWindow sampling;
  sampling.process_id = other_process_;
  sampling.device_id = other_device_;
  sampling.first_step_index = 121;
  sampling.last_step_index = 122;
  sampling.interval_ns = 123;
  sampling.start_ns = 124;
  sampling.end_ns = 125;
  sampling.sample_count = 126;
  sampling.buffer_bytes = 127;
  sampling.overflow = true;
  sampling.clock_shift_ns = -128;
  sampling.shift_correlation = 0.5;
  sampling.status = WindowStatus::overflow;
  sampling.reason = "buffer full";
  writer_->add(sampling);
  StallWindow stalls;
  stalls.process_id = other_process_;
  stalls.device_id = other_device_;
  stalls.first_step_index = 131;
  stalls.last_step_index = 132;
  stalls.period_cycles = 133;
  stalls.samples = 134;
  stalls.dropped_samples = 135;
  stalls.foreign_samples = 136;
  stalls.status = WindowStatus::failed;
  stalls.reason = "no permission";
  writer_->add(stalls);
  writer_->add(RecordingWindow{0, other_process_, 141, 142, WindowCause::signal, true});
  writer_->add(RecordingWindow{0, process_, 143, std::nullopt, WindowCause::start});
  const Capture capture = finished();
  {
    const PmWindow& written = sampling;
    const PmWindow read = capture.pm_windows().at(0);
    EXPECT_SAME(process_id);
    EXPECT_SAME(device_id);
    EXPECT_SAME(first_step_index);
    EXPECT_SAME(last_step_index);
    EXPECT_SAME(interval_ns);
    EXPECT_SAME(start_ns);
    EXPECT_SAME(end_ns);
    EXPECT_SAME(sample_count);
    EXPECT_SAME(buffer_bytes);
    EXPECT_SAME(overflow);
    EXPECT_SAME(clock_shift_ns);
    EXPECT_SAME(shift_correlation);
    EXPECT_SAME(status);
    EXPECT_SAME(reason);
  }
  const StallWindow& written = stalls;
  const StallWindow read = capture.stall_windows().at(0);
  EXPECT_SAME(process_id);
  EXPECT_SAME(device_id);
  EXPECT_SAME(first_step_index);
  EXPECT_SAME(last_step_index);
  EXPECT_SAME(period_cycles);
  EXPECT_SAME(samples);
  EXPECT_SAME(dropped_samples);
  EXPECT_SAME(foreign_samples);
  EXPECT_SAME(status);
  EXPECT_SAME(reason);
  const auto windows = capture.recording_windows();
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].id, 2);
  EXPECT_EQ(windows[1].id, 1);
  EXPECT_EQ(windows[1].process_id, other_process_);
  EXPECT_EQ(windows[0].process_id, process_);
  EXPECT_EQ(windows[0].start_ns, 143);
  EXPECT_FALSE(windows[0].end_ns.has_value());
  EXPECT_EQ(windows[1].start_ns, 141);
  EXPECT_EQ(windows[1].end_ns, 142);
  EXPECT_FALSE(windows[0].synchronisation);
  EXPECT_TRUE(windows[1].synchronisation);
}

TEST_F(RoundTrip, Samples) {
  const Id metric = writer_->metric_id("one"), other = writer_->metric_id("two");
  writer_->add(PmSample{device_, 20, metric, 2.0});
  writer_->add(PmSample{device_, 10, metric, 1.0});
  writer_->add(PmSample{device_, 10, metric, 1.5});
  writer_->add(PmSample{device_, 10, other, 8.0});
  writer_->add(PmSample{other_device_, 10, metric, 9.0});
  writer_->add(StallSample{other_kernel_, 160, "smsp__pcsamp_warps_issue_stalled_wait", 5});
  writer_->add(StallSample{other_kernel_, 160, "smsp__pcsamp_warps_issue_stalled_wait", 6});
  writer_->add(SourceLine{other_kernel_, 160, writer_->string_id("a.cu"), 151});
  writer_->add(SourceLine{other_kernel_, 176, std::nullopt, std::nullopt});
  const Capture capture = finished();
  const auto samples = capture.pm_samples(device_, metric);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].time_ns, 10) << "in the order of time";
  EXPECT_EQ(samples[0].value, 1.5) << "the same sample again replaces";
  EXPECT_EQ(samples[1].time_ns, 20);
  EXPECT_EQ(capture.pm_samples(device_, other).at(0).value, 8.0);
  EXPECT_EQ(capture.pm_samples(other_device_, metric).at(0).value, 9.0);
  const auto stalls = capture.stall_samples();
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].kernel_id, other_kernel_);
  EXPECT_EQ(stalls[0].pc_offset, 160);
  EXPECT_EQ(stalls[0].stall_reason, "smsp__pcsamp_warps_issue_stalled_wait");
  EXPECT_EQ(stalls[0].samples, 11) << "the same reason again adds";
  const auto lines = capture.source_lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].kernel_id, other_kernel_);
  EXPECT_EQ(lines[0].pc_offset, 160);
  EXPECT_EQ(capture.strings().at(lines[0].file_id.value()), "a.cu");
  EXPECT_EQ(lines[0].line, 151);
  EXPECT_FALSE(lines[1].file_id || lines[1].line);
}

TEST_F(RoundTrip, WhatWentWrong) {
  writer_->add(TierStatus{other_process_, Tier::t2, TierOutcome::refused, "no permission"});
  writer_->add(TierStatus{other_process_, Tier::t2, TierOutcome::ok, std::nullopt});
  writer_->add(Message{0, other_process_, 161, Severity::error, "first"});
  writer_->add(Message{0, std::nullopt, std::nullopt, Severity::info, "second"});
  writer_->add(ReplayExclusion{other_process_, other_kernel_, ExclusionReason::concurrent});
  const Capture capture = finished();
  ASSERT_EQ(capture.tier_statuses().size(), 1u) << "the same tier again replaces";
  EXPECT_EQ(capture.tier_statuses()[0].process_id, other_process_);
  EXPECT_FALSE(capture.tier_statuses()[0].reason.has_value());
  const auto messages = capture.messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].process_id, other_process_);
  EXPECT_EQ(messages[0].time_ns, 161);
  EXPECT_EQ(messages[0].text, "first");
  EXPECT_FALSE(messages[1].process_id || messages[1].time_ns);
  const ReplayExclusion excluded = capture.replay_exclusions().at(0);
  EXPECT_EQ(excluded.process_id, other_process_);
  EXPECT_EQ(excluded.kernel_id, other_kernel_);
}

using Named = std::map<std::string, std::string>;

// Each column of the only row by its name, as text; "-": NULL.
Named only_row(const Capture& capture, const std::string& sql) {
  const auto answer = capture.query(sql);
  EXPECT_TRUE(answer.ok()) << answer.failure().message;
  Named named;
  if (!answer.ok() || answer.value().rows.size() != 1) return named;
  for (std::size_t i = 0; i < answer.value().columns.size(); ++i) {
    const Value& value = answer.value().rows[0][i];
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    const auto* text = std::get_if<std::string>(&value);
    named[answer.value().columns[i]] = integer != nullptr ? std::to_string(*integer)
                                       : real != nullptr
                                           ? std::to_string(static_cast<std::int64_t>(*real * 10))
                                       : text != nullptr ? *text
                                                         : "-";
  }
  return named;
}

// Under the name of each column stands what it says.
TEST_F(RoundTrip, TheViewsOfALaunchHaveEachFieldUnderItsName) {
  Launch launch = some_launch(50'000);
  launch.end_ns = 50'321;
  launch.context_id = 61;
  launch.stream_id = 62;
  launch.correlation_id = 63;
  launch.graph_id = 64;
  launch.graph_node_id = 65;
  launch.host_start_ns = 49'000;
  launch.host_end_ns = 49'500;
  launch.thread_id = 66;
  launch.grid = {67, 68, 69};
  launch.block = {70, 71, 72};
  launch.cluster = Dim3{73, 74, 75};
  launch.registers_per_thread = 76;
  launch.static_smem_bytes = 77;
  launch.dynamic_smem_bytes = 78;
  launch.step_id = add_step(3);
  launch.ordinal_in_step = 79;
  launch.nvtx_path_id = writer_->string_id("step / forward");
  launch.id = writer_->add(launch);
  writer_->add(LaunchMetric{launch.id, writer_->metric_id("own__metric", "bytes", "meaning"), Tier::t1, 12.5,
                            0.5, 81});
  const Capture capture = finished();
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  const Named shape = {{"process_id", text(launch.process_id)},
                       {"device_id", text(launch.device_id)},
                       {"context_id", "61"},
                       {"stream_id", "62"},
                       {"correlation_id", "63"},
                       {"graph_id", "64"},
                       {"graph_node_id", "65"},
                       {"kernel_id", text(launch.kernel_id)},
                       {"start_ns", "50000"},
                       {"end_ns", "50321"},
                       {"host_start_ns", "49000"},
                       {"host_end_ns", "49500"},
                       {"grid_x", "67"},
                       {"grid_y", "68"},
                       {"grid_z", "69"},
                       {"block_x", "70"},
                       {"block_y", "71"},
                       {"block_z", "72"},
                       {"cluster_x", "73"},
                       {"cluster_y", "74"},
                       {"cluster_z", "75"},
                       {"registers_per_thread", "76"},
                       {"static_smem_bytes", "77"},
                       {"dynamic_smem_bytes", "78"},
                       {"ordinal_in_step", "79"}};
  Named row = shape;
  row.merge(Named{{"id", text(launch.id)},
                  {"thread_id", "66"},
                  {"step_id", text(*launch.step_id)},
                  {"nvtx_path_id", text(*launch.nvtx_path_id)}});
  EXPECT_EQ(only_row(capture, "SELECT * FROM launch"), row);
  const Kernel kernel = capture.kernels().at(0);
  Named resolved = shape;
  resolved.merge(Named{{"launch_id", text(launch.id)},
                       {"kernel", kernel.demangled_name},
                       {"normalised_name", kernel.normalised_name},
                       {"class", std::string(to_string(kernel.kernel_class))},
                       {"step_index", "3"},
                       {"phase", "timeline"},
                       {"nvtx_path", "step / forward"},
                       {"duration_ns", "321"}});
  EXPECT_EQ(only_row(capture, "SELECT * FROM v_launch"), resolved);
  EXPECT_EQ(only_row(capture, "SELECT * FROM v_launch_metric"), (Named{{"launch_id", text(launch.id)},
                                                                       {"step_index", "3"},
                                                                       {"phase", "timeline"},
                                                                       {"ordinal_in_step", "79"},
                                                                       {"kernel", kernel.demangled_name},
                                                                       {"metric", "own__metric"},
                                                                       {"label", "own__metric"},
                                                                       {"unit", "bytes"},
                                                                       {"tier", "T1"},
                                                                       {"value", "125"},
                                                                       {"error", "5"},
                                                                       {"sample_count", "81"},
                                                                       {"concurrent", "0"}}));
}

TEST_F(RoundTrip, TheViewsOfARangeHaveEachFieldUnderItsName) {
  NvtxRange range;
  range.process_id = process_;
  range.thread_id = 81;
  range.depth = 82;
  range.name_id = writer_->string_id("forward");
  range.path_id = writer_->string_id("step / forward");
  range.domain_id = writer_->string_id("torch");
  range.step_id = add_step(1);
  range.start_ns = 83;
  range.end_ns = 184;
  range.id = writer_->add(range);
  Annotation work{0, range.id, "attention", 85.5, 86.5};
  work.tokens = 87;
  work.samples = 88;
  work.m = 89;
  work.n = 90;
  work.k = 91;
  writer_->add(work);
  const Capture capture = finished();
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  EXPECT_EQ(only_row(capture, "SELECT * FROM nvtx_range"), (Named{{"id", text(range.id)},
                                                                  {"process_id", text(process_)},
                                                                  {"thread_id", "81"},
                                                                  {"parent_id", "-"},
                                                                  {"depth", "82"},
                                                                  {"name_id", text(range.name_id)},
                                                                  {"path_id", text(range.path_id)},
                                                                  {"domain_id", text(*range.domain_id)},
                                                                  {"step_id", text(*range.step_id)},
                                                                  {"start_ns", "83"},
                                                                  {"end_ns", "184"}}));
  EXPECT_EQ(only_row(capture, "SELECT * FROM annotation"), (Named{{"nvtx_range_id", text(range.id)},
                                                                  {"name", "attention"},
                                                                  {"bytes", "855"},
                                                                  {"flops", "865"},
                                                                  {"tokens", "870"},
                                                                  {"samples", "880"},
                                                                  {"m", "89"},
                                                                  {"n", "90"},
                                                                  {"k", "91"}}));
}

}  // namespace
}  // namespace ridgeline::store
