#include "demangle.h"

#include <cxxabi.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "short_names.h"

namespace ridgeline::store {

namespace {

// Longer names are taken as they are: the demangler recurses, and a name of a hostile file is no reason to.
constexpr std::size_t kMaxMangledBytes = 32 * 1024;
constexpr std::size_t kMaxBytes = 256 * 1024;  // of a demangled name
constexpr std::size_t kMaxInProcessBytes = 64u
                                           << 20;  // that a name could grow to, if this process is to bear it
constexpr std::size_t kMaxMemoryBytes = 256u << 20;  // of the process that bears the others
constexpr int kLongestMs = 2000;

std::optional<std::string> demangle(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !plain) return std::nullopt;
  std::string text(plain.get());
  if (text.size() > kMaxBytes) return std::nullopt;
  return text;
}

bool is_sequence_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

// Places that may stand for a part named before: "S_", "S1A_", "T_", "T0_".
std::size_t references(std::string_view mangled) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i) {
    if (mangled[i] != 'S' && mangled[i] != 'T') continue;
    std::size_t end = i + 1;
    while (end < mangled.size() && is_sequence_character(mangled[end])) ++end;
    if (end < mangled.size() && mangled[end] == '_') ++count;
  }
  return count;
}

// Each reference may double what is written: 274 bytes can stand for 2 GB.
bool may_explode(std::string_view mangled) {
  const std::size_t count = references(mangled);
  return count >= 40 || (mangled.size() << count) > kMaxInProcessBytes;
}

// In a process of its own with bounded memory and time: nothing else bounds the demangler.
std::optional<std::string> demangle_apart(const std::string& mangled) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  if (child == 0) {
    const rlimit memory{kMaxMemoryBytes, kMaxMemoryBytes};
    const rlimit none{0, 0};
    setrlimit(RLIMIT_DATA, &memory);
    setrlimit(RLIMIT_CORE, &none);
    std::string text;
    try {
      text = demangle(mangled).value_or("");
    } catch (...) {
      _exit(1);
    }
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t written = write(ends[1], text.data() + sent, text.size() - sent);
      if (written <= 0) _exit(1);
      sent += static_cast<std::size_t>(written);
    }
    _exit(text.empty() ? 1 : 0);  // no destructors: they are the parent's
  }
  close(ends[1]);
  std::string text;
  char buffer[16384];
  bool whole = false;
  while (!whole) {
    pollfd ready{ends[0], POLLIN, 0};
    const int polled = poll(&ready, 1, kLongestMs);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) break;
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    whole = got == 0;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (!whole) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

std::optional<std::string> demangle_bounded(const std::string& mangled) {
  return may_explode(mangled) ? demangle_apart(mangled) : demangle(mangled);
}

}  // namespace

std::string demangled(std::string_view mangled) {
  const std::string text(mangled);
  // Without this test the demangler reads plain names as types: "f" is float to it.
  if (!mangled.starts_with("_Z") || mangled.size() > kMaxMangledBytes) return text;
  if (auto plain = demangle_bounded(text)) return *std::move(plain);
  // The demangler refuses names of more than 1024 bytes.
  const std::optional<ShortNames> names = with_short_names(mangled);
  if (!names || names->mangled.size() >= mangled.size()) return text;
  const std::optional<std::string> plain = demangle_bounded(names->mangled);
  if (!plain) return text;
  std::string whole = with_own_names(*plain, *names);
  return whole.size() <= kMaxBytes ? whole : text;
}

}  // namespace ridgeline::store
