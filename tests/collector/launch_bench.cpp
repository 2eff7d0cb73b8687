// launch_bench: what the agent itself does at a launch of the program, without CUPTI and without a GPU.
//
// Fabricated callbacks of 40 kernels in turn, as CUPTI would make them, against a CUPTI of plain functions; prints ns a
// launch (entry and exit), the least of the rounds, for each way in which a program is recorded. What CUPTI takes for
// its records and to call the agent comes on top (tests/gpu/launch_cost.py).
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

constexpr int kKernels = 40;
constexpr int kLaunches = 200'000;

// The launches alone, without what the tests' program notes of each.
class Launcher {
 public:
  explicit Launcher(FakeCupti& cupti) : cupti_(cupti) {
    for (int i = 0; i < kKernels; ++i) names_.push_back("kernel_number_" + std::to_string(i));
  }
  void launch(int number) {
    cuLaunchKernel_params params{};
    params.gridDimX = static_cast<unsigned>(number) + 1;
    params.gridDimY = params.gridDimZ = 1;
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data{};
    data.functionParams = &params;
    data.functionReturnValue = &result;
    data.symbolName = names_[static_cast<std::size_t>(number)].c_str();
    data.context = testing::context_on(0);
    data.contextUid = 1;
    data.correlationId = ++correlation_;
    for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      data.callbackSite = site;
      cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
  }

 private:
  FakeCupti& cupti_;
  std::vector<std::string> names_;
  std::uint32_t correlation_ = 1'000'000;
};

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

double ns_per_launch(const std::map<std::string, std::string>& environment, const char* range,
                     bool in_steps) {
  FakeCupti cupti;
  FakeProgram program(cupti, environment);
  program.use_clock(monotonic_ns);
  program.start();
  program.create_context();
  Launcher launcher(cupti);
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      const int number = i % kKernels;
      if (range != nullptr && number == 0) program.push(range);
      launcher.launch(number);
      if (range != nullptr && number == kKernels - 1) program.pop();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (in_steps || round > 0) least = std::min(least, took.count() / kLaunches);
    program.session().writer().maintain();
  }
  return least;
}

}  // namespace
}  // namespace ridgeline::agent

int main() {
  using ridgeline::agent::ns_per_launch;
  const std::map<std::string, std::string> timeline = {{"RIDGELINE_SCHEDULE", "timeline=1"},
                                                       {"RIDGELINE_SPOOL_LIMIT_BYTES", "4000000000"}};
  std::printf("%-44s %6.1f ns a launch\n", "steps of 40 launches marked by ranges",
              ns_per_launch(timeline, "step", true));
  std::printf("%-44s %6.1f ns a launch\n", "no ranges, steps looked for",
              ns_per_launch(timeline, nullptr, false));
  std::printf("%-44s %6.1f ns a launch\n", "ranges that make no step",
              ns_per_launch({{"RIDGELINE_SCHEDULE", "timeline=1"}, {"RIDGELINE_STEP_RANGE", "other"}},
                            "range", false));
  return 0;
}
