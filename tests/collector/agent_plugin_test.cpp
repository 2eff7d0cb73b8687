// The agent's library as NCCL loads it for a profiler plugin, of each version of the interface.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "nccl_events.h"
#include "spool_testing.h"

namespace ridgeline::agent {
namespace {

using testing::kNcclHash;
using testing::nccl_call;
using testing::nccl_collective;
using testing::NcclEvent;

constexpr int kCollectives = 1 << 1;

struct Table {
  const char* name;
  void* init;
  int (*start)(void* context, void** handle, void* event);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

class NcclHost {
 public:
  explicit NcclHost(bool recording = true) {
    if (recording) setenv("RIDGELINE_SPOOL_DIR", directory_.path().c_str(), 1);
    setenv("NVTX_INJECTION64_PATH", RIDGELINE_TEST_AGENT, 1);
    library_ = dlopen(RIDGELINE_TEST_AGENT, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    domain_ = nvtxDomainCreateA("NCCL");
  }

  [[nodiscard]] Table& table(int version) {
    auto* found = static_cast<Table*>(dlsym(library_, ("ncclProfiler_v" + std::to_string(version)).c_str()));
    if (found == nullptr) throw std::runtime_error(dlerror());
    return *found;
  }
  /// The mask of a communicator's init, or -1 if it fails.
  int init(int version, void** context) {
    int mask = -7;
    int result = 1;
    void* function = table(version).init;
    const auto log = static_cast<void (*)()>(nullptr);
    if (version == 3)
      result = reinterpret_cast<int (*)(void**, int*)>(function)(context, &mask);
    else if (version == 4)
      result = reinterpret_cast<int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void (*)())>(
          function)(context, &mask, nullptr, kNcclHash, 1, 2, 0, log);
    else
      result = reinterpret_cast<int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void (*)())>(
          function)(context, kNcclHash, &mask, nullptr, 1, 2, 0, log);
    return result == 0 ? mask : -1;
  }
  void push(const char* name) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain_, &attributes);
  }
  void pop() { nvtxDomainRangePop(domain_); }
  void close() { dlclose(library_); }

  struct Said {
    std::uint64_t communicator, range, bytes;
    std::uint32_t channels;
    std::string words;
  };
  [[nodiscard]] std::vector<Said> said() const {
    std::vector<Said> all;
    for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
      std::string error;
      const auto reader = spool::Reader::open(file.path().string(), &error);
      EXPECT_TRUE(reader) << error;
      if (!reader) continue;
      reader->for_each([&](const spool::RecordView& view) {
        if (const auto* r = view.as<spool::CollectiveDetailRecord>()) {
          std::string words;
          for (const spool::StringId id : {r->function, r->element_type, r->algorithm, r->protocol})
            words += std::string(reader->string_or(id, "-")) + " ";
          all.push_back({r->communicator, r->call_range_id, r->message_bytes, r->channels, words});
        }
      });
    }
    return all;
  }
  [[nodiscard]] std::size_t spools() const {
    const std::filesystem::directory_iterator files(directory_.path());
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

 private:
  spool::testing::TemporaryDirectory directory_;
  void* library_ = nullptr;
  nvtxDomainHandle_t domain_ = nullptr;
};

TEST(NcclProfilerPlugin, HasTheVersionsThatChangeNothingInNccl) {
  NcclHost host;
  for (const int version : {3, 4, 5}) {
    SCOPED_TRACE(version);
    EXPECT_STREQ(host.table(version).name, "Ridgeline");
    void* context = nullptr;
    EXPECT_EQ(host.init(version, &context), kCollectives) << "no events of proxies or kernels";
    EXPECT_EQ(context != nullptr, version > 3);
    EXPECT_EQ(host.table(version).finalize(context), 0);
  }
}

TEST(NcclProfilerPlugin, OfVersion5ACollectiveIsOfItsCall) {
  NcclHost host;
  void* context = nullptr;
  ASSERT_EQ(host.init(5, &context), kCollectives);
  Table& plugin = host.table(5);
  void* group = &host;
  NcclEvent begins(5, NcclEvent::kGroupCall);
  EXPECT_EQ(plugin.start(context, &group, begins.data()), 0);
  EXPECT_EQ(group, nullptr);
  std::array<void*, 2> calls{};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    host.push("ncclAllReduce");
    NcclEvent call = nccl_call(i == 0 ? "ncclFloat32" : "ncclBfloat16");
    EXPECT_EQ(plugin.start(context, &calls[i], call.data()), 0);
    EXPECT_NE(calls[i], nullptr);
    EXPECT_EQ(plugin.stop(calls[i]), 0);
    host.pop();
  }
  // Launched on another thread, the last first; without a driver no launch is known.
  std::thread([&] {
    for (std::size_t i = calls.size(); i-- > 0;) {
      void* handle = &host;
      NcclEvent event = nccl_collective(5, {.function = i == 0 ? "AllReduce" : "AllGather"}, calls[i]);
      EXPECT_EQ(plugin.start(context, &handle, event.data()), 0);
      EXPECT_EQ(handle, nullptr);
    }
  }).join();
  EXPECT_EQ(plugin.finalize(context), 0);
  const auto said = host.said();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].communicator, kNcclHash);
  EXPECT_EQ(said[0].range, said[1].range + 1);
  EXPECT_EQ(said[0].words, "AllGather ncclBfloat16 NVLS LL128 ");
  EXPECT_EQ(said[1].words, "AllReduce ncclFloat32 NVLS LL128 ");
  EXPECT_EQ(said[1].bytes, 1024U);
  EXPECT_EQ(said[1].channels, 16U);
}

