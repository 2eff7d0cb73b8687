// traces_fuzz.cpp: damaged and made-up files of other profilers through their importers and what reads their captures.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "fuzz.h"
#include "kineto/json_stream.h"
#include "kineto/kineto_import.h"
#include "nsys/nsys_import.h"
#include "perfetto/perfetto_import.h"
#include "ridgeline/import/ncu_results.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"
#include "support/whole_file.h"

namespace ridgeline::fuzz {
namespace {

namespace fs = std::filesystem;
using ridgeline::testing::TemporaryDirectory;

constexpr const char* kTrace = R"j({"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
"distributedInfo": {"rank": 0, "world_size": 2},
"traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "void a<b>(c*)", "pid": 0, "tid": 7, "ts": 50.001, "dur": 4.123, "args": {"device": 0,
   "context": 1, "stream": 7, "correlation": 10, "registers per thread": 40, "grid": [512, 2, 1], "block": [256, 1, 1]}},
  {"ph": "X", "cat": "kernel", "name": "g", "pid": 0, "tid": 7, "ts": 60, "dur": 4, "args": {"graph id": 3, "graph node id": 4,
   "correlation": 11}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": 40, "dur": 2, "args": {"correlation": 10}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 9, "tid": 11, "ts": 45, "dur": 2, "args": {"correlation": 11}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 11, "ts": 48, "dur": 20, "args": {}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (a -> b)", "pid": 0, "tid": 7, "ts": 70, "dur": 1.5,
   "args": {"bytes": 4096, "correlation": 12}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::add \"x\u00e9\"", "pid": 9, "tid": 11, "ts": 39, "dur": 5, "args": {}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 9, "tid": 11, "ts": 30, "dur": 90},
  {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "python"}},
  {"ph": "s", "id": 1, "pid": 9, "tid": 11, "ts": 1, "cat": "ac2g", "name": "ac2g"}
], "baseTimeNanoseconds": 1700000000000000000})j";

constexpr const char* kExport = R"sql(
CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION', '3.24.0');
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES(1, 'add'), (2, 'cudaLaunchKernel_v7000'), (3, 'cudaGraphLaunch_v10000'), (4, 'step');
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, uuid TEXT, smCount INTEGER, memoryBandwidth INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES(0, 'GPU', 'abcd', 28, 360048000000);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(100, 110, 33554437, 1, 2), (200, 210, 33554437, 2, 3);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(300, 400, 0, 1, 33554432, 1, 4, 1, 1, 0), (500, 600, 0, 2, 33554432, 1, 4, 1, 1, 9);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, "end" INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(700, 800, 2, 33554432, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, "end" INTEGER, bytes INTEGER, copyKind INTEGER, globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(900, 950, 4096, 1, 33554432);
CREATE TABLE NVTX_EVENTS(start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, domainId INTEGER,
  globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES(50, 1000, 59, NULL, 4, 0, 33554437), (60, NULL, 60, 'open', NULL, 1, 33554437);
)sql";

// Fields in the wire format of Protocol Buffers.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80U; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(std::uint64_t{field} << 3U) + varint(value);
}
std::string text(std::uint32_t field, const std::string& value) {
  return varint(std::uint64_t{field} << 3U | 2U) + varint(value.size()) + value;
}

// Names of a sequence, a track, an operation with shapes round a call that launches, and what it launched.
std::string perfetto_bytes() {
  const auto at = [](std::uint64_t time, std::uint32_t field, const std::string& message) {
    return text(1, number(8, time) + number(10, 1) + text(field, message));
  };
  const std::string sizes = text(12, text(12, number(4, 64)) + text(12, number(4, 32)));
  return text(1, number(10, 1) + number(13, 1) +
                     text(12, text(1, number(1, 1) + text(2, "cpu_op")) +
                                  text(2, number(1, 1) + text(2, "aten::mm")) +
                                  text(24, number(1, 1) + text(2, "Kernel") + number(4, 2)) +
                                  text(23, number(1, 1) + number(2, 42)) +
                                  text(1000, number(1, 1) + text(3, "k")) +
                                  text(1001, number(1, 1) + text(2, "stream")))) +
         text(1, text(60, number(1, 2) + text(4, number(1, 42) + number(2, 43) + text(5, "main")))) +
         at(100, 11,
            number(9, 1) + number(11, 2) + number(10, 1) + number(3, 1) +
                text(4, text(10, "Input Dims") + sizes)) +
         at(110, 11, number(9, 1) + number(11, 2) + text(23, "cudaLaunchKernel") + text(3000, number(1, 7))) +
         at(120, 11, number(9, 2) + number(11, 2)) + at(130, 11, number(9, 2) + number(11, 2)) +
         at(140, 53,
            number(1, 7) + number(2, 5) + number(5, 1) + number(14, 1) + number(19, 1) +
                text(6, text(1, "bytes") + text(2, "4096")) +
                text(21,
                     text(1, number(1, 4)) + text(2, number(1, 128)) + text(3, number(1, 1) + number(3, 7))));
}

