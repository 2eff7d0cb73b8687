// html_report.cpp: the self-contained report. One file, no script, nothing fetched; well-formed XML, so that
// a test can prove that no string of the capture has broken out of its place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "advice_parts.h"
#include "charts.h"
#include "document_parts.h"
#include "gap_text.h"
#include "html_parts.h"
#include "html_style.h"
#include "html_table.h"
#include "ridgeline/analyzer/steps/phases.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/finding_text.h"
#include "ridgeline/reports/headline_text.h"
#include "ridgeline/reports/roofline_document.h"
#include "ridgeline/reports/tables.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

// Whatever the capture holds, the report stays below 5 MB: a row of a table takes some 2 kB.
constexpr std::size_t kLaunchRows = 500;
constexpr std::size_t kStepRows = 400;
constexpr std::size_t kGapRows = 20;
constexpr std::size_t kGroupRows = 60;
constexpr std::size_t kFirst = 5;  // kernels named on the first screen
constexpr std::size_t kChartRows = 30;
constexpr std::size_t kLongestFact = 2000;  // bytes

std::string figure(const std::string& svg, const std::string& caption) {
  if (svg.empty()) return "";
  return "<figure>\n" + svg +
         (caption.empty() ? "" : "<figcaption>" + html_escape(caption) + "</figcaption>") + "</figure>\n";
}

// The program's own name, for the title.
std::string program_name(const analyzer::Model& model) {
  std::string command = command_line(model);
  command = command.substr(0, command.find(' '));
  const auto slash = command.find_last_of('/');
  if (slash != std::string::npos) command = command.substr(slash + 1);
  return command.empty() ? "capture" : command;
}

// The kernels to begin with: most saving first, or the longest if nothing was measured.
std::string fix_first(const analyzer::Analysis& analysis) {
  const analyzer::Ranking& ranking = analysis.ranking;
  Table table = ranking_table(analysis.utilisation, ranking);
  HtmlTable how;
  how.ratio_bars = {"limiter_utilisation_ratio"};
  how.largest_bars = {"time_ns", "saved_target_ns", "reached_target_ns"};
  how.name_key = "key";
  how.class_key = "class";
  how.hidden = {"class"};
  how.optional = {"step_share_ratio"};
  const bool measured = anything_measured(ranking);
  if (!measured) table.sort("-time_ns");
  table.keep(kFirst);
  const bool simulated = ranking.reach && ranking.reach->known();
  table.select(
      !measured ? "key,class,time_ns,step_share_ratio"
      : simulated
          ? "key,class,time_ns,step_share_ratio,limiter,limiter_utilisation_ratio,bound,saved_target_ns,"
            "reached_target_ns,saved_stretch_ns"
          : "key,class,time_ns,step_share_ratio,limiter,limiter_utilisation_ratio,bound,saved_target_ns,"
            "saved_stretch_ns");
  return std::string("<h2>") + (measured ? "Where the savings are" : "Longest kernels") + "</h2>\n" +
         html_table(table, how);
}

