#include "tiers/sampling.h"

#include <chrono>
#include <thread>

#include "messages.h"

namespace ridgeline::agent {
namespace {

constexpr std::chrono::seconds kCloseTimeout{60};
// The capture may be this very thread's.
constexpr std::chrono::milliseconds kCloseTimeoutInCapture{100};
// Likewise what a stream waits for. The agent's threads go on closing.
constexpr std::chrono::milliseconds kCloseTimeoutWithWaits{5};
// Of a device's metrics; there are a dozen.
constexpr std::uint32_t kMetricIdsPerDevice = 256;

}  // namespace

Sampling::Sampling(const CuptiApi& api, spool::Writer& writer, Timeline& timeline, const CallGate& gate,
                   CaptureWatch& captures, HostWaits& host_waits, const DeviceLaunches& launches,
                   const SamplingLimits& limits)
    : api_(api),
      writer_(writer),
      timeline_(timeline),
      gate_(gate),
      captures_(captures),
      host_waits_(host_waits),
      launches_(launches),
      limits_(limits) {
  make(0);
}

DeviceSampling& Sampling::make(std::uint32_t number) {
  devices_[number] = std::make_unique<DeviceSampling>(api_, writer_, timeline_, gate_, captures_, host_waits_,
                                                      launches_, limits_, window_ids_,
                                                      kFirstSampledMetricId + number * kMetricIdsPerDevice);
  devices_[number]->meet_by([this] {
    if (met_ || !meet_) return;
    met_ = true;
    meet_();
  });
  count_.store(number + 1, std::memory_order_release);
  return *devices_[number];
}

void Sampling::prepare(std::uint32_t device_id, const std::string& chip) noexcept try {
  if (prepared_ == kMaxDevices) {
    if (!too_many_reported_)
      put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::sampling,
                  "device " + std::to_string(device_id) + " and those after it are not sampled: " +
                      std::to_string(kMaxDevices) + " devices of a process are");
    too_many_reported_ = true;
    return;
  }
  const std::uint32_t number = prepared_++;
  DeviceSampling& device = number < count_.load(std::memory_order_relaxed) ? *devices_[number] : make(number);
  device.prepare(device_id, chip);
} catch (...) {  // out of memory: it is not sampled
}

void Sampling::rule_out(spool::Topic topic, const std::string& reason, Refusal refusal) noexcept {
  devices_[0]->rule_out(topic, reason, refusal);
}

bool Sampling::begin_step(const StepTracker::Step& step, std::int64_t step_ns) noexcept {
  if (!phase_known_ || phase_first_ != step.phase_first) {
    close_now();  // the windows of another sample phase just before
    phase_known_ = true;
    phase_first_ = step.phase_first;
    taking_part_ = count_.load(std::memory_order_acquire);
    met_ = false;
    for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->begin_phase(step, step_ns, taking_part_);
    for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->settle_from(api_.now_ns());
  }
  bool measured = false;
  for (std::uint32_t i = 0; i < taking_part_; ++i) measured |= devices_[i]->begin_step(step);
  return measured;
}

bool Sampling::in_use_elsewhere() const noexcept {
  bool refused = false;
  for (std::uint32_t i = 0; i < taking_part_; ++i) refused |= devices_[i]->in_use();
  return refused;
}

void Sampling::settle_refusal(bool again) noexcept {
  if (again) phase_known_ = false;  // with all devices
  for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->settle_refusal(again);
}

bool Sampling::waits_for_counters() const noexcept {
  bool waits = false;
  each([&](const DeviceSampling& device) { waits |= device.waits_for_counters(); });
  return waits;
}

void Sampling::step_end(const StepTracker::Step& step) noexcept {
  each([&](DeviceSampling& device) { device.step_end(step); });
}

void Sampling::tick(std::int64_t now_ns) noexcept {
  bool running = false;
  each([&](DeviceSampling& device) {
    device.stop_if_due(now_ns);
    running |= device.running();
  });
  if (!running) each([](DeviceSampling& device) { device.read_if_stopped(); });
}

bool Sampling::busy() const noexcept {
  bool busy = false;
  each([&](const DeviceSampling& device) { busy |= device.running() || device.stopped(); });
  return busy;
}

bool Sampling::open() const noexcept {
  bool open = false;
  each([&](const DeviceSampling& device) { open |= device.open(); });
  return open;
}

bool Sampling::close_now() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  const auto give_up = [&] {
    const auto waited = std::chrono::steady_clock::now() - begin;
    return waited > kCloseTimeout || (waited > kCloseTimeoutInCapture && captures_.any()) ||
           (waited > kCloseTimeoutWithWaits && host_waits_.pending());
  };
  each([](DeviceSampling& device) { device.end_phase(); });
  while (open() && !gate_.closed() && !give_up()) {
    tick(api_.now_ns());
    if (open()) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return !open();
}

void Sampling::wake() noexcept {
  each([](DeviceSampling& device) { device.wake(); });
}

void Sampling::cut_short(const char* why) noexcept {
  each([&](DeviceSampling& device) { device.cut_short(why); });
}

void Sampling::finish_at_exit(std::int64_t deadline_ns) noexcept {
  each([&](DeviceSampling& device) { device.finish_at_exit(deadline_ns); });
}

void Sampling::abandon() noexcept {
  each([](DeviceSampling& device) { device.abandon(); });
}

}  // namespace ridgeline::agent
