// compare_html.cpp: a comparison as one page that neither runs nor fetches anything.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare_parts.h"
#include "html_style.h"
#include "html_table.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

using analyzer::Comparison;
using analyzer::ComparisonVerdict;
using analyzer::KernelChange;
using analyzer::Outcome;

constexpr std::size_t kBars = 20;
constexpr std::size_t kRows = 500;

constexpr const char* kMoreStyle =
    "svg .worse{fill:var(--bad)}svg .better{fill:var(--good)}svg .neither{fill:var(--gap-unknown)}"
    "svg .zero{stroke:var(--text);stroke-width:1.2}svg .whisker{stroke:var(--text);stroke-width:1.4}";

std::string paragraph(std::string_view text, std::string_view css = "") {
  return fmt::format("<p{}>{}</p>\n", css.empty() ? "" : fmt::format(" class=\"{}\"", css),
                     html_escape(text));
}

std::string tile(std::string_view value, std::string_view label) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", html_escape(value),
                     html_escape(label));
}

const char* bar_class(Outcome outcome) {
  if (outcome == Outcome::regressed) return "worse";
  return outcome == Outcome::improved ? "better" : "neither";
}

// Δ of the step by kernel, to the right what got slower.
std::string delta_chart(const Comparison& comparison) {
  std::vector<const KernelChange*> rows;
  for (const KernelChange& change : comparison.kernels) {
    if (rows.size() < kBars && change.time.delta != 0) rows.push_back(&change);
  }
  if (rows.empty()) return {};
  double most = 0;
  for (const KernelChange* row : rows) most = std::max(most, std::abs(row->time.delta));
  constexpr double kWidth = 1000, kLeft = 420, kRight = 940, kRow = 22;
  const double middle = (kLeft + kRight) / 2;
  const double half = (kRight - kLeft) / 2;
  const double height = kRow * static_cast<double>(rows.size()) + 26;
  Svg svg(kWidth, height, "Difference of the step's time by kernel");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelChange& change = *rows[i];
    const double y = kRow * static_cast<double>(i);
    const double length = half * std::abs(change.time.delta) / most;
    const bool slower = change.time.delta > 0;
    const std::string words = (slower ? "+" : "−") + microseconds(std::abs(change.time.delta)) + " µs";
    svg.text(kLeft - 10, y + 15, elide_kernel_name(change_name(change), 56), "kernel", Svg::Anchor::end,
             change_name(change));
    svg.rect(slower ? middle : middle - length, y + 4, std::max(length, 0.5), kRow - 8,
             bar_class(change.outcome), words);
    // Beside the bar's end, or inside the other half where it would leave the chart.
    const bool long_bar = length > half - 70;
    const double x = long_bar ? (slower ? middle - 6 : middle + 6)
                     : slower ? middle + length + 6
                              : middle - length - 6;
    const bool at_end = long_bar ? slower : !slower;
    svg.text(x, y + 15, words, "number", at_end ? Svg::Anchor::end : Svg::Anchor::start);
  }
  svg.line(middle, 0, middle, height - 22, "zero");
  svg.text(middle - 8, height - 6, "faster", "tick", Svg::Anchor::end);
  svg.text(middle + 8, height - 6, "slower", "tick");
  return svg.finish();
}

// The step's change in each pair, on one line, with the interval.
std::string pair_chart(const Comparison& comparison) {
  const analyzer::Change& time = comparison.step().time;
  if (time.pair_ratios.size() < 2) return {};
  double most = comparison.options.step_ratio;
  for (const double ratio : time.pair_ratios) most = std::max(most, std::abs(ratio));
  if (time.interval) most = std::max({most, std::abs(time.interval->low), std::abs(time.interval->high)});
  most *= 1.1;
  constexpr double kWidth = 1000, kLeft = 40, kRight = 960, kHeight = 74;
  const auto x = [&](double ratio) { return kLeft + (ratio / most + 1) / 2 * (kRight - kLeft); };
  Svg svg(kWidth, kHeight, "Change of the step in each pair");
  const double margin = comparison.options.step_ratio;
  svg.rect(x(-margin), 8, x(margin) - x(-margin), 38, "track", "changes that do not matter");
  svg.line(x(0), 4, x(0), 50, "zero");
  if (time.interval) {
    svg.line(x(time.interval->low), 27, x(time.interval->high), 27, "whisker");
    for (const double end : {time.interval->low, time.interval->high})
      svg.line(x(end), 20, x(end), 34, "whisker");
  }
  for (std::size_t i = 0; i < time.pair_ratios.size(); ++i) {
    svg.circle(x(time.pair_ratios[i]), 27, 5, fmt::format("{} dot", bar_class(comparison.step().outcome)),
               fmt::format("pair {}: {}", i + 1, signed_percent(time.pair_ratios[i], 2)));
  }
  const double tick = nice_tick(most, 4);
  for (int i = -4; i <= 4; ++i) {
    const double ratio = tick * i;
    if (std::abs(ratio) <= most) svg.text(x(ratio), 66, signed_percent(ratio), "tick", Svg::Anchor::middle);
  }
  return svg.finish();
}

