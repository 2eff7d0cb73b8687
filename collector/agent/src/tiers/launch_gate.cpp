#include "tiers/launch_gate.h"

#include <algorithm>
#include <iterator>
#include <thread>

namespace ridgeline::agent {
namespace {

constexpr std::chrono::microseconds kLookAtGate{20};

constexpr CUpti_CallbackId kGuarded[] = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamCreate,        CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority,
    CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2,    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,      CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary, CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData,     CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload,
};

}  // namespace

std::span<const CUpti_CallbackId> guarded_callbacks() noexcept {
  return kGuarded;
}

bool is_guarded(CUpti_CallbackId id) noexcept {
  return std::find(std::begin(kGuarded), std::end(kGuarded), id) != std::end(kGuarded);
}

// The thread says that it is inside before it looks, the one that closes says so before it looks who is inside: one of
// the two sees the other. Sequentially consistent, since each writes one flag and reads the other's.
void LaunchGate::enter(ThreadState& thread) noexcept {
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  while (true) {
    thread.in_driver.store(true, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return;
    if (std::chrono::steady_clock::now() >= until) return;
    thread.in_driver.store(false, std::memory_order_seq_cst);
    std::this_thread::sleep_for(kLookAtGate);
  }
}

bool LaunchGate::anyone_else_inside() const noexcept {
  return any_thread_but(this_thread(generation_), [](const ThreadState& thread) {
    return thread.in_driver.load(std::memory_order_seq_cst);
  });
}

LaunchGate::Closed::Closed(LaunchGate& gate) noexcept : gate_(gate) {
  gate_.closed_.store(true, std::memory_order_seq_cst);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (gate_.anyone_else_inside()) {
    if (std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(kLookAtGate);
  }
  quiet_ = true;
}

LaunchGate::Closed::~Closed() {
  gate_.closed_.store(false, std::memory_order_seq_cst);
}

}  // namespace ridgeline::agent
