#include "process_info.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace ridgeline::agent {
namespace {

std::string read_file(const char* path, std::size_t limit) {
  std::string text;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  ssize_t n = 0;
  while (text.size() < limit && (n = read(file, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(n));
  close(file);
  return text;
}

std::string link_target(const char* path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path, target, sizeof target);
  return n > 0 ? std::string(target, static_cast<std::size_t>(n)) : std::string();
}

// Field 22 of /proc/self/stat: start in ticks since boot. The second field may contain blanks and
// parentheses.
std::int64_t process_start_ns() {
  const std::string stat = read_file("/proc/self/stat", 4096);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::size_t at = name_end + 1;
  for (int field = 2; field < 21; ++field) {
    at = stat.find(' ', at);
    if (at == std::string::npos) return 0;
    ++at;
  }
  at = stat.find(' ', at - 1);
  if (at == std::string::npos) return 0;
  const std::int64_t ticks = std::strtoll(stat.c_str() + at, nullptr, 10);
  const long per_second = sysconf(_SC_CLK_TCK);
  timespec now{}, boot{};
  if (per_second <= 0 || clock_gettime(CLOCK_REALTIME, &now) != 0 ||
      clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
    return 0;
  const std::int64_t boot_ns =
      (std::int64_t{now.tv_sec} - boot.tv_sec) * 1'000'000'000 + (std::int64_t{now.tv_nsec} - boot.tv_nsec);
  return boot_ns + ticks * (1'000'000'000 / per_second);
}

}  // namespace

std::string executable_path() {
  return link_target("/proc/self/exe");
}

ProcessInfo describe_process() {
  ProcessInfo info;
  info.arguments = read_file("/proc/self/cmdline", 24 * 1024);
  while (!info.arguments.empty() && info.arguments.back() == 0) info.arguments.pop_back();
  info.executable = executable_path();
  info.working_directory = link_target("/proc/self/cwd");
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) info.host_name = host;
  info.start_ns = process_start_ns();
  return info;
}

bool lives(std::uint32_t pid) noexcept {
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

}  // namespace ridgeline::agent
