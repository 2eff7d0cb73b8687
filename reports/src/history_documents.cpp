#include "ridgeline/reports/history_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "html_style.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

using analyzer::HistoryChange;
using analyzer::HistorySeries;

struct Line {
  const HistorySeries* series = nullptr;
  const HistoryChange* change = nullptr;  // null: the series has none
};

double ratio_of(const HistoryChange& change) {
  return change.point.before > 0 ? change.point.after / change.point.before - 1 : 0;
}

std::vector<Line> lines_of(const std::vector<HistorySeries>& series) {
  std::vector<Line> lines;
  for (const HistorySeries& one : series) {
    for (const HistoryChange& change : one.changes) lines.push_back({&one, &change});
    if (one.changes.empty()) lines.push_back({&one, nullptr});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& x, const Line& y) {
    const auto weight = [](const Line& line) {
      return line.change == nullptr ? -1 : std::abs(line.change->point.after - line.change->point.before);
    };
    return weight(x) > weight(y);
  });
  return lines;
}

Style style_of(const HistoryChange* change) {
  if (change == nullptr || change->accepted) return Style::dim;
  return change->point.after > change->point.before ? Style::bad : Style::good;
}

constexpr const char* kMoreStyle =
    "svg .trend{stroke:var(--gemm);stroke-width:1.4}svg .worse{stroke:var(--bad);stroke-width:1.4}"
    "svg .better{stroke:var(--good);stroke-width:1.4}svg .meant{stroke:var(--soft);stroke-width:1.4}svg "
    ".value{fill:var(--gemm)}";

std::string trend_chart(const HistorySeries& series) {
  constexpr double kWidth = 1000, kHeight = 130, kLeft = 70, kRight = 990, kTop = 10, kBottom = 108;
  double low = series.values.front().value_ns, high = low;
  for (const analyzer::HistoryValue& value : series.values) {
    low = std::min(low, value.value_ns);
    high = std::max(high, value.value_ns);
  }
  // At least 5 % of the value: noise shall look like noise.
  const double room = std::max(0.025 * high, (high - low) * 0.1);
  low -= room;
  high += room;
  const auto x = [&](std::size_t i) {
    return series.values.size() < 2 ? (kLeft + kRight) / 2
                                    : kLeft + (kRight - kLeft) * static_cast<double>(i) /
                                                  static_cast<double>(series.values.size() - 1);
  };
  const auto y = [&](double ns) { return kBottom - (kBottom - kTop) * (ns - low) / (high - low); };
  Svg svg(kWidth, kHeight, series.name);
  for (const double ns : {low + room, high - room}) {
    svg.line(kLeft, y(ns), kRight, y(ns), "grid");
    svg.text(kLeft - 6, y(ns) + 4, time_text(ns), "tick", Svg::Anchor::end);
  }
  for (std::size_t i = 1; i < series.values.size(); ++i)
    svg.line(x(i - 1), y(series.values[i - 1].value_ns), x(i), y(series.values[i].value_ns), "trend");
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const analyzer::HistoryValue& value = series.values[i];
    svg.circle(x(i), y(value.value_ns), 3, "value",
               fmt::format("{} {} {}", value.commit.substr(0, 12), utc_text(value.start_ns),
                           time_text(value.value_ns)));
  }
  for (const HistoryChange& change : series.changes) {
    const double at = (x(change.point.at - 1) + x(change.point.at)) / 2;
    svg.line(at, kTop, at, kBottom, change.accepted ? "meant" : ratio_of(change) > 0 ? "worse" : "better");
    svg.text(at, kBottom + 16,
             fmt::format("{} {}", change.commit.substr(0, 10), signed_percent(ratio_of(change))), "tick",
             Svg::Anchor::middle, change.reason);
  }
  return svg.finish();
}

}  // namespace

