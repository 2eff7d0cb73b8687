// capture_queries.h: questions about one capture, typed, and the documents that answer them. A client says
// what it wants to know and in which format; what is read and how a document is put together is known here
// alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/queries/interventions_query.h"
#include "ridgeline/queries/kernel_query.h"
#include "ridgeline/queries/sql_query.h"
#include "ridgeline/queries/what_if_query.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/report_format.h"
#include "ridgeline/reports/roofline_document.h"

namespace ridgeline::queries {

/// The kernels of a scope by what they could save.
struct RankingQuery {
  bool stalls = false;  ///< with stall reasons of the worst kernels
  analyzer::Scope scope = {};
  double min_share = 0;  ///< rows of less of the step's time are left out, 0..1
};
/// Whether the kernels of a scope meet their targets.
struct CheckQuery {
  analyzer::Scope scope = {};
};
/// What to do first in a scope, and what it would give.
struct AdviseQuery {
  analyzer::Scope scope = {};
  std::optional<analyzer::AdviceRule> rule;  ///< that alone; empty: all
};
/// What each step cost, and where the time of the scope went.
struct StepsQuery {
  analyzer::Scope scope = {};
};
/// The kernels of a scope and all of them together under the roofs.
struct RooflineQuery {
  enum class Form { table, svg, page };
  Form form = Form::table;
  reports::RooflineShown shown = {};
  analyzer::Scope scope = {};
};
/// Everything about one scope.
struct ReportQuery {
  reports::ReportFormat format = reports::ReportFormat::html;
  analyzer::CheckFailOn fail_on;
  analyzer::Scope scope = {};
};
/// What launches did when they were replayed for their counters, beside what they did in the run.
struct ReplayedQuery {
  analyzer::Scope scope = {};
};
/// What the capture says about its recording.
struct InfoQuery {};
/// Whether the file still is what was written.
struct VerifyQuery {};
/// All rows of a SELECT, however many, as they come.
struct SqlStreamQuery {
  std::string sql;
};

using CaptureQuery = std::variant<RankingQuery, CheckQuery, AdviseQuery, StepsQuery, RooflineQuery,
                                  ReportQuery, InfoQuery, VerifyQuery, SqlQuery, SqlStreamQuery, WhatIfQuery,
                                  InterventionsQuery, ExplainQuery, NcuCommandQuery, ReplayedQuery>;

struct DocumentAnswer {
  reports::Document document;  ///< holds what it is made of
  int exit_code = 0;           ///< of a verdict: docs/cli.md, "Exit codes"
  bool cut = false;            ///< SqlQuery: there were more rows than asked for
};

/// One capture, asked any number of times: what was read for one question is there for the next.
class CaptureQueries {
 public:
  /// The capture is opened by the first question. The options hold for all questions about a scope.
  explicit CaptureQueries(std::string path, analyzer::AnalysisOptions options = {});
  ~CaptureQueries();
  CaptureQueries(CaptureQueries&&) noexcept;
  CaptureQueries& operator=(CaptureQueries&&) noexcept;

  /// `how` of a ReportQuery: its format is not looked at. Failures: those of opening the capture and of the question,
  /// naming the capture; usage for an unknown column.
  [[nodiscard]] Result<DocumentAnswer> ask(const CaptureQuery& query, const reports::DocumentOptions& how,
                                           const analyzer::QueryOptions& ask = {});

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline::queries
