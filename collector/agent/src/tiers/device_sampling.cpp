#include "tiers/device_sampling.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "cupti/counter_availability.h"
#include "cupti/permission.h"
#include "messages.h"
#include "tiers/available_memory.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::size_t kHelpers = 3;                   // threads that help to evaluate
constexpr std::int64_t kReadingNsPerSample = 60'000;  // decoding and evaluation, with the helpers
constexpr std::chrono::seconds kReadyTimeout{10};
// For a device that works on what the host is ahead by, and for one of which no further record comes.
constexpr std::int64_t kLongestSettleNs = 10'000 * kMillisecond;
constexpr std::int64_t kRecordPatienceNs = 100 * kMillisecond;
constexpr std::chrono::milliseconds kReadyLook{20};

// Of somebody else, when this device is asked what it can sample: 60 s in all.
constexpr int kAsksWhileInUse = 120;
constexpr int kAsksAfterFailure = 6;
constexpr std::int64_t kAskPauseNs = 500 * kMillisecond;

std::string permission_remedy() {
  return with_permission_remedy("no sampled counters: this user may not read GPU counters");
}

constexpr std::chrono::seconds kAvailabilityPatience{10};
constexpr char kCapturing[] = "the program was capturing a stream when sampling had to be set up";

// Nor while a stream waits for the host (host_waits.h).
constexpr char kWaiting[] =
    "a stream of the program was waiting for the host when sampling had to be set up: put off until it was "
    "too late";

MetricSet set_of(const CounterConfig& config) {
  MetricSet set{config.name(), {}};
  for (const CounterConfig::Metric& metric : config.metrics()) set.metrics.push_back(metric.name);
  return set;
}

// Has the lock only while the state is `wanted`. Who stops a window takes the lock again at once and reads the samples
// for a second, which who merely waits for the lock would wait for.
template <typename Wanted>
std::unique_lock<std::mutex> lock_while(std::mutex& mutex, Wanted&& wanted) {
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  while (wanted() && !lock.try_lock()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (lock.owns_lock() && !wanted()) lock.unlock();
  return lock;
}

}  // namespace

DeviceSampling::DeviceSampling(const CuptiApi& api, spool::Writer& writer, Timeline& timeline,
                               const CallGate& gate, CaptureWatch& captures, HostWaits& host_waits,
                               const DeviceLaunches& launches, const SamplingLimits& limits,
                               std::atomic<std::uint32_t>& window_ids, std::uint32_t first_metric_id)
    : api_(api),
      writer_(writer),
      timeline_(timeline),
      gate_(gate),
      captures_(captures),
      host_waits_(host_waits),
      launches_(launches),
      limits_(limits),
      window_ids_(window_ids),
      first_metric_id_(first_metric_id),
      image_(nullptr, Unmap{}) {}

void DeviceSampling::message(Severity severity, spool::Topic topic, const std::string& text,
                             Refusal refusal) noexcept {
  put_message(writer_, api_.now_ns(), severity, topic, text, refusal);
}

void DeviceSampling::rule_out(spool::Topic topic, const std::string& reason, Refusal refusal) noexcept {
  message(Severity::warning, topic, reason, refusal);
  {
    std::lock_guard<std::mutex> guard(mutex_);
    readiness_ = Readiness::ruled_out;
    ruled_out_reason_ = reason;
  }
  changed_.notify_all();
}

