#include "steps/step_period.h"

#include <new>

namespace ridgeline::agent {

StepPeriod::StepPeriod()
    : ring_(new std::atomic<std::uint64_t>[kHistory]()),
      latest_(new (std::nothrow) steps::Launch[steps::StepWatch::kMaxLaunches]) {}
StepPeriod::~StepPeriod() {
  delete[] ring_;
  delete[] latest_;
}

bool StepPeriod::launch(steps::Key key, std::int64_t now_ns) noexcept {
  const std::uint64_t at = count_.fetch_add(1, std::memory_order_relaxed);
  ring_[at % kHistory].store((static_cast<std::uint64_t>(now_ns) / 1000) << 32 | key,
                             std::memory_order_relaxed);
  // Two threads at once may lose a key here: a boundary is missed, nothing worse.
  const std::uint64_t exact = recent_exact_.load(std::memory_order_relaxed) << 16 | steps::exact_part(key);
  const std::uint64_t kernels =
      recent_kernels_.load(std::memory_order_relaxed) << 16 | steps::kernel_part(key);
  recent_exact_.store(exact, std::memory_order_relaxed);
  recent_kernels_.store(kernels, std::memory_order_relaxed);
  if (!active_.load(std::memory_order_acquire)) return false;
  const std::uint64_t recent = exact_.load(std::memory_order_relaxed) ? exact : kernels;
  if ((recent & mask_.load(std::memory_order_relaxed)) != anchor_.load(std::memory_order_relaxed))
    return false;
  if (hits_.fetch_add(1, std::memory_order_relaxed) % periods_.load(std::memory_order_relaxed) != 0)
    return false;
  last_boundary_.store(at, std::memory_order_relaxed);
  return true;
}

std::uint64_t StepPeriod::launches_since_border() const noexcept {
  const std::uint64_t boundary = last_boundary_.load(std::memory_order_relaxed);
  return count_.load(std::memory_order_relaxed) - boundary;
}

void StepPeriod::restart() noexcept {
  active_.store(false, std::memory_order_release);
  watch_.restart(count_.load(std::memory_order_relaxed));
}

bool StepPeriod::analyse(std::int64_t now_ns, Found* found) noexcept {
  const std::uint64_t count = count_.load(std::memory_order_relaxed);
  const std::size_t size = latest_ == nullptr ? 0 : watch_.wanted(count, now_ns);
  if (size == 0) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t entry = ring_[(count - size + i) % kHistory].load(std::memory_order_relaxed);
    latest_[i] = {static_cast<steps::Key>(entry), static_cast<std::uint32_t>(entry >> 32)};
  }
  if (!watch_.look(latest_, size, count, now_ns, found)) return false;
  active_.store(false, std::memory_order_release);
  const steps::Anchor& anchor = found->period.anchor;
  anchor_.store(anchor.keys, std::memory_order_relaxed);
  mask_.store(anchor.mask(), std::memory_order_relaxed);
  exact_.store(anchor.exact, std::memory_order_relaxed);
  periods_.store(found->periods, std::memory_order_relaxed);
  hits_.store(0, std::memory_order_relaxed);
  step_launches_.store(found->step_launches(), std::memory_order_relaxed);
  last_boundary_.store(count_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return true;
}

}  // namespace ridgeline::agent
