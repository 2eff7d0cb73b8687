#include "metric_sets.h"

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
  const std::string bf16 = "sm__ops_path_tensor_src_bf16_dst_fp32";
  const std::string fp8 = "sm__ops_path_tensor_src_fp8";
  const std::string tf32 = "sm__ops_path_tensor_src_tf32_dst_fp32";
  const std::string fp16 = "sm__ops_path_tensor_op_hgmma_src_fp16";
  return {
      {"R1",
       with_common({"dram__bytes" + peak, bf16 + ".sum", bf16 + pct, bf16 + peak, fp8 + ".sum", fp8 + peak})},
      {"R2", with_common({"dram__bytes.sum.pct_of_peak_sustained_elapsed",
                          "sm__pipe_tensor_cycles_active" + pct, "sm__inst_executed_pipe_fma" + pct,
                          "sm__cycles_active.avg", "sm__warps_active.avg.pct_of_peak_sustained_active",
                          "smsp__issue_active.avg.pct_of_peak_sustained_active"})},
      {"R3",
       with_common({"lts__t_bytes.sum", "lts__t_bytes" + peak, "l1tex__t_bytes.sum", "l1tex__t_bytes" + peak,
                    "sm__inst_executed_pipe_fp64" + pct, "sm__inst_executed_pipe_alu" + pct,
                    "sm__inst_executed_pipe_xu" + pct, "sm__inst_executed_pipe_lsu" + pct})},
      {"R4", with_common({tf32 + ".sum", tf32 + pct, tf32 + peak, fp8 + ".sum"})},
      {"R5", with_common({fp16 + ".sum", fp16 + pct, fp16 + peak})},
  };
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

bool CounterConfig::evaluate(const std::vector<std::uint8_t>& counter_data, std::size_t range,
                             double* values) const noexcept {
  CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
      CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
  p.pHostObject = host_;
  p.pCounterDataImage = counter_data.data();
  p.counterDataImageSize = counter_data.size();
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

  bool open(CounterConfig* config, std::string* why) const {
    CUpti_Profiler_Host_Initialize_Params p = {CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
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

  // A host object takes metrics once and cannot drop one, so each attempt builds its own.
  bool build(const std::string& name, const std::vector<CounterConfig::Metric>& metrics, CounterConfig* out,
             std::string* why) const {
    CounterConfig config;
    if (!open(&config, why)) return false;
    config.name_ = name;
    config.metrics_ = metrics;
    for (const auto& m : config.metrics_) config.names_.push_back(m.name.c_str());
    auto failed = [&](const char* what, CUptiResult result) {
      *why = std::string(what) + ": " + api.error_text(result);
      return false;
    };
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {
        CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
    add.pHostObject = config.host_;
    add.ppMetricNames = config.metric_names();
    add.numMetrics = config.names_.size();
    if (const CUptiResult r = api.host_config_add_metrics(&add); r != CUPTI_SUCCESS)
      return failed("not available on this chip", r);
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
    size.pHostObject = config.host_;
    if (const CUptiResult r = api.host_get_config_image_size(&size); r != CUPTI_SUCCESS)
      return failed("cannot be configured", r);
    config.image_.resize(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params image = {CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
    image.pHostObject = config.host_;
    image.configImageSize = config.image_.size();
    image.pConfigImage = config.image_.data();
    if (const CUptiResult r = api.host_get_config_image(&image); r != CUPTI_SUCCESS)
      return failed("cannot be configured", r);
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {
        CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
    passes.configImageSize = config.image_.size();
    passes.pConfigImage = config.image_.data();
    if (const CUptiResult r = api.host_get_num_of_passes(&passes); r != CUPTI_SUCCESS)
      return failed("cannot be configured", r);
    config.passes_ = static_cast<std::uint32_t>(passes.numOfPasses);
    if (config.passes_ != 1) {
      *why = "would need " + std::to_string(config.passes_) + " passes together with the metrics before it";
      return false;
    }
    *out = std::move(config);
    return true;
  }
};

ResolvedSet resolve_metric_set(const CuptiApi& api, const std::string& chip, const std::uint8_t* availability,
                               const MetricSet& set) {
  const ConfigBuilder builder{api, chip, availability};
  ResolvedSet result;
  std::string why;
  std::vector<CounterConfig::Metric> known;
  {
    CounterConfig probe;
    if (!builder.open(&probe, &why)) {
      result.left_out.push_back(set.name + ": " + why);
      return result;
    }
    for (const std::string& name : set.metrics) {
      CounterConfig::Metric metric{name, {}, {}};
      if (builder.describe(probe, &metric))
        known.push_back(std::move(metric));
      else
        result.left_out.push_back(name + ": not known on " + chip);
    }
  }
  if (known.empty()) return result;
  if (builder.build(set.name, known, &result.config, &why)) return result;
  std::vector<CounterConfig::Metric> kept;
  for (const CounterConfig::Metric& metric : known) {
    kept.push_back(metric);
    CounterConfig attempt;
    if (builder.build(set.name, kept, &attempt, &why)) {
      result.config = std::move(attempt);
    } else {
      kept.pop_back();
      result.left_out.push_back(metric.name + ": " + why);
    }
  }
  return result;
}

}  // namespace ridgeline::agent
