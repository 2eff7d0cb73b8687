#include "ridgeline/launch/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "child_process.h"
#include "doctor_probe.h"
#include "mapped_libraries.h"
#include "nccl_profiler.h"
#include "program_environment.h"
#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/launch/libraries.h"
#include "ridgeline/spool/environment.h"
#include "ridgeline/spool/manifest.h"
#include "spool_directory.h"
#include "window_switch.h"

namespace ridgeline::launch {

namespace fs = std::filesystem;
namespace variables = spool::environment;

namespace {

using Steady = std::chrono::steady_clock;

constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
// How long a program that is told to end may take to do so in order.
constexpr auto kStopGrace = std::chrono::seconds(10);

Failure usage(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

Result<void> check_options(const RecordOptions& options) {
  if (options.program.empty() || options.program.front().empty()) {
    return usage("no program to record: put it behind --, as in: ridgeline record -- ./train --steps 100");
  }
  if (!options.tiers.has(Tier::t0)) {
    return usage("tier T0, the timeline, cannot be left out: samples and counters join it");
  }
  if (options.schedule.phase_count == 0) return usage("the schedule is empty");
  if (options.step_range.empty()) return usage("the name of the step range is empty");
  if (options.wait && options.after.count() > 0) {
    return usage("--wait and --after contradict each other: a signal opens the window, or the delay does");
  }
  if (options.stop_program && !options.wait && options.duration.count() == 0) {
    return usage("--stop-program ends the program when the window closes: give it a --duration");
  }
  if (options.counter_configurations.size() > variables::kMaxConfigs) {
    return usage(fmt::format("{} counter configurations, at most {} are possible",
                             options.counter_configurations.size(), variables::kMaxConfigs));
  }
  for (const auto& metrics : options.counter_configurations) {
    if (metrics.empty()) return usage("a counter configuration names no metric");
    for (const std::string& metric : metrics) {
      if (metric.empty() || metric.find(',') != std::string::npos) {
        return usage(fmt::format("\"{}\" is no metric name", one_line(metric)));
      }
    }
  }
  std::error_code code;
  if (options.working_directory && !fs::is_directory(*options.working_directory, code)) {
    return usage(fmt::format("working directory {} does not exist", *options.working_directory));
  }
  if (options.spool_parent && !fs::is_directory(*options.spool_parent, code)) {
    return usage(fmt::format("spool directory {} does not exist", *options.spool_parent));
  }
  return {};
}

// The output can be made there: found out before the program has run for an hour.
Result<void> check_output(const std::string& output, bool overwrite) {
  std::error_code code;
  const fs::path path(output);
  const fs::path parent = path.parent_path();
  const fs::file_status status = fs::status(path, code);
  if (fs::is_directory(status)) return usage(fmt::format("{} is a directory: name a file", output));
  if (fs::exists(status) && !fs::is_regular_file(status))
    return usage(fmt::format("{} is a device or a pipe, which cannot be replaced: name a file", output));
  if (!overwrite && fs::exists(fs::symlink_status(path, code))) {
    return usage(fmt::format("{} exists: give another name, or --force to replace it", output));
  }
  if (!fs::is_directory(parent, code)) {
    return usage(fmt::format("{} is no directory: make it, or write the capture elsewhere", parent.string()));
  }
  const std::string probe = fmt::format("{}.{}.probe", output, getpid());
  const int file = open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    return Failure{ErrorKind::io,
                   fmt::format("cannot write in {}: {}", parent.string(), std::strerror(errno))};
  }
  close(file);
  unlink(probe.c_str());
  return {};
}

Result<void> check_other_tools(const std::vector<std::string>& program) {
  constexpr std::string_view kProfilers[] = {"ncu",    "nsys",     "nv-nsight-cu-cli",
                                             "nvprof", "cuda-gdb", "compute-sanitizer"};
  const std::string_view name = base_name(program.front());
  std::string conflict;
  if (std::find(std::begin(kProfilers), std::end(kProfilers), name) != std::end(kProfilers))
    conflict = fmt::format("{} is a profiler itself", name);
  for (const OtherTool& tool : probe_other_tools()) {
    if (tool.exclusive && conflict.empty()) conflict = tool.text;
  }
  if (conflict.empty()) return {};
  return Failure{
      ErrorKind::environment,
      fmt::format("{}: CUDA takes one profiler at a time; record the program without the other", conflict)};
}

std::vector<std::string> program_environment(const RecordOptions& options, const std::string& spool,
                                             const std::string& agent,
                                             const std::optional<std::string>& cupti, bool is_nccl_profiler) {
  // What is set for the program takes the place of what was there; the agent's tuning variables pass through.
  const auto replaced = [&](const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('='));
    return name == kCudaInjection || name == kNvtxInjection || name == variables::kSpoolDirectory ||
           name == variables::kSchedule || name == variables::kStepRange || name == variables::kTiers ||
           name == variables::kCuptiLibrary || name == variables::kAfterMs ||
           name == variables::kDurationMs || name == variables::kWaitForSignal ||
           name == variables::kIntervene || name == variables::kInterveneSeed ||
           name == variables::kInterveneBlocks || name == variables::kInterveneBlockMs ||
           name == variables::kBudgetMs || name == variables::kAloneSteps ||
           (name == variables::kSampleIntervalNs && options.sample_interval_ns > 0) ||
           (name == variables::kSampleBufferBytes && options.sample_buffer_bytes > 0) ||
           (name == kNcclProfiler && is_nccl_profiler) || name == variables::kReplayExclude ||
           name.rfind(variables::kMetricsPrefix, 0) == 0;
  };
  std::vector<std::string> environment = current_environment();
  std::erase_if(environment, replaced);
  const auto set = [&](const std::string& name, const std::string& value) {
    environment.push_back(name + "=" + value);
  };
  set(kCudaInjection, agent);
  set(kNvtxInjection, agent);
  if (is_nccl_profiler) set(kNcclProfiler, agent);
  set(variables::kSpoolDirectory, spool);
  set(variables::kSchedule, to_string(options.schedule));
  set(variables::kStepRange, options.step_range);
  set(variables::kTiers, to_string(options.tiers));
  if (options.after.count() > 0) set(variables::kAfterMs, std::to_string(options.after.count()));
  if (options.duration.count() > 0) set(variables::kDurationMs, std::to_string(options.duration.count()));
  if (options.wait) set(variables::kWaitForSignal, "1");
  set(variables::kBudgetMs, std::to_string(options.budget.count()));
  set(variables::kAloneSteps, std::to_string(options.alone_steps));
  if (!options.interventions.empty()) {
    std::string lines;
    for (const std::string& line : options.interventions) lines.append(line).append("\n");
    set(variables::kIntervene, lines);
    if (options.intervention_seed != 0)
      set(variables::kInterveneSeed, std::to_string(options.intervention_seed));
    if (options.intervention_blocks != 0) {
      set(variables::kInterveneBlocks, std::to_string(options.intervention_blocks));
      set(variables::kInterveneBlockMs, std::to_string(options.intervention_block.count()));
    }
  }
  if (options.sample_interval_ns > 0)
    set(variables::kSampleIntervalNs, std::to_string(options.sample_interval_ns));
  if (options.sample_buffer_bytes > 0)
    set(variables::kSampleBufferBytes, std::to_string(options.sample_buffer_bytes));
  if (cupti) set(variables::kCuptiLibrary, *cupti);
  if (!options.replay_exclude.empty()) set(variables::kReplayExclude, joined(options.replay_exclude));
  for (std::size_t i = 0; i < options.counter_configurations.size(); ++i) {
    set(fmt::format("{}{}", variables::kMetricsPrefix, i + 1), joined(options.counter_configurations[i]));
  }
  return environment;
}

std::string window_options(const RecordOptions& options) {
  if (options.wait) return "--wait";
  return options.after.count() > 0 ? "--after " + duration_text(options.after) : "";
}

// A signal that a job scheduler sends once the program has ended must not keep its capture from being made.
class SchedulerSignalsIgnored {
 public:
  SchedulerSignalsIgnored() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) before_[i] = std::signal(kSignals[i], SIG_IGN);
  }
  ~SchedulerSignalsIgnored() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      if (before_[i] != SIG_ERR) std::signal(kSignals[i], before_[i]);
    }
  }
  SchedulerSignalsIgnored(const SchedulerSignalsIgnored&) = delete;
  SchedulerSignalsIgnored& operator=(const SchedulerSignalsIgnored&) = delete;

 private:
  static constexpr std::array kSignals = {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
                                          SIGXCPU, SIGPIPE, SIGIO,   SIGPWR};
  std::array<void (*)(int), kSignals.size()> before_{};
};

