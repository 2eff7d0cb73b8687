// What a writer is given is what a reader gets: every field of every row, set and not set, each with a value of its
// own, so that no two can be taken for one another.
#include <algorithm>
#include <functional>

#include "store/round_trip_testing.h"

namespace ridgeline::store::testing {
namespace {

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

TEST_F(RoundTrip, Ceiling) {
  store::Device device;
  device.name = "NVIDIA H200";
  const Id id = writer_->add(device);
  const store::Ceiling written{.device_id = id,
                               .level = CeilingLevel::dram,
                               .kind = "triad",
                               .state = CeilingState::sustained,
                               .read_share = 0.667,
                               .value = 4.04e12,
                               .unit = "bytes_per_s",
                               .spread_ratio = 0.002,
                               .sm_clock_hz = 1.9e9,
                               .power_w = 550,
                               .joules_each = 1.4e-10,
                               .conditions = "1 s, quick"};
  store::Ceiling bare = written;
  bare.state = CeilingState::burst;
  bare.read_share = bare.spread_ratio = bare.sm_clock_hz = bare.power_w = bare.joules_each = std::nullopt;
  store::Ceiling before = bare;
  before.value = 1;
  writer_->add(written);
  writer_->add(before);
  writer_->add(bare);
  const Capture capture = finished();
  const std::vector<store::Ceiling> rows = capture.ceilings();
  ASSERT_EQ(rows.size(), 2u) << "the same again replaces";
  EXPECT_EQ(rows[0].state, CeilingState::burst);
  EXPECT_EQ(rows[0].value, 4.04e12);
  EXPECT_FALSE(rows[0].read_share || rows[0].spread_ratio || rows[0].sm_clock_hz || rows[0].power_w ||
               rows[0].joules_each);
  const store::Ceiling& read = rows[1];
  EXPECT_SAME(device_id);
  EXPECT_SAME(level);
  EXPECT_SAME(kind);
  EXPECT_SAME(state);
  EXPECT_SAME(read_share);
  EXPECT_SAME(value);
  EXPECT_SAME(unit);
  EXPECT_SAME(spread_ratio);
  EXPECT_SAME(sm_clock_hz);
  EXPECT_SAME(power_w);
  EXPECT_SAME(joules_each);
  EXPECT_SAME(conditions);
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
  writer_->add(DevicePeak{id, Quantity::dram_bytes_per_s, PeakSource::spec, 4.8e12, "datasheet"});
  writer_->add(DevicePeak{id, Quantity::dram_bytes_per_s, PeakSource::counter, 4.9e12, std::nullopt});
  writer_->add(DevicePeak{id, Quantity::dram_bytes_per_s, PeakSource::counter, 5.0e12, std::nullopt});
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
  EXPECT_EQ(peaks[0].quantity, Quantity::dram_bytes_per_s);
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

}  // namespace
}  // namespace ridgeline::store::testing
