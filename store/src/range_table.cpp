#include "range_table.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ridgeline::store {

namespace {

constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

}  // namespace

RangeTable::RangeTable(Database& database, StepSums& sums)
    : sums_(sums),
      insert_site_(
          database.prepare("INSERT INTO range_site(process_id, thread_id, depth, name_id, path_id, domain_id)"
                           " VALUES (?,?,?,?,?,?)")),
      insert_chunk_(database.prepare(
          "INSERT INTO range_chunk VALUES (?1,?2,?3,?4) ON CONFLICT(id) DO UPDATE SET begin_ns = ?3,"
          " end_ns = ?4")),
      rows_(database, "range_row"),
      insert_work_(database.prepare("INSERT INTO declared_work(name, bytes, flops) VALUES (?,?,?)")),
      insert_range_work_(database.prepare("INSERT INTO range_work(range_id, work_id) VALUES (?,?)")),
      database_(database) {}

std::size_t RangeTable::WorkHash::operator()(const WorkKey& key) const {
  FieldHash hash;
  hash.add(static_cast<std::int64_t>(std::hash<std::string>{}(key.name)));
  for (const auto& value : {key.bytes, key.flops, key.tokens, key.samples})
    hash.add(value ? static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(*value)) : kAbsent);
  for (const auto& value : {key.m, key.n, key.k}) hash.add(value.value_or(kAbsent));
  return hash.value();
}

Id RangeTable::site_id(const NvtxRange& range) {
  const SiteKey key = {range.process_id, range.thread_id, range.depth,
                       range.name_id,    range.path_id,   range.domain_id.value_or(kAbsent)};
  if (const auto known = sites_.find(key); known != sites_.end()) return known->second;
  if (sites_.size() >= kMaxRemembered) sites_.clear();
  insert_site_.bind_all(range.process_id, range.thread_id, range.depth, range.name_id, range.path_id,
                        range.domain_id);
  insert_site_.run();
  return sites_[key] = database_.last_insert_id();
}

Id RangeTable::work_id(const Annotation& work) {
  WorkKey key{work.name, work.bytes, work.flops, work.tokens, work.samples, work.m, work.n, work.k};
  if (const auto known = works_.find(key); known != works_.end()) return known->second;
  if (works_.size() >= kMaxRemembered) works_.clear();
  insert_work_.bind_all(work.name, work.bytes, work.flops);
  insert_work_.run();
  const Id id = database_.last_insert_id();
  // Apart, because older captures on their way to version 3 have the columns above only.
  if (work.tokens || work.samples || work.m || work.n || work.k) {
    Statement more = database_.prepare(
        "UPDATE declared_work SET tokens = ?, samples = ?, m = ?, n = ?, k = ? WHERE id = ?");
    more.bind_all(work.tokens, work.samples, work.m, work.n, work.k, id);
    more.run();
  }
  return works_[std::move(key)] = id;
}

void RangeTable::add_with_id(const NvtxRange& range, std::optional<Id> work_id) {
  next_id_ = std::max(next_id_, range.id + 1);
  if (!reserved_.empty()) reserved_.erase(range.id);
  const auto [found, fresh] = chunks_.try_emplace(chunk_of(range.id));
  Chunk& chunk = found->second;
  if (fresh) chunk.base_ns = chunk.start_ns = range.start_ns;
  chunk.start_ns = std::min(chunk.start_ns, range.start_ns);
  if (range.end_ns) {
    chunk.end_ns = std::max(chunk.end_ns.value_or(*range.end_ns), *range.end_ns);
  } else {
    chunk.open_ended = true;
  }
  if (!chunk.dirty) dirty_chunks_.push_back(found->first);
  chunk.dirty = true;
  std::optional<std::int64_t> parent_offset, duration_ns;
  if (range.parent_id) parent_offset = wrapping_subtract(range.id, *range.parent_id);
  if (range.end_ns) duration_ns = wrapping_subtract(*range.end_ns, range.start_ns);
  rows_.add({range.id, site_id(range), range.step_id, parent_offset,
             wrapping_subtract(range.start_ns, chunk.base_ns), duration_ns, work_id});
  if (range.step_id) sums_.add_range(*range.step_id, range.id);
}

Id RangeTable::add(const Annotation& annotation) {
  insert_range_work_.bind_all(annotation.nvtx_range_id, work_id(annotation));
  insert_range_work_.run();
  return database_.last_insert_id();
}

void RangeTable::drop_missing_parents() {
  if (reserved_.empty()) return;
  rows_.flush();
  database_.execute("CREATE TEMP TABLE missing_range(id INTEGER PRIMARY KEY)");
  {
    Statement insert = database_.prepare("INSERT OR IGNORE INTO missing_range VALUES (?)");
    for (const Id id : reserved_) {
      insert.bind_all(id);
      insert.run();
    }
  }
  database_.execute(
      "UPDATE range_row SET parent_offset = NULL WHERE id - parent_offset IN (SELECT id FROM missing_range);"
      "DROP TABLE missing_range");
  reserved_.clear();
}

void RangeTable::checkpoint() {
  rows_.flush();
  for (const Id id : dirty_chunks_) {
    Chunk& chunk = chunks_.at(id);
    insert_chunk_.bind_all(id, chunk.base_ns, chunk.start_ns,
                           chunk.open_ended ? std::optional<std::int64_t>() : chunk.end_ns);
    insert_chunk_.run();
    chunk.dirty = false;
  }
  dirty_chunks_.clear();
}

}  // namespace ridgeline::store
