// text.h: text from other people's programs, made fit for a database, a terminal line and JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

/// Valid UTF-8 without zero bytes: every offending byte becomes U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

/// clean_text() with line breaks and tabs made blanks: fit for a message of one line.
[[nodiscard]] std::string one_line(std::string_view text);

/// Text of at most that many bytes; a longer one is cut between two characters and ends in "…".
[[nodiscard]] std::string bounded_text(std::string_view text, std::size_t max_bytes);

/// Words as a POSIX shell would need them typed; words of plain characters stay bare.
[[nodiscard]] std::string shell_quoted(const std::vector<std::string>& words);

/// The part after the last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);  // empty parts left out

/// How a process ended: "exit status 3", "killed by signal 9 (Killed)".
[[nodiscard]] std::string describe_exit(std::optional<int> exit_status, std::optional<int> exit_signal);

}  // namespace ridgeline
