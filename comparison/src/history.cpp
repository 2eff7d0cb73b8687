#include "ridgeline/comparison/history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "history_cards.h"
#include "history_newest.h"
#include "history_runs.h"
#include "ridgeline/store/kept_database.h"
#include "ridgeline/store/kept_file.h"

namespace ridgeline::comparison {
namespace {

using store::Database;
using store::KeptChange;
using store::Statement;

constexpr std::string_view kTablesV1 = R"sql(
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

constexpr std::string_view kTablesV2 = R"sql(
CREATE TABLE run (                 -- a recording
  id       INTEGER PRIMARY KEY,
  start_ns INTEGER NOT NULL,       -- Unix epoch
  host     TEXT NOT NULL,
  gpu      TEXT NOT NULL,          -- models
  gpu_uuid TEXT NOT NULL,          -- the cards
  devices  INTEGER,                -- how many GPUs; NULL: added by a Ridgeline that did not say
  driver   TEXT NOT NULL,
  cuda     TEXT NOT NULL,
  policy   TEXT NOT NULL,          -- of the clocks, as the user calls it
  command  TEXT NOT NULL,
  name     TEXT NOT NULL,          -- what the user calls the program; "" its command is its name
  launches INTEGER,                -- of a step; NULL as above
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

constexpr std::array<std::string_view, 2> kVersions = {kTablesV1, kTablesV2};

void convert(Database& database, std::int64_t from_version) {
  if (from_version != 1) return;
  // Made anew, not altered: what a table's text says is what a file is checked by.
  const std::string tables(kTablesV2);
  const std::size_t begin = tables.find("CREATE TABLE run");
  const std::string run = tables.substr(begin, tables.find("CREATE TABLE series") - begin);
  database.execute(
      "CREATE TEMP TABLE earlier AS SELECT * FROM main.run;"
      "DROP TABLE main.run;" +
      run +
      "INSERT INTO main.run SELECT id, start_ns, host, gpu, gpu_uuid, NULL, driver, cuda, policy, command, "
      "'', "
      "NULL, git_commit, dirty FROM temp.earlier ORDER BY id;"
      "DROP TABLE temp.earlier;");
}

constexpr const char* kStep = "step";

const store::KeptFormat kFormat = {.name = "history",
                                   .maker = "`ridgeline history add`",
                                   .application_id = store::kHistoryApplicationId,
                                   .versions = kVersions,
                                   .convert = convert};

constexpr std::string_view kInsertRun =
    "INSERT INTO run(start_ns, host, gpu, gpu_uuid, devices, driver, cuda, policy, command, name, launches, "
    "git_commit, dirty) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING RETURNING id";

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

// False: known already.
bool add_run(Database& file, const RunProfile& run, const AddOptions& options) {
  Statement insert = file.prepare(kInsertRun);
  insert.bind_all(run.start_ns.value_or(0), run.host_name, gpu_of(run, &DeviceFacts::name),
                  gpu_of(run, &DeviceFacts::uuid), static_cast<std::int64_t>(run.devices.size()),
                  version_of(run, "driver"), version_of(run, "cuda_driver"), options.policy, run.command_line,
                  options.name, static_cast<std::int64_t>(run.order.size()), run.git_commit,
                  run.git_dirty.value_or(false));
  if (!insert.step()) return false;
  const std::int64_t id = insert.int64(0);
  insert.reset();
  // Launch shapes are no part of a name: they come and go.
  std::map<std::string, double> values = {{kStep, run.step.median_ns}};
  for (const KernelSite& site : run.sites)
    values[(site.path.empty() ? "" : site.path + ": ") + site.family] += site.time_ns;
  Statement store = file.prepare("INSERT INTO value(run_id, series_id, ns) VALUES (?,?,?)");
  for (const auto& [name, ns] : values) store.bind_all(id, series_id(file, name), ns).run();
  return true;
}

std::vector<StoredRun> stored_runs(const Database& file) {
  std::vector<StoredRun> runs;
  Statement rows = file.prepare(
      "SELECT id, start_ns, gpu, gpu_uuid, devices, driver, cuda, policy, "
      "CASE name WHEN '' THEN command ELSE name END, git_commit, launches FROM run ORDER BY start_ns, id");
  while (rows.step()) {
    runs.push_back({.id = rows.int64(0),
                    .start_ns = rows.int64(1),
                    .gpu = rows.text(2),
                    .card = rows.text(3),
                    .devices = rows.optional_int64(4),
                    .driver = rows.text(5),
                    .cuda = rows.text(6),
                    .policy = rows.text(7),
                    .program = rows.text(8),
                    .commit = rows.text(9),
                    .launches = rows.optional_int64(10)});
  }
  return runs;
}

using Accepted = std::map<std::pair<std::string, std::string>, std::string>;

// One quantity over the runs of a kind; NaN where a run has none.
struct Quantity {
  std::string name;
  std::vector<double> ns;
};

double last_of(const Quantity& quantity) {
  for (std::size_t i = quantity.ns.size(); i-- > 0;) {
    if (std::isfinite(quantity.ns[i])) return quantity.ns[i];
  }
  return 0;
}

// The step first, then the kernels with most time in the last run that has them.
std::vector<Quantity> quantities_of(const Database& file, const std::vector<StoredRun>& runs,
                                    const RunKind& kind, std::size_t kernels) {
  std::map<std::string, Quantity> by_name;
  Statement values =
      file.prepare("SELECT s.name, v.ns FROM value v JOIN series s ON s.id = v.series_id WHERE v.run_id = ?");
  for (std::size_t i = 0; i < kind.runs.size(); ++i) {
    values.bind_all(runs[kind.runs[i]].id);
    while (values.step()) {
      const double ns = values.real(1);
      if (!std::isfinite(ns) || ns <= 0) continue;
      Quantity& quantity = by_name[values.text(0)];
      quantity.ns.resize(kind.runs.size(), std::numeric_limits<double>::quiet_NaN());
      quantity.ns[i] = ns;
    }
    values.reset();
  }
  std::vector<Quantity> all;
  for (auto& [name, quantity] : by_name) {
    quantity.name = name;
    all.push_back(std::move(quantity));
  }
  std::stable_sort(all.begin(), all.end(), [](const Quantity& x, const Quantity& y) {
    if ((x.name == kStep) != (y.name == kStep)) return x.name == kStep;
    return last_of(x) > last_of(y);
  });
  const std::size_t steps = !all.empty() && all.front().name == kStep ? 1 : 0;
  if (all.size() > kernels + steps) all.resize(kernels + steps);
  return all;
}

class KindReport {
 public:
  KindReport(const std::vector<StoredRun>& runs, const RunKind& kind, std::vector<Quantity> quantities)
      : runs_(runs), kind_(kind), quantities_(std::move(quantities)) {
    std::map<std::string, std::size_t> numbers;
    for (const std::size_t run : kind_.runs)
      cards_.push_back(numbers.emplace(runs_[run].card, numbers.size()).first->second);
    for (const Quantity& quantity : quantities_) {
      std::vector<double> logs;
      for (const double ns : quantity.ns) logs.push_back(std::log(ns));
      logs_.push_back(std::move(logs));
    }
  }

  [[nodiscard]] bool can_change(std::size_t least) const { return kind_.runs.size() >= 2 * least; }

  void write(HistoryReport& report, const ChangeOptions& options, const Accepted& accepted) const {
    std::vector<std::vector<double>> levels;
    const bool one_card =
        std::all_of(cards_.begin(), cards_.end(), [](std::size_t card) { return card == 0; });
    for (std::size_t s = 0; s < quantities_.size(); ++s) {
      std::vector<double> level = one_card ? quantities_[s].ns : without_cards(logs_[s], cards_);
      if (!one_card) {
        for (double& value : level) value = std::exp(value);
      }
      levels.push_back(std::move(level));
    }
    const auto changes = joint_change_points(levels, options);
    std::vector<NewestSeries> newest;
    for (std::size_t s = 0; s < quantities_.size(); ++s) {
      report.series.push_back(series_of(s, changes[s], accepted));
      newest.push_back({quantities_[s].name, logs_[s], changes[s].empty() ? 0 : changes[s].back().at});
    }
    if (quantities_.empty() || quantities_.front().name != kStep) return;
    NewestRun run = newest_run(newest, cards_);
    const StoredRun& last = runs_[kind_.runs.back()];
    run.kind = kind_.name;
    run.start_ns = last.start_ns;
    run.commit = last.commit;
    report.newest.push_back(std::move(run));
  }

 private:
  [[nodiscard]] HistorySeries series_of(std::size_t s, const std::vector<ChangePoint>& changes,
                                        const Accepted& accepted) const {
    HistorySeries series;
    series.kind = kind_.name;
    series.name = quantities_[s].name;
    std::vector<std::size_t> place;  // of each run's value in the series
    for (std::size_t i = 0; i < kind_.runs.size(); ++i) {
      place.push_back(series.values.size());
      const StoredRun& run = runs_[kind_.runs[i]];
      const double ns = quantities_[s].ns[i];
      if (std::isfinite(ns)) series.values.push_back({run.start_ns, run.commit, run.card, ns});
    }
    for (ChangePoint point : changes) {
      HistoryChange change;
      change.commit = runs_[kind_.runs[point.at]].commit;
      point.at = place[point.at];
      change.point = point;
      for (const std::string& name : {series.name, std::string()}) {
        const auto found = accepted.find({change.commit, name});
        if (found == accepted.end()) continue;
        change.accepted = true;
        change.reason = found->second;
        break;
      }
      series.changes.push_back(std::move(change));
    }
    return series;
  }

  const std::vector<StoredRun>& runs_;
  const RunKind& kind_;
  std::vector<Quantity> quantities_;
  std::vector<std::size_t> cards_;         // a number for each run's
  std::vector<std::vector<double>> logs_;  // of each quantity
};

// What has to be shown for a change of one of `kinds` grows with their number: permutations must be able to.
ChangeOptions options_for(std::size_t kinds) {
  ChangeOptions options;
  options.significance /= static_cast<double>(std::max<std::size_t>(1, kinds));
  options.permutations = std::clamp(static_cast<int>(5 / options.significance), options.permutations, 9999);
  return options;
}

Failure failure_of(const Error& error) {
  return {error.kind(), error.message()};
}

}  // namespace

Result<History> History::open(const std::string& path) {
  try {
    std::error_code ignored;
    // What a first writer left that was killed is as good as nothing.
    if (std::filesystem::exists(path, ignored)) {
      try {
        static_cast<void>(store::open_to_read(path, kFormat));
        return History(path);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::no_data) throw;
      }
    }
    store::open_to_change(path, kFormat).commit();
    return History(path);
  } catch (const Error& error) {
    return failure_of(error);
  }
}

std::int64_t History::add(std::span<const RunProfile> runs, const AddOptions& options) {
  KeptChange change = store::open_to_change(path_, kFormat);
  std::int64_t added = 0;
  for (const RunProfile& run : runs) added += add_run(change.database(), run, options) ? 1 : 0;
  change.commit();
  return added;
}

Result<void> History::accept(const std::string& commit, const std::string& reason,
                             const std::string& series) {
  try {
    KeptChange change = store::open_to_change(path_, kFormat);
    Database& file = change.database();
    std::vector<std::string> known;
    {
      Statement find = file.prepare(
          "SELECT DISTINCT git_commit FROM run WHERE git_commit <> '' AND substr(git_commit, 1, ?) = ?");
      find.bind_all(static_cast<std::int64_t>(commit.size()), commit);
      while (find.step()) known.push_back(find.text(0));
    }
    if (known.size() != 1 || commit.empty())
      return Failure{known.empty() || commit.empty() ? ErrorKind::no_data : ErrorKind::usage,
                     path_ +
                         (known.size() > 1 ? ": several commits begin with '" : ": no run of a commit '") +
                         commit + "'"};
    file.prepare("INSERT INTO accepted VALUES (?,?,?) ON CONFLICT DO UPDATE SET reason = excluded.reason")
        .bind_all(known.front(), series, reason)
        .run();
    change.commit();
    return {};
  } catch (const Error& error) {
    return failure_of(error);
  }
}

Result<std::int64_t> History::merge(const std::string& other) {
  std::error_code ignored;
  if (std::filesystem::equivalent(path_, other, ignored))
    return Failure{ErrorKind::usage, other + ": is the history itself"};
  try {
    const Database from = store::open_to_read(other, kFormat);
    KeptChange change = store::open_to_change(path_, kFormat);
    Database& file = change.database();
    std::int64_t added = 0;
    {
      Statement runs = from.prepare(
          "SELECT id, start_ns, host, gpu, gpu_uuid, devices, driver, cuda, policy, command, name, launches, "
          "git_commit, dirty FROM run ORDER BY id");
      Statement values = from.prepare(
          "SELECT s.name, v.ns FROM value v JOIN series s ON s.id = v.series_id WHERE run_id = ?");
      while (runs.step()) {
        Statement insert = file.prepare(kInsertRun);
        insert.bind_all(runs.int64(1), runs.text(2), runs.text(3), runs.text(4), runs.optional_int64(5),
                        runs.text(6), runs.text(7), runs.text(8), runs.text(9), runs.text(10),
                        runs.optional_int64(11), runs.text(12), runs.int64(13));
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
    }
    change.commit();
    return added;
  } catch (const Error& error) {
    return failure_of(error);
  }
}

std::int64_t History::runs() const {
  return store::open_to_read(path_, kFormat).scalar_int64("SELECT count(*) FROM run");
}

HistoryReport History::report(std::size_t kernels) const {
  const Database file = store::open_to_read(path_, kFormat);
  Accepted accepted;
  Statement reasons = file.prepare("SELECT git_commit, series, reason FROM accepted");
  while (reasons.step()) accepted[{reasons.text(0), reasons.text(1)}] = reasons.text(2);
  const std::vector<StoredRun> runs = stored_runs(file);
  std::vector<RunKind> kinds = kinds_of(runs);
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const RunKind& x, const RunKind& y) { return x.name < y.name; });
  std::vector<KindReport> parts;
  for (const RunKind& kind : kinds) parts.emplace_back(runs, kind, quantities_of(file, runs, kind, kernels));
  const std::size_t least = ChangeOptions{}.least;
  const auto tested = static_cast<std::size_t>(std::count_if(
      parts.begin(), parts.end(), [&](const KindReport& part) { return part.can_change(least); }));
  HistoryReport report;
  for (const KindReport& part : parts) part.write(report, options_for(tested), accepted);
  std::stable_sort(report.newest.begin(), report.newest.end(),
                   [](const NewestRun& x, const NewestRun& y) { return x.start_ns > y.start_ns; });
  return report;
}

}  // namespace ridgeline::comparison
