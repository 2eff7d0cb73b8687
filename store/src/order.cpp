#include "ridgeline/store/order.h"

#include "ridgeline/store/database.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

// Rows of a statement whose first parameters are bound already.
template <typename MakeRow>
auto rows_of(Statement& statement, const MakeRow& make) {
  std::vector<decltype(make(statement))> rows;
  while (statement.step()) rows.push_back(make(statement));
  return rows;
}

// Of a table that a damaged file may claim anything in: times and amounts with which nothing can be reckoned.
std::int64_t plausible(std::int64_t value, const char* what) {
  if (value < 0 || value > (std::int64_t{1} << 62))
    throw Error(ErrorKind::corrupt, std::string(what) + " is impossible");
  return value;
}

}  // namespace

Order::Order(const Capture& capture)
    : database_(capture.database_),
      recorded_(capture.database_.scalar_int64("PRAGMA user_version") >= kOrderIsRecorded) {}

std::vector<Stream> Order::streams(Id process_id) const {
  if (!recorded_) return {};
  Statement row = database_.prepare(
      "SELECT process_id, context_id, stream_id, kind, priority FROM stream WHERE process_id = ?1"
      " ORDER BY context_id, stream_id");
  row.bind_all(process_id);
  return rows_of(row, [](const Statement& r) {
    return Stream{r.int64(0), r.int64(1), r.int64(2), r.word<StreamKind>(3, "stream.kind"), r.int64(4)};
  });
}

std::vector<OrderingCall> Order::calls(Id process_id, const CallSpan& span) const {
  if (!recorded_) return {};
  Statement row = database_.prepare(
      "SELECT c.process_id, c.correlation_id, s.value, c.thread_id, c.time_ns, c.context_id, c.stream_id, "
      "c.event,"
      " c.source_id, c.step_id FROM stream_call c JOIN string s ON s.id = c.call_id"
      " WHERE c.process_id = ?1 AND c.correlation_id BETWEEN ?2 AND ?3 ORDER BY c.correlation_id");
  row.bind_all(process_id, span.first, span.last);
  return rows_of(row, [](const Statement& r) {
    return OrderingCall{r.int64(0),
                        r.int64(1),
                        r.word<StreamCall>(2, "stream_call.call"),
                        r.int64(3),
                        plausible(r.int64(4), "the time of a call"),
                        r.optional_int64(5),
                        r.optional_int64(6),
                        r.optional_int64(7),
                        r.optional_int64(8),
                        r.optional_int64(9)};
  });
}

std::map<StreamCall, std::int64_t> Order::call_counts() const {
  std::map<StreamCall, std::int64_t> counts;
  if (!recorded_) return counts;
  Statement row = database_.prepare(
      "SELECT s.value, c.calls FROM (SELECT call_id, count(*) AS calls FROM stream_call GROUP BY call_id) c"
      " JOIN string s ON s.id = c.call_id");
  while (row.step()) counts[row.word<StreamCall>(0, "stream_call.call")] = row.int64(1);
  return counts;
}

std::vector<GraphNode> Order::graph_nodes(Id process_id) const {
  if (!recorded_) return {};
  Statement row = database_.prepare(
      "SELECT n.process_id, n.node_id, n.graph, s.value, n.parent_node_id FROM graph_node n"
      " JOIN string s ON s.id = n.kind_id WHERE n.process_id = ?1 ORDER BY n.node_id");
  row.bind_all(process_id);
  return rows_of(row, [](const Statement& r) {
    return GraphNode{r.int64(0), r.int64(1), r.int64(2), r.word<GraphNodeKind>(3, "graph_node.kind"),
                     r.optional_int64(4)};
  });
}

std::vector<GraphEdge> Order::graph_edges(Id process_id) const {
  if (!recorded_) return {};
  Statement row = database_.prepare(
      "SELECT process_id, from_node_id, to_node_id, programmatic FROM graph_edge WHERE process_id = ?1"
      " ORDER BY to_node_id, from_node_id");
  row.bind_all(process_id);
  return rows_of(row, [](const Statement& r) {
    return GraphEdge{r.int64(0), r.int64(1), r.int64(2), r.int64(3) != 0};
  });
}
std::int64_t Order::graph_edge_count() const {
  return recorded_ ? database_.scalar_int64("SELECT count(*) FROM graph_edge") : 0;
}

std::vector<MemoryUse> Order::memory(Id process_id) const {
  if (!recorded_) return {};
  Statement row = database_.prepare(
      "SELECT m.process_id, m.correlation_id, s.value, m.thread_id, m.time_ns, m.device_id, m.bytes, "
      "m.allocation_id,"
      " m.allocated_bytes, m.step_id FROM memory_call m JOIN string s ON s.id = m.call_id"
      " WHERE m.process_id = ?1 ORDER BY m.correlation_id");
  row.bind_all(process_id);
  return rows_of(row, [](const Statement& r) {
    return MemoryUse{r.int64(0),
                     r.int64(1),
                     r.word<MemoryCall>(2, "memory_call.call"),
                     r.int64(3),
                     plausible(r.int64(4), "the time of an allocation"),
                     r.int64(5),
                     r.optional_int64(6),
                     r.optional_int64(7),
                     plausible(r.int64(8), "an amount of memory"),
                     r.optional_int64(9)};
  });
}

std::vector<MemoryPeak> Order::memory_peaks() const {
  if (!recorded_) return {};
  Statement row = database_.prepare(
      "SELECT p.process_id, p.device_id, p.calls, p.peak, m.allocated_bytes FROM"
      " (SELECT process_id, device_id, count(*) AS calls, max(allocated_bytes) AS peak, max(correlation_id) "
      "AS last"
      "  FROM memory_call GROUP BY process_id, device_id) p"
      " JOIN memory_call m ON m.process_id = p.process_id AND m.correlation_id = p.last"
      " ORDER BY p.process_id, p.device_id");
  return rows_of(row, [](const Statement& r) {
    return MemoryPeak{r.int64(0), r.int64(1), r.int64(2), plausible(r.int64(3), "an amount of memory"),
                      plausible(r.int64(4), "an amount of memory")};
  });
}

std::vector<LeftOutCount> Order::left_out() const {
  if (!recorded_) return {};
  Statement row = database_.prepare("SELECT process_id, what, count FROM left_out ORDER BY process_id, what");
  return rows_of(row, [](const Statement& r) {
    return LeftOutCount{r.int64(0), r.word<LeftOut>(1, "left_out.what"), r.int64(2)};
  });
}

std::map<Id, std::string> Order::hosts() const {
  std::map<Id, std::string> hosts;
  if (!recorded_) return hosts;
  Statement row = database_.prepare(
      "SELECT p.id, n.host_name FROM process p JOIN node n ON n.id = p.node_id ORDER BY p.id");
  while (row.step()) hosts[row.int64(0)] = row.text(1);
  return hosts;
}

}  // namespace ridgeline::store
