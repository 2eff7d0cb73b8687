#include "ridgeline/store/capture.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "recovery.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/lock_patience.h"
#include "ridgeline/store/metric_catalog.h"
#include "ridgeline/store/schema.h"
#include "store/capture_testing.h"
#include "support/opened_capture.h"
#include "support/whole_file.h"

namespace ridgeline::store::testing {
namespace {

using ridgeline::testing::held;
using ridgeline::testing::whole_file;

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(Capture, EverythingWrittenIsReadBack) {
  TemporaryDirectory directory;
  const auto opened = held(Capture::open(write_file(directory)));
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  const Capture& capture = opened.value();
  EXPECT_EQ(capture.run().command_line, "./gpt2_train --model tiny");
  EXPECT_EQ(capture.run().git_dirty, true);
  EXPECT_EQ(capture.run().git_commit, std::nullopt);
  EXPECT_EQ(capture.versions().at("driver"), "580.1");
  EXPECT_EQ(capture.environment().at("CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(capture.processes().at(0).pid, 42);
  EXPECT_EQ(capture.devices().at(0).sm_count, 132);
  EXPECT_EQ(capture.device_peaks().at(0).value, 4.8e12);
  EXPECT_EQ(capture.clock_samples().at(0).power_mw, 650'000);
  EXPECT_EQ(capture.steps().at(0).gpu_end_ns, 900);
  EXPECT_EQ(capture.steps().at(0).source, StepSource::period);
  EXPECT_EQ(capture.kernels().at(0).demangled_name, "triad(float*, float*, float*, float, int)");
  const auto launches = capture.launches();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].grid, (Dim3{7, 2, 3}));
  EXPECT_EQ(launches[0].cluster, (Dim3{2, 1, 1}));
  EXPECT_EQ(capture.strings().at(*launches[0].nvtx_path_id), "step / forward");
  EXPECT_EQ(capture.launch_metrics().at(0).value, 12345.0);
  EXPECT_EQ(capture.metrics().at(0).unit, "bytes");
  EXPECT_EQ(capture.completeness().at(0).kernel_records, 1);
  EXPECT_EQ(capture.tier_statuses().at(0).reason, "no permission");
  EXPECT_EQ(capture.messages().at(0).what, "hello");
  EXPECT_EQ(capture.row_counts().at("launch"), 1);
}

TEST(Capture, ReadingLeavesTheFileAndItsDirectoryAlone) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  const std::string before = whole_file(path);
  chmod(path.c_str(), 0444);
  {
    auto capture = Capture::open(path);
    ASSERT_TRUE(capture.ok());
    (void)capture.value().launches();
    (void)capture.value().query("SELECT * FROM v_rank");
  }
  EXPECT_EQ(whole_file(path), before);
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) entries += entry.exists();
  EXPECT_EQ(entries, 1u);
}

TEST(Capture, ViewsResolveNames) {
  TemporaryDirectory directory;
  const auto capture = held(Capture::open(write_file(directory)));
  ASSERT_TRUE(capture.ok());
  const auto table = capture.value().query("SELECT kernel, duration_ns, nvtx_path FROM v_launch");
  ASSERT_TRUE(table.ok()) << table.failure().message;
  ASSERT_EQ(table.value().rows.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(table.value().rows[0][1]), 100);
  EXPECT_EQ(std::get<std::string>(table.value().rows[0][2]), "step / forward");
  const auto rank = capture.value().query(
      "SELECT launches_per_step, mean_ns_per_step, dram_read_bytes_per_launch FROM v_rank");
  ASSERT_TRUE(rank.ok());
  EXPECT_EQ(std::get<double>(rank.value().rows.at(0)[1]), 100.0);
  EXPECT_EQ(std::get<double>(rank.value().rows.at(0)[2]), 12345.0);
}

struct BadQuery {
  const char* name;
  const char* sql;
};
class CaptureQuery : public ::testing::TestWithParam<BadQuery> {};
TEST_P(CaptureQuery, IsRefusedAsUsageAndChangesNothing) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  const std::string before = whole_file(path);
  const auto capture = held(Capture::open(path));
  ASSERT_TRUE(capture.ok());
  const auto result = capture.value().query(GetParam().sql);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure().kind, ErrorKind::usage) << result.failure().message;
  EXPECT_EQ(whole_file(path), before);
  EXPECT_TRUE(capture.value().query("SELECT 1").ok()) << "the capture stays usable";
}
INSTANTIATE_TEST_SUITE_P(Misuse, CaptureQuery,
                         ::testing::Values(BadQuery{"syntax", "SELEKT 1"}, BadQuery{"empty", " ; "},
                                           BadQuery{"missing_table", "SELECT * FROM nowhere"},
                                           BadQuery{"overflow", "SELECT abs(-9223372036854775808)"},
                                           BadQuery{"insert", "INSERT INTO string VALUES (9,'x')"},
                                           BadQuery{"drop", "DROP TABLE launch"},
                                           BadQuery{"vacuum", "VACUUM"},
                                           BadQuery{"attach", "ATTACH 'evil.db' AS evil"},
                                           BadQuery{"pragma", "PRAGMA user_version = 7"},
                                           BadQuery{"two_statements", "SELECT 1; SELECT 2"}),
                         [](const auto& query) { return query.param.name; });

