// Writing and reading back: values, threads, kills, forks, no room.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <set>
#include <thread>

#include "spool_testing.h"

namespace ridgeline::spool {
namespace {

using testing::kernel;
using testing::make_writer;
using testing::TemporaryDirectory;

std::vector<KernelRecord> kernels_of(const std::string& path, Diagnosis* diagnosis = nullptr) {
  std::string error;
  auto reader = Reader::open(path, &error);
  EXPECT_TRUE(reader) << error;
  std::vector<KernelRecord> list;
  if (!reader) return list;
  EXPECT_TRUE(reader->for_each([&](const RecordView& r) {
    if (auto* k = r.as<KernelRecord>()) list.push_back(*k);
  }));
  if (diagnosis != nullptr) *diagnosis = reader->diagnosis();
  return list;
}

TEST(Spool, ReturnsWhatWasWritten) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  const StringId name = writer->intern("_Z6kernelPf");
  EXPECT_EQ(writer->intern("_Z6kernelPf"), name);
  EXPECT_NE(writer->intern("_Z6kernelPd"), name);
  EXPECT_EQ(writer->intern(""), 0u);
  KernelRecord k = kernel(42);
  k.header.flags = kGraphNode;
  ASSERT_TRUE(writer->put(k));
  const char payload[] = {1, 2, 3, 0, 5};
  NvtxPayloadRecord p{};
  p.range_id = 9;
  p.length_bytes = sizeof payload;
  ASSERT_TRUE(writer->put(p, payload, sizeof payload));
  writer->totals()->launches_seen = 17;
  writer->totals()->launches_seen = 18;

  std::string error;
  auto reader = Reader::open(writer->path(), &error);
  ASSERT_TRUE(reader) << error;
  EXPECT_TRUE(reader->diagnosis().intact());
  EXPECT_STREQ(reader->file_header().clock, kClockCupti);
  EXPECT_EQ(reader->file_header().pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(reader->string(name), "_Z6kernelPf");
  EXPECT_EQ(reader->string(0), std::nullopt);
  EXPECT_EQ(reader->string(999), std::nullopt);
  int kernels = 0, payloads = 0, totals = 0;
  reader->for_each([&](const RecordView& r) {
    if (auto* got = r.as<KernelRecord>()) {
      ++kernels;
      EXPECT_EQ(got->correlation_id, 42u);
      EXPECT_EQ(got->header.flags, kGraphNode);
      EXPECT_EQ(got->end_ns - got->start_ns, 500);
      EXPECT_EQ(r.as<LaunchRecord>(), nullptr);
    }
    if (r.as<NvtxPayloadRecord>() != nullptr) {
      ++payloads;
      EXPECT_EQ(r.trailing_bytes(), std::string_view(payload, sizeof payload));
    }
    if (auto* t = r.as<CompletenessRecord>()) {
      ++totals;
      EXPECT_EQ(t->launches_seen, 18u);
    }
  });
  EXPECT_EQ(kernels, 1);
  EXPECT_EQ(payloads, 1);
  EXPECT_EQ(totals, 1) << "totals are kept in place, not appended";
}

TEST(Spool, CutsAStringBetweenTwoCharacters) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  const StringId id = writer->intern(std::string(kMaxStringBytes - 1, 'x') + "\u2026 and more");
  auto reader = Reader::open(writer->path(), nullptr);
  ASSERT_TRUE(reader);
  EXPECT_EQ(*reader->string(id), std::string(kMaxStringBytes - 1, 'x'));
}

TEST(Spool, VisitsOnlyTheTypesAskedFor) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  constexpr std::uint32_t kKernels = 2000;  // several chunks
  for (std::uint32_t i = 1; i <= kKernels; ++i) ASSERT_TRUE(writer->put(kernel(i)));
  LaunchRecord call{};
  call.correlation_id = 77;
  ASSERT_TRUE(writer->put(call));
  for (std::uint32_t i = 1; i <= kKernels; ++i) ASSERT_TRUE(writer->put(kernel(kKernels + i)));
  auto reader = Reader::open(writer->path(), nullptr);
  ASSERT_TRUE(reader);
  std::uint32_t kernels = 0, calls = 0, others = 0;
  const auto count = [&](const RecordView& r) {
    if (r.as<KernelRecord>() != nullptr) {
      ++kernels;
    } else if (r.as<LaunchRecord>() != nullptr) {
      ++calls;
    } else {
      ++others;
    }
  };
  EXPECT_TRUE(reader->for_each({RecordType::kernel}, count));
  EXPECT_EQ(kernels, 2 * kKernels);
  EXPECT_EQ(calls + others, 0U);
  EXPECT_TRUE(reader->for_each({RecordType::launch}, count));
  EXPECT_EQ(kernels, 2 * kKernels);
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(others, 0U);
  EXPECT_TRUE(reader->for_each({RecordType::counter_value, RecordType::stall_sample}, count));
  EXPECT_EQ(kernels + calls + others, 2 * kKernels + 1);
  EXPECT_TRUE(reader->for_each(RecordTypes::all().without({RecordType::kernel}), count));
  EXPECT_EQ(kernels, 2 * kKernels);
  EXPECT_EQ(calls, 2U);
}

