// documents.h: what a verb prints: headline, table, sums, notices, in each format. docs/json.md documents the
// JSON. Every JSON document starts with "format", "version" and "ridgeline".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/reports/report_format.h"
#include "ridgeline/reports/sink.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// How a document is to be printed.
struct DocumentOptions {
  Format format = Format::text;
  TextStyle text;
  std::string columns;   // keys of the columns wanted; "": the usual ones
  std::string sort;      // key of a column, upward, with "-" before it downward; "": worst first
  std::int64_t top = 0;  // rows of the table; 0: all
  double min_share = 0;  // ranking: rows of less of the step's time are left out, 0..1
  bool all = false;      // for people: every row, also kernels below the least share; else long lists are cut
  bool verbose = false;  // all that the figures rest on, every finding on its own
  std::string link;      // of a comment: where the whole page is; "": not said
  bool stalls = false;   // ranking: stall reasons of the worst kernels after it; not in CSV
};

/// All throw Error(usage) for an unknown column. A Document refers to the arguments that it was made from.
[[nodiscard]] Document ranking_document(const analyzer::Model&, const analyzer::Analysis&,
                                        const DocumentOptions&);
[[nodiscard]] Document check_document(const analyzer::Model&, const analyzer::Analysis&,
                                      const DocumentOptions&);
/// What to do first, what it would give and how sure that is; `all`: also small cases, healthy rules and those that
/// cannot say.
[[nodiscard]] Document advice_document(const analyzer::Model&, const analyzer::Analysis&,
                                       const DocumentOptions&);
/// Steps by phase, those that stand out one by one, accounting and the longest gaps.
[[nodiscard]] Document steps_document(const analyzer::Model&, const analyzer::Analysis&,
                                      const DocumentOptions&);
[[nodiscard]] Document info_document(const analyzer::Model&, const std::map<std::string, std::int64_t>& rows,
                                     const DocumentOptions&);
/// `truncated`: there were more rows than asked for.
[[nodiscard]] Document query_document(const store::Capture::Table& result, bool truncated,
                                      const DocumentOptions&);
/// All rows of a query, written as they come: text and Markdown in blocks, each a table of its own. Writing it throws
/// Error of the query's failure.
[[nodiscard]] Document query_document(const store::Capture& capture, std::string sql, const DocumentOptions&);
/// What Capture::verify() found: a line a fault, or one line that says what was held against what.
[[nodiscard]] Document verification_document(const std::string& path, const store::Verification& found,
                                             const DocumentOptions&);

/// The whole report.
[[nodiscard]] std::string html_report(const analyzer::Model&, const analyzer::Analysis&);
[[nodiscard]] std::string markdown_report(const analyzer::Model&, const analyzer::Analysis&);
[[nodiscard]] Document json_report(const analyzer::Model&, const analyzer::Analysis&);
/// One capture in any format: html, markdown and json are the whole report; text and csv the target check; the others
/// what continuous integration reads of targets, budgets and findings. Throws Error(usage) for an unknown column.
[[nodiscard]] Document capture_document(const analyzer::Model&, const analyzer::Analysis&, ReportFormat,
                                        const analyzer::CheckFailOn&, const DocumentOptions& = {});

}  // namespace ridgeline::reports
