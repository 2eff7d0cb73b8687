// fabricated_model.h: a capture's model written down by hand, so that input and expected table stand
// together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/analyzer/execution/exposure.h"
#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer::testing {

inline constexpr const char* kRead = "dram__bytes_read.sum";
inline constexpr const char* kWritten = "dram__bytes_write.sum";
inline constexpr const char* kTensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr const char* kFma = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed";
inline constexpr const char* kDuration = "gpu__time_duration.sum";
inline constexpr const char* kOperations = "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
inline constexpr const char* kSampledTensor =
    "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed";
inline constexpr const char* kGpcCycles = "gpc__cycles_elapsed.max";

/// One process (1), one device (1) with a DRAM peak of 1000 bytes/ns = 1 TB/s. Ids count from 1.
class FabricatedModel {
 public:
  FabricatedModel() {
    model.path = "fabricated";
    model.run =
        store::Run{.command_line = "program", .ridgeline_version = "test", .clock = "test", .end_ns = 1};
    model.processes.push_back({.id = 1, .pid = 100});
    model.devices.push_back({.id = 1, .name = "Test GPU"});
    model.device_peaks.push_back({1, Quantity::dram_bytes_per_s, PeakSource::spec, 1e12, "test"});
    model.completeness.push_back({.process_id = 1});
  }

  store::Id kernel(const std::string& name, KernelClass kernel_class = KernelClass::other) {
    for (const auto& [id, kernel] : model.kernels) {
      if (kernel.demangled_name == name) return id;
    }
    const auto id = static_cast<store::Id>(model.kernels.size() + 1);
    model.kernels[id] = {id, name, name, name, kernel_class, {}};
    return id;
  }

  store::Step& step(Phase phase, StepStatus status = StepStatus::ok) {
    ModelStep item;
    item.step.id = static_cast<store::Id>(model.steps.size() + 1);
    item.step.process_id = 1;
    item.step.step_index = static_cast<std::int64_t>(model.steps.size());
    item.step.phase = phase;
    item.step.status = status;
    model.steps.push_back(item);
    ordinal_ = 0;
    return model.steps.back().step;
  }

  /// In the last step, if any.
  store::Launch& launch(const std::string& name, std::int64_t start_ns, std::int64_t end_ns) {
    store::Launch row;
    row.id = static_cast<store::Id>(launches.size() + 1);
    row.process_id = 1;
    row.device_id = 1;
    row.stream_id = 7;
    row.correlation_id = row.id;
    row.kernel_id = kernel(name);
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    if (!model.steps.empty()) {
      row.step_id = model.steps.back().step.id;
      row.ordinal_in_step = ordinal_++;
    }
    launches.push_back(row);
    return launches.back();
  }

  store::Memcpy& copy(std::int64_t start_ns, std::int64_t end_ns, std::int64_t bytes) {
    store::Memcpy row{
        .id = static_cast<store::Id>(model.memcpys.size() + 1), .process_id = 1, .device_id = 1};
    row.stream_id = 8;
    row.kind = CopyKind::host_to_device;
    row.bytes = bytes;
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    if (!model.steps.empty()) row.step_id = model.steps.back().step.id;
    model.memcpys.push_back(row);
    return model.memcpys.back();
  }

  store::Memset& set(std::int64_t start_ns, std::int64_t end_ns, std::int64_t bytes) {
    store::Memset row{
        .id = static_cast<store::Id>(model.memsets.size() + 1), .process_id = 1, .device_id = 1};
    row.stream_id = 7;
    row.bytes = bytes;
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    if (!model.steps.empty()) row.step_id = model.steps.back().step.id;
    model.memsets.push_back(row);
    return model.memsets.back();
  }

  store::Id metric(const std::string& name) {
    for (const auto& [known, metric] : model.metrics) {
      if (metric.name == name) return known;
    }
    const auto id = static_cast<store::Id>(model.metrics.size() + 1);
    model.metrics[id] = {id, name, name, "", ""};
    return id;
  }

  /// Of the last launch.
  void counters(const std::map<std::string, double>& values, Tier tier = Tier::t2) {
    for (const auto& [name, value] : values)
      model.launch_metrics.push_back({launches.back().id, metric(name), tier, value, {}, {}});
  }

  /// In-situ samples of the last launch: name → (value, standard error).
  void samples(const std::map<std::string, std::pair<double, double>>& values, std::int64_t count) {
    for (const auto& [name, value] : values) {
      model.launch_metrics.push_back(
          {launches.back().id, metric(name), Tier::t1, value.first, value.second, count});
    }
  }

  /// What is concluded of it is held whole against what was accepted of the case.
  const Model& done() {
    model.launches.clear();
    for (const store::Launch& launch : launches) model.launches.push_back(launch);
    model.index();
    ridgeline::testing::AcceptedCases::expect([&] { return ridgeline::testing::analysis_text(model); });
    return model;
  }

  Model model;
  std::vector<store::Launch> launches;  // of the model once it is done

 private:
  std::int64_t ordinal_ = 0;
};

/// Of each launch, in the representative step's time.
inline Exposure exposed(const Model& model, const StepAnalysis& steps) {
  const RepresentativeStep& step = steps.representative;
  const TimeWindow window{step.window_start_ns, step.window_end_ns};
  return exposed_times(model, steps.process_id, {&window, 1});
}

}  // namespace ridgeline::analyzer::testing
