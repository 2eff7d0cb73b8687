// kernel_ids.h: kernels of a spool are names; one with several codes is several kernels of the capture.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ridgeline/spool/format.h"
#include "spool/process_rows.h"

namespace ridgeline::import {

class KernelIds {
 public:
  explicit KernelIds(ProcessRows& rows) : rows_(rows) {}

  /// `call` may be null; `node`: of a CUDA graph, whose launch names no kernel.
  [[nodiscard]] store::Id of(const spool::KernelRecord& kernel, const spool::LaunchRecord* call, bool node);
  /// All that ran; the newest code if none did.
  [[nodiscard]] std::vector<store::Id> all_of(std::uint32_t id);
  /// That the samples of the phase `stalls` are of; none where two codes of it ran in those steps.
  [[nodiscard]] std::optional<store::Id> sampled(std::uint32_t id);
  /// A kernel ran while stalls were sampled.
  void note_stalled(std::uint32_t id, store::Id kernel) {
    if (rows_.spool.codes.contains(id)) stalled_[id].insert(kernel);
  }

 private:
  store::Id of_code(std::uint32_t id, std::uint64_t code);

  ProcessRows& rows_;
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint64_t, store::Id>>> ids_;  // by code
  std::unordered_map<std::uint32_t, std::set<store::Id>> stalled_;  // of kernels with several codes
};

}  // namespace ridgeline::import
