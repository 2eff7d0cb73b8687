#include "tiers/metric_sets.h"

#include <algorithm>
#include <utility>

namespace ridgeline::agent {
namespace {

constexpr char kPercent[] = ".avg.pct_of_peak_sustained_elapsed";
constexpr char kPeakRate[] = ".sum.peak_sustained_elapsed.per_second";

std::vector<std::string> with_common(std::vector<std::string> more) {
  std::vector<std::string> all = {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
                                  "gpc__cycles_elapsed.max"};
  for (std::string& m : more) all.push_back(std::move(m));
  return all;
}

}  // namespace

std::vector<MetricSet> built_in_metric_sets() {
  const std::string pct = kPercent;
  const std::string peak = kPeakRate;
  const std::string tensor = "sm__ops_path_tensor_";
  const std::string bf16 = tensor + "src_bf16_dst_fp32";
  const std::string tf32 = tensor + "src_tf32_dst_fp32";
  const std::string fp64 = tensor + "src_fp64";
  const std::string threads = "sm__thread_inst_executed_pipe_";
  // Chips before and after GH100 split FP16 by what is summed in, GH100 by the instruction.
  const std::string fp16_sum32 = tensor + "src_fp16_dst_fp32";
  const std::string fp16_sum16 = tensor + "src_fp16_dst_fp16";
  const std::string hgmma = tensor + "op_hgmma_src_fp16";
  const std::string int8 = tensor + "op_igmma_src_int8";
  const std::string any_int8 = tensor + "src_int8";
  const auto either = [](const std::string& first, const std::string& second, const std::string& what) {
    return first + what + "|" + second + what;
  };
  // FP8 is counted with the narrower types from GB100 on.
  const std::string fp8 = tensor + "src_fp8";
  const std::string narrow = tensor + "src_fp4_fp6_fp8_dst_fp32";
  std::vector<MetricSet> sets = {
      {"R1", with_common({"dram__bytes" + peak, bf16 + ".sum", bf16 + pct, bf16 + peak,
                          either(fp8, narrow, ".sum"), either(fp8, narrow, peak)})},
      {"R2", with_common({"dram__bytes.sum.pct_of_peak_sustained_elapsed",
                          "sm__pipe_tensor_cycles_active" + pct, "sm__inst_executed_pipe_fma" + pct,
                          "sm__cycles_active.avg", "sm__warps_active.avg.pct_of_peak_sustained_active",
                          "smsp__issue_active.avg.pct_of_peak_sustained_active"})},
      {"R3",
       with_common({"lts__t_bytes.sum", "lts__t_bytes" + peak, "l1tex__t_bytes.sum", "l1tex__t_bytes" + peak,
                    "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors_lookup_miss.sum",
                    "sm__inst_executed_pipe_fp64" + pct, "sm__inst_executed_pipe_alu" + pct,
                    "sm__inst_executed_pipe_xu" + pct, "sm__inst_executed_pipe_lsu" + pct})},
      {"R4", with_common({"lts__t_sectors_lookup_hit.sum", threads + "fma_pred_on.sum",
                          threads + "fma_type_fp16_pred_on.sum|" + threads + "fp16_pred_on.sum",
                          either(fp16_sum32, hgmma, ".sum"), either(fp16_sum32, hgmma, pct),
                          either(fp16_sum32, hgmma, peak)})},
      {"R5", with_common({"lts__t_sectors_lookup_miss.sum", tf32 + ".sum", tf32 + pct, tf32 + peak})},
      {"R6", with_common({threads + "fp64_pred_on.sum", fp64 + ".sum", fp64 + peak,
                          int8 + ".sum|" + any_int8 + ".sum", int8 + peak + "|" + any_int8 + peak})},
      {"R7", with_common({tensor + "op_hmma_src_fp16_dst_fp32.sum|"})},
      {"R8", with_common({either(fp16_sum16, tensor + "op_hmma_src_fp16_dst_fp16", ".sum")})},
      {"R9", with_common({tensor + "op_imma_src_int8_sparsity_off.sum|"})},
  };
  for (MetricSet& set : sets) set.spills = true;
  return sets;
}

MetricSet sampled_metric_set() {
  const std::string pct = kPercent;
  return {
      "samples",
      {"dram__bytes_read.sum", "dram__bytes_write.sum", "sm__cycles_active" + pct,
       "sm__pipe_tensor_cycles_active_realtime" + pct, "lts__t_bytes.sum",
       "gpc__cycles_elapsed.avg.per_second", "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime" + pct,
       "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime" + pct,
       "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
       "SM_A.TriageCompute.l1tex__throughput" + pct, "dram__throughput" + pct,
       // Last, so that a chip on which they take a pass of their own goes without them and nothing else. A
       // device without links has none of these, and nobody misses them there.
       "nvltx__bytes_data_user.sum|", "nvlrx__bytes_data_user.sum|", "pcie__read_bytes.sum|",
       "pcie__write_bytes.sum|"}};
}

std::vector<MetricSet> built_in_flop_sets() {
  MetricSet set{"F1", {}};
  for (const char* operation : {"ffma", "fadd", "fmul", "hfma", "hadd", "hmul", "dfma", "dadd", "dmul"})
    set.metrics.push_back(std::string("smsp__sass_thread_inst_executed_op_") + operation + "_pred_on.sum");
  return {set};
}

bool CounterConfig::instrumented() const noexcept {
  for (const Metric& metric : metrics_)
    if (metric.name.find("__sass_") != std::string::npos) return true;
  return false;
}

CounterConfig& CounterConfig::operator=(CounterConfig&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(host_, other.host_);
  std::swap(name_, other.name_);
  std::swap(metrics_, other.metrics_);
  std::swap(names_, other.names_);
  std::swap(image_, other.image_);
  std::swap(passes_, other.passes_);
  return *this;
}

CounterConfig::~CounterConfig() {
  if (host_ == nullptr) return;
  CUpti_Profiler_Host_Deinitialize_Params p = {CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
  p.pHostObject = host_;
  api_->host_deinitialize(&p);
}

bool CounterConfig::evaluate(const std::uint8_t* counter_data, std::size_t size_bytes, std::size_t range,
                             double* values) const noexcept {
  CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
      CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
  p.pHostObject = host_;
  p.pCounterDataImage = counter_data;
  p.counterDataImageSize = size_bytes;
  p.rangeIndex = range;
  p.ppMetricNames = metric_names();
  p.numMetrics = names_.size();
  p.pMetricValues = values;
  return api_->host_evaluate_to_gpu_values(&p) == CUPTI_SUCCESS;
}

struct ConfigBuilder {
  const CuptiApi& api;
  const std::string& chip;
  const std::uint8_t* availability;
  CUpti_ProfilerType type;

  bool open(CounterConfig* config, std::string* why) const {
    CUpti_Profiler_Host_Initialize_Params p = {CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
    p.profilerType = type;
    p.pChipName = chip.c_str();
    p.pCounterAvailabilityImage = availability;
    const CUptiResult result = api.host_initialize(&p);
    if (result != CUPTI_SUCCESS) {
      *why = "CUPTI knows no metrics for chip '" + chip + "': " + api.error_text(result);
      return false;
    }
    config->api_ = &api;
    config->host_ = p.pHostObject;
    return true;
  }

  bool describe(const CounterConfig& config, CounterConfig::Metric* metric) const {
    CUpti_Profiler_Host_GetMetricProperties_Params p = {
        CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE};
    p.pHostObject = config.host_;
    p.pMetricName = metric->name.c_str();
    if (api.host_get_metric_properties(&p) != CUPTI_SUCCESS) return false;
    metric->unit = p.pDimUnit != nullptr ? p.pDimUnit : "";
    metric->description = p.pDescription != nullptr ? p.pDescription : "";
    return true;
  }

  bool available(const CounterConfig::Metric& metric) const {
    CounterConfig config;
    std::string why;
    if (!open(&config, &why)) return false;
    config.names_.push_back(metric.name.c_str());
    return add_metrics(config, config, &why);
  }

  bool failed(const char* what, CUptiResult result, std::string* why) const {
    *why = std::string(what) + ": " + api.error_text(result);
    return false;
  }

  /// One call of CUPTI's: its metrics share passes with no other call's.
  bool add_metrics(const CounterConfig& to, const CounterConfig& of, std::string* why) const {
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {
        CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
    add.pHostObject = to.host_;
    add.ppMetricNames = of.metric_names();
    add.numMetrics = of.names_.size();
    const CUptiResult r = api.host_config_add_metrics(&add);
    return r == CUPTI_SUCCESS || failed("not available on this chip", r, why);
  }

  bool finish(CounterConfig* config, std::string* why) const {
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
    size.pHostObject = config->host_;
    if (const CUptiResult r = api.host_get_config_image_size(&size); r != CUPTI_SUCCESS)
      return failed("cannot be configured", r, why);
    config->image_.resize(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params image = {CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
    image.pHostObject = config->host_;
    image.configImageSize = config->image_.size();
    image.pConfigImage = config->image_.data();
    if (const CUptiResult r = api.host_get_config_image(&image); r != CUPTI_SUCCESS)
      return failed("cannot be configured", r, why);
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {
        CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
    passes.configImageSize = config->image_.size();
    passes.pConfigImage = config->image_.data();
    if (const CUptiResult r = api.host_get_num_of_passes(&passes); r != CUPTI_SUCCESS)
      return failed("cannot be configured", r, why);
    config->passes_ = static_cast<std::uint32_t>(passes.numOfPasses);
    return true;
  }

  // A host object takes metrics once and cannot drop one, so each attempt builds its own.
  bool build(const std::string& name, const std::vector<CounterConfig::Metric>& metrics, CounterConfig* out,
             std::string* why) const {
    CounterConfig config;
    if (!open(&config, why)) return false;
    config.name_ = name;
    config.metrics_ = metrics;
    for (const auto& m : config.metrics_) config.names_.push_back(m.name.c_str());
    if (!add_metrics(config, config, why) || !finish(&config, why)) return false;
    if (config.passes_ != 1) {
      *why = "would need " + std::to_string(config.passes_) + " passes together with the metrics before it";
      return false;
    }
    *out = std::move(config);
    return true;
  }
};

CounterConfig join_in_passes(const CuptiApi& api, const std::string& chip, const std::uint8_t* availability,
                             const std::vector<const CounterConfig*>& sets) {
  const ConfigBuilder builder{api, chip, availability};
  CounterConfig joined;
  std::string why;
  if (!builder.open(&joined, &why)) return {};
  for (const CounterConfig* set : sets)
    if (!builder.add_metrics(joined, *set, &why)) return {};
  if (!builder.finish(&joined, &why) || joined.passes_ != sets.size()) return {};
  return joined;
}

ResolvedSet resolve_metric_set(const CuptiApi& api, const std::string& chip, const std::uint8_t* availability,
                               const MetricSet& set, CUpti_ProfilerType type, const CallGate* gate) {
  const auto ending = [gate] { return gate != nullptr && gate->closed(); };
  const ConfigBuilder builder{api, chip, availability, type};
  ResolvedSet result;
  std::string why;
  std::vector<CounterConfig::Metric> known, optional_ones;
  {
    CounterConfig probe;
    if (!builder.open(&probe, &why)) {
      result.left_out.push_back(set.name + ": " + why);
      return result;
    }
    for (const std::string& wanted : set.metrics) {
      if (ending()) return result;
      CounterConfig::Metric metric;
      bool found = false;
      const bool optional = !wanted.empty() && wanted.back() == '|';
      for (std::size_t at = 0; !found && at < wanted.size();) {
        const std::size_t end = std::min(wanted.find('|', at), wanted.size());
        metric.name = wanted.substr(at, end - at);
        found = builder.describe(probe, &metric);
        at = end + 1;
      }
      if (found)
        (optional ? optional_ones : known).push_back(std::move(metric));
      else if (!optional)
        result.left_out.push_back(wanted + ": not known on " + chip);
    }
  }
  // An attempt takes CUPTI up to 20 ms, on a thread beside the program's: as few as there may be.
  std::vector<CounterConfig::Metric> kept = known;
  kept.insert(kept.end(), optional_ones.begin(), optional_ones.end());
  if (kept.empty() || builder.build(set.name, kept, &result.config, &why)) return result;
  kept.clear();
  const auto add = [&](const CounterConfig::Metric& metric) {
    kept.push_back(metric);
    CounterConfig attempt;
    const bool fits = builder.build(set.name, kept, &attempt, &why);
    if (fits)
      result.config = std::move(attempt);
    else
      kept.pop_back();
    return fits;
  };
  if (!optional_ones.empty() && !known.empty() && builder.build(set.name, known, &result.config, &why)) {
    kept = std::exchange(known, {});
  }
  for (const CounterConfig::Metric& metric : known) {
    if (ending()) return result;
    if (add(metric)) continue;
    if (set.spills)
      result.spilled.push_back(metric.name);
    else
      result.left_out.push_back(metric.name + ": " + why);
  }
  // Where there is no more room it is said; what the device has not is nothing that anybody misses.
  for (const CounterConfig::Metric& metric : optional_ones) {
    if (ending()) return result;
    if (add(metric)) continue;
    if (set.spills)
      result.spilled.push_back(metric.name);
    else if (builder.available(metric))
      result.left_out.push_back(metric.name + ": " + why);
  }
  return result;
}

std::vector<ResolvedSet> resolve_metric_sets(const CuptiApi& api, const std::string& chip,
                                             const std::uint8_t* availability,
                                             const std::vector<MetricSet>& sets, const CallGate* gate) {
  std::vector<ResolvedSet> result;
  std::vector<std::string> carried;
  std::size_t last_that_spills = 0;
  for (const MetricSet& set : sets) {
    MetricSet wanted = set;
    if (set.spills) {
      wanted.metrics.insert(wanted.metrics.end(), carried.begin(), carried.end());
      carried.clear();
      last_that_spills = result.size();
    }
    result.push_back(
        resolve_metric_set(api, chip, availability, wanted, CUPTI_PROFILER_TYPE_RANGE_PROFILER, gate));
    carried.insert(carried.end(), result.back().spilled.begin(), result.back().spilled.end());
  }
  for (const std::string& name : carried)
    result[last_that_spills].left_out.push_back(name + ": takes more than one pass with every set");
  return result;
}

void put_metric(spool::Writer& writer, std::uint32_t metric_id, const CounterConfig::Metric& metric) {
  spool::MetricRecord record{};
  record.metric_id = metric_id;
  record.name = writer.intern(metric.name);
  record.unit = writer.intern(metric.unit);
  record.description = writer.intern(metric.description);
  writer.put(record);
}

}  // namespace ridgeline::agent
