#include "compare_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"

namespace ridgeline::cli {
namespace {

// A threshold below what identical code differs by would be a promise that the machine does not keep.
void require_above_floor(const comparison::ComparisonOptions& options, bool step_given) {
  if (!options.floor || !step_given || options.step_ratio >= options.floor->step_ratio) return;
  throw Error(ErrorKind::usage,
              fmt::format("--step-threshold {} is below the noise floor of {}: give that or more, or "
                          "calibrate a quieter machine",
                          percent_text(options.step_ratio, 2), percent_text(options.floor->step_ratio, 2)));
}

// Of words that stand for flags, those that were given are true; without any, the flags stay.
void choose(const std::vector<std::string>& words,
            const std::vector<std::pair<std::string_view, bool*>>& known) {
  if (words.empty()) return;
  for (const auto& [name, flag] : known) *flag = false;
  for (const std::string& word : words) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == word; });
    if (found != known.end()) {
      *found->second = true;
    } else if (word != "none" || words.size() > 1) {
      std::string names;
      for (const auto& [name, flag] : known) names += std::string(name) + ", ";
      throw Error(ErrorKind::usage, fmt::format("--fail-on: '{}' is none of {}none", word, names));
    }
  }
}

std::pair<std::string, std::string> format_and_file(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at + 1 == text.size())
    throw Error(ErrorKind::usage, fmt::format("--write '{}': write FORMAT=FILE, as junit=report.xml", text));
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

void add_compare_options(Command app, CompareArguments& arguments) {
  app.add_option("--project", arguments.project,
                 "Project file (default ridgeline.toml here, if there is one)")
      .type_name("FILE");
  app.add_option("--match", arguments.match, "Rules that say which kernels are which; docs/compare.md")
      .type_name("FILE");
  app.add_option("--noise", arguments.noise, "Noise floor of this machine, from `calibrate`")
      .type_name("FILE");
  app.add_option("--step-threshold", arguments.step_threshold,
                 "Changes of the step below do not matter (default 1%)")
      .type_name("RATIO");
  app.add_option("--kernel-threshold", arguments.kernel_threshold,
                 "Changes of a kernel below do not matter (default 2%, or three times the noise floor)")
      .type_name("RATIO");
  app.add_option("--fail-on", arguments.fail_on,
                 "Conditions that make the exit code non-zero, comma-separated: regression, inconclusive, "
                 "unmatched, or none "
                 "(default regression)")
      .type_name("LIST");
  app.add_flag("--strict", arguments.strict, "Test kernels against the threshold, not against no difference");
  app.add_flag("--any-environment", arguments.any_environment,
               "Give a verdict across GPU models, drivers and throttled runs too");
}

void add_sides_options(Command app, CompareArguments& arguments) {
  app.add_option("--confirm", arguments.confirm,
                 "Keep the last N pairs out of the tests: what is blamed must show in them again")
      .whole_number(1)
      .type_name("N");
  app.add_flag("--unpaired", arguments.unpaired,
               "Runs were not recorded in turn: run 1 of A has nothing to do with run 1 of B");
  app.add_flag("--any-order", arguments.any_order,
               "Give a verdict on runs recorded in blocks too, one side after the other");
}

void add_compare_print(Command app, ComparePrint& print) {
  app.add_option(
         "--format", print.print.format,
         "How to print: text, markdown, comment, json, csv, html, junit, github, gitlab-metrics, bencher "
         "(default: what the name of -o ends in, else text)")
      .type_name("FORMAT");
  app.add_option("--write", print.write,
                 "Write another format to a file too; may be repeated: junit=report.xml")
      .type_name("FORMAT=FILE");
  app.add_option("--link", print.print.link, "Where the whole page will be: for the end of a comment")
      .type_name("URL");
  app.add_option("--columns", print.print.columns,
                 "Columns, comma-separated: keys, default, all; `ridgeline columns compare` lists them")
      .type_name("KEYS");
  app.add_option("--sort", print.print.sort, "Sort by a column, smallest first; -KEY: largest first")
      .type_name("KEY");
  app.add_option("--top", print.print.top, "Print the first N kernels").whole_number(1).type_name("N");
  app.add_flag("--all", print.print.all, "Print every kernel, also those that are the same");
  app.add_option("-o,--output", print.print.output, "Write to FILE instead of the standard output")
      .type_name("FILE");
  // Of what has an ending of its own; what CI reads is asked for by name.
  print.print.formats = {"html", "markdown", "json", "csv"};
  app.when_parsed([app, &print] { take_format_of_name(app, print.print); });
}

