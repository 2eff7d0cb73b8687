// comm_exposed.cpp: collectives with no other kernel beside them.
#include <algorithm>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinCommShare = 0.01;  // of the step
constexpr double kCommLow = 0.2, kCommMid = 0.5, kCommHigh = 0.9;

// Of a collective: how long its bytes travel, by the best rate that any of them had. The rest is waiting for other
// ranks, which an earlier start does not end.
class Transfers {
 public:
  explicit Transfers(const Model& model) : model_(model) {
    if (model.collective_traffic.empty()) return;
    for (const Launches::Row& launch : model.launches.rows()) {
      const auto traffic = model.collective_traffic.find(launch.id);
      if (traffic != model.collective_traffic.end() && duration_ns(launch) > 0)
        best_ =
            std::max(best_, static_cast<double>(traffic->second) / static_cast<double>(duration_ns(launch)));
    }
  }
  // All of it where its bytes are not known.
  [[nodiscard]] double ns(LaunchIndex launch) const {
    const Launches::Row& row = model_.launches.row(launch);
    const auto traffic = model_.collective_traffic.find(row.id);
    const auto all = static_cast<double>(duration_ns(row));
    return traffic == model_.collective_traffic.end() || best_ <= 0
               ? all
               : std::min(static_cast<double>(traffic->second) / best_, all);
  }

 private:
  const Model& model_;
  double best_ = 0;  // bytes a ns
};

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
  const Transfers transfers(in.input.model);
  std::vector<std::pair<std::uint32_t, double>> alone;  // what of it an earlier start may hide
  double hideable_ns = 0;
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
    alone.emplace_back(i, std::min(own_ns, transfers.ns(launch.launch)));
    hideable_ns += alone.back().second;
    sum_ns += own_ns;
    if (own_ns > longest_ns) {
      longest_ns = own_ns;
      subject = launch.kernel;
    }
  }
  if (sum_ns <= 0) return answer;
  const double scale = std::min(exposed_ns / sum_ns, 1.0);
  // Of one rank nobody knows how long it waited for the others.
  if (in.input.model.processes.size() < 2) {
    proposal.basis = AdviceBasis::estimated;
    answer.cannot_say(AdviceNeed::all_ranks, subject, exposed_ns);
  }
  // Mostly waits.
  if (hideable_ns < sum_ns && hideable_ns * scale < kMinCommShare * static_cast<double>(accounting.step_ns)) {
    answer.nearest = {{"exposed_ns", exposed_ns, {}, {}}, {"transfer_ns", hideable_ns * scale, {}, {}}};
    return answer;
  }
  for (const auto& [position, transfer_ns] : alone)
    proposal.add_launch(position, gain_of(transfer_ns * scale, kCommLow, kCommMid, kCommHigh));
  proposal.subject = subject;
  proposal.say("exposed_ns", exposed_ns);
  if (hideable_ns < sum_ns) proposal.say("transfer_ns", hideable_ns * scale);
  proposal.say("hidden_ns", static_cast<double>(accounting.communication_hidden_ns));
  proposal.say("ranks", static_cast<double>(in.input.model.processes.size()));
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
