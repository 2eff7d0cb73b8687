#include "ridgeline/reports/absence_text.h"

#include <fmt/format.h>

#include "ridgeline/reports/reason_text.h"

namespace ridgeline::reports {

using analyzer::Absence;
using Cause = analyzer::AbsenceCause;

namespace {

std::string refusal_text(const Absence& absence) {
  std::string text = absence.tier == Tier::t1 ? "samples (T1) " : "counters ";
  text += absence.outcome == TierOutcome::not_requested ? "not requested" : to_string(absence.outcome);
  return absence.detail.empty() ? text : text + ": " + reason_text(absence.detail);
}

std::string unusable_text(const char* steps, const Absence& absence) {
  return fmt::format("no {} step is usable ({}{}{})", steps, to_string(absence.status),
                     absence.detail.empty() ? "" : ": ", reason_text(absence.detail));
}

std::string mismatch_text(const Absence& absence, const std::string& what) {
  return fmt::format("{} step {} launched {} at this position", to_string(absence.phase), absence.step_index,
                     what);
}

}  // namespace

std::string absence_text(const Absence& absence) {
  switch (absence.cause) {
    case Cause::none:
      return "";
    case Cause::no_timestamps:
      return "the driver gave no timestamps for it";
    case Cause::equal_timestamps:
      return "its timestamps are equal: no duration to divide by";
    case Cause::no_sampled_timestamps:
      return "the driver gave its sampled launches no timestamps";
    case Cause::tier_refused:
      return refusal_text(absence);
    case Cause::no_replay_step:
      return "the recording has no replay step";
    case Cause::no_usable_replay_step:
      return unusable_text("replay", absence);
    case Cause::kind_not_counted:
      return "no launch of its kind was counted";
    case Cause::excluded:
      return fmt::format("replay steps leave this kernel out ({})", to_string(absence.exclusion));
    case Cause::graph_node:
      return "a CUDA graph's node: graphs are not replayed node by node";
    case Cause::graph_as_a_whole:
      return "a CUDA graph's node: its counters are of the whole graph";
    case Cause::another_grid:
      return mismatch_text(absence, "it with a different grid");
    case Cause::another_kernel:
      return mismatch_text(absence, absence.name);
    case Cause::not_replayed:
      return "no replay step measured a launch at this position of the step";
    case Cause::no_sampled_step:
      return "the recording has no sampled step";
    case Cause::no_usable_sampled_step:
      return unusable_text("sampled", absence);
    case Cause::kind_not_sampled:
      return "no launch of its kind was sampled";
    case Cause::not_told_apart:
      return "no sample tells this launch from its neighbours";
    case Cause::replayed_without_dram:
      return "replayed, but without a counter of DRAM bytes";
    case Cause::replayed_without_pipes:
      return "replayed, but without a counter of a compute pipe";
    case Cause::replayed_without_busiest:
      return "replayed, but without a counter of the pipe that is thought to be the busiest";
    case Cause::replayed_without_tensor:
      return "replayed, but without a counter of tensor operations";
    case Cause::sampled_without_dram:
      return "sampled, but without DRAM bytes";
    case Cause::sampled_without_pipes:
      return "sampled, but without a compute pipe";
    case Cause::no_peak:
      return fmt::format(
          "the capture holds no peak '{}' of device {}: record it again with a driver that reports memory "
          "clock and bus width",
          absence.detail.text, absence.name);
    case Cause::no_cold_step:
      return "the recording has no cold step";
    case Cause::not_replayed_cold:
      return "no cold step measured a launch at this position of the step";
    case Cause::communication:
      return "communication: the link bounds it, not DRAM or a pipe";
    case Cause::no_work:
      return "moves no bytes and uses no pipe to speak of";
    case Cause::paced_by_recorder:
      return fmt::format("in {} steps launches wait for the recorder", to_string(absence.phase));
    case Cause::too_many_launches:
      return "it has too many launches to be simulated";
    case Cause::waits_not_recorded:
      return "what the CPU waited for was not recorded";
    case Cause::not_reproduced:
      return "a simulation with the recorded times does not give the recorded step";
    case Cause::phase_not_reproduced:
      return fmt::format("a simulation with the recorded times does not give the recorded {}", absence.name);
    case Cause::calls_not_recorded:
      return "when the CPU launched the work was not recorded";
    case Cause::cut_in_time:
      return "it begins and ends in the middle of what the program did, and only what is whole is simulated";
  }
  return "";
}

std::string absence_text(const std::vector<Absence>& absences) {
  std::string text;
  for (const Absence& absence : absences) text += (text.empty() ? "" : "; ") + absence_text(absence);
  return text;
}

}  // namespace ridgeline::reports
