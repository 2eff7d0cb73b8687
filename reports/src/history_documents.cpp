#include "ridgeline/reports/history_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "document_parts.h"
#include "html_parts.h"
#include "html_style.h"
#include "html_table.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

using comparison::HistoryChange;
using comparison::HistorySeries;

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

constexpr std::size_t kChangesShown = 100;
constexpr std::size_t kNewestShown = 10;
constexpr std::size_t kKernelBytes = 120;  // of a name in a sentence

std::set<std::string> kinds_in(const std::vector<HistorySeries>& series) {
  std::set<std::string> kinds;
  for (const HistorySeries& one : series) kinds.insert(one.kind);
  return kinds;
}

// Of several kinds each sentence says of which it speaks.
std::string newest_line(const comparison::HistoryReport& report, const comparison::NewestRun& run) {
  return (report.newest.size() > 1 ? run.kind + ": " : "") + newest_sentence(run);
}

std::string newest_markdown(const comparison::HistoryReport& report) {
  std::string out;
  for (std::size_t i = 0; i < std::min(report.newest.size(), kNewestShown); ++i)
    out += markdown_paragraph(newest_line(report, report.newest[i]));
  return out;
}

// Logarithms and back leave digits that mean nothing and differ from machine to machine.
double rounded(double value, double unit) {
  return std::round(value / unit) * unit;
}

nlohmann::ordered_json change_json(const comparison::NewestChange& change) {
  constexpr double kRatio = 1.0 / (1 << 20);
  return {{"series", change.series},
          {"value_ns", rounded(change.value_ns, 0.125)},
          {"before_ns", rounded(change.before_ns, 0.125)},
          {"change_ratio", rounded(change.ratio, kRatio)},
          {"low_ratio", rounded(change.low_ratio, kRatio)},
          {"high_ratio", rounded(change.high_ratio, kRatio)},
          {"confidence_ratio", rounded(change.confidence, kRatio)}};
}

nlohmann::ordered_json newest_json(const comparison::NewestRun& run) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const comparison::NewestChange& kernel : run.kernels) kernels.push_back(change_json(kernel));
  nlohmann::ordered_json out = {{"kind", run.kind},
                                {"start_ns", run.start_ns},
                                {"commit", run.commit},
                                {"runs_before", run.runs_before},
                                {"other_cards", run.other_cards},
                                {"verdict", std::string(to_string(run.verdict))}};
  out["spread_ratio"] = run.step ? nlohmann::ordered_json(rounded(run.spread_ratio, 1.0 / (1 << 20)))
                                 : nlohmann::ordered_json();
  out["spread_guessed"] = run.spread_guessed;
  out["step"] = run.step ? change_json(*run.step) : nlohmann::ordered_json();
  out["kernels"] = std::move(kernels);
  return out;
}

constexpr const char* kHistoryStyle =
    "svg .trend{stroke:var(--gemm);stroke-width:1.4}svg .worse{stroke:var(--bad);stroke-width:1.4}"
    "svg .better{stroke:var(--good);stroke-width:1.4}svg .meant{stroke:var(--soft);stroke-width:1.4}svg "
    ".value{fill:var(--gemm)}svg .level{stroke:var(--bar);stroke-width:7}"
    ".w-worse{background:var(--bad)}.w-better{background:var(--good)}.w-meant{background:var(--soft)}"
    ".w-level{background:var(--bar)}figure.trend figcaption{color:var(--text);font-weight:600;margin:14px 0 "
    "2px}";

