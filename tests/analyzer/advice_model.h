// advice_model.h: a program whose steps are written down kernel by kernel, with or without a defect, as a recording of
// it would hold them: timeline steps, a sampled and a replayed one.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer::testing {

/// What a step does, in order.
struct AdviceWork {
  std::string name;
  KernelClass kernel_class = KernelClass::other;
  std::int64_t duration_ns = 100'000;
  std::int64_t blocks = 2640;
  std::int64_t threads = 256;
  std::int64_t registers = 32;
  double dram_ratio = 0.5;  ///< of 1 TB/s
  double written = 0.5;     ///< of the bytes
  double fma_pct = 5, tensor_pct = 0, fp64_pct = 0;
  double tensor_ops = 0;
  double l2_bytes = 0;
  double sm_active_pct = 99;
  std::int64_t gap_ns = 1000;  ///< before it, the call made in time
  std::optional<std::int64_t> late_ns =
      {};  ///< before it, with the call so long before the start; empty: in time
  std::int64_t call_ns = 3000;
  std::optional<SynchronisationCall> wait = {};  ///< in the gap before it, from the end of the work before
  std::int64_t stream = 7;
  std::string range = {};            ///< NVTX path
  double declared_bytes = 0;         ///< of the range that it has to itself; 0: none
  std::int64_t m = 0, n = 0, k = 0;  ///< the product that this range is; 0: none
  bool graph = false;                ///< it is a node of a graph, whose launch is its call
  std::int64_t copy_bytes = 0;       ///< a copy to the device, not a kernel; with `wait` as its own call
  std::map<std::string, double> counted = {};  ///< more counters of it
  std::map<std::string, double> joined =
      {};  ///< counters of each launch itself, as results of Nsight Compute are
  std::optional<std::int64_t> held_ns =
      {};  ///< a copy: how long its call holds the CPU; empty: while it runs
};

class AdviceModel : public FabricatedModel {
 public:
  bool with_counters = true, with_samples = true, with_waits = true;
  std::int64_t first_index = 0;

  AdviceModel() {
    store::Device& device = model.devices.front();
    device.name = "NVIDIA H200";
    device.compute_capability = "9.0";
    device.sm_count = 132;
    device.max_sm_clock_hz = 1'980'000'000;
    device.l2_bytes = 50'000'000;
  }

  /// Timeline steps of this, then one for samples and one for counters. `jitter_ns` is what every second step takes
  /// longer.
  void program(const std::vector<AdviceWork>& works, std::int64_t jitter_ns = 0) {
    for (int i = 0; i < 7; ++i) add_step(Phase::timeline, works, i % 2 == 0 ? 0 : jitter_ns);
    if (with_samples) add_step(Phase::sample, works, 0);
    if (with_counters) add_step(Phase::replay, works, 0);
    add_step(Phase::after, works, 0);
    store::RecordingWindow window;
    window.id = 1;
    window.process_id = 1;
    window.start_ns = 1;
    window.end_ns = now_ns_ + 1'000'000'000;
    window.synchronisation = with_waits;
    model.recording_windows = {window};
  }

  AdviceReport advised(const AdviceOptions& options = {}) {
    AnalysisOptions how;
    how.advice = options;
    auto analysis = analyse(done(), how);
    if (!analysis.ok()) throw std::runtime_error(analysis.failure().message);
    return std::move(analysis).value().advice;
  }

  /// Samples of clock and power during all of it.
  void clocks(std::int64_t sm_hz, std::int64_t power_mw, std::int64_t reasons) {
    for (std::int64_t at = 1'000'000; at < now_ns_; at += 500'000) {
      store::ClockSample sample;
      sample.device_id = 1;
      sample.time_ns = at;
      sample.sm_clock_hz = sm_hz;
      sample.power_mw = power_mw;
      sample.throttle_reasons = reasons;
      model.clock_samples.push_back(sample);
    }
  }

 private:
  /// The CPU is a step ahead: it gives out a step when the one before the last has ended, call after call.
  void add_step(Phase phase, const std::vector<AdviceWork>& works, std::int64_t longer_ns) {
    store::Step& made = step(phase);
    made.step_index += first_index;
    const std::int64_t may_begin_ns = previous_start_ns_ + 2000;
    if (host_ns_ == 0) host_ns_ = now_ns_ - 4'000'000;
    if (previous_start_ns_ > 0 && host_ns_ < may_begin_ns - 2000) {
      wait(SynchronisationCall::event, host_ns_, may_begin_ns - host_ns_, 0);
      host_ns_ = may_begin_ns + 1000;
    }
    previous_start_ns_ = now_ns_ + works.front().gap_ns;
    made.host_start_ns = host_ns_;
    for (const AdviceWork& work : works) {
      const std::int64_t start_ns = now_ns_ + work.gap_ns;
      const std::int64_t end_ns = start_ns + work.duration_ns + longer_ns;
      longer_ns = 0;
      if (work.copy_bytes > 0)
        add_copy(work, start_ns, end_ns);
      else
        add_launch(phase, work, start_ns, end_ns);
      now_ns_ = end_ns;
    }
    model.steps.back().step.host_end_ns = host_ns_;
  }

