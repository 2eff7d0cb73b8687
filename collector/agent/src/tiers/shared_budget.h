// What counting and sampling took on top of the program, of all processes that hold each other up.
//
// The budget is for a recording, not for a process. While one of two processes on a GPU counts its kernels the other
// waits for the GPU, and in a job whose ranks meet in collectives all wait for the one that counts, wherever
// it runs. So what each spends is written into ledgers in the control file (spool/control.h): one a GPU, and
// one for all processes that launch collectives. What two of them spend at one time holds the program up
// once, and is entered once: ranks on GPUs of their own count the same step side by side.
//
// Processes that share a GPU divide what is left among those that still count. A process without a control file has
// a budget of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "ridgeline/spool/control.h"

namespace ridgeline::agent {

class SharedBudget {
 public:
  /// `control` may be null. Must outlive this.
  explicit SharedBudget(spool::Control* control) noexcept : control_(control) {}
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;

  /// The process works on this GPU. The agent's own thread.
  void use_device(const std::uint8_t (&uuid)[16]) noexcept;
  /// The process launches collectives: it and its peers wait for each other. Any thread.
  void wait_for_peers() noexcept;
  /// Whether it still has something to count, and so a part in what is left. Any thread.
  void take_part(bool counts) noexcept;
  /// From `from_ns` to `to_ns`, by CUPTI's clock, the program was held up for `ns` of it. Any thread.
  void spend(std::int64_t ns, std::int64_t from_ns, std::int64_t to_ns) noexcept;
  /// By this process and those that it holds up or is held up by, in ns: no less than the most that is in a ledger of
  /// its own.
  [[nodiscard]] std::int64_t spent_ns() const noexcept;
  /// Processes on its GPUs that have yet to count, itself included: at least 1.
  [[nodiscard]] std::uint32_t sharers() const noexcept;
  /// So many kernels are on this process's timeline: how many on those of all whose budget it is.
  std::uint64_t kernels_of_all(std::uint64_t own) noexcept;
  /// The process ends.
  void leave() noexcept;

 private:
  static constexpr std::uint64_t kPeers = 1;  // bit of the ledger of processes with collectives
  spool::Spender* place() noexcept;
  void enter(std::uint64_t bit) noexcept;

  spool::Control* const control_;
  std::atomic<std::uint64_t> ledgers_{0};
  std::atomic<bool> counts_{false}, left_{false};
  std::atomic<spool::Spender*> place_{nullptr};
  std::atomic_flag joining_ = ATOMIC_FLAG_INIT;
};

}  // namespace ridgeline::agent
