// documents.cpp: the ranking and the target check.
#include "ridgeline/reports/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "document_parts.h"
#include "gap_text.h"
#include "json_parts.h"
#include "ranking_hints.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/check_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

// How much of the kernel time is where it should be; "" if nothing was measured.
std::string time_shares(const analyzer::TargetCheck& check, const analyzer::Ranking& ranking) {
  if (!anything_measured(ranking)) return "";
  return fmt::format("Share of the kernel time at {} of the nearest roof or above: {}; at {}: {}.",
                     target_text(check.options.target), percent_text(check.time_share_at_target),
                     target_text(check.options.stretch), percent_text(check.time_share_at_stretch));
}

}  // namespace

std::string ranking_sums(const analyzer::Ranking& ranking) {
  const analyzer::RankingTotals& t = ranking.totals;
  std::string text = fmt::format("Saving: {}.", saving_text(ranking)) + saving_notes(ranking);
  if (anything_measured(ranking)) {
    text += fmt::format(" {} of the kernel time is at {} or above, {} at {}.",
                        percent_text(t.time_share_at_target), target_text(ranking.options.target),
                        percent_text(t.time_share_at_stretch), target_text(ranking.options.stretch));
  }
  if (anything_measured(ranking)) {
    text += fmt::format(" Kernel time: {} compute-bound, {} memory-bound, {} latency-bound.",
                        time_text(static_cast<double>(t.bounds.compute_ns)),
                        time_text(static_cast<double>(t.bounds.memory_ns)),
                        time_text(static_cast<double>(t.bounds.latency_ns)));
  }
  const auto part = [&](std::int64_t calls, std::int64_t ns, const char* what) {
    if (calls > 0)
      text += fmt::format(" {} ({}) {}.", counted(calls, "launch", "launches"),
                          time_text(static_cast<double>(ns)), what);
  };
  part(t.too_short_calls, t.too_short_time_ns,
       t.too_short_calls == 1 ? "is too short for any roof" : "are too short for any roof");
  part(t.no_roof_calls, t.no_roof_time_ns,
       t.no_roof_calls == 1 ? "has no meaningful roof" : "have no meaningful roof");
  part(t.unmeasured_calls, t.unmeasured_time_ns,
       t.unmeasured_calls == 1 ? "has no measured utilisation" : "have no measured utilisation");
  return text;
}

