/// readiness.h: when a collective could have begun, whatever kept its stream busy: the end of the kernel
/// whose result it carries.
///
/// Of a launch that the program called by itself that is the last kernel that computes and was called before
/// it: programs record an event behind the kernel that completes a bucket and launch the collective behind
/// that event. Of a node of a CUDA graph it is the last of the computing kernels that it follows by the
/// graph's edges. No later than its own start: a program that does not wait for a kernel at all is seen by
/// that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ridgeline/store/order.h"

namespace ridgeline::analyzer::ranks {

class Readiness {
 public:
  /// `edges`: of the process, or none.
  explicit Readiness(const std::vector<store::GraphEdge>& edges);

  /// A kernel of the process that computes.
  void add(const store::Launch& launch);
  /// After the last add().
  void finish();
  /// A node that communicates: what it follows is looked for beyond it, too, unless it is in another launch.
  [[nodiscard]] std::optional<std::int64_t> ready_ns(const store::Launch& collective) const;

 private:
  struct Called {
    std::int64_t host_start_ns = 0;
    std::int64_t end_ns = 0;  ///< the latest of those called so far that were called together
  };
  [[nodiscard]] std::optional<std::int64_t> by_calls(const store::Launch& collective) const;
  [[nodiscard]] std::optional<std::int64_t> by_edges(const store::Launch& collective) const;

  std::unordered_map<std::int64_t, std::vector<std::int64_t>> before_;  // node: those it follows
  std::map<std::int64_t, std::unordered_map<std::int64_t, std::int64_t>> graph_ends_;  // launch: node: end
  std::vector<Called> called_;                                                         // by time of the call
};

}  // namespace ridgeline::analyzer::ranks
