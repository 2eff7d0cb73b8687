// A CUPTI made of plain functions: tests choose what it refuses, hand it activity records and look at what
// the agent asked of it. One at a time: CUPTI's callbacks carry no context.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "cupti/cupti_api.h"
#include "session/session.h"
#include "spool_testing.h"

namespace ridgeline::agent::testing {

/// Each device has one context.
inline CUcontext context_on(std::uint32_t device_id) {
  return reinterpret_cast<CUcontext>(std::uintptr_t{0x1000} * (1 + device_id));
}
inline std::uint32_t device_of(CUcontext context) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(context) / 0x1000) - 1;
}
inline std::string of_device(const CUpti_PmSampling_Object* sampling) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(sampling) - 2);
}

struct FakeCupti {
  /// What it answers.
  CUptiResult subscribe_result = CUPTI_SUCCESS;
  CUptiResult kernel_enable_result = CUPTI_SUCCESS;
  CUptiResult memset_enable_result = CUPTI_SUCCESS;
  CUptiResult availability_result = CUPTI_SUCCESS;
  CUptiResult start_result = CUPTI_SUCCESS;
  std::map<std::string, int> unknown_metrics;    // by name
  std::set<std::string> absent_metrics;          // known of the chip, but not of this device
  std::set<CUpti_CallbackId> refused_calls;      // callbacks of the driver that cannot be enabled
  std::optional<CUpti_CallbackId> refused_once;  // the next time that it is enabled
  int max_metrics_per_pass = 100;
  std::size_t dropped = 0;  // handed out once
  std::size_t ranges_dropped = 0;
  int missing_ranges = 0;  // fewer ranges than launches
  bool pm_sampling = true;
  CUptiResult pm_availability_result = CUPTI_SUCCESS;
  CUptiResult pm_config_result = CUPTI_SUCCESS;
  std::int64_t pm_config_ns = 0;  // that it takes
  CUptiResult pm_start_result = CUPTI_SUCCESS;
  std::int64_t pm_start_takes_ns = 0;  // until the start returns
  std::int64_t pm_first_after_ns = 0;  // from then on, until the first sample
  std::function<void()> on_pm_start;   // while sampling is started
  std::function<void()> on_pm_decode;  // while samples are decoded
  std::function<void()> on_pm_stop;    // while sampling is stopped
  bool pm_buffer_full = false;
  double pm_faster = 1;            // samples at that many times the rate asked for
  std::function<void()> on_flush;  // what a flush makes CUPTI hand over
  /// Counters are opened (true) or closed: what it answers to the former. Empty: they are free.
  std::function<CUptiResult(bool opens)> on_counters;

  /// PC sampling: what each stop finds. Reasons by CUPTI's index, see pc_get_stall_reasons.
  struct FakePc {
    const char* function;
    std::uint64_t offset;
    std::uint64_t cubin_crc;
    std::vector<CUpti_PCSamplingStallReason> reasons;
  };
  std::vector<FakePc> pcs;
  CUptiResult pc_enable_result = CUPTI_SUCCESS;
  CUptiResult pc_start_result = CUPTI_SUCCESS, pc_stop_result = CUPTI_SUCCESS;
  bool pc_buffer_full = false;
  std::uint64_t pc_dropped = 0;  // at each stop
  std::string source_file;       // of every instruction; line 1 + offset

  int kernels_disabled = 0;  // since they were enabled last

  /// What it saw.
  int pc_enables = 0, pc_enabled = 0, pc_starts = 0, pc_stops = 0;
  std::size_t pc_reasons_asked = 0;
  bool pc_continuous = false, pc_start_stop = false;
  std::size_t pc_left = 0;  // of pcs, not yet fetched
  std::int64_t clock_ns = 1'000'000;
  int host_objects = 0;
  int profiler_starts = 0;
  int sessions_open = 0, sessions_made = 0, starts = 0, stops = 0, flushes = 0, forced_flushes = 0;
  int pm_open = 0, pm_windows = 0, pm_starts = 0, pm_stops = 0;
  int collisions = 0;                                   // a counter session and sampling at one time
  std::map<std::uint32_t, std::string> chip_of_device;  // GH100 else
  std::vector<std::string> in_ranges;                   // launches, as in `log`
  std::vector<std::string> pm_log;                      // "start 0": device 0; stop, read
  std::int64_t pm_interval_ns = 0, pm_start_ns = 0, pm_stop_ns = 0;
  struct PmTimes {
    std::int64_t interval_ns = 0, start_ns = 0, stop_ns = 0;
  };
  std::map<const CUpti_PmSampling_Object*, PmTimes>
      pm_times;  // of each device; those above are of the latest
  std::size_t pm_buffer_bytes = 0, pm_max_samples = 0, pm_decoded = 0;
  int disables = 0;  // of activity kinds
  bool launch_callbacks = false;
  std::set<CUpti_CallbackId> enabled_calls;  // of the driver
  struct Segment {                           // what a counter data image of this fake holds
    std::uint64_t ranges, first, numbers[256];
    std::uint64_t graphs;
    std::uint64_t pass;
  };
  Segment segment{};
  std::uint8_t* image = nullptr;
  bool running = false;
  std::uint64_t ranges_in_session = 0;
  int stops_in_session = 0;
  std::pair<const std::uint8_t*, CUpti_ProfilerRange> session_config{nullptr, CUPTI_AutoRange};
  int configured = 0, pushes = 0, pops = 0;
  std::vector<std::string> log;  // what was started, stopped and launched, in order
  CUptiResult push_result = CUPTI_SUCCESS;
  /// Of the range profiler's other calls, by name: enable, size, initialise, configure, stop, decode, pop, disable.
  std::map<std::string, CUptiResult> range_results;
  int range_disables = 0;  // asked for
  CUptiResult range_result(const char* call) const {
    const auto found = range_results.find(call);
    return found == range_results.end() ? CUPTI_SUCCESS : found->second;
  }

