#include "html_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "charts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

constexpr int kNameColumns = 54;
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

}  // namespace

std::string html_table(const Table& table, const HtmlTable& how) {
  std::vector<std::size_t> shown;
  const std::vector<ColumnHead>& columns = table.columns();
  std::vector<double> largest(columns.size(), 0.0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnHead& c = columns[i];
    const bool asked = std::find(how.also_shown.begin(), how.also_shown.end(), c.key) != how.also_shown.end();
    if ((c.shown || asked) && !how.hidden.count(c.key)) shown.push_back(i);
    if (!how.largest_bars.count(c.key)) continue;
    for (std::size_t row = 0; row < table.size(); ++row)
      largest[i] = std::max(largest[i], number_of(table.cell(row, i).value()));
  }
  const auto optional = [&](const ColumnHead& c) {
    return c.drop_order > 1 || how.optional.count(c.key) > 0;
  };
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::size_t i : shown) {
    const ColumnHead& c = columns[i];
    const std::string& header = c.title.empty() ? c.header : c.title;
    std::string css = c.align == Align::right ? "r" : "";
    if (optional(c)) css += css.empty() ? "opt" : " opt";
    out += fmt::format("<th{}{}>{}{}</th>", css.empty() ? "" : " class=\"" + css + "\"",
                       c.help.empty() ? "" : " title=\"" + html_escape(c.help) + "\"", html_escape(header),
                       c.unit.empty() ? "" : "<small>" + html_escape(c.unit) + "</small>");
  }
  out += "</tr></thead>\n<tbody>\n";
  // Names are shortened together, so that different ones stay different.
  std::vector<std::vector<std::string>> names(columns.size());
  for (const std::size_t i : shown) {
    const Elide kind = columns[i].elide;
    if (kind != Elide::kernel_name && kind != Elide::start) continue;
    std::vector<std::string> full;
    for (std::size_t row = 0; row < table.size(); ++row)
      full.push_back(terminal_safe(bounded(table.cell(row, i).words())));
    names[i] =
        kind == Elide::start ? elide_paths(full, kNameColumns) : elide_kernel_names(full, kNameColumns);
  }
  const auto row_html = [&](auto&& cell_of, std::size_t number, bool total) {
    out += "<tr>";
    for (const std::size_t i : shown) {
      const ColumnHead& c = columns[i];
      const Cell cell = cell_of(i);
      const std::string words = bounded(cell.words(), kLongestTitle);
      std::string css = c.align == Align::right ? "r" : "";
      const auto add_css = [&](const char* name) {
        if (*name == '\0') return;
        if (!css.empty()) css += ' ';
        css += name;
      };
      if (optional(c)) add_css("opt");
      add_css(style_css(cell.style()));
      std::string attributes;
      const bool known = !std::holds_alternative<std::monostate>(cell.value());
      if (!total && known && how.ratio_bars.count(c.key)) {
        add_css("bar");
        attributes += bar_style(number_of(cell.value()));
      } else if (!total && known && how.largest_bars.count(c.key) && largest[i] > 0) {
        add_css("bar");
        attributes += bar_style(number_of(cell.value()) / largest[i]);
      }
      std::string inner;
      if (!total && c.key == how.name_key && !how.class_key.empty()) {
        const std::string kernel_class = cell_of(table.column(how.class_key)).words();
        inner += fmt::format("<span class=\"chip {}\" title=\"{}\"></span>",
                             class_css(parse_word<KernelClass>(kernel_class).value_or(KernelClass::other)),
                             html_escape(kernel_class));
      }
      if (!total && c.elide != Elide::never && c.elide != Elide::end) {
        add_css("name");
        const std::string safe = terminal_safe(words);
        const std::string cut = names[i].empty() ? elide_middle(safe, kNameColumns) : names[i][number];
        if (cut != safe) attributes += " title=\"" + html_escape(words) + "\"";
        inner += html_escape(cut);
        if (!total && c.key == how.name_key && !how.note_key.empty())
          inner += fmt::format(
              "<small>{}</small>",
              html_escape(elide_start(terminal_safe(bounded(cell_of(table.column(how.note_key)).words())),
                                      kNameColumns)));
      } else {
        inner += html_escape(words);
      }
      if (how.wrapping.count(c.key)) add_css("wrap");
      out += fmt::format("<td{}{}>{}</td>", css.empty() ? "" : " class=\"" + css + "\"", attributes, inner);
    }
    out += "</tr>\n";
  };
  for (std::size_t r = 0; r < table.size(); ++r)
    row_html([&](std::size_t i) { return table.cell(r, i); }, r, false);
  out += "</tbody>\n";
  if (table.total_count() > 0) {
    out += "<tfoot>\n";
    for (std::size_t t = 0; t < table.total_count(); ++t)
      row_html([&](std::size_t i) { return table.total(t, i); }, 0, true);
    out += "</tfoot>\n";
  }
  out += "</table></div>\n";
  if (table.left_out() > 0 && table.total_count() == 0) {
    out += fmt::format("<p class=\"soft\">{} not listed.</p>\n",
                       html_escape(counted(static_cast<std::int64_t>(table.left_out()), "more " + how.noun)));
  }
  return out;
}

}  // namespace ridgeline::reports
