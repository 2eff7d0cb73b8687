// usual_signals.h: signals as a program in the foreground has them. A shell that starts tests in the
// background, and nohup, have them ignored, and what a test expects of a signal would not happen.
#pragma once

#include <csignal>

namespace ridgeline::testing {

/// Of this process and those that it starts, for as long as it lives.
inline void take_usual_signals() {
  for (const int each : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) std::signal(each, SIG_DFL);
}

}  // namespace ridgeline::testing
