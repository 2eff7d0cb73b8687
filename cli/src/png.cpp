#include "png.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "ridgeline/base/error.h"
#include "ridgeline/base/program.h"

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

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void require_started(const ProgramEnd& end, const std::string& file) {
  if (end.kind == ProgramEnd::Kind::missing)
    throw Error(ErrorKind::environment,
                fmt::format("{}: PNG is made by {}, which is not on the PATH: install librsvg2-bin "
                            "(apt-get install librsvg2-bin), or write .svg",
                            file, kRenderer));
  if (!end.started())
    throw Error(ErrorKind::environment, fmt::format("{}: {} does not start: {}", file, kRenderer, end.why));
}

}  // namespace

void require_png_renderer(const std::string& file) {
  require_started(run_program({.words = {kRenderer, "--version"}}), file);
}

std::string png_of(const reports::Document& svg, const std::string& file) {
  MemoryFile in("picture.svg"), out("picture.png"), said("messages");
  svg.write([&](std::string_view piece) { in.write(piece); });
  in.rewind();
  const ProgramEnd end = run_program({.words = {kRenderer, "--format", "png", "--zoom", "2"},
                                      .input = in.descriptor(),
                                      .output = out.descriptor(),
                                      .messages = said.descriptor()});
  require_started(end, file);
  std::string picture = out.content();
  if (!end.succeeded() || !picture.starts_with(kPngBegin)) {
    const std::string why = first_line(said.content());
    throw Error(ErrorKind::environment, fmt::format("{}: {} made no PNG{}{}: write .svg instead", file,
                                                    kRenderer, why.empty() ? "" : ": ", why));
  }
  return picture;
}

}  // namespace ridgeline::cli
