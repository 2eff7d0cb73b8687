#include "compare_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"

namespace ridgeline::cli {
namespace {

// A threshold below what identical code differs by would be a promise that the machine does not keep.
void require_above_floor(const analyzer::ComparisonOptions& options, bool step_given) {
  if (!options.floor || !step_given || options.step_ratio >= options.floor->step_ratio) return;
  throw Error(ErrorKind::usage,
              fmt::format("--step-threshold {} is below the noise floor of {}: give that or more, or "
                          "calibrate a quieter machine",
                          percent_text(options.step_ratio, 2), percent_text(options.floor->step_ratio, 2)));
}

std::pair<std::string, std::string> format_and_file(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at + 1 == text.size())
    throw Error(ErrorKind::usage, fmt::format("--write '{}': write FORMAT=FILE, as junit=report.xml", text));
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

void add_compare_options(CLI::App& app, CompareArguments& arguments) {
  app.add_option("--project", arguments.project,
                 "Project file (default ridgeline.toml here, if there is one)")
      ->type_name("FILE");
  app.add_option("--match", arguments.match, "Rules that say which kernels are which; docs/compare.md")
      ->type_name("FILE");
  app.add_option("--noise", arguments.noise, "Noise floor of this machine, from `calibrate`")
      ->type_name("FILE");
  app.add_option("--step-threshold", arguments.step_threshold,
                 "Changes of the step below do not matter (default 1%)")
      ->type_name("RATIO");
  app.add_option("--kernel-threshold", arguments.kernel_threshold,
                 "Changes of a kernel below do not matter (default 2%, or three times the noise floor)")
      ->type_name("RATIO");
  app.add_option(
         "--fail-on", arguments.fail_on,
         "What ends with another code than 0, comma-separated: regression, inconclusive, unmatched, or none "
         "(default regression)")
      ->type_name("LIST");
  app.add_flag("--strict", arguments.strict, "Test kernels against the threshold, not against no difference");
  app.add_flag("--any-environment", arguments.any_environment,
               "Give a verdict across GPU models, drivers and throttled runs too");
}

void add_compare_print(CLI::App& app, ComparePrint& print) {
  app.add_option("--format", print.print.format,
                 "How to print: text, markdown, json, csv, html, junit, github, gitlab-metrics, bencher "
                 "(default text)")
      ->type_name("FORMAT");
  app.add_option("--write", print.write,
                 "Write another format to a file too; may be repeated: junit=report.xml")
      ->type_name("FORMAT=FILE");
  app.add_option("--columns", print.print.columns,
                 "Columns, comma-separated: keys, default, all; `ridgeline columns compare` lists them")
      ->type_name("KEYS");
  app.add_option("--sort", print.print.sort, "Sort by a column, smallest first; -KEY: largest first")
      ->type_name("KEY");
  app.add_option("--top", print.print.top, "Print the first N kernels")
      ->check(whole_number(1))
      ->type_name("N");
  app.add_flag("--all", print.print.all, "Print every kernel, also those that are the same");
  app.add_option("-o,--output", print.print.output, "Write to FILE instead of the standard output")
      ->type_name("FILE");
}

analyzer::ComparisonOptions comparison_options(const CompareArguments& arguments,
                                               const ProjectFile& project) {
  analyzer::ComparisonOptions options;
  options.paired = !arguments.unpaired;
  options.confirmation_pairs = arguments.confirm;
  options.any_environment = arguments.any_environment;
  options.strict = arguments.strict || project.strict.value_or(false);
  options.budgets = project.budgets;
  if (project.false_discovery_rate) options.false_discovery_rate = *project.false_discovery_rate;
  const bool step_given = !arguments.step_threshold.empty() || project.step_ratio;
  if (project.step_ratio) options.step_ratio = *project.step_ratio;
  if (project.kernel_us) options.kernel_ns = *project.kernel_us * 1000;
  if (project.kernel_step_share) options.kernel_step_share = *project.kernel_step_share;
  if (project.kernel_ratio) options.kernel_ratio = *project.kernel_ratio;
  if (!arguments.step_threshold.empty())
    options.step_ratio = parse_ratio("--step-threshold", arguments.step_threshold);
  if (!arguments.kernel_threshold.empty())
    options.kernel_ratio = parse_ratio("--kernel-threshold", arguments.kernel_threshold);
  const std::string& match = arguments.match.empty() ? project.match : arguments.match;
  if (!match.empty()) options.match.rules = read_rules(match).value();
  const std::string& noise = arguments.noise.empty() ? project.noise : arguments.noise;
  if (!noise.empty()) options.floor = read_noise(noise).value();
  require_above_floor(options, step_given);
  return options;
}

analyzer::FailOn fail_on(const CompareArguments& arguments, const ProjectFile& project) {
  analyzer::FailOn result;
  std::vector<std::string> words =
      arguments.fail_on.empty() ? project.fail_on : split(arguments.fail_on, ',');
  if (words.empty()) return result;
  result.regression = false;
  for (const std::string& word : words) {
    if (word == "regression")
      result.regression = true;
    else if (word == "inconclusive")
      result.inconclusive = true;
    else if (word == "unmatched")
      result.unmatched = true;
    else if (word != "none" || words.size() > 1)
      throw Error(ErrorKind::usage,
                  fmt::format("--fail-on: '{}' is none of regression, inconclusive, unmatched, none", word));
  }
  return result;
}

std::vector<analyzer::RunProfile> read_profiles(const std::vector<std::string>& captures) {
  std::vector<analyzer::RunProfile> profiles;
  for (const std::string& capture : captures) {
    auto profile = analyzer::profile_run(capture);
    if (!profile) refuse(profile.failure(), capture);
    profiles.push_back(std::move(profile).value());
  }
  return profiles;
}

void check_print(const ComparePrint& print) {
  static_cast<void>(reports::parse_compare_format(print.print.format).value());
  for (const std::string& item : print.write)
    static_cast<void>(reports::parse_compare_format(format_and_file(item).first).value());
}

void print_comparison(const ComparePrint& print, const analyzer::Comparison& comparison) {
  const reports::CompareFormat format = reports::parse_compare_format(print.print.format).value();
  for (const std::string& item : print.write) {
    const auto [name, file] = format_and_file(item);
    reports::DocumentOptions plain;
    write_file(file,
               reports::compare_document(comparison, reports::parse_compare_format(name).value(), plain));
  }
  cli::print(print.print, reports::compare_document(comparison, format, document_options(print.print)));
}

}  // namespace ridgeline::cli
