// copy_exposed.cpp: copies between host and device with no kernel beside them. Those of pageable memory are
// pageable_copy's: they cannot run beside anything that the same thread launches.
#include "advice/copies.h"
#include "advice/gains.h"
#include "whatif/remedies.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinCopyShare = 0.01;  // of the step
constexpr double kMinExposed =
    0.2;  // of a copy: beside kernels already, gaps between them are none of its doing
constexpr double kCopyLow = 0.4, kCopyMid = 0.85;

// Whether the next kernel may have waited for the copy: one that began beside it did not, nor one whose call was
// made, or still being made, after it.
bool holds_next(const AdviceInput& input, const store::Memcpy& copy) {
  const Launches& launches = input.model.launches;
  for (LaunchIndex i = launches.first_from(copy.process_id, copy.start_ns); i < launches.size(); ++i) {
    const Launches::Row& row = launches.row(i);
    if (launches.site(i).process_id != copy.process_id) break;
    if (!has_time(row) || launches.site(i).device_id != copy.device_id) continue;
    const bool late = row.host_end_ns != Launches::Row::kAbsent && row.host_end_ns > copy.end_ns;
    return row.start_ns >= copy.end_ns && !late;
  }
  return true;
}

// What hiding these copies gains of the time that they are exposed: nothing where the step does not wait for them,
// and the CPU left the gap that they lie in. 1: not simulated.
double waited_for(const RuleInput& in, const std::vector<std::uint32_t>& copies, double exposed_ns,
                  Proposal& proposal) {
  if (in.remedies == nullptr || exposed_ns <= 0) return 1;
  std::optional<RemedyGain> gained = in.remedies->with_hidden(copies);
  if (!gained) return 1;
  proposal.remedy = std::move(gained->edit);
  return std::min(gained->ns / exposed_ns, 1.0);
}

}  // namespace

RuleAnswer judge_copy_exposed(const RuleInput& in) {
  RuleAnswer answer;
  Proposal proposal{.power = PowerEffect::idle};
  double exposed_ns = 0, bytes = 0;
  std::vector<HostCopy> exposed;
  std::vector<std::uint32_t> copies;
  for (const HostCopy& copy : host_copies(in)) {
    const store::Memcpy& row = copy.of(in.input.model);
    if (copy.pageable || copy.exposed_ns < kMinExposed * static_cast<double>(row.end_ns - row.start_ns) ||
        !holds_next(in.input, row))
      continue;
    exposed_ns += copy.exposed_ns;
    bytes += static_cast<double>(row.bytes);
    exposed.push_back(copy);
    copies.push_back(copy.copy);
  }
  const auto step_ns = static_cast<double>(in.input.accounting.step_ns);
  // A copy can hide after kernels only.
  const bool can_hide = static_cast<double>(in.input.accounting.kernel_busy_ns) >= exposed_ns;
  const bool enough = exposed_ns >= kMinCopyShare * step_ns && can_hide;
  const double waited = enough ? waited_for(in, copies, exposed_ns, proposal) : 0;
  if (exposed_ns * waited < kMinCopyShare * step_ns || !enough) {
    if (exposed_ns > 0) answer.nearest = {{"exposed_ns", exposed_ns, {}, {}}};
    return answer;
  }
  for (const HostCopy& copy : exposed)
    proposal.parts.push_back(
        {PartKind::copy, copy.copy, gain_of(copy.exposed_ns * waited, kCopyLow, kCopyMid)});
  proposal.say("exposed_ns", exposed_ns);
  proposal.say("copies", static_cast<double>(proposal.parts.size()));
  proposal.say("bytes", bytes);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
