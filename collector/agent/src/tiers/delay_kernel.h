// A kernel of the agent's own that does nothing but take a given time: one thread, by the device's global timer.
//
// It is PTX that the driver compiles, so that neither a compiler nor code for each architecture is needed. It waits for
// nobody and ends by itself.
#pragma once

#include <cstdint>
#include <string>

#include "cupti/driver_api.h"

namespace ridgeline::agent {

/// Used by one thread at a time, with the context current.
class DelayKernel {
 public:
  /// No name of a program's kernel: its records are told apart by it.
  static constexpr char kName[] = "ridgeline_agent_delay_kernel";

  explicit DelayKernel(const DriverApi& driver) noexcept : driver_(driver) {}
  DelayKernel(const DelayKernel&) = delete;
  DelayKernel& operator=(const DelayKernel&) = delete;

  /// Loads it into the current context; false with the reason if the driver refuses. May take tens of milliseconds.
  bool prepare(std::string* why) noexcept;
  bool ready() const noexcept { return function_ != nullptr; }
  /// Queues it on `stream`, before what the caller launches there next. 0 ns: it ends at once. CUDA_SUCCESS or the
  /// driver's refusal.
  CUresult launch(CUstream stream, std::uint64_t delay_ns) noexcept;
  /// The context is gone, and the module with it.
  void forget() noexcept { function_ = nullptr; }

 private:
  const DriverApi& driver_;
  CUfunction function_ = nullptr;
};

}  // namespace ridgeline::agent