Table history_table(const std::vector<HistorySeries>& series) {
  const auto lines = std::make_shared<const std::vector<Line>>(lines_of(series));
  std::vector<Column<Line>> columns;
  columns.push_back({{.key = "series",
                      .header = "series",
                      .help = "the step, or a kernel's family at its place",
                      .align = Align::left,
                      .elide = Elide::start,
                      .least_width = 30},
                     [](const Line& l) { return Cell::text(l.series->name); }});
  columns.push_back({{.key = "kind",
                      .header = "runs on",
                      .help = "host, GPU, driver, CUDA and policy: series of other kinds are others",
                      .align = Align::left,
                      .elide = Elide::middle,
                      .drop_order = 2,
                      .shown = false},
                     [](const Line& l) { return Cell::text(l.series->kind); }});
  columns.push_back(
      {{.key = "runs", .header = "runs", .help = "values in the series", .drop_order = 1},
       [](const Line& l) { return Cell::number(static_cast<std::int64_t>(l.series->values.size())); }});
  columns.push_back(
      {{.key = "latest_ns", .header = "latest", .unit = "ms", .help = "its last value"},
       [](const Line& l) { return Cell::number(l.series->values.back().value_ns, Form::milliseconds); }});
  columns.push_back({{.key = "commit",
                      .header = "changed at",
                      .help = "first commit behind the change",
                      .align = Align::left},
                     [](const Line& l) {
                       return l.change ? Cell::text(l.change->commit.substr(0, 12)) : Cell::missing();
                     }});
  columns.push_back(
      {{.key = "before_ns", .header = "before", .unit = "ms", .help = "median up to it"}, [](const Line& l) {
         return l.change ? Cell::number(l.change->point.before, Form::milliseconds) : Cell::missing();
       }});
  columns.push_back(
      {{.key = "after_ns", .header = "after", .unit = "ms", .help = "median behind it"}, [](const Line& l) {
         return l.change ? Cell::number(l.change->point.after, Form::milliseconds) : Cell::missing();
       }});
  columns.push_back(
      {{.key = "change_ratio", .header = "Δ", .unit = "%", .help = "after ÷ before − 1"}, [](const Line& l) {
         return l.change ? Cell::number(ratio_of(*l.change), Form::percent, style_of(l.change))
                         : Cell::missing();
       }});
  columns.push_back(
      {{.key = "p", .header = "p", .help = "probability of such a change by chance (permutations)"},
       [](const Line& l) {
         return l.change ? Cell::number(l.change->point.p, Form::general) : Cell::missing();
       }});
  columns.push_back({{.key = "accepted",
                      .header = "accepted",
                      .help = "why it is meant",
                      .align = Align::left,
                      .elide = Elide::end},
                     [](const Line& l) {
                       return l.change && l.change->accepted ? Cell::text(l.change->reason, Style::dim)
                                                             : Cell::text("");
                     }});
  return {std::move(columns), lines->size(), [lines](std::size_t i) { return (*lines)[i]; }};
}

std::string history_html(const std::vector<HistorySeries>& series) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>History – "
      "Ridgeline</title>\n<style>";
  out += kStyle;
  out += kMoreStyle;
  out += "</style>\n</head>\n<body>\n<main>\n<h1>History</h1>\n";
  std::string kind;
  for (const HistorySeries& one : series) {
    if (one.kind != kind) {
      kind = one.kind;
      out += fmt::format("<h2>{}</h2>\n", html_escape(bounded(kind, 300)));
    }
    out += fmt::format(
        "<figure><figcaption>{}, {}</figcaption>{}</figure>\n", html_escape(bounded(one.name, 300)),
        html_escape(counted(static_cast<std::int64_t>(one.values.size()), "run")), trend_chart(one));
  }
  return out +
         fmt::format("<footer><p>Made by Ridgeline {}.</p></footer>\n</main>\n</body>\n</html>\n", kVersion);
}

Document history_document(const std::vector<HistorySeries>& series, const DocumentOptions& options) {
  Table table = chosen(history_table(series), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(std::move(table));
    case Format::markdown:
      return Document(render_markdown(table));
    case Format::json:
      return Document([table, &series](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.history");
        out.rows("rows", table);
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (const HistorySeries& one : series) {
          nlohmann::ordered_json values = nlohmann::ordered_json::array();
          for (const analyzer::HistoryValue& value : one.values)
            values.push_back(
                {{"start_ns", value.start_ns}, {"commit", value.commit}, {"value_ns", value.value_ns}});
          all.push_back({{"kind", one.kind}, {"name", one.name}, {"values", values}});
        }
        out.value("series", all);
        out.finish();
      });
    case Format::text:
      break;
  }
  std::string out = render_text(table, options.text);
  out += paragraph(cut_line(table, "row"), options.text);
  return Document(out);
}

}  // namespace ridgeline::reports
