// range_import.h: NVTX ranges of one process, their paths, and the work that the program declares for them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// Order: 1. set_process()  2. add() in the spool's order. Steps have their rows already. Memory grows with the
/// ranges that are open at a time, not with those of the recording.
class RangeImport {
 public:
  RangeImport(store::CaptureWriter& writer, const spool::Reader& reader, const ScannedSpool& spool,
              std::function<void()> row_written)
      : writer_(writer), reader_(reader), spool_(spool), row_written_(std::move(row_written)) {}
  void set_process(store::Id process_id) { process_id_ = process_id; }

  /// Names from the outermost range, joined by " / "; none outside of ranges.
  [[nodiscard]] std::optional<store::Id> path_id(std::uint32_t id);

  void add(const spool::NvtxRangeRecord& range);
  void add(const spool::NvtxPayloadRecord& payload, std::string_view bytes);

 private:
  struct Names {
    store::Id name_id = 0;
    std::optional<store::Id> domain_id;
    std::optional<store::Annotation> size;  ///< what the name itself declares
  };
  const Names& names_of(std::uint32_t path_id, const spool::NvtxPathRecord& node);
  void write(store::Id range_id, store::Annotation work);
  /// Ids of ranges by the spool's, of those written last: a child or a declaration may come late.
  void remember(std::uint64_t range_id, store::Id id);

  store::CaptureWriter& writer_;
  const spool::Reader& reader_;
  const ScannedSpool& spool_;
  std::function<void()> row_written_;
  store::Id process_id_ = 0;
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
