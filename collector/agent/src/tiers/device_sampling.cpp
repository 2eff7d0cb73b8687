#include "tiers/device_sampling.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <thread>

#include "cupti/permission.h"
#include "messages.h"

namespace ridgeline::agent {
namespace {

// Of the hardware buffer, as measured (sampling_plan.cpp), with the least margin that lets nothing be lost.
constexpr std::uint64_t kFullBytesPerSample = 15'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::size_t kHelpers = 3;                   // threads that help to evaluate
constexpr std::int64_t kReadingNsPerSample = 60'000;  // decoding and evaluation, with the helpers
constexpr std::size_t kFewSamples = 1000;             // not worth a thread
constexpr std::chrono::seconds kReadyTimeout{10};
constexpr std::chrono::milliseconds kReadyLook{20};

// Of somebody else, when this device is asked what it can sample: 60 s in all.
constexpr int kAsksWhileInUse = 120;
constexpr int kAsksAfterFailure = 6;
constexpr std::int64_t kAskPauseNs = 500 * kMillisecond;

std::string permission_remedy() {
  return with_permission_remedy("no sampled counters: this user may not read GPU counters");
}

// What may wait for the device is not called beside a stream capture (capture_watch.h): for so long it is put off.
constexpr std::chrono::milliseconds kCapturePatience{20};
constexpr std::chrono::seconds kAvailabilityPatience{10};
constexpr char kCapturing[] = "the program was capturing a stream when sampling had to be set up";

// Nor while a stream waits for the host (host_waits.h).
constexpr char kWaiting[] =
    "a stream of the program was waiting for the host when sampling had to be set up: put off until it was "
    "too late";

constexpr char kEndedEarly[] = "the program ended while its samples were being taken or read";

// MemAvailable of /proc/meminfo in bytes, 0 if unknown.
std::uint64_t available_memory() noexcept {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return 0;
  char line[128];
  unsigned long long kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
  std::fclose(file);
  return kib * 1024;
}

MetricSet set_of(const CounterConfig& config) {
  MetricSet set{config.name(), {}};
  for (const CounterConfig::Metric& metric : config.metrics()) set.metrics.push_back(metric.name);
  return set;
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
  CUpti_PmSampling_GetCounterAvailability_Params p = {
      CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE};
  p.deviceIndex = device_id;
  CUptiResult result = api_.pm_get_counter_availability(&p);
  std::vector<std::uint8_t> availability;
  if (result == CUPTI_SUCCESS) {
    availability.resize(p.counterAvailabilityImageSize);
    p.pCounterAvailabilityImage = availability.data();
    result = api_.pm_get_counter_availability(&p);
  }
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
  timeline_.flush();
  return static_cast<std::int32_t>(timeline_.newest_correlation_id(device_id_) - correlation_id) >= 0;
}

void DeviceSampling::begin_phase(const StepTracker::Step& step, std::int64_t step_ns,
                                 std::uint32_t devices) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  phase_first_ = step.phase_first;
  phase_given_up_ = true;
  const bool ready = await_readiness(lock);
  if (gate_.closed()) return;
  const QuietHold hold(captures_, host_waits_, kCapturePatience);
  if (hold && ready && readiness_ == Readiness::ready && !open()) {
    phase_given_up_ = !configure(step.phase_steps, step_ns, devices);
    return;
  }
  window_ = {};
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
  std::lock_guard<std::mutex> guard(mutex_);
  if (phase_given_up_) return false;
  const std::uint32_t at = step.index - phase_first_;
  if (at < plan_.settle_steps || at >= plan_.settle_steps + plan_.sampled_steps) return false;
  if (state_.load(std::memory_order_relaxed) == State::configured && !start()) {
    if (state_.load(std::memory_order_relaxed) == State::configured && start_later(step)) return false;
    phase_given_up_ = true;
    return false;
  }
  return state_.load(std::memory_order_relaxed) == State::sampling;
}

void DeviceSampling::settle_from(std::int64_t now_ns) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  settling_since_ns_ = now_ns;
}

