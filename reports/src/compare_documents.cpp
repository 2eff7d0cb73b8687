#include "ridgeline/reports/compare_documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "compare_parts.h"
#include "document_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

using comparison::Comparison;
using comparison::KernelChange;
using comparison::Outcome;

// A comment of GitHub holds 64 KiB; a page of kernels is less.
constexpr std::size_t kCommentRows = 30;
constexpr std::size_t kTransferRows = 20;
constexpr std::size_t kCommentBytes = 60 * 1024;

std::string sides_line(const Comparison& comparison) {
  const auto text = [](const comparison::ComparisonSide& side) {
    std::string line = side.captures.size() == 1
                           ? side.captures.front()
                           : counted(static_cast<std::int64_t>(side.captures.size()), "run");
    if (!side.git_commit.empty())
      line += " at " + side.git_commit.substr(0, 10) + (side.git_dirty ? " (modified)" : "");
    return line;
  };
  std::string line = fmt::format("A: {}. B: {}.", text(comparison.a), text(comparison.b));
  if (!comparison.b.device.empty()) line += " " + comparison.b.device + ".";
  return line;
}

std::string quiet_line(const Comparison& comparison, std::size_t shown) {
  const std::size_t quiet = comparison.kernels.size() - shown;
  if (quiet == 0) return {};
  return fmt::format("{} not shown: the same, or too little to say. --all shows {}.",
                     counted(static_cast<std::int64_t>(quiet), "more kernel is", "more kernels are"),
                     quiet == 1 ? "it" : "them");
}

Document text_document(const Comparison& comparison, const DocumentOptions& options) {
  const TextStyle& style = options.text;
  const Style colour = comparison.verdict == comparison::ComparisonVerdict::regressed  ? Style::bad
                       : comparison.verdict == comparison::ComparisonVerdict::improved ? Style::good
                                                                                       : Style::strong;
  std::string out = paragraph(sides_line(comparison), style);
  out += styled(wrapped(compare_verdict_sentence(comparison), style.columns), colour, style.colour) + "\n";
  for (const std::string& line : compare_blame(comparison)) out += paragraph(line, style);
  for (const std::string& note : compare_notes(comparison)) out += paragraph(note, style);
  out += "\n" + render_text(step_metrics_table(comparison.step_metrics), style) + "\n";
  if (const auto rows = notable_transfers(comparison); !rows.empty()) {
    Table transfers = transfers_table(comparison.transfers);
    transfers.pick(rows);
    transfers.keep(kTransferRows);
    out += render_text(transfers, style) + "\n";
  }
  Table table = compare_table(comparison.kernels);
  std::size_t shown = comparison.kernels.size();
  if (!options.all && options.sort.empty() && options.top == 0) {
    const auto rows = notable_rows(comparison);
    shown = rows.size();
    table.pick(rows);
  }
  table = chosen(std::move(table), options);
  if (table.size() > 0) out += render_text(table, style);
  out += paragraph(cut_line(table, "kernel"), style) + paragraph(quiet_line(comparison, shown), style);
  return Document(out);
}

std::string markdown_text(const Comparison& comparison, std::size_t max_rows) {
  std::string out = "### " + markdown_cell(compare_verdict_sentence(comparison)) + "\n\n";
  const auto rows = notable_rows(comparison);
  const bool green = comparison.verdict == comparison::ComparisonVerdict::same && rows.empty() &&
                     notable_transfers(comparison).empty() && compare_blame(comparison).empty();
  if (green) return out;
  for (const std::string& line : compare_blame(comparison)) out += "**" + markdown_cell(line) + "**\n\n";
  for (const std::string& note : compare_notes(comparison)) out += "- " + markdown_cell(note) + "\n";
  out += "\n" + render_markdown(step_metrics_table(comparison.step_metrics)) + "\n";
  if (const auto transfers = notable_transfers(comparison); !transfers.empty()) {
    Table table = transfers_table(comparison.transfers);
    table.pick(transfers);
    table.keep(kTransferRows);
    out += render_markdown(table) + "\n";
  }
  Table table = compare_table(comparison.kernels);
  table.pick(rows);
  table.keep(max_rows);
  if (table.size() > 0) out += render_markdown(table) + "\n";
  if (table.left_out() > 0)
    out += fmt::format(
        "{} of less weight not shown.\n\n",
        counted(static_cast<std::int64_t>(table.left_out()), "more kernel is", "more kernels are"));
  const std::size_t quiet = comparison.kernels.size() - rows.size();
  if (quiet > 0)
    out += fmt::format("{} the same, or too little to say.\n\n",
                       counted(static_cast<std::int64_t>(quiet), "more kernel is", "more kernels are"));
  out +=
      "<details><summary>Runs and environment</summary>\n\n" + markdown_cell(sides_line(comparison)) + "\n\n";
  for (const comparison::EnvironmentDifference& difference : comparison.environment) {
    out += "- " +
           markdown_cell(fmt::format("{} ({}): {} → {}", difference.what, to_string(difference.weight),
                                     bounded(difference.a, 200), bounded(difference.b, 200))) +
           "\n";
  }
  for (const auto* side : {&comparison.a, &comparison.b})
    out += "- " + markdown_cell((side == &comparison.a ? "A: " : "B: ") + bounded(side->command_line, 400)) +
           "\n";
  return out + "\n</details>\n";
}

