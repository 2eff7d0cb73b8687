// history_fuzz.cpp: damaged histories, and journals beside them, through everything that reads and adds to one.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "comparison/made_runs.h"
#include "fuzz.h"
#include "ridgeline/comparison/history.h"
#include "ridgeline/reports/history_documents.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"
#include "support/whole_file.h"

namespace ridgeline::fuzz {
namespace {

namespace fs = std::filesystem;
using comparison::History;
using comparison::RunProfile;

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::vector<RunProfile> runs(int count, int first) {
  std::vector<RunProfile> made;
  for (int i = first; i < first + count; ++i) {
    RunProfile run = comparison::testing::made(
        {.kernels = {{"step / forward", "gemm", 900, 1, "x"}, {"step", "norm", 300, 2, "y"}},
         .noise = 0.002,
         .seed = static_cast<std::uint64_t>(i)});
    run.start_ns = 1'700'000'000'000'000'000 + i * 1'000'000'000LL;
    run.git_commit = std::string(8, static_cast<char>('a' + i % 26));
    made.push_back(std::move(run));
  }
  return made;
}

// What may fail as it likes, with an error of ours.
void attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw std::logic_error(error.message());
  }
}

void use(const std::string& path, const std::string& whole) {
  const Result<History> opened = History::open(path);
  if (!opened.ok()) {
    if (opened.failure().kind == ErrorKind::internal) throw std::logic_error(opened.failure().message);
    return;
  }
  History history = opened.value();
  attempt([&] {
    const comparison::HistoryReport report = history.report();
    (void)reports::history_document(report, {}).text();
    (void)reports::history_html(report);
  });
  attempt([&] { (void)history.add(runs(1, 90)); });
  attempt([&] { (void)history.accept("a", "b"); });
  attempt([&] { (void)history.merge(whole); });
  attempt([&] { (void)history.runs(); });
}

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  const testing::TemporaryDirectory directory;
  const std::string whole = directory.file("whole.db");
  {
    comparison::History history = comparison::History::open(whole).value();
    (void)history.add(fuzz::runs(8, 0));
    (void)history.accept("a", "meant");
  }
  const std::string file = directory.file("fuzzed.db");
  const auto clear = [&] {
    for (const char* ending : {"", "-journal", "-wal", "-shm"}) std::filesystem::remove(file + ending);
  };
  fuzz::Target histories{"history",
                         {ridgeline::testing::whole_file(whole)},
                         [&](const std::string& input, fuzz::Random& random) {
                           clear();
                           fuzz::write(file, input);
                           if (random.one_in(4)) {
                             // A journal that undoes something: SQLite's magic, then what comes.
                             std::string journal = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
                             journal += input.substr(random.below(input.size()), 3 * 4096);
                             fuzz::write(file + "-journal", journal);
                           }
                           fuzz::use(file, whole);
                           clear();
                         }};
  return fuzz::main(argc, argv, {histories});
}