Document ranking_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                          const DocumentOptions& options) {
  if (asks_for(options, "cold") && analysis.utilisation.cold_steps.empty()) {
    throw Error(ErrorKind::no_data,
                model.path + ": no kernel was measured with cold caches: record it with --cold");
  }
  const bool with_work = asks_for(options, "work");
  if (with_work && !analysis.ranking.totals.work) {
    throw Error(
        ErrorKind::no_data,
        fmt::format("{}: no launch of the {} is in a range that declares its work (bytes and FLOPs as an "
                    "NVTX payload); docs/cli.md says how a program declares it",
                    model.path, scope_noun(analysis.ranking.scope)));
  }
  const std::string work = with_work ? work_line(analysis) : "";
  Table all_rows = ranking_table(analysis.utilisation, analysis.ranking);
  const std::string brief = leave_out_brief_rows(analysis.ranking, options.min_share, all_rows);
  const Table table = chosen(std::move(all_rows), options);
  const std::string cut =
      options.top > 0
          ? ""
          : cut_line(table, analysis.ranking.options.key.has(analyzer::RankingKey::launch) ? "launch" : "row",
                     analysis.ranking.options.key.has(analyzer::RankingKey::launch) ? "launches" : "");
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(recording_markdown(model, analysis) + opening_markdown(model, analysis) +
                      render_markdown(table) + "\n" + markdown_paragraph(cut) + markdown_paragraph(brief) +
                      markdown_paragraph(no_range_line(analysis.ranking)) +
                      markdown_paragraph(ranking_sums(analysis.ranking)) +
                      markdown_paragraph(gap_line(model, analysis)) +
                      markdown_paragraph(clock_cost_line(analysis.ranking)) +
                      markdown_paragraph(throughput_line(analysis.throughput)) +
                      markdown_paragraph(undeclared_line(analysis.throughput)) + markdown_paragraph(work) +
                      (options.stalls ? stalls_markdown(analysis.stalls, "###") : "") +
                      markdown_footing(model, analysis, options));
    case Format::json:
      return Document([table, &model, &analysis, stalls = options.stalls](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.rank");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.value("headline", headline_json(model, analysis));
        out.value("advice", advice_json(analysis.advice, analysis.quality));
        out.value("options", ranking_options_json(analysis.ranking.options));
        out.value("peaks", peaks_json(analysis.utilisation));
        out.rows("rows", table);
        out.value("totals", ranking_totals_json(analysis.ranking));
        out.value("throughput", throughput_json(analysis.throughput));
        out.value("declared", declared_json(analysis.ranking.totals.work));
        out.value("power", power_json(analysis.ranking.power));
        out.value("longest_gap", longest_gap_json(model, analysis.accounting));
        if (stalls) out.value("stalls", stalls_json(analysis.stalls));
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    case Format::text:
      break;
  }
  TextStyle wide = options.text;  // whoever asks for every column gets them
  if (asks_for(options, "all")) wide.columns = std::max(wide.columns, full_width(table));
  return Document(
      recording_text(model, analysis, options.text) + opening_text(model, analysis, options.text) + "\n" +
      render_text(table, wide) + "\n" + paragraph(cut, options.text) + paragraph(brief, options.text) +
      paragraph(no_range_line(analysis.ranking), options.text) +
      paragraph(ranking_sums(analysis.ranking), options.text) +
      paragraph(gap_line(model, analysis), options.text) +
      paragraph(clock_cost_line(analysis.ranking), options.text) +
      paragraph(throughput_line(analysis.throughput), options.text) +
      paragraph(undeclared_line(analysis.throughput), options.text) + paragraph(work, options.text) +
      (options.stalls ? stalls_text(analysis.stalls, options.text) : "") + footing(model, analysis, options));
}

namespace {

constexpr std::size_t kBudgetLines = 20;

// What each budget allows, and what its kernels took: missed ones first.
std::vector<std::string> budget_lines(const analyzer::Analysis& analysis) {
  std::vector<std::string> lines;
  std::int64_t more = 0;
  for (const bool missed : {true, false}) {
    for (const analyzer::KernelCheck& kernel : analysis.check.kernels) {
      if (!kernel.budget || (kernel.verdict == analyzer::KernelVerdict::missed) != missed) continue;
      if (lines.size() == kBudgetLines) {
        ++more;
        continue;
      }
      const analyzer::RankingRow& row = analysis.check_ranking.rows[kernel.row];
      lines.push_back(fmt::format("Budget {}: {}: {}.", missed ? "missed" : to_string(kernel.verdict),
                                  elide_kernel_name(row.key, 60),
                                  kernel_check_text(analysis.check, row, kernel)));
    }
  }
  if (more > 0) lines.push_back(counted(more, "more budget") + ".");
  return lines;
}

}  // namespace

Document check_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                        const DocumentOptions& options) {
  const bool for_programs = options.format == Format::json || options.format == Format::csv;
  const Table table =
      chosen(check_table(analysis.check, analysis.check_ranking, options.all || for_programs), options);
  const std::string verdict = verdict_sentence(analysis);
  std::string notes = saving_notes(analysis.check_ranking);
  if (!notes.empty()) notes.erase(0, 1);
  const std::string shares = time_shares(analysis.check, analysis.check_ranking);
  std::string budgets;
  for (const std::size_t i : analysis.check.unmatched_budgets) {
    budgets += (budgets.empty() ? "" : ", ") + analysis.check.options.budgets[i].kernel;
  }
  if (!budgets.empty()) budgets = "Budgets that match no kernel: " + budgets + ".";
  const std::vector<std::string> held = budget_lines(analysis);
  std::string left_out;
  if (!options.all && analysis.check.below_min_share_count > 0) {
    left_out = fmt::format("{} of less than {} of the {} {} not judged: --all lists {}.",
                           counted(analysis.check.below_min_share_count, "kernel"),
                           target_text(analysis.check.options.min_share), scope_noun(analysis.check.scope),
                           analysis.check.below_min_share_count == 1 ? "is" : "are",
                           analysis.check.below_min_share_count == 1 ? "it" : "them");
  }
  const std::string cut = options.top > 0 ? "" : cut_line(table, "kernel");
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown: {
      std::string out = "**" + markdown_cell(verdict) + "**\n\n" + markdown_headline(model, analysis) +
                        render_markdown(table) + "\n" + markdown_paragraph(cut);
      for (const std::string& line : held) out += "- " + markdown_cell(line) + "\n";
      if (!held.empty()) out += "\n";
      out += markdown_paragraph(notes) + markdown_paragraph(shares) + markdown_paragraph(left_out) +
             markdown_paragraph(budgets);
      return Document(out + markdown_footing(model, analysis, options));
    }
    case Format::json:
      return Document([table, &model, &analysis, verdict](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.check");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.value("verdict", check_json(analysis.check_ranking, analysis.check));
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
  // The headline above it has said already that the GPU idles.
  const std::string lines = wrapped(terminal_safe(kernels_verdict_sentence(analysis)), options.text.columns);
  const std::string coloured = styled(lines, style, options.text.colour) + "\n";
  std::string held_text;
  for (const std::string& line : held) held_text += paragraph(line, options.text);
  return Document(headline(model, analysis, options.text) + "\n" + render_text(table, options.text) +
                  paragraph(cut, options.text) + "\n" + coloured + paragraph(notes, options.text) +
                  paragraph(shares, options.text) + paragraph(left_out, options.text) +
                  paragraph(budgets, options.text) + held_text + footing(model, analysis, options));
}

}  // namespace ridgeline::reports
