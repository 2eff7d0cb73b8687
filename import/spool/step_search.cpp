#include "spool/step_search.h"

#include <algorithm>
#include <unordered_set>

#include "ridgeline/steps/step_watch.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

constexpr std::uint32_t kMostSearched = 1u << 20;
constexpr std::uint32_t kMinRepeats = 5, kMostWarmup = 10;
constexpr double kLongerThanAStep = 1.25;

struct Noted {
  std::int64_t enter_ns = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t context_id = 0;
  steps::Key key = 0;
  bool graph = false;
};

// Of the agent's steps none is past the warm-up.
bool wants_steps(const ScannedSpool& spool) {
  return std::all_of(spool.steps.begin(), spool.steps.end(), [](const auto& step) {
    return step.second.by_period && step.second.phase == Phase::warmup && !step.second.counters;
  });
}

std::vector<Noted> launches_of(const Reader& reader) {
  std::vector<Noted> launches;
  std::unordered_set<std::uint32_t> graphs;
  LaunchJoin join;
  const auto note = [&](const KernelRecord& kernel, const LaunchRecord* call) {
    if (call == nullptr) return;
    const bool graph = (call->header.flags & kLaunchIsGraph) != 0;
    if (graph && !graphs.insert(call->correlation_id).second) return;
    launches.push_back({call->enter_ns, call->correlation_id, kernel.context_id,
                        graph ? steps::graph_key(kernel.graph_id)
                              : steps::key_of(kernel.kernel_id, kernel.grid_x, kernel.grid_y, kernel.grid_z),
                        graph});
  };
  visit_records(reader, {RecordType::kernel, RecordType::launch}, {}, [&](const RecordView& view) {
    if (const auto* kernel = view.as<KernelRecord>()) {
      join.add(*kernel, note);
    } else if (const auto* call = view.as<LaunchRecord>()) {
      join.add(*call, note);
    }
  });
  // Contexts launch in no fixed order among each other: the busiest counts.
  std::unordered_map<std::uint32_t, std::size_t> contexts;
  for (const Noted& launch : launches) ++contexts[launch.context_id];
  const auto busiest = std::max_element(contexts.begin(), contexts.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (busiest != contexts.end())
    std::erase_if(launches, [&](const Noted& launch) { return launch.context_id != busiest->first; });
  std::sort(launches.begin(), launches.end(), [](const Noted& a, const Noted& b) {
    return a.enter_ns != b.enter_ns ? a.enter_ns < b.enter_ns : a.correlation_id < b.correlation_id;
  });
  return launches;
}

}  // namespace

void find_steps(const Reader& reader, ScannedSpool& spool) {
  if (spool.windows.empty() || !wants_steps(spool)) return;
  const std::vector<Noted> noted = launches_of(reader);
  if (noted.size() < 16) return;
  std::vector<steps::Launch> sequence;
  sequence.reserve(noted.size());
  for (const Noted& launch : noted)
    sequence.push_back(
        {launch.key, static_cast<std::uint32_t>((launch.enter_ns - noted.front().enter_ns) / 1000)});
  steps::PeriodSearch search(
      static_cast<std::uint32_t>(std::min<std::size_t>(sequence.size(), kMostSearched)));
  steps::Period period;
  if (!search.find(sequence.data(), sequence.size(), 0, &period) || period.repeats < kMinRepeats) return;
  if (sequence.size() - period.begin < sequence.size() / 4)
    return;  // what the program ended with, and no more
  const steps::StepPeriodFound found = steps::step_of(period);

  std::vector<std::size_t> borders;
  steps::StepCutter cutter(period.anchor, found.periods);
  for (std::size_t i = period.begin - std::min<std::size_t>(period.begin, period.anchor.length - 1);
       i < noted.size(); ++i) {
    if (cutter.launch(noted[i].key)) borders.push_back(i);
  }
  const std::uint32_t launches = found.step_launches();
  const auto longest = static_cast<std::size_t>(kLongerThanAStep * launches);
  const auto warmup = static_cast<std::uint32_t>(std::min<std::size_t>(kMostWarmup, borders.size() / 5));
  spool.steps.clear();
  for (std::size_t b = 0; b < borders.size(); ++b) {
    const std::size_t first = borders[b];
    std::size_t end = b + 1 < borders.size() ? borders[b + 1] : noted.size();
    if (b + 1 == borders.size() && end - first < launches) break;  // the program ended in it
    // What is done between two steps, an evaluation, belongs to none.
    if (!period.varies && end - first > longest) end = first + launches;
    const auto index = static_cast<std::uint32_t>(spool.steps.size());
    ScannedStep& step = spool.steps[index];
    step.index = step.position = index;
    step.phase = index < warmup ? Phase::warmup : Phase::timeline;
    step.by_period = true;
    step.begin_ns = noted[first].enter_ns;
    step.end_ns = end < noted.size() ? noted[end].enter_ns : noted[end - 1].enter_ns + 1;
    std::uint32_t ordinal = 0;
    for (std::size_t i = first; i < end; ++i) {
      spool.placed[noted[i].correlation_id] = {index, noted[i].graph ? kNoStep : ordinal++};
      if (noted[i].graph) step.graph_calls.push_back({.correlation_id = noted[i].correlation_id});
    }
    std::sort(step.graph_calls.begin(), step.graph_calls.end(),
              [](const auto& a, const auto& b) { return a.correlation_id < b.correlation_id; });
  }
  spool.steps_found = Reason(ReasonCode::steps_by_period, {{"steps", spool.steps.size()},
                                                           {"launches", period.launches},
                                                           {"periods", found.periods},
                                                           {"step_ns", found.step_ns},
                                                           {"varies", period.varies ? 1 : 0}});
}

}  // namespace ridgeline::import
