// error.h: the one exception type of Ridgeline and the Result of an expected outcome.
//
// An outcome a user can cause and recover from (no such file, not a capture, no data) is a Result<T>.
// A broken invariant or a failed call below us throws Error. Both carry a kind, which the command line
// maps to an exit code, and one line of text: what, where, what to do.
#pragma once

#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace ridgeline {

/// What went wrong, in the terms of the exit codes (docs/cli.md, "Exit codes").
enum class ErrorKind {
  usage,          // exit 2: the caller's arguments or configuration are wrong
  no_data,        // exit 3: nothing, or too little, to answer from
  environment,    // exit 4: machine, driver or permissions do not allow it
  not_a_capture,  // exit 3: the file is something else
  newer_capture,  // exit 3: written by a newer Ridgeline
  corrupt,        // exit 3: damaged or truncated file
  io,             // exit 4: cannot read or write
  cancelled,      // exit 5: the caller asked to stop; a verb that is stopped ends by its signal instead
  internal,       // exit 5: a bug of ours
};

/// Process exit code of an error kind: 2, 3, 4 or 5.
[[nodiscard]] int exit_code(ErrorKind kind) noexcept;

/// A failure described in one line. Value type; safe to copy between threads.
struct Failure {
  ErrorKind kind = ErrorKind::internal;
  std::string message;  // one line, no trailing newline or full stop needed
};

/// Thrown for broken invariants and failed calls. what() is "message (file:line)".
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message,
        std::source_location where = std::source_location::current());
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  /// The message without the source location, for people.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

/// Either a value or a Failure. Access the value only after checking ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT
  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// Throws Error of the failure's kind if there is no value.
  [[nodiscard]] T& value() & {
    require();
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& {
    require();
    return std::get<0>(state_);
  }
  [[nodiscard]] T&& value() && {
    require();
    return std::move(std::get<0>(state_));
  }
  [[nodiscard]] const Failure& failure() const { return std::get<1>(state_); }

 private:
  void require() const {
    if (!ok()) throw Error(failure().kind, failure().message);
  }
  std::variant<T, Failure> state_;
};

/// Result of an action without a value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT
  [[nodiscard]] bool ok() const noexcept { return !failure_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] const Failure& failure() const { return *failure_; }
  void value() const {
    if (failure_) throw Error(failure_->kind, failure_->message);
  }

 private:
  std::optional<Failure> failure_;
};

}  // namespace ridgeline