std::string tiles(const analyzer::Analysis& analysis) {
  const analyzer::RankingTotals& t = analysis.ranking.totals;
  const analyzer::Accounting& a = analysis.accounting;
  std::string out = "<div class=\"tiles\">\n";
  const std::string_view noun = scope_noun(a.scope);
  out += html_tile(milliseconds(static_cast<double>(a.step_ns)) + " ms",
                   a.scope == analyzer::ScopeKind::step ? "one step" : fmt::format("the {}", noun));
  out += html_tile(a.step_ns > 0
                       ? percent_text(static_cast<double>(a.kernel_busy_ns) / static_cast<double>(a.step_ns))
                       : kMissing,
                   fmt::format("of the {} the GPU is busy", noun));
  const bool measured = anything_measured(analysis.ranking);
  const std::string target = target_text(analysis.ranking.options.target);
  const std::string stretch = target_text(analysis.ranking.options.stretch);
  out += html_tile(measured ? percent_text(t.time_share_at_target) : "unknown",
                   "of kernel time at " + target + " of the nearest roof or above");
  const auto saving = [&](double ns, double share, const std::string& goal, std::string_view whole) {
    out +=
        html_tile(measured ? milliseconds(ns) + " ms" : "unknown",
                  "saving at " + goal +
                      (measured ? fmt::format(", {} of the {}", percent_text(share), whole) : std::string()));
  };
  const analyzer::Throughput& rate = analysis.throughput;
  if (rate.mfu) {
    out += html_tile(percent_text(*rate.mfu), "MFU by the declared work, of the data sheet's peak");
  } else if (rate.tensor_ops_per_s) {
    out += html_tile(fixed(*rate.tensor_ops_per_s * 1e-12, 0) + " TFLOP/s",
                     fmt::format("by the tensor pipe, over the whole {}", noun));
  }
  if (rate.tokens_per_s)
    out += html_tile(rate_text(*rate.tokens_per_s), "tokens a second, as the program declares them");
  else if (rate.samples_per_s)
    out += html_tile(rate_text(*rate.samples_per_s), "samples a second, as the program declares them");
  if (const auto& reach = analysis.ranking.reach; reach && reach->known() && reach->measured_ns > 0) {
    const auto step = static_cast<double>(reach->measured_ns);
    saving(reach->target_ns, reach->target_ns / step, target, simulated_noun(a.scope));
    saving(reach->stretch_ns, reach->stretch_ns / step, stretch, simulated_noun(a.scope));
  } else {
    saving(t.saved_target_ns, t.saved_target_share, target, noun);
    saving(t.saved_stretch_ns, t.saved_stretch_share, stretch, noun);
  }
  return out + "</div>\n";
}

std::string verdict_class(const analyzer::TargetCheck& check) {
  return check.overall == analyzer::OverallVerdict::met      ? "verdict met"
         : check.overall == analyzer::OverallVerdict::missed ? "verdict missed"
                                                             : "verdict unknown";
}

std::string notice(Severity severity, const std::string& text) {
  const auto word = to_string(severity);
  return fmt::format("<p class=\"notice {}\"><b>{}</b>: {}</p>\n", word, word, html_escape(text));
}

// The headline's lines: what dominates, the verdict, what to do first in a box of its own.
std::string opening(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out, first;
  for (const HeadlineWords& line : headline_words(model, analysis)) {
    switch (line.kind) {
      case analyzer::HeadlineKind::hidden_kernels:
      case analyzer::HeadlineKind::caveat:
        out += notice(line.severity, line.text);
        break;
      case analyzer::HeadlineKind::verdict:
        out += html_paragraph(line.text, verdict_class(analysis.check));
        break;
      case analyzer::HeadlineKind::advice:
        first += html_paragraph(line.text);
        break;
      case analyzer::HeadlineKind::idle:
      case analyzer::HeadlineKind::communication:
        out += html_paragraph(line.text, "dominates warning");
        break;
      case analyzer::HeadlineKind::kernels:
      case analyzer::HeadlineKind::copies:
        out += html_paragraph(line.text, "dominates");
        break;
    }
  }
  return first.empty() ? out : out + "<div class=\"first\">\n" + first + "</div>\n";
}

std::string header(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "<header>\n<h1>" + html_escape(bounded(program_name(model), kLongestFact)) + "</h1>\n";
  out += html_paragraph(run_line(model), "soft") + opening(model, analysis) + tiles(analysis) +
         fix_first(analysis);
  for (const analyzer::Finding& finding : other_notices(analysis.quality, Severity::warning))
    out += notice(finding.severity, finding_text(finding));
  return out + "</header>\n";
}

std::string advice_lines(const AdviceSaid& said) {
  std::string out = html_paragraph(said.heading);
  for (const std::string& line : said.lines) out += html_paragraph(line, "soft");
  return out;
}

// What is folded away: rules that found nothing are most of them.
std::string rest_words(const analyzer::AdviceReport& report) {
  std::string text = counted(static_cast<std::int64_t>(report.healthy.size()), "rule") + " found nothing";
  if (!report.unknown.empty()) text += fmt::format(", {} cannot say", report.unknown.size());
  if (!report.small.empty())
    text += ", " + counted(static_cast<std::int64_t>(report.small.size()), "smaller case");
  return text;
}

