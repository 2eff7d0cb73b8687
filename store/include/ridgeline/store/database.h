// database.h: RAII over SQLite's C API, the part of it that a capture needs.
//
// Lifecycle: 1. open a Database (read-only by default)  2. prepare Statements  3. step or query
// 4. Statements are destroyed before their Database. One thread at a time per Database.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/vocabulary.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ridgeline::store {

/// A value of a row as SQLite holds it; monostate is NULL.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// One prepared statement. Parameters and columns count from 1 and 0, as in SQLite.
class Statement {
 public:
  /// `origin`: the file's name for messages, if there is one to name.
  Statement(sqlite3* database, std::string_view sql, std::shared_ptr<const std::string> origin = nullptr);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds parameters 1..n in order and returns *this. Strings are copied. nullopt binds NULL.
  template <typename... Args>
  Statement& bind_all(const Args&... args) {
    int index = 0;
    (bind(++index, args), ...);
    return *this;
  }
  void bind(int index, std::int64_t value);
  void bind(int index, int value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, unsigned value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, bool value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, double value);  // NaN binds NULL: SQLite has no NaN
  void bind(int index, std::string_view value);
  void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
  void bind(int index, const char* value) { bind(index, std::string_view(value)); }
  void bind(int index, std::nullopt_t);
  /// Of an object that only a function of ours of the same `type` can see.
  void bind_pointer(int index, void* pointer, const char* type);
  template <Worded E>
  void bind(int index, E value) {
    bind(index, to_string(value));
  }
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    if (value) {
      bind(index, *value);
    } else {
      bind(index, std::nullopt);
    }
  }

  /// Advances to the next row; false at the end. Throws Error on failure.
  bool step();
  /// Runs a statement that returns no rows, then resets it for the next bind_all.
  void run();
  void reset();

  [[nodiscard]] int column_count() const;
  [[nodiscard]] std::string column_name(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t int64(int column) const;  // 0 for NULL
  [[nodiscard]] double real(int column) const;         // 0.0 for NULL
  [[nodiscard]] std::string text(int column) const;    // "" for NULL
  [[nodiscard]] Value value(int column) const;
  [[nodiscard]] std::optional<std::int64_t> optional_int64(int column) const;
  [[nodiscard]] std::optional<double> optional_real(int column) const;
  [[nodiscard]] std::optional<std::string> optional_text(int column) const;
  /// The value of a word; `where` is "table.column". Throws Error(corrupt) if the vocabulary has no such word.
  template <Worded E>
  [[nodiscard]] E word(int column, std::string_view where) const {
    const std::string_view text = text_view(column);
    if (const std::optional<E> value = parse_word<E>(text)) return *value;
    throw_unknown_word(text, where, Vocabulary<E>::kName);
  }
  /// The same; none for NULL.
  template <Worded E>
  [[nodiscard]] std::optional<E> optional_word(int column, std::string_view where) const {
    if (is_null(column)) return std::nullopt;
    return word<E>(column, where);
  }

 private:
  [[nodiscard]] std::string_view text_view(int column) const;  // until the next step; "" for NULL
  [[noreturn]] void throw_unknown_word(std::string_view text, std::string_view where,
                                       std::string_view vocabulary) const;
  [[noreturn]] void fail(int code, std::string_view doing) const;
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  std::shared_ptr<const std::string> origin_;
};

enum class OpenMode {
  read_only,   // the file is never modified, not even a journal beside it
  immutable,   // likewise; what lies beside the file is not looked at, and nothing is made there
  read_write,  // must exist
  create,      // must not exist
  keep,        // is made if there is none
};

class Database {
 public:
  /// Throws Error(io) if the file cannot be opened in that mode.
  Database(const std::string& path, OpenMode mode);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& sql);  // one or more statements, no rows
  [[nodiscard]] Statement prepare(std::string_view sql) const;
  [[nodiscard]] std::int64_t last_insert_id() const;
  [[nodiscard]] std::int64_t scalar_int64(std::string_view sql) const;  // 0 if there is no row
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }
  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }

  /// How long a statement waits for another's lock before it fails as busy; else what set_lock_patience() says.
  void set_patience(std::chrono::milliseconds patience) const noexcept;
  /// What a file may bring along and we never ask for is not run: triggers, views, functions with effects. No value is
  /// longer than 64 MiB.
  void distrust_schema();
  /// The name that messages give to it: that of the capture of which this is a private copy.
  void set_path(std::string path) { path_ = std::make_shared<const std::string>(std::move(path)); }
  /// Ends a statement that takes more steps of SQLite's machine than an honest file of that size can ask for, with
  /// Error(corrupt): tables that contain themselves would be read for ever. nullopt: no limit.
  void limit_statements(std::uint64_t file_bytes);
  /// Lifts that limit, if there is one, and sets it again: somebody's own question may take as long as it takes.
  void set_limited(bool limited) const noexcept;

 private:
  struct Steps;
  std::shared_ptr<const std::string> path_;  // shared with statements, for their messages
  sqlite3* handle_ = nullptr;
  std::unique_ptr<Steps> steps_;
};

/// Rolls back in its destructor unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace ridgeline::store
