#include "tiers/pc_sampling.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "cupti/counter_availability.h"
#include "cupti/permission.h"
#include "messages.h"

namespace ridgeline::agent {
namespace {

// CUPTI's default, and what its own threads need to keep up: host memory, taken while sampling is on.
constexpr std::size_t kHardwareBufferBytes = 512u << 20;
constexpr std::size_t kScratchBufferBytes = 16u << 20;
constexpr std::size_t kPcsAtATime = 8192;
constexpr std::int64_t kSourceLineBudgetNs = 2'000'000'000;
// CUPTI takes 5 to 31. Below 11, its own default on an H200, the hardware drops samples (three of four at 5).
constexpr std::uint32_t kMinPeriodLog2 = 11, kMaxPeriodLog2 = 31;

std::string permission_remedy() {
  return with_permission_remedy("no stall reasons: this user may not sample program counters");
}

// Two of CUPTI's "reasons" count samples and say nothing of a warp.
bool is_stall_reason(std::string_view name) {
  return name.find("sample_count") == std::string_view::npos &&
         name.find("samples_data_dropped") == std::string_view::npos;
}

bool is_not_issued(std::string_view name) {
  constexpr std::string_view kEnd = "_not_issued";
  return name.size() >= kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd;
}

// For captures on other threads; one on this thread cannot end meanwhile.
constexpr std::chrono::milliseconds kCapturePatience{20};

}  // namespace

std::uint32_t pc_sampling_period_log2(std::uint32_t sm_count, std::int64_t sm_hz,
                                      std::int64_t window_ns) noexcept {
  if (sm_count == 0 || sm_hz <= 0 || window_ns <= 0) return 0;
  const double cycles = static_cast<double>(window_ns) * 1e-9 * static_cast<double>(sm_hz);
  const double period = cycles * sm_count / kPcSamplesWanted;
  const double log2 = period <= 1 ? 0 : std::ceil(std::log2(period));
  return static_cast<std::uint32_t>(
      std::clamp(log2, static_cast<double>(kMinPeriodLog2), static_cast<double>(kMaxPeriodLog2)));
}

PcSampling::PcBuffer::PcBuffer(std::size_t pcs, std::size_t reasons) : pcs_(pcs), reasons_(pcs * reasons) {
  for (std::size_t i = 0; i < pcs; ++i) {
    pcs_[i].size = sizeof(CUpti_PCSamplingPCData);
    pcs_[i].stallReason = reasons_.data() + i * reasons;
  }
  data.size = sizeof(CUpti_PCSamplingData);
  data.collectNumPcs = pcs;
  data.pPcData = pcs_.data();
}

PcSampling::PcSampling(const CuptiApi& api, spool::Writer& writer, KernelTable& kernels,
                       CaptureWatch& captures, HostWaits& host_waits, LaunchGate& gate)
    : api_(api),
      writer_(writer),
      kernels_(kernels),
      captures_(captures),
      host_waits_(host_waits),
      gate_(gate),
      lines_(api, writer) {}

void PcSampling::rule_out(const std::string& reason) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (std::exchange(ruled_out_, true)) return;
  put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls, reason);
}

void PcSampling::note_step(const StepTracker::Step& step, std::int64_t now_ns) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (last_was_timeline_ && now_ns > last_start_ns_) {
    timeline_ns_ += now_ns - last_start_ns_;
    ++timeline_steps_;
  }
  // What follows the last timeline step may have waited for the set-up of its phase.
  last_was_timeline_ = step.phase == Phase::timeline;
  last_start_ns_ = now_ns;
  // The schedule began anew inside the phase.
  if (enabled_ && step.phase != Phase::stalls) {
    const QuietHold hold(captures_, host_waits_);
    if (!hold) return;  // the next step does it
    const LaunchGate::Closed quiet(gate_);
    if (!quiet) return;
    finish_window();
    state_.store(State::idle, std::memory_order_release);
  }
}

void PcSampling::arm(const StepTracker::Step& step, std::uint64_t steps_left) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (ruled_out_) return;
  step_ = step.index;
  steps_left_ = steps_left;
  if (state_.load(std::memory_order_relaxed) == State::sampling) return;  // the step before could not stop it
  state_.store(State::armed, std::memory_order_release);
}

