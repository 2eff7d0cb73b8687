// process_import.h: writes one process's spool into a capture.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "recording/devices.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/spool/manifest.h"
#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool/split_groups.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// Another process of the recording: what it ran on the same device is in the samples too.
struct PmPeer {
  const spool::Reader* reader = nullptr;
  std::map<std::uint32_t, spool::DeviceRecord> devices;  // by its CUDA ordinal
};

struct ProcessImport {
  store::CaptureWriter& writer;
  RecordedDevices& devices;
  const spool::Reader& reader;
  ScannedSpool& spool;
  const std::optional<spool::LaunchManifest>& manifest;
  const std::vector<PmPeer>& peers;  // the recording's processes, this one among them
  const SplitGroups& splits;         // of all of them
  const std::function<std::optional<KeptTracing>()>& kept_tracing;
  const OffsetProgress progress_rows;      // pass of launches, copies and ranges
  const OffsetProgress progress_counters;  // pass of counter values
  const OffsetProgress progress_samples;   // pass of periodic samples
};

/// Passes over the spool expected of scan and import together; one more if there are periodic samples.
inline constexpr int kPassesPerSpool = 6;

/// Writes the rows and adds to the summary. Checkpoints as it goes.
void import_process(ProcessImport& import, ImportSummary& summary);

}  // namespace ridgeline::import
