#include "nsys/nsys_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::array<std::string_view, 7> kTellingTables = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                                            "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                            "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                            "META_DATA_EXPORT",
                                                            "EXPORT_META_DATA",
                                                            "TARGET_INFO_SESSION_START_TIME"};

std::set<std::string> tables_of(const store::Database& database) {
  std::set<std::string> names;
  store::Statement query = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'");
  while (query.step()) names.insert(query.text(0));
  return names;
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

}  // namespace

bool is_nsys_export(const store::Database& database) {
  const std::set<std::string> tables = tables_of(database);
  return std::any_of(kTellingTables.begin(), kTellingTables.end(),
                     [&](std::string_view name) { return tables.contains(std::string(name)); });
}

NsysExport::NsysExport(const std::string& path) : path_(path), database_(path, store::OpenMode::immutable) {
  database_.distrust_schema();
  std::error_code ignored;
  database_.limit_statements(std::filesystem::file_size(path, ignored));
  tables_ = tables_of(database_);
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    if (!has(table)) continue;
    const std::vector<NsysColumn> columns = {{{"name"}, ColumnKind::text}, {{"value"}, ColumnKind::text}};
    store::Statement query = rows(table, columns);
    while (query.step()) {
      if (query.text(0) == "EXPORT_SCHEMA_VERSION") schema_version_ = one_line(query.text(1));
      if (query.text(0) == "EXPORT_PRODUCT_VERSION") product_version_ = one_line(query.text(1));
    }
  }
}

std::set<std::string> NsysExport::columns_of(std::string_view table) const {
  std::set<std::string> names;
  store::Statement query = database_.prepare(fmt::format("SELECT name FROM pragma_table_info({})", "?1"));
  query.bind_all(table);
  while (query.step()) names.insert(query.text(0));
  return names;
}

bool NsysExport::has_column(std::string_view table, std::string_view column) const {
  return has(table) && columns_of(table).contains(std::string(column));
}

store::Statement NsysExport::rows(std::string_view table, const std::vector<NsysColumn>& columns) const {
  const std::set<std::string> known = columns_of(table);
  std::string list;
  std::vector<std::pair<std::string, ColumnKind>> present;
  std::set<std::string> required;
  for (const NsysColumn& column : columns) {
    const auto found = std::find_if(column.names.begin(), column.names.end(),
                                    [&](std::string_view name) { return known.contains(std::string(name)); });
    if (!list.empty()) list += ", ";
    if (found == column.names.end()) {
      if (column.need == ColumnNeed::required)
        refuse(fmt::format("table {} has no column {}", table, column.names.front()));
      list += "NULL";
      continue;
    }
    list += sql_name(*found);
    present.emplace_back(*found, column.kind);
    if (column.need == ColumnNeed::required) required.insert(std::string(*found));
  }
  check_types(table, present, required);
  return database_.prepare(fmt::format("SELECT {} FROM {}", list, sql_name(table)));
}

// SQLite takes any value in any column: one of another type would be read as 0.
void NsysExport::check_types(std::string_view table,
                             const std::vector<std::pair<std::string, ColumnKind>>& columns,
                             const std::set<std::string>& required) const {
  if (columns.empty()) return;
  std::string wrong;
  for (const auto& [name, kind] : columns) {
    if (!wrong.empty()) wrong += " + ";
    wrong += fmt::format("10 * (typeof({}) NOT IN ('{}'{}))", sql_name(name),
                         kind == ColumnKind::integer ? "integer" : "text",
                         required.contains(name) ? "" : ", 'null'");
  }
  std::string types;
  for (const auto& [name, kind] : columns) {
    if (!types.empty()) types += ", ";
    types += fmt::format("typeof({})", sql_name(name));
  }
  store::Statement query =
      database_.prepare(fmt::format("SELECT {} FROM {} WHERE {} > 0 LIMIT 1", types, sql_name(table), wrong));
  if (!query.step()) return;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string type = query.text(static_cast<int>(i));
    const char* wanted = columns[i].second == ColumnKind::integer ? "integer" : "text";
    if (type == wanted || (type == "null" && !required.contains(columns[i].first))) continue;
    refuse(fmt::format("column {} of table {} holds a value of type {}, where an export has {}",
                       columns[i].first, table, type, wanted));
  }
}

void NsysExport::refuse(const std::string& what) const {
  const std::string version = schema_version_.empty() ? "" : fmt::format(" (schema {})", schema_version_);
  throw Error(ErrorKind::corrupt,
              fmt::format("{}{}: make the file anew with nsys export --type sqlite", what, version));
}

}  // namespace ridgeline::import
