#include "output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "ridgeline/base/error.h"
#include "ridgeline/base/file.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::cli {
namespace {

constexpr int kPipeColumns = 100;
constexpr int kMinColumns = 80;
constexpr int kMaxColumns = 200;  // longer lines are hard to follow across

// errno of the first failed write, or 0.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

constexpr std::size_t kBufferBytes = 1 << 16;

// Gathers the pieces of a document into writes of a useful size.
class Buffer {
 public:
  explicit Buffer(int descriptor) : descriptor_(descriptor) {}

  // Thrown through the document's code, which has nothing left to do then.
  struct Failed {
    int error;
  };

  void add(std::string_view piece) {
    pending_ += piece;
    if (pending_.size() >= kBufferBytes) flush();
  }
  void flush() {
    if (const int error = write_all(descriptor_, pending_); error != 0) throw Failed{error};
    pending_.clear();
  }

 private:
  int descriptor_;
  std::string pending_;
};

// Writes the document; returns errno of a failed write, or 0.
int write_document(const reports::Document& document, int descriptor) {
  Buffer buffer(descriptor);
  try {
    document.write([&](std::string_view piece) { buffer.add(piece); });
    buffer.flush();
  } catch (const Buffer::Failed& failed) {
    return failed.error;
  }
  return 0;
}

// SIGPIPE ignored while it lives, and only then: a program that `record` starts must inherit the default.
class PipeSignalIgnored {
 public:
  PipeSignalIgnored() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~PipeSignalIgnored() { std::signal(SIGPIPE, before_); }
  PipeSignalIgnored(const PipeSignalIgnored&) = delete;
  PipeSignalIgnored& operator=(const PipeSignalIgnored&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace

reports::TextStyle standard_output_style() {
  reports::TextStyle style;
  style.columns = kPipeColumns;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (terminal) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.columns = size.ws_col;
  }
  if (const char* columns = std::getenv("COLUMNS")) {
    int value = 0;
    const char* end = columns + std::strlen(columns);
    if (const auto [at, error] = std::from_chars(columns, end, value);
        error == std::errc() && at == end && value > 0) {
      style.columns = value;
    }
  }
  style.columns = std::clamp(style.columns, kMinColumns, kMaxColumns);
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.colour = terminal && (no_colour == nullptr || *no_colour == '\0') && term != nullptr &&
                 std::strcmp(term, "dumb") != 0;
  return style;
}

bool standard_error_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

void write_standard_output(const reports::Document& document) {
  const PipeSignalIgnored ignored;
  const int error = write_document(document, STDOUT_FILENO);
  if (error != 0 && error != EPIPE) {
    throw Error(ErrorKind::io, fmt::format("cannot write to standard output: {}", std::strerror(error)));
  }
}

void write_standard_output(std::string text) {
  write_standard_output(reports::Document(std::move(text)));
}

void write_message(std::string_view verb, std::string_view message) {
  const std::string line =
      fmt::format("ridgeline{}{}: {}\n", verb.empty() ? "" : " ", verb, reports::terminal_safe(message));
  const PipeSignalIgnored ignored;
  (void)write_all(STDERR_FILENO, line);  // nowhere is left to complain to
}

void require_replaceable(const std::string& path, store::KeptKind replaces) {
  // By whatever name: what is kept is not made again by typing a command once more.
  const store::KeptKind kind = store::kept_kind(path);
  if (kind == store::KeptKind::none || kind == replaces) return;
  throw Error(ErrorKind::usage, fmt::format("{} is {}, which is not written over: choose another file", path,
                                            store::kept_name(kind)));
}

void write_file(const std::string& path, const reports::Document& document, store::KeptKind replaces) {
  const auto fail = [&](int error) {
    throw Error(ErrorKind::io,
                fmt::format("cannot write {}: {}: choose another file with -o", path, std::strerror(error)));
  };
  require_replaceable(path, replaces);
  struct stat status {};
  // A device or a pipe cannot be replaced by renaming; a symbolic link should be written through.
  const bool exists = ::lstat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  const bool replace = !exists || S_ISREG(status.st_mode);
  const std::string target = replace ? fmt::format("{}.{}.tmp", path, ::getpid()) : path;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (replace ? O_EXCL : O_TRUNC);
  const UnfinishedFiles unfinished(replace ? std::vector<std::string>{target} : std::vector<std::string>{});
  const FileSizeSignalIgnored ignored;
  const int descriptor = ::open(target.c_str(), flags, 0666);
  if (descriptor < 0) fail(errno);
  // Who might read the file that is replaced may read the new one, and nobody else.
  if (exists && replace) (void)!::fchmod(descriptor, status.st_mode & 07777);
  int error = 0;
  try {
    error = write_document(document, descriptor);
  } catch (...) {
    ::close(descriptor);
    unfinished.remove();
    throw;
  }
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && replace && ::rename(target.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unfinished.remove();
    fail(error);
  }
}

}  // namespace ridgeline::cli
