// verb_report.cpp: everything about one step, or about two sides, in one file of any format.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "budget.h"
#include "compare_options.h"
#include "output.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/compare_query.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> against;
  AnalysisArguments analysis;
  CompareArguments compare;
  ComparePrint print;
};

constexpr const char* kOfCaptures = "Of one capture";
constexpr const char* kOfSides = "Of two sides";

// Of a comparison's JSON: those of real programs take some MB.
constexpr std::size_t kLargestBytes = 256u << 20;

// A capture begins with SQLite's name. What is no file at all is left to who opens captures.
bool holds_json(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  return file >> first && first == '{';  // white space is skipped
}

std::string read_text(const std::string& path) {
  Result<std::string> text = read_file(path, kLargestBytes);
  if (!text) throw Error(text.failure().kind, path + ": " + text.failure().message);
  return std::move(text).value();
}

// What was said that does not go with what is reported on.
void refuse_options(Command app, const std::vector<std::string_view>& groups, std::string_view why) {
  for (const DeclaredOption& option : app.options()) {
    if (option.given() && std::find(groups.begin(), groups.end(), option.group()) != groups.end())
      throw Error(ErrorKind::usage, fmt::format("{} {}", option.name(), why));
  }
}

void print_report(const ComparePrint& print, const Render& render) {
  print_formats(print, render);
  if (print.print.format == "html" && print.print.output != "-") {
    write_standard_output(
        fmt::format("Wrote {} ({}).\n", print.print.output,
                    bytes_text(static_cast<double>(std::filesystem::file_size(print.print.output)))));
  }
}

int report_comparison(const ReportOptions& options, const comparison::Comparison& comparison,
                      const experiment::ProjectFile& project) {
  const comparison::FailOn fail = fail_on(options.compare, project);
  print_report(options.print, [&](reports::ReportFormat format, const reports::DocumentOptions& how) {
    return reports::compare_document(comparison, format, how);
  });
  return comparison::exit_code(comparison, fail);
}

int report_sides(const ReportOptions& options) {
  const auto [a, b] = sides_of(options.inputs, options.against);
  const experiment::ProjectFile project = experiment::read_project(options.compare.project).value();
  const comparison::ComparisonOptions how = comparison_options(options.compare, project);
  static_cast<void>(fail_on(options.compare, project));  // wrong words end it before anything long begins
  analyzer::AnalysisOptions roofs;
  take_roofs(options.analysis.roofs, roofs);
  const auto comparison = queries::ask(queries::CompareQuery{a, b, how, roofs});
  return report_comparison(options, comparison.value(), project);
}

int report_file(const ReportOptions& options) {
  const std::string& path = options.inputs.front();
  const auto comparison = reports::parse_comparison(read_text(path), path);
  return report_comparison(options, comparison.value(),
                           experiment::read_project(options.compare.project).value());
}

int report_capture(const ReportOptions& options) {
  const std::string& capture = options.inputs.front();
  const analyzer::CheckFailOn fail = check_fail_on(options.compare.fail_on);
  analyzer::AnalysisOptions analysis = analysis_options(options.analysis);
  analysis.targets.budgets = experiment::read_project(options.compare.project).value().budgets;
  const analyzer::Scope scope = scope_of(options.analysis);
  if (const auto of_step = check_budget_scope(analysis.targets.budgets, scope); !of_step.ok()) {
    // The project's, of which whoever asks for a part of the recording may not think.
    write_message("report", "they are not checked here: " + of_step.failure().message);
    std::erase_if(analysis.targets.budgets, is_of_a_step);
  }
  queries::CaptureQueries queries(capture, analysis);
  int code = 0;
  print_report(options.print, [&](reports::ReportFormat format, const reports::DocumentOptions& how) {
    queries::DocumentAnswer answer = queries.ask(queries::ReportQuery{format, fail, scope}, how).value();
    code = answer.exit_code;
    return std::move(answer.document);
  });
  return code;
}

}  // namespace

Verb add_report(Command program) {
  auto options = std::make_shared<ReportOptions>();
  const Command app =
      program.add_subcommand("report",
                             "Write a report. Of one capture: ranking, accounting, targets, "
                             "budgets, every launch. Of two sides, or of the "
                             "JSON of a comparison: what changed. Exit 0 nothing that --fail-on "
                             "names, 1 missed or slower, 3 too little "
                             "data, 4 not comparable");
  app.add_option("INPUT", options->inputs,
                 "A capture; captures A and B; the runs of A, with --against; or a comparison's JSON")
      .required()
      .type_name("");
  app.add_option("--against", options->against,
                 "The runs of B, in the order in which those of A were recorded")
      .type_name("CAPTURES")
      .group(kOfSides);
  const auto options_so_far = [&] { return app.options().size(); };
  const auto group_from = [&](std::size_t first, const char* group) {
    const std::vector<DeclaredOption> all = app.options();
    for (std::size_t i = first; i < all.size(); ++i) all[i].group(group);
  };
  std::size_t first = options_so_far();
  add_step_options(app, options->analysis);
  group_from(first, kOfCaptures);
  first = options_so_far();
  add_sides_options(app, options->compare);
  add_compare_options(app, options->compare);
  group_from(first, kOfSides);
  app.option("--project").group("Options");
  app.option("--fail-on")
      .group("Options")
      .description(
          "Conditions that make the exit code non-zero, comma-separated, or none. Of one capture: budget, "
          "target, "
          "unmeasured "
          "(default budget); of two sides: regression, inconclusive, unmatched (default regression)");
  options->print.print.format = "html";
  add_compare_print(app, options->print);
  app.option("--format")
      .description(
          "How to print: html, markdown, comment, text, json, csv, junit, github, gitlab-metrics, bencher "
          "(default: what the name of -o ends in, else html)");
  app.option("--output")
      .description("File to write, - for the standard output (default: html to report.html, others to -)");
  return {app, [options, app] {
            PrintOptions& to = options->print.print;
            if (to.format == "html" && to.output.empty()) to.output = "report.html";
            check_print(options->print);
            if (options->inputs.size() == 1 && options->against.empty()) {
              if (holds_json(options->inputs.front())) {
                refuse_options(app, {kOfSides, kOfCaptures}, "was fixed when the comparison was made");
                return report_file(*options);
              }
              refuse_options(app, {kOfSides},
                             "applies to comparisons only: give captures A and B, or --against");
              return report_capture(*options);
            }
            refuse_options(app, {kOfCaptures}, "is of one capture");
            return report_sides(*options);
          }};
}

}  // namespace ridgeline::cli