TEST(Capture, QueryStopsAtTheRowLimit) {
  TemporaryDirectory directory;
  const auto capture = held(Capture::open(write_file(directory)));
  ASSERT_TRUE(capture.ok());
  const auto table = capture.value().query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", 10);
  ASSERT_TRUE(table.ok()) << table.failure().message;
  EXPECT_EQ(table.value().rows.size(), 10u);
}

TEST(Capture, WhatIsNoCaptureIsNamed) {
  TemporaryDirectory directory;
  write_bytes(directory.file("empty"), "");
  write_bytes(directory.file("text"), "this is not a database, it only wants to be one");
  write_bytes(directory.file("short"), std::string("SQLite format 3\0", 16));
  { Database(directory.file("other"), OpenMode::create).execute("CREATE TABLE t(i)"); }
  const auto kind_of = [&](const std::string& path) {
    const auto opened = Capture::open(path);
    EXPECT_FALSE(opened.ok()) << path;
    if (opened.ok()) return ErrorKind::internal;
    EXPECT_NE(opened.failure().message.find(path), std::string::npos) << opened.failure().message;
    EXPECT_EQ(opened.failure().message.find('\n'), std::string::npos);
    return opened.failure().kind;
  };
  EXPECT_EQ(kind_of(directory.file("absent")), ErrorKind::io);
  EXPECT_EQ(kind_of(directory.path()), ErrorKind::not_a_capture);
  EXPECT_EQ(kind_of(directory.file("empty")), ErrorKind::not_a_capture);
  EXPECT_EQ(kind_of(directory.file("text")), ErrorKind::not_a_capture);
  EXPECT_EQ(kind_of(directory.file("short")), ErrorKind::corrupt);
  EXPECT_EQ(kind_of(directory.file("other")), ErrorKind::not_a_capture);
}

// Root reads every folder; this thread gives that up for as long as it looks.
class AsNobody {
 public:
  AsNobody() : before_(setfsuid(kNobody)) {}
  ~AsNobody() { setfsuid(static_cast<uid_t>(before_)); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  int before_;
};

TEST(Capture, AFolderThatMayNotBeReadIsNotCalledAMissingFile) {
  TemporaryDirectory directory;
  const std::string folder = directory.file("closed");
  ASSERT_EQ(mkdir(folder.c_str(), 0000), 0);
  AsNobody other;
  const auto opened = Capture::open(folder + "/a.ridge");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure().kind, ErrorKind::io);
  EXPECT_EQ(opened.failure().message,
            folder + "/a.ridge cannot be reached: check the permissions of its folder");
}

TEST(Capture, ANewerFileIsNamed) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  { Database(path, OpenMode::read_write).execute("PRAGMA user_version = 1000"); }
  const auto opened = Capture::open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure().kind, ErrorKind::newer_capture);
}

TEST(Capture, ATruncatedFileIsNamedAtEveryLength) {
  TemporaryDirectory directory;
  const std::string whole = whole_file(write_file(directory));
  for (std::size_t length = 16; length < whole.size(); length += 4099) {
    write_bytes(directory.file("cut"), whole.substr(0, length));
    const auto opened = Capture::open(directory.file("cut"));
    ASSERT_FALSE(opened.ok()) << length;
    EXPECT_EQ(opened.failure().kind, ErrorKind::corrupt) << opened.failure().message;
  }
}

