#include "gpt2/ranks/sockets.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kSendTimeoutMs = 2000;

struct AddressFree {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

std::unique_ptr<addrinfo, AddressFree> addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (failed != 0) {
    throw EnvironmentError(
        fmt::format("rank 0's host {} is not known: {}: see MASTER_ADDR", host, ::gai_strerror(failed)));
  }
  return std::unique_ptr<addrinfo, AddressFree>(list);
}

void send_at_once(const Socket& socket) {
  const int on = 1;
  (void)::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

void Socket::close() noexcept {
  if (fd_ >= 0) (void)::close(fd_);
  fd_ = -1;
}

std::pair<Socket, Socket> socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error(fmt::format("socketpair failed: {}", std::strerror(errno)));
  }
  return {Socket(ends[0]), Socket(ends[1])};
}

Socket listen_at(int port, int backlog) {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  const auto* address = reinterpret_cast<const sockaddr*>(&six);
  socklen_t length = sizeof(six);
  sockaddr_in four{};
  const int off = 0;
  const int on = 1;
  if (socket.open()) {  // IPv4 too
    (void)::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  } else {  // a host without IPv6
    socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_ANY);
    four.sin_port = six.sin6_port;
    address = reinterpret_cast<const sockaddr*>(&four);
    length = sizeof(four);
  }
  if (socket.open()) (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (!socket.open() || ::bind(socket.fd(), address, length) != 0 || ::listen(socket.fd(), backlog) != 0) {
    throw EnvironmentError(
        fmt::format("rank 0 cannot wait for the others at port {}: {}: set RIDGELINE_PORT "
                    "to a free one in all ranks",
                    port, std::strerror(errno)));
  }
  return socket;
}

int port_of(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

Socket accept_from(const Socket& listener) {
  pollfd ready{listener.fd(), POLLIN, 0};
  if (::poll(&ready, 1, 0) <= 0) return {};
  Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.open()) send_at_once(socket);
  return socket;
}

Socket connect_to(const std::string& host, int port, double deadline_s) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(deadline_s);
  int reason = 0;
  do {
    const auto list = addresses_of(host, port);
    for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
      Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
      if (socket.open() && ::connect(socket.fd(), at->ai_addr, at->ai_addrlen) == 0) {
        send_at_once(socket);
        return socket;
      }
      reason = errno;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while (Clock::now() < until);
  throw EnvironmentError(
      fmt::format("rank 0 did not answer at {}:{} for {:.0f} s: {}: has it started, and are MASTER_ADDR and "
                  "RIDGELINE_PORT or MASTER_PORT the same in all ranks?",
                  host, port, deadline_s, std::strerror(reason)));
}

bool send_message(const Socket& socket, const Message& message) {
  const auto* data = reinterpret_cast<const char*>(&message);
  std::size_t sent = 0;
  while (sent < sizeof(message)) {
    const ssize_t some =
        ::send(socket.fd(), data + sent, sizeof(message) - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some > 0) {
      sent += static_cast<std::size_t>(some);
      continue;
    }
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd room{socket.fd(), POLLOUT, 0};
    if (::poll(&room, 1, kSendTimeoutMs) <= 0) return false;
  }
  return true;
}

MessageReader::State MessageReader::read(const Socket& socket, Message& message) {
  while (have_ < buffer_.size()) {
    const ssize_t some = ::recv(socket.fd(), buffer_.data() + have_, buffer_.size() - have_, MSG_DONTWAIT);
    if (some > 0) {
      have_ += static_cast<std::size_t>(some);
      continue;
    }
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::nothing;
    return State::closed;
  }
  have_ = 0;
  std::memcpy(&message, buffer_.data(), sizeof(message));
  return message.magic == Message::kMagic ? State::message : State::closed;
}

}  // namespace ridgeline::gpt2
