// csv.cpp: a view of a capture, row by row.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "names.h"
#include "ridgeline/base/text.h"
#include "ridgeline/exports/export.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::exports {
namespace {

// Columns whose texts are words of ours, of the vendor's metrics or of a device: nobody's names.
constexpr std::array<std::string_view, 26> kPlainColumns = {
    "phase",        "status",        "class",    "tier",        "metric",    "label",
    "unit",         "configuration", "source",   "kind",        "call",      "quantity",
    "detail",       "device",        "chip",     "level",       "state",     "conditions",
    "clock",        "version",       "severity", "reason_code", "component", "compute_capability",
    "busiest_pipe", "cause"};

bool is_plain(const std::string& column) {
  return std::find(kPlainColumns.begin(), kPlainColumns.end(), column) != kPlainColumns.end();
}

std::set<std::string> known_views() {
  const std::string_view sql = store::views_sql();
  std::set<std::string> views;
  constexpr std::string_view kBegin = "CREATE VIEW ";
  for (std::size_t at = sql.find(kBegin); at != std::string_view::npos; at = sql.find(kBegin, at + 1)) {
    const std::size_t name = at + kBegin.size();
    views.emplace(sql.substr(name, sql.find(' ', name) - name));
  }
  return views;
}

// RFC 4180; a text that a spreadsheet would run has a ' before it.
std::string field(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string cell(const store::Value& value, const std::string& column, const Names& names) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) return "";
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *real);
    return {digits.data(), end.ptr};
  }
  if (const auto* text = std::get_if<std::string>(&value))
    return field(is_plain(column) ? clean_text(*text) : names.of(column, clean_text(*text)));
  return "";
}

}  // namespace

Result<std::int64_t> export_csv(const store::Capture& capture, const std::string& view,
                                const ExportSelection& selection, const Sink& out) {
  const std::set<std::string> views = known_views();
  if (!views.contains(view)) {
    std::string known;
    for (const std::string& one : views) known.append(known.empty() ? "" : ", ").append(one);
    return Failure{ErrorKind::usage, "no view is called '" + one_line(view) + "': use one of " + known};
  }
  if (!selection.range.empty())
    return Failure{ErrorKind::usage, "rows of a view are not cut by range: ridgeline sql selects them"};
  std::string query = "SELECT * FROM " + view;
  if (selection.steps) {
    query += " WHERE step_index BETWEEN " + std::to_string(selection.steps->first) + " AND " +
             std::to_string(selection.steps->second);
  }
  const Names names(selection.strip);
  std::vector<std::string> columns;
  std::int64_t rows = 0;
  const Result<void> done = capture.query(
      query,
      [&](std::vector<std::string>&& heads) {
        columns = std::move(heads);
        std::string line;
        for (const std::string& column : columns) line.append(line.empty() ? "" : ",").append(field(column));
        out(line + "\r\n");
        return true;
      },
      [&](std::vector<store::Value>&& values) {
        std::string line;
        for (std::size_t i = 0; i < values.size(); ++i)
          line.append(i == 0 ? "" : ",").append(cell(values[i], columns[i], names));
        out(line + "\r\n");
        ++rows;
        return true;
      });
  if (!done) {
    const bool no_step = selection.steps && done.failure().message.find("step_index") != std::string::npos;
    if (no_step)
      return Failure{ErrorKind::usage, "the rows of " + view + " are of no step: leave out --steps"};
    return done.failure();
  }
  return rows;
}

}  // namespace ridgeline::exports