void DeviceSampling::prepare(std::uint32_t device_id, const std::string& chip) noexcept {
  if (!api_.has_pm_sampling)
    return rule_out(spool::Topic::sampling_refused,
                    "no sampled counters: this CUPTI has no PM sampling; use the CUPTI of CUDA 12.6 or later",
                    {RefusalCause::not_available});
  QuietHold hold(captures_, host_waits_, kAvailabilityPatience);
  if (!hold && hold.stream_waits()) {
    if (ask_later(device_id, chip, kAsksWhileInUse)) return;
    return rule_out(
        spool::Topic::sampling_refused,
        "no sampled counters: whenever it was to be asked what can be sampled, a stream of the program "
        "waited for the host, beside which it cannot be asked");
  }
  if (!hold)
    return rule_out(spool::Topic::sampling_refused,
                    "no sampled counters: a stream capture of the program lasted for more than 10 s, and "
                    "what can be sampled "
                    "cannot be asked beside one",
                    {RefusalCause::stream_capture});
  std::vector<std::uint8_t> availability;
  const CUptiResult result = ask_sample_availability(api_, device_id, &availability);
  hold.release();
  if (may_pass(result) &&
      ask_later(device_id, chip, result == CUPTI_ERROR_HARDWARE_BUSY ? kAsksWhileInUse : kAsksAfterFailure))
    return;
  asks_again_.store(false, std::memory_order_relaxed);
  if (is_permission(result))
    return rule_out(spool::Topic::sampling_refused, permission_remedy(), refusal_of(result));
  if (result != CUPTI_SUCCESS)
    return rule_out(
        spool::Topic::sampling_refused,
        "no sampled counters: CUPTI cannot tell which counters can be sampled: " + api_.error_text(result) +
            "; the device does not support it, or another profiler holds its counters (DCGM: dcgmi "
            "profile --pause)",
        refusal_of(result));
  {
    std::lock_guard<std::mutex> guard(mutex_);
    chip_ = chip;
    device_id_ = device_id;
    availability_ = std::move(availability);
  }
  ResolvedSet resolved = resolve_metric_set(api_, chip_, availability_.data(), sampled_metric_set(),
                                            CUPTI_PROFILER_TYPE_PM_SAMPLING, &gate_);
  if (gate_.closed()) return;
  for (const std::string& left : resolved.left_out)
    message(Severity::warning, spool::Topic::metric_unavailable, "samples without " + left);
  if (resolved.config.metrics().empty())
    return rule_out(spool::Topic::sampling_refused,
                    "no sampled counters: no metric can be sampled on chip " + chip_,
                    {RefusalCause::not_available});
  std::vector<std::uint32_t> ids;
  for (const CounterConfig::Metric& m : resolved.config.metrics()) {
    ids.push_back(first_metric_id_ + static_cast<std::uint32_t>(ids.size()));
    put_metric(writer_, ids.back(), m);
  }
  std::vector<CounterConfig> helpers;
  const MetricSet found = set_of(resolved.config);  // which is one attempt each
  for (std::size_t i = 0; i < kHelpers; ++i) {
    ResolvedSet again =
        resolve_metric_set(api_, chip_, availability_.data(), found, CUPTI_PROFILER_TYPE_PM_SAMPLING, &gate_);
    if (gate_.closed()) return;
    if (again.config.metrics().size() == ids.size()) helpers.push_back(std::move(again.config));
  }
  {
    std::lock_guard<std::mutex> guard(mutex_);
    helpers_ = std::move(helpers);
    config_ = std::move(resolved.config);
    metric_ids_ = std::move(ids);
    readiness_ = Readiness::ready;
  }
  changed_.notify_all();
}

bool DeviceSampling::ask_later(std::uint32_t device_id, const std::string& chip, int most) noexcept {
  const bool again = failed_requests_ < most;
  asks_again_.store(again, std::memory_order_relaxed);
  if (!again) return false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    chip_ = chip;
    device_id_ = device_id;
  }
  ++failed_requests_;
  ask_again_ns_ = api_.now_ns() + kAskPauseNs;
  return true;
}

bool DeviceSampling::await_readiness(std::unique_lock<std::mutex>& lock) noexcept {
  const auto decided = [&] { return readiness_ != Readiness::pending || gate_.closed(); };
  const auto until = std::chrono::steady_clock::now() + kReadyTimeout;
  while (!decided() && !host_waits_.pending() && std::chrono::steady_clock::now() < until)
    changed_.wait_for(lock, kReadyLook, decided);
  return decided();
}

