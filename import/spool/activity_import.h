// activity_import.h: what ran and what the host did, row by row while the spool streams by: launches, copies, ranges,
// waits, clocks, threads.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "spool/kernel_ids.h"
#include "spool/pm_import.h"
#include "spool/process_rows.h"
#include "spool/range_import.h"
#include "spool/step_import.h"

namespace ridgeline::import {

class ActivityImport {
 public:
  /// Keeps references to all. Ranges go to `ranges`, kernels and copies to `samples` too.
  ActivityImport(ProcessRows& rows, KernelIds& kernels, const StepImport& windows, RangeImport& ranges,
                 PmImport& samples)
      : rows_(rows),
        kernels_(kernels),
        windows_(windows),
        ranges_(ranges),
        samples_(samples),
        writer_(rows.writer),
        spool_(rows.spool),
        steps_(rows.spool.steps) {}

  /// One pass over the spool; says so if fewer launches came than were counted before.
  void write(const OffsetProgress& progress);

 private:
  void write_launch(const spool::KernelRecord& kernel, const spool::LaunchRecord* call);
  [[nodiscard]] std::optional<std::int64_t> ordinal_in_graph(const spool::KernelRecord& kernel);
  template <typename Row, typename Record>
  [[nodiscard]] Row copy_row(const Record& record, bool device_to_host);
  void write_thread(const spool::ThreadRecord& thread);
  void write_wait(const spool::SynchronisationRecord& wait);
  void write_clock(const spool::ClockSampleRecord& clock);
  void write_overhead(const spool::OverheadRecord& overhead);

  struct NodeKeyHash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& key) const {
      return std::hash<std::uint64_t>{}(key.second * 0x9e3779b97f4a7c15ull + key.first);
    }
  };

  ProcessRows& rows_;
  KernelIds& kernels_;
  const StepImport& windows_;
  RangeImport& ranges_;
  PmImport& samples_;
  store::CaptureWriter& writer_;
  ScannedSpool& spool_;
  StepFinder steps_;
  std::int64_t launches_ = 0;
  std::unordered_set<std::uint32_t> named_threads_;  // by the program
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t, NodeKeyHash> repeated_nodes_;
};

}  // namespace ridgeline::import
