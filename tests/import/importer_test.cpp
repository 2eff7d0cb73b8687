#include "import/import_testing.h"
#include "ridgeline/spool/manifest.h"

namespace ridgeline::import::testing {
namespace {

using spool::MemcpyKind;

TEST_F(Importer, CompleteRunArrivesWhole) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  const store::Capture capture = import();
  EXPECT_TRUE(summary_.warnings.empty()) << warnings().front();
  EXPECT_EQ(summary_.launches, 30);
  EXPECT_EQ(summary_.launches_seen, 30);
  EXPECT_EQ(summary_.steps, 5);
  EXPECT_EQ(summary_.timeline_steps, 2);
  EXPECT_EQ(summary_.replay_steps, 2);
  EXPECT_EQ(summary_.counter_values, 24);

  const store::Run run = capture.run();
  EXPECT_EQ(run.command_line, "./train --steps '8 8'");
  EXPECT_EQ(run.clock, "cupti");
  EXPECT_EQ(run.schedule, "warmup=1,timeline=2,replay=2");
  const auto devices = capture.devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "NVIDIA H200");
  EXPECT_EQ(devices[0].uuid, "GPU-07070707-0707-0707-0707-070707070707");
  EXPECT_EQ(devices[0].compute_capability, "9.0");

  EXPECT_EQ(scalar(capture, "SELECT group_concat(phase || ':' || status) FROM step ORDER BY step_index"),
            "warmup:ok,timeline:ok,timeline:ok,replay:ok,replay:ok");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch WHERE step_id IS NULL OR ordinal_in_step IS NULL"),
            "0");
  EXPECT_EQ(scalar(capture, "SELECT count(DISTINCT nvtx_path) FROM v_launch"), "1");
  EXPECT_EQ(scalar(capture, "SELECT DISTINCT nvtx_path FROM v_launch"), "step / forward");
  EXPECT_EQ(scalar(capture, "SELECT code_hash FROM kernel WHERE mangled_name = '_Z7kernel1v'"),
            "0000000000abcdef");
  // Every launch joins its own values.
  EXPECT_EQ(
      scalar(capture,
             "SELECT count(*) FROM v_launch_metric WHERE metric = 'dram__bytes_read.sum' AND tier = 'T2' "
             "AND value = 1000 + ordinal_in_step AND phase = 'replay'"),
      "12");
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(tier || ':' || status) FROM (SELECT * FROM tier_status ORDER BY tier)"),
      "T0:ok,T1:not_requested,T2:ok,T3:not_requested");
  const auto completeness = capture.completeness();
  ASSERT_EQ(completeness.size(), 1u);
  EXPECT_EQ(completeness[0].launches_seen, 30);
  EXPECT_EQ(completeness[0].kernel_records, 30);
  EXPECT_EQ(completeness[0].profiler_records, 5);
  EXPECT_EQ(completeness[0].truncated_bytes, 0);
}

TEST_F(Importer, StepsSpanTheirGpuWork) {
  FakeSpool spool(directory_.path());
  spool.whole_run(3);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM step s WHERE gpu_start_ns = (SELECT min(start_ns) FROM launch WHERE "
                   "step_id = "
                   "s.id) AND gpu_end_ns = (SELECT max(end_ns) FROM launch WHERE step_id = s.id)"),
            "5");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step WHERE host_end_ns > host_start_ns"), "5");
}

TEST_F(Importer, PeaksSayTheirSource) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  const store::Capture capture = import();
  const auto peak = [&](const char* quantity, const char* source) {
    return scalar(capture, std::string("SELECT CAST(value AS INTEGER) FROM device_peak WHERE quantity = '") +
                               quantity + "' AND source = '" + source + "'");
  };
  EXPECT_EQ(peak("dram_bytes_per_s", "spec"), "4800000000000");
  EXPECT_EQ(peak("dram_bytes_per_s", "counter"), "4810000000000");
  EXPECT_EQ(peak("bf16_flops_per_s", "spec"), "989400000000000");
  EXPECT_EQ(peak("fp32_flops_per_s", "spec"), "66900000000000");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM device_peak WHERE detail IS NULL OR detail = ''"), "0");
}

