// Capture::synchronisations(): the waits of the host that overlap a window of time.
#include <algorithm>

#include "ridgeline/store/capture.h"

namespace ridgeline::store {

namespace {

constexpr const char* kColumns =
    "SELECT w.process_id, w.thread_id, w.start_ns, w.duration_ns, s.value, w.correlation_id, w.step_id"
    " FROM synchronisation w JOIN string s ON s.id = w.call_id WHERE w.process_id = ?1 AND w.thread_id = ?2";

Synchronisation synchronisation_of(const Statement& row) {
  Synchronisation wait;
  wait.process_id = row.int64(0);
  wait.thread_id = row.int64(1);
  wait.start_ns = row.int64(2);
  wait.duration_ns = row.int64(3);
  wait.call = row.word<SynchronisationCall>(4, "synchronisation.call");
  wait.correlation_id = row.int64(5);
  wait.step_id = row.optional_int64(6);
  if (wait.start_ns < 0 || wait.duration_ns < 0 || wait.duration_ns > INT64_MAX - wait.start_ns)
    throw Error(ErrorKind::corrupt, "a wait of the host has an impossible time");
  return wait;
}

}  // namespace

std::vector<Synchronisation> Capture::synchronisations(Id process_id, std::int64_t start_ns,
                                                       std::int64_t end_ns) const {
  std::vector<Synchronisation> waits;
  Statement next_thread = database_.prepare(
      "SELECT min(thread_id) FROM synchronisation WHERE process_id = ?1 AND thread_id > ?2");
  Statement before =
      database_.prepare(std::string(kColumns) + " AND w.start_ns < ?3 ORDER BY w.start_ns DESC LIMIT 1");
  Statement inside = database_.prepare(std::string(kColumns) +
                                       " AND w.start_ns >= ?3 AND w.start_ns < ?4 ORDER BY w.start_ns");
  std::int64_t thread_id = INT64_MIN;
  for (;;) {
    next_thread.reset();
    next_thread.bind_all(process_id, thread_id);
    if (!next_thread.step() || next_thread.is_null(0)) break;
    thread_id = next_thread.int64(0);
    before.bind_all(process_id, thread_id, start_ns);
    if (before.step()) {
      const Synchronisation wait = synchronisation_of(before);
      if (wait.end_ns() > start_ns) waits.push_back(wait);
    }
    before.reset();
    inside.bind_all(process_id, thread_id, start_ns, end_ns);
    while (inside.step()) waits.push_back(synchronisation_of(inside));
    inside.reset();
  }
  return waits;
}

std::vector<Thread> Capture::threads() const {
  std::vector<Thread> rows;
  Statement row =
      database_.prepare("SELECT process_id, thread_id, name FROM thread ORDER BY process_id, thread_id");
  while (row.step()) rows.push_back({row.int64(0), row.int64(1), row.text(2)});
  return rows;
}

}  // namespace ridgeline::store
