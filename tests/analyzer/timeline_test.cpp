// A capture as the lines of a timeline.
#include "ridgeline/analyzer/trace/timeline.h"

#include <gtest/gtest.h>

#include "reports/fabricated_capture.h"
#include "ridgeline/store/capture_writer.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

constexpr const char* kBundled = RIDGELINE_SOURCE_DIR "/examples/gpt2-h200.ridge";

TEST(Timeline, ReadsTheBundledCapture) {
  const auto data = accepted(read_timeline(kBundled, {}));
  ASSERT_TRUE(data.ok());
  const Timeline& d = *data.value();
  EXPECT_EQ(d.launches, 9'691);
  std::int64_t kernels = 0, depth = 0;
  bool dram = false, power = false;
  for (const TimelineRow& row : d.rows) {
    if (row.kind == RowKind::kernels) kernels += static_cast<std::int64_t>(row.events.size());
    if (row.kind == RowKind::ranges) depth = std::max<std::int64_t>(depth, row.depth);
    if (row.id == "counter/0/dram__bytes_read.sum") {
      dram = true;
      EXPECT_EQ(row.counter.size(), 8'490U);
      EXPECT_EQ(row.unit, CounterUnit::ratio);
      EXPECT_GT(row.counter.max(), 0.5F);
      EXPECT_LT(row.counter.max(), 1.2F);
    }
    power = power || row.id == "clock/0/power";
  }
  EXPECT_EQ(kernels, 9'691);
  EXPECT_GE(depth, 3);
  EXPECT_TRUE(dram);
  EXPECT_TRUE(power);
}

TEST(Timeline, CollectivesHaveARowOfTheirOwn) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::FabricatedCapture with;
  with.extra_kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  ridgeline::testing::write_fabricated_capture(directory.file("nccl.ridge"), with);
  const auto data = accepted(read_timeline(directory.file("nccl.ridge"), {}));
  ASSERT_TRUE(data.ok());
  std::size_t collectives = 0, streams = 0;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind != RowKind::collectives && row.kind != RowKind::kernels) continue;
    for (std::size_t i = 0; i < row.events.size(); ++i) {
      const EventName& name = data.value()->names[row.events.name(i)];
      const bool communicates = name.kernel_class == KernelClass::communication;
      if (row.kind == RowKind::collectives) {
        EXPECT_TRUE(communicates) << name.text;
        EXPECT_EQ(row.id, "collectives/0");
        ++collectives;
      } else if (communicates) {
        ++streams;
      }
    }
  }
  EXPECT_GE(collectives, 7U);
  EXPECT_EQ(collectives, streams);
}

// A window that counts as a step where there is none has no number; among steps the row is theirs.
TEST(Timeline, RecordedWindowsAreNoSteps) {
  const auto rows = [](const std::vector<StepSource>& sources) {
    const ridgeline::testing::TemporaryDirectory directory;
    store::CaptureWriter writer = store::CaptureWriter::create(directory.file("a.ridge")).value();
    writer.set_run({.command_line = "a", .ridgeline_version = "0.1.0", .clock = "cupti"});
    const store::Id process = writer.add(store::Process{});
    for (std::size_t i = 0; i < sources.size(); ++i) {
      store::Step step{.process_id = process, .step_index = static_cast<std::int64_t>(i)};
      step.gpu_start_ns = 1000 + static_cast<std::int64_t>(i) * 1000;
      step.gpu_end_ns = *step.gpu_start_ns + 500;
      step.source = sources[i];
      static_cast<void>(writer.add(step));
    }
    writer.finish();
    const auto timeline = accepted(read_timeline(directory.file("a.ridge"), {})).value();
    std::vector<std::string> words;
    for (const TimelineRow& row : timeline->rows) {
      if (row.kind != RowKind::steps) continue;
      words.push_back(row.label);
      for (std::size_t i = 0; i < row.events.size(); ++i)
        words.push_back(timeline->names[row.events.name(i)].text);
    }
    return words;
  };
  EXPECT_EQ(rows({StepSource::window}), (std::vector<std::string>{"Recording", "recorded time"}));
  EXPECT_EQ(rows({StepSource::window, StepSource::period, StepSource::window}),
            (std::vector<std::string>{"Steps", "recorded time", "step 1 · timeline", "recorded time"}));
}

