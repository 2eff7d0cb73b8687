// proto_writer.h: messages in the wire format of Protocol Buffers.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::exports {

/// One message. Fields are written in the order of the calls; a nested message is one that was written before.
class ProtoMessage {
 public:
  ProtoMessage& number(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  ProtoMessage& fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((value >> shift) & 0xffU);
    return *this;
  }
  ProtoMessage& real(std::uint32_t field, double value) {
    return fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void tag(std::uint32_t field, std::uint32_t kind) { varint((std::uint64_t{field} << 3U) | kind); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace ridgeline::exports
