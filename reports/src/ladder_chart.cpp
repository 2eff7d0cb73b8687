// ladder_chart.cpp: a ladder as a picture and as a page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_parts.h"
#include "html_style.h"
#include "html_table.h"
#include "ladder_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/ladder_documents.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

using comparison::Contribution;
using comparison::LadderEstimate;
using comparison::LadderRecord;
using comparison::LadderResult;
using comparison::LadderStep;

constexpr const char* kLadderStyle =
    "svg .whisker{stroke:var(--text);stroke-width:1.4}svg .zero{stroke:var(--text);stroke-width:1.2}"
    "svg .saved{fill:var(--good);fill-opacity:.45}svg .lost{fill:var(--bad);fill-opacity:.45}"
    "svg .time{fill:var(--gemm)}svg .alone{fill:var(--attention)}svg .left-out{fill:var(--elementwise)}";

// Of a file of its own, which nobody's style sheet is beside.
constexpr const char* kOwnColours =
    "<style>svg{background:#ffffff;font:12.5px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu "
    "Sans\",sans-serif}"
    "text{fill:#1c2127}.tick,.axis{fill:#5b6570;font-size:11.5px}.number{fill:#5b6570}"
    ".grid{stroke:#dde1e6;stroke-width:1}.whisker{stroke:#1c2127;stroke-width:1.4}.zero{stroke:#1c2127;"
    "stroke-width:1.2}"
    ".saved{fill:#177a3c;fill-opacity:.45}.lost{fill:#b3261e;fill-opacity:.45}.time{fill:#2f6fde}"
    ".alone{fill:#8a4fd3}.left-out{fill:#d07010}</style>\n";

constexpr double kSvgWidth = 1000, kNames = 230, kTimesEnd = 600, kWaysBegin = 700, kWaysEnd = 980,
                 kRowHeight = 30;

// How far the axis of saved shares goes, both ways.
std::pair<double, double> saved_range(const LadderResult& result) {
  double least = 0, most = 0.01;
  for (const LadderStep& step : result.steps) {
    for (const LadderEstimate& estimate : step.estimates) {
      if (estimate.kind > Contribution::left_out || estimate.rounds == 0) continue;
      const double half = estimate.half_width.value_or(0);
      least = std::min(least, ladder_saved_ratio(std::max(estimate.log_ratio - half, -1.0)));
      most = std::max(most, ladder_saved_ratio(estimate.log_ratio + half));
    }
  }
  return {least, most};
}

// The step's time, with what the rung took away after it.
void draw_time(Svg& svg, double y, double per_ns, double before_ns, double after_ns,
               const std::string& words) {
  const double end = kNames + per_ns * after_ns;
  svg.rect(kNames, y + 6, per_ns * after_ns, kRowHeight - 12, "time", words);
  const double begin = kNames + per_ns * before_ns;
  if (before_ns > after_ns) svg.rect(end, y + 6, begin - end, kRowHeight - 12, "saved", words);
  if (before_ns > 0 && before_ns < after_ns)
    svg.rect(begin, y + 6, end - begin, kRowHeight - 12, "lost", words);
  svg.text(std::max(begin, end) + 6, y + 20, milliseconds(after_ns), "number");
}

// What more than doubles the step is drawn at the edge.
double drawn_ratio(double log_ratio) {
  return ladder_saved_ratio(std::max(log_ratio, -1.0));
}

template <typename ToX>
void draw_ways(Svg& svg, double y, const LadderStep& step, const ToX& to_x) {
  const std::pair<Contribution, const char*> ways[] = {{Contribution::cumulative, "saved"},
                                                       {Contribution::alone, "alone"},
                                                       {Contribution::left_out, "left-out"}};
  double at = y + 7;
  for (const auto& [kind, css] : ways) {
    const LadderEstimate* estimate = step.estimate(kind);
    if (estimate != nullptr && estimate->rounds > 0) {
      const double half = estimate->half_width.value_or(0);
      svg.line(to_x(drawn_ratio(estimate->log_ratio - half)), at,
               to_x(drawn_ratio(estimate->log_ratio + half)), at, "whisker");
      svg.circle(
          to_x(drawn_ratio(estimate->log_ratio)), at, 4, css,
          fmt::format("{}: {}", to_string(kind), ladder_percent(ladder_saved_ratio(estimate->log_ratio))));
    }
    at += 8;
  }
}

void draw_axis(Svg& svg, double height, std::pair<double, double> range, double longest_ns) {
  const auto to_x = [&](double ratio) {
    return kWaysBegin + (ratio - range.first) / (range.second - range.first) * (kWaysEnd - kWaysBegin);
  };
  const double tick = nice_tick(range.second - range.first, 4);
  for (double ratio = std::ceil(range.first / tick) * tick; ratio <= range.second; ratio += tick) {
    svg.line(to_x(ratio), 24, to_x(ratio), height - 24, std::abs(ratio) < tick / 100 ? "zero" : "grid");
    svg.text(to_x(ratio), height - 8,
             percent_text(std::abs(ratio) < tick / 100 ? 0 : ratio, tick < 0.01 ? 1 : 0), "tick",
             Svg::Anchor::middle);
  }
  const double ns_tick = nice_tick(longest_ns, 4);
  for (double ns = 0; ns <= longest_ns; ns += ns_tick) {
    const double x = kNames + ns / longest_ns * (kTimesEnd - kNames);
    svg.line(x, 24, x, height - 24, "grid");
    svg.text(x, height - 8, fmt::format("{:g} ms", ns / 1e6), "tick", Svg::Anchor::middle);
  }
  svg.text(kNames, 14, "the step, and what the rung saves of it", "axis");
  svg.text(kWaysBegin, 14, "saved: in the climb, alone, if left out", "axis");
}

