#include "table_rows.h"

#include <algorithm>
#include <bit>
#include <variant>

#include "capture_file.h"

namespace ridgeline::store {

namespace {

// Rows. Of more launches and ranges the sums of steps and sites stand for the values: digests would be a
// fifth of an import.
constexpr std::int64_t kMaxDigested = 100'000;
constexpr std::int64_t kMaxCounted = 10'000;  // rows, of a table that every reader counts

std::uint64_t mixed(std::uint64_t hash) {  // the finaliser of SplitMix64
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

struct Digest {
  std::uint64_t hash = 0;
  void add(std::uint64_t value) { hash = mixed(hash + value + 0x9e3779b97f4a7c15ULL); }
  void operator()(std::monostate) { add(1); }
  void operator()(std::int64_t value) {
    add(2);
    add(static_cast<std::uint64_t>(value));
  }
  void operator()(double value) {
    add(3);
    add(std::bit_cast<std::uint64_t>(value));
  }
  void operator()(const std::string& value) {
    add(4 + value.size());
    std::uint64_t bytes = 0xcbf29ce484222325ULL;  // FNV-1a
    for (const char c : value) bytes = (bytes ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    add(bytes);
  }
};

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::int64_t count(const Database& database, std::string_view table) {
  return database.scalar_int64("SELECT count(*) FROM " + quoted(table));
}

bool exists(const Database& database) {
  return database.scalar_int64(
             "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'table_rows'") > 0;
}

}  // namespace

std::int64_t digest_of(const Database& database, std::string_view table) {
  std::uint64_t sum = 0;
  Statement row = database.prepare("SELECT * FROM " + quoted(table));
  while (row.step()) {
    Digest digest;
    for (int column = 0; column < row.column_count(); ++column) std::visit(digest, row.value(column));
    sum += digest.hash;
  }
  return static_cast<std::int64_t>(sum);
}

void write_table_rows(Database& database, const std::map<std::string, std::int64_t>& known) {
  Statement insert = database.prepare("INSERT OR REPLACE INTO table_rows VALUES (?,?,?)");
  for (const std::string_view table : table_names()) {
    const auto found = known.find(std::string(table));
    const std::int64_t rows = found != known.end() ? found->second : count(database, table);
    std::optional<std::int64_t> digest;
    if (rows <= kMaxDigested) digest = digest_of(database, table);
    insert.bind_all(table, rows, digest);
    insert.run();
  }
}

std::vector<NotedRows> noted_rows(const Database& database) {
  std::vector<NotedRows> noted;
  if (!exists(database)) return noted;
  Statement row = database.prepare("SELECT name, rows, digest FROM table_rows ORDER BY name");
  while (row.step()) {
    std::string name = row.text(0);
    const auto tables = table_names();
    if (std::find(tables.begin(), tables.end(), name) == tables.end()) continue;  // of another version
    noted.push_back({std::move(name), row.int64(1), row.optional_int64(2)});
  }
  return noted;
}

std::vector<LostRows> lost_rows(const Database& database) {
  std::vector<LostRows> lost;
  for (const NotedRows& table : noted_rows(database)) {
    if (table.rows > kMaxCounted) continue;
    const std::int64_t rows = count(database, table.name);
    // Under the names that a reader knows them by.
    const std::string name = table.name == "launch_row"  ? "launch"
                             : table.name == "range_row" ? "nvtx_range"
                                                         : table.name;
    if (rows != table.rows) lost.push_back({name, rows, table.rows});
  }
  return lost;
}

}  // namespace ridgeline::store
