// verify.cpp: whether a capture still holds what was written.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "capture_file.h"
#include "ridgeline/base/text.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/schema.h"
#include "sequence_hash.h"
#include "table_rows.h"

namespace ridgeline::store {

namespace {

constexpr std::size_t kMaxLines = 100;

void check_structure(const Database& database, std::vector<std::string>& damage) {
  Statement row = database.prepare("PRAGMA integrity_check(20)");
  while (row.step()) {
    if (const std::string line = row.text(0); line != "ok") damage.push_back(one_line(line));
  }
}

std::vector<std::string> columns_of(const Database& database, std::string_view table) {
  Statement row = database.prepare("SELECT name FROM pragma_table_info(?)");
  row.bind_all(table);
  std::vector<std::string> names;
  while (row.step()) names.push_back(row.text(0));
  return names;
}

// A column that has another name holds the same values, and whoever asks for it finds none.
void check_columns(const Database& database, std::vector<std::string>& damage) {
  if (database.scalar_int64("PRAGMA user_version") != schema_version()) return;  // an older one has fewer
  Database made(":memory:", OpenMode::read_write);
  migrate(made, migrations(), views_sql());
  for (const std::string_view table : table_names()) {
    if (columns_of(database, table) != columns_of(made, table))
      damage.push_back(fmt::format("table {} has other columns than were written", table));
  }
}

void check_tables(const Database& database, Verification& verification) {
  const std::vector<NotedRows> noted = noted_rows(database);
  verification.noted = !noted.empty();
  for (const NotedRows& table : noted) {
    const std::int64_t rows = database.scalar_int64("SELECT count(*) FROM " + table.name);
    if (rows != table.rows) {
      verification.damage.push_back(
          fmt::format("table {} holds {} rows, {} were written", table.name, rows, table.rows));
    } else if (table.digest && *table.digest != digest_of(database, table.name)) {
      verification.damage.push_back(fmt::format("table {} holds other values than were written", table.name));
    }
  }
}

// What the launches of one step or process come to.
struct Sums {
  std::int64_t launches = 0;
  std::int64_t kernel_time_ns = 0;
  std::uint64_t sequence_hash = 0;
  void add(const Launch& launch) {
    ++launches;
    if (has_usable_time(launch))
      kernel_time_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(kernel_time_ns) +
                                                 static_cast<std::uint64_t>(launch.end_ns - launch.start_ns));
    sequence_hash += sequence_hash_part(launch);
  }
};

void check_launches(const Capture& capture, std::vector<std::string>& damage) {
  const Activity activity(capture);
  std::map<Id, Sums> steps;
  std::map<Id, Sums> processes;
  activity.for_each_launch({}, [&](const Launch& launch) {
    processes[launch.process_id].add(launch);
    if (launch.step_id) steps[*launch.step_id].add(launch);
  });
  const auto differ = [&](const char* what, Id id, const Sums& have, std::int64_t launches,
                          std::int64_t kernel_time_ns) {
    damage.push_back(fmt::format("{} {} holds {} launches of {} ns, {} of {} ns were written", what, id,
                                 have.launches, have.kernel_time_ns, launches, kernel_time_ns));
  };
  for (const StepTotal& total : activity.step_totals()) {
    const Sums& have = steps[total.step_id];
    if (have.launches != total.launches || have.kernel_time_ns != total.kernel_time_ns)
      differ("step id", total.step_id, have, total.launches, total.kernel_time_ns);
    else if (have.sequence_hash != total.sequence_hash)
      damage.push_back(
          fmt::format("step id {} holds other kernels or grids than were written", total.step_id));
    if (damage.size() >= kMaxLines) return;
  }
  std::map<Id, std::int64_t> recorded;
  for (const Completeness& row : capture.completeness())
    recorded[row.process_id] += row.kernel_records + row.graph_kernel_records;
  for (const ProcessTotal& total : activity.process_totals()) {
    const Sums& have = processes[total.process_id];
    if (have.launches != total.launches || have.kernel_time_ns != total.kernel_time_ns)
      differ("process id", total.process_id, have, total.launches, total.kernel_time_ns);
    const auto said = recorded.find(total.process_id);
    if (said != recorded.end() && said->second != total.launches) {
      damage.push_back(fmt::format("process id {} holds {} launches, {} were recorded", total.process_id,
                                   total.launches, said->second));
    }
  }
}

}  // namespace

std::vector<LostRows> Capture::lost_rows() const {
  return store::lost_rows(database_);
}

Verification Capture::verify() const {
  Verification verification;
  try {
    check_structure(database_, verification.damage);
    check_columns(database_, verification.damage);
    check_tables(database_, verification);
    check_launches(*this, verification.damage);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::corrupt) throw;
    verification.damage.push_back(error.message());
  }
  if (verification.damage.size() > kMaxLines) verification.damage.resize(kMaxLines);
  return verification;
}

}  // namespace ridgeline::store
