#include "document_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "gap_text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {

Table chosen(Table table, const DocumentOptions& options) {
  const bool for_people = options.format == Format::text || options.format == Format::markdown;
  if (!options.sort.empty()) table.sort(options.sort);
  if (options.top > 0)
    table.keep(static_cast<std::size_t>(options.top));
  else if (for_people && !options.all)
    table.keep(kRowsShown);
  if (!options.columns.empty()) table.select(options.columns, for_people);
  return table;
}

Table with_columns(Table table, std::string_view keys) {
  table.select(keys);
  return table;
}

std::string cut_line(const Table& table, std::string_view noun, std::string_view plural) {
  if (table.left_out() == 0) return "";
  const auto count = static_cast<std::int64_t>(table.left_out());
  return fmt::format(
      "{} not shown: --all shows {}.",
      counted(count, "more " + std::string(noun), plural.empty() ? "" : "more " + std::string(plural)) +
          (count == 1 ? " is" : " are"),
      count == 1 ? "it" : "them");
}

Document csv_document(Table table) {
  return Document([table = std::move(table)](const Sink& out) { write_csv(table, out); });
}

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

std::string markdown_paragraph(const std::string& text) {
  return text.empty() ? "" : log_line(markdown_cell(text)) + "\n\n";
}

std::string time_heading(const analyzer::Accounting& accounting) {
  return fmt::format("Where the {}'s time went", scope_noun(accounting.scope));
}

std::string heading(std::string_view text, const TextStyle& style) {
  return styled(text, Style::strong, style.colour) + "\n";
}

std::string headline(const analyzer::Model& model, const analyzer::Analysis& analysis,
                     const TextStyle& style) {
  std::string out;
  const std::string program = terminal_safe(command_line(model));
  if (!program.empty())
    out += styled(elide_middle(program, style.columns), Style::strong, style.colour) + "\n";
  out += paragraph(run_line(model), style);
  out += paragraph(step_line(analysis.steps), style);
  out += notices_text(pace_notices(analysis.quality), style);
  return gpu_idles(analysis.quality) ? out + paragraph(longest_gap_line(model, analysis.accounting), style)
                                     : out;
}

std::string markdown_headline(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out;
  if (const std::string program = command_line(model); !program.empty())
    out += markdown_code(program) + "\n\n";
  out += markdown_cell(run_line(model)) + "\n\n" + markdown_cell(step_line(analysis.steps)) + "\n\n";
  const std::string pace = notices_markdown(pace_notices(analysis.quality));
  if (!pace.empty()) out += pace + "\n";
  return gpu_idles(analysis.quality) ? out + markdown_paragraph(longest_gap_line(model, analysis.accounting))
                                     : out;
}

std::string first_markdown(const analyzer::Analysis& analysis) {
  std::string text;
  for (const std::string& line : first_lines(analysis.advice, analysis.quality))
    text += (text.empty() ? "" : " ") + line;
  return markdown_paragraph(text);
}

std::string gap_line(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  return gpu_idles(analysis.quality) ? "" : longest_gap_line(model, analysis.accounting);
}

std::string footing(const analyzer::Model& model, const analyzer::Analysis& analysis,
                    const DocumentOptions& options) {
  const TextStyle& style = options.text;
  std::string out;
  for (const std::string& line : tier_lines(model, analysis.quality))
    out += styled(elide_end(line, style.columns), Style::dim, style.colour) + "\n";
  if (options.verbose) {
    out += paragraph(roofs_line(analysis.utilisation), style) +
           paragraph(completeness_line(analysis.quality), style) +
           paragraph(tiers_line(analysis.quality), style);
    return out + notices_text(other_notices(analysis.quality, Severity::info), style);
  }
  return out + notices_text(other_notices(analysis.quality, Severity::warning), style);
}

std::string markdown_footing(const analyzer::Model& model, const analyzer::Analysis& analysis,
                             const DocumentOptions& options) {
  std::string out;
  for (const std::string& line : tier_lines(model, analysis.quality))
    out += "- " + markdown_cell(line) + "\n";
  out += "\n";
  if (options.verbose) {
    out += markdown_paragraph(roofs_line(analysis.utilisation)) +
           markdown_paragraph(completeness_line(analysis.quality)) +
           markdown_paragraph(tiers_line(analysis.quality));
  }
  const analyzer::Findings told =
      other_notices(analysis.quality, options.verbose ? Severity::info : Severity::warning);
  return out + notices_markdown(told);
}

std::string stalls_markdown(const analyzer::StallAnalysis& stalls, std::string_view marks) {
  std::string out = std::string(marks) + " Stall reasons of the worst kernels\n\n";
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

void write_kernel_time(JsonWriter& out, const analyzer::Accounting& accounting) {
  out.begin_object("kernel_time");
  out.rows("by_phase", bounds_table(accounting, accounting.kernels.by_phase));
  out.rows("by_layer", bounds_table(accounting, accounting.kernels.by_layer));
  out.rows("by_operation", bounds_table(accounting, accounting.kernels.by_operation));
  out.end_object();
}

namespace {

constexpr std::size_t kCommentLines = 15;
constexpr std::size_t kCommentLineBytes = 600;

// Where a browser goes and nothing else.
std::string link_text(std::string_view link) {
  const bool address = link.starts_with("https://") || link.starts_with("http://");
  const bool plain = std::all_of(link.begin(), link.end(), [](unsigned char c) {
    return c > ' ' && c < 127 && c != '(' && c != ')' && c != '<' && c != '>' && c != '"' && c != '\\' &&
           c != '`';
  });
  return address && plain ? fmt::format("[The whole page]({})", link)
                          : markdown_cell(bounded(link, kCommentLineBytes));
}

}  // namespace

std::string comment_text(std::string_view heading, const std::vector<std::string>& lines,
                         std::string_view link) {
  std::string out = "### " + markdown_cell(bounded(heading, kCommentLineBytes)) + "\n";
  // Heading, two blank lines, the link, and what is said of the lines that are cut.
  const std::size_t most = kCommentLines - 5;
  const std::size_t shown = std::min(lines.size(), most);
  if (shown > 0) out += "\n";
  for (std::size_t i = 0; i < shown; ++i)
    out += "- " + markdown_cell(bounded(lines[i], kCommentLineBytes)) + "\n";
  if (shown < lines.size())
    out += fmt::format("- {} on the page\n",
                       counted(static_cast<std::int64_t>(lines.size() - shown), "more line"));
  if (!link.empty()) out += "\n" + link_text(link) + "\n";
  return out;
}

}  // namespace ridgeline::reports
