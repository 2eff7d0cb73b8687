// copy_exposed.cpp: copies between host and device with no kernel beside them. Those of pageable memory are
// pageable_copy's: they cannot run beside anything that the same thread launches.
#include "advice/copies.h"
#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinCopyShare = 0.01;  // of the step
constexpr double kMinExposed =
    0.2;  // of a copy: beside kernels already, gaps between them are none of its doing
constexpr double kCopyLow = 0.4, kCopyMid = 0.85;

}  // namespace

RuleAnswer judge_copy_exposed(const RuleInput& in) {
  RuleAnswer answer;
  Proposal proposal{.power = PowerEffect::idle};
  double exposed_ns = 0, bytes = 0;
  for (const HostCopy& copy : host_copies(in)) {
    const store::Memcpy& row = copy.of(in.input.model);
    if (copy.pageable || copy.exposed_ns < kMinExposed * static_cast<double>(row.end_ns - row.start_ns))
      continue;
    exposed_ns += copy.exposed_ns;
    bytes += static_cast<double>(row.bytes);
    proposal.parts.push_back({PartKind::copy, copy.copy, gain_of(copy.exposed_ns, kCopyLow, kCopyMid)});
  }
  const auto step_ns = static_cast<double>(in.input.accounting.step_ns);
  // A copy can hide after kernels only.
  const bool can_hide = static_cast<double>(in.input.accounting.kernel_busy_ns) >= exposed_ns;
  if (exposed_ns < kMinCopyShare * step_ns || !can_hide) {
    if (exposed_ns > 0) answer.nearest = {{"exposed_ns", exposed_ns, {}, {}}};
    return answer;
  }
  proposal.say("exposed_ns", exposed_ns);
  proposal.say("copies", static_cast<double>(proposal.parts.size()));
  proposal.say("bytes", bytes);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
