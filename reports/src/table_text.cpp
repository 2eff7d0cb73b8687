// table_text.cpp: a table for a terminal: widths, dropped columns, colours.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {
namespace {

// Spaces between two table columns; the narrow one where the wide one would cost a column.
constexpr int kGap = 2;
constexpr int kNarrowGap = 1;

std::string spaces(int count) {
  return std::string(static_cast<std::size_t>(std::max(count, 0)), ' ');
}

std::string padded(std::string_view text, int width, Align align) {
  const std::string fill = spaces(width - display_width(text));
  return align == Align::right ? fill + std::string(text) : std::string(text) + fill;
}

// What a column is called in the table, and the key that asks for it if that is another word.
std::string name_of(const ColumnHead& column) {
  const std::string& header = title_of(column);
  return header.empty() || header == column.key ? column.key : header + " (" + column.key + ")";
}

// The columns that are printed and their widths.
struct Layout {
  std::vector<std::size_t> index;
  std::vector<int> width;
  int gap = kGap;
  std::vector<std::string> dropped;
};

int natural_width(const Table& table, std::size_t column) {
  const ColumnHead& c = table.columns()[column];
  int width = std::max(display_width(terminal_safe(c.header)), display_width(c.unit));
  const auto widen = [&](const Cell& cell) {
    const std::string text = terminal_safe(bounded(cell.words()));
    width = std::max(width, c.elide == Elide::kernel_name ? display_width(kernel_display_name(text))
                                                          : display_width(text));
  };
  for (std::size_t row = 0; row < table.size(); ++row) widen(table.cell(row, column));
  for (std::size_t line = 0; line < table.total_count(); ++line) widen(table.total(line, column));
  return width;
}

Layout lay_out(const Table& table, int columns) {
  std::vector<int> natural(table.columns().size());
  Layout layout;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (!table.columns()[i].shown) continue;
    natural[i] = natural_width(table, i);
    layout.index.push_back(i);
  }
  // Least width with every elidable column squeezed.
  const auto least = [&](std::size_t i) {
    const ColumnHead& c = table.columns()[i];
    return c.elide == Elide::never ? natural[i] : std::min(natural[i], c.min_width);
  };
  const auto min_total = [&] {
    int total = layout.gap * (static_cast<int>(layout.index.size()) - 1);
    for (const std::size_t i : layout.index) total += least(i);
    return total;
  };
  int natural_total = kGap * (static_cast<int>(layout.index.size()) - 1);
  for (const std::size_t i : layout.index) natural_total += natural[i];
  if (natural_total > columns) layout.gap = kNarrowGap;
  while (min_total() > columns && layout.index.size() > 1) {
    auto worst = layout.index.end();
    for (auto it = layout.index.begin(); it != layout.index.end(); ++it) {
      const int order = table.columns()[*it].drop_order;
      if (order > 0 && (worst == layout.index.end() || order >= table.columns()[*worst].drop_order))
        worst = it;
    }
    if (worst == layout.index.end()) break;
    layout.dropped.insert(layout.dropped.begin(), name_of(table.columns()[*worst]));
    layout.index.erase(worst);
  }
  int spare = columns - min_total();
  for (const std::size_t i : layout.index) layout.width.push_back(least(i));
  // What is left goes to the elided columns, a column to each in turn.
  for (bool given = true; given && spare > 0;) {
    given = false;
    for (std::size_t k = 0; k < layout.index.size() && spare > 0; ++k) {
      if (layout.width[k] >= natural[layout.index[k]]) continue;
      ++layout.width[k];
      --spare;
      given = true;
    }
  }
  // Not even so: the widest columns give way, so that no line is wider than promised.
  while (spare < 0) {
    const auto widest = std::max_element(layout.width.begin(), layout.width.end());
    if (*widest <= 3) break;
    --*widest;
    ++spare;
  }
  return layout;
}

std::string trim_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string styled(std::string_view text, Style style, bool colour) {
  const char* code = "";
  switch (style) {
    case Style::plain:
      return std::string(text);
    case Style::good:
      code = "32";
      break;
    case Style::fair:
      code = "33";
      break;
    case Style::bad:
      code = "31";
      break;
    case Style::dim:
      code = "2";
      break;
    case Style::strong:
      code = "1";
      break;
  }
  if (!colour) return std::string(text);
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (end > from) out += fmt::format("\x1b[{}m{}\x1b[0m", code, text.substr(from, end - from));
    if (end < text.size()) out += '\n';
    from = end + 1;
  }
  return out;
}

int full_width(const Table& table) {
  int width = 0;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (table.columns()[i].shown) width += natural_width(table, i) + kGap;
  }
  return width;
}

