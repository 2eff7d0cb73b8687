// devices.h: device rows of a capture and their peaks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/store/capture_writer.h"

namespace ridgeline::import {

/// What the processes of one recording share. A device that several processes use is one row.
class RecordedDevices {
 public:
  explicit RecordedDevices(store::CaptureWriter& writer) : writer_(writer) {}
  /// The row of a device; made on first sight of its UUID, or of its index where the source knows none.
  store::Id add(store::Device device);
  /// A row for a device that a record names but no definition describes.
  store::Id add_unknown(std::uint32_t device_index);
  void add_clock(store::Id device_id, std::int64_t sm_hz) { clocks_[device_id].push_back(sm_hz); }
  /// A rate over a launch of that duration: the shorter, the less exact.
  void add_counter_dram_peak(store::Id device_id, double bytes_per_s, std::int64_t duration_ns);
  /// The peaks of every device, once all processes are in.
  void write_peaks();
  /// Their measured roofs, where the folder has a machine file of theirs. `power_limits_w`: by UUID; a device that is
  /// not in it may have any.
  void write_ceilings(const std::string& directory, const std::map<std::string, double>& power_limits_w);

 private:
  store::CaptureWriter& writer_;
  std::map<std::string, store::Device> by_key_;
  std::map<store::Id, std::vector<std::int64_t>> clocks_;  // SM clock while steps ran
  struct CounterPeak {
    double bytes_per_s = 0;
    double duration_ns = 0;
  };
  std::map<store::Id, std::vector<CounterPeak>> counter_peaks_;
};

}  // namespace ridgeline::import
