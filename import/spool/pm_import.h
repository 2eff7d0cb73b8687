// pm_import.h: windows of periodic samples (T1) from a spool into a capture: samples, what each launch of the
// sampled steps did, coverage.
//
// Order: 1. add_kernel() and add_copy() for all of the process, add_peer() for the others  2. write(). One
// pass over the spool; memory grows with one window: its samples and what ran during it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribution/pm_attribution.h"
#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool/spool_scan.h"
#include "spool/tier_verdict.h"

namespace ridgeline::import {

/// How a metric of a sample adds up over a launch.
enum class PmMeaning {
  amount,      // a count: parts add up
  mean,        // a share of a peak or a rate of work: mean over time; nothing runs, nothing counted
  background,  // goes on when nothing runs (clocks): mean over time of what the samples say
  ratio,       // hits of look-ups: mean weighted by traffic, if that was sampled too
};
[[nodiscard]] PmMeaning pm_meaning(std::string_view metric);

/// Another process of the recording: what it ran on the same device is in the samples too.
struct PmPeer {
  const spool::Reader* reader = nullptr;
  std::map<std::uint32_t, spool::DeviceRecord> devices;  // by its CUDA ordinal
};

class PmImport {
 public:
  struct Target {
    store::CaptureWriter& writer;
    store::Id process_id = 0;
    std::function<store::Id(std::uint32_t)> device_id;  // of a CUDA ordinal
    std::function<void(Reason)> warn;
    std::function<void()> row_written;
  };

  PmImport(const spool::Reader& reader, const ScannedSpool& spool);

  /// `step` may be null; `ordinal` and the ids are those of the capture.
  void add_kernel(const spool::KernelRecord& kernel, store::Id kernel_id, const ScannedStep* step,
                  std::optional<std::int64_t> ordinal, store::Id launch_id);
  /// A copy or set; `kind` tells apart what is not alike.
  void add_copy(std::uint32_t device_id, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t kind,
                std::int64_t bytes);

  /// Reads the peer's spool if a window and a device are shared.
  void add_peer(const PmPeer& peer);

  /// Writes windows, samples, values and coverage; adds kernel time and covered time to the outcome.
  void write(const Target& target, SamplingOutcome& outcome, const OffsetProgress& progress);

 private:
  struct Ran {
    std::int64_t start_ns, end_ns;
    std::uint32_t device_id;
    std::uint32_t position, family;
    store::Id launch_id;  // 0: not of a sampled step
    bool kernel;
  };
  struct Column {
    std::uint32_t place;  // in the samples' records
    std::string name;
    store::Id metric_id;
    PmMeaning meaning;
    std::vector<double> values;
  };
  struct Window {
    PmSamples samples;
    std::vector<std::vector<double>> values;  // by sample, as recorded
  };
  struct Covered {
    std::int64_t kernel_time_ns = 0;
    std::map<store::Id, std::int64_t> by_metric;
  };
  [[nodiscard]] bool in_window(std::uint32_t device_id, std::int64_t start_ns, std::int64_t end_ns) const;
  void write_window(const ScannedPmWindow& window, Window samples, const Target& target);
  [[nodiscard]] std::vector<Column> columns_of(const ScannedPmWindow& window, const Window& samples,
                                               const Target& target) const;
  void write_values(const std::vector<Ran>& ran, const PmSamples& samples, const std::vector<Column>& columns,
                    const Target& target);

  const spool::Reader& reader_;
  const ScannedSpool& spool_;
  std::vector<Ran> ran_;
  /// Numbers of positions and families, from what makes them the same.
  std::map<std::tuple<std::uint32_t, std::int64_t, store::Id, std::uint64_t>, std::uint32_t> positions_;
  std::map<std::tuple<std::uint32_t, store::Id, std::uint64_t>, std::uint32_t> families_;
  std::uint32_t next_position_ = 0;
  Covered covered_;
};

}  // namespace ridgeline::import
