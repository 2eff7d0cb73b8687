#include "ridgeline/spool/writer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "ridgeline/base/cancellation.h"
#include "ridgeline/base/spin_guard.h"

namespace ridgeline::spool {
namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{Writer::kSegmentChunks} * kChunkBytes;

struct Hash128 {
  std::uint64_t low, high;
};

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  return x;
}

// Two independent 64-bit multiplicative hashes over 8-byte words. Not meant to withstand an adversary: a
// program that forges a collision only confuses its own profile.
Hash128 hash_bytes(std::string_view s) {
  std::uint64_t a = 0x9e3779b97f4a7c15ull ^ s.size();
  std::uint64_t b = 0xc2b2ae3d27d4eb4full + s.size();
  std::size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {
    std::uint64_t w;
    std::memcpy(&w, s.data() + i, 8);
    a = mix(a ^ w);
    b = (b + w) * 0x2545f4914f6cdd1dull;
    b ^= b >> 29;
  }
  if (i < s.size()) {
    std::uint64_t w = 0;
    std::memcpy(&w, s.data() + i, s.size() - i);
    a = mix(a ^ w);
    b = (b + w) * 0x2545f4914f6cdd1dull;
    b ^= b >> 29;
  }
  return {a, mix(b)};
}

// Growing a file past RLIMIT_FSIZE raises SIGXFSZ, which would kill the program: look first.
bool within_file_size_limit(std::uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return true;
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

// Where a program's own descriptors are seldom: one that closes all it does not know leaves this one alone,
// perhaps, and the lowest free number, which the program may count on, stays free. The same descriptor where
// there is no room there.
int moved_out_of_the_way(int file) {
  constexpr int kHigh = 512;
  rlimit limit{};
  int from = kHigh;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= kHigh)
    from = static_cast<int>(limit.rlim_cur / 2);
  const int high = fcntl(file, F_DUPFD_CLOEXEC, from);
  if (high < 0) return file;
  close(file);
  return high;
}

}  // namespace