std::string header(const Comparison& comparison) {
  const char* css =
      comparison.verdict == ComparisonVerdict::regressed ? "missed"
      : comparison.verdict == ComparisonVerdict::improved || comparison.verdict == ComparisonVerdict::same
          ? "met"
          : "unknown";
  std::string out = "<h1>What changed</h1>\n";
  for (const auto* side : {&comparison.a, &comparison.b}) {
    std::string line = side == &comparison.a ? "A: " : "B: ";
    line += counted(static_cast<std::int64_t>(side->captures.size()), "run");
    if (!side->git_commit.empty())
      line += " at commit " + side->git_commit.substr(0, 10) + (side->git_dirty ? " (modified)" : "");
    line += side->device.empty() ? "" : ", " + side->device;
    if (!side->command_line.empty()) line += ": " + bounded(side->command_line, 500);
    out += paragraph(line, "soft program");
  }
  out += fmt::format("<div class=\"verdict {}\">{}</div>\n", css,
                     html_escape(compare_verdict_sentence(comparison)));
  for (const analyzer::EnvironmentDifference& difference : comparison.environment) {
    if (difference.weight == analyzer::EnvironmentWeight::note) continue;
    out += fmt::format("<div class=\"notice {}\">{}</div>\n",
                       difference.weight == analyzer::EnvironmentWeight::invalid ? "error" : "warning",
                       html_escape(fmt::format("{}: {} in A, {} in B", difference.what,
                                               bounded(difference.a, 400), bounded(difference.b, 400))));
  }
  out += "<div class=\"tiles\">\n";
  out += tile(signed_percent(comparison.step().time.ratio, 2), "step");
  out += tile(std::to_string(comparison.regressed), "kernels slower");
  out += tile(std::to_string(comparison.improved), "kernels faster");
  out += tile(fmt::format("{} / {}", comparison.added, comparison.removed), "kernels added / removed");
  if (comparison.common_mode) out += tile(signed_percent(comparison.common_mode->ratio, 2), "common mode");
  if (comparison.clock) out += tile(signed_percent(comparison.clock->ratio, 2), "SM clock");
  out += tile(percent_text(comparison.matched_share), "of kernel time matched");
  return out + "</div>\n";
}

}  // namespace

std::string compare_html(const Comparison& comparison) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>What changed – Ridgeline</title>\n<style>";
  out += kStyle;
  out += kMoreStyle;
  out += "</style>\n</head>\n<body>\n<main>\n" + header(comparison);
  out += "<section>\n<h2>Step</h2>\n";
  if (const std::string pairs = pair_chart(comparison); !pairs.empty()) {
    out += "<figure>" + pairs +
           "<figcaption>Change of the step in each pair of runs, with the interval of the mean. Inside the "
           "band a change "
           "does not matter.</figcaption></figure>\n";
  }
  out += html_table(endpoints_table(comparison.endpoints), {}) + "</section>\n";
  out += "<section class=\"long\">\n<h2>Kernels</h2>\n";
  if (const std::string chart = delta_chart(comparison); !chart.empty()) {
    out +=
        "<figure>" + chart +
        "<figcaption>What each kernel adds to the step, as measured. Grey: the same, not told from noise, or "
        "without a counterpart.</figcaption></figure>\n";
  }
  Table table = compare_table(comparison.kernels);
  table.keep(kRows);
  HtmlTable how;
  how.name_key = "kernel";
  how.class_key = "class";
  how.noun = "kernel";
  how.wrapping = {"kernel"};
  out += html_table(table, how) + "</section>\n<section>\n<h2>What this rests on</h2>\n";
  for (const std::string& note : compare_notes(comparison)) out += paragraph(note);
  for (const analyzer::EnvironmentDifference& difference : comparison.environment) {
    if (difference.weight == analyzer::EnvironmentWeight::note)
      out += paragraph(fmt::format("{}: {} in A, {} in B", difference.what, bounded(difference.a, 400),
                                   bounded(difference.b, 400)),
                       "soft");
  }
  out += "</section>\n<footer>\n" + paragraph(fmt::format("Made by Ridgeline {}.", kVersion)) + "</footer>\n";
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::reports
