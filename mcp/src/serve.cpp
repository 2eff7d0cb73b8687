// serve.cpp: messages in, answers out, a line each; a request may be cancelled while it is worked on.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "message.h"
#include "ridgeline/mcp/server.h"

namespace ridgeline::mcp {
namespace {

constexpr std::size_t kMaxWaiting = 32;

struct Line {
  std::string text;
  bool too_long = false;
  std::string id;  ///< as JSON; "": none
};

// Lines of a descriptor; of one that is too long only that it was.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  std::optional<Line> next() {
    Line line;
    while (true) {
      for (; at_ < end_; ++at_) {
        if (buffer_[at_] == '\n') {
          ++at_;
          return line;
        }
        if (line.text.size() < kMaxRequestBytes) {
          line.text += buffer_[at_];
        } else {
          line.too_long = true;
        }
      }
      const ssize_t got = read(descriptor_, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return line.text.empty() ? std::nullopt : std::optional(std::move(line));
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
  }

 private:
  int descriptor_;
  std::array<char, 65536> buffer_{};
  std::size_t at_ = 0, end_ = 0;
};

// What waits to be answered, and what is being answered.
class Waiting {
 public:
  void add(Line line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.size() < kMaxWaiting || ended_; });
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  /// The next line, and what stops it; empty: there is none and will be none.
  std::optional<std::pair<Line, std::stop_token>> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !lines_.empty() || ended_; });
    if (lines_.empty()) return std::nullopt;
    Line line = std::move(lines_.front());
    lines_.pop_front();
    current_ = line.id;
    stop_ = std::stop_source();
    changed_.notify_all();
    return std::pair(std::move(line), stop_.get_token());
  }
  void cancel(const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (current_ == id) stop_.request_stop();
    lines_.erase(std::remove_if(lines_.begin(), lines_.end(), [&](const Line& l) { return l.id == id; }),
                 lines_.end());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;
  std::string current_;
  std::stop_source stop_;
  bool ended_ = false;
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// Fills in the line's id; returns the id of the request that it cancels, "" for none.
std::string look_at(Line& line) {
  if (line.too_long) return "";
  try {
    const Json message = parse_json(line.text);
    if (const Json id = id_of(message); !id.is_null()) line.id = one_line_json(id);
    const Message read = read_message(message);
    if (read.kind != Message::Kind::notification || read.method != "notifications/cancelled") return "";
    const auto cancelled = read.params.find("requestId");
    return cancelled == read.params.end() ? "" : one_line_json(*cancelled);
  } catch (const Refusal&) {
    return "";  // it is answered in its turn
  }
}

std::string answer_of(Server& server, const Line& line, const std::stop_token& stop) {
  if (line.too_long)
    return error_line(nullptr, kInvalidRequest,
                      "a message is at most " + std::to_string(kMaxRequestBytes) + " bytes");
  return server.answer(line.text, stop);
}

}  // namespace

void serve(const ServerOptions& options, int in, int out) {
  Server server(options);
  std::signal(SIGPIPE, SIG_IGN);  // a client that has gone away ends the writing
  Waiting waiting;
  std::jthread worker([&] {
    bool heard = true;
    while (auto next = waiting.take()) {
      const std::string line = heard ? answer_of(server, next->first, next->second) : "";
      if (!line.empty()) heard = write_all(out, line + "\n");
    }
  });
  Lines lines(in);
  while (auto line = lines.next()) {
    if (line->text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string cancelled = look_at(*line);
    if (!cancelled.empty()) waiting.cancel(cancelled);
    waiting.add(*std::move(line));
  }
  waiting.end();
}

}  // namespace ridgeline::mcp
