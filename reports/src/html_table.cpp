#include "html_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "charts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

constexpr int kCellColumns = 54;
constexpr std::size_t kLongestTitle = 400;  // bytes

const char* style_css(Style style) {
  switch (style) {
    case Style::good:
      return "good";
    case Style::fair:
      return "fair";
    case Style::bad:
      return "bad";
    case Style::dim:
      return "dim";
    case Style::strong:
      return "strong";
    case Style::plain:
      break;
  }
  return "";
}

double number_of(const Scalar& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return 0;
}

std::string bar_style(double share) {
  return fmt::format(" style=\"--w:{}%\"", fixed(std::clamp(share, 0.0, 1.0) * 100.0, 1));
}

// One table, part by part.
class HtmlTableWriter {
 public:
  HtmlTableWriter(const Table& table, const HtmlTable& how);
  std::string write();

 private:
  using CellOf = std::function<Cell(std::size_t column)>;

  [[nodiscard]] bool optional(const ColumnHead& c) const {
    return c.drop_order > 1 || how_.optional.count(c.key) > 0;
  }
  void head();
  // `number` is the row's; of a line of the totals it is of no account.
  void row(const CellOf& cell_of, std::size_t number, bool total);
  std::string cell(const CellOf& cell_of, std::size_t column, std::size_t number, bool total) const;
  std::string name_html(const CellOf& cell_of, std::size_t column, std::size_t number,
                        std::string& attributes) const;
  // The share of a bar after the value.
  [[nodiscard]] std::optional<double> bar_of(const Cell& cell, std::size_t column) const;

  const Table& table_;
  const HtmlTable& how_;
  const std::vector<ColumnHead>& columns_;
  std::vector<std::size_t> shown_;
  std::vector<double> largest_;                  // by column; 0 without a bar
  std::vector<std::vector<std::string>> names_;  // by column and row, shortened
  std::string out_;
};

HtmlTableWriter::HtmlTableWriter(const Table& table, const HtmlTable& how)
    : table_(table),
      how_(how),
      columns_(table.columns()),
      largest_(columns_.size(), 0.0),
      names_(columns_.size()) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ColumnHead& c = columns_[i];
    const bool asked = std::find(how.also_shown.begin(), how.also_shown.end(), c.key) != how.also_shown.end();
    if ((c.shown || asked) && !how.hidden.count(c.key)) shown_.push_back(i);
    if (!how.largest_bars.count(c.key)) continue;
    for (std::size_t row = 0; row < table.size(); ++row)
      largest_[i] = std::max(largest_[i], number_of(table.cell(row, i).value()));
  }
  // Names are shortened together, so that different ones stay different.
  for (const std::size_t i : shown_) {
    const Elide kind = columns_[i].elide;
    if (kind != Elide::kernel_name && kind != Elide::start) continue;
    std::vector<std::string> full;
    for (std::size_t row = 0; row < table.size(); ++row)
      full.push_back(terminal_safe(bounded(table.cell(row, i).words())));
    names_[i] =
        kind == Elide::start ? elide_paths(full, kCellColumns) : elide_kernel_names(full, kCellColumns);
  }
}

void HtmlTableWriter::head() {
  out_ += "<thead><tr>";
  for (const std::size_t i : shown_) {
    const ColumnHead& c = columns_[i];
    const std::string& unit = title_unit_of(c);
    std::string css = c.align == Align::right ? "r" : "";
    if (optional(c)) css += css.empty() ? "opt" : " opt";
    out_ +=
        fmt::format("<th{}{}>{}{}</th>", css.empty() ? "" : " class=\"" + css + "\"",
                    c.help.empty() ? "" : " title=\"" + html_escape(c.help) + "\"", html_escape(title_of(c)),
                    unit.empty() ? "" : "<small>" + html_escape(unit) + "</small>");
  }
  out_ += "</tr></thead>\n";
}

