#include "thread_state.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace ridgeline::agent {
namespace {

std::atomic<ThreadState*> g_threads{nullptr};
thread_local ThreadState* t_state = nullptr;

pthread_key_t make_key() {
  pthread_key_t key{};
  pthread_key_create(&key, [](void* of_thread) {
    auto* const state = static_cast<ThreadState*>(of_thread);
    t_state = nullptr;
    // The next thread may have the same pointer.
    state->thread_pointer.store(nullptr, std::memory_order_relaxed);
    state->taken.store(false, std::memory_order_release);
  });
  return key;
}

}  // namespace

ThreadState* all_threads() noexcept {
  return g_threads.load(std::memory_order_acquire);
}

namespace {

// One that a thread left behind, or a new one.
[[gnu::cold]] [[gnu::noinline]] ThreadState* take_state() noexcept {
  static const pthread_key_t key = make_key();
  ThreadState* state = all_threads();
  for (; state != nullptr; state = state->next) {
    bool free = false;
    if (!state->taken.load(std::memory_order_relaxed) &&
        state->taken.compare_exchange_strong(free, true, std::memory_order_acquire))
      break;
  }
  if (state == nullptr) {
    state = new (std::nothrow) ThreadState();
    if (state == nullptr) return nullptr;
    state->taken.store(true, std::memory_order_relaxed);
    state->next = g_threads.load(std::memory_order_relaxed);
    while (!g_threads.compare_exchange_weak(state->next, state, std::memory_order_release)) {
    }
  }
  state->generation = 0;  // of no session: begin() follows
  t_state = state;
  const void* const own = __builtin_thread_pointer();
  state->thread_pointer.store(own, std::memory_order_relaxed);
  // Of two threads with one place the latest has it, for threads come and go.
  detail::place_of(own).store(state, std::memory_order_release);
  pthread_setspecific(key, state);
  return state;
}

// The thread comes to this session for the first time.
[[gnu::cold]] [[gnu::noinline]] void begin(ThreadState& state, std::uint32_t session_generation) noexcept {
  state.generation = session_generation;
  if (state.lane_generation != session_generation) {
    state.lane_generation = session_generation;
    state.lane = nullptr;
    state.launches = 0;
  }
  state.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  state.inside = false;
  state.calls_of_agent = 0;
  state.launch_noted = false;
  state.ready_to_launch = false;
  state.in_driver = false;
  state.launches_inside = 0;
  state.others_inside = 0;
  state.graph_node_created = false;
  state.last_launch_range = 0;
  state.last_launch_id = 0;
  state.wait_enter_ns = 0;
  state.name_noted = false;
  state.default_streams = 0;
  state.own_streams = 0;
  state.instantiation = 0;
  state.depth = 0;
  state.overflow_depth = 0;
  for (auto& k : state.kernels) k = {};
}

}  // namespace

namespace detail {

std::atomic<ThreadState*> thread_places[kThreadPlaces]{};

ThreadState* find_this_thread(std::uint32_t session_generation) noexcept {
  ThreadState* state = t_state;
  if (state == nullptr) [[unlikely]]
    state = take_state();
  if (state != nullptr && state->generation != session_generation) [[unlikely]]
    begin(*state, session_generation);
  return state;
}

}  // namespace detail

std::uint64_t launches_of_threads(std::uint32_t session_generation) noexcept {
  std::uint64_t sum = 0;
  for (const ThreadState* state = all_threads(); state != nullptr; state = state->next)
    if (state->lane_generation == session_generation) sum += state->launches.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace ridgeline::agent