TEST_F(Importer, MeasuredRoofsOfTheModelAndItsPowerLimitGoIn) {
  FakeSpool(directory_.path()).whole_run();
  const TemporaryDirectory machines;
  std::filesystem::copy_file(std::string(RIDGELINE_SOURCE_DIR) + "/tests/ceilings/made.json",
                             machines / "other-card-700W.json");
  EXPECT_TRUE(import().ceilings().empty()) << "nobody said where they are";
  ImportOptions options{.overwrite = true, .ceilings_directory = machines.path()};
  const std::string itself = "GPU-07070707-0707-0707-0707-070707070707";
  options.power_limits_w = {{itself, 700.0}};
  ASSERT_TRUE(import_spools(directory_.path(), output_, options).ok());
  const store::Capture capture = open_capture(output_);
  ASSERT_EQ(capture.ceilings().size(), 21u);
  EXPECT_EQ(capture.ceilings()[0].device_id, capture.devices()[0].id);
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM v_ceiling WHERE device = 'NVIDIA H200' AND conditions LIKE "
                   "'%measured on another card%'"),
            "21");
  options.power_limits_w = {{itself, 500.0}};
  ASSERT_TRUE(import_spools(directory_.path(), output_, options).ok());
  EXPECT_TRUE(open_capture(output_).ceilings().empty()) << "roofs of another limit are not this card's";
}

TEST_F(Importer, ClockSamplesGiveThePeakAtTheMeasuredClock) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  for (int i = 0; i < 3; ++i) {
    spool::ClockSampleRecord clock{};
    clock.time_ns = FakeSpool::kOrigin + spool.now() + i;
    clock.sm_hz = 1'000'000'000 + i * 100'000'000ll;
    clock.power_mw = 500'000;
    clock.throttle_reasons = 4;
    spool.put(clock);
  }
  spool.advance(10);
  spool.end_step();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(
      scalar(capture, "SELECT count(*) FROM clock_sample WHERE power_mw = 500000 AND throttle_reasons = 4"),
      "3");
  EXPECT_EQ(scalar(capture,
                   "SELECT CAST(value AS INTEGER) FROM device_peak WHERE quantity = 'bf16_flops_per_s' AND "
                   "source = 'clock'"),
            std::to_string(132ll * 4096 * 1'100'000'000));
}

// The device clocks down before and after the steps; that says nothing about their peak.
TEST_F(Importer, ClocksOutsideTheStepsDoNotCountForThePeak) {
  FakeSpool spool(directory_.path());
  const auto clock_at = [&](std::int64_t hz) {
    spool::ClockSampleRecord clock{};
    clock.time_ns = FakeSpool::kOrigin + spool.now();
    clock.sm_hz = hz;
    spool.put(clock);
    spool.advance(10);
  };
  for (int i = 0; i < 5; ++i) clock_at(300'000'000);
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  clock_at(1'500'000'000);
  spool.end_step();
  for (int i = 0; i < 5; ++i) clock_at(400'000'000);
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM clock_sample"), "11");
  EXPECT_EQ(scalar(capture,
                   "SELECT CAST(value AS INTEGER) FROM device_peak WHERE quantity = 'bf16_flops_per_s' AND "
                   "source = 'clock'"),
            std::to_string(132ll * 4096 * 1'500'000'000));
}

TEST_F(Importer, ALaunchKeepsItsConfiguration) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  std::uint32_t clusters[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {3, 4, 5}};
  for (const auto& cluster : clusters) {
    const spool::LaunchRecord call = spool.call();
    spool.put(call);
    spool::KernelRecord kernel = spool.kernel_of(call);
    kernel.grid_y = 11;
    kernel.grid_z = 12;
    kernel.block_x = 13;
    kernel.block_y = 14;
    kernel.block_z = 15;
    kernel.cluster_x = static_cast<decltype(kernel.cluster_x)>(cluster[0]);
    kernel.cluster_y = static_cast<decltype(kernel.cluster_y)>(cluster[1]);
    kernel.cluster_z = static_cast<decltype(kernel.cluster_z)>(cluster[2]);
    kernel.registers_per_thread = 16;
    kernel.static_smem_bytes = 17;
    kernel.dynamic_smem_bytes = 18;
    spool.put(kernel);
  }
  spool.end_step();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  std::string seen;
  for (const store::Launch& launch : capture.launches()) {
    EXPECT_EQ(launch.grid, (store::Dim3{100 + launch.ordinal_in_step.value(), 11, 12}));
    EXPECT_EQ(launch.block, (store::Dim3{13, 14, 15}));
    EXPECT_EQ(launch.registers_per_thread, 16);
    EXPECT_EQ(launch.static_smem_bytes, 17);
    EXPECT_EQ(launch.dynamic_smem_bytes, 18);
    EXPECT_EQ(launch.stream_id, 7);
    EXPECT_EQ(launch.context_id, 1);
    const auto& c = launch.cluster;
    seen += c ? std::to_string(c->x) + std::to_string(c->y) + std::to_string(c->z) + " " : "- ";
  }
  EXPECT_EQ(seen, "- - 211 121 112 345 ") << "a cluster of one block is none";
}

TEST_F(Importer, KernelRecordsBeforeTheirCallsStillJoin) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  std::vector<spool::LaunchRecord> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(spool.call());
    spool.put(spool.kernel_of(calls.back()));
  }
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) spool.put(*call);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(
      scalar(capture, "SELECT group_concat(ordinal_in_step) FROM (SELECT * FROM launch ORDER BY start_ns)"),
      "0,1,2,3");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch WHERE host_start_ns = start_ns - 500"), "4");
}

