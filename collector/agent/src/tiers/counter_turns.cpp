#include "tiers/counter_turns.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "messages.h"

namespace ridgeline::agent {
namespace {

// "13:45:12.310", of the day in UTC: the same clock in all recordings.
std::string time_of_day(std::int64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%03d", parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(time_ns / 1'000'000 % 1000));
  return text;
}

std::string seconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(ns) / 1e9);
  return text;
}

}  // namespace

CounterTurns::CounterTurns(spool::Writer& writer, std::string directory)
    : writer_(writer), directory_(directory.empty() ? default_lock_directory() : std::move(directory)) {}

void CounterTurns::name_device(std::uint32_t device_id, const std::uint8_t (&uuid)[16]) noexcept try {
  if (device_id >= kMaxDevices) return;
  std::string name;
  for (const std::uint8_t byte : uuid) {
    constexpr char kDigits[] = "0123456789abcdef";
    name += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  if (turns_[device_id] != nullptr) return;
  turns_[device_id] = std::make_unique<DeviceTurn>(directory_, name);
  // A turn that began before the device was known is one of it too.
  if (taken_ns_ != 0) (void)turns_[device_id]->ask(0);
} catch (...) {  // without memory: no turns
}

bool CounterTurns::held() const noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return taken_ns_ != 0;
}

std::int64_t CounterTurns::held_ns(std::int64_t now_ns) const noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return taken_ns_ == 0 ? 0 : now_ns - taken_ns_;
}

// With mutex_ held.
CounterTurns::Turn CounterTurns::waits(std::int64_t now_ns, pid_t holder) noexcept {
  if (holder != 0) holder_ = holder;
  if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
  shared_ = true;
  if (now_ns - waiting_since_ns_ < kPatienceNs) return Turn::wait;
  if (!gave_up_) {
    gave_up_ = true;
    tell_waited(now_ns, "the schedule goes on without waiting any longer");
  }
  return Turn::none;
}

// With mutex_ held.
void CounterTurns::tell_waited(std::int64_t now_ns, const char* then) {
  put_message(
      writer_, now_ns, Severity::warning, spool::Topic::turns,
      "the counters of this GPU were in use for " + seconds(now_ns - waiting_since_ns_) +
          (holder_ != 0 ? " by process " + std::to_string(holder_)
                        : std::string(" by another process or profiler (DCGM: dcgmi profile --pause)")) +
          "; " + then);
}

void CounterTurns::program_ends(std::int64_t now_ns) noexcept try {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (waiting_since_ns_ != 0 && taken_ns_ == 0 && !gave_up_)
    tell_waited(now_ns, "the program ended before they were free");
} catch (...) {  // out of memory: without its reason
}

CounterTurns::Turn CounterTurns::take(std::uint64_t devices, std::int64_t now_ns,
                                      std::int64_t step_ns) noexcept try {
  const std::lock_guard<std::mutex> guard(mutex_);
  begun_ = false;
  if (taken_ns_ != 0) return Turn::ours;
  if (now_ns < not_before_ns_) return waits(now_ns, 0);
  const std::int64_t again_ns = std::clamp<std::int64_t>(4 * step_ns, 500'000'000, DeviceTurn::kMaxWaitNs);
  for (std::uint32_t device = 0; device < kMaxDevices; ++device) {
    if ((devices >> device & 1) == 0 || turns_[device] == nullptr) continue;
    const DeviceTurn::Answer answer = turns_[device]->ask(again_ns);
    if (answer == DeviceTurn::Answer::ours || answer == DeviceTurn::Answer::no_lock) continue;
    const pid_t holder = turns_[device]->holder();
    for (std::uint32_t taken = 0; taken < device; ++taken)
      if (turns_[taken] != nullptr) turns_[taken]->release();
    const Turn turn = waits(now_ns, holder);
    if (turn == Turn::none) turns_[device]->withdraw();
    return turn;
  }
  taken_ns_ = now_ns;
  waited_ns_ = waiting_since_ns_ == 0 ? 0 : now_ns - waiting_since_ns_;
  return Turn::ours;
} catch (...) {
  return Turn::none;
}

void CounterTurns::begun() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  begun_ = true;
}

bool CounterTurns::others() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::any_of(turns_.begin(), turns_.end(), [](const auto& turn) {
    return turn != nullptr && (turn->others_wait() || turn->holder() != 0);
  });
}

bool CounterTurns::to_hand_over(std::int64_t now_ns) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (taken_ns_ == 0 || now_ns - taken_ns_ < kTurnNs) return false;
  return std::any_of(turns_.begin(), turns_.end(),
                     [](const auto& turn) { return turn != nullptr && turn->held() && turn->others_wait(); });
}

// With mutex_ held.
void CounterTurns::end(std::int64_t now_ns) noexcept try {
  for (const auto& turn : turns_) {
    if (turn == nullptr || !turn->held()) continue;
    shared_ = shared_ || turn->others_wait();
    turn->release();
  }
  const std::int64_t taken_ns = taken_ns_, waited_ns = waited_ns_;
  taken_ns_ = waited_ns_ = waiting_since_ns_ = 0;
  pause_ns_ = kFirstPauseNs;
  if (!shared_) return;
  std::string text = "the GPU's counters were this process's from " + time_of_day(taken_ns) + " to " +
                     time_of_day(now_ns) + " UTC, " + seconds(now_ns - taken_ns);
  if (waited_ns > 0) {
    text += ", after waiting " + seconds(waited_ns) + " for ";
    text += holder_ != 0 ? "process " + std::to_string(holder_) : std::string("others");
  }
  put_message(writer_, now_ns, Severity::info, spool::Topic::turns, text);
} catch (...) {
}

bool CounterTurns::refused(std::int64_t now_ns) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const auto& turn : turns_)
    if (turn != nullptr && turn->held()) turn->release();
  taken_ns_ = 0;
  not_before_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
  return waits(now_ns, 0) == Turn::wait;
}

}  // namespace ridgeline::agent
