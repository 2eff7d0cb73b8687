#include "ridgeline/reports/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "json_parts.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kGapsShown = 5;

// Sorted, cut and with the columns that were asked for.
Table chosen(Table table, const DocumentOptions& options) {
  if (!options.sort.empty()) table.sort(options.sort);
  if (options.top > 0) table.keep(static_cast<std::size_t>(options.top));
  if (!options.columns.empty()) table.select(options.columns);
  return table;
}

Table with_columns(Table table, std::string_view keys) {
  table.select(keys);
  return table;
}

Document csv_document(Table table) {
  return Document([table = std::move(table)](const Sink& out) { write_csv(table, out); });
}

// True if `name` is an item of --columns.
bool asks_for(const DocumentOptions& options, std::string_view name) {
  std::string_view list = options.columns;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string paragraph(const std::string& text, const TextStyle& style) {
  return text.empty() ? "" : wrapped(terminal_safe(text), style.columns) + "\n";
}

// Which program, where, which step.
std::string headline(const analyzer::Model& model, const analyzer::Analysis& analysis,
                     const TextStyle& style) {
  std::string out;
  const std::string program = terminal_safe(command_line(model));
  if (!program.empty())
    out += styled(elide_middle(program, style.columns), Style::strong, style.colour) + "\n";
  out += paragraph(run_line(model), style);
  return out + paragraph(step_line(analysis.steps), style);
}

std::string markdown_headline(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out;
  if (const std::string program = command_line(model); !program.empty())
    out += markdown_code(program) + "\n\n";
  return out + markdown_cell(run_line(model)) + "\n\n" + markdown_cell(step_line(analysis.steps)) + "\n\n";
}

std::string footing(const analyzer::Analysis& analysis, const TextStyle& style) {
  return paragraph(roofs_line(analysis.utilisation), style) +
         paragraph(completeness_line(analysis.quality), style) +
         paragraph(tiers_line(analysis.quality), style) +
         notices_text(notices(analysis.quality, analyzer::Severity::warning), style);
}

std::string markdown_footing(const analyzer::Analysis& analysis) {
  std::string out = markdown_cell(roofs_line(analysis.utilisation));
  if (!out.empty()) out += "\n\n";
  out += markdown_cell(completeness_line(analysis.quality)) + "\n";
  if (const std::string tiers = tiers_line(analysis.quality); !tiers.empty())
    out.append("\n").append(markdown_cell(tiers)).append("\n");
  const std::string told = notices_markdown(notices(analysis.quality, analyzer::Severity::warning));
  return told.empty() ? out : out + "\n" + told;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 32);
  return text;
}

std::string exposed_note(const analyzer::Ranking& ranking) {
  const analyzer::RankTotals& t = ranking.totals;
  if (t.saved_target_ns - t.saved_target_exposed_ns < 0.01 * t.saved_target_ns + 1.0) return "";
  return fmt::format("Kernels overlap: of that, {} at {} and {} at {} are not hidden behind other kernels.",
                     time_text(t.saved_target_exposed_ns), target_text(ranking.options.target),
                     time_text(t.saved_stretch_exposed_ns), target_text(ranking.options.stretch));
}

std::string stalls_markdown(const analyzer::StallAnalysis& stalls, const char* heading) {
  std::string out = std::string(heading) + " Stall reasons of the worst kernels\n\n";
  if (!stalls.kernels.empty()) {
    out += render_markdown(stalls_table(stalls)) + "\n" + render_markdown(hot_spots_table(stalls)) + "\n";
  }
  return out + markdown_cell(stalls_line(stalls)) + "\n\n";
}

std::string stalls_text(const analyzer::StallAnalysis& stalls, const TextStyle& style) {
  std::string out = "\n";
  out += styled("Stall reasons of the worst kernels", Style::strong, style.colour) + "\n";
  if (!stalls.kernels.empty()) {
    out += render_text(stalls_table(stalls), style) + "\n" +
           styled("Where their warps were", Style::strong, style.colour) + "\n" +
           render_text(hot_spots_table(stalls), style);
  }
  return out + paragraph(stalls_line(stalls), style) + "\n";
}

// How much of the kernel time is where it should be; "" if nothing was measured.
std::string time_shares(const analyzer::TargetCheck& check, const analyzer::Ranking& ranking) {
  if (!anything_measured(ranking)) return "";
  return fmt::format("Share of the kernel time at {} of peak or above: {}; at {}: {}.",
                     target_text(check.options.target), percent_text(check.time_share_at_target),
                     target_text(check.options.stretch), percent_text(check.time_share_at_stretch));
}