TEST_F(Importer, LaunchesAreNumberedByHostOrderAcrossStreams) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  const auto first = spool.call();
  const auto second = spool.call();
  spool.put(first);
  spool.put(second);
  auto late = spool.kernel_of(first);
  late.stream_id = 20;
  late.start_ns += 1'000'000;
  late.end_ns += 1'000'000;
  spool.put(spool.kernel_of(second));
  spool.put(late);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT ordinal_in_step FROM launch WHERE stream_id = 20"), "0");
  EXPECT_EQ(scalar(capture, "SELECT ordinal_in_step FROM launch WHERE stream_id = 7"), "1");
}

TEST_F(Importer, MissingKernelRecordsMakeTheTimelinePartial) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.launch(0, false);
  spool.launch();
  spool.end_step();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT launches_seen || '/' || kernel_records FROM completeness"), "3/2");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "partial");
  EXPECT_TRUE(warned("1 launch without a kernel record"));
  // The hole does not shift the launches after it.
  EXPECT_EQ(
      scalar(capture, "SELECT group_concat(ordinal_in_step) FROM (SELECT * FROM launch ORDER BY start_ns)"),
      "0,2");
}

TEST_F(Importer, DroppedAndLostRecordsAreTold) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.end_step();
  spool.completeness(17, 18);
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT dropped_records FROM completeness"), "17");
  EXPECT_EQ(scalar(capture, "SELECT launches_seen FROM completeness"), "18");
  EXPECT_TRUE(warned("17 records dropped by the driver"));
}

TEST_F(Importer, ZeroTimestampsAreKeptAndFlagged) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.launch(spool::kZeroTimestamp);
  spool.end_step();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch WHERE start_ns = 0 AND end_ns = 0"), "1");
  EXPECT_EQ(scalar(capture, "SELECT zero_timestamps FROM completeness"), "1");
  EXPECT_EQ(scalar(capture, "SELECT gpu_start_ns > 0 FROM step"), "1");
  EXPECT_TRUE(warned("1 kernel record without a time"));
}

TEST_F(Importer, FailedAndCapturedCallsExpectNoKernel) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.put(spool.call(spool::kLaunchFailed));
  spool.put(spool.call(spool::kLaunchCaptured));
  spool.launch();
  spool.end_step();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT launches_seen || '/' || kernel_records FROM completeness"), "1/1");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "ok");
}

TEST_F(Importer, TooFewStepsForReplayAreNamed) {
  FakeSpool spool(directory_.path());
  for (std::uint32_t i = 0; i < 2; ++i) {
    spool.begin_step(i, i == 0 ? Phase::warmup : Phase::timeline);
    spool.launch();
    spool.end_step();
  }
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(
      tier_text(capture, Tier::t2),
      "failed: the program ended after 2 steps and replay begins with step 3: run more steps or shorten the "
      "schedule");
}

