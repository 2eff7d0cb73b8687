#include "ridgeline/store/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::TemporaryDirectory;

ErrorKind kind_thrown(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::internal;
}

// A damaged length asks for more bytes than SQLite gives any value; that is the file's fault.
TEST(Database, AValueLongerThanAnyIsDamage) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  EXPECT_EQ(kind_thrown([&] { database.prepare("SELECT zeroblob(2147483647)").step(); }), ErrorKind::corrupt);
}

TEST(Database, EveryValueTypeComesBackAsItWentIn) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("CREATE TABLE t(i INTEGER, r REAL, s TEXT, n TEXT)");
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  const std::string text("a\0b'\"\n\xc3\xa4", 8);
  Statement insert = database.prepare("INSERT INTO t VALUES (?,?,?,?)");
  insert.bind_all(big, 1e-300, text, std::optional<std::string>());
  insert.run();
  Statement row = database.prepare("SELECT * FROM t");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.int64(0), big);
  EXPECT_EQ(row.real(1), 1e-300);
  EXPECT_EQ(row.text(2), text);
  EXPECT_TRUE(row.is_null(3));
  EXPECT_EQ(row.optional_text(3), std::nullopt);
  EXPECT_FALSE(row.step());
}

TEST(Database, NanBecomesNull) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("CREATE TABLE t(r REAL)");
  Statement insert = database.prepare("INSERT INTO t VALUES (?)");
  insert.bind_all(std::nan(""));
  insert.run();
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM t WHERE r IS NULL"), 1);
}

TEST(Database, AStatementIsReusableAfterRun) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("CREATE TABLE t(i INTEGER)");
  Statement insert = database.prepare("INSERT INTO t VALUES (?)");
  for (int i = 0; i < 5; ++i) insert.bind_all(i).run();
  EXPECT_EQ(database.scalar_int64("SELECT sum(i) FROM t"), 10);
  EXPECT_EQ(database.scalar_int64("SELECT i FROM t WHERE 0"), 0) << "without a row";
}

TEST(Database, MisuseThrowsTheRightKind) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  EXPECT_EQ(kind_thrown([&] { (void)database.prepare("SELEKT 1"); }), ErrorKind::usage);
  EXPECT_EQ(kind_thrown([&] { (void)database.prepare("  -- nothing"); }), ErrorKind::usage);
  EXPECT_EQ(kind_thrown([&] { database.execute("INSERT INTO absent VALUES (1)"); }), ErrorKind::corrupt);
  Statement one = database.prepare("SELECT ?");
  EXPECT_NE(kind_thrown([&] { one.bind_all(1, 2); }), ErrorKind::io);  // a second parameter does not exist
  EXPECT_EQ(kind_thrown([&] { Database again(directory.file("a"), OpenMode::create); }), ErrorKind::io);
  EXPECT_EQ(kind_thrown([&] { Database absent(directory.file("absent"), OpenMode::read_only); }),
            ErrorKind::io);
  EXPECT_EQ(kind_thrown([&] { Database absent(directory.file("no/such/place"), OpenMode::create); }),
            ErrorKind::io);
}

TEST(Database, ReadOnlyRefusesToWrite) {
  TemporaryDirectory directory;
  { Database(directory.file("a"), OpenMode::create).execute("CREATE TABLE t(i)"); }
  Database reader(directory.file("a"), OpenMode::read_only);
  EXPECT_EQ(kind_thrown([&] { reader.execute("INSERT INTO t VALUES (1)"); }), ErrorKind::io);
}

TEST(Database, PathsWithUriCharactersAreFileNames) {
  TemporaryDirectory directory;
  for (const char* name : {"a?mode=memory", "b#c", "d%41", "e f", "\xc3\xa4"}) {
    { Database(directory.file(name), OpenMode::create).execute("CREATE TABLE t(i)"); }
    EXPECT_TRUE(std::filesystem::exists(directory.file(name))) << name;
    EXPECT_EQ(Database(directory.file(name), OpenMode::read_only).scalar_int64("SELECT count(*) FROM t"), 0);
  }
  const std::string doubled = "//" + directory.file("slashes").substr(1);
  { Database(doubled, OpenMode::create).execute("CREATE TABLE t(i)"); }
  EXPECT_TRUE(std::filesystem::exists(directory.file("slashes")));
}

TEST(Transaction, RollsBackUnlessCommitted) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("CREATE TABLE t(i)");
  {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM t"), 0);
  {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1)");
    transaction.commit();
  }
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM t"), 1);
}

TEST(Result, ValueOfAFailureThrowsItsKind) {
  const Result<int> failed = Failure{ErrorKind::no_data, "nothing there"};
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(kind_thrown([&] { (void)failed.value(); }), ErrorKind::no_data);
  EXPECT_EQ(exit_code(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code(ErrorKind::corrupt), 3);
  EXPECT_EQ(exit_code(ErrorKind::io), 4);
  EXPECT_EQ(exit_code(ErrorKind::internal), 5);
}

TEST(Database, AStatementWithoutAnEndIsEnded) {
  TemporaryDirectory directory;
  Database database(directory.file("a"), OpenMode::create);
  database.execute("CREATE TABLE t(i INTEGER); INSERT INTO t VALUES (1)");
  database.limit_statements(8192);
  const char* endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
  for (int again = 0; again < 2; ++again) {
    try {
      (void)database.scalar_int64(endless);
      FAIL() << "it came to an end";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_NE(error.message().find("a table of it has no end"), std::string::npos) << error.message();
    }
    // The limit is of one statement, not of all together.
    EXPECT_EQ(database.scalar_int64("SELECT i FROM t"), 1);
  }
}

TEST(Database, ALockedFileIsNamedWithTheRemedy) {
  TemporaryDirectory directory;
  Database writer(directory.file("a"), OpenMode::create);
  writer.execute("CREATE TABLE t(i INTEGER)");
  const Database reader(directory.file("a"), OpenMode::read_only);
  sqlite3_busy_timeout(reader.handle(), 1);
  writer.execute("BEGIN EXCLUSIVE");
  try {
    (void)reader.scalar_int64("SELECT count(*) FROM t");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(error.message().find(directory.file("a") + " is being written by another program"),
              std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace ridgeline::store
