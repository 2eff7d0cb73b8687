// table.h: one table, five renderings. A column is declared once, as a Column<Row>: what it is called, how it
// is shown and how its cell is made from a row. Text, Markdown, CSV, JSON, HTML, --columns, --sort and the
// lists in docs/json.md are made from these declarations. Rows are made when they are printed, not before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/reports/sink.h"

namespace ridgeline::reports {

enum class Format { text, json, csv, markdown };

/// What a program reads. monostate: not known (JSON null, empty CSV field).
using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

enum class Style { plain, good, fair, bad, dim, strong };

/// How people read a number. The unit is in the column's head.
enum class Form {
  plain,         // digits as they are: ids, times on a clock
  integer,       // 1,234,567
  milliseconds,  // of nanoseconds, 3 decimals
  microseconds,  // of nanoseconds, 1 decimal
  percent,       // of a ratio, 1 decimal
  ratio,         // 2 decimals
  megabytes,     // of bytes, 2 decimals
  gigabytes,     // of bytes, 3 decimals
  tera,          // of a count, in 10^12, 3 decimals
  megahertz,     // of hertz, whole
  general,       // 4 significant digits
};

/// A value and how people read it. The words are made when they are printed.
class Cell {
 public:
  Cell() = default;  // nothing: neither a value nor words
  [[nodiscard]] static Cell text(std::string text, Style style = Style::plain);
  [[nodiscard]] static Cell number(std::int64_t value, Form form = Form::integer, Style style = Style::plain);
  /// Missing unless finite.
  [[nodiscard]] static Cell number(double value, Form form, Style style = Style::plain);
  [[nodiscard]] static Cell number(const std::optional<double>& value, Form form, Style style = Style::plain);
  /// A value whose words are not its own.
  [[nodiscard]] static Cell worded(std::string words, Scalar value, Style style = Style::plain);
  [[nodiscard]] static Cell missing();

  [[nodiscard]] const Scalar& value() const noexcept { return value_; }
  [[nodiscard]] Style style() const noexcept { return style_; }
  /// For people; made harmless when it is printed.
  [[nodiscard]] std::string words() const;

 private:
  Scalar value_;
  std::optional<std::string> words_;
  Form form_ = Form::plain;
  Style style_ = Style::plain;
};

enum class Align { left, right };
enum class Elide { never, kernel_name, start, middle, end };
/// Which lines below the table have a cell of the column: none, the last one (all rows), or also the one that
/// stands for the rows that were cut.
enum class Total { none, all, parts };

/// What a column is called and how it is shown.
struct ColumnHead {
  std::string key;      // JSON and CSV name, --columns and --sort; unit included: "time_ns"
  std::string header;   // for people where room is scarce
  std::string unit{};   // for people, second header line
  std::string help{};   // what the value means, one line
  std::string title{};  // the header where there is room, in plain words; "": `header`
  std::optional<std::string> title_unit{};  // the unit beside the title; empty: `unit`
  Align align = Align::right;
  Elide elide = Elide::never;  // never: as wide as its widest cell
  int min_width = 24;          // of an elided column
  /// Where the width does not suffice, the column with the highest number goes first; 0 stays.
  int drop_order = 0;
  bool shown = true;  // false: only in JSON and CSV, or if asked for
  Total total = Total::none;
  bool repeats = false;  // says what another column says in words: of `all` columns people do without it
};

/// What it is called where there is room, with its unit: "saving that reaches the step, ms"; of a table's columns
/// each differs.
[[nodiscard]] std::string whole_name(const ColumnHead& head);
/// The parts of it.
[[nodiscard]] const std::string& title_of(const ColumnHead& head);
[[nodiscard]] const std::string& title_unit_of(const ColumnHead& head);

/// A column of a table whose rows are `Row`s.
template <typename Row>
struct Column {
  ColumnHead head;
  std::function<Cell(const Row&)> value;
};

/// A name for several columns, for --columns.
struct ColumnGroup {
  std::string name;
  std::vector<std::string> keys;
  std::size_t fixed = SIZE_MAX;  // so many stay whatever the width; of the others the last goes first
};

/// Rows in their order and cells on demand. Refers to what the rows are made from, which must outlive it.
class Table {
 public:
  using Cells = std::vector<Cell>;

