// copy_collectives.h: calls of NCCL that the copy engines do, joined to their copies between devices.
//
// Such a call launches no kernel: its range is empty, and CUPTI tells of copies and not of the call that made them.
// What joins the two is the order of calls: correlation ids rise from call to call, so that the copies' id lies between
// those of the launches before and behind the range on its thread. In a CUDA graph the calls were made once, at its
// capture, between launches that were captured, and each launch of the graph has copies of all of them, in their order.
// Bytes decide in both: the copies of a call send a rank's part to each other rank.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "recording/events.h"
#include "ridgeline/base/collective_words.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::import {

class CopyCollectives {
 public:
  struct Call {
    CollectiveFunction function = CollectiveFunction::all_gather;
    std::uint64_t group = 0;      // hash of its communicator
    std::int64_t part_bytes = 0;  // that a rank sends to each other one; more than none
    bool operator==(const Call&) const = default;
  };
  /// Other ranks of a communicator; none: its size is not known, and nothing is joined.
  using OtherRanks = std::function<std::optional<std::int64_t>(std::uint64_t group)>;
  struct Copied {
    Call call;
    std::uint64_t range = 0;        // of the call; 0: of a graph's capture
    std::vector<store::Id> copies;  // in the order in which they started
  };

  /// A call whose range had no launch; those of a thread by time. `graph`: so many graphs were made before.
  void called(std::uint32_t thread_id, std::int64_t time_ns, std::uint32_t graph, std::uint64_t range,
              const Call& call);
  [[nodiscard]] bool has_calls() const { return !calls_.empty(); }
  /// In any order, when all calls are known. `captured`: into a graph.
  void launched(std::uint32_t thread_id, std::int64_t time_ns, std::uint32_t correlation_id, bool captured);

  /// Each copy that has a row; others than between devices are left out.
  void copied(const Copy& copy, store::Id row);
  /// Calls with their copies; once, at the end.
  [[nodiscard]] std::vector<Copied> finish(const OtherRanks& other_ranks);

 private:
  struct Launch {
    std::int64_t time_ns = 0;
    std::uint32_t correlation_id = 0;
    bool captured = false;
  };
  struct Waiting {
    Call call;
    std::int64_t time_ns = 0;
    std::uint32_t graph = 0;
    std::uint64_t range = 0;
    std::optional<Launch> last_before, first_behind;  // of its thread
  };
  struct Sent {
    std::int64_t start_ns = 0;
    std::int64_t bytes = 0;
    store::Id row = 0;
  };
  using Copies = std::vector<Sent>;
  [[nodiscard]] static std::optional<std::vector<Copied>> shared_out(const std::vector<Call>& calls,
                                                                     const Copies& copies,
                                                                     const OtherRanks& other_ranks);

  void share_launches();
  [[nodiscard]] std::vector<std::vector<Call>> graphs() const;

  std::vector<Waiting> calls_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_threads_;  // places in calls_, by time
  std::map<std::uint32_t, Copies> eager_;                                   // by correlation id
  std::map<std::uint32_t, Copies> of_graph_launches_;
};

}  // namespace ridgeline::import
