// range_import.h: NVTX ranges of one process, their paths, and the work that the program declares for them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

// Order: 1. set_process()  2. add() in the spool's order  3. finish(). Steps have their rows already.
class RangeImport {
 public:
  RangeImport(store::CaptureWriter& writer, const spool::Reader& reader, const ScannedSpool& spool,
              std::function<void()> row_written)
      : writer_(writer), reader_(reader), spool_(spool), row_written_(std::move(row_written)) {}
  void set_process(store::Id process_id) { process_id_ = process_id; }

  // Names from the outermost range, joined by " / "; none outside of ranges.
  [[nodiscard]] std::optional<store::Id> path_id(std::uint32_t id);

  void add(const spool::NvtxRangeRecord& range);
  void add(const spool::NvtxPayloadRecord& payload, std::string_view bytes);
  void finish();

 private:
  struct Declared {
    std::uint64_t range_id;
    std::int64_t bytes;
    std::int64_t flops;
  };
  void write(const spool::NvtxRangeRecord& outer);

  store::CaptureWriter& writer_;
  const spool::Reader& reader_;
  const ScannedSpool& spool_;
  std::function<void()> row_written_;
  store::Id process_id_ = 0;
  std::unordered_map<std::uint32_t, std::optional<store::Id>> path_ids_;
  std::unordered_map<std::uint64_t, store::Id> range_ids_;
  std::unordered_map<std::uint64_t, std::vector<spool::NvtxRangeRecord>> waiting_;  // by parent
  std::vector<Declared> declared_;
};

}  // namespace ridgeline::import
