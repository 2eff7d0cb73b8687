// machine_ceilings.h: the machine file: roofs that `ridgeline ceilings` measured on one GPU at one power limit.
// docs/ceilings.md describes its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// Why a reading is no roof: the rule's word and a sentence with the figures.
struct CeilingVoid {
  std::string rule;
  std::string detail;
};

struct CeilingReading {
  CeilingState state = CeilingState::burst;
  double value = 0;  // in the roof's unit
  double spread_ratio = 0;
  double seconds = 0;                  // of work that the value is of
  std::optional<double> sm_clock_hz;   // in the kernels' own time
  std::optional<double> per_cycle_sm;  // value ÷ clock ÷ SMs
  std::optional<double> power_w;
  std::optional<double> joules_each;  // of a byte or an operation
  std::optional<std::int64_t> temperature_c;
  std::vector<std::string> throttle;
  std::string configuration;       // if it is not the roof's
  std::vector<CeilingVoid> voids;  // empty: it is a roof
};

/// What counters saw of the benchmark, beside what it declares.
struct CeilingCount {
  double counted = 0;  // bytes or operations
  double declared = 0;
  std::string counter;
};

struct CeilingRoof {
  CeilingLevel level = CeilingLevel::dram;
  std::string kind;  // "read", "triad", "stream"; of compute the precision
  std::optional<double> read_share;
  std::string unit;  // "bytes_per_s", "ops_per_s", "ns"
  double work = 0;   // bytes or operations of a launch
  std::optional<double> max_per_cycle_sm;
  std::string configuration;
  std::optional<double> call_ns;
  std::vector<CeilingReading> readings;
  std::optional<CeilingCount> count;

  [[nodiscard]] std::string name() const;  // "dram.read"
};

struct CeilingSweep {
  CeilingLevel level = CeilingLevel::l2;
  struct Point {
    std::int64_t bytes = 0;
    double bytes_per_s = 0;
  };
  std::vector<Point> points;
  std::optional<double> plateau_bytes_per_s;
  std::optional<std::int64_t> knee_bytes;
};

struct CeilingShape {
  std::string precision;
  std::string shape;
  double burst_ops_per_s = 0;
  std::optional<double> sustained_ops_per_s;
};

struct CeilingEnergy {
  double idle_w = 0;
  double idle_error_w = 0;
  std::int64_t points = 0;
  double rms_w = 0;
  double max_w = 0;
  struct Term {
    std::string name;
    double joules = 0;
    double error = 0;
  };
  std::vector<Term> terms;
};

struct MachineCeilings {
  std::string measured;  // UTC, "2026-11-25T14:00:00Z"
  std::string mode;      // "quick" or "thorough"
  double seconds = 0;
  std::string device;
  std::string uuid;
  std::string driver;
  std::int64_t sm_count = 0;
  double max_sm_clock_hz = 0;
  std::optional<double> power_limit_w;
  std::optional<bool> ecc;
  std::vector<std::string> left_out;  // "compute.fp8 sustained": the time was over before its turn
  std::vector<CeilingRoof> roofs;
  std::vector<CeilingSweep> sweeps;
  std::vector<CeilingShape> shapes;
  std::optional<CeilingEnergy> energy;
};

/// Failures: corrupt (no such file, or a value of another kind), newer_capture (another version); messages name
/// nothing.
[[nodiscard]] Result<MachineCeilings> parse_machine_ceilings(std::string_view text);
/// Failures: those of reading too; messages begin with the path.
[[nodiscard]] Result<MachineCeilings> read_machine_ceilings(const std::string& path);

/// The same text with what counters saw of the roofs named so ("dram.read"), and a `counters_disagree` where it
/// is further from what was declared than `max_difference_ratio`. `text` is one that parse_machine_ceilings()
/// takes.
struct NamedCount {
  std::string roof;
  CeilingCount count;
};
[[nodiscard]] std::string with_counts(std::string_view text, const std::vector<NamedCount>& counts,
                                      double max_difference_ratio = 0.02);

/// Rows of a capture: readings that are roofs, and the energy model. The conditions say so where they are of another
/// card than `device`.
[[nodiscard]] std::vector<Ceiling> ceiling_rows(const MachineCeilings& machine, const Device& device);

/// Where machine files are kept: $XDG_DATA_HOME/ridgeline/ceilings, else ~/.local/share/ridgeline/ceilings.
/// Empty: neither is set.
[[nodiscard]] std::string ceilings_directory();
/// "GPU-01234567-…-700W.json" in that folder.
[[nodiscard]] std::string ceilings_path(const std::string& directory, const MachineCeilings& machine);

/// The card whose roofs are looked for.
struct CeilingsWanted {
  std::string uuid;
  std::string device;                   ///< its model's name; "": only the card itself will do
  std::optional<double> power_limit_w;  ///< empty: not known, any will do
};
/// Of the card itself, else of another card of its model; of several the file that was measured last. A file of another
/// power limit is none. Files that cannot be read are passed over. Empty: there is none.
[[nodiscard]] std::optional<MachineCeilings> find_machine_ceilings(const std::string& directory,
                                                                   const CeilingsWanted& wanted);
/// Whether the file's roofs may stand for the device's: its own, or those of another card of the model.
[[nodiscard]] bool measures(const MachineCeilings& machine, const Device& device);

}  // namespace ridgeline::store
