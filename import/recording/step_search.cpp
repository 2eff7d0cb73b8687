#include "recording/step_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "ridgeline/base/text.h"
#include "ridgeline/steps/range_watch.h"
#include "ridgeline/steps/step_watch.h"

namespace ridgeline::import {

namespace {

constexpr std::uint32_t kMaxSearched = 1u << 20;
constexpr std::size_t kMinLaunches = 16;
constexpr std::uint32_t kMinRepeats = 5, kMaxWarmup = 10;
constexpr double kLongerThanAStep = 1.25;
constexpr double kPeriodsPerEpoch = 8;  // in a range: it is no step then, but what steps are taken in

using Launches = std::vector<SearchedLaunch>;

/// Launches from `first` up to, without, `end`.
struct Stretch {
  std::size_t first = 0, end = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

// Contexts launch in no fixed order among each other: the busiest counts.
Launches of_busiest_context(const Launches& all) {
  std::unordered_map<std::uint32_t, std::size_t> contexts;
  for (const SearchedLaunch& launch : all) ++contexts[launch.context_id];
  const auto busiest = std::max_element(contexts.begin(), contexts.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  Launches launches;
  std::copy_if(all.begin(), all.end(), std::back_inserter(launches),
               [&](const SearchedLaunch& launch) { return launch.context_id == busiest->first; });
  return launches;
}

std::vector<std::size_t> boundaries_of(const Launches& launches, const steps::Period& period,
                                       std::uint32_t periods) {
  std::vector<std::size_t> boundaries;
  steps::StepCutter cutter(period.anchor, periods);
  for (std::size_t i = period.begin - std::min<std::size_t>(period.begin, period.anchor.length - 1);
       i < launches.size(); ++i) {
    if (cutter.launch(launches[i].key)) boundaries.push_back(i);
  }
  return boundaries;
}

// A program that never waits has all of a loop's launches queued in a part of the time that they take: how long a step
// is the device says then, and none is joined to others for being short.
void take_time_on_device(const Launches& launches, steps::Period& period) {
  std::vector<std::int64_t> took;
  std::int64_t before = 0;
  for (const std::size_t at : boundaries_of(launches, period, 1)) {
    const std::int64_t start_ns = launches[at].start_ns;
    if (before != 0 && start_ns > before) took.push_back(start_ns - before);
    before = start_ns;
  }
  if (took.empty()) return;
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  period.ns = std::max(period.ns, *middle);
}

std::optional<steps::Period> find_period(const Launches& launches) {
  std::vector<steps::Launch> sequence;
  sequence.reserve(launches.size());
  for (const SearchedLaunch& launch : launches)
    sequence.push_back(
        {launch.key, static_cast<std::uint32_t>((launch.time_ns - launches.front().time_ns) / 1000)});
  steps::PeriodSearch search(
      static_cast<std::uint32_t>(std::min<std::size_t>(sequence.size(), kMaxSearched)));
  steps::Period period;
  if (!search.find_anywhere(sequence.data(), sequence.size(), &period) || period.repeats < kMinRepeats)
    return std::nullopt;
  // What the program ended with, and no more, is no step of it.
  const auto kernels = [](auto first, auto last) {
    return std::accumulate(
        first, last, std::uint64_t{0},
        [](std::uint64_t sum, const SearchedLaunch& launch) { return sum + launch.kernels; });
  };
  if (kernels(launches.begin() + period.begin, launches.end()) <
      kernels(launches.begin(), launches.end()) / 4)
    return std::nullopt;
  take_time_on_device(launches, period);
  return period;
}

std::vector<Stretch> cut_by_period(const Launches& launches, const steps::Period& period) {
  const steps::StepPeriodFound found = steps::step_of(period);
  const std::vector<std::size_t> boundaries = boundaries_of(launches, period, found.periods);
  const std::uint32_t usual = found.step_launches();
  const auto longest = static_cast<std::size_t>(kLongerThanAStep * usual);
  std::vector<Stretch> stretches;
  for (std::size_t b = 0; b < boundaries.size(); ++b) {
    const std::size_t first = boundaries[b];
    std::size_t end = b + 1 < boundaries.size() ? boundaries[b + 1] : launches.size();
    if (b + 1 == boundaries.size() && end - first < usual) break;  // the program ended in it
    // What is done between two steps, an evaluation, belongs to none.
    if (!period.varies && end - first > longest) end = first + usual;
    stretches.push_back({first, end, launches[first].time_ns,
                         end < launches.size() ? launches[end].time_ns : launches[end - 1].time_ns + 1});
  }
  return stretches;
}

struct RangesFound {
  steps::RangeWatch::Found found;
  std::uint32_t thread_id = 0;
};

// What the agent's watch says when all ranges have come; of several names the one with the most launches in it, then
// the one that came most often.
std::optional<RangesFound> find_ranges(const SearchedEvents& events) {
  struct Edge {
    std::int64_t time_ns;
    const SearchedRange* range;
    bool begins;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * events.ranges.size());
  for (const SearchedRange& range : events.ranges) {
    edges.push_back({range.start_ns, &range, true});
    edges.push_back({range.end_ns, &range, false});
  }
  // Where one ends as the next begins the end comes first.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.begins < b.begins;
  });
  steps::RangeWatch watch;
  std::map<std::pair<std::uint32_t, std::string>, steps::RangeWatch::Found> candidates;
  std::uint64_t launches = 0;
  for (const Edge& edge : edges) {
    while (launches < events.launches.size() && events.launches[launches].time_ns < edge.time_ns) ++launches;
    const auto name = events.names.find(edge.range->path);
    if (name == events.names.end()) continue;
    const std::uint32_t thread = edge.range->thread_id;
    if (edge.begins) {
      watch.begin(name->second, thread, launches, edge.time_ns);
      continue;
    }
    steps::RangeWatch::Found found;
    std::pair key(thread, std::string(steps::FoldedName(name->second).text()));
    if (watch.end(thread, launches, edge.time_ns, &found))
      candidates[std::move(key)] = found;
    else
      candidates.erase(key);
  }
  std::optional<RangesFound> best;
  for (const auto& [key, found] : candidates) {
    if (!best || std::pair(found.share, found.ranges) > std::pair(best->found.share, best->found.ranges))
      best = RangesFound{found, key.first};
  }
  return best;
}

std::vector<Stretch> cut_by_ranges(const SearchedEvents& events, const RangesFound& chosen) {
  std::vector<const SearchedRange*> ranges;
  for (const SearchedRange& range : events.ranges) {
    const auto name = events.names.find(range.path);
    if (range.thread_id == chosen.thread_id && name != events.names.end() &&
        steps::FoldedName(name->second) == chosen.found.name)
      ranges.push_back(&range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  const auto at = [&](std::int64_t time_ns) {
    return static_cast<std::size_t>(
        std::lower_bound(events.launches.begin(), events.launches.end(), time_ns,
                         [](const SearchedLaunch& launch, std::int64_t t) { return launch.time_ns < t; }) -
        events.launches.begin());
  };
  std::vector<Stretch> stretches;
  for (const SearchedRange* range : ranges)
    stretches.push_back({at(range->start_ns), at(range->end_ns), range->start_ns, range->end_ns});
  return stretches;
}

// Launches were counted in it, which took their time.
bool is_disturbed(const std::vector<std::pair<std::int64_t, std::int64_t>>& counting, const Stretch& step) {
  return std::any_of(counting.begin(), counting.end(), [&](const auto& other) {
    return other.first < step.end_ns && other.second > step.start_ns;
  });
}

void place(const Launches& launches, const std::vector<Stretch>& stretches, StepSource source,
           RecordedSteps& recorded) {
  std::erase_if(recorded.steps, [](const auto& step) { return !step.second.stretch; });
  std::vector<std::pair<std::int64_t, std::int64_t>> counting;
  for (const auto& [index, step] : recorded.steps)
    counting.emplace_back(step.start_ns, step.end_ns.value_or(INT64_MAX));
  std::uint32_t next = 0;
  const auto warmup = static_cast<std::uint32_t>(std::min<std::size_t>(kMaxWarmup, stretches.size() / 5));
  for (const Stretch& stretch : stretches) {
    const std::uint32_t index = next++;
    RecordedStep& step = recorded.steps[index];
    step.index = step.position = index;
    step.phase = index < warmup || is_disturbed(counting, stretch) ? Phase::warmup : Phase::timeline;
    step.source = source;
    step.start_ns = stretch.start_ns;
    step.end_ns = stretch.end_ns;
    std::uint32_t ordinal = 0;
    for (std::size_t i = stretch.first; i < stretch.end; ++i) {
      const SearchedLaunch& launch = launches[i];
      recorded.placed[launch.correlation_id] = {index, launch.graph ? kNone : ordinal++};
      if (launch.graph) step.graph_calls.push_back({.correlation_id = launch.correlation_id});
    }
    std::sort(step.graph_calls.begin(), step.graph_calls.end(),
              [](const auto& a, const auto& b) { return a.correlation_id < b.correlation_id; });
  }
}

bool fits_better(const steps::Period& period, const RangesFound& ranges) {
  return !period.varies && steps::step_of(period).periods == 1 && period.coverage >= ranges.found.share &&
         period.repeats >= kPeriodsPerEpoch * ranges.found.ranges;
}

}  // namespace

void find_steps(SearchedEvents events, RecordedSteps& recorded) {
  if (events.launches.size() < kMinLaunches) return;
  std::sort(events.launches.begin(), events.launches.end(),
            [](const SearchedLaunch& a, const SearchedLaunch& b) {
              return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.correlation_id < b.correlation_id;
            });
  const Launches busiest = of_busiest_context(events.launches);
  const std::optional<steps::Period> period =
      busiest.size() < kMinLaunches ? std::nullopt : find_period(busiest);
  const std::optional<RangesFound> ranges = find_ranges(events);
  if (ranges && !(period && fits_better(*period, *ranges))) {
    const std::vector<Stretch> cut = cut_by_ranges(events, *ranges);
    place(events.launches, cut, StepSource::nvtx, recorded);
    recorded.steps_found = Reason(ReasonCode::steps_by_range, {{"name", one_line(ranges->found.name.text())},
                                                               {"steps", cut.size()},
                                                               {"launches_ratio", ranges->found.share}});
    return;
  }
  if (!period) return;
  const steps::StepPeriodFound found = steps::step_of(*period);
  const std::vector<Stretch> cut = cut_by_period(busiest, *period);
  place(busiest, cut, StepSource::period, recorded);
  recorded.steps_found = Reason(ReasonCode::steps_by_period, {{"steps", cut.size()},
                                                              {"launches", period->launches},
                                                              {"periods", found.periods},
                                                              {"step_ns", found.step_ns},
                                                              {"varies", period->varies ? 1 : 0}});
}

}  // namespace ridgeline::import
