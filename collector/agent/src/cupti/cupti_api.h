// The functions of CUPTI that the agent calls, as pointers: loaded at run time, so that a program starts even
// where CUPTI is missing, and replaceable, so that the session is tested without a GPU.
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdint>
#include <string>

namespace ridgeline::agent {

struct CuptiApi {
  /// Timeline: all must be present.
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiEnableDomain) enable_domain = nullptr;
  decltype(&::cuptiGetDeviceId) get_device_id = nullptr;
  decltype(&::cuptiGetContextId) get_context_id = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) activity_register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) activity_enable = nullptr;
  decltype(&::cuptiActivityDisable) activity_disable = nullptr;
  decltype(&::cuptiActivityFlushAll) activity_flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) activity_get_next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) activity_get_num_dropped_records = nullptr;
  decltype(&::cuptiActivitySetAttribute) activity_set_attribute = nullptr;

  /// Ids of streams and of nodes of graphs; null where CUPTI lacks them: what orders streams is not recorded then.
  decltype(&::cuptiGetStreamIdEx) get_stream_id = nullptr;
  decltype(&::cuptiGetGraphNodeId) get_graph_node_id = nullptr;

  /// Counters: absent from CUPTI before 12.6 update 2; then has_range_profiler is false.
  bool has_range_profiler = false;
  decltype(&::cuptiProfilerInitialize) profiler_initialize = nullptr;
  decltype(&::cuptiDeviceGetChipName) device_get_chip_name = nullptr;
  decltype(&::cuptiProfilerGetCounterAvailability) profiler_get_counter_availability = nullptr;
  decltype(&::cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&::cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&::cuptiProfilerHostGetMetricProperties) host_get_metric_properties = nullptr;
  decltype(&::cuptiProfilerHostConfigAddMetrics) host_config_add_metrics = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImageSize) host_get_config_image_size = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImage) host_get_config_image = nullptr;
  decltype(&::cuptiProfilerHostGetNumOfPasses) host_get_num_of_passes = nullptr;
  decltype(&::cuptiProfilerHostEvaluateToGpuValues) host_evaluate_to_gpu_values = nullptr;
  decltype(&::cuptiRangeProfilerEnable) range_enable = nullptr;
  decltype(&::cuptiRangeProfilerDisable) range_disable = nullptr;
  decltype(&::cuptiRangeProfilerSetConfig) range_set_config = nullptr;
  decltype(&::cuptiRangeProfilerStart) range_start = nullptr;
  decltype(&::cuptiRangeProfilerStop) range_stop = nullptr;
  decltype(&::cuptiRangeProfilerPushRange) range_push = nullptr;
  decltype(&::cuptiRangeProfilerPopRange) range_pop = nullptr;
  decltype(&::cuptiRangeProfilerDecodeData) range_decode_data = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataSize) range_get_counter_data_size = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataImageInitialize) range_counter_data_image_initialize = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataInfo) range_get_counter_data_info = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataGetRangeInfo) range_counter_data_get_range_info = nullptr;

  /// Periodic samples: beside the counters above, absent from CUPTI before 12.6; then has_pm_sampling is
  /// false.
  bool has_pm_sampling = false;
  decltype(&::cuptiPmSamplingGetCounterAvailability) pm_get_counter_availability = nullptr;
  decltype(&::cuptiPmSamplingEnable) pm_enable = nullptr;
  decltype(&::cuptiPmSamplingDisable) pm_disable = nullptr;
  decltype(&::cuptiPmSamplingSetConfig) pm_set_config = nullptr;
  decltype(&::cuptiPmSamplingStart) pm_start = nullptr;
  decltype(&::cuptiPmSamplingStop) pm_stop = nullptr;
  decltype(&::cuptiPmSamplingDecodeData) pm_decode_data = nullptr;
  decltype(&::cuptiPmSamplingGetCounterDataSize) pm_get_counter_data_size = nullptr;
  decltype(&::cuptiPmSamplingCounterDataImageInitialize) pm_counter_data_image_initialize = nullptr;
  decltype(&::cuptiPmSamplingGetCounterDataInfo) pm_get_counter_data_info = nullptr;
  decltype(&::cuptiPmSamplingCounterDataGetSampleInfo) pm_get_sample_info = nullptr;
  /// Program counters.
  bool has_pc_sampling = false;
  decltype(&::cuptiPCSamplingEnable) pc_enable = nullptr;
  decltype(&::cuptiPCSamplingDisable) pc_disable = nullptr;
  decltype(&::cuptiPCSamplingStart) pc_start = nullptr;
  decltype(&::cuptiPCSamplingStop) pc_stop = nullptr;
  decltype(&::cuptiPCSamplingGetData) pc_get_data = nullptr;
  decltype(&::cuptiPCSamplingSetConfigurationAttribute) pc_set_configuration = nullptr;
  decltype(&::cuptiPCSamplingGetConfigurationAttribute) pc_get_configuration = nullptr;
  decltype(&::cuptiPCSamplingGetNumStallReasons) pc_get_num_stall_reasons = nullptr;
  decltype(&::cuptiPCSamplingGetStallReasons) pc_get_stall_reasons = nullptr;
  decltype(&::cuptiGetCubinCrc) get_cubin_crc = nullptr;
  decltype(&::cuptiGetSassToSourceCorrelation) get_sass_to_source = nullptr;

  /// "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)".
  std::string error_text(CUptiResult result) const;
  /// CUPTI's clock, or CLOCK_REALTIME where CUPTI is absent.
  std::int64_t now_ns() const noexcept;
};

/// Loads libcupti: a copy that the program has loaded already (two copies in one process would fight over the
/// driver's hooks), else `path`, else by soname, version 13 before 12. Never unloads. False with one line in
/// `error`; `library_path` then stays empty.
bool load_cupti(const std::string& path, CuptiApi* api, std::string* library_path, std::string* error);

/// CLOCK_REALTIME in nanoseconds.
std::int64_t realtime_ns() noexcept;

}  // namespace ridgeline::agent
