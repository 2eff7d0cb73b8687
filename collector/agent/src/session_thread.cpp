// What the agent's own thread does for a recording: session.h, lifecycle 4.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "messages.h"
#include "ridgeline/spool/environment.h"
#include "session.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Between the request to end and the end by force of a program that hangs in a replay step.
constexpr std::int64_t kHangGraceNs = 3000 * kMillisecond;

std::int64_t monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void Session::start_thread() noexcept {
  // The program's signals are not for this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    // Reading samples takes seconds, which flushes and clocks cannot wait for.
    const auto start = [this](void (Session::*body)() noexcept) {
      own_threads_.fetch_add(1);
      try {
        return std::thread([this, body] {
          (this->*body)();
          own_threads_.fetch_sub(1, std::memory_order_release);
        });
      } catch (...) {
        own_threads_.fetch_sub(1);
        throw;
      }
    };
    if (sampling_) sampling_thread_ = start(&Session::run_sampling);
    thread_ = start(&Session::run);
    pthread_setname_np(thread_.native_handle(), "ridgeline-agent");
  } catch (...) {
    message(spool::Severity::kWarning, spool::Topic::kGeneral,
            "the agent cannot start its thread: records reach the spool late, clocks are not sampled");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Session::run_sampling() noexcept {
  if (ThreadState* thread = this_thread(generation_)) thread->inside = true;
  pthread_setname_np(pthread_self(), "ridgeline-pm");
  std::unique_lock<std::mutex> lock(thread_mutex_);
  while (!stop_) {
    lock.unlock();
    sampling_->tick(now_ns());
    lock.lock();
    if (!stop_) wake_.wait_for(lock, std::chrono::milliseconds(sampling_->busy() ? 2 : 20));
  }
}

void Session::run() noexcept {
  if (ThreadState* thread = this_thread(generation_))
    thread->inside = true;  // what this thread causes is no launch
  std::uint32_t period_ms = settings_.flush_period_ms;
  if (settings_.clock_period_ms > 0) period_ms = std::min(period_ms, settings_.clock_period_ms);
  period_ms = std::clamp(period_ms, 5u, 50u);
  std::unique_lock<std::mutex> lock(thread_mutex_);
  while (!stop_) {
    lock.unlock();
    tick(now_ns());
    lock.lock();
    if (!stop_) wake_.wait_for(lock, std::chrono::milliseconds(period_ms));
  }
}

void Session::tick(std::int64_t now) noexcept {
  writer_.maintain();
  if (!cupti_started_ || gate_.closed()) return;
  timeline_->maintain();
  tend_window(now);
  look_for_period(now);
  try {
    if (devices_to_describe_.load(std::memory_order_acquire) != 0) describe_devices();
    if (replay_ && !replay_prepared_ && settings_.replay_allowed) prepare_replay();
    if (replay_) replay_->evaluate();
    watch_for_hang(now);
    if (sampling_ && !sampling_prepared_ && !gate_.closed()) prepare_sampling();
  } catch (...) {
    totals_.add(&Count::callback_errors);
  }
  if (sampling_ && !sampling_thread_.joinable()) sampling_->tick(now);
  if (!collecting_ || gate_.closed()) return;  // no window: not a trace of the agent
  if (now - last_flush_ns_ >= settings_.flush_period_ms * kMillisecond) {
    last_flush_ns_ = now;
    // CUPTI's range profiler and a flush on another thread are not known to get along.
    if (!replay_ || !replay_->collecting()) timeline_->flush();
    totals_.refresh(now);
    report_losses();
  }
  if (settings_.clock_period_ms > 0 && now - last_clock_ns_ >= settings_.clock_period_ms * kMillisecond) {
    last_clock_ns_ = now;
    sample_clocks(now);
  }
  if (now - last_pair_ns_ >= 1000 * kMillisecond) {
    last_pair_ns_ = now;
    spool::ClockPairRecord pair{};
    pair.cupti_ns = now_ns();
    pair.realtime_ns = realtime_ns();
    pair.monotonic_ns = monotonic_ns();
    writer_.put(pair);
  }
}

void Session::describe_devices() noexcept {
  if (!nvml_tried_) {
    nvml_tried_ = true;
    std::string error;
    if (!nvml_.open(&error)) message(spool::Severity::kInfo, spool::Topic::kClocksMissing, error);
  }
  if (!versions_written_) {
    versions_written_ = true;
    if (const int v = cuda_driver_version(); v != 0) write_version(spool::Component::kCudaDriver, {}, v);
    if (const int v = cuda_runtime_version(); v != 0) write_version(spool::Component::kCudaRuntime, {}, v);
    if (const std::string v = nvml_.driver_version(); !v.empty())
      write_version(spool::Component::kKernelDriver, v, 0);
  }
  if (!profiler_initialized_ && api_->has_range_profiler) {
    CUpti_Profiler_Initialize_Params p = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    const CUptiResult result = api_->profiler_initialize(&p);
    profiler_initialized_ = result == CUPTI_SUCCESS;
    if (!profiler_initialized_ && replay_ && settings_.replay_allowed && !replay_prepared_) {
      replay_prepared_ = true;
      replay_->rule_out(spool::Topic::kCountersRefused,
                        "timeline only: CUPTI's profiler cannot start: " + api_->error_text(result) +
                            "; `ridgeline doctor` tells more");
    }
  }
  std::uint64_t pending = devices_to_describe_.exchange(0, std::memory_order_acq_rel);
  for (std::uint32_t id = 0; id < kMaxDevices; ++id) {
    if ((pending >> id & 1) == 0 || !chips_[id].empty()) continue;
    spool::DeviceRecord record{};
    std::string bus;
    if (!describe_device(writer_, nvml_, id, &record, &bus)) record.device_id = id;
    CUpti_Device_GetChipName_Params chip = {CUpti_Device_GetChipName_Params_STRUCT_SIZE};
    chip.deviceIndex = id;
    if (profiler_initialized_ && api_->device_get_chip_name(&chip) == CUPTI_SUCCESS &&
        chip.pChipName != nullptr)
      chips_[id] = chip.pChipName;
    record.chip_name = writer_.intern(chips_[id]);
    if (chips_[id].empty()) chips_[id] = "unknown";
    if (stalls_) stalls_->set_device(record.sm_count, record.max_sm_hz);
    nvml_devices_[id] = nvml_.device(bus);
    writer_.put(record);
  }
}

void Session::look_for_waiting_kernels(bool may_flush) noexcept {
  concurrency_looked_at_ = true;
  if (may_flush) timeline_->flush();  // not inside a callback
  for (const std::uint32_t kernel_id : concurrency_.finish())
    exclusions_.add(kernel_id, spool::ExclusionReason::kConcurrent);
}

void Session::watch_for_hang(std::int64_t now) noexcept {
  if (!replay_) return;
  if (hang_since_ns_ != 0) {
    if (now - hang_since_ns_ >= kHangGraceNs && !hang_killed_) {
      hang_killed_ = true;
      end_process_(SIGKILL);
    }
    return;
  }
  const std::string hang = replay_->overdue(now, settings_.replay_time_out_ms * kMillisecond);
  if (hang.empty()) return;
  hang_since_ns_ = now;
  message(spool::Severity::kError, spool::Topic::kReplayTimeOut, hang);
  totals_.refresh(now);
  end_process_(SIGTERM);
}

void Session::prepare_sampling() noexcept {
  CUcontext context = first_context_.load(std::memory_order_acquire);
  if (context == nullptr) return;
  std::uint32_t device_id = 0;
  if (api_->get_device_id(context, &device_id) != CUPTI_SUCCESS || device_id >= kMaxDevices) return;
  if (chips_[device_id].empty()) return;  // described first
  sampling_prepared_ = true;
  sampling_->prepare(device_id, chips_[device_id]);
}

void Session::sample_clocks(std::int64_t now) noexcept {
  for (std::uint32_t id = 0; id < kMaxDevices; ++id) {
    if (nvml_devices_[id] == nullptr) continue;
    spool::ClockSampleRecord record{};
    record.time_ns = now;
    record.device_id = id;
    if (nvml_.sample(nvml_devices_[id], &record)) writer_.put(record);
  }
}

void Session::report_losses() noexcept {
  const std::uint64_t lost = writer_.statistics().records_lost;
  if (lost == 0 || losses_reported_) return;
  losses_reported_ = true;
  message(spool::Severity::kError, spool::Topic::kSpoolFull,
          "records are being lost: " + writer_.path() + " cannot grow; free some space, raise ulimit -f or " +
              spool::environment::kSpoolLimitBytes);
}
}  // namespace ridgeline::agent
