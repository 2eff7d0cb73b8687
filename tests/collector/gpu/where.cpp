// A library that is loaded into a program before its own (LD_PRELOAD) and says in which library its first thread spends
// its time: its program counter is read every 0.3 ms of the clock on the wall, and when the
// program ends normally WHERE_OUT.<pid> gets a line for each library, the share of the readings in per cent and the
// library's name, the largest first. Readings of the program's first half, in which it loads and settles, are left out.
// With WHERE_OUT unset, or in a process whose program's name does not hold WHERE_PROGRAM, nothing is done.
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace {

constexpr long kReadEveryNs = 300'000;
constexpr std::size_t kMaxReadings = 1u << 20;

std::uint64_t* g_readings = nullptr;
std::size_t g_count = 0;  // of the first thread alone, which the signal is sent to
timer_t g_timer{};

void read_counter(int, siginfo_t*, void* context) {
  const auto* const state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  if (g_count < kMaxReadings)
    g_readings[g_count++] = static_cast<std::uint64_t>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  if (g_count < kMaxReadings) g_readings[g_count++] = state->uc_mcontext.pc;
#endif
}

bool wanted() {
  char program[512] = {};
  const char* const named = std::getenv("WHERE_PROGRAM");
  if (std::getenv("WHERE_OUT") == nullptr) return false;
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return false;
  return named == nullptr || std::strstr(program, named) != nullptr;
}

void run_timer(long ns) {
  itimerspec every{};
  every.it_interval.tv_nsec = every.it_value.tv_nsec = ns;
  timer_settime(g_timer, 0, &every, nullptr);
}

__attribute__((constructor)) void start() {
  if (!wanted()) return;
  g_readings = static_cast<std::uint64_t*>(std::calloc(kMaxReadings, sizeof *g_readings));
  if (g_readings == nullptr) return;
  struct sigaction action {};
  action.sa_sigaction = read_counter;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  if (timer_create(CLOCK_MONOTONIC, &event, &g_timer) != 0) return;
  run_timer(kReadEveryNs);
}

struct Code {
  std::uint64_t begin, end;
  std::string library;
};

std::vector<Code> loaded_code() {
  std::vector<Code> code;
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[1024];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char rights[8] = {}, path[768] = {};
    if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %767s", &begin, &end, rights, path) < 3 ||
        rights[2] != 'x')
      continue;
    const char* const slash = std::strrchr(path, '/');
    code.push_back({begin, end, slash != nullptr ? slash + 1 : path});
  }
  if (maps != nullptr) std::fclose(maps);
  return code;
}

__attribute__((destructor)) void finish() {
  if (g_readings == nullptr || g_count < 2) return;
  run_timer(0);
  const std::vector<Code> code = loaded_code();
  const std::size_t first = g_count / 2;
  std::map<std::string, std::size_t> readings;
  for (std::size_t i = first; i < g_count; ++i) {
    std::string library = "elsewhere";
    for (const Code& each : code)
      if (g_readings[i] >= each.begin && g_readings[i] < each.end) library = each.library;
    ++readings[library];
  }
  const std::string name = std::string(std::getenv("WHERE_OUT")) + "." + std::to_string(getpid());
  std::FILE* const out = std::fopen(name.c_str(), "w");
  if (out == nullptr) return;
  std::multimap<std::size_t, std::string> sorted;
  for (const auto& [library, count] : readings) sorted.emplace(count, library);
  for (auto each = sorted.rbegin(); each != sorted.rend(); ++each)
    std::fprintf(out, "%.3f %s\n",
                 100.0 * static_cast<double>(each->first) / static_cast<double>(g_count - first),
                 each->second.c_str());
  std::fclose(out);
}

}  // namespace