// What ncu prints, with the program's own words round it.
constexpr const char* kNcuCsv =
    "==PROF== Connected to process 5\nloss 3.1\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "
    "Size\",\"Grid Size\","
    "\"Device\",\"CC\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"nsecond\",\"Kbyte\"\n"
    "\"0\",\"5\",\"python\",\"host\",\"add\",\"1\",\"7\",\"(256, 1, 1)\",\"(4, 1, "
    "1)\",\"0\",\"8.0\",\"1,234\",\"65.77\"\n";
constexpr const char* kNcuDetails =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "
    "Size\",\"Grid Size\","
    "\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
    "\"0\",\"5\",\"python\",\"host\",\"void add<float>(float *)\",\"1\",\"7\",\"(256, 1, 1)\",\"(4, 1, "
    "1)\",\"0\",\"8.0\","
    "\"GPU Speed Of Light Throughput\",\"Memory Throughput\",\"%\",\"65.77\"\n"
    "\"0\",\"5\",\"python\",\"host\",\"void add<float>(float *)\",\"1\",\"7\",\"(256, 1, 1)\",\"(4, 1, "
    "1)\",\"0\",\"8.0\","
    "\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"Kbyte\",\"1,117.34\"\n";

std::string export_bytes(const TemporaryDirectory& directory) {
  const std::string path = directory / "whole.sqlite";
  {
    store::Database database(path, store::OpenMode::create);
    database.execute(kExport);
  }
  return ridgeline::testing::whole_file(path);
}

// Members and texts by themselves too: most damaged documents never get that far.
void read_members(std::string_view text) {
  for (import::JsonMembers members(text); members.next();) (void)import::json_text(members.value());
}

void import_and_read(const std::string& file, const std::string& output) {
  const Result<import::ImportSummary> imported =
      import::import_traces({file}, output, {.import = {.overwrite = true}});
  if (!imported.ok()) {
    if (imported.failure().kind == ErrorKind::internal) throw std::logic_error(imported.failure().message);
    if (imported.failure().message.find('\n') != std::string::npos)
      throw std::logic_error("more than one line");
    return;
  }
  const Result<store::Capture> opened = store::Capture::open(output);
  if (!opened.ok()) throw std::logic_error("not read back: " + opened.failure().message);
  if (!opened.value().lost_rows().empty()) throw std::logic_error("not what was written");
  if (fs::file_size(output) > (64u << 20))
    throw std::logic_error("a capture of " + std::to_string(fs::file_size(output)));
}

// A whole capture takes some hundred times as long as the reader of the file, which is what damaged bytes meet.
constexpr std::size_t kReadersPerCapture = 64;

using Reader = import::ForeignRecording (*)(const std::string& path, const std::string& scratch_directory);

void read_alone(Reader reader, const std::string& file, const std::string& scratch_directory) {
  try {
    (void)reader(file, scratch_directory);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw std::logic_error(error.message());
    if (error.message().find('\n') != std::string::npos) throw std::logic_error("more than one line");
  }
}

void join_and_read(const std::string& file, const std::string& capture, const std::string& output) {
  const Result<import::JoinSummary> joined =
      import::join_ncu_results({file}, capture, output, {.overwrite = true});
  if (!joined.ok()) {
    if (joined.failure().kind == ErrorKind::internal) throw std::logic_error(joined.failure().message);
    if (joined.failure().message.find('\n') != std::string::npos)
      throw std::logic_error("more than one line");
    return;
  }
  const Result<store::Capture> opened = store::Capture::open(output);
  if (!opened.ok()) throw std::logic_error("not read back: " + opened.failure().message);
}

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  const fuzz::TemporaryDirectory directory;
  const std::string file = directory / "fuzzed";
  const std::string output = directory / "out.ridge";
  const auto run = [&](const std::string& input, fuzz::Random& random, fuzz::Reader reader) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << input;
    if (random.one_in(fuzz::kReadersPerCapture))
      fuzz::import_and_read(file, output);
    else
      fuzz::read_alone(reader, file, directory.path());
  };
  const fuzz::Reader read_kineto = [](const std::string& path, const std::string& scratch) {
    return import::read_kineto(path, scratch, {});
  };
  const fuzz::Reader read_perfetto = [](const std::string& path, const std::string& scratch) {
    return import::read_perfetto(path, scratch, {});
  };
  fuzz::Target kineto{"kineto", {fuzz::kTrace}, [&](const std::string& input, fuzz::Random& random) {
                        fuzz::read_members(input);
                        run(input, random, read_kineto);
                      }};
  fuzz::Target nsys{
      "nsys", {fuzz::export_bytes(directory)}, [&](const std::string& input, fuzz::Random& random) {
        run(input, random, import::read_nsys);
      }};
  fuzz::Target perfetto{
      "perfetto", {fuzz::perfetto_bytes()}, [&](const std::string& input, fuzz::Random& random) {
        run(input, random, read_perfetto);
      }};
  const std::string capture = directory / "joined_onto.ridge";
  std::ofstream(file, std::ios::binary | std::ios::trunc) << fuzz::kTrace;
  (void)import::import_traces({file}, capture).value();
  fuzz::Target ncu{"ncu", {fuzz::kNcuCsv, fuzz::kNcuDetails}, [&](const std::string& input, fuzz::Random&) {
                     std::ofstream(file, std::ios::binary | std::ios::trunc) << input;
                     fuzz::join_and_read(file, capture, output);
                   }};
  return fuzz::main(argc, argv, {kineto, nsys, perfetto, ncu});
}