// Ids wrap round; the difference tells which is newer.
bool DeviceSampling::device_passed(std::uint32_t correlation_id) const noexcept {
  if (has_passed(correlation_id)) return true;
  timeline_.flush();
  return has_passed(correlation_id);
}

bool DeviceSampling::has_passed(std::uint32_t correlation_id) const noexcept {
  return static_cast<std::int32_t>(timeline_.newest_correlation_id(device_id_) - correlation_id) >= 0;
}

void DeviceSampling::begin_phase(const StepTracker::Step& step, std::int64_t step_ns, std::uint32_t devices,
                                 std::int64_t wanted_interval_ns) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  limits_.wanted_interval_ns = wanted_interval_ns;
  phase_first_ = step.phase_first;
  phase_given_up_ = true;
  if (!more_) {
    missing_ = 0;
    cut_windows_.clear();
  }
  const bool ready = await_readiness(lock);
  if (gate_.closed()) return;
  const QuietHold hold(captures_, host_waits_, kCapturePatience);
  if (hold && ready && readiness_ == Readiness::ready && !open()) {
    phase_given_up_ = !configure(step.phase_steps, step_ns, devices);
    return;
  }
  window_ = {};
  missing_ = 0;
  window_.window_id = window_ids_.fetch_add(1);
  window_.first_step = step.index;
  window_.last_step = phase_first_ + step.phase_steps - 1;
  window_.status = WindowStatus::failed;
  reason_ = !hold && hold.stream_waits() ? kWaiting
            : !ready ? "sampling was not ready after 10 s; give the schedule more warm-up steps"
            : open() ? "the window before is still being read"
            : !hold  ? kCapturing
                     : ruled_out_reason_;
  write_window();
}

bool DeviceSampling::begin_step(const StepTracker::Step& step) noexcept {
  if (phase_given_up_) return false;
  // Both change on the thread on which steps begin alone.
  const std::uint32_t at = step.index - phase_first_;
  const std::uint32_t first = plan_.settle_steps + plan_.lead_steps;
  if (at < plan_.settle_steps || at >= first + plan_.sampled_steps) return false;
  // Who reads samples has the lock for a second, who waits for the device for as long as that takes.
  const auto lock = lock_while(mutex_, [&] { return not_yet_over(); });
  if (!lock.owns_lock()) return false;
  if (state_.load(std::memory_order_relaxed) == State::configured && !start()) {
    if (state_.load(std::memory_order_relaxed) == State::configured && start_later(step)) return false;
    phase_given_up_ = true;
    return false;
  }
  if (state_.load(std::memory_order_relaxed) != State::sampling || at < first) return false;
  measured_.push_back({step.index, api_.now_ns(), timeline_.mark(device_id_, launches_.latest(device_id_))});
  return true;
}

bool DeviceSampling::go_on(std::int64_t now_ns) noexcept {
  const auto lock =
      lock_while(mutex_, [&] { return state_.load(std::memory_order_acquire) == State::sampling; });
  if (!lock.owns_lock() || discards_) return false;
  if (goes_on_) return !measured_.empty();
  goes_on_ = true;
  went_on_ns_ = now_ns;
  if (!measured_.empty()) measured_.back().began_ns = now_ns;
  const std::int64_t took_ns = now_ns - window_.start_ns;
  start_.took(took_ns);
  if (step_ns_ <= 0) return !measured_.empty();
  const std::int64_t room_ns = capacity_ns() - took_ns;
  const std::int64_t fit = (room_ns - kStopSlackNs) / step_ns_ - plan_.lead_steps;
  if (fit >= 1) {
    plan_.sampled_steps = static_cast<std::uint32_t>(std::min<std::int64_t>(fit, plan_.sampled_steps));
    window_.last_step = window_.first_step + plan_.sampled_steps - 1;
    return !measured_.empty();
  }
  // Where no other plan holds a step either, or none may follow, the samples go as far as they go.
  if (!may_repeat_ ||
      !start_.has_room(plan_for(start_.phase_for(asked_steps_, step_ns_), step_ns_), step_ns_))
    return !measured_.empty();
  discards_ = true;
  phase_given_up_ = true;
  cut_short_ = "starting it took " + whole_milliseconds(took_ns) + ", after which its buffer had room for " +
               whole_milliseconds(std::max<std::int64_t>(room_ns, 0)) + ", less than a " +
               (by_time() ? "window" : "step") + " of " + whole_milliseconds(step_ns_);
  return false;
}