// The cases with what is after them; nothing if nobody asked.
std::string advice_section(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  const analyzer::AdviceReport& report = analysis.advice;
  if (first_lines(analysis.advice, analysis.quality).empty()) return "";
  std::string out = "<section class=\"long\">\n<h2>What to do first</h2>\n";
  HtmlTable how;
  how.largest_bars = {"net_mid_ns"};
  how.noun = "case";
  if (!report.advice.empty()) out += html_table(advice_table(report, false), how);
  const std::vector<AdviceSaid> said = advice_said(model, report, true);
  const std::size_t cases = report.advice.size();
  for (std::size_t i = 0; i < cases; ++i) out += advice_lines(said[i]);
  out += html_paragraph(advice_closing(report, true), "soft");
  if (said.size() > cases) {
    out += fmt::format("<details><summary>{}</summary>\n", html_escape(rest_words(report)));
    for (std::size_t i = cases; i < said.size(); ++i) out += advice_lines(said[i]);
    out += "</details>\n";
  }
  return out + "</section>\n";
}

// What the figures rest on.
std::string about_section(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "<section class=\"long\">\n<h2>About this recording</h2>\n<dl class=\"facts\">\n";
  for (const Fact& fact : run_facts(model)) {
    out += fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", html_escape(fact.label),
                       fact.key == "program" ? " class=\"mono program\"" : "",
                       html_escape(bounded(fact.value, kLongestFact)));
  }
  out += "</dl>\n";
  out += html_paragraph(completeness_line(analysis.quality), "soft");
  out += html_paragraph(tiers_line(analysis.quality), "soft");
  out += html_paragraph(roofs_line(analysis.utilisation), "soft");
  for (const analyzer::Finding& finding : notices(analysis.quality, Severity::info)) {
    if (finding.severity == Severity::info)
      out += "<p class=\"notice info\">" + html_escape(finding_text(finding)) + "</p>\n";
  }
  return out + "</section>\n";
}

std::string glossary() {
  std::string out = "<dl class=\"facts glossary\">\n";
  for (const Term& tier : tier_glossary()) {
    out += fmt::format("<dt>{} {}</dt><dd>{}</dd>\n", html_escape(tier.term), html_escape(tier.name),
                       html_escape(tier.meaning));
  }
  return out + "</dl>\n";
}

std::string class_legend(const analyzer::Ranking& ranking) {
  std::set<std::string_view> classes;  // by name
  for (const analyzer::RankingRow& row : ranking.rows) classes.insert(to_string(row.kernel_class));
  std::string out = "<div class=\"legend\">";
  for (const std::string_view name : classes) {
    out += fmt::format("<span><span class=\"chip {}\"></span>{}</span>",
                       class_css(*parse_word<KernelClass>(name)), name);
  }
  return out + "</div>\n";
}

std::string ranking_section(const analyzer::Analysis& analysis) {
  std::string out = "<section class=\"long\">\n<h2>Ranking: what to optimise next</h2>\n";
  out += html_paragraph(step_line(analysis.steps), "soft");
  out += class_legend(analysis.ranking);
  HtmlTable how;
  how.also_shown = {"rank"};
  how.ratio_bars = {"dram_utilisation_ratio", "dram_t1_utilisation_ratio", "compute_utilisation_ratio"};
  if (analysis.utilisation.sampled)
    how.also_shown.insert(how.also_shown.end(), {"dram_t1_error_ratio", "l2_utilisation_ratio"});
  how.optional = {"rank",
                  "step_share_ratio",
                  "dram_t1_utilisation_ratio",
                  "dram_t1_error_ratio",
                  "l2_utilisation_ratio",
                  "saved_stretch_ns"};
  how.largest_bars = {"time_ns", "saved_target_ns", "reached_target_ns", "saved_stretch_ns"};
  how.name_key = "key";
  how.class_key = "class";
  Table table = ranking_table(analysis.utilisation, analysis.ranking);
  table.keep(kReportRows);
  out += html_table(table, how);
  out += html_paragraph("Saving: " + saving_text(analysis.ranking) + "." + saving_notes(analysis.ranking),
                        "soft");
  out += html_paragraph(throughput_line(analysis.throughput), "soft");
  out += "<p>Where the figures come from:</p>\n" + glossary();
  return out + "</section>\n";
}

