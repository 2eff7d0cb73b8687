// collective_import.h: what NCCL says of its collectives by NVTX and by its profiler plugin, joined to the kernels that
// ran them.
//
// NCCL opens a range round each of its calls, with the communicator's hash and the bytes as a payload. A kernel is of
// the call in whose range it was launched, or of the calls of the group that launched it. In a CUDA graph the calls are
// made once, at its capture: a launch of the graph runs their kernels in the order of the calls. The plugin says of
// each launch what it does, by its correlation id, and of calls whose kernels need a thread of the host's by the call.
// Where the two contradict each other, the plugin's word is left. A thread's records are not in the order of its calls:
// two threads that write at the same moment take other places of the spool. So what counts on an order goes by time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recording/events.h"
#include "recording/process_rows.h"
#include "ridgeline/base/collective_words.h"
#include "spool/collective_details.h"
#include "spool/collective_ordinals.h"
#include "spool/copy_collectives.h"
#include "spool/nccl_calls.h"
#include "spool/split_groups.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// Order: 1. scan(), before the process has its row  2. write_groups(), after  3. ran() of each kernel and copied() of
/// each copy that has a row  4. finish().
class RecordedCollectives {
 public:
  /// Keeps references to all.
  RecordedCollectives(const spool::Reader& reader, const ScannedSpool& spool, const SplitGroups& splits,
                      ProcessRows& rows)
      : reader_(reader), spool_(spool), splits_(splits), rows_(rows), details_(reader) {}

  /// Passes over payloads, ranges and launches; none where the program has no range of NCCL.
  void scan();
  /// The process's rank in its largest group of several; none: no group said it.
  [[nodiscard]] std::optional<int> rank() const;
  /// NCCL was called, and no plugin of ours heard of it.
  [[nodiscard]] bool without_details() const { return calls_ && details_.empty(); }
  void write_groups();
  /// `kernel`: its name, mangled.
  void ran(const Execution& execution, store::Id launch_id, std::string_view kernel);
  void copied(const Copy& copy, store::Id copy_id) { copies_.copied(copy, copy_id); }
  void finish();

 private:
  /// A launch of a call, or the end of a range of NCCL's.
  struct Event {
    std::int64_t time_ns = 0;
    std::uint64_t range = 0;
    std::int64_t start_ns = 0;  // of the range
    std::uint32_t thread = 0;
    std::uint32_t path = 0;
    std::uint32_t correlation_id = 0;  // of the launch
    std::uint32_t graph = 0;           // so many graphs were made before, as the records lie
    bool is_launch = false;
    bool captured = false;
  };
  enum class PathKind : std::uint8_t {
    other,
    call,
    other_call,
    group_begins,
    group_ends,
    of_group,
    makes_groups
  };
  struct NcclPath {
    PathKind kind = PathKind::other;
    CollectiveFunction function = CollectiveFunction::all_reduce;
    const NcclGroupCall* of_group = nullptr;
  };
  struct NcclCall {
    CollectiveFunction function = CollectiveFunction::all_reduce;
    std::optional<std::uint64_t> group;  // hash of its communicator
    std::optional<std::int64_t> bytes;   // of one rank's message
    bool operator==(const NcclCall&) const = default;
  };
  struct Launched {
    std::optional<NcclCall> call;      // none: of a group of different calls
    std::uint64_t range = 0;           // of the call, or of the end of the group
    std::vector<std::uint64_t> calls;  // ranges of the group's calls; none: of the call itself
    std::uint32_t correlation_id = 0;
    bool moves_messages =
        false;  // sends and receives are among the group's calls, of which the plugin does not tell
  };
  struct Known {
    NcclCall call;
    CollectiveSource source = CollectiveSource::nvtx;        // of the call
    CollectiveSource bytes_source = CollectiveSource::nvtx;  // of its bytes
    CollectiveDetail detail;                                 // what else the plugin says
    std::int64_t calls = 0;                                  // that one launch does; 0: not known
  };
  struct KernelFacts {
    std::optional<CollectiveFunction> function;
    std::optional<ElementType> element_type;
    std::int64_t blocks = 0;
    bool symmetric = false;  // none of the library's algorithms
  };
  struct ThreadGroup {
    int depth = 0;
    std::vector<NcclCall> calls;
    std::vector<std::uint64_t> ranges;  // of the calls
  };
  struct NcclGroup {
    store::Id id = 0;  // 0: has no row
    std::optional<std::int64_t> ranks, rank;
  };
  struct EagerRun {
    std::uint32_t correlation_id = 0;
    store::Id launch_id = 0;
    KernelFacts kernel;
  };
  struct NodeRun {
    std::int64_t start_ns = 0;
    store::Id launch_id = 0;
    KernelFacts kernel;
  };
  struct GraphLaunch {
    std::vector<NodeRun> runs;                  // of collectives
    const std::vector<Known>* calls = nullptr;  // of graphs_, one for each run; null: not known
  };

