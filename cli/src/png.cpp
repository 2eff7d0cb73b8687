#include "png.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "ridgeline/base/error.h"

extern char** environ;

namespace ridgeline::cli {
namespace {

constexpr const char* kRenderer = "rsvg-convert";
constexpr std::string_view kPngBegin = "\x89PNG\r\n\x1a\n";

// A file without a name: what a program reads or writes has no length at which it waits, as a pipe has.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0)
      throw Error(ErrorKind::environment, fmt::format("no memory for a picture: {}", std::strerror(errno)));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0)
        throw Error(ErrorKind::io, fmt::format("no memory for a picture: {}", std::strerror(errno)));
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void rewind() { ::lseek(descriptor_, 0, SEEK_SET); }

  [[nodiscard]] std::string content() {
    rewind();
    std::string out;
    std::array<char, 1 << 16> piece{};
    for (;;) {
      const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return out;
      out.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int descriptor_;
};

// Starts the renderer between the three files and waits. Its status as waitpid() has it; errno of a start that failed.
std::pair<int, int> render(const MemoryFile& in, const MemoryFile& out, const MemoryFile& said) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, said.descriptor(), STDERR_FILENO);
  std::array<std::string, 5> words{kRenderer, "--format", "png", "--zoom", "2"};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, kRenderer, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {0, error};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {status, 0};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string png_of(const reports::Document& svg, const std::string& file) {
  MemoryFile in("picture.svg"), out("picture.png"), said("messages");
  svg.write([&](std::string_view piece) { in.write(piece); });
  in.rewind();
  const auto [status, error] = render(in, out, said);
  if (error == ENOENT)
    throw Error(ErrorKind::environment,
                fmt::format("{}: PNG is made by {}, which is not on the PATH: install librsvg2-bin "
                            "(apt-get install librsvg2-bin), or write .svg",
                            file, kRenderer));
  if (error != 0)
    throw Error(ErrorKind::environment,
                fmt::format("{}: {} does not start: {}", file, kRenderer, std::strerror(error)));
  std::string picture = out.content();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !picture.starts_with(kPngBegin)) {
    const std::string why = first_line(said.content());
    throw Error(ErrorKind::environment, fmt::format("{}: {} made no PNG{}{}: write .svg instead", file,
                                                    kRenderer, why.empty() ? "" : ": ", why));
  }
  return picture;
}

}  // namespace ridgeline::cli
