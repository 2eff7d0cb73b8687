// steps_document.cpp: the steps by phase, one by one where they stand out, and where the time of one went.
#include "ridgeline/reports/steps_document.h"

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

std::string spread_words(const std::optional<analyzer::PaceSummary::Spread>& spread, const char* noun) {
  if (!spread) return "";
  std::string text = fmt::format("{} {}/s", rate_text(spread->median), noun);
  if (spread->steps > 1)
    text += fmt::format(" (p10 {}, p90 {})", rate_text(spread->p10), rate_text(spread->p90));
  return text;
}

std::string held_words(const analyzer::PaceSummary& summary) {
  if (!summary.max_allocated_bytes) return "";
  const std::string least = bytes_text(static_cast<double>(*summary.min_allocated_bytes));
  const std::string most = bytes_text(static_cast<double>(*summary.max_allocated_bytes));
  return fmt::format("Device memory that it held: {}, of what was seen to be taken.",
                     least == most ? most : fmt::format("{} to {}", least, most));
}

}  // namespace

std::string pace_line(const analyzer::StepAnalysis& steps, const std::vector<analyzer::StepPace>& pace) {
  const analyzer::PaceSummary summary = analyzer::summarise_pace(steps, pace);
  std::string text;
  if (const auto& declared = summary.tokens_per_s ? summary.tokens_per_s : summary.samples_per_s) {
    text = fmt::format("Pace, {} of {}: ", declared->steps > 1 ? "the median" : "that",
                       counted(declared->steps, "step"));
    bool first = true;
    for (const std::string& words :
         {spread_words(summary.tokens_per_s, "tokens"), spread_words(summary.samples_per_s, "samples"),
          spread_words(summary.steps_per_s, "steps")}) {
      if (words.empty()) continue;
      text.append(first ? "" : ", ").append(words);
      first = false;
    }
    text += ".";
  }
  const std::string held = held_words(summary);
  return text.append(text.empty() || held.empty() ? "" : " ").append(held);
}

Document steps_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                        const DocumentOptions& options) {
  static const std::vector<analyzer::StepPace> kNotAsked;
  return steps_document(model, analysis, kNotAsked, options);
}

Document steps_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                        const std::vector<analyzer::StepPace>& pace, const DocumentOptions& options) {
  const std::vector<analyzer::StepSummary>& all = analysis.steps.steps;
  const auto phases = analyzer::summarise_phases(all);
  // A recorded window that stands in for steps is none: the headline says how long it is.
  const bool has_steps =
      std::any_of(all.begin(), all.end(), [](const auto& step) { return step.source != StepSource::window; });
  const bool for_people = options.format == Format::text || options.format == Format::markdown;
  // Of a long list people see what stands out; whoever sorts or cuts it has said what they want.
  const bool unusual_only =
      for_people && !options.all && options.sort.empty() && options.top == 0 && all.size() > kRowsShown;
  Table listed = steps_table(analysis.steps, pace);
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
      std::string out = markdown_headline(model, analysis);
      if (has_steps)
        out += render_markdown(phases_table(phases)) + "\n" + render_markdown(table) + "\n" +
               markdown_paragraph(left_out);
      out += markdown_paragraph(pace_line(analysis.steps, pace));
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
  if (!has_steps) out += paragraph(pace_line(analysis.steps, pace), style);
  if (has_steps && !phases.empty()) out += render_text(phases_table(phases), style) + "\n";
  if (has_steps && table.size() > 0) {
    out += render_text(table, style) + paragraph(left_out, style);
    bool open = false, closed = false;
    for (const analyzer::StepSummary& step : all) {
      open = open || (!step.closed && step.gpu_duration_ns > 0);
      closed = closed || step.closed;
    }
    const bool analysed = analysis.steps.representative.scope == analyzer::ScopeKind::step;
    out += paragraph(
        std::string(analysed ? "◀ is the step that is analysed and stands for all." : "") +
            (!open ? ""
             : closed
                 ? " * is the time to the end of the step's own work: the next step is missing or of another "
                   "phase; the median that is analysed is of the others."
                 : " * is the time to the end of its own work, for no step follows."),
        style);
    out += paragraph(pace_line(analysis.steps, pace), style) + "\n";
  }
  out += heading(time_heading(analysis.accounting), style) + render_text(accounting, style) +
         paragraph(gap_line(model, analysis), style) + paragraph(clock_cost_line(analysis.ranking), style) +
         paragraph(energy_line(analysis.ranking), style);
  out += "\n" + heading("What bounds the kernels", style) + render_text(bounds, style);
  if (gaps.size() > 0) out += "\n" + heading("Longest gaps", style) + render_text(gaps, style);
  return Document(out + "\n" + footing(model, analysis, options));
}

}  // namespace ridgeline::reports
