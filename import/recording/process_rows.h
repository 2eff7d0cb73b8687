// process_rows.h: where the rows of one process go, and what every part that writes them needs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "recording/devices.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/store/capture_writer.h"

namespace ridgeline::import {

class ProcessRows {
 public:
  ProcessRows(store::CaptureWriter& writer, RecordedDevices& devices, ImportSummary& summary)
      : writer_(writer), devices_(devices), summary_(summary) {}

  /// First of all: every other row refers to it.
  void begin(const store::Process& process) {
    process_id_ = writer_.add(process);
    pid_ = process.pid;
  }
  [[nodiscard]] store::CaptureWriter& writer() { return writer_; }
  [[nodiscard]] RecordedDevices& devices() { return devices_; }
  [[nodiscard]] ImportSummary& summary() { return summary_; }
  [[nodiscard]] store::Id process_id() const { return process_id_; }
  [[nodiscard]] std::int64_t pid() const { return pid_; }

  /// After each row of a table that grows with the run: bounds what a crash loses.
  void row_written() {
    if (++written_ % kRowsBetweenCheckpoints == 0) writer_.checkpoint();
  }
  /// Into the capture, and into the summary if it is more than information.
  void say(Severity severity, Reason what) {
    writer_.add(store::Message{
        .process_id = process_id_, .time_ns = std::nullopt, .severity = severity, .what = what});
    if (severity != Severity::info) summary_.warnings.push_back(std::move(what));
  }
  /// Of the source's number; one that it does not describe is made.
  [[nodiscard]] store::Id device_id(std::uint32_t number) {
    const auto [found, fresh] = device_ids_.try_emplace(number, 0);
    if (fresh) found->second = devices_.add_unknown(number);
    return found->second;
  }
  void add_device(std::uint32_t number, const store::Device& device) {
    device_ids_[number] = devices_.add(device);
  }

 private:
  static constexpr std::int64_t kRowsBetweenCheckpoints = 1'000'000;
  store::CaptureWriter& writer_;
  RecordedDevices& devices_;
  ImportSummary& summary_;
  store::Id process_id_ = 0;
  std::int64_t pid_ = 0;
  std::int64_t written_ = 0;
  std::unordered_map<std::uint32_t, store::Id> device_ids_;
};

}  // namespace ridgeline::import
