// usage: agent_gauntlet --case NAME|all [--steps N] [--unmarked] [--status N] [--seed N] | --list
//   --case all   every step does what another case does, in an order that --seed (1) draws
//   --unmarked   no NVTX range says what a step is
//   --status N   the exit status (7)
// Prints a line `hash HEX` of everything that the kernels computed. If $TURN_FILE names a file, FILE.ready is made
// before the first kernel and FILE.go is waited for; FILE.done is made after the last (tests/gpu/turns.py).
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "gauntlet.h"

namespace gauntlet {
namespace {

constexpr int kLaunchesPerStep = 10;

__global__ void mix_kernel(std::uint32_t* words, std::uint32_t salt) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t x = words[i] ^ salt;
  words[i] = ((x << 7) | (x >> 25)) * 0x9E3779B1u + i;
}

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "gauntlet: %s: %s\n", what, why);
  std::fflush(nullptr);
  _Exit(3);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = graph_cases();
  for (auto more : {module_cases(), order_cases()}) cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

Step steps_of(const std::string& name, const Bench& bench, unsigned seed) {
  std::vector<Step> all;
  for (const Case& one : all_cases()) {
    if (one.name == name) return one.make(bench);
    if (name == "all") all.push_back(one.make(bench));
  }
  if (all.empty()) fail(name.c_str(), "no such case; --list names them");
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(seed);
  return [all, order, random](int number) mutable {
    const std::size_t place = static_cast<std::size_t>(number) % order.size();
    if (place == 0) std::shuffle(order.begin(), order.end(), random);
    all[order[place]](number);
  };
}

void wait_for_turn() {
  const char* turn = std::getenv("TURN_FILE");
  if (turn == nullptr) return;
  std::ofstream(std::string(turn) + ".ready").put(0);
  for (int i = 0; i < 60'000 && !std::filesystem::exists(std::string(turn) + ".go"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void end_turn() {
  if (const char* turn = std::getenv("TURN_FILE")) std::ofstream(std::string(turn) + ".done").put(0);
}

}  // namespace

void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) fail(what, cudaGetErrorString(result));
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  fail(what, text != nullptr ? text : "unknown error");
}

void mix(cudaStream_t stream, std::uint32_t* words, std::uint32_t salt) {
  mix_kernel<<<kWords / kThreads, kThreads, 0, stream>>>(words, salt);
  check(cudaGetLastError(), "mix");
}

}  // namespace gauntlet

int main(int argc, char** argv) {
  using namespace gauntlet;
  std::string name = "all";
  int steps = 80, status = 7;
  unsigned seed = 1;
  bool marked = true;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--list") {
      for (const Case& one : all_cases()) std::printf("%s\n", one.name.c_str());
      return 0;
    }
    if (option == "--unmarked")
      marked = false;
    else if (option == "--case" && has_value)
      name = argv[++i];
    else if (option == "--steps" && has_value)
      steps = std::atoi(argv[++i]);
    else if (option == "--status" && has_value)
      status = std::atoi(argv[++i]);
    else if (option == "--seed" && has_value)
      seed = static_cast<unsigned>(std::atoi(argv[++i]));
    else {
      std::fprintf(stderr, "gauntlet: unknown option %s\n", argv[i]);
      return 2;
    }
  }
  Bench bench;
  check(cudaStreamCreate(&bench.stream), "creating a stream");
  check(cudaStreamCreateWithFlags(&bench.beside, cudaStreamNonBlocking), "creating a stream");
  for (std::uint32_t** words : {&bench.words, &bench.spare}) {
    check(cudaMalloc(words, kWords * sizeof **words), "allocating");
    check(cudaMemset(*words, 0x5A, kWords * sizeof **words), "filling");
  }
  check(cudaDeviceSynchronize(), "waiting");
  wait_for_turn();
  const Step step = steps_of(name, bench, seed);
  for (int number = 0; number < steps; ++number) {
    if (marked) nvtxRangePushA("step");
    for (int i = 0; i < kLaunchesPerStep; ++i)
      mix(bench.stream, bench.words, static_cast<std::uint32_t>(number * kLaunchesPerStep + i));
    step(number);
    check(cudaDeviceSynchronize(), "waiting for a step");
    if (marked) nvtxRangePop();
  }
  end_turn();
  std::vector<std::uint32_t> words(2 * kWords);
  check(cudaMemcpy(words.data(), bench.words, kWords * sizeof(std::uint32_t), cudaMemcpyDefault),
        "copying back");
  check(cudaMemcpy(words.data() + kWords, bench.spare, kWords * sizeof(std::uint32_t), cudaMemcpyDefault),
        "copying back");
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x100000001b3ull;
  std::printf("hash %016llx\n", static_cast<unsigned long long>(hash));
  return status;
}