std::string ranking_sums(const analyzer::Ranking& ranking) {
  const analyzer::RankTotals& t = ranking.totals;
  std::string text = fmt::format("To be saved: {}.", saving_text(ranking));
  if (anything_measured(ranking)) {
    text += fmt::format(" {} of the kernel time is at {} or above, {} at {}.",
                        percent_text(t.time_share_at_target), target_text(ranking.options.target),
                        percent_text(t.time_share_at_stretch), target_text(ranking.options.stretch));
  }
  if (const std::string note = exposed_note(ranking); !note.empty()) text += " " + note;
  const auto part = [&](std::int64_t calls, std::int64_t ns, const char* what) {
    if (calls > 0)
      text += fmt::format(" {} ({}) {}.", counted(calls, "launch", "launches"),
                          time_text(static_cast<double>(ns)), what);
  };
  part(t.launch_bound_calls, t.launch_bound_time_ns, "too short for any roof");
  part(t.no_roof_calls, t.no_roof_time_ns, "without a meaningful roof");
  part(t.unmeasured_calls, t.unmeasured_time_ns, "without a measured utilisation");
  return text;
}

}  // namespace

Document ranking_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                          const DocumentOptions& options) {
  if (asks_for(options, "cold") && analysis.utilisation.cold_steps.empty()) {
    throw Error(ErrorKind::no_data,
                model.path + ": no kernel was measured with cold caches: record it with --cold");
  }
  const bool with_work = asks_for(options, "work");
  if (with_work && !analysis.ranking.totals.work) {
    throw Error(ErrorKind::no_data,
                model.path +
                    ": no launch of the step is in a range that declares its work (bytes and FLOPs as an "
                    "NVTX payload); docs/cli.md says how a program declares it");
  }
  const std::string work = with_work ? work_line(analysis) : "";
  const Table table = chosen(ranking_table(analysis.utilisation, analysis.ranking), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(markdown_headline(model, analysis) + render_markdown(table) + "\n" +
                      markdown_cell(ranking_sums(analysis.ranking)) + "\n\n" +
                      (work.empty() ? "" : markdown_cell(work) + "\n\n") +
                      (options.stalls ? stalls_markdown(analysis.stalls, "###") : "") +
                      markdown_footing(analysis));
    case Format::json:
      return Document([table, &model, &analysis, stalls = options.stalls](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.rank");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.value("options", ranking_options_json(analysis.ranking.options));
        out.value("peaks", peaks_json(analysis.utilisation));
        out.rows("rows", table);
        out.value("totals", ranking_totals_json(analysis.ranking));
        out.value("declared", declared_json(analysis.ranking.totals.work));
        if (stalls) out.value("stalls", stalls_json(analysis.stalls));
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    case Format::text:
      break;
  }
  TextStyle wide = options.text;  // whoever asks for every column gets them
  if (asks_for(options, "all")) wide.columns = std::max(wide.columns, full_width(table));
  return Document(headline(model, analysis, options.text) + "\n" + render_text(table, wide) + "\n" +
                  paragraph(ranking_sums(analysis.ranking), options.text) + paragraph(work, options.text) +
                  (options.stalls ? stalls_text(analysis.stalls, options.text) : "") +
                  footing(analysis, options.text));
}

Document check_document(const analyzer::Model& model, const analyzer::Analysis& analysis, bool all,
                        const DocumentOptions& options) {
  const bool for_programs = options.format == Format::json || options.format == Format::csv;
  const Table table =
      chosen(check_table(analysis.check, analysis.check_ranking, all || for_programs), options);
  const std::string verdict = verdict_sentence(analysis);
  const std::string shares = time_shares(analysis.check, analysis.check_ranking);
  std::string budgets;
  for (const std::size_t i : analysis.check.unmatched_budgets) {
    budgets += (budgets.empty() ? "" : ", ") + analysis.check.options.budgets[i].kernel;
  }
  if (!budgets.empty()) budgets = "Budgets that match no kernel: " + budgets + ".";
  std::string left_out;
  if (!all && analysis.check.below_min_share_count > 0) {
    left_out = fmt::format("{} below {} of the step not judged (--all lists them).",
                           counted(analysis.check.below_min_share_count, "kernel"),
                           percent_text(analysis.check.options.min_share));
  }
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown: {
      std::string out = "**" + markdown_cell(verdict) + "**\n\n" + markdown_headline(model, analysis) +
                        render_markdown(table) + "\n";
      if (!shares.empty()) out += markdown_cell(shares) + "\n\n";
      if (!left_out.empty()) out += markdown_cell(left_out) + "\n\n";
      if (!budgets.empty()) out += markdown_cell(budgets) + "\n\n";
      return Document(out + markdown_footing(analysis));
    }
    case Format::json:
      return Document([table, &model, &analysis, verdict](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.check");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.value("verdict", check_json(analysis.check));
        out.value("sentence", valid_utf8(verdict));
        out.value("peaks", peaks_json(analysis.utilisation));
        out.rows("rows", table);
        out.value("totals", ranking_totals_json(analysis.check_ranking));
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    case Format::text:
      break;
  }
  const Style style = analysis.check.overall == analyzer::OverallVerdict::met      ? Style::good
                      : analysis.check.overall == analyzer::OverallVerdict::missed ? Style::bad
                                                                                   : Style::fair;
  // Wrapped first, coloured line by line: a colour does not run over a line's end.
  std::string coloured;
  const std::string lines = wrapped(terminal_safe(verdict), options.text.columns);
  for (std::size_t from = 0; from <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', from), lines.size());
    coloured += styled(lines.substr(from, end - from), style, options.text.colour) + "\n";
    from = end + 1;
  }
  return Document(headline(model, analysis, options.text) + "\n" + render_text(table, options.text) + "\n" +
                  coloured + paragraph(shares, options.text) + paragraph(left_out, options.text) +
                  paragraph(budgets, options.text) + footing(analysis, options.text));
}

Document steps_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                        const DocumentOptions& options) {
  const Table table = chosen(steps_table(analysis.steps), options);
  const std::string left_out =
      table.left_out() > 0 ? fmt::format("{} more steps not shown.", table.left_out()) : "";
  const Table accounting = accounting_table(analysis.accounting);
  Table gaps = gaps_table(model, analysis.accounting);
  const Table all_gaps = gaps;
  gaps.keep(kGapsShown);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown: {
      std::string out = markdown_headline(model, analysis) + render_markdown(table) + "\n";
      if (!left_out.empty()) out += left_out + "\n\n";
      out += "### Where the step's time went\n\n" + render_markdown(accounting) + "\n";
      if (gaps.size() > 0) out += "### Longest gaps\n\n" + render_markdown(gaps) + "\n";
      return Document(out + markdown_footing(analysis));
    }
    case Format::json:
      return Document([table, all_gaps, &model, &analysis](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.steps");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("rows", table);
        out.value("accounting", accounting_json(analysis.accounting));
        out.rows("gaps", all_gaps);
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    case Format::text:
      break;
  }
  const TextStyle& style = options.text;
  std::string out = headline(model, analysis, style) + "\n" + render_text(table, style);
  out += paragraph(left_out, style);
  bool open = false;
  for (const analyzer::StepSummary& step : analysis.steps.steps)
    open = open || (!step.closed && step.gpu_duration_ns > 0);
  out += paragraph(
      std::string("◀ stands for all in the ranking.") +
          (open ? " * to the end of its own work: the next step is missing or of another phase." : ""),
      style);
  out += "\n" + styled("Where the step's time went", Style::strong, style.colour) + "\n" +
         render_text(accounting, style);
  if (gaps.size() > 0) {
    out += "\n" + styled("Longest gaps", Style::strong, style.colour) + "\n" + render_text(gaps, style);
  }
  return Document(out + "\n" + footing(analysis, style));
}

Document info_document(const analyzer::Model& model, const std::map<std::string, std::int64_t>& rows,
                       const DocumentOptions& options) {
  const Table table = chosen(info_table(model, rows), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(render_markdown(table));
    case Format::json:
      return Document([table, &model](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.info");
        out.value("capture", capture_json(model));
        out.rows("rows", table);
        out.finish();
      });
    case Format::text:
      break;
  }
  if (!options.columns.empty()) return Document(render_text(table, options.text));
  // Sections as headings; long values wrap behind their name.
  int label_width = 0;
  for (std::size_t row = 0; row < table.size(); ++row)
    label_width = std::max(label_width, display_width(terminal_safe(table.cell(row, 1).words())));
  label_width = std::min(label_width, 28);
  std::string out;
  std::string section;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (std::string of = table.cell(row, std::size_t{0}).words(); of != section) {
      section = std::move(of);
      if (!out.empty()) out += '\n';
      out += styled(capitalised(section), Style::strong, options.text.colour) + "\n";
    }
    const std::string label = elide_middle(terminal_safe(table.cell(row, 1).words()), label_width);
    const std::string fill(static_cast<std::size_t>(label_width - display_width(label)), ' ');
    const int indent = label_width + 4;
    const std::string value =
        wrapped(terminal_safe(table.cell(row, 2).words()), options.text.columns - indent);
    out += "  " + styled(label, Style::dim, options.text.colour) + fill + "  ";
    for (const char c : value) {
      out += c;
      if (c == '\n') out.append(static_cast<std::size_t>(indent), ' ');
    }
    out += '\n';
  }
  return Document(std::move(out));
}

Document query_document(const store::Capture::Table& result, bool truncated, const DocumentOptions& options) {
  const Table table = chosen(query_table(result), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(render_markdown(table));
    case Format::json:
      return Document([table, truncated](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.sql");
        Json columns = Json::array();
        for (const ColumnHead& column : table.columns()) columns.push_back(valid_utf8(column.key));
        out.value("columns", columns);
        out.value("truncated", truncated);
        out.rows("rows", table);
        out.finish();
      });
    case Format::text:
      break;
  }
  std::string out = render_text(table, options.text);
  out += styled(counted(static_cast<std::int64_t>(table.size()), "row") +
                    (truncated ? ", and more: --max-rows 0 prints all" : ""),
                Style::dim, options.text.colour);
  return Document(out + "\n");
}

std::string markdown_report(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out = "# Ridgeline report\n\n";
  out += "**" + markdown_cell(verdict_sentence(analysis)) + "**\n\n";
  const analyzer::Findings told = notices(analysis.quality, analyzer::Severity::info);
  out += markdown_cell(completeness_line(analysis.quality)) + "\n\n";
  if (const std::string tiers = tiers_line(analysis.quality); !tiers.empty())
    out += markdown_cell(tiers) + "\n\n";
  if (!told.empty()) out += notices_markdown(told) + "\n";
  out += "| | |\n| --- | --- |\n";
  for (const Fact& fact : run_facts(model)) {
    out += "| " + markdown_cell(fact.label) + " | " + markdown_cell(fact.value) + " |\n";
  }
  out += "\n## Ranking\n\n" + markdown_cell(step_line(analysis.steps)) + "\n\n";
  out += render_markdown(ranking_table(analysis.utilisation, analysis.ranking)) + "\n";
  out += markdown_cell(ranking_sums(analysis.ranking)) + "\n\n" +
         markdown_cell(roofs_line(analysis.utilisation)) + "\n\n";
  if (!analysis.quality.comparisons.empty()) {
    out += "### In-situ samples (T1) beside counters (T2)\n\n" +
           render_markdown(comparison_table(analysis.quality)) + "\n";
  }
  if (!analysis.utilisation.cold_steps.empty()) {
    out += "### Cold caches (T3) beside in situ\n\n" +
           render_markdown(with_columns(ranking_table(analysis.utilisation, analysis.ranking), "cold")) +
           "\n";
  }
  if (analysis.stalls.requested) out += stalls_markdown(analysis.stalls, "##");
  out += "## Target check\n\n" + render_markdown(check_table(analysis.check, analysis.check_ranking, false)) +
         "\n";
  out += "## Where the step's time went\n\n" + render_markdown(accounting_table(analysis.accounting)) + "\n";
  Table gaps = gaps_table(model, analysis.accounting);
  gaps.keep(kGapsShown);
  if (gaps.size() > 0) out += "### Longest gaps\n\n" + render_markdown(gaps) + "\n";
  if (!analysis.declared_operations.empty()) {
    out += "## Declared and measured work\n\n" +
           render_markdown(declared_work_table(analysis.declared_operations)) + "\n" +
           markdown_cell(work_line(analysis)) + "\n\n";
  }
  return out + "## Steps\n\n" + render_markdown(steps_table(analysis.steps));
}

Document json_report(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  return Document([&model, &analysis](const Sink& sink) {
    JsonWriter out(sink, "ridgeline.report");
    out.value("capture", capture_json(model));
    out.value("step", step_json(analysis.steps));
    out.value("verdict", check_json(analysis.check));
    out.value("sentence", valid_utf8(verdict_sentence(analysis)));
    out.value("peaks", peaks_json(analysis.utilisation));
    out.begin_object("ranking");
    out.value("options", ranking_options_json(analysis.ranking.options));
    out.rows("rows", ranking_table(analysis.utilisation, analysis.ranking));
    out.value("totals", ranking_totals_json(analysis.ranking));
    out.end_object();
    out.rows("check", check_table(analysis.check, analysis.check_ranking, true));
    out.value("accounting", accounting_json(analysis.accounting));
    out.rows("gaps", gaps_table(model, analysis.accounting));
    out.value("stalls", stalls_json(analysis.stalls));
    out.value("declared", declared_json(analysis.ranking.totals.work));
    out.rows("declared_operations", declared_work_table(analysis.declared_operations));
    out.rows("declared_work", declared_work_table(analysis.declared_work));
    out.rows("steps", steps_table(analysis.steps));
    out.rows("launches", launches_table(model, analysis));
    out.value("quality", quality_json(analysis.quality));
    out.finish();
  });
}

}  // namespace ridgeline::reports
