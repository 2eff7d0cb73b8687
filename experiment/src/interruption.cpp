#include "ridgeline/experiment/interruption.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "ridgeline/base/error.h"

namespace ridgeline::experiment {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

std::string_view name_of(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

}  // namespace

Interruption::Interruption(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {
  sigemptyset(&held_);
  for (const int signal : kSignals) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&held_, signal);
  }
  sigaddset(&held_, SIGCHLD);  // ends wait() early
  pthread_sigmask(SIG_BLOCK, &held_, &previous_);
}

Interruption::~Interruption() {
  if (signal_) raise(*signal_);  // held back still: it comes with the next line
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

std::optional<int> Interruption::wait(std::chrono::milliseconds time) {
  const timespec bound{time.count() / 1000, time.count() % 1000 * 1'000'000};
  siginfo_t info{};
  if (sigtimedwait(&held_, &info, &bound) <= 0 || info.si_signo == SIGCHLD) return std::nullopt;
  if (!signal_) {
    signal_ = info.si_signo;
    if (tell_) tell_(fmt::format("{}: stopping", name_of(info.si_signo)));
  }
  return info.si_signo;
}

bool Interruption::requested() {
  // A child's end may stand in the queue before the signal that is asked for.
  for (std::size_t i = 0; !signal_ && i <= kSignals.size(); ++i)
    static_cast<void>(wait(std::chrono::milliseconds(0)));
  return signal_.has_value();
}

void Interruption::check() {
  if (requested()) throw Error(ErrorKind::cancelled, fmt::format("stopped by {}", name_of(*signal_)));
}

}  // namespace ridgeline::experiment