Writer* Writer::create(const Options& options, std::string* error) noexcept {
  try {
    auto fail = [&](const std::string& path, const char* what, int code, const char* remedy) -> Writer* {
      if (error != nullptr)
        *error = "cannot " + std::string(what) + " " + path + ": " + std::strerror(code) + remedy;
      return nullptr;
    };
    const std::string path = options.directory + "/" + std::to_string(options.pid) + "-" +
                             std::to_string(options.start_ns) + ".spool";
    const int opened = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (opened < 0)
      return fail(path, "create the spool", errno, "; check that the directory exists and is writable");
    const int file = moved_out_of_the_way(opened);
    auto give_up = [&](const char* what, int code, const char* remedy) {
      close(file);
      unlink(path.c_str());
      return fail(path, what, code, remedy);
    };
    struct stat itself {};
    if (fstat(file, &itself) != 0) return give_up("look at the spool", errno, "");
    const std::uint64_t first_bytes = kFileHeaderBytes + kSegmentBytes;
    if (!within_file_size_limit(first_bytes))
      return give_up("grow the spool", EFBIG, "; raise the limit (ulimit -f)");
    // Blocks are allocated before they are mapped: writing to a mapped hole on a full disk would be a SIGBUS.
    if (const int code = posix_fallocate(file, 0, static_cast<off_t>(first_bytes)); code != 0)
      return give_up("allocate the spool", code, "; free some space or choose another directory");
    void* header = mmap(nullptr, kFileHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (header == MAP_FAILED) return give_up("map the spool", errno, "; choose a local directory");
    void* strings = mmap(nullptr, sizeof(StringSlot) * 2 * kMaxStrings, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (strings == MAP_FAILED) {
      const int code = errno;
      munmap(header, kFileHeaderBytes);
      return give_up("allocate the string table of", code, "; the process is out of memory");
    }

    auto* writer = new (std::nothrow) Writer();
    if (writer == nullptr) return give_up("allocate the writer of", ENOMEM, "; the process is out of memory");
    writer->file_ = file;
    writer->device_ = itself.st_dev;
    writer->inode_ = itself.st_ino;
    writer->path_ = path;
    writer->limit_bytes_ = std::max(options.limit_bytes, first_bytes);
    writer->strings_ = static_cast<StringSlot*>(strings);
    writer->header_ = static_cast<FileHeader*>(header);
    writer->file_bytes_ = kFileHeaderBytes;

    FileHeader& h = *writer->header_;
    h.version = kFormatVersion;
    h.header_bytes = kFileHeaderBytes;
    h.chunk_bytes = kChunkBytes;
    h.pid = options.pid;
    h.start_ns = options.start_ns;
    options.clock.copy(h.clock, sizeof h.clock - 1);
    options.agent_version.copy(h.agent_version, sizeof h.agent_version - 1);
    std::memcpy(h.magic, kMagic, sizeof kMagic);

    writer->current_ = writer->map_segment(writer->reserve_range());
    if (writer->current_ == nullptr || !writer->take_chunk(writer->reserved_)) {
      const int code = errno;
      munmap(header, kFileHeaderBytes);
      munmap(strings, sizeof(StringSlot) * 2 * kMaxStrings);
      delete writer;
      return give_up("map the spool", code, "; choose a local directory");
    }
    // Touch the first segment's pages now rather than in somebody's launch call.
    for (std::uint64_t at = kChunkBytes; at < kSegmentBytes; at += 4096)
      *reinterpret_cast<volatile std::byte*>(writer->current_->base + at) = std::byte{0};
    CompletenessRecord empty{};
    empty.header.type = RecordType::completeness;
    empty.header.size_bytes = sizeof empty;
    writer->completeness_ = reinterpret_cast<CompletenessRecord*>(
        reinterpret_cast<std::byte*>(writer->reserved_.chunk) + sizeof(ChunkHeader));
    writer->append_reserved(&empty, sizeof empty, nullptr, 0);
    return writer;
  } catch (...) {
    if (error != nullptr) error->clear();
    return nullptr;
  }
}

// The program may have closed the descriptor, and a file of its own may have the number since: that one must not be
// grown, nor written to.
bool Writer::has_own_file() noexcept {
  struct stat now {};
  if (!file_lost_.load(std::memory_order_relaxed) && fstat(file_, &now) == 0 && now.st_dev == device_ &&
      now.st_ino == inode_)
    return true;
  file_lost_.store(true, std::memory_order_relaxed);
  errno = EBADF;
  return false;
}

// Caller holds growth_lock_. The range was not mapped: it is the next one again, unless another was reserved
// since, when it stays a hole.
void Writer::return_range(std::uint64_t offset) noexcept {
  if (offset != 0 && file_bytes_ == offset + kSegmentBytes) file_bytes_ = offset;
}

// Caller holds growth_lock_, or is create(). A range that cannot be mapped afterwards stays a hole, which
// readers skip.
std::uint64_t Writer::reserve_range() noexcept {
  const std::uint64_t end = file_bytes_ + kSegmentBytes;
  if (end > limit_bytes_ || !within_file_size_limit(end)) {
    errno = EFBIG;
    return 0;
  }
  return std::exchange(file_bytes_, end);
}

Segment* Writer::map_segment(std::uint64_t offset) noexcept {
  if (offset == 0 || !has_own_file()) return nullptr;
  if (const int code = posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(kSegmentBytes));
      code != 0) {
    errno = code;
    return nullptr;
  }
  auto* segment = new (std::nothrow) Segment();
  if (segment == nullptr) return nullptr;
  void* base =
      mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(offset));
  if (base == MAP_FAILED) {
    delete segment;
    return nullptr;
  }
  if (!has_own_file()) {  // changed meanwhile: whose file was mapped is not known
    munmap(base, kSegmentBytes);
    delete segment;
    return nullptr;
  }
  segment->base = static_cast<std::byte*>(base);
  return segment;
}