// Whatever a page holds, reading ends in a Failure or an Error, never in a crash or a hang.
// SQLite writes 1 for the one size of a page that does not fit into the header's two bytes.
TEST(Capture, OfTheLargestPagesALostByteIsNoticedToo) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    Database database(path, OpenMode::read_write);
    database.execute("PRAGMA page_size = 65536");
    database.execute("VACUUM");
  }
  const auto size = std::filesystem::file_size(path);
  ASSERT_EQ(size % 65536, 0U);
  EXPECT_EQ(Capture::open(path).value().launches().size(), 1U);
  std::filesystem::resize_file(path, size - 1);
  const auto cut = Capture::open(path);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.failure().kind, ErrorKind::corrupt);
}

TEST(Capture, DamageAnywhereIsAnErrorOrHarmless) {
  TemporaryDirectory directory;
  const std::string whole = whole_file(write_file(directory));
  std::size_t noticed = 0;
  for (std::size_t page = 0; page * 8192 < whole.size(); ++page) {
    std::string damaged = whole;
    for (std::size_t i = page * 8192 + 100; i < std::min(whole.size(), (page + 1) * 8192); ++i)
      damaged[i] = static_cast<char>(i * 131 + page);
    write_bytes(directory.file("damaged"), damaged);
    try {
      const auto opened = Capture::open(directory.file("damaged"));
      if (!opened.ok()) {
        EXPECT_EQ(opened.failure().kind, ErrorKind::corrupt) << opened.failure().message;
        ++noticed;
        continue;
      }
      (void)opened.value().run();
      (void)opened.value().launches();
      (void)opened.value().strings();
      (void)opened.value().kernels();
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 0u);
}

TEST(CaptureWriter, RefusesAnExistingFileAndAMissingDirectory) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  const auto again = CaptureWriter::create(path);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.failure().kind, ErrorKind::io);
  EXPECT_TRUE(Capture::open(path).ok()) << "the first capture is untouched";
  EXPECT_FALSE(CaptureWriter::create(directory.file("no/such/place.ridge")).ok());
}

TEST(CaptureWriter, InternsTextsKernelsAndMetrics) {
  TemporaryDirectory directory;
  auto writer = CaptureWriter::create(directory.file("a"));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer.value().string_id("x"), writer.value().string_id("x"));
  EXPECT_NE(writer.value().string_id("x"), writer.value().string_id("y"));
  EXPECT_EQ(writer.value().kernel_id("k"), writer.value().kernel_id("k"));
  EXPECT_EQ(writer.value().metric_id("own__metric", "bytes", "m"), writer.value().metric_id("own__metric"));
}

TEST(CaptureWriter, WithoutFinishTheLastCheckpointIsAValidCapture) {
  TemporaryDirectory directory;
  {
    auto writer = CaptureWriter::create(directory.file("a"));
    ASSERT_TRUE(writer.ok());
    write_sample(writer.value());
    writer.value().checkpoint();
    (void)writer.value().string_id("after the checkpoint");
  }
  const auto opened = held(Capture::open(directory.file("a")));
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  EXPECT_EQ(opened.value().launches().size(), 1u);
  for (const auto& [id, text] : opened.value().strings()) EXPECT_NE(text, "after the checkpoint");
}

// What a checkpoint has written of a site's sums is added to by the next.
TEST(CaptureWriter, SumsGoOnOverCheckpoints) {
  TemporaryDirectory directory;
  {
    auto writer = CaptureWriter::create(directory.file("a"));
    ASSERT_TRUE(writer.ok());
    const Written ids = write_sample(writer.value());  // one launch of 100 ns
    Launch launch;
    launch.process_id = ids.process;
    launch.device_id = ids.device;
    launch.kernel_id = ids.kernel;
    for (std::int64_t i = 1; i <= 4; ++i) {
      if (i != 2) writer.value().checkpoint();
      launch.start_ns = 1000 * i;
      launch.end_ns = launch.start_ns + 10 * i;
      writer.value().add(launch);
    }
    writer.value().finish();
  }
  const Capture capture = held(Capture::open(directory.file("a"))).value();
  const auto totals = Activity(capture).process_totals();
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].launches, 5);
  EXPECT_EQ(totals[0].kernel_time_ns, 100 + 10 + 20 + 30 + 40);
  EXPECT_EQ(totals[0].launches_without_time, 0);
}