std::string render_text(const Table& table, const TextStyle& style) {
  const Layout layout = lay_out(table, style.columns);
  std::string out;
  const auto line = [&](auto&& cell_of, bool elide_by_kind) {
    std::string plain;
    std::string shown;
    for (std::size_t k = 0; k < layout.index.size(); ++k) {
      const ColumnHead& column = table.columns()[layout.index[k]];
      const auto [text, cell_style] = cell_of(layout.index[k]);
      const std::string safe = terminal_safe(bounded(text));
      const Elide kind = elide_by_kind ? column.elide : Elide::end;
      const std::string cut = kind == Elide::middle  ? elide_middle(safe, layout.width[k])
                              : kind == Elide::start ? elide_start(safe, layout.width[k])
                                                     : elide_end(safe, layout.width[k]);
      const std::string gap = k == 0 ? "" : spaces(layout.gap);
      const bool last = k + 1 == layout.index.size();
      const std::string filled =
          last && column.align == Align::left ? cut : padded(cut, layout.width[k], column.align);
      plain += gap + filled;
      shown += gap + styled(filled, cell_style, style.colour);
    }
    out += (style.colour ? shown : log_line(trim_end(plain))) + "\n";
  };

  int total = layout.gap * (static_cast<int>(layout.index.size()) - 1);
  for (const int width : layout.width) total += width;
  std::string rule;
  for (int i = 0; i < total; ++i) rule += "─";
  rule = styled(rule, Style::dim, style.colour) + "\n";

  using Piece = std::pair<std::string, Style>;
  line([&](std::size_t i) { return Piece{table.columns()[i].header, Style::strong}; }, false);
  const bool units = std::any_of(layout.index.begin(), layout.index.end(),
                                 [&](std::size_t i) { return !table.columns()[i].unit.empty(); });
  if (units) line([&](std::size_t i) { return Piece{table.columns()[i].unit, Style::dim}; }, false);
  out += rule;
  // Names are shortened together, so that different ones stay different.
  std::vector<std::vector<std::string>> names(table.columns().size());
  for (std::size_t k = 0; k < layout.index.size(); ++k) {
    const std::size_t i = layout.index[k];
    const Elide kind = table.columns()[i].elide;
    if (kind != Elide::kernel_name && kind != Elide::start) continue;
    std::vector<std::string> full;
    for (std::size_t r = 0; r < table.size(); ++r)
      full.push_back(terminal_safe(bounded(table.cell(r, i).words())));
    names[i] =
        kind == Elide::start ? elide_paths(full, layout.width[k]) : elide_kernel_names(full, layout.width[k]);
  }
  for (std::size_t r = 0; r < table.size(); ++r) {
    line(
        [&](std::size_t i) {
          const Cell cell = table.cell(r, i);
          return Piece{names[i].empty() ? cell.words() : names[i][r], cell.style()};
        },
        true);
  }
  if (table.total_count() > 0) out += rule;
  for (std::size_t t = 0; t < table.total_count(); ++t) {
    line([&](std::size_t i) { return Piece{table.total(t, i).words(), table.total(t, i).style()}; }, false);
  }
  if (!layout.dropped.empty()) {
    const std::string note = fmt::format("Not shown at this width: {}.", fmt::join(layout.dropped, ", "));
    out += styled(wrapped(note, style.columns), Style::dim, style.colour) + "\n";
  }
  return out;
}

namespace {

// Whether a word and the one that follows are a number and its unit, which stay together.
bool is_quantity(std::string_view word, std::string_view rest) {
  if (word.empty() || word.back() < '0' || word.back() > '9') return false;
  const std::string_view next = rest.substr(0, rest.find_first_of(" ,;:.)"));
  static constexpr std::string_view kUnits[] = {"%",     "ms",      "µs",     "s",        "MHz",
                                                "TFLOP", "TFLOP/s", "TB/s",   "GB/s",     "GB",
                                                "MB",    "kB",      "points", "launches", "tokens"};
  return std::find(std::begin(kUnits), std::end(kUnits), next) != std::end(kUnits);
}

}  // namespace

std::string wrapped(std::string_view text, int columns, int indent) {
  std::string out;
  int used = 0;
  bool first_word = true;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = std::min(text.find(' ', from), text.size());
    if (is_quantity(text.substr(from, end - from), text.substr(std::min(end + 1, text.size()))))
      end = std::min(text.find(' ', end + 1), text.size());
    std::string word = elide_middle(text.substr(from, end - from), std::max(columns - indent, 8));
    from = end + 1;
    if (word.empty()) continue;
    const int width = display_width(word);
    if (first_word || used + 1 + width > columns) word = log_line(std::move(word));
    if (!first_word && used + 1 + width > columns) {
      out += '\n';
      out += spaces(indent);
      used = indent;
    } else if (!first_word) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
    first_word = false;
  }
  return out;
}

}  // namespace ridgeline::reports
