// Reads a spool, whole or damaged. Used by the launcher's importer and by tests.
//
// Lifecycle: open() checks the file header and makes one pass that collects strings and damage; for_each()
// then visits records as often as wanted. Not thread-safe; one Reader a thread. Memory: the strings and one
// chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/spool/format.h"

namespace ridgeline::spool {

/// Damage found, in words for a person and in bytes. A spool of a killed process is *not* damaged by that
/// alone.
struct Diagnosis {
  std::uint64_t file_bytes = 0;
  std::uint64_t unusable_bytes = 0;  // bytes that claim to hold records and could not be read
  std::uint64_t records = 0;         // usable records, of known types and of unknown ones
  std::uint64_t unknown_records = 0;
  std::vector<std::string>
      findings;  // "chunk 3 at byte 200704: record of 7 bytes, smaller than its header" …
  bool intact() const { return unusable_bytes == 0 && findings.empty(); }
};

/// One record in place. `as<T>()` is null unless the record is a T and long enough for it.
class RecordView {
 public:
  RecordView(const std::byte* bytes, std::uint64_t offset) : bytes_(bytes), offset_(offset) {}
  const RecordHeader& header() const { return *reinterpret_cast<const RecordHeader*>(bytes_); }
  RecordType type() const { return header().type; }
  std::uint64_t offset() const { return offset_; }  // in the file
  template <typename T>
  const T* as() const {
    static_assert(kTypeOf<T> != RecordType::none, "not a spool record");
    return type() == kTypeOf<T> && header().size_bytes >= sizeof(T) ? reinterpret_cast<const T*>(bytes_)
                                                                    : nullptr;
  }
  /// The variable bytes after a StringRecord, NvtxPayloadRecord or PmSampleRecord; empty for other records or a
  /// bad length.
  std::string_view trailing_bytes() const;

 private:
  const std::byte* bytes_;  // 8-byte aligned
  std::uint64_t offset_;
};

/// A set of record types: what a visitor wants to see.
class RecordTypes {
 public:
  constexpr RecordTypes() = default;
  constexpr RecordTypes(std::initializer_list<RecordType> types) {
    for (const RecordType type : types) bits_ |= bit(type);
  }
  [[nodiscard]] static constexpr RecordTypes all() {
    RecordTypes types;
    types.bits_ = ~std::uint64_t{0};
    return types;
  }
  [[nodiscard]] constexpr RecordTypes without(RecordTypes others) const {
    RecordTypes types;
    types.bits_ = bits_ & ~others.bits_;
    return types;
  }
  [[nodiscard]] constexpr bool has(RecordType type) const { return (bits_ & bit(type)) != 0; }
  [[nodiscard]] constexpr bool overlaps(RecordTypes others) const { return (bits_ & others.bits_) != 0; }
  constexpr void add(RecordType type) { bits_ |= bit(type); }
  friend constexpr bool operator==(RecordTypes, RecordTypes) = default;

 private:
  /// Types that this release does not know share the last bit.
  static constexpr std::uint64_t bit(RecordType type) {
    return std::uint64_t{1} << (static_cast<unsigned>(type) < 63 ? static_cast<unsigned>(type) : 63);
  }
  std::uint64_t bits_ = 0;
};

class Reader {
 public:
  /// Opens and scans. On failure returns nothing and puts one line (what, where, what to do) into `error`.
  /// A file that is no spool, or of a newer version, is a failure; damage after a good header is not.
  [[nodiscard]] static std::optional<Reader> open(const std::string& path, std::string* error);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const FileHeader& file_header() const { return header_; }
  const Diagnosis& diagnosis() const { return diagnosis_; }
  const std::string& path() const { return path_; }

  /// Whether the file has become shorter since it was opened: what was counted may not be there any more.
  [[nodiscard]] bool has_shrunk() const;

  /// The bytes of a string; nothing if the id is 0 or its definition was lost.
  std::optional<std::string_view> string(StringId id) const;
  /// The same, with `fallback` for a missing one.
  std::string_view string_or(StringId id, std::string_view fallback) const;

  /// Calls `visit` for each usable record in file order, StringRecords included. The view dies with the call.
  /// Returns false and fills `error` if the file can no longer be read.
  bool for_each(const std::function<void(const RecordView&)>& visit, std::string* error = nullptr) const;
  /// Likewise for the records of these types; chunks that had none when the file was opened are not read.
  bool for_each(RecordTypes types, const std::function<void(const RecordView&)>& visit,
                std::string* error = nullptr) const;

 private:
  /// What open() finds out while it reads everything.
  struct Findings {
    Diagnosis* diagnosis = nullptr;
    std::vector<RecordTypes>* chunk_types = nullptr;
  };
  Reader() = default;
  bool scan(RecordTypes types, const std::function<void(const RecordView&)>& visit, const Findings& findings,
            std::string* error) const;

  int file_ = -1;
  std::string path_;
  FileHeader header_{};
  Diagnosis diagnosis_;
  std::vector<std::optional<std::string>> strings_;
  std::vector<RecordTypes> chunk_types_;  // by number of the chunk; what was written since is not there
};

/// The spool files (`*.spool`) of a directory, by name.
std::vector<std::string> list_spools(const std::string& directory);

}  // namespace ridgeline::spool
