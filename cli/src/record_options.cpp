#include "record_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/launch/schedule.h"
#include "ridgeline/launch/tiers.h"

namespace ridgeline::cli {
namespace {

// Unless the schedule has such a phase already.
void append_phase(Schedule& schedule, Phase phase, std::uint32_t steps) {
  if (schedule.has(phase) || schedule.append(phase, steps)) return;
  throw Error(ErrorKind::usage, fmt::format("schedule: more than {} phases", kMaxSchedulePhases));
}

bool intervenes(const RecordArguments& options) {
  return options.intervene || !options.interventions.empty() || options.intervene_blocks > 0;
}

// The agent's kernels with the most time are "*".
std::vector<std::string> interventions_of(const RecordArguments& options) {
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

Schedule schedule_of(const RecordArguments& options) {
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

}  // namespace

void add_record_options(Command app, RecordArguments& options) {
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
  app.add_flag("--nccl-profiler", options.nccl_profiler,
               "Algorithm, protocol and type of NCCL's collectives, by its profiler plugin, if the program "
               "has no other");
  app.add_option(
         "--alone-steps", options.alone_steps,
         "Steps in a row that run without being recorded, in a timeline of 20 steps or more, to measure what "
         "recording costs: at most so many, 3 in a timeline of less than 72 (default 10; 0: none)")
      .type_name("N")
      .range(0, 10);
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

launch::RecordOptions record_options(const RecordArguments& options,
                                     const std::vector<std::string>& command) {
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
  how.nccl_profiler = options.nccl_profiler;
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

}  // namespace ridgeline::cli
