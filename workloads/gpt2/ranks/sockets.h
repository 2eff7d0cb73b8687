// sockets.h: stream sockets that carry messages: between processes of one host, and over TCP.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "gpt2/ranks/message.h"

namespace ridgeline::gpt2 {

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Socket() { close(); }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool open() const noexcept { return fd_ >= 0; }
  void close() noexcept;

 private:
  int fd_ = -1;
};

/// Two connected ends; not inherited by programs that a process starts. Throws std::runtime_error.
std::pair<Socket, Socket> socket_pair();

/// Listens at a port of every address of this host. Throws EnvironmentError when it is taken.
Socket listen_at(int port, int backlog);
/// Waits for nobody: a socket that is not open when none has come.
Socket accept_from(const Socket& listener);
/// Tries again until somebody listens there. Throws EnvironmentError after `deadline_s`.
Socket connect_to(const std::string& host, int port, double deadline_s);
/// The port of a listening socket.
int port_of(const Socket& listener);

/// Sends all of it, waiting two seconds at most; false: the other end is gone or does not read.
bool send_message(const Socket& socket, const Message& message);

/// Puts together what comes in pieces.
class MessageReader {
 public:
  enum class State { message, nothing, closed };

  /// Never waits. closed: the other end is gone, or what it sent is no message.
  State read(const Socket& socket, Message& message);

 private:
  std::array<std::byte, sizeof(Message)> buffer_{};
  std::size_t have_ = 0;
};

}  // namespace ridgeline::gpt2
