// What import refuses, survives and leaves alone: spools that are none or damaged, files that are there already,
// limits and interrupts; and what it tells meanwhile.
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "import/import_testing.h"
#include "ridgeline/spool/manifest.h"
#include "support/accepted_cases.h"
#include "support/usual_signals.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::accepted;

TEST_F(Importer, NothingToImportIsNoData) {
  Result<ImportSummary> imported = accepted(import_spools(directory_.path(), output_));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.failure().kind, ErrorKind::usage);
  EXPECT_NE(imported.failure().message.find("is no spool directory"), std::string::npos);
  EXPECT_FALSE(fs::exists(output_));
  imported = accepted(import_spools(directory_ / "nosuch", output_));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.failure().kind, ErrorKind::usage);
  EXPECT_NE(imported.failure().message.find("nosuch: no such directory"), std::string::npos);

  FakeSpool spool(directory_.path());
  spool.end();
  imported = accepted(import_spools(directory_.path(), output_));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.failure().kind, ErrorKind::no_data);
  EXPECT_NE(imported.failure().message.find("no kernel"), std::string::npos);
}

TEST_F(Importer, AProgramThatFailsBeforeItsFirstKernelIsToldFromOneThatHasNone) {
  FakeSpool spool(directory_.path());
  spool.end();
  spool::LaunchManifest manifest;
  manifest.program = {"/opt/train"};
  const auto said = [&] {
    EXPECT_TRUE(spool::write_manifest(directory_.path(), manifest).ok());
    const Result<ImportSummary> imported = accepted(import_spools(directory_.path(), output_));
    EXPECT_EQ(imported.failure().kind, ErrorKind::no_data);
    return imported.failure().message;
  };
  manifest.exit_status = 0;
  EXPECT_NE(said().find("train loaded CUDA but ran no kernel: check that"), std::string::npos) << said();
  manifest.exit_status = 4;  // out of memory, say
  EXPECT_NE(said().find("train ended before it ran a kernel (exit status 4)"), std::string::npos) << said();
  EXPECT_EQ(said().find("runs long enough"), std::string::npos) << said();
  manifest.exit_status.reset();
  manifest.exit_signal = 9;
  EXPECT_NE(said().find("before it ran a kernel (killed by signal 9"), std::string::npos) << said();
}

TEST_F(Importer, AnAgentThatCouldNotWorkSpeaksForItself) {
  FakeSpool spool(directory_.path());
  spool.message(Severity::error, spool::Topic::subscriber_taken, "another profiler holds CUPTI: end it");
  spool.end();
  const Result<ImportSummary> imported = accepted(import_spools(directory_.path(), output_));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.failure().kind, ErrorKind::environment);
  EXPECT_EQ(imported.failure().message, "another profiler holds CUPTI: end it");
}

TEST_F(Importer, MisuseIsRefusedAndLeavesFilesAlone) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  EXPECT_EQ(accepted(import_spools(directory_ / "nowhere", output_)).failure().kind, ErrorKind::usage);
  EXPECT_EQ(accepted(import_spools(directory_.path(), directory_ / "no/out.ridge")).failure().kind,
            ErrorKind::usage);
  std::ofstream(output_) << "precious";
  const Result<ImportSummary> imported = accepted(import_spools(directory_.path(), output_));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.failure().kind, ErrorKind::usage);
  EXPECT_EQ(file_text(output_), "precious");
  EXPECT_TRUE(accepted(import_spools(directory_.path(), output_, {.overwrite = true, .progress = {}})).ok());
  EXPECT_EQ(open_capture(output_).launches().size(), 30u);
}

TEST_F(Importer, ALimitOnFileSizesIsAnErrorAndNoSuddenDeath) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{16384, 16384};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Result<ImportSummary> imported = import_spools(directory_.path(), output_);
    _exit(imported.ok()                                                             ? 1
          : imported.failure().message.find(directory_.path()) == std::string::npos ? 2
                                                                                    : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(fs::exists(output_));
  import();  // without the limit the same spool makes a capture
}

