// packet_stream.h: the packets of a Perfetto trace, one after the other, from files that may be packed or end early.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ridgeline::import {

class PacketStream {
 public:
  /// Throws Error(io).
  explicit PacketStream(const std::string& path);
  ~PacketStream();
  PacketStream(const PacketStream&) = delete;
  PacketStream& operator=(const PacketStream&) = delete;

  /// False at the end, and where the file ends inside a packet or what follows is none. Throws Error(io).
  [[nodiscard]] bool next();
  /// The one that next() found, until it is called again.
  [[nodiscard]] std::string_view packet() const { return packet_; }
  /// The file ends inside a packet, or what follows is none.
  [[nodiscard]] bool cut() const { return cut_; }
  [[nodiscard]] bool damaged_gzip() const { return damaged_gzip_; }
  /// Bytes of the file that have been read so far.
  [[nodiscard]] std::uint64_t offset() const;

 private:
  bool fill(std::size_t bytes);

  struct File;
  std::unique_ptr<File> file_;
  std::string buffer_;
  std::size_t place_ = 0;
  std::string_view packet_;
  bool cut_ = false, damaged_gzip_ = false, ended_ = false;
};

}  // namespace ridgeline::import