// What the tiers say, side by side; nothing for a recording with counters alone.
std::string tier_sections(const analyzer::Analysis& analysis) {
  std::string out;
  if (!analysis.quality.comparisons.empty()) {
    out += "<section class=\"long\">\n<h2>Samples (T1) beside counters (T2)</h2>\n";
    out += html_paragraph(tiers_line(analysis.quality), "soft");
    HtmlTable how;
    how.ratio_bars = {"t1_ratio", "t2_ratio"};
    how.noun = "kernel";
    Table table = comparison_table(analysis.quality);
    table.keep(kReportRows);
    out += html_table(table, how) + "</section>\n";
  }
  if (!analysis.utilisation.cold_steps.empty()) {
    out += "<section class=\"long\">\n<h2>Cold caches (T3) beside the running step</h2>\n";
    out += html_paragraph(
        "Caches evicted before each kernel (T3): the worst case, and what Nsight Compute shows unless told "
        "otherwise.",
        "soft");
    HtmlTable how;
    how.ratio_bars = {"dram_utilisation_ratio", "cold_dram_utilisation_ratio"};
    Table ranking = ranking_table(analysis.utilisation, analysis.ranking);
    ranking.keep(kReportRows);
    ranking.select("cold");
    out += html_table(ranking, how) + "</section>\n";
  }
  return out;
}

std::string sample_section(const analyzer::Analysis& analysis) {
  if (!analysis.sampled) return "";
  const SampleChart chart = sample_chart(*analysis.sampled);
  return "<section>\n<h2>One step as it ran (T1)</h2>\n" + figure(chart.svg, chart.note) +
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
  return out + html_paragraph(stalls_line(stalls), "soft") + "</section>\n";
}

std::string bounds_section(const analyzer::Accounting& accounting) {
  const analyzer::KernelTime& kernels = accounting.kernels;
  HtmlTable how;
  how.largest_bars = {"time_ns"};
  how.noun = "part";
  const auto table = [&](const std::vector<analyzer::TimePart>& parts) {
    Table bounds = bounds_table(accounting, parts);
    bounds.keep(kReportRows);
    return html_table(bounds, how);
  };
  std::string out = "<section class=\"long\">\n<h2>What bounds the kernels</h2>\n";
  out += html_paragraph(
      "A launch is memory-bound if DRAM or L2 is the roof it is nearest to, at 60 % or more; compute-bound "
      "if that is "
      "a pipe or the issue slots; latency-bound if it was measured and no roof is at 60 %; short if it is "
      "below the launch floor, too short for any roof.",
      "soft");
  out += table(kernels.by_phase);
  const auto folded = [&](const std::vector<analyzer::TimePart>& parts, const char* title) {
    if (parts.size() < 2) return;
    out += fmt::format("<details><summary>{}</summary>\n", title) + table(parts) + "</details>\n";
  };
  folded(kernels.by_layer, "Layer by layer");
  folded(kernels.by_operation, "Operation by operation");
  return out + "</section>\n";
}

