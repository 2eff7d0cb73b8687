// capture_writer.h: makes a capture file.
//
// Lifecycle: 1. create()  2. set_run(), then add_* in any order that respects references
// 3. checkpoint() now and then: what was added until then is safe  4. finish().
// A writer that is destroyed without finish() leaves a valid capture of what was checkpointed.
// One thread. Failed writes throw Error(io) and leave the last checkpoint intact.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ridgeline/base/error.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

struct Collective;
struct CopiedCollective;
struct Communicator;
struct GraphEdge;
struct GraphNode;
struct Intervention;
struct LeftOutCount;
struct MemoryUse;
struct OrderingCall;
struct Stream;

class CaptureWriter {
 public:
  /// The file must not exist; its directory must. Failure: io.
  [[nodiscard]] static Result<CaptureWriter> create(const std::string& path);
  ~CaptureWriter();
  CaptureWriter(CaptureWriter&&) noexcept;
  CaptureWriter& operator=(CaptureWriter&&) = delete;

  void set_run(const Run& run);  // inserts, or replaces what an earlier call said
  void add_environment(std::string_view name, std::string_view value);
  void add_version(std::string_view component, std::string_view version);

  /// Interned: the same text always gives the same id.
  [[nodiscard]] Id string_id(std::string_view text);
  /// The kernel of that mangled name and machine code; made with demangled, normalised name and class on first
  /// sight. Without a code_hash it is a kernel of its own, whose code is not known.
  [[nodiscard]] Id kernel_id(std::string_view mangled_name, std::optional<std::string> code_hash = {});
  /// The same of a source that has demangled names alone: a kernel of its own, whose mangled name is not known.
  [[nodiscard]] Id demangled_kernel_id(std::string_view demangled_name,
                                       std::optional<std::string> code_hash = {});
  /// The metric of that verbatim name; on first sight described by metric_catalog.h, else by what is given.
  [[nodiscard]] Id metric_id(std::string_view name, std::string_view unit = {},
                             std::string_view meaning = {});

  Id add(const Process&);
  void set_host(Id process_id, std::string_view host_name);  // where it ran
  Id add(const Device&);
  void add(const DevicePeak&);   // the same (device, quantity, source) again replaces
  void add(const Ceiling&);      // the same (device, level, kind, state) again replaces
  void add(const ClockSample&);  // the same instant again is ignored
  Id add(const CounterConfiguration&);
  Id add(const Step&);
  Id add(const NvtxRange&, std::optional<Id> work_id = {});  // work_id: what is declared for it, if known
  /// Ranges end in another order than they begin: the id of one whose row comes later, so that ranges inside
  /// it can name it. add_reserved() writes the row; ranges inside one that never got a row lose their parent
  /// in finish().
  [[nodiscard]] Id reserve_range_id();
  void add_reserved(const NvtxRange& range, std::optional<Id> work_id = {});  // under range.id
  [[nodiscard]] Id work_id(const Annotation&);  // interned, whichever range it is for
  Id add(const Launch&);
  Id add(const Memcpy&);
  Id add(const Memset&);
  void add(const LaunchMetric&);     // the same (launch, metric, tier) again replaces
  void add(const Thread&);           // replaces
  void add(const Synchronisation&);  // the same (process, thread, start) again is ignored
  Id add(const ProfilerOverhead&);
  void add(const ClockPair&);  // the same instant again is ignored
  void add(const Completeness&);
  void add(const TierStatus&);  // replaces
  Id add(const Message&);
  Id add(const Annotation&);  // for a range that has its row already
  Id add(const PmWindow&);
  void add(const PmSample&);         // the same (device, metric, time) again replaces
  void add(const TierCoverage&);     // replaces
  void add(const ReplayExclusion&);  // replaces
  void add(const GraphMetric&);      // replaces
  Id add(const RecordingWindow&);
  Id add(const StallWindow&);
  void add(const StallSample&);  // the same (kernel, offset, reason) again adds its samples
  void add(const SourceLine&);   // replaces

  /// What orders work (order.h); the same again replaces.
  void add(const Stream&);
  void add(const OrderingCall&);
  void add(const GraphNode&);
  void add(const GraphEdge&);
  void add(const MemoryUse&);
  void add(const LeftOutCount&);
  Id add(const Communicator&);        // collectives.h
  void add(const Collective&);        // the same launch again replaces
  void add(const CopiedCollective&);  // the same copy again replaces
  void add(const Intervention&);      // interventions.h; the same (step, target) again replaces

  void checkpoint();
  /// checkpoint, sums over steps, indexes, statistics for the query planner; one file (no -wal beside it).
  /// Nothing may be added after it.
  void finish();

 private:
  struct State;
  explicit CaptureWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline::store
