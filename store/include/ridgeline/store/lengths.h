/// lengths.h: a list of lengths of time in as few bytes as they need. A merged job of a thousand ranks has ten million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace ridgeline::store {

/// In order; none is negative. Seven bits a byte, the lowest first.
class Lengths {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::int64_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::int64_t*;
    using reference = std::int64_t;

    Iterator() = default;
    explicit Iterator(const std::uint8_t* at) : at_(at) {}
    std::int64_t operator*() const {
      std::uint64_t value = 0;
      const std::uint8_t* byte = at_;
      for (unsigned shift = 0;; shift += 7, ++byte) {
        value |= static_cast<std::uint64_t>(*byte & 0x7FU) << shift;
        if ((*byte & 0x80U) == 0) return static_cast<std::int64_t>(value);
      }
    }
    Iterator& operator++() {
      while ((*at_++ & 0x80U) != 0) {
      }
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    const std::uint8_t* at_ = nullptr;
  };

  Lengths() = default;
  Lengths(std::initializer_list<std::int64_t> lengths) {
    for (const std::int64_t length : lengths) push_back(length);
  }

  /// Throws std::invalid_argument for a negative one.
  void push_back(std::int64_t length) {
    if (length < 0) throw std::invalid_argument("Lengths: a negative one");
    auto left = static_cast<std::uint64_t>(length);
    for (; left >= 0x80U; left >>= 7U) bytes_.push_back(static_cast<std::uint8_t>(left | 0x80U));
    bytes_.push_back(static_cast<std::uint8_t>(left));
  }
  /// Takes no more memory than it needs.
  void shrink_to_fit() { bytes_.shrink_to_fit(); }

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] Iterator begin() const { return Iterator(bytes_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }
  friend bool operator==(const Lengths&, const Lengths&) = default;

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace ridgeline::store
