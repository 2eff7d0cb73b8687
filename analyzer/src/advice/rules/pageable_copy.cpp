// pageable_copy.cpp: copies of memory that is not pinned: they go through a buffer of the driver, slowly, and the CPU
// is held meanwhile.
#include "advice/copies.h"
#include "advice/gains.h"
#include "advice/idle.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kPageableLow = 0.6, kPageableMid = 0.9;
constexpr double kHeldLow = 0.3, kHeldMid = 0.7;  // of gaps after such a call

}  // namespace

RuleAnswer judge_pageable_copy(const RuleInput& in) {
  RuleAnswer answer;
  if (!in.input.accounting.gap_synchronisation_ns) {
    if (in.input.accounting.copy_exposed_ns > 0)
      answer.cannot_say(AdviceNeed::host_waits, {}, static_cast<double>(in.input.accounting.copy_exposed_ns));
    return answer;
  }
  Proposal proposal{.power = PowerEffect::idle};
  double copies_ns = 0, bytes = 0, gaps_ns = 0;
  for (const HostCopy& copy : host_copies(in)) {
    if (!copy.pageable) continue;
    const store::Memcpy& item = copy.of(in.input.model);
    const auto length_ns = static_cast<double>(item.end_ns - item.start_ns);
    const double pinned_ns = static_cast<double>(item.bytes) / pinned_rate(in, item.device_id) * 1e9;
    const double max_ns = copy.exposed_ns * std::max(1 - pinned_ns / length_ns, 0.0);
    copies_ns += length_ns;
    bytes += static_cast<double>(item.bytes);
    // Pinned it is as much shorter, and may besides run beside kernels: that is the most there is.
    proposal.parts.push_back(
        {PartKind::copy, copy.copy, {kPageableLow * max_ns, kPageableMid * max_ns, copy.exposed_ns}});
  }
  if (proposal.parts.empty()) return answer;
  proposal.say("copies", static_cast<double>(proposal.parts.size()));
  for (const Idle& one : in.idle) {
    if (one.cause != IdleCause::copy) continue;
    gaps_ns += one.length_ns();
    proposal.parts.push_back({PartKind::gap, one.gap, gain_of(one.length_ns(), kHeldLow, kHeldMid)});
  }
  proposal.say("time_ns", copies_ns);
  proposal.say("bytes", bytes);
  proposal.say("bytes_per_s", bytes / copies_ns * 1e9);
  if (gaps_ns > 0) proposal.say("gaps_ns", gaps_ns);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
