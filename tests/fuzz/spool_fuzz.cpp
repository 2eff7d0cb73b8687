// spool_fuzz.cpp: damaged and made-up spools, with their manifests, through the importer and what reads its capture.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.h"
#include "import/import_testing.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/spool/manifest.h"
#include "ridgeline/store/capture.h"
#include "support/whole_file.h"

namespace ridgeline::fuzz {
namespace {

namespace fs = std::filesystem;
using import::testing::FakeSpool;
using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::whole_file;

void import_and_read(const std::string& directory, const std::string& output) {
  const Result<import::ImportSummary> imported =
      import::import_spools(directory, output, {.overwrite = true});
  if (!imported.ok()) {
    if (imported.failure().kind == ErrorKind::internal) throw std::logic_error(imported.failure().message);
    return;
  }
  // What was imported is a whole capture, whatever it was made of.
  const Result<store::Capture> opened = store::Capture::open(output);
  if (!opened.ok()) throw std::logic_error("not read back: " + opened.failure().message);
  if (!opened.value().lost_rows().empty()) throw std::logic_error("not what was written");
  if (fs::file_size(output) > (64u << 20))
    throw std::logic_error("a capture of " + std::to_string(fs::file_size(output)));
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A spool's file is mostly room for more: cut after the last record.
std::string made_spool(const TemporaryDirectory& directory, const char* name, void (*fill)(FakeSpool&)) {
  const std::string folder = directory / name;
  fs::create_directory(folder);
  FakeSpool spool(folder);
  fill(spool);
  std::string bytes = whole_file(spool.file());
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  return bytes;
}

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  using fuzz::FakeSpool;
  const fuzz::TemporaryDirectory directory;
  const std::string folder = directory / "fuzzed.spool";
  std::filesystem::create_directory(folder);
  const std::string file = folder + "/1-1.spool";
  const std::string output = directory / "out.ridge";

  const std::string whole = fuzz::made_spool(directory, "whole", [](FakeSpool& spool) { spool.whole_run(); });
  const std::string sampled = fuzz::made_spool(directory, "sampled", [](FakeSpool& spool) {
    spool.metric(1, "dram__bytes_read.sum");
    spool.pm_metric(1, 0, 1);
    spool.begin_step(0, Phase::sample);
    for (int i = 0; i < 4; ++i) spool.launch();
    spool.end_step();
    spool.stream(7, StreamKind::legacy);
    spool.order(StreamCall::event_record, 7, 1);
    spool.order(StreamCall::event_wait, 8, 1);
    spool.order(StreamCall::host_function, 8);
    spool.graph_node(1, 5, GraphNodeKind::graph);
    spool.graph_node(1, 6, GraphNodeKind::kernel, 5);
    spool.graph_clone(1, 6, 16);
    spool.graph_edge(1, 5, 6);
    spool.memory(MemoryCall::allocate, 0x1000, 4096);
    spool.memory(MemoryCall::free, 0x1000);
    spool.left_out(LeftOut::memory_calls, 2);
    for (int i = 0; i < 20; ++i)
      spool.pm_sample(1, FakeSpool::kOrigin + 500 * i, FakeSpool::kOrigin + 500 * (i + 1), {100.0 * i});
    spool.pm_window(1, 0, 0, WindowStatus::ok);
    spool.completeness();
  });
  const std::string killed = fuzz::made_spool(directory, "killed", [](FakeSpool& spool) {
    spool.begin_step(0, Phase::timeline);
    for (int i = 0; i < 4; ++i) spool.launch();
    spool.memcpy(spool::MemcpyKind::device_to_host, 500);
  });

  fuzz::Target spools{"spool", {whole, sampled, killed}, [&](const std::string& input, fuzz::Random&) {
                        fuzz::write(file, input);
                        std::filesystem::remove(folder + "/" + spool::kManifestName);
                        fuzz::import_and_read(folder, output);
                      }};
  fuzz::Target manifests{"manifest", {}, [&](const std::string& input, fuzz::Random&) {
                           fuzz::write(file, whole);
                           fuzz::write(folder + "/" + spool::kManifestName, input);
                           (void)import::planned_output(folder);
                           fuzz::import_and_read(folder, output);
                         }};
  return fuzz::main(argc, argv, {spools, manifests});
}
