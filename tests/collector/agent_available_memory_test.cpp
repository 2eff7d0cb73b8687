// What memory a process may still take, by files as the kernel writes them.
#include <filesystem>
#include <fstream>

#include "sampling_testing.h"
#include "tiers/available_memory.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::SampledProgram;

constexpr std::uint64_t kMiB = 1ull << 20;

struct Host {
  Host() { write("proc/meminfo", "MemTotal: 9437184 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n"); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = directory.path() + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  /// Of version 2.
  void limit(const std::string& cgroup, const std::string& most, std::uint64_t used,
             std::uint64_t inactive_file = 0) const {
    const std::string folder = "cgroup" + cgroup;
    write(folder + "/memory.max", most + "\n");
    write(folder + "/memory.current", std::to_string(used) + "\n");
    write(folder + "/memory.stat", "anon 77\ninactive_file " + std::to_string(inactive_file) + "\n");
  }
  std::optional<std::uint64_t> available() const {
    return available_memory((directory.path() + "/proc").c_str(), (directory.path() + "/cgroup").c_str());
  }
  spool::testing::TemporaryDirectory directory;
};

TEST(AvailableMemory, IsTheHostsWhereNoCgroupLimitsIt) {
  const Host host;
  EXPECT_EQ(host.available(), 8192 * kMiB);
  host.write("proc/self/cgroup", "0::/a/b\n");
  host.limit("/a", "max", 70 * kMiB);
  EXPECT_EQ(host.available(), 8192 * kMiB);
}

TEST(AvailableMemory, IsWhatTheTightestCgroupLeaves) {
  const Host host;
  host.write("proc/self/cgroup", "0::/a/b\n");
  host.limit("/a/b", "max", 100 * kMiB);
  host.limit("/a", std::to_string(1000 * kMiB), 900 * kMiB);
  host.limit("", std::to_string(4000 * kMiB), 900 * kMiB);
  EXPECT_EQ(host.available(), 100 * kMiB);
  host.limit("/a/b", std::to_string(110 * kMiB), 100 * kMiB);
  EXPECT_EQ(host.available(), 10 * kMiB);
  host.limit("/a/b", std::to_string(100 * kMiB), 101 * kMiB);
  EXPECT_EQ(host.available(), 0u);
}

// A program that reads files fills its cgroup with their pages, which the kernel takes back.
TEST(AvailableMemory, PagesOfFilesThatNobodyUsesAreFree) {
  const Host host;
  host.write("proc/self/cgroup", "0::/a\n");
  host.limit("/a", std::to_string(1000 * kMiB), 990 * kMiB, 600 * kMiB);
  EXPECT_EQ(host.available(), 610 * kMiB);
}

// Its path is the host's, and the folder that is mounted is its own.
TEST(AvailableMemory, OfAContainerIsThatOfTheRootItSees) {
  const Host host;
  host.write("proc/self/cgroup", "0::/docker/0123\n");
  host.limit("", std::to_string(300 * kMiB), 100 * kMiB);
  EXPECT_EQ(host.available(), 200 * kMiB);
}

TEST(AvailableMemory, KnowsTheMemoryControllerOfVersionOne) {
  const Host host;
  host.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/m\n0::/\n");
  host.write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  host.write("cgroup/memory/memory.usage_in_bytes", "1048576\n");
  EXPECT_EQ(host.available(), 8192 * kMiB);
  host.write("cgroup/memory/m/memory.limit_in_bytes", std::to_string(50 * kMiB) + "\n");
  host.write("cgroup/memory/m/memory.usage_in_bytes", std::to_string(20 * kMiB) + "\n");
  EXPECT_EQ(host.available(), 30 * kMiB);
}

TEST(AvailableMemory, IsNotKnownWithoutTheFiles) {
  EXPECT_FALSE(available_memory("/nowhere", "/nowhere"));
}

TEST(SamplingPlan, TheSmallestOneIsNotForAHostWithoutRoom) {
  const std::uint64_t smallest = memory_of(plan_sampling(6, 60 * testing::kMillisecond, 0, {}));
  EXPECT_GT(smallest, 200 * kMiB);
  EXPECT_LT(smallest, 500 * kMiB);
  EXPECT_FALSE(fits_memory(smallest, 500 * kMiB));
  EXPECT_TRUE(fits_memory(smallest, 1000 * kMiB));
  // What was planned by a quarter of the memory fits, with its spare room too.
  for (const std::uint64_t available : {2048 * kMiB, 4096 * kMiB, 8192 * kMiB})
    EXPECT_TRUE(fits_memory(memory_of(plan_sampling(6, 57 * testing::kMillisecond, available / 4, {},
                                                    {0, 0, 120 * testing::kMillisecond})),
                            available))
        << available;
}

TEST(Sampling, IsNotDoneWhereItsMemoryWouldBeTheProgramsEnd) {
  FakeCupti cupti;
  const std::string tebibyte = std::to_string(1ull << 40);
  SampledProgram p(cupti, {{"RIDGELINE_SAMPLE_BUFFER_BYTES", tebibyte},
                           {"RIDGELINE_SCHEDULE", "timeline=3,sample=6,timeline=2,sample=6"}});
  for (int i = 0; i < 20; ++i) {
    p.step();
    p.tick();
  }
  EXPECT_EQ(cupti.pm_windows, 0) << "no session was opened";
  const auto c = p.contents();
  ASSERT_FALSE(c.pm_windows.empty());
  EXPECT_EQ(c.pm_windows.back().status, WindowStatus::failed);
  int said = 0;
  for (const auto& message : c.messages)
    said += c.text(message.text).find("within the limits of its cgroups") != std::string::npos;
  EXPECT_EQ(said, 1);
}

}  // namespace
}  // namespace ridgeline::agent
