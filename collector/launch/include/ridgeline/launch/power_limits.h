// power_limits.h: the power limits that this machine's GPUs work under.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <string>

namespace ridgeline::launch {

/// Watts that each GPU is held to now, by its UUID ("GPU-01234567-…"). Asked of NVML in a process of its own; empty
/// without it, and without those that it does not tell.
[[nodiscard]] std::map<std::string, double> power_limits_w();

/// The same, asked ahead: where no process holds a GPU NVML initialises it first, which takes a second or two. While a
/// program runs that uses it, nobody waits for that. One thread; no signal is taken on the one that asks.
class PowerLimitsAhead {
 public:
  using Limits = std::map<std::string, double>;
  explicit PowerLimitsAhead(std::function<Limits()> question = power_limits_w) noexcept
      : question_(std::move(question)) {}
  /// Asks beside the caller, once. Without a thread for it, get() asks.
  void ask() noexcept;
  /// Waits for the answer; asks now if ask() was never called.
  [[nodiscard]] const Limits& get();

 private:
  std::function<Limits()> question_;
  std::future<Limits> asked_;
  bool known_ = false;
  Limits limits_;
};

}  // namespace ridgeline::launch
