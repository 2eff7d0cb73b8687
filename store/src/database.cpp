#include "ridgeline/store/database.h"

#include <sqlite3.h>

#include <atomic>
#include <cmath>
#include <filesystem>

#include "ridgeline/base/text.h"
#include "ridgeline/store/lock_patience.h"
#include "ridgeline/store/statement_stop.h"
#include "row_scan.h"

namespace ridgeline::store {

namespace {

std::atomic<int> lock_patience_ms = 5000;

// Whether somebody wants the statements of this thread to end.
thread_local const std::stop_token* statement_stop = nullptr;

bool statements_stop() {
  return statement_stop != nullptr && statement_stop->stop_requested();
}

// SQLite's result code decides the kind: a damaged file is not our bug, and neither is a full disk. What our own
// statements fail on, a table or column that is not there or a sum beyond any number, no whole capture has.
ErrorKind kind_of(int code, std::string_view text) {
  switch (code & 0xff) {
    case SQLITE_ERROR:
      return text.find("syntax error") != std::string_view::npos ? ErrorKind::usage : ErrorKind::corrupt;
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT:
    case SQLITE_CONSTRAINT:  // a damaged index holds what its table does not
      return ErrorKind::corrupt;
    case SQLITE_NOTADB:
      return ErrorKind::not_a_capture;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::io;
    case SQLITE_NOMEM:
      return ErrorKind::environment;
    default:
      return ErrorKind::internal;
  }
}

// What happened to which file, and what to do about it.
std::string described(int code, const std::string& text, const std::string* path) {
  const std::string file = path != nullptr && !path->empty() ? *path : "the capture";
  if ((code & 0xff) == SQLITE_INTERRUPT)
    return file + " is damaged (a table of it has no end): record again or use a backup";
  switch (kind_of(code, text)) {
    case ErrorKind::corrupt:
      return file + " is damaged (" + text + "): record again or use a backup";
    case ErrorKind::not_a_capture:
      return file + " is not a Ridgeline capture (" + text +
             "): give a file that `ridgeline record` has written";
    default:
      break;
  }
  const int primary = code & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
    return file + " is being written by another program (" + text + "): try again when that has ended";
  return file + ": " + text;
}

[[noreturn]] void fail_open(sqlite3* database, int code, const std::string& path) {
  const std::string text = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  sqlite3_close(database);
  throw Error(ErrorKind::io, "cannot open " + path + ": " + text);
}

// A file name in a URI: everything that has a meaning there is escaped.
std::string uri_of(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  // "file://" would start an authority: of several leading slashes one is kept.
  const auto first = path.find_first_not_of('/');
  const std::string_view rest = first == std::string::npos || first < 2
                                    ? std::string_view(path)
                                    : std::string_view(path).substr(first - 1);
  for (char c : rest) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '?' || c == '#' || c == '%' || byte < 0x21 || byte > 0x7e) {
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri;
}

}  // namespace

Statement::Statement(sqlite3* database, std::string_view sql, std::shared_ptr<const std::string> origin)
    : database_(database), origin_(std::move(origin)) {
  const int code =
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) fail(code, "");
  if (statement_ == nullptr) throw Error(ErrorKind::usage, "the SQL text holds no statement");
}
Statement::~Statement() {
  sqlite3_finalize(statement_);
}
Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      origin_(std::move(other.origin_)) {}

void Statement::fail(int code, std::string_view doing) const {
  const std::string text = sqlite3_errmsg(database_);
  throw Error(kind_of(code, text),
              described(code, doing.empty() ? text : std::string(doing) + ": " + text, origin_.get()));
}

void Statement::bind(int index, std::int64_t value) {
  if (int code = sqlite3_bind_int64(statement_, index, value); code != SQLITE_OK)
    fail(code, "cannot bind an integer");
}
void Statement::bind(int index, double value) {
  const int code = std::isnan(value) ? sqlite3_bind_null(statement_, index)
                                     : sqlite3_bind_double(statement_, index, value);
  if (code != SQLITE_OK) fail(code, "cannot bind a number");
}
void Statement::bind(int index, std::string_view value) {
  const int code = sqlite3_bind_text64(statement_, index, value.data() != nullptr ? value.data() : "",
                                       value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) fail(code, "cannot bind a text");
}
void Statement::bind(int index, std::nullopt_t) {
  if (int code = sqlite3_bind_null(statement_, index); code != SQLITE_OK) fail(code, "cannot bind NULL");
}

void Statement::bind_pointer(int index, void* pointer, const char* type) {
  if (int code = sqlite3_bind_pointer(statement_, index, pointer, type, nullptr); code != SQLITE_OK)
    fail(code, "cannot bind a pointer");
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const std::string text = sqlite3_errmsg(database_);
  sqlite3_reset(statement_);
  if ((code & 0xff) == SQLITE_INTERRUPT && statements_stop())
    throw Error(ErrorKind::cancelled, "stopped before the statement had ended");
  throw Error(kind_of(code, text), described(code, text, origin_.get()));
}
void Statement::run() {
  while (step()) {
  }
  reset();
}
void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

