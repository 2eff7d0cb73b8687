// ncu_numbers.h: numbers as Nsight Compute prints them: with separators of thousands, by the user's locale, in units
// that it scales as it likes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/base/error.h"

namespace ridgeline::import {

/// The mark before the decimals; the other one separates thousands.
enum class DecimalMark : std::uint8_t { point, comma };

/// Decides the mark for a file, from all its numbers: one alone may say nothing, as 117.344 for 117,344 ns.
class DecimalMarks {
 public:
  /// `text`: a value as printed; what is no number says nothing. `unit`: as printed.
  void see(std::string_view text, std::string_view unit);
  /// The point where no number has a mark. Failures: corrupt (values contradict each other, or none of those with a
  /// mark says which it is).
  [[nodiscard]] Result<DecimalMark> decide() const;

 private:
  void say(DecimalMark mark, std::string_view text);
  std::string point_, comma_;  // the first value that says so; "": none does
  std::string undecided_;      // the first that has a mark and says nothing
};

/// Separators of thousands, blanks and apostrophes aside. Empty: it is no number.
[[nodiscard]] std::optional<double> printed_number(std::string_view text, DecimalMark mark);

/// What a value of a unit comes to in the unit that captures keep.
struct ScaledUnit {
  double factor = 1;
  std::string unit;  ///< "ns", "bytes", "bytes/s", "Hz", "cycles", "percent", …; "": none
};
/// Of "Kbyte/second", "usecond", "cycle/nsecond", "%". Prefixes are powers of 1000. Empty: not known.
[[nodiscard]] std::optional<ScaledUnit> scaled_unit(std::string_view text);

}  // namespace ridgeline::import