// "train.ridge" to "train-2.ridge" and so on: the first that is free.
std::string free_name(const std::string& name) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(name, code))) return name;
  const fs::path path(name);
  for (int number = 2;; ++number) {
    const fs::path candidate =
        path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string());
    if (!fs::exists(fs::symlink_status(candidate, code))) return candidate.string();
  }
}

class Recording {
 public:
  Recording(const RecordOptions& options, std::string output, SpoolDirectory spool, WindowSwitch windows,
            spool::LaunchManifest manifest)
      : options_(options),
        output_(std::move(output)),
        spool_(std::move(spool)),
        windows_(std::move(windows)),
        manifest_(std::move(manifest)) {}

  Result<RecordSummary> run(const std::string& agent, const std::optional<std::string>& cupti) {
    if (Result<void> written = spool::write_manifest(spool_.path(), manifest_); !written.ok()) {
      spool_.remove();
      return written.failure();
    }
    tell(RecordStage::starting);
    const auto begin = Steady::now();
    std::optional<SchedulerSignalsIgnored> ended;
    {
      Result<RunningProgram> started = RunningProgram::start(
          options_.program,
          program_environment(
              options_, spool_.path(), agent, cupti,
              options_.nccl_profiler && manifest_.nccl_profiler.empty() && nccl_takes_path(agent)),
          options_.working_directory.value_or(""));
      if (!started.ok()) {
        spool_.remove();
        return started.failure();
      }
      RunningProgram program = std::move(started).value();
      watch(program);
      ended.emplace();  // before the program's signals are given back
    }
    summary_.duration = std::chrono::duration_cast<std::chrono::milliseconds>(Steady::now() - begin);
    wait_for_stragglers();
    manifest_.versions = libraries_.versions();
    if (Result<void> written = spool::write_manifest(spool_.path(), manifest_); !written.ok()) {
      warn(written.failure().message);
    }
    if (made_since_ && *made_since_ == windows_.opened()) return finish();
    return capture();
  }

