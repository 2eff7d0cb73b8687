// control.h: the file in the spool directory that the launcher and all recorded processes map. By it the
// launcher opens and closes recording windows of processes that run, and learns what they did; and processes
// that wait for each other in collectives agree on when their schedules begin; and processes that hold each other up
// share the time that recording may take. Every field is one aligned word.
#pragma once

#include <atomic>
#include <cstdint>

namespace ridgeline::spool {

inline constexpr char kControlFileName[] = "control";
inline constexpr std::uint32_t kControlMagic = 0x324c5443;  // "CTL2"
inline constexpr std::uint32_t kControlBytes = 16384;

enum class WindowCommand : std::uint32_t { none = 0, open = 1, close = 2 };

/// Of a process's schedule: no steps yet; it is to begin, and waits for the others'; it has begun.
enum class PeerState : std::uint32_t { none = 0, ready = 1, begun = 2 };

/// One recorded process that launches collectives. A place is free while its pid is 0.
struct Peer {
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint32_t> collectives;           // launched so far; wraps around
  std::atomic<std::uint32_t> collectives_per_step;  // in its latest step
  std::atomic<std::uint32_t> state;                 // PeerState
  std::atomic<std::uint32_t> meetings;              // how often it has waited for the others at one place
};
inline constexpr std::uint32_t kMaxPeers = 192;

/// What counting and sampling took on top of the program, of all processes on one GPU or of all that launch
/// collectives.
struct Ledger {
  std::atomic<std::uint64_t> gpu;      // a hash of its UUID; 0: a free place
  std::atomic<std::int64_t> until_ns;  // end of the latest time that was paid for, by CUPTI's clock
  std::atomic<std::int64_t> spent_ns;
};
/// The first one is of the processes with collectives, on whatever GPU; the others are of a GPU each.
inline constexpr std::uint32_t kMaxLedgers = 64;

/// One recorded process that counts, or is about to. A place is free while its pid is 0.
struct Spender {
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint32_t> counts;   // 1: more is to be counted
  std::atomic<std::uint64_t> ledgers;  // a bit each, of those that hold what it spends
  std::atomic<std::uint64_t> kernels;  // on its timeline so far
};

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
  /// What the processes agreed on last: bit 63, each begins its schedule with its next step; below it, how many times
  /// they agreed (0: never); lower half, the number of collectives with which each begins (without bit 63).
  std::atomic<std::uint64_t> agreed_start;
  Peer peers[kMaxPeers];
  Ledger ledgers[kMaxLedgers];
  Spender spenders[kMaxPeers];
};
static_assert(sizeof(Control) <= kControlBytes && std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace ridgeline::spool
