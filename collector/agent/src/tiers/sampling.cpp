#include "tiers/sampling.h"

#include <algorithm>
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
    all_met_ = meet_(true);
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

bool Sampling::begin_step(const StepTracker::Step& step, std::int64_t step_ns, bool another,
                          std::int64_t wanted_interval_ns) noexcept {
  const bool new_phase = !phase_goes_on(step);
  if (new_phase) {
    close_now();  // the windows of another sample phase just before
    phase_known_ = true;
    phase_first_ = step.phase_first;
    taking_part_ = count_.load(std::memory_order_acquire);
    met_ = false;
    const bool again = (step.flags & spool::kStepSamplesAgain) != 0;
    windows_of_phase_ = again ? windows_of_phase_ + 1 : 1;
    given_up_ = given_up_ && again;
    for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->expect_more(again);
  }
  may_repeat(another);
  if (new_phase) {
    for (std::uint32_t i = 0; i < taking_part_; ++i)
      devices_[i]->begin_phase(step, step_ns, taking_part_, wanted_interval_ns);
    for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->settle_from(api_.now_ns());
  }
  const bool had_met = met_;
  for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->await_device(step);
  for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->begin_step(step);
  // A peer that is still starting would lengthen the step that the others sample. Who did not come is not waited for
  // once more.
  if (met_ && !had_met && meet_) meet_(all_met_);
  // What one device had of its buffer while another was started is gone: only now is it known what all of them have.
  const std::int64_t now_ns = api_.now_ns();
  bool measured = false;
  for (std::uint32_t i = 0; i < taking_part_; ++i) measured |= devices_[i]->go_on(now_ns);
  return measured;
}

void Sampling::may_repeat(bool another) noexcept {
  const bool may = another && (phase_first_ >= spool::kFirstStretch || windows_of_phase_ < kMaxWindows);
  for (std::uint32_t i = 0; i < taking_part_; ++i) devices_[i]->may_repeat(may);
}

std::uint32_t Sampling::steps_to_repeat() noexcept {
  if (open() || phase_first_ >= spool::kFirstStretch) return 0;
  std::uint32_t steps = 0;
  for (std::uint32_t i = 0; i < taking_part_; ++i) steps = std::max(steps, devices_[i]->steps_to_repeat());
  if (steps == 0 || windows_of_phase_ < kMaxWindows) return steps;
  give_up_repeating("three windows were tried");
  return 0;
}

void Sampling::forget_missing() noexcept {
  each([](DeviceSampling& device) { device.forget_missing(); });
}

void Sampling::give_up_repeating(const char* why) noexcept try {
  if (given_up_) return;
  given_up_ = true;
  const DeviceSampling* worst = nullptr;
  for (std::uint32_t i = 0; i < taking_part_; ++i)
    if (worst == nullptr || devices_[i]->missing_steps() > worst->missing_steps()) worst = devices_[i].get();
  if (worst == nullptr || worst->missing_steps() == 0) return;
  const bool by_time = phase_first_ >= spool::kFirstStretch;
  put_message(writer_, api_.now_ns(), Severity::warning, spool::Topic::sampling,
              (by_time ? "a window of time has"
                       : std::to_string(worst->missing_steps()) + " of the steps that were to be sampled " +
                             (worst->missing_steps() == 1 ? "has" : "have")) +
                  std::string(" no samples, or not all: ") + worst->why_missing() + "; " + why +
                  "; record fewer processes of this host at a time, or sample at a longer interval");
} catch (...) {  // out of memory: without its reason
}

bool Sampling::missed() const noexcept {
  bool missed = false;
  each([&](const DeviceSampling& device) { missed |= device.missed(); });
  return missed;
}

std::int64_t Sampling::allowance_ns() const noexcept {
  std::int64_t longest_ns = 0;
  each([&](const DeviceSampling& device) {
    longest_ns = std::max(longest_ns, device.start_so_far().allowance_ns());
  });
  return longest_ns;
}

bool Sampling::in_use_elsewhere() const noexcept {
  bool refused = false;
  for (std::uint32_t i = 0; i < taking_part_; ++i) refused |= devices_[i]->in_use();
  return refused;
}

void Sampling::settle_refusal(bool again) noexcept {
  if (again) {
    phase_known_ = false;  // with all devices
    if (windows_of_phase_ > 0) --windows_of_phase_;
  }
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

void Sampling::end_windows() noexcept {
  each([](DeviceSampling& device) { device.end_phase(); });
}

bool Sampling::close_now() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  const auto give_up = [&] {
    const auto waited = std::chrono::steady_clock::now() - begin;
    return waited > kCloseTimeout || (waited > kCloseTimeoutInCapture && captures_.any()) ||
           (waited > kCloseTimeoutWithWaits && host_waits_.pending());
  };
  end_windows();
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
  give_up_repeating("the program ended");
}

void Sampling::abandon() noexcept {
  each([](DeviceSampling& device) { device.abandon(); });
}

}  // namespace ridgeline::agent
