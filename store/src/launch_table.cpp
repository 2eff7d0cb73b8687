#include "launch_table.h"

#include <algorithm>

#include "sequence_hash.h"

namespace ridgeline::store {

LaunchTable::LaunchTable(Database& database, StepSums& sums)
    : sums_(sums),
      insert_site_(database.prepare(
          "INSERT INTO launch_site(process_id, device_id, context_id, stream_id, graph_id, graph_node_id,"
          " kernel_id, thread_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y,"
          " cluster_z, registers_per_thread, static_smem_bytes, dynamic_smem_bytes, nvtx_path_id)"
          " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")),
      insert_chunk_(database.prepare(
          "INSERT INTO launch_chunk VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12) ON CONFLICT(id) DO UPDATE"
          " SET process_id = ?2, begin_ns = ?5, end_ns = ?6")),
      rows_(database, "launch_row"),
      insert_total_(database.prepare(
          "INSERT INTO site_total VALUES (?1,?2,?3,?4,?5) ON CONFLICT(site_id, phase) DO UPDATE SET"
          " launches = launches + ?3, timed_launches = timed_launches + ?4,"
          " kernel_time_ns = kernel_time_ns + ?5")),
      database_(database) {}

void LaunchTable::add_step(Id id, const Step& step) {
  if (id < 0) return;
  if (phase_of_step_.size() <= static_cast<std::size_t>(id))
    phase_of_step_.resize(static_cast<std::size_t>(id) + 1, 0);
  phase_of_step_[static_cast<std::size_t>(id)] = static_cast<std::uint8_t>(step.phase);
}

std::size_t LaunchTable::phase_number(std::optional<Id> step_id) const {
  if (!step_id || *step_id < 0 || static_cast<std::size_t>(*step_id) >= phase_of_step_.size()) return 0;
  return phase_of_step_[static_cast<std::size_t>(*step_id)];
}

LaunchTable::Site& LaunchTable::site_of(const Launch& launch) {
  const LaunchSiteKey key = launch_site_key(launch);
  Site* const guess = last_site_ == nullptr ? nullptr : last_site_->next;
  if (guess != nullptr && *guess->key == key) return *(last_site_ = guess);
  Site& found = find_site(launch, key);
  if (last_site_ != nullptr) last_site_->next = &found;
  return *(last_site_ = &found);
}

LaunchTable::Site& LaunchTable::find_site(const Launch& launch, const LaunchSiteKey& key) {
  if (const auto known = sites_.find(key); known != sites_.end()) return known->second;
  if (sites_.size() >= kMaxRemembered) {
    for (Site* site : dirty_sites_) write_totals(*site);
    dirty_sites_.clear();
    sites_.clear();
    last_site_ = nullptr;
  }
  const auto size = [&](std::int64_t Dim3::*member) {
    return launch.cluster ? std::optional((*launch.cluster).*member) : std::nullopt;
  };
  insert_site_.bind_all(
      launch.process_id, launch.device_id, launch.context_id, launch.stream_id, launch.graph_id,
      launch.graph_node_id, launch.kernel_id, launch.thread_id, launch.grid.x, launch.grid.y, launch.grid.z,
      launch.block.x, launch.block.y, launch.block.z, size(&Dim3::x), size(&Dim3::y), size(&Dim3::z),
      launch.registers_per_thread, launch.static_smem_bytes, launch.dynamic_smem_bytes, launch.nvtx_path_id);
  insert_site_.run();
  const auto place = sites_.try_emplace(key).first;
  Site& site = place->second;
  site.key = &place->first;
  site.id = database_.last_insert_id();
  return site;
}

void LaunchTable::write_chunk() {
  if (chunk_.id == kNoChunk) return;
  insert_chunk_.bind_all(chunk_.id, chunk_.process_id, chunk_.base_ns, chunk_.base_correlation_id,
                         chunk_.start_ns, chunk_.end_ns, chunk_.stride_ns, chunk_.correlation_stride,
                         chunk_.base_host_ns, chunk_.host_stride_ns, chunk_.base_step_id,
                         chunk_.base_ordinal);
  insert_chunk_.run();
}

std::int64_t LaunchTable::Increase::mean() const {
  constexpr std::int64_t kMax =
      1'000'000'000'000;  // times a place it is still far from the end of an integer
  if (last_place_ <= first_place_) return 0;
  const std::int64_t mean = wrapping_subtract(last_, first_) / (last_place_ - first_place_);
  return mean > 0 && mean < kMax ? mean : 0;
}

void LaunchTable::take_chunk(Id id, const Launch& launch) {
  if (chunk_of(id) == chunk_.id) return;
  write_chunk();
  Chunk next;
  next.id = chunk_of(id);
  next.process_id = launch.process_id;
  if (chunk_.process_id == next.process_id) {
    next.stride_ns = chunk_.starts.mean();
    next.host_stride_ns = chunk_.host_starts.mean();
    next.correlation_stride = chunk_.correlation_ids.mean();
  }
  const std::int64_t place = place_in_chunk(id);
  const auto before = [&](std::int64_t value, std::int64_t stride) {
    return wrapping_subtract(value, place * stride);
  };
  next.base_ns =
      before(has_usable_time(launch) ? launch.start_ns : launch.host_start_ns.value_or(0), next.stride_ns);
  next.base_host_ns = before(launch.host_start_ns.value_or(next.base_ns), next.host_stride_ns);
  next.base_correlation_id = before(launch.correlation_id, next.correlation_stride);
  next.base_step_id = launch.step_id.value_or(0);
  next.base_ordinal = before(launch.ordinal_in_step.value_or(0), 1);
  chunk_ = next;
}

Id LaunchTable::add(const Launch& launch) {
  if (chunk_of(next_id_) == chunk_.id && chunk_.process_id != launch.process_id)
    next_id_ = (chunk_.id + 1) << kChunkShift;
  const Id id = next_id_;
  add_as(launch, id);
  return id;
}

void LaunchTable::add_with_id(const Launch& launch) {
  add_as(launch, launch.id);
}

void LaunchTable::add_as(const Launch& launch, Id id) {
  next_id_ = std::max(next_id_, id + 1);
  Site& site = site_of(launch);
  take_chunk(id, launch);
  if (chunk_.process_id != launch.process_id) chunk_.process_id.reset();
  const bool timed = has_usable_time(launch);
  const std::int64_t duration_ns = wrapping_subtract(launch.end_ns, launch.start_ns);
  if (timed) {
    chunk_.start_ns = std::min(chunk_.start_ns.value_or(launch.start_ns), launch.start_ns);
    chunk_.end_ns = std::max(chunk_.end_ns.value_or(launch.end_ns), launch.end_ns);
  }
  const std::int64_t place = place_in_chunk(id);
  const auto from = [&](std::int64_t base, std::int64_t stride, std::int64_t value) {
    return wrapping_subtract(value, wrapping_add(base, place * stride));
  };
  std::optional<std::int64_t> step_offset, ordinal_offset, start_offset, host_offset, host_duration;
  if (launch.step_id) step_offset = wrapping_subtract(*launch.step_id, chunk_.base_step_id);
  if (launch.ordinal_in_step) ordinal_offset = from(chunk_.base_ordinal, 1, *launch.ordinal_in_step);
  if (launch.start_ns != 0) {
    start_offset = from(chunk_.base_ns, chunk_.stride_ns, launch.start_ns);
    chunk_.starts.add(place, launch.start_ns);
  }
  if (launch.host_start_ns) {
    host_offset = from(chunk_.base_host_ns, chunk_.host_stride_ns, *launch.host_start_ns);
    chunk_.host_starts.add(place, *launch.host_start_ns);
  }
  if (launch.host_end_ns) {
    const std::int64_t from_ns = launch.start_ns != 0 ? launch.start_ns : chunk_.base_ns;
    host_duration = wrapping_subtract(*launch.host_end_ns, launch.host_start_ns.value_or(from_ns));
  }
  chunk_.correlation_ids.add(place, launch.correlation_id);
  rows_.add({id, site.id, step_offset, ordinal_offset, start_offset, duration_ns, host_offset, host_duration,
             from(chunk_.base_correlation_id, chunk_.correlation_stride, launch.correlation_id)});

  const std::size_t phase = phase_number(launch.step_id);
  if (site.totals.size() <= phase) site.totals.resize(phase + 1);
  Total& total = site.totals[phase];
  ++total.launches;
  if (timed) {
    ++total.timed_launches;
    total.kernel_time_ns = wrapping_add(total.kernel_time_ns, duration_ns);
  }
  if (!site.dirty) dirty_sites_.push_back(&site);
  site.dirty = true;
  if (launch.step_id) sums_.add(launch, id);
}

void LaunchTable::write_totals(Site& site) {
  for (std::size_t phase = 0; phase < site.totals.size(); ++phase) {
    Total& total = site.totals[phase];
    if (total.launches == 0) continue;
    const std::string_view word = phase == 0 ? std::string_view() : to_string(static_cast<Phase>(phase));
    insert_total_.bind_all(site.id, word, total.launches, total.timed_launches, total.kernel_time_ns);
    insert_total_.run();
    total = {};
  }
  site.dirty = false;
}

void LaunchTable::checkpoint() {
  rows_.flush();
  write_chunk();
  for (Site* site : dirty_sites_) write_totals(*site);
  dirty_sites_.clear();
}

}  // namespace ridgeline::store