void PcSampling::launch_enter(CUcontext context) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::armed) return;
  const QuietHold hold(captures_, host_waits_);
  if (!hold) return;
  const LaunchGate::Closed quiet(gate_);
  if (!quiet) return;  // the next launch does it
  const std::int64_t begin = api_.now_ns();
  std::string why;
  bool ok = false;
  if (!enabled_) begin_window(context);
  try {
    if (!enabled_ && put_off_for_others(context)) return;
    ok = (enabled_ || open(context, &why)) && start(&why);
  } catch (...) {
    why = "out of memory";
  }
  window_.setup_ns += api_.now_ns() - begin;
  if (!ok) return fail(why);
  window_.last_step = step_;
  state_.store(State::sampling, std::memory_order_release);
}

void PcSampling::begin_window(CUcontext context) noexcept {
  window_ = {};
  window_.first_step = window_.last_step = step_;
  overflow_ = false;
  api_.get_device_id(context, &window_.device_id);
}

// True: nothing is opened in this step.
bool PcSampling::put_off_for_others(CUcontext context) {
  if (!counters_in_use(api_, context, window_.device_id)) return false;
  state_.store(State::idle, std::memory_order_release);
  if (put_off_ && put_off_()) return true;
  fail("another process or profiler has the counters");
  return true;
}

bool PcSampling::open(CUcontext context, std::string* why) {
  if (!api_.has_pc_sampling) {
    *why = "this CUPTI has no PC sampling; use the CUPTI of CUDA 12 or later";
    return false;
  }
  CUpti_PCSamplingEnableParams enable = {};
  enable.size = CUpti_PCSamplingEnableParamsSize;
  enable.ctx = context;
  if (const CUptiResult r = api_.pc_enable(&enable); r != CUPTI_SUCCESS) {
    *why = is_permission(r) ? permission_remedy() : "enabling PC sampling failed: " + api_.error_text(r);
    return false;
  }
  enabled_ = true;
  context_ = context;
  return read_reasons(why) && configure(why);
}

bool PcSampling::read_reasons(std::string* why) {
  std::size_t count = 0;
  CUpti_PCSamplingGetNumStallReasonsParams number = {};
  number.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
  number.ctx = context_;
  number.numStallReasons = &count;
  CUptiResult r = api_.pc_get_num_stall_reasons(&number);
  std::vector<std::uint32_t> indices(count);
  std::vector<std::vector<char>> names(count, std::vector<char>(CUPTI_STALL_REASON_STRING_SIZE));
  std::vector<char*> pointers;
  for (auto& name : names) pointers.push_back(name.data());
  if (r == CUPTI_SUCCESS && count > 0) {
    CUpti_PCSamplingGetStallReasonsParams list = {};
    list.size = CUpti_PCSamplingGetStallReasonsParamsSize;
    list.ctx = context_;
    list.numStallReasons = count;
    list.stallReasonIndex = indices.data();
    list.stallReasons = pointers.data();
    r = api_.pc_get_stall_reasons(&list);
  }
  if (r != CUPTI_SUCCESS || count == 0) {
    *why = "CUPTI names no stall reasons: " + api_.error_text(r);
    return false;
  }
  reasons_.clear();
  reason_indices_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = names[i].data();
    if (!is_stall_reason(name)) continue;
    reasons_[indices[i]] = {writer_.intern(name), is_not_issued(name)};
    reason_indices_.push_back(indices[i]);
  }
  return true;
}

