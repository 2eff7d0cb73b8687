#include "ridgeline/analyzer/ranking/stalls.h"

#include <algorithm>
#include <map>
#include <set>

namespace ridgeline::analyzer {

namespace {

constexpr std::string_view kNotIssued = "_not_issued";

enum class State { issuing, ready, stalled };

State stall_state(std::string_view label) {
  if (label == "selected") return State::issuing;
  return label == "not selected" ? State::ready : State::stalled;
}

// Samples of an instruction or line by reason.
struct Tally {
  std::int64_t samples = 0;
  std::map<std::string, std::int64_t> stalled;  // by label

  void add(const std::string& label, std::int64_t count) {
    samples += count;
    if (stall_state(label) == State::stalled) stalled[label] += count;
  }
};

double stall_share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

HotSpot spot_of(const Tally& tally, std::int64_t of_kernel) {
  HotSpot spot;
  spot.samples = tally.samples;
  spot.share = stall_share(tally.samples, of_kernel);
  const auto main = std::max_element(tally.stalled.begin(), tally.stalled.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (main != tally.stalled.end()) {
    spot.main_reason = main->first;
    spot.main_reason_share = stall_share(main->second, tally.samples);
  }
  return spot;
}

void keep_hottest(std::vector<HotSpot>& spots, std::size_t count) {
  std::stable_sort(spots.begin(), spots.end(),
                   [](const HotSpot& a, const HotSpot& b) { return a.samples > b.samples; });
  spots.resize(std::min(spots.size(), count));
}

KernelStalls stalls_of(const Model& model, const std::set<store::Id>& kernels,
                       const std::map<std::pair<store::Id, std::int64_t>, const store::SourceLine*>& lines,
                       std::size_t spots) {
  KernelStalls out;
  std::map<std::string, StallReason> reasons;
  std::map<std::pair<store::Id, std::int64_t>, Tally> instructions;
  std::map<std::pair<std::string_view, std::int64_t>, Tally> by_line;
  std::int64_t issuing = 0;
  std::int64_t ready = 0;
  std::int64_t idle = 0;
  for (const store::StallSample& sample : model.stall_samples) {
    if (!kernels.contains(sample.kernel_id)) continue;
    const std::string_view name = sample.stall_reason;
    // A part of the reason's own count: the samples while the scheduler issued nothing.
    if (name.ends_with(kNotIssued)) {
      idle += sample.samples;
      continue;
    }
    const std::string label = stall_label(name);
    out.samples += sample.samples;
    if (stall_state(label) == State::issuing) {
      issuing += sample.samples;
    } else if (stall_state(label) == State::ready) {
      ready += sample.samples;
    } else {
      StallReason& reason = reasons[label];
      reason.name = name;
      reason.label = label;
      reason.samples += sample.samples;
    }
    const std::pair at(sample.kernel_id, sample.pc_offset);
    instructions[at].add(label, sample.samples);
    if (const auto line = lines.find(at); line != lines.end() && line->second->line)
      by_line[{model.string(line->second->file_id), *line->second->line}].add(label, sample.samples);
  }
  out.issuing_share = stall_share(issuing, out.samples);
  out.ready_share = stall_share(ready, out.samples);
  out.stalled_share = stall_share(out.samples - issuing - ready, out.samples);
  out.idle_share = stall_share(idle, out.samples);
  for (auto& [label, reason] : reasons) {
    reason.share = stall_share(reason.samples, out.samples);
    out.reasons.push_back(std::move(reason));
  }
  std::stable_sort(out.reasons.begin(), out.reasons.end(),
                   [](const StallReason& a, const StallReason& b) { return a.samples > b.samples; });
  for (const auto& [at, tally] : instructions) {
    HotSpot spot = spot_of(tally, out.samples);
    spot.pc_offset = at.second;
    if (const auto line = lines.find(at); line != lines.end()) {
      spot.file = model.string(line->second->file_id);
      spot.line = line->second->line;
    }
    out.instructions.push_back(std::move(spot));
  }
  for (const auto& [at, tally] : by_line) {
    HotSpot spot = spot_of(tally, out.samples);
    spot.file = at.first;
    spot.line = at.second;
    out.lines.push_back(std::move(spot));
  }
  keep_hottest(out.instructions, spots);
  keep_hottest(out.lines, spots);
  return out;
}

}  // namespace

std::string stall_label(std::string_view name) {
  if (name.ends_with(kNotIssued)) name.remove_suffix(kNotIssued.size());
  for (const std::string_view prefix : {"smsp__pcsamp_warps_issue_stalled_", "smsp__pcsamp_"}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  std::string label(name);
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

StallAnalysis analyze_stalls(const Model& model, const UtilisationAnalysis& utilisation,
                             const Ranking& ranking, const StallOptions& options) {
  StallAnalysis out;
  for (const store::StallWindow& window : model.stall_windows) {
    out.requested = true;
    out.samples += window.samples;
    out.dropped_samples += window.dropped_samples;
    out.period_cycles = std::max(out.period_cycles, window.period_cycles);
    if (window.status != WindowStatus::failed)
      out.steps += window.last_step_index - window.first_step_index + 1;
    if (window.reason) {
      out.reason = *window.reason;
      out.buffer_full = false;
    } else if (window.status == WindowStatus::overflow) {
      out.reason = {};
      out.buffer_full = true;
    }
  }
  out.requested = out.requested || !model.stall_samples.empty();
  if (model.stall_samples.empty()) return out;
  std::map<std::pair<store::Id, std::int64_t>, const store::SourceLine*> lines;
  for (const store::SourceLine& line : model.source_lines) lines[{line.kernel_id, line.pc_offset}] = &line;
  for (std::size_t row = 0; row < ranking.rows.size() && row < options.kernels; ++row) {
    std::set<store::Id> kernels;
    for (const std::size_t launch : ranking.rows[row].launches)
      kernels.insert(utilisation.launches.group_of(launch).kernel_id);
    KernelStalls stalls = stalls_of(model, kernels, lines, options.spots);
    if (stalls.samples == 0) {
      ++out.unsampled;
      continue;
    }
    stalls.ranking_row = row;
    stalls.kernel = ranking.rows[row].kernel;
    out.kernels.push_back(std::move(stalls));
  }
  return out;
}

}  // namespace ridgeline::analyzer