 private:
  void tell(RecordStage stage, const CaptureProgress& capture = {}, bool with_spool = false) {
    if (!options_.progress) return;
    RecordProgress progress;
    progress.stage = stage;
    progress.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Steady::now() - begin_);
    if (with_spool) progress.spool_bytes = spool_.disk_bytes();
    progress.capture = capture;
    options_.progress(progress);
  }
  void warn(std::string text) { manifest_.warnings.push_back(std::move(text)); }

  // Libraries come and processes appear as the program goes on: looked at often in the beginning, then
  // seldom.
  void look_at_processes(pid_t program) {
    std::vector<pid_t> pids = spool_.pids();
    pids.push_back(program);
    for (const pid_t pid : pids) {
      libraries_.look_at(pid);
      if (const auto rank = rank_of(pid)) manifest_.ranks[pid] = *rank;
    }
  }

  void watch(RunningProgram& program) {
    auto next_look = Steady::now() + std::chrono::milliseconds(200);
    auto interval = std::chrono::milliseconds(500);
    std::optional<ProgramEnd> end;
    std::optional<Steady::time_point> kill_at;
    while (!(end = program.wait(std::chrono::milliseconds(100)))) {
      if (Steady::now() >= next_look) {
        look_at_processes(program.pid());
        next_look = Steady::now() + interval;
        interval = std::min<std::chrono::milliseconds>(interval * 2, std::chrono::seconds(30));
      }
      if (program.take_requests() % 2 == 1) {
        notice(windows_.toggle() ? "a recording window opens" : "the recording window closes");
      }
      if (windows_.closed() != windows_closed_ && !windows_.any_open()) {
        windows_closed_ = windows_.closed();
        if (options_.stop_program) {
          notice("the recording window has closed: the program is told to end");
          program.send(SIGTERM);
          kill_at = Steady::now() + kStopGrace;
        } else {
          make_capture(program.pid());
        }
      }
      const auto now = Steady::now();
      if (kill_at && now >= *kill_at) {
        warn("the program did not end when told to: it was killed");
        program.send(SIGKILL);
        kill_at.reset();
      }
      if (now - last_told_ >= std::chrono::milliseconds(500)) {
        last_told_ = now;
        tell(RecordStage::running, {}, true);
      }
    }
    manifest_.end_ns = now_ns();
    manifest_.exit_status = summary_.exit_status = end->exit_status;
    manifest_.exit_signal = summary_.exit_signal = end->exit_signal;
  }

  void wait_for_stragglers() {
    const auto deadline = Steady::now() + options_.straggler_grace;
    std::vector<pid_t> running = spool_.running_pids();
    while (!running.empty() && Steady::now() < deadline) {
      for (const pid_t pid : running) libraries_.look_at(pid);
      usleep(50'000);
      running = spool_.running_pids();
    }
    for (const pid_t pid : running) {
      warn(fmt::format(
          "process {} still ran when the program had ended: what it did after that is not recorded", pid));
    }
  }

  void notice(const std::string& line) const {
    if (options_.notice) options_.notice(line);
  }

  // A window has closed and the program goes on: whoever waits for the capture need not wait for its end.
  void make_capture(pid_t program) {
    const std::uint32_t opened = windows_.opened();
    look_at_processes(program);
    spool::LaunchManifest until_now = manifest_;
    until_now.versions = libraries_.versions();
    until_now.end_ns = now_ns();
    Result<void> written = spool::write_manifest(spool_.path(), until_now);
    if (!written.ok()) return notice("no capture yet: " + written.failure().message);
    Result<RecordSummary> made = capture(true);
    if (!made.ok()) {
      if (Result<void> back = spool::write_manifest(spool_.path(), manifest_); !back.ok())
        warn(back.failure().message);
      return notice("no capture yet: " + made.failure().message);
    }
    made_since_ = opened;
    notice(fmt::format("the recording window has closed: {} is written, the program goes on",
                       summary_.capture_path));
  }

  // The capture is made; the program went on without being recorded, and has ended now.
  RecordSummary finish() {
    for (const std::string& line : manifest_.warnings) {
      if (std::find(summary_.warnings.begin(), summary_.warnings.end(), line) == summary_.warnings.end())
        summary_.warnings.push_back(line);
    }
    leave_spool();
    tell(RecordStage::done);
    return summary_;
  }
  void leave_spool() {
    if (options_.keep_spool) {
      summary_.spool_directory = spool_.path();
    } else {
      spool_.remove();
    }
  }

  Result<RecordSummary> capture(bool program_runs = false) {
    CaptureRequest request;
    request.spool_directory = spool_.path();
    request.program_runs = program_runs;
    request.progress = [this](const CaptureProgress& progress) { tell(RecordStage::importing, progress); };
    tell(RecordStage::importing);
    CaptureOutcome outcome;
    std::string taken;
    for (int attempt = 0;; ++attempt) {
      // Somebody may have made that file while the program ran; the recording is worth another name.
      const bool again = made_since_.has_value();
      request.output = again ? summary_.capture_path : output_;
      request.overwrite = options_.overwrite || again;
      if (!request.overwrite) request.output = free_name(output_);
      if (request.output != output_ && !again) {
        taken = fmt::format("{} was made by somebody else meanwhile: this capture is {}", output_,
                            request.output);
      }
      Result<CaptureOutcome> made = options_.make_capture(request);
      if (made.ok()) {
        outcome = std::move(made).value();
        break;
      }
      const Failure& failure = made.failure();
      if (failure.kind == ErrorKind::usage && !request.overwrite && attempt < 10) continue;
      return program_runs ? failure : give_up(failure);
    }
    summary_.capture_path = request.output;
    summary_.warnings = std::move(outcome.warnings);
    if (summary_.exit_signal) fold_in(outcome.unfinished);
    if (!taken.empty()) summary_.warnings.push_back(taken);
    if (program_runs) return summary_;
    leave_spool();
    tell(RecordStage::done);
    return summary_;
  }

  // The program was killed: one line says so, with what that cost.
  void fold_in(const std::vector<Unfinished>& unfinished) {
    for (const Unfinished& each : unfinished) {
      std::erase(summary_.warnings, each.warning);
      if (each.missing.empty()) continue;
      if (!summary_.missing.empty()) summary_.missing += "; ";
      summary_.missing += each.missing;
    }
  }

  // Where a second attempt cannot help there is nothing to keep.
  Failure give_up(Failure failure) {
    const bool hopeless = failure.kind == ErrorKind::no_data || failure.kind == ErrorKind::environment;
    if (hopeless && !options_.keep_spool) {
      spool_.remove();
    } else {
      failure.message +=
          fmt::format("; the spool is kept, try: ridgeline import {}", shell_quoted({spool_.path()}));
    }
    return failure;
  }

  const RecordOptions& options_;
  std::string output_;
  SpoolDirectory spool_;
  WindowSwitch windows_;
  spool::LaunchManifest manifest_;
  RecordSummary summary_;
  MappedLibraries libraries_;
  std::uint32_t windows_closed_ = 0;         // when they were last looked at
  std::optional<std::uint32_t> made_since_;  // windows opened when the capture was last made
  Steady::time_point begin_ = Steady::now();
  Steady::time_point last_told_{};
};

}  // namespace

