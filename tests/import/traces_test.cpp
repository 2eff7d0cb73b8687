// What other profilers write, from small files of ours in their schemas, and from whole ones where a folder of
// samples is named by RIDGELINE_TRACE_SAMPLES.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "kineto/json_stream.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/database.h"
#include "support/accepted_cases.h"
#include "support/accepted_import.h"
#include "support/temporary_directory.h"
#include "traces/api_calls.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::TemporaryDirectory;

struct Sums {
  std::int64_t kernels = 0, kernel_ns = 0, copies = 0, copy_bytes = 0;
  bool operator==(const Sums&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Sums& sums) {
  return out << sums.kernels << " kernels of " << sums.kernel_ns << " ns, " << sums.copies << " copies of "
             << sums.copy_bytes << " bytes";
}

Sums sums_of(const store::Capture& capture) {
  Sums sums;
  for (const store::Launch& launch : capture.launches()) {
    ++sums.kernels;
    sums.kernel_ns += launch.end_ns - launch.start_ns;
  }
  for (const store::Memcpy& copy : capture.memcpys()) {
    ++sums.copies;
    sums.copy_bytes += copy.bytes;
  }
  return sums;
}

class Traces : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }
  Result<ImportSummary> import(const std::string& name, const std::string& step_range = "") {
    return ridgeline::testing::expect_accepted_import(
        import_traces({directory_ / name}, output(),
                      {.import = {.overwrite = true}, .step_range = step_range}),
        output());
  }
  store::Capture imported(const std::string& name, const std::string& step_range = "") {
    summary_ = import(name, step_range).value();
    return std::move(store::Capture::open(output())).value();
  }
  std::string output() { return directory_ / "out.ridge"; }
  // Refused in one line, with nothing left behind.
  void expect_refused(const std::string& name, ErrorKind kind, const std::string& part) {
    const Result<ImportSummary> result = import(name);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().kind, kind) << result.failure().message;
    EXPECT_NE(result.failure().message.find(part), std::string::npos) << result.failure().message;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
    EXPECT_NE(result.failure().message.find(name), std::string::npos) << result.failure().message;
    EXPECT_FALSE(std::filesystem::exists(output()));
  }
  // Their codes, a line each.
  std::string warnings() const {
    std::string text;
    for (const Reason& warning : summary_.warnings) text.append(to_string(warning.code)).append("\n");
    return text;
  }
  void database(const std::string& name, const std::string& sql) {
    std::filesystem::remove(directory_ / name);
    store::Database made(directory_ / name, store::OpenMode::create);
    made.execute(sql);
  }

  TemporaryDirectory directory_;
  ImportSummary summary_;
};

// --- Nsight Systems ---

constexpr std::int64_t kPid = 77, kGlobalPid = (std::int64_t{1} << 48) | (kPid << 24);

// Three steps of two kernels and a copy each: schema of 2025, less what is not read.
std::string nsys_schema() {
  return R"sql(
CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION', '3.20.2');
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES(1, 'void add<float>(float*)'), (2, '_Z3addIfEvPT_'), (3, 'cudaLaunchKernel_v7000'),
  (4, 'cudaDeviceSynchronize_v3020'), (5, 'step'), (6, 'main'), (7, 'forward'), (8, 'cudaGraphLaunch_v10000'),
  (9, 'cudaStreamBeginCapture_v10000'), (10, 'cudaStreamEndCapture_v10000');
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, uuid TEXT, chipName TEXT, smCount INTEGER, clockRate INTEGER,
  memoryBandwidth INTEGER, totalMemory INTEGER, l2CacheSize INTEGER, computeMajor INTEGER, computeMinor INTEGER, cuDevice INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES(0, 'Test GPU', 'abcd', 'GA106', 28, 1777000000, 360048000000, 1024, 512, 8, 6, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER,
  registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, domainId INTEGER,
  globalTid INTEGER);
)sql";
}

std::string nsys_rows() {
  std::string sql;
  const auto row = [&](const std::string& table, std::initializer_list<std::int64_t> values) {
    sql += "INSERT INTO " + table + " VALUES(";
    for (const std::int64_t value : values) sql += std::to_string(value) + ",";
    sql.back() = ')';
    sql += ";\n";
  };
  const std::int64_t tid = kGlobalPid + 5;
  std::int64_t id = 10;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t at = step * 1'000'000 - 500;  // the first before the session's zero
    for (std::int64_t k = 0; k < 2; ++k, ++id) {
      row("CUPTI_ACTIVITY_KIND_RUNTIME", {at + 1000 * k, at + 1000 * k + 200, 0, tid, id, 3, 0});
      row("CUPTI_ACTIVITY_KIND_KERNEL", {at + 2000 * (k + 1),
                                         at + 2000 * (k + 1) + 1234,
                                         0,
                                         1,
                                         7,
                                         id,
                                         kGlobalPid,
                                         1,
                                         1,
                                         2,
                                         32,
                                         4,
                                         2,
                                         1,
                                         128,
                                         1,
                                         1,
                                         16,
                                         64,
                                         0});
    }
    row("CUPTI_ACTIVITY_KIND_MEMCPY", {at + 9000, at + 9500, 0, 1, 7, id++, kGlobalPid, 4096, 2});
    row("CUPTI_ACTIVITY_KIND_RUNTIME", {at + 8000, at + 9900, 0, tid, id++, 4, 0});
    sql += "INSERT INTO NVTX_EVENTS VALUES(" + std::to_string(at - 100) + "," + std::to_string(at + 20'000) +
           ",59,NULL,5,0," + std::to_string(tid) + ");\n";
    sql += "INSERT INTO NVTX_EVENTS VALUES(" + std::to_string(at - 50) + "," + std::to_string(at + 500) +
           ",59,'forward',NULL,0," + std::to_string(tid) + ");\n";
  }
  return sql;
}

