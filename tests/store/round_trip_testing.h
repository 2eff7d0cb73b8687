// round_trip_testing.h: a capture that is written, finished and read again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/capture_writer.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store::testing {

using ridgeline::testing::TemporaryDirectory;

#define EXPECT_SAME(field) EXPECT_EQ(read.field, written.field) << "field " #field

/// The same rows through the other reader.
template <typename Row, typename ForEach>
std::vector<Row> through_activity(const Capture& capture, ForEach for_each) {
  const Activity activity(capture);
  std::vector<Row> rows;
  EXPECT_TRUE((activity.*for_each)({}, [&](const Row& row) { rows.push_back(row); }, {}));
  return ridgeline::testing::accepted(rows);
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
    Result<Capture> opened = ridgeline::testing::held(Capture::open(path_));
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

}  // namespace ridgeline::store::testing
