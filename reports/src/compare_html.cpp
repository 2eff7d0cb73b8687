// compare_html.cpp: a comparison as one page that neither runs nor fetches anything.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compare_parts.h"
#include "html_parts.h"
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

using comparison::Comparison;
using comparison::ComparisonVerdict;
using comparison::KernelChange;
using comparison::Outcome;

constexpr std::size_t kBars = 20;
constexpr std::size_t kMinBars = 6;
constexpr std::size_t kRows = 500;

constexpr const char* kMoreStyle =
    "td small{display:block;color:var(--soft)}svg .worse{fill:var(--bad)}svg .better{fill:var(--good)}svg "
    ".neither{fill:var(--gap-unknown)}"
    "svg .zero{stroke:var(--text);stroke-width:1.2}svg .whisker{stroke:var(--text);stroke-width:1.4}";

const char* bar_class(Outcome outcome) {
  if (outcome == Outcome::regressed) return "worse";
  return outcome == Outcome::improved ? "better" : "neither";
}

struct Bar {
  std::string label, title;
  double delta_ns = 0;
  const char* css = "neither";
};

// What changed and the largest differences, then all other kernels as one, and the gaps.
std::vector<Bar> bars_of(const Comparison& comparison) {
  std::vector<Bar> bars;
  std::set<std::size_t> taken;
  const auto take = [&](std::size_t i) {
    const KernelChange& change = comparison.kernels[i];
    if (bars.size() >= kBars || !taken.insert(i).second) return;
    const std::string name = change_name(change);
    bars.push_back({elide_kernel_name(name, 56), change.path.empty() ? name : name + " in " + change.path,
                    change.time.delta, bar_class(change.outcome)});
  };
  for (const std::size_t i : notable_rows(comparison)) take(i);
  for (std::size_t i = 0; bars.size() < kMinBars && i < comparison.kernels.size(); ++i) take(i);
  std::stable_sort(bars.begin(), bars.end(),
                   [](const Bar& x, const Bar& y) { return std::abs(x.delta_ns) > std::abs(y.delta_ns); });
  double others = 0;
  for (std::size_t i = 0; i < comparison.kernels.size(); ++i) {
    if (taken.count(i) == 0) others += comparison.kernels[i].time.delta;
  }
  const auto rest = static_cast<std::int64_t>(comparison.kernels.size() - taken.size());
  if (rest > 0) bars.push_back({counted(rest, "other kernel"), "", others});
  for (const comparison::StepMetric& part : comparison.step_metrics) {
    using Kind = comparison::PartKind;
    if (part.kind == Kind::gaps || part.kind == Kind::copies || part.kind == Kind::memsets)
      bars.push_back({part.name, "", part.time.delta, bar_class(part.outcome)});
  }
  return bars;
}