constexpr Sums kOurSums{6, 6 * 1234, 3, 3 * 4096};

TEST_F(Traces, AnNsysExportBecomesStepsRangesAndLaunches) {
  database("run", nsys_schema() + nsys_rows());
  EXPECT_EQ(source_kind(directory_ / "run").value(), SourceKind::nsys_export) << "whatever its name";
  const store::Capture capture = imported("run");
  EXPECT_EQ(sums_of(capture), kOurSums);
  const auto steps = capture.steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].source, StepSource::nvtx);
  EXPECT_EQ(steps[0].host_start_ns, 1'700'000'000'000'000'000 - 600)
      << "UTC; the session's clock may be negative";
  const auto launches = capture.launches();
  EXPECT_EQ(launches[0].host_start_ns, 1'700'000'000'000'000'000 - 500);
  EXPECT_EQ(launches[0].thread_id, 5);
  EXPECT_EQ(launches[0].grid, (store::Dim3{4, 2, 1}));
  EXPECT_EQ(launches[0].registers_per_thread, 32);
  EXPECT_EQ(launches[0].static_smem_bytes, 16);
  EXPECT_EQ(launches[0].dynamic_smem_bytes, 64);
  EXPECT_EQ(launches[5].step_id, steps[2].id);
  EXPECT_EQ(launches[5].ordinal_in_step, 1);
  EXPECT_FALSE(launches[0].cluster.has_value());
  EXPECT_EQ(capture.kernels().at(0).mangled_name, "_Z3addIfEvPT_");
  EXPECT_EQ(capture.processes().at(0).pid, kPid);
  const auto devices = capture.devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].uuid, "GPU-abcd");
  EXPECT_EQ(devices[0].sm_count, 28);
  const auto peaks = capture.device_peaks();
  EXPECT_TRUE(std::any_of(peaks.begin(), peaks.end(), [](const store::DevicePeak& peak) {
    return peak.quantity == Quantity::dram_bytes_per_s && peak.value == 360'048'000'000.0;
  }));
}

TEST_F(Traces, GraphsWhoseKernelsNsysHidesAreSaidFirst) {
  database("graph", nsys_schema() + nsys_rows() + R"sql(
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
)sql" + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(11000, 11500, 0, " +
                        std::to_string(kGlobalPid + 5) + ", 900, 8, 0);" +
                        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(12000, 15000, 0, 1, 7, 900, " +
                        std::to_string(kGlobalPid) + ", 3, 4);");
  const store::Capture capture = imported("graph");
  EXPECT_EQ(sums_of(capture).kernel_ns, kOurSums.kernel_ns + 3000);
  ASSERT_FALSE(summary_.warnings.empty());
  const Reason& first = summary_.warnings.front();
  EXPECT_EQ(first.code, ReasonCode::import_hidden_graphs);
  EXPECT_EQ(first.number("launches"), 1);
  EXPECT_EQ(first.number("duration_ns"), 3000);
  std::set<std::string> names;
  for (const store::Kernel& kernel : capture.kernels()) names.insert(kernel.normalised_name);
  EXPECT_TRUE(names.contains("[CUDA graph 3]")) << "whole: it is no C++ name";
  const auto tiers = capture.tier_statuses();
  EXPECT_EQ(tiers.at(0).status, TierOutcome::partial);
  EXPECT_EQ(capture.completeness().at(0).graph_launches, 1);
  EXPECT_EQ(capture.completeness().at(0).graph_kernel_records, 0);
}