// A killed import leaves a journal beside the file; SQLite would roll it back by writing to the file.
TEST(Capture, AKilledImportIsReadFromACopy) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    Database writer(path, OpenMode::read_write);
    writer.execute(
        "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; DELETE FROM launch_metric; DELETE FROM "
        "launch_row;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        "INSERT INTO string(value) SELECT 'filler ' || i FROM n");
    // What a killed process leaves: the half-written file and its journal, with no lock on them.
    std::filesystem::copy_file(path, directory.file("killed.ridge"));
    std::filesystem::copy_file(path + "-journal", directory.file("killed.ridge-journal"));
  }
  const std::string before = whole_file(directory.file("killed.ridge"));
  const auto opened = Capture::open(directory.file("killed.ridge"));
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  EXPECT_EQ(opened.value().launches().size(), 1u);
  EXPECT_EQ(whole_file(directory.file("killed.ridge")), before);
}

// At the end of a journal may stand the name of another file, which SQLite deletes when it recovers.
TEST(Capture, AJournalThatNamesAnotherFileIsRefused) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  const std::string killed = directory.file("killed.ridge");
  const std::string victim = directory.file("precious");
  write_bytes(victim, "somebody's work");
  {
    Database writer(path, OpenMode::read_write);
    writer.execute(
        "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; DELETE FROM launch_row;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        "INSERT INTO string(value) SELECT 'filler ' || i FROM n");
    std::filesystem::copy_file(path, killed);
    const auto big_endian = [](std::size_t value) {
      std::string bytes;
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
      return bytes;
    };
    std::size_t sum = 0;
    for (const char c : victim) sum += static_cast<unsigned char>(c);
    write_bytes(killed + "-journal", whole_file(path + "-journal") + big_endian(0x40000000 / 8192 + 1) +
                                         victim + big_endian(victim.size()) + big_endian(sum) +
                                         "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7");
  }
  const auto opened = Capture::open(killed);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure().kind, ErrorKind::corrupt);
  EXPECT_NE(opened.failure().message.find("killed.ridge-journal names another file"), std::string::npos)
      << opened.failure().message;
  EXPECT_EQ(whole_file(victim), "somebody's work");
}

TEST(Capture, AJournalThatIsNoFileIsNamed) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  for (const char* kind : {"directory", "pipe"}) {
    const std::string journal = path + "-journal";
    ASSERT_EQ(std::string(kind) == "pipe" ? mkfifo(journal.c_str(), 0600) : mkdir(journal.c_str(), 0700), 0);
    const auto opened = Capture::open(path);
    ASSERT_FALSE(opened.ok()) << kind;
    EXPECT_EQ(opened.failure().kind, ErrorKind::io) << kind;
    EXPECT_NE(opened.failure().message.find("a.ridge-journal is no file"), std::string::npos)
        << opened.failure().message;
    std::filesystem::remove(journal);
  }
}

TEST(Capture, RecoveryWithoutATemporaryDirectoryNamesTheRemedy) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  write_bytes(path + "-journal", "something");
  const char* before = getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", directory.file("nowhere").c_str(), 1);
  const auto opened = Capture::open(path);
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure().kind, ErrorKind::io);
  EXPECT_NE(opened.failure().message.find("set TMPDIR"), std::string::npos) << opened.failure().message;
}

// A file of holes beside a journal would fill the disk with nothing.
TEST(Capture, OneThatIsMostlyHolesIsNotCopied) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  std::filesystem::resize_file(path, 40ULL << 30);
  write_bytes(path + "-journal", "something");
  const auto opened = Capture::open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure().kind, ErrorKind::corrupt);
  EXPECT_NE(opened.failure().message.find("holes"), std::string::npos) << opened.failure().message;
  // A journal of holes likewise.
  std::filesystem::remove(path);
  const std::string other = write_file(directory);
  write_bytes(other + "-journal", "something");
  std::filesystem::resize_file(other + "-journal", 40ULL << 30);
  EXPECT_EQ(Capture::open(other).failure().kind, ErrorKind::corrupt);
}

