#include "ridgeline/comparison/history.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "ridgeline/store/database.h"

namespace ridgeline::comparison {
namespace {

using store::Database;
using store::OpenMode;
using store::Statement;

constexpr std::int64_t kApplicationId = 0x52474854;  // "RGHT"
constexpr std::int64_t kVersion = 1;

constexpr const char* kTables = R"sql(
CREATE TABLE run (                 -- a recording
  id       INTEGER PRIMARY KEY,
  start_ns INTEGER NOT NULL,       -- Unix epoch
  host     TEXT NOT NULL,
  gpu      TEXT NOT NULL,          -- model
  gpu_uuid TEXT NOT NULL,
  driver   TEXT NOT NULL,
  cuda     TEXT NOT NULL,
  policy   TEXT NOT NULL,          -- of the clocks, as the user calls it
  command  TEXT NOT NULL,
  git_commit TEXT NOT NULL,        -- "" unknown
  dirty    INTEGER NOT NULL,
  UNIQUE (host, start_ns, command, gpu_uuid)
) STRICT;
CREATE TABLE series (              -- what values are of
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE        -- step, or place: kernel
) STRICT;
CREATE TABLE value (
  run_id    INTEGER NOT NULL REFERENCES run(id),
  series_id INTEGER NOT NULL REFERENCES series(id),
  ns        REAL NOT NULL,         -- of one step, median over the run
  PRIMARY KEY (run_id, series_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE accepted (            -- changes that are meant
  git_commit TEXT NOT NULL,
  series     TEXT NOT NULL,        -- "" all
  reason     TEXT NOT NULL,
  PRIMARY KEY (git_commit, series)
) STRICT, WITHOUT ROWID;
)sql";

std::string version_of(const RunProfile& run, const std::string& name) {
  const auto found = run.versions.find(name);
  return found == run.versions.end() ? "" : found->second;
}

std::string gpu_of(const RunProfile& run, std::string DeviceFacts::*member) {
  std::set<std::string> names;
  for (const DeviceFacts& device : run.devices) names.insert(device.*member);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::int64_t series_id(Database& file, const std::string& name) {
  Statement insert = file.prepare("INSERT INTO series(name) VALUES (?) ON CONFLICT DO NOTHING");
  insert.bind_all(name).run();
  Statement find = file.prepare("SELECT id FROM series WHERE name = ?");
  find.bind_all(name);
  find.step();
  return find.int64(0);
}

Database opened(const std::string& path) {
  return {path, OpenMode::read_write};
}

}  // namespace

Result<History> History::open(const std::string& path) {
  try {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      Database file(path, OpenMode::create);
      file.execute("PRAGMA application_id = " + std::to_string(kApplicationId) +
                   "; PRAGMA user_version = " + std::to_string(kVersion) + ";");
      file.execute(kTables);
      return History(path);
    }
    const Database file(path, OpenMode::read_only);
    if (file.scalar_int64("PRAGMA application_id") != kApplicationId)
      return Failure{ErrorKind::not_a_capture, path + ": no history: `ridgeline history add` makes one"};
    if (file.scalar_int64("PRAGMA user_version") > kVersion)
      return Failure{ErrorKind::newer_capture, path + ": written by a newer Ridgeline"};
    return History(path);
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

bool History::add(const RunProfile& run, const std::string& policy) {
  Database file = opened(path_);
  store::Transaction transaction(file);
  Statement insert = file.prepare(
      "INSERT INTO run(start_ns, host, gpu, gpu_uuid, driver, cuda, policy, command, git_commit, dirty) "
      "VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING RETURNING id");
  insert.bind_all(run.start_ns.value_or(0), run.host_name, gpu_of(run, &DeviceFacts::name),
                  gpu_of(run, &DeviceFacts::uuid), version_of(run, "driver"), version_of(run, "cuda_driver"),
                  policy, run.command_line, run.git_commit, run.git_dirty.value_or(false));
  if (!insert.step()) return false;
  const std::int64_t id = insert.int64(0);
  insert.reset();
  // Launch shapes are no part of a name: they come and go.
  std::map<std::string, double> values = {{"step", run.step.median_ns}};
  for (const KernelSite& site : run.sites) {
    values[(site.path.empty() ? "" : site.path + ": ") + site.family] += site.time_ns;
  }
  Statement store = file.prepare("INSERT INTO value(run_id, series_id, ns) VALUES (?,?,?)");
  for (const auto& [name, ns] : values) store.bind_all(id, series_id(file, name), ns).run();
  transaction.commit();
  return true;
}

Result<void> History::accept(const std::string& commit, const std::string& reason,
                             const std::string& series) {
  Database file = opened(path_);
  Statement find = file.prepare(
      "SELECT DISTINCT git_commit FROM run WHERE git_commit <> '' AND substr(git_commit, 1, ?) = ?");
  find.bind_all(static_cast<std::int64_t>(commit.size()), commit);
  std::vector<std::string> known;
  while (find.step()) known.push_back(find.text(0));
  find.reset();
  if (known.size() != 1 || commit.empty())
    return Failure{known.empty() || commit.empty() ? ErrorKind::no_data : ErrorKind::usage,
                   path_ + (known.size() > 1 ? ": several commits begin with '" : ": no run of a commit '") +
                       commit + "'"};
  file.prepare("INSERT INTO accepted VALUES (?,?,?) ON CONFLICT DO UPDATE SET reason = excluded.reason")
      .bind_all(known.front(), series, reason)
      .run();
  return {};
}

Result<std::int64_t> History::merge(const std::string& other) {
  if (!std::filesystem::exists(other)) return Failure{ErrorKind::io, other + ": no such file"};
  const auto checked = History::open(other);
  if (!checked) return checked.failure();
  try {
    Database file = opened(path_);
    const Database from(other, OpenMode::read_only);
    store::Transaction transaction(file);
    std::int64_t added = 0;
    Statement runs = from.prepare(
        "SELECT id, start_ns, host, gpu, gpu_uuid, driver, cuda, policy, command, git_commit, dirty FROM run "
        "ORDER BY id");
    Statement values =
        from.prepare("SELECT s.name, v.ns FROM value v JOIN series s ON s.id = v.series_id WHERE run_id = ?");
    while (runs.step()) {
      Statement insert = file.prepare(
          "INSERT INTO run(start_ns, host, gpu, gpu_uuid, driver, cuda, policy, command, git_commit, dirty) "
          "VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING RETURNING id");
      insert.bind_all(runs.int64(1), runs.text(2), runs.text(3), runs.text(4), runs.text(5), runs.text(6),
                      runs.text(7), runs.text(8), runs.text(9), runs.int64(10));
      if (!insert.step()) continue;
      const std::int64_t id = insert.int64(0);
      insert.reset();
      ++added;
      values.bind_all(runs.int64(0));
      while (values.step()) {
        file.prepare("INSERT INTO value VALUES (?,?,?)")
            .bind_all(id, series_id(file, values.text(0)), values.real(1))
            .run();
      }
      values.reset();
    }
    Statement accepted = from.prepare("SELECT git_commit, series, reason FROM accepted");
    while (accepted.step())
      file.prepare("INSERT INTO accepted VALUES (?,?,?) ON CONFLICT DO NOTHING")
          .bind_all(accepted.text(0), accepted.text(1), accepted.text(2))
          .run();
    transaction.commit();
    return added;
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

std::int64_t History::runs() const {
  return Database(path_, OpenMode::read_only).scalar_int64("SELECT count(*) FROM run");
}

std::vector<HistorySeries> History::series(std::size_t kernels) const {
  const Database file(path_, OpenMode::read_only);
  std::map<std::pair<std::string, std::string>, std::string> accepted;
  Statement reasons = file.prepare("SELECT git_commit, series, reason FROM accepted");
  while (reasons.step()) accepted[{reasons.text(0), reasons.text(1)}] = reasons.text(2);

  std::map<std::pair<std::string, std::string>, HistorySeries> all;
  Statement rows = file.prepare(
      "SELECT r.host || ', ' || r.gpu || ', ' || r.gpu_uuid || ', driver ' || r.driver || "
      "CASE r.cuda WHEN '' THEN '' ELSE ', CUDA ' || r.cuda END || "
      "CASE r.policy WHEN '' THEN '' ELSE ', ' || r.policy END, s.name, r.start_ns, r.git_commit, v.ns "
      "FROM value v JOIN run r ON r.id = v.run_id JOIN series s ON s.id = v.series_id ORDER BY r.start_ns, "
      "r.id");
  while (rows.step()) {
    HistorySeries& series = all[{rows.text(0), rows.text(1)}];
    series.kind = rows.text(0);
    series.name = rows.text(1);
    series.values.push_back({rows.int64(2), rows.text(3), rows.real(4)});
  }
  std::vector<HistorySeries> result;
  for (auto& [key, series] : all) result.push_back(std::move(series));
  // The step first, then kernels by their last time, of each kind.
  std::stable_sort(result.begin(), result.end(), [](const HistorySeries& x, const HistorySeries& y) {
    if (x.kind != y.kind) return x.kind < y.kind;
    if ((x.name == "step") != (y.name == "step")) return x.name == "step";
    return x.values.back().value_ns > y.values.back().value_ns;
  });
  std::map<std::string, std::size_t> of_kind;
  std::erase_if(result, [&](const HistorySeries& series) { return of_kind[series.kind]++ > kernels; });
  for (HistorySeries& series : result) {
    std::vector<double> values;
    for (const HistoryValue& value : series.values) values.push_back(value.value_ns);
    for (const ChangePoint& point : change_points(values)) {
      HistoryChange change;
      change.point = point;
      change.commit = series.values[point.at].commit;
      for (const std::string& name : {series.name, std::string()}) {
        const auto found = accepted.find({change.commit, name});
        if (found == accepted.end()) continue;
        change.accepted = true;
        change.reason = found->second;
        break;
      }
      series.changes.push_back(std::move(change));
    }
  }
  return result;
}

}  // namespace ridgeline::comparison