TEST_F(Traces, LaunchesThatAreCapturedIntoAGraphAreNotMissed) {
  const std::string tid = std::to_string(kGlobalPid + 5);
  database("captured",
           nsys_schema() + nsys_rows() + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(30000,30001,0," +
               tid + ",800,9,0),(30010,30011,0," + tid + ",801,3,0),(30020,30021,0," + tid + ",802,10,0);");
  const store::Capture capture = imported("captured");
  EXPECT_EQ(capture.completeness().at(0).launches_seen, 6);
  EXPECT_EQ(capture.tier_statuses().at(0).status, TierOutcome::ok);
}

// 2020: no version, no calls, no devices, no processes.
TEST_F(Traces, WhatAnOldExportHasNotIsAbsent) {
  database("old", R"sql(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES(1, 'add(float*)');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100, 250, 0, 1), (300, 500, 0, 1);
)sql");
  const store::Capture capture = imported("old");
  EXPECT_EQ(sums_of(capture), (Sums{2, 350, 0, 0}));
  for (const store::Launch& launch : capture.launches()) {
    EXPECT_FALSE(launch.host_start_ns || launch.thread_id || launch.nvtx_path_id || launch.cluster);
    EXPECT_EQ(launch.grid, (store::Dim3{0, 0, 0})) << "not said";
  }
  EXPECT_TRUE(capture.nvtx_ranges().empty());
  EXPECT_NE(warnings().find("import_without_calls"), std::string::npos) << warnings();
}

TEST_F(Traces, MutantsOfAnNsysExportAreRefusedInOneLine) {
  database("column",
           nsys_schema() + nsys_rows() + "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN \"end\";");
  expect_refused("column", ErrorKind::corrupt,
                 "table CUPTI_ACTIVITY_KIND_KERNEL has no column end (schema 3.20.2)");
  database("type", nsys_schema() + nsys_rows() +
                       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid = 3;");
  expect_refused("type", ErrorKind::corrupt,
                 "column start of table CUPTI_ACTIVITY_KIND_KERNEL holds a value of type text");
  database("whole", nsys_schema() + nsys_rows());
  std::filesystem::copy_file(directory_ / "whole", directory_ / "cut");
  std::filesystem::resize_file(directory_ / "cut", std::filesystem::file_size(directory_ / "cut") / 2);
  expect_refused("cut", ErrorKind::corrupt, "");
}

TEST_F(Traces, OtherDatabasesAndFilesAreNotTakenForTraces) {
  database("other", "CREATE TABLE t(a);");
  expect_refused("other", ErrorKind::not_a_capture, "no export of Nsight Systems");
  database("empty", "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);");
  expect_refused("empty", ErrorKind::no_data, "--trace=cuda");
  write("text", "hello");
  expect_refused("text", ErrorKind::not_a_capture, "nothing that can be imported");
  write("ncu.csv", "==ERROR== The application returned an error code (11).\n==ERROR== x\n");
  expect_refused("ncu.csv", ErrorKind::not_a_capture, "no result");
  write("nothing", "");
  expect_refused("nothing", ErrorKind::not_a_capture, "is empty");
  gzclose(gzopen((directory_ / "packed").c_str(), "wb"));
  expect_refused("packed", ErrorKind::not_a_capture, "there is nothing in it");
  write("short", std::string("SQLite format 3\0", 16));
  expect_refused("short", ErrorKind::corrupt, "is a damaged SQLite database: export the report again");
  // SQLite's own words quote the file's text, which may have more than one line.
  database("schema",
           "CREATE TABLE StringIds(id INTEGER); PRAGMA writable_schema = ON;"
           "UPDATE sqlite_master SET sql = 'CREATE TABLE StringIds(id' || char(10) || '\"'");
  expect_refused("schema", ErrorKind::corrupt, "is a damaged SQLite database: export the report again");
  EXPECT_EQ(source_kind(directory_ / "nosuch").failure().kind, ErrorKind::usage);
}

// What nsys export writes otherwise, and how to have what is read.
TEST_F(Traces, OtherExportsOfNsysAreAnsweredWithTheCommandForSqlite) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"StringIds.parquet", "PAR1...PAR1"},
      {"run.arrow", "ARROW1\n..."},
      {"stream.arrow", "\xFF\xFF\xFF\xFF..."},
      {"run.h5", "\x89HDF\r\n\x1a\n..."},
      {"run.jsonl", "{\"Type\": 59}\n{\"Type\": 80}\n"}};
  for (const auto& [name, bytes] : files) {
    write(name, bytes);
    expect_refused(name, ErrorKind::not_a_capture, "nsys export --type sqlite");
  }
  std::filesystem::create_directory(directory_ / "run_pqtdir");
  write("run_pqtdir/StringIds.parquet", "PAR1...PAR1");
  expect_refused("run_pqtdir", ErrorKind::not_a_capture, "is a folder of Parquet files, which is not read");
}

// Ranges that were named and are not there, or in which nothing was launched, are no steps; it is said what there is.
TEST_F(Traces, WithoutStepsItIsSaidWhichRangesThereAre) {
  const std::string events =
      R"j({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 2, "args": {"correlation": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": 5, "dur": 2,
   "args": {"correlation": 1}},
  {"ph": "X", "cat": "user_annotation", "name": "epoch 1", "pid": 9, "tid": 11, "ts": 1, "dur": 20},
  {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 9, "tid": 11, "ts": 30, "dur": 5},
  {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 9, "tid": 11, "ts": 40, "dur": 5})j";
  write("trace", "[" + events + "]");
  const auto said = [&](const std::string& step_range) {
    const store::Capture capture = imported("trace", step_range);
    EXPECT_EQ(capture.steps().size(), 1u) << "the whole recording";
    EXPECT_EQ(capture.steps().at(0).source, StepSource::window);
    return summary_.warnings.at(0);
  };
  const Reason usual = said("");
  EXPECT_EQ(usual.code, ReasonCode::no_steps);
  EXPECT_EQ(usual.number("ranges"), 2);
  ASSERT_EQ(usual.because.size(), 2u);
  EXPECT_EQ(usual.because[0].word("name"), "epoch #") << "most of the time first";
  EXPECT_EQ(usual.because[1].word("name"), "step");
  EXPECT_EQ(usual.because[1].number("ranges"), 2);
  EXPECT_EQ(said("batch").number("ranges"), 0);
  const store::Capture named = imported("trace", "epoch #");
  EXPECT_EQ(named.steps().at(0).source, StepSource::nvtx);
  EXPECT_EQ(named.messages().at(0).what.number("imported"), 1);
}

TEST_F(Traces, AReportNeedsNsysInPath) {
  write("run.nsys-rep", "\x01\x02 of its own");
  const char* before = std::getenv("PATH");
  const std::string path = before == nullptr ? "" : before;
  setenv("PATH", (directory_ / "nowhere").c_str(), 1);
  expect_refused("run.nsys-rep", ErrorKind::environment, "nsys export --type sqlite --output");
  database("whole", nsys_schema() + nsys_rows());
  std::filesystem::create_directory(directory_ / "bin");
  std::ofstream(directory_ / "bin/nsys") << "#!/bin/sh\n/bin/cp " << directory_ / "whole"
                                         << " \"$6\"\n";
  std::filesystem::permissions(directory_ / "bin/nsys", std::filesystem::perms::owner_all);
  setenv("PATH", (directory_ / "bin").c_str(), 1);
  EXPECT_EQ(sums_of(imported("run.nsys-rep")), kOurSums);
  setenv("PATH", path.c_str(), 1);
}

// --- Kineto ---