std::string chart_sections(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  const std::string target = target_text(analysis.ranking.options.target);
  const std::string stretch = target_text(analysis.ranking.options.stretch);
  const std::string_view noun = scope_noun(analysis.accounting.scope);
  std::string out = fmt::format("<section>\n<h2>Where the {}'s time went</h2>\n", noun);
  const double step_ns = static_cast<double>(analysis.accounting.step_ns);
  out += figure(
      stacked_bar(accounting_shares(analysis.accounting), step_ns, fmt::format("Accounting of the {}", noun)),
      "");
  out += html_table(accounting_table(analysis.accounting), {});
  const std::string longest = longest_gap_line(model, analysis.accounting);
  if (!longest.empty()) out += html_paragraph(longest);
  out += html_paragraph(clock_cost_line(analysis.ranking)) + html_paragraph(energy_line(analysis.ranking));
  out += "</section>\n" + bounds_section(analysis.accounting);

  out += "<section>\n<h2>Kernel time by class</h2>\n";
  out += figure(stacked_bar(class_shares(analysis.classes),
                            static_cast<double>(analysis.classes.totals.time_ns), "Kernel time by class"),
                "");
  out += "</section>\n";

  const std::string bars = nearest_roof_chart(analysis.ranking, kChartRows);
  if (!bars.empty()) {
    out += "<section class=\"long\">\n<h2>Kernels by time, and their nearest roof</h2>\n";
    std::string caption = fmt::format(
        "The pale end of a bar is the saving at {} of the nearest roof; the tick is where the bar "
        "would end at {}. ",
        target, stretch);
    if (analysis.ranking.rows.size() > kChartRows)
      caption += fmt::format("The {} longest of {} kernels. ", kChartRows, analysis.ranking.rows.size());
    out += figure(bars, caption) + "</section>\n";
  }
  const RooflineDrawing how{.target = analysis.ranking.options.target};
  const RooflineChart roofline = roofline_chart(analysis.roofline, how);
  out += "<section class=\"long\">\n<h2>Roofline</h2>\n" + figure(roofline.svg, roofline.note);
  if (roofline.svg.empty()) out += html_paragraph(roofline.note, "soft");
  const RooflineChart times = roof_times_chart(analysis.roofline, how);
  if (!times.svg.empty()) {
    out += figure(times.svg, times.note);
    Table points = roofline_table(analysis.roofline);
    points.sort("-headroom_ns");
    points.keep(kChartRows);
    HtmlTable table;
    table.name_key = "kernel";
    table.class_key = "class";
    table.hidden = {"class"};
    table.also_shown = {"class"};
    table.ratio_bars = {"sol_ratio"};
    table.noun = "kernel";
    out += html_table(points, table);
  }
  return out + "</section>\n";
}

std::string step_sections(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "<section class=\"long\">\n<h2>Steps</h2>\n";
  out += figure(
      step_chart(analysis.steps),
      "GPU time of each step in ms; a bar with a gap is longer than the axis. Replay steps run one kernel at "
      "a time and are slower by design: the report's times are those of timeline steps.");
  const auto phases = analyzer::summarise_phases(analysis.steps.steps);
  out += html_table(phases_table(phases), {});
  HtmlTable how;
  how.wrapping = {"reason"};
  how.noun = "step";
  Table steps = steps_table(analysis.steps);
  out += fmt::format("<details><summary>Step by step, {}</summary>\n",
                     counted(static_cast<std::int64_t>(steps.size()), "step"));
  steps.keep(kStepRows);
  out += html_table(steps, how) + "</details>\n";
  Table gaps = gaps_table(model, analysis.accounting, kGapRows);
  gaps.keep(kGapRows);
  if (gaps.size() > 0) {
    out += fmt::format("<details><summary>The {} longest of {}</summary>\n", gaps.size(),
                       counted(static_cast<std::int64_t>(analysis.accounting.gaps.size()), "gap"));
    out += html_table(gaps, {}) + "</details>\n";
  }
  return out + "</section>\n";
}

// Groups of the ranking's columns that the ranking above has no room for.
std::string group_details(const analyzer::Analysis& analysis) {
  struct Group {
    const char* name;
    const char* title;
  };
  static constexpr Group kGroups[] = {
      {"clock", "Achieved against data-sheet throughput: type, MHz, TFLOP/s, share of the data sheet's peak"},
      {"sms", "Issue slots, active SMs, achieved occupancy"},
      {"shape", "How launches fill the device: type, M×N×K, tile, waves, idle places, occupancy"}};
  std::string out;
  for (const Group& group : kGroups) {
    Table table = ranking_table(analysis.utilisation, analysis.ranking);
    table.keep(kGroupRows);
    table.select(group.name);
    out +=
        fmt::format("<details><summary>{}</summary>\n", group.title) + html_table(table, {}) + "</details>\n";
  }
  return out;
}

