// fabricated_capture.h: a capture as a recording of a GPT-2 124M training step makes it, made by hand.
// Names, counts and times are those of such a step; nothing in it was measured.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::testing {

struct FabricatedCapture {
  int layers = 12;
  int warmup_steps = 2;
  int timeline_steps = 7;
  int replay_steps = 4;  // R1 and R2 in turn
  int sample_steps = 0;  // T1: the first only lets the clocks settle
  int cold_steps = 0;    // T3
  int after_steps = 1;
  bool device_peaks = true;
  bool tier_refused = false;       // no replay; the collector's reason is recorded
  double t1_bias = 0.004;          // T1's DRAM utilisation less T2's, in every kernel
  double t1_outlier = 0.0;         // added to it in AdamW
  bool exclude_attention = false;  // attention is left out of replay steps: T1 alone knows it
  bool losses = false;             // dropped records and missing launches
  bool step_ranges = true;         // false: no steps at all
  bool declared = false;           // a range for each launch declares 80 % of the bytes it moves
  bool fast = false;               // every kernel at 90 % of its roof
  bool unpadded = false;  // the vocabulary is 50257 wide: GEMMs of lm_head load one element at a time
  /// Of comparisons: runs differ as runs do (0.2 % each kernel), by their number; 0: no such noise.
  int run = 0;
  double factor = 1;        // on every kernel's time
  std::string slow_kernel;  // kernels whose name holds this take slow_factor as long, by another code
  double slow_factor = 1;
  std::vector<std::pair<std::string, double>> more_slow;  // likewise
  bool codes = false;                                     // kernels have code hashes
  std::string git_commit = "8ba260e1f3c57d0a9e2b4c6d8f0a1b3c5d7e9f01";
  std::int64_t start_offset_s = 0;  // of the recording
  std::string driver = "580.159.03";
  std::string extra_kernel;  // one more launch a step under that name, of 1 ms
  double grid = 1;           // on every launch's grid
  int copies = 0;            // within the device, at the start of each step: 134 MB in 130 µs each
  std::string command_line = "./gpt2_train --model 124M --batch 32 --length 1024 --precision bf16";
  std::string nvtx_suffix;  // appended to a range's name
  int ranks = 1;            // processes with a device each; those after the first are a little slower
  bool graphs = false;      // the launches of forward and backward are nodes of one CUDA graph
  bool overlap = false;     // bias gradients run on a second stream, beside the product after them

  bool operator==(const FabricatedCapture&) const = default;
};

/// Launches of one step with those options.
[[nodiscard]] std::int64_t launches_per_step(const FabricatedCapture& options);

/// Throws Error(io). What a process asks for a second time is a copy of the first.
void write_fabricated_capture(const std::string& path, const FabricatedCapture& options = {});

}  // namespace ridgeline::testing