std::string trend_chart(const HistorySeries& series) {
  constexpr double kWidth = 1000, kHeight = 130, kLeft = 70, kRight = 990, kTop = 10, kBottom = 108;
  double low = series.values.front().value_ns, high = low;
  for (const comparison::HistoryValue& value : series.values) {
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
  // The medians between changes, beneath the values.
  std::size_t from = 0;
  for (std::size_t c = 0; c <= series.changes.size() && !series.changes.empty(); ++c) {
    const bool last = c == series.changes.size();
    const double level = last ? series.changes.back().point.after : series.changes[c].point.before;
    const std::size_t to = last ? series.values.size() : series.changes[c].point.at;
    if (to > from) svg.line(x(from), y(level), x(to - 1), y(level), "level");
    from = to;
  }
  for (std::size_t i = 1; i < series.values.size(); ++i)
    svg.line(x(i - 1), y(series.values[i - 1].value_ns), x(i), y(series.values[i].value_ns), "trend");
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const comparison::HistoryValue& value = series.values[i];
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
  if (series.changes.empty()) {
    const auto end = [&](const comparison::HistoryValue& value, double at, Svg::Anchor anchor) {
      svg.text(at, kBottom + 16, value.commit.substr(0, 10) + " " + utc_text(value.start_ns).substr(0, 10),
               "tick", anchor);
    };
    end(series.values.front(), kLeft, Svg::Anchor::start);
    if (series.values.size() > 1) end(series.values.back(), kRight, Svg::Anchor::end);
  }
  return svg.finish();
}

}  // namespace

std::string newest_sentence(const comparison::NewestRun& run) {
  std::string text = "Newest run";
  if (!run.commit.empty()) text += " " + run.commit.substr(0, 12);
  text += " of " + utc_text(run.start_ns);
  if (!run.step) return text + ": the first of its kind, nothing to compare it with.";
  const comparison::NewestChange& step = *run.step;
  text += fmt::format(
      ": step {}, {} against the {} before it ({}). ", time_text(step.value_ns), signed_percent(step.ratio),
      run.runs_before == 1 ? "run" : counted(static_cast<std::int64_t>(run.runs_before), "run"),
      time_text(step.before_ns));
  const std::string interval =
      fmt::format("95 % interval {} to {}", signed_percent(step.low_ratio), signed_percent(step.high_ratio));
  if (run.verdict == comparison::NewestVerdict::undecided) {
    text += fmt::format("Not shown to be slower or faster: {}.", interval);
  } else {
    text += fmt::format("It is {}, sure to {} ({}).", to_string(run.verdict),
                        step.confidence > 0.9999 ? "more than 99.99 %" : percent_text(step.confidence, 2),
                        interval);
  }
  if (run.other_cards) text += " None of those ran on its card: what cards differ by is in the interval.";
  if (run.spread_guessed)
    text += fmt::format(
        " So few runs do not say how much runs of identical code differ: {} is taken for it, with room for "
        "twice "
        "as much; the estimate begins with three.",
        percent_text(run.spread_ratio, 1));
  if (!run.kernels.empty()) {
    text += " Kernels:";
    for (const comparison::NewestChange& kernel : run.kernels)
      text += fmt::format("{} {} {} ({} to {})", &kernel == &run.kernels.front() ? "" : ",",
                          bounded(kernel.series, kKernelBytes), signed_percent(kernel.ratio),
                          time_text(kernel.before_ns), time_text(kernel.value_ns));
    text += ".";
  }
  return text;
}

