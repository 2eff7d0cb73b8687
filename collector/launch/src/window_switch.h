// window_switch.h: the launcher's hand on the recording windows of the processes it started
// (spool/control.h).
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/base/error.h"
#include "ridgeline/spool/control.h"

namespace ridgeline::launch {

class WindowSwitch {
 public:
  /// Makes the control file of a spool directory. Failure: io.
  [[nodiscard]] static Result<WindowSwitch> create(const std::string& spool_directory);
  WindowSwitch(WindowSwitch&& other) noexcept;
  WindowSwitch& operator=(WindowSwitch&&) = delete;
  ~WindowSwitch();

  /// Opens the windows of all processes if none is open, else closes them. True: it opened them.
  bool toggle();
  /// Since the start, over all processes. A process that ends closes its window, too: `ended`.
  [[nodiscard]] std::uint32_t opened() const { return control_->windows_opened.load(); }
  [[nodiscard]] std::uint32_t closed() const { return control_->windows_closed.load(); }
  [[nodiscard]] std::uint32_t ended() const { return control_->windows_ended.load(); }
  [[nodiscard]] bool any_open() const { return opened() > closed() + ended(); }

 private:
  explicit WindowSwitch(spool::Control* control) : control_(control) {}
  spool::Control* control_;
};

}  // namespace ridgeline::launch
