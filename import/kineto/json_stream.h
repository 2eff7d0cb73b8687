// json_stream.h: the events of a trace in JSON, one after the other, from files that are larger than memory, end early
// or hold what no parser of whole documents takes: control characters, quotes that are not escaped, ", }".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::import {

/// What was not whole in a file.
struct JsonLosses {
  bool cut = false;           ///< it ends inside the document
  bool damaged_gzip = false;  ///< its packing ends early or is damaged
  bool long_member =
      false;              ///< a member that is no list of events has over 16 MiB: what follows was not read
  bool given_up = false;  ///< damaged over and over: what follows was not read
  std::int64_t malformed = 0;        ///< events left out
  std::int64_t events = 0;           ///< that were whole
  std::uint64_t file_bytes = 0;      ///< that were read, packed as they are
  std::vector<std::string> members;  ///< names of the first members beside the events
};

class JsonStream {
 public:
  /// `text`: an object of the array of events, braces included; valid during the call. False: it is malformed.
  using OnEvent = std::function<bool(std::string_view text)>;
  /// A member of the document beside the events, with its value as it stands. Values over 16 MiB are left out.
  using OnMember = std::function<void(std::string_view key, std::string_view value)>;

  /// Throws Error(io).
  explicit JsonStream(const std::string& path);
  ~JsonStream();
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  /// Reads all of it. False: it has no array of events.
  [[nodiscard]] bool read(const OnEvent& on_event, const OnMember& on_member);
  [[nodiscard]] const JsonLosses& losses() const { return losses_; }
  /// Bytes of the file that have been read so far.
  [[nodiscard]] std::uint64_t offset() const;

 private:
  enum class End { found, cut, too_long };
  bool fill();
  /// The next byte that is neither blank nor comma; 0 at the end.
  char next();
  /// Of the value at place_: `length_` is its bytes then.
  End find_end(std::size_t limit);
  void read_events(const OnEvent& on_event);
  [[nodiscard]] bool find_event();
  [[nodiscard]] bool read_member(const OnEvent& on_event, const OnMember& on_member, bool* events);

  struct File;
  std::unique_ptr<File> file_;
  std::string buffer_;
  std::size_t place_ = 0, length_ = 0;
  std::int64_t unclosed_ = 0;
  JsonLosses losses_;
};

/// Members of an object, one after the other, without copies.
class JsonMembers {
 public:
  /// `text`: an object, braces included.
  explicit JsonMembers(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}
  /// False at the end, or where it is malformed.
  [[nodiscard]] bool next();
  [[nodiscard]] bool malformed() const { return malformed_; }
  [[nodiscard]] std::string_view key() const { return key_; }
  /// As it stands; of a string what is between the quotes.
  [[nodiscard]] std::string_view value() const { return value_; }
  [[nodiscard]] bool is_text() const { return is_text_; }

 private:
  void skip_blanks();
  bool read_text(std::string_view* into);
  bool read_value();
  bool fail();

  const char* at_;
  const char* end_;
  std::string_view key_, value_;
  bool is_text_ = false, begun_ = false, malformed_ = false;
};

/// The text of a string of JSON, its escapes resolved.
[[nodiscard]] std::string json_text(std::string_view raw);

}  // namespace ridgeline::import
