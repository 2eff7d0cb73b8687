/// job.h: the ranks of one job as a capture keeps them: what each rank's own capture said of its steps, kernels and
/// collectives, added up, and how the hosts' clocks stand to each other. Launches stay in the ranks' captures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/collective_words.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/lengths.h"
#include "ridgeline/store/link_bytes.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

struct JobRank {
  std::int64_t rank = 0;
  std::optional<std::string> host;
  std::string program;                     ///< command line, numbers taken out
  std::optional<std::int64_t> world_size;  ///< ranks of the job
  std::optional<std::string> device;
  std::string file;                            ///< the capture it came from
  Id process_id = 0;                           ///< in that capture
  std::optional<StepSource> step_source = {};  ///< of its timeline steps; empty: not known, or they differ
};

/// What must be taken from times of a host: offset + drift * (time - base).
struct JobClock {
  std::string host;
  ClockStatus status = ClockStatus::unknown;
  std::optional<std::int64_t> offset_ns;
  std::optional<double> drift_ppb;
  std::optional<std::int64_t> base_ns;
  std::optional<std::int64_t> low_ns, high_ns;  ///< the truth lies between offset + low and offset + high
  std::int64_t collectives = 0;
};

struct JobCommunicator {
  Id id = 0;
  std::string hash;
  std::optional<std::int64_t> ranks;
  std::optional<std::string> name;
};

struct JobSite {
  Id id = 0;
  Id communicator_id = 0;
  std::optional<CollectiveFunction> function;
  std::optional<std::int64_t> bytes;  ///< of the whole array
  /// What calls do not agree on is empty, as is what is not known.
  std::optional<ElementType> element_type = {};
  std::optional<std::int64_t> blocks = {};  ///< of a rank's kernel, NCCL's channels
  std::optional<CollectiveAlgorithm> algorithm = {};
  std::optional<CollectiveProtocol> protocol = {};
  std::optional<std::int64_t> copies = {};  ///< of a rank between devices, where copy engines do the call
};

struct JobKernel {
  Id id = 0;
  std::string name;
};

/// compute + exposed + copy + idle = duration.
struct JobStep {
  std::int64_t rank = 0;
  std::int64_t step_index = 0;
  std::int64_t start_ns = 0;  ///< on the rank's own clock
  std::int64_t duration_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t exposed_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t communication_ns = 0;
  std::int64_t copy_beside_ns = 0;  ///< of exposed_ns: a copy ran
  std::int64_t launches = 0;
  std::optional<double> sm_clock_hz;  ///< of samples in the step; without any, of those before and after it
  std::int64_t clock_samples = 0;     ///< in the step
  /// Kernels that compute ran so long beside collectives, each counted; empty: not kept.
  std::optional<std::int64_t> beside_ns = {};
  std::optional<std::int64_t> beside_controlled_ns = {};  ///< of that, of launches with controls
  /// So much longer those took than their controls, with the step's part in how far the controls are off: its mean over
  /// the rank's steps is the cost, its spread the error. Empty: no launch has controls.
  std::optional<double> beside_cost_ns = {};
};

struct JobCall {
  std::int64_t rank = 0;
  std::int64_t step_index = 0;
  std::int64_t position = 0;
  Id site_id = 0;
  std::optional<std::int64_t> ordinal;
  std::int64_t start_offset_ns = 0;  ///< from the step's start
  std::int64_t duration_ns = 0;
  std::int64_t kernels_before_end = 0;  ///< that compute, from the step's first, and began before its end
  /// Lengths from the start: without kernels beside it, with, without, …; empty: none beside it.
  Lengths hidden_ns;
  /// From the step's start: the last kernel that computes and that it follows, by order of calls or by edges
  /// of its CUDA graph, ended then. Empty: not known.
  std::optional<std::int64_t> ready_offset_ns = {};
};

struct JobKernelStep {
  std::int64_t rank = 0;
  std::int64_t step_index = 0;
  Id kernel_id = 0;
  std::int64_t launches = 0;
  std::int64_t blocks = 0;
  std::int64_t time_ns = 0;
};

/// What a rank's device moved over its links in its sampled steps.
struct JobTraffic {
  std::int64_t rank = 0;
  std::optional<Id> site_id;  ///< while such collectives ran; empty: in whole steps
  std::int64_t count = 0;     ///< steps or collectives
  std::int64_t time_ns = 0;   ///< of them together, as the bytes
  LinkBytes bytes;
};

/// Launches of a kernel that computes beside collectives, in all timeline steps of a rank.
struct JobInterference {
  std::int64_t rank = 0;
  Id kernel_id = 0;
  std::optional<CollectiveFunction> function;  ///< of the collective that a launch is longest beside
  std::int64_t launches = 0;
  std::int64_t compared = 0;  ///< of these, with controls
  std::int64_t controls = 0;  ///< launches of the same kinds beside no collective
  std::int64_t beside_ns = 0;
  std::int64_t controlled_ns = 0;  ///< of that, of launches with controls
  double cost_ns = 0;              ///< so much longer those took than their controls
};

/// Rows are ordered by their keys: rank, step, position or kernel; of traffic whole steps come first.
struct Job {
  std::vector<JobRank> ranks;
  std::vector<JobClock> clocks;
  std::vector<JobCommunicator> communicators;
  std::vector<JobSite> sites;
  std::vector<JobKernel> kernels;
  std::vector<JobStep> steps;
  std::vector<JobCall> calls;
  std::vector<JobKernelStep> kernel_steps;
  std::vector<JobTraffic> traffic;
  std::vector<JobInterference> interference;
  /// NVLink of one of its devices, as `ridgeline ceilings` measured it; empty: it did not.
  std::vector<Ceiling> links;
};

/// Those of NVLink, of the first device that has any.
[[nodiscard]] std::vector<Ceiling> nvlink_of(const std::vector<Ceiling>& ceilings);
/// Whether the capture is a merged job. Failures: those of opening it.
[[nodiscard]] Result<bool> is_job(const std::string& path);
/// Failures: those of opening it; no_data if it is no merged job; corrupt.
[[nodiscard]] Result<Job> read_job(const std::string& path);
/// A new capture; `run` says of which program. Failure: io.
[[nodiscard]] Result<void> write_job(const std::string& path, const Run& run, const Job& job);

}  // namespace ridgeline::store
