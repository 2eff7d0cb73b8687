// exiter: a program that ends at a moment, and in a way, of the tester's choosing.
//
// usage: exiter --how HOW --after MS [--note FILE] [--launching N] [--elsewhere] [--steps]
//   HOW: return, exit, exit-thread, _exit, quick_exit, abort, throw, sigterm, reset, pthread_exit
//   --after MS      from the end of the first kernel to the end of the program
//   --note FILE     CLOCK_REALTIME in ns just before the end is written there
//   --launching N   so many threads go on launching while the program ends
//   --elsewhere     the main thread makes no CUDA call: another one does, and goes on launching
// A step takes 20 ms, mostly asleep, so that a recording with the default schedule sets up its counters in
// the first second and goes through all of its phases within three. Its own exit status is 7 wherever it has
// a say.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kStatus = 7;
constexpr int kElements = 1 << 20;
constexpr int kLaunchesPerStep = 12;
constexpr std::chrono::milliseconds kPause{20};

__global__ void scale(float* values, int n, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  values[i] = values[i] * factor + 1.0f;
}

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "exiter: %s: %s\n", what, cudaGetErrorString(result));
  _exit(3);
}

struct Options {
  std::string how = "return", note;
  int after_ms = 0, launching = 0;
  bool elsewhere = false;
};

void launch_steps(float* values, cudaStream_t stream, std::int64_t until_ns, bool marked) {
  while (clock_ns(CLOCK_MONOTONIC) < until_ns) {
    if (marked) nvtxRangePushA("step");
    for (int i = 0; i < kLaunchesPerStep; ++i)
      scale<<<kElements / 256, 256, 0, stream>>>(values, kElements, 0.999f);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return;  // the program is ending round this thread
    if (!marked) continue;
    nvtxRangePop();
    const std::int64_t left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(kPause, std::chrono::nanoseconds(left_ns)));
  }
}

// A thread that goes on launching until the process is gone.
void launch_for_ever() {
  float* values = nullptr;
  cudaStream_t stream = nullptr;
  if (cudaMalloc(&values, kElements * sizeof(float)) != cudaSuccess ||
      cudaStreamCreate(&stream) != cudaSuccess)
    return;
  launch_steps(values, stream, INT64_MAX, false);
}

void write_note(const Options& options) {
  if (options.note.empty()) return;
  std::FILE* file = std::fopen(options.note.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "%lld\n", static_cast<long long>(clock_ns(CLOCK_REALTIME)));
  std::fclose(file);
}

int end_program(const Options& options) {
  write_note(options);
  const std::string& how = options.how;
  if (how == "exit") std::exit(kStatus);
  if (how == "exit-thread") {
    std::thread([] { std::exit(kStatus); }).join();
  }
  if (how == "_exit") _exit(kStatus);
  if (how == "quick_exit") std::quick_exit(kStatus);
  if (how == "abort") std::abort();
  if (how == "throw") throw std::runtime_error("the tester asked for it");
  if (how == "sigterm") {
    raise(SIGTERM);
    pause();
  }
  if (how == "reset") cudaDeviceReset();
  if (how == "pthread_exit") {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::exit(kStatus);
    }).detach();
    pthread_exit(nullptr);
  }
  return kStatus;
}

void work(const Options& options) {
  float* values = nullptr;
  check(cudaMalloc(&values, kElements * sizeof(float)), "cudaMalloc");
  check(cudaMemset(values, 0, kElements * sizeof(float)), "cudaMemset");
  scale<<<kElements / 256, 256>>>(values, kElements, 0.999f);
  check(cudaDeviceSynchronize(), "the first kernel");
  const std::int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + std::int64_t{options.after_ms} * 1'000'000;
  for (int i = 0; i < options.launching; ++i) std::thread(launch_for_ever).detach();
  launch_steps(values, nullptr, until_ns, true);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (name == "--how")
      options.how = value();
    else if (name == "--after")
      options.after_ms = std::atoi(value().c_str());
    else if (name == "--note")
      options.note = value();
    else if (name == "--launching")
      options.launching = std::atoi(value().c_str());
    else if (name == "--elsewhere")
      options.elsewhere = true;
    else
      return std::fprintf(stderr, "exiter: unknown option %s\n", name.c_str()), 2;
  }
  if (options.elsewhere) {
    std::atomic<bool> done{false};
    std::thread([&] {
      work(options);
      done = true;
      launch_for_ever();
    }).detach();
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else {
    work(options);
  }
  return end_program(options);
}
