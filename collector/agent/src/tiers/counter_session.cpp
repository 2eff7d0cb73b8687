#include "tiers/counter_session.h"

#include <algorithm>
#include <utility>

namespace ridgeline::agent {

bool CounterSession::enable(CUcontext context, const CounterConfig& config, Ranges way, std::uint32_t ranges,
                            Failure* failure) {
  CUpti_RangeProfiler_Enable_Params p = {CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE};
  p.ctx = context;
  if (const CUptiResult r = api_.range_enable(&p); r != CUPTI_SUCCESS) {
    *failure = {"enabling counters", r};
    return false;
  }
  session_ = p.pRangeProfilerObject;
  config_ = &config;
  joined_ = nullptr;
  way_ = way;
  // Segments of about the same length.
  const std::uint32_t segments = std::max(1u, (ranges + kMaxRanges - 1) / kMaxRanges);
  room_ = ranges == 0 ? kMaxRanges : std::clamp((ranges + segments - 1) / segments, kMinRanges, kMaxRanges);
  running_ = false;
  has_open_ = false;
  done_.clear();
  std::lock_guard<std::mutex> guard(spare_mutex_);
  keep_spares_ = true;
  return true;
}

bool CounterSession::enable_rotation(CUcontext context, const CounterConfig& joined,
                                     const std::vector<const CounterConfig*>& sets, std::uint32_t ranges,
                                     Failure* failure) {
  if (!enable(context, *sets.front(), Ranges::automatic, ranges, failure)) return false;
  joined_ = &joined;
  sets_ = &sets;
  pass_ = 0;
  room_ = ranges + ranges / 16 + 8;
  return true;
}

bool CounterSession::pause(Failure* failure) noexcept {
  if (joined_ != nullptr) {
    *failure = {"leaving out a launch that the timeline steps did not show", CUPTI_ERROR_INVALID_OPERATION};
    return false;
  }
  return !running_ || stop(failure);
}

bool CounterSession::start(Failure* failure) noexcept {
  CUpti_RangeProfiler_Start_Params p = {CUpti_RangeProfiler_Start_Params_STRUCT_SIZE};
  p.pRangeProfilerObject = session_;
  const CUptiResult r = api_.range_start(&p);
  if (r != CUPTI_SUCCESS) *failure = {"starting counters", r};
  return r == CUPTI_SUCCESS;
}

bool CounterSession::stop(Failure* failure) noexcept {
  Failure of_range;
  if (range_open_) pop_range(&of_range);  // what it says is the launch's matter, stopping is the program's
  CUpti_RangeProfiler_Stop_Params p = {CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
  p.pRangeProfilerObject = session_;
  const CUptiResult r = api_.range_stop(&p);
  running_ = false;
  if (joined_ != nullptr) pass_ = (pass_ + 1) % sets_->size();
  if (r != CUPTI_SUCCESS) *failure = {"stopping counters", r};
  return r == CUPTI_SUCCESS;
}

bool CounterSession::run(Failure* failure) {
  const bool full = has_open_ && open_.measured >= room_;
  if (running_ && !full) return true;
  if (full && joined_ != nullptr) {
    *failure = {"measuring many more launches than the timeline step had", CUPTI_ERROR_MAX_LIMIT_REACHED};
    return false;
  }
  if (running_ && !stop(failure)) return false;
  if (full && !close_segment(failure)) return false;
  if (!has_open_ && !open(failure)) return false;
  if (!start(failure)) return false;
  running_ = true;
  return true;
}

bool CounterSession::open(Failure* failure) {
  open_ = {};
  {
    std::lock_guard<std::mutex> guard(spare_mutex_);
    if (!spare_.empty()) {
      open_.image = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  const auto failed = [&](const char* what, CUptiResult r) {
    *failure = {what, r};
    return false;
  };
  CUpti_RangeProfiler_GetCounterDataSize_Params size = {
      CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE};
  size.pRangeProfilerObject = session_;
  size.pMetricNames = config_->metric_names();
  size.numMetrics = config_->metrics().size();
  size.maxNumOfRanges = room_;
  size.maxNumRangeTreeNodes = room_;
  if (const CUptiResult r = api_.range_get_counter_data_size(&size); r != CUPTI_SUCCESS)
    return failed("sizing the counter data", r);
  open_.image.resize(size.counterDataSize);
  CUpti_RangeProfiler_CounterDataImage_Initialize_Params init = {
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE};
  init.pRangeProfilerObject = session_;
  init.pCounterData = open_.image.data();
  init.counterDataSize = open_.image.size();
  if (const CUptiResult r = api_.range_counter_data_image_initialize(&init); r != CUPTI_SUCCESS)
    return failed("initialising the counter data", r);
  CUpti_RangeProfiler_SetConfig_Params set = {CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE};
  set.pRangeProfilerObject = session_;
  const CounterConfig& session_config = joined_ != nullptr ? *joined_ : *config_;
  set.pConfig = session_config.image().data();
  set.configSize = session_config.image().size();
  set.pCounterDataImage = open_.image.data();
  set.counterDataImageSize = open_.image.size();
  set.range = way_ == Ranges::automatic ? CUPTI_AutoRange : CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = room_;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  if (const CUptiResult r = api_.range_set_config(&set); r != CUPTI_SUCCESS)
    return failed("configuring counters", r);
  has_open_ = true;
  return true;
}

bool CounterSession::close_segment(Failure* failure) {
  has_open_ = false;
  if (open_.measured == 0) {
    give_back(std::move(open_.image));
    return true;
  }
  CUpti_RangeProfiler_DecodeData_Params decode = {CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE};
  decode.pRangeProfilerObject = session_;
  if (const CUptiResult r = api_.range_decode_data(&decode); r != CUPTI_SUCCESS) {
    *failure = {"reading counters", r};
    return false;
  }
  dropped_ += decode.numOfRangeDropped;
  done_.push_back(std::move(open_));
  return true;
}

bool CounterSession::push_range(const char* name, Failure* failure) noexcept {
  CUpti_RangeProfiler_PushRange_Params p = {CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE};
  p.pRangeProfilerObject = session_;
  p.pRangeName = name;
  const CUptiResult r = api_.range_push(&p);
  range_open_ = r == CUPTI_SUCCESS;
  if (r != CUPTI_SUCCESS) *failure = {"beginning a range", r};
  return r == CUPTI_SUCCESS;
}

bool CounterSession::pop_range(Failure* failure) noexcept {
  if (!std::exchange(range_open_, false)) return true;
  CUpti_RangeProfiler_PopRange_Params p = {CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE};
  p.pRangeProfilerObject = session_;
  const CUptiResult r = api_.range_pop(&p);
  if (r != CUPTI_SUCCESS) *failure = {"ending a range", r};
  return r == CUPTI_SUCCESS;
}

bool CounterSession::end(Failure* failure) {
  if (running_ && !stop(failure)) return false;
  return !has_open_ || close_segment(failure);
}

std::vector<CounterSession::Segment> CounterSession::take_segments() {
  dropped_ = 0;
  return std::exchange(done_, {});
}

void CounterSession::give_back(std::vector<std::uint8_t>&& image) {
  constexpr std::size_t kSpares = 3;  // one collects, one is evaluated, one is ready
  std::lock_guard<std::mutex> guard(spare_mutex_);
  if (keep_spares_ && spare_.size() < kSpares) spare_.push_back(std::move(image));
}

void CounterSession::drop_spares() noexcept {
  std::lock_guard<std::mutex> guard(spare_mutex_);
  keep_spares_ = false;
  spare_.clear();
}

CUptiResult CounterSession::disable() noexcept {
  if (session_ == nullptr) return CUPTI_SUCCESS;
  Failure ignored;
  if (running_ || range_open_) stop(&ignored);
  CUpti_RangeProfiler_Disable_Params p = {CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE};
  p.pRangeProfilerObject = session_;
  CUptiResult r = api_.range_disable(&p);
  if (r != CUPTI_SUCCESS) r = api_.range_disable(&p);
  session_ = nullptr;
  has_open_ = false;
  done_.clear();
  return r;
}

}  // namespace ridgeline::agent
