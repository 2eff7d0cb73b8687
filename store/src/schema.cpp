#include "ridgeline/store/schema.h"

#include <array>
#include <string>

#include "schema_tables.h"
#include "schema_views.h"

namespace ridgeline::store {

namespace {
constexpr std::array kMigrations = {Migration{1, kTablesV1}};
}

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
  Transaction transaction(database);
  for (const Migration& step : steps) {
    if (step.to_version <= have) continue;
    database.execute(std::string(step.sql));
  }
  for (const char* name : kViewNames) database.execute(std::string("DROP VIEW IF EXISTS ") + name);
  database.execute(std::string(views));
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(newest));
  transaction.commit();
}

}  // namespace ridgeline::store