std::string kineto(const std::string& events) {
  return R"json({"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42297524224, "computeMajor": 8, "computeMinor": 0, "numSms": 108},
 {"id": 1, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0}],
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
"traceEvents": [)json" +
         events + R"json(], "traceName": "x.json", "baseTimeNanoseconds": 1700000000000000000})json";
}

std::string kineto_steps() {
  std::string text;
  int id = 10;
  for (int step = 0; step < 3; ++step) {
    const int at = 100 + step * 1000;
    const auto event = [&](const std::string& rest) {
      text += (text.empty() ? "\n  {" : ",\n  {") + rest + "}";
    };
    const auto us = [&](int offset) { return std::to_string(at + offset); };
    for (int k = 0; k < 2; ++k, ++id) {
      const std::string number = std::to_string(id);
      event(
          R"j("ph": "X", "cat": "kernel", "name": "void add<float>(float*)", "pid": 0, "tid": 7, "ts": )j" +
          us(50 + 10 * k) +
          R"(.001, "dur": 4.123, "args": {"device": 0, "context": 1, "stream": 7, "correlation": )" + number +
          R"(, "registers per thread": 40, "shared memory": 400, "grid": [512, 2, 1], "block": [256, 1, 1]})");
      event(R"("ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": )" +
            us(10 + 5 * k) + R"(.5, "dur": 2, "args": {"correlation": )" + number + "}");
    }
    event(
        R"j("ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7, "ts": )j" +
        us(80) + R"(, "dur": 1.5, "args": {"device": 0, "stream": 7, "correlation": )" +
        std::to_string(id++) + R"(, "bytes": 4096})");
    event(R"("ph": "X", "cat": "cpu_op", "name": "aten::add \"x\"", "pid": 9, "tid": 11, "ts": )" + us(9) +
          R"(, "dur": 5, "args": {})");
    event(R"("ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(step + 5) +
          R"(", "pid": 9, "tid": 11, "ts": )" + us(0) + R"(, "dur": 500, "args": {})");
    event(R"("ph": "s", "id": 1, "pid": 9, "tid": 11, "ts": 1, "cat": "ac2g", "name": "ac2g")");
    event(
        R"("ph": "X", "cat": "python_function", "name": "f", "pid": "Spans", "tid": "x", "ts": 1, "dur": 1)");
  }
  return text;
}

// The CPU was ahead when the trace began.
TEST_F(Traces, WhatWasLaunchedBeforeATraceIsInNoStep) {
  const std::string before =
      R"j(,
  {"ph": "X", "cat": "kernel", "name": "void add<float>(float*)", "pid": 0, "tid": 7, "ts": 120, "dur": 4,
   "args": {"device": 0, "context": 1, "stream": 7, "correlation": 3, "grid": [512, 2, 1], "block": [256, 1, 1]}})j";
  write("trace", kineto(kineto_steps() + before));
  const store::Capture capture = imported("trace");
  const auto launches = capture.launches();
  ASSERT_EQ(launches.size(), 7u);
  int without = 0;
  for (const store::Launch& launch : launches) {
    without += !launch.step_id;
    EXPECT_EQ(launch.step_id.has_value(), launch.host_start_ns.has_value());
  }
  EXPECT_EQ(without, 1);
}