SamplingPlan DeviceSampling::plan_for(std::uint32_t phase_steps, std::int64_t step_ns) const noexcept {
  return start_.plan(phase_steps, step_ns, memory_bytes_, limits_, !may_repeat_);
}

std::uint32_t DeviceSampling::steps_to_repeat() const noexcept {
  if (missing_ == 0) return 0;
  std::lock_guard<std::mutex> guard(mutex_);
  return start_.phase_for(missing_, step_ns_);
}

std::string DeviceSampling::why_missing() const noexcept {
  // An ending program may have left whoever holds it.
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return "starting it took too long";
  std::string text = start_.words();
  if (step_ns_ > 0)
    text += ", at " + std::string(by_time() ? "a window" : "steps") + " of " + whole_milliseconds(step_ns_);
  return text;
}

void DeviceSampling::settle_from(std::int64_t now_ns) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  settling_since_ns_ = now_ns;
}

void DeviceSampling::step_end(const StepTracker::Step& step) noexcept {
  const auto lock =
      lock_while(mutex_, [&] { return state_.load(std::memory_order_acquire) == State::sampling; });
  if (!lock.owns_lock() || discards_) return;
  if (measured_.empty() || measured_.back().index != step.index) return;  // one before the first sample
  last_correlation_id_ = launches_.latest(device_id_);
  measured_.back().last_correlation_id = last_correlation_id_;
  measured_.back().ended = true;
  window_.last_step = step.index;
  ++steps_ended_;
  if (steps_ended_ < plan_.sampled_steps) return;
  drain_deadline_ns_ = full_ns_;
  state_.store(State::draining, std::memory_order_release);
}

void DeviceSampling::fail(const char* what, CUptiResult result) noexcept {
  missing_ = 0;
  window_.status = WindowStatus::failed;
  reason_ =
      is_permission(result) ? permission_remedy() : std::string(what) + " failed: " + api_.error_text(result);
  message(Severity::warning, is_permission(result) ? spool::Topic::sampling_refused : spool::Topic::sampling,
          is_permission(result) ? reason_ : "no sampled counters: " + reason_, refusal_of(result));
  if (is_permission(result)) {
    readiness_ = Readiness::ruled_out;
    ruled_out_reason_ = reason_;
  }
  close();
}

// Said once: the next window may find memory again.
void DeviceSampling::give_up_for_memory(std::uint64_t needed_bytes, std::uint64_t available_bytes) noexcept {
  missing_ = 0;
  window_.status = WindowStatus::failed;
  reason_ = "its samples take " + std::to_string(needed_bytes >> 20) + " MiB, more than half of the " +
            std::to_string(available_bytes >> 20) +
            " MiB that this process may still take, of the host's memory and within the limits of its "
            "cgroups";
  if (!std::exchange(memory_said_, true))
    message(Severity::warning, spool::Topic::sampling, "no sampled counters: " + reason_);
  close();
}

// While the session is set up: somebody else may have the counters, for now.
void DeviceSampling::refuse(const char* what, CUptiResult result) noexcept {
  if (result != CUPTI_ERROR_HARDWARE_BUSY || window_.status != WindowStatus::failed)  // planned anew: as ever
    return fail(what, result);
  in_use_.store(true);
  window_.status = WindowStatus::failed;
  reason_ = std::string(what) + " failed: " + api_.error_text(result) +
            "; another process or profiler has the counters";
  disable();
  state_.store(State::idle, std::memory_order_release);
}

