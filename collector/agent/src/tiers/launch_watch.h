// The launch that is measured at present, for the watch on the agent's thread: one that does not come back hangs,
// and holds whatever lock it needs for ever, so that nothing here takes one.
//
// What may take long and still ends is not taken for a hang: before the kernel runs, the calls of CUPTI wait for
// everything that the program has enqueued so far, which may be seconds of work; and the kernel itself takes as long
// as it takes.
#pragma once

#include <atomic>
#include <cstdint>

namespace ridgeline::agent {

class LaunchWatch {
 public:
  /// A launch that is being set up has this many times the limit, and so has one of which nothing is known: what a
  /// graph takes, or a kernel that was not seen to end yet.
  static constexpr std::int64_t kPatience = 6;
  /// And a kernel, beyond the limit, this many times what it usually takes.
  static constexpr std::int64_t kUsualTimes = 10;

  struct Launch {
    const char* name = nullptr;  // mangled; valid while the launch is inside the driver; null: a graph
    std::uint32_t kernel_id = 0, step = 0;
  };

  /// The launch of this thread is being set up. Nothing if another is watched.
  void begin(const Launch& launch, std::uint32_t thread_id, std::int64_t now_ns) noexcept {
    std::int64_t none = 0;
    if (!since_ns_.compare_exchange_strong(none, now_ns)) return;
    setting_up_.store(true, std::memory_order_relaxed);
    name_.store(launch.name, std::memory_order_relaxed);
    kernel_id_.store(launch.kernel_id, std::memory_order_relaxed);
    step_.store(launch.step, std::memory_order_relaxed);
    thread_.store(thread_id, std::memory_order_release);
  }
  /// By that thread: it has waited for something else until now.
  void restart(std::uint32_t thread_id, std::int64_t now_ns) noexcept {
    if (is_of(thread_id)) since_ns_.store(now_ns, std::memory_order_release);
  }
  /// By that thread: its kernel runs from now on. `usual_ns`: what one of its kind takes; 0: not known.
  void runs(std::uint32_t thread_id, std::int64_t now_ns, std::int64_t usual_ns) noexcept {
    if (!is_of(thread_id)) return;
    usual_ns_.store(usual_ns, std::memory_order_relaxed);
    since_ns_.store(now_ns, std::memory_order_release);
    setting_up_.store(false, std::memory_order_release);
  }
  /// By that thread: it came back, or is not measured.
  void end(std::uint32_t thread_id) noexcept {
    if (!is_of(thread_id)) return;
    thread_.store(0, std::memory_order_relaxed);
    since_ns_.store(0, std::memory_order_release);
  }

  /// True, once a launch, if the one that is watched has not come back in its time.
  bool overdue(std::int64_t now_ns, std::int64_t limit_ns, Launch* launch) noexcept {
    const bool setting_up = setting_up_.load(std::memory_order_acquire);
    const std::int64_t since_ns = since_ns_.load(std::memory_order_acquire);
    const std::int64_t usual_ns = usual_ns_.load(std::memory_order_relaxed);
    const std::int64_t all_ns =
        setting_up || usual_ns == 0 ? kPatience * limit_ns : limit_ns + kUsualTimes * usual_ns;
    if (since_ns == 0 || now_ns - since_ns < all_ns || since_ns == reported_ns_) return false;
    reported_ns_ = since_ns;
    *launch = {name_.load(std::memory_order_relaxed), kernel_id_.load(std::memory_order_relaxed),
               step_.load(std::memory_order_relaxed)};
    return true;
  }

 private:
  bool is_of(std::uint32_t thread_id) const noexcept {
    return thread_.load(std::memory_order_acquire) == thread_id &&
           since_ns_.load(std::memory_order_acquire) != 0;
  }

  std::atomic<std::int64_t> since_ns_{0};  // 0: none
  std::atomic<std::int64_t> usual_ns_{0};
  std::atomic<bool> setting_up_{false};
  std::atomic<const char*> name_{nullptr};
  std::atomic<std::uint32_t> kernel_id_{0}, step_{0}, thread_{0};
  std::int64_t reported_ns_ = 0;  // the agent's thread alone
};

}  // namespace ridgeline::agent
