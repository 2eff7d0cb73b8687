// common_options.cpp: options that several verbs share.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "output.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

constexpr double kDefaultStretch = 0.85;
constexpr double kMaxNs = 1e18;  // 31 years

}  // namespace

void add_table_options(Command app, PrintOptions& options, bool with_rows,
                       const std::vector<std::string>& more_formats) {
  std::vector<std::string> formats = {"text", "json", "csv", "markdown"};
  formats.insert(formats.end(), more_formats.begin(), more_formats.end());
  options.formats = formats;
  app.add_option("--format", options.format, "How to print (default text)")
      .one_of(formats)
      .type_name("FORMAT");
  if (with_rows) {
    app.add_option("--columns", options.columns,
                   "Columns, comma-separated: keys or groups, default, all; `ridgeline columns` lists them")
        .type_name("KEYS");
    app.add_option("--sort", options.sort,
                   "Sort by a column, smallest first; -KEY: largest first; the unit may be left out")
        .type_name("KEY");
    app.add_option("--top", options.top, "Print the first N rows").whole_number(1).type_name("N");
    app.add_flag("--all", options.all, "Print every row: long lists are cut otherwise, and say so");
    app.add_flag("--verbose", options.verbose,
                 "Print all that the figures rest on: roofs, completeness, tiers, every finding");
  }
}

void add_print_options(Command app, PrintOptions& options, bool with_rows,
                       const std::vector<std::string>& more_formats) {
  add_table_options(app, options, with_rows, more_formats);
  app.add_option("-o,--output", options.output, "Write to FILE instead of the standard output")
      .type_name("FILE");
  app.option("--format").description("How to print (default: what the name of -o ends in, else text)");
  app.when_parsed([app, &options] { take_format_of_name(app, options); });
}

void take_format_of_name(Command app, PrintOptions& options) {
  constexpr std::pair<std::string_view, const char*> kEndings[] = {
      {".svg", "svg"},   {".png", "png"}, {".html", "html"},   {".htm", "html"},
      {".json", "json"}, {".csv", "csv"}, {".md", "markdown"},
  };
  if (app.option("--format").given()) return;
  for (const auto& [ending, format] : kEndings) {
    const bool ends = options.output.size() > ending.size() && options.output.ends_with(ending);
    if (ends && std::find(options.formats.begin(), options.formats.end(), format) != options.formats.end())
      options.format = format;
  }
}

reports::DocumentOptions document_options(const PrintOptions& options) {
  reports::DocumentOptions out;
  out.format = options.format == "json"       ? reports::Format::json
               : options.format == "csv"      ? reports::Format::csv
               : options.format == "markdown" ? reports::Format::markdown
                                              : reports::Format::text;
  out.text = standard_output_style();
  if (!options.output.empty() && options.output != "-") {
    out.text.columns = 100;
    out.text.colour = false;
  }
  out.columns = options.columns;
  out.link = options.link;
  out.sort = options.sort;
  out.top = options.top;
  out.all = options.all;
  out.verbose = options.verbose;
  return out;
}

void print(const PrintOptions& options, const reports::Document& document) {
  if (options.output.empty() || options.output == "-") {
    write_standard_output(document);
  } else {
    write_file(options.output, document);
  }
}

void add_analysis_options(Command app, AnalysisArguments& arguments) {
  app.add_option("CAPTURE", arguments.capture, "Capture file (*.ridge)").required().type_name("");
  add_step_options(app, arguments);
}

void add_step_options(Command app, AnalysisArguments& arguments) {
  app.add_option("--target", arguments.target, "Utilisation to reach, as 0.7 or 70% (default 0.70)")
      .type_name("RATIO");
  app.add_option("--stretch", arguments.stretch,
                 "Stretch goal (default 0.85, or the target if that is higher)")
      .type_name("RATIO");
  app.add_option("--step", arguments.step, "Analyse this step; default: the median timeline step")
      .whole_number(0)
      .type_name("INDEX");
  app.add_option(
         "--step-kind", arguments.step_kind,
         "Of steps that launch different kernels, analyse this kind (1, the default, takes the most time)")
      .whole_number(1)
      .type_name("N");
  app.add_option("--range", arguments.range,
                 "Analyse what NVTX ranges launched, in all their instances: a name or names that follow "
                 "each other, as forward or \"forward / layer *\"; with --step, those of that step")
      .type_name("PATTERN");
  app.add_option(
         "--window", arguments.window,
         "Analyse a range of time, from the start of the recording: 1.2s..1500ms; units ns, us, ms, s")
      .type_name("FROM..TO");
  app.add_option("--process", arguments.process,
                 "Analyse this process (id from `info`); default: the busiest")
      .whole_number(0)
      .type_name("ID");
  add_roof_options(app, arguments.roofs);
  app.add_option("--dram-peak", arguments.dram_peak,
                 "Source of the DRAM roof alone: spec, burst, sustained, measured, clock, counter")
      .type_name("SOURCE");
  app.add_option("--compute-peak", arguments.compute_peak,
                 "Source of the compute roof alone: clock (pipe cycles, the default), spec, burst, "
                 "sustained, measured")
      .type_name("SOURCE");
}