std::string commands_html(const LadderRecord& record) {
  std::string out = "<details><summary>Programs</summary>\n";
  for (std::size_t i = 0; i < record.programs.size(); ++i)
    out += fmt::format("<p class=\"program\"><code>{}</code></p>\n", html_escape(record.programs[i].command));
  return out + "</details>\n";
}

std::string kernels_html(const LadderRecord& record, const LadderResult& result) {
  std::string out;
  for (const LadderStep& step : result.steps) {
    if (step.kernels_came.empty() && step.kernels_went.empty()) continue;
    out += fmt::format("<p><b>{}</b></p>\n", html_escape(record.rungs[step.rung].name));
    for (const std::string& name : step.kernels_came)
      out += fmt::format("<p class=\"program\">+ <code>{}</code></p>\n", html_escape(name));
    for (const std::string& name : step.kernels_went)
      out += fmt::format("<p class=\"program soft\">− <code>{}</code></p>\n", html_escape(name));
  }
  return out.empty() ? "" : "<details><summary>Kernels that came and went</summary>\n" + out + "</details>\n";
}

}  // namespace

std::string ladder_svg(const LadderRecord& record, const LadderResult& result, bool alone) {
  double longest_ns = 0;
  for (std::size_t arm = 0; arm <= record.rungs.size(); ++arm)
    longest_ns = std::max(longest_ns, result.arms[arm].step_ns.value_or(0));
  if (longest_ns <= 0) return "";
  longest_ns *= 1.12;  // room for the figure
  const double height = 48 + kRowHeight * static_cast<double>(result.steps.size() + 1);
  const auto range = saved_range(result);
  Svg svg(kSvgWidth, height, "What each rung of the ladder is worth: " + record.name);
  draw_axis(svg, height, range, longest_ns);
  const auto to_x = [&](double ratio) {
    return kWaysBegin + (ratio - range.first) / (range.second - range.first) * (kWaysEnd - kWaysBegin);
  };
  const double per_ns = (kTimesEnd - kNames) / longest_ns;
  for (std::size_t arm = 0; arm <= record.rungs.size(); ++arm) {
    const double y = 24 + kRowHeight * static_cast<double>(arm);
    const std::string name = arm == 0 ? "(bottom)" : record.rungs[arm - 1].name;
    svg.text(kNames - 10, y + 20, elide_end(name, 32), "", Svg::Anchor::end, name);
    const auto after = result.arms[arm].step_ns;
    if (after) {
      const double before = arm == 0 ? *after : result.arms[arm - 1].step_ns.value_or(*after);
      draw_time(svg, y, per_ns, before, *after, fmt::format("{}: {} ms", name, milliseconds(*after)));
    }
    if (arm > 0) draw_ways(svg, y, result.steps[arm - 1], to_x);
  }
  std::string out = svg.finish();
  if (alone) out.insert(out.find('\n') + 1, kOwnColours);
  return out;
}

namespace {

// Of the climb as a whole: faster, slower, or not known.
const char* whole_css(const LadderResult& result) {
  const LadderEstimate& whole = result.whole;
  if (whole.rounds == 0) return "unknown";
  return whole.log_ratio - whole.half_width.value_or(0) > 0   ? "met"
         : whole.log_ratio + whole.half_width.value_or(0) < 0 ? "missed"
                                                              : "unknown";
}

}  // namespace

std::string ladder_html(const LadderRecord& record, const LadderResult& result) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
      html_escape(record.name) + " – Ridgeline</title>\n<style>";
  out += kStyle;
  out += kLadderStyle;
  out += "</style>\n</head>\n<body>\n<main>\n<h1>What each rung is worth</h1>\n";
  out += html_paragraph(ladder_headline(record), "soft");
  const std::vector<std::string> notes = ladder_notes(record, result);
  out += fmt::format("<div class=\"verdict {}\"><b>{}</b></div>\n", whole_css(result),
                     html_escape(notes.front()));
  for (std::size_t i = 1; i < notes.size(); ++i)
    out += fmt::format("<div class=\"notice\">{}</div>\n", html_escape(notes[i]));
  out += "<section>\n<figure>" + ladder_svg(record, result, false) +
         "<figcaption>Bars: the step with all rungs down to this one; pale green is what the rung saves, "
         "pale red "
         "what it costs. Dots with 95 % intervals: green in the climb, violet alone, orange what leaving it "
         "out would "
         "cost.</figcaption></figure>\n";
  HtmlTable how;
  how.wrapping = {"rung"};
  how.largest_bars = {"step_ns"};
  how.also_shown = {"alone_half_width_ratio", "left_out_half_width_ratio", "loss"};
  out += html_table(ladder_table(record, result), how) + "</section>\n<section class=\"long\">\n";
  out += kernels_html(record, result) + commands_html(record);
  out += "</section>\n<footer>\n" + html_paragraph(fmt::format("Made by Ridgeline {}.", kVersion)) +
         "</footer>\n";
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::reports