TEST(Spool, CutsAStringThatIsTooLong) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  const StringId id = writer->intern(std::string(3 * kMaxStringBytes, 'x'));
  auto reader = Reader::open(writer->path(), nullptr);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->string(id)->size(), kMaxStringBytes);
  bool cut = false;
  reader->for_each([&](const RecordView& r) {
    if (r.as<StringRecord>() != nullptr) cut = (r.header().flags & kStringCut) != 0;
  });
  EXPECT_TRUE(cut);
}

// So many records, as kernel() makes them, each with an id of its own.
void expect_each_once(const std::string& path, std::size_t records) {
  Diagnosis diagnosis;
  const auto list = kernels_of(path, &diagnosis);
  EXPECT_TRUE(diagnosis.intact());
  std::set<std::uint32_t> ids;
  for (const auto& k : list) {
    ids.insert(k.correlation_id);
    EXPECT_EQ(k.grid_x, k.correlation_id + 3);
  }
  EXPECT_EQ(list.size(), records);
  EXPECT_EQ(ids.size(), list.size());
}

TEST(Spool, KeepsEveryRecordOfManyThreads) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  constexpr std::uint32_t kThreads = 24, kEach = 8000;  // about 21 MB: several segments
  std::atomic<bool> stop{false};
  std::thread maintenance([&] {
    while (!stop) {
      writer->maintain();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        EXPECT_TRUE(writer->put(kernel(t * kEach + i)));
        writer->intern("string " + std::to_string(i % 500));
      }
    });
  for (auto& t : threads) t.join();
  stop = true;
  maintenance.join();
  EXPECT_EQ(writer->statistics().records_lost, 0u);

  expect_each_once(writer->path(), std::size_t{kThreads} * kEach);
  auto reader = Reader::open(writer->path(), nullptr);
  ASSERT_TRUE(reader);
  for (StringId id = 1; id <= 500; ++id) EXPECT_TRUE(reader->string(id)) << id;
}

// As in put(), but in the place where it stays.
bool claim_and_commit(Writer* writer, Lane& lane, std::uint32_t id) {
  auto* const k = writer->claim<KernelRecord>(lane);
  if (k == nullptr) return false;
  k->correlation_id = id;
  k->grid_x = id + 3;
  Writer::commit<KernelRecord>(lane);
  return true;
}

TEST(Spool, KeepsEveryRecordOfLanesOfTheirOwn) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  constexpr std::uint32_t kThreads = 12, kEach = 8000;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Lane* const lane = writer->own_lane();
      ASSERT_NE(lane, nullptr);
      lane->prefetch();  // of a lane that has no chunk yet
      for (std::uint32_t i = 0; i < kEach; ++i) {
        EXPECT_TRUE(claim_and_commit(writer, *lane, t * kEach + i));
        lane->prefetch();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(writer->statistics().records_lost, 0u);
  EXPECT_GE(writer->statistics().records, std::uint64_t{kThreads} * kEach);
  expect_each_once(writer->path(), std::size_t{kThreads} * kEach);
}

