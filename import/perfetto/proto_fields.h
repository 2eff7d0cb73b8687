// proto_fields.h: the fields of a message in the wire format of Protocol Buffers, one after the other, without copies.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridgeline::import {

class ProtoFields {
 public:
  explicit ProtoFields(std::string_view message) : rest_(message) {}

  /// False at the end, or where the message is malformed.
  [[nodiscard]] bool next() {
    if (rest_.empty() || malformed_) return false;
    std::uint64_t tag = 0;
    if (!varint(&tag) || tag >> 3U == 0 || tag >> 3U > UINT32_MAX) return fail();
    field_ = static_cast<std::uint32_t>(tag >> 3U);
    number_ = 0;
    bytes_ = {};
    switch (tag & 7U) {
      case 0:
        return varint(&number_) || fail();
      case 1:
        return fixed(8) || fail();
      case 2: {
        std::uint64_t size = 0;
        if (!varint(&size) || size > rest_.size()) return fail();
        bytes_ = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(static_cast<std::size_t>(size));
        return true;
      }
      case 5:
        return fixed(4) || fail();
      default:  // groups, which nobody writes
        return fail();
    }
  }
  [[nodiscard]] std::uint32_t field() const { return field_; }
  /// Of a number; 0 of text.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::int64_t whole() const { return static_cast<std::int64_t>(number_); }
  /// Of text or a message; empty of a number.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  bool varint(std::uint64_t* into) {
    *into = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      *into |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80U) return true;
    }
    return false;
  }
  bool fixed(std::size_t size) {
    if (rest_.size() < size) return false;
    for (std::size_t i = 0; i < size; ++i)
      number_ |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(size);
    return true;
  }
  bool fail() {
    malformed_ = true;
    return false;
  }

  std::string_view rest_, bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  bool malformed_ = false;
};

}  // namespace ridgeline::import
