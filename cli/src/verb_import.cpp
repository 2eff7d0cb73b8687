// verb_import.cpp: makes a capture of a recording whose launcher did not live to make it, or of what another profiler
// recorded.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output.h"
#include "progress.h"
#include "record_summary.h"
#include "ridgeline/base/units.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/import/ncu_results.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/machine_ceilings.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

struct ImportRequest {
  std::vector<std::string> sources;
  std::string output;
  std::string step_range;
  std::string onto;        // a capture; "": the sources are recordings
  std::string ncu_locale;  // "": decided by each file
  PrintOptions print;
  bool force = false;
  bool quiet = false;
};

// The name the recording was started with.
std::string output_of_spool(const std::string& spool, bool force) {
  std::string output = import::planned_output(spool);
  // The name is the spool's word, whoever made it.
  std::error_code ignored;
  if (!output.empty() && force && std::filesystem::exists(output, ignored) &&
      !store::is_capture_file(output)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{} asks for {}, which is no capture and is not replaced: give -o FILE", spool, output));
  }
  if (output.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} does not say what the capture was to be called: give -o FILE", spool));
  }
  return output;
}

// "rank.1.json.gz", "run.nsys-rep", "host_7.1700.pt.trace.json": without the endings that say the format, in the
// working directory. Other dots are the name's.
std::string output_of_trace(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view ending :
       {".gz", ".json", ".trace", ".pt", ".sqlite", ".nsys-rep", ".qdrep", ".pftrace", ".perfetto-trace"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name + ".ridge";
}

import::ImportOptions import_options(const ImportRequest& request,
                                     ProgressLine& line){import::ImportOptions how;
how.overwrite = request.force;
how.ceilings_directory = store::ceilings_directory();
if (!request.quiet) {
  how.progress = [&line](const import::ImportProgress& progress) {
    const double total = static_cast<double>(progress.total_bytes);
    const double share = total > 0 ? static_cast<double>(progress.done_bytes) / total : 0;
    line.show(fmt::format("ridgeline: making the capture, {}", percent_text(share, 0)));
  };
}
return how;
}  // namespace

Result<import::ImportSummary> import_spool(const ImportRequest& request, ProgressLine& line) {
  const std::string& spool = request.sources.front();
  if (!request.step_range.empty())
    throw Error(ErrorKind::usage, "--step-range is for what other profilers recorded: a spool has its steps");
  import::check_spool_directory(spool).value();
  const std::string output = request.output.empty() ? output_of_spool(spool, request.force) : request.output;
  return import::import_spools(spool, output, import_options(request, line));
}

Result<import::ImportSummary> import_foreign(const ImportRequest& request, ProgressLine& line) {
  std::string output = request.output;
  if (output.empty()) {
    output = output_of_trace(request.sources.front());
    std::error_code ignored;
    if (request.force && std::filesystem::exists(output, ignored) && !store::is_capture_file(output))
      throw Error(ErrorKind::usage,
                  fmt::format("{} is no capture and is not replaced: give -o FILE", output));
  }
  return import::import_traces(request.sources, output,
                               {.import = import_options(request, line), .step_range = request.step_range});
}

// "runs/cap.ridge" and results of Nsight Compute: "cap-ncu.ridge", in the working directory.
std::string output_of_join(const std::string& capture) {
  return std::filesystem::path(capture).stem().string() + "-ncu.ridge";
}

int run_join(const ImportRequest& request) {
  if (!request.step_range.empty())
    throw Error(ErrorKind::usage, "--step-range is for recordings: with --onto the capture has its steps");
  const std::string output = request.output.empty() ? output_of_join(request.onto) : request.output;
  const import::JoinSummary summary =
      import::join_ncu_results(request.sources, request.onto, output,
                               {.overwrite = request.force,
                                .locale = request.ncu_locale == "point"   ? import::NcuLocale::point
                                          : request.ncu_locale == "comma" ? import::NcuLocale::comma
                                                                          : import::NcuLocale::decided})
          .value();
  for (const Reason& message : summary.messages) write_message("import", reports::reason_text(message));
  if (!request.quiet) answer(summary.capture_path, {}, queries::ReplayedQuery{}, request.print);
  return 0;
}

int run_import(const ImportRequest& request) {
  if (!request.onto.empty()) return run_join(request);
  if (!request.ncu_locale.empty() || request.print.format != "text")
    throw Error(ErrorKind::usage,
                "--ncu-locale and --format are for results of Nsight Compute: --onto CAPTURE");
  const bool spool = request.sources.size() == 1 &&
                     import::source_kind(request.sources.front()).value() == import::SourceKind::spool;
  ProgressLine line;
  auto result = spool ? import_spool(request, line) : import_foreign(request, line);
  line.clear();
  const import::ImportSummary summary = std::move(result).value();
  for (const Reason& warning : summary.warnings)
    write_message("import", "warning: " + reports::reason_text(warning));
  if (!request.quiet) {
    std::string names;
    for (const std::string& source : request.sources) names += (names.empty() ? "" : ", ") + source;
    write_standard_output("Imported " + names + ".\n" +
                          capture_summary(summary.capture_path, standard_output_style()));
  }
  return 0;
}

}  // namespace ridgeline::cli

Verb add_import(Command program) {
  auto request = std::make_shared<ImportRequest>();
  const Command app = program.add_subcommand(
      "import", "Make a capture of what another profiler recorded, or of an interrupted recording");
  app.add_option(
         "SOURCE", request->sources,
         "Nsight Systems report or SQLite export, trace of torch.profiler, Chrome or Perfetto (JSON or "
         ".pftrace, plain or gzip); several of one run; or the spool directory of an interrupted recording. "
         "Sources are left as they are")
      .required()
      .type_name("");
  app.add_option(
         "-o,--output", request->output,
         "Capture to write (default: the name of the first file with the ending .ridge; of a spool, the "
         "one the recording was started with)")
      .type_name("FILE");
  app.add_option(
         "--step-range", request->step_range,
         "Name of the ranges that are the steps, numbers in it aside (default: step or ProfilerStep#, "
         "else they are searched for)")
      .type_name("NAME");
  app.add_option(
         "--onto", request->onto,
         "The sources are results of Nsight Compute (CSV of the page raw or details, or a report that "
         "the Python module ncu_report or the ncu in PATH reads): write a copy of CAPTURE in which they are "
         "counters of its launches, and say "
         "how the replay differs from the run (default output: CAPTURE's name with -ncu)")
      .type_name("CAPTURE");
  app.add_option(
         "--ncu-locale", request->ncu_locale,
         "How numbers of the CSV are written: point (1,234.5) or comma (1.234,5) (default: decided by the "
         "numbers of each file)")
      .one_of({"point", "comma"})
      .type_name("HOW");
  add_table_options(app, request->print);
  app.add_flag("-f,--force", request->force, "Replace an existing capture");
  app.add_flag("-q,--quiet", request->quiet, "Print nothing but errors and warnings");
  return {app, [request] { return run_import(*request); }};
}

}  // namespace ridgeline::cli
