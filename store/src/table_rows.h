// table_rows.h: what each table held when the capture was finished, so that a reader notices what is gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// What was noted of one table.
struct NotedRows {
  std::string name;
  std::int64_t rows = 0;
  std::optional<std::int64_t> digest;
};

/// Notes the rows of every table. `known`: counts that need not be taken again.
void write_table_rows(Database& database, const std::map<std::string, std::int64_t>& known);

/// By name; empty if nothing was noted.
[[nodiscard]] std::vector<NotedRows> noted_rows(const Database& database);

/// Tables with a different number of rows than noted; only those that are counted in no time.
[[nodiscard]] std::vector<LostRows> lost_rows(const Database& database);

/// Of all values of a table, equal whatever the order of its rows.
[[nodiscard]] std::int64_t digest_of(const Database& database, std::string_view table);

}  // namespace ridgeline::store
