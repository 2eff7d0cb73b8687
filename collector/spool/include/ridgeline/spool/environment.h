// What the launcher tells the agent, by environment variables. Shared by both; nothing else passes between
// them but the spool.
#pragma once

namespace ridgeline::spool::environment {

/// Directory that exists and takes the spools, one per process: `<pid>-<start_ns>.spool`. Unset: the agent
/// sleeps.
inline constexpr char kSpoolDirectory[] = "RIDGELINE_SPOOL_DIR";

/// Phases and their steps, in order: `warmup=5,timeline=10,replay=4,timeline=2`. Names: warmup, timeline,
/// sample, replay, cold, stalls, flops. After the last phase the timeline goes on to the end of the program.
/// Default: kDefaultSchedule of base/schedule.h.
inline constexpr char kSchedule[] = "RIDGELINE_SCHEDULE";

/// Name of the NVTX push/pop range that makes a step. A range is a step if its name equals this, or starts
/// with it and goes on with a character that is no letter, digit or underscore ("step 12", "step:12").
/// Default "step".
inline constexpr char kStepRange[] = "RIDGELINE_STEP_RANGE";
inline constexpr char kDefaultStepRange[] = "step";

/// Tiers that may be used, comma separated: `T0,T2`. Default: all. T0 cannot be left out.
inline constexpr char kTiers[] = "RIDGELINE_TIERS";

/// Counter configurations that replace the built-in ones: RIDGELINE_METRICS_R1, _R2, … (up to 8), each a
/// comma separated list of verbatim metric names. Configuration k is measured in the k-th replay step, then
/// they repeat.
inline constexpr char kMetricsPrefix[] = "RIDGELINE_METRICS_R";
inline constexpr int kMaxConfigs = 8;

/// T1: nanoseconds between two samples; unset or 0: chosen from the step's length and the memory that is
/// free.
inline constexpr char kSampleIntervalNs[] = "RIDGELINE_SAMPLE_NS";
/// T1: most bytes of hardware buffer; unset or 0: a share of the memory that is free.
inline constexpr char kSampleBufferBytes[] = "RIDGELINE_SAMPLE_BUFFER_BYTES";

/// Kernels to leave out of replay steps: comma separated parts of mangled names, beside the built-in rules.
inline constexpr char kReplayExclude[] = "RIDGELINE_REPLAY_EXCLUDE";
/// Milliseconds after which a kernel that runs alone in a replay step is taken to wait for another. Default
/// 10000.
inline constexpr char kReplayTimeOutMs[] = "RIDGELINE_REPLAY_TIMEOUT_MS";

/// Milliseconds that replay steps may take on top of the program. Default 10000.
inline constexpr char kBudgetMs[] = "RIDGELINE_BUDGET_MS";

/// Recording starts this many milliseconds after the process's first context, and a recording window ends
/// this many after it opened; 0 or unset: at once, never.
inline constexpr char kAfterMs[] = "RIDGELINE_AFTER_MS";
inline constexpr char kDurationMs[] = "RIDGELINE_DURATION_MS";
/// "1": no recording until the launcher says so, by the control file in the spool directory (control.h).
inline constexpr char kWaitForSignal[] = "RIDGELINE_WAIT";

/// How many steps of a block run without being recorded, to measure what recording costs; 0: none. Default 3.
inline constexpr char kAloneSteps[] = "RIDGELINE_ALONE_STEPS";
/// 1: they run so in programs with CUDA graphs too (docs/design/031). Default 0.
inline constexpr char kAloneInGraphs[] = "RIDGELINE_ALONE_IN_GRAPHS";
/// Steps without the agent's callbacks, in which kernels are recorded all the same, in turns with others to the phase's
/// end: what the agent takes, for its developers. 0 or 1.
inline constexpr char kAloneKeepsRecords[] = "RIDGELINE_ALONE_KEEPS_RECORDS";

/// Delays in front of launches, in the last phase of the schedule, which is of warm-up steps then (docs/design/047):
/// lines `PATTERN` or `PATTERN=20,50,100` with microseconds; `*` alone: the kernels with the most time. Unset: none.
inline constexpr char kIntervene[] = "RIDGELINE_INTERVENE";
/// Seed of the draws, for another recording with the same; unset or 0: one is made.
inline constexpr char kInterveneSeed[] = "RIDGELINE_INTERVENE_SEED";
/// After the schedule, blocks of steps that are delayed in turn, for the response of the power limit: how many, and how
/// long each is in milliseconds. Unset or 0: none; 6000.
inline constexpr char kInterveneBlocks[] = "RIDGELINE_INTERVENE_BLOCKS";
inline constexpr char kInterveneBlockMs[] = "RIDGELINE_INTERVENE_BLOCK_MS";

/// Folder of the files by which processes that are recorded on one GPU take turns with its counters; the same for all
/// of them, containers too. Unset: /run/lock if every user may make files there, else /tmp.
inline constexpr char kLockDirectory[] = "RIDGELINE_LOCK_DIR";

/// Path of libcupti. Unset: by soname (libcupti.so.13, then .12) as the dynamic linker finds it.
inline constexpr char kCuptiLibrary[] = "RIDGELINE_CUPTI_LIBRARY";

/// CUPTI's activity buffers: size of one, and how many at most. Defaults 512 KiB and 256: a buffer is handed
/// over when it is full or idle, so small ones lose less when the process is killed.
inline constexpr char kBufferBytes[] = "RIDGELINE_BUFFER_BYTES";
inline constexpr char kBufferCount[] = "RIDGELINE_BUFFER_COUNT";

/// Milliseconds between two flushes of the timeline into the spool. Default 200.
inline constexpr char kFlushPeriodMs[] = "RIDGELINE_FLUSH_MS";

/// Milliseconds between two samples of clocks and power; 0 turns them off. Default 100.
inline constexpr char kClockPeriodMs[] = "RIDGELINE_CLOCK_MS";

/// Size in bytes a spool may reach; beyond it records are counted as lost. Default 16 GiB.
inline constexpr char kSpoolLimitBytes[] = "RIDGELINE_SPOOL_LIMIT_BYTES";

}  // namespace ridgeline::spool::environment
