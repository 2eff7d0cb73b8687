// recorder.h: runs a program with the agent injected and makes a capture of it.
//
// Lifecycle of record(): 1. checks everything that can be checked before the program starts  2. makes a spool
// directory with a launch manifest  3. starts the program, its stdin, stdout and stderr untouched, and passes
// SIGINT, SIGTERM, SIGHUP and SIGQUIT on to it  4. waits  5. has the capture made and removes the spools.
// SIGUSR2 opens and closes recording windows; a capture is also made when a window closes and the program
// goes on. The launcher knows no importer: its caller brings the one who turns spools into a capture, and can
// do so later if the launcher dies on the way.
// Several recordings may run at once. record() blocks; it changes no signal handler for good.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/schedule.h"
#include "ridgeline/base/tier_set.h"

namespace ridgeline::launch {

enum class RecordStage { starting, running, importing, done };

/// How far the making of a capture has come.
struct CaptureProgress {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// What the launcher asks for when spools are to become a capture.
struct CaptureRequest {
  std::string spool_directory;  // with its launch manifest; left as it is
  std::string output;
  bool overwrite = false;
  bool program_runs = false;                             // nothing may be measured beside it
  std::function<void(const CaptureProgress&)> progress;  // may be empty
};

/// A process that did not end in order: the line about it among the warnings, and what is known to be missing
/// of it, "" if nothing.
struct Unfinished {
  std::string warning;
  std::string missing;
};

struct CaptureOutcome {
  std::vector<std::string> warnings;  // one line each: what is missing from the capture and why
  std::vector<Unfinished> unfinished;
};

/// Makes a capture of a spool directory. Failures: usage (the output exists), no_data and environment (trying
/// again cannot help), anything else (the spool is kept).
using CaptureMaker = std::function<Result<CaptureOutcome>(const CaptureRequest&)>;

struct RecordProgress {
  RecordStage stage = RecordStage::starting;
  std::chrono::milliseconds elapsed{0};  // since record() began
  std::uint64_t spool_bytes = 0;         // running: on disk so far
  CaptureProgress capture;               // importing
};

struct RecordOptions {
  CaptureMaker make_capture;          // must not be empty
  std::vector<std::string> program;   // argv; [0] is looked up in PATH if it has no slash
  std::optional<std::string> output;  // default: default_output_name() in the current directory
  bool overwrite = false;             // replace an existing output
  Schedule schedule = default_schedule();
  std::string step_range = "step";           // NVTX range that makes a step
  TierSet tiers = kAllTiers;                 // T0 must be among them
  std::int64_t sample_interval_ns = 0;       // T1; 0: chosen
  std::uint64_t sample_buffer_bytes = 0;     // T1; 0: chosen
  std::chrono::milliseconds budget{10'000};  // T2: what it may take on top of the program
  /// The agent is NCCL's profiler plugin where the user has none: algorithm, protocol and type of collectives.
  bool nccl_profiler = false;
  std::uint32_t alone_steps = 10;  // in a row without being recorded, at most; 0 to 10
  /// Delays in front of launches, in the schedule's last phase: each PATTERN or PATTERN=MICROSECONDS,… as the agent
  /// reads them (docs/design/047); none: no launch is delayed.
  std::vector<std::string> interventions;
  std::uint64_t intervention_seed = 0;                           // 0: made anew
  std::uint32_t intervention_blocks = 0;                         // after the schedule, delayed in turn
  std::chrono::milliseconds intervention_block{6'000};           // length of each
  std::vector<std::vector<std::string>> counter_configurations;  // metric names of R1, R2, …; empty: built in
  std::vector<std::string> replay_exclude;       // parts of mangled names: run unmeasured in replay steps
  std::optional<std::string> working_directory;  // the program's; default: the current one
  std::vector<std::string>
      keep_environment;             // patterns of variables to keep beside those that libraries document
  std::vector<std::string> redact;  // patterns of words and values that must not be kept
  std::optional<std::string> spool_parent;  // default: the output's directory, else TMPDIR
  bool keep_spool = false;
  std::chrono::milliseconds after{0};     // from a process's first CUDA context to its recording
  std::chrono::milliseconds duration{0};  // of a recording window; 0: to the end of the program
  bool wait = false;                      // record nothing until SIGUSR2 comes
  bool stop_program = false;              // end the program when its window has closed
  /// How long processes that the program left behind may take to end once it has ended.
  std::chrono::milliseconds straggler_grace{3000};
  std::optional<std::string> agent_library;             // default: find_agent_library()
  std::optional<std::string> cupti_library;             // default: find_cupti_library()
  std::function<void(const RecordProgress&)> progress;  // may be empty; from the calling thread
  std::function<void(const std::string&)> notice;       // likewise: one line about a window, as it happens
};

struct RecordSummary {
  std::string capture_path;
  std::optional<int> exit_status;              // of the program
  std::optional<int> exit_signal;              // if a signal ended it
  std::chrono::milliseconds duration{0};       // of the program
  std::optional<std::string> spool_directory;  // if it was kept
  std::vector<std::string> warnings;  // one line each, the capture maker's included; not what the program's
                                      /// own end by a signal explains
  std::string missing;                // what that end is known to have cost; "" if nothing
};

/// Failures: usage (program cannot be started, output exists, options contradict each other), environment (no
/// agent library, another tool is injected), io (output or spool cannot be written), no_data (the program used
/// no CUDA: what to check). A program that fails is no failure: its exit status is in the summary.
[[nodiscard]] Result<RecordSummary> record(const RecordOptions& options);

/// "<program>-YYYYmmdd-HHMMSS.ridge" (local time), free in the current directory.
[[nodiscard]] std::string default_output_name(const std::vector<std::string>& program);

}  // namespace ridgeline::launch
