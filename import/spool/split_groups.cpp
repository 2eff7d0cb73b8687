#include "spool/split_groups.h"

#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "spool/nccl_calls.h"

namespace ridgeline::import {

namespace {

// By path.
std::unordered_map<std::uint32_t, const NcclGroupCall*> makers_of(const spool::Reader& reader,
                                                                  const ScannedSpool& spool) {
  std::unordered_map<std::uint32_t, const NcclGroupCall*> makers;
  for (const auto& [id, path] : spool.paths) {
    if (reader.string_or(path.domain, "") != kNcclDomain) continue;
    const NcclGroupCall* call = group_call_of(reader.string_or(path.name, ""));
    if (call != nullptr && call->makes) makers[id] = call;
  }
  return makers;
}

std::unordered_set<std::uint32_t> paths_of_calls(const spool::Reader& reader, const ScannedSpool& spool) {
  std::unordered_set<std::uint32_t> paths;
  for (const auto& [id, path] : spool.paths) {
    if (reader.string_or(path.domain, "") != kNcclDomain) continue;
    if (nccl_function_of(reader.string_or(path.name, ""))) paths.insert(id);
  }
  return paths;
}

// A call's first payload, which begins with its communicator's hash since 2.25.
template <typename Visit>
void visit_payloads(const spool::Reader& reader, const Visit& visit) {
  visit_records(reader, {spool::RecordType::nvtx_payload}, {}, [&](const spool::RecordView& view) {
    const auto* payload = view.as<spool::NvtxPayloadRecord>();
    if (payload != nullptr && payload->position == 0) visit(*payload, std::string(view.trailing_bytes()));
  });
}

}  // namespace

void SplitGroups::add(const spool::Reader& reader, const ScannedSpool& spool) {
  const auto makers = makers_of(reader, spool);
  bool splits = false;
  for (const auto& [path, maker] : makers) splits = splits || maker->ranks_at == 0;
  if (!splits) return;
  std::unordered_map<std::uint64_t, const NcclGroupCall*> ranges;
  visit_records(reader, {spool::RecordType::nvtx_range}, {}, [&](const spool::RecordView& view) {
    const auto* range = view.as<spool::NvtxRangeRecord>();
    if (range == nullptr) return;
    if (const auto maker = makers.find(range->path_id); maker != makers.end())
      ranges[range->range_id] = maker->second;
  });
  visit_payloads(reader, [&](const spool::NvtxPayloadRecord& payload, const std::string& bytes) {
    const auto range = ranges.find(payload.range_id);
    if (range == ranges.end() || payload.length_bytes != range->second->payload_bytes) return;
    made(bytes, range->second->ranks_at == 0);
    ranges.erase(range);
  });
  if (!ranges.empty()) count_callers(reader, spool);
}

void SplitGroups::count_callers(const spool::Reader& reader, const ScannedSpool& spool) {
  const std::unordered_set<std::uint32_t> paths = paths_of_calls(reader, spool);
  std::unordered_set<std::uint64_t> calls, groups;
  visit_records(reader, {spool::RecordType::nvtx_range}, {}, [&](const spool::RecordView& view) {
    const auto* range = view.as<spool::NvtxRangeRecord>();
    if (range != nullptr && paths.contains(range->path_id)) calls.insert(range->range_id);
  });
  visit_payloads(reader, [&](const spool::NvtxPayloadRecord& payload, const std::string& bytes) {
    if (calls.contains(payload.range_id)) groups.insert(number_at<std::uint64_t>(bytes, 0));
  });
  for (const std::uint64_t group : groups) ++callers_[group];
}

std::int64_t SplitGroups::callers(std::uint64_t group) const {
  const auto found = callers_.find(group);
  return found == callers_.end() ? 0 : found->second;
}

void SplitGroups::made(const std::string& payload, bool by_split) {
  const auto group = number_at<std::uint64_t>(payload, 0);
  ++made_[group];
  if (!by_split) return;
  Split& split = splits_[group];
  split.parent = number_at<std::uint64_t>(payload, kSplitParentAt);
  split.parent_ranks = number_at<std::int32_t>(payload, kSplitRanksAt);
  split.members.emplace(number_at<std::int32_t>(payload, kSplitKeyAt),
                        number_at<std::int32_t>(payload, kSplitRankAt));
}

std::optional<SplitGroups::Place> SplitGroups::of(std::uint64_t group, std::int64_t parent_rank) const {
  const auto split = splits_.find(group);
  if (split == splits_.end()) return std::nullopt;
  const auto parent = made_.find(split->second.parent);
  if (parent == made_.end() || static_cast<std::int64_t>(parent->second) != split->second.parent_ranks)
    return std::nullopt;
  const auto& members = split->second.members;
  for (auto member = members.begin(); member != members.end(); ++member) {
    if (member->second == parent_rank)
      return Place{static_cast<std::int64_t>(members.size()), std::distance(members.begin(), member)};
  }
  return std::nullopt;
}

}  // namespace ridgeline::import
