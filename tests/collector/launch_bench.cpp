// launch_bench: what the agent itself does at a launch of the program, without CUPTI and without a GPU.
//
// Fabricated callbacks of 40 kernels in turn, as CUPTI would make them, against a CUPTI of plain functions; prints ns a
// launch (entry and exit) for each way in which a program is recorded. What CUPTI takes for its records and to call the
// agent comes on top (tests/gpu/launch_cost.py).
//
// One launch after the other finds all that it needs in the nearest cache, which no program leaves it. So there are two
// figures of each: launches without anything between them, and the launch alone where the thread goes through memory
// and code of its own before each, as an interpreter does. In both another thread hands in the records of the kernels
// meanwhile, as CUPTI's does, and maintains the spool, as the agent's does. Figures are the least of the rounds.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

constexpr int kKernels = 40;
constexpr int kLaunches = 5000;  // of a round: the spool has room for them, as in a program at its own pace
// More than the nearest caches have, less than the next.
constexpr std::size_t kSweptBytes = 384 * 1024, kSweptCodeBytes = 192 * 1024;
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kRecordsAtOnce = 100;

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// The launches alone, without what the tests' program notes of each.
class Launcher {
 public:
  explicit Launcher(FakeCupti& cupti) : cupti_(cupti) {
    // As long as the names of templates in C++ are.
    for (int i = 0; i < kKernels; ++i) names_.push_back(std::string(300, 'x') + std::to_string(i));
  }
  const char* name(std::uint32_t correlation_id) const {
    return names_[(correlation_id - kFirst - 1) % kKernels].c_str();
  }
  /// Of the latest launch. Any thread.
  std::uint32_t latest() const { return correlation_.load(std::memory_order_acquire); }
  static constexpr std::uint32_t kFirst = 1'000'000;
  void launch(int number) {
    cuLaunchKernel_params params{};
    params.gridDimX = static_cast<unsigned>(number) + 1;
    params.gridDimY = params.gridDimZ = 1;
    params.f = reinterpret_cast<CUfunction>(std::uintptr_t{0x7f0000000000} +
                                            0x1c0 * (1u + static_cast<unsigned>(number)));
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data{};
    data.functionParams = &params;
    data.functionReturnValue = &result;
    data.symbolName = names_[static_cast<std::size_t>(number)].c_str();
    data.context = testing::context_on(0);
    data.contextUid = 1;
    data.correlationId = correlation_.load(std::memory_order_relaxed) + 1;
    for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      data.callbackSite = site;
      cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
    correlation_.store(data.correlationId, std::memory_order_release);
  }

 private:
  FakeCupti& cupti_;
  std::vector<std::string> names_;
  std::atomic<std::uint32_t> correlation_{kFirst};
};