void DeviceSampling::step_end(const StepTracker::Step& step) noexcept {
  if (state_.load(std::memory_order_acquire) != State::sampling) return;
  std::lock_guard<std::mutex> guard(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::sampling) return;
  last_correlation_id_ = launches_.latest(device_id_);
  window_.last_step = step.index;
  ++steps_ended_;
  if (steps_ended_ < plan_.sampled_steps) return;
  drain_deadline_ns_ = full_ns_;
  state_.store(State::draining, std::memory_order_release);
}

void DeviceSampling::fail(const char* what, CUptiResult result) noexcept {
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
  memory_bytes_ = available_memory() / 4 / std::max(devices, 1u);
  plan_ = plan_sampling(phase_steps, step_ns, memory_bytes_, limits_);
  window_ = {};
  reason_.clear();
  window_.window_id = window_ids_.fetch_add(1);
  window_.device_id = device_id_;
  window_.first_step = phase_first_ + plan_.settle_steps;
  window_.last_step = window_.first_step + plan_.sampled_steps - 1;
  window_.interval_ns = plan_.interval_ns;
  window_.hardware_buffer_bytes = plan_.buffer_bytes;
  window_.status = WindowStatus::failed;
  reason_ = kEndedEarly;
  state_.store(State::configured, std::memory_order_release);
  if (!enable()) return false;
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

std::int64_t DeviceSampling::capacity_ns() const noexcept {
  return static_cast<std::int64_t>(plan_.buffer_bytes / kFullBytesPerSample * 3 / 4) * plan_.interval_ns;
}

// Of a window of several steps the first may be missed.
bool DeviceSampling::start_later(const StepTracker::Step& step) noexcept {
  if (plan_.sampled_steps > 1) {
    ++plan_.settle_steps;
    --plan_.sampled_steps;
    window_.first_step = step.index + 1;
    return true;
  }
  window_.status = WindowStatus::failed;
  reason_ = kWaiting;
  close_soon();
  return false;
}

bool DeviceSampling::start() noexcept {
  const std::uint32_t last_correlation_id = launches_.latest(device_id_);
  // The host is ahead by up to the steps that settled. What the buffer holds is too precious for them: wait
  // for the device, which the set-up had left without work.
  const std::int64_t settle_limit = api_.now_ns() + 10'000 * kMillisecond;
  while (plan_.settle_steps > 0 && !gate_.closed() && !device_passed(last_correlation_id) &&
         !host_waits_.pending() && api_.now_ns() < settle_limit)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
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
        std::max<std::int64_t>((api_.now_ns() - settling_since_ns_) / plan_.settle_steps, 1);
    if (capacity_ns() < step_ns + kStopSlackNs && !plan_anew(step_ns)) return false;
    const std::int64_t fit = (capacity_ns() - kStopSlackNs) / step_ns;
    plan_.sampled_steps = static_cast<std::uint32_t>(std::clamp<std::int64_t>(fit, 1, plan_.sampled_steps));
    window_.last_step = window_.first_step + plan_.sampled_steps - 1;
  }
  if (meet_) meet_();
  CUpti_PmSampling_Start_Params p = {CUpti_PmSampling_Start_Params_STRUCT_SIZE};
  p.pPmSamplingObject = session_;
  steps_ended_ = 0;
  read_ = false;
  cut_short_.clear();
  window_.start_ns = api_.now_ns();
  full_ns_ = window_.start_ns + capacity_ns();
  if (const CUptiResult r = api_.pm_start(&p); r != CUPTI_SUCCESS) return fail("starting sampling", r), false;
  state_.store(State::sampling, std::memory_order_release);
  return true;
}

