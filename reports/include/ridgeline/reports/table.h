// table.h: one table, four renderings. A cell holds what a person reads and the value that a program
// reads: text and Markdown print the former, JSON and CSV the latter with the unit in the column's key.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline::reports {

enum class Format { text, json, csv, markdown };

// monostate: not known (JSON null, empty CSV field).
using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

enum class Style { plain, good, fair, bad, dim, strong };

struct Cell {
  std::string text;  // for people; made harmless when it is printed
  Scalar value;      // for programs
  Style style = Style::plain;

  [[nodiscard]] static Cell of_text(std::string text, Style style = Style::plain);
  [[nodiscard]] static Cell of_number(std::string text, double value, Style style = Style::plain);
  [[nodiscard]] static Cell of_integer(std::int64_t value,
                                       Style style = Style::plain);  // with thousands separators
  [[nodiscard]] static Cell missing();
};

enum class Align { left, right };
enum class Elide { never, kernel_name, start, middle, end };

struct Column {
  std::string key;     // JSON and CSV name and --columns, unit included: "time_ns"
  std::string header;  // for people
  std::string unit;    // for people, second header line
  Align align = Align::right;
  Elide elide = Elide::never;  // never: as wide as its widest cell
  int least_width = 24;        // of an elided column
  // Where the width does not suffice, the column with the highest number goes first; 0 stays.
  int drop_order = 0;
  bool shown = true;  // false: only in JSON and CSV, or if asked for
};

// A name for several columns, for --columns.
struct ColumnGroup {
  std::string name;
  std::vector<std::string> keys;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;    // each as long as columns
  std::vector<std::vector<Cell>> totals;  // below a rule in text, last in Markdown; not in CSV

  std::vector<ColumnGroup> groups = {};

  [[nodiscard]] std::size_t column(std::string_view key) const;  // index; throws Error(internal)
};

// Keeps the columns of that comma-separated list, in that order, each once and shown. An item is a key, one
// of the table's groups, `default` (what is shown anyway, dropped where the width does not suffice) or `all`.
// Failure usage: an unknown item, with the list of the known ones.
[[nodiscard]] Result<Table> select_columns(const Table& table, std::string_view keys);

struct TextStyle {
  int columns = 100;    // no line is wider
  bool colour = false;  // ANSI colours
};

// The width that shows every column in full.
[[nodiscard]] int full_width(const Table& table);
// Lines end in '\n'. Columns that did not fit are named in a last line.
[[nodiscard]] std::string render_text(const Table& table, const TextStyle& style);
[[nodiscard]] std::string render_markdown(const Table& table);
[[nodiscard]] std::string render_csv(const Table& table);  // header and rows, RFC 4180, CRLF
// [{key: value, ...}, ...] of the rows.
[[nodiscard]] nlohmann::ordered_json rows_json(const Table& table);
// Two spaces of indent, ASCII only, invalid UTF-8 replaced, newline at the end.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);

// Text in a style's colour, or as it is.
[[nodiscard]] std::string styled(std::string_view text, Style style, bool colour);

// Words wrapped at `columns`; lines after the first are indented by `indent`.
[[nodiscard]] std::string wrapped(std::string_view text, int columns, int indent = 0);

}  // namespace ridgeline::reports