// Time may count from the first event, or from later: zero is a time.
TEST_F(Traces, EventsAtZeroAndBeforeItHaveTheirTimes) {
  const std::string events =
      R"j({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": -10.5, "dur": 2,
   "args": {"correlation": 1}},
  {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 9, "tid": 11, "ts": -11, "dur": 11},
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": -3.5, "dur": 3.5, "args": {"correlation": 1}},
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 5, "args": {"correlation": 2}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 8, "ts": 0.000, "dur": 1, "args": {"bytes": 64}})j";
  const auto times_are = [](const store::Capture& capture, std::int64_t zero_ns) {
    EXPECT_EQ(sums_of(capture), (Sums{2, 8500, 1, 64}));
    const auto launches = capture.launches();
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_EQ(launches[0].host_start_ns, zero_ns - 10'500);
    EXPECT_EQ(launches[0].start_ns, zero_ns - 3'500);
    EXPECT_EQ(launches[1].start_ns, zero_ns);
    EXPECT_EQ(capture.memcpys().at(0).start_ns, zero_ns);
    EXPECT_EQ(capture.nvtx_ranges().at(0).start_ns, zero_ns - 11'000);
    EXPECT_EQ(capture.completeness().at(0).zero_timestamps, 0);
  };
  write("based", kineto(events));
  times_are(imported("based"), 1'700'000'000'000'000'000);
  write("relative", "[" + events + "]");
  const store::Capture relative = imported("relative");
  times_are(relative, 1'000'000'000);
  EXPECT_NE(relative.run().clock.find("1 s later"), std::string::npos) << relative.run().clock;
}

TEST_F(Traces, AKinetoTraceBecomesStepsRangesAndLaunches) {
  write("trace", kineto(kineto_steps()));
  const store::Capture capture = imported("trace");
  EXPECT_EQ(sums_of(capture), (Sums{6, 6 * 4123, 3, 3 * 4096}));
  const auto steps = capture.steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].host_start_ns, 1'700'000'000'000'100'000);
  const auto launches = capture.launches();
  EXPECT_EQ(launches[0].start_ns, 1'700'000'000'000'150'001) << "to the nanosecond";
  EXPECT_EQ(launches[0].host_start_ns, 1'700'000'000'000'110'500);
  EXPECT_EQ(launches[0].grid, (store::Dim3{512, 2, 1}));
  EXPECT_EQ(launches[0].registers_per_thread, 40);
  EXPECT_TRUE(capture.run().end_ns.has_value()) << "it was not interrupted";
  EXPECT_EQ(launches[0].step_id, steps[0].id);
  EXPECT_TRUE(launches[0].nvtx_path_id.has_value());
  EXPECT_EQ(capture.processes().at(0).rank, 3);
  EXPECT_EQ(capture.devices().size(), 1u) << "only what is used";
  EXPECT_EQ(capture.nvtx_ranges().size(), 6u);
}

// torch.profiler before 2023: other words for the same.
TEST_F(Traces, CategoriesOfOlderTracesAreKnown) {
  std::string text = kineto(kineto_steps());
  for (const auto& [today, before] : std::map<std::string, std::string>{{"kernel", "Kernel"},
                                                                        {"gpu_memcpy", "Memcpy"},
                                                                        {"cuda_runtime", "Runtime"},
                                                                        {"cpu_op", "Operator"}}) {
    const std::string now = "\"cat\": \"" + today + "\"", then = "\"cat\": \"" + before + "\"";
    for (std::size_t at = text.find(now); at != std::string::npos; at = text.find(now, at + then.size()))
      text.replace(at, now.size(), then);
  }
  write("older", text);
  const store::Capture capture = imported("older");
  EXPECT_EQ(sums_of(capture), (Sums{6, 6 * 4123, 3, 3 * 4096}));
  EXPECT_EQ(capture.launches()[0].host_start_ns, 1'700'000'000'000'110'500);
  EXPECT_EQ(capture.nvtx_ranges().size(), 6u);
}

TEST_F(Traces, PackedTracesAndPlainOnesAreTheSame) {
  const std::string text = kineto(kineto_steps());
  const gzFile file = gzopen((directory_ / "packed").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(sums_of(imported("packed")).kernel_ns, 6 * 4123);
  write("array", "[" + kineto_steps() + "]");
  EXPECT_EQ(sums_of(imported("array")).kernel_ns, 6 * 4123) << "Chrome's form without an object round it";
  // Cut: what was whole before is there.
  std::filesystem::resize_file(directory_ / "packed",
                               std::filesystem::file_size(directory_ / "packed") * 2 / 3);
  const store::Capture part = imported("packed");
  EXPECT_FALSE(part.run().end_ns.has_value()) << "nobody knows how it ended";
  const Sums cut = sums_of(part);
  EXPECT_GT(cut.kernels, 0);
  EXPECT_LT(cut.kernels, 6);
  EXPECT_NE(warnings().find("import_cut"), std::string::npos) << warnings();
}

TEST_F(Traces, MalformedEventsAreLeftOutAndCounted) {
  // A control character, a quote that is not escaped, a time that is none, ", }".
  write("hostile", kineto(kineto_steps() + ",\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\x01"
                                           "b\", \"pid\": 9, \"tid\": 11, \"ts\": 3, \"dur\": 1, },"
                                           "\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"say \"hi\", "
                                           "\"pid\": 9, \"tid\": 11, \"ts\": 3, \"dur\": 1},"
                                           "\n  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", "
                                           "\"pid\": 0, \"tid\": 7, \"ts\": \"soon\", \"dur\": 1},"
                                           "\n  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"last\", "
                                           "\"pid\": 0, \"tid\": 7, \"ts\": 9000, \"dur\": 1}"));
  const store::Capture capture = imported("hostile");
  EXPECT_EQ(sums_of(capture).kernels, 7) << "the last is found again";
  EXPECT_NE(warnings().find("import_malformed"), std::string::npos) << warnings();
  EXPECT_EQ(capture.tier_statuses().at(0).status, TierOutcome::partial);
}

TEST_F(Traces, ShapesOfOperationsAreDeclaredWork) {
  const std::string mm = R"j(,
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 11, "ts": )j";
  constexpr const char* kShapes =
      R"j(, "dur": 8, "args": {"Input Dims": [[64, 128], [128, 32]], "Input type": ["float", "float"]}})j";
  write("shapes", kineto(kineto_steps() + mm + "109.5" + kShapes + mm + "1109.5" + kShapes + mm +
                         R"j(2109.5, "dur": 8, "args": {}})j"));
  const store::Capture capture = imported("shapes");
  std::map<std::string, int> declared;
  for (const store::Annotation& each : capture.annotations()) {
    ++declared[each.name];
    EXPECT_DOUBLE_EQ(each.flops.value(), 2.0 * 64 * 128 * 32);
    EXPECT_DOUBLE_EQ(each.bytes.value(), 4.0 * (64 * 128 + 128 * 32 + 64 * 32));
    EXPECT_EQ(each.k, 128);
  }
  EXPECT_EQ(declared, (std::map<std::string, int>{{"shapes", 2}})) << "the third has no shapes";
}

TEST_F(Traces, CollectivesAndProcessGroupsAreKept) {
  const auto launch = [](int id, const std::string& args) {
    const std::string number = std::to_string(id), at = std::to_string(100 + id);
    return R"(,{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "pid": 0, "tid": 9, "ts": )" +
           at + R"(, "dur": 1, "args": {"device": 0, "stream": 9, "correlation": )" + number + args + "}}" +
           R"(,{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": )" +
           at + R"(, "dur": 0.5, "args": {"correlation": )" + number + "}}";
  };
  const std::string group =
      R"(, "Process Group Name": "7", "Process Group Ranks": "[1, 3]", "Group size": 2, "dtype": "BFloat16")";
  std::string text = kineto(
      kineto_steps() +
      launch(50,
             R"(, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "Seq": 4)" +
                 group) +
      launch(51, R"(, "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 200)" +
                     group) +
      launch(
          52,
          R"(, "Collective name": "reduce_scatter_tensor_coalesced", "In msg nelems": 200, "Out msg nelems": 100)" +
              group) +
      R"(,{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 11, "ts": 153, "dur": 1, "args": {"External id": 900,
       "Collective name": "broadcast", "In msg nelems": 10, "Out msg nelems": 10, "dtype": "Long", "Process Group Name": "0"}})" +
      launch(53, R"(, "External id": 900)") + launch(54, R"(, "Collective name": "barrier")" + group) +
      launch(55, R"(, "External id": 901)"));
  const std::string info = "\"world_size\": 8";
  text.replace(
      text.find(info), info.size(),
      info +
          R"(, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": [0, 1, 2, 3, 4, 5, 6, 7]}])");
  write("nccl", text);
  const store::Capture capture = imported("nccl");
  const auto groups = store::communicators(capture);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].ranks, 8);
  EXPECT_EQ(groups[0].rank, 3);
  EXPECT_EQ(groups[0].hash, "0 [0, 1, 2, 3, 4, 5, 6, 7]");
  EXPECT_EQ(groups[1].name, "7");
  EXPECT_EQ(groups[1].rank, 1) << "of the job it is rank 3";
  std::map<std::int64_t, store::Collective> by_correlation;
  std::map<store::Id, std::int64_t> correlation;
  for (const store::Launch& each : capture.launches()) correlation[each.id] = each.correlation_id;
  for (const store::Collective& each : store::collectives(capture))
    by_correlation[correlation[each.launch_id]] = each;
  ASSERT_EQ(by_correlation.size(), 4u) << "a barrier moves nothing, and of one nobody says what it is";
  EXPECT_EQ(by_correlation[50].function, CollectiveFunction::all_reduce);
  EXPECT_EQ(by_correlation[50].bytes, 200);
  EXPECT_EQ(by_correlation[50].ordinal, 4);
  EXPECT_EQ(by_correlation[50].communicator_id, groups[1].id);
  EXPECT_EQ(by_correlation[51].function, CollectiveFunction::all_gather);
  EXPECT_EQ(by_correlation[51].bytes, 400) << "of the whole array";
  EXPECT_EQ(by_correlation[52].function, CollectiveFunction::reduce_scatter);
  EXPECT_EQ(by_correlation[52].bytes, 400);
  EXPECT_EQ(by_correlation[53].function, CollectiveFunction::broadcast)
      << "from the operation that launched it";
  EXPECT_EQ(by_correlation[53].bytes, 80);
  EXPECT_EQ(by_correlation[53].communicator_id, groups[0].id);
}

