// steps_document.cpp: the steps by phase, one by one where they stand out, and where the time of one went.
#include <fmt/format.h>

#include <algorithm>

#include "document_parts.h"
#include "gap_text.h"
#include "json_parts.h"
#include "ridgeline/analyzer/steps/phases.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kStepGapsShown = 5;
constexpr std::size_t kUnusualShown = 20;

}  // namespace

Document steps_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                        const DocumentOptions& options) {
  const std::vector<analyzer::StepSummary>& all = analysis.steps.steps;
  const auto phases = analyzer::summarise_phases(all);
  const bool for_people = options.format == Format::text || options.format == Format::markdown;
  // Of a long list people see what stands out; whoever sorts or cuts it has said what they want.
  const bool unusual_only =
      for_people && !options.all && options.sort.empty() && options.top == 0 && all.size() > kRowsShown;
  Table listed = steps_table(analysis.steps);
  if (unusual_only) {
    const auto& representative = analysis.steps.representative;
    listed.pick(analyzer::unusual_steps(
        all, phases, representative.whole_recording ? -1 : representative.summary.step_id, kUnusualShown));
  }
  const Table table = chosen(std::move(listed), options);
  std::string left_out = options.top > 0 ? "" : cut_line(table, "step");
  if (unusual_only) {
    left_out = fmt::format(
        "Of {} these are the analysed one and the first {} that failed or took unusually long or short: "
        "--all lists all.",
        counted(static_cast<std::int64_t>(all.size()), "step"), kUnusualShown);
  }
  const Table accounting = accounting_table(analysis.accounting);
  Table bounds = bounds_table(analysis.accounting, analysis.accounting.kernels.by_phase);
  if (for_people && !options.all) bounds.keep(kRowsShown);
  Table gaps = gaps_table(model, analysis.accounting, for_people ? kStepGapsShown : SIZE_MAX);
  if (for_people) gaps.keep(kStepGapsShown);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown: {
      std::string out = markdown_headline(model, analysis) + render_markdown(phases_table(phases)) + "\n" +
                        render_markdown(table) + "\n" + markdown_paragraph(left_out);
      out += "### " + time_heading(analysis.accounting) + "\n\n" + render_markdown(accounting) + "\n" +
             markdown_paragraph(gap_line(model, analysis)) +
             markdown_paragraph(clock_cost_line(analysis.ranking)) +
             markdown_paragraph(energy_line(analysis.ranking));
      out += "### What bounds the kernels\n\n" + render_markdown(bounds) + "\n";
      if (gaps.size() > 0) out += "### Longest gaps\n\n" + render_markdown(gaps) + "\n";
      return Document(out + markdown_footing(model, analysis, options));
    }
    case Format::json:
      return Document([table, gaps, phases, &model, &analysis](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.steps");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("phases", phases_table(phases));
        out.rows("rows", table);
        out.value("accounting", accounting_json(model, analysis.accounting));
        out.value("power", power_json(analysis.ranking.power));
        write_kernel_time(out, analysis.accounting);
        out.rows("gaps", gaps);
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    case Format::text:
      break;
  }
  const TextStyle& style = options.text;
  std::string out = headline(model, analysis, style) + "\n";
  if (!phases.empty()) out += render_text(phases_table(phases), style) + "\n";
  if (table.size() > 0) {
    out += render_text(table, style) + paragraph(left_out, style);
    bool open = false;
    for (const analyzer::StepSummary& step : all) open = open || (!step.closed && step.gpu_duration_ns > 0);
    const bool analysed = analysis.steps.representative.scope == analyzer::ScopeKind::step;
    out += paragraph(
        std::string(analysed ? "◀ is the step that is analysed and stands for all." : "") +
            (open
                 ? " * is the time to the end of the step's own work: the next step is missing or of another "
                   "phase; the median that is analysed is of the others."
                 : ""),
        style);
    out += "\n";
  }
  out += heading(time_heading(analysis.accounting), style) + render_text(accounting, style) +
         paragraph(gap_line(model, analysis), style) + paragraph(clock_cost_line(analysis.ranking), style) +
         paragraph(energy_line(analysis.ranking), style);
  out += "\n" + heading("What bounds the kernels", style) + render_text(bounds, style);
  if (gaps.size() > 0) out += "\n" + heading("Longest gaps", style) + render_text(gaps, style);
  return Document(out + "\n" + footing(model, analysis, options));
}

}  // namespace ridgeline::reports
