// compare_options.h: how sides are compared and printed: shared by compare, commits, calibrate and bisect.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/experiment/project_file.h"
#include "ridgeline/reports/compare_documents.h"
#include "verb.h"

namespace ridgeline::cli {

struct CompareArguments {
  std::string project;  // a ridgeline.toml
  std::string match;
  std::string noise;
  std::string step_threshold, kernel_threshold;
  std::string fail_on;
  std::int64_t confirm = 0;
  bool unpaired = false;
  bool strict = false;
  bool any_environment = false;
  bool any_order = false;
};

/// Printing: --format of compare_document(), the table's options, and further formats into files.
struct ComparePrint {
  PrintOptions print;
  std::vector<std::string> write;  // FORMAT=FILE
};

void add_compare_options(Command app, CompareArguments& arguments);
/// --confirm and --unpaired, of sides whose runs are given.
void add_sides_options(Command app, CompareArguments& arguments);
void add_compare_print(Command app, ComparePrint& print);

/// From the command line, else from the project file, else the defaults. Throws Error(usage): also for a threshold
/// below the noise floor.
[[nodiscard]] comparison::ComparisonOptions comparison_options(const CompareArguments& arguments,
                                                               const experiment::ProjectFile& project);
[[nodiscard]] comparison::FailOn fail_on(const CompareArguments& arguments,
                                         const experiment::ProjectFile& project);
/// The words of --fail-on that one capture can be asked for: budget, target, unmeasured, or none.
[[nodiscard]] analyzer::CheckFailOn check_fail_on(const std::string& words);

/// What `captures` and --against give as sides: the runs of A and of B. Throws Error(usage).
[[nodiscard]] std::pair<std::vector<std::string>, std::vector<std::string>> sides_of(
    const std::vector<std::string>& captures, const std::vector<std::string>& against);

/// Makes the document of a format.
using Render = std::function<reports::Document(reports::ReportFormat, const reports::DocumentOptions&)>;

/// Checks the formats, and that no file is named twice, before anything long begins. Throws Error(usage).
void check_print(const ComparePrint& print);
/// --write's files, then --format's document.
void print_formats(const ComparePrint& print, const Render& render);
void print_comparison(const ComparePrint& print, const comparison::Comparison& comparison);

}  // namespace ridgeline::cli
