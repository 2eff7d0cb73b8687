/// stream_words.h: the words of what orders work on devices, and of their memory. As in vocabulary.h: numbers are in
/// spools and are never changed, words are in captures.
#pragma once

#include "ridgeline/base/vocabulary.h"

namespace ridgeline {

/// A call of the host that orders streams among each other or with the host. In spools.
enum class StreamCall : std::uint32_t {
  event_record = 1,       ///< an event stands for all that was given to the stream before
  event_wait = 2,         ///< the stream goes on when the event's newest record has been reached
  host_function = 3,      ///< the stream goes on when a function of the host has run
  host_callback = 4,      ///< the same, by the older call
  memory_wait = 5,        ///< the stream goes on when a value in memory allows it
  memory_operations = 6,  ///< writes of memory by the stream, and waits for it
  semaphore_wait = 7,     ///< the stream goes on when an external semaphore allows it
  event_awaited = 8,      ///< a thread waited for the event: its synchronisation has the times
  stream_awaited = 9,     ///< a thread waited for the stream: likewise
};

/// How a stream goes together with the context's legacy default stream. In spools.
enum class StreamKind : std::uint32_t {
  blocking = 1,      ///< waits for the legacy stream, and the legacy stream for it
  non_blocking = 2,  ///< does not
  legacy = 3,        ///< is that stream
  per_thread = 4,    ///< the default stream of one thread; blocking
};

/// What a node of a CUDA graph does; CUgraphNodeType plus one. In spools.
enum class GraphNodeKind : std::uint32_t {
  kernel = 1,
  copy = 2,
  set = 3,
  host = 4,
  graph = 5,  ///< another graph, whose nodes have it as parent
  empty = 6,
  event_wait = 7,
  event_record = 8,
  semaphore_signal = 9,
  semaphore_wait = 10,
  allocation = 11,
  free = 12,
  memory_operations = 13,
  conditional = 14,
};

/// A call that takes or returns device memory. In spools.
enum class MemoryCall : std::uint32_t {
  allocate = 1,
  allocate_managed = 2,
  allocate_async = 3,     ///< from a pool, in the order of a stream
  allocate_physical = 4,  ///< to be mapped by the program
  free = 5,
  free_async = 6,
  free_physical = 7,
};

[[nodiscard]] constexpr bool allocates(MemoryCall call) noexcept {
  return call < MemoryCall::free;
}

/// What a recording left out for want of room. In spools.
enum class LeftOut : std::uint32_t {
  stream_calls = 1,  ///< whose stream is not known
  graph_nodes = 2,
  memory_calls = 3,
};

template <>
struct Vocabulary<StreamCall> {
  static constexpr std::string_view kName = "call that orders streams";
  static constexpr Word<StreamCall> kWords[] = {
      {StreamCall::event_record, "event_record"},     {StreamCall::event_wait, "event_wait"},
      {StreamCall::host_function, "host_function"},   {StreamCall::host_callback, "host_callback"},
      {StreamCall::memory_wait, "memory_wait"},       {StreamCall::memory_operations, "memory_operations"},
      {StreamCall::semaphore_wait, "semaphore_wait"}, {StreamCall::event_awaited, "event_awaited"},
      {StreamCall::stream_awaited, "stream_awaited"}};
};
template <>
struct Vocabulary<StreamKind> {
  static constexpr std::string_view kName = "kind of a stream";
  static constexpr Word<StreamKind> kWords[] = {{StreamKind::blocking, "blocking"},
                                                {StreamKind::non_blocking, "non_blocking"},
                                                {StreamKind::legacy, "legacy"},
                                                {StreamKind::per_thread, "per_thread"}};
};
template <>
struct Vocabulary<GraphNodeKind> {
  static constexpr std::string_view kName = "kind of a node of a graph";
  static constexpr Word<GraphNodeKind> kWords[] = {{GraphNodeKind::kernel, "kernel"},
                                                   {GraphNodeKind::copy, "copy"},
                                                   {GraphNodeKind::set, "set"},
                                                   {GraphNodeKind::host, "host"},
                                                   {GraphNodeKind::graph, "graph"},
                                                   {GraphNodeKind::empty, "empty"},
                                                   {GraphNodeKind::event_wait, "event_wait"},
                                                   {GraphNodeKind::event_record, "event_record"},
                                                   {GraphNodeKind::semaphore_signal, "semaphore_signal"},
                                                   {GraphNodeKind::semaphore_wait, "semaphore_wait"},
                                                   {GraphNodeKind::allocation, "allocation"},
                                                   {GraphNodeKind::free, "free"},
                                                   {GraphNodeKind::memory_operations, "memory_operations"},
                                                   {GraphNodeKind::conditional, "conditional"}};
};
template <>
struct Vocabulary<MemoryCall> {
  static constexpr std::string_view kName = "call for device memory";
  static constexpr Word<MemoryCall> kWords[] = {{MemoryCall::allocate, "allocate"},
                                                {MemoryCall::allocate_managed, "allocate_managed"},
                                                {MemoryCall::allocate_async, "allocate_async"},
                                                {MemoryCall::allocate_physical, "allocate_physical"},
                                                {MemoryCall::free, "free"},
                                                {MemoryCall::free_async, "free_async"},
                                                {MemoryCall::free_physical, "free_physical"}};
};
template <>
struct Vocabulary<LeftOut> {
  static constexpr std::string_view kName = "what was left out";
  static constexpr Word<LeftOut> kWords[] = {{LeftOut::stream_calls, "stream_calls"},
                                             {LeftOut::graph_nodes, "graph_nodes"},
                                             {LeftOut::memory_calls, "memory_calls"}};
};

}  // namespace ridgeline
