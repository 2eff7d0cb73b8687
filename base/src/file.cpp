#include "ridgeline/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

namespace ridgeline {

namespace {

// What a shell has opened and names so: the standard input, and what <(command) stands for.
bool is_handed_over(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t max_bytes, FileKind kind) {
  const auto failed = [](int error) { return Failure{ErrorKind::io, std::strerror(error)}; };
  // Opening a pipe that nobody writes to waits for ever.
  const bool any = kind == FileKind::handed_over && is_handed_over(path);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | (any ? 0 : O_NONBLOCK));
  if (file < 0) return failed(errno);
  struct Close {
    int file;
    ~Close() { close(file); }
  } closed{file};
  struct stat status {};
  if (fstat(file, &status) != 0) return failed(errno);
  if (S_ISDIR(status.st_mode)) return failed(EISDIR);
  if (!any && !S_ISREG(status.st_mode)) return Failure{ErrorKind::io, "a device or a pipe, not a file"};
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() <= max_bytes) {
    const ssize_t got = read(file, buffer.data(), std::min(buffer.size(), max_bytes + 1 - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return Failure{ErrorKind::corrupt, "larger than " + std::to_string(max_bytes) + " bytes"};
}

namespace {

// The last four are those with which job schedulers announce limits.
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};
constexpr std::size_t kMaxOpenAtOnce = 16;
// What the handler reads; a slot is taken and given back at any time.
std::array<std::atomic<const UnfinishedFiles*>, kMaxOpenAtOnce> unfinished{};

std::mutex handlers_mutex;
int users = 0;                                    // of the handlers
std::array<bool, kEndingSignals.size()> taken{};  // which signals are handled for them

void remove_all(int signal) {
  for (const auto& slot : unfinished) {
    if (const UnfinishedFiles* files = slot.load(); files != nullptr) files->remove();
  }
  std::signal(signal, SIG_DFL);
  raise(signal);  // delivered when the handler returns: the process ends as it would have without it
}

}  // namespace

UnfinishedFiles::UnfinishedFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (auto& slot : unfinished) {
    const UnfinishedFiles* free = nullptr;
    if (slot.compare_exchange_strong(free, this)) break;
  }
  const std::lock_guard lock(handlers_mutex);
  if (users++ > 0) return;
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i) {
    struct sigaction action {};
    taken[i] = sigaction(kEndingSignals[i], nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
    if (taken[i]) std::signal(kEndingSignals[i], remove_all);
  }
}

UnfinishedFiles::~UnfinishedFiles() {
  for (auto& slot : unfinished) {
    const UnfinishedFiles* own = this;
    if (slot.compare_exchange_strong(own, nullptr)) break;
  }
  const std::lock_guard lock(handlers_mutex);
  if (--users > 0) return;
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i) {
    if (taken[i]) std::signal(kEndingSignals[i], SIG_DFL);
  }
}

void UnfinishedFiles::remove() const noexcept {
  for (const std::string& path : paths_) {
    if (unlink(path.c_str()) != 0) rmdir(path.c_str());
  }
}

FileSizeSignalIgnored::FileSizeSignalIgnored() : before_(std::signal(SIGXFSZ, SIG_IGN)) {}
FileSizeSignalIgnored::~FileSizeSignalIgnored() {
  if (before_ != SIG_ERR) std::signal(SIGXFSZ, before_);
}

}  // namespace ridgeline
