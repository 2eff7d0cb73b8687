#include "tiers/sampling_start.h"

#include <algorithm>

#include "messages.h"

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kMaxLeadSteps = 64;

void raise(std::atomic<std::int64_t>& longest_ns, std::int64_t ns) noexcept {
  longest_ns.store(std::max(longest_ns.load(std::memory_order_relaxed), ns), std::memory_order_relaxed);
}

}  // namespace

void SamplingStart::took(std::int64_t ns) noexcept {
  raise(longest_ns_, ns);
}

void SamplingStart::was_late_by(std::int64_t ns) noexcept {
  raise(late_ns_, ns);
}

std::uint32_t SamplingStart::lead_steps(std::int64_t step_ns) const noexcept {
  if (late_ns() == 0 || step_ns <= 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(allowance_ns() / step_ns + 1, kMaxLeadSteps));
}

SamplingPlan SamplingStart::plan(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                                 const SamplingLimits& limits, bool spare) const noexcept {
  const std::int64_t longest_ns = longest_ns_.load(std::memory_order_relaxed);
  const std::uint32_t lead = lead_steps(step_ns);
  const std::int64_t spare_ns = spare ? kSpareNs : 0;
  const SamplingPlan plan = plan_sampling(phase_steps, step_ns, memory_bytes, limits, {0, lead, spare_ns});
  const std::int64_t steps = std::int64_t{plan.lead_steps} + plan.sampled_steps;
  if (step_ns <= 0 || capacity_ns(plan) >= longest_ns + steps * step_ns + kStopSlackNs) return plan;
  return plan_sampling(phase_steps, step_ns, memory_bytes, limits, {longest_ns, lead, spare_ns});
}

bool SamplingStart::has_room(const SamplingPlan& plan, std::int64_t step_ns) const noexcept {
  return capacity_ns(plan) >= longest_ns_.load(std::memory_order_relaxed) +
                                  (std::int64_t{plan.lead_steps} + 1) * step_ns + kStopSlackNs;
}

// As plan_sampling() divides it.
std::uint32_t SamplingStart::phase_for(std::uint32_t sampled, std::int64_t step_ns) const noexcept {
  return lead_steps(step_ns) + sampled + (sampled <= 2 ? 1 : 2);
}

std::string SamplingStart::words() const {
  std::string text = "starting it took " + whole_milliseconds(longest_ns_.load(std::memory_order_relaxed));
  if (late_ns() > 0) text += ", and the first sample came " + whole_milliseconds(late_ns()) + " after that";
  return text;
}

}  // namespace ridgeline::agent