std::optional<double> HtmlTableWriter::bar_of(const Cell& cell, std::size_t column) const {
  const std::string& key = columns_[column].key;
  if (std::holds_alternative<std::monostate>(cell.value())) return std::nullopt;
  if (how_.ratio_bars.count(key)) return number_of(cell.value());
  if (how_.largest_bars.count(key) && largest_[column] > 0) return number_of(cell.value()) / largest_[column];
  return std::nullopt;
}

// What a name stands as; where it is cut, its whole goes into the attributes.
std::string HtmlTableWriter::name_html(const CellOf& cell_of, std::size_t column, std::size_t number,
                                       std::string& attributes) const {
  const ColumnHead& c = columns_[column];
  const std::string words = bounded(cell_of(column).words(), kLongestTitle);
  const std::string safe = terminal_safe(words);
  const std::string cut = names_[column].empty() ? elide_middle(safe, kCellColumns) : names_[column][number];
  if (cut != safe) attributes += " title=\"" + html_escape(words) + "\"";
  std::string html = html_escape(cut);
  if (c.key == how_.name_key && !how_.note_key.empty())
    html += fmt::format(
        "<small>{}</small>",
        html_escape(elide_start(terminal_safe(bounded(cell_of(table_.column(how_.note_key)).words())),
                                kCellColumns)));
  return html;
}

std::string HtmlTableWriter::cell(const CellOf& cell_of, std::size_t column, std::size_t number,
                                  bool total) const {
  const ColumnHead& c = columns_[column];
  const Cell cell = cell_of(column);
  std::string css = c.align == Align::right ? "r" : "";
  const auto add_css = [&](const char* name) {
    if (*name == '\0') return;
    if (!css.empty()) css += ' ';
    css += name;
  };
  if (optional(c)) add_css("opt");
  add_css(style_css(cell.style()));
  std::string attributes;
  if (const auto bar = total ? std::nullopt : bar_of(cell, column)) {
    add_css("bar");
    attributes += bar_style(*bar);
  }
  std::string inner;
  if (!total && c.key == how_.name_key && !how_.class_key.empty()) {
    const std::string kernel_class = cell_of(table_.column(how_.class_key)).words();
    inner += fmt::format("<span class=\"chip {}\" title=\"{}\"></span>",
                         class_css(parse_word<KernelClass>(kernel_class).value_or(KernelClass::other)),
                         html_escape(kernel_class));
  }
  if (!total && c.elide != Elide::never && c.elide != Elide::end) {
    add_css("name");
    inner += name_html(cell_of, column, number, attributes);
  } else {
    inner += html_escape(bounded(cell.words(), kLongestTitle));
  }
  if (how_.wrapping.count(c.key)) add_css("wrap");
  return fmt::format("<td{}{}>{}</td>", css.empty() ? "" : " class=\"" + css + "\"", attributes, inner);
}

void HtmlTableWriter::row(const CellOf& cell_of, std::size_t number, bool total) {
  out_ += "<tr>";
  for (const std::size_t i : shown_) out_ += cell(cell_of, i, number, total);
  out_ += "</tr>\n";
}

std::string HtmlTableWriter::write() {
  out_ = "<div class=\"scroll\"><table>\n";
  head();
  out_ += "<tbody>\n";
  for (std::size_t r = 0; r < table_.size(); ++r)
    row([&](std::size_t i) { return table_.cell(r, i); }, r, false);
  out_ += "</tbody>\n";
  if (table_.total_count() > 0) {
    out_ += "<tfoot>\n";
    for (std::size_t t = 0; t < table_.total_count(); ++t)
      row([&](std::size_t i) { return table_.total(t, i); }, 0, true);
    out_ += "</tfoot>\n";
  }
  out_ += "</table></div>\n";
  if (table_.left_out() > 0 && table_.total_count() == 0) {
    out_ +=
        fmt::format("<p class=\"soft\">{} not listed.</p>\n",
                    html_escape(counted(static_cast<std::int64_t>(table_.left_out()), "more " + how_.noun)));
  }
  return std::move(out_);
}

}  // namespace

std::string html_table(const Table& table, const HtmlTable& how) {
  return HtmlTableWriter(table, how).write();
}

}  // namespace ridgeline::reports
