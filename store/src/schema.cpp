#include "ridgeline/store/schema.h"

#include <array>
#include <exception>
#include <string>
#include <utility>

#include "convert_v3.h"
#include "convert_v8.h"
#include "convert_v9.h"
#include "schema_newest.h"
#include "schema_tables.h"
#include "schema_tables_v10.h"
#include "schema_tables_v11.h"
#include "schema_tables_v12.h"
#include "schema_tables_v13.h"
#include "schema_tables_v14.h"
#include "schema_tables_v15.h"
#include "schema_tables_v16.h"
#include "schema_tables_v17.h"
#include "schema_tables_v18.h"
#include "schema_tables_v19.h"
#include "schema_tables_v20.h"
#include "schema_tables_v3.h"
#include "schema_tables_v4.h"
#include "schema_tables_v6.h"
#include "schema_tables_v7.h"
#include "schema_tables_v9.h"
#include "schema_views.h"

namespace ridgeline::store {

namespace {
// The view v_rank says what a kernel took in the representative step.
constexpr const char kTablesV5[] = "";

constexpr std::array kMigrations = {
    Migration{1, kTablesV1},   Migration{2, kTablesV2},         Migration{3, kTablesV3, convert_to_v3},
    Migration{4, kTablesV4},   Migration{5, kTablesV5},         Migration{6, kTablesV6},
    Migration{7, kTablesV7},   Migration{8, "", convert_to_v8}, Migration{9, kTablesV9, convert_to_v9},
    Migration{10, kTablesV10}, Migration{11, kTablesV11},       Migration{12, kTablesV12},
    Migration{13, kTablesV13}, Migration{14, kTablesV14},       Migration{15, kTablesV15},
    Migration{16, kTablesV16}, Migration{17, kTablesV17},       Migration{18, kTablesV18},
    Migration{19, kTablesV19}, Migration{20, kTablesV20}};

bool has_nothing(const Database& database) {
  return database.scalar_int64("SELECT count(*) FROM sqlite_master") == 0;
}

void finish_schema(Database& database, std::string_view views, int version) {
  database.execute(std::string(views));
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(version));
}
}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}
int schema_version() {
  return kMigrations.back().to_version;
}
std::string_view views_sql() {
  return kViews;
}

void migrate(Database& database, std::span<const Migration> steps, std::string_view views) {
  const auto have = database.scalar_int64("PRAGMA user_version");
  const int newest = steps.empty() ? 0 : steps.back().to_version;
  if (have > newest) {
    throw Error(ErrorKind::newer_capture, database.path() + " has schema version " + std::to_string(have) +
                                              ", this program knows " + std::to_string(newest) +
                                              ": use a newer Ridgeline");
  }
  if (have == 0 && steps.data() == kMigrations.data() && steps.size() == kMigrations.size() &&
      has_nothing(database)) {
    Transaction transaction(database);
    database.execute(kNewestTables);
    finish_schema(database, views, newest);
    transaction.commit();
    return;
  }
  // Replacing a table that others refer to looks like deleting its rows; the pragma works outside a
  // transaction only.
  struct WithoutForeignKeys {
    Database& database;
    const bool were_on = database.scalar_int64("PRAGMA foreign_keys") != 0;
    explicit WithoutForeignKeys(Database& d) : database(d) { database.execute("PRAGMA foreign_keys = OFF"); }
    ~WithoutForeignKeys() {
      if (!were_on) return;
      try {
        database.execute("PRAGMA foreign_keys = ON");
      } catch (const std::exception&) {
        // The database cannot be used any more, and what left this scope says why.
      }
    }
  } without_foreign_keys(database);
  Transaction transaction(database);
  // First, because a table cannot be replaced while a view names it.
  for (const char* name : kViewNames) {
    // Some were tables in older versions.
    if (database.scalar_int64("SELECT count(*) FROM sqlite_master WHERE type = 'view' AND name = '" +
                              std::string(name) + "'") > 0)
      database.execute(std::string("DROP VIEW ") + name);
  }
  for (const Migration& step : steps) {
    if (step.to_version <= have) continue;
    database.execute(std::string(step.sql));
    if (step.convert != nullptr) step.convert(database);
  }
  finish_schema(database, views, newest);
  transaction.commit();
}

}  // namespace ridgeline::store
