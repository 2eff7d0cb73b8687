// progress.h: what a run tells: the lines on stdout, the JSON log, the summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "gpt2/train/arguments/options.h"
#include "gpt2/train/data/token_source.h"
#include "gpt2/train/loop/step_energy.h"
#include "gpt2/train/machine/energy.h"
#include "gpt2/train/machine/gpu_peak.h"
#include "gpt2/train/text/text_sampler.h"

namespace ridgeline::gpt2 {

struct StepReport {
  int step = 0;  // from 0
  float loss = 0;
  float norm = 0;
  double learning_rate = 0;
  double time_ms = 0;
  bool host_late = false;  // the GPU had run dry before the step was fully enqueued
};

/// What a run says of the ranks that train together.
struct ProgressJob {
  bool leads = true;  // prints; the others are silent
  int ranks = 1;
  std::string nccl_version;  // empty: the process trains alone
  int sequences = 0;         // of a micro-batch, in each rank
  std::size_t buckets = 0;   // of gradients
};

class Progress {
 public:
  /// `first_step`: the one the run begins with.
  Progress(const Options& options, const ModelConfig& config, const GpuPeak& peak, int first_step,
           const ProgressJob& job = {});

  /// Opens the log, in which a resumed run goes on where it was resumed. Throws InputError when that fails.
  void open_log();
  void header(const MemoryPlan& memory, const DataIdentity& data);
  void step(const StepReport& report);
  void validation(int step, float loss);
  /// steps_done: optimizer steps before it.
  void sample(int steps_done, const TextSample& sample);
  void checkpoint(const std::string& directory, int steps_done, double seconds);
  /// `held_bytes`: of the device, as the run ends.
  void summary(std::int64_t held_bytes);

 private:
  void say(const std::string& line) const;
  void data_line(const DataIdentity& data);
  void ranks_line();
  double tokens_per_s(double time_ms) const { return static_cast<double>(tokens_per_step_) / time_ms * 1e3; }
  double mfu(double time_ms) const;  // 0..1; NaN without a known peak
  std::string mfu_text(double time_ms) const;

  const Options& options_;
  ModelConfig config_;
  GpuPeak peak_;
  int first_step_;
  ProgressJob job_;
  std::int64_t tokens_per_step_;    // of all ranks
  std::int64_t planned_bytes_ = 0;  // of device memory, of one rank
  double flops_per_token_;
  std::ofstream log_;
  std::vector<double> times_ms_;  // of the steps past the warmup
  int late_steps_ = 0;            // of those
  EnergyCounter counter_;
  StepEnergyMeter energy_{[this] { return counter_.read_joules(); }};  // of those
  StepReport last_;
  float last_validation_;
};

}  // namespace ridgeline::gpt2