// Not one step fits into what was planned: a program that enqueues many steps without waiting begins them on
// the host far faster than the device takes them.
bool DeviceSampling::plan_anew(std::int64_t step_ns) noexcept {
  const std::int64_t began = api_.now_ns();
  const SamplingPlan plan = plan_sampling(phase_steps_, step_ns, memory_bytes_, limits_);
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
    if (!cut_short_.empty())
      stop(cut_short_);
    else if (now_ns >= full_ns_)
      stop("the hardware buffer of " + std::to_string(plan_.buffer_bytes >> 20) +
           " MiB was nearly full; sample fewer steps or at a longer interval");
  } else if (state == State::draining) {
    if (device_passed(last_correlation_id_))
      stop({});
    else if (now_ns >= drain_deadline_ns_)
      stop("the hardware buffer of " + std::to_string(plan_.buffer_bytes >> 20) +
           " MiB was nearly full before the device was known to be through with the last step");
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
  if (!early.empty()) {
    window_.status = WindowStatus::overflow;
    reason_ = early;
    message(
        Severity::warning, spool::Topic::sampling,
        "the sampling of counters ends in " + name_of_step(window_.first_step + steps_ended_) + ": " + early);
  }
  state_.store(State::stopped, std::memory_order_release);
  return true;
}

void DeviceSampling::read() noexcept {
  if (!read_) {
    try {
      read_ = read_samples();
    } catch (...) {
      window_.status = WindowStatus::failed;
      reason_ = "out of memory while the samples were read";
    }
    if (!read_ && window_.status != WindowStatus::failed) return;
    read_ = true;
    window_.decode_ns = api_.now_ns() - window_.stop_ns;
  }
  close_soon();
}

void DeviceSampling::close_soon() noexcept {
  if (const QuietHold hold(captures_, host_waits_, kCapturePatience); hold) return close();
  read_ = true;
  state_.store(State::stopped, std::memory_order_release);
}

void DeviceSampling::Unmap::operator()(std::uint8_t* memory) const noexcept {
  munmap(memory, bytes);
}

std::vector<double> DeviceSampling::evaluate(std::size_t count) const {
  const std::size_t metrics = config_.metrics().size();
  if (count < 2) return {};
  std::vector<double> values((count - 1) * metrics);
  const auto part = [&](const CounterConfig& config, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !gate_.closed(); ++i) {
      double* row = values.data() + (i - 1) * metrics;
      if (!config.evaluate(image_.get(), image_.get_deleter().bytes, i, row))
        std::fill(row, row + metrics, std::numeric_limits<double>::quiet_NaN());
    }
  };
  const std::size_t share = (count - 1) / (helpers_.size() + 1) + 1;
  std::size_t begin = 1;
  sigset_t all, before;  // the program's signals are not for these threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::thread> threads;
  try {
    threads.reserve(helpers_.size());
    for (const CounterConfig& helper : helpers_) {
      if (count - begin <= kFewSamples) break;
      threads.emplace_back(part, std::cref(helper), begin, std::min(begin + share, count));
      begin = std::min(begin + share, count);
    }
  } catch (...) {  // no more threads: this one does the rest
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  part(config_, begin, count);
  for (std::thread& t : threads) t.join();
  return values;
}

