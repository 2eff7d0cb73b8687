// chunk_rows.h: rows of launches and ranges as their chunks tell them (chunk.h), read back: what a row stores is its
// distance from what the chunk expected.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "chunk.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// What a chunk says of its rows.
struct Chunk {
  std::optional<Id> process_id;  ///< empty: several, or not said
  std::int64_t base_ns = 0;
  std::int64_t base_correlation_id = 0;
  std::optional<std::int64_t> start_ns, end_ns;
  bool open_ended = false;
  std::int64_t stride_ns = 0, correlation_stride = 0;
  std::int64_t base_host_ns = 0, host_stride_ns = 0;
  std::int64_t base_step_id = 0, base_ordinal = 0;
};
using Chunks = std::map<Id, Chunk>;

/// Of all launches. of_v3: as versions 3 to 7 of the schema kept them.
[[nodiscard]] Chunks launch_chunks(const Database& database, bool of_v3);
/// Of all ranges.
[[nodiscard]] Chunks range_chunks(const Database& database);

/// The chunk of a row; `last` remembers it, since the next row is mostly of the same one. Throws Error if the
/// capture lacks it. Asked for every row.
[[nodiscard]] inline const Chunk& chunk_at(const Chunks& chunks, Id row_id, Chunks::const_iterator& last) {
  if (last == chunks.end() || last->first != chunk_of(row_id)) last = chunks.find(chunk_of(row_id));
  if (last == chunks.end()) throw Error(ErrorKind::corrupt, "a row's chunk is not there");
  return last->second;
}

/// How many columns launch_columns() names for LaunchColumns::all.
inline constexpr int kLaunchColumnCount = 9;
/// For a SELECT from launch_row r.
[[nodiscard]] std::string launch_columns(bool of_v3, LaunchColumns columns = LaunchColumns::all);

/// Reads rows of launch_columns().
class LaunchDecoder {
 public:
  LaunchDecoder(const Chunks& chunks, bool of_v3, LaunchColumns columns)
      : chunks_(chunks), of_v3_(of_v3), columns_(columns), last_(chunks.end()) {}

  template <typename Values>  // Statement or RowValues
  [[nodiscard]] LaunchRow read(const Values& row) {
    LaunchRow launch;
    launch.id = row.int64(0);
    launch.site_id = row.int64(1);
    const Chunk& chunk = chunk_at(chunks_, launch.id, last_);
    const std::int64_t place = of_v3_ ? 0 : place_in_chunk(launch.id);
    const auto at = [&](std::int64_t base, std::int64_t stride, std::int64_t offset) {
      return wrapping_add(wrapping_add(base, wrapping_multiply(place, stride)), offset);
    };
    const std::optional<std::int64_t> offset_ns = row.optional_int64(2);
    if (offset_ns) launch.start_ns = at(chunk.base_ns, chunk.stride_ns, *offset_ns);
    launch.end_ns = wrapping_add(launch.start_ns, row.int64(3));
    int next = 4;
    if (columns_ != LaunchColumns::times) {
      const std::int64_t from_ns = offset_ns ? launch.start_ns : chunk.base_ns;
      if (const auto host_ns = row.optional_int64(next++)) {
        launch.host_start_ns = of_v3_ ? wrapping_subtract(from_ns, *host_ns)
                                      : at(chunk.base_host_ns, chunk.host_stride_ns, *host_ns);
      }
      if (const auto duration_ns = row.optional_int64(next++))
        launch.host_end_ns = wrapping_add(launch.host_start_ns.value_or(from_ns), *duration_ns);
    }
    if (columns_ == LaunchColumns::events) return launch;
    if (const auto offset = row.optional_int64(next++))
      launch.step_id = wrapping_add(chunk.base_step_id, *offset);
    if (const auto offset = row.optional_int64(next++))
      launch.ordinal_in_step = at(chunk.base_ordinal, 1, *offset);
    if (columns_ == LaunchColumns::times) return launch;
    launch.correlation_id = at(chunk.base_correlation_id, chunk.correlation_stride, row.int64(next));
    return launch;
  }

 private:
  const Chunks& chunks_;
  const bool of_v3_;
  LaunchColumns columns_;
  Chunks::const_iterator last_;
};

}  // namespace ridgeline::store
