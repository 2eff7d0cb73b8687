// timeline.h: everything that ran in a recording, as the lines of a timeline: read once and then immutable.
// Whoever draws it asks a line for as many bins as there are pixels; whoever exports it goes through its
// events.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "ridgeline/analyzer/accounting/accounting.h"
#include "ridgeline/analyzer/trace/counter_row.h"
#include "ridgeline/analyzer/trace/event_row.h"
#include "ridgeline/analyzer/trace/range_links.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::analyzer {

enum class RowKind {
  steps,
  ranges,       ///< NVTX, of one thread at one depth
  calls,        ///< that launched kernels, of one thread
  waits,        ///< calls on which a thread waited for the device
  gpu_ranges,   ///< NVTX, likewise, each from the first start to the last end on the GPU of what it launched
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

/// An instance of an NVTX range that launched something.
struct RangeInstance {
  TimeWindow calls;   ///< the range itself, on the host
  TimeWindow on_gpu;  ///< what it launched, from the first start to the last end
};

struct TimelineRow {
  RowKind kind = RowKind::kernels;
  std::string
      id;  ///< the same in every capture that has such a row: "stream/0/13", "counter/0/dram__bytes_read.sum"
  std::string label;  ///< for people
  store::Id process_id = 0;
  store::Id device_id = 0;
  std::int64_t thread_id = 0;
  std::string thread;  ///< of ranges, calls and waits: what the thread is called
  std::int64_t stream_id = 0;
  int depth = 0;
  bool secondary = false;  ///< not shown unless asked for
  EventRow events;         ///< all but counters
  RangeLinks links;        ///< of ranges, on the host and on the GPU: the same instances on the other side
  CounterRow counter;
  CounterUnit unit = CounterUnit::ratio;
  std::string metric;   ///< of in-situ samples: the verbatim name; "": the driver's readings
  std::string meaning;  ///< likewise, from the catalogue of metrics
  double max = 1;       ///< upper end of a counter's axis
};
static_assert(std::is_nothrow_move_constructible_v<TimelineRow>);

struct Timeline {
  std::vector<EventName> names;  ///< EventRow::name() points here
  std::vector<TimelineRow> rows;
  TimeWindow extent;
  std::int64_t launches = 0;

  [[nodiscard]] std::size_t bytes() const;  ///< memory that its events and samples take
};

/// The instance that an event of one of its rows stands for; empty: it launched nothing, or the row is of no ranges.
[[nodiscard]] std::optional<RangeInstance> instance_of(const Timeline& timeline, const TimelineRow& row,
                                                       std::size_t event);

/// What the event and the row of a step are called. A capture without steps has its recorded windows there: they are no
/// steps, and have no number that anybody counts by.
[[nodiscard]] std::string step_event_name(const store::Step& step);
[[nodiscard]] std::string_view steps_row_label(const store::Step& step);

/// Rows read so far, of how many (0: not known).
using ReadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Stretches in which the device did nothing, by cause: the name of an event is the number of its GapKind, not one of
/// Timeline::names.
[[nodiscard]] TimelineRow gap_row(const Accounting& accounting);

/// Reads a capture. Failures: those of opening it, cancelled. Throws Error(corrupt).
[[nodiscard]] Result<std::shared_ptr<const Timeline>> read_timeline(const std::string& path,
                                                                    const std::stop_token& stop,
                                                                    const ReadProgress& progress = {});

}  // namespace ridgeline::analyzer
