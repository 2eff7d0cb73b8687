// process_rows.h: what the parts of one process's import share: where rows go, and what is known of the process.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ridgeline/import/importer.h"
#include "spool/process_import.h"
#include "spool/tier_verdict.h"

namespace ridgeline::import {

/// Lifecycle: 1. construct  2. set process_id and pid when the process has its row  3. hand it to the parts, which keep
/// references.
class ProcessRows {
 public:
  ProcessRows(ProcessImport& import, ImportSummary& totals)
      : writer(import.writer),
        reader(import.reader),
        spool(import.spool),
        devices(import.devices),
        summary(totals) {}

  store::CaptureWriter& writer;
  const spool::Reader& reader;
  ScannedSpool& spool;
  CaptureDevices& devices;
  ImportSummary& summary;
  store::Id process_id = 0;
  std::int64_t pid = 0;
  TierOutcomes outcomes;

  /// After each row of a table that grows with the run: bounds what a crash loses.
  void row_written() {
    if (++written_ % kRowsBetweenCheckpoints == 0) writer.checkpoint();
  }
  /// Into the capture, and into the summary if it is more than information.
  void say(Severity severity, Reason what) {
    writer.add(store::Message{
        .process_id = process_id, .time_ns = std::nullopt, .severity = severity, .what = what});
    if (severity != Severity::info) summary.warnings.push_back(std::move(what));
  }
  /// Of a CUDA ordinal; one that the spool does not describe is made.
  store::Id device_id(std::uint32_t ordinal) {
    const auto [found, fresh] = device_ids_.try_emplace(ordinal, 0);
    if (fresh) found->second = devices.add_unknown(ordinal);
    return found->second;
  }
  void add_device(std::uint32_t ordinal, store::Id id) { device_ids_[ordinal] = id; }

 private:
  static constexpr std::int64_t kRowsBetweenCheckpoints = 1'000'000;
  std::int64_t written_ = 0;
  std::unordered_map<std::uint32_t, store::Id> device_ids_;
};

}  // namespace ridgeline::import
