// verb_export.cpp: a recording for other people's programs.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "output.h"
#include "ridgeline/base/units.h"
#include "ridgeline/exports/export.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

struct ExportArguments {
  std::string capture;
  std::string format = "perfetto";
  std::string output;
  std::string view = "v_launch";
  std::string steps;
  std::string range;
  bool strip = false;
};

// "10..12" or "10".
std::pair<std::int64_t, std::int64_t> parse_steps(const std::string& text) {
  const std::size_t dots = text.find("..");
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [at, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || error != std::errc() || at != part.data() + part.size() || value < 0) {
      throw Error(ErrorKind::usage,
                  fmt::format("--steps: '{}' is no stretch of steps: write FIRST..LAST, as 10..12", text));
    }
    return value;
  };
  const std::string_view all = text;
  const std::int64_t first = number(all.substr(0, dots));
  const std::int64_t last = dots == std::string::npos ? first : number(all.substr(dots + 2));
  if (last < first)
    throw Error(ErrorKind::usage, fmt::format("--steps {}: the last is before the first", text));
  return {first, last};
}

exports::ExportSelection selection_of(const ExportArguments& arguments) {
  exports::ExportSelection selection;
  if (!arguments.steps.empty()) selection.steps = parse_steps(arguments.steps);
  selection.range = arguments.range;
  selection.strip = arguments.strip;
  return selection;
}

std::string counts_text(const exports::ExportCounts& counts) {
  std::string text = fmt::format(
      "{}, {} in all, {}, {}, {}, {}, {} of launches and {} of samples", counted(counts.kernels, "kernel"),
      time_text(static_cast<double>(counts.kernel_time_ns)), counted(counts.copies, "copy", "copies"),
      counted(counts.ranges, "range"), counted(counts.calls, "call"), counted(counts.flows, "arrow"),
      counted(counts.launch_counters + counts.joined_counters, "counter value"), integer(counts.samples));
  if (counts.without_time > 0)
    text += fmt::format("; {} without a time left out", counted(counts.without_time, "launch", "launches"));
  return text;
}

reports::Document exported(const ExportArguments& arguments, std::string& said) {
  return reports::Document([&](const reports::Sink& out) {
    const store::Capture capture = store::Capture::open(arguments.capture).value();
    const exports::ExportSelection selection = selection_of(arguments);
    if (arguments.format == "csv") {
      const std::int64_t rows = exports::export_csv(capture, arguments.view, selection, out).value();
      said = fmt::format("{} of {}", counted(rows, "row"), arguments.view);
      return;
    }
    const auto format =
        arguments.format == "chrome" ? exports::TraceFormat::chrome : exports::TraceFormat::perfetto;
    said = counts_text(exports::export_trace(capture, format, selection, out).value());
  });
}

}  // namespace

Verb add_export(Command program) {
  auto options = std::make_shared<ExportArguments>();
  const Command app = program.add_subcommand(
      "export", "Write a recording for other programs: a trace for Perfetto or Chrome, or rows as CSV");
  app.add_option("CAPTURE", options->capture, "Capture file (*.ridge)").required().type_name("");
  app.add_option("--format", options->format,
                 "perfetto (default; ui.perfetto.dev), chrome (JSON), csv (one view); parquet is not written")
      .one_of({"perfetto", "chrome", "csv", "parquet"})
      .type_name("FORMAT");
  app.add_option("-o,--output", options->output, "Write to FILE; -: the standard output")
      .required()
      .type_name("FILE");
  app.add_option("--view", options->view,
                 "Of csv: which view (default v_launch); `ridgeline sql --schema` lists them")
      .type_name("VIEW");
  app.add_option("--steps", options->steps, "Only these steps").type_name("FIRST..LAST");
  app.add_option("--range", options->range,
                 "Only what NVTX ranges launched: a name or a pattern, as for rank")
      .type_name("PATTERN");
  app.add_flag("--strip", options->strip,
               "Hash names, the same always alike; leave out command lines, paths and hosts");
  return {app, [options] {
            if (options->format == "parquet") {
              throw Error(
                  ErrorKind::usage,
                  "Parquet is not written, for want of a packaged library: export --format csv and convert "
                  "it, as duckdb -c \"COPY (FROM 'x.csv') TO 'x.parquet'\"");
            }
            std::string said;
            const reports::Document document = exported(*options, said);
            if (options->output == "-") {
              write_standard_output(document);
            } else {
              write_file(options->output, document);
            }
            write_message("export", said);
            return 0;
          }};
}

}  // namespace ridgeline::cli