  void add_copy(const AdviceWork& work, std::int64_t start_ns, std::int64_t end_ns) {
    store::Memcpy& row = copy(start_ns, end_ns, work.copy_bytes);
    row.stream_id = work.stream;
    row.correlation_id = 100'000 + row.id;
    if (work.wait) {
      wait(*work.wait, start_ns - 2000, work.held_ns.value_or(end_ns - start_ns + 4000), row.correlation_id);
    }
  }

  void add_launch(Phase phase, const AdviceWork& work, std::int64_t start_ns, std::int64_t end_ns) {
    kernel(work.name, work.kernel_class);
    store::Launch& row = launch(work.name, start_ns, end_ns);
    row.grid = {work.blocks, 1, 1};
    row.block = {work.threads, 1, 1};
    row.registers_per_thread = work.registers;
    row.stream_id = work.stream;
    row.thread_id = 1;
    if (work.graph) row.graph_id = 1;
    if (work.wait) wait(*work.wait, now_ns_ - 20'000, 20'000 + work.gap_ns / 2, 0);
    row.host_start_ns = work.late_ns ? start_ns - *work.late_ns : host_ns_;
    row.host_end_ns = *row.host_start_ns + work.call_ns;
    host_ns_ = std::max(host_ns_, *row.host_end_ns + 1000);
    if (!work.range.empty()) row.nvtx_path_id = text(work.range);
    if (phase != Phase::replay && (work.declared_bytes > 0 || work.m > 0)) declare(work, row);
    if (phase == Phase::replay) add_counters(work);
    counters(work.joined);
    if (phase == Phase::sample)
      samples({{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", {work.sm_active_pct, 0.1}}}, 20);
  }

  void add_counters(const AdviceWork& work) {
    const double bytes = work.dram_ratio * 1000 * static_cast<double>(work.duration_ns);
    std::map<std::string, double> values = {
        {kRead, bytes * (1 - work.written)},
        {kWritten, bytes * work.written},
        {kTensor, work.tensor_pct},
        {kFma, work.fma_pct},
        {"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed", work.fp64_pct},
        {kDuration, static_cast<double>(work.duration_ns)}};
    if (work.tensor_ops > 0) values[kOperations] = work.tensor_ops;
    if (work.l2_bytes > 0) values["lts__t_bytes.sum"] = work.l2_bytes;
    values.insert(work.counted.begin(), work.counted.end());
    counters(values);
  }

  void declare(const AdviceWork& work, const store::Launch& row) {
    store::NvtxRange range;
    range.id = static_cast<store::Id>(model.nvtx_ranges.size() + 1);
    range.process_id = range.thread_id = 1;
    range.name_id = range.path_id = text("op " + work.name);
    range.step_id = row.step_id;
    range.start_ns = *row.host_start_ns - 10;
    range.end_ns = *row.host_end_ns + 10;
    model.nvtx_ranges.push_back(range);
    store::Annotation annotation{.nvtx_range_id = range.id, .name = "op_cost"};
    if (work.declared_bytes > 0) annotation.bytes = work.declared_bytes;
    if (work.m > 0) {
      annotation.m = work.m;
      annotation.n = work.n;
      annotation.k = work.k;
    }
    model.annotations.push_back(annotation);
  }

  void wait(SynchronisationCall call, std::int64_t start_ns, std::int64_t length_ns,
            std::int64_t correlation) {
    store::Synchronisation row;
    row.process_id = 1;
    row.thread_id = 1;
    row.start_ns = start_ns;
    row.duration_ns = length_ns;
    row.call = call;
    row.correlation_id = correlation;
    model.synchronisations.push_back(row);
  }

  store::Id text(const std::string& words) {
    for (const auto& [id, known] : model.strings) {
      if (known == words) return id;
    }
    const auto id = static_cast<store::Id>(model.strings.size() + 1);
    model.strings[id] = words;
    return id;
  }

  std::int64_t now_ns_ = 10'000'000;    // of the device
  std::int64_t host_ns_ = 0;            // of the thread that launches
  std::int64_t previous_start_ns_ = 0;  // of the step before, on the device
};

}  // namespace ridgeline::analyzer::testing