TEST_F(Importer, StepsBehindTheScheduleAreAfter) {
  FakeSpool spool(directory_.path());
  for (std::uint32_t i = 0; i < 7; ++i) {
    spool.begin_step(i, i == 0 ? Phase::warmup : i == 3 || i == 4 ? Phase::replay : Phase::timeline);
    spool.launch();
    spool.end_step();
  }
  spool.end();
  EXPECT_EQ(scalar(import(), "SELECT group_concat(phase) FROM step"),
            "warmup,timeline,timeline,replay,replay,after,after");
}

TEST_F(Importer, WithoutStepsItSaysWhichRangesThereWere) {
  FakeSpool spool(directory_.path());
  spool.path(3, 0, "train_batch");
  spool.range(1, 0, 3, 0, 100, 200);
  spool.launch();
  spool.launch();
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(summary_.steps, 0);
  EXPECT_EQ(summary_.launches, 2);
  EXPECT_TRUE(warned("--step-range"));
  EXPECT_TRUE(warned("\"train_batch\" (1)"));
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T2'"), "failed");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch WHERE step_id IS NULL AND ordinal_in_step IS NULL"),
            "2");
}

TEST_F(Importer, KilledProgramLeavesAnInterruptedStep) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.end_step();
  spool.begin_step(1, Phase::timeline);
  spool.launch();
  spool.range(50, 49, 2, 1, spool.now() - 10, spool.now());  // its parent never ended
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT group_concat(status) FROM step"), "ok,interrupted");
  EXPECT_EQ(scalar(capture, "SELECT host_end_ns FROM step WHERE step_index = 1"), "NULL");
  EXPECT_EQ(scalar(capture, "SELECT end_ns FROM process"), "NULL");
  EXPECT_EQ(
      scalar(capture,
             "SELECT s.value FROM nvtx_range r JOIN string s ON s.id = r.path_id WHERE parent_id IS NULL "
             "AND depth = 1"),
      "step / forward");
  EXPECT_TRUE(warned("did not end in order"));
}

TEST_F(Importer, StepsOfAKilledProgramWithoutTheirKernelsAreNotOk) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.launch();
  spool.end_step();
  spool.begin_step(1, Phase::timeline);
  spool.launch();
  spool.launch(0, false);  // CUPTI's buffer died with the program
  spool.end_step();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT group_concat(status) FROM step"), "ok,interrupted");
  EXPECT_EQ(step_reason(capture, 1),
            "the program was killed before 1 of 2 kernel records of this step arrived");
  EXPECT_EQ(summary_.timeline_steps, 1);
}

TEST_F(Importer, TruncatedSpoolGivesWhatIsThere) {
  FakeSpool spool(directory_.path());
  spool.whole_run(400);  // more than one chunk
  const auto size = fs::file_size(spool.file());
  const std::string bytes = file_text(spool.file());
  // Cut inside a full chunk about half way.
  std::vector<std::size_t> full;
  for (std::size_t at = spool::kFileHeaderBytes; at + 8 < size; at += spool::kChunkBytes) {
    spool::ChunkHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.magic == spool::kChunkMagic && header.used_bytes > spool::kChunkBytes / 2) full.push_back(at);
  }
  ASSERT_GT(full.size(), 2u);
  fs::resize_file(spool.file(), full[full.size() / 2] + 3001);
  const store::Capture capture = import();
  EXPECT_GT(summary_.launches, 0);
  EXPECT_LT(summary_.launches, 2000);
  EXPECT_NE(scalar(capture, "SELECT truncated_bytes FROM completeness"), "0");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "partial");
  EXPECT_TRUE(warned("is damaged"));
}

TEST_F(Importer, TwoProcessesOnOneDevice) {
  FakeSpool first(directory_.path(), 100);
  FakeSpool second(directory_.path(), 200);
  first.whole_run(4);
  second.whole_run(2);
  FakeSpool idle(directory_.path(), 300);
  idle.end();
  const store::Capture capture = import();
  EXPECT_EQ(summary_.processes, 2);
  EXPECT_EQ(scalar(capture, "SELECT group_concat(pid) FROM process"), "100,200");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM device"), "1");
  EXPECT_EQ(
      scalar(capture, "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM launch GROUP BY process_id)"),
      "20,10");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM step"), "10");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM v_launch_metric"), "24");
}

