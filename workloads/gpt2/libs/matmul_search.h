// matmul_search.h: find the fastest algorithm of one problem by running the candidates.
//
// Method
//   1. candidates: cuBLASLt's heuristic answers under several workspace limits, without repetitions. Its
//      first answer under the full workspace is the default choice, to compare with
//   2. each runs a few times. Then the best one's algorithm with every tile and the small clusters, and the other
//      settings of the best few, one at a time, over what cuBLASLt says the algorithm can do, on from what that finds
//   3. the best twelve and the default run alone for a while, the best three of them longer, because large GEMMs
//      run at the power limit, where the algorithm that needs less energy gets the higher clock
//   4. the winner's result is compared with the default's on the same data; a winner that differs by more
//      than rounding is dropped for the next one
// Trials run on buffers allocated here, filled with random values, of the problem's sizes and alignments.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "gpt2/libs/matmul.h"
#include "gpt2/libs/matmul_problem.h"

namespace ridgeline::gpt2 {

/// An algorithm and how it came to be chosen.
struct MatmulSelection {
  cublasLtMatmulAlgo_t algo{};
  std::size_t workspace_bytes = 0;
  int candidates = 0;            // algorithms timed; 0: none was
  double time_ns = 0.0;          // 0: not timed
  double default_time_ns = 0.0;  // 0: not timed
};

/// cuBLASLt's answers, best guess first; empty when it has none.
std::vector<cublasLtMatmulHeuristicResult_t> matmul_heuristics(cublasLtHandle_t handle,
                                                               const MatmulProblem& problem,
                                                               const LtOperation& operation,
                                                               std::size_t workspace_limit_bytes,
                                                               int requested);

/// candidates must not be empty. Waits for stream. When the trial buffers do not fit into device memory, says
/// so on stderr and returns the default choice untimed.
MatmulSelection search_matmul(cublasLtHandle_t handle, const MatmulProblem& problem, LtOperation& operation,
                              void* workspace, cudaStream_t stream);

/// The algorithm's settings by cuBLASLt's own numbers, on one line.
std::string describe_algorithm(const cublasLtMatmulAlgo_t& algo);

}  // namespace ridgeline::gpt2
