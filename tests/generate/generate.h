// generate.h: recordings that nobody made, of any size, the same for the same options and seed.
//
// A recording is described step by step to a sink; there is one sink for captures (through the store's
// writer) and one for spools (through the agent's writer), so both hold the same launches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/base/stream_words.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::generate {

enum class Shape {
  after,     // most launches in the steps after the schedule
  timeline,  // all in timeline steps
  one_step,  // one timeline step
  pairs,     // timeline steps of 20,000 launches, each of another kernel or grid
  eager,     // the CPU launches 1,153 kernels one by one and needs 97 % of the step for it
  decode,    // a token of a language model: 755 short launches, a wait and a long pause of the CPU
};

struct Options {
  Shape shape = Shape::after;
  std::int64_t launches = 10'000;      // of each process; rounded up to whole steps
  std::int64_t launches_per_step = 0;  // 0: 300, or what the shape says
  int processes = 1;
  int replay_steps = 3;      // with counters, so that kernels have a utilisation; 0: none
  int sample_steps = 0;      // with periodic samples; 0: none
  bool ranges = false;       // an NVTX range a launch
  bool annotations = false;  // and declared work for each
  bool order = false;     // each tenth launch on a side stream, with events before and after it, and memory
  int outlier_every = 0;  // of the timeline steps each n-th takes 1.5 times as long; 0: none
  std::uint64_t seed = 1;
};

struct Kernel {
  std::uint32_t id = 0;  // from 1
  std::string mangled_name;
};
/// A node of the tree of NVTX names.
struct Path {
  std::uint32_t id = 0;      // from 1
  std::uint32_t parent = 0;  // 0: a root
  std::string name;
};

struct GeneratedLaunch {
  std::uint32_t kernel = 0;  // Kernel::id
  std::uint32_t grid_x = 1;
  std::uint32_t path = 0;  // Path::id
  std::uint32_t correlation_id = 0;
  std::int64_t host_start_ns = 0;
  std::int64_t host_end_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double scale = 1;  // of its kernel's time and work
  std::uint32_t stream = 7;
};
/// A call that orders streams, made right after the launch with the correlation id before.
struct GeneratedOrder {
  std::uint32_t correlation_id = 0;
  std::int64_t time_ns = 0;
  StreamCall call = StreamCall::event_record;
  std::uint32_t stream = 7;
  std::uint64_t event = 0;
};
struct GeneratedMemory {
  std::uint32_t correlation_id = 0;
  std::int64_t time_ns = 0;
  MemoryCall call = MemoryCall::allocate;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};
/// Launch i of the step is at ordinal i.
struct GeneratedStep {
  std::uint32_t index = 0;
  Phase phase = Phase::timeline;
  std::uint32_t configuration = 0;  // of counters, from 1; 0: none
  std::int64_t host_start_ns = 0;
  std::int64_t host_end_ns = 0;
  std::vector<GeneratedLaunch> launches;
  std::int64_t copy_start_ns = 0;  // one copy to the device
  std::int64_t copy_end_ns = 0;
  std::int64_t wait_start_ns = 0;  // of the host for the GPU, after the launches; 0: none
  std::int64_t wait_end_ns = 0;
  std::vector<GeneratedOrder> order;
  std::vector<GeneratedMemory> memory;
};

/// What a launch moves and computes; the sinks make the counters of it.
struct Work {
  double dram_read_bytes = 0;
  double dram_write_bytes = 0;
  double tensor_percent = 0;  // of the peak
  double declared_bytes = 0;
  double declared_flops = 0;
};
[[nodiscard]] Work work_of(const GeneratedLaunch& launch);

struct Description {
  Options options;
  std::vector<Kernel> kernels;
  std::vector<Path> paths;  // the first is the step's
  std::string schedule;     // as for RIDGELINE_SCHEDULE
  std::uint32_t first_sample_step = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin_process(int number, const Description& description) = 0;
  virtual void step(const GeneratedStep& step) = 0;
  virtual void end_process() = 0;
  virtual void finish() = 0;
};

/// Throw std::runtime_error if the target cannot be written.
[[nodiscard]] std::unique_ptr<Sink> make_capture_sink(const std::string& path);
[[nodiscard]] std::unique_ptr<Sink> make_spool_sink(const std::string& directory);

/// Describes the recording to the sink. Returns the number of launches, of all processes.
std::int64_t generate(const Options& options, Sink& sink);

/// The time of the first step of process 0.
inline constexpr std::int64_t kOrigin = 1'700'000'000'000'000'000;
inline constexpr const char* kSampledMetrics[] = {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                                                  "dram__bytes_read.sum", "dram__bytes_write.sum"};
/// The payload schema of declared work: two int64, bytes and FLOPs.
inline constexpr std::uint64_t kOpCostSchemaId = (std::uint64_t{1} << 24) + 0x524C;
inline constexpr std::int64_t kSampleInterval_ns = 20'000;
inline constexpr double kClock_hz = 1.7e9;
inline constexpr std::uint32_t kSideStream = 13;

}  // namespace ridgeline::generate
