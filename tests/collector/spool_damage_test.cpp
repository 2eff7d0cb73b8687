// Reading files that are cut off, damaged or no spool at all: a diagnosis, never a crash, never a wrong
// record.
#include <random>
#include <set>

#include "spool_testing.h"

namespace ridgeline::spool {
namespace {

using testing::file_bytes;
using testing::kernel;
using testing::make_writer;
using testing::put_file;
using testing::TemporaryDirectory;

constexpr std::size_t kFirstDataChunk = kFileHeaderBytes + kChunkBytes;  // chunk 0 is the reserved one

class SpoolDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    Writer* writer = make_writer(dir_.path());
    writer->intern("a name");
    for (std::uint32_t i = 0; i < 3000; ++i) writer->put(kernel(i));  // about five chunks
    bytes_ = file_bytes(writer->path());
    path_ = dir_.path() + "/damaged.spool";
  }
  struct Read {
    bool opened = false;
    std::string error;
    Diagnosis diagnosis;
    std::vector<std::uint32_t> kernels;
  };
  Read read() {
    put_file(path_, bytes_);
    Read result;
    auto reader = Reader::open(path_, &result.error);
    result.opened = reader.has_value();
    if (!reader) return result;
    result.diagnosis = reader->diagnosis();
    reader->for_each([&](const RecordView& r) {
      if (auto* k = r.as<KernelRecord>()) result.kernels.push_back(k->correlation_id);
    });
    return result;
  }
  template <typename T>
  void poke(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  TemporaryDirectory dir_;
  std::vector<char> bytes_;
  std::string path_;
};

TEST_F(SpoolDamage, IntactFileHasNoFindings) {
  const Read r = read();
  EXPECT_TRUE(r.diagnosis.intact());
  EXPECT_EQ(r.kernels.size(), 3000u);
}

TEST_F(SpoolDamage, TruncationLosesOnlyTheTailAndSaysHowMuch) {
  const std::size_t cut = kFirstDataChunk + kChunkBytes + 5000;
  bytes_.resize(cut);
  const Read r = read();
  ASSERT_TRUE(r.opened) << r.error;
  ASSERT_FALSE(r.diagnosis.intact());
  EXPECT_GT(r.diagnosis.unusable_bytes, 0u);
  EXPECT_NE(r.diagnosis.findings[0].find("missing"), std::string::npos) << r.diagnosis.findings[0];
  const std::size_t expected =
      (kChunkBytes - 8 - 24) / sizeof(KernelRecord) + (5000 - 8) / sizeof(KernelRecord);
  EXPECT_EQ(r.kernels.size(), expected);
  for (std::uint32_t i = 0; i < r.kernels.size(); ++i) ASSERT_EQ(r.kernels[i], i);
}

// The last record of a full chunk lacks its last bytes; what an earlier chunk left in memory must not complete it.
TEST_F(SpoolDamage, ACutInsideAChunksLastRecordLosesThatRecord) {
  const std::size_t second = kFirstDataChunk + kChunkBytes;
  std::uint32_t used = 0;
  std::memcpy(&used, bytes_.data() + second + 4, sizeof used);
  bytes_.resize(second + sizeof(ChunkHeader) + used - 4);
  const Read r = read();
  ASSERT_EQ(r.diagnosis.findings.size(), 2u);
  EXPECT_NE(r.diagnosis.findings[0].find("file ends, 4 bytes"), std::string::npos) << r.diagnosis.findings[0];
  EXPECT_EQ(r.diagnosis.unusable_bytes, sizeof(KernelRecord)) << "4 are missing, the rest is of no use";
  const std::size_t first = (kChunkBytes - sizeof(ChunkHeader) - 24) / sizeof(KernelRecord);
  EXPECT_EQ(r.kernels.size(), first + used / sizeof(KernelRecord) - 1);
}

// A count of samples whose size in bytes wraps around in 32 bits must not pass for a small one.
TEST_F(SpoolDamage, AWildSampleCountYieldsNoValues) {
  TemporaryDirectory directory;
  Writer* writer = make_writer(directory.path());
  PmSampleRecord sample{};
  const double values[] = {1.0, 2.0};
  sample.value_count = 2;
  writer->put(sample, values, sizeof values);
  bytes_ = file_bytes(writer->path());
  const auto values_read = [&] {
    std::size_t length = 0;
    put_file(path_, bytes_);
    std::string error;
    auto reader = Reader::open(path_, &error);
    EXPECT_TRUE(reader.has_value()) << error;
    reader->for_each([&](const RecordView& r) {
      if (r.as<PmSampleRecord>() != nullptr) length = r.trailing_bytes().size();
    });
    return length;
  };
  EXPECT_EQ(values_read(), sizeof values);
  const auto at =
      std::search(bytes_.begin() + kFirstDataChunk, bytes_.end(), reinterpret_cast<const char*>(values),
                  reinterpret_cast<const char*>(values + 2));
  ASSERT_NE(at, bytes_.end());
  const std::size_t record = static_cast<std::size_t>(at - bytes_.begin()) - sizeof(PmSampleRecord);
  for (const std::uint32_t count : {0x20000001u, 3u, 0xffffffffu}) {
    poke<std::uint32_t>(record + offsetof(PmSampleRecord, value_count), count);
    EXPECT_EQ(values_read(), 0u) << count;
  }
}

TEST_F(SpoolDamage, ABadRecordCostsTheRestOfItsChunkOnly) {
  const std::size_t second = kFirstDataChunk + kChunkBytes;
  poke<std::uint32_t>(second + sizeof(ChunkHeader) + 4, 7);  // size of its first record
  const Read r = read();
  ASSERT_EQ(r.diagnosis.findings.size(), 1u);
  EXPECT_GT(r.diagnosis.unusable_bytes, kChunkBytes - 256u);
  EXPECT_EQ(r.kernels.size(), 3000u - (kChunkBytes - 8) / sizeof(KernelRecord));
}

TEST_F(SpoolDamage, AHugeRecordSizeIsNotFollowed) {
  poke<std::uint32_t>(kFirstDataChunk + sizeof(ChunkHeader) + 4, 0xfffffff8u);
  const Read r = read();
  EXPECT_FALSE(r.diagnosis.intact());
  EXPECT_LT(r.kernels.size(), 3000u);
}

TEST_F(SpoolDamage, AnOverwrittenChunkIsReported) {
  std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(kFirstDataChunk), kChunkBytes, '\x5a');
  const Read r = read();
  ASSERT_FALSE(r.diagnosis.findings.empty());
  EXPECT_NE(r.diagnosis.findings[0].find("not a chunk"), std::string::npos);
  EXPECT_EQ(r.diagnosis.unusable_bytes, kChunkBytes);
}