// What is blamed, budgets that are missed, and what may explain it.
std::string compare_comment(const Comparison& comparison, std::string_view link) {
  std::vector<std::string> lines = compare_blame(comparison);
  for (const comparison::BudgetCheck& check : comparison.budgets) {
    if (check.missed || !check.kernel || !check.measured) lines.push_back(budget_text(comparison, check));
  }
  for (std::string& note : environment_notes(comparison)) lines.push_back(std::move(note));
  return comment_text(compare_verdict_sentence(comparison), lines, link);
}

Document markdown_document(const Comparison& comparison, const DocumentOptions& options) {
  std::size_t rows = options.top > 0 ? static_cast<std::size_t>(options.top) : kCommentRows;
  std::string text = markdown_text(comparison, rows);
  while (text.size() > kCommentBytes && rows > 0) text = markdown_text(comparison, rows /= 2);
  return Document(text);
}

}  // namespace

std::vector<std::size_t> notable_rows(const Comparison& comparison) {
  std::vector<std::size_t> rows;
  const double least =
      std::max(comparison.options.kernel_ns, comparison.options.kernel_step_share * comparison.step().time.a);
  for (std::size_t i = 0; i < comparison.kernels.size(); ++i) {
    const KernelChange& change = comparison.kernels[i];
    const bool budgeted =
        std::any_of(comparison.budgets.begin(), comparison.budgets.end(),
                    [&](const comparison::BudgetCheck& check) { return check.kernel == i && check.missed; });
    const bool quiet =
        !budgeted && (change.outcome == Outcome::same ||
                      (change.outcome == Outcome::inconclusive && !change.hint &&
                       std::abs(change.adjusted.delta) < least && change.code_changed != true));
    if (!quiet) rows.push_back(i);
  }
  return rows;
}

std::vector<std::size_t> notable_transfers(const Comparison& comparison) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < comparison.transfers.size(); ++i) {
    const comparison::TransferChange& change = comparison.transfers[i];
    const bool moved = change.outcome == Outcome::regressed || change.outcome == Outcome::improved;
    if (moved || change.other_work()) rows.push_back(i);
  }
  return rows;
}

Document compare_document(const Comparison& comparison, ReportFormat format, const DocumentOptions& options) {
  switch (format) {
    case ReportFormat::text:
      return text_document(comparison, options);
    case ReportFormat::markdown:
      return markdown_document(comparison, options);
    case ReportFormat::comment:
      return Document(compare_comment(comparison, options.link));
    case ReportFormat::json:
      return compare_json(comparison);
    case ReportFormat::csv: {
      DocumentOptions all = options;
      all.format = Format::csv;
      return csv_document(chosen(compare_table(comparison.kernels), all));
    }
    case ReportFormat::html:
      return Document(compare_html(comparison));
    case ReportFormat::junit:
      return Document(compare_junit(comparison));
    case ReportFormat::github:
      return Document(compare_github(comparison));
    case ReportFormat::gitlab_metrics:
      return Document(compare_gitlab_metrics(comparison));
    case ReportFormat::bencher:
      return Document(compare_bencher(comparison));
  }
  return Document(std::string());
}

}  // namespace ridgeline::reports
