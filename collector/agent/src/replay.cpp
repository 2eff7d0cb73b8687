#include "replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "messages.h"

namespace ridgeline::agent {
namespace {

// The first replay step may come before prepare() is through; it waits in the launch, this long at most.
constexpr std::chrono::seconds kReadyTimeout{10};
constexpr std::uint32_t kDefaultRanges = 4096;  // without a timeline step to go by

bool is_permission(CUptiResult result) {
  return result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
         result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
}

constexpr char kPermissionRemedy[] =
    "timeline only: this user may not read GPU counters; run as root or with CAP_SYS_ADMIN (containers: "
    "--cap-add "
    "SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0";

}  // namespace

Replay::Replay(const CuptiApi& api, spool::Writer& writer, StepTracker& steps, CounterIntervals& intervals,
               std::vector<MetricSet> sets)
    : api_(api), writer_(writer), steps_(steps), intervals_(intervals), sets_(std::move(sets)) {}

void Replay::message(spool::Severity severity, spool::Topic topic, const std::string& text) noexcept {
  put_message(writer_, api_.now_ns(), severity, topic, text);
}

void Replay::rule_out(spool::Topic topic, const std::string& reason) noexcept {
  message(spool::Severity::kWarning, topic, reason);
  {
    std::lock_guard<std::mutex> guard(mutex_);
    readiness_ = Readiness::kRuledOut;
    ruled_out_reason_ = reason;
  }
  ready_.notify_all();
}

void Replay::prepare(CUcontext context, std::uint32_t device_id, const std::string& chip) noexcept {
  if (!api_.has_range_profiler)
    return rule_out(spool::Topic::kCountersRefused,
                    "timeline only: this CUPTI has no range profiler; use the CUPTI of CUDA 12.6 or later");
  CUpti_Profiler_GetCounterAvailability_Params p = {CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
  p.ctx = context;
  CUptiResult result = api_.profiler_get_counter_availability(&p);
  std::vector<std::uint8_t> availability;
  if (result == CUPTI_SUCCESS) {
    availability.resize(p.counterAvailabilityImageSize);
    p.pCounterAvailabilityImage = availability.data();
    result = api_.profiler_get_counter_availability(&p);
  }
  if (is_permission(result)) return rule_out(spool::Topic::kCountersRefused, kPermissionRemedy);
  if (result != CUPTI_SUCCESS)
    return rule_out(
        spool::Topic::kCountersRefused,
        "timeline only: CUPTI cannot tell which counters are available: " + api_.error_text(result) +
            "; another recording or profiler may hold them, wait for it to end (DCGM: dcgmi profile "
            "--pause)");
  {
    std::lock_guard<std::mutex> guard(mutex_);
    chip_ = chip;
    device_id_ = device_id;
    availability_ = std::move(availability);
  }
  std::vector<CounterConfig> configs;
  std::vector<std::uint32_t> metric_ids;
  std::vector<std::size_t> first_metric;
  std::map<std::string, std::uint32_t> ids;
  std::size_t usable = 0;
  for (const MetricSet& set : sets_) {
    ResolvedSet resolved = resolve_metric_set(api_, chip_, availability_.data(), set);
    for (const std::string& left : resolved.left_out)
      message(spool::Severity::kWarning, spool::Topic::kMetricUnavailable, set.name + " without " + left);
    first_metric.push_back(metric_ids.size());
    for (const CounterConfig::Metric& m : resolved.config.metrics()) {
      const auto [it, fresh] = ids.emplace(m.name, static_cast<std::uint32_t>(ids.size()) + 1);
      metric_ids.push_back(it->second);
      if (!fresh) continue;
      spool::MetricRecord record{};
      record.metric_id = it->second;
      record.name = writer_.intern(m.name);
      record.unit = writer_.intern(m.unit);
      record.description = writer_.intern(m.description);
      writer_.put(record);
    }
    spool::CounterConfigRecord record{};
    record.config_id = static_cast<std::uint32_t>(configs.size()) + 1;
    record.name = writer_.intern(set.name);
    record.passes = resolved.config.passes();
    record.metric_count = static_cast<std::uint32_t>(resolved.config.metrics().size());
    writer_.put(record);
    for (std::size_t i = first_metric.back(); i < metric_ids.size(); ++i) {
      spool::CounterConfigMetricRecord member{};
      member.config_id = record.config_id;
      member.metric_id = metric_ids[i];
      writer_.put(member);
    }
    if (record.metric_count > 0) ++usable;
    configs.push_back(std::move(resolved.config));
  }
  if (usable == 0)
    return rule_out(spool::Topic::kCountersRefused, "timeline only: no metric is available on chip " + chip_);
  {
    std::lock_guard<std::mutex> guard(mutex_);
    configs_ = std::move(configs);
    metric_ids_ = std::move(metric_ids);
    first_metric_ = std::move(first_metric);
    readiness_ = Readiness::kReady;
  }
  ready_.notify_all();
}

void Replay::arm(const StepTracker::Step& step, std::uint32_t thread_id) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  step_ = step;
  session_thread_ = thread_id;
  state_.store(State::kArmed, std::memory_order_release);
}

void Replay::report(spool::CounterStatus status, const std::string& reason, std::uint32_t ranges) noexcept {
  spool::CounterStepRecord record{};
  record.config_id = config_id(step_);
  record.step_index = step_.index;
  record.status = status;
  record.reason = writer_.intern_reserved(reason);
  record.launches_expected = steps_.last().count();
  record.ranges_received = ranges;
  writer_.put_reserved(record);
}

void Replay::launch_enter(CUcontext context, std::uint32_t thread_id) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == State::kToFinish) {
    finish();
    steps_.release();
    return;
  }
  if (state_.load(std::memory_order_relaxed) != State::kArmed) return;
  std::string why;
  auto status = spool::CounterStatus::kFailed;
  if (!ready_.wait_for(lock, kReadyTimeout, [&] { return readiness_ != Readiness::kPending; }))
    why = "the counters were not ready after 10 s; give the schedule more warm-up steps";
  else if (readiness_ == Readiness::kRuledOut) {
    why = ruled_out_reason_;
    status = spool::CounterStatus::kNotAvailable;
  } else {
    // Another thread may have been let in while this one waited.
    if (state_.load(std::memory_order_relaxed) != State::kArmed) return;
    session_thread_ = thread_id;
    if (open(context, &why, &status)) {
      state_.store(State::kCollecting, std::memory_order_release);
      return;
    }
  }
  if (state_.load(std::memory_order_relaxed) != State::kArmed) return;
  report(status, why, 0);
  state_.store(State::kIdle, std::memory_order_release);
}