  void know_paths();
  void read_payloads();
  void read_events();
  void add_launch(const spool::LaunchRecord& launch);
  void read_launches_beside_copies();
  void on_launch(const Event& launch);
  void on_range_end(const Event& range);
  [[nodiscard]] NcclCall call_in(CollectiveFunction function, std::uint64_t range_id);
  [[nodiscard]] static std::optional<NcclCall> as_one(const std::vector<NcclCall>& calls);
  void note_group(const NcclGroupCall& call, std::uint64_t range_id);
  void know_groups_of_all_ranks();
  void launch_of_other_call(const Event& launch);
  void note_other_call(const Event& range);
  void resolve_graphs();
  [[nodiscard]] std::optional<CollectiveDetail> said_of(const Launched& launched) const;
  [[nodiscard]] std::optional<Known> known_of(const Launched& launched) const;
  [[nodiscard]] bool is_alone(const Launched& launched) const;
  [[nodiscard]] const std::vector<Known>* calls_of(const std::vector<NodeRun>& runs) const;
  [[nodiscard]] static KernelFacts facts_of(const Execution& execution, std::string_view kernel);
  void without_kernel(const Event& end, const NcclCall& call, std::uint64_t range_id);
  void know_what_is_left_out();
  void count_graphs();
  [[nodiscard]] std::optional<std::int64_t> ordinal_of(const Launched& launched, const Known& known) const;
  void write(store::Id launch_id, const Known& known, const KernelFacts& kernel,
             std::optional<std::int64_t> ordinal);
  void find_copies();
  void write_copies();

  const spool::Reader& reader_;
  const ScannedSpool& spool_;
  const SplitGroups& splits_;
  ProcessRows& rows_;
  CollectiveDetails details_;
  bool calls_ = false;
  std::size_t unnamed_groups_ = 0;  // that were made, and it was not said which they are
  bool any_unnamed_ = false;        // nor how many
  std::unordered_map<std::uint32_t, NcclPath> paths_;
  std::vector<Event> events_;
  std::unordered_map<std::uint64_t, std::string> payloads_;           // by range
  std::unordered_map<std::uint32_t, ThreadGroup> groups_of_threads_;  // by thread
  std::unordered_map<std::uint64_t, std::uint32_t> launches_of_range_;
  std::unordered_map<std::uint32_t, Launched> launched_;            // by correlation id
  std::unordered_set<std::uint32_t> of_other_calls_;                // launches, likewise
  std::map<std::uint32_t, std::vector<Launched>> captured_graphs_;  // by graph
  std::vector<std::vector<Known>> graphs_;  // of each that differs, in the order of the calls
  std::uint32_t last_graph_ = 0, graphs_made_ = 0;
  std::map<std::uint64_t, NcclGroup> groups_;                      // by hash
  std::unordered_map<std::uint32_t, GraphLaunch> graph_launches_;  // by correlation id
  std::vector<EagerRun> eager_runs_;
  CopyCollectives copies_;
  std::vector<CopyCollectives::Copied> copied_;
  CollectiveOrdinals ordinals_;
};

}  // namespace ridgeline::import