  Table() = default;
  /// `row(i)` gives the i-th of `count` rows.
  template <typename Row, typename RowAt>
  Table(std::vector<Column<Row>> columns, std::size_t count, RowAt row) : count_(count) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      heads_.push_back(columns[i].head);
      source_.push_back(i);
    }
    auto declared = std::make_shared<const std::vector<Column<Row>>>(std::move(columns));
    cell_ = [declared, row](std::size_t i, std::size_t column) { return (*declared)[column].value(row(i)); };
  }

  [[nodiscard]] const std::vector<ColumnHead>& columns() const noexcept { return heads_; }
  [[nodiscard]] std::size_t column(std::string_view key) const;  // index; throws Error(internal)
  void show(std::string_view key, bool shown);                   // throws Error(internal)

  [[nodiscard]] std::size_t size() const noexcept { return count_; }  // rows that are printed
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }
  [[nodiscard]] Cell cell(std::size_t row, std::size_t column) const;
  [[nodiscard]] Cell cell(std::size_t row, std::string_view key) const { return cell(row, column(key)); }

  /// Below a rule in text, last in Markdown; not in CSV and JSON.
  [[nodiscard]] std::size_t total_count() const noexcept { return totals_.size(); }
  [[nodiscard]] const Cell& total(std::size_t line, std::size_t column) const;
  /// A line below the table, in the order of the declared columns.
  void add_total(Cells cells) { totals_.push_back(std::move(cells)); }

  /// How the line is made that stands for rows which keep() cut, from their indices.
  void set_rest(std::function<Cells(std::span<const std::size_t>)> rest) { rest_ = std::move(rest); }
  /// Keeps the first `rows`; the others are counted, and summed in a line of the totals where set_rest() says
  /// how.
  void keep(std::size_t rows);

  /// Only these rows, in that order. Before sort() and keep().
  void pick(std::vector<std::size_t> rows);

  /// Upward by that column, with "-" before the key downward; missing values last. The unit may be left out
  /// ("-time" for "-time_ns"). Before keep() and select(). Throws Error(usage): no such column.
  void sort(std::string_view key);

  void set_groups(std::vector<ColumnGroup> groups) { groups_ = std::move(groups); }
  [[nodiscard]] const std::vector<ColumnGroup>& groups() const noexcept { return groups_; }
  /// Keeps the columns of that comma-separated list, in that order, each once and shown. An item is a key,
  /// (the unit may be left out), one of the table's groups, `default` (what is shown anyway, dropped where
  /// the width does not suffice) or `all` (`for_people`: without those that repeat another). Throws
  /// Error(usage): an unknown item.
  void select(std::string_view keys, bool for_people = false);

 private:
  /// By its key, with or without the unit; end() if there is none.
  [[nodiscard]] std::vector<ColumnHead>::const_iterator head_named(std::string_view name) const;
  [[nodiscard]] std::string suggestion(std::string_view asked) const;
  [[nodiscard]] std::size_t source_row(std::size_t row) const { return order_ ? (*order_)[row] : row; }

  std::vector<ColumnHead> heads_;
  std::vector<std::size_t> source_;  // of each head: index of the declared column
  std::size_t count_ = 0;
  std::size_t left_out_ = 0;
  std::optional<std::vector<std::size_t>> order_;  // empty: as they come
  std::function<Cell(std::size_t, std::size_t)> cell_;
  std::vector<Cells> totals_;
  std::function<Cells(std::span<const std::size_t>)> rest_;
  std::vector<ColumnGroup> groups_;
};

/// The cells of a line of the totals: those that the columns declare for it, made from a row that holds the
/// sums.
template <typename Row>
[[nodiscard]] Table::Cells total_cells(const std::vector<Column<Row>>& columns, const Row& sums, Total kind) {
  Table::Cells cells(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Total of = columns[i].head.total;
    if (of == Total::parts || (of == Total::all && kind == Total::all)) cells[i] = columns[i].value(sums);
  }
  return cells;
}

struct TextStyle {
  int columns = 100;    // no line is wider
  bool colour = false;  // ANSI colours
};

/// The width that shows every column in full.
[[nodiscard]] int full_width(const Table& table);
/// Lines end in '\n'. Columns that did not fit are named in a last line.
[[nodiscard]] std::string render_text(const Table& table, const TextStyle& style);
[[nodiscard]] std::string render_markdown(const Table& table);
/// Header and rows, RFC 4180, CRLF; a row at a time.
void write_csv(const Table& table, const Sink& out, bool with_header = true);
/// [{key: value, ...}, ...] of the rows, a row at a time and one row per line, each indented by `indent`; ASCII.
void write_rows_json(const Table& table, const Sink& out, int indent = 0);
/// Its rows alone, each with the comma or (`first`) the bracket before it.
void write_row_lines_json(const Table& table, const Sink& out, int indent, bool first);

/// Text in a style's colour, each line for itself: a colour does not run over a line's end. Or as it is.
[[nodiscard]] std::string styled(std::string_view text, Style style, bool colour);

/// Words wrapped at `columns`; lines after the first are indented by `indent`.
[[nodiscard]] std::string wrapped(std::string_view text, int columns, int indent = 0);

}  // namespace ridgeline::reports
