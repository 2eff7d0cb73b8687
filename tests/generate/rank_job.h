// rank_job.h: jobs of many ranks that nobody ran, one capture a rank, with stragglers whose cause is known.
//
// Data-parallel training: forward, backward with a bucket reduced behind each layer on a stream of its own, one small
// reduction of the norm, the optimizer. All ranks are simulated together on one true clock, so that waits are what they
// would be; each host then reads it on a clock of its own. The same options and seed give the same job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::generate {

enum class RankCause { none, more_work, more_cycles, lower_clock, host_gaps, copies };

struct RankJob {
  int ranks = 2;
  int ranks_per_host = 8;
  int steps = 20;
  int layers = 6;  // a bucket each, unless bucket_bytes says otherwise
  /// A bucket closes with the kernel whose gradients make it this large, and with the last; 0: with each layer.
  std::int64_t bucket_bytes = 0;
  std::int64_t embedding_bytes = 0;  // of gradients that one kernel completes at the end of the backward pass
  double links = 1;                  // times as fast; latency stays
  /// Collectives end when the last rank has entered: nothing waits for the transfers, but kernels that run beside
  /// them are slower for as long as they take, one after the other.
  bool free_transfers = false;
  double interference = 1;  // kernels run so many times as long while a collective of their rank runs
  double interference_of_collectives =
      1;                              // transfers take so many times as long while kernels of some rank run
  RankCause cause = RankCause::none;  // of what the straggler does more or slower
  bool rotating = false;              // the straggler is rank (step mod ranks), else always the same
  int straggler = 1;
  int late_steps = -1;             // it is one in so many steps, the first; -1: in all
  double late_ns = 1'500'000;      // by how much a straggler's own time is longer in a step
  double clock_offset_ns = 0;      // hosts but the first are off by up to this, either way
  double clock_drift_ppb = 0;      // and run faster or slower by up to this
  double clock_sample_ns = 100e6;  // between samples of the SM clock; 0: none
  bool bytes_known = true;         // communicators, functions and bytes are in the captures
  /// Collectives are gathers that the copy engines do: a copy to each other rank, one after the other, and no kernel.
  bool by_engines = false;
  int sampled_steps = 0;  // behind the others, with samples of NVLink and PCIe bytes (T1)
  std::vector<int> lost;  // ranks without a capture
  int reordered = -1;     // this rank runs two buckets of step 3 the other way round; -1: none
  int lost_calls = -1;    // of this rank two collectives of step 4 have no record; -1: none
  std::string communicator = "c0ffee";
  std::string command_line = "train --layers 6";
  std::uint64_t seed = 1;
};

/// Bytes on NVLink for each that a collective sends.
inline constexpr double kLinkOverhead = 1.125;

struct RankJobTruth {
  std::vector<std::string> files;  // of the ranks that are not lost, by rank
  std::vector<double> offset_ns;   // of each rank's clock at the job's beginning; its host's
  std::vector<double> drift_ppb;
  std::vector<int> straggler;  // of each step; -1: none
  double transfer_ns = 0;      // of a bucket once all are there, beside no kernel
  std::int64_t bucket_bytes = 0;
  double interference_ns = 0;  // so much longer kernels of a step took for it, mean over ranks and steps
  double step_ns =
      0;  // on the true clock: median over steps, the first left out, from the first rank's beginning to the next
};

/// Writes rank0000.ridge and so on into the directory, which must exist. Throws std::runtime_error.
RankJobTruth generate_rank_job(const RankJob& job, const std::string& directory);

/// What generate_rank_job() would say of the job, without its files.
RankJobTruth simulate_rank_job(const RankJob& job);

}  // namespace ridgeline::generate
