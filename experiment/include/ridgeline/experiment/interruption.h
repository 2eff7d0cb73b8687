// interruption.h: signals that ask the program to end, taken where the work can stop.
//
// While the object lives, SIGINT, SIGTERM and SIGHUP are held back in this thread and in those it starts. Whoever works
// asks at places where it can stop: run_child() stops its child, check() throws. What is to be tidied up is then
// destroyed as after any failure, and when the object is, the signal takes its usual effect.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace ridgeline::experiment {

class Interruption {
 public:
  /// `tell`: called once, with a line about the first signal. A signal that is ignored (nohup) stays ignored.
  explicit Interruption(std::function<void(const std::string&)> tell = {});
  ~Interruption();  // a signal that came ends the program here, unless the caller of this program changed that
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The next signal that comes within that time; a child that ends makes it return early.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds time);
  /// Whether a signal has come; asks for new ones.
  [[nodiscard]] bool requested();
  /// Throws Error(cancelled) if a signal has come.
  void check();
  /// The signals of this thread before: children are started with them.
  [[nodiscard]] const sigset_t& previous() const noexcept { return previous_; }

 private:
  std::function<void(const std::string&)> tell_;
  sigset_t held_{}, previous_{};
  std::optional<int> signal_;  // the first that came
};

}  // namespace ridgeline::experiment