TEST(Timeline, ALaunchOfAGraphIsOneCall) {
  const ridgeline::testing::TemporaryDirectory directory;
  {
    store::CaptureWriter writer = store::CaptureWriter::create(directory.file("graph.ridge")).value();
    store::Run run;
    run.command_line = "./train";
    run.ridgeline_version = "0.1.0";
    run.clock = "cupti";
    writer.set_run(run);
    store::Launch launch;
    launch.process_id = writer.add(store::Process{});
    store::Device device;
    device.name = "NVIDIA H200";
    launch.device_id = writer.add(device);
    launch.kernel_id = writer.kernel_id("_Z1av");
    launch.thread_id = 7;
    launch.graph_id = 1;
    for (int step = 0; step < 2; ++step) {
      for (int node = 0; node < 3; ++node) {
        launch.graph_node_id = node;
        launch.correlation_id = step + 1;
        launch.host_start_ns = 10'000 + 1000 * step;
        launch.host_end_ns = *launch.host_start_ns + 500;
        launch.start_ns = 10'100 + 1000 * step + 100 * node;
        launch.end_ns = launch.start_ns + 50;
        static_cast<void>(writer.add(launch));
      }
    }
    writer.finish();
  }
  const auto data = accepted(read_timeline(directory.file("graph.ridge"), {}));
  ASSERT_TRUE(data.ok()) << data.failure().message;
  std::vector<const TimelineRow*> calls;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind == RowKind::calls) calls.push_back(&row);
    if (row.kind != RowKind::kernels) continue;
    EXPECT_EQ(row.events.size(), 6U);
  }
  ASSERT_EQ(calls.size(), 1U);
  ASSERT_EQ(calls[0]->events.size(), 2U);
  EXPECT_EQ(calls[0]->events.start_ns(1), 11'000);
  EXPECT_EQ(data.value()->names[calls[0]->events.name(0)].text, "launch of a CUDA graph");
}

// A range on the host from 10 to 20 and one round it; what they launch runs later, and in between something else.
TEST(Timeline, RangesAreProjectedOntoTheGpu) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory.file("ranges.ridge");
  {
    auto writer = store::CaptureWriter::create(path).value();
    const store::Id process = writer.add(store::Process{.pid = 1});
    const store::Id device = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
    const auto range = [&](const char* name, int depth, std::int64_t start_ns, std::int64_t end_ns) {
      writer.add(store::NvtxRange{.process_id = process,
                                  .thread_id = 7,
                                  .depth = depth,
                                  .name_id = writer.string_id(name),
                                  .path_id = writer.string_id(name),
                                  .start_ns = start_ns,
                                  .end_ns = end_ns});
    };
    range("outer", 0, 1'000, 3'000);
    range("first", 1, 1'100, 1'500);
    range("second", 1, 1'500, 2'000);
    range("idle", 1, 2'100, 2'900);
    const auto launch = [&](std::int64_t thread, std::int64_t call_ns, std::int64_t stream,
                            std::int64_t start_ns, std::int64_t end_ns) {
      store::Launch made{.process_id = process, .device_id = device, .kernel_id = writer.kernel_id("k")};
      made.stream_id = stream;
      made.thread_id = thread;
      made.host_start_ns = call_ns;
      made.host_end_ns = call_ns + 10;
      made.start_ns = start_ns;
      made.end_ns = end_ns;
      writer.add(made);
    };
    launch(7, 1'200, 1, 5'000, 5'400);
    launch(7, 1'300, 2, 5'300, 6'000);  // at once on another stream
    launch(7, 1'700, 1, 5'500, 5'600);  // of the second, before the first has ended
    launch(8, 1'400, 1, 5'700, 5'800);  // another thread's
    launch(7, 2'950, 1, 9'000, 9'100);  // of the outer one only
    writer.finish();
  }
  const auto data = accepted(read_timeline(path, {}));
  ASSERT_TRUE(data.ok());
  std::vector<std::string> order;
  std::vector<std::string> projected;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind == RowKind::kernels) order.emplace_back("stream");
    if (row.kind != RowKind::gpu_ranges) continue;
    order.emplace_back("ranges");
    for (std::size_t i = 0; i < row.events.size(); ++i) {
      projected.push_back(data.value()->names[row.events.name(i)].text + " " +
                          std::to_string(row.events.start_ns(i)) + "-" +
                          std::to_string(row.events.end_ns(i)));
      const auto instance = accepted(instance_of(*data.value(), row, i));
      ASSERT_TRUE(instance);
      EXPECT_EQ(instance->on_gpu.start_ns, row.events.start_ns(i));
    }
  }
  // The second overlaps the first on the GPU: it has a lane of its own. The idle one launched nothing.
  EXPECT_EQ(projected, (std::vector<std::string>{"outer 5000-9100", "first 5000-6000", "second 5500-5600"}));
  EXPECT_EQ(order, (std::vector<std::string>{"ranges", "ranges", "ranges", "stream", "stream"}));
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind != RowKind::ranges || row.depth != 1) continue;
    ASSERT_EQ(row.events.size(), 3U);
    EXPECT_EQ(accepted(instance_of(*data.value(), row, 0))->on_gpu, (TimeWindow{5'000, 6'000}));
    EXPECT_EQ(accepted(instance_of(*data.value(), row, 1))->on_gpu, (TimeWindow{5'500, 5'600}));
    EXPECT_FALSE(accepted(instance_of(*data.value(), row, 2)));
  }
}