// Of older versions only the launch before it says which collective an event is of, and here is no driver:
// agent_collectives_test.cpp has launches with them.
TEST(NcclProfilerPlugin, OfOlderVersionsAGroupHasAHandleAndStrayEventsSayNothing) {
  NcclHost host;
  for (const int version : {3, 4}) {
    SCOPED_TRACE(version);
    void* context = nullptr;
    ASSERT_EQ(host.init(version, &context), kCollectives);
    void* group = nullptr;
    NcclEvent begins(version, NcclEvent::kGroup);
    EXPECT_EQ(host.table(version).start(context, &group, begins.data()), 0);
    EXPECT_NE(group, nullptr) << "or NCCL tells of no collective";
    host.push("ncclAllReduce");
    void* handle = &host;
    NcclEvent event = nccl_collective(version, {}, group);
    EXPECT_EQ(host.table(version).start(context, &handle, event.data()), 0);
    EXPECT_EQ(handle, nullptr);
    host.pop();
    EXPECT_EQ(host.table(version).record(group, 23, nullptr), 0);
    EXPECT_EQ(host.table(version).stop(group), 0);
  }
  EXPECT_TRUE(host.said().empty());
}

TEST(NcclProfilerPlugin, WhateverItIsHandedItSucceeds) {
  NcclHost host;
  host.push("ncclAllReduce");
  for (const int version : {3, 4, 5}) {
    SCOPED_TRACE(version);
    void* context = nullptr;
    ASSERT_EQ(host.init(version, &context), kCollectives);
    ASSERT_EQ(host.init(version, nullptr), kCollectives);
    Table& plugin = host.table(version);
    void* handle = nullptr;
    EXPECT_EQ(plugin.start(context, &handle, nullptr), 0);
    NcclEvent event = nccl_collective(version, {nullptr, SIZE_MAX, nullptr, 255, nullptr, nullptr});
    EXPECT_EQ(plugin.start(nullptr, nullptr, event.data()), 0);
    EXPECT_EQ(plugin.start(nullptr, &handle, event.data()), 0);
    for (int kind = 0; kind < 16; ++kind) {
      NcclEvent unknown(version, 1u << kind);
      EXPECT_EQ(plugin.start(context, &handle, unknown.data()), 0);
    }
    EXPECT_EQ(plugin.stop(nullptr), 0);
    EXPECT_EQ(plugin.record(nullptr, -1, nullptr), 0);
    EXPECT_EQ(plugin.finalize(nullptr), 0);
  }
  const std::string endless(1 << 20, 'x');
  void* handle = nullptr;
  NcclEvent call = nccl_call(endless.c_str());
  ASSERT_EQ(host.table(5).start(nullptr, &handle, call.data()), 0);
  NcclEvent event = nccl_collective(5, {.function = endless.c_str()}, handle);
  EXPECT_EQ(host.table(5).start(nullptr, &handle, event.data()), 0);
  host.pop();
  const auto said = host.said();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().words.substr(0, 66), std::string(64, 'x') + " x");
}

TEST(NcclProfilerPlugin, CommunicatorsAreMadeOnManyThreads) {
  NcclHost host;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      void* context = nullptr;
      EXPECT_EQ(host.init(5, &context), kCollectives);
      void* handle = nullptr;
      host.push("ncclAllReduce");
      NcclEvent call = nccl_call("ncclFloat32");
      EXPECT_EQ(host.table(5).start(context, &handle, call.data()), 0);
      host.pop();
      NcclEvent event = nccl_collective(5, {}, handle);
      EXPECT_EQ(host.table(5).start(context, &handle, event.data()), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(host.spools(), 1U);
  EXPECT_EQ(host.said().size(), 8U);
}

TEST(NcclProfilerPlugin, ItStaysWhenNcclClosesIt) {
  NcclHost host;
  const auto stop = host.table(5).stop;
  for (int i = 0; i < 5; ++i) host.close();
  EXPECT_EQ(stop(nullptr), 0);
}

TEST(NcclProfilerPlugin, WithoutARecordingItAsksForNothing) {
  unsetenv("RIDGELINE_SPOOL_DIR");
  NcclHost host(false);
  for (const int version : {3, 4, 5}) {
    void* context = nullptr;
    EXPECT_EQ(host.init(version, &context), 0);
    void* handle = &host;
    NcclEvent event = nccl_collective(version, {});
    EXPECT_EQ(host.table(version).start(context, &handle, event.data()), 0);
    EXPECT_EQ(handle, nullptr);
  }
  EXPECT_EQ(host.spools(), 0U);
}

// The child of a program that was recorded is recorded again once it starts CUDA itself.
TEST(NcclProfilerPlugin, InAForkedChildItAsksForNothing) {
  NcclHost host;
  void* context = nullptr;
  ASSERT_EQ(host.init(5, &context), kCollectives);
  const pid_t child = fork();
  if (child == 0) {
    void* handle = nullptr;
    NcclEvent call = nccl_call("ncclFloat32");
    const bool quiet = host.init(5, &context) == 0 &&
                       host.table(5).start(context, &handle, call.data()) == 0 && handle == nullptr;
    _exit(quiet ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ridgeline::agent
