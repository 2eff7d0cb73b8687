// When the timeline is on: at once, after a delay, for a time, or when the launcher says so.
//
// Only decides; the session opens and closes. Used by the agent's thread, but for context_created().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "ridgeline/spool/control.h"
#include "ridgeline/spool/format.h"

namespace ridgeline::agent {

class WindowPlan {
 public:
  struct Options {
    bool wait = false;             // no window until the launcher opens one
    std::int64_t after_ns = 0;     // from the first context to the first window
    std::int64_t duration_ns = 0;  // of each window; 0: no end
  };
  enum class Action { none, open, close };

  /// `control` may be null: nobody gives commands then. Must outlive the process.
  WindowPlan(const Options& options, spool::Control* control);

  /// True if recording begins with the process.
  bool opens_at_start() const noexcept { return opens_at_start_; }
  /// The first one counts.
  void context_created(std::int64_t now_ns) noexcept;
  std::int64_t first_context_ns() const noexcept { return context_ns_.load(std::memory_order_acquire); }

  /// What is due now, with its cause. `open`: a window is open, since then.
  Action due(bool open, std::int64_t opened_ns, std::int64_t now_ns, WindowCause* cause) noexcept;

  void count_opened() noexcept;
  void count_closed() noexcept;
  void count_ended() noexcept;

 private:
  const Options options_;
  spool::Control* const control_;
  bool opens_at_start_ = true;
  bool delay_pending_ = false;
  std::uint32_t sequence_ = 0;
  std::atomic<std::int64_t> context_ns_{0};
};

/// Maps the control file of a spool directory; null if there is none.
spool::Control* map_control(const std::string& spool_directory) noexcept;

}  // namespace ridgeline::agent
