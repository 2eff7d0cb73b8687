// wait_for.h: what a test or a program without its own event loop waits with.
#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <QThread>
#include <functional>

namespace ridgeline::gui::testing {

/// Runs the event loop until it holds; false: it took longer than that.
[[nodiscard]] inline bool wait_for(const std::function<bool()>& condition, int max_ms = 30'000) {
  QElapsedTimer timer;
  timer.start();
  while (!condition()) {
    if (timer.elapsed() > max_ms) return false;
    QApplication::processEvents(QEventLoop::AllEvents, 10);
    QThread::msleep(1);
  }
  return true;
}

}  // namespace ridgeline::gui::testing
