// capture_testing.h: a capture with one of everything.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"

namespace ridgeline::store::testing {

using ridgeline::testing::TemporaryDirectory;

inline Run some_run() {
  Run run;
  run.command_line = "./gpt2_train --model tiny";
  run.ridgeline_version = "0.1.0";
  run.clock = "cupti";
  run.start_ns = 100;
  run.git_dirty = true;
  return run;
}

/// What a capture with one of everything holds.
struct Written {
  Id process, device, step, kernel, launch, metric;
};
inline Written write_sample(CaptureWriter& writer) {
  Written ids{};
  writer.set_run(some_run());
  writer.add_version("driver", "580.1");
  writer.add_environment("CUDA_VISIBLE_DEVICES", "0");
  Process process;
  process.pid = 42;
  ids.process = writer.add(process);
  Device device;
  device.name = "NVIDIA H200";
  device.sm_count = 132;
  ids.device = writer.add(device);
  writer.add(DevicePeak{ids.device, Quantity::dram_bytes_per_s, PeakSource::spec, 4.8e12, "datasheet"});
  writer.add(ClockSample{ids.device, 150, 1'980'000'000, std::nullopt, 650'000, 55, 0});
  Step step;
  step.process_id = ids.process;
  step.phase = Phase::timeline;
  step.gpu_start_ns = 200;
  step.gpu_end_ns = 900;
  step.source = StepSource::period;
  ids.step = writer.add(step);
  ids.kernel = writer.kernel_id("_Z5triadPfS_S_fi");
  Launch launch;
  launch.process_id = ids.process;
  launch.device_id = ids.device;
  launch.kernel_id = ids.kernel;
  launch.start_ns = 200;
  launch.end_ns = 300;
  launch.grid = {7, 2, 3};
  launch.cluster = Dim3{2, 1, 1};
  launch.step_id = ids.step;
  launch.ordinal_in_step = 0;
  launch.nvtx_path_id = writer.string_id("step / forward");
  ids.launch = writer.add(launch);
  ids.metric = writer.metric_id("dram__bytes_read.sum");
  writer.add(LaunchMetric{ids.launch, ids.metric, Tier::t2, 12345.0, std::nullopt, std::nullopt});
  writer.add(Completeness{ids.process, 1, 1, 0, 0, 0, 0, 0, 0, 0});
  writer.add(TierStatus{ids.process, Tier::t2, TierOutcome::refused, "no permission"});
  writer.add(Message{0, ids.process, 120, Severity::warning, "hello"});
  return ids;
}

inline std::string write_file(const TemporaryDirectory& directory, const std::string& name = "a.ridge") {
  auto writer = CaptureWriter::create(directory.file(name));
  EXPECT_TRUE(writer.ok()) << writer.failure().message;
  write_sample(writer.value());
  writer.value().finish();
  return directory.file(name);
}

/// What version 13 added is gone.
inline void drop_jobs(Database& database) {
  database.execute(
      "DROP VIEW IF EXISTS v_job_step; DROP VIEW IF EXISTS v_job_collective; DROP VIEW IF EXISTS "
      "v_job_kernel; DROP VIEW IF EXISTS v_copied_collective");
  for (const char* table :
       {"collective_copy", "job_interference", "job_traffic", "collective", "communicator", "job_kernel_step",
        "job_call", "job_step", "job_kernel", "job_site", "job_communicator", "job_clock", "job_rank"})
    database.execute(std::string("DROP TABLE ") + table);
}

/// What version 10 and later ones added is gone; its views are dropped before.
inline void drop_order(Database& database) {
  drop_jobs(database);
  for (const char* table :
       {"stream", "stream_call", "graph_node", "graph_edge", "memory_call", "left_out", "intervention"})
    database.execute(std::string("DROP TABLE ") + table);
  database.execute(
      "ALTER TABLE process DROP COLUMN node_id; DROP TABLE node; ALTER TABLE memcpy DROP COLUMN "
      "graph_node_id;"
      "ALTER TABLE memset DROP COLUMN graph_node_id; ALTER TABLE recording_window DROP COLUMN stream_calls");
}

/// As reasons were before version 9: sentences in the rows. The views go, since they name what is gone.
inline void make_reasons_sentences(Database& database) {
  Statement view = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'");
  std::string sql;
  while (view.step()) sql += "DROP VIEW " + view.text(0) + ";";
  for (const char* table : {"step", "tier_status", "message", "pm_window", "stall_window"}) {
    const std::string name = table, column = name == "message" ? "text" : "reason";
    sql += "ALTER TABLE " + name + " ADD COLUMN " + column + " TEXT;";
    sql += "UPDATE " + name + " SET " + column +
           " = (SELECT coalesce(r.text, r.code) FROM reason r WHERE r.id = " + name + ".reason_id);";
    sql += "ALTER TABLE " + name + " DROP COLUMN reason_id;";
  }
  database.execute(sql + "DROP TABLE reason_value; DROP TABLE reason");
}

}  // namespace ridgeline::store::testing
