#include "spool/split_groups.h"

#include <iterator>
#include <unordered_map>

#include "spool/nccl_calls.h"

namespace ridgeline::import {

namespace {

// By path.
std::unordered_map<std::uint32_t, const NcclMaker*> makers_of(const spool::Reader& reader,
                                                              const ScannedSpool& spool) {
  std::unordered_map<std::uint32_t, const NcclMaker*> makers;
  for (const auto& [id, path] : spool.paths) {
    if (reader.string_or(path.domain, "") != kNcclDomain) continue;
    if (const NcclMaker* maker = maker_of(reader.string_or(path.name, ""))) makers[id] = maker;
  }
  return makers;
}

}  // namespace

void SplitGroups::add(const spool::Reader& reader, const ScannedSpool& spool) {
  const auto makers = makers_of(reader, spool);
  bool splits = false;
  for (const auto& [path, maker] : makers) splits = splits || maker->ranks_at == 0;
  if (!splits) return;
  std::unordered_map<std::uint64_t, const NcclMaker*> ranges;
  visit_records(reader, {spool::RecordType::nvtx_range}, {}, [&](const spool::RecordView& view) {
    const auto* range = view.as<spool::NvtxRangeRecord>();
    if (range == nullptr) return;
    if (const auto maker = makers.find(range->path_id); maker != makers.end())
      ranges[range->range_id] = maker->second;
  });
  visit_records(reader, {spool::RecordType::nvtx_payload}, {}, [&](const spool::RecordView& view) {
    const auto* payload = view.as<spool::NvtxPayloadRecord>();
    if (payload == nullptr || payload->position != 0) return;
    const auto range = ranges.find(payload->range_id);
    if (range == ranges.end() || payload->length_bytes != range->second->payload_bytes) return;
    made(std::string(view.trailing_bytes()), range->second->ranks_at == 0);
    ranges.erase(range);
  });
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
