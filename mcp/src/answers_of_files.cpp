// answers_of_files.cpp: which captures there are, what changed between two, and SQL.
#include <fmt/format.h>

#include "answer_parts.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/compare_query.h"
#include "ridgeline/queries/gap_view.h"
#include "ridgeline/queries/sql_query.h"
#include "ridgeline/reports/compare_documents.h"
#include "tools.h"

namespace ridgeline::mcp {
namespace {

constexpr std::int64_t kCapturesShown = 20;
constexpr std::int64_t kRowsShown = 50;
constexpr std::size_t kMaxCellBytes = 1000;

Json listed_capture(const CaptureFile& file) {
  Json row = about(file);
  row["bytes"] = file.bytes;
  const auto opened = store::Capture::open(file.path.string());
  if (!opened) {
    row["problem"] = clean_text(opened.failure().message.substr(0, 200));
    return row;
  }
  const store::Capture& capture = opened.value();
  try {
    if (capture.has_run()) {
      const store::Run run = capture.run();
      row["program"] = bounded_text(one_line(run.command_line), 200);
      if (run.start_ns) row["recorded"] = utc_text(*run.start_ns);
    }
    Json devices = Json::array();
    for (const store::Device& device : capture.devices()) devices.push_back(clean_text(device.name));
    row["devices"] = std::move(devices);
    row["steps"] = capture.steps().size();
  } catch (const Error& error) {
    row["problem"] = clean_text(error.message().substr(0, 200));
  }
  return row;
}

Json cell_json(const store::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value))
    return bounded_text(clean_text(*text), kMaxCellBytes);
  return nullptr;
}

// Each view with what a row of it is.
Json views() {
  Json list = Json::array();
  for (const queries::ViewDescription& view : queries::described_views())
    list.push_back({{"view", view.name}, {"rows", view.rows}});
  return list;
}

// The definition of one, whose comments say what its columns mean.
std::string definition_of(const std::string& name) {
  for (const queries::ViewDescription& view : queries::described_views()) {
    if (view.name == name) return view.definition;
  }
  throw Error(ErrorKind::usage, fmt::format("no view is called '{}': sql without a query lists them",
                                            bounded_text(one_line(name), 100)));
}

}  // namespace

Json answer_captures(const Call& call) {
  std::int64_t not_looked_at = 0;
  const std::vector<CaptureFile> all = call.captures.all(not_looked_at);
  const auto top = static_cast<std::size_t>(call.number("top", kCapturesShown));
  Json rows = Json::array();
  for (const CaptureFile& file : all) {
    if (rows.size() == top || call.stop.stop_requested()) break;
    rows.push_back(listed_capture(file));
  }
  Json out = Json::object();
  out["rows_total"] = all.size();
  out["sorted_by"] = "time of the file, newest first";
  if (not_looked_at > 0) out["folders_not_looked_into"] = not_looked_at;
  Json next = Json::array();
  if (!rows.empty()) {
    next.push_back(next_call("summary", {{"capture", rows.front()["capture"]}},
                             "where its time went and what to do first"));
  }
  if (rows.empty()) out["note"] = "there is no capture below the root: ridgeline record makes one";
  out["rows"] = std::move(rows);
  out["next"] = std::move(next);
  return out;
}

Json answer_compare(const Call& call) {
  const CaptureFile a = call.captures.find(call.text("a"));
  const CaptureFile b = call.captures.find(call.text("b"));
  analyzer::QueryOptions how;
  how.stop = call.stop;
  const comparison::Comparison compared =
      queries::ask(queries::CompareQuery{{a.path.string()}, {b.path.string()}, {}}, how).value();
  const Json document = Json::parse(reports::compare_document(compared, reports::ReportFormat::json).text());
  Json out = Json::object();
  out["a"] = clean_text(a.handle());
  out["b"] = clean_text(b.handle());
  out.update(picked(document, {"verdict", "text", "blame", "notes", "pairs", "matched_ratio", "counts"}));
  Json parts = Json::array();
  for (const Json& part : document.value("parts", Json::array())) {
    parts.push_back(picked(part, {"part", "outcome", "time_a_ns", "time_b_ns", "delta_ns", "low_ratio",
                                  "high_ratio", "reason"}));
  }
  out["parts"] = std::move(parts);
  Json rows = Json::array();
  const auto top = static_cast<std::size_t>(call.number("top", 20));
  const Json all = document.value("rows", Json::array());
  for (const Json& row : all) {
    if (rows.size() == top) break;
    rows.push_back(picked(row, {"kernel", "outcome", "time_a_ns", "time_b_ns", "delta_ns", "change_ratio",
                                "low_ratio", "high_ratio", "cause", "reason", "calls_a", "calls_b"}));
  }
  out["rows_total"] = all.size();
  out["sorted_by"] = "size of the difference in the step, largest first";
  out["rows"] = short_names(std::move(rows), "kernel");
  out["next"] = {next_call("explain", {{"capture", b.handle()}, {"kernel", "1"}},
                           "what holds the kernel of the second that could save most")};
  return out;
}

Json answer_sql(const Call& call) {
  const CaptureFile file = call.captures.find(call.text("capture"));
  const std::string query = call.text("query");
  Json out = about(file);
  if (query.empty()) {
    if (const std::string view = call.text("view"); !view.empty()) {
      out["definition"] = definition_of(view);
    } else {
      out["views"] = views();
    }
    const Json example = {{"capture", file.handle()},
                          {"query", "SELECT kernel, calls, time_ns FROM v_rank LIMIT 10"}};
    out["next"] = {next_call("sql", example, "an example")};
    return out;
  }
  const std::int64_t max_rows = call.number("max_rows", kRowsShown);
  const auto capture = store::Capture::open(file.path.string());
  const queries::SqlRows rows =
      queries::ask(capture.value(), queries::SqlQuery{query, max_rows}, call.stop).value();
  if (call.stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped before the last row");
  out["columns"] = Json::array();
  for (const std::string& column : rows.table.columns)
    out["columns"].push_back(bounded_text(clean_text(column), 200));
  Json list = Json::array();
  for (const auto& row : rows.table.rows) {
    Json cells = Json::array();
    for (const store::Value& value : row) cells.push_back(cell_json(value));
    list.push_back(std::move(cells));
  }
  out["rows"] = std::move(list);
  out["more_rows"] = rows.cut;
  if (rows.cut)
    out["note"] =
        fmt::format("there are more than {} rows: ORDER BY what matters, or give max_rows", max_rows);
  if (rows.table.rows.empty()) out["note"] = "no row matches; sql without a query lists the views";
  out["next"] = Json::array();
  return out;
}

}  // namespace ridgeline::mcp
