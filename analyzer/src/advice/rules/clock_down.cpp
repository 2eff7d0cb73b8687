// clock_down.cpp: heat, the board's brakes or a lowered limit hold the clock. A power limit at which the board is sold
// is no defect.
#include <algorithm>

#include "advice/gains.h"
#include "ridgeline/analyzer/whatif/power.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinClockCost = 0.01;  // of the step
constexpr double kLowered = 0.90;       // of the rated power
constexpr double kOftenDown = 0.3;      // of the samples
constexpr double kClockLow = 0.4, kClockMid = 0.8;
constexpr std::int64_t kSetByUser = 0x2 | 0x100;  // NVML's reasons: application clocks, display clocks
// NVML's power is a mean of a second: what it says is the board's once it was at work for so long, and no sample is
// missing in between.
constexpr std::int64_t kPowerSettlesNs = 2'000'000'000, kMaxBetweenNs = 1'000'000'000;

struct Rated {
  std::string_view name;
  double watts;
};
// What the boards are sold with, SXM unless the name says else; the first that matches.
constexpr Rated kRated[] = {{"H200 NVL", 600}, {"H100 NVL", 400}, {"H100 PCIe", 350},
                            {"GH200", 700},    {"H200", 700},     {"H100", 700},
                            {"A100-PCI", 250}, {"A100", 400},     {"B200", 1000}};

std::optional<double> rated_w(std::string_view device) {
  for (const Rated& rated : kRated) {
    if (device.find(rated.name) != std::string_view::npos) return rated.watts;
  }
  return std::nullopt;
}

// How much of a launch's time goes with the clock.
double beta_of(const LaunchView& launch) {
  switch (bound_of(*launch.verdict)) {
    case KernelBound::compute:
      return 1;
    case KernelBound::memory:
      return bounding_roof(*launch.verdict) == Roof::kL2 ? 1 : 0.1;
    case KernelBound::latency:
      return 0.8;
    default:
      return 0.5;
  }
}

// The most power while the limit held the clock, read when it had held it for long enough; empty: it never did.
std::optional<double> power_at_limit_w(const RuleInput& in, store::Id device_id) {
  std::optional<double> most;
  std::optional<std::int64_t> since_ns, before_ns;
  for (const store::ClockSample& sample : in.input.model.clock_samples) {
    if (sample.device_id != device_id || !sample.throttle_reasons) continue;
    const bool goes_on = before_ns && sample.time_ns - *before_ns <= kMaxBetweenNs;
    before_ns = sample.time_ns;
    if ((*sample.throttle_reasons & kPowerCapReason) == 0) {
      since_ns.reset();
      continue;
    }
    if (!since_ns || !goes_on) since_ns = sample.time_ns;
    if (!sample.power_mw || sample.time_ns - *since_ns < kPowerSettlesNs) continue;
    most = std::max(most.value_or(0), static_cast<double>(*sample.power_mw) / 1e3);
  }
  return most;
}

// What holds the clock and need not; "": nothing, or nobody can say.
std::string cause_of_clock(const RuleInput& in, const ClockSummary& clocks, const store::Device& device) {
  for (const std::string& reason : clocks.throttle_reasons) {
    if (reason != "power limit" && clocks.throttled_share >= kOftenDown) return reason;
  }
  const auto rated = rated_w(device.name);
  const bool power = !clocks.throttle_reasons.empty() && clocks.throttled_share >= kOftenDown;
  const std::optional<double> at_limit_w = power_at_limit_w(in, device.id);
  if (power && rated && at_limit_w && *at_limit_w < kLowered * *rated) return "power limit";
  std::int64_t seen = 0, samples = 0;
  for (const store::ClockSample& sample : in.input.model.clock_samples) {
    if (sample.device_id != device.id || !sample.throttle_reasons) continue;
    ++samples;
    if ((*sample.throttle_reasons & kSetByUser) != 0) ++seen;
  }
  if (!power && samples > 0 && seen * 2 > samples) return "clock setting";
  return "";
}

}  // namespace

RuleAnswer judge_clock_down(const RuleInput& in) {
  RuleAnswer answer;
  const ClockSummary* clocks = nullptr;
  for (const ClockSummary& one : in.input.quality.clocks) {
    if (one.device_id == in.input.accounting.device_id) clocks = &one;
  }
  const store::Device* device = in.input.model.device(in.input.accounting.device_id);
  if (clocks == nullptr || !clocks->sm_clock_median_hz || device == nullptr) {
    answer.cannot_say(AdviceNeed::clock_samples);
    return answer;
  }
  if (!device->max_sm_clock_hz || *device->max_sm_clock_hz <= 0) {
    answer.cannot_say(AdviceNeed::device_facts);
    return answer;
  }
  const auto max_hz = static_cast<double>(*device->max_sm_clock_hz);
  const double lost = std::max(1 - *clocks->sm_clock_median_hz / max_hz, 0.0);
  answer.nearest = {{"clock_hz", *clocks->sm_clock_median_hz, {}, {}}, {"highest_hz", max_hz, {}, {}}};
  if (clocks->power_median_w) answer.nearest.push_back({"power_w", *clocks->power_median_w, {}, {}});
  const std::string cause = cause_of_clock(in, *clocks, *device);
  if (cause.empty() || lost <= 0) return answer;
  Proposal proposal{.basis = AdviceBasis::modelled, .subject = cause, .power = PowerEffect::clock};
  double cost_ns = 0;
  for (std::uint32_t i = 0; i < in.launches.size(); ++i) {
    const LaunchView launch = in.launches.at(i);
    if (launch.site->device_id != device->id) continue;
    const double each_ns = static_cast<double>(launch.duration_ns) * beta_of(launch) * lost;
    cost_ns += each_ns;
    proposal.add_launch(i, gain_of(each_ns, kClockLow, kClockMid));
  }
  if (cost_ns < kMinClockCost * static_cast<double>(in.input.accounting.step_ns)) return answer;
  proposal.evidence = answer.nearest;
  proposal.say("held_ratio", clocks->throttled_share);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
