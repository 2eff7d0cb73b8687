#include "ridgeline/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iterator>

namespace ridgeline {

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return kMissing;
  std::array<char, 384> buffer;  // 309 digits before the point, and 20 after it
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, std::clamp(decimals, 0, 20));
  if (error != std::errc()) return kMissing;
  std::string text(buffer.data(), end);
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string milliseconds(double ns) {
  return fixed(ns * 1e-6, 3);
}
std::string microseconds(double ns) {
  return fixed(ns * 1e-3, 1);
}
std::string megahertz(double hz) {
  return fixed(hz * 1e-6, 0);
}
std::string percent(double ratio, int decimals) {
  return fixed(ratio * 100.0, decimals);
}

std::string integer(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string with_minus_sign(std::string text) {
  if (text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9') text.replace(0, 1, "−");
  return text;
}

std::string time_text(double ns) {
  const double magnitude = std::fabs(ns);
  if (magnitude < 1e3) return with_minus_sign(fixed(ns, 0)) + " ns";
  if (magnitude < 1e6) return with_minus_sign(microseconds(ns)) + " µs";
  if (magnitude < 1e9) return with_minus_sign(milliseconds(ns)) + " ms";
  return with_minus_sign(fixed(ns * 1e-9, 2)) + " s";
}

namespace {

// "1.23 G" + unit: powers of 1000.
std::string scaled(double value, const char* unit, int decimals) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  while (std::fabs(value) >= 1000.0 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000.0;
    ++prefix;
  }
  return with_minus_sign(fixed(value, prefix == 0 ? 0 : decimals)) + " " + kPrefixes[prefix] + unit;
}

}  // namespace

std::string bytes_text(double bytes) {
  return scaled(bytes, "B", 2);
}
std::string bandwidth_text(double bytes_per_s) {
  return scaled(bytes_per_s, "B/s", 2);
}
std::string operations_text(double flops_per_s) {
  return scaled(flops_per_s, "FLOP/s", 1);
}
std::string clock_text(double hz) {
  return megahertz(hz) + " MHz";
}
std::string percent_text(double ratio, int decimals) {
  return with_minus_sign(percent(ratio, decimals)) + " %";
}

std::string counted(std::int64_t count, std::string_view noun, std::string_view plural) {
  std::string text = integer(count) + " ";
  if (count == 1) return text.append(noun);
  return plural.empty() ? text.append(noun) + "s" : text.append(plural);
}

std::string utc_text(std::int64_t unix_ns) {
  std::int64_t seconds = unix_ns / 1'000'000'000;
  if (unix_ns % 1'000'000'000 < 0) --seconds;
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return kMissing;
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d:%02d UTC", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text.data();
}

}  // namespace ridgeline
