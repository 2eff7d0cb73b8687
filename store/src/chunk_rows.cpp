#include "chunk_rows.h"

#include <string>

namespace ridgeline::store {

Chunks launch_chunks(const Database& database, bool of_v3) {
  Chunks chunks;
  Statement row = database.prepare(
      std::string("SELECT id, process_id, base_ns, base_correlation_id, begin_ns, end_ns") +
      (of_v3 ? ""
             : ", stride_ns, correlation_stride, base_host_ns, host_stride_ns, base_step_id, base_ordinal") +
      " FROM launch_chunk");
  while (row.step()) {
    Chunk& chunk = chunks[row.int64(0)];
    chunk.process_id = row.optional_int64(1);
    chunk.base_ns = row.int64(2);
    chunk.base_correlation_id = row.int64(3);
    chunk.start_ns = row.optional_int64(4);
    chunk.end_ns = row.optional_int64(5);
    if (of_v3) continue;
    chunk.stride_ns = row.int64(6);
    chunk.correlation_stride = row.int64(7);
    chunk.base_host_ns = row.int64(8);
    chunk.host_stride_ns = row.int64(9);
    chunk.base_step_id = row.int64(10);
    chunk.base_ordinal = row.int64(11);
  }
  return chunks;
}

Chunks range_chunks(const Database& database) {
  Chunks chunks;
  Statement row = database.prepare("SELECT id, base_ns, begin_ns, end_ns FROM range_chunk");
  while (row.step()) {
    Chunk& chunk = chunks[row.int64(0)];
    chunk.base_ns = row.int64(1);
    chunk.start_ns = row.optional_int64(2);
    chunk.end_ns = row.optional_int64(3);
    chunk.open_ended = row.is_null(3);
  }
  return chunks;
}

std::string launch_columns(bool of_v3, LaunchColumns columns) {
  const std::string place = of_v3 ? ", r.step_id, r.ordinal_in_step" : ", r.step_offset, r.ordinal_offset";
  const std::string host =
      of_v3 ? ", r.host_lead_ns, r.host_duration_ns" : ", r.host_offset_ns, r.host_duration_ns";
  const std::string text = "r.id, r.site_id, r.start_offset_ns, r.duration_ns";
  switch (columns) {
    case LaunchColumns::times:
      return text + place;
    case LaunchColumns::events:
      return text + host;
    case LaunchColumns::all:
      break;
  }
  return text + host + place + ", r.correlation_offset";
}

}  // namespace ridgeline::store