// Holes may be as large as all that is there and 64 MiB more.
TEST(Capture, HolesAreCountedToTheByte) {
  TemporaryDirectory directory;
  constexpr std::uintmax_t kHarmlessBytes = 64U << 20U;
  const auto refused = [&](std::size_t data_bytes, std::uintmax_t bytes) {
    const std::string path = directory.file("holes");
    std::filesystem::remove(path);
    write_bytes(path, std::string(data_bytes, 'x'));
    std::filesystem::resize_file(path, bytes);
    try {
      refuse_holes(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_NE(error.message().find("all but " + std::to_string(data_bytes)), std::string::npos)
          << error.message();
      return true;
    }
    return false;
  };
  if (!refused(0, 1ULL << 32U)) GTEST_SKIP() << "this file system knows no holes";
  EXPECT_FALSE(refused(0, kHarmlessBytes));
  EXPECT_TRUE(refused(0, kHarmlessBytes + 1));
  constexpr std::size_t kData = 1U << 20U;  // whole blocks of any file system
  EXPECT_FALSE(refused(kData, kHarmlessBytes + 2 * kData));
  EXPECT_TRUE(refused(kData, kHarmlessBytes + 2 * kData + 1));
  EXPECT_NO_THROW(refuse_holes(directory.file("none")));
}

// A limit on the size of files is an error like a full disk, and the folder of the copy goes with it.
TEST(Capture, RecoveryUnderALimitLeavesNothingBehind) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  write_bytes(path + "-journal", "something");
  const std::string room = directory.file("room");
  std::filesystem::create_directory(room);
  const pid_t child = fork();
  if (child == 0) {
    setenv("TMPDIR", room.c_str(), 1);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto opened = Capture::open(path);
    _exit(!opened.ok() && opened.failure().kind == ErrorKind::io ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(std::filesystem::is_empty(room));
}

// Another program may have set it; SQLite's readers then make two files beside it, and leave them.
TEST(Capture, AWriteAheadLogIsReadFromACopy) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  const std::string copied = directory.file("copied.ridge");
  {
    Database writer(path, OpenMode::read_write);
    writer.execute("PRAGMA journal_mode = WAL; INSERT INTO string(value) VALUES ('in the log')");
    std::filesystem::copy_file(path, copied);
    std::filesystem::copy_file(path + "-wal", copied + "-wal");
  }
  const auto entries = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      names.insert(entry.path().filename().string());
    return names;
  };
  const auto before = entries();
  {
    const auto opened = Capture::open(path);  // its log was written back when the writer closed
    ASSERT_TRUE(opened.ok()) << opened.failure().message;
    EXPECT_EQ(opened.value().launches().size(), 1u);
    const auto logged = Capture::open(copied);
    ASSERT_TRUE(logged.ok()) << logged.failure().message;
    bool seen = false;
    for (const auto& [id, text] : logged.value().strings()) seen = seen || text == "in the log";
    EXPECT_TRUE(seen);
  }
  EXPECT_EQ(entries(), before);
}

struct WrongSchema {
  const char* name;
  const char* change;
  const char* said;
};
class WrongSchemas : public ::testing::TestWithParam<WrongSchema> {};

// A view in the place of a table could go on for ever; every verb would.
TEST_P(WrongSchemas, AreCorruptAndSayWhere) {
  const TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    Database(path, OpenMode::read_write)
        .execute(std::string("PRAGMA foreign_keys = OFF;") + GetParam().change);
  }
  std::string message;
  ErrorKind kind = ErrorKind::internal;
  try {
    const auto opened = Capture::open(path);
    if (opened.ok()) (void)opened.value().run();
    if (!opened.ok()) {
      message = opened.failure().message;
      kind = opened.failure().kind;
    }
  } catch (const Error& error) {
    message = error.message();
    kind = error.kind();
  }
  EXPECT_EQ(kind, ErrorKind::corrupt) << message;
  EXPECT_NE(message.find(path + " is damaged (" + GetParam().said), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Tables, WrongSchemas,
    ::testing::Values(
        WrongSchema{
            "EndlessView",
            "DROP TABLE string; CREATE VIEW string AS WITH RECURSIVE n(id, value) AS (SELECT 1, 'x' UNION "
            "ALL SELECT id + 1, 'x' FROM n) SELECT * FROM n",
            "string is no table"},
        WrongSchema{"ViewOfOneRow", "DROP TABLE run; CREATE VIEW run AS SELECT 1 AS id", "run is no table"},
        WrongSchema{"NoTable", "DROP TABLE launch_metric", "launch_metric is missing"},
        WrongSchema{"NoColumn", "ALTER TABLE run DROP COLUMN host_name", "no such column: host_name"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Capture, KernelNamesAreBounded) {
  TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    Database(path, OpenMode::read_write)
        .execute("UPDATE kernel SET demangled_name = printf('%.*c', 1000000, 'k')");
  }
  const auto opened = Capture::open(path);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value().kernels().at(0).demangled_name, std::string(65536, 'k'));
}

