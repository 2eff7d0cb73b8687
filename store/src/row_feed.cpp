#include "row_feed.h"

#include <sqlite3.h>

#include <atomic>
#include <memory>

namespace ridgeline::store {

namespace {

// A virtual table of one feed. What it does cannot fail but for memory.
struct Table : sqlite3_vtab {
  explicit Table(const RowFeed& source) : sqlite3_vtab{}, feed(&source) {}
  const RowFeed* feed;
};

struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(const RowFeed& source) : sqlite3_vtab_cursor{}, feed(&source) {}
  const RowFeed* feed;
  std::size_t row = 0;
};

int connect(sqlite3* handle, void* feed, int, const char* const*, sqlite3_vtab** made, char**) noexcept {
  try {
    const auto* source = static_cast<const RowFeed*>(feed);
    std::string columns = "c0";
    for (std::size_t i = 1; i < source->columns(); ++i) columns += ", c" + std::to_string(i);
    auto table = std::make_unique<Table>(*source);
    const int code = sqlite3_declare_vtab(handle, ("CREATE TABLE feed(" + columns + ")").c_str());
    if (code == SQLITE_OK) *made = table.release();
    return code;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int disconnect(sqlite3_vtab* table) noexcept {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info*) noexcept {
  return SQLITE_OK;  // from the first row to the last, whatever is asked
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** made) noexcept {
  auto* cursor = new (std::nothrow) Cursor(*static_cast<Table*>(table)->feed);
  *made = cursor;
  return cursor == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) noexcept {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) noexcept {
  static_cast<Cursor*>(cursor)->row = 0;
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) noexcept {
  ++static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

int at_end(sqlite3_vtab_cursor* cursor) noexcept {
  const auto* at = static_cast<Cursor*>(cursor);
  return at->row >= at->feed->rows() ? 1 : 0;
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* result, int which) noexcept {
  const auto* at = static_cast<Cursor*>(cursor);
  const std::optional<std::int64_t>& value = at->feed->at(at->row, static_cast<std::size_t>(which));
  if (value) {
    sqlite3_result_int64(result, *value);
  } else {
    sqlite3_result_null(result);
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) noexcept {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
  return SQLITE_OK;
}

sqlite3_module module() {
  sqlite3_module all{};
  all.xConnect = connect;  // and no xCreate: there is one table of the module's name, without CREATE
  all.xBestIndex = best_index;
  all.xDisconnect = disconnect;
  all.xOpen = open;
  all.xClose = close;
  all.xFilter = filter;
  all.xNext = next;
  all.xEof = at_end;
  all.xColumn = column;
  all.xRowid = row_id;
  return all;
}

}  // namespace

RowFeed::RowFeed(Database& database, std::size_t columns) : database_(database), columns_(columns) {
  static std::atomic<int> made{0};
  static const sqlite3_module kModule = module();
  name_ = "ridgeline_feed_" + std::to_string(made.fetch_add(1));
  const int code = sqlite3_create_module(database_.handle(), name_.c_str(), &kModule, this);
  if (code != SQLITE_OK)
    throw Error(ErrorKind::internal, std::string("cannot prepare writing: ") + sqlite3_errstr(code));
}

RowFeed::~RowFeed() {
  if (database_.handle() != nullptr)
    (void)sqlite3_create_module(database_.handle(), name_.c_str(), nullptr, nullptr);
}

}  // namespace ridgeline::store
