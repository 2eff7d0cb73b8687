// roofline_document.cpp: the roofline of a scope as text, data, a picture or a page.
#include "ridgeline/reports/roofline_document.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "charts.h"
#include "document_parts.h"
#include "html_parts.h"
#include "html_style.h"
#include "html_table.h"
#include "json_parts.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/finding_text.h"
#include "ridgeline/reports/json_writer.h"
#include "roofline_parts.h"

namespace ridgeline::reports {
namespace {

using analyzer::Roofline;

// The rows that are asked for; the step stays that of all.
Roofline matching(const Roofline& roofline, const std::string& match) {
  if (match.empty()) return roofline;
  Roofline kept = roofline;
  const analyzer::RangePattern pattern("*" + match + "*");
  std::erase_if(kept.points, [&](const analyzer::RooflinePoint& p) { return !pattern.holds(p.key); });
  if (kept.points.empty())
    throw Error(ErrorKind::usage, "--match '" + match + "' is in the name of no kernel of the scope");
  return kept;
}

RooflineDrawing drawing(const analyzer::Analysis& analysis, const RooflineShown& shown, bool alone) {
  return {.target = analysis.ranking.options.target,
          .names = true,
          .alone = alone,
          .theme = shown.theme,
          .title = "",
          .subtitle = "",
          .step = shown.match.empty()};
}

std::string light_line(const Roofline& roofline, analyzer::ScopeKind scope) {
  const analyzer::RooflinePoint& step = roofline.step;
  if (!step.sol_ns || step.covered_ns <= 0)
    return "No time at the roofs: of no kernel both DRAM bytes and what its pipes did were measured.";
  std::string text = fmt::format(
      "Kernels take {}, {} of it known well enough: at their roofs these would take {} ({}); headroom {}",
      time_text(static_cast<double>(step.time_ns)),
      percent_text(step.time_ns > 0 ? step.covered_ns / static_cast<double>(step.time_ns) : 0),
      time_text(*step.sol_ns), percent_text(*step.sol_ns / step.covered_ns), time_text(step.headroom_ns));
  if (roofline.step_ns > 0)
    text +=
        fmt::format(", {} of the {}", percent_text(step.headroom_ns / static_cast<double>(roofline.step_ns)),
                    scope_noun(scope));
  if (step.filled_ns.value_or(0) > *step.sol_ns * 1.001)
    text += fmt::format("; with the SMs that their grids fill {} at best", time_text(*step.filled_ns));
  return text + ".";
}

std::string roofs_used_line(const Roofline& roofline) {
  std::string text = roofline.dram ? "DRAM " + peak_text(*roofline.dram) : "";
  if (roofline.l2) text += (text.empty() ? "L2 " : "; L2 ") + peak_text(*roofline.l2);
  for (const analyzer::Peak& peak : roofline.compute)
    text +=
        (text.empty() ? "" : "; ") + std::string(analyzer::roof_name(peak.quantity)) + " " + peak_text(peak);
  return text.empty()
             ? ""
             : "Roofs: " + text + fmt::format("; launches {} at least.", time_text(roofline.launch_floor_ns));
}

// Memory against arithmetic, of all kernels together.
std::string sides_line(const Roofline& roofline) {
  const auto memory = time_at(roofline.step, analyzer::RoofLevel::dram);
  const auto pipes = time_at(roofline.step, analyzer::RoofLevel::pipe);
  if (!memory || !pipes || *memory <= 0 || *pipes <= 0) return "";
  const bool arithmetic = *pipes >= *memory;
  return fmt::format(
      "Memory against arithmetic: at DRAM's roof the bytes of all kernels take {}, at the pipes' roofs their "
      "operations {}: {:.1f} times as long for the {}.",
      time_text(*memory), time_text(*pipes), arithmetic ? *pipes / *memory : *memory / *pipes,
      arithmetic ? "operations" : "bytes");
}

// The picture's axes as columns: time at each roof.
constexpr const char* kTimeColumns = "kernel,time_ns,dram_ns,l2_ns,l1_ns,pipe_ns,issue_ns,sol_ns,bound";

Table sorted(Table table, const RooflineShown& shown, DocumentOptions options) {
  if (options.sort.empty()) table.sort("-headroom_ns");
  if (shown.time && options.columns.empty()) options.columns = kTimeColumns;
  return chosen(std::move(table), options);
}

std::string finding_lines(const Roofline& roofline, const TextStyle& style) {
  std::string out;
  for (const analyzer::Finding& finding : roofline.findings)
    out += paragraph(finding_text(finding) + ".", style);
  return out;
}

}  // namespace

Document roofline_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                           const RooflineShown& shown, const DocumentOptions& options) {
  const auto roofline = std::make_shared<const Roofline>(matching(analysis.roofline, shown.match));
  const bool for_people = options.format == Format::text || options.format == Format::markdown;
  Table table = sorted(roofline_table(*roofline), for_people ? shown : RooflineShown{}, options);
  if (for_people && !options.all && options.top == 0) table.keep(kRowsShown);
  const std::string cut = for_people ? cut_line(table, "kernel") : "";
  const std::string light = light_line(*roofline, analysis.ranking.scope);
  const std::string sides = shown.time ? sides_line(*roofline) : "";
  switch (options.format) {
    case Format::csv: {
      const Document rows = csv_document(table);
      return Document([roofline, rows](const Sink& sink) { rows.write(sink); });
    }
    case Format::json:
      return Document([roofline, table, &model, &analysis](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.roofline");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.value("peaks", peaks_json(analysis.utilisation));
        out.value("roofline", roofline_json(*roofline));
        out.rows("rows", table);
        out.value("findings", findings_json(roofline->findings));
        out.finish();
      });
    case Format::markdown: {
      std::string out = markdown_headline(model, analysis) + markdown_paragraph(light) +
                        markdown_paragraph(sides) + render_markdown(table) + "\n" + markdown_paragraph(cut) +
                        markdown_paragraph(roofs_used_line(*roofline));
      for (const analyzer::Finding& finding : roofline->findings)
        out += markdown_paragraph(finding_text(finding) + ".");
      return Document(std::move(out));
    }
    case Format::text:
      break;
  }
  const TextStyle& style = options.text;
  return Document(headline(model, analysis, style) + "\n" + render_text(table, style) +
                  paragraph(cut, style) + "\n" + paragraph(light, style) + paragraph(sides, style) +
                  paragraph(roofs_used_line(*roofline), style) + finding_lines(*roofline, style));
}