comparison::ComparisonOptions comparison_options(const CompareArguments& arguments,
                                                 const experiment::ProjectFile& project) {
  comparison::ComparisonOptions options;
  options.paired = !arguments.unpaired;
  options.confirmation_pairs = arguments.confirm;
  options.any_environment = arguments.any_environment;
  options.any_order = arguments.any_order;
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
  if (!match.empty()) options.match.rules = experiment::read_rules(match).value();
  const std::string& noise = arguments.noise.empty() ? project.noise : arguments.noise;
  if (!noise.empty()) options.floor = experiment::read_noise(noise).value();
  require_above_floor(options, step_given);
  return options;
}

comparison::FailOn fail_on(const CompareArguments& arguments, const experiment::ProjectFile& project) {
  comparison::FailOn result;
  const std::vector<std::string> words =
      arguments.fail_on.empty() ? project.fail_on : split(arguments.fail_on, ',');
  choose(words, {{"regression", &result.regression},
                 {"inconclusive", &result.inconclusive},
                 {"unmatched", &result.unmatched}});
  return result;
}

analyzer::CheckFailOn check_fail_on(const std::string& words) {
  analyzer::CheckFailOn result;
  choose(split(words, ','),
         {{"budget", &result.budget}, {"target", &result.target}, {"unmeasured", &result.unmeasured}});
  return result;
}

std::pair<std::vector<std::string>, std::vector<std::string>> sides_of(
    const std::vector<std::string>& captures, const std::vector<std::string>& against) {
  if (!against.empty()) return {captures, against};
  if (captures.size() != 2)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} captures: give two, or those of A, --against and those of B", captures.size()));
  return {{captures.front()}, {captures.back()}};
}

void check_print(const ComparePrint& print) {
  static_cast<void>(reports::parse_report_format(print.print.format).value());
  // Two documents in one file are one of them: which, nobody would know.
  std::vector<std::filesystem::path> files;
  const auto take = [&](const std::string& file) {
    if (file.empty() || file == "-") return;
    std::error_code ignored;
    const std::filesystem::path path =
        std::filesystem::weakly_canonical(std::filesystem::absolute(file), ignored);
    if (std::find(files.begin(), files.end(), path) != files.end())
      throw Error(ErrorKind::usage,
                  fmt::format("{} is to hold two documents: give each a file of its own", file));
    files.push_back(path);
    require_replaceable(file);
  };
  take(print.print.output);
  for (const std::string& item : print.write) {
    const auto [name, file] = format_and_file(item);
    static_cast<void>(reports::parse_report_format(name).value());
    take(file);
  }
}

void print_formats(const ComparePrint& print, const Render& render) {
  const reports::ReportFormat format = reports::parse_report_format(print.print.format).value();
  for (const std::string& item : print.write) {
    const auto [name, file] = format_and_file(item);
    reports::DocumentOptions options;
    options.link = print.print.link;
    write_file(file, render(reports::parse_report_format(name).value(), options));
  }
  cli::print(print.print, render(format, document_options(print.print)));
}

void print_comparison(const ComparePrint& print, const comparison::Comparison& comparison) {
  print_formats(print, [&](reports::ReportFormat format, const reports::DocumentOptions& options) {
    return reports::compare_document(comparison, format, options);
  });
}

}  // namespace ridgeline::cli