bool PcSampling::configure(std::string* why) {
  const std::int64_t step_ns = timeline_steps_ > 0 ? timeline_ns_ / timeline_steps_ : 0;
  window_.period_log2 = pc_sampling_period_log2(
      sm_count_.load(std::memory_order_relaxed), sm_hz_.load(std::memory_order_relaxed),
      step_ns * static_cast<std::int64_t>(std::min<std::uint64_t>(steps_left_, 1000)));
  // Both are CUPTI's until it is disabled.
  buffer_ = std::make_unique<PcBuffer>(kPcsAtATime, reasons_.size());
  leftover_ = std::make_unique<PcBuffer>(kPcsAtATime, reasons_.size());
  std::vector<CUpti_PCSamplingConfigurationInfo> info;
  const auto add = [&](CUpti_PCSamplingConfigurationAttributeType type) -> auto& {
    info.push_back({});
    info.back().attributeType = type;
    return info.back().attributeData;
  };
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE).collectionModeData.collectionMode =
      CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
      .enableStartStopControlData.enableStartStopControl = 1;
  auto& wanted = add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON).stallReasonData;
  wanted.stallReasonCount = reason_indices_.size();
  wanted.pStallReasonIndex = reason_indices_.data();
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE)
      .hardwareBufferSizeData.hardwareBufferSize = kHardwareBufferBytes;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE).scratchBufferSizeData.scratchBufferSize =
      kScratchBufferBytes;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      .samplingDataBufferData.samplingDataBuffer = &leftover_->data;
  if (window_.period_log2 != 0)
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD).samplingPeriodData.samplingPeriod =
        window_.period_log2;
  CUpti_PCSamplingConfigurationInfoParams p = {};
  p.size = CUpti_PCSamplingConfigurationInfoParamsSize;
  p.ctx = context_;
  p.numAttributes = info.size();
  p.pPCSamplingConfigurationInfo = info.data();
  if (const CUptiResult r = api_.pc_set_configuration(&p); r != CUPTI_SUCCESS) {
    *why = "configuring PC sampling failed: " + api_.error_text(r);
    for (const auto& each : info) {
      if (each.attributeStatus != CUPTI_SUCCESS)
        *why += ", attribute " + std::to_string(each.attributeType) + ": " +
                api_.error_text(each.attributeStatus);
    }
    return false;
  }
  if (window_.period_log2 == 0) {
    CUpti_PCSamplingConfigurationInfo period = {};
    period.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    p.numAttributes = 1;
    p.pPCSamplingConfigurationInfo = &period;
    if (api_.pc_get_configuration(&p) == CUPTI_SUCCESS)
      window_.period_log2 = period.attributeData.samplingPeriodData.samplingPeriod;
  }
  return true;
}

bool PcSampling::start(std::string* why) {
  CUpti_PCSamplingStartParams p = {};
  p.size = CUpti_PCSamplingStartParamsSize;
  p.ctx = context_;
  const CUptiResult r = api_.pc_start(&p);
  if (r == CUPTI_SUCCESS) return true;
  stuck_ = true;
  *why = "starting PC sampling failed: " + api_.error_text(r);
  if (r == CUPTI_ERROR_HARDWARE_BUSY) *why += "; another process or profiler has the counters";
  return false;
}

void PcSampling::step_end() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  const State state = state_.load(std::memory_order_relaxed);
  if (state != State::armed && state != State::sampling) return;
  const QuietHold hold(captures_, host_waits_, kCapturePatience);
  if (!hold) return;
  const LaunchGate::Closed quiet(gate_);
  if (!quiet) return;
  const bool last = steps_left_ <= 1;
  const std::int64_t begin = api_.now_ns();
  if (state == State::sampling) {
    CUpti_PCSamplingStopParams p = {};
    p.size = CUpti_PCSamplingStopParamsSize;
    p.ctx = context_;
    if (const CUptiResult r = api_.pc_stop(&p); r != CUPTI_SUCCESS) {
      stuck_ = true;
      return fail("stopping PC sampling failed: " + api_.error_text(r));
    }
    try {
      read_samples();
    } catch (...) {
      return fail("out of memory while reading the samples");
    }
  }
  window_.finish_ns += api_.now_ns() - begin;
  if (last && enabled_) finish_window();
  state_.store(enabled_ ? State::paused : State::idle, std::memory_order_release);
}

void PcSampling::read_samples() {
  CUpti_PCSamplingGetDataParams p = {};
  p.size = CUpti_PCSamplingGetDataParamsSize;
  p.ctx = context_;
  p.pcSamplingData = &buffer_->data;
  do {
    buffer_->data.totalNumPcs = buffer_->data.remainingNumPcs = 0;
    const CUptiResult r = api_.pc_get_data(&p);
    if (r == CUPTI_ERROR_OUT_OF_MEMORY || (r == CUPTI_SUCCESS && buffer_->data.hardwareBufferFull != 0)) {
      if (!overflow_)
        put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls,
                    "stall samples of step " + std::to_string(step_) +
                        " are incomplete: the sampling buffer was full; shorten the steps of the phase");
      overflow_ = true;
    } else if (r != CUPTI_SUCCESS) {
      put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls,
                  "stall samples of step " + std::to_string(step_) +
                      " were lost: reading them failed: " + api_.error_text(r));
    }
    if (r != CUPTI_SUCCESS) return;
    take(buffer_->data);
  } while (buffer_->data.remainingNumPcs > 0 && buffer_->data.totalNumPcs > 0);
}