// Δ of the step by kernel, to the right what got slower.
std::string delta_chart(const Comparison& comparison) {
  if (comparison.kernels.empty()) return {};
  const std::vector<Bar> bars = bars_of(comparison);
  double most = 0;
  for (const Bar& bar : bars) most = std::max(most, std::abs(bar.delta_ns));
  if (most == 0) return {};
  constexpr double kWidth = 1000, kLeft = 420, kRight = 940, kRow = 22;
  const double middle = (kLeft + kRight) / 2;
  const double half = (kRight - kLeft) / 2;
  const double height = kRow * static_cast<double>(bars.size()) + 26;
  Svg svg(kWidth, height, "Difference of the step's time by kernel");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kRow * static_cast<double>(i);
    const double length = half * std::abs(bar.delta_ns) / most;
    const bool slower = bar.delta_ns > 0;
    const std::string words = signed_time(bar.delta_ns);
    svg.text(kLeft - 10, y + 15, bar.label, bar.title.empty() ? "tick" : "kernel", Svg::Anchor::end,
             bar.title);
    svg.rect(slower ? middle : middle - length, y + 4, std::max(length, 0.5), kRow - 8, bar.css, words);
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

// Kernels of one name stand at several places: the path tells them apart. Columns without a value go.
std::string kernel_table(const Comparison& comparison, const std::vector<std::size_t>& rows) {
  const auto any = [&](auto has) {
    return std::any_of(rows.begin(), rows.end(), [&](std::size_t i) { return has(comparison.kernels[i]); });
  };
  Table table = compare_table(comparison.kernels);
  table.pick(rows);
  table.keep(kRows);
  HtmlTable how;
  how.name_key = "kernel";
  how.class_key = "class";
  how.noun = "kernel";
  how.note_key = "path";
  if (!any([](const KernelChange& k) { return k.dram_a || k.dram_b; })) how.hidden.insert("dram");
  if (!any([](const KernelChange& k) { return k.compute_a || k.compute_b; })) how.hidden.insert("compute");
  if (!any([](const KernelChange& k) {
        return k.bound_a != analyzer::KernelBound::unmeasured ||
               k.bound_b != analyzer::KernelBound::unmeasured;
      }))
    how.hidden.insert("bound");
  if (!any([](const KernelChange& k) { return k.cause != comparison::ChangeCause::none; }))
    how.hidden.insert("cause");
  if (!any([](const KernelChange& k) { return k.level != comparison::MatchLevel::exact; }))
    how.hidden.insert("match");
  return html_table(table, how);
}

std::string reading(const Comparison& comparison) {
  const comparison::ComparisonOptions& options = comparison.options;
  return fmt::format(
      "How to read it: a run is one process, and what differs between runs of one side is noise. A change of "
      "the "
      "step matters from {} on. A kernel is called slower or faster if, less the common mode, it changed by "
      "{}, by "
      "{} and by {} of the step or more, and if so large a difference would be chance less often than {} "
      "among all "
      "that are called so. What is called the same is shown to be within these margins; what is inconclusive "
      "is neither.",
      percent_text(options.step_ratio), percent_text(options.kernel_ratio), time_text(options.kernel_ns),
      percent_text(options.kernel_step_share), percent_text(options.false_discovery_rate));
}

// The step's change in each pair, on one line, with the interval.
std::string pair_chart(const Comparison& comparison) {
  const comparison::Change& time = comparison.step().time;
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
    out += html_paragraph(line, "soft program");
  }
  out += fmt::format("<div class=\"verdict {}\"><b>{}</b>\n", css,
                     html_escape(compare_verdict_sentence(comparison)));
  for (const std::string& line : compare_blame(comparison)) out += html_paragraph(line);
  out += "</div>\n";
  for (const comparison::EnvironmentDifference& difference : comparison.environment) {
    if (difference.weight == comparison::EnvironmentWeight::note) continue;
    out += fmt::format("<div class=\"notice {}\">{}</div>\n",
                       difference.weight == comparison::EnvironmentWeight::invalid ? "error" : "warning",
                       html_escape(fmt::format("{}: {} in A, {} in B", difference.what,
                                               bounded(difference.a, 400), bounded(difference.b, 400))));
  }
  out += "<div class=\"tiles\">\n";
  out += html_tile(signed_percent(comparison.step().time.ratio, 2), "step");
  out += html_tile(std::to_string(comparison.regressed), "kernels slower");
  out += html_tile(std::to_string(comparison.improved), "kernels faster");
  out += html_tile(fmt::format("{} / {}", comparison.added, comparison.removed), "kernels added / removed");
  if (comparison.common_mode)
    out += html_tile(signed_percent(comparison.common_mode->ratio, 2), "common mode");
  if (comparison.clock) out += html_tile(signed_percent(comparison.clock->ratio, 2), "SM clock");
  out += html_tile(percent_text(comparison.matched_share), "of kernel time matched");
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
  out += html_table(step_metrics_table(comparison.step_metrics), {});
  if (const auto rows = notable_transfers(comparison); !rows.empty()) {
    Table transfers = transfers_table(comparison.transfers);
    transfers.pick(rows);
    transfers.keep(kRows);
    out += "<h3>Copies and memsets that changed</h3>\n" + html_table(transfers, {});
  }
  out += "</section>\n";
  out += "<section class=\"long\">\n<h2>Kernels</h2>\n";
  if (const std::string chart = delta_chart(comparison); !chart.empty()) {
    out += "<figure>" + chart +
           "<figcaption>What each kernel adds to the step, means over the runs. Grey: the same, not told "
           "from noise, or without a counterpart.</figcaption></figure>\n";
  }
  const std::vector<std::size_t> telling = notable_rows(comparison);
  std::vector<std::size_t> quiet;
  for (std::size_t i = 0; i < comparison.kernels.size(); ++i) {
    if (std::find(telling.begin(), telling.end(), i) == telling.end()) quiet.push_back(i);
  }
  if (!telling.empty()) out += kernel_table(comparison, telling);
  if (!quiet.empty()) {
    out += fmt::format(
        "<details{}><summary>{}</summary>\n{}</details>\n", telling.empty() ? " open=\"open\"" : "",
        html_escape(counted(static_cast<std::int64_t>(quiet.size()), "kernel that is", "kernels that are") +
                    " the same, or of which too little is known"),
        kernel_table(comparison, quiet));
  }
  out += "</section>\n<section>\n<h2>What this rests on</h2>\n";
  for (const std::string& note : compare_notes(comparison)) out += html_paragraph(note);
  for (const comparison::EnvironmentDifference& difference : comparison.environment) {
    if (difference.weight == comparison::EnvironmentWeight::note)
      out += html_paragraph(fmt::format("{}: {} in A, {} in B", difference.what, bounded(difference.a, 400),
                                        bounded(difference.b, 400)),
                            "soft");
  }
  out += html_paragraph(reading(comparison), "soft");
  out += "</section>\n<footer>\n" + html_paragraph(fmt::format("Made by Ridgeline {}.", kVersion)) +
         "</footer>\n";
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::reports
