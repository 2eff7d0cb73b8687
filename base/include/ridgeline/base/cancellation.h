/// cancellation.h: pthread_cancel() of the program's threads, while they are in code of ours.
#pragma once

#include <pthread.h>

namespace ridgeline {

/// The calling thread is not cancelled while this lives: cancelling unwinds the stack, which ends the process where it
/// meets a noexcept function or a handler that swallows it. A request that came meanwhile is kept for the program's
/// next cancellation point.
class NoCancellation {
 public:
  NoCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() {
    int disabled = 0;
    pthread_setcancelstate(before_, &disabled);
  }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ridgeline
