#include "spool/counter_import.h"

#include <cmath>
#include <unordered_map>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

class CounterImport {
 public:
  CounterImport(const Reader& reader, ScannedSpool& spool, ProcessRows& rows, RecordedKernels& kernels)
      : reader_(reader), spool_(spool), rows_(rows), kernels_(kernels), writer_(rows.writer()) {}
  void write(const OffsetProgress& progress);

 private:
  void write_graph_value(const GraphCounterValueRecord& value, store::Id metric);

  const Reader& reader_;
  ScannedSpool& spool_;
  ProcessRows& rows_;
  RecordedKernels& kernels_;
  store::CaptureWriter& writer_;
};

void CounterImport::write_graph_value(const GraphCounterValueRecord& value, store::Id metric) {
  const auto step = spool_.steps.find(value.step_index);
  if (step == spool_.steps.end() || !step->second.counters_usable() || value.kernel != kWholeGraph ||
      !std::isfinite(value.value))
    return;
  writer_.add(store::GraphMetric{.step_id = step->second.id,
                                 .correlation_id = value.correlation_id,
                                 .metric_id = metric,
                                 .tier = step->second.counter_tier(),
                                 .value = value.value});
  ++rows_.summary().counter_values;
  rows_.row_written();
}

void CounterImport::write(const OffsetProgress& progress) {
  std::unordered_map<std::uint32_t, store::Id> metric_ids;
  std::uint32_t dram_peak_metric = 0;
  std::int64_t undefined = 0;
  std::int64_t not_evaluated = 0;
  for (const auto& [id, metric] : spool_.metrics) {
    const std::string name = one_line(reader_.string_or(metric.name, ""));
    if (name.empty()) continue;
    metric_ids[id] = writer_.metric_id(name, one_line(reader_.string_or(metric.unit, "")),
                                       one_line(reader_.string_or(metric.description, "")));
    if (name == "dram__bytes.sum.peak_sustained_elapsed.per_second") dram_peak_metric = id;
  }
  constexpr RecordTypes kTypes = {RecordType::graph_counter_value, RecordType::replay_exclusion,
                                  RecordType::counter_value};
  visit_records(reader_, kTypes, progress, [&](const RecordView& view) {
    if (const auto* whole = view.as<GraphCounterValueRecord>()) {
      const auto metric = metric_ids.find(whole->metric_id);
      metric == metric_ids.end() ? (void)++undefined : write_graph_value(*whole, metric->second);
      return;
    }
    if (const auto* exclusion = view.as<ReplayExclusionRecord>()) {
      for (const store::Id kernel :
           kernels_.all_of(exclusion->kernel_id, spool_.code_hash(exclusion->kernel_id, 0))) {
        writer_.add(store::ReplayExclusion{
            .process_id = rows_.process_id(),
            .kernel_id = kernel,
            .reason = is_known(exclusion->reason) ? exclusion->reason : ExclusionReason::unknown});
      }
      return;
    }
    const auto* value = view.as<CounterValueRecord>();
    if (value == nullptr) return;
    const auto step = spool_.steps.find(value->step_index);
    if (step == spool_.steps.end() || !step->second.counters_usable()) return;
    const auto launch = step->second.counted.find(value->step_ordinal);
    if (launch == step->second.counted.end() || launch->second.launch_id == 0) return;
    const auto metric = metric_ids.find(value->metric_id);
    if (metric == metric_ids.end()) {
      ++undefined;
      return;
    }
    if (!std::isfinite(value->value)) {
      ++not_evaluated;
      return;
    }
    writer_.add(store::LaunchMetric{.launch_id = launch->second.launch_id,
                                    .metric_id = metric->second,
                                    .tier = step->second.counter_tier(),
                                    .value = value->value});
    ++rows_.summary().counter_values;
    rows_.row_written();
    if (value->metric_id == dram_peak_metric) {
      rows_.devices().add_counter_dram_peak(rows_.device_id(launch->second.device), value->value,
                                            launch->second.duration_ns);
    }
  });
  if (undefined > 0)
    rows_.say(Severity::warning, Reason(ReasonCode::values_without_metric, {{"values", undefined}}));
  if (not_evaluated > 0)
    rows_.say(Severity::warning, Reason(ReasonCode::values_not_evaluated, {{"values", not_evaluated}}));
}

}  // namespace

void write_counters(const Reader& reader, ScannedSpool& spool, ProcessRows& rows, RecordedKernels& kernels,
                    const OffsetProgress& progress) {
  CounterImport(reader, spool, rows, kernels).write(progress);
}

}  // namespace ridgeline::import
