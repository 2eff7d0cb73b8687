// split_groups.h: how many ranks the communicators have that NCCL split off others.
//
// With a split NCCL says the new communicator's hash, the parent's, and the parent's ranks. The new one has the ranks
// that made it, and those are known where all ranks of the parent are processes of this recording. They are numbered by
// the key that each gave, then by their rank in the parent. Before 2.29 NCCL says nothing with a split: there it counts
// how many processes call on a communicator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "spool/spool_scan.h"

namespace ridgeline::import {

class SplitGroups {
 public:
  struct Place {
    std::int64_t ranks = 0;
    std::int64_t rank = 0;
  };

  /// Reads the ranges of a process that make communicators, if it has any of a split. All of the recording's processes,
  /// before the first of() is asked. Keeps no reference. Throws Error(io).
  void add(const spool::Reader& reader, const ScannedSpool& spool);
  /// Of the communicator's rank that was `parent_rank` in the parent; none: not all ranks of the parent are here.
  [[nodiscard]] std::optional<Place> of(std::uint64_t group, std::int64_t parent_rank) const;
  /// Processes of this recording that call on it, of those that have splits of which NCCL said nothing.
  [[nodiscard]] std::int64_t callers(std::uint64_t group) const;

 private:
  struct Split {
    std::uint64_t parent = 0;
    std::int64_t parent_ranks = 0;
    std::set<std::pair<std::int64_t, std::int64_t>> members;  // key, rank in the parent
  };
  void made(const std::string& payload, bool by_split);
  void count_callers(const spool::Reader& reader, const ScannedSpool& spool);

  std::map<std::uint64_t, Split> splits_;          // by hash
  std::map<std::uint64_t, std::size_t> made_;      // in how many processes
  std::map<std::uint64_t, std::int64_t> callers_;  // likewise
};

}  // namespace ridgeline::import
