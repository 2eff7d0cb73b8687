// table_formats.cpp: a table as Markdown, CSV and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {
namespace {

std::string json_string(std::string_view text) {
  return json_log_safe(nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

std::string json_text(const Scalar& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "null";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return json_string(v);
        } else if constexpr (std::is_same_v<T, double>) {
          return nlohmann::json(v).dump();
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

std::string csv_text(const Scalar& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return csv_field(v);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

}  // namespace

std::string render_markdown(const Table& table) {
  const std::vector<ColumnHead>& columns = table.columns();
  std::string header = "|";
  std::string rule = "|";
  for (const ColumnHead& c : columns) {
    if (!c.shown) continue;
    header += fmt::format(" {}{}{}{} |", markdown_cell(title_of(c)), title_unit_of(c).empty() ? "" : " (",
                          markdown_cell(title_unit_of(c)), title_unit_of(c).empty() ? "" : ")");
    rule += c.align == Align::right ? " ---: |" : " --- |";
  }
  std::string out = header + "\n" + rule + "\n";
  for (std::size_t row = 0; row < table.size(); ++row) {
    out += "|";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].shown) continue;
      const std::string words = bounded(table.cell(row, i).words());
      const bool code = columns[i].elide == Elide::kernel_name;
      out += fmt::format(" {} |", code ? markdown_code(kernel_display_name(words)) : markdown_cell(words));
    }
    out += "\n";
  }
  for (std::size_t line = 0; line < table.total_count(); ++line) {
    out += "|";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].shown) continue;
      const std::string words = markdown_cell(table.total(line, i).words());
      out += words.empty() ? "  |" : fmt::format(" **{}** |", words);
    }
    out += "\n";
  }
  return out;
}

void write_csv(const Table& table, const Sink& out, bool with_header) {
  const std::size_t count = table.columns().size();
  std::string line;
  for (std::size_t i = 0; i < count; ++i) line += (i > 0 ? "," : "") + csv_field(table.columns()[i].key);
  if (with_header) out(line + "\r\n");
  for (std::size_t row = 0; row < table.size(); ++row) {
    line.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) line += ',';
      line += csv_text(table.cell(row, i).value());
    }
    line += "\r\n";
    out(line);
  }
}

void write_row_lines_json(const Table& table, const Sink& out, int indent, bool first) {
  std::vector<std::string> keys;
  for (const ColumnHead& c : table.columns())
    keys.push_back((keys.empty() ? "{" : ", ") + json_string(c.key) + ": ");
  const std::string margin = "\n" + std::string(static_cast<std::size_t>(indent), ' ');
  std::string line;
  for (std::size_t row = 0; row < table.size(); ++row) {
    line = row == 0 && first ? "[" : ",";
    line += margin + "  ";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      line += keys[i];
      line += json_text(table.cell(row, i).value());
    }
    line += "}";
    out(line);
  }
}

void write_rows_json(const Table& table, const Sink& out, int indent) {
  if (table.size() == 0) {
    out("[]");
    return;
  }
  write_row_lines_json(table, out, indent, true);
  out("\n" + std::string(static_cast<std::size_t>(indent), ' ') + "]");
}

}  // namespace ridgeline::reports
