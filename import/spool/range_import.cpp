#include "spool/range_import.h"

#include <cstring>
#include <string>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

// NVTX payload schema of a program's declared work: two little-endian int64, algorithmic bytes and FLOPs.
constexpr std::uint64_t kOpCostSchemaId = (std::uint64_t{1} << 24) + 0x524C;
constexpr int kMaxPathDepth = 256;

}  // namespace

// The text of a path is made when it is first used; only ids are kept.
std::optional<store::Id> RangeImport::path_id(std::uint32_t id) {
  if (id == 0) return std::nullopt;
  if (auto known = path_ids_.find(id); known != path_ids_.end()) return known->second;
  std::string text;
  std::uint32_t at = id;
  for (int depth = 0; at != 0 && depth < kMaxPathDepth; ++depth) {
    const auto node = spool_.paths.find(at);
    if (node == spool_.paths.end()) break;
    const std::string name = one_line(reader_.string_or(node->second.name, "?"));
    text = text.empty() ? name : name + " / " + text;
    at = node->second.parent_id;
  }
  const auto row = text.empty() ? std::nullopt : std::optional(writer_.string_id(text));
  path_ids_[id] = row;
  return row;
}

// A range is written when it ends, so children come before their parent: they wait for its row.
void RangeImport::add(const NvtxRangeRecord& range) {
  if (range.kind == NvtxKind::kMark) return;
  if (range.parent_range_id != 0 && !range_ids_.contains(range.parent_range_id)) {
    waiting_[range.parent_range_id].push_back(range);
    return;
  }
  write(range);
}

void RangeImport::write(const NvtxRangeRecord& outer) {
  std::vector<NvtxRangeRecord> ready{outer};
  while (!ready.empty()) {
    const NvtxRangeRecord range = ready.back();
    ready.pop_back();
    if (range_ids_.contains(range.range_id)) continue;
    store::NvtxRange row;
    row.process_id = process_id_;
    row.thread_id = range.thread_id;
    if (auto parent = range_ids_.find(range.parent_range_id); parent != range_ids_.end()) {
      row.parent_id = parent->second;
    }
    row.depth = static_cast<int>(range.depth);
    const auto path = path_id(range.path_id);
    const auto node = spool_.paths.find(range.path_id);
    if (path && node != spool_.paths.end()) {
      row.path_id = *path;
      row.name_id = writer_.string_id(one_line(reader_.string_or(node->second.name, "?")));
      if (const auto domain = reader_.string(node->second.domain)) {
        row.domain_id = writer_.string_id(one_line(*domain));
      }
    } else {
      row.path_id = row.name_id = writer_.string_id("?");
    }
    if (const auto step = spool_.steps.find(range.step_index); step != spool_.steps.end()) {
      row.step_id = step->second.id;
    }
    row.start_ns = range.start_ns;
    if ((range.header.flags & kRangeUnclosed) == 0) row.end_ns = range.end_ns;
    range_ids_[range.range_id] = writer_.add(row);
    row_written_();
    if (auto children = waiting_.find(range.range_id); children != waiting_.end()) {
      ready.insert(ready.end(), children->second.begin(), children->second.end());
      waiting_.erase(children);
    }
  }
}

void RangeImport::add(const NvtxPayloadRecord& payload, std::string_view bytes) {
  std::int64_t work[2];
  if (payload.schema_id != kOpCostSchemaId || bytes.size() < sizeof work) return;
  std::memcpy(work, bytes.data(), sizeof work);
  declared_.push_back({payload.range_id, work[0], work[1]});
}

void RangeImport::finish() {
  // Their parents never ended: a killed process. The path still names them.
  auto orphans = std::move(waiting_);
  waiting_.clear();
  for (const auto& [parent, ranges] : orphans) {
    for (const NvtxRangeRecord& range : ranges) write(range);
  }
  for (const Declared& work : declared_) {
    const auto range = range_ids_.find(work.range_id);
    if (range == range_ids_.end()) continue;
    writer_.add(store::Annotation{.nvtx_range_id = range->second,
                                  .name = "op_cost",
                                  .bytes = static_cast<double>(work.bytes),
                                  .flops = static_cast<double>(work.flops)});
    row_written_();
  }
}

}  // namespace ridgeline::import
