/// events.h: what ran on devices and what the host did, as any source of recordings says it: the agent's spool, the
/// generator of tests, what other profilers write. What a source does not have is absent, never zero; the identifiers
/// of devices, kernels, paths and ranges are the source's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ridgeline/base/stream_words.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/records.h"

namespace ridgeline::import {

inline constexpr std::uint32_t kNone = UINT32_MAX;  ///< no step, no position

/// Later times are no times of any clock: reckoning with them would leave int64.
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;  // in 2043, of a clock that counts from 1970

[[nodiscard]] inline bool has_time(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns > 0 && end_ns >= start_ns && end_ns < kLatestNs;
}

/// A call of the host that launches a kernel or a graph.
struct Call {
  std::uint32_t correlation_id = 0;  ///< joins it to what it launched
  std::uint32_t path_id = 0;         ///< of the innermost range round it; 0: none, or not known
  std::uint32_t step = kNone;        ///< index of its step
  std::uint32_t position = kNone;    ///< among the kernel launches of the step; kNone for graphs
  std::uint32_t code = 0;            ///< of the kernel's machine code, in the source's numbers; 0: not known
  bool graph = false;                ///< launches a graph: any number of kernels
  std::optional<std::uint32_t> thread_id;
  std::optional<std::int64_t> enter_ns, exit_ns;
};

/// A kernel that ran on a device. Those of one graph launch share the correlation id of that launch.
struct Execution {
  std::uint32_t correlation_id = 0;
  std::uint32_t kernel = 0;
  std::uint32_t device = 0, context_id = 0, stream_id = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< has_time(): else the source has none
  store::Dim3 grid, block;
  std::optional<store::Dim3> cluster;
  std::uint32_t registers_per_thread = 0, static_smem_bytes = 0, dynamic_smem_bytes = 0;
  std::uint32_t graph_id = 0;
  std::optional<std::uint64_t> graph_node;  ///< of a CUDA graph
};

/// A copy or set on a device.
struct Copy {
  std::uint32_t correlation_id = 0;
  std::uint32_t device = 0, context_id = 0, stream_id = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t bytes = 0;
  std::optional<CopyKind> kind;             ///< none: it sets memory
  std::uint32_t likeness = 0;               ///< tells apart what the source tells apart, for samples
  std::optional<std::uint64_t> graph_node;  ///< of a CUDA graph
};

/// A node of the tree of range names.
struct Path {
  std::uint32_t parent = 0;  ///< 0: a root
  std::string name;
  std::optional<std::string> domain;
};

/// A range of the program: a path, and the time it was open.
struct Range {
  std::uint64_t id = 0, parent = 0;  ///< 0: outermost
  std::uint32_t path = 0;
  std::uint32_t thread_id = 0;
  std::uint32_t depth = 0;
  std::uint32_t step = kNone;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
};

/// A call on which a thread of the host waited for a device.
struct Wait {
  std::uint32_t thread_id = 0, correlation_id = 0;
  std::int64_t enter_ns = 0, exit_ns = 0;
  SynchronisationCall call = SynchronisationCall::device;
  std::uint32_t step = kNone;
};

/// A stream of a context.
struct StreamMade {
  std::uint32_t context_id = 0, stream_id = 0;
  StreamKind kind = StreamKind::blocking;
  std::int32_t priority = 0;
};

/// A call that orders streams among each other or with the host.
struct OrderingCall {
  struct Stream {
    std::uint32_t context_id = 0, stream_id = 0;
  };
  std::uint32_t correlation_id = 0;  ///< what was given to a stream before has a lower one
  std::uint32_t thread_id = 0;
  std::int64_t time_ns = 0;
  StreamCall call = StreamCall::event_record;
  std::optional<Stream> stream;
  std::uint64_t event = 0;  ///< the source's own name for it; 0: of none
  std::uint32_t step = kNone;
};

/// A node of a CUDA graph as the program handed it over, and what its instantiation made of it.
struct GraphNode {
  std::uint64_t node_id = 0, parent_id = 0;  ///< parent 0: of the outermost graph
  std::uint32_t graph = 0;                   ///< instantiations are numbered
  GraphNodeKind kind = GraphNodeKind::kernel;
};
struct GraphNodeClone {
  std::uint64_t node_id = 0, original_id = 0;
  std::uint32_t graph = 0;
};
struct GraphEdge {
  std::uint64_t from_id = 0, to_id = 0;
  std::uint32_t graph = 0;
  bool programmatic = false;
};

/// A call that takes or returns device memory.
struct MemoryUse {
  std::uint32_t correlation_id = 0, thread_id = 0;
  std::int64_t time_ns = 0;
  MemoryCall call = MemoryCall::allocate;
  std::uint64_t address = 0;  ///< joins what is returned to what was taken
  std::int64_t bytes = 0;     ///< taken
  std::uint32_t device = 0;
  std::uint32_t step = kNone;
};

/// A device's clocks at an instant.
struct Clocks {
  std::uint32_t device = 0;
  std::int64_t time_ns = 0;
  std::optional<std::int64_t> sm_hz, memory_hz, power_mw;
  std::optional<int> temperature_c;
  std::optional<std::int64_t> throttle_reasons;  ///< NVML's bit mask
};

/// A kernel's name as the source has it.
struct KernelName {
  std::string text;
  bool mangled = true;  ///< else as a demangler wrote it; the mangled one is not known
};

}  // namespace ridgeline::import