TEST_F(Importer, GraphKernelsShareACallAndGetPlacesOfTheirOwn) {
  FakeSpool spool(directory_.path());
  for (std::uint32_t step = 0; step < 2; ++step) {
    spool.begin_step(step, Phase::timeline);
    spool.launch();
    const auto graph = spool.call(spool::kLaunchIsGraph);
    spool.put(graph);
    // Nodes end in another order in each step; the node says the place.
    for (std::uint64_t i = 0; i < 3; ++i) {
      auto kernel = spool.kernel_of(graph);
      kernel.header.flags = spool::kGraphNode;
      kernel.graph_id = 1;
      kernel.graph_node_id = 1000 + (step == 0 ? i : 2 - i);
      kernel.grid_x = static_cast<std::uint32_t>(kernel.graph_node_id);
      spool.put(kernel);
    }
    spool.advance(5000);
    spool.launch();
    spool.end_step();
  }
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(
      scalar(
          capture,
          "SELECT group_concat(places, ' ') FROM (SELECT group_concat(grid_x || '@' || ordinal_in_step) AS "
          "places FROM (SELECT * FROM launch ORDER BY step_id, ordinal_in_step) GROUP BY step_id)"),
      "100@0,1000@1,1001@2,1002@3,101@4 100@0,1000@1,1001@2,1002@3,101@4");
  EXPECT_EQ(scalar(capture,
                   "SELECT launches_seen || ' ' || kernel_records || ' ' || graph_launches || ' ' || "
                   "graph_kernel_records FROM completeness"),
            "4 4 2 6");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "ok");
}

TEST_F(Importer, GraphsInARowAndWithoutKernelsKeepTheOrder) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  const auto graph = [&](std::uint32_t kernels, std::uint64_t node) {
    const auto call = spool.call(spool::kLaunchIsGraph);
    for (std::uint32_t i = 0; i < kernels; ++i) {
      auto kernel = spool.kernel_of(call);
      kernel.header.flags = spool::kGraphNode;
      kernel.graph_node_id = node;  // a node that runs several times
      kernel.grid_x = static_cast<std::uint32_t>(node);
      spool.put(kernel);  // before its call
    }
    spool.put(call);
  };
  graph(2, 500);
  graph(0, 0);
  graph(1, 600);
  spool.launch();
  graph(1, 700);
  spool.end_step();
  spool.end();
  EXPECT_EQ(
      scalar(import(),
             "SELECT group_concat(grid_x || '@' || ordinal_in_step) FROM (SELECT * FROM launch ORDER BY "
             "ordinal_in_step)"),
      "500@0,500@1,600@2,100@3,700@4");
}

TEST_F(Importer, CopiesBelongToTheStepThatMadeThem) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.memcpy(MemcpyKind::host_to_device, spool.now());  // before the first launch
  spool.launch();
  spool.memcpy(MemcpyKind::device_to_device, spool.now());
  spool.launch();
  spool.memcpy(MemcpyKind::device_to_host, spool.now());  // after the last launch, in the range
  spool.end_step();
  spool.begin_step(1, Phase::timeline);
  spool.memcpy(MemcpyKind::device_to_host, spool.now());  // step 0's result, read back late
  spool.memcpy(MemcpyKind::host_to_device, spool.now());  // step 1's input
  spool.launch();
  spool.end_step();
  spool.advance(10'000'000);
  spool.memcpy(MemcpyKind::device_to_host, spool.now());  // long after all steps
  spool.completeness();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(kind || ':' || coalesce(s.step_index, '-')) FROM memcpy m "
                   "LEFT JOIN step s ON s.id = m.step_id"),
            "HtoD:0,DtoD:0,DtoH:0,DtoH:0,HtoD:1,DtoH:-");
  // The inputs were copied before the first kernel, perhaps beside the step before: they do not begin the
  // step.
  EXPECT_EQ(scalar(capture,
                   "SELECT count(*) FROM step s WHERE gpu_start_ns = (SELECT min(start_ns) FROM launch WHERE "
                   "step_id = s.id)"),
            "2");
  EXPECT_EQ(
      scalar(capture,
             "SELECT gpu_end_ns > (SELECT max(end_ns) FROM launch WHERE step_id = s.id) FROM step s WHERE "
             "step_index = 0"),
      "1");
}

