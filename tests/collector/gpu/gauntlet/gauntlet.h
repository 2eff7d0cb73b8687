// gauntlet: what a program may do while its kernels are counted, one case each.
//
// Every case works on the same words in device memory by kernels whose effect depends on their order (mix), so that a
// launch that is lost, run twice or run too early changes the result. All arithmetic is of integers, or of floats that
// stay exact: the result of a case with the same number of steps is the same in every run.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gauntlet {

/// Words that a case works on. A multiple of all grids.
inline constexpr int kWords = 1 << 16;
inline constexpr int kThreads = 256;

/// What every case has.
struct Bench {
  cudaStream_t stream = nullptr;   // created, blocking
  cudaStream_t beside = nullptr;   // created, not synchronised with the legacy stream
  std::uint32_t* words = nullptr;  // device [kWords]
  std::uint32_t* spare = nullptr;  // device [kWords], folded into the result too
};

/// Ends the program with status 3 and one line.
void check(cudaError_t result, const char* what);
void check(CUresult result, const char* what);

/// words[i] = rotate(words[i] ^ salt) * odd + i, over all words.
void mix(cudaStream_t stream, std::uint32_t* words, std::uint32_t salt);

/// One step of a case. `number` counts from 0.
using Step = std::function<void(int number)>;
struct Case {
  std::string name;
  std::function<Step(const Bench&)> make;
};

std::vector<Case> graph_cases();
std::vector<Case> module_cases();
std::vector<Case> order_cases();

}  // namespace gauntlet
