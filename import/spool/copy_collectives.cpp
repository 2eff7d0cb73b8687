#include "spool/copy_collectives.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace ridgeline::import {

namespace {

// A recording with more calls than that is none of a program that trains.
constexpr std::size_t kMaxCalls = std::size_t{1} << 22;

}  // namespace

void CopyCollectives::called(std::uint32_t thread_id, std::int64_t time_ns, std::uint32_t graph,
                             std::uint64_t range, const Call& call) {
  if (call.part_bytes <= 0 || calls_.size() >= kMaxCalls) return;
  of_threads_[thread_id].push_back(calls_.size());
  calls_.push_back({.call = call,
                    .time_ns = time_ns,
                    .graph = graph,
                    .range = range,
                    .last_before = {},
                    .first_behind = {}});
}

void CopyCollectives::launched(std::uint32_t thread_id, std::int64_t time_ns, std::uint32_t correlation_id,
                               bool captured) {
  const auto thread = of_threads_.find(thread_id);
  if (thread == of_threads_.end()) return;
  const std::vector<std::size_t>& places = thread->second;
  const Launch launch{time_ns, correlation_id, captured};
  const auto next = std::partition_point(places.begin(), places.end(), [&](std::size_t place) {
    return calls_[place].time_ns <= launch.time_ns;
  });
  if (next != places.end()) {
    std::optional<Launch>& last = calls_[*next].last_before;
    if (!last || last->time_ns <= launch.time_ns) last = launch;
  }
  if (next != places.begin()) {
    std::optional<Launch>& first = calls_[*std::prev(next)].first_behind;
    if (!first || launch.time_ns < first->time_ns) first = launch;
  }
}

// Calls with no launch between them lie between the same two.
void CopyCollectives::share_launches() {
  for (const auto& [thread, places] : of_threads_) {
    for (std::size_t i = 1; i < places.size(); ++i) {
      Waiting& call = calls_[places[i]];
      if (!call.last_before) call.last_before = calls_[places[i - 1]].last_before;
    }
    for (std::size_t i = places.size() - 1; i-- > 0;) {
      Waiting& call = calls_[places[i]];
      if (!call.first_behind) call.first_behind = calls_[places[i + 1]].first_behind;
    }
  }
}

// Calls beside launches that were captured; those of the same graph are of one.
std::vector<std::vector<CopyCollectives::Call>> CopyCollectives::graphs() const {
  std::map<std::uint32_t, std::vector<Call>> captured;
  for (const Waiting& waiting : calls_) {
    const auto is_captured = [](const std::optional<Launch>& launch) { return launch && launch->captured; };
    if (is_captured(waiting.last_before) || is_captured(waiting.first_behind))
      captured[waiting.graph].push_back(waiting.call);
  }
  std::vector<std::vector<Call>> graphs;
  for (auto& [graph, calls] : captured) {
    if (std::find(graphs.begin(), graphs.end(), calls) == graphs.end()) graphs.push_back(std::move(calls));
  }
  return graphs;
}

void CopyCollectives::copied(const Copy& copy, store::Id row) {
  if (copy.kind != CopyKind::peer_to_peer || calls_.empty()) return;
  (copy.graph_node ? of_graph_launches_ : eager_)[copy.correlation_id].push_back(
      {copy.start_ns, copy.bytes, row});
}

// The copies in their order, each call as many as have its bytes; none if one is left or cut.
std::optional<std::vector<CopyCollectives::Copied>> CopyCollectives::shared_out(
    const std::vector<Call>& calls, const Copies& copies, const OtherRanks& other_ranks) {
  std::vector<Copied> all;
  auto next = copies.begin();
  for (const Call& call : calls) {
    const auto others = other_ranks(call.group);
    if (!others || *others < 1 || call.part_bytes > INT64_MAX / *others) return std::nullopt;
    std::int64_t left = call.part_bytes * *others;
    Copied of{call, 0, {}};
    while (left > 0 && next != copies.end() && next->bytes > 0 && next->bytes <= left) {
      left -= next->bytes;
      of.copies.push_back(next++->row);
    }
    if (left != 0) return std::nullopt;
    all.push_back(std::move(of));
  }
  return next == copies.end() ? std::optional(std::move(all)) : std::nullopt;
}

std::vector<CopyCollectives::Copied> CopyCollectives::finish(const OtherRanks& other_ranks) {
  std::vector<Copied> found;
  share_launches();
  for (auto* copies : {&eager_, &of_graph_launches_}) {
    for (auto& [correlation, of] : *copies)
      std::sort(of.begin(), of.end(), [](const Sent& a, const Sent& b) {
        return std::pair(a.start_ns, a.row) < std::pair(b.start_ns, b.row);
      });
  }
  for (const Waiting& waiting : calls_) {
    const std::uint32_t after = waiting.last_before ? waiting.last_before->correlation_id : 0;
    const std::uint32_t before =
        waiting.first_behind ? waiting.first_behind->correlation_id : std::uint32_t{UINT32_MAX};
    for (auto of = eager_.upper_bound(after); of != eager_.end() && of->first < before; ++of) {
      auto joined = shared_out({waiting.call}, of->second, other_ranks);
      if (!joined) continue;
      joined->front().range = waiting.range;
      found.push_back(std::move(joined->front()));
      eager_.erase(of);
      break;
    }
  }
  const std::vector<std::vector<Call>> captured = graphs();
  for (const auto& [correlation, copies] : of_graph_launches_) {
    std::optional<std::vector<Copied>> one;
    bool several = false;
    for (const std::vector<Call>& calls : captured) {
      auto joined = shared_out(calls, copies, other_ranks);
      several = several || (one && joined);
      if (joined) one = std::move(joined);
    }
    if (!one || several) continue;
    std::move(one->begin(), one->end(), std::back_inserter(found));
  }
  return found;
}

}  // namespace ridgeline::import