void PcSampling::take(const CUpti_PCSamplingData& data) {
  window_.dropped_samples += data.droppedSamples;
  window_.foreign_samples += data.nonUsrKernelsTotalSamples;
  spool::StallSampleRecord record{};
  record.step_index = step_;
  for (std::size_t i = 0; i < data.totalNumPcs; ++i) {
    const CUpti_PCSamplingPCData& pc = data.pPcData[i];
    if (pc.functionName == nullptr) continue;
    const char* const function = pc.functionName;
    const auto [known, fresh] = kernel_ids_.try_emplace(function, 0);
    if (fresh) known->second = kernels_.id_of(function);
    record.kernel_id = known->second;
    record.pc_offset = static_cast<std::uint32_t>(pc.pcOffset);
    std::uint64_t samples = 0;
    for (std::size_t k = 0; k < pc.stallReasonCount; ++k) {
      const std::uint32_t index = pc.stallReason[k].pcSamplingStallReasonIndex;
      const auto reason = reasons_.find(index);
      if (reason == reasons_.end() || pc.stallReason[k].samples == 0) continue;
      record.stall_reason = reason->second.name;
      record.samples = pc.stallReason[k].samples;
      // "Not issued" is a part of the reason's own count.
      if (!reason->second.part_of_another) samples += record.samples;
      writer_.put(record);
    }
    window_.samples += samples;
    lines_.want(pc.cubinCrc, function, record.kernel_id, record.pc_offset, samples);
  }
}

// They are CUPTI's for good, which may still write to them.
void PcSampling::leave_buffers() noexcept {
  buffer_.release();    // NOLINT
  leftover_.release();  // NOLINT
}

void PcSampling::close() noexcept {
  if (!enabled_) return;
  enabled_ = false;
  if (stuck_) return leave_buffers();
  CUpti_PCSamplingDisableParams p = {};
  p.size = CUpti_PCSamplingDisableParamsSize;
  p.ctx = context_;
  const CUptiResult r = api_.pc_disable(&p);
  context_ = nullptr;
  try {
    if (r == CUPTI_SUCCESS && leftover_ != nullptr) take(leftover_->data);
    if (!lines_.write(kSourceLineBudgetNs) || lines_.incomplete())
      put_message(writer_, api_.now_ns(), Severity::info, spool::Topic::stalls,
                  "source lines are known for the most sampled instructions only: finding all of them would "
                  "have taken too long or too much memory");
  } catch (...) {
    put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls,
                "source lines are missing: out of memory");
  }
  if (r == CUPTI_SUCCESS) {
    buffer_.reset();
    leftover_.reset();
  } else {
    leave_buffers();
    put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls,
                "disabling PC sampling failed: " + api_.error_text(r));
  }
  kernel_ids_.clear();
}

void PcSampling::finish_window() noexcept {
  const std::int64_t begin = api_.now_ns();
  close();
  window_.finish_ns += api_.now_ns() - begin;
  write_window(overflow_ ? WindowStatus::overflow : WindowStatus::ok, {});
}

void PcSampling::write_window(WindowStatus status, const std::string& reason) noexcept {
  spool::StallWindowRecord record = window_;
  record.status = status;
  record.reason = writer_.intern_reserved(reason);
  writer_.put_reserved(record);
  window_ = {};
}

void PcSampling::fail(const std::string& why) noexcept {
  const std::string line = why.starts_with("no stall reasons") ? why : "no stall reasons: " + why;
  put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls, line);
  close();
  write_window(WindowStatus::failed, line);
  ruled_out_ = true;
  state_.store(State::idle, std::memory_order_release);
}

void PcSampling::context_destroyed(CUcontext context) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (!enabled_ || context != context_) return;
  const LaunchGate::Closed quiet(gate_);  // given or not: it is the last chance
  fail("the program destroyed its context inside the phase");
}

void PcSampling::abandon() noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !enabled_) return;
  const std::string reason = "the program ended inside the phase: the samples are of the steps before";
  put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::stalls, reason);
  write_window(window_.samples > 0 ? WindowStatus::ok : WindowStatus::failed, reason);
  state_.store(State::idle, std::memory_order_release);
}

}  // namespace ridgeline::agent
