#include "ridgeline/store/kept_database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "ridgeline/store/kept_file.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::TemporaryDirectory;

constexpr std::array<std::string_view, 2> kNotesVersions = {
    "CREATE TABLE note (text TEXT NOT NULL) STRICT;",
    "CREATE TABLE note (text TEXT NOT NULL, size INTEGER) STRICT;"};

void convert_notes(Database& database, std::int64_t) {
  database.execute("CREATE TEMP TABLE earlier AS SELECT * FROM main.note; DROP TABLE main.note;" +
                   std::string(kNotesVersions[1]) +
                   "INSERT INTO main.note SELECT text, NULL FROM temp.earlier; DROP TABLE temp.earlier");
}

const KeptFormat kNotes = {.name = "notebook",
                           .maker = "`note`",
                           .application_id = 4711,
                           .versions = kNotesVersions,
                           .convert = convert_notes};

void add_note(const std::string& path, const std::string& text) {
  KeptChange change = open_to_change(path, kNotes);
  change.database().prepare("INSERT INTO note VALUES (?, 1)").bind_all(text).run();
  change.commit();
}

std::int64_t notes(const std::string& path) {
  return open_to_read(path, kNotes).scalar_int64("SELECT count(*) FROM note");
}

ErrorKind refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return error.kind();
  }
  ADD_FAILURE() << "was not refused";
  return ErrorKind::internal;
}

// As the writer of another time left it, or an attacker.
void change_as_anybody(const std::string& path, const std::string& sql) {
  Database(path, OpenMode::keep).execute(sql);
}

TEST(KeptDatabase, IsMadeAddedToAndRead) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  EXPECT_EQ(refused([&] { (void)open_to_read(path, kNotes); }), ErrorKind::io);
  std::ofstream(path).close();  // a first writer that was killed
  EXPECT_EQ(refused([&] { (void)open_to_read(path, kNotes); }), ErrorKind::no_data);
  add_note(path, "one");
  add_note(path, "two");
  EXPECT_EQ(notes(path), 2);
  { (void)open_to_change(path, kNotes).database().execute("DELETE FROM note"); }
  EXPECT_EQ(notes(path), 2) << "not committed";
}

TEST(KeptDatabase, OlderFilesAreConvertedByWritersAndReadByReaders) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  change_as_anybody(path, "PRAGMA application_id = 4711; PRAGMA user_version = 1;" +
                              std::string(kNotesVersions[0]) + "INSERT INTO note VALUES ('old')");
  const auto version = [&] {
    return Database(path, OpenMode::read_only).scalar_int64("PRAGMA user_version");
  };
  EXPECT_EQ(open_to_read(path, kNotes).scalar_int64("SELECT count(*) FROM note WHERE size IS NULL"), 1);
  EXPECT_EQ(version(), 1) << "reading changes nothing";
  add_note(path, "new");
  EXPECT_EQ(version(), 2);
  EXPECT_EQ(notes(path), 2);
  change_as_anybody(path, "PRAGMA user_version = 3");
  EXPECT_EQ(refused([&] { (void)notes(path); }), ErrorKind::newer_capture);
  EXPECT_EQ(refused([&] { add_note(path, "x"); }), ErrorKind::newer_capture);
}

TEST(KeptDatabase, OtherFilesAreRefused) {
  const TemporaryDirectory directory;
  change_as_anybody(directory.file("other.db"), "CREATE TABLE t (a)");
  std::ofstream(directory.file("text.db")) << std::string(4096, 'x');
  ASSERT_EQ(mkfifo(directory.file("pipe").c_str(), 0600), 0);
  const std::pair<const char*, ErrorKind> cases[] = {{"other.db", ErrorKind::not_a_capture},
                                                     {"text.db", ErrorKind::not_a_capture},
                                                     {"pipe", ErrorKind::io},
                                                     {".", ErrorKind::io}};
  for (const auto& [name, kind] : cases) {
    const std::string path = directory.file(name);
    EXPECT_EQ(refused([&] { (void)notes(path); }), kind) << name;
    EXPECT_EQ(refused([&] { add_note(path, "x"); }), kind) << name;
  }
}

