// options.h: the command line of gpt2_train.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpt2/common/switches.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/model/gradient_reduction.h"
#include "gpt2/model/model_file.h"
#include "gpt2/train/loop/schedule.h"
#include "gpt2/train/text/sampling.h"

namespace ridgeline::gpt2 {

/// Several processes that train one model together: docs in ../../README.md, "Several GPUs".
struct RankOptions {
  int count = 0;  // to fork; 0: none, but for what a launcher's variables say
  int zero = 0;   // ZeRO's stage
  WireType wire = WireType::fp32;
  bool overlap = true;
  GatherPlace gather = GatherPlace::forward;
  int bucket_mib = 40;
  int ctas = 0;  // 0: NCCL's choice
  std::string nccl_library;
  double timeout_s = 8;
};

struct Options {
  std::string model = "124M";
  bool model_given = false;
  int batch = 32;      // sequences of one micro-batch, of all ranks together
  int sequence = 0;    // tokens of a sequence; 0 until resolved: the model's longest
  int grad_accum = 1;  // micro-batches of one optimizer step
  std::string init = "random";
  std::string save;
  ModelFileType save_type = ModelFileType::fp32;

  Switches switches;
  MatmulSearch matmul_search = MatmulSearch::off;
  std::string matmul_cache;  // "none": no file; empty: the user's cache directory

  int steps = 50;
  Schedule schedule;  // total is filled from steps
  double weight_decay = 0.1;
  bool decay_embeddings = true;
  double clip = 1.0;
  std::uint64_t seed = 1337;

  std::vector<std::string> data = {"synthetic"};
  bool shuffle = false;
  /// Empty: synthetic validation text beside synthetic training text, else none.
  std::vector<std::string> val_data;
  int val_every = 0;
  int val_batches = 8;

  std::string checkpoint_dir;
  int checkpoint_every = 0;  // 0: at the end only
  int keep = 3;
  std::string resume;

  int sample_every = 0;
  int sample_tokens = 64;
  std::string sample_prompt;  // token ids
  std::string sample_text;
  SamplingOptions sampling;
  std::string tokenizer;

  std::string log;
  bool json = false;
  RankOptions ranks;
  bool matmul_report = false;
  int profile_first = -1;  // cudaProfilerStart before this step, Stop after profile_last; -1: never
  int profile_last = -1;
};

/// Parses and checks. Returns -1 to go on, else the exit code the program should end with (help: 0, a usage
/// error: 2, one line already printed).
int parse_options(int argc, char** argv, Options& options);

}  // namespace ridgeline::gpt2
