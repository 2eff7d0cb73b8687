// timeline_data.h: everything a timeline draws, read once and then immutable.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/capture.h"
#include "timeline/counter_row.h"
#include "timeline/event_row.h"

namespace ridgeline::gui {

enum class RowKind {
  steps,
  ranges,       ///< NVTX, of one thread at one depth
  calls,        ///< that launched kernels, of one thread
  waits,        ///< calls on which a thread waited for the device
  gaps,         ///< the device did nothing, by cause
  collectives,  ///< of one device, on whichever stream: they are in its rows too
  kernels,      ///< of one stream
  copies,       ///< and memsets of one device, on whichever stream
  counter,
};

/// What an event is called and how it is coloured.
struct EventName {
  enum class Kind { kernel, range, copy, wait, gap, step };
  std::string text;
  Kind kind = Kind::range;
  KernelClass kernel_class = KernelClass::other;  ///< of a kernel
  store::Id kernel_id = 0;                        ///< likewise
  int code = 0;  ///< of others: enumerator of the copy kind, wait, gap or phase
};

/// How a counter's value is written.
enum class CounterUnit { ratio, bytes_per_s, hertz, watt, celsius };

struct TimelineRow {
  RowKind kind = RowKind::kernels;
  std::string
      id;  ///< the same in every capture that has such a row: "stream/0/13", "counter/0/dram__bytes_read.sum"
  std::string label;  ///< for people
  std::string help;   ///< what it is, a sentence; "" if the label says it
  store::Id process_id = 0;
  store::Id device_id = 0;
  std::int64_t thread_id = 0;
  std::int64_t stream_id = 0;
  int depth = 0;
  bool secondary = false;  ///< not shown unless asked for
  EventRow events;         ///< all but counters
  CounterRow counter;
  CounterUnit unit = CounterUnit::ratio;
  double most = 1;  ///< upper end of a counter's axis
};

struct TimelineData {
  std::vector<EventName> names;  ///< EventRow::name() points here
  std::vector<TimelineRow> rows;
  TimeWindow extent;
  std::int64_t launches = 0;

  [[nodiscard]] std::size_t bytes() const;
};

/// Rows read so far, of how many (0: not known).
using ReadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Reads a capture. Failures: those of opening it, cancelled. Throws Error(corrupt).
[[nodiscard]] Result<std::shared_ptr<const TimelineData>> read_timeline(const std::string& path,
                                                                        const std::stop_token& stop,
                                                                        const ReadProgress& progress = {});

}  // namespace ridgeline::gui
