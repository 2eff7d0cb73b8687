// verb_record.cpp: runs a program with the agent injected and makes a capture of it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "output.h"
#include "progress.h"
#include "record_summary.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/launch/power_limits.h"
#include "ridgeline/launch/recorder.h"
#include "ridgeline/launch/schedule.h"
#include "ridgeline/launch/tiers.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/store/machine_ceilings.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

std::string progress_text(const launch::RecordProgress& progress) {
  const double elapsed_ns = static_cast<double>(progress.elapsed.count()) * 1e6;
  switch (progress.stage) {
    case launch::RecordStage::importing: {
      const double total = static_cast<double>(progress.capture.total_bytes);
      const double share = total > 0 ? static_cast<double>(progress.capture.done_bytes) / total : 0;
      return fmt::format("ridgeline: making the capture, {}", percent_text(share, 0));
    }
    case launch::RecordStage::starting:
    case launch::RecordStage::running:
    case launch::RecordStage::done:
      break;
  }
  return fmt::format("ridgeline: recording, {}, {}", time_text(elapsed_ns),
                     bytes_text(static_cast<double>(progress.spool_bytes)));
}

// The importer as the launcher asks for it.
Result<launch::CaptureOutcome> import_capture(const launch::CaptureRequest& request,
                                              launch::PowerLimitsAhead& limits) {
  import::ImportOptions options;
  options.overwrite = request.overwrite;
  options.ceilings_directory = store::ceilings_directory();
  options.power_limits_w = limits.get();
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

// Unless the schedule has such a phase already.
void append_phase(Schedule& schedule, Phase phase, std::uint32_t steps) {
  if (schedule.has(phase) || schedule.append(phase, steps)) return;
  throw Error(ErrorKind::usage, fmt::format("schedule: more than {} phases", kMaxSchedulePhases));
}

struct Options {
  std::string output;
  std::string schedule;
  std::string step_range = "step";
  std::string replay_exclude;
  bool cold = false;
  std::string tiers = to_string(kAllTiers);
  double sample_interval_us = 0;
  double budget_s = 10;
  std::int64_t alone_steps = 3;
  std::uint64_t sample_buffer_mib = 0;
  std::string directory;
  std::string spool_directory;
  std::string agent;
  std::string cupti;
  std::string keep_environment;
  std::vector<std::string> redact;
  bool force = false;
  std::string after;
  std::string duration;
  bool wait = false;
  bool stop_program = false;
  bool intervene = false;
  std::vector<std::string> interventions;
  std::int64_t intervene_steps = 161;
  std::uint64_t intervene_seed = 0;
  std::int64_t intervene_blocks = 0;
  double intervene_block_s = 6;
  bool stalls = false;
  bool sass_flops = false;
  bool keep_spool = false;
  bool quiet = false;
};

void declare(Command app, Options& options) {
  app.add_option("-o,--output", options.output, "Capture to write (default PROGRAM-DATE-TIME.ridge)")
      .type_name("FILE");
  app.add_flag("-f,--force", options.force, "Replace an existing capture");
  app.add_option("--schedule", options.schedule,
                 "Steps by phase (default " + std::string(kDefaultSchedule) +
                     "); recording ends with it, the program goes on")
      .type_name("PHASES");
  app.add_option("--step-range", options.step_range, "NVTX range that marks a step (default step)")
      .type_name("NAME");
  app.add_option("--tiers", options.tiers,
                 "T0 timeline, T1 sampled while steps run, T2 counted in replayed steps, T3 cold caches, on "
                 "request (default: all)")
      .type_name("LIST");
  app.add_option("--after", options.after,
                 "Start recording that long after the first CUDA context (30s, 5m, 1h30m)")
      .type_name("TIME");
  app.add_option("--duration", options.duration,
                 "Stop recording after that long; the capture is written, the program goes on")
      .type_name("TIME");
  app.add_flag("--wait", options.wait,
               "Record nothing until SIGUSR2 comes; it opens and closes recording windows");
  app.add_flag("--stop-program", options.stop_program,
               "End the program when its recording window has closed");
  app.add_option(
         "--replay-exclude", options.replay_exclude,
         "Kernels that replay steps do not measure, because they wait for others: parts of mangled names")
      .type_name("NAMES");
  app.add_flag(
      "--cold", options.cold,
      "Measure two more steps with the caches emptied before each kernel (adds cold=2 to the schedule)");
  app.add_option(
         "--alone-steps", options.alone_steps,
         "Steps in a row that run without being recorded, in a timeline of 20 steps or more, to measure what "
         "recording costs (default 3; 0: none)")
      .type_name("N")
      .range(0, 3);
  app.add_option("--budget", options.budget_s,
                 "Seconds that the recording may take on top of the program (default 10): counting (T2) has "
                 "what start, "
                 "records and end leave of them; if all launches take more, those are counted that tell most")
      .type_name("SECONDS")
      .check([](const std::string& text) -> std::string {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && at == end && value >= 0 && value <= 3600) return "";
        return fmt::format("'{}' is not a number of seconds from 0 to 3600", text);
      });
  app.add_option("--sample-interval", options.sample_interval_us,
                 "Microseconds between samples (T1; default: as fine as the window allows)")
      .type_name("US")
      .check([](const std::string& text) -> std::string {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && at == end && value >= 1.0 && value <= 1e6) return "";
        return fmt::format("'{}' is not a number of microseconds from 1 to 1000000", text);
      });
  app.add_option("--sample-buffer", options.sample_buffer_mib,
                 "MiB of host memory that samples (T1) wait in, 16 KiB each (default: as many as the "
                 "window needs)")
      .type_name("MIB")
      .range(64, 1 << 20);
  app.add_flag("--stalls", options.stalls,
               "Sample program counters over four more steps: what warps wait for (adds stalls=4)");
  app.add_flag("--sass-flops", options.sass_flops,
               "Count floating-point instructions of each kernel in one more step (adds flops=1)");
  app.add_flag(
      "--intervene", options.intervene,
      "Delay the kernels with the most time in random steps of their own, to see what it does to the step "
      "(adds 161 steps; `ridgeline interventions` says what came of it)");
  app.add_option("--intervene-kernel", options.interventions,
                 "Delay this kernel: a part of its mangled name, * and ? stand for any text; with delays in "
                 "microseconds: 'attention=50,100,200'; may be repeated")
      .one_value_each()
      .type_name("PATTERN[=US,...]");
  app.add_option("--intervene-steps", options.intervene_steps, "Steps with delays (default 161)")
      .type_name("N")
      .range(9, 100'000);
  app.add_option("--intervene-seed", options.intervene_seed,
                 "Seed of the draws, to draw the same again (default: another each time)")
      .type_name("N");
  app.add_option(
         "--intervene-blocks", options.intervene_blocks,
         "Then delay the first of them in every step of N blocks of seconds, in turn with blocks that "
         "are not delayed, to see what a power limit does to the step (default none; 16 are enough)")
      .type_name("N")
      .range(6, 1000);
  app.add_option("--intervene-block-seconds", options.intervene_block_s,
                 "How long each of these blocks is (default 6, of which the first 3 settle)")
      .type_name("SECONDS")
      .range(1, 600);
  app.add_option("--directory", options.directory, "Run the program in DIR").type_name("DIR");
  app.add_option("--spool-directory", options.spool_directory,
                 "Where the spool goes while recording (default: beside the capture)")
      .type_name("DIR");
  app.add_flag("--keep-spool", options.keep_spool, "Keep the spool after the capture is made");
  app.add_option(
         "--keep-environment", options.keep_environment,
         "Keep these variables too, comma-separated; * stands for any text. Names that speak of secrets "
         "are never kept")
      .type_name("NAMES");
  app.add_option(
         "--redact", options.redact,
         "Replace by *** what matches in the command line and the environment: a word, a value, or the "
         "name of an option or variable; * stands for any text; may be repeated")
      .type_name("PATTERN");
  app.add_option("--agent", options.agent, "The agent's library, if not beside this program")
      .type_name("FILE");
  app.add_option("--cupti", options.cupti, "The CUPTI library to use").type_name("FILE");
  app.add_flag("-q,--quiet", options.quiet, "Print nothing but errors and warnings");
  app.footer(
      "The program's output and exit status stay its own; a program that fails leaves a capture of what it "
      "did until then.\n"
      "Exit status: the program's if it failed, else 0; ridgeline's own errors as in docs/cli.md.");
}

