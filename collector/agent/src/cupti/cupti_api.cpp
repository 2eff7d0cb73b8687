#include "cupti/cupti_api.h"

#include <dlfcn.h>
#include <time.h>

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kOldestCupti = 18;  // CUDA 12.0: kernel records have the layout the timeline reads

template <typename Function>
bool resolve(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

std::int64_t realtime_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::string CuptiApi::error_text(CUptiResult result) const {
  const char* text = nullptr;
  if (get_result_string != nullptr) get_result_string(result, &text);
  return std::string(text != nullptr ? text : "CUPTI error") + " (" +
         std::to_string(static_cast<int>(result)) + ")";
}

std::int64_t CuptiApi::now_ns() const noexcept {
  std::uint64_t now = 0;
  if (get_timestamp != nullptr && get_timestamp(&now) == CUPTI_SUCCESS) return static_cast<std::int64_t>(now);
  return realtime_ns();
}

bool load_cupti(const std::string& path, CuptiApi* api, std::string* library_path, std::string* error) {
  static const char* const kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  void* library = nullptr;
  for (const char* name : kNames)
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  std::string reason;
  if (library == nullptr && !path.empty()) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      *error = "CUPTI cannot be loaded from " + path + ": " + (why != nullptr ? why : "unknown reason") +
               "; set RIDGELINE_CUPTI_LIBRARY to a libcupti.so.13 of the CUDA toolkit";
      return false;
    }
  }
  for (const char* name : kNames) {
    if (library != nullptr) break;
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && reason.empty())
      if (const char* why = dlerror()) reason = why;
  }
  if (library == nullptr) {
    *error = "CUPTI was not found (" + reason +
             "); install the CUDA toolkit's CUPTI or set RIDGELINE_CUPTI_LIBRARY to its libcupti.so.13";
    return false;
  }

  CuptiApi a;
  const char* missing = nullptr;
  auto need = [&](const char* name, auto* function) {
    if (!resolve(library, name, function) && missing == nullptr) missing = name;
  };
  need("cuptiGetVersion", &a.get_version);
  need("cuptiGetResultString", &a.get_result_string);
  need("cuptiGetTimestamp", &a.get_timestamp);
  need("cuptiSubscribe", &a.subscribe);
  need("cuptiUnsubscribe", &a.unsubscribe);
  need("cuptiEnableCallback", &a.enable_callback);
  need("cuptiEnableDomain", &a.enable_domain);
  need("cuptiGetDeviceId", &a.get_device_id);
  need("cuptiGetContextId", &a.get_context_id);
  need("cuptiActivityRegisterCallbacks", &a.activity_register_callbacks);
  need("cuptiActivityEnable", &a.activity_enable);
  need("cuptiActivityDisable", &a.activity_disable);
  need("cuptiActivityFlushAll", &a.activity_flush_all);
  need("cuptiActivityGetNextRecord", &a.activity_get_next_record);
  need("cuptiActivityGetNumDroppedRecords", &a.activity_get_num_dropped_records);
  need("cuptiActivitySetAttribute", &a.activity_set_attribute);
  Dl_info where{};
  if (a.get_version != nullptr && dladdr(reinterpret_cast<void*>(a.get_version), &where) != 0 &&
      where.dli_fname != nullptr)
    *library_path = where.dli_fname;
  std::uint32_t version = 0;
  if (missing == nullptr && (a.get_version(&version) != CUPTI_SUCCESS || version < kOldestCupti))
    missing = "the records of CUDA 12 or later";
  if (missing != nullptr) {
    *error = "CUPTI at " + *library_path + " is too old, it lacks " + missing +
             "; set RIDGELINE_CUPTI_LIBRARY to a libcupti.so.13";
    library_path->clear();
    return false;
  }

  auto& r = a;
  resolve(library, "cuptiGetStreamIdEx", &r.get_stream_id);
  resolve(library, "cuptiGetGraphNodeId", &r.get_graph_node_id);
  r.has_range_profiler =
      resolve(library, "cuptiProfilerInitialize", &r.profiler_initialize) &&
      resolve(library, "cuptiDeviceGetChipName", &r.device_get_chip_name) &&
      resolve(library, "cuptiProfilerGetCounterAvailability", &r.profiler_get_counter_availability) &&
      resolve(library, "cuptiProfilerHostInitialize", &r.host_initialize) &&
      resolve(library, "cuptiProfilerHostDeinitialize", &r.host_deinitialize) &&
      resolve(library, "cuptiProfilerHostGetMetricProperties", &r.host_get_metric_properties) &&
      resolve(library, "cuptiProfilerHostConfigAddMetrics", &r.host_config_add_metrics) &&
      resolve(library, "cuptiProfilerHostGetConfigImageSize", &r.host_get_config_image_size) &&
      resolve(library, "cuptiProfilerHostGetConfigImage", &r.host_get_config_image) &&
      resolve(library, "cuptiProfilerHostGetNumOfPasses", &r.host_get_num_of_passes) &&
      resolve(library, "cuptiProfilerHostEvaluateToGpuValues", &r.host_evaluate_to_gpu_values) &&
      resolve(library, "cuptiRangeProfilerEnable", &r.range_enable) &&
      resolve(library, "cuptiRangeProfilerDisable", &r.range_disable) &&
      resolve(library, "cuptiRangeProfilerSetConfig", &r.range_set_config) &&
      resolve(library, "cuptiRangeProfilerStart", &r.range_start) &&
      resolve(library, "cuptiRangeProfilerStop", &r.range_stop) &&
      resolve(library, "cuptiRangeProfilerPushRange", &r.range_push) &&
      resolve(library, "cuptiRangeProfilerPopRange", &r.range_pop) &&
      resolve(library, "cuptiRangeProfilerDecodeData", &r.range_decode_data) &&
      resolve(library, "cuptiRangeProfilerGetCounterDataSize", &r.range_get_counter_data_size) &&
      resolve(library, "cuptiRangeProfilerCounterDataImageInitialize",
              &r.range_counter_data_image_initialize) &&
      resolve(library, "cuptiRangeProfilerGetCounterDataInfo", &r.range_get_counter_data_info) &&
      resolve(library, "cuptiRangeProfilerCounterDataGetRangeInfo", &r.range_counter_data_get_range_info);
  r.has_pm_sampling =
      r.has_range_profiler &&
      resolve(library, "cuptiPmSamplingGetCounterAvailability", &r.pm_get_counter_availability) &&
      resolve(library, "cuptiPmSamplingEnable", &r.pm_enable) &&
      resolve(library, "cuptiPmSamplingDisable", &r.pm_disable) &&
      resolve(library, "cuptiPmSamplingSetConfig", &r.pm_set_config) &&
      resolve(library, "cuptiPmSamplingStart", &r.pm_start) &&
      resolve(library, "cuptiPmSamplingStop", &r.pm_stop) &&
      resolve(library, "cuptiPmSamplingDecodeData", &r.pm_decode_data) &&
      resolve(library, "cuptiPmSamplingGetCounterDataSize", &r.pm_get_counter_data_size) &&
      resolve(library, "cuptiPmSamplingCounterDataImageInitialize", &r.pm_counter_data_image_initialize) &&
      resolve(library, "cuptiPmSamplingGetCounterDataInfo", &r.pm_get_counter_data_info) &&
      resolve(library, "cuptiPmSamplingCounterDataGetSampleInfo", &r.pm_get_sample_info);
  r.has_pc_sampling = resolve(library, "cuptiPCSamplingEnable", &r.pc_enable) &&
                      resolve(library, "cuptiPCSamplingDisable", &r.pc_disable) &&
                      resolve(library, "cuptiPCSamplingStart", &r.pc_start) &&
                      resolve(library, "cuptiPCSamplingStop", &r.pc_stop) &&
                      resolve(library, "cuptiPCSamplingGetData", &r.pc_get_data) &&
                      resolve(library, "cuptiPCSamplingSetConfigurationAttribute", &r.pc_set_configuration) &&
                      resolve(library, "cuptiPCSamplingGetConfigurationAttribute", &r.pc_get_configuration) &&
                      resolve(library, "cuptiPCSamplingGetNumStallReasons", &r.pc_get_num_stall_reasons) &&
                      resolve(library, "cuptiPCSamplingGetStallReasons", &r.pc_get_stall_reasons) &&
                      resolve(library, "cuptiGetCubinCrc", &r.get_cubin_crc) &&
                      resolve(library, "cuptiGetSassToSourceCorrelation", &r.get_sass_to_source);
  *api = a;
  return true;
}

}  // namespace ridgeline::agent
