// kernel_query.h: questions about one kernel of a scope.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ridgeline/analyzer/model/query_options.h"
#include "ridgeline/analyzer/ranking/kernel_hold.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/queries/scope_query.h"
#include "ridgeline/reports/ncu_command_document.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::queries {

/// What holds a kernel, on what evidence, and what to do. Needs a ranking by kernel: AnalysisOptions::ranking, and
/// window_key of a stretch of time. `kernel`: as choose_kernel() takes it.
struct ExplainQuery {
  std::string kernel;
  analyzer::Scope scope = {};
};
/// The command line of Nsight Compute that profiles a launch of that kernel in the step of the scope.
struct NcuCommandQuery {
  std::string kernel;
  analyzer::Scope scope = {};
  std::int64_t launches = 1;  ///< that are profiled, one after the other
};

/// Why a row of a ranking takes the time that it takes.
struct KernelWhy {
  std::string sentence;  ///< as `ridgeline explain` begins what holds the kernel
  analyzer::KernelHold hold;
};
/// `row` of the answer's ranking; throws std::out_of_range for another.
[[nodiscard]] KernelWhy why_kernel(const ScopeAnswer& answer, std::size_t row);

/// The row that a text means: its place in the ranking ("3", "#3"), its name in full or as people read it, a pattern
/// with * and ?, or a part of the name in any case. Failure: usage, with the names that it could have meant.
[[nodiscard]] Result<std::size_t> choose_kernel(const analyzer::Ranking& ranking, std::string_view text);

/// What Nsight Compute calls the function: without return type, namespaces, template arguments and parameters.
[[nodiscard]] std::string function_name(std::string_view demangled_name);

/// Reads how often the function was launched before the first launch of the row in its step. Failure: cancelled.
[[nodiscard]] Result<reports::NcuCommand> ncu_command(const store::Capture& capture,
                                                      const analyzer::Model& model,
                                                      const analyzer::Analysis& analysis, std::size_t row,
                                                      std::int64_t launches,
                                                      const analyzer::QueryOptions& how = {});

}  // namespace ridgeline::queries