  /// The driver.
  bool stream_captures = false;
  CUptiResult stream_result = CUPTI_SUCCESS;
  int stream_queries = 0;  // of ids
  /// A graph: its nodes, whose handles are their ids, and its edges; by the graph's handle.
  struct FakeGraph {
    struct Edge {
      std::uintptr_t from, to;
      unsigned char type;
    };
    std::vector<std::pair<std::uintptr_t, CUgraphNodeType>> nodes;
    std::vector<Edge> edges;
  };
  std::map<std::uintptr_t, FakeGraph> graphs;
  std::map<std::uintptr_t, std::uintptr_t> child_graphs;  // by node
  int graph_questions = 0;
  int capture_queries = 0;
  int availability_calls = 0;
  int events_not_ready = 0;  // so many more queries find an event not ready
  /// A stream waits for the host: no event is ready, and what may wait for the device must not be called.
  bool stream_waits = false;
  std::vector<std::string> beside_waits;  // what was, all the same
  int events_recorded = 0, events_created = 0;
  std::function<void()> on_event_record;
  CUresult allocation_result = CUDA_SUCCESS;
  std::size_t allocated = 0;
  int evictions = 0;  // copies
  std::vector<int> signals;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  CUpti_BuffersCallbackRequestFunc requested = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed = nullptr;
  std::vector<std::string> names;  // keeps metric and range names alive
  std::string range_name;
  std::map<CUpti_Profiler_Host_Object*, std::size_t> metric_counts;
  std::map<CUpti_Profiler_Host_Object*, std::uint64_t> calls_of_host;

  static FakeCupti*& current() {
    static FakeCupti* fake = nullptr;
    return fake;
  }
  FakeCupti() { current() = this; }
  ~FakeCupti() { current() = nullptr; }

