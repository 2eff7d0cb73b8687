// Which counters a replay step collects: lists of metrics resolved for a chip into configurations of one
// pass. Needs no GPU, so that the built-in lists are tested offline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "call_gate.h"
#include "cupti/cupti_api.h"
#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

struct MetricSet {
  std::string name;  // "R1"
  /// Verbatim, most important first. `a|b`: b where the chip has no a. `a|`: nothing where it has no a.
  std::vector<std::string> metrics;
  /// What takes a second pass here is tried in the next set.
  bool spills = false;
};

/// The built-in rotation, each one pass on GH100 with CUPTI 13.0, the most important first, since a short
/// schedule takes only the first. All hold duration, DRAM bytes and GPC cycles, so that any one of them
/// places a kernel on the memory roof.
///   R1  tensor operations in BF16 and FP8
///   R2  pipes, occupancy, issue
///   R3  L1 and L2 bytes, L1 hits, further pipes
///   R4  L2 hits, FP32 and packed FP16 thread instructions
///   R5  L2 misses, TF32
///   R6  FP64, INT8 (warpgroup), FP16 (warpgroup)
///   R7, R8  FP16 of single warps by sum
///   R9  INT8 of single warps
/// L2 hits and misses lie in two sets because the two together take two passes.
/// Peaks of tensor operations (`sm__ops_path_tensor_*`) count structured sparsity: a dense GEMM can reach
/// half of them (measured on an H200: operations at 46 % of that peak, tensor pipe active 92 % of the
/// cycles).
std::vector<MetricSet> built_in_metric_sets();
/// Counts of floating-point instructions by instrumented code (T3): one pass, no hardware counter beside
/// them.
std::vector<MetricSet> built_in_flop_sets();

/// The metrics of periodic samples, most important first: bytes, then how busy SMs and pipes were. One pass
/// on GH100.
MetricSet sampled_metric_set();

/// Ids of sampled metrics in the spool start here; those of counter configurations stay below.
inline constexpr std::uint32_t kFirstSampledMetricId = 10'000;

/// One configuration ready to collect. Movable; owns CUPTI's host object, which evaluates what was collected.
class CounterConfig {
 public:
  struct Metric {
    std::string name, unit, description;
  };
  CounterConfig() = default;
  CounterConfig(CounterConfig&& other) noexcept { *this = std::move(other); }
  CounterConfig& operator=(CounterConfig&& other) noexcept;
  ~CounterConfig();

  const std::string& name() const { return name_; }
  const std::vector<Metric>& metrics() const { return metrics_; }
  std::uint32_t passes() const { return passes_; }
  /// True if CUPTI counts by patching the kernels' code instead of by hardware counters.
  bool instrumented() const noexcept;
  const std::vector<std::uint8_t>& image() const { return image_; }
  /// Pointers to the names, as CUPTI takes them.
  const char** metric_names() const { return const_cast<const char**>(names_.data()); }

  /// Values of range `range` of a counter data image, in the order of metrics(). False if CUPTI fails.
  bool evaluate(const std::vector<std::uint8_t>& counter_data, std::size_t range,
                double* values) const noexcept {
    return evaluate(counter_data.data(), counter_data.size(), range, values);
  }
  bool evaluate(const std::uint8_t* counter_data, std::size_t size_bytes, std::size_t range,
                double* values) const noexcept;

 private:
  friend struct ConfigBuilder;
  friend CounterConfig join_in_passes(const CuptiApi& api, const std::string& chip,
                                      const std::uint8_t* availability,
                                      const std::vector<const CounterConfig*>& sets);
  const CuptiApi* api_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::string name_;
  std::vector<Metric> metrics_;
  std::vector<const char*> names_;
  std::vector<std::uint8_t> image_;  // CUPTI keeps a pointer to it while a session is open
  std::uint32_t passes_ = 0;
};

/// Writes what the metric with this id in the spool is called and means.
void put_metric(spool::Writer& writer, std::uint32_t metric_id, const CounterConfig::Metric& metric);

struct ResolvedSet {
  CounterConfig config;               // without metrics if none is available
  std::vector<std::string> left_out;  // "name: reason"
  std::vector<std::string> spilled;   // names, if the set spills
};

/// Resolves a list for a chip: keeps the metrics that exist there and fit into one pass, in order of
/// importance. `availability` (CUPTI's image, may be null offline) rules out counters this machine lacks.
/// `chip` must outlive the result. Once `gate` is closed what is left is not resolved any more.
ResolvedSet resolve_metric_set(const CuptiApi& api, const std::string& chip, const std::uint8_t* availability,
                               const MetricSet& set,
                               CUpti_ProfilerType type = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                               const CallGate* gate = nullptr);

/// Sets of one pass each joined into one configuration whose pass k collects set k (CUPTI gives every call
/// that adds metrics passes of its own). Empty, without passes, if CUPTI sees that otherwise. The sets must
/// outlive it.
CounterConfig join_in_passes(const CuptiApi& api, const std::string& chip, const std::uint8_t* availability,
                             const std::vector<const CounterConfig*>& sets);

/// A rotation: as many results as sets, what spills carried on.
std::vector<ResolvedSet> resolve_metric_sets(const CuptiApi& api, const std::string& chip,
                                             const std::uint8_t* availability,
                                             const std::vector<MetricSet>& sets,
                                             const CallGate* gate = nullptr);

}  // namespace ridgeline::agent
