#include "row_scan.h"

namespace ridgeline::store {

namespace {

constexpr const char* kPointerType = "ridgeline::store::RowReceiver";

// Exceptions may not cross SQLite, which is C: they wait in the receiver.
void take_row(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  // Only a statement of ours can bind the receiver: a user's query that calls the function has none.
  auto* receiver =
      count > 0 ? static_cast<RowReceiver*>(sqlite3_value_pointer(values[0], kPointerType)) : nullptr;
  if (receiver == nullptr) {
    sqlite3_result_error(context, "ridgeline_take_row() is Ridgeline's own", -1);
    return;
  }
  try {
    receiver->take(receiver->self, RowValues(values + 1));
  } catch (...) {
    receiver->thrown = std::current_exception();
    sqlite3_result_error_code(context, SQLITE_ABORT);
  }
}

void finish(sqlite3_context* context) noexcept {
  sqlite3_result_null(context);
}

}  // namespace

void register_row_scan(sqlite3* handle) {
  const int code =
      sqlite3_create_function_v2(handle, "ridgeline_take_row", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr,
                                 nullptr, take_row, finish, nullptr);
  if (code != SQLITE_OK)
    throw Error(ErrorKind::internal, std::string("cannot prepare reading: ") + sqlite3_errstr(code));
}

std::string row_scan_sql(std::string_view columns, std::string_view from) {
  return "SELECT ridgeline_take_row(?1, " + std::string(columns) + ") FROM " + std::string(from);
}

void run_scan(Statement& statement, RowReceiver& receiver) {
  statement.bind_pointer(1, &receiver, kPointerType);
  try {
    statement.run();
  } catch (...) {
    statement.reset();
    if (receiver.thrown) std::rethrow_exception(receiver.thrown);
    throw;
  }
}

}  // namespace ridgeline::store
