#include "steps/agreement.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "process_info.h"

namespace ridgeline::agent {
namespace {

// Ahead of the process that is furthest: the numbers in the control file are a step old at most, and the proposal has
// to reach everybody in time.
constexpr std::uint32_t kStepsAhead = 3;
// Processes in step with each other are closer than this; else their numbers are not of the same collectives.
constexpr std::uint32_t kMaxStepsApart = 8;
constexpr int kStepsAlone = 2;
constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 63;

void put(spool::Peer& peer, spool::PeerState state) noexcept {
  peer.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

// Calls visit(peer) for those whose process lives.
template <typename Visit>
void for_each_peer(const spool::Control& control, Visit&& visit) noexcept {
  for (const spool::Peer& peer : control.peers) {
    const std::uint32_t pid = peer.pid.load(std::memory_order_acquire);
    if (pid != 0 && lives(pid)) visit(peer);
  }
}

// How often the processes have agreed, of Control::agreed_start.
std::uint32_t times_of(std::uint64_t agreed) noexcept {
  return static_cast<std::uint32_t>((agreed & ~kAtOnce) >> 32);
}

// The numbers wrap around.
bool reached(std::uint32_t count, std::uint32_t goal) noexcept {
  return static_cast<std::int32_t>(count - goal) >= 0;
}

}  // namespace

spool::Peer* Agreement::join() noexcept {
  if (control_ == nullptr || joining_.exchange(true)) return nullptr;
  const auto own = static_cast<std::uint32_t>(getpid());
  for (spool::Peer& peer : control_->peers) {
    std::uint32_t holder = peer.pid.load(std::memory_order_acquire);
    if (holder != 0 && lives(holder)) continue;
    if (!peer.pid.compare_exchange_strong(holder, own)) continue;
    put(peer, begun_ ? spool::PeerState::begun : spool::PeerState::none);
    peer.collectives_per_step.store(0, std::memory_order_relaxed);
    peer.meetings.store(0, std::memory_order_relaxed);
    followed_ = times_of(control_->agreed_start.load(std::memory_order_acquire));
    place_.store(&peer, std::memory_order_release);
    return &peer;
  }
  return nullptr;  // more processes than places: this one goes by itself
}

void Agreement::count_collective() noexcept {
  const std::uint32_t count = collectives_.fetch_add(1, std::memory_order_relaxed) + 1;
  spool::Peer* place = place_.load(std::memory_order_acquire);
  if (place == nullptr) place = join();
  if (place != nullptr) place->collectives.store(count, std::memory_order_release);
}

bool Agreement::propose(std::uint64_t agreed, std::int64_t now_ns) noexcept {
  const std::uint32_t own = collectives_.load(std::memory_order_relaxed);
  std::int32_t ahead = 0, following = 0;       // of this process, at most
  std::uint32_t least = UINT32_MAX, most = 0;  // collectives a step
  std::uint32_t peers = 0;
  bool all_have_steps = true;
  for_each_peer(*control_, [&](const spool::Peer& peer) {
    ++peers;
    const auto beyond = static_cast<std::int32_t>(peer.collectives.load(std::memory_order_acquire) - own);
    ahead = std::max(ahead, beyond);
    following = std::max(following, -beyond);
    const std::uint32_t per_step = peer.collectives_per_step.load(std::memory_order_relaxed);
    least = std::min(least, per_step);
    most = std::max(most, per_step);
    all_have_steps = all_have_steps && peer.state.load(std::memory_order_acquire) !=
                                           static_cast<std::uint32_t>(spool::PeerState::none);
  });
  if (peers < 2) return false;
  const bool alike = counts_all_ && least == most && most > 0 &&
                     static_cast<std::uint64_t>(ahead) + static_cast<std::uint64_t>(following) <=
                         std::uint64_t{kMaxStepsApart} * most;
  // What a peer takes for its step at first may be none of the program's, and have no collective in it.
  if (!(all_have_steps && (alike || !counts_all_)) && now_ns - asked_since_ns_ < kPatienceNs) return true;
  const std::uint64_t times = std::uint64_t{times_of(agreed)} + 1;
  const std::uint64_t next =
      times << 32 | (alike ? own + static_cast<std::uint32_t>(ahead) + kStepsAhead * most : 0);
  control_->agreed_start.compare_exchange_strong(agreed, alike ? next : next | kAtOnce,
                                                 std::memory_order_acq_rel);
  return true;
}

Agreement::Turn Agreement::on_step_begin(std::int64_t now_ns) noexcept {
  // A window may open before the first collective that is seen: what began without peers asks again.
  if (young_steps_ > 0 && place_.load(std::memory_order_acquire) != nullptr) {
    young_steps_ = 0;
    ask();
  }
  const bool asked = asked_.load(std::memory_order_acquire);
  const auto begin = [&](std::uint32_t peers) {
    asked_.store(false, std::memory_order_release);
    asked_since_ns_ = 0;
    taking_part_ = peers;
    begun_ = true;
    return Turn::begin;
  };
  spool::Peer* place = place_.load(std::memory_order_acquire);
  if (place == nullptr) {
    if (!asked) {
      if (young_steps_ > 0) --young_steps_;
      return Turn::as_scheduled;
    }
    young_steps_ = kStepsAlone;
    return begin(0);
  }
  const std::uint32_t count = collectives_.load(std::memory_order_relaxed);
  place->collectives_per_step.store(count - at_last_step_, std::memory_order_relaxed);
  at_last_step_ = count;
  const std::uint64_t agreed = control_->agreed_start.load(std::memory_order_acquire);
  const std::uint32_t times = times_of(agreed);
  // What was agreed on before this process had steps was not for it.
  if (asked && asked_since_ns_ == 0) {
    asked_since_ns_ = now_ns;
    followed_ = times;
    put(*place, spool::PeerState::ready);
  }
  if (times != followed_) {
    if ((agreed & kAtOnce) == 0 && !reached(count, static_cast<std::uint32_t>(agreed)))
      return asked ? Turn::wait : Turn::as_scheduled;
    followed_ = times;
    put(*place, spool::PeerState::begun);
    place->meetings.store(times << 16, std::memory_order_release);  // whoever missed some is level again
    std::uint32_t peers = 0;
    for_each_peer(*control_, [&](const spool::Peer&) { ++peers; });
    return begin(peers);
  }
  if (!asked) return Turn::as_scheduled;
  if (propose(agreed, now_ns)) return Turn::wait;
  put(*place, spool::PeerState::begun);
  return begin(0);
}

bool Agreement::meet(const std::function<bool()>& over) noexcept {
  spool::Peer* place = place_.load(std::memory_order_acquire);
  if (place == nullptr || taking_part_ < 2) return true;
  const std::uint32_t meeting = place->meetings.fetch_add(1, std::memory_order_acq_rel) + 1;
  const auto all_here = [&] {
    for (const spool::Peer& peer : control_->peers) {
      const std::uint32_t pid = peer.pid.load(std::memory_order_acquire);
      if (pid != 0 && !reached(peer.meetings.load(std::memory_order_acquire), meeting) && lives(pid))
        return false;
    }
    return true;
  };
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kMeetingPatienceNs);
  while (!all_here() && !over() && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return all_here();
}

void Agreement::leave() noexcept {
  if (spool::Peer* place = place_.exchange(nullptr)) place->pid.store(0, std::memory_order_release);
}

}  // namespace ridgeline::agent
