// bench.h: what the groups of the benchmark share: how a row is declared, timed and printed.
//
// A group is a function that makes buffers, adds rows and has them measured; main.cpp has the list of groups. Rows that
// are measured together take turns in blocks of --block-ms, each after as long a warm-up, so that the power limit acts
// on all of them. Beside the median block stand the lowest and the highest, rates by the algorithmic minimum of bytes
// and FLOPs from the op's header (an op that moves more looks slower than it is), the clock that the multiprocessors
// had in the last block, and the share of the tensor cores' BF16 rate at that clock.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/libs/matmul.h"

namespace ridgeline::gpt2::bench {

struct Settings {
  int batch = 32;
  int sequence = 1024;
  int channels = 768;
  int heads = 12;
  double block_ms = 20.0;
  int rounds = 5;
  std::string only;  // rows whose name contains this
  MatmulSearch search = MatmulSearch::off;
  std::string cache;  // of the search

  std::int64_t rows() const { return std::int64_t{batch} * sequence; }
};

/// One launch. `use` counts the launches of a row: of several sets of buffers each takes the next, so that it does not
/// find its inputs in L2.
using Launch = std::function<void(int use, cudaStream_t stream)>;

class Bench {
 public:
  explicit Bench(Settings settings) : settings_(std::move(settings)) {}

  const Settings& settings() const { return settings_; }
  cudaStream_t stream() const { return stream_.get(); }

  /// Bytes and FLOPs of one launch; 0: not a matter of them.
  void add(const std::string& name, std::int64_t bytes, std::int64_t flops, Launch launch);
  /// Times the rows added since the last call, in turn, and prints them. What their launches use must live until then.
  void measure();

 private:
  struct Row {
    std::string name;
    double bytes;
    double flops;
    Launch launch;
    std::vector<double> times_us = {};  // of one launch, one per block
    double clock_hz = 0.0;              // during the last block
    int uses = 0;
  };
  double timed_us(Row& row, int count);
  void time_block(Row& row);

  Settings settings_;
  Stream stream_;
  std::vector<Row> rows_;
};

/// The groups.
void bench_activations(Bench& bench);  // layernorms, GELU, residual, bias gradients, both widths of access
void bench_ends(Bench& bench);         // embedding, classifier, optimizer
void bench_attention(Bench& bench);
void bench_gemm(Bench& bench);  // of a layer, by cuBLASLt in BF16 and FP8, and the own ones with GELU
void bench_fp8(Bench& bench);   // kernels that write FP8, and forms of the casting kernel

}  // namespace ridgeline::gpt2::bench
