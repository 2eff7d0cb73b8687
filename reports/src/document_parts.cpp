#include "document_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "gap_text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/headline_text.h"
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

namespace {

// What kernels and advice are about stands below the tables of documents that are about neither.
std::vector<HeadlineWords> pace_lines(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::vector<HeadlineWords> lines = headline_words(model, analysis);
  std::erase_if(lines, [](const HeadlineWords& line) {
    return !is_labelled(line.kind) && line.kind != analyzer::HeadlineKind::idle &&
           line.kind != analyzer::HeadlineKind::communication;
  });
  return lines;
}

Style style_of(const HeadlineWords& line, const analyzer::TargetCheck& check) {
  switch (line.kind) {
    case analyzer::HeadlineKind::idle:
    case analyzer::HeadlineKind::communication:
      return Style::fair;
    case analyzer::HeadlineKind::verdict:
      return check.overall == analyzer::OverallVerdict::met      ? Style::good
             : check.overall == analyzer::OverallVerdict::missed ? Style::bad
                                                                 : Style::fair;
    default:
      return Style::plain;
  }
}

// A label of its own colour, then the text with the lines below the first indented.
std::string labelled(const HeadlineWords& line, const TextStyle& style) {
  const std::string label = std::string(to_string(line.severity)) + ":";
  const std::string text = wrapped(label + " " + terminal_safe(line.text), style.columns, 2);
  return styled(text.substr(0, label.size()), line.severity == Severity::error ? Style::bad : Style::fair,
                style.colour) +
         text.substr(label.size()) + "\n";
}

std::string line_text(const HeadlineWords& line, const analyzer::Analysis& analysis, const TextStyle& style) {
  if (is_labelled(line.kind)) return labelled(line, style);
  return styled(wrapped(terminal_safe(line.text), style.columns), style_of(line, analysis.check),
                style.colour) +
         "\n";
}

// Notices below each other are one list, and the lines of the advice one paragraph.
std::string lines_markdown(const std::vector<HeadlineWords>& lines) {
  std::string out, advice;
  bool in_list = false;
  for (const HeadlineWords& line : lines) {
    const std::string text = log_line(markdown_cell(line.text));
    if (in_list && !is_labelled(line.kind)) out += "\n";
    in_list = is_labelled(line.kind);
    if (in_list)
      out += fmt::format("- **{}**: {}\n", to_string(line.severity), text);
    else if (line.kind == analyzer::HeadlineKind::advice)
      advice += (advice.empty() ? "" : " ") + text;
    else
      out += (line.kind == analyzer::HeadlineKind::verdict ? "**" + text + "**" : text) + "\n\n";
  }
  if (in_list) out += "\n";
  return advice.empty() ? out : out + advice + "\n\n";
}

}  // namespace

std::string opening_text(const analyzer::Model& model, const analyzer::Analysis& analysis,
                         const TextStyle& style) {
  std::string out;
  for (const HeadlineWords& line : headline_words(model, analysis)) out += line_text(line, analysis, style);
  return out;
}

std::string opening_markdown(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  return lines_markdown(headline_words(model, analysis));
}

std::string recording_text(const analyzer::Model& model, const analyzer::Analysis& analysis,
                           const TextStyle& style) {
  std::string out;
  const std::string program = terminal_safe(command_line(model));
  if (!program.empty())
    out += styled(elide_middle(program, style.columns), Style::strong, style.colour) + "\n";
  return out + paragraph(run_line(model), style) + paragraph(step_line(analysis.steps), style);
}

std::string recording_markdown(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::string out;
  if (const std::string program = command_line(model); !program.empty())
    out += markdown_code(program) + "\n\n";
  return out + markdown_cell(run_line(model)) + "\n\n" + markdown_cell(step_line(analysis.steps)) + "\n\n";
}

std::string headline(const analyzer::Model& model, const analyzer::Analysis& analysis,
                     const TextStyle& style) {
  std::string out = recording_text(model, analysis, style);
  for (const HeadlineWords& line : pace_lines(model, analysis)) out += line_text(line, analysis, style);
  return out;
}

std::string markdown_headline(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  return recording_markdown(model, analysis) + lines_markdown(pace_lines(model, analysis));
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