Table history_table(const std::vector<HistorySeries>& series) {
  const std::set<std::string> kinds = kinds_in(series);
  const auto lines = std::make_shared<const std::vector<Line>>(lines_of(series));
  std::vector<Column<Line>> columns;
  columns.push_back({{.key = "series",
                      .header = "series",
                      .help = "the step, or a kernel's family at its place",
                      .align = Align::left,
                      .elide = Elide::start,
                      .min_width = 30},
                     [](const Line& l) { return Cell::text(l.series->name); }});
  columns.push_back(
      {{.key = "kind",
        .header = "runs on",
        .help = "program, launches of its step, GPU, driver, CUDA, policy: series of other kinds "
                "are others",
        .align = Align::left,
        .elide = Elide::middle,
        .drop_order = 2,
        .shown = kinds.size() > 1},
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
         if (l.change == nullptr) return Cell::missing();
         const double ratio = ratio_of(*l.change);
         return Cell::worded((ratio < 0 ? "−" : "+") + percent(std::abs(ratio)), ratio, style_of(l.change));
       }});
  columns.push_back(
      {{.key = "p",
        .header = "p",
        .help = "probability of such a change by chance in any series of its kind (permutations)"},
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

std::string history_html(const comparison::HistoryReport& report) {
  const std::vector<HistorySeries>& series = report.series;
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>History – "
      "Ridgeline</title>\n<style>";
  out += kStyle;
  out += kHistoryStyle;
  out += "</style>\n</head>\n<body>\n<main>\n<h1>History</h1>\n";
  Table changes = history_table(series);
  std::vector<std::size_t> changed;
  const auto lines = lines_of(series);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].change != nullptr) changed.push_back(i);
  }
  out += fmt::format("<p>{} in {}.</p>\n",
                     html_escape(counted(static_cast<std::int64_t>(changed.size()), "change")),
                     html_escape(counted(static_cast<std::int64_t>(series.size()), "series", "series")));
  for (std::size_t i = 0; i < std::min(report.newest.size(), kNewestShown); ++i)
    out += html_paragraph(newest_line(report, report.newest[i]));
  if (!changed.empty()) {
    changes.pick(changed);
    changes.keep(kChangesShown);
    HtmlTable how;
    how.noun = "change";
    out +=
        html_table(changes, how) +
        "<div class=\"legend\"><span><span class=\"chip w-worse\"></span>slower from here</span><span><span "
        "class=\"chip w-better\"></span>faster from here</span><span><span class=\"chip "
        "w-meant\"></span>accepted</span><span><span class=\"chip w-level\"></span>median between "
        "changes</span></div>\n";
  }
  // What has not changed is folded away, the step apart: it comes first in its kind.
  std::string quiet;
  std::int64_t quiet_count = 0;
  const auto close = [&] {
    if (quiet_count > 0)
      out += fmt::format("<details><summary>{} without a change</summary>\n{}</details>\n",
                         html_escape(counted(quiet_count, "series", "series")), quiet);
    quiet.clear();
    quiet_count = 0;
  };
  std::string kind;
  for (const HistorySeries& one : series) {
    const bool first = one.kind != kind;
    if (first) {
      close();
      kind = one.kind;
      out += fmt::format("<h2>{}</h2>\n", html_escape(bounded(kind, 300)));
    }
    const std::string figure = fmt::format(
        "<figure class=\"trend\"><figcaption>{}, {}</figcaption>{}</figure>\n",
        html_escape(bounded(one.name, 300)),
        html_escape(counted(static_cast<std::int64_t>(one.values.size()), "run")), trend_chart(one));
    if (first || !one.changes.empty()) {
      out += figure;
    } else {
      quiet += figure;
      ++quiet_count;
    }
  }
  close();
  return out +
         fmt::format("<footer><p>Made by Ridgeline {}.</p></footer>\n</main>\n</body>\n</html>\n", kVersion);
}

Document history_document(const comparison::HistoryReport& report, const DocumentOptions& options) {
  const std::vector<HistorySeries>& series = report.series;
  Table table = chosen(history_table(series), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(std::move(table));
    case Format::markdown:
      return Document(newest_markdown(report) + render_markdown(table));
    case Format::json:
      return Document([table, &report, &series](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.history");
        out.rows("rows", table);
        nlohmann::ordered_json newest = nlohmann::ordered_json::array();
        for (const comparison::NewestRun& run : report.newest) newest.push_back(newest_json(run));
        out.value("newest", newest);
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (const HistorySeries& one : series) {
          nlohmann::ordered_json values = nlohmann::ordered_json::array();
          for (const comparison::HistoryValue& value : one.values)
            values.push_back({{"start_ns", value.start_ns},
                              {"commit", value.commit},
                              {"card", value.card},
                              {"value_ns", value.value_ns}});
          all.push_back({{"kind", one.kind}, {"name", one.name}, {"values", values}});
        }
        out.value("series", all);
        out.finish();
      });
    case Format::text:
      break;
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(report.newest.size(), kNewestShown); ++i)
    out += paragraph(newest_line(report, report.newest[i]), options.text);
  if (!out.empty()) out += "\n";
  out += render_text(table, options.text);
  out += paragraph(cut_line(table, "row"), options.text);
  return Document(out);
}

}  // namespace ridgeline::reports
