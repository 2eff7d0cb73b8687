#include "ridgeline/spool/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace ridgeline::spool {
namespace {

constexpr std::size_t kMaxFindings = 50;
constexpr std::uint32_t kChunkRoom = kChunkBytes - sizeof(ChunkHeader);

// Least size of a record of a known type; 0 for an unknown type.
std::uint32_t min_size(RecordType type) {
  switch (type) {
    case RecordType::string:
      return sizeof(StringRecord);
    case RecordType::process:
      return sizeof(ProcessRecord);
    case RecordType::version:
      return sizeof(VersionRecord);
    case RecordType::device:
      return sizeof(DeviceRecord);
    case RecordType::context:
      return sizeof(ContextRecord);
    case RecordType::thread:
      return sizeof(ThreadRecord);
    case RecordType::clock_pair:
      return sizeof(ClockPairRecord);
    case RecordType::kernel_function:
      return sizeof(KernelFunctionRecord);
    case RecordType::kernel:
      return sizeof(KernelRecord);
    case RecordType::launch:
      return sizeof(LaunchRecord);
    case RecordType::memcpy:
      return sizeof(MemcpyRecord);
    case RecordType::memset:
      return sizeof(MemsetRecord);
    case RecordType::nvtx_path:
      return sizeof(NvtxPathRecord);
    case RecordType::nvtx_range:
      return sizeof(NvtxRangeRecord);
    case RecordType::nvtx_payload:
      return sizeof(NvtxPayloadRecord);
    case RecordType::collective_detail:
      return sizeof(CollectiveDetailRecord);
    case RecordType::step_start:
      return sizeof(StepStartRecord);
    case RecordType::step_end:
      return sizeof(StepEndRecord);
    case RecordType::intervention:
      return sizeof(InterventionRecord);
    case RecordType::delay:
      return sizeof(DelayRecord);
    case RecordType::step_block:
      return sizeof(StepBlockRecord);
    case RecordType::metric:
      return sizeof(MetricRecord);
    case RecordType::counter_config:
      return sizeof(CounterConfigRecord);
    case RecordType::counter_config_metric:
      return sizeof(CounterConfigMetricRecord);
    case RecordType::counter_value:
      return sizeof(CounterValueRecord);
    case RecordType::counter_step:
      return sizeof(CounterStepRecord);
    case RecordType::clock_sample:
      return sizeof(ClockSampleRecord);
    case RecordType::overhead:
      return sizeof(OverheadRecord);
    case RecordType::completeness:
      return sizeof(CompletenessRecord);
    case RecordType::message:
      return sizeof(MessageRecord);
    case RecordType::end:
      return sizeof(EndRecord);
    case RecordType::pm_window:
      return sizeof(PmWindowRecord);
    case RecordType::pm_metric:
      return sizeof(PmMetricRecord);
    case RecordType::pm_sample:
      return sizeof(PmSampleRecord);
    case RecordType::graph_counter_value:
      return sizeof(GraphCounterValueRecord);
    case RecordType::replay_exclusion:
      return sizeof(ReplayExclusionRecord);
    case RecordType::recording_window:
      return sizeof(RecordingWindowRecord);
    case RecordType::stall_sample:
      return sizeof(StallSampleRecord);
    case RecordType::source_line:
      return sizeof(SourceLineRecord);
    case RecordType::stall_window:
      return sizeof(StallWindowRecord);
    case RecordType::synchronisation:
      return sizeof(SynchronisationRecord);
    case RecordType::stream:
      return sizeof(StreamRecord);
    case RecordType::stream_call:
      return sizeof(StreamCallRecord);
    case RecordType::graph_node:
      return sizeof(GraphNodeRecord);
    case RecordType::graph_node_clone:
      return sizeof(GraphNodeCloneRecord);
    case RecordType::graph_edge:
      return sizeof(GraphEdgeRecord);
    case RecordType::memory_call:
      return sizeof(MemoryCallRecord);
    case RecordType::left_out:
      return sizeof(LeftOutRecord);
    case RecordType::none:
      break;
  }
  return 0;
}

// Reads up to `bytes` at `offset`; the count read, or -1 with errno set.
std::int64_t read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t n =
        pread(file, static_cast<char*>(to) + got, bytes - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return static_cast<std::int64_t>(got);
}

}  // namespace

