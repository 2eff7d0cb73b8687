// comm_exposed.cpp: collectives with no other kernel beside them.
#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinCommShare = 0.01;  // of the step
constexpr double kCommLow = 0.2, kCommMid = 0.5, kCommHigh = 0.9;

}  // namespace

RuleAnswer judge_comm_exposed(const RuleInput& in) {
  RuleAnswer answer;
  const Accounting& accounting = in.input.accounting;
  const auto exposed_ns = static_cast<double>(accounting.communication_exposed_ns);
  if (exposed_ns < kMinCommShare * static_cast<double>(accounting.step_ns)) {
    if (accounting.communication_sum_ns > 0) answer.nearest = {{"exposed_ns", exposed_ns, {}, {}}};
    return answer;
  }
  Proposal proposal{.power = PowerEffect::idle};
  std::vector<std::pair<std::uint32_t, double>> alone;
  double sum_ns = 0;
  std::string subject;
  double longest_ns = 0;
  for (std::uint32_t i = 0; i < in.launches.size(); ++i) {
    if (in.launches.traits(i).kernel_class != KernelClass::communication) continue;
    const LaunchView launch = in.launches.at(i);
    if (launch.site->device_id != accounting.device_id) continue;
    // Time beside one other kernel is shared by halves: what is above the half was alone.
    const double own_ns =
        std::max(2 * in.input.exposure.ns(launch.launch) - static_cast<double>(launch.duration_ns), 0.0);
    if (own_ns <= 0) continue;
    alone.emplace_back(i, own_ns);
    sum_ns += own_ns;
    if (own_ns > longest_ns) {
      longest_ns = own_ns;
      subject = launch.kernel;
    }
  }
  if (sum_ns <= 0) return answer;
  const double scale = std::min(exposed_ns / sum_ns, 1.0);
  for (const auto& [position, own_ns] : alone)
    proposal.add_launch(position, gain_of(own_ns * scale, kCommLow, kCommMid, kCommHigh));
  // Of one rank nobody knows how long it waited for the others.
  if (in.input.model.processes.size() < 2) {
    proposal.basis = AdviceBasis::estimated;
    answer.cannot_say(AdviceNeed::all_ranks, subject, exposed_ns);
  }
  proposal.subject = subject;
  proposal.say("exposed_ns", exposed_ns);
  proposal.say("hidden_ns", static_cast<double>(accounting.communication_hidden_ns));
  proposal.say("ranks", static_cast<double>(in.input.model.processes.size()));
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
