// capture_rows.h: every row of every table of a capture, as text.
#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "ridgeline/store/capture.h"
#include "support/fields.h"

namespace ridgeline::testing {

inline std::string row_text(const std::vector<store::Value>& row) {
  std::string out;
  for (const store::Value& value : row) {
    if (!out.empty()) out += '|';
    if (const auto* text = std::get_if<std::string>(&value)) {
      // Bytes, of a packed column, as their sum.
      const bool plain = std::ranges::none_of(
          *text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t'; });
      out += plain ? fields(*text) : "bytes " + text_sum_in_hex(text_sum(*text));
    } else if (!std::holds_alternative<std::monostate>(value)) {
      out += fields(value);
    } else {
      out += '-';
    }
  }
  return out + "\n";
}

/// So many of a table, the first ones.
inline constexpr std::size_t kRowsRead = 300;

/// Tables with their columns and first rows, of the others their sum; of a view, which says the same otherwise, the sum
/// alone. Empty ones are left out.
inline std::string capture_rows(const store::Capture& capture) {
  std::string out;
  const auto names = capture.query(
      "SELECT name, type = 'view' FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
      "'sqlite_%' "
      "ORDER BY 2, name = 'table_rows', 1");
  bool names_folder = false;
  for (const auto& name : names.value().rows) {
    const std::string& table = std::get<std::string>(name[0]);
    const std::size_t shown = std::get<std::int64_t>(name[1]) != 0 ? 0 : kShownElements;
    // What tables were when the capture was finished has sums over them, in which the folder's name is as it was.
    const bool without_sums = table == "table_rows" && names_folder;
    const auto rows =
        capture.query((without_sums ? "SELECT name, rows FROM " : "SELECT * FROM ") + table, kRowsRead);
    if (!rows.ok() || rows.value().rows.empty()) continue;
    out += "# " + table;
    for (const std::string& column : rows.value().columns) out += " " + column;
    out += "\n";
    std::size_t count = 0;
    std::uint64_t sum = text_sum({});
    for (const auto& row : rows.value().rows) {
      const std::string text = row_text(row);
      names_folder = names_folder || text.find("FOLDER") != std::string::npos;
      if (++count <= shown)
        out += text;
      else
        sum = text_sum(text, sum);
    }
    if (count > shown)
      out += "and " + std::to_string(count - shown) + " more: " + text_sum_in_hex(sum) + "\n";
  }
  return out;
}

}  // namespace ridgeline::testing
