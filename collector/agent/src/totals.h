// Counts that say how complete a recording is.
#pragma once

#include <atomic>
#include <cstdint>

#include "ridgeline/spool/format.h"

namespace ridgeline::agent {

struct Totals {
  using Count = std::atomic<std::uint64_t>;
  Count launches_seen{0}, graph_launches_seen{0}, launches_failed{0}, launches_captured{0};
  Count kernel_records{0}, graph_kernel_records{0}, own_kernel_records{0}, memcpy_records{0},
      memset_records{0};
  Count dropped_records{0}, zero_timestamp_records{0}, buffers_completed{0}, buffers_refused{0},
      unknown_records{0};
  Count nvtx_unbalanced{0}, callback_errors{0};

  static void add(Count& count, std::uint64_t n = 1) noexcept {
    count.fetch_add(n, std::memory_order_relaxed);
  }

  spool::CompletenessRecord record(std::int64_t time_ns) const noexcept {
    auto get = [](const Count& c) { return c.load(std::memory_order_relaxed); };
    spool::CompletenessRecord r{};
    r.time_ns = time_ns;
    r.launches_seen = get(launches_seen);
    r.graph_launches_seen = get(graph_launches_seen);
    r.launches_failed = get(launches_failed);
    r.launches_captured = get(launches_captured);
    r.kernel_records = get(kernel_records);
    r.graph_kernel_records = get(graph_kernel_records);
    r.own_kernel_records = get(own_kernel_records);
    r.memcpy_records = get(memcpy_records);
    r.memset_records = get(memset_records);
    r.dropped_records = get(dropped_records);
    r.zero_timestamp_records = get(zero_timestamp_records);
    r.buffers_completed = get(buffers_completed);
    r.buffers_refused = get(buffers_refused);
    r.unknown_records = get(unknown_records);
    r.nvtx_unbalanced = get(nvtx_unbalanced);
    r.callback_errors = get(callback_errors);
    return r;
  }
};

}  // namespace ridgeline::agent