bool Replay::open(CUcontext context, std::string* why, spool::CounterStatus* status) noexcept {
  const CounterConfig& config = configs_[config_id(step_) - 1];
  if (config.metrics().empty()) {
    *why = "no metric of this configuration is available on " + chip_;
    *status = spool::CounterStatus::kNotAvailable;
    return false;
  }
  const LaunchSequence* reference = steps_.reference();
  if (reference != nullptr) {
    *why = why_not_replayable(*reference);
    if (!why->empty()) {
      *status = spool::CounterStatus::kNotAvailable;
      return false;
    }
  }
  std::uint32_t device_id = 0;
  if (api_.get_device_id(context, &device_id) != CUPTI_SUCCESS || device_id != device_id_) {
    *why = "the step launches on device " + std::to_string(device_id) +
           ", counters were prepared for device " + std::to_string(device_id_);
    *status = spool::CounterStatus::kNotAvailable;
    return false;
  }
  intervals_.open(api_.now_ns());
  context_ = context;
  auto fail = [&](const char* what, CUptiResult result) {
    *why =
        is_permission(result) ? kPermissionRemedy : std::string(what) + " failed: " + api_.error_text(result);
    message(spool::Severity::kWarning,
            is_permission(result) ? spool::Topic::kCountersRefused : spool::Topic::kReplay,
            is_permission(result) ? *why : "step " + std::to_string(step_.index) + ": " + *why);
    if (is_permission(result)) {
      readiness_ = Readiness::kRuledOut;
      ruled_out_reason_ = *why;
    }
    close();
    return false;
  };
  CUpti_RangeProfiler_Enable_Params enable = {CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE};
  enable.ctx = context;
  if (const CUptiResult r = api_.range_enable(&enable); r != CUPTI_SUCCESS)
    return fail("enabling counters", r);
  session_ = enable.pRangeProfilerObject;

  const std::uint32_t ranges = reference != nullptr && reference->count() > 0
                                   ? reference->count() + reference->count() / 4 + 64
                                   : kDefaultRanges;
  CUpti_RangeProfiler_GetCounterDataSize_Params size = {
      CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE};
  size.pRangeProfilerObject = session_;
  size.pMetricNames = config.metric_names();
  size.numMetrics = config.metrics().size();
  size.maxNumOfRanges = ranges;
  size.maxNumRangeTreeNodes = ranges;
  if (const CUptiResult r = api_.range_get_counter_data_size(&size); r != CUPTI_SUCCESS)
    return fail("sizing the counter data", r);
  counter_data_.assign(size.counterDataSize, 0);
  CUpti_RangeProfiler_CounterDataImage_Initialize_Params init = {
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE};
  init.pRangeProfilerObject = session_;
  init.pCounterData = counter_data_.data();
  init.counterDataSize = counter_data_.size();
  if (const CUptiResult r = api_.range_counter_data_image_initialize(&init); r != CUPTI_SUCCESS)
    return fail("initialising the counter data", r);

  CUpti_RangeProfiler_SetConfig_Params set = {CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE};
  set.pRangeProfilerObject = session_;
  set.pConfig = config.image().data();
  set.configSize = config.image().size();
  set.pCounterDataImage = counter_data_.data();
  set.counterDataImageSize = counter_data_.size();
  set.range = CUPTI_AutoRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = ranges;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  if (const CUptiResult r = api_.range_set_config(&set); r != CUPTI_SUCCESS)
    return fail("configuring counters", r);
  CUpti_RangeProfiler_Start_Params start = {CUpti_RangeProfiler_Start_Params_STRUCT_SIZE};
  start.pRangeProfilerObject = session_;
  if (const CUptiResult r = api_.range_start(&start); r != CUPTI_SUCCESS) return fail("starting counters", r);
  started_ = true;
  return true;
}

