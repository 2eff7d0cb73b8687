// Whose turn it is with the counters of one GPU, among all recorded processes of the machine.
//
// A GPU has its counters once: while one process samples or counts, CUPTI refuses every other. Recorded processes take
// turns instead, by a lock on a file that is named for the GPU and that all of them see, whoever started them. The
// lock is of the kind that the system gives back when its holder dies, however it dies (fcntl), and that a child of
// fork() does not inherit. Nobody ever waits for it: who does not get it asks again later.
//
// The file also holds who waits and since when, so that a process that has had its turn lets those go first. Anybody
// may write to it, so that nothing in it is believed for longer than kMaxWaitNs, and it is never mapped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace ridgeline::agent {

/// Where the files lie if nobody says otherwise: a folder in which every user may make files, the same for all.
std::string default_lock_directory();

class DeviceTurn {
 public:
  /// A waiting process asks again within this, or is forgotten.
  static constexpr std::int64_t kMaxWaitNs = 10'000'000'000;

  enum class Answer {
    ours,         ///< until release()
    others,       ///< another process has it
    after_other,  ///< it is free, and a process that has waited for longer is to have it
    no_lock,      ///< there can be no such file here: nobody knows
  };

  /// `name` of the GPU, the same in all processes: letters, digits, '-'.
  DeviceTurn(const std::string& directory, const std::string& name);
  ~DeviceTurn();
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  /// Never blocks. A process that is refused waits from its first request on, and is to ask again within `again_ns`.
  Answer ask(std::int64_t again_ns) noexcept;
  bool held() const noexcept { return held_; }
  /// A process other than this one waits.
  bool others_wait() noexcept;
  /// Who has it; 0: nobody, or nobody that this process can see.
  pid_t holder() noexcept;
  void release() noexcept;
  /// No longer waits.
  void withdraw() noexcept;

 private:
  static constexpr int kPlaces = 32;
  struct Waiter {
    std::uint64_t id = 0;
    std::int64_t since_ns = 0, until_ns = 0;  // CLOCK_MONOTONIC, which all processes share
  };
  static_assert(sizeof(Waiter) == 24);

  bool open() noexcept;
  void close() noexcept;
  bool is_current() const noexcept;
  bool lock(short type) noexcept;
  bool read(Waiter (&waiters)[kPlaces]) const noexcept;
  void write(int place, const Waiter& waiter) const noexcept;
  void wait_from(std::int64_t now_ns, std::int64_t again_ns) noexcept;

  const std::string path_;
  const std::uint64_t id_;
  int file_ = -1;
  dev_t device_ = 0;  // of the file, to know it again
  ino_t inode_ = 0;
  bool held_ = false;
  std::int64_t waiting_since_ns_ = 0;  // 0: does not wait
};

}  // namespace ridgeline::agent