Result<RecordSummary> record(const RecordOptions& options) {
  if (!options.make_capture)
    throw Error(ErrorKind::internal, "record() was given nobody to make the capture");
  if (Result<void> checked = check_options(options); !checked.ok()) return checked.failure();
  if (options.output == "-") return usage("a capture cannot be written to the standard output: name a file");
  std::error_code code;
  const std::string output = fs::absolute(options.output.value_or(default_output_name(options.program)), code)
                                 .lexically_normal()
                                 .string();
  if (Result<void> checked = check_output(output, options.overwrite); !checked.ok()) return checked.failure();
  if (Result<void> checked = check_other_tools(options.program); !checked.ok()) return checked.failure();

  const std::optional<std::string> agent =
      options.agent_library ? options.agent_library : find_agent_library();
  if (!agent || access(agent->c_str(), R_OK) != 0) {
    return Failure{
        ErrorKind::environment,
        fmt::format(
            "the agent library {} is not there: it is built where the CUDA toolkit with CUPTI is, in a "
            "clone by `cmake --build build --target ridgeline_agent` (see ridgeline doctor)",
            agent.value_or("libridgeline_agent.so"))};
  }
  if (!is_shared_library(*agent)) {
    return usage(
        fmt::format("{} is no shared library: name libridgeline_agent.so, or leave --agent out", *agent));
  }
  const std::string agent_path = fs::absolute(*agent, code).string();
  const std::optional<std::string> cupti =
      options.cupti_library ? options.cupti_library : find_cupti_library(options.program);

  const fs::path directory = fs::canonical(options.working_directory.value_or("."), code);
  const WorkingTree tree = working_tree(directory.string());
  spool::LaunchManifest manifest;
  manifest.program = command_without_secrets(options.program, options.redact);
  manifest.redact = options.redact;
  manifest.working_directory = directory.string();
  manifest.output = output;
  manifest.git_commit = tree.commit;
  manifest.git_dirty = tree.dirty;
  manifest.host_name = host_name();
  manifest.os = operating_system();
  manifest.ridgeline_version = RIDGELINE_VERSION;
  manifest.schedule = to_string(options.schedule);
  manifest.step_range = options.step_range;
  manifest.tiers = options.tiers;
  manifest.window = window_options(options);
  manifest.environment =
      relevant_environment(current_environment(), options.keep_environment, options.redact);
  if (options.nccl_profiler)
    manifest.nccl_profiler = nccl_profiler_in_place(current_environment(), options.program);
  manifest.launcher_pid = getpid();
  manifest.start_ns = now_ns();

  const fs::path output_path(output);
  Result<SpoolDirectory> spool =
      SpoolDirectory::create(options.spool_parent.value_or(output_path.parent_path().string()),
                             output_path.stem().string(), !options.spool_parent.has_value());
  if (!spool.ok()) return spool.failure();
  Result<WindowSwitch> windows = WindowSwitch::create(spool.value().path());
  if (!windows.ok()) {
    spool.value().remove();
    return windows.failure();
  }
  return Recording(options, output, std::move(spool).value(), std::move(windows).value(), std::move(manifest))
      .run(agent_path, cupti);
}

std::string default_output_name(const std::vector<std::string>& program) {
  std::string stem = program.empty() ? "" : one_line(base_name(program.front()));
  // "python3 train.py" is a recording of train.
  if (stem.rfind("python", 0) == 0) {
    for (std::size_t i = 1; i < program.size(); ++i) {
      const std::string_view word = base_name(program[i]);
      if (word.size() > 3 && word.substr(word.size() - 3) == ".py") {
        stem = one_line(word.substr(0, word.size() - 3));
        break;
      }
    }
  }
  if (stem.empty() || stem.front() == '-') stem = "recording";
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  return free_name(fmt::format("{}-{}.ridge", stem, stamp));
}

}  // namespace ridgeline::launch