void add_roof_options(Command app, RoofArguments& arguments) {
  app.add_option(
         "--roof", arguments.roof,
         "Roofs: spec (data sheet), burst or sustained (measured on the card: docs/ceilings.md); default: "
         "sustained where the capture has it, else spec")
      .type_name("ROOF");
  app.add_option("--ceilings", arguments.ceilings,
                 "Take the measured roofs from this machine file of `ridgeline ceilings`")
      .type_name("FILE");
}

void take_roofs(const RoofArguments& arguments, analyzer::AnalysisOptions& options) {
  if (!arguments.roof.empty()) options.utilisation.peaks = analyzer::roof_policy(arguments.roof).value();
  if (!arguments.ceilings.empty())
    options.ceilings = store::read_machine_ceilings(arguments.ceilings).value();
}

double parse_ratio(const std::string& option, const std::string& text) {
  std::string_view digits = text;
  double scale = 1.0;
  if (!digits.empty() && digits.back() == '%') {
    digits.remove_suffix(1);
    scale = 0.01;
  }
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value) || value <= 0 || value * scale > 1.0) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: '{}' is not a ratio: give a number above 0 and up to 1, or up to 100%",
                            option, text));
  }
  return value * scale;
}

double parse_share(const std::string& option, const std::string& text) {
  return text == "0" || text == "0%" ? 0.0 : parse_ratio(option, text);
}

analyzer::AnalysisOptions analysis_options(const AnalysisArguments& arguments) {
  analyzer::AnalysisOptions options;
  const double target = parse_ratio("--target", arguments.target);
  const double stretch = arguments.stretch.empty() ? std::max(kDefaultStretch, target)
                                                   : parse_ratio("--stretch", arguments.stretch);
  if (stretch < target) {
    throw Error(ErrorKind::usage,
                fmt::format("--stretch {} is below --target {}: give a stretch goal at or above the target",
                            arguments.stretch, arguments.target));
  }
  options.ranking.target = options.targets.target = target;
  options.ranking.stretch = options.targets.stretch = stretch;
  options.window_key = analyzer::RankingKey::kernel_and_grid;
  take_roofs(arguments.roofs, options);
  analyzer::PeakPolicy& peaks = options.utilisation.peaks;
  if (!arguments.dram_peak.empty()) peaks.dram = analyzer::parse_peak_source(arguments.dram_peak).value();
  if (!arguments.compute_peak.empty())
    peaks.compute = analyzer::parse_peak_source(arguments.compute_peak).value();
  return options;
}

analyzer::TimeWindow parse_window(const std::string& option, const std::string& text) {
  const auto usage = [&] {
    return Error(ErrorKind::usage,
                 fmt::format("{}: '{}' is no range of time: write FROM..TO, each with a unit of ns, us, "
                             "ms or s, as 1.2s..1500ms, the later one last",
                             option, text));
  };
  const auto time_ns = [&](std::string_view part) -> std::int64_t {
    // "0" is the same in every unit.
    constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
        {{"ns", 1.0}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
    double value = 0;
    const char* end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data(), end, value);
    const std::string_view unit(at, static_cast<std::size_t>(end - at));
    if (error != std::errc() || !std::isfinite(value) || value < 0) throw usage();
    if (unit.empty() && value == 0) return 0;
    for (const auto& [name, ns] : kUnits) {
      if (name == unit && value * ns < kMaxNs) return std::llround(value * ns);
    }
    throw usage();
  };
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw usage();
  const analyzer::TimeWindow window{time_ns(std::string_view(text).substr(0, dots)),
                                    time_ns(std::string_view(text).substr(dots + 2))};
  if (window.end_ns <= window.start_ns) throw usage();
  return window;
}

analyzer::Scope scope_of(const AnalysisArguments& arguments) {
  analyzer::Scope scope;
  if (!arguments.window.empty()) {
    if (arguments.step >= 0 || arguments.step_kind > 1) {
      throw Error(ErrorKind::usage,
                  fmt::format("--window and {} exclude each other: a range of time is of whatever ran then",
                              arguments.step >= 0 ? "--step" : "--step-kind"));
    }
    scope.window = parse_window("--window", arguments.window);
    scope.window_from_start = true;
  }
  scope.range = arguments.range;
  if (arguments.step >= 0 && arguments.step_kind > 1)
    throw Error(ErrorKind::usage,
                "--step and --step-kind exclude each other: a step is of the kind that it is");
  if (arguments.step >= 0) {
    scope.steps = analyzer::StepSelection::one(arguments.step);
  } else if (arguments.step_kind > 1) {
    scope.steps = analyzer::StepSelection::of_kind(static_cast<std::size_t>(arguments.step_kind - 1));
  } else if (!arguments.range.empty()) {
    scope.steps = analyzer::StepSelection::everything();
  }
  if (arguments.process >= 0) scope.process_id = arguments.process;
  return scope;
}

queries::DocumentAnswer answer(const std::string& capture, const analyzer::AnalysisOptions& options,
                               const queries::CaptureQuery& query, const PrintOptions& print) {
  queries::DocumentAnswer answered =
      queries::CaptureQueries(capture, options).ask(query, document_options(print)).value();
  cli::print(print, answered.document);
  return answered;
}

}  // namespace ridgeline::cli