TEST_F(SpoolDamage, AnImpossibleFillLevelIsReported) {
  poke<std::uint32_t>(kFirstDataChunk + 4, 0x7fffffffu);
  const Read r = read();
  EXPECT_FALSE(r.diagnosis.intact());
  EXPECT_EQ(r.kernels.size(), 3000u) << "the records themselves are still sound";
}

TEST_F(SpoolDamage, AStringWithAWildIdIsRefused) {
  poke<std::uint32_t>(kFirstDataChunk + sizeof(ChunkHeader) + 8, 0xfffffff0u);
  const Read r = read();
  ASSERT_TRUE(r.opened);
  EXPECT_FALSE(r.diagnosis.intact());
}

TEST_F(SpoolDamage, ForeignFilesAreRefusedInOneLine) {
  bytes_.assign(10000, 'x');
  EXPECT_NE(read().error.find("not a spool"), std::string::npos);
  bytes_.resize(10);
  EXPECT_NE(read().error.find("too short"), std::string::npos);
  bytes_.clear();
  EXPECT_NE(read().error.find("too short"), std::string::npos);
  std::string error;
  EXPECT_FALSE(Reader::open("/nonexistent.spool", &error));
  EXPECT_NE(error.find("/nonexistent.spool"), std::string::npos);
  EXPECT_FALSE(Reader::open("/", &error));
}

TEST_F(SpoolDamage, ANewerVersionIsNamed) {
  poke<std::uint32_t>(8, kFormatVersion + 1);
  const Read r = read();
  EXPECT_FALSE(r.opened);
  EXPECT_NE(r.error.find("version 2"), std::string::npos) << r.error;
}

TEST_F(SpoolDamage, UnknownTypesAndLongerRecordsAreTolerated) {
  poke<std::uint16_t>(kFirstDataChunk + sizeof(ChunkHeader) + 24, 999);  // the record after the string
  const Read r = read();
  EXPECT_TRUE(r.diagnosis.intact());
  EXPECT_EQ(r.diagnosis.unknown_records, 1u);
  EXPECT_EQ(r.kernels.size(), 2999u);
}

// Numbers of types that were given up stay unused; every other one up to the last is known.
TEST_F(SpoolDamage, EveryTypeOfTheFormatIsKnown) {
  const std::set<std::uint16_t> given_up = {31, 34, 35, 37, 38, 50};
  for (std::uint16_t type = 1; type <= static_cast<std::uint16_t>(RecordType::delay); ++type) {
    poke<std::uint16_t>(kFirstDataChunk + sizeof(ChunkHeader) + 24, type);
    EXPECT_EQ(read().diagnosis.unknown_records, given_up.count(type)) << "type " << type;
  }
}

TEST_F(SpoolDamage, RandomDamageNeverCrashes) {
  const std::vector<char> sound = bytes_;
  std::mt19937 random(20);
  for (int round = 0; round < 60; ++round) {
    bytes_ = sound;
    for (int i = 0; i < 40; ++i)
      bytes_[kFileHeaderBytes + random() % (6 * kChunkBytes)] = static_cast<char>(random());
    if (round % 3 == 0) bytes_.resize(random() % bytes_.size());
    const Read r = read();
    EXPECT_LE(r.kernels.size(), 3000u);
  }
}

}  // namespace
}  // namespace ridgeline::spool