// False if it failed and closed the session. All samples at once: what does not fit into the first image
// after a stop, CUPTI drops.
bool DeviceSampling::read_samples() {
  const auto expected =
      static_cast<std::uint64_t>((window_.stop_ns - window_.start_ns) / window_.interval_ns + 1);
  QuietHold hold(captures_, host_waits_, kCapturePatience);
  if (!hold) return false;
  CUpti_PmSampling_GetCounterDataSize_Params size = {CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE};
  size.pPmSamplingObject = session_;
  size.pMetricNames = config_.metric_names();
  size.numMetrics = config_.metrics().size();
  size.maxSamples =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(expected + expected / 50 + 512, 1u << 20));
  if (const CUptiResult r = api_.pm_get_counter_data_size(&size); r != CUPTI_SUCCESS)
    return fail("sizing the samples", r), false;
  void* memory =
      mmap(nullptr, size.counterDataSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, size.counterDataSize, MADV_HUGEPAGE);
  image_ =
      std::unique_ptr<std::uint8_t[], Unmap>(static_cast<std::uint8_t*>(memory), Unmap{size.counterDataSize});
  CUpti_PmSampling_CounterDataImage_Initialize_Params init = {
      CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE};
  init.pPmSamplingObject = session_;
  init.counterDataSize = image_.get_deleter().bytes;
  init.pCounterData = image_.get();
  if (const CUptiResult r = api_.pm_counter_data_image_initialize(&init); r != CUPTI_SUCCESS)
    return fail("initialising the samples", r), false;
  CUpti_PmSampling_DecodeData_Params decode = {CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE};
  decode.pPmSamplingObject = session_;
  decode.pCounterDataImage = image_.get();
  decode.counterDataImageSize = image_.get_deleter().bytes;
  const CUptiResult decoded = api_.pm_decode_data(&decode);
  const bool overflow = decoded == CUPTI_ERROR_OUT_OF_MEMORY || decode.overflow != 0;
  if (decoded != CUPTI_SUCCESS && !overflow) return fail("reading the samples", decoded), false;

  hold.release();
  CUpti_PmSampling_GetCounterDataInfo_Params info = {CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE};
  info.pCounterDataImage = image_.get();
  info.counterDataImageSize = image_.get_deleter().bytes;
  if (const CUptiResult r = api_.pm_get_counter_data_info(&info); r != CUPTI_SUCCESS)
    return fail("reading the samples", r), false;
  const std::size_t metrics = config_.metrics().size();
  const std::vector<double> values = evaluate(info.numCompletedSamples);
  if (gate_.closed()) {  // half of them are missing
    window_.status = WindowStatus::failed;
    reason_ = kEndedEarly;
    return true;
  }
  // The first sample holds what was counted before sampling started.
  for (std::size_t i = 1; i < info.numCompletedSamples; ++i) {
    CUpti_PmSampling_CounterData_GetSampleInfo_Params when = {
        CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE};
    when.pPmSamplingObject = session_;
    when.pCounterDataImage = image_.get();
    when.counterDataImageSize = image_.get_deleter().bytes;
    when.sampleIndex = i;
    if (api_.pm_get_sample_info(&when) != CUPTI_SUCCESS) continue;
    spool::PmSampleRecord record{};
    record.window_id = window_.window_id;
    record.value_count = static_cast<std::uint32_t>(metrics);
    record.start_ns = static_cast<std::int64_t>(when.startTimestamp);
    record.end_ns = static_cast<std::int64_t>(when.endTimestamp);
    if (writer_.put(record, values.data() + (i - 1) * metrics,
                    static_cast<std::uint32_t>(metrics * sizeof(double))))
      ++window_.samples;
  }
  const bool cut = decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  if (overflow || cut) {
    window_.status = window_.samples > 0 ? WindowStatus::overflow : WindowStatus::failed;
    reason_ =
        (overflow ? "the hardware buffer of " + std::to_string(plan_.buffer_bytes >> 20) + " MiB was full, "
                  : std::string("the device sampled faster than it was asked to, ")) +
        std::to_string(window_.samples) +
        " samples could be read; sample fewer steps or at a longer interval";
    message(Severity::warning, spool::Topic::sampling, "the sampling of counters ended early: " + reason_);
  } else if (window_.samples == 0) {
    window_.status = WindowStatus::failed;
    reason_ = "CUPTI gave no samples";
    message(Severity::warning, spool::Topic::sampling, "no sampled counters: " + reason_);
  }
  return true;
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
  if (!open()) return;
  std::lock_guard<std::mutex> guard(mutex_);
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
  if (!open()) return;
  std::lock_guard<std::mutex> guard(mutex_);
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
  if (in_time) return read();
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
