// A fence between two threads that each write one thing and then read what the other writes, so that at least one of
// them sees the other: for one that comes by at each launch of the program, and one that comes seldom and may take some
// microseconds. What a full fence waits for is what the program wrote before, which may be far away.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace ridgeline::agent {

class AsymmetricFence {
 public:
  /// Asks the kernel for membarrier(2). Where it refuses (before Linux 4.14, or by a filter of system calls), both have
  /// a full fence.
  AsymmetricFence() noexcept
      : by_kernel_(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {}

  /// Between what the thread wrote and what it reads, at each launch.
  void often() const noexcept {
    if (by_kernel_)
      std::atomic_signal_fence(std::memory_order_seq_cst);  // of the compiler alone
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// The same of the other one: a full fence of its own, and of each thread of the process that runs this moment.
  void seldom() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (by_kernel_) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }

 private:
  bool by_kernel_;
};

}  // namespace ridgeline::agent