TEST_F(Importer, AFileThatIsNoSpoolIsNamedBesideGoodOnes) {
  std::ofstream(directory_ / "1-1.spool") << std::string(8192, 'x');
  EXPECT_EQ(accepted(import_spools(directory_.path(), output_)).failure().kind, ErrorKind::corrupt);
  FakeSpool spool(directory_.path());
  spool.whole_run();
  import();
  EXPECT_TRUE(warned("1-1.spool"));
}

TEST_F(Importer, WhatMayNotBeReadIsNotCalledEmptyOrDamaged) {
  const std::string closed = directory_ / "closed";
  const std::string inside = closed + "/spool";
  fs::create_directories(inside);
  FakeSpool spool(inside);
  spool.whole_run();
  const auto refused = [&] {
    const int before = setfsuid(65534);  // root may read everything
    const Result<ImportSummary> imported = import_spools(inside, output_);
    setfsuid(static_cast<uid_t>(before));
    EXPECT_FALSE(imported.ok());
    EXPECT_EQ(imported.failure().kind, ErrorKind::io);
    return imported.failure().message;
  };
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  std::string file;
  for (const auto& entry : fs::directory_iterator(inside))
    if (entry.path().extension() == ".spool") file = entry.path();
  ASSERT_EQ(chmod(file.c_str(), 0000), 0);
  EXPECT_NE(refused().find("cannot open: Permission denied"), std::string::npos) << refused();
  ASSERT_EQ(chmod(inside.c_str(), 0111), 0);
  EXPECT_EQ(refused(), inside + " cannot be read: Permission denied");
  ASSERT_EQ(chmod(closed.c_str(), 0000), 0);
  EXPECT_EQ(refused(), inside + " cannot be reached: Permission denied");
  chmod(closed.c_str(), 0700);  // so that all of it can be removed
  chmod(inside.c_str(), 0700);
}

TEST_F(Importer, ADamagedManifestCostsOnlyItself) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  std::ofstream(directory_ / "launch.json") << "{ not json";
  const store::Capture capture = import();
  EXPECT_TRUE(warned("launch.json"));
  EXPECT_EQ(capture.run().command_line, "./train --steps '8 8'");
}

TEST_F(Importer, ProgressReachesTheEnd) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  ImportProgress last;
  ImportOptions options;
  options.progress = [&](const ImportProgress& progress) {
    EXPECT_LE(progress.done_bytes, progress.total_bytes);
    EXPECT_GE(progress.done_bytes, last.done_bytes);
    last = progress;
  };
  ASSERT_TRUE(accepted(import_spools(directory_.path(), output_, options)).ok());
  EXPECT_GT(last.total_bytes, 0u);
  EXPECT_EQ(last.done_bytes, last.total_bytes);
}

// A caller is told ten times a second at most; one that takes its time is told at every opportunity. The samples are
// read last.
TEST_F(Importer, ProgressIsNotAtItsEndBeforeTheImportIs) {
  FakeSpool spool(directory_.path());
  spool.metric(3, "dram__bytes_write.sum");
  spool.pm_metric(1, 0, 3);
  for (std::int64_t i = 0; i < 5000; ++i)
    spool.pm_sample(1, FakeSpool::kOrigin + i * 100, FakeSpool::kOrigin + (i + 1) * 100, {1.0});
  spool.pm_window(1, 0, 4, WindowStatus::ok);
  spool.whole_run();
  std::vector<double> shares;
  ImportOptions options;
  options.progress = [&](const ImportProgress& progress) {
    shares.push_back(static_cast<double>(progress.done_bytes) / static_cast<double>(progress.total_bytes));
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
  };
  ASSERT_TRUE(accepted(import_spools(directory_.path(), output_, options)).ok());
  ASSERT_GE(shares.size(), 2u);
  EXPECT_EQ(shares.back(), 1);
  for (std::size_t i = 0; i + 1 < shares.size(); ++i) EXPECT_LT(shares[i], 1) << i;
}

TEST_F(Importer, ASpoolWithoutALeftKernelRecordIsDamagedAndNotIdle) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  fs::resize_file(spool.file(), spool::kFileHeaderBytes + 64);
  const Result<ImportSummary> imported = accepted(import_spools(directory_.path(), output_));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.failure().kind, ErrorKind::corrupt);
  EXPECT_NE(imported.failure().message.find("is damaged and no kernel record is left in it"),
            std::string::npos)
      << imported.failure().message;
}

