// Writes a spool from many threads of somebody else's process.
//
// Lifecycle: 1. create() makes the file. 2. put(), intern() from any thread. 3. maintain() every 100 ms or so
// from one thread of the owner's: it readies room in advance, lets go of full segments and retries after a
// full disk.
// 4. Nothing: a Writer is never destroyed, since callbacks may come until the last instruction of the
// process, and the file needs no closing.
//
// Guarantees: no call throws; none waits on the disk but for mapping the next segment when maintain() came
// too late. When there is no room, records are counted in the file header and dropped; so they are once the
// program has closed the file's descriptor, whose number may be another file's then. After fork() the
// child's copy drops everything silently: the file belongs to the parent.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "ridgeline/spool/format.h"
#include "ridgeline/spool/lane.h"

namespace ridgeline::spool {

class Writer {
 public:
  struct Options {
    std::string directory;
    std::uint32_t pid = 0;
    std::int64_t start_ns = 0;
    std::string_view clock = kClockRealtime;
    std::string_view agent_version = "0";
    std::uint64_t limit_bytes = 16ull << 30;
  };
  struct Statistics {
    std::uint64_t records = 0;
    std::uint64_t records_lost = 0;
    std::uint64_t bytes_lost = 0;
    std::uint64_t strings_lost = 0;
  };

  /// Makes `<directory>/<pid>-<start_ns>.spool`. Null on failure, with one line in `error`. The object is
  /// leaked on purpose.
  [[nodiscard]] static Writer* create(const Options& options, std::string* error) noexcept;

  /// Stores a record; fills type and size of its header and keeps its flags. False if it was lost.
  template <typename T>
  bool put(T record) noexcept {
    static_assert(kTypeOf<T> != RecordType::none && sizeof(T) % 8 == 0);
    record.header.type = kTypeOf<T>;
    record.header.size_bytes = sizeof(T);
    return append(&record, sizeof(T), nullptr, 0);
  }
  /// The same with bytes after it (StringRecord and NvtxPayloadRecord carry their length themselves).
  template <typename T>
  bool put(T record, const void* bytes, std::uint32_t length_bytes) noexcept {
    record.header.type = kTypeOf<T>;
    record.header.size_bytes = static_cast<std::uint32_t>((sizeof(T) + length_bytes + 7) / 8 * 8);
    return append(&record, sizeof(T), bytes, length_bytes);
  }
  /// Stores a record that must not be lost to a full disk (messages, versions, the end): room for about 400
  /// of them is set aside in the first chunk; after that it is an ordinary put().
  template <typename T>
  bool put_reserved(T record) noexcept {
    record.header.type = kTypeOf<T>;
    record.header.size_bytes = sizeof(T);
    return append_reserved(&record, sizeof(T), nullptr, 0) || append(&record, sizeof(T), nullptr, 0);
  }

  /// The one CompletenessRecord of the file, in place: what is counted up there with atomic operations is right
  /// at every instant, however the process ends. Null after detach(), which must not count for the parent.
  CompletenessRecord* totals() noexcept {
    return detached_.load(std::memory_order_relaxed) ? nullptr : completeness_;
  }

  /// Sets them all at once; for fabricated spools.
  void put_completeness(const CompletenessRecord& record) noexcept;

  /// Id of a string, defining it at first sight. 0 for an empty string, or if the table of kMaxStrings is
  /// full. Strings are told apart by a 128-bit hash.
  StringId intern(std::string_view text) noexcept;
  /// The same; the definition goes to the reserved room.
  StringId intern_reserved(std::string_view text) noexcept;

  /// A lane that one thread fills alone, with what it stores often: no lock is taken, and nothing is copied. Its place
  /// may be taken by another one. Null if kOwnLanes are given out: put(), then.
  [[nodiscard]] Lane* own_lane() noexcept;
  /// Room for a record in it, type and size filled in and all else zero: commit() is owed, which stores it. Null: it is
  /// lost, and counted as that.
  template <typename T>
  [[nodiscard]] T* claim(Lane& own) noexcept {
    static_assert(kTypeOf<T> != RecordType::none && sizeof(T) % 8 == 0);
    if (!own.has_room(sizeof(T))) [[unlikely]]
      if (!take_chunk_or_lose(own, sizeof(T))) return nullptr;
    T* const record = reinterpret_cast<T*>(own.end());
    record->header.type = kTypeOf<T>;
    record->header.size_bytes = sizeof(T);
    return record;
  }
  template <typename T>
  static void commit(Lane& own) noexcept {
    own.store(sizeof(T));
  }

  void maintain() noexcept;
  /// In a forked child: from now on everything is dropped. Async-signal-safe.
  void detach() noexcept {
    detached_.store(true, std::memory_order_relaxed);
    for (Lane& lane : own_lanes_) lane.chunk = nullptr;  // its threads do not look at `detached_` each time
  }

  Statistics statistics() const noexcept;
  const std::string& path() const noexcept { return path_; }

  static constexpr std::uint32_t kLanes = 16, kOwnLanes = 64;
  static constexpr std::uint32_t kSegmentChunks = 64;  // 4 MiB
  static constexpr std::uint32_t kMaxStrings = 1u << 17;

 private:
  struct StringSlot {
    std::uint64_t hash_low, hash_high;
    StringId id;
  };

  Writer() = default;
  bool append(const void* record, std::uint32_t record_bytes, const void* tail,
              std::uint32_t tail_bytes) noexcept;
  bool append_reserved(const void* record, std::uint32_t record_bytes, const void* tail,
                       std::uint32_t tail_bytes) noexcept;
  static void store(Lane& lane, const void* record, std::uint32_t record_bytes, const void* tail,
                    std::uint32_t tail_bytes) noexcept;
  bool take_chunk(Lane& lane) noexcept;
  [[gnu::cold]] bool take_chunk_or_lose(Lane& own, std::uint32_t record_bytes) noexcept;
  std::uint64_t reserve_range() noexcept;
  void return_range(std::uint64_t offset) noexcept;
  Segment* map_segment(std::uint64_t offset) noexcept;
  bool has_own_file() noexcept;
  StringId intern_into(std::string_view text, bool reserved) noexcept;
  void count_lost(std::uint64_t bytes) noexcept;
  Lane& lock_lane() noexcept;

  int file_ = -1;
  dev_t device_ = 0;  // of the file that was created
  ino_t inode_ = 0;
  std::atomic<bool> file_lost_{false};  // the descriptor is another file's: it is not grown any more
  std::string path_;
  std::uint64_t limit_bytes_ = 0;
  FileHeader* header_ = nullptr;  // mapped
  Lane lanes_[kLanes];
  Lane own_lanes_[kOwnLanes];
  std::atomic<std::uint32_t> own_lanes_given_{0};
  Lane reserved_;
  CompletenessRecord* completeness_ = nullptr;  // mapped
  std::atomic<bool> detached_{false};

  std::atomic_flag growth_lock_ = ATOMIC_FLAG_INIT;
  Segment* current_ = nullptr;  // guarded by growth_lock_, as are the next three
  Segment* spare_ = nullptr;
  Segment* full_segments_ = nullptr;
  std::uint64_t file_bytes_ = 0;
  std::atomic<bool> no_room_{false};  // set when growing failed; maintain() clears it to try again

  std::atomic_flag string_lock_ = ATOMIC_FLAG_INIT;
  StringSlot* strings_ = nullptr;  // open addressing, 2 * kMaxStrings slots
  std::uint32_t string_count_ = 0;

  std::atomic<std::uint64_t> strings_lost_{0};
};

}  // namespace ridgeline::spool