bool Replay::step_end(std::uint32_t thread_id) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  switch (state_.load(std::memory_order_relaxed)) {
    case State::kIdle:
    case State::kToFinish:
      return true;
    case State::kArmed:
      report(spool::CounterStatus::kFailed, "the step launched no kernel", 0);
      state_.store(State::kIdle, std::memory_order_release);
      return true;
    case State::kCollecting:
      break;
  }
  // CUPTI wants the context current, which it is on the thread that launched.
  if (thread_id != session_thread_) {
    state_.store(State::kToFinish, std::memory_order_release);
    return false;
  }
  finish();
  return true;
}

void Replay::finish_pending() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::kToFinish) return;
  finish();
  steps_.release();
}

void Replay::finish() noexcept {
  const CounterConfig& config = configs_[config_id(step_) - 1];
  spool::CounterStepRecord record{};
  record.status = spool::CounterStatus::kOk;
  std::string reason;
  try {
    collect(config, &record, &reason);
  } catch (...) {
    record.status = spool::CounterStatus::kFailed;
    reason = "out of memory while reading the counters";
  }
  close();
  report(record.status, reason, record.ranges_received);
  state_.store(State::kIdle, std::memory_order_release);
}

void Replay::collect(const CounterConfig& config, spool::CounterStepRecord* record, std::string* reason) {
  auto fail = [&](spool::CounterStatus status, const std::string& why) {
    record->status = status;
    *reason = why;
  };
  CUpti_RangeProfiler_Stop_Params stop = {CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
  stop.pRangeProfilerObject = session_;
  const CUptiResult stopped = api_.range_stop(&stop);
  started_ = false;
  if (stopped != CUPTI_SUCCESS)
    return fail(spool::CounterStatus::kFailed, "stopping counters failed: " + api_.error_text(stopped));

  const LaunchSequence& launches = steps_.last();
  if (std::string why = why_not_replayable(launches); !why.empty())
    return fail(spool::CounterStatus::kNotAvailable, why);

  CUpti_RangeProfiler_DecodeData_Params decode = {CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE};
  decode.pRangeProfilerObject = session_;
  if (const CUptiResult r = api_.range_decode_data(&decode); r != CUPTI_SUCCESS)
    return fail(spool::CounterStatus::kFailed, "reading counters failed: " + api_.error_text(r));
  CUpti_RangeProfiler_GetCounterDataInfo_Params info = {
      CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE};
  info.pCounterDataImage = counter_data_.data();
  info.counterDataImageSize = counter_data_.size();
  if (const CUptiResult r = api_.range_get_counter_data_info(&info); r != CUPTI_SUCCESS)
    return fail(spool::CounterStatus::kFailed, "reading counters failed: " + api_.error_text(r));
  record->ranges_received = static_cast<std::uint32_t>(info.numTotalRanges);
  if (decode.numOfRangeDropped > 0)
    return fail(spool::CounterStatus::kFailed,
                std::to_string(decode.numOfRangeDropped) + " ranges were dropped");
  if (const LaunchSequence* reference = steps_.reference(); reference != nullptr)
    if (std::string why = difference(launches, *reference); !why.empty())
      return fail(spool::CounterStatus::kMismatch, why);
  if (info.numTotalRanges != launches.count())
    return fail(spool::CounterStatus::kMismatch, std::to_string(info.numTotalRanges) +
                                                     " measured ranges for " +
                                                     std::to_string(launches.count()) + " launches");

  const std::size_t metrics = config.metrics().size();
  std::vector<double> values(metrics);
  std::uint32_t unevaluated = 0;
  for (std::size_t range = 0; range < info.numTotalRanges; ++range) {
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params where = {
        CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE};
    where.pCounterDataImage = counter_data_.data();
    where.counterDataImageSize = counter_data_.size();
    where.rangeIndex = range;
    where.rangeDelimiter = "/";
    // Automatic ranges are named by the number of their launch.
    std::size_t ordinal = range;
    if (api_.range_counter_data_get_range_info(&where) == CUPTI_SUCCESS && where.rangeName != nullptr) {
      char* end = nullptr;
      const unsigned long number = std::strtoul(where.rangeName, &end, 10);
      if (end != where.rangeName && *end == 0) ordinal = number;
    }
    if (ordinal >= launches.count())
      return fail(spool::CounterStatus::kMismatch, "range " + std::to_string(ordinal) + " has no launch");
    if (!config.evaluate(counter_data_, range, values.data())) {
      std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
      ++unevaluated;
    }
    const SequenceEntry& launch = launches[static_cast<std::uint32_t>(ordinal)];
    spool::CounterValueRecord value{};
    value.config_id = config_id(step_);
    value.step_index = step_.index;
    value.step_ordinal = static_cast<std::uint32_t>(ordinal);
    value.kernel_id = launch.kernel_id;
    value.grid_x = launch.grid_x;
    value.grid_y = launch.grid_y;
    value.grid_z = launch.grid_z;
    for (std::size_t m = 0; m < metrics; ++m) {
      value.metric_id = metric_ids_[first_metric_[config_id(step_) - 1] + m];
      value.value = values[m];
      writer_.put(value);
    }
  }
  if (unevaluated > 0) *reason = std::to_string(unevaluated) + " launches could not be evaluated";
  if (steps_.reference() == nullptr && reason->empty())
    *reason = "no timeline step came before, the launches are unchecked";
}

void Replay::close() noexcept {
  if (session_ != nullptr) {
    if (started_) {
      CUpti_RangeProfiler_Stop_Params stop = {CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
      stop.pRangeProfilerObject = session_;
      api_.range_stop(&stop);
      started_ = false;
    }
    CUpti_RangeProfiler_Disable_Params disable = {CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE};
    disable.pRangeProfilerObject = session_;
    if (const CUptiResult r = api_.range_disable(&disable); r != CUPTI_SUCCESS)
      message(spool::Severity::kWarning, spool::Topic::kReplay,
              "disabling counters failed: " + api_.error_text(r));
    session_ = nullptr;
  }
  context_ = nullptr;
  intervals_.close(api_.now_ns());
}

void Replay::context_destroyed(CUcontext context) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (!collecting() || context != context_) return;
  const bool step_over = state_.load(std::memory_order_relaxed) == State::kToFinish;
  close();
  report(spool::CounterStatus::kFailed, "the program destroyed its context inside the step", 0);
  state_.store(State::kIdle, std::memory_order_release);
  if (step_over) steps_.release();
}

void Replay::abandon() noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::kIdle) return;
  report(spool::CounterStatus::kFailed, "the program ended inside this step", 0);
  state_.store(State::kIdle, std::memory_order_release);
}

}  // namespace ridgeline::agent
