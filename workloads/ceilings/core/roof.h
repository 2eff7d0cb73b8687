// roof.h: what a micro-benchmark measures, and what it says of it. Units: bytes and operations a second (a
// multiply-add is two operations), nanoseconds for launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::ceilings {

enum class Level : std::uint8_t { dram, l2, l1, shared, compute, launch, pcie, nvlink };
[[nodiscard]] const char* to_string(Level level);  // "dram", …: as in the machine file

/// Which roof. `kind` says what is done there: "read", "triad", "stream"; of products and chains of multiply-
/// adds it is the precision: "bf16", "fp32", "fp64_tensor".
struct RoofName {
  Level level = Level::dram;
  std::string kind;
  /// DRAM only: bytes read ÷ bytes moved, 0 to 1.
  std::optional<double> read_share;

  [[nodiscard]] std::string text() const;  // "dram.read": as --only has it, and the name of its NVTX range
};

/// `burst`: a few milliseconds after a pause, at the highest clock that the board gives this load then: what takes more
/// power than the board has is held below the clock of others from the first millisecond on. `sustained`: for seconds,
/// at the clock that power and heat leave.
enum class State : std::uint8_t { burst, sustained };
[[nodiscard]] const char* to_string(State state);

/// Why a reading is no roof.
enum class VoidRule : std::uint8_t {
  wrong_result,     ///< what the kernel computed is not what it should have
  foreign_process,  ///< another process used the GPU
  above_possible,   ///< more than ops per cycle × clock, or than the bus can carry
  rounds_disagree,
  no_burst,     ///< the clock was below its highest, and no higher than sustained
  not_settled,  ///< the clock still moved
  failed,       ///< a call failed
};
[[nodiscard]] const char* to_string(VoidRule rule);

struct Void {
  VoidRule rule = VoidRule::failed;
  std::string detail;  // with the figures
};

/// What was measured of a roof in one state.
struct Reading {
  State state = State::burst;
  double value = 0;                   // in the roof's unit
  double spread_ratio = 0;            // how far rounds, or thirds of the time, are apart, of the value
  int rounds = 0;                     // burst: rounds; sustained: parts of the window
  double seconds = 0;                 // of work that the value is of
  std::optional<double> sm_clock_hz;  // in the kernels' own time
  std::optional<double> power_w;      // mean by the energy counter; sustained only
  std::optional<double> joules;       // over the seconds of the counter; sustained only
  std::optional<int> temperature_c;   // at the end
  std::optional<int> memory_temperature_c;
  std::vector<std::string> throttle;  // why the clock was held, in words
  std::string configuration;          // if it is not the roof's
  std::vector<Void> voids;            // empty: it is a roof
};

struct Roof {
  RoofName name;
  std::string unit;           // "bytes_per_s", "ops_per_s", "ns"
  double work = 0;            // bytes or operations of a launch; 0: of launches
  double per_cycle_sm = 0;    // of the architecture: the most a multiprocessor does in a cycle; 0: not known
  std::string configuration;  // shape, unroll, threads
  std::vector<Reading> readings;
  std::optional<double> call_ns;  // launches: what the call takes on the CPU
};

}  // namespace ridgeline::ceilings
