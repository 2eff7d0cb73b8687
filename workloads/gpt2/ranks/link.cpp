#include "gpt2/ranks/link.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpt2/ranks/hub.h"

namespace ridgeline::gpt2 {
namespace {

constexpr double kMeetSeconds = 60;
constexpr int kBeatMs = 500;
constexpr int kHubRoundMs = 100;
constexpr std::chrono::seconds kFarewell{5};
constexpr std::chrono::milliseconds kVerdictWait{1500};

}  // namespace

RankLink::RankLink(const RankPlace& place, Socket to_parent)
    : place_(place), forked_(true), socket_(std::move(to_parent)) {
  begin();
}

RankLink::RankLink(const RankPlace& place, const RollLimits& limits) : place_(place), forked_(false) {
  if (place.rank == 0) {
    auto [mine, hubs] = socket_pair();
    socket_ = std::move(mine);
    hub_ = std::make_unique<Hub>(place.size, limits, true);
    hub_->add(0, std::move(hubs));
    if (place.size > 1) hub_->listen(listen_at(place.port, place.size));
    hub_thread_ = std::thread([this] { run_hub(*hub_, stop_hub_); });
  } else {
    socket_ = connect_to(place.host, place.port, kMeetSeconds);
    Message hello;
    hello.kind = MessageKind::hello;
    hello.rank = place.rank;
    hello.step = place.size;
    (void)send_message(socket_, hello);
  }
  begin();
}

RankLink::~RankLink() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  stop_hub_ = true;
  if (hub_thread_.joinable()) hub_thread_.join();
}

void RankLink::begin() {
  thread_ = std::thread([this] { run(); });
}

void RankLink::run_hub(Hub& hub, const std::atomic<bool>& stop) {
  bool told = false;
  while (!stop) {
    hub.round(kHubRoundMs);
    if (told) continue;
    if (const auto verdict = hub.failed()) {
      hub.end_all(*verdict);
      told = true;
    }
  }
  // The others' last messages, so that rank 0 does not seem to be gone before they have left.
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  while (!hub.roll().all_left() && !told && std::chrono::steady_clock::now() < until) {
    hub.round(kHubRoundMs);
  }
}

void RankLink::send(MessageKind kind, int code, const std::string& text) {
  Message message;
  message.kind = kind;
  message.rank = place_.rank;
  message.code = code;
  message.step = step_;
  message.say(text);
  const std::lock_guard lock(sending_);
  (void)send_message(socket_, message);
}

void RankLink::beat() {
  send(MessageKind::beat, static_cast<int>(phase_.load()), {});
  std::string lost;
  {
    const std::lock_guard lock(probing_);
    if (!told_lost_ && others_lost_) lost = others_lost_();
  }
  if (lost.empty()) return;
  told_lost_ = true;
  send(MessageKind::lost, 0, lost);
}

void RankLink::run() {
  auto next = std::chrono::steady_clock::now();
  while (!stop_) {
    if (std::chrono::steady_clock::now() >= next) {
      if (!left_) beat();
      next += std::chrono::milliseconds(kBeatMs);
    }
    pollfd ready{socket_.fd(), POLLIN, 0};
    (void)::poll(&ready, 1, kBeatMs / 5);
    Message message;
    MessageReader::State state = reader_.read(socket_, message);
    for (; state == MessageReader::State::message; state = reader_.read(socket_, message)) take(message);
    if (state != MessageReader::State::closed) continue;
    if (left_ || stop_ || failing_) return;
    end_process(kRankLostExitCode,
                forked_
                    ? std::string()
                    : fmt::format("rank {} of {}: rank 0, which watches the others, has ended or cannot be "
                                  "reached",
                                  place_.rank, place_.size));
  }
}

void RankLink::take(const Message& message) {
  if (message.kind == MessageKind::identity) {
    CommunicatorId id{};
    std::memcpy(id.data(), message.text.data(), id.size());
    const std::lock_guard lock(mutex_);
    id_ = id;
    changed_.notify_all();
    return;
  }
  if (message.kind != MessageKind::end || left_) return;
  {
    const std::lock_guard lock(mutex_);
    ended_by_hub_ = true;
    changed_.notify_all();
  }
  if (failing_) return;  // it ends by itself, with its own cause
  end_process(message.code, fmt::format("rank {} of {} ends: {}", place_.rank, place_.size, message.words()));
}

void RankLink::end_process(int exit_code, const std::string& line) const {
  (void)std::fflush(stdout);
  if (!line.empty()) std::fprintf(stderr, "gpt2_train: %s\n", line.c_str());
  (void)std::fflush(stderr);
  ::_exit(exit_code);
}

void RankLink::enter(RankPhase phase) {
  phase_ = phase;
  send(MessageKind::beat, static_cast<int>(phase), {});
}

void RankLink::publish(const CommunicatorId& id) {
  Message message;
  message.kind = MessageKind::identity;
  message.rank = place_.rank;
  std::memcpy(message.text.data(), id.data(), id.size());
  const std::lock_guard lock(sending_);
  (void)send_message(socket_, message);
}

CommunicatorId RankLink::published() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return id_.has_value(); });
  return *id_;
}

void RankLink::watch(std::function<std::string()> others_lost) {
  const std::lock_guard lock(probing_);
  others_lost_ = std::move(others_lost);
}

void RankLink::fail(int exit_code, const std::string& cause) {
  failing_ = true;
  send(MessageKind::failure, exit_code, cause);
  if (forked_) end_process(exit_code, {});
  {  // rank 0's hub tells the others meanwhile
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kVerdictWait, [&] { return ended_by_hub_; });
  }
  end_process(exit_code, fmt::format("rank {} of {}: {}", place_.rank, place_.size, cause));
}

void RankLink::leave() {
  watch({});
  phase_ = RankPhase::leaving;
  left_ = true;
  send(MessageKind::leave, 0, {});
}

}  // namespace ridgeline::gpt2