bool Writer::take_chunk(Lane& lane) noexcept {
  if (lane.segment != nullptr) {
    lane.segment->sealed_chunks.fetch_add(1, std::memory_order_release);
    lane.segment = nullptr;
    lane.chunk = nullptr;
  }
  if (no_room_.load(std::memory_order_relaxed)) return false;
  const NoCancellation whole;  // allocating is a cancellation point
  const PatientSpinGuard guard(growth_lock_);
  if (!guard) return false;
  if (current_ == nullptr || current_->next_chunk == kSegmentChunks) {
    Segment* fresh = spare_;
    spare_ = nullptr;
    if (fresh == nullptr) {
      const std::uint64_t offset = reserve_range();
      fresh = map_segment(offset);
      if (fresh == nullptr) return_range(offset);
    }
    if (fresh == nullptr) {
      no_room_.store(true, std::memory_order_relaxed);
      return false;
    }
    if (current_ != nullptr) {
      current_->older = full_segments_;
      full_segments_ = current_;
    }
    current_ = fresh;
  }
  lane.segment = current_;
  lane.chunk =
      reinterpret_cast<ChunkHeader*>(current_->base + std::uint64_t{current_->next_chunk} * kChunkBytes);
  ++current_->next_chunk;
  lane.used_bytes = 0;
  lane.chunk->magic = kChunkMagic;
  return true;
}

void Writer::store(Lane& lane, const void* record, std::uint32_t record_bytes, const void* tail,
                   std::uint32_t tail_bytes) noexcept {
  std::byte* const to = lane.end();
  std::memcpy(to, record, record_bytes);
  if (tail_bytes > 0) std::memcpy(to + record_bytes, tail, tail_bytes);
  // The padding needs no store: chunks come zeroed and each byte is written once.
  lane.store((record_bytes + tail_bytes + 7) / 8 * 8);
}

Lane* Writer::own_lane() noexcept {
  const std::uint32_t number = own_lanes_given_.fetch_add(1, std::memory_order_relaxed);
  if (number < kOwnLanes) return &own_lanes_[number];
  own_lanes_given_.store(kOwnLanes, std::memory_order_relaxed);
  return nullptr;
}

bool Writer::take_chunk_or_lose(Lane& own, std::uint32_t record_bytes) noexcept {
  if (detached_.load(std::memory_order_relaxed)) return false;
  if (take_chunk(own)) return true;
  count_lost(record_bytes);
  return false;
}

Lane& Writer::lock_lane() noexcept {
  // A thread keeps to one lane while nobody else does; the stack's address tells threads apart without TLS.
  int here = 0;
  const auto start = static_cast<std::uint32_t>(mix(reinterpret_cast<std::uintptr_t>(&here) >> 20));
  for (std::uint32_t round = 0;; ++round) {
    Lane& lane = lanes_[(start + round) % kLanes];
    if (!lane.busy.test_and_set(std::memory_order_acquire)) return lane;
    if (round % kLanes == kLanes - 1) sched_yield();
  }
}

void Writer::count_lost(std::uint64_t bytes) noexcept {
  std::atomic_ref<std::uint64_t>(header_->records_lost).fetch_add(1, std::memory_order_relaxed);
  std::atomic_ref<std::uint64_t>(header_->bytes_lost).fetch_add(bytes, std::memory_order_relaxed);
}

bool Writer::append(const void* record, std::uint32_t record_bytes, const void* tail,
                    std::uint32_t tail_bytes) noexcept {
  if (detached_.load(std::memory_order_relaxed)) return false;
  const std::uint32_t size = (record_bytes + tail_bytes + 7) / 8 * 8;
  if (size > kChunkBytes - sizeof(ChunkHeader)) {
    count_lost(size);
    return false;
  }
  Lane& lane = lock_lane();
  const bool stored = lane.has_room(size) || take_chunk(lane);
  if (stored) store(lane, record, record_bytes, tail, tail_bytes);
  lane.busy.clear(std::memory_order_release);
  if (!stored) count_lost(size);
  return stored;
}

bool Writer::append_reserved(const void* record, std::uint32_t record_bytes, const void* tail,
                             std::uint32_t tail_bytes) noexcept {
  if (detached_.load(std::memory_order_relaxed)) return false;
  const std::uint32_t size = (record_bytes + tail_bytes + 7) / 8 * 8;
  const PatientSpinGuard guard(reserved_.busy);
  if (!guard || reserved_.used_bytes + size > kChunkBytes - sizeof(ChunkHeader)) return false;
  store(reserved_, record, record_bytes, tail, tail_bytes);
  return true;
}

void Writer::put_completeness(const CompletenessRecord& record) noexcept {
  CompletenessRecord* to = totals();
  if (to == nullptr) return;
  const RecordHeader header = to->header;
  *to = record;
  to->header = header;
}

