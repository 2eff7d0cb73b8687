// report_documents.cpp: everything about one step, as Markdown and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "capture_parts.h"
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

constexpr std::size_t kGapsShown = 5;

// The first rows, and how many there are more.
std::string cut_markdown(Table table, std::string_view noun) {
  table.keep(kReportRows);
  std::string out = render_markdown(table) + "\n";
  if (table.left_out() > 0)
    out += fmt::format("{} not listed.\n\n", counted(static_cast<std::int64_t>(table.left_out()), noun));
  return out;
}

}  // namespace

std::string markdown_report(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "# Ridgeline report\n\n";
  out += opening_markdown(model, analysis);
  const analyzer::Findings told = other_notices(analysis.quality, Severity::info);
  if (!told.empty()) out += notices_markdown(told) + "\n";
  out += "\n## Ranking\n\n" + markdown_cell(step_line(analysis.steps)) + "\n\n";
  out += cut_markdown(ranking_table(analysis.utilisation, analysis.ranking), "row");
  out += markdown_cell(ranking_sums(analysis.ranking)) + "\n\n";
  if (const std::string rate = throughput_line(analysis.throughput); !rate.empty())
    out += markdown_cell(rate) + "\n\n";
  out += markdown_cell(roofs_line(analysis.utilisation)) + "\n\n";
  if (!analysis.quality.comparisons.empty()) {
    out += "### Samples (T1) beside counters (T2)\n\n" +
           cut_markdown(comparison_table(analysis.quality), "kernel");
  }
  if (!analysis.utilisation.cold_steps.empty()) {
    out += "### Cold caches (T3) beside the running step\n\n" +
           cut_markdown(with_columns(ranking_table(analysis.utilisation, analysis.ranking), "cold"), "row");
  }
  if (analysis.stalls.requested) out += stalls_markdown(analysis.stalls, "##");
  out += "## Target check\n\n" +
         cut_markdown(check_table(analysis.check, analysis.check_ranking, false), "kernel");
  out += "## " + time_heading(analysis.accounting) + "\n\n" +
         render_markdown(accounting_table(analysis.accounting)) + "\n" +
         markdown_paragraph(longest_gap_line(model, analysis.accounting));
  out += "## What bounds the kernels\n\n" +
         cut_markdown(bounds_table(analysis.accounting, analysis.accounting.kernels.by_phase), "part");
  Table gaps = gaps_table(model, analysis.accounting, kGapsShown);
  gaps.keep(kGapsShown);
  if (gaps.size() > 0) out += "### Longest gaps\n\n" + render_markdown(gaps) + "\n";
  if (!analysis.declared_operations.empty()) {
    out += "## Declared and measured work\n\n" +
           cut_markdown(declared_work_table(analysis.declared_operations), "operation") +
           markdown_cell(work_line(analysis)) + "\n\n";
  }
  const auto phases = analyzer::summarise_phases(analysis.steps.steps);
  out += "## Steps\n\n" + render_markdown(phases_table(phases)) + "\n" +
         cut_markdown(steps_table(analysis.steps), "step");
  out += "## About this recording\n\n| | |\n| --- | --- |\n";
  for (const Fact& fact : run_facts(model)) {
    out += "| " + markdown_cell(fact.label) + " | " + markdown_cell(bounded(fact.value)) + " |\n";
  }
  out += "\n";
  for (const Term& tier : tier_glossary())
    out += fmt::format("- {} {}: {}.\n", tier.term, tier.name, tier.meaning);
  return out + "\n" + markdown_paragraph(completeness_line(analysis.quality)) +
         markdown_paragraph(tiers_line(analysis.quality));
}

Document json_report(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  return Document([&model, &analysis](const Sink& sink) {
    JsonWriter out(sink, "ridgeline.report");
    out.value("capture", capture_json(model));
    out.value("step", step_json(analysis.steps));
    out.value("verdict", check_json(analysis.check_ranking, analysis.check));
    out.value("sentence", valid_utf8(verdict_sentence(analysis)));
    out.value("headline", headline_json(model, analysis));
    out.value("advice", advice_json(analysis.advice, analysis.quality));
    out.value("peaks", peaks_json(analysis.utilisation));
    out.begin_object("ranking");
    out.value("options", ranking_options_json(analysis.ranking.options));
    out.rows("rows", ranking_table(analysis.utilisation, analysis.ranking));
    out.value("totals", ranking_totals_json(analysis.ranking));
    out.end_object();
    out.rows("check", check_table(analysis.check, analysis.check_ranking, true));
    out.value("accounting", accounting_json(model, analysis.accounting));
    out.value("power", power_json(analysis.ranking.power));
    write_kernel_time(out, analysis.accounting);
    out.rows("gaps", gaps_table(model, analysis.accounting));
    out.value("stalls", stalls_json(analysis.stalls));
    out.value("throughput", throughput_json(analysis.throughput));
    out.value("declared", declared_json(analysis.ranking.totals.work));
    out.rows("declared_operations", declared_work_table(analysis.declared_operations));
    out.rows("declared_work", declared_work_table(analysis.declared_work));
    out.rows("phases", phases_table(analyzer::summarise_phases(analysis.steps.steps)));
    out.rows("steps", steps_table(analysis.steps));
    out.rows("launches", launches_table(model, analysis));
    out.value("quality", quality_json(analysis.quality));
    out.finish();
  });
}

Document capture_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                          ReportFormat format, const analyzer::CheckFailOn& fail_on,
                          const DocumentOptions& options) {
  DocumentOptions table = options;
  switch (format) {
    case ReportFormat::html:
      return Document(html_report(model, analysis));
    case ReportFormat::markdown:
      return Document(markdown_report(model, analysis));
    case ReportFormat::comment:
      return Document(capture_comment(analysis, fail_on, options.link));
    case ReportFormat::json:
      return json_report(model, analysis);
    case ReportFormat::text:
      table.format = Format::text;
      return check_document(model, analysis, table);
    case ReportFormat::csv:
      table.format = Format::csv;
      return check_document(model, analysis, table);
    case ReportFormat::junit:
      return Document(capture_junit(model, analysis, fail_on));
    case ReportFormat::github:
      return Document(capture_github(analysis, fail_on));
    case ReportFormat::gitlab_metrics:
      return Document(capture_gitlab_metrics(analysis));
    case ReportFormat::bencher:
      return Document(capture_bencher(analysis));
  }
  return Document(std::string());
}

}  // namespace ridgeline::reports
