// Counts that say how complete a recording is. They live in the spool's CompletenessRecord, so that they are right even
// after a kill: but for the launches of kernels, which each thread counts by itself and refresh_totals() brings in
// (session/session_state.h). After a kill the records of launches may be more, and whoever reads the spool counts them.
#pragma once

#include <atomic>
#include <cstdint>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

using Count = spool::CompletenessRecord;  // names the fields: totals.add(&Count::launches_failed)

class Totals {
 public:
  using Field = std::uint64_t Count::*;

  explicit Totals(spool::Writer& writer) noexcept : writer_(writer) {}

  /// Thread-safe; does nothing in a forked child.
  void add(Field field, std::uint64_t n = 1) noexcept {
    if (spool::CompletenessRecord* record = writer_.totals())
      std::atomic_ref<std::uint64_t>(record->*field).fetch_add(n, std::memory_order_relaxed);
  }
  void set(Field field, std::uint64_t n) noexcept {
    if (spool::CompletenessRecord* record = writer_.totals())
      std::atomic_ref<std::uint64_t>(record->*field).store(n, std::memory_order_relaxed);
  }
  std::uint64_t get(Field field) noexcept {
    spool::CompletenessRecord* record = writer_.totals();
    return record != nullptr ? std::atomic_ref<std::uint64_t>(record->*field).load(std::memory_order_relaxed)
                             : 0;
  }
  /// Brings in what the writer itself counts, and the time.
  void refresh(std::int64_t now_ns) noexcept {
    spool::CompletenessRecord* record = writer_.totals();
    if (record == nullptr) return;
    std::atomic_ref<std::int64_t>(record->time_ns).store(now_ns, std::memory_order_relaxed);
    const auto statistics = writer_.statistics();
    set(&Count::spool_records_lost, statistics.records_lost);
    set(&Count::strings_lost, statistics.strings_lost);
  }

 private:
  spool::Writer& writer_;
};

}  // namespace ridgeline::agent
