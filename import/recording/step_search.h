// step_search.h: the steps of a process in whose recording none is marked: a program that was over before the agent
// looked twice, or one that another profiler recorded. The same searches as the agent's, over all launches.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "recording/steps.h"
#include "ridgeline/steps/launch_key.h"

namespace ridgeline::import {

/// A launch as the search sees it. Of a source without call times: the start of the execution.
struct SearchedLaunch {
  std::int64_t time_ns = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t context_id = 0;
  steps::Key key = 0;
  bool graph = false;
  std::int64_t start_ns = 0;  ///< of its execution; 0: not known
  std::uint32_t kernels = 1;  ///< of a graph as many as are known
};

/// A range of the program that no other is round.
struct SearchedRange {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread_id = 0;
  std::uint32_t path = 0;
};

/// In any order. Without ranges only the launches are searched.
struct SearchedEvents {
  std::vector<SearchedLaunch> launches;
  std::vector<SearchedRange> ranges;
  std::unordered_map<std::uint32_t, std::string> names;  // of the ranges' paths
};

/// Before the first pass over the launches. If steps are found `recorded` has them then, on the timeline only, and
/// launches, ranges and waits are placed in them; `recorded.steps_found` says what they are. Ranges of one
/// name, numbers in it aside, that come again and again round nearly all launches are the steps, unless a
/// period of steps that launch alike explains as much and comes many times in each of them; without either, a
/// period of steps that vary.
void find_steps(SearchedEvents events, RecordedSteps& recorded);

}  // namespace ridgeline::import