bool intervenes(const Options& options) {
  return options.intervene || !options.interventions.empty() || options.intervene_blocks > 0;
}

// The agent's kernels with the most time are "*".
std::vector<std::string> interventions_of(const Options& options) {
  std::vector<std::string> all = options.interventions;
  if (intervenes(options) && all.empty()) all.emplace_back("*");
  for (const std::string& text : all) {
    if (text.empty() || text.front() == '=' || text.find('\n') != std::string::npos)
      throw Error(
          ErrorKind::usage,
          fmt::format("--intervene-kernel: '{}' names no kernel: write PATTERN or PATTERN=50,100", text));
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) continue;
    for (const std::string& each : split(text.substr(equals + 1), ',')) {
      double us = 0;
      const char* end = each.data() + each.size();
      const auto [at, error] = std::from_chars(each.data(), end, us);
      if (error == std::errc() && at == end && us >= 0 && us <= 100'000) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("--intervene-kernel: '{}' is no delay from 0 to 100000 microseconds", each));
    }
  }
  return all;
}

Schedule schedule_of(const Options& options) {
  Schedule schedule = default_schedule();
  if (!options.schedule.empty()) schedule = launch::read_schedule(options.schedule).value();
  if (options.cold) append_phase(schedule, Phase::cold, 2);
  if (options.stalls) append_phase(schedule, Phase::stalls, 4);
  // Last: what instrumented code does to the program's times is nobody's measurement.
  if (options.sass_flops) append_phase(schedule, Phase::flops, 1);
  // After everything else: steps of warm-up, from which nothing else is concluded (docs/design/047).
  if (intervenes(options) &&
      !schedule.append(Phase::warmup, static_cast<std::uint32_t>(options.intervene_steps)))
    throw Error(ErrorKind::usage, fmt::format("schedule: more than {} phases", kMaxSchedulePhases));
  return schedule;
}

