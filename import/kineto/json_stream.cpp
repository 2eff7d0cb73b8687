#include "kineto/json_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "ridgeline/base/error.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kChunkBytes = 1u << 20;
constexpr std::size_t kMaxEventBytes = 1u << 20;
constexpr std::size_t kMaxMemberBytes = 16u << 20;
constexpr std::size_t kMaxNamedMembers = 8;
constexpr std::int64_t kMaxUnclosed = 1000;  // each may cost a look at kMaxEventBytes

// Asked for nearly each byte of a trace.
[[gnu::always_inline]] inline bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Outside of strings these alone count.
constexpr std::array<bool, 256> kStructural = [] {
  std::array<bool, 256> table{};
  for (const char c : {'"', '{', '}', '[', ']'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

// The quote that ends a string that begins before `at`; `end` if there is none.
const char* closing_quote(const char* begin, const char* at, const char* end) {
  while (true) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (at == nullptr) return end;
    const char* back = at;
    while (back > begin && back[-1] == '\\') --back;
    if ((at - back) % 2 == 0) return at;
    ++at;
  }
}

}  // namespace

struct JsonStream::File {
  gzFile handle = nullptr;
  ~File() {
    if (handle != nullptr) (void)gzclose(handle);
  }
};

JsonStream::JsonStream(const std::string& path) : file_(std::make_unique<File>()) {
  file_->handle = gzopen(path.c_str(), "rb");
  if (file_->handle == nullptr)
    throw Error(ErrorKind::io, fmt::format("cannot be read: {}", std::strerror(errno)));
  (void)gzbuffer(file_->handle, 256 * 1024);
}

JsonStream::~JsonStream() = default;

std::uint64_t JsonStream::offset() const {
  const auto at = gzoffset(file_->handle);
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

// More bytes behind those that are there; what is before place_ goes.
bool JsonStream::fill() {
  if (losses_.damaged_gzip) return false;
  if (place_ > 0) {
    buffer_.erase(0, place_);
    place_ = 0;
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kChunkBytes);
  const int got = gzread(file_->handle, buffer_.data() + before, static_cast<unsigned>(kChunkBytes));
  buffer_.resize(before + static_cast<std::size_t>(std::max(got, 0)));
  if (got > 0) return true;
  int code = Z_OK;
  (void)gzerror(file_->handle, &code);
  if (code == Z_ERRNO) throw Error(ErrorKind::io, fmt::format("cannot be read: {}", std::strerror(errno)));
  losses_.damaged_gzip = code != Z_OK && code != Z_STREAM_END;
  return false;
}

char JsonStream::next() {
  while (true) {
    while (place_ < buffer_.size() && (is_blank(buffer_[place_]) || buffer_[place_] == ',')) ++place_;
    if (place_ < buffer_.size()) return buffer_[place_];
    if (!fill()) return 0;
  }
}

JsonStream::End JsonStream::find_end(std::size_t limit) {
  std::size_t i = 0;  // from place_ on
  int depth = 0;
  bool in_text = false;
  while (true) {
    const char* begin = buffer_.data() + place_;
    const char* end = buffer_.data() + buffer_.size();
    for (const char* at = begin + i; at < end;) {
      if (in_text) {
        at = closing_quote(begin, at, end);
        if (at == end) break;
        in_text = false;
        ++at;
        if (depth == 0) return length_ = static_cast<std::size_t>(at - begin), End::found;
        continue;
      }
      if (depth == 0 && at > begin && (*at == ',' || *at == '}' || *at == ']' || is_blank(*at)))
        return length_ = static_cast<std::size_t>(at - begin), End::found;  // a number or a word
      if (!kStructural[static_cast<unsigned char>(*at)]) {
        ++at;
        continue;
      }
      const char c = *at++;
      if (c == '"')
        in_text = true;
      else if (c == '{' || c == '[')
        ++depth;
      else if (--depth <= 0)
        return length_ = static_cast<std::size_t>(at - begin), End::found;
    }
    i = buffer_.size() - place_;
    if (i > limit) return End::too_long;
    if (!fill()) return End::cut;
  }
}

// From place_ on, the next object that looks like an event.
bool JsonStream::find_event() {
  constexpr std::size_t kEnough = 64;
  constexpr std::array<std::string_view, 5> kFirstKeys = {"\"ph\"", "\"name\"", "\"cat\"", "\"pid\"",
                                                          "\"ts\""};
  while (true) {
    const std::size_t brace = buffer_.find('{', place_);
    if (brace == std::string::npos) {
      place_ = buffer_.size();
      if (!fill()) return false;
      continue;
    }
    place_ = brace;
    if (buffer_.size() - place_ < kEnough && fill()) continue;
    std::size_t key = place_ + 1;
    while (key < buffer_.size() && is_blank(buffer_[key])) ++key;
    const std::string_view rest = std::string_view(buffer_).substr(key);
    if (std::any_of(kFirstKeys.begin(), kFirstKeys.end(),
                    [&](std::string_view first) { return rest.starts_with(first); }))
      return true;
    ++place_;
  }
}

void JsonStream::read_events(const OnEvent& on_event) {
  while (true) {
    const char c = next();
    if (c == 0) {
      losses_.cut = true;
      return;
    }
    if (c == ']') {
      ++place_;
      return;
    }
    bool unfinished = false;
    if (c == '{') {
      const End end = find_end(kMaxEventBytes);
      if (end == End::found && on_event(std::string_view(buffer_).substr(place_, length_))) {
        ++losses_.events;
        place_ += length_;
        continue;
      }
      if (end != End::found && ++unclosed_ > kMaxUnclosed) {
        losses_.given_up = losses_.cut = true;
        return;
      }
      unfinished = end == End::cut;
    }
    // Without an end it may be the last of a file that is cut, or have a quote that is not escaped: then others follow.
    ++place_;
    const bool more = find_event();
    if (more || !unfinished) ++losses_.malformed;
    if (!more) {
      losses_.cut = true;
      return;
    }
  }
}

bool JsonStream::read_member(const OnEvent& on_event, const OnMember& on_member, bool* events) {
  if (find_end(kMaxEventBytes) != End::found) return false;
  const std::string key = buffer_.substr(place_ + 1, length_ < 2 ? 0 : length_ - 2);
  place_ += length_;
  if (next() != ':') return false;
  ++place_;
  const char c = next();
  if (c == 0) return false;
  if (key == "traceEvents" && c == '[') {
    *events = true;
    ++place_;
    read_events(on_event);
    return !losses_.cut;
  }
  const End end = find_end(kMaxMemberBytes);
  if (losses_.members.size() < kMaxNamedMembers) losses_.members.push_back(key);
  losses_.long_member = end == End::too_long;
  if (end != End::found) return false;
  on_member(key, std::string_view(buffer_).substr(place_, length_));
  place_ += length_;
  return true;
}

bool JsonStream::read(const OnEvent& on_event, const OnMember& on_member) {
  bool events = false;
  if (next() != 0 && std::string_view(buffer_).substr(place_).starts_with("\xEF\xBB\xBF")) place_ += 3;
  const char first = next();
  if (first == '[') {
    events = true;
    ++place_;
    read_events(on_event);
  } else if (first == '{') {
    ++place_;
    while (true) {
      const char c = next();
      if (c == '}') break;
      if (c != '"' || !read_member(on_event, on_member, &events)) {
        losses_.cut = true;
        break;
      }
    }
  }
  losses_.file_bytes = offset();
  return events;
}

void JsonMembers::skip_blanks() {
  const char* at = at_;
  while (at < end_ && (is_blank(*at) || *at == ',')) ++at;
  at_ = at;
}

bool JsonMembers::fail() {
  malformed_ = true;
  return false;
}

bool JsonMembers::read_text(std::string_view* into) {
  const char* begin = at_ + 1;
  const char* close = begin <= end_ ? closing_quote(begin, begin, end_) : end_;
  if (close >= end_) return fail();
  *into = std::string_view(begin, static_cast<std::size_t>(close - begin));
  at_ = close + 1;
  return true;
}

bool JsonMembers::read_value() {
  is_text_ = at_ < end_ && *at_ == '"';
  if (is_text_) return read_text(&value_);
  const char* begin = at_;
  const char* at = at_;
  int depth = 0;
  for (; at < end_; ++at) {
    const char c = *at;
    if (depth == 0 && (c == ',' || c == '}' || is_blank(c))) break;
    if (c == '"') {
      at = closing_quote(at + 1, at + 1, end_);
      if (at >= end_) return fail();
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      ++at;
      break;
    }
  }
  at_ = at;
  value_ = std::string_view(begin, static_cast<std::size_t>(at_ - begin));
  return depth == 0 && !value_.empty() ? true : fail();
}

bool JsonMembers::next() {
  if (malformed_) return false;
  if (!begun_) {
    begun_ = true;
    if (at_ == end_ || *at_ != '{') return fail();
    ++at_;
  }
  skip_blanks();
  if (at_ == end_) return fail();
  if (*at_ == '}') return false;
  if (*at_ != '"' || !read_text(&key_)) return fail();
  skip_blanks();
  if (at_ == end_ || *at_ != ':') return fail();
  ++at_;
  skip_blanks();
  return read_value();
}

std::string json_text(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case 'r':
        text += '\r';
        break;
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'u': {
        unsigned code = 0;
        std::size_t digits = 0;
        for (; digits < 4 && i + 1 < raw.size() && std::isxdigit(static_cast<unsigned char>(raw[i + 1])) != 0;
             ++digits) {
          const char c = raw[++i];
          code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        if (code < 0x80) {
          text += static_cast<char>(code);
        } else if (code < 0x800) {
          text += static_cast<char>(0xC0 | code >> 6);
          text += static_cast<char>(0x80 | (code & 0x3F));
        } else {  // of a pair of surrogates the halves become U+FFFD each when the text is cleaned
          text += static_cast<char>(0xE0 | code >> 12);
          text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
          text += static_cast<char>(0x80 | (code & 0x3F));
        }
        break;
      }
      default:
        text += raw[i];
    }
  }
  return text;
}

}  // namespace ridgeline::import