// What CUPTI's thread and the agent's do beside the program: records of what was launched, room in the spool.
class Beside {
 public:
  Beside(FakeProgram& program, const Launcher& launcher)
      : thread_([this, &program, &launcher] {
          std::uint32_t known = Launcher::kFirst;
          std::vector<CUpti_ActivityKernel10> records;
          while (!stop_.load()) {
            program.session().writer().maintain();
            program.session().keep_launch_clock();
            while (launcher.latest() - known >= kRecordsAtOnce && !stop_.load()) {
              records.clear();
              for (std::size_t i = 0; i < kRecordsAtOnce; ++i, ++known)
                records.push_back(FakeProgram::kernel(known + 1, launcher.name(known + 1), known * 1000ull,
                                                      known * 1000ull + 500));
              const std::int64_t begin_ns = monotonic_ns();
              program.deliver(records);
              took_ns_ += monotonic_ns() - begin_ns;
              records_ += records.size();
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
          }
        }) {}
  ~Beside() {
    stop_.store(true);
    thread_.join();
  }

  /// What the agent takes for a record, of those so far.
  double record_ns() const { return static_cast<double>(took_ns_) / static_cast<double>(records_); }

 private:
  std::atomic<std::int64_t> took_ns_{0};
  std::atomic<std::uint64_t> records_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct Figures {
  double in_a_row_ns = 1e9, among_others_ns = 1e9, record_ns = 0;
};

template <typename Each>
void launches(FakeProgram& program, Launcher& launcher, const char* range, Each&& each) {
  for (int i = 0; i < kLaunches; ++i) {
    const int number = i % kKernels;
    if (range != nullptr && number == 0) program.push(range);
    each([&] { launcher.launch(number); });
    if (range != nullptr && number == kKernels - 1) program.pop();
  }
}

// The mean of the lower nine tenths: of some launches the processor is taken away, and some counters go in strides.
double trimmed_mean(std::vector<std::uint64_t>& values) {
  constexpr int kKept = kLaunches / 10 * 9;
  std::nth_element(values.begin(), values.begin() + kKept, values.end());
  return static_cast<double>(std::accumulate(values.begin(), values.begin() + kKept, std::uint64_t{0})) /
         kKept;
}

// A function that only returns in each cache line.
class SweptCode {
 public:
  SweptCode()
      : code_(mmap(nullptr, kSweptCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (code_ == MAP_FAILED) std::abort();
    std::memset(code_, kReturn, kSweptCodeBytes);
    if (mprotect(code_, kSweptCodeBytes, PROT_READ | PROT_EXEC) != 0) std::abort();
  }
  ~SweptCode() { munmap(code_, kSweptCodeBytes); }
  SweptCode(const SweptCode&) = delete;
  SweptCode& operator=(const SweptCode&) = delete;

  void run() const {
    for (std::size_t at = 0; at < kSweptCodeBytes; at += kCacheLineBytes)
      reinterpret_cast<void (*)()>(static_cast<std::byte*>(code_) + at)();
  }

 private:
  static constexpr int kReturn = 0xc3;
  void* code_;
};

std::uint64_t ticks() {
  unsigned processor = 0;
  return __rdtscp(&processor);
}

Figures ns_per_launch(const std::map<std::string, std::string>& environment, const char* range) {
  FakeCupti cupti;
  FakeProgram program(cupti, environment);
  program.use_clock(monotonic_ns);
  program.start();
  program.create_context();
  Launcher launcher(cupti);
  const Beside beside(program, launcher);
  Figures least;
  std::vector<std::uint64_t> swept(kSweptBytes / sizeof(std::uint64_t)), each(kLaunches), nothing(kLaunches);
  const SweptCode code;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
  for (int round = 0; round < 8; ++round) {
    pause();
    const std::uint64_t begin = ticks();
    const std::int64_t begin_ns = monotonic_ns();
    launches(program, launcher, range, [](auto&& launch) { launch(); });
    const double tick_ns =
        static_cast<double>(monotonic_ns() - begin_ns) / static_cast<double>(ticks() - begin);
    if (round > 0)
      least.in_a_row_ns =
          std::min(least.in_a_row_ns, static_cast<double>(monotonic_ns() - begin_ns) / kLaunches);
    pause();
    std::size_t at = 0;
    launches(program, launcher, range, [&](auto&& launch) {
      for (std::size_t i = 0; i < swept.size(); i += kCacheLineBytes / sizeof swept[0]) swept[i] += i;
      code.run();
      const std::uint64_t before = ticks();
      launch();
      const std::uint64_t after = ticks();
      each[at] = after - before;
      nothing[at++] = ticks() - after;
    });
    least.among_others_ns =
        std::min(least.among_others_ns, (trimmed_mean(each) - trimmed_mean(nothing)) * tick_ns);
  }
  least.record_ns = beside.record_ns();
  return least;
}

void print(const char* what, const Figures& figures) {
  std::printf("%-40s %5.0f ns a launch in a row, %5.0f among other work; %5.0f ns a record on its thread\n",
              what, figures.in_a_row_ns, figures.among_others_ns, figures.record_ns);
}

}  // namespace
}  // namespace ridgeline::agent

int main() {
  using ridgeline::agent::ns_per_launch;
  using ridgeline::agent::print;
  const std::map<std::string, std::string> timeline = {{"RIDGELINE_SCHEDULE", "timeline=1"},
                                                       {"RIDGELINE_SPOOL_LIMIT_BYTES", "4000000000"}};
  const std::map<std::string, std::string> all = {{"RIDGELINE_SCHEDULE", "timeline=100000,sample=1,replay=8"},
                                                  {"RIDGELINE_SPOOL_LIMIT_BYTES", "4000000000"}};
  print("steps of 40 launches marked by ranges", ns_per_launch(timeline, "step"));
  print("no ranges, steps looked for", ns_per_launch(timeline, nullptr));
  print("marked steps, counters to come", ns_per_launch(all, "step"));
  return 0;
}