StringId Writer::intern(std::string_view text) noexcept {
  return intern_into(text, false);
}
StringId Writer::intern_reserved(std::string_view text) noexcept {
  return intern_into(text, true);
}

StringId Writer::intern_into(std::string_view text, bool reserved) noexcept {
  if (text.empty() || detached_.load(std::memory_order_relaxed)) return 0;
  const Hash128 hash = hash_bytes(text);
  StringRecord record{};
  {
    const PatientSpinGuard guard(string_lock_);
    if (!guard) return 0;
    constexpr std::uint32_t kSlots = 2 * kMaxStrings;
    std::uint32_t at = static_cast<std::uint32_t>(hash.low) % kSlots;
    for (; strings_[at].id != 0; at = (at + 1) % kSlots)
      if (strings_[at].hash_low == hash.low && strings_[at].hash_high == hash.high) return strings_[at].id;
    if (string_count_ == kMaxStrings) {
      strings_lost_.fetch_add(1, std::memory_order_relaxed);
      return 0;
    }
    strings_[at] = {hash.low, hash.high, ++string_count_};
    record.id = string_count_;
  }
  std::string_view kept = text;
  if (kept.size() > kMaxStringBytes) {
    std::size_t end = kMaxStringBytes;  // not inside a character
    while (end > kMaxStringBytes - 4 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
    kept = kept.substr(0, end);
    record.header.flags = kStringCut;
  }
  record.length_bytes = static_cast<std::uint32_t>(kept.size());
  record.header.type = RecordType::string;
  record.header.size_bytes = static_cast<std::uint32_t>((sizeof record + kept.size() + 7) / 8 * 8);
  const auto length = static_cast<std::uint32_t>(kept.size());
  // Long strings would use the reserved room up.
  if (!(reserved && length <= 1024 && append_reserved(&record, sizeof record, kept.data(), length)))
    append(&record, sizeof record, kept.data(), length);
  return record.id;
}

void Writer::maintain() noexcept {
  if (detached_.load(std::memory_order_relaxed)) return;
  if (!file_lost_.load(std::memory_order_relaxed)) no_room_.store(false, std::memory_order_relaxed);
  std::uint64_t offset = 0;
  {
    const PatientSpinGuard guard(growth_lock_);
    if (guard && spare_ == nullptr && (current_ == nullptr || current_->next_chunk > kSegmentChunks / 2))
      offset = reserve_range();
  }
  // Allocating may wait for the disk: not under the lock that writers spin on.
  if (Segment* fresh = map_segment(offset); fresh != nullptr) {
    // Touch each page now rather than in somebody's launch call.
    for (std::uint64_t at = 0; at < kSegmentBytes; at += 4096)
      *reinterpret_cast<volatile std::byte*>(fresh->base + at) = std::byte{0};
    const SpinGuard guard(growth_lock_);
    spare_ = fresh;
  } else if (offset != 0) {
    const SpinGuard guard(growth_lock_);
    return_range(offset);
  }
  Segment* done = nullptr;
  if (const PatientSpinGuard guard(growth_lock_); guard) {
    for (Segment** link = &full_segments_; *link != nullptr;) {
      Segment* segment = *link;
      if (segment->sealed_chunks.load(std::memory_order_acquire) == kSegmentChunks) {
        *link = segment->older;
        segment->older = done;
        done = segment;
      } else {
        link = &segment->older;
      }
    }
  }
  while (done != nullptr) {
    Segment* older = done->older;
    munmap(done->base, kSegmentBytes);
    delete done;
    done = older;
  }
}

Writer::Statistics Writer::statistics() const noexcept {
  Statistics s;
  s.records = reserved_.records.load(std::memory_order_relaxed);
  for (const Lane& lane : lanes_) s.records += lane.records.load(std::memory_order_relaxed);
  for (const Lane& lane : own_lanes_) s.records += lane.records.load(std::memory_order_relaxed);
  s.records_lost = std::atomic_ref<std::uint64_t>(header_->records_lost).load(std::memory_order_relaxed);
  s.bytes_lost = std::atomic_ref<std::uint64_t>(header_->bytes_lost).load(std::memory_order_relaxed);
  s.strings_lost = strings_lost_.load(std::memory_order_relaxed);
  return s;
}

}  // namespace ridgeline::spool
