// ncu_join.h: which launch of a capture is which that Nsight Compute profiled.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ncu/ncu_csv.h"
#include "ridgeline/store/records.h"

namespace ridgeline::import {

/// Launches that could not be joined, or not one to one, by what they are called.
struct NcuLeftOver {
  std::string name;  ///< as printed, with grid and block
  std::int64_t launches = 0;
  std::string candidates;  ///< names of the kernels that it may be; "": none is it
};

struct NcuJoin {
  struct Pair {
    std::size_t profiled = 0;  ///< index into NcuResults::launches
    store::Id launch_id = 0;   ///< several profiled launches may be of one: passes over the step
  };
  std::vector<Pair> pairs;
  std::int64_t by_order = 0;           ///< of the pairs: known by the launches around it, not by the name
  std::vector<NcuLeftOver> unmatched;  ///< no such launch
  std::vector<NcuLeftOver> ambiguous;  ///< of several kernels
  std::vector<NcuLeftOver>
      by_kind;  ///< joined, though there are not as many as were profiled, nor a multiple
};

/// `launches` in the order in which they were launched; `repeats`: they are a step, and another like it follows.
[[nodiscard]] NcuJoin join_ncu(const NcuResults& results, const std::map<store::Id, store::Kernel>& kernels,
                               const std::vector<store::Launch>& launches, bool repeats);

}  // namespace ridgeline::import