void DeviceSampling::settle_refusal(bool again) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  const bool in_use = in_use_.exchange(false);
  if (!again) {
    if (!in_use) return;
    message(Severity::warning, spool::Topic::sampling, "no sampled counters: " + reason_,
            refusal_of(CUPTI_ERROR_HARDWARE_BUSY));
    return write_window();
  }
  if (state_.load(std::memory_order_relaxed) != State::configured) return;
  if (more_) missing_ = asked_steps_;
  window_.status = WindowStatus::failed;
  reason_ = "another device of the process was in use";
  window_.first_step = window_.last_step = spool::kNoStep;  // it was meant for no step
  close_soon();
}

void DeviceSampling::prepare_again() noexcept {
  if (!asks_again_.load(std::memory_order_relaxed) || api_.now_ns() < ask_again_ns_) return;
  prepare(device_id_, std::string(chip_));
}

bool DeviceSampling::configure(std::uint32_t phase_steps, std::int64_t step_ns,
                               std::uint32_t devices) noexcept {
  const std::int64_t began = api_.now_ns();
  phase_steps_ = phase_steps;
  const std::optional<std::uint64_t> available = available_memory();
  memory_bytes_ = available.value_or(0) / 4 / std::max(devices, 1u);
  plan_ = plan_for(phase_steps, step_ns);
  step_ns_ = step_ns;
  allowed_late_ns_ = by_time() ? start_.allowance_ns() : 0;
  discards_ = false;
  none_came_ = ran_out_ = false;
  measured_.clear();
  window_ = {};
  reason_.clear();
  window_.window_id = window_ids_.fetch_add(1);
  window_.device_id = device_id_;
  window_.first_step = phase_first_ + plan_.settle_steps + plan_.lead_steps;
  window_.last_step = window_.first_step + plan_.sampled_steps - 1;
  window_.interval_ns = plan_.interval_ns;
  window_.hardware_buffer_bytes = plan_.buffer_bytes;
  window_.status = WindowStatus::failed;
  reason_ = kEndedEarly;
  state_.store(State::configured, std::memory_order_release);
  asked_steps_ = plan_.sampled_steps;
  if (available && !fits_memory(memory_of(plan_), *available / std::max(devices, 1u)))
    return give_up_for_memory(memory_of(plan_), *available), false;
  if (!enable()) return false;
  asked_steps_ = more_ ? missing_.exchange(0) : plan_.sampled_steps;
  write_window();  // stands if the process is killed
  window_.status = WindowStatus::ok;
  reason_.clear();
  for (std::size_t i = 0; i < metric_ids_.size(); ++i) {
    spool::PmMetricRecord record{};
    record.window_id = window_.window_id;
    record.position = static_cast<std::uint32_t>(i);
    record.metric_id = metric_ids_[i];
    writer_.put(record);
  }
  window_.setup_ns = api_.now_ns() - began;
  return true;
}

bool DeviceSampling::enable() noexcept {
  CUpti_PmSampling_Enable_Params enable = {CUpti_PmSampling_Enable_Params_STRUCT_SIZE};
  enable.deviceIndex = device_id_;
  if (const CUptiResult r = api_.pm_enable(&enable); r != CUPTI_SUCCESS)
    return refuse("enabling sampling", r), false;
  session_ = enable.pPmSamplingObject;
  CUpti_PmSampling_SetConfig_Params set = {CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE};
  set.pPmSamplingObject = session_;
  set.pConfig = config_.image().data();
  set.configSize = config_.image().size();
  set.hardwareBufferSize = plan_.buffer_bytes;
  set.samplingInterval = static_cast<std::uint64_t>(plan_.interval_ns);
  set.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  // What the window began with stays when the buffer is full; the end is then missing, and said to be.
  set.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  if (const CUptiResult r = api_.pm_set_config(&set); r != CUPTI_SUCCESS)
    return refuse("configuring sampling", r), false;
  return true;
}

