// The driver's calls that may load a kernel's code or change a graph.
//
// Kernels that are loaded while CUPTI traces nothing fail once they are part of a graph and tracing is on again
// (docs/design/008). In a program with graphs these calls are watched, and nothing stays untraced beside one that asks
// for what was not asked for before: libraries ask for the attributes of a function again and again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

std::span<const CUpti_CallbackId> load_callbacks() noexcept;
bool is_load(CUpti_CallbackId id) noexcept;

/// What the call asks for, a function or its name in a module; 0: it loads or changes something each time.
std::uint64_t load_key(CUpti_CallbackId id, const void* params) noexcept;

/// What was asked for so far. Any thread; takes no lock. Two that fall on one place are both new each time.
class SeenLoads {
 public:
  /// True the first time. `modules`: of modules that came and went (SessionState::module_generation): handles and
  /// addresses may mean something else since.
  bool is_new(std::uint64_t key, std::uint32_t modules) noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, 4096> seen_{};
};

}  // namespace ridgeline::agent