TEST(Spool, WhatIsNotCommittedIsNotThere) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  Lane* const lane = writer->own_lane();
  ASSERT_TRUE(claim_and_commit(writer, *lane, 1));
  ASSERT_NE(writer->claim<KernelRecord>(*lane), nullptr);  // as in a process that is killed in the middle
  Diagnosis diagnosis;
  EXPECT_EQ(kernels_of(writer->path(), &diagnosis).size(), 1u);
  EXPECT_TRUE(diagnosis.intact());
}

TEST(Spool, HasSoManyLanesAndNoMore) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  std::set<const Lane*> lanes;
  for (std::uint32_t i = 0; i < Writer::kOwnLanes; ++i) lanes.insert(writer->own_lane());
  EXPECT_EQ(lanes.size(), Writer::kOwnLanes);
  EXPECT_EQ(lanes.count(nullptr), 0u);
  EXPECT_EQ(writer->own_lane(), nullptr);
  EXPECT_EQ(writer->own_lane(), nullptr);
}

TEST(Spool, CountsWhatALaneHasNoRoomFor) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path(), 9 << 20);
  Lane* const lane = writer->own_lane();
  std::uint64_t stored = 0;
  constexpr std::uint32_t kRecords = 150'000;
  for (std::uint32_t i = 0; i < kRecords; ++i) stored += claim_and_commit(writer, *lane, i) ? 1 : 0;
  EXPECT_GT(writer->statistics().records_lost, 0u);
  EXPECT_EQ(stored + writer->statistics().records_lost, kRecords);
  EXPECT_EQ(kernels_of(writer->path()).size(), stored);
  writer->detach();
  EXPECT_EQ(writer->claim<KernelRecord>(*lane), nullptr)
      << "of a forked child, for whom nothing counts as lost";
  EXPECT_EQ(stored + writer->statistics().records_lost, kRecords);
}

TEST(Spool, KeepsWhatAKilledProcessWrote) {
  TemporaryDirectory dir;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Writer* writer = make_writer(dir.path());
    for (std::uint32_t i = 0; i < 5000; ++i) writer->put(kernel(i));
    if (write(ready[1], "x", 1) != 1) _exit(2);
    for (std::uint32_t i = 5000;; ++i) writer->put(kernel(i));
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto spools = list_spools(dir.path());
  ASSERT_EQ(spools.size(), 1u);
  Diagnosis diagnosis;
  const auto list = kernels_of(spools[0], &diagnosis);
  EXPECT_TRUE(diagnosis.intact()) << diagnosis.findings[0];
  ASSERT_GE(list.size(), 5000u);
  for (std::uint32_t i = 0; i < list.size(); ++i) ASSERT_EQ(list[i].correlation_id, i);
}

TEST(Spool, IgnoresADetachedChild) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  writer->put(kernel(1));
  const pid_t child = fork();
  if (child == 0) {
    writer->detach();
    const bool stored = writer->put(kernel(2)) || writer->intern("child") != 0 || writer->totals() != nullptr;
    _exit(stored ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  writer->put(kernel(3));
  const auto list = kernels_of(writer->path());
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].correlation_id, 3u);
}