TEST(Capture, RowsOfAQueryComeOneByOneUntilOneIsEnough) {
  TemporaryDirectory directory;
  const auto opened = held(Capture::open(write_file(directory)));
  ASSERT_TRUE(opened.ok());
  std::vector<std::string> names;
  std::int64_t rows = 0;
  const auto done = opened.value().query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
      [&](std::vector<std::string>&& columns) {
        names = std::move(columns);
        return true;
      },
      [&](std::vector<Value>&& row) {
        rows = std::get<std::int64_t>(row.at(0));
        return rows < 3;
      });
  ASSERT_TRUE(done.ok()) << done.failure().message;
  EXPECT_EQ(names, std::vector<std::string>{"i"});
  EXPECT_EQ(rows, 3);
}

TEST(Capture, ARunThatNeverBeganIsNoData) {
  TemporaryDirectory directory;
  {
    auto writer = CaptureWriter::create(directory.file("a"));
    ASSERT_TRUE(writer.ok());
    writer.value().finish();
  }
  const auto opened = held(Capture::open(directory.file("a")));
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened.value().launches().empty());
  try {
    (void)opened.value().run();
    FAIL() << "a run was made up";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_data);
  }
}

TEST(MetricCatalog, NamesAreUniqueAndDescribed) {
  std::set<std::string_view> names;
  for (const auto& metric : metric_catalog()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.label.empty() || metric.unit.empty() || metric.meaning.empty()) << metric.name;
  }
  EXPECT_FALSE(describe_metric("no__such.metric").has_value());
}

struct UnknownWord {
  const char* where;
  const char* change;
  void (*read)(const Capture&);
};
class UnknownWords : public ::testing::TestWithParam<UnknownWord> {};

TEST_P(UnknownWords, AreCorruptAndNamed) {
  const TemporaryDirectory directory;
  const std::string path = write_file(directory);
  {
    Database database(path, OpenMode::read_write);
    database.execute(std::string("PRAGMA ignore_check_constraints = 1; ") + GetParam().change);
  }
  const auto opened = Capture::open(path);
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  try {
    GetParam().read(opened.value());
    FAIL() << "the word was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_NE(error.message().find(GetParam().where), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("'nap'"), std::string::npos) << error.message();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Columns, UnknownWords,
    ::testing::Values(UnknownWord{"step.phase", "UPDATE step SET phase = 'nap'",
                                  [](const Capture& c) { (void)c.steps(); }},
                      UnknownWord{"step.status", "UPDATE step SET status = 'nap'",
                                  [](const Capture& c) { (void)c.steps(); }},
                      UnknownWord{"step.source", "UPDATE step SET source = 'nap'",
                                  [](const Capture& c) { (void)c.steps(); }},
                      UnknownWord{"device_peak.source", "UPDATE device_peak SET source = 'nap'",
                                  [](const Capture& c) { (void)c.device_peaks(); }},
                      UnknownWord{"launch_metric.tier", "UPDATE launch_metric SET tier = 'nap'",
                                  [](const Capture& c) { (void)c.launch_metrics(); }},
                      UnknownWord{"tier_status.tier", "UPDATE tier_status SET tier = 'nap'",
                                  [](const Capture& c) { (void)c.tier_statuses(); }},
                      UnknownWord{"tier_status.status", "UPDATE tier_status SET status = 'nap'",
                                  [](const Capture& c) { (void)c.tier_statuses(); }},
                      UnknownWord{"reason.code", "UPDATE reason SET code = 'nap'",
                                  [](const Capture& c) { (void)c.tier_statuses(); }},
                      UnknownWord{"message.severity", "UPDATE message SET severity = 'nap'",
                                  [](const Capture& c) { (void)c.messages(); }}),
    [](const auto& each) {
      std::string name = each.param.where;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

// An older capture is copied to be migrated; one that is being written meanwhile is busy, not damaged.
TEST(Capture, AnOlderOneThatIsBeingWrittenIsBusy) {
  TemporaryDirectory directory;
  const std::string path = directory.file("old.ridge");
  std::filesystem::copy_file(std::string(RIDGELINE_SOURCE_DIR) + "/tests/store/version-2.ridge", path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  Database writer(path, OpenMode::read_write);
  writer.execute("BEGIN EXCLUSIVE");
  set_lock_patience(std::chrono::milliseconds(20));
  const auto opened = Capture::open(path);
  set_lock_patience(std::chrono::seconds(5));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure().kind, ErrorKind::io) << opened.failure().message;
  EXPECT_EQ(opened.failure().message.find(path), 0u) << opened.failure().message;
  writer.execute("ROLLBACK");
  EXPECT_TRUE(Capture::open(path).ok());
}

}  // namespace
}  // namespace ridgeline::store::testing
