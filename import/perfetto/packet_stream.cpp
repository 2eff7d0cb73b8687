#include "perfetto/packet_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ridgeline/base/error.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kReadBytes = 1U << 20U;
constexpr std::uint64_t kMaxPacketBytes = std::uint64_t{1} << 28U;  // one holds the names of a whole trace
constexpr char kPacketTag = 0x0a;                                   // of Trace.packet: field 1, with a length
constexpr std::size_t kMaxHeadBytes = 11;

}  // namespace

struct PacketStream::File {
  gzFile handle = nullptr;
  ~File() {
    if (handle != nullptr) (void)gzclose(handle);
  }
};

PacketStream::PacketStream(const std::string& path) : file_(std::make_unique<File>()) {
  file_->handle = gzopen(path.c_str(), "rb");
  if (file_->handle == nullptr)
    throw Error(ErrorKind::io, fmt::format("cannot be read: {}", std::strerror(errno)));
  (void)gzbuffer(file_->handle, 256 * 1024);
}

PacketStream::~PacketStream() = default;

std::uint64_t PacketStream::offset() const {
  const auto at = gzoffset(file_->handle);
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

// Whether there are so many bytes from place_ on; what is before it goes.
bool PacketStream::fill(std::size_t bytes) {
  while (buffer_.size() - place_ < bytes && !ended_) {
    buffer_.erase(0, place_);
    place_ = 0;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const int got = gzread(file_->handle, buffer_.data() + before, static_cast<unsigned>(kReadBytes));
    buffer_.resize(before + static_cast<std::size_t>(std::max(got, 0)));
    if (got > 0) continue;
    ended_ = true;
    int code = Z_OK;
    (void)gzerror(file_->handle, &code);
    if (code == Z_ERRNO) throw Error(ErrorKind::io, fmt::format("cannot be read: {}", std::strerror(errno)));
    damaged_gzip_ = code != Z_OK && code != Z_STREAM_END;
  }
  return buffer_.size() - place_ >= bytes;
}

bool PacketStream::next() {
  if (cut_) return false;
  if (!fill(1)) return false;
  (void)fill(kMaxHeadBytes);
  std::size_t head = 1;
  std::uint64_t size = 0;
  bool whole = false;
  for (unsigned shift = 0; shift < 63 && place_ + head < buffer_.size() && !whole; shift += 7) {
    const auto byte = static_cast<unsigned char>(buffer_[place_ + head++]);
    size |= std::uint64_t{byte & 0x7fU} << shift;
    whole = byte < 0x80U;
  }
  if (buffer_[place_] != kPacketTag || !whole || size > kMaxPacketBytes ||
      !fill(head + static_cast<std::size_t>(size))) {
    cut_ = true;
    return false;
  }
  packet_ = std::string_view(buffer_).substr(place_ + head, static_cast<std::size_t>(size));
  place_ += head + static_cast<std::size_t>(size);
  return true;
}

}  // namespace ridgeline::import
