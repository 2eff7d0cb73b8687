#include "gpt2/ranks/hub.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>

namespace ridgeline::gpt2 {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Hub::Hub(int size, const RollLimits& limits, bool closed_means_ended)
    : closed_means_ended_(closed_means_ended), roll_(size, limits, steady_seconds()) {}

void Hub::add(int rank, Socket socket) {
  auto peer = std::make_unique<Peer>();
  peer->rank = rank;
  peer->socket = std::move(socket);
  peers_.push_back(std::move(peer));
}

void Hub::listen(Socket listener) {
  listener_ = std::move(listener);
}

void Hub::round(int timeout_ms, int wake_fd) {
  std::vector<pollfd> waits;
  for (const auto& peer : peers_) waits.push_back({peer->socket.fd(), POLLIN, 0});
  if (listener_.open()) waits.push_back({listener_.fd(), POLLIN, 0});
  if (wake_fd >= 0) waits.push_back({wake_fd, POLLIN, 0});
  (void)::poll(waits.data(), waits.size(), timeout_ms);
  while (listener_.open()) {
    Socket socket = accept_from(listener_);
    if (!socket.open()) break;
    add(-1, std::move(socket));
  }
  for (const auto& peer : peers_) read(*peer);
  std::erase_if(peers_, [](const auto& peer) { return !peer->socket.open(); });
}

void Hub::read(Peer& peer) {
  Message message;
  MessageReader::State state = peer.reader.read(peer.socket, message);
  for (; state == MessageReader::State::message; state = peer.reader.read(peer.socket, message)) {
    if (peer.rank < 0) {
      greet(peer, message);
      if (!peer.socket.open()) return;
    } else {
      take(peer, message);
    }
  }
  if (state != MessageReader::State::closed) return;
  if (closed_means_ended_ && peer.rank >= 0) {
    roll_.ended(peer.rank, "has ended or cannot be reached", steady_seconds());
  }
  peer.socket.close();
}

// A stranger is shut out; a rank that cannot be of this job ends it.
void Hub::greet(Peer& peer, const Message& message) {
  const bool taken = std::any_of(peers_.begin(), peers_.end(),
                                 [&](const auto& other) { return other->rank == message.rank; });
  if (message.kind != MessageKind::hello || message.rank < 0) {
    peer.socket.close();
    return;
  }
  if (message.step != roll_.size() || message.rank >= roll_.size() || taken) {
    const std::string fault =
        taken ? fmt::format("a second process says that it is rank {}", message.rank)
              : fmt::format("a process says that it is rank {} of {}", message.rank, message.step);
    roll_.failed(0, kRankLostExitCode, fault + ": see the variables of the launcher", steady_seconds());
    peer.socket.close();
    return;
  }
  peer.rank = message.rank;
  roll_.beat(peer.rank, RankPhase::starting, -1, steady_seconds());
  if (identity_) (void)send_message(peer.socket, *identity_);
}

void Hub::take(Peer& peer, const Message& message) {
  const double now_s = steady_seconds();
  switch (message.kind) {
    case MessageKind::beat:
      roll_.beat(peer.rank, message.phase(), message.step, now_s);
      break;
    case MessageKind::failure:
      roll_.failed(peer.rank, message.code, message.words(), now_s);
      break;
    case MessageKind::lost:
      roll_.lost_others(peer.rank, message.words(), now_s);
      break;
    case MessageKind::leave:
      roll_.left(peer.rank);
      break;
    case MessageKind::identity:
      identity_ = message;
      share_identity();
      break;
    case MessageKind::hello:
    case MessageKind::end:
      break;
  }
}

void Hub::share_identity() {
  for (const auto& peer : peers_) {
    if (peer->rank > 0) (void)send_message(peer->socket, *identity_);
  }
}

void Hub::end_all(const Verdict& verdict) {
  Message message;
  message.kind = MessageKind::end;
  message.rank = verdict.rank;
  message.code = verdict.exit_code;
  message.say(verdict.cause);
  // Rank 0 last: where the hub is a thread of rank 0's process, its answer ends that process, and with it
  // whatever the others have not been sent yet.
  for (const auto& peer : peers_) {
    if (peer->rank != 0) (void)send_message(peer->socket, message);
  }
  for (const auto& peer : peers_) {
    if (peer->rank == 0) (void)send_message(peer->socket, message);
  }
}

void Hub::close_all() {
  peers_.clear();
  listener_.close();
}

}  // namespace ridgeline::gpt2