TEST_F(Importer, ASpoolThatIsCutMeanwhileIsToldAndItsRowsAreHeldAgainstTheRecords) {
  FakeSpool spool(directory_.path());
  spool.whole_run(1500);
  const auto whole = fs::file_size(spool.file());
  ImportOptions options;
  // The first pass that reads launches has counted them when the rows are written.
  std::uint64_t bytes = 0;
  options.progress = [&](const ImportProgress& progress) {
    if (bytes == 0 && progress.done_bytes > 0) fs::resize_file(spool.file(), bytes = whole / 2);
  };
  const Result<ImportSummary> imported = accepted(import_spools(directory_.path(), output_, options));
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  ASSERT_NE(bytes, 0u) << "the test must cut it";
  summary_ = imported.value();
  EXPECT_TRUE(warned("was cut while it was read"));
}

TEST_F(Importer, DevicesPipesAndTheStandardOutputAreNeverReplaced) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  const std::string pipe = directory_ / "pipe";
  const std::string link = directory_ / "link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/null", link.c_str()), 0);
  for (const std::string& output : {pipe, link, std::string("-")}) {
    const Result<ImportSummary> imported =
        accepted(import_spools(directory_.path(), output, {.overwrite = true}));
    ASSERT_FALSE(imported.ok()) << output;
    EXPECT_EQ(imported.failure().kind, ErrorKind::usage) << imported.failure().message;
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::exists("-"));
}

TEST_F(Importer, LongNamesAreBounded) {
  FakeSpool spool(directory_.path());
  spool::KernelFunctionRecord function{};
  function.kernel_id = 1;
  function.header.flags = UINT16_MAX;  // the last word on this kernel
  function.name = spool.text(std::string(40'000, 'k'));
  spool.put(function);
  const std::string name(30'000, 'r');
  for (std::uint32_t depth = 2; depth < 40; ++depth) spool.path(depth, depth - 1, name);
  spool.whole_run();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT max(length(CAST(mangled_name AS BLOB))) FROM kernel"), "32768");
  EXPECT_EQ(scalar(capture, "SELECT max(length(CAST(value AS BLOB))) <= 8300 FROM string"), "1");
}

TEST_F(Importer, SecretsOfACommandLineStayOut) {
  FakeSpool spool(directory_.path());
  spool::ProcessRecord record{};
  record.pid = 4242;
  record.arguments = spool.text(std::string("./train\0--hf-token\0geheim", 26));
  record.start_ns = FakeSpool::kOrigin;
  spool.put(record);
  spool.whole_run();
  const store::Capture capture = import();
  EXPECT_EQ(capture.run().command_line, "./train --hf-token '***'");
  EXPECT_EQ(capture.processes().at(0).command, "./train --hf-token '***'");
}

TEST_F(Importer, AManifestThatIsAPipeOrEndlessIsNotWaitedFor) {
  FakeSpool spool(directory_.path());
  spool.whole_run();
  const std::string manifest = directory_ / spool::kManifestName;
  ASSERT_EQ(mkfifo(manifest.c_str(), 0600), 0);
  import();
  EXPECT_TRUE(warned("a device or a pipe"));
  fs::remove(manifest);
  fs::remove(output_);
  ASSERT_EQ(symlink("/dev/zero", manifest.c_str()), 0);
  import();
  EXPECT_TRUE(warned("a device or a pipe"));
}

TEST_F(Importer, AnInterruptLeavesNoDraft) {
  FakeSpool spool(directory_.path());
  spool.whole_run(1500);
  const pid_t child = fork();
  if (child == 0) {
    ridgeline::testing::take_usual_signals();
    ImportOptions options;
    options.progress = [&](const ImportProgress&) {
      for (const auto& entry : fs::directory_iterator(directory_.path())) {
        if (entry.path().extension() == ".draft") raise(SIGINT);
      }
    };
    (void)import_spools(directory_.path(), output_, options);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the test must interrupt it";
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    EXPECT_EQ(entry.path().string().find(".draft"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace ridgeline::import::testing
