// verb.h: what a verb of the command line is. One file per verb; each adds its subcommand and says what to do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "ridgeline/queries/capture_queries.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::cli {

/// A verb that was added to the program. `action` runs it after parsing and returns the exit code; failures
/// are thrown as Error.
struct Verb {
  Command app;
  std::function<int()> action;
};

/// `command`: what followed "--" on the command line.
[[nodiscard]] Verb add_record(Command program, const std::vector<std::string>& command);
[[nodiscard]] Verb add_import(Command program);
[[nodiscard]] Verb add_doctor(Command program, const std::vector<std::string>& command);
[[nodiscard]] Verb add_info(Command program);
[[nodiscard]] Verb add_rank(Command program);
[[nodiscard]] Verb add_check(Command program);
[[nodiscard]] Verb add_advise(Command program);
[[nodiscard]] Verb add_explain(Command program);
[[nodiscard]] Verb add_export(Command program);
[[nodiscard]] Verb add_mcp(Command program);
[[nodiscard]] Verb add_ncu_command(Command program);
[[nodiscard]] Verb add_steps(Command program);
[[nodiscard]] Verb add_merge(Command program);
[[nodiscard]] Verb add_ranks(Command program);
[[nodiscard]] Verb add_roofline(Command program);
[[nodiscard]] Verb add_what_if(Command program);
[[nodiscard]] Verb add_interventions(Command program);
[[nodiscard]] Verb add_report(Command program);
[[nodiscard]] Verb add_compare(Command program);
[[nodiscard]] Verb add_history(Command program);
[[nodiscard]] Verb add_commits(Command program, const std::vector<std::string>& command);
[[nodiscard]] Verb add_bisect(Command program, const std::vector<std::string>& command);
[[nodiscard]] Verb add_calibrate(Command program, const std::vector<std::string>& command);
[[nodiscard]] Verb add_ceilings(Command program);
[[nodiscard]] Verb add_ladder(Command program);
[[nodiscard]] Verb add_sql(Command program);
[[nodiscard]] Verb add_columns(Command program);
[[nodiscard]] Verb add_gui(Command program);

/// How a verb prints its document: --format, --columns, --sort, --top, --all, --verbose, -o. Lives as long as the verb.
struct PrintOptions {
  std::string format = "text";
  std::string columns;
  std::string sort;
  std::int64_t top = 0;
  bool all = false;
  bool verbose = false;
  std::string output;                     // "": standard output
  std::string link;                       // of a comment
  std::vector<std::string> formats = {};  // that the verb has
};
/// `more_formats`: beside text, json, csv and markdown. Without --format it is the one that the name of -o ends in.
void add_print_options(Command app, PrintOptions& options, bool with_rows = true,
                       const std::vector<std::string>& more_formats = {});
/// The same without -o, for verbs whose output is a folder.
void add_table_options(Command app, PrintOptions& options, bool with_rows = true,
                       const std::vector<std::string>& more_formats = {});
/// Takes the format that the name of -o ends in, where --format is not given and the verb has such a format.
void take_format_of_name(Command app, PrintOptions& options);
[[nodiscard]] reports::DocumentOptions document_options(const PrintOptions& options);
/// To the file of -o, else to standard output.
void print(const PrintOptions& options, const reports::Document& document);

/// What utilisations are held against: --roof, --ceilings.
struct RoofArguments {
  std::string roof;      // "": measured where the capture has it
  std::string ceilings;  // a machine file
};
void add_roof_options(Command app, RoofArguments& arguments);
/// Throws Error(usage), and what reading the machine file throws.
void take_roofs(const RoofArguments& arguments, analyzer::AnalysisOptions& options);

/// What of a capture is analysed, and against what: CAPTURE, --step, --range, --window, --process, --target, --stretch,
/// roofs.
struct AnalysisArguments {
  std::string capture;
  std::string target = "0.70";
  std::string stretch;     // "": 0.85, or the target if that is higher
  std::int64_t step = -1;  // -1: the analyzer chooses
  std::int64_t step_kind = 1;
  std::int64_t process = -1;  // likewise
  std::string range;          // "": everything
  std::string window;         // "FROM..TO"; "": no window
  RoofArguments roofs;
  std::string dram_peak, compute_peak;  // "": as the roofs say
};
void add_analysis_options(Command app, AnalysisArguments& arguments);
/// The same without CAPTURE.
void add_step_options(Command app, AnalysisArguments& arguments);
/// Throw Error(usage).
[[nodiscard]] analyzer::AnalysisOptions analysis_options(const AnalysisArguments& arguments);
[[nodiscard]] analyzer::Scope scope_of(const AnalysisArguments& arguments);
/// "1.2s..1500ms", from the start of the recording.
[[nodiscard]] analyzer::TimeWindow parse_window(const std::string& option, const std::string& text);

/// Asks a question about a capture and prints the document; what else was said. Throws the failure.
queries::DocumentAnswer answer(const std::string& capture, const analyzer::AnalysisOptions& options,
                               const queries::CaptureQuery& query, const PrintOptions& print);

/// "0.7" or "70%"; throws Error(usage) that names the option unless 0 < ratio <= 1.
[[nodiscard]] double parse_ratio(const std::string& option, const std::string& text);
/// Likewise; 0 too: unlike a target of 0, it is a fair share to ask for.
[[nodiscard]] double parse_share(const std::string& option, const std::string& text);

}  // namespace ridgeline::cli
