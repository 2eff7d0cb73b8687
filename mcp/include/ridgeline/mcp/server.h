// server.h: a read-only server of the Model Context Protocol over captures: agents ask, one JSON message a line.
//
// Both eras of the protocol: with a handshake (initialize, up to 2025-11-25) and without (2026-07-28, a version in each
// request). Nothing outside the root is read, nothing is written, and no request ends the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace ridgeline::mcp {

struct ServerOptions {
  std::string root = ".";                        ///< captures below it may be read
  std::chrono::milliseconds time_limit{20'000};  ///< of one call
};

/// A line is no longer; one that is gets an error and is not kept.
inline constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 20U;

class Server {
 public:
  /// Throws Error(io) if the root is no folder.
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The answer to one message, without a line's end; "": none is due (a notification, a cancelled request).
  /// Never throws for what a message holds.
  [[nodiscard]] std::string answer(std::string_view message, const std::stop_token& stop = {});

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Serves until the input ends: messages of `in`, answers to `out`, both file descriptors.
void serve(const ServerOptions& options, int in, int out);

}  // namespace ridgeline::mcp
