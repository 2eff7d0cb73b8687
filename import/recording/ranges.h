// ranges.h: ranges of one process, their paths, and the work that the program declares for them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/process_rows.h"
#include "recording/steps.h"

namespace ridgeline::import {

/// Order: 1. define() of all paths, when the process has its row  2. add() in the order in which ranges end. Steps have
/// their rows already. Memory grows with the ranges that are open at a time, not with those of the recording.
class RecordedRanges {
 public:
  RecordedRanges(ProcessRows& rows, const RecordedSteps& steps) : rows_(rows), steps_(steps) {}

  void define(std::uint32_t path_id, Path path) { paths_[path_id] = std::move(path); }
  /// Names from the outermost range, joined by " / "; none outside of ranges.
  [[nodiscard]] std::optional<store::Id> path_id(std::uint32_t id);

  /// `declared`: what the source itself declares for it; null: nothing.
  void add(const Range& range, const store::Annotation* declared = nullptr);
  /// What a payload of that NVTX schema declares for a range; others declare nothing.
  void declare(std::uint64_t range_id, std::uint64_t schema_id, std::string_view payload);

 private:
  struct Names {
    store::Id name_id = 0;
    std::optional<store::Id> domain_id;
    std::optional<store::Annotation> size;  ///< what the name itself declares
  };
  const Names& names_of(std::uint32_t path_id, const Path& path);
  void write(store::Id range_id, store::Annotation work);
  /// Ids of ranges by the source's, of those written last: a child or a declaration may come late.
  void remember(std::uint64_t range_id, store::Id id);

  ProcessRows& rows_;
  const RecordedSteps& steps_;
  std::unordered_map<std::uint32_t, Path> paths_;
  std::unordered_map<std::uint32_t, std::optional<store::Id>> path_ids_;
  std::unordered_map<std::uint32_t, Names> names_;  // by path
  /// A range is written when it ends, so children come before their parent, whose id they are told in advance.
  std::unordered_map<std::uint64_t, store::Id> parents_;  // without a row as yet
  std::unordered_map<std::uint64_t, std::vector<store::Annotation>>
      declared_;  // for ranges without a row as yet
  std::unordered_map<std::uint64_t, store::Id> recent_;
  std::deque<std::uint64_t> recent_order_;
};

}  // namespace ridgeline::import