// Of a window of several steps the first may be missed.
bool DeviceSampling::start_later(const StepTracker::Step& step) noexcept {
  if (plan_.sampled_steps > 1) {
    ++plan_.settle_steps;
    --plan_.sampled_steps;
    window_.first_step = step.index + 1 + plan_.lead_steps;
    return true;
  }
  window_.status = WindowStatus::failed;
  reason_ = kWaiting;
  close_soon();
  return false;
}

// The host is ahead by up to the steps that settled. What the buffer holds is too precious for them: wait for the
// device, which the set-up had left without work. The record of the last launch may never come (a graph without kernels
// has none): where for so long no record comes at all, the device is taken to be through.
void DeviceSampling::await_device(const StepTracker::Step& step) noexcept {
  if (phase_given_up_ || step.index - phase_first_ != plan_.settle_steps) return;
  if (state_.load(std::memory_order_acquire) != State::configured) return;
  std::lock_guard<std::mutex> guard(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::configured) return;
  const std::uint32_t last_correlation_id = launches_.latest(device_id_);
  const std::int64_t patience_ns = kRecordPatienceNs + 4 * std::max<std::int64_t>(step_ns_, 0);
  const std::int64_t began_ns = api_.now_ns();
  const std::int64_t settle_limit = began_ns + kLongestSettleNs;
  std::int64_t give_up_ns = began_ns + patience_ns;
  std::uint32_t newest = timeline_.newest_correlation_id(device_id_);
  while (plan_.settle_steps > 0 && !gate_.closed() && !device_passed(last_correlation_id) &&
         !host_waits_.pending() && api_.now_ns() < std::min(give_up_ns, settle_limit)) {
    const std::uint32_t now_newest = timeline_.newest_correlation_id(device_id_);
    if (std::exchange(newest, now_newest) != now_newest) give_up_ns = api_.now_ns() + patience_ns;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  settled_ns_ = api_.now_ns();
}

bool DeviceSampling::start() noexcept {
  const QuietHold hold(captures_, host_waits_, kCapturePatience);
  if (!hold && hold.stream_waits()) return false;
  if (!hold) {
    window_.status = WindowStatus::failed;
    reason_ = kCapturing;
    close_soon();
    return false;
  }
  // Those steps also tell how long a step takes on the device, which begins of steps on the host may not.
  if (plan_.settle_steps > 0) {
    const std::int64_t step_ns =
        std::max<std::int64_t>((settled_ns_ - settling_since_ns_) / plan_.settle_steps, 1);
    const std::uint32_t planned = plan_.sampled_steps;
    if (capacity_ns() < (plan_.lead_steps + 1) * step_ns + kStopSlackNs && !plan_anew(step_ns)) return false;
    const std::int64_t fit = (capacity_ns() - kStopSlackNs) / step_ns - plan_.lead_steps;
    plan_.sampled_steps = static_cast<std::uint32_t>(std::clamp<std::int64_t>(fit, 1, plan_.sampled_steps));
    window_.last_step = window_.first_step + plan_.sampled_steps - 1;
    step_ns_ = step_ns;
    // Fewer since steps are longer than they were: that many were to be had.
    if (!more_) asked_steps_ = std::min(plan_.sampled_steps, planned);
  }
  if (meet_) meet_();
  CUpti_PmSampling_Start_Params p = {CUpti_PmSampling_Start_Params_STRUCT_SIZE};
  p.pPmSamplingObject = session_;
  steps_ended_ = 0;
  read_ = false;
  cut_short_.clear();
  measured_.clear();
  measured_.reserve(plan_.sampled_steps);
  timeline_.clear_marks(device_id_);
  goes_on_ = false;
  first_sample_ns_ = 0;
  window_.start_ns = api_.now_ns();
  full_ns_ = window_.start_ns + capacity_ns();
  const CUptiResult started = api_.pm_start(&p);
  went_on_ns_ = api_.now_ns();  // not before
  if (started != CUPTI_SUCCESS) return fail("starting sampling", started), false;
  state_.store(State::sampling, std::memory_order_release);
  return true;
}

// Not one step fits into what was planned: a program that enqueues many steps without waiting begins them on
// the host far faster than the device takes them.
bool DeviceSampling::plan_anew(std::int64_t step_ns) noexcept {
  const std::int64_t began = api_.now_ns();
  const SamplingPlan plan = plan_for(phase_steps_, step_ns);
  if (plan.interval_ns == plan_.interval_ns && plan.buffer_bytes == plan_.buffer_bytes) return true;
  plan_ = plan;
  window_.interval_ns = plan_.interval_ns;
  window_.hardware_buffer_bytes = plan_.buffer_bytes;
  // Configured a second time, a session reads no samples: it takes a new one.
  CUpti_PmSampling_Disable_Params disable = {CUpti_PmSampling_Disable_Params_STRUCT_SIZE};
  disable.pPmSamplingObject = session_;
  session_ = nullptr;
  if (const CUptiResult r = api_.pm_disable(&disable); r != CUPTI_SUCCESS)
    return fail("ending a session without samples", r), false;
  if (!enable()) return false;
  window_.setup_ns += api_.now_ns() - began;
  return true;
}

void DeviceSampling::stop_if_due(std::int64_t now_ns) noexcept {
  if (!running()) return;
  std::lock_guard<std::mutex> guard(mutex_);
  const QuietHold hold(captures_, host_waits_);
  if (!hold) return;
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::sampling) {
    if (!cut_short_.empty()) {
      stop(cut_short_);
    } else if (now_ns >= full_ns_) {
      timeline_.flush();  // which of its steps the device is through with
      ran_out_ = true;
      stop("the hardware buffer of " + std::to_string(plan_.buffer_bytes >> 20) +
           " MiB was nearly full; sample fewer steps or at a longer interval");
    }
  } else if (state == State::draining) {
    if (device_passed(last_correlation_id_)) {
      stop({});
    } else if (now_ns >= drain_deadline_ns_) {
      ran_out_ = true;
      stop("the hardware buffer of " + std::to_string(plan_.buffer_bytes >> 20) +
           " MiB was nearly full before the device was known to be through with the last step");
    }
  }
}

