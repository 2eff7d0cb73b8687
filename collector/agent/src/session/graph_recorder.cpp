#include "session/graph_recorder.h"

#include <algorithm>
#include <utility>

namespace ridgeline::agent {

bool GraphRecorder::can_read() const noexcept {
  const DriverApi& driver = session_.driver;
  return session_.api->get_graph_node_id != nullptr && driver.graph_get_nodes != nullptr &&
         driver.graph_get_edges != nullptr && driver.graph_node_get_type != nullptr;
}

std::uint64_t GraphRecorder::id_of(CUgraphNode node) const noexcept {
  std::uint64_t id = 0;
  return node != nullptr && session_.api->get_graph_node_id(node, &id) == CUPTI_SUCCESS ? id : 0;
}

void GraphRecorder::on_instantiation(const CUpti_CallbackData& data) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside || !can_read()) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    thread->instantiation = graphs_.fetch_add(1, std::memory_order_relaxed) + 1;
    return;
  }
  const std::uint32_t number = std::exchange(thread->instantiation, 0);
  const bool failed = data.functionReturnValue != nullptr &&
                      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS;
  const CUgraph graph = graph_of(data.functionParams);
  if (number == 0 || failed || graph == nullptr) return;
  const AgentCall call{session_.gate, *thread};
  if (!call) return;
  try {
    read(graph, 0, number, 0);
  } catch (...) {  // out of memory: the graph has no edges
    session_.totals.add(&Count::callback_errors);
  }
}

// A graph has a record of each of its nodes and edges, or of none.
bool GraphRecorder::take_room(std::size_t nodes, std::size_t edges) noexcept {
  if (nodes_.fetch_add(nodes, std::memory_order_relaxed) + nodes <= kMaxNodes &&
      edges_.fetch_add(edges, std::memory_order_relaxed) + edges <= kMaxEdges)
    return true;
  if (nodes_.fetch_sub(nodes, std::memory_order_relaxed) <= kMaxNodes)
    edges_.fetch_sub(edges, std::memory_order_relaxed);
  return false;
}

void GraphRecorder::read(CUgraph graph, std::uint64_t parent_id, std::uint32_t number, std::uint32_t depth) {
  const DriverApi& driver = session_.driver;
  std::size_t count = 0, edges = 0;
  if (driver.graph_get_nodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
  if (driver.graph_get_edges(graph, nullptr, nullptr, nullptr, &edges) != CUDA_SUCCESS) return;
  if (depth > kDeepest || !take_room(count, edges)) return left_out_.add(LeftOut::graph_nodes, count);
  std::vector<CUgraphNode> nodes(count);
  if (driver.graph_get_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
  nodes.resize(std::min(count, nodes.size()));
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    if (driver.graph_node_get_type(node, &type) != CUDA_SUCCESS) continue;
    // The driver says so, whatever CUPTI said of the node when it was made; the graph is launched after this.
    if (HostWaits::is_waiting_node(type)) session_.host_waits.node_waits();
    spool::GraphNodeRecord record{};
    record.node_id = id_of(node);
    record.parent_id = parent_id;
    record.graph = number;
    record.kind = static_cast<GraphNodeKind>(static_cast<std::uint32_t>(type) + 1);
    if (record.node_id != 0) session_.writer.put(record);
    CUgraph inner = nullptr;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && driver.child_graph_of != nullptr &&
        driver.child_graph_of(node, &inner) == CUDA_SUCCESS && inner != nullptr)
      read(inner, record.node_id, number, depth + 1);
  }
  if (edges > 0) read_edges(graph, edges, number);
}

void GraphRecorder::read_edges(CUgraph graph, std::size_t count, std::uint32_t number) {
  std::vector<CUgraphNode> from(count), to(count);
  std::vector<GraphEdgeData> kinds(count);
  if (session_.driver.graph_get_edges(graph, from.data(), to.data(), kinds.data(), &count) != CUDA_SUCCESS)
    return;
  for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
    spool::GraphEdgeRecord record{};
    record.from_id = id_of(from[i]);
    record.to_id = id_of(to[i]);
    record.graph = number;
    if (kinds[i].from_port != 0 || kinds[i].type != 0) record.header.flags = spool::kProgrammaticEdge;
    session_.writer.put(record);
  }
}

// Mostly while the thread instantiates a graph; else what is cloned may be launched by another name as well.
void GraphRecorder::on_clone(const CUpti_GraphData& data) noexcept {
  const ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside || !can_read()) return;
  if (clones_.load(std::memory_order_relaxed) >= kMaxNodes) return;
  clones_.fetch_add(1, std::memory_order_relaxed);
  spool::GraphNodeCloneRecord record{};
  record.node_id = id_of(data.node);
  record.original_id = id_of(data.originalNode);
  record.graph = thread->instantiation;
  if (record.node_id != 0 && record.original_id != 0) session_.writer.put(record);
}

}  // namespace ridgeline::agent