TEST_F(Traces, MutantsOfAKinetoTraceEndInOneLine) {
  write("cut", kineto(kineto_steps()).substr(0, 300));
  expect_refused("cut", ErrorKind::not_a_capture, "ends before its events begin");
  write("member", R"({"schemaVersion": 1, "events": []})");
  expect_refused("member", ErrorKind::not_a_capture, "without an array traceEvents");
  write("type", R"({"traceEvents": {"ph": "X"}})");
  expect_refused("type", ErrorKind::not_a_capture, "without an array traceEvents");
  write("rocprof", R"({"rocprofiler-sdk-tool": [{"metadata": {"pid": 7}}]})");
  expect_refused("rocprof", ErrorKind::not_a_capture, "is a result of rocprof");
  // Over the 16 MiB that are held of one member: no file that is cut.
  write("rocprof long", R"({"rocprofiler-sdk-tool": [")" + std::string(std::size_t{18} << 20, 'x') + "\"]}");
  expect_refused("rocprof long", ErrorKind::not_a_capture, "is a result of rocprof");
  write("long", R"({"results": [")" + std::string(std::size_t{18} << 20, 'x') + "\"]}");
  expect_refused("long", ErrorKind::not_a_capture, "it begins with 'results'");
  write("browser",
        kineto(R"({"ph": "X", "cat": "blink", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1})"));
  expect_refused("browser", ErrorKind::no_data,
                 "of another program than torch.profiler (categories: 'blink')");
  write("times",
        kineto(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {}, "dur": 1})"));
  expect_refused("times", ErrorKind::corrupt, "none of them is whole");
  write("idle",
        kineto(R"({"ph": "X", "cat": "cpu_op", "name": "k", "pid": 9, "tid": 7, "ts": 1, "dur": 1})"));
  expect_refused("idle", ErrorKind::no_data, "no kernel");
}

TEST_F(Traces, StepsMayBeNamed) {
  write("trace", kineto(kineto_steps()));
  EXPECT_EQ(imported("trace", "aten::add \"x\"").steps().size(), 3u);
  const auto none = imported("trace", "nothing of that name").steps();
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].source, StepSource::window);
}

TEST_F(Traces, FilesOfSeveralRanksAreOneCapture) {
  write("a", kineto(kineto_steps()));
  std::string other = kineto(kineto_steps());
  other.replace(other.find("\"rank\": 3"), 9, "\"rank\": 4");
  write("b", other);
  ASSERT_TRUE(
      import_traces({directory_ / "a", directory_ / "b"}, output(), {.import = {.overwrite = true}}).ok());
  const store::Capture capture = std::move(store::Capture::open(output())).value();
  ASSERT_EQ(capture.processes().size(), 2u);
  EXPECT_EQ(capture.processes()[1].rank, 4);
  EXPECT_EQ(capture.devices().size(), 2u) << "device 0 of either is a device of its own";
}

