// deadline.h: ends work that takes too long.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace ridgeline::mcp {

/// Requests a stop after some time, or when somebody else does.
class Deadline {
 public:
  Deadline(std::chrono::milliseconds limit, const std::stop_token& others)
      : others_(others, [this] { source_.request_stop(); }),
        timer_([this, limit](const std::stop_token& finished) {
          std::unique_lock lock(mutex_);
          woken_.wait_for(lock, finished, limit, [] { return false; });
          if (!finished.stop_requested()) {
            passed_ = true;
            source_.request_stop();
          }
        }) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] bool passed() const { return passed_; }

 private:
  std::stop_source source_;
  std::atomic<bool> passed_ = false;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::stop_callback<std::function<void()>> others_;
  std::jthread timer_;  // last: it is joined before what it uses goes
};

}  // namespace ridgeline::mcp
