// lots.h: what tests draw by lot: the same numbers with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

namespace ridgeline::testing {

/// Each call draws anew: of two in one expression it is not said which comes first, so that each has a statement of its
/// own.
class Lots {
 public:
  explicit Lots(std::uint64_t seed) : random_(seed) {}

  /// 0 up to n - 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  /// First and last among them.
  std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }
  /// True once in n times; of 0 never.
  bool one_in(std::int64_t n) { return n > 0 && below(n) == 0; }
  /// True so many times of a hundred.
  bool percent(std::int64_t share) { return below(100) < share; }
  /// 0 up to 1.
  double part() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  /// Mean 0, deviation 1, at most 3.
  double around() {
    double sum = -1.5;
    for (int i = 0; i < 3; ++i) sum += part();
    return 2 * sum;
  }
  template <typename List>
  const auto& of(const List& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(values))))];
  }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace ridgeline::testing