std::string roofline_svg(const analyzer::Model& model, const analyzer::Analysis& analysis,
                         const RooflineShown& shown) {
  const Roofline roofline = matching(analysis.roofline, shown.match);
  RooflineDrawing how = drawing(analysis, shown, true);
  how.title = run_line(model);
  how.subtitle = step_line(analysis.steps);
  const RooflineChart made = shown.time ? roof_times_chart(roofline, how) : roofline_chart(roofline, how);
  if (made.svg.empty()) throw Error(ErrorKind::no_data, made.note);
  return made.svg;
}

std::string roofline_page(const analyzer::Model& model, const analyzer::Analysis& analysis,
                          const RooflineShown& shown) {
  const Roofline roofline = matching(analysis.roofline, shown.match);
  std::string out =
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>Roofline</title>\n<style>";
  out += kStyle;
  out += "</style>\n</head>\n<body>\n<main>\n<h1>Roofline</h1>\n";
  const auto text = [&](const std::string& words) { out += html_paragraph(words); };
  text(run_line(model));
  text(step_line(analysis.steps));
  text(light_line(roofline, analysis.ranking.scope));
  text(roofs_used_line(roofline));
  const RooflineDrawing how = drawing(analysis, shown, false);
  for (const RooflineChart& made : {roofline_chart(roofline, how), roof_times_chart(roofline, how)}) {
    if (!made.svg.empty())
      out += "<figure>\n" + made.svg + "<figcaption>" + html_escape(made.note) + "</figcaption></figure>\n";
    if (made.svg.empty()) text(made.note);
  }
  for (const analyzer::Finding& finding : roofline.findings) text(finding_text(finding) + ".");
  HtmlTable table;
  table.name_key = "kernel";
  table.class_key = "class";
  table.hidden = {"class"};
  table.ratio_bars = {"sol_ratio", "dram_ratio", "pipe_ratio"};
  table.noun = "kernel";
  Table rows = roofline_table(roofline);
  rows.sort("-headroom_ns");
  rows.keep(kReportRows);
  out += html_table(rows, table);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ridgeline::reports