// What a file may bring along: each would change what is read or written, or never end.
TEST(KeptDatabase, HostileFilesAreRefused) {
  constexpr const char* kForever =
      "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'x' AS text, i AS size FROM "
      "n)";
  const std::string whole = "PRAGMA application_id = 4711; PRAGMA user_version = 2;";
  const std::string table(kNotesVersions[1]);
  const std::string cases[] = {
      table + "CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM note; END",
      table + "CREATE TABLE more (a); CREATE TRIGGER t AFTER INSERT ON more BEGIN DELETE FROM note; END",
      table + "CREATE INDEX i ON note (upper(text))",
      std::string("CREATE VIEW note AS SELECT * FROM ") + kForever,
      "CREATE TABLE note (text TEXT NOT NULL, size INTEGER AS (length(zeroblob(800000000)))) STRICT",
      "CREATE TABLE note (text TEXT NOT NULL, size INTEGER CHECK (size < 0)) STRICT",
      "CREATE TABLE note (text)",
      "CREATE TABLE other (text)",
  };
  for (const std::string& sql : cases) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("a.db");
    change_as_anybody(path, whole + sql);
    EXPECT_EQ(refused([&] { (void)notes(path); }), ErrorKind::corrupt) << sql;
    EXPECT_EQ(refused([&] { add_note(path, "x"); }), ErrorKind::corrupt) << sql;
  }
  // Somebody's own table and view in the file are never asked.
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  change_as_anybody(
      path, whole + table + std::string("CREATE TABLE mine (a); CREATE VIEW v AS SELECT * FROM ") + kForever);
  add_note(path, "x");
  EXPECT_EQ(notes(path), 1);
}

// A writer that is killed with pages of its transaction in the file leaves a journal that must be played back.
void leave_hot_journal(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    KeptChange change = open_to_change(path, kNotes);
    change.database().execute(
        "PRAGMA cache_size = 1; PRAGMA cache_spill = 1;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
        "INSERT INTO note SELECT 'filler ' || i, i FROM n");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_GT(std::filesystem::file_size(path + "-journal"), 512u);
}

TEST(KeptDatabase, AKilledWritersJournalIsPlayedBackByReadersAndWriters) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  add_note(path, "one");
  leave_hot_journal(path);
  EXPECT_EQ(notes(path), 1);
  EXPECT_FALSE(std::filesystem::exists(path + "-journal"));
  leave_hot_journal(path);
  add_note(path, "two");
  EXPECT_EQ(notes(path), 2);
  // Where nobody may write the file is read from a copy. Root may write anywhere.
  if (geteuid() == 0) return;
  leave_hot_journal(path);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0500));
  std::filesystem::permissions(path, std::filesystem::perms(0400));
  EXPECT_EQ(notes(path), 2);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0700));
}

TEST(KeptDatabase, FirstWritersAtOnceLoseNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  constexpr int kWriters = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < kWriters; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        add_note(path, std::to_string(i));
      } catch (const Error&) {
        _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(notes(path), kWriters);
}

TEST(KeptFile, IsKnownByWhatItHolds) {
  const TemporaryDirectory directory;
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory.file(name), std::ios::binary) << text;
    return directory.file(name);
  };
  change_as_anybody(directory.file("other.db"), "CREATE TABLE t (a)");
  change_as_anybody(
      directory.file("history.db"),
      "PRAGMA application_id = " + std::to_string(kHistoryApplicationId) + "; CREATE TABLE t (a)");
  EXPECT_EQ(kept_kind(directory.file("other.db")), KeptKind::database);
  EXPECT_EQ(kept_kind(directory.file("history.db")), KeptKind::history);
  EXPECT_EQ(kept_kind(file("history.db-journal", "x")), KeptKind::journal);
  EXPECT_EQ(kept_kind(file("text-journal", "x")), KeptKind::none) << "of no database";
  EXPECT_EQ(kept_kind(file("ridgeline.toml", "build = \"make\"\n")), KeptKind::settings);
  EXPECT_EQ(kept_kind(file("empty.toml", "")), KeptKind::none);
  EXPECT_EQ(kept_kind(file("noise.toml", "# x\nformat = \"ridgeline.noise\"\n")), KeptKind::noise_floor);
  EXPECT_EQ(kept_kind(file("budget.json", "{\"format\": \"ridgeline.budget\"}")), KeptKind::budget);
  EXPECT_EQ(kept_kind(file("report.json", "{\"format\": \"ridgeline.compare\"}")), KeptKind::none);
  EXPECT_EQ(kept_kind(directory.file("none")), KeptKind::none);
  EXPECT_EQ(kept_kind(directory.path()), KeptKind::none);
  ASSERT_EQ(mkfifo(directory.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(kept_kind(directory.file("pipe")), KeptKind::none);
  std::filesystem::create_symlink(directory.file("history.db"), directory.file("link.html"));
  EXPECT_EQ(kept_kind(directory.file("link.html")), KeptKind::history) << "by whatever name";
}

}  // namespace
}  // namespace ridgeline::store