// Calls and edges at random, many at one time, against the last edge of the call's thread by hand.
TEST(ApiCalls, OfThreadsThatCaptureAreLeftOut) {
  const TemporaryDirectory directory;
  std::size_t left = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    std::vector<CaptureEdge> edges;
    for (std::uint64_t i = 0; i < seed % 12; ++i) edges.push_back({1 + below(3), below(20), below(2) == 0});
    ForeignProcess process(directory.path());
    for (std::uint32_t i = 0; i < 60; ++i)
      process.calls.push_back(
          {.enter_ns = below(22), .exit_ns = 30, .correlation_id = i, .thread_id = 1 + below(3)});
    const auto captured = [&](const ForeignCall& call) {
      std::optional<CaptureEdge> last;
      for (const CaptureEdge& edge : edges) {
        if (edge.thread_id != call.thread_id || edge.time_ns > call.enter_ns) continue;
        if (!last || edge.time_ns > last->time_ns || (edge.time_ns == last->time_ns && edge.begins))
          last = edge;
      }
      return last && last->begins;
    };
    std::vector<std::uint32_t> expected;
    for (const ForeignCall& call : process.calls) {
      if (!captured(call)) expected.push_back(call.correlation_id);
    }
    leave_out_captured(process, edges);
    std::vector<std::uint32_t> found;
    for (const ForeignCall& call : process.calls) found.push_back(call.correlation_id);
    EXPECT_EQ(found, expected);
    left += found.size();
    all += 60;
  }
  EXPECT_LT(left, all * 9 / 10);
  EXPECT_GT(left, all / 4);
}

TEST(ApiCalls, EachNameMeansOneThing) {
  using enum ApiKind;
  for (const auto& [name, kind] : std::initializer_list<std::pair<const char*, ApiKind>>{
           {"cudaLaunchKernel", launch},
           {"cudaLaunchKernelExC", launch},
           {"cuLaunchKernelEx", launch},
           {"cudaLaunch", launch},
           {"cudaLaunchX", other},
           {"cuLaunchGridAsync", launch},
           {"cuLaunch", launch},
           {"cuLaunchX", other},
           {"cudaLaunchCooperativeKernel", launch},
           {"cudaLaunchCooperativeKernelMultiDevice", launch},
           {"cuLaunchCooperativeKernel", launch},
           {"cuLaunchHostFunc", other},
           {"cuGraphLaunch", graph_launch},
           {"cudaGraphInstantiate", other},
           {"cudaStreamBeginCapture", capture_begin},
           {"cuStreamBeginCapture_v2", capture_begin},
           {"cudaStreamBeginCaptureToGraph", capture_begin},
           {"cuStreamBeginCaptureToGraph", capture_begin},
           {"cudaStreamEndCapture", capture_end},
           {"cuStreamEndCapture_ptsz", capture_end},
           {"cuStreamEndCapture_v2_ptds", capture_end},
           {"cuStreamEndCapture_v", other},
           {"cuStreamEndCapture_vx", other},
           {"cuStreamEndCapture_v/", other},
           {"cuStreamEndCapture_v:", other},
           {"cuStreamEndCapture_v09", capture_end},
           {"_v1", other}})
    EXPECT_EQ(accepted(api_call(name)).kind, kind) << name;
  for (const auto& [name, wait] : std::initializer_list<std::pair<const char*, SynchronisationCall>>{
           {"cudaDeviceSynchronize", SynchronisationCall::device},
           {"cuCtxSynchronize", SynchronisationCall::device},
           {"cudaStreamSynchronize_ptsz", SynchronisationCall::stream},
           {"cuStreamSynchronize", SynchronisationCall::stream},
           {"cudaEventSynchronize", SynchronisationCall::event},
           {"cuEventSynchronize", SynchronisationCall::event}}) {
    EXPECT_EQ(accepted(api_call(name)).kind, ApiKind::wait) << name;
    EXPECT_EQ(accepted(api_call(name)).wait, wait) << name;
  }
}

// What each call leaves in the process, by itself and while its thread captures a stream.
TEST(ApiCalls, LeaveCallsAndWaits) {
  const TemporaryDirectory directory;
  const auto added = [&](ApiKind kind, bool capturing, std::uint32_t correlation_id = 7,
                         std::int64_t enter_ns = 100, std::int64_t exit_ns = 130) {
    ForeignProcess process(directory.path());
    CaptureWatch capture;
    capture.begin(8);
    if (capturing) capture.begin(9);
    add_api_call(process, capture,
                 {.what = {kind, SynchronisationCall::event},
                  .thread_id = 4,
                  .thread_key = 9,
                  .correlation_id = correlation_id,
                  .enter_ns = enter_ns,
                  .exit_ns = exit_ns});
    return std::tuple(process.calls.size(), capture.is_capturing(9), capture.is_capturing(8));
  };
  using Left = std::tuple<std::size_t, bool, bool>;
  for (const bool capturing : {false, true}) {
    EXPECT_EQ(added(ApiKind::other, capturing), (Left{0, capturing, true}));
    EXPECT_EQ(added(ApiKind::wait, capturing), (Left{0, capturing, true}));
    EXPECT_EQ(added(ApiKind::launch, capturing), (Left{capturing ? 0 : 1, capturing, true}));
    EXPECT_EQ(added(ApiKind::graph_launch, capturing), (Left{capturing ? 0 : 1, capturing, true}));
    EXPECT_EQ(added(ApiKind::capture_begin, capturing), (Left{0, true, true}));
    EXPECT_EQ(added(ApiKind::capture_end, capturing), (Left{0, false, true}));
  }
  EXPECT_EQ(added(ApiKind::launch, false, 0), (Left{0, false, true})) << "nothing can be joined to it";
  EXPECT_EQ(added(ApiKind::capture_begin, false, 7, 130, 100), (Left{0, false, true}))
      << "it ends before it begins";
  EXPECT_EQ(added(ApiKind::launch, false, 7, 130, 100), (Left{0, false, true}));
}

