// What a painter is given of a recording of two devices, each with samples of its own.
#include "ridgeline/analyzer/trace/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/store/capture_writer.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

constexpr const char* kReadMetric = "dram__bytes_read.sum";

// On each device one kernel from 1000 to 2000, and a sample every 100 ns from 1050 on: 1, 2, 3 … on the first, ten
// times as much on the second.
class TraceTest : public ::testing::Test {
 protected:
  TraceTest() {
    auto writer = store::CaptureWriter::create(directory_ / "c.ridge").value();
    writer.set_run({.command_line = "program", .ridgeline_version = "test", .clock = "test"});
    const store::Id process = writer.add(store::Process{.pid = 1, .command = "program", .start_ns = 1});
    for (int i = 0; i < 2; ++i) {
      const store::Id device =
          writer.add(store::Device{.device_index = i, .name = "GPU", .uuid = "GPU-" + std::to_string(i)});
      devices_.push_back(device);
      store::Launch launch;
      launch.process_id = process;
      launch.device_id = device;
      launch.stream_id = 7;
      launch.correlation_id = i + 1;
      launch.kernel_id = writer.kernel_id("kernel");
      launch.start_ns = 1000;
      launch.end_ns = 2000;
      writer.add(launch);
      writer.add(store::PmWindow{.process_id = process,
                                 .device_id = device,
                                 .interval_ns = 100,
                                 .start_ns = 1000,
                                 .end_ns = 2000,
                                 .sample_count = 10});
      for (int sample = 1; sample <= 10; ++sample)
        writer.add(store::PmSample{device, 950 + sample * 100, writer.metric_id(kReadMetric),
                                   sample * (i == 0 ? 1.0 : 10.0)});
    }
    writer.finish();
  }
  Session open() const { return Session::open(directory_ / "c.ridge").value(); }

  ridgeline::testing::TemporaryDirectory directory_;
  std::vector<store::Id> devices_;
};

TEST_F(TraceTest, SamplesOfADeviceAreARowOfIts) {
  Session session = open();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const TimeWindow window{1000, 2000};
    const auto rows = session.trace_rows(devices_[i], window).value();
    const auto row = std::find_if(rows->begin(), rows->end(),
                                  [](const TraceRow& r) { return r.kind == TraceRowKind::counter; });
    ASSERT_NE(row, rows->end()) << "device " << i;
    const auto trace = session.trace({devices_[i], *row, window, 5}).value();
    EXPECT_EQ(trace->count, 10);
    ASSERT_EQ(trace->bins.size(), 5U);
    for (std::size_t bin = 0; bin < 5; ++bin) {
      EXPECT_EQ(trace->bins[bin].count, 2);
      EXPECT_DOUBLE_EQ(trace->bins[bin].mean, (2.0 * static_cast<double>(bin) + 1.5) * (i == 0 ? 1 : 10));
    }
  }
}

TEST_F(TraceTest, AWindowWithoutSamplesHasNoRowOfThem) {
  Session session = open();
  const auto rows = session.trace_rows(devices_[0], TimeWindow{1000, 1050}).value();
  EXPECT_EQ(rows->size(), 2U) << "steps and the stream";
  for (const TraceRow& row : *rows) EXPECT_NE(row.kind, TraceRowKind::counter);
}

TEST_F(TraceTest, SamplesAreReadOnce) {
  Session session = open();
  const auto ask = [&] { (void)session.trace_rows(devices_[0], TimeWindow{1000, 2000}).value(); };
  ask();
  const std::int64_t samples = session.reads().samples;
  EXPECT_EQ(samples, 10);
  ask();
  EXPECT_EQ(session.reads().samples, samples);
}

}  // namespace
}  // namespace ridgeline::analyzer