launch::RecordOptions record_options(const Options& options, const std::vector<std::string>& command) {
  const auto unless_empty = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  launch::RecordOptions how;
  how.program = command;
  how.output = unless_empty(options.output);
  how.overwrite = options.force;
  how.schedule = schedule_of(options);
  how.step_range = options.step_range;
  how.tiers = launch::read_tiers(options.tiers).value();
  how.sample_interval_ns = std::llround(options.sample_interval_us * 1000);
  how.budget = std::chrono::milliseconds(std::llround(options.budget_s * 1000));
  how.interventions = interventions_of(options);
  how.intervention_seed = options.intervene_seed;
  how.intervention_blocks = static_cast<std::uint32_t>(options.intervene_blocks);
  how.intervention_block = std::chrono::milliseconds(std::llround(options.intervene_block_s * 1000));
  how.alone_steps = static_cast<std::uint32_t>(options.alone_steps);
  how.sample_buffer_bytes = options.sample_buffer_mib << 20;
  how.replay_exclude = split(options.replay_exclude, ',');
  how.working_directory = unless_empty(options.directory);
  how.keep_environment = split(options.keep_environment, ',');
  how.redact = options.redact;
  how.spool_parent = unless_empty(options.spool_directory);
  how.keep_spool = options.keep_spool;
  if (!options.after.empty()) how.after = launch::parse_duration(options.after).value();
  if (!options.duration.empty()) how.duration = launch::parse_duration(options.duration).value();
  how.wait = options.wait;
  how.stop_program = options.stop_program;
  how.agent_library = unless_empty(options.agent);
  how.cupti_library = unless_empty(options.cupti);
  if (!options.quiet) how.notice = [](const std::string& line) { write_message("record", line); };
  return how;
}

void tell(const launch::RecordSummary& summary, bool quiet) {
  for (const std::string& warning : summary.warnings) write_message("record", "warning: " + warning);
  if (summary.exit_signal.has_value() || summary.exit_status.value_or(0) != 0) {
    write_message("record",
                  fmt::format("the program {} {}: the capture holds what it did until then{}",
                              summary.exit_signal ? "was" : "ended with",
                              describe_exit(summary.exit_status, summary.exit_signal),
                              summary.missing.empty() ? "" : fmt::format(" ({})", summary.missing)));
  }
  if (quiet) return;
  const reports::TextStyle style = standard_output_style();
  std::string text = fmt::format("\nRecorded {} of the program.\n",
                                 time_text(static_cast<double>(summary.duration.count()) * 1e6));
  text += capture_summary(summary.capture_path, style);
  if (summary.spool_directory) text += "  spool     " + *summary.spool_directory + "\n";
  write_standard_output(text);
}

}  // namespace

Verb add_record(Command program, const std::vector<std::string>& command) {
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "record", "Run a program and record its kernels: ridgeline record [OPTIONS] -- PROGRAM ARGS...");
  declare(app, *options);
  return {app, [options, &command] {
            if (command.empty()) {
              throw Error(ErrorKind::usage,
                          "no program to record: ridgeline record [OPTIONS] -- PROGRAM ARGS...");
            }
            launch::RecordOptions how = record_options(*options, command);
            if (how.output) require_replaceable(*how.output, store::KeptKind::capture);
            launch::PowerLimitsAhead limits;
            how.make_capture = [&limits](const launch::CaptureRequest& request) {
              return import_capture(request, limits);
            };
            ProgressLine line;
            how.progress = [&line, &limits, &options](const launch::RecordProgress& progress) {
              if (progress.stage == launch::RecordStage::running) limits.ask();
              // While the program runs the terminal is its own: only the import is drawn.
              if (!options->quiet && progress.stage == launch::RecordStage::importing)
                line.show(progress_text(progress));
            };
            auto result = launch::record(how);
            line.clear();
            const launch::RecordSummary summary = std::move(result).value();
            tell(summary, options->quiet);
            if (summary.exit_signal) return 128 + *summary.exit_signal;
            return summary.exit_status.value_or(0);
          }};
}

}  // namespace ridgeline::cli
