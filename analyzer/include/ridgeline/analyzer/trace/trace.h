// trace.h: what ran when, in as many bins as a painter has pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::analyzer {

enum class TraceRowKind {
  stream,   ///< kernels of one stream; `id`: stream_id
  copies,   ///< copies and memsets of one stream; `id`: stream_id
  nvtx,     ///< ranges of one thread at one depth, device or not; `id`: thread_id
  steps,    ///< the process's steps by their GPU time; `id` unused
  counter,  ///< samples of one metric; `id`: metric id
};

/// One line of a timeline.
struct TraceRow {
  TraceRowKind kind = TraceRowKind::stream;
  store::Id process_id = 0;
  std::int64_t id = 0;
  int depth = 0;      ///< nvtx: 0 is the outermost range
  std::string label;  ///< for people; a query does not look at it
};

/// A slice of the window.
struct TraceBin {
  std::int64_t busy_ns = 0;     ///< time in which at least one event ran, inside the bin
  std::int64_t longest_ns = 0;  ///< whole duration of the longest event that touches the bin
  store::Id longest = 0;        ///< that event's TraceEvent::id; 0: none
  std::int64_t count = 0;       ///< events that begin in the bin; counter: samples that end in it
  double mean = 0;              ///< counter: mean of the samples, in the metric's unit; else 0
};

/// An event by itself, where there is room to draw it.
struct TraceEvent {
  store::Id id = 0;  ///< of the launch, copy, range or step; a memset's is negative
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string name;  ///< kernel, copy kind, range or phase of the step
};

/// What to paint. Failures: usage (no such row, an empty window, no bins).
struct TraceQuery {
  store::Id device_id = 0;
  TraceRow row;
  TimeWindow window;
  std::size_t bins = 1000;      ///< at most kMostTraceBins
  std::size_t most_events = 0;  ///< give the events themselves too if there are at most this many
};
inline constexpr std::size_t kMostTraceBins = 100'000;

struct Trace {
  TraceQuery query;
  std::vector<TraceBin> bins;      ///< bin i covers [start + i·length/n, start + (i+1)·length/n)
  std::int64_t count = 0;          ///< events that touch the window
  std::vector<TraceEvent> events;  ///< by start; empty if there were more than asked for
};

}  // namespace ridgeline::analyzer
