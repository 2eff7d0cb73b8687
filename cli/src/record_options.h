// record_options.h: what the options of `record` ask the launcher for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/base/tier_set.h"
#include "ridgeline/launch/recorder.h"
#include "verb.h"

namespace ridgeline::cli {

/// What `record` was given.
struct RecordArguments {
  std::string output;
  std::string schedule;
  std::string step_range = "step";
  std::string replay_exclude;
  bool cold = false;
  std::string tiers = to_string(kAllTiers);
  double sample_interval_us = 0;
  double budget_s = 10;
  bool nccl_profiler = false;
  std::int64_t alone_steps = 10;
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

void add_record_options(Command app, RecordArguments& arguments);

/// Of recording `command`; without what makes the capture and draws how far it is. Throws Error(usage).
[[nodiscard]] launch::RecordOptions record_options(const RecordArguments& arguments,
                                                   const std::vector<std::string>& command);

}  // namespace ridgeline::cli
