// process_import.h: writes one process's spool into a capture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manifest.h"
#include "pm_import.h"
#include "ridgeline/record/importer.h"
#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool_scan.h"

namespace ridgeline::record {

// What the processes of one recording share. A device that several processes use is one row.
class CaptureDevices {
 public:
  explicit CaptureDevices(store::CaptureWriter& writer) : writer_(writer) {}
  // The row of a device; made on first sight of its UUID.
  store::Id add(const spool::Reader& reader, const spool::DeviceRecord& record);
  // A row for a device that a record names but no definition describes.
  store::Id add_unknown(std::uint32_t device_id);
  void add_clock(store::Id device_id, std::int64_t sm_hz) { clocks_[device_id].push_back(sm_hz); }
  // A rate over a launch of that duration: the shorter, the less exact.
  void add_counter_dram_peak(store::Id device_id, double bytes_per_s, std::int64_t duration_ns);
  // The peaks of every device, once all processes are in.
  void write_peaks();

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

struct ProcessImport {
  store::CaptureWriter& writer;
  CaptureDevices& devices;
  const spool::Reader& reader;
  ScannedSpool& spool;
  const std::optional<LaunchManifest>& manifest;
  const std::vector<PmPeer>& peers;        // the recording's processes, this one among them
  const OffsetProgress progress_rows;      // pass of launches, copies and ranges
  const OffsetProgress progress_counters;  // pass of counter values
  const OffsetProgress progress_samples;   // pass of periodic samples
};

// Passes over the spool expected of scan and import together; one more if there are periodic samples.
inline constexpr int kPassesASpool = 6;

// Writes the rows and adds to the summary. Checkpoints as it goes.
void import_process(ProcessImport& import, ImportSummary& summary);

}  // namespace ridgeline::record
