/// signal_mask.h: threads of our own in a process whose signals are for others.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace ridgeline {

/// The calling thread takes no signal while this lives, and neither do the threads that it begins meanwhile, for as
/// long as they run.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ridgeline