  CuptiApi api() {
    CuptiApi a;
    a.get_version = [](std::uint32_t* v) { return *v = 130001, CUPTI_SUCCESS; };
    a.get_result_string = [](CUptiResult r, const char** s) {
      *s = r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                    : "CUPTI_ERROR_FAKE";
      return CUPTI_SUCCESS;
    };
    a.get_timestamp = [](std::uint64_t* t) {
      *t = static_cast<std::uint64_t>(current()->clock_ns += 100);
      return CUPTI_SUCCESS;
    };
    a.subscribe = [](CUpti_SubscriberHandle* s, CUpti_CallbackFunc f, void* data) {
      *s = nullptr;
      current()->callback = f;
      current()->user = data;
      return current()->subscribe_result;
    };
    a.unsubscribe = [](CUpti_SubscriberHandle) { return CUPTI_SUCCESS; };
    a.enable_callback = [](std::uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                           CUpti_CallbackId id) {
      if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return CUPTI_SUCCESS;
      if (current()->refused_calls.contains(id)) return CUPTI_ERROR_INVALID_PARAMETER;
      if (on != 0 && current()->refused_once == id) {
        current()->refused_once.reset();
        return CUPTI_ERROR_UNKNOWN;
      }
      current()->launch_callbacks = on != 0;
      on != 0 ? (void)current()->enabled_calls.insert(id) : (void)current()->enabled_calls.erase(id);
      return CUPTI_SUCCESS;
    };
    a.enable_domain = [](std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
      return CUPTI_SUCCESS;
    };
    a.get_device_id = [](CUcontext context, std::uint32_t* id) {
      return *id = device_of(context), CUPTI_SUCCESS;
    };
    a.get_context_id = [](CUcontext context, std::uint32_t* id) {
      return *id = 1 + device_of(context), CUPTI_SUCCESS;
    };
    // The legacy stream of a context is 7, the thread's own 8, and the others are what their handles say.
    a.get_stream_id = [](CUcontext context, CUstream stream, std::uint8_t per_thread, std::uint32_t* id) {
      ++current()->stream_queries;
      if (current()->stream_result != CUPTI_SUCCESS) return current()->stream_result;
      if (stream == nullptr && context == nullptr) return CUPTI_ERROR_INVALID_STREAM;
      *id = stream != nullptr ? static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream) >> 4)
                              : 7 + per_thread;
      return CUPTI_SUCCESS;
    };
    a.get_graph_node_id = [](CUgraphNode node, std::uint64_t* id) {
      return *id = reinterpret_cast<std::uintptr_t>(node), CUPTI_SUCCESS;
    };
    a.activity_register_callbacks = [](CUpti_BuffersCallbackRequestFunc r,
                                       CUpti_BuffersCallbackCompleteFunc c) {
      current()->requested = r;
      current()->completed = c;
      return CUPTI_SUCCESS;
    };
    a.activity_enable = [](CUpti_ActivityKind kind) {
      if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        current()->kernels_disabled = 0;
        return current()->kernel_enable_result;
      }
      if (kind == CUPTI_ACTIVITY_KIND_MEMSET) return current()->memset_enable_result;
      return CUPTI_SUCCESS;
    };
    a.activity_disable = [](CUpti_ActivityKind kind) {
      ++current()->disables;
      if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++current()->kernels_disabled;
      return CUPTI_SUCCESS;
    };
    a.activity_flush_all = [](std::uint32_t flag) {
      ++(flag != 0 ? current()->forced_flushes : current()->flushes);
      if (current()->on_flush) current()->on_flush();
      return CUPTI_SUCCESS;
    };
    // Buffers of this fake hold one kernel record after the other.
    a.activity_get_next_record = [](std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
      std::uint8_t* next = *record == nullptr
                               ? buffer
                               : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
      if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
      *record = reinterpret_cast<CUpti_Activity*>(next);
      return CUPTI_SUCCESS;
    };
    a.activity_get_num_dropped_records = [](CUcontext, std::uint32_t, std::size_t* n) {
      *n = std::exchange(current()->dropped, 0);
      return CUPTI_SUCCESS;
    };
    a.activity_set_attribute = [](CUpti_ActivityAttribute, std::size_t*, void*) { return CUPTI_SUCCESS; };

    a.has_range_profiler = true;
    a.profiler_initialize = [](CUpti_Profiler_Initialize_Params*) {
      ++current()->profiler_starts;
      return CUPTI_SUCCESS;
    };
    a.device_get_chip_name = [](CUpti_Device_GetChipName_Params* p) {
      const auto& chips = current()->chip_of_device;
      const auto other = chips.find(static_cast<std::uint32_t>(p->deviceIndex));
      p->pChipName = other == chips.end() ? "GH100" : other->second.c_str();
      return CUPTI_SUCCESS;
    };
    a.profiler_get_counter_availability = [](CUpti_Profiler_GetCounterAvailability_Params* p) {
      ++current()->availability_calls;
      p->counterAvailabilityImageSize = 8;
      return current()->availability_result;
    };
    a.host_initialize = [](CUpti_Profiler_Host_Initialize_Params* p) {
      p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(
          static_cast<std::uintptr_t>(++current()->host_objects));
      return CUPTI_SUCCESS;
    };
    a.host_deinitialize = [](CUpti_Profiler_Host_Deinitialize_Params*) { return CUPTI_SUCCESS; };
    a.host_get_metric_properties = [](CUpti_Profiler_Host_GetMetricProperties_Params* p) {
      if (current()->unknown_metrics.count(p->pMetricName) != 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
      p->pDimUnit = "unit";
      p->pDescription = "description";
      return CUPTI_SUCCESS;
    };
    a.host_config_add_metrics = [](CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
      for (std::size_t i = 0; i < p->numMetrics; ++i)
        if (current()->absent_metrics.count(p->ppMetricNames[i]) != 0) return CUPTI_ERROR_UNKNOWN;
      current()->metric_counts[p->pHostObject] = p->numMetrics;
      ++current()->calls_of_host[p->pHostObject];
      return CUPTI_SUCCESS;
    };
    a.host_get_config_image_size = [](CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
      p->configImageSize = 8;
      return CUPTI_SUCCESS;
    };
    a.host_get_config_image = [](CUpti_Profiler_Host_GetConfigImage_Params* p) {
      const std::uint64_t metrics =
          current()->metric_counts[p->pHostObject] | current()->calls_of_host[p->pHostObject] << 32;
      std::memcpy(p->pConfigImage, &metrics, 8);
      return CUPTI_SUCCESS;
    };
    a.host_get_num_of_passes = [](CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
      std::uint64_t metrics = 0;
      std::memcpy(&metrics, p->pConfigImage, 8);
      const auto most = static_cast<std::uint64_t>(current()->max_metrics_per_pass);
      const std::uint64_t calls = metrics >> 32;
      metrics &= 0xffffffff;
      p->numOfPasses = calls > 1 ? calls : (metrics + most - 1) / most;
      return CUPTI_SUCCESS;
    };
    // Metric m of range r is 100*r + m in pass 0, 10000 more in each further pass.
    a.host_evaluate_to_gpu_values = [](CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
      Segment s;
      std::memcpy(&s, p->pCounterDataImage, sizeof s);
      for (std::size_t m = 0; m < p->numMetrics; ++m)
        p->pMetricValues[m] = static_cast<double>(10000 * s.pass + 100 * p->rangeIndex + m);
      return CUPTI_SUCCESS;
    };
    a.range_enable = [](CUpti_RangeProfiler_Enable_Params* p) {
      if (const CUptiResult r = current()->range_result("enable"); r != CUPTI_SUCCESS) return r;
      if (current()->on_counters)
        if (const CUptiResult busy = current()->on_counters(true); busy != CUPTI_SUCCESS) return busy;
      ++current()->sessions_open;
      ++current()->sessions_made;
      current()->ranges_in_session = 0;
      current()->stops_in_session = 0;
      current()->session_config = {nullptr, CUPTI_AutoRange};
      EXPECT_EQ(current()->sessions_open, 1) << "CUPTI takes one session at a time";
      if (current()->pm_open > 0) ++current()->collisions;
      p->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(1);
      return CUPTI_SUCCESS;
    };
    a.range_disable = [](CUpti_RangeProfiler_Disable_Params*) {
      ++current()->range_disables;
      EXPECT_FALSE(current()->running) << "disabled while running";
      if (const CUptiResult r = current()->range_result("disable"); r != CUPTI_SUCCESS) return r;
      --current()->sessions_open;
      if (current()->on_counters) current()->on_counters(false);
      return CUPTI_SUCCESS;
    };
    a.range_set_config = [](CUpti_RangeProfiler_SetConfig_Params* p) {
      ++current()->configured;
      current()->segment = {};
      current()->segment.first = current()->ranges_in_session;
      current()->segment.graphs = p->range == CUPTI_UserRange;
      std::uint64_t passes = 0;
      std::memcpy(&passes, p->pConfig, 8);
      passes = std::max<std::uint64_t>(passes >> 32, 1);
      current()->segment.pass = static_cast<std::uint64_t>(current()->stops_in_session) % passes;
      auto& [config, range] = current()->session_config;
      if (config == nullptr) current()->session_config = {p->pConfig, p->range};
      EXPECT_EQ(config, p->pConfig) << "CUPTI goes on with the session's first configuration";
      EXPECT_EQ(range, p->range);
      current()->image = p->pCounterDataImage;
      EXPECT_FALSE(current()->running) << "configured while running";
      return current()->range_result("configure");
    };
    a.range_start = [](CUpti_RangeProfiler_Start_Params*) {
      ++current()->starts;
      current()->running = current()->start_result == CUPTI_SUCCESS;
      current()->log.push_back(current()->segment.graphs != 0 ? "start ranges" : "start kernels");
      return current()->start_result;
    };
    a.range_stop = [](CUpti_RangeProfiler_Stop_Params*) {
      ++current()->stops;
      ++current()->stops_in_session;
      current()->running = false;
      EXPECT_EQ(current()->pushes, current()->pops) << "stopped with a range open";
      current()->log.push_back("stop");
      return current()->range_result("stop");
    };
    a.range_push = [](CUpti_RangeProfiler_PushRange_Params* p) {
      if (current()->push_result != CUPTI_SUCCESS) return current()->push_result;
      ++current()->pushes;
      EXPECT_EQ(current()->pushes, current()->pops + 1) << "one level only";
      EXPECT_TRUE(current()->running && current()->segment.graphs != 0);
      current()->segment.numbers[current()->segment.ranges++] = std::stoul(p->pRangeName);
      return CUPTI_SUCCESS;
    };
    a.range_pop = [](CUpti_RangeProfiler_PopRange_Params*) {
      ++current()->pops;
      EXPECT_EQ(current()->pushes, current()->pops);
      return current()->range_result("pop");
    };
    a.range_decode_data = [](CUpti_RangeProfiler_DecodeData_Params* p) {
      p->numOfRangeDropped = current()->ranges_dropped;
      current()->segment.ranges -= static_cast<std::size_t>(current()->missing_ranges);
      std::memcpy(current()->image, &current()->segment, sizeof(Segment));
      return current()->range_result("decode");
    };
    a.range_get_counter_data_size = [](CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
      p->counterDataSize = sizeof(Segment);
      return current()->range_result("size");
    };
    a.range_counter_data_image_initialize = [](CUpti_RangeProfiler_CounterDataImage_Initialize_Params*) {
      return current()->range_result("initialise");
    };
    a.range_get_counter_data_info = [](CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
      Segment s;
      std::memcpy(&s, p->pCounterDataImage, sizeof s);
      p->numTotalRanges = s.ranges;
      return CUPTI_SUCCESS;
    };
    a.range_counter_data_get_range_info = [](CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* p) {
      Segment s;
      std::memcpy(&s, p->pCounterDataImage, sizeof s);
      current()->range_name =
          std::to_string(s.graphs != 0 ? s.numbers[p->rangeIndex] : s.first + p->rangeIndex);
      p->rangeName = current()->range_name.c_str();
      return CUPTI_SUCCESS;
    };
    a.has_pm_sampling = pm_sampling;
    a.pm_get_counter_availability = [](CUpti_PmSampling_GetCounterAvailability_Params* p) {
      p->counterAvailabilityImageSize = 8;
      return current()->pm_availability_result;
    };
    a.pm_enable = [](CUpti_PmSampling_Enable_Params* p) {
      if (current()->on_counters)
        if (const CUptiResult busy = current()->on_counters(true); busy != CUPTI_SUCCESS) return busy;
      ++current()->pm_open;
      ++current()->pm_windows;
      if (current()->sessions_open > 0) ++current()->collisions;
      p->pPmSamplingObject = reinterpret_cast<CUpti_PmSampling_Object*>(2 + p->deviceIndex);
      return CUPTI_SUCCESS;
    };
    a.pm_disable = [](CUpti_PmSampling_Disable_Params*) {
      --current()->pm_open;
      if (current()->on_counters) current()->on_counters(false);
      return CUPTI_SUCCESS;
    };
    a.pm_set_config = [](CUpti_PmSampling_SetConfig_Params* p) {
      current()->pm_interval_ns = static_cast<std::int64_t>(p->samplingInterval);
      current()->pm_times[p->pPmSamplingObject].interval_ns = current()->pm_interval_ns;
      current()->pm_buffer_bytes = p->hardwareBufferSize;
      current()->clock_ns += current()->pm_config_ns;
      return current()->pm_config_result;
    };
    a.pm_start = [](CUpti_PmSampling_Start_Params* p) {
      current()->pm_log.push_back("start " + of_device(p->pPmSamplingObject));
      ++current()->pm_starts;
      if (current()->on_pm_start) current()->on_pm_start();
      current()->clock_ns += current()->pm_start_takes_ns;
      current()->pm_start_ns = current()->clock_ns + current()->pm_first_after_ns;
      current()->pm_times[p->pPmSamplingObject].start_ns = current()->pm_start_ns;
      return current()->pm_start_result;
    };
    a.pm_stop = [](CUpti_PmSampling_Stop_Params* p) {
      current()->pm_log.push_back("stop " + of_device(p->pPmSamplingObject));
      ++current()->pm_stops;
      if (current()->on_pm_stop) current()->on_pm_stop();
      current()->pm_stop_ns = current()->clock_ns;
      current()->pm_times[p->pPmSamplingObject].stop_ns = current()->pm_stop_ns;
      return CUPTI_SUCCESS;
    };
    a.pm_get_counter_data_size = [](CUpti_PmSampling_GetCounterDataSize_Params* p) {
      current()->pm_max_samples = p->maxSamples;
      p->counterDataSize = 64;
      return CUPTI_SUCCESS;
    };
    a.pm_counter_data_image_initialize = [](CUpti_PmSampling_CounterDataImage_Initialize_Params*) {
      current()->pm_decoded = 0;
      return CUPTI_SUCCESS;
    };
    // As CUPTI 13.0 does after a stop: one image takes what fits, the rest is gone; a full buffer gives
    // nothing.
    a.pm_decode_data = [](CUpti_PmSampling_DecodeData_Params* p) {
      FakeCupti& f = *current();
      f.pm_log.push_back("read " + of_device(p->pPmSamplingObject));
      if (f.on_pm_decode) f.on_pm_decode();
      if (f.pm_buffer_full) {
        p->overflow = 1;
        return CUPTI_ERROR_OUT_OF_MEMORY;
      }
      const PmTimes& times = f.pm_times[p->pPmSamplingObject];
      const std::int64_t sampled_ns = std::max<std::int64_t>(times.stop_ns - times.start_ns, 0);
      const auto taken = static_cast<std::size_t>(static_cast<double>(sampled_ns) * f.pm_faster /
                                                  static_cast<double>(times.interval_ns));
      f.pm_decoded = std::min(taken, f.pm_max_samples);
      p->decodeStopReason = taken > f.pm_max_samples ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                                     : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
      return CUPTI_SUCCESS;
    };
    a.pm_get_counter_data_info = [](CUpti_PmSampling_GetCounterDataInfo_Params* p) {
      p->numCompletedSamples = current()->pm_decoded;
      return CUPTI_SUCCESS;
    };
    a.pm_get_sample_info = [](CUpti_PmSampling_CounterData_GetSampleInfo_Params* p) {
      const PmTimes& times = current()->pm_times[p->pPmSamplingObject];
      const auto i = static_cast<std::int64_t>(p->sampleIndex);
      p->startTimestamp = static_cast<std::uint64_t>(times.start_ns + i * times.interval_ns);
      p->endTimestamp = p->startTimestamp + static_cast<std::uint64_t>(times.interval_ns);
      return CUPTI_SUCCESS;
    };
    add_pc_sampling(a);
    watch_what_waits(a);
    return a;
  }

  /// Calls that may wait for the device.
  static void watch_what_waits(CuptiApi& a) {
    watch<&CuptiApi::profiler_initialize>(a, "starting the profiler");
    watch<&CuptiApi::profiler_get_counter_availability>(a, "availability of counters");
    watch<&CuptiApi::range_enable>(a, "enabling counters");
    watch<&CuptiApi::range_disable>(a, "disabling counters");
    watch<&CuptiApi::range_set_config>(a, "configuring counters");
    watch<&CuptiApi::range_start>(a, "starting counters");
    watch<&CuptiApi::range_stop>(a, "stopping counters");
    watch<&CuptiApi::range_pop>(a, "closing a range");
    watch<&CuptiApi::range_decode_data>(a, "reading counters");
    watch<&CuptiApi::pm_get_counter_availability>(a, "availability of samples");
    watch<&CuptiApi::pm_enable>(a, "enabling samples");
    watch<&CuptiApi::pm_disable>(a, "disabling samples");
    watch<&CuptiApi::pm_set_config>(a, "configuring samples");
    watch<&CuptiApi::pm_start>(a, "starting samples");
    watch<&CuptiApi::pm_stop>(a, "stopping samples");
    watch<&CuptiApi::pm_decode_data>(a, "reading samples");
    watch<&CuptiApi::pc_enable>(a, "enabling stalls");
    watch<&CuptiApi::pc_disable>(a, "disabling stalls");
    watch<&CuptiApi::pc_set_configuration>(a, "configuring stalls");
    watch<&CuptiApi::pc_start>(a, "starting stalls");
    watch<&CuptiApi::pc_stop>(a, "stopping stalls");
    watch<&CuptiApi::pc_get_data>(a, "reading stalls");
    watch<&CuptiApi::activity_enable>(a, "switching records on");
    watch<&CuptiApi::activity_disable>(a, "switching records off");
  }
  template <auto kCall>
  static void watch(CuptiApi& a, const char* what) {
    static auto inner = a.*kCall;
    static const char* name = nullptr;
    inner = a.*kCall;
    name = what;
    a.*kCall = [](auto... arguments) {
      if (current()->stream_waits) current()->beside_waits.emplace_back(name);
      return inner(arguments...);
    };
  }

  static void add_pc_sampling(CuptiApi& a) {
    a.has_pc_sampling = true;
    a.pc_enable = [](CUpti_PCSamplingEnableParams*) {
      if (current()->pc_enable_result != CUPTI_SUCCESS) return current()->pc_enable_result;
      ++current()->pc_enables;
      ++current()->pc_enabled;
      return CUPTI_SUCCESS;
    };
    a.pc_disable = [](CUpti_PCSamplingDisableParams*) {
      --current()->pc_enabled;
      return CUPTI_SUCCESS;
    };
    a.pc_start = [](CUpti_PCSamplingStartParams*) {
      if (current()->pc_start_result == CUPTI_SUCCESS) ++current()->pc_starts;
      return current()->pc_start_result;
    };
    a.pc_stop = [](CUpti_PCSamplingStopParams*) {
      ++current()->pc_stops;
      if (current()->pc_stop_result != CUPTI_SUCCESS) return current()->pc_stop_result;
      current()->pc_left = current()->pcs.size();
      return CUPTI_SUCCESS;
    };
    a.pc_get_num_stall_reasons = [](CUpti_PCSamplingGetNumStallReasonsParams* p) {
      return *p->numStallReasons = 5, CUPTI_SUCCESS;
    };
    a.pc_get_stall_reasons = [](CUpti_PCSamplingGetStallReasonsParams* p) {
      constexpr std::pair<std::uint32_t, const char*> kReasons[] = {
          {0, "smsp__pcsamp_sample_count"},
          {1, "smsp__pcsamp_samples_data_dropped"},
          {14, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"},
          {15, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"},
          {28, "smsp__pcsamp_warps_issue_stalled_selected"}};
      for (std::size_t i = 0; i < p->numStallReasons; ++i) {
        p->stallReasonIndex[i] = kReasons[i].first;
        std::strcpy(p->stallReasons[i], kReasons[i].second);
      }
      return CUPTI_SUCCESS;
    };
    a.pc_set_configuration = [](CUpti_PCSamplingConfigurationInfoParams* p) {
      for (std::size_t i = 0; i < p->numAttributes; ++i) {
        const auto& info = p->pPCSamplingConfigurationInfo[i];
        if (info.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON)
          current()->pc_reasons_asked = info.attributeData.stallReasonData.stallReasonCount;
        if (info.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
          current()->pc_continuous = info.attributeData.collectionModeData.collectionMode ==
                                     CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
        if (info.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
          current()->pc_start_stop =
              info.attributeData.enableStartStopControlData.enableStartStopControl == 1;
      }
      return CUPTI_SUCCESS;
    };
    a.pc_get_configuration = [](CUpti_PCSamplingConfigurationInfoParams* p) {
      p->pPCSamplingConfigurationInfo[0].attributeData.samplingPeriodData.samplingPeriod = 11;
      return CUPTI_SUCCESS;
    };
    // As CUPTI does it: the sums come with the first part.
    a.pc_get_data = [](CUpti_PCSamplingGetDataParams* p) {
      FakeCupti& fake = *current();
      auto& data = *static_cast<CUpti_PCSamplingData*>(p->pcSamplingData);
      if (fake.pc_buffer_full) {
        data.hardwareBufferFull = 1;
        return CUPTI_ERROR_OUT_OF_MEMORY;
      }
      const std::size_t from = fake.pcs.size() - fake.pc_left;
      data.totalNumPcs = std::min(data.collectNumPcs, fake.pc_left);
      data.remainingNumPcs = fake.pc_left - data.totalNumPcs;
      data.droppedSamples = from == 0 ? fake.pc_dropped : 0;
      data.nonUsrKernelsTotalSamples = from == 0 ? 3 : 0;
      for (std::size_t i = 0; i < data.totalNumPcs; ++i) {
        const FakePc& pc = fake.pcs[from + i];
        CUpti_PCSamplingPCData& out = data.pPcData[i];
        out.functionName = const_cast<char*>(pc.function);
        out.pcOffset = pc.offset;
        out.cubinCrc = pc.cubin_crc;
        out.stallReasonCount = pc.reasons.size();
        for (std::size_t k = 0; k < pc.reasons.size(); ++k) out.stallReason[k] = pc.reasons[k];
      }
      fake.pc_left = data.remainingNumPcs;
      return CUPTI_SUCCESS;
    };
    a.get_cubin_crc = [](CUpti_GetCubinCrcParams* p) {
      p->cubinCrc = static_cast<const unsigned char*>(p->cubin)[0];
      return CUPTI_SUCCESS;
    };
    a.get_sass_to_source = [](CUpti_GetSassToSourceCorrelationParams* p) {
      if (current()->source_file.empty()) return CUPTI_ERROR_UNKNOWN;
      p->lineNumber = 1 + static_cast<std::uint32_t>(p->pcOffset);
      p->fileName = strdup(current()->source_file.c_str());
      p->dirName = strdup("/src");
      return CUPTI_SUCCESS;
    };
  }
};

/// A driver whose memory and events are the fake's.
inline DriverApi fake_driver() noexcept {
  DriverApi d;
  d.stream_is_capturing = [](CUstream, CUstreamCaptureStatus* status) {
    ++FakeCupti::current()->capture_queries;
    *status = FakeCupti::current()->stream_captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                    : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  d.exchange_capture_mode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  d.event_create = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(0x77);
    ++FakeCupti::current()->events_created;
    return CUDA_SUCCESS;
  };
  d.event_record = [](CUevent, CUstream) {
    ++FakeCupti::current()->events_recorded;
    if (FakeCupti::current()->on_event_record) FakeCupti::current()->on_event_record();
    return CUDA_SUCCESS;
  };
  d.event_query = [](CUevent) {
    FakeCupti& f = *FakeCupti::current();
    f.clock_ns += 1'000'000;
    if (f.stream_waits) return CUDA_ERROR_NOT_READY;
    return f.events_not_ready > 0 ? (--f.events_not_ready, CUDA_ERROR_NOT_READY) : CUDA_SUCCESS;
  };
  d.mem_alloc = [](CUdeviceptr* p, std::size_t bytes) {
    *p = 0x1000;
    if (FakeCupti::current()->allocation_result == CUDA_SUCCESS) FakeCupti::current()->allocated += bytes;
    return FakeCupti::current()->allocation_result;
  };
  d.mem_free = [](CUdeviceptr) {
    FakeCupti::current()->allocated = 0;
    return CUDA_SUCCESS;
  };
  d.memcpy_dtod_async = [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
    ++FakeCupti::current()->evictions;
    return CUDA_SUCCESS;
  };
  d.ctx_get_device = [](CUdevice* device) { return *device = 0, CUDA_SUCCESS; };
  d.device_get_attribute = [](int* value, CUdevice_attribute, CUdevice) {
    return *value = 8 << 20, CUDA_SUCCESS;
  };
  d.graph_get_nodes = [](CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
    FakeCupti& f = *FakeCupti::current();
    ++f.graph_questions;
    const auto& known = f.graphs[reinterpret_cast<std::uintptr_t>(graph)].nodes;
    for (std::size_t i = 0; nodes != nullptr && i < known.size(); ++i)
      nodes[i] = reinterpret_cast<CUgraphNode>(known[i].first);
    return *count = known.size(), CUDA_SUCCESS;
  };
  d.graph_get_edges = [](CUgraph graph, CUgraphNode* from, CUgraphNode* to, GraphEdgeData* data,
                         std::size_t* count) {
    FakeCupti& f = *FakeCupti::current();
    ++f.graph_questions;
    const auto& known = f.graphs[reinterpret_cast<std::uintptr_t>(graph)].edges;
    for (std::size_t i = 0; from != nullptr && i < known.size(); ++i) {
      from[i] = reinterpret_cast<CUgraphNode>(known[i].from);
      to[i] = reinterpret_cast<CUgraphNode>(known[i].to);
      data[i] = {};
      data[i].type = known[i].type;
    }
    return *count = known.size(), CUDA_SUCCESS;
  };
  d.graph_node_get_type = [](CUgraphNode node, CUgraphNodeType* type) {
    for (const auto& [handle, graph] : FakeCupti::current()->graphs)
      for (const auto& [known, its_type] : graph.nodes)
        if (known == reinterpret_cast<std::uintptr_t>(node)) return *type = its_type, CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
  };
  d.child_graph_of = [](CUgraphNode node, CUgraph* graph) {
    const auto& children = FakeCupti::current()->child_graphs;
    const auto found = children.find(reinterpret_cast<std::uintptr_t>(node));
    if (found == children.end()) return CUDA_ERROR_INVALID_VALUE;
    return *graph = reinterpret_cast<CUgraph>(found->second), CUDA_SUCCESS;
  };
  return d;
}

/// A session on a fake CUPTI, and a program that launches kernels in it.
class FakeProgram {
 public:
  /// `control_file`: of another process of the recording.
  explicit FakeProgram(FakeCupti& cupti, const std::map<std::string, std::string>& environment = {},
                       bool with_control = false, const std::string& control_file = {})
      : cupti_(cupti) {
    if (!control_file.empty()) {
      std::filesystem::create_symlink(control_file, directory_.path() + "/" + spool::kControlFileName);
      control_ = map_control(directory_.path());
    } else if (with_control) {  // as the launcher makes it
      std::string bytes(spool::kControlBytes, 0);
      std::memcpy(bytes.data(), &spool::kControlMagic, sizeof spool::kControlMagic);
      std::ofstream(directory_.path() + "/" + spool::kControlFileName, std::ios::binary) << bytes;
      control_ = map_control(directory_.path());
    }
    variables() = environment;
    variables()["RIDGELINE_SPOOL_DIR"] = directory_.path();
    variables()["RIDGELINE_CLOCK_MS"] = "0";
    variables().emplace("RIDGELINE_LOCK_DIR", directory_.path());  // no other test's turn
    const Settings settings = read_settings([](const char* name) -> const char* {
      const auto it = variables().find(name);
      return it == variables().end() ? nullptr : it->second.c_str();
    });
    static std::uint32_t generation = 1000;
    session_ = Session::create(settings, ++generation);
    session_->replace_driver(fake_driver,
                             [](int signal) { FakeCupti::current()->signals.push_back(signal); });
    api_ = new CuptiApi(cupti.api());  // as the agent does, for ever
  }

  /// Called when a launch is in the driver.
  std::function<void()> while_running;
  /// The driver's handle of the function that launch() launches.
  CUfunction function = nullptr;

  /// Another clock than the fake's. Before start().
  void use_clock(std::int64_t (*clock)()) {
    static std::int64_t (*now)() = nullptr;
    now = clock;
    const_cast<CuptiApi*>(api_)->get_timestamp = [](std::uint64_t* t) {
      *t = static_cast<std::uint64_t>(now());
      return CUPTI_SUCCESS;
    };
  }
  bool start() { return session_->start_cupti(*api_, "/fake/libcupti.so.13"); }
  Session& session() { return *session_; }
  spool::Control* control() { return control_; }
  std::string control_file() const { return directory_.path() + "/" + spool::kControlFileName; }

  /// From now on the program works on this device, in a context of its own.
  void use_device(std::uint32_t device_id) { context_ = context_on(device_id); }
  void create_context() {
    CUpti_ResourceData data{};
    data.context = context_;
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
  }
  void destroy_context() {
    CUpti_ResourceData data{};
    data.context = context_;
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                    &data);
  }
  void load_module(std::string& cubin) {
    CUpti_ModuleResourceData module{};
    module.pCubin = cubin.data();
    module.cubinSize = cubin.size();
    CUpti_ResourceData data{};
    data.context = context_;
    data.resourceDescriptor = &module;
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
  }
  std::uint32_t launch(const char* name, unsigned grid = 1, CUresult result = CUDA_SUCCESS,
                       bool captured = false, bool graph = false) {
    const std::uint32_t correlation = ++correlation_;
    cuLaunchKernel_params params{};
    params.f = function;
    params.gridDimX = grid;
    params.gridDimY = params.gridDimZ = 1;
    CUpti_CallbackData data{};
    data.functionParams = &params;
    data.functionReturnValue = &result;
    data.symbolName = name;
    data.context = context_;
    data.contextUid = 1 + device_of(context_);
    data.correlationId = correlation;
    const CUpti_CallbackId id =
        graph ? CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch : CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    data.callbackSite = CUPTI_API_ENTER;
    const bool enabled = cupti_.enabled_calls.contains(id);
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    cupti_.log.push_back(graph ? "graph" : name);
    if (cupti_.pushes > cupti_.pops) cupti_.in_ranges.push_back(cupti_.log.back());
    if (cupti_.running && cupti_.segment.graphs == 0 && !captured) {
      EXPECT_FALSE(graph) << "an automatic range across a graph launch is an error of CUPTI's";
      ++cupti_.segment.ranges;
      ++cupti_.ranges_in_session;
    }
    if (while_running) while_running();
    if (captured) {
      CUpti_ResourceData node{};
      cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &node);
    }
    data.callbackSite = CUPTI_API_EXIT;
    leaves_as_it_entered(enabled, id);
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    return correlation;
  }
  /// A call of the driver that takes that long, as the program times it; `meanwhile` happens inside it.
  std::uint32_t call(CUpti_CallbackId id, std::int64_t duration_ns,
                     const std::function<void()>& meanwhile = {}, CUresult result = CUDA_SUCCESS,
                     const void* params = nullptr) {
    const std::uint32_t correlation = ++correlation_;
    CUpti_CallbackData data{};
    data.functionParams = params;
    data.functionReturnValue = &result;
    data.context = context_;
    data.contextUid = 1 + device_of(context_);
    data.correlationId = correlation;
    data.callbackSite = CUPTI_API_ENTER;
    const bool enabled = cupti_.enabled_calls.contains(id);
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    if (meanwhile) meanwhile();
    cupti_.clock_ns += duration_ns;
    data.callbackSite = CUPTI_API_EXIT;
    leaves_as_it_entered(enabled, id);
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    return correlation;
  }
  void leaves_as_it_entered(bool called_at_entry, CUpti_CallbackId id) const {
    if (called_at_entry) {
      EXPECT_TRUE(cupti_.enabled_calls.contains(id))
          << "a thread in whose call the callback is switched off is "
             "in that call for ever, for CUPTI";
    }
  }
  /// The same with what the call carries; it takes no time.
  std::uint32_t call_with(CUpti_CallbackId id, const void* params, CUresult result = CUDA_SUCCESS,
                          const std::function<void()>& meanwhile = {}) {
    return call(id, 0, meanwhile, result, params);
  }
  void create_node(CUpti_GraphData& node) {
    CUpti_ResourceData data{};
    data.resourceDescriptor = &node;
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
  }
  void clone_node(std::uintptr_t original, std::uintptr_t clone) {
    CUpti_GraphData graph{};
    graph.node = reinterpret_cast<CUgraphNode>(clone);
    graph.originalNode = reinterpret_cast<CUgraphNode>(original);
    CUpti_ResourceData data{};
    data.resourceDescriptor = &graph;
    cupti_.callback(cupti_.user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &data);
  }
  /// Hands kernel records to the agent as CUPTI would; false if it got no buffer.
  bool deliver(const std::vector<CUpti_ActivityKernel10>& records) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    cupti_.requested(&buffer, &size, &most);
    if (buffer == nullptr) return false;
    const std::size_t bytes = records.size() * sizeof(CUpti_ActivityKernel10);
    EXPECT_LE(bytes, size);
    std::memcpy(buffer, records.data(), bytes);
    cupti_.completed(nullptr, 0, buffer, size, bytes);
    session_->take_records();
    return true;
  }
  static CUpti_ActivityKernel10 kernel(std::uint32_t correlation, const char* name, std::uint64_t start_ns,
                                       std::uint64_t end_ns) {
    CUpti_ActivityKernel10 k{};
    k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k.correlationId = correlation;
    k.name = name;
    k.start = start_ns;
    k.end = end_ns;
    k.gridX = 1;
    return k;
  }
  void push(const char* name) { session_->nvtx_push(nullptr, 0, name, {}); }
  void pop() { session_->nvtx_pop(nullptr); }
  void tick() { session_->tick(cupti_.clock_ns += 1'000'000'000); }

  /// Everything in the spool now.
  struct Contents {
    std::vector<spool::KernelRecord> kernels;
    std::vector<spool::LaunchRecord> launches;
    std::vector<spool::SynchronisationRecord> waits;
    std::vector<spool::ThreadRecord> threads;
    std::vector<spool::RecordingWindowRecord> windows;
    std::vector<spool::StepStartRecord> begins;
    std::vector<spool::StepEndRecord> ends;
    std::vector<spool::CounterValueRecord> values;
    std::vector<spool::CounterStepRecord> counter_steps;
    std::vector<spool::GraphCounterValueRecord> graph_values;
    std::vector<spool::ReplayExclusionRecord> exclusions;
    std::vector<spool::MemcpyRecord> copies;
    std::vector<spool::CounterConfigRecord> configs;
    std::vector<spool::NvtxRangeRecord> ranges;
    std::vector<spool::NvtxPathRecord> paths;
    std::vector<spool::MessageRecord> messages;
    std::vector<spool::EndRecord> ends_of_process;
    std::vector<spool::PmWindowRecord> pm_windows;  // as written: at opening and at the end
    std::vector<spool::PmMetricRecord> pm_metrics;
    std::vector<spool::PmSampleRecord> pm_samples;
    std::vector<std::vector<double>> pm_values;  // of each sample
    std::vector<spool::MetricRecord> metrics;
    std::vector<spool::StallSampleRecord> stalls;
    std::vector<spool::StallWindowRecord> stall_windows;
    std::vector<spool::SourceLineRecord> lines;
    std::vector<spool::StreamRecord> streams;
    std::vector<spool::StreamCallRecord> stream_calls;
    std::vector<spool::GraphNodeRecord> graph_nodes;
    std::vector<spool::GraphNodeCloneRecord> clones;
    std::vector<spool::GraphEdgeRecord> graph_edges;
    std::vector<spool::MemoryCallRecord> memory;
    std::vector<spool::LeftOutRecord> left_out;
    std::vector<spool::StepBlockRecord> blocks;
    std::vector<spool::CollectiveDetailRecord> details;
    spool::CompletenessRecord totals{};
    std::map<spool::StringId, std::string> strings;
    std::string text(spool::StringId id) const {
      const auto it = strings.find(id);
      return it == strings.end() ? "" : it->second;
    }
    std::string message(spool::Topic topic) const {
      for (const auto& m : messages)
        if (m.topic == topic) return text(m.text);
      return "";
    }
  };
  Contents contents() {
    Contents c;
    std::string error;
    auto reader = spool::Reader::open(session_->writer().path(), &error);
    EXPECT_TRUE(reader) << error;
    if (!reader) return c;
    EXPECT_TRUE(reader->diagnosis().intact());
    reader->for_each([&](const spool::RecordView& r) {
      auto take = [&](auto& list) {
        using Record = typename std::remove_reference_t<decltype(list)>::value_type;
        if (const auto* record = r.as<Record>()) list.push_back(*record);
      };
      take(c.kernels);
      take(c.launches);
      take(c.waits);
      take(c.threads);
      take(c.windows);
      take(c.begins);
      take(c.ends);
      take(c.values);
      take(c.counter_steps);
      take(c.graph_values);
      take(c.exclusions);
      take(c.copies);
      take(c.configs);
      take(c.ranges);
      take(c.paths);
      take(c.messages);
      take(c.ends_of_process);
      take(c.pm_windows);
      take(c.pm_metrics);
      take(c.pm_samples);
      take(c.metrics);
      if (const auto* sample = r.as<spool::PmSampleRecord>()) {
        std::vector<double> values(sample->value_count);
        std::memcpy(values.data(), sample + 1, values.size() * sizeof(double));
        c.pm_values.push_back(values);
      }
      take(c.stalls);
      take(c.stall_windows);
      take(c.lines);
      take(c.streams);
      take(c.stream_calls);
      take(c.graph_nodes);
      take(c.clones);
      take(c.graph_edges);
      take(c.memory);
      take(c.left_out);
      take(c.blocks);
      take(c.details);
      if (const auto* t = r.as<spool::CompletenessRecord>()) c.totals = *t;
      if (const auto* s = r.as<spool::StringRecord>()) c.strings[s->id] = r.trailing_bytes();
    });
    // Threads write where there is room, so that the file's order is not that of time.
    std::stable_sort(c.begins.begin(), c.begins.end(), [](const auto& a, const auto& b) {
      return std::tie(a.start_ns, a.step_index) < std::tie(b.start_ns, b.step_index);
    });
    std::stable_sort(c.ends.begin(), c.ends.end(), [](const auto& a, const auto& b) {
      return std::tie(a.end_ns, a.step_index) < std::tie(b.end_ns, b.step_index);
    });
    return c;
  }

 private:
  static std::map<std::string, std::string>& variables() {
    static std::map<std::string, std::string> v;
    return v;
  }
  FakeCupti& cupti_;
  spool::testing::TemporaryDirectory directory_;
  const CuptiApi* api_ = nullptr;
  spool::Control* control_ = nullptr;
  Session* session_ = nullptr;  // leaked, as in the agent
  CUcontext context_ = context_on(0);
  std::uint32_t correlation_ = 0;
};

/// Another thread of the program, inside a call of the driver until leave().
class ThreadInACall {
 public:
  ThreadInACall(FakeProgram& program, CUpti_CallbackId id)
      : thread_([this, &program, id] {
          program.call(id, 0, [this] {
            entered_ = true;
            while (!may_leave_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          });
        }) {
    while (!entered_) std::this_thread::yield();
  }
  ~ThreadInACall() { leave(); }
  void leave() {
    may_leave_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> entered_{false}, may_leave_{false};
  std::thread thread_;
};

}  // namespace ridgeline::agent::testing
