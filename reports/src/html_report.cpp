// html_report.cpp: the self-contained report. One file, no script, nothing fetched; well-formed XML, so that
// a test can prove that no string of the capture has broken out of its place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "charts.h"
#include "html_style.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/tables.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kLaunchRows = 5000;  // more make a browser slow; --format csv has them all
constexpr std::size_t kChartRows = 30;
constexpr std::size_t kGapRows = 20;
constexpr int kNameColumns = 58;

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

// How the report's tables differ from the plain rendering.
struct HtmlTable {
  std::set<std::string> hidden;         // keys not shown here
  std::set<std::string> wrapping;       // keys whose cells wrap
  std::set<std::string> ratio_bars;     // cells with a bar of 0..1
  std::set<std::string> largest_bars;   // cells with a bar against the column's largest value
  std::string name_key;                 // the column whose cells get a chip ...
  std::string class_key;                // ... in the colour of the class in this column
  std::vector<std::string> also_shown;  // keys shown though not usual
};

double number_of(const Scalar& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return 0;
}

std::string bar_style(double share) {
  return fmt::format(" style=\"--w:{}%\"", fixed(std::clamp(share, 0.0, 1.0) * 100.0, 1));
}

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
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::size_t i : shown) {
    const ColumnHead& c = columns[i];
    const std::string& header = c.title.empty() ? c.header : c.title;
    out += fmt::format("<th{}{}>{}{}</th>", c.align == Align::right ? " class=\"r\"" : "",
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
      full.push_back(terminal_safe(table.cell(row, i).words()));
    names[i] =
        kind == Elide::start ? elide_paths(full, kNameColumns) : elide_kernel_names(full, kNameColumns);
  }
  const auto row_html = [&](auto&& cell_of, std::size_t number, bool total) {
    out += "<tr>";
    for (const std::size_t i : shown) {
      const ColumnHead& c = columns[i];
      const Cell cell = cell_of(i);
      const std::string words = cell.words();
      std::string css = c.align == Align::right ? "r" : "";
      const auto add_css = [&](const char* name) {
        if (*name == '\0') return;
        if (!css.empty()) css += ' ';
        css += name;
      };
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
        inner += fmt::format("<span class=\"chip {}\" title=\"{}\"></span>", class_css(kernel_class),
                             html_escape(kernel_class));
      }
      if (!total && c.elide != Elide::never && c.elide != Elide::end) {
        add_css("name");
        const std::string safe = terminal_safe(words);
        const std::string cut = names[i].empty() ? elide_middle(safe, kNameColumns) : names[i][number];
        if (cut != safe) attributes += " title=\"" + html_escape(words) + "\"";
        inner += html_escape(cut);
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
  return out + "</table></div>\n";
}

std::string paragraph(const std::string& text, const char* css = "") {
  if (text.empty()) return "";
  return fmt::format("<p{}>{}</p>\n", *css == '\0' ? "" : fmt::format(" class=\"{}\"", css),
                     html_escape(text));
}

std::string figure(const std::string& svg, const std::string& caption) {
  if (svg.empty()) return "";
  return "<figure>\n" + svg +
         (caption.empty() ? "" : "<figcaption>" + html_escape(caption) + "</figcaption>") + "</figure>\n";
}

std::string tile(const std::string& value, const std::string& label) {
  return "<div class=\"tile\"><b>" + html_escape(value) + "</b><span>" + html_escape(label) +
         "</span></div>\n";
}

// The program's own name, for the title.
std::string program_name(const analyzer::Model& model) {
  std::string command = command_line(model);
  command = command.substr(0, command.find(' '));
  const auto slash = command.find_last_of('/');
  if (slash != std::string::npos) command = command.substr(slash + 1);
  return command.empty() ? "capture" : command;
}

std::string header(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "<header>\n<h1>" + html_escape(program_name(model)) + "</h1>\n";
  out += paragraph(run_line(model), "soft");
  const char* css = analysis.check.overall == analyzer::OverallVerdict::met      ? "met"
                    : analysis.check.overall == analyzer::OverallVerdict::missed ? "missed"
                                                                                 : "unknown";
  out += fmt::format("<p class=\"verdict {}\">{}</p>\n", css, html_escape(verdict_sentence(analysis)));
  for (const analyzer::Finding& finding : notices(analysis.quality, analyzer::Severity::info)) {
    out += fmt::format("<p class=\"notice {}\"><b>{}</b>: {}</p>\n", to_string(finding.severity),
                       to_string(finding.severity), html_escape(finding.text));
  }
  out += paragraph(completeness_line(analysis.quality), "soft");
  out += paragraph(tiers_line(analysis.quality), "soft");
  const analyzer::RankTotals& t = analysis.ranking.totals;
  const analyzer::Accounting& a = analysis.accounting;
  out += "<div class=\"tiles\">\n";
  out += tile(milliseconds(static_cast<double>(a.step_ns)) + " ms", "one step");
  out += tile(a.step_ns > 0
                  ? percent_text(static_cast<double>(a.kernel_busy_ns) / static_cast<double>(a.step_ns))
                  : kMissing,
              "of it a kernel runs");
  const bool measured = anything_measured(analysis.ranking);
  const std::string target = target_text(analysis.ranking.options.target);
  const std::string stretch = target_text(analysis.ranking.options.stretch);
  out += tile(measured ? percent_text(t.time_share_at_target) : "unknown",
              "of kernel time at " + target + " of peak or above");
  const auto saving = [&](double ns, double share, const std::string& goal) {
    out += tile(
        measured ? milliseconds(ns) + " ms" : "unknown",
        measured ? fmt::format("less at {} ({} of the step)", goal, percent_text(share)) : "less at " + goal);
  };
  saving(t.saved_target_ns, t.saved_target_share, target);
  saving(t.saved_stretch_ns, t.saved_stretch_share, stretch);
  out += "</div>\n<dl class=\"facts\">\n";
  for (const Fact& fact : run_facts(model)) {
    out += fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", html_escape(fact.label),
                       fact.key == "program" ? " class=\"mono program\"" : "", html_escape(fact.value));
  }
  return out + "</dl>\n</header>\n";
}

std::string class_legend(const analyzer::Ranking& ranking) {
  std::set<std::string> classes;
  for (const analyzer::RankRow& row : ranking.rows) classes.insert(row.kernel_class);
  std::string out = "<div class=\"legend\">";
  for (const std::string& name : classes) {
    out += fmt::format("<span><span class=\"chip {}\"></span>{}</span>", class_css(name), html_escape(name));
  }
  return out + "</div>\n";
}

std::string ranking_section(const analyzer::Analysis& analysis) {
  std::string out = "<section class=\"long\">\n<h2>Ranking: what to optimise next</h2>\n";
  out += paragraph(step_line(analysis.steps), "soft");
  out += class_legend(analysis.ranking);
  HtmlTable how;
  how.also_shown = {"rank"};
  how.ratio_bars = {"dram_utilisation_ratio", "dram_t1_utilisation_ratio", "compute_utilisation_ratio"};
  if (!analysis.utilisation.sample_steps.empty())
    how.also_shown.insert(how.also_shown.end(), {"dram_t1_error_ratio", "l2_utilisation_ratio"});
  how.largest_bars = {"time_ns", "saved_target_ns", "saved_stretch_ns"};
  how.name_key = "key";
  how.class_key = "class";
  out += html_table(ranking_table(analysis.utilisation, analysis.ranking), how);
  out += paragraph("To be saved: " + saving_text(analysis.ranking) + ". " + roofs_line(analysis.utilisation),
                   "soft");
  return out + "</section>\n";
}

// What the tiers say, side by side; nothing for a recording with counters alone.
std::string tier_sections(const analyzer::Analysis& analysis) {
  std::string out;
  if (!analysis.quality.comparisons.empty()) {
    out += "<section class=\"long\">\n<h2>In-situ samples beside counters</h2>\n";
    out += paragraph(tiers_line(analysis.quality), "soft");
    HtmlTable how;
    how.ratio_bars = {"t1_ratio", "t2_ratio"};
    out += html_table(comparison_table(analysis.quality), how) + "</section>\n";
  }
  if (!analysis.utilisation.cold_steps.empty()) {
    out += "<section class=\"long\">\n<h2>Cold caches beside in situ</h2>\n";
    out += paragraph(
        "Caches evicted before each kernel (T3): the worst case, and what Nsight Compute shows unless told "
        "otherwise.",
        "soft");
    HtmlTable how;
    how.ratio_bars = {"dram_utilisation_ratio", "cold_dram_utilisation_ratio"};
    Table ranking = ranking_table(analysis.utilisation, analysis.ranking);
    ranking.select("cold");
    out += html_table(ranking, how) + "</section>\n";
  }
  return out;
}

std::string sample_section(const analyzer::Analysis& analysis) {
  if (!analysis.sampled) return "";
  const SampleChart chart = sample_chart(*analysis.sampled);
  return "<section>\n<h2>One step in situ</h2>\n" + figure(chart.svg, chart.note) +
         class_legend(analysis.ranking) + "</section>\n";
}

std::string stalls_section(const analyzer::StallAnalysis& stalls) {
  if (!stalls.requested) return "";
  std::string out = "<section class=\"long\">\n<h2>What the worst kernels wait for</h2>\n";
  if (!stalls.kernels.empty()) {
    HtmlTable how;
    how.wrapping = {"reasons"};
    how.ratio_bars = {"issuing_ratio", "ready_ratio", "stalled_ratio", "idle_ratio"};
    out += html_table(stalls_table(stalls), how);
    HtmlTable spots;
    spots.ratio_bars = {"share_ratio"};
    out += "<h3>Where their warps were</h3>\n" + html_table(hot_spots_table(stalls), spots);
  }
  return out + paragraph(stalls_line(stalls), "soft") + "</section>\n";
}

std::string chart_sections(const analyzer::Analysis& analysis) {
  const std::string target = target_text(analysis.ranking.options.target);
  const std::string stretch = target_text(analysis.ranking.options.stretch);
  std::string out = "<section>\n<h2>Where the step's time went</h2>\n";
  const double step_ns = static_cast<double>(analysis.accounting.step_ns);
  out += figure(stacked_bar(accounting_shares(analysis.accounting), step_ns, "Accounting of the step"), "");
  out += html_table(accounting_table(analysis.accounting), {});
  out += "</section>\n";

  out += "<section>\n<h2>Kernel time by class</h2>\n";
  out += figure(stacked_bar(class_shares(analysis.classes),
                            static_cast<double>(analysis.classes.totals.time_ns), "Kernel time by class"),
                "");
  out += "</section>\n";

  const std::string bars = limiter_chart(analysis.ranking, kChartRows);
  if (!bars.empty()) {
    out += "<section class=\"long\">\n<h2>Kernels by time, and what limits them</h2>\n";
    std::string caption = fmt::format(
        "The pale end of a bar is the time that {} of peak would save; the tick is where {} would end. ",
        target, stretch);
    if (analysis.ranking.rows.size() > kChartRows)
      caption += fmt::format("The {} longest of {} kernels. ", kChartRows, analysis.ranking.rows.size());
    out += figure(bars, caption) + "</section>\n";
  }
  const RooflineChart roofline = roofline_chart(analysis.roofline, analysis.ranking.options.target);
  out += "<section>\n<h2>Roofline</h2>\n" + figure(roofline.svg, roofline.note);
  if (roofline.svg.empty()) out += paragraph(roofline.note, "soft");
  return out + "</section>\n";
}

std::string step_sections(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "<section class=\"long\">\n<h2>Steps</h2>\n";
  out += figure(step_chart(analysis.steps),
                "GPU time of each step in ms. Replay steps run one kernel at a time and are slower by "
                "design; figures of time come from timeline steps only.");
  HtmlTable how;
  how.wrapping = {"reason"};
  out += fmt::format("<details><summary>All {}</summary>\n",
                     counted(static_cast<std::int64_t>(analysis.steps.steps.size()), "step"));
  out += html_table(steps_table(analysis.steps), how) + "</details>\n";
  Table gaps = gaps_table(model, analysis.accounting);
  gaps.keep(kGapRows);
  if (gaps.size() > 0) {
    out += fmt::format("<details><summary>The {} longest of {}</summary>\n", gaps.size(),
                       counted(static_cast<std::int64_t>(analysis.accounting.gaps.size()), "gap"));
    out += html_table(gaps, {}) + "</details>\n";
  }
  return out + "</section>\n";
}

std::string detail_sections(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out;
  if (!analysis.declared_work.empty()) {
    out += "<section class=\"long\">\n<h2>Declared and measured work</h2>\n";
    out += paragraph(
        "What the program says its ranges must move and compute, beside what all their kernels did. A ratio "
        "below 1: "
        "part of the data was still in the L2 cache. Least: the time that the declared work takes at the "
        "DRAM peak or "
        "the peak of its data type, whichever is longer; eff.: that by the time taken.",
        "soft");
    HtmlTable how;
    how.ratio_bars = {"minimum_ratio"};
    out += html_table(declared_work_table(analysis.declared_operations), how);
    out += paragraph(work_line(analysis), "soft");
    out += fmt::format("<details><summary>Range by range, {}</summary>\n",
                       counted(static_cast<std::int64_t>(analysis.declared_work.size()), "path"));
    out += html_table(declared_work_table(analysis.declared_work), how) + "</details>\n</section>\n";
  }
  out +=
      "<section class=\"long\">\n<h2>Details</h2>\n<details><summary>Target check, kernel by "
      "kernel</summary>\n";
  HtmlTable check;
  check.also_shown = {"text"};
  check.wrapping = {"text"};
  check.ratio_bars = {"utilisation_ratio"};
  out += html_table(check_table(analysis.check, analysis.check_ranking, true), check) + "</details>\n";

  Table launches = launches_table(model, analysis);
  const std::size_t all = launches.size();
  launches.keep(kLaunchRows);
  out += fmt::format("<details><summary>All {} of the step</summary>\n",
                     counted(static_cast<std::int64_t>(all), "launch", "launches"));
  if (all > kLaunchRows) {
    out +=
        paragraph(fmt::format("The first {} of {}; ridgeline rank --by launch --format csv prints them all.",
                              kLaunchRows, all),
                  "soft");
  }
  HtmlTable how;
  how.ratio_bars = {"dram_utilisation_ratio", "dram_t1_utilisation_ratio", "compute_utilisation_ratio"};
  how.wrapping = {"reason"};
  how.name_key = "kernel";
  how.class_key = "class";
  const bool reasons = std::any_of(analysis.utilisation.launches.begin(), analysis.utilisation.launches.end(),
                                   [](const analyzer::LaunchUtilisation& u) { return !u.reason.empty(); });
  if (!reasons) how.hidden.insert("reason");
  return out + html_table(launches, how) + "</details>\n</section>\n";
}

std::string footer(const analyzer::Analysis& analysis) {
  std::string text =
      "DRAM utilisation is bytes read and written, divided by time and peak. Compute utilisation is that of "
      "the busiest pipe. "
      "A kernel is limited by the larger of the two. ms less at X: time × (1 − utilisation ÷ X), over the "
      "launches of the step "
      "that are below X. Times are those of the unperturbed program; bytes and pipe cycles were counted in "
      "replayed steps (T2).";
  if (!analysis.utilisation.sample_steps.empty()) {
    text +=
        " T1 is what periodic samples of undisturbed steps say; it stands in where no step could be "
        "replayed.";
  }
  std::string out = "<footer>\n";
  out += paragraph(text);
  out += paragraph(roofs_line(analysis.utilisation));
  return out + paragraph(fmt::format("Made by Ridgeline {}.", kVersion)) + "</footer>\n";
}

}  // namespace

std::string html_report(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      // Even if a string did break out, the page may neither run nor fetch anything.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  out += "<title>" + html_escape(program_name(model)) + " – Ridgeline report</title>\n<style>";
  out += kStyle;
  out += "</style>\n</head>\n<body>\n<main>\n";
  out += header(model, analysis);
  out += ranking_section(analysis);
  out += sample_section(analysis);
  out += tier_sections(analysis);
  out += stalls_section(analysis.stalls);
  out += chart_sections(analysis);
  out += step_sections(model, analysis);
  out += detail_sections(model, analysis);
  out += footer(analysis);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::reports
