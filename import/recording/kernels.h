// kernels.h: kernels of a source are numbers with names; one with several machine codes is several kernels of
// the capture.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/events.h"
#include "recording/process_rows.h"

namespace ridgeline::import {

class RecordedKernels {
 public:
  /// What the source knows of a kernel: asked once for each.
  using NameOf = std::function<KernelName(std::uint32_t kernel)>;
  RecordedKernels(ProcessRows& rows, NameOf name_of) : rows_(rows), name_of_(std::move(name_of)) {}

  /// `code`: hash of the machine code that ran; 0: not known.
  [[nodiscard]] store::Id id_of(std::uint32_t kernel, std::uint64_t code);
  /// All codes of it that ran; that one if none did.
  [[nodiscard]] std::vector<store::Id> all_of(std::uint32_t kernel, std::uint64_t code);
  /// A kernel ran while stalls were sampled.
  void note_stalled(std::uint32_t kernel, store::Id id) { stalled_[kernel].insert(id); }
  /// That the samples of stalls are of; none where two codes of it ran in those steps.
  [[nodiscard]] std::optional<store::Id> sampled(std::uint32_t kernel, std::uint64_t code);

 private:
  ProcessRows& rows_;
  NameOf name_of_;
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint64_t, store::Id>>> ids_;  // by code
  std::unordered_map<std::uint32_t, std::set<store::Id>> stalled_;
};

}  // namespace ridgeline::import
