// traces_fuzz.cpp: damaged and made-up files of other profilers through their importers and what reads their captures.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "fuzz.h"
#include "kineto/json_stream.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"

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

std::string export_bytes(const TemporaryDirectory& directory) {
  const std::string path = directory / "whole.sqlite";
  {
    store::Database database(path, store::OpenMode::create);
    database.execute(kExport);
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  const fuzz::TemporaryDirectory directory;
  const std::string file = directory / "fuzzed";
  const std::string output = directory / "out.ridge";
  const auto run = [&](const std::string& input) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << input;
    fuzz::import_and_read(file, output);
  };
  fuzz::Target kineto{"kineto", {fuzz::kTrace}, [&](const std::string& input, fuzz::Random&) {
                        fuzz::read_members(input);
                        run(input);
                      }};
  fuzz::Target nsys{
      "nsys", {fuzz::export_bytes(directory)}, [&](const std::string& input, fuzz::Random&) { run(input); }};
  return fuzz::main(argc, argv, {kineto, nsys});
}
