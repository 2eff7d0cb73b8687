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
  pthread_key_create(&key, [](void* state) {
    t_state = nullptr;
    static_cast<ThreadState*>(state)->taken.store(false, std::memory_order_release);
  });
  return key;
}

}  // namespace

ThreadState* all_threads() noexcept {
  return g_threads.load(std::memory_order_acquire);
}

ThreadState* this_thread(std::uint32_t session_generation) noexcept {
  ThreadState* state = t_state;
  if (state == nullptr) {
    static const pthread_key_t key = make_key();
    for (state = all_threads(); state != nullptr; state = state->next) {
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
    state->generation = session_generation + 1;  // differs: reset below
    state->thread_id = 0;
    t_state = state;
    pthread_setspecific(key, state);
  }
  if (state->generation != session_generation) {
    state->generation = session_generation;
    state->thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
    state->inside = false;
    state->calls_of_agent = 0;
    state->launch_noted = false;
    state->in_driver = false;
    state->launches_inside = 0;
    state->others_inside = 0;
    state->graph_node_created = false;
    state->last_launch_range = 0;
    state->last_launch_id = 0;
    state->wait_enter_ns = 0;
    state->name_noted = false;
    state->default_streams = 0;
    state->own_streams = 0;
    state->instantiation = 0;
    state->depth = 0;
    state->overflow_depth = 0;
    for (auto& k : state->kernels) k = {};
  }
  return state;
}

}  // namespace ridgeline::agent
