// What the agent keeps for each thread of the program. Plain data, allocated at a thread's first event,
// reused after the thread's end, never freed.
#pragma once

#include <atomic>
#include <cstdint>

#include "cupti/launch_arguments.h"
#include "ridgeline/spool/format.h"
#include "ridgeline/spool/lane.h"

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

struct alignas(64) ThreadState {
  /// By the driver's handle of the function, or by the name's address where a call has none. On one line of the cache.
  struct alignas(32) CachedKernel {
    const void* function = nullptr;
    const char* name = nullptr;
    std::uint32_t module_generation = 0;
    std::uint32_t kernel_id = 0;
    std::uint32_t code = 0;   // LaunchRecord::code, once it is known
    bool code_known = false;  // the call that loads it has returned
    bool collective = false;
  };

  /// What each launch reads and writes stands first, on three lines of the cache.
  std::atomic<const void*> thread_pointer{nullptr};  // of the thread that has it; null: none has
  std::uint32_t generation = 0;                      // of the session this state belongs to
  std::uint32_t thread_id = 0;
  bool inside = false;                    // the agent itself is calling CUPTI: ignore what that causes
  std::atomic<bool> launch_noted{false};  // the entry of the launch it is in fell into a recording window
  bool graph_node_created = false;
  bool launch_collective = false;
  std::uint8_t launch_verdict = 0;  // Verdict
  bool ready_to_launch = false;     // it has its name and, if there was one, its lane
  bool name_noted = false;
  std::atomic<bool> in_driver{
      false};  // inside a call that PC sampling is not switched beside (tiers/launch_gate.h)
  /// How deep in calls whose callbacks are switched off and on (session/call_switch.h); written by the thread itself.
  std::atomic<std::uint32_t> launches_inside{0}, others_inside{0};
  std::uint32_t launch_kernel_id = 0;  // 0: a graph, or outside steps
  std::uint32_t depth = 0;             // of the ranges that are open
  /// The launch between its enter and exit callbacks. When it began: by CUPTI's clock, or, if that is 0, by the
  /// processor's counter (launch_clock.h).
  std::int64_t launch_enter_ns = 0;
  std::uint64_t launch_enter_count = 0;
  CachedKernel* launch_kernel = nullptr;  // null: a graph, or of no name
  spool::Lane* lane = nullptr;            // of its launches; null: it has none of its own
  std::atomic<std::uint64_t> launches{
      0};  // of kernels that were noted and succeeded: of all threads that had its place
  LaunchArguments launch;
  /// The last launch of a kernel that returned, and the innermost range it was in; 0 and 0: none.
  std::uint32_t last_launch_id = 0;  // correlation id
  std::uint64_t last_launch_range = 0;
  /// Contexts whose default streams this thread has named: a bit each, of the first 64.
  std::uint64_t default_streams = 0, own_streams = 0;

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
  std::uint32_t instantiation = 0;  // number of the graph that the thread instantiates; 0: none

  std::uint32_t calls_of_agent = 0;               // how deep in AgentCall
  std::atomic<std::uint32_t> lane_generation{0};  // of the session that `lane` and `launches` belong to
  std::uint32_t overflow_depth = 0;               // ranges beyond kMaxNvtxDepth: counted, not recorded
  NvtxFrame frames[kMaxNvtxDepth];

  CachedKernel kernels[kKernelCacheSize];
  spool::LaunchRecord unplaced{};  // of a launch for which there is no place in a lane of its own

  std::atomic<bool> taken{false};
  ThreadState* next = nullptr;
};

namespace detail {

/// States by their threads' pointers, so that a thread finds its own without a call of the loader's, whose code would
/// have to be fetched as well. A thread whose place another has finds its state by a variable of the thread.
inline constexpr std::size_t kThreadPlaces = 512;
extern std::atomic<ThreadState*> thread_places[kThreadPlaces];

/// Pointers of threads whose stacks the C library maps differ in the bits from the twelfth on.
inline std::atomic<ThreadState*>& place_of(const void* thread_pointer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(thread_pointer);
  return thread_places[(address >> 12 ^ address >> 21) % kThreadPlaces];
}

ThreadState* find_this_thread(std::uint32_t session_generation) noexcept;

}  // namespace detail

/// The state of the calling thread; null if memory ran out. Safe in callbacks.
[[gnu::always_inline]] inline ThreadState* this_thread(std::uint32_t session_generation) noexcept {
  const void* const own = __builtin_thread_pointer();
  ThreadState* const state = detail::place_of(own).load(std::memory_order_acquire);
  if (state != nullptr && state->thread_pointer.load(std::memory_order_relaxed) == own &&
      state->generation == session_generation) [[likely]]
    return state;
  return detail::find_this_thread(session_generation);
}

/// All states ever made, newest first.
ThreadState* all_threads() noexcept;

/// Launches of kernels that were noted and succeeded, of all threads of a session.
std::uint64_t launches_of_threads(std::uint32_t session_generation) noexcept;

/// Whether `test` holds for a thread that is there, other than `own`, which may be null.
template <typename Test>
bool any_thread_but(const ThreadState* own, const Test& test) noexcept {
  for (const ThreadState* thread = all_threads(); thread != nullptr; thread = thread->next)
    if (thread != own && thread->taken.load(std::memory_order_acquire) && test(*thread)) return true;
  return false;
}

}  // namespace ridgeline::agent