std::string_view RecordView::trailing_bytes() const {
  std::uint32_t length = 0;
  std::uint32_t fixed = 0;
  if (const auto* s = as<StringRecord>()) {
    length = s->length_bytes;
    fixed = sizeof(StringRecord);
  } else if (const auto* p = as<NvtxPayloadRecord>()) {
    length = p->length_bytes;
    fixed = sizeof(NvtxPayloadRecord);
  } else if (const auto* m = as<PmSampleRecord>()) {
    if (m->value_count > header().size_bytes / sizeof(double)) return {};
    length = m->value_count * static_cast<std::uint32_t>(sizeof(double));
    fixed = sizeof(PmSampleRecord);
  } else {
    return {};
  }
  if (length > header().size_bytes - fixed) return {};
  return {reinterpret_cast<const char*>(bytes_) + fixed, length};
}

Reader::Reader(Reader&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      header_(other.header_),
      diagnosis_(std::move(other.diagnosis_)),
      strings_(std::move(other.strings_)),
      chunk_types_(std::move(other.chunk_types_)) {}

Reader& Reader::operator=(Reader&& other) noexcept {
  if (this != &other) {
    if (file_ >= 0) close(file_);
    file_ = std::exchange(other.file_, -1);
    path_ = std::move(other.path_);
    header_ = other.header_;
    diagnosis_ = std::move(other.diagnosis_);
    strings_ = std::move(other.strings_);
    chunk_types_ = std::move(other.chunk_types_);
  }
  return *this;
}

Reader::~Reader() {
  if (file_ >= 0) close(file_);
}

std::optional<Reader> Reader::open(const std::string& path, std::string* error) {
  auto fail = [&](const std::string& what) -> std::optional<Reader> {
    if (error != nullptr) *error = path + ": " + what;
    return std::nullopt;
  };
  Reader reader;
  reader.path_ = path;
  reader.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would be waited for
  if (reader.file_ < 0) return fail(std::string("cannot open: ") + std::strerror(errno));
  struct stat status {};
  if (fstat(reader.file_, &status) != 0) return fail(std::string("cannot stat: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail("is not a regular file");
  const std::int64_t got = read_at(reader.file_, &reader.header_, sizeof(FileHeader), 0);
  if (got < 0) return fail(std::string("cannot read: ") + std::strerror(errno));
  if (got < static_cast<std::int64_t>(sizeof(FileHeader)))
    return fail("is " + std::to_string(got) + " bytes, too short for a spool; nothing was recorded");
  FileHeader& h = reader.header_;
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0) return fail("is not a spool (wrong first bytes)");
  if (h.version != kFormatVersion)
    return fail("is a spool of version " + std::to_string(h.version) + ", this program reads version " +
                std::to_string(kFormatVersion) + "; use the agent and the launcher of one release");
  if (h.header_bytes != kFileHeaderBytes || h.chunk_bytes != kChunkBytes)
    return fail("has a damaged header (block sizes)");
  h.clock[sizeof h.clock - 1] = 0;
  h.agent_version[sizeof h.agent_version - 1] = 0;

  Diagnosis& d = reader.diagnosis_;
  d.file_bytes = static_cast<std::uint64_t>(status.st_size);
  // A string record takes 24 bytes or more, so no honest id is larger.
  const std::uint64_t max_id = d.file_bytes / 24 + 1;
  std::string scan_error;
  const bool scanned = reader.scan(
      {RecordType::string},
      [&](const RecordView& record) {
        const auto* s = record.as<StringRecord>();
        if (s == nullptr) return;
        if (s->id == 0 || s->id > max_id || record.trailing_bytes().size() != s->length_bytes) {
          if (d.findings.size() < kMaxFindings)
            d.findings.push_back("byte " + std::to_string(record.offset()) +
                                 ": string with a bad id or length");
          d.unusable_bytes += s->header.size_bytes;
          return;
        }
        if (s->id >= reader.strings_.size()) reader.strings_.resize(s->id + 1);
        reader.strings_[s->id] = std::string(record.trailing_bytes());
      },
      {.diagnosis = &d, .chunk_types = &reader.chunk_types_}, &scan_error);
  if (!scanned) return fail(scan_error);
  return reader;
}

bool Reader::has_shrunk() const {
  struct stat status {};
  return fstat(file_, &status) == 0 && static_cast<std::uint64_t>(status.st_size) < diagnosis_.file_bytes;
}

std::optional<std::string_view> Reader::string(StringId id) const {
  if (id >= strings_.size() || !strings_[id]) return std::nullopt;
  return *strings_[id];
}

std::string_view Reader::string_or(StringId id, std::string_view fallback) const {
  return string(id).value_or(fallback);
}

bool Reader::for_each(const std::function<void(const RecordView&)>& visit, std::string* error) const {
  return scan(RecordTypes::all(), visit, {}, error);
}

bool Reader::for_each(RecordTypes types, const std::function<void(const RecordView&)>& visit,
                      std::string* error) const {
  return scan(types, visit, {}, error);
}

bool Reader::scan(RecordTypes types, const std::function<void(const RecordView&)>& visit,
                  const Findings& findings, std::string* error) const {
  Diagnosis* const diagnosis = findings.diagnosis;
  auto finding = [&](std::uint64_t chunk, std::uint64_t at, const std::string& what, std::uint64_t unusable) {
    if (diagnosis == nullptr) return;
    diagnosis->unusable_bytes += unusable;
    if (diagnosis->findings.size() < kMaxFindings)
      diagnosis->findings.push_back("chunk " + std::to_string(chunk) + " at byte " + std::to_string(at) +
                                    ": " + what);
  };
  alignas(8) static thread_local std::byte buffer[kChunkBytes];
  // A visitor may read another spool on this thread; each scan then needs its own buffer.
  static thread_local bool in_use = false;
  std::vector<std::uint64_t> own;
  std::byte* chunk = buffer;
  const bool nested = in_use;
  if (nested) {
    own.resize(kChunkBytes / 8);
    chunk = reinterpret_cast<std::byte*>(own.data());
  }
  struct Release {
    bool* flag;
    bool value;
    ~Release() { *flag = value; }
  } release{&in_use, nested};
  in_use = true;

  for (std::uint64_t number = 0;; ++number) {
    const std::uint64_t base = kFileHeaderBytes + number * kChunkBytes;
    if (findings.chunk_types != nullptr) {
      findings.chunk_types->emplace_back();
    } else if (types != RecordTypes::all() && number < chunk_types_.size() &&
               !chunk_types_[number].overlaps(types)) {
      continue;
    }
    const std::int64_t got = read_at(file_, chunk, kChunkBytes, base);
    if (got < 0) {
      if (error != nullptr)
        *error = path_ + ": cannot read at byte " + std::to_string(base) + ": " + std::strerror(errno);
      return false;
    }
    if (got == 0) {
      if (findings.chunk_types != nullptr) findings.chunk_types->pop_back();
      return true;
    }
    const auto available = static_cast<std::uint64_t>(got);
    if (available < sizeof(ChunkHeader)) {
      finding(number, base, "cut off after " + std::to_string(available) + " bytes", available);
      return true;
    }
    ChunkHeader head;
    std::memcpy(&head, chunk, sizeof head);
    if (head.magic == 0 && head.used_bytes == 0) continue;
    if (head.magic != kChunkMagic) {
      finding(number, base, "not a chunk of records", available);
      continue;
    }
    std::uint64_t used = head.used_bytes;
    if (used > kChunkRoom || used % 8 != 0) {
      finding(number, base, "claims " + std::to_string(used) + " bytes of records, impossible", 0);
      used = std::min<std::uint64_t>(used / 8 * 8, kChunkRoom);
    }
    if (used > available - sizeof(ChunkHeader)) {
      const std::uint64_t missing = used - (available - sizeof(ChunkHeader));
      finding(number, base + available,
              "file ends, " + std::to_string(missing) + " bytes of records are missing", missing);
      used = available - sizeof(ChunkHeader);
    }
    for (std::uint64_t at = 0; at < used;) {
      const std::byte* bytes = chunk + sizeof(ChunkHeader) + at;
      const std::uint64_t offset = base + sizeof(ChunkHeader) + at;
      const std::uint64_t left = used - at;
      RecordHeader record;
      if (left < sizeof record) {
        finding(number, offset, "record header cut off", left);
        break;
      }
      std::memcpy(&record, bytes, sizeof record);
      if (record.type == RecordType::none || record.size_bytes < sizeof record ||
          record.size_bytes % 8 != 0) {
        finding(number, offset,
                "no valid record (type " + std::to_string(static_cast<int>(record.type)) + ", " +
                    std::to_string(record.size_bytes) + " bytes)",
                left);
        break;
      }
      if (record.size_bytes > left) {
        finding(
            number, offset,
            "record of " + std::to_string(record.size_bytes) + " bytes, " + std::to_string(left) + " left",
            left);
        break;
      }
      const std::uint32_t least = min_size(record.type);
      if (record.size_bytes < least) {
        finding(number, offset,
                "record of type " + std::to_string(static_cast<int>(record.type)) + " is too short",
                record.size_bytes);
      } else {
        if (diagnosis != nullptr) {
          ++diagnosis->records;
          if (least == 0) ++diagnosis->unknown_records;
        }
        if (findings.chunk_types != nullptr) findings.chunk_types->back().add(record.type);
        if (types.has(record.type)) visit(RecordView(bytes, offset));
      }
      at += record.size_bytes;
    }
  }
}

std::vector<std::string> list_spools(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(directory, code))
    if (entry.path().extension() == ".spool" && entry.is_regular_file(code))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace ridgeline::spool
