#include "ridgeline/base/text.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/base/utf8.h"

namespace ridgeline {

std::string clean_text(std::string_view text) {
  constexpr char32_t kReplacement = 0xfffd;
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = at;
    const char32_t point = next_code_point(text, at);
    const bool offending = point == 0 || (point == kReplacement && at - first == 1);
    if (offending) {
      append_utf8(clean, kReplacement);
    } else {
      clean += text.substr(first, at - first);
    }
  }
  return clean;
}

std::string one_line(std::string_view text) {
  std::string line = clean_text(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string bounded_text(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  std::size_t end = max_bytes - std::min(max_bytes, kEllipsis.size());
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

std::string shell_quoted(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return clean_text(line);
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::string describe_exit(std::optional<int> exit_status, std::optional<int> exit_signal) {
  if (exit_signal) {
    const char* name = sigdescr_np(*exit_signal);
    return "killed by signal " + std::to_string(*exit_signal) + " (" + (name == nullptr ? "unknown" : name) +
           ")";
  }
  if (exit_status) return "exit status " + std::to_string(*exit_status);
  return "unknown end";
}

}  // namespace ridgeline