TEST(ApiCalls, AreKnownWhateverTheirVersion) {
  EXPECT_EQ(accepted(api_call("cudaLaunchKernelExC_v11060_ptsz")).kind, ApiKind::launch);
  EXPECT_EQ(accepted(api_call("cuLaunchKernel")).kind, ApiKind::launch);
  EXPECT_EQ(accepted(api_call("cudaGraphLaunch_v10000")).kind, ApiKind::graph_launch);
  EXPECT_EQ(accepted(api_call("cudaLaunchHostFunc_v10000")).kind, ApiKind::other);
  EXPECT_EQ(accepted(api_call("cudaStreamSynchronize_v3020")).kind, ApiKind::wait);
  EXPECT_EQ(accepted(api_call("")).kind, ApiKind::other);
}

TEST(JsonText, EscapesAreResolved) {
  EXPECT_EQ(json_text(R"(a\"b\\c\n\u00e9\u20ac)"), "a\"b\\c\n\u00e9\u20ac");
  EXPECT_EQ(json_text("\\u12"), "\x12");
}

// --- Whole files ---

struct Sample {
  const char* file;
  Sums sums;
};

class TraceSamples : public ::testing::TestWithParam<Sample> {};

TEST_P(TraceSamples, AreImportedToTheNanosecondAndByte) {
  const char* folder = std::getenv("RIDGELINE_TRACE_SAMPLES");
  if (folder == nullptr) GTEST_SKIP() << "RIDGELINE_TRACE_SAMPLES names no folder";
  const std::string path = std::string(folder) + "/" + GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const TemporaryDirectory directory;
  ASSERT_NO_THROW((void)import_traces({path}, directory / "a.ridge").value());
  const store::Capture capture = std::move(store::Capture::open(directory / "a.ridge")).value();
  EXPECT_EQ(sums_of(capture), GetParam().sums);
}

std::string unpacked(const std::string& path) {
  std::string text(1 << 20, '\0'), all;
  const gzFile file = gzopen(path.c_str(), "rb");
  for (int got = 1; got > 0;) {
    got = gzread(file, text.data(), static_cast<unsigned>(text.size()));
    all.append(text, 0, static_cast<std::size_t>(std::max(got, 0)));
  }
  gzclose(file);
  return all;
}

// Each sample cut, without something that is needed, with a value of another type: one line, and nothing left behind.
TEST_P(TraceSamples, MutantsEndInOneClearLine) {
  const char* folder = std::getenv("RIDGELINE_TRACE_SAMPLES");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/" + GetParam().file;
  if (folder == nullptr || !std::filesystem::exists(path)) GTEST_SKIP() << "no such sample";
  const TemporaryDirectory directory;
  const std::string mutant = directory / "mutant", output = directory / "a.ridge";
  const auto refused = [&](const std::string& part) {
    const Result<ImportSummary> result = import_traces({mutant}, output);
    ASSERT_FALSE(result.ok()) << part;
    EXPECT_NE(result.failure().message.find(part), std::string::npos) << result.failure().message;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos) << result.failure().message;
    EXPECT_FALSE(std::filesystem::exists(output));
  };
  if (path.ends_with(".sqlite")) {
    const auto changed = [&](const std::string& sql) {
      std::filesystem::copy_file(path, mutant, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::permissions(mutant, std::filesystem::perms::owner_all);
      store::Database(mutant, store::OpenMode::read_write).execute(sql);
    };
    changed("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId");
    refused("table CUPTI_ACTIVITY_KIND_KERNEL has no column deviceId");
    changed("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid = 2");
    refused("column start of table CUPTI_ACTIVITY_KIND_KERNEL holds a value of type text");
    std::filesystem::copy_file(path, mutant, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(mutant, std::filesystem::perms::owner_all);
    std::filesystem::resize_file(mutant, std::filesystem::file_size(mutant) / 2);
    refused("");
    return;
  }
  const std::string text = unpacked(path);
  const auto without = [&](const std::string& key, const std::string& instead) {
    std::string changed = text;
    for (std::size_t at = changed.find(key); at != std::string::npos;
         at = changed.find(key, at + instead.size()))
      changed.replace(at, key.size(), instead);
    std::ofstream(mutant, std::ios::binary) << changed;
  };
  without("\"dur\": ", "\"dur\": x");
  refused("none has a start, a duration");
  without("\"ts\":", "\"tx\":");
  refused("none has a start, a duration");
  // What was whole before a cut is there, and is said to be a part.
  std::ofstream(mutant, std::ios::binary) << text.substr(0, text.size() * 2 / 3);
  const Result<ImportSummary> part = import_traces({mutant}, output);
  ASSERT_TRUE(part.ok()) << part.failure().message;
  ASSERT_FALSE(part.value().warnings.empty());
  EXPECT_EQ(part.value().warnings.front().code, ReasonCode::import_cut);
  const store::Capture capture = std::move(store::Capture::open(output)).value();
  EXPECT_LT(sums_of(capture).kernels, GetParam().sums.kernels);
  EXPECT_GT(sums_of(capture).kernels, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Files, TraceSamples,
    ::testing::Values(Sample{"nsys-2025.5.2_rtx3060_graphtrace.sqlite", {5, 3840 + 1728 + 1376, 1, 4096}},
                      Sample{"nsys-2025.3.1_power_iteration.sqlite", {3689, 1'131'742'684, 89, 2'883'944}},
                      Sample{"kineto_a100x2_ddp_nccl.json.gz", {2700, 162'532'340, 960, 307'323'096}},
                      Sample{"kineto_2023_cuda_sync.json.gz", {79, 10'692'000, 16, 244'403'360}}),
    [](const auto& sample) {
      std::string name = sample.param.file;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

}  // namespace
}  // namespace ridgeline::import
