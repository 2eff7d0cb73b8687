#include "spool/copy_collectives.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ridgeline::import {

namespace {

// A recording with more calls than that is none of a program that trains.
constexpr std::size_t kMaxCalls = std::size_t{1} << 22;

}  // namespace

void CopyCollectives::launched(std::uint32_t thread_id, std::uint32_t correlation_id, bool captured) {
  Thread& thread = threads_[thread_id];
  for (const std::size_t call : thread.open) {
    calls_[call].before = correlation_id;
    calls_[call].captured = calls_[call].captured || captured;
  }
  thread.open.clear();
  thread.last = correlation_id;
  thread.captured = captured;
}

void CopyCollectives::called(std::uint32_t thread_id, const Call& call) {
  if (call.part_bytes <= 0 || calls_.size() >= kMaxCalls) return;
  Thread& thread = threads_[thread_id];
  thread.open.push_back(calls_.size());
  calls_.push_back({.call = call, .after = thread.last, .before = UINT32_MAX, .captured = thread.captured});
}

void CopyCollectives::graph_made() {
  std::vector<Call> calls;
  for (; first_of_graph_ < calls_.size(); ++first_of_graph_) {
    if (calls_[first_of_graph_].captured) calls.push_back(calls_[first_of_graph_].call);
  }
  if (!calls.empty() && std::find(graphs_.begin(), graphs_.end(), calls) == graphs_.end())
    graphs_.push_back(std::move(calls));
}

void CopyCollectives::copied(const Copy& copy, store::Id row) {
  if (copy.kind != CopyKind::peer_to_peer || calls_.empty()) return;
  (copy.graph_node ? of_graph_launches_ : eager_)[copy.correlation_id].push_back(
      {copy.start_ns, copy.bytes, row});
}

// The copies in their order, each call as many as have its bytes; none if one is left or cut.
std::optional<std::vector<CopyCollectives::OfGraph>> CopyCollectives::shared_out(
    const std::vector<Call>& calls, const Copies& copies, const OtherRanks& other_ranks) {
  std::vector<OfGraph> all;
  auto next = copies.begin();
  for (const Call& call : calls) {
    const auto others = other_ranks(call.group);
    if (!others || *others < 1 || call.part_bytes > INT64_MAX / *others) return std::nullopt;
    std::int64_t left = call.part_bytes * *others;
    OfGraph of{call, {}};
    while (left > 0 && next != copies.end() && next->bytes > 0 && next->bytes <= left) {
      left -= next->bytes;
      of.copies.push_back(next++->row);
    }
    if (left != 0) return std::nullopt;
    all.push_back(std::move(of));
  }
  return next == copies.end() ? std::optional(std::move(all)) : std::nullopt;
}

void CopyCollectives::finish(const OtherRanks& other_ranks, const Found& found) {
  for (auto* copies : {&eager_, &of_graph_launches_}) {
    for (auto& [correlation, of] : *copies)
      std::sort(of.begin(), of.end(), [](const Sent& a, const Sent& b) {
        return std::pair(a.start_ns, a.row) < std::pair(b.start_ns, b.row);
      });
  }
  for (const Waiting& waiting : calls_) {
    for (auto of = eager_.upper_bound(waiting.after); of != eager_.end() && of->first < waiting.before;
         ++of) {
      const auto joined = shared_out({waiting.call}, of->second, other_ranks);
      if (!joined) continue;
      found(waiting.call, joined->front().copies);
      eager_.erase(of);
      break;
    }
  }
  for (const auto& [correlation, copies] : of_graph_launches_) {
    std::optional<std::vector<OfGraph>> one;
    bool several = false;
    for (const std::vector<Call>& calls : graphs_) {
      auto joined = shared_out(calls, copies, other_ranks);
      several = several || (one && joined);
      if (joined) one = std::move(joined);
    }
    if (!one || several) continue;
    for (const OfGraph& of : *one) found(of.call, of.copies);
  }
}

}  // namespace ridgeline::import
