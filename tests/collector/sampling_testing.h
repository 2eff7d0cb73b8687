// Programs that are sampled, on a fake CUPTI: of steps on one device and on two.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent_testing.h"
#include "tiers/sampling.h"

namespace ridgeline::agent::testing {

inline constexpr std::int64_t kMillisecond = 1'000'000;

/// A program of ten-millisecond steps; each flush hands over the kernels that the device is through with.
struct SampledProgram {
  explicit SampledProgram(FakeCupti& fake, std::map<std::string, std::string> environment = {},
                          bool with_control = false)
      : cupti(fake) {
    environment.emplace("RIDGELINE_SCHEDULE", "timeline=3,sample=6,replay=2");
    environment.emplace("RIDGELINE_METRICS_R1", "a,b");
    program = std::make_unique<FakeProgram>(cupti, environment, with_control);
    cupti.on_flush = [this] { flush(); };
    EXPECT_TRUE(program->start());
    program->create_context();
    step();
    program->tick();  // describes the device, prepares
    steps(2);
  }
  ~SampledProgram() { cupti.on_flush = nullptr; }

  void step() {
    program->push("step");
    for (int i = 0; i < 3; ++i) pending.emplace_back(program->launch(kernel), cupti.clock_ns + device_lag_ns);
    cupti.clock_ns += step_ns;
    program->pop();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  /// A turn of the agent's threads, a millisecond later.
  void tick() { program->session().tick(cupti.clock_ns += kMillisecond); }
  void flush() {
    if (device_hangs) {
      cupti.clock_ns += kMillisecond;
      return;
    }
    std::vector<CUpti_ActivityKernel10> records;
    for (const auto& [id, launched_ns] : pending)
      records.push_back(FakeProgram::kernel(id, kernel, static_cast<std::uint64_t>(launched_ns),
                                            static_cast<std::uint64_t>(launched_ns + 1000)));
    pending.clear();
    if (!records.empty()) program->deliver(records);
  }
  FakeProgram::Contents contents() { return program->contents(); }

  FakeCupti& cupti;
  std::unique_ptr<FakeProgram> program;
  std::vector<std::pair<std::uint32_t, std::int64_t>> pending;  // launches, and when
  const char* kernel = "k";
  std::int64_t step_ns = 10 * kMillisecond;
  std::int64_t device_lag_ns = 0;  // behind the host
  bool device_hangs = false;
};

/// A program that works on two devices by turns in each step.
struct TwoDevices {
  explicit TwoDevices(FakeCupti& fake) : cupti(fake) {
    program = std::make_unique<FakeProgram>(
        cupti, std::map<std::string, std::string>{{"RIDGELINE_SCHEDULE", "timeline=3,sample=6"}});
    cupti.on_flush = [this] { flush(); };
    EXPECT_TRUE(program->start());
    for (const std::uint32_t device : {1u, 0u}) {
      program->use_device(device);
      program->create_context();
    }
    step();
    program->tick();
    steps(2);
  }
  ~TwoDevices() { cupti.on_flush = nullptr; }
  void step() {
    program->push("step");
    for (const std::uint32_t device : {0u, 1u}) {
      program->use_device(device);
      for (int i = 0; i < 3; ++i) pending[device].emplace_back(program->launch("k"), cupti.clock_ns);
    }
    cupti.clock_ns += 10 * kMillisecond;
    program->pop();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  void flush() {
    for (auto& [device, launches] : pending) {
      if (hangs.contains(device)) continue;
      std::vector<CUpti_ActivityKernel10> records;
      for (const auto& [id, launched_ns] : launches) {
        records.push_back(FakeProgram::kernel(id, "k", static_cast<std::uint64_t>(launched_ns),
                                              static_cast<std::uint64_t>(launched_ns + 1000)));
        records.back().deviceId = device;
      }
      launches.clear();
      if (!records.empty()) program->deliver(records);
    }
    if (!hangs.empty()) cupti.clock_ns += kMillisecond;
  }
  void tick() { program->session().tick(cupti.clock_ns += kMillisecond); }

  FakeCupti& cupti;
  std::unique_ptr<FakeProgram> program;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::int64_t>>> pending;
  std::set<std::uint32_t> hangs;
};

}  // namespace ridgeline::agent::testing
