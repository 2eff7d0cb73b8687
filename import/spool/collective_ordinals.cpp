#include "spool/collective_ordinals.h"

#include <algorithm>
#include <set>

namespace ridgeline::import {

void CollectiveOrdinals::left_out_from(std::int64_t time_ns) {
  left_out_from_ns_ = std::min(left_out_from_ns_.value_or(time_ns), time_ns);
}

std::uint64_t CollectiveOrdinals::first_missing_range() {
  std::sort(recorded_.begin(), recorded_.end());
  std::uint64_t expected = 1;
  for (const std::uint64_t range : recorded_) {
    if (range > expected) break;
    if (range == expected) ++expected;
  }
  return expected;
}

CollectiveOrdinals::Counts CollectiveOrdinals::counts_of_made(std::size_t unnamed) const {
  Counts counts;
  for (const auto& [group, times] : made_) {
    if (times == 1) counts[group] = 0;
  }
  std::set<std::uint64_t> others;
  for (const Call& call : calls_) {
    if (!made_.contains(call.group)) others.insert(call.group);
  }
  if (others.size() > unnamed) return counts;
  for (const std::uint64_t group : others) counts[group] = 0;
  return counts;
}

void CollectiveOrdinals::count(std::size_t unnamed) {
  if (forgotten_) return;
  Counts counts = counts_of_made(unnamed);
  std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
    return std::pair(a.start_ns, a.range) < std::pair(b.start_ns, b.range);
  });
  std::sort(graph_launches_.begin(), graph_launches_.end(), [](const GraphLaunch& a, const GraphLaunch& b) {
    return std::pair(a.enter_ns, a.correlation_id) < std::pair(b.enter_ns, b.correlation_id);
  });
  const std::uint64_t missing = first_missing_range();
  const std::int64_t end_ns = left_out_from_ns_.value_or(INT64_MAX);
  auto call = calls_.begin();
  auto graph = graph_launches_.begin();
  while (call != calls_.end() || graph != graph_launches_.end()) {
    const bool is_call =
        graph == graph_launches_.end() || (call != calls_.end() && call->start_ns <= graph->enter_ns);
    if ((is_call ? call->start_ns : graph->enter_ns) >= end_ns) break;
    if (is_call) {
      count_call(*call++, missing, counts);
    } else {
      count_graph(*graph++, counts);
    }
  }
}

void CollectiveOrdinals::count_call(const Call& call, std::uint64_t first_missing, Counts& counts) {
  if (captured_.contains(call.range)) return;
  const auto count = counts.find(call.group);
  if (count == counts.end() || !count->second) return;
  // Whether engines do it now or with each launch of a graph cannot be told.
  if (call.range > first_missing || (has_graphs_ && without_launch_.contains(call.range))) {
    count->second.reset();
    return;
  }
  of_calls_[call.range] = (*count->second)++;
}

void CollectiveOrdinals::count_graph(const GraphLaunch& launch, Counts& counts) {
  const auto known = graph_calls_.find(launch.correlation_id);
  const bool all_known = known != graph_calls_.end() &&
                         std::all_of(known->second.begin(), known->second.end(), [](const GraphCall& call) {
                           return !call.numbered || (call.group && call.calls > 0);
                         });
  if (!all_known) {
    counts.clear();
    return;
  }
  std::vector<std::optional<std::int64_t>> ordinals;
  for (const GraphCall& call : known->second) {
    std::optional<std::int64_t> ordinal;
    const auto count = call.numbered ? counts.find(*call.group) : counts.end();
    if (count != counts.end() && count->second) {
      ordinal = *count->second;
      *count->second += call.calls;
    }
    ordinals.push_back(ordinal);
  }
  of_graphs_[launch.correlation_id] = std::move(ordinals);
}

std::optional<std::int64_t> CollectiveOrdinals::of_call(std::uint64_t range) const {
  const auto found = of_calls_.find(range);
  return found == of_calls_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> CollectiveOrdinals::of_graph(std::uint32_t correlation_id,
                                                         std::size_t place) const {
  const auto found = of_graphs_.find(correlation_id);
  return found == of_graphs_.end() || place >= found->second.size() ? std::nullopt : found->second[place];
}

}  // namespace ridgeline::import