// Nine ranges after each other, each on a stream of its own; on the GPU all run together, the last began first.
TEST(Timeline, RangesThatRunTogetherOnTheGpuKeepTheirInstances) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory.file("streams.ridge");
  constexpr std::int64_t kRanges = 9;
  {
    auto writer = store::CaptureWriter::create(path).value();
    const store::Id process = writer.add(store::Process{.pid = 1});
    const store::Id device = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
    const store::Id name = writer.string_id("part");
    for (std::int64_t i = 0; i < kRanges; ++i) {
      writer.add(store::NvtxRange{.process_id = process,
                                  .thread_id = 7,
                                  .depth = 0,
                                  .name_id = name,
                                  .path_id = name,
                                  .start_ns = 1'000 * (i + 1),
                                  .end_ns = 1'000 * (i + 1) + 900});
      store::Launch launch{.process_id = process, .device_id = device, .kernel_id = writer.kernel_id("k")};
      launch.stream_id = i + 1;
      launch.thread_id = 7;
      launch.host_start_ns = 1'000 * (i + 1) + 100;
      launch.host_end_ns = 1'000 * (i + 1) + 110;
      launch.start_ns = 100'000 - 100 * i;
      launch.end_ns = 200'000 + i;
      writer.add(launch);
    }
    writer.finish();
  }
  const auto data = accepted(read_timeline(path, {}));
  ASSERT_TRUE(data.ok());
  std::int64_t on_host = 0, on_gpu = 0, unasked = 0;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind == RowKind::gpu_ranges && !row.secondary) ++unasked;
    for (std::size_t i = 0; i < row.events.size(); ++i) {
      const auto instance = accepted(instance_of(*data.value(), row, i));
      if (row.kind != RowKind::ranges && row.kind != RowKind::gpu_ranges) {
        EXPECT_FALSE(instance);
        continue;
      }
      ++(row.kind == RowKind::ranges ? on_host : on_gpu);
      ASSERT_TRUE(instance);
      const std::int64_t n = instance->calls.start_ns / 1'000 - 1;
      EXPECT_EQ(instance->calls, (TimeWindow{1'000 * (n + 1), 1'000 * (n + 1) + 900}));
      EXPECT_EQ(instance->on_gpu, (TimeWindow{100'000 - 100 * n, 200'000 + n}));
    }
  }
  EXPECT_EQ(on_host, kRanges);
  EXPECT_EQ(on_gpu, kRanges);
  EXPECT_EQ(unasked, 6) << "more lanes than that are shown if asked for";
}

// Three threads, each with three ranges within each other, all of which launch.
TEST(Timeline, OfManyThreadsTheOutermostRangesAreShownUnasked) {
  const ridgeline::testing::TemporaryDirectory directory;
  const std::string path = directory.file("threads.ridge");
  {
    auto writer = store::CaptureWriter::create(path).value();
    const store::Id process = writer.add(store::Process{.pid = 1});
    const store::Id device = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
    const store::Id name = writer.string_id("part");
    for (std::int64_t thread = 1; thread <= 3; ++thread) {
      for (int depth = 0; depth < 3; ++depth) {
        writer.add(store::NvtxRange{.process_id = process,
                                    .thread_id = thread,
                                    .depth = depth,
                                    .name_id = name,
                                    .path_id = name,
                                    .start_ns = 1'000 + depth,
                                    .end_ns = 2'000 - depth});
      }
      store::Launch launch{.process_id = process, .device_id = device, .kernel_id = writer.kernel_id("k")};
      launch.stream_id = thread;
      launch.thread_id = thread;
      launch.host_start_ns = 1'500;
      launch.host_end_ns = 1'510;
      launch.start_ns = 5'000;
      launch.end_ns = 6'000;
      writer.add(launch);
    }
    writer.finish();
  }
  const auto data = accepted(read_timeline(path, {}));
  ASSERT_TRUE(data.ok());
  std::vector<std::pair<std::int64_t, int>> unasked;
  std::size_t all = 0;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind != RowKind::gpu_ranges) continue;
    ++all;
    if (!row.secondary) unasked.emplace_back(row.depth, row.thread_id);
  }
  std::sort(unasked.begin(), unasked.end());
  EXPECT_EQ(all, 9U);
  EXPECT_EQ(unasked, (std::vector<std::pair<std::int64_t, int>>{{0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}}));
}

TEST(Timeline, CanBeCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const auto data = accepted(read_timeline(kBundled, stop.get_token()));
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.failure().kind, ErrorKind::cancelled);
}

TEST(Timeline, GapsAreALineWhoseNamesAreTheirCauses) {
  Accounting accounting;
  accounting.process_id = 3;
  accounting.device_id = 4;
  accounting.gaps = {{.start_ns = 30, .end_ns = 45, .kind = GapKind::queued},
                     {.start_ns = 10, .end_ns = 20, .kind = GapKind::host_bound}};
  const TimelineRow row = gap_row(accounting);
  EXPECT_EQ(row.kind, RowKind::gaps);
  EXPECT_EQ(row.process_id, 3);
  EXPECT_EQ(row.device_id, 4);
  ASSERT_EQ(row.events.size(), 2u);
  EXPECT_EQ(row.events.start_ns(0), 10);
  EXPECT_EQ(row.events.name(0), static_cast<std::uint32_t>(GapKind::host_bound));
  EXPECT_EQ(row.events.name(1), static_cast<std::uint32_t>(GapKind::queued));
}

}  // namespace
}  // namespace ridgeline::analyzer
