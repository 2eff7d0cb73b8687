// checkpoint.h: what a run needs to go on as if it had never stopped. Host only, no CUDA.
//
// DIR/step_00000100/ holds the state after 100 steps:
//   model.bin  the FP32 master weights as a public model file (model/model_file.h)
//   state.bin  128 little-endian 64-bit words of header, then, each padded to 8 bytes: the data position, m,
//              v (FP32), the BF16 parameters (none unless the run computes in BF16 or FP8), magnitudes and scales
//              (FP8 only; fp8_scaling_bytes() of the model). Words: [0] "RIDGEGPT",
//              [1] version 1, in FP8 2, [2..7] T, V, L, NH, C, Vp of the model, [8] precision (0 bf16, 1 tf32,
//              2 fp32, 3 fp8), [9] steps done, [10..12] B, T, K of the run, [13] seed, [14] 1: stochastic
//              rounding, [15] 1: token files, [16] 1: shuffled, [17] shards, [18] their tokens, [19] hash of
//              the shards, [20] bytes of the data position, [21] of m, [22] of the BF16 parameters, [23] hash
//              of model.bin's tensors, [24] hash of what follows this header, [25] hash of words 0 to 24; the
//              rest is 0
// Random numbers are functions of (seed, step): there is no generator to store.
//
// A checkpoint is written under another name, flushed to the disk and renamed, so that a directory called
// step_N is whole; older ones go only after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model/config.h"
#include "gpt2/model/training_state.h"
#include "gpt2/train/data/token_source.h"

namespace ridgeline::gpt2 {

/// What a run is, as far as going on depends on it. Learning rates and the number of steps may change.
struct RunIdentity {
  ModelConfig config;
  int precision = 0;  // 0 bf16, 1 tf32, 2 fp32, 3 fp8
  int batch = 0;
  int sequence = 0;
  int grad_accum = 0;
  std::uint64_t seed = 0;
  bool stochastic_rounding = false;
  DataIdentity data;
};

struct CheckpointHeader {
  RunIdentity run;
  std::int64_t steps_done = 0;
};

/// Makes the directory, proves that it can be written to and removes what interrupted writes have left. Throws
/// InputError.
void prepare_checkpoint_directory(const std::string& directory);

/// Writes DIRECTORY/step_N and then removes all but the `keep` latest checkpoints. Throws InputError.
void write_checkpoint(const std::string& directory, int keep, const CheckpointHeader& header,
                      std::span<const std::byte> data_position, const TrainingState& state);

/// What the other ranks do while rank 0 writes a checkpoint: they hand it what they keep.
void follow_checkpoint(const TrainingState& state);

/// The checkpoint that `path` means: itself, the directory of the state file or model file it names, or the
/// latest one in it. Throws InputError when there is none.
std::string find_checkpoint(const std::string& path);

/// Reads the headers of both files and checks their sizes. Throws InputError: one line, the file and the
/// fault.
CheckpointHeader read_checkpoint_header(const std::string& checkpoint);

/// Throws InputError naming the first field in which the two differ, by the option that sets it.
void require_same_run(const std::string& checkpoint, const RunIdentity& written, const RunIdentity& now);

/// Fills `state`, whose parts must have the sizes of the checkpoint's, and returns the data position. Throws
/// InputError when the contents are not what was written.
std::vector<std::byte> load_checkpoint(const std::string& checkpoint, TrainingState& state);

}  // namespace ridgeline::gpt2
