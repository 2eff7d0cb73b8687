#include "ridgeline/store/extra_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <type_traits>
#include <utility>

namespace ridgeline::store {

namespace {

thread_local const ExtraTable* extra_table = nullptr;

void bind_value(Statement& statement, int index, const Value& value) {
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          statement.bind(index, std::nullopt);
        } else {
          statement.bind(index, held);
        }
      },
      value);
}

}  // namespace

ExtraTable::ExtraTable(std::string name, std::string definition, std::size_t columns, Rows rows)
    : name_(std::move(name)),
      definition_(std::move(definition)),
      columns_(columns),
      rows_(std::move(rows)),
      before_(extra_table) {
  extra_table = this;
}

ExtraTable::~ExtraTable() {
  extra_table = before_;
}

ExtraTable::Made::Made(sqlite3* database) : database_(database) {
  if (extra_table == nullptr) return;
  const ExtraTable& wanted = *extra_table;
  Statement(database_, "PRAGMA temp_store = MEMORY").run();
  Statement(database_, fmt::format("DROP TABLE IF EXISTS temp.{}", wanted.name_)).run();
  Statement(database_, wanted.definition_).run();
  name_ = wanted.name_;
  std::string places = "?";
  for (std::size_t column = 1; column < wanted.columns_; ++column) places += ",?";
  Statement insert(database_, fmt::format("INSERT INTO temp.{} VALUES ({})", wanted.name_, places));
  wanted.rows_([&](const Row& row) {
    for (std::size_t column = 0; column < wanted.columns_; ++column)
      bind_value(insert, static_cast<int>(column) + 1, row.at(column));
    insert.run();
  });
}

// The connection is closed after it, or the next query drops it: what fails here changes nothing.
ExtraTable::Made::~Made() {
  if (!name_.empty())
    sqlite3_exec(database_, ("DROP TABLE IF EXISTS temp." + name_).c_str(), nullptr, nullptr, nullptr);
}

}  // namespace ridgeline::store
