#include "ridgeline/store/added_counters.h"

#include <optional>

#include "reason_table.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/metric_catalog.h"
#include "ridgeline/store/schema.h"
#include "table_rows.h"

namespace ridgeline::store {

namespace {

// Nothing that the file brings along is run by what is written to it.
Database open_to_add(const std::string& path) {
  Database database(path, OpenMode::read_write);
  database.distrust_schema();
  database.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF");
  return database;
}

class CounterAdder {
 public:
  explicit CounterAdder(Database& database) : database_(database), reasons_(database) {}

  void add(const AddedCounters& added) {
    std::vector<Id> metrics;
    metrics.reserve(added.metrics.size());
    for (const AddedCounters::Metric& metric : added.metrics) metrics.push_back(metric_id(metric));
    Statement value = database_.prepare(
        "INSERT OR REPLACE INTO launch_metric(launch_id, metric_id, tier, value) VALUES (?,?,?,?)");
    for (const AddedCounters::Value& each : added.values) {
      value.bind_all(each.launch_id, metrics.at(each.metric), Tier::t2, each.value);
      value.run();
    }
    const Id configuration = configuration_id(added.configuration);
    Statement step = database_.prepare("UPDATE step SET configuration_id = ? WHERE id = ?");
    for (const Id id : added.steps) {
      step.bind_all(configuration, id);
      step.run();
    }
    add_words(added);
  }

 private:
  Id metric_id(const AddedCounters::Metric& metric) {
    Statement known = database_.prepare("SELECT id FROM metric WHERE name = ?");
    known.bind_all(metric.name);
    if (known.step()) return known.int64(0);
    const std::optional<MetricDescription> described = describe_metric(metric.name);
    Statement made = database_.prepare("INSERT INTO metric(name, label, unit, meaning) VALUES (?,?,?,?)");
    if (described)
      made.bind_all(metric.name, described->label, described->unit, described->meaning);
    else
      made.bind_all(metric.name, metric.name, metric.unit, "");
    made.run();
    return database_.last_insert_id();
  }

  Id configuration_id(const std::string& name) {
    Statement known = database_.prepare("SELECT id FROM counter_configuration WHERE name = ?");
    known.bind_all(name);
    if (known.step()) return known.int64(0);
    Statement made = database_.prepare("INSERT INTO counter_configuration(name, pass_count) VALUES (?, 1)");
    made.bind_all(name);
    made.run();
    return database_.last_insert_id();
  }

  void add_words(const AddedCounters& added) {
    Statement known = database_.prepare(
        "SELECT 1 FROM tier_status WHERE process_id = ? AND tier = ? AND status IN ('ok', 'partial')");
    known.bind_all(added.status.process_id, added.status.tier);
    if (!known.step()) {
      Statement status = database_.prepare(
          "INSERT OR REPLACE INTO tier_status(process_id, tier, status, reason_id) VALUES (?,?,?,?)");
      status.bind_all(added.status.process_id, added.status.tier, added.status.status,
                      reasons_.id_of(added.status.reason));
      status.run();
    }
    Statement message =
        database_.prepare("INSERT INTO message(process_id, time_ns, severity, reason_id) VALUES (?,?,?,?)");
    for (const Message& each : added.messages) {
      message.bind_all(each.process_id, each.time_ns, each.severity, reasons_.id_of(each.what));
      message.run();
    }
    Statement version = database_.prepare("INSERT OR REPLACE INTO version VALUES (?,?)");
    for (const auto& [component, text] : added.versions) {
      version.bind_all(component, text);
      version.run();
    }
  }

  Database& database_;
  ReasonTable reasons_;
};

}  // namespace

void prepare_for_counters(const std::string& path) {
  Database database = open_to_add(path);
  migrate(database, migrations(), views_sql());
}

void add_counters(const std::string& path, const AddedCounters& added) {
  Database database = open_to_add(path);
  Transaction transaction(database);
  CounterAdder(database).add(added);
  if (!noted_rows(database).empty()) write_table_rows(database, {});
  transaction.commit();
}

}  // namespace ridgeline::store