int Statement::column_count() const {
  return sqlite3_column_count(statement_);
}
std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name != nullptr ? name : "";
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
std::int64_t Statement::int64(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(statement_, column);
}
std::string_view Statement::text_view(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text != nullptr ? std::string_view(text, sqlite3_column_bytes(statement_, column)) : "";
}
std::string Statement::text(int column) const {
  return std::string(text_view(column));
}
void Statement::throw_unknown_word(std::string_view text, std::string_view where,
                                   std::string_view vocabulary) const {
  std::string message = origin_ != nullptr && !origin_->empty() ? *origin_ + ": " : "";
  message += std::string(where) + " holds " + "'" + one_line(text.substr(0, 40)) + "'" + ", which is no " +
             std::string(vocabulary);
  throw Error(ErrorKind::corrupt,
              message + " that this Ridgeline knows: the file is damaged or made by another version");
}
Value Statement::value(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return int64(column);
    case SQLITE_FLOAT:
      return real(column);
    case SQLITE_NULL:
      return std::monostate{};
    default:
      return text(column);
  }
}
std::optional<std::int64_t> Statement::optional_int64(int column) const {
  return is_null(column) ? std::nullopt : std::optional(int64(column));
}
std::optional<double> Statement::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}
std::optional<std::string> Statement::optional_text(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}

// Counts the steps of the statement that runs, in units of kStepsBetweenLooks.
struct Database::Steps {
  static constexpr int kStepsBetweenLooks = 10'000;
  std::uint64_t taken = 0;
  std::uint64_t most = 0;
  bool limited = true;
};

void set_lock_patience(std::chrono::milliseconds patience) {
  lock_patience_ms = static_cast<int>(patience.count());
}

StatementStop::StatementStop(std::stop_token stop) : stop_(std::move(stop)), before_(statement_stop) {
  statement_stop = &stop_;
}
StatementStop::~StatementStop() {
  statement_stop = before_;
}

void limit_statement_memory(std::int64_t bytes) {
  sqlite3_hard_heap_limit64(bytes);
}

Database::Database(const std::string& path, OpenMode mode)
    : path_(std::make_shared<const std::string>(path)) {
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  std::string uri = uri_of(path);
  switch (mode) {
    case OpenMode::read_only:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case OpenMode::immutable:
      flags |= SQLITE_OPEN_READONLY;
      uri += "?immutable=1";
      break;
    case OpenMode::read_write:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case OpenMode::create:
      if (std::filesystem::exists(path)) throw Error(ErrorKind::io, path + " exists already");
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case OpenMode::keep:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  const int code = sqlite3_open_v2(uri.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) fail_open(handle_, code, path);
  sqlite3_extended_result_codes(handle_, 1);
  register_row_scan(handle_);
  sqlite3_busy_timeout(handle_, lock_patience_ms);
}
Database::~Database() {
  sqlite3_close(handle_);
}
Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::exchange(other.handle_, nullptr)),
      steps_(std::move(other.steps_)) {}

void Database::set_patience(std::chrono::milliseconds patience) const noexcept {
  sqlite3_busy_timeout(handle_, static_cast<int>(patience.count()));
}

void Database::distrust_schema() {
  execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
  for (const int allowed : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW})
    sqlite3_db_config(handle_, allowed, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, 64 << 20);  // no honest value is as long
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
}

void Database::limit_statements(std::uint64_t file_bytes) {
  // A row takes some bytes of the file and some ten steps of the machine; the constant is a second's work.
  constexpr std::uint64_t kFreeSteps = 50'000'000;
  constexpr std::uint64_t kStepsPerByte = 200;
  steps_ = std::make_unique<Steps>();
  steps_->most = (kFreeSteps + kStepsPerByte * file_bytes) / Steps::kStepsBetweenLooks;
  sqlite3_trace_v2(
      handle_, SQLITE_TRACE_STMT,
      [](unsigned, void* steps, void*, void*) {
        static_cast<Steps*>(steps)->taken = 0;
        return 0;
      },
      steps_.get());
  sqlite3_progress_handler(
      handle_, Steps::kStepsBetweenLooks,
      [](void* context) {
        auto* steps = static_cast<Steps*>(context);
        if (statements_stop()) return 1;
        return ++steps->taken > steps->most && steps->limited ? 1 : 0;
      },
      steps_.get());
}
void Database::set_limited(bool limited) const noexcept {
  if (steps_ == nullptr) return;
  steps_->limited = limited;
  steps_->taken = 0;
}

void Database::execute(const std::string& sql) {
  char* message = nullptr;
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message);
  if (code == SQLITE_OK) return;
  const std::string text = message != nullptr ? message : sqlite3_errstr(code);
  sqlite3_free(message);
  throw Error(kind_of(code, text), described(code, text, path_.get()));
}
Statement Database::prepare(std::string_view sql) const {
  return Statement(handle_, sql, path_);
}
std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_);
}
std::int64_t Database::scalar_int64(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.int64(0) : 0;
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}
Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // SQLite has rolled back by itself (full disk, damaged file); nothing is left to undo.
  }
}
void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace ridgeline::store
