// What the launcher asked for, read from the environment once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/base/schedule.h"
#include "session/intervention_plan.h"

namespace ridgeline::agent {

struct Settings {
  std::string spool_directory;  // empty: the agent sleeps
  Schedule schedule;
  std::string schedule_text;
  std::string step_range;
  std::string cupti_library;
  bool alone_in_graphs = false;      // such steps in programs with CUDA graphs too
  bool alone_keeps_records = false;  // kernels are recorded in them: what the agent takes
  std::uint32_t alone_steps = 10;    // in a row, at most; 0: what recording costs is not measured
  std::vector<InterventionRequest> interventions;  // none: no launch is delayed
  std::uint64_t intervention_seed = 0;             // 0: made
  std::uint32_t intervention_blocks = 0;           // of seconds, after the schedule
  std::uint32_t intervention_block_ms = 6000;      // of each
  std::string lock_directory;                      // empty: the usual one
  bool sampling_allowed = true;                    // T1
  bool replay_allowed = true;                      // T2
  bool third_tier_allowed = true;                  // T3
  std::vector<std::string> replay_exclude;         // parts of mangled names
  std::uint32_t replay_time_out_ms = 10'000;
  std::uint32_t budget_ms = 10'000;                   // of replay steps, on top of the program
  std::int64_t sample_interval_ns = 0;                // 0: chosen
  std::uint64_t sample_buffer_bytes = 0;              // 0: chosen
  std::vector<std::vector<std::string>> metric_sets;  // R1, R2, …; empty: the built-in ones
  std::uint64_t buffer_bytes = 512 * 1024;
  std::uint32_t buffer_count = 256;
  std::uint32_t flush_period_ms = 200;
  std::uint32_t clock_period_ms = 100;
  std::uint64_t spool_limit_bytes = 16ull << 30;
  bool wait = false;              // no recording until the launcher says so
  std::uint64_t after_ms = 0;     // from the first context to the recording; 0: at once
  std::uint64_t duration_ms = 0;  // of a recording window; 0: no end
  /// One line for each variable that made no sense; its default is in force then.
  std::vector<std::string> complaints;
};

/// `lookup(name)` gives the value of a variable or null (getenv, or a test's table).
Settings read_settings(const char* (*lookup)(const char* name));

}  // namespace ridgeline::agent
