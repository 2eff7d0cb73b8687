#include "ridgeline/launch/duration.h"

#include <fmt/format.h>

#include <cmath>

#include "ridgeline/base/text.h"

namespace ridgeline::launch {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
// "ms" before "m": the longer name is tried first.
constexpr Unit kUnits[] = {{"h", 3'600'000}, {"ms", 1}, {"m", 60'000}, {"s", 1000}};
constexpr double kMaxMs = 366.0 * 24 * 3'600'000;

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto usage = [&](const char* what) {
    return Failure{ErrorKind::usage, fmt::format("\"{}\" {}: write a duration like 250ms, 30s, 5m or 1h30m",
                                                 one_line(text), what)};
  };
  double total_ms = 0;
  std::int64_t last_unit_ms = INT64_MAX;
  std::size_t at = 0;
  if (text.empty()) return usage("is empty");
  while (at < text.size()) {
    double number = 0;
    double place = 0;  // of the next decimal; 0: before the point
    bool digits = false;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '.' && place == 0) {
        place = 0.1;
      } else if (c >= '0' && c <= '9') {
        digits = true;
        number = place == 0 ? number * 10 + (c - '0') : number + place * (c - '0');
        if (place != 0) place /= 10;
      } else {
        break;
      }
    }
    if (!digits) return usage("is no duration");
    const Unit* unit = nullptr;
    for (const Unit& each : kUnits) {
      if (unit == nullptr && text.substr(at, each.name.size()) == each.name) unit = &each;
    }
    if (unit == nullptr)
      return usage(at == text.size() ? "lacks a unit" : "has a unit that is none of ms, s, m, min, h");
    if (unit->ms >= last_unit_ms) return usage("has its units out of order");
    last_unit_ms = unit->ms;
    // "min" is read as well, and never written.
    at += unit->name == "m" && text.substr(at, 3) == "min" ? 3 : unit->name.size();
    total_ms += number * static_cast<double>(unit->ms);
    if (total_ms > kMaxMs) return usage("is more than a year");
  }
  const auto ms = static_cast<std::int64_t>(std::llround(total_ms));
  if (ms < 1) return usage("is no time at all");
  return std::chrono::milliseconds(ms);
}

std::string duration_text(std::chrono::milliseconds duration) {
  std::int64_t left = duration.count();
  std::string line;
  for (const Unit& unit : {kUnits[0], kUnits[2], kUnits[3], kUnits[1]}) {
    if (left >= unit.ms) line += fmt::format("{}{}", left / unit.ms, unit.name);
    left %= unit.ms;
  }
  return line.empty() ? "0s" : line;
}

}  // namespace ridgeline::launch