// Writes until told that there is no room; how many were stored, how many lost.
void fill(Writer* writer, std::uint64_t records) {
  std::uint64_t stored = 0;
  for (std::uint64_t i = 0; i < records; ++i) {
    if (writer->put(kernel(static_cast<std::uint32_t>(i)))) ++stored;
    if (i % 1000 == 0) writer->maintain();
  }
  const auto statistics = writer->statistics();
  EXPECT_GT(statistics.records_lost, 0u);
  EXPECT_EQ(stored + statistics.records_lost, records);
  MessageRecord m{};
  m.text = writer->intern_reserved("no room");
  EXPECT_TRUE(writer->put_reserved(m)) << "messages have room of their own";
  auto reader = Reader::open(writer->path(), nullptr);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->file_header().records_lost, statistics.records_lost);
  EXPECT_EQ(reader->string(m.text), "no room");
  EXPECT_TRUE(reader->diagnosis().intact());
  EXPECT_EQ(kernels_of(writer->path()).size(), stored);
}

TEST(Spool, CountsWhatItsOwnLimitRefuses) {
  TemporaryDirectory dir;
  fill(make_writer(dir.path(), 9 << 20), 150000);
}

TEST(Spool, SurvivesTheFileSizeLimitOfTheProcess) {
  TemporaryDirectory dir;
  const pid_t child = fork();  // the limit cannot be raised again
  if (child == 0) {
    rlimit limit{9 << 20, 9 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(9);
    fill(make_writer(dir.path()), 150000);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Spool, SurvivesAFullDisk) {
  TemporaryDirectory dir;
  if (mount("none", dir.path().c_str(), "tmpfs", 0, "size=9m") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs root with CAP_SYS_ADMIN";
  fill(make_writer(dir.path()), 150000);
  EXPECT_EQ(umount2(dir.path().c_str(), MNT_DETACH), 0);
}

std::uint64_t bytes_of(const std::string& path) {
  struct stat s {};
  EXPECT_EQ(stat(path.c_str(), &s), 0);
  return static_cast<std::uint64_t>(s.st_size);
}

TEST(Spool, GoesOnWhereItStoodWhenTheDiskHasRoomAgain) {
  TemporaryDirectory dir;
  if (mount("none", dir.path().c_str(), "tmpfs", 0, "size=9m") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs root with CAP_SYS_ADMIN";
  Writer* writer = make_writer(dir.path());
  fill(writer, 150000);
  for (int i = 0; i < 50; ++i) writer->maintain();
  ASSERT_EQ(mount("none", dir.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  writer->maintain();
  ASSERT_TRUE(writer->put(kernel(1)));
  EXPECT_LE(bytes_of(writer->path()), 17u << 20) << "no holes of what could not be had";
  EXPECT_EQ(umount2(dir.path().c_str(), MNT_DETACH), 0);
}

int descriptor_of(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST(Spool, ADescriptorThatIsAnotherFilesNowIsLeftAlone) {
  TemporaryDirectory dir;
  Writer* writer = make_writer(dir.path());
  const int number = descriptor_of(writer->path());
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_GE(number, limit.rlim_cur > 512 ? 512 : static_cast<int>(limit.rlim_cur / 2));
  const std::string of_program = dir.path() + "/output";
  const int other = open(of_program.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(write(other, "mine", 4), 4);
  ASSERT_EQ(dup2(other, number), number);
  fill(writer, 150000);
  EXPECT_EQ(testing::file_bytes(of_program), (std::vector<char>{'m', 'i', 'n', 'e'}));
  close(other);
}

TEST(Spool, SaysWhyItCannotBeCreated) {
  Writer::Options options;
  options.directory = "/nonexistent/ridgeline";
  std::string error;
  EXPECT_EQ(Writer::create(options, &error), nullptr);
  EXPECT_NE(error.find("/nonexistent/ridgeline"), std::string::npos) << error;
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
}

TEST(Spool, NeverOverwritesAnotherSpool) {
  TemporaryDirectory dir;
  ASSERT_NE(make_writer(dir.path()), nullptr);
  Writer::Options options;
  options.directory = dir.path();
  options.pid = static_cast<std::uint32_t>(getpid());
  options.start_ns = 1234567890;
  std::string error;
  EXPECT_EQ(Writer::create(options, &error), nullptr);
  EXPECT_FALSE(error.empty());
}

}  // namespace
}  // namespace ridgeline::spool