void DeviceSampling::read_if_stopped() noexcept {
  if (state_.load(std::memory_order_acquire) != State::stopped) return;
  std::lock_guard<std::mutex> guard(mutex_);
  if (state_.load(std::memory_order_relaxed) == State::stopped) read();
}

bool DeviceSampling::stop(const std::string& early) noexcept {
  CUpti_PmSampling_Stop_Params p = {CUpti_PmSampling_Stop_Params_STRUCT_SIZE};
  p.pPmSamplingObject = session_;
  const CUptiResult stopped = api_.pm_stop(&p);
  window_.stop_ns = api_.now_ns();
  if (stopped != CUPTI_SUCCESS) return fail("stopping sampling", stopped), false;
  for (MeasuredStep& step : measured_)
    step.through = step.ended && (early.empty() || has_passed(step.last_correlation_id));
  if (discards_) {
    window_.status = WindowStatus::failed;
    reason_ = cut_short_;
    window_.first_step = window_.last_step = spool::kNoStep;  // its steps are none that were to be measured
    missing_ = asked_steps_;
    read_ = true;
    message(Severity::info, spool::Topic::sampling, "a window of samples was given up: " + reason_);
  } else if (!early.empty()) {
    window_.status = WindowStatus::overflow;
    reason_ = early;
    message(
        Severity::warning, spool::Topic::sampling,
        "the sampling of counters ends in " + name_of_step(window_.first_step + steps_ended_) + ": " + early);
  }
  state_.store(State::stopped, std::memory_order_release);
  return true;
}

