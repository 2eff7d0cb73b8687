// document_parts.h: what several documents are made of.
#pragma once

#include <string>
#include <string_view>

#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// Rows of a table that people see unless they ask for all.
inline constexpr std::size_t kRowsShown = 40;

/// Rows of a table in a report.
inline constexpr std::size_t kReportRows = 200;

/// Sorted, cut and with the columns that were asked for.
[[nodiscard]] Table chosen(Table table, const DocumentOptions& options);
[[nodiscard]] Table with_columns(Table table, std::string_view keys);
/// "12 more launches are not shown: --all shows them."; "" if none was left out.
[[nodiscard]] std::string cut_line(const Table& table, std::string_view noun, std::string_view plural = {});
[[nodiscard]] Document csv_document(Table table);
/// True if `name` is an item of --columns.
[[nodiscard]] bool asks_for(const DocumentOptions& options, std::string_view name);

[[nodiscard]] std::string paragraph(const std::string& text, const TextStyle& style);
[[nodiscard]] std::string markdown_paragraph(const std::string& text);
/// "Where the step's time went".
[[nodiscard]] std::string time_heading(const analyzer::Accounting& accounting);
[[nodiscard]] std::string heading(std::string_view text, const TextStyle& style);

/// Which program, where, which step.
[[nodiscard]] std::string recording_text(const analyzer::Model&, const analyzer::Analysis&, const TextStyle&);
[[nodiscard]] std::string recording_markdown(const analyzer::Model&, const analyzer::Analysis&);
/// All lines of the headline; the analysis has Session::kCheck, and kAdvice if one is to be about advice.
[[nodiscard]] std::string opening_text(const analyzer::Model&, const analyzer::Analysis&, const TextStyle&);
[[nodiscard]] std::string opening_markdown(const analyzer::Model&, const analyzer::Analysis&);
/// The recording, and of the headline's lines those that are not about kernels or advice.
[[nodiscard]] std::string headline(const analyzer::Model&, const analyzer::Analysis&, const TextStyle&);
[[nodiscard]] std::string markdown_headline(const analyzer::Model&, const analyzer::Analysis&);
/// The longest gap, unless the headline has named it: "".
[[nodiscard]] std::string gap_line(const analyzer::Model& model, const analyzer::Analysis& analysis);
/// What the figures rest on, one line per tier, then what the reader must know, one line per kind; `verbose`: all.
[[nodiscard]] std::string footing(const analyzer::Model&, const analyzer::Analysis&, const DocumentOptions&);
[[nodiscard]] std::string markdown_footing(const analyzer::Model&, const analyzer::Analysis&,
                                           const DocumentOptions&);

/// Member "kernel_time": kernel time by what bounds it, by phase, layer and operation.
void write_kernel_time(JsonWriter& out, const analyzer::Accounting& accounting);

/// What the ranking adds up to, in sentences.
[[nodiscard]] std::string ranking_sums(const analyzer::Ranking& ranking);

/// Stall reasons of the worst kernels; `marks` of the Markdown heading: "##".
[[nodiscard]] std::string stalls_text(const analyzer::StallAnalysis&, const TextStyle&);
[[nodiscard]] std::string stalls_markdown(const analyzer::StallAnalysis&, std::string_view marks);

/// Markdown for a pull request: a heading, then a line each, 15 at most; what is cut is counted, and `link`
/// leads to it.
[[nodiscard]] std::string comment_text(std::string_view heading, const std::vector<std::string>& lines,
                                       std::string_view link);

}  // namespace ridgeline::reports
