// power_fail_shim.cpp: put before a program (LD_PRELOAD), it ends the program at one of its writes, or has the disk
// full from there on. Counted are the calls that change a file of the name in RIDGELINE_FAIL_PATH (a part of it):
// write, pwrite, fsync, fdatasync, ftruncate, unlink. RIDGELINE_FAIL_AT is the number of the call, from 1;
// RIDGELINE_FAIL_HOW is kill (before the call), torn (half of a write has been done), full (the call and all later
// writes fail) or count (nothing happens). RIDGELINE_FAIL_COUNT names a file that is told how many calls there were.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

enum class Outcome { go_on, torn, fail };

std::atomic<long> calls{0};

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_watched(const char* path) {
  const char* part = setting("RIDGELINE_FAIL_PATH");
  return *part != '\0' && std::strstr(path, part) != nullptr;
}

bool is_watched(int file) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return is_watched(path);
}

[[noreturn]] void end() {
  kill(getpid(), SIGKILL);
  while (true) pause();
}

Outcome counted(bool is_write) {
  const long call = ++calls;
  const long at = std::atol(setting("RIDGELINE_FAIL_AT"));
  const std::string how = setting("RIDGELINE_FAIL_HOW");
  if (how == "full") return call >= at && is_write ? Outcome::fail : Outcome::go_on;
  if (call != at) return Outcome::go_on;
  if (how == "kill") end();
  if (how == "torn" && !is_write) end();
  return how == "torn" ? Outcome::torn : Outcome::go_on;
}

__attribute__((destructor)) void tell() {
  const char* path = setting("RIDGELINE_FAIL_COUNT");
  if (*path == '\0') return;
  if (std::FILE* file = std::fopen(path, "w"); file != nullptr) {
    std::fprintf(file, "%ld\n", calls.load());
    std::fclose(file);
  }
}

template <typename Write>
ssize_t written(int file, size_t bytes, Write write) {
  if (!is_watched(file)) return write(bytes);
  switch (counted(true)) {
    case Outcome::torn:
      write(bytes / 2);
      end();
    case Outcome::fail:
      errno = ENOSPC;
      return -1;
    case Outcome::go_on:
      break;
  }
  return write(bytes);
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return written(file, bytes, [&](size_t part) { return real(file, data, part); });
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return written(file, bytes, [&](size_t part) { return real(file, data, part, at); });
}

ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return written(file, bytes, [&](size_t part) { return real(file, data, part, at); });
}

int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  if (is_watched(file)) counted(false);
  return real(file);
}

int fdatasync(int file) {
  static const auto real = next<int (*)(int)>("fdatasync");
  if (is_watched(file)) counted(false);
  return real(file);
}

int ftruncate(int file, off_t bytes) noexcept {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  if (is_watched(file)) counted(false);
  return real(file, bytes);
}

int ftruncate64(int file, off64_t bytes) noexcept {
  static const auto real = next<int (*)(int, off64_t)>("ftruncate64");
  if (is_watched(file)) counted(false);
  return real(file, bytes);
}

int unlink(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("unlink");
  if (is_watched(path)) counted(false);
  return real(path);
}

}  // extern "C"
