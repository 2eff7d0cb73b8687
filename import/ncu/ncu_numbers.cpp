#include "ncu/ncu_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

// Blanks of three kinds and apostrophes separate thousands in some locales, and nothing else does.
constexpr std::array<std::string_view, 5> kOnlyThousands = {" ", "\xC2\xA0", "\xE2\x80\xAF", "'",
                                                            "\xE2\x80\x99"};
// Values of these are whole.
constexpr std::array<std::string_view, 8> kWhole = {"byte",   "block",           "thread", "sample",
                                                    "sector", "register/thread", "SM",     "byte/block"};

std::string without_thousands(std::string_view text) {
  std::string out(text);
  for (const std::string_view mark : kOnlyThousands)
    for (std::size_t at = out.find(mark); at != std::string::npos; at = out.find(mark))
      out.erase(at, mark.size());
  return out;
}

bool looks_numeric(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
         text.find_first_not_of("0123456789.,") == std::string_view::npos;
}

bool is_blank_or(std::string_view text, std::string_view word) {
  return text.empty() || text == word;
}

struct KnownUnit {
  std::string_view text;
  double factor;
  std::string_view unit;
};
constexpr std::array kTimes = {
    KnownUnit{"ns", 1, "ns"},        KnownUnit{"nsecond", 1, "ns"}, KnownUnit{"us", 1e3, "ns"},
    KnownUnit{"usecond", 1e3, "ns"}, KnownUnit{"ms", 1e6, "ns"},    KnownUnit{"msecond", 1e6, "ns"},
    KnownUnit{"s", 1e9, "ns"},       KnownUnit{"sec", 1e9, "ns"},   KnownUnit{"second", 1e9, "ns"}};
// Without a prefix; `unit` is the plural that captures keep.
constexpr std::array kBases = {KnownUnit{"byte", 1, "bytes"},
                               KnownUnit{"hz", 1, "Hz"},
                               KnownUnit{"Hz", 1, "Hz"},
                               KnownUnit{"cycle", 1, "cycles"},
                               KnownUnit{"inst", 1, "instructions"},
                               KnownUnit{"sector", 1, "sectors"},
                               KnownUnit{"request", 1, "requests"},
                               KnownUnit{"warp", 1, "warps"},
                               KnownUnit{"block", 1, "blocks"},
                               KnownUnit{"thread", 1, "threads"},
                               KnownUnit{"register", 1, "registers"},
                               KnownUnit{"sample", 1, "samples"},
                               KnownUnit{"SM", 1, "SMs"},
                               KnownUnit{"op", 1, "ops"},
                               KnownUnit{"W", 1, "W"},
                               KnownUnit{"C", 1, "C"}};

double prefix_factor(char prefix) {
  switch (prefix) {
    case 'K':
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    case 'P':
      return 1e15;
    default:
      return 0;
  }
}

std::optional<ScaledUnit> simple_unit(std::string_view text) {
  const auto in = [&](const auto& table, std::string_view name) {
    return std::find_if(table.begin(), table.end(), [&](const KnownUnit& unit) { return unit.text == name; });
  };
  if (const auto time = in(kTimes, text); time != kTimes.end())
    return ScaledUnit{time->factor, std::string(time->unit)};
  if (const auto base = in(kBases, text); base != kBases.end())
    return ScaledUnit{base->factor, std::string(base->unit)};
  if (text.size() < 2) return std::nullopt;
  const double factor = prefix_factor(text.front());
  const auto base = in(kBases, text.substr(1));
  if (factor == 0 || base == kBases.end()) return std::nullopt;
  return ScaledUnit{factor, std::string(base->unit)};
}

}  // namespace

void DecimalMarks::say(DecimalMark mark, std::string_view text) {
  std::string& first = mark == DecimalMark::point ? point_ : comma_;
  if (first.empty()) first = one_line(text);
}

void DecimalMarks::see(std::string_view text, std::string_view unit) {
  const std::string plain = without_thousands(text);
  if (!looks_numeric(plain)) return;
  const auto points = std::count(plain.begin(), plain.end(), '.');
  const auto commas = std::count(plain.begin(), plain.end(), ',');
  if (points + commas == 0) return;
  if (points > 0 && commas > 0) {
    say(plain.rfind('.') > plain.rfind(',') ? DecimalMark::point : DecimalMark::comma, text);
    return;
  }
  const bool is_point = points > 0;
  const DecimalMark itself = is_point ? DecimalMark::point : DecimalMark::comma;
  const DecimalMark other = is_point ? DecimalMark::comma : DecimalMark::point;
  if (points + commas > 1) {  // thousands come several times
    say(other, text);
    return;
  }
  const std::size_t at = plain.find(is_point ? '.' : ',');
  const std::size_t sign = plain.front() == '-' || plain.front() == '+' ? 1 : 0;
  const bool grouped = plain.size() - at == 4 && at - sign <= 3 && plain[sign] != '0';
  if (!grouped || unit == "%") {  // no share is of thousands of per cent
    say(itself, text);
  } else if (std::find(kWhole.begin(), kWhole.end(), unit) != kWhole.end()) {
    say(other, text);
  } else if (undecided_.empty()) {
    undecided_ = one_line(text);
  }
}

Result<DecimalMark> DecimalMarks::decide() const {
  constexpr std::string_view kSayIt =
      "say which it is with --ncu-locale point (1,234.5) or comma (1.234,5), or profile with LC_ALL=C";
  if (!point_.empty() && !comma_.empty())
    return Failure{ErrorKind::corrupt,
                   fmt::format("'{}' has decimals after a point and '{}' after a comma: {}",
                               bounded_text(point_, 40), bounded_text(comma_, 40), kSayIt)};
  if (!comma_.empty()) return DecimalMark::comma;
  if (point_.empty() && !undecided_.empty())
    return Failure{ErrorKind::corrupt,
                   fmt::format("'{}' may be thousands or decimals, and no other value says which: {}",
                               bounded_text(undecided_, 40), kSayIt)};
  return DecimalMark::point;
}

std::optional<double> printed_number(std::string_view text, DecimalMark mark) {
  // Of a metric with instances the value comes first: "12 (3; 4; 5)".
  if (const std::size_t instances = text.find(" ("); instances != std::string_view::npos && instances > 0)
    text = text.substr(0, instances);
  std::string plain = without_thousands(text);
  std::erase(plain, mark == DecimalMark::point ? ',' : '.');
  std::replace(plain.begin(), plain.end(), ',', '.');
  std::string_view rest = plain;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ec != std::errc{} || read.ptr != rest.data() + rest.size() || rest.empty()) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<ScaledUnit> scaled_unit(std::string_view text) {
  if (is_blank_or(text, "(null)")) return ScaledUnit{};
  if (text == "%") return ScaledUnit{1, "percent"};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return simple_unit(text);
  const auto above = simple_unit(text.substr(0, slash));
  const auto below = simple_unit(text.substr(slash + 1));
  if (!above || !below) return std::nullopt;
  // Rates are kept a second.
  if (below->unit == "ns")
    return ScaledUnit{above->factor / below->factor * 1e9,
                      above->unit == "cycles" ? "Hz" : above->unit + "/s"};
  return ScaledUnit{above->factor / below->factor, fmt::format("{}/{}", above->unit, below->unit)};
}

}  // namespace ridgeline::import
