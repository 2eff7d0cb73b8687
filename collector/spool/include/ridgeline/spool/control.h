// control.h: the file in the spool directory by which the launcher opens and closes recording windows of
// processes that run, and learns what they did. Both map it; every field is one aligned 32-bit word.
#pragma once

#include <atomic>
#include <cstdint>

namespace ridgeline::spool {

inline constexpr char kControlFileName[] = "control";
inline constexpr std::uint32_t kControlMagic = 0x4c525443;  // "CTRL"
inline constexpr std::uint32_t kControlBytes = 4096;

enum class WindowCommand : std::uint32_t { none = 0, open = 1, close = 2 };

struct Control {
  std::uint32_t magic;
  std::uint32_t reserved;
  /// The launcher writes: the command first, then the count of commands given.
  std::atomic<std::uint32_t> command;   // WindowCommand; holds for processes that start later, too
  std::atomic<std::uint32_t> sequence;  // 0: no command yet
  /// The processes write. One that is killed leaves its window open.
  std::atomic<std::uint32_t> windows_opened;
  std::atomic<std::uint32_t> windows_closed;  // while the process went on
  std::atomic<std::uint32_t> windows_ended;   // with the process
  std::uint32_t reserved_too;
};
static_assert(sizeof(Control) == 32 && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace ridgeline::spool