TEST_F(Importer, RangesKnowTheirParentsAndDeclaredWork) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.end_step();
  const std::int64_t work[2] = {12345, 67890};
  spool::NvtxPayloadRecord payload{};
  payload.range_id = spool.last_inner_range();
  payload.schema_id = (1u << 24) + 0x524C;
  payload.length_bytes = sizeof work;
  ASSERT_TRUE(spool.writer().put(payload, work, sizeof work));
  payload.schema_id = 5;  // somebody else's
  ASSERT_TRUE(spool.writer().put(payload, work, sizeof work));
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(p.value) FROM nvtx_range r JOIN nvtx_range o ON o.id = r.parent_id "
                   "JOIN string p ON p.id = r.path_id"),
            "step / forward");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM nvtx_range WHERE step_id IS NOT NULL"), "2");
  EXPECT_EQ(scalar(capture, "SELECT bytes || ' ' || flops FROM annotation"), "12345.0 67890.0");
}

TEST_F(Importer, HostileNamesBecomePlainText) {
  FakeSpool spool(directory_.path());
  spool.path(3, 3, "own parent");  // a loop
  spool.path(4, 99, "\xff\xfe bad\x1b[31m\n");
  spool.begin_step(0, Phase::timeline);
  auto call = spool.call();
  call.nvtx_path_id = 4;
  spool.put(call);
  auto kernel = spool.kernel_of(call);
  kernel.kernel_id = 555;  // never defined
  kernel.device_id = 31;
  spool.put(kernel);
  call = spool.call();
  call.nvtx_path_id = 3;
  spool.put(call);
  spool.put(spool.kernel_of(call));
  spool.end_step(false);
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT nvtx_path FROM v_launch WHERE kernel = 'unknown kernel 555'"),
            "\xef\xbf\xbd\xef\xbf\xbd bad [31m");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM device WHERE name = 'unknown device'"), "1");
}

TEST_F(Importer, OneCauseIsOneLine) {
  {
    FakeSpool spool(directory_.path());
    spool.process(100, "warmup=1,timeline=1");
    spool.device(0);
    spool.begin_step(0, Phase::timeline);
    spool.launch();
    spool.launch(0, false);
    spool.end_step();
    for (int i = 0; i < 3; ++i) {
      spool.message(Severity::error, spool::Topic::timeline_refused, "CUPTI reports that it has no buffer");
    }
    spool.completeness(1);
    spool.end();
  }
  import();
  ASSERT_EQ(summary_.warnings.size(), 1u) << warnings().back();
  EXPECT_EQ(
      warnings().front(),
      "tier T0 partial: 1 launch without a kernel record; 1 record dropped by the driver; CUPTI reports "
      "that it has no buffer");
  EXPECT_TRUE(summary_.unfinished.empty());
}

TEST_F(Importer, AnAbruptEndIsOneLineWithWhatItCost) {
  FakeSpool spool(directory_.path());
  spool.process(100, "warmup=1,timeline=1");
  spool.device(0);
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.launch(0, false);
  import();
  ASSERT_EQ(summary_.warnings.size(), 1u) << warnings().back();
  EXPECT_EQ(warnings().front(),
            "process 100 did not end in order (killed, crashed or still running): 1 launch without a "
            "kernel record");
  ASSERT_EQ(summary_.unfinished.size(), 1u);
  EXPECT_EQ(summary_.unfinished.front().warning, summary_.warnings.front());
  EXPECT_EQ(reports::reason_text(summary_.unfinished.front().missing), "1 launch without a kernel record");
}

TEST_F(Importer, AProgramKilledBeforeItsFirstRecordsLeavesACaptureThatSaysSo) {
  FakeSpool spool(directory_.path());
  spool.process(100, "warmup=1,timeline=1");
  spool.device(0);
  spool.begin_step(0, Phase::timeline);
  spool.launch(0, false);
  spool.launch(0, false);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT launches_seen || ',' || kernel_records FROM completeness"), "2,0");
  EXPECT_EQ(scalar(capture, "SELECT status FROM tier_status WHERE tier = 'T0'"), "partial");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(status) FROM step"), "interrupted");
}

}  // namespace
}  // namespace ridgeline::import::testing
