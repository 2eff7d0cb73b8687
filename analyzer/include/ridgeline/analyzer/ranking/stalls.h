// stalls.h: what the warps of the worst kernels waited for, from samples of program counters (T3). Each
// sample is one warp of one SM at one instant, with the instruction it is at and the reason it does not issue
// it, or "selected" if it does. Formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/ranking/ranking.h"

namespace ridgeline::analyzer {

struct StallReason {
  std::string name;   // the vendor's, verbatim
  std::string label;  // "long scoreboard"
  std::int64_t samples = 0;
  double share = 0;  // of the kernel's samples
};

/// An instruction or a source line that many samples fell on.
struct HotSpot {
  std::optional<std::int64_t> pc_offset;  // bytes from the function's start; empty: a line as a whole
  std::string file;                       // "" if the machine code names none
  std::optional<std::int64_t> line;
  std::int64_t samples = 0;
  double share = 0;              // of the kernel's samples
  std::string main_reason;       // label of the stall reason of most of them, "" if all issued
  double main_reason_share = 0;  // of the spot's samples
};

struct KernelStalls {
  std::size_t ranking_row = 0;  // into Ranking::rows
  std::string kernel;           // demangled
  std::int64_t samples = 0;
  double issuing_share = 0;           // "selected": the sampled warp issued its instruction
  double ready_share = 0;             // "not selected": it could have, another warp was chosen
  double stalled_share = 0;           // the rest; the three add up to 1
  double idle_share = 0;              // samples in which the warp's scheduler issued nothing at all
  std::vector<StallReason> reasons;   // those of stalled_share, most samples first
  std::vector<HotSpot> instructions;  // most samples first
  std::vector<HotSpot> lines;         // likewise; empty without source lines
};

struct StallOptions {
  std::size_t kernels = 5;  // of the ranking, worst first
  std::size_t spots = 5;    // of a kernel
};

struct StallAnalysis {
  bool requested = false;    // the recording has a window of such samples, successful or not
  std::int64_t samples = 0;  // of all kernels
  std::int64_t dropped_samples = 0;
  std::int64_t steps = 0;
  std::int64_t period_cycles = 0;
  Reason reason;             // why there are no samples, or not all; empty if the recording says nothing
  bool buffer_full = false;  // and for that reason samples are missing
  std::vector<KernelStalls> kernels;
  std::int64_t unsampled = 0;  // of the worst kernels that were looked at: no sample fell on them
};

/// "smsp__pcsamp_warps_issue_stalled_long_scoreboard" -> "long scoreboard".
[[nodiscard]] std::string stall_label(std::string_view name);

/// Of the process of the steps; rows of a ranking by kernel.
[[nodiscard]] StallAnalysis analyze_stalls(const Model& model, const UtilisationAnalysis& utilisation,
                                           const Ranking& ranking, const StallOptions& options = {});

}  // namespace ridgeline::analyzer
