// What the driver and NVTX call when they load the agent.
#include "injection.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>

#include <mutex>

#include "messages.h"
#include "nvtx/nvtx_functions.h"
#include "session/exit_order.h"
#include "settings.h"

namespace ridgeline::agent {
namespace {

// Leaked: callbacks may come while the process tears its statics down.
std::atomic<Session*> g_session{nullptr};
std::atomic<std::uint32_t> g_generation{1};
std::atomic<bool> g_forked{false};           // this process is a child that inherited the agent
std::atomic<bool> g_cupti_inherited{false};  // and CUPTI was in use before the fork
std::mutex& init_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

const char* from_environment(const char* name) {
  return getenv(name);
}

const Settings& settings() {
  static const auto* s = new Settings(read_settings(from_environment));
  return *s;
}

void end_of_process() {
  if (Session* session = g_session.load(std::memory_order_acquire)) session->at_exit(spool::EndReason::exit);
}

// Only sets flags: anything else may deadlock in the child of a threaded program.
void in_forked_child() {
  if (Session* session = g_session.load(std::memory_order_relaxed)) {
    session->detach();
    if (session->cupti_started()) g_cupti_inherited.store(true, std::memory_order_relaxed);
  }
  g_session.store(nullptr, std::memory_order_relaxed);
  g_generation.fetch_add(1, std::memory_order_relaxed);
  g_forked.store(true, std::memory_order_relaxed);
}

Session* make_session() {
  static const int registered = pthread_atfork(nullptr, nullptr, in_forked_child);
  (void)registered;
  Session* session = Session::create(settings(), g_generation.load(std::memory_order_relaxed));
  g_session.store(session, std::memory_order_release);
  return session;
}

void start() {
  if (settings().spool_directory.empty()) return;
  std::lock_guard<std::mutex> guard(init_mutex());
  static std::uint32_t started_generation = 0;
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (started_generation == generation) return;
  started_generation = generation;
  Session* session = g_session.load(std::memory_order_acquire);
  if (session == nullptr) session = make_session();
  if (session == nullptr) return;
  if (g_forked.load(std::memory_order_relaxed) && g_cupti_inherited.load(std::memory_order_relaxed)) {
    put_message(
        session->writer(), realtime_ns(), Severity::error, spool::Topic::forked,
        "nothing is recorded of this process: it was forked from one that used CUDA already; start it with "
        "spawn or exec instead");
    return;
  }
  static auto* api = new CuptiApi;
  std::string library, error;
  if (!load_cupti(settings().cupti_library, api, &library, &error)) {
    session->without_cupti(error);
    return;
  }
  if (!session->start_cupti(*api, library)) return;
  load_before_exit_handlers({session->wants_counters(), settings().clock_period_ms > 0}, library);
  atexit(end_of_process);
  at_quick_exit(end_of_process);
  session->start_thread();
}

}  // namespace

Session* current_session() noexcept {
  Session* session = g_session.load(std::memory_order_acquire);
  if (session != nullptr || g_forked.load(std::memory_order_relaxed)) return session;
  try {
    if (settings().spool_directory.empty()) return nullptr;
    std::lock_guard<std::mutex> guard(init_mutex());
    session = g_session.load(std::memory_order_acquire);
    static bool tried = false;
    if (session == nullptr && !tried) {
      tried = true;
      session = make_session();
    }
    return session;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace ridgeline::agent

extern "C" {

/// The driver calls this inside cuInit (CUDA_INJECTION64_PATH). Non-zero: go on.
__attribute__((visibility("default"))) int InitializeInjection(void) {
  try {
    ridgeline::agent::start();
  } catch (...) {
  }
  return 1;
}

/// NVTX calls this at a module's first NVTX call (NVTX_INJECTION64_PATH), once for every module that has NVTX
/// inside. Non-zero: the functions are in place.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  try {
    if (ridgeline::agent::current_session() == nullptr) return 0;
    return ridgeline::agent::install_nvtx_functions(get_export_table) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

/// The same of a module's first call of one of NVTX's extensions, with the extension's nvtxExtModuleInfo_t.
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* module_info) {
  try {
    if (ridgeline::agent::current_session() == nullptr) return 0;
    return ridgeline::agent::install_nvtx_payload_functions(module_info) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}
}