std::string detail_sections(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out;
  if (!analysis.declared_work.empty()) {
    out += "<section class=\"long\">\n<h2>Declared and measured work</h2>\n";
    out += html_paragraph(
        "What the program declares as the minimum of its ranges, beside what all their kernels did. A "
        "traffic ratio "
        "below 1 means that part of the data was still in the L2 cache. The roofline time is how long the "
        "declared "
        "work takes at the DRAM peak or at the peak of its data type, whichever is longer; the roofline "
        "efficiency "
        "is the roofline time divided by the measured time.",
        "soft");
    HtmlTable how;
    how.ratio_bars = {"minimum_ratio"};
    Table operations = declared_work_table(analysis.declared_operations);
    operations.keep(kReportRows);
    how.noun = "operation";
    out += html_table(operations, how);
    out += html_paragraph(work_line(analysis), "soft");
    out += fmt::format("<details><summary>Range by range, {}</summary>\n",
                       counted(static_cast<std::int64_t>(analysis.declared_work.size()), "path"));
    Table ranges = declared_work_table(analysis.declared_work);
    ranges.keep(kReportRows);
    how.noun = "path";
    out += html_table(ranges, how) + "</details>\n</section>\n";
  }
  out += "<section class=\"long\">\n<h2>Details</h2>\n" + group_details(analysis) +
         "<details><summary>Target check, kernel by kernel</summary>\n";
  HtmlTable check;
  check.also_shown = {"text"};
  check.wrapping = {"text"};
  check.ratio_bars = {"utilisation_ratio"};
  check.noun = "kernel";
  Table verdicts = check_table(analysis.check, analysis.check_ranking, true);
  verdicts.keep(kReportRows);
  out += html_table(verdicts, check) + "</details>\n";

  Table launches = launches_table(model, analysis);
  out += fmt::format("<details><summary>Launch by launch, {} of the {}</summary>\n",
                     counted(static_cast<std::int64_t>(launches.size()), "launch", "launches"),
                     scope_noun(analysis.accounting.scope));
  launches.keep(kLaunchRows);
  if (launches.left_out() > 0) {
    out += html_paragraph(
        fmt::format("These are the first {}; ridgeline rank --by launch --format csv prints all.",
                    kLaunchRows),
        "soft");
  }
  HtmlTable how;
  how.ratio_bars = {"dram_utilisation_ratio", "dram_t1_utilisation_ratio", "compute_utilisation_ratio"};
  how.wrapping = {"reason"};
  how.name_key = "kernel";
  how.class_key = "class";
  const bool reasons = std::any_of(analysis.utilisation.launches.groups().begin(),
                                   analysis.utilisation.launches.groups().end(),
                                   [](const analyzer::LaunchVerdict& u) { return !u.values->why.empty(); });
  if (!reasons) how.hidden.insert("reason");
  return out + html_table(launches, how) + "</details>\n</section>\n";
}

std::string footer() {
  const std::string text =
      "DRAM utilisation is bytes read and written, divided by time and by the DRAM peak. The busiest pipe is "
      "the one "
      "of the SM's pipes (tensor, FMA, ...) with the largest share of busy cycles. The larger of the two is "
      "the "
      "kernel's nearest roof: u. The saving at X is time × (1 − u ÷ X), "
      "summed "
      "over the launches below X. A kernel of less than the launch floor is too short for any roof: its "
      "launches are in the "
      "two "
      "utilisations of its row, and not in its nearest roof and saving.";
  std::string out = "<footer>\n";
  out += html_paragraph(text);
  return out + html_paragraph(fmt::format("Made by Ridgeline {}.", kVersion)) + "</footer>\n";
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
  out += advice_section(model, analysis) + ranking_section(analysis);
  out += sample_section(analysis);
  out += tier_sections(analysis);
  out += stalls_section(analysis.stalls);
  out += chart_sections(model, analysis);
  out += step_sections(model, analysis);
  out += detail_sections(model, analysis);
  out += about_section(model, analysis);
  out += footer();
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::reports
