// What the agent keeps for each thread of the program. Plain data, allocated at a thread's first event,
// reused after the thread's end, never freed.
#pragma once

#include <atomic>
#include <cstdint>

namespace ridgeline::agent {

inline constexpr std::uint32_t kMaxNvtxDepth = 64;
inline constexpr std::uint32_t kKernelCacheSize = 256;

struct NvtxFrame {
  std::uint64_t range_id;
  std::int64_t start_ns;
  const void* domain;  // null: default
  std::uint32_t path_id;
  std::uint32_t step_index;
  std::uint32_t color_argb;
  std::uint32_t category;
  std::uint64_t payload;
  std::uint8_t payload_type;  // spool::NvtxPayloadType
  bool has_color;
  bool is_step;
};

struct ThreadState {
  std::uint32_t thread_id = 0;
  std::uint32_t generation = 0;      // of the session this state belongs to
  bool inside = false;               // the agent itself is calling CUPTI: ignore what that causes
  std::uint32_t calls_of_agent = 0;  // how deep in AgentCall

  /// The launch between its enter and exit callbacks.
  std::int64_t launch_enter_ns = 0;
  std::atomic<bool> launch_noted{false};  // its entry fell into a recording window
  std::atomic<bool> in_driver{
      false};  // inside a call that PC sampling is not switched beside (tiers/launch_gate.h)
  /// How deep in calls whose callbacks are switched off and on (session/call_switch.h); written by the thread itself.
  std::atomic<std::uint32_t> launches_inside{0}, others_inside{0};
  bool graph_node_created = false;
  std::uint32_t launch_kernel_id = 0;  // 0: a graph, or outside steps
  bool launch_collective = false;
  std::uint8_t launch_verdict = 0;  // Verdict

  /// The last launch of a kernel that returned, and the innermost range it was in; 0 and 0: none.
  std::uint64_t last_launch_range = 0;
  std::uint32_t last_launch_id = 0;  // correlation id

  /// The delay in front of the launch (session/interventions.h).
  bool delaying = false;           // it is being launched
  std::uint32_t delay_target = 0;  // number of the target from 1; 0: no delay
  std::uint32_t delay_correlation_id = 0;
  std::int64_t delay_level_ns = 0;
  bool delay_drawn = false;

  /// The wait between its enter and exit callbacks; no entry time: none was noted.
  std::int64_t wait_enter_ns = 0;
  std::uint32_t wait_correlation_id = 0;
  std::uint32_t wait_step_index = 0;
  bool name_noted = false;

  /// Contexts whose default streams this thread has named: a bit each, of the first 64.
  std::uint64_t default_streams = 0, own_streams = 0;
  std::uint32_t instantiation = 0;  // number of the graph that the thread instantiates; 0: none

  std::uint32_t depth = 0;
  std::uint32_t overflow_depth = 0;  // ranges beyond kMaxNvtxDepth: counted, not recorded
  NvtxFrame frames[kMaxNvtxDepth];

  /// By the driver's handle of the function, or by the name's address where a call has none.
  struct CachedKernel {
    const void* function = nullptr;
    const char* name = nullptr;
    std::uint32_t module_generation = 0;
    std::uint32_t kernel_id = 0;
    std::uint32_t code = 0;   // LaunchRecord::code, once it is known
    bool code_known = false;  // the call that loads it has returned
    bool collective = false;
  };
  CachedKernel kernels[kKernelCacheSize];

  std::atomic<bool> taken{false};
  ThreadState* next = nullptr;
};

/// The state of the calling thread; null if memory ran out. Safe in callbacks.
ThreadState* this_thread(std::uint32_t session_generation) noexcept;

/// All states ever made, newest first.
ThreadState* all_threads() noexcept;

/// Whether `test` holds for a thread that is there, other than `own`, which may be null.
template <typename Test>
bool any_thread_but(const ThreadState* own, const Test& test) noexcept {
  for (const ThreadState* thread = all_threads(); thread != nullptr; thread = thread->next)
    if (thread != own && thread->taken.load(std::memory_order_acquire) && test(*thread)) return true;
  return false;
}

}  // namespace ridgeline::agent
