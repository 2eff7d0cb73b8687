// verb_record.cpp: runs a program with the agent injected and makes a capture of it.
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "output.h"
#include "progress.h"
#include "record_options.h"
#include "record_summary.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/launch/libraries.h"
#include "ridgeline/launch/power_limits.h"
#include "ridgeline/launch/recorder.h"
#include "ridgeline/launch/tracing_cost.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/store/machine_ceilings.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

// Measured when the first process of a recording asks. Keeps a reference.
std::function<std::optional<KeptTracing>()> kept_tracing_beside(const std::vector<std::string>& program) {
  return [&program, asked = false, kept = std::optional<KeptTracing>()]() mutable {
    if (!std::exchange(asked, true)) {
      if (const std::optional<std::string> cupti = launch::find_cupti_library(program))
        kept = launch::measure_kept_tracing(*cupti);
    }
    return kept;
  };
}

// The importer as the launcher asks for it.
Result<launch::CaptureOutcome> import_capture(const launch::CaptureRequest& request,
                                              const std::vector<std::string>& program,
                                              launch::PowerLimitsAhead& limits) {
  import::ImportOptions options;
  options.overwrite = request.overwrite;
  options.ceilings_directory = store::ceilings_directory();
  options.power_limits_w = limits.get();
  if (!request.program_runs) options.kept_tracing = kept_tracing_beside(program);
  if (request.progress) {
    options.progress = [&request](const import::ImportProgress& progress) {
      request.progress({progress.done_bytes, progress.total_bytes});
    };
  }
  Result<import::ImportSummary> imported =
      import::import_spools(request.spool_directory, request.output, options);
  if (!imported.ok()) return imported.failure();
  launch::CaptureOutcome outcome;
  for (const Reason& warning : imported.value().warnings)
    outcome.warnings.push_back(reports::reason_text(warning));
  for (const import::Unfinished& each : imported.value().unfinished)
    outcome.unfinished.push_back({reports::reason_text(each.warning), reports::reason_text(each.missing)});
  return outcome;
}

}  // namespace

Verb add_record(Command program, const std::vector<std::string>& command) {
  auto options = std::make_shared<RecordArguments>();
  const Command app = program.add_subcommand(
      "record", "Run a program and record its kernels: ridgeline record [OPTIONS] -- PROGRAM ARGS...");
  add_record_options(app, *options);
  return {app, [options, &command] {
            if (command.empty()) {
              throw Error(ErrorKind::usage,
                          "no program to record: ridgeline record [OPTIONS] -- PROGRAM ARGS...");
            }
            launch::RecordOptions how = record_options(*options, command);
            if (how.output) require_replaceable(*how.output, store::KeptKind::capture);
            launch::PowerLimitsAhead limits;
            how.make_capture = [&limits, &how](const launch::CaptureRequest& request) {
              return import_capture(request, how.program, limits);
            };
            ProgressLine line;
            how.progress = [&line, &limits, &options](const launch::RecordProgress& progress) {
              if (progress.stage == launch::RecordStage::running) limits.ask();
              // While the program runs the terminal is its own: only the import is drawn.
              if (!options->quiet && progress.stage == launch::RecordStage::importing)
                line.show(recording_progress(progress));
            };
            auto result = launch::record(how);
            line.clear();
            const launch::RecordSummary summary = std::move(result).value();
            tell_recorded(summary, options->quiet);
            if (summary.exit_signal) return 128 + *summary.exit_signal;
            return summary.exit_status.value_or(0);
          }};
}

}  // namespace ridgeline::cli