void DeviceSampling::close_soon() noexcept {
  if (const QuietHold hold(captures_, host_waits_, kCapturePatience); hold) return close();
  read_ = true;
  state_.store(State::stopped, std::memory_order_release);
}

void DeviceSampling::disable() noexcept {
  if (session_ == nullptr) return;
  CUpti_PmSampling_Disable_Params p = {CUpti_PmSampling_Disable_Params_STRUCT_SIZE};
  p.pPmSamplingObject = session_;
  if (const CUptiResult r = api_.pm_disable(&p); r != CUPTI_SUCCESS)
    message(Severity::warning, spool::Topic::sampling, "disabling sampling failed: " + api_.error_text(r));
  session_ = nullptr;
}

void DeviceSampling::close() noexcept {
  disable();
  write_window();
  timeline_.clear_marks(device_id_);
  image_.reset();
  state_.store(State::idle, std::memory_order_release);
  changed_.notify_all();
}

void DeviceSampling::write_window() noexcept {
  spool::PmWindowRecord record = window_;
  record.reason = writer_.intern_reserved(reason_);
  writer_.put_reserved(record);
}

void DeviceSampling::end_phase() noexcept {
  const auto lock = lock_while(mutex_, [&] { return not_yet_over(); });
  if (!lock.owns_lock()) return;
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::configured) {
    window_.status = WindowStatus::failed;
    reason_ = "the phase ended before its first measured step";
    close_soon();
  } else if (state == State::sampling) {
    constexpr char kWhy[] = "the phase ended before its last step";
    if (const QuietHold hold(captures_, host_waits_, kCapturePatience); hold)
      stop(kWhy);
    else
      cut_short_ = kWhy;
  }
}

void DeviceSampling::cut_short(const char* why) noexcept {
  const auto lock = lock_while(mutex_, [&] { return not_yet_over(); });
  if (!lock.owns_lock()) return;
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::configured) {
    window_.status = WindowStatus::failed;
    reason_ = std::string(why) + " before the first measured step";
    phase_given_up_ = true;
    close_soon();
  } else if (state == State::sampling) {
    cut_short_ = why;
  }
}

void DeviceSampling::finish_at_exit(std::int64_t deadline_ns) noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  // Whoever has it reads the samples, or is the very thread that a signal handler ended the program on.
  while (!lock.owns_lock()) {
    if (api_.now_ns() >= deadline_ns) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.try_lock();
  }
  // Beside a capture too: nobody needs it any more. Not beside a stream that waits: the program would never end.
  const QuietHold hold(captures_, host_waits_, kCapturePatience);
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::idle || hold.stream_waits()) return;  // abandon() says it
  const std::int64_t now = api_.now_ns();
  if (state == State::configured) {
    window_.status = WindowStatus::failed;
    reason_ = "the program ended before the first measured step";
    close();
    return;
  }
  const std::int64_t end_ns = state == State::stopped ? window_.stop_ns : now;
  const std::int64_t samples = (end_ns - window_.start_ns) / window_.interval_ns;
  const bool in_time = samples * kReadingNsPerSample <= deadline_ns - now;
  const bool cut = state != State::stopped && in_time && steps_ended_ < plan_.sampled_steps;
  if (state != State::stopped && !stop(cut ? "the program ended" : "")) return;
  if (in_time || discards_) return read();
  window_.status = WindowStatus::failed;
  reason_ = std::string(kEndedEarly) + ": reading " + std::to_string(samples) +
            " of them would have kept it waiting; let it run on for some seconds after them";
  message(Severity::warning, spool::Topic::sampling, "no sampled counters: " + reason_);
  close();
}

void DeviceSampling::abandon() noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || state_.load(std::memory_order_relaxed) == State::idle) return;
  window_.status = WindowStatus::failed;
  reason_ = kEndedEarly;
  write_window();
  state_.store(State::idle, std::memory_order_release);
}

}  // namespace ridgeline::agent
