// foreign_collectives.h: what a trace of PyTorch says of launches that communicate between ranks, and its groups.
//
// Order: 1. note_group(), collective_of(), ran(), in any order  2. write_groups(), when the process has its row
// 3. write() of each launch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "recording/process_rows.h"
#include "ridgeline/base/collective_words.h"

namespace ridgeline::import {

/// Arguments of an event, by the names that PyTorch gives them.
struct CollectiveArguments {
  std::string_view name, type, group, members;
  std::optional<std::int64_t> in_elements, out_elements, group_ranks, sequence;

  /// False: it is none of them. `value` without quotes; it must outlive this.
  bool take(std::string_view key, std::string_view value);
};

struct ForeignCollective {
  CollectiveFunction function = CollectiveFunction::all_reduce;
  std::optional<std::int64_t> bytes;    ///< of the whole array
  std::optional<std::int64_t> ordinal;  ///< in its group
  std::string group;                    ///< name of its group; "": not said
};

class ForeignCollectives {
 public:
  /// `members`: "[0, 1]", as PyTorch writes ranks; "": not said.
  void note_group(std::string_view name, std::string_view members, std::optional<std::int64_t> ranks);
  /// Nothing if the arguments name no collective that is known. Notes its group.
  [[nodiscard]] std::optional<ForeignCollective> collective_of(const CollectiveArguments& arguments);
  /// What the launch of that correlation is.
  void ran(std::uint32_t correlation_id, ForeignCollective collective);

  /// `rank` and `world_ranks` of the job; none: not known.
  void write_groups(ProcessRows& rows, std::optional<int> rank, std::optional<std::int64_t> world_ranks);
  void write(ProcessRows& rows, std::uint32_t correlation_id, store::Id launch_id) const;

 private:
  struct Group {
    std::string members;
    std::optional<std::int64_t> ranks;
    store::Id id = 0;
  };
  std::map<std::string, Group, std::less<>> groups_;  // by name
  std::unordered_map<std::uint32_t, ForeignCollective> collectives_;
};

}  // namespace ridgeline::import
