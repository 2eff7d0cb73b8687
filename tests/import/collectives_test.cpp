// What NCCL says of its collectives by NVTX, joined to the kernels that ran them.
#include "ridgeline/store/collectives.h"

#include "import/import_testing.h"
#include "ridgeline/base/collective_name.h"
#include "ridgeline/spool/manifest.h"

namespace ridgeline::import::testing {
namespace {

constexpr std::uint64_t kHash = 0xc0ffee12345678;
constexpr std::uint32_t kAllReducePath = 10, kAllGatherPath = 11, kGroupStartPath = 12, kGroupEndPath = 13,
                        kInitPath = 14, kSendPath = 15, kRecvPath = 16, kSplitPath = 17, kGrowPath = 18,
                        kGatherPath = 19, kDestroyPath = 24, kInitAllPath = 25;
constexpr std::uint32_t kAllReduceKernel = 20, kAllGatherKernel = 21, kSendKernel = 22, kSymmetricKernel = 23;

// A program that calls NCCL, as the agent records it.
class NcclSpool : public FakeSpool {
 public:
  explicit NcclSpool(const std::string& directory, const char* domain = "NCCL", std::uint32_t pid = 4242)
      : FakeSpool(directory, pid) {
    const std::pair<std::uint32_t, const char*> paths[] = {{kAllReducePath, "ncclAllReduce"},
                                                           {kAllGatherPath, "ncclAllGather"},
                                                           {kGroupStartPath, "ncclGroupStart"},
                                                           {kGroupEndPath, "ncclGroupEnd"},
                                                           {kInitPath, "ncclCommInitRankConfig"},
                                                           {kSplitPath, "ncclCommSplit"},
                                                           {kGrowPath, "ncclCommGrow"},
                                                           {kDestroyPath, "ncclCommDestroy"},
                                                           {kInitAllPath, "ncclCommInitAll"},
                                                           {kGatherPath, "ncclGather"},
                                                           {kSendPath, "ncclSend"},
                                                           {kRecvPath, "ncclRecv"}};
    for (const auto& [id, name] : paths) {
      spool::NvtxPathRecord record{};
      record.path_id = id;
      record.parent_id = 2;
      record.name = text(name);
      record.domain = text(domain);
      put(record);
    }
    const std::pair<std::uint32_t, const char*> kernels[] = {
        {kAllReduceKernel, "_Z42ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorage"},
        {kAllGatherKernel, "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorage"},
        {kSendKernel, "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorage"},
        {kSymmetricKernel, "_Z44ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f3224ncclDevKernelArgsStorage"}};
    for (const auto& [id, name] : kernels) {
      spool::KernelFunctionRecord function{};
      function.kernel_id = id;
      function.name = text(name);
      put(function);
    }
  }

  void payload(const std::vector<std::uint64_t>& numbers, std::uint32_t bytes) {
    range_ = new_range();
    payload_of(range_, numbers, bytes);
  }
  void payload_of(std::uint64_t range, const std::vector<std::uint64_t>& numbers, std::uint32_t bytes) {
    spool::NvtxPayloadRecord record{};
    record.range_id = range;
    record.schema_id = (1u << 24) + 5;
    record.length_bytes = bytes;
    ASSERT_TRUE(writer().put(record, numbers.data(), bytes));
  }
  void ended(std::uint32_t path) { range(range_, 0, path, 2, now() - 20, now()); }

  /// Of a parent with so many ranks, in which the own is `rank`.
  void split(std::uint64_t hash, std::int32_t ranks, std::int32_t rank, std::int32_t key) {
    const auto two = [](std::int32_t low, std::int32_t high) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 |
             static_cast<std::uint32_t>(low);
    };
    payload({hash, kHash, two(ranks, rank), two(0, 1), two(key, 0)}, 40);
    ended(kSplitPath);
  }
  void init(std::int32_t ranks, std::int32_t rank, std::uint64_t hash = kHash,
            std::uint32_t path = kInitPath) {
    payload({hash, static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(ranks), 0}, 24);
    ended(path);
  }
  /// A launch in the range of the call that was begun last, or of the group's end.
  void launch_in(std::uint32_t path, std::uint32_t kernel, std::uint16_t flags = 0) {
    auto record = call(flags);
    record.nvtx_path_id = path;
    record.nvtx_range_id = range_;
    put(record);
    launched_ = record.correlation_id;
    advance(2000);
    if ((flags & spool::kLaunchCaptured) != 0) return;
    auto ran = kernel_of(record);
    ran.kernel_id = kernel;
    put(ran);
  }
  void all_reduce(std::uint64_t bytes, std::uint16_t flags = 0, std::uint32_t kernel = kAllReduceKernel,
                  std::uint64_t hash = kHash) {
    payload({hash, bytes, 0}, 24);
    launch_in(kAllReducePath, kernel, flags);
    ended(kAllReducePath);
  }
  void all_gather(std::uint64_t bytes, std::uint16_t flags = 0, std::uint64_t hash = kHash) {
    payload({hash, bytes}, 16);
    launch_in(kAllGatherPath, kAllGatherKernel, flags);
    ended(kAllGatherPath);
  }
  void plain(std::uint32_t path) {
    range_ = new_range();
    ended(path);
  }
  /// A gather that launches nothing; by engines outside of a graph, as these copies to other devices.
  void gather_without_kernel(std::uint64_t bytes, const std::vector<std::int64_t>& copies = {}) {
    payload({kHash, bytes}, 16);
    engines(call().correlation_id, copies);
    ended(kAllGatherPath);
  }
  /// Copies that one call made; `node`: of a launch of a graph.
  void engines(std::uint32_t correlation, const std::vector<std::int64_t>& copies, std::uint64_t node = 0) {
    for (std::size_t i = copies.size(); i-- > 0;) {  // records come in any order
      spool::MemcpyRecord record{};
      record.header.flags = node != 0 ? spool::kGraphNode : std::uint16_t{0};
      record.correlation_id = correlation;
      record.kind = copies[i] < 0 ? spool::MemcpyKind::device_to_device : spool::MemcpyKind::peer_to_peer;
      record.bytes = std::abs(copies[i]);
      record.start_ns = kOrigin + now() + 100 * static_cast<std::int64_t>(i);
      record.end_ns = record.start_ns + 80;
      record.graph_node_id = node == 0 ? 0 : node + i;
      put(record);
    }
    advance(1000);
  }

  struct Said {
    const char* function = "AllReduce";
    const char* type = "ncclFloat32";
    const char* algorithm = "RING";
    const char* protocol = "SIMPLE";
    std::uint64_t bytes = 0;
    std::uint32_t channels = 0;
    std::uint64_t communicator = kHash;
  };
  /// What the plugin says of the last launch, or of the call that was begun last.
  void detail(const Said& said, bool of_launch = true) {
    spool::CollectiveDetailRecord record{};
    record.communicator = said.communicator;
    record.call_range_id = range_;
    record.message_bytes = said.bytes;
    record.correlation_id = of_launch ? launched_ : 0;
    record.function = text(said.function);
    record.element_type = text(said.type);
    record.algorithm = text(said.algorithm);
    record.protocol = text(said.protocol);
    record.channels = said.channels;
    put(record);
  }

 private:
  std::uint64_t range_ = 0;
  std::uint32_t launched_ = 0;
};

store::Capture imported(const TemporaryDirectory& spools) {
  const std::string output = spools / "out.ridge";
  EXPECT_TRUE(import_spools(spools.path(), output, {}).ok());
  return open_capture(output);
}

class Collectives : public Importer {
 protected:
  // Of each in the order of launches: function, bytes, hash.
  [[nodiscard]] static std::string said(const store::Capture& capture) {
    return scalar(
        capture,
        "SELECT group_concat(function || ':' || coalesce(bytes, '-') || ':' || coalesce(communicator, "
        "'-'), ' ') FROM (SELECT * FROM v_collective WHERE function IS NOT NULL ORDER BY start_ns)");
  }
  // Likewise: type, channels, algorithm and protocol, each with its source, then the sources of function and bytes.
  [[nodiscard]] static std::string details(const store::Capture& capture) {
    return scalar(capture,
                  "SELECT group_concat(coalesce(element_type || '/' || element_type_source, '-') || ' ' || "
                  "coalesce(channels || '/' || channels_source, '-') || ' ' || coalesce(algorithm, '-') || "
                  "' ' || coalesce(protocol, '-') || ' ' || coalesce(algorithm_source, '-') || ' ' || source "
                  "|| ' ' || coalesce(bytes_source, '-'), ', ') FROM (SELECT * FROM v_collective WHERE "
                  "function IS NOT NULL ORDER BY start_ns)");
  }
};

TEST_F(Collectives, EachKernelIsOfTheCallThatLaunchedIt) {
  NcclSpool spool(directory_.path());
  spool.init(4, 3);
  spool.begin_step(0, Phase::timeline);
  spool.all_reduce(1 << 20);
  spool.all_gather(1000);
  spool.launch();
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_reduce:1048576:00c0ffee12345678 all_gather:4000:00c0ffee12345678")
      << "bytes are of the whole array";
  EXPECT_EQ(scalar(capture, "SELECT ranks || ' ' || rank FROM communicator"), "4 3");
  EXPECT_EQ(scalar(capture, "SELECT rank FROM process"), "3");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(DISTINCT source) FROM collective"), "nvtx");
}

TEST_F(Collectives, WithoutTheGroupsSizeAPartIsNotTheWhole) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.all_reduce(64);
  spool.all_gather(1000);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_reduce:64:00c0ffee12345678 all_gather:-:00c0ffee12345678");
  EXPECT_EQ(scalar(capture, "SELECT ranks IS NULL AND rank IS NULL FROM communicator"), "1");
  EXPECT_EQ(scalar(capture, "SELECT rank IS NULL FROM process"), "1");
}

TEST_F(Collectives, OfAGroupCallsOfOneKindAreOneKernel) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  for (const bool mixed : {false, true}) {
    spool.plain(kGroupStartPath);
    spool.payload({kHash, 100, 0}, 24);
    spool.ended(kAllReducePath);
    spool.payload({kHash, 28, 0}, 24);
    spool.ended(kAllReducePath);
    if (mixed) {
      spool.payload({kHash, 7}, 16);
      spool.ended(kAllGatherPath);
    }
    spool.plain(kGroupEndPath + 1000);  // no range of NCCL
    spool.launch_in(kGroupEndPath, kAllReduceKernel);
    spool.ended(kGroupEndPath);
  }
  // A send and a receive.
  spool.plain(kGroupStartPath);
  for (const std::uint32_t path : {kSendPath, kRecvPath}) {
    spool.payload({kHash, 512, 1}, 24);
    spool.ended(path);
  }
  spool.plain(kGroupEndPath + 1000);
  spool.launch_in(kGroupEndPath, kSendKernel);
  spool.ended(kGroupEndPath);
  spool.end_step();
  spool.end();
  EXPECT_EQ(said(import()), "all_reduce:128:00c0ffee12345678 send_receive:-:00c0ffee12345678")
      << "of the mixed group nothing is said";
}

TEST_F(Collectives, TwoKernelsOfACallHaveNoBytesOfTheirOwn) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.payload({kHash, 100, 0}, 24);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.ended(kAllReducePath);
  spool.end_step();
  spool.end();
  EXPECT_EQ(said(import()), "all_reduce:-:00c0ffee12345678 all_reduce:-:00c0ffee12345678");
}

// Versions before 2.25 do not say the communicator; a payload of another length is none that we know.
TEST_F(Collectives, OlderAndUnknownPayloadsSayWhatTheyCan) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.payload({4096, 0}, 16);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.ended(kAllReducePath);
  spool.payload({1, 2, 3, 4}, 32);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.ended(kAllReducePath);
  spool.payload({kHash, UINT64_MAX, 0}, 24);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.ended(kAllReducePath);
  spool.end_step();
  spool.end();
  EXPECT_EQ(said(import()), "all_reduce:4096:- all_reduce:-:- all_reduce:-:00c0ffee12345678");
}

TEST_F(Collectives, RangesOfThatNameInAnotherDomainSayNothing) {
  NcclSpool spool(directory_.path(), "mine");
  spool.begin_step(0, Phase::timeline);
  spool.all_reduce(64);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM collective"), "0");
}

// Of each call, in the order of time: function, bytes, copies, length.
std::string copied(const store::Capture& capture) {
  return scalar(capture,
                "SELECT group_concat(function || ':' || coalesce(bytes, '-') || ':' || copies || ':' || "
                "duration_ns, ' ') "
                "FROM (SELECT * FROM v_copied_collective ORDER BY start_ns)");
}

TEST_F(Collectives, WithoutAKernelAreTheCopiesThatTheirCallMade) {
  NcclSpool spool(directory_.path());
  spool.init(3, 1);
  spool.begin_step(0, Phase::timeline);
  spool.engines(spool.call().correlation_id, {512, 512});  // of no call of NCCL
  spool.launch();
  spool.gather_without_kernel(512, {-512, 512, 512});
  spool.launch();
  spool.gather_without_kernel(512, {300, 212, 512});  // a part in pieces
  spool.gather_without_kernel(100, {100, 100});       // with no launch between
  spool.launch();
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(copied(capture), "all_gather:1536:2:180 all_gather:1536:3:280 all_gather:300:2:180");
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(DISTINCT communicator || ':' || rank || ':' || step_index) FROM "
                   "v_copied_collective"),
            "00c0ffee12345678:1:0");
  EXPECT_EQ(
      scalar(capture, "SELECT count(*) FROM memcpy WHERE id NOT IN (SELECT memcpy_id FROM collective_copy)"),
      "3")
      << "those of no call, and what a rank copies within its own memory";
}

TEST_F(Collectives, CopiesOfOtherBytesOrPlacesAreNone) {
  NcclSpool spool(directory_.path());
  spool.init(3, 1);
  spool.begin_step(0, Phase::timeline);
  spool.gather_without_kernel(512, {512});  // one rank gets nothing
  spool.launch();
  spool.gather_without_kernel(512, {512, 512, 512});  // one more than there are
  spool.launch();
  spool.gather_without_kernel(512, {500, 524});  // bytes beyond a call's, in pieces that fit none
  spool.launch();
  spool.gather_without_kernel(0, {});
  spool.gather_without_kernel(64, {});
  spool.launch();
  spool.engines(spool.call().correlation_id, {64, 64});  // behind the launch that ended the call's time
  spool.all_gather(64);                                  // a kernel's
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(copied(capture), "all_gather:1536:2:180") << "a call's bytes may be cut in any pieces";
  EXPECT_EQ(said(capture), "all_gather:192:00c0ffee12345678");
}

TEST_F(Collectives, WithoutTheGroupsSizeCopiesAreOfNoCall) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.gather_without_kernel(512, {512});
  spool.launch();
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM collective_copy"), "0");
}

// Launches beside the calls, in another order than they were made in.
TEST_F(Collectives, CopiesAreOfTheirCallInWhateverOrderLaunchesLie) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.begin_step(0, Phase::timeline);
  std::vector<spool::LaunchRecord> launches;
  for (const std::uint64_t bytes : {40u, 24u, 40u}) {
    launches.push_back(spool.call());
    spool.advance(1000);
    spool.gather_without_kernel(bytes, {static_cast<std::int64_t>(bytes)});
  }
  launches.push_back(spool.call());
  for (const std::size_t i : {2, 0, 3, 1}) {
    spool.put(launches[i]);
    spool.put(spool.kernel_of(launches[i]));
  }
  spool.end_step();
  spool.end();
  EXPECT_EQ(copied(import()), "all_gather:80:1:80 all_gather:48:1:80 all_gather:80:1:80");
}

TEST_F(Collectives, OfAGroupEachCallHasItsCopies) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  spool.plain(kGroupStartPath);
  for (const std::uint64_t bytes : {40u, 24u}) {
    spool.payload({kHash, bytes}, 16);
    spool.ended(kAllGatherPath);
  }
  spool.engines(spool.call().correlation_id, {40});
  spool.engines(spool.call().correlation_id, {24});
  spool.plain(kGroupEndPath);
  spool.launch();
  spool.end_step();
  spool.end();
  EXPECT_EQ(copied(import()), "all_gather:80:1:80 all_gather:48:1:80");
}

// Two graphs, each captured with two gathers by copies between kernels, and launches with copies that fit or do not.
void launch_graphs_of_gathers(NcclSpool& spool, std::uint64_t first_of_second) {
  spool.init(2, 0);
  for (const std::uint32_t graph : {1u, 2u}) {
    const std::uint64_t first = graph == 1 ? 40 : first_of_second;
    spool.all_reduce(100, spool::kLaunchCaptured);
    spool.gather_without_kernel(first);
    spool.gather_without_kernel(64 - first);
    spool.all_reduce(100, spool::kLaunchCaptured);
    spool.graph_node(graph, 500 * graph, GraphNodeKind::kernel);
  }
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  for (const std::vector<std::int64_t>& copies :
       std::vector<std::vector<std::int64_t>>{{40, 24}, {24, 40}, {40}, {40, 24, 8}}) {
    const auto graph = spool.call(spool::kLaunchIsGraph);
    spool.put(graph);
    spool.engines(graph.correlation_id, copies, 500);
  }
  spool.end_step();
  spool.end();
}

TEST_F(Collectives, OfAGraphCopiesAreOfTheCallsOfItsCapture) {
  NcclSpool spool(directory_.path());
  launch_graphs_of_gathers(spool, 24);
  EXPECT_EQ(copied(import()), "all_gather:80:1:80 all_gather:48:1:80 all_gather:48:1:80 all_gather:80:1:80");
}

TEST_F(Collectives, GraphsWithTheSameGathersAreOne) {
  NcclSpool spool(directory_.path());
  launch_graphs_of_gathers(spool, 40);
  EXPECT_EQ(copied(import()), "all_gather:80:1:80 all_gather:48:1:80");
}

// A launch of a graph runs the kernels of the calls that its capture made, in their order.
void replay(NcclSpool& spool, const std::vector<std::uint32_t>& kernels) {
  const auto graph = spool.call(spool::kLaunchIsGraph);
  spool.put(graph);
  for (std::size_t i = kernels.size(); i-- > 0;) {  // records come in any order
    auto kernel = spool.kernel_of(graph);
    kernel.header.flags = spool::kGraphNode;
    kernel.graph_id = 1;
    kernel.graph_node_id = 500 + i;
    kernel.kernel_id = kernels[i];
    kernel.start_ns += static_cast<std::int64_t>(i) * 2000;
    kernel.end_ns = kernel.start_ns + 1000;
    spool.put(kernel);
  }
  spool.advance(20'000);
}

TEST_F(Collectives, OfAGraphEachLaunchHasTheCallsOfItsCapture) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.all_reduce(100, spool::kLaunchCaptured);
  spool.all_gather(8, spool::kLaunchCaptured);
  spool.all_reduce(4, spool::kLaunchCaptured);
  spool.graph_node(1, 500, GraphNodeKind::kernel);
  spool.all_reduce(77, spool::kLaunchCaptured);  // another graph
  spool.graph_node(2, 600, GraphNodeKind::kernel);
  for (std::uint32_t step = 0; step < 2; ++step) {
    spool.begin_step(step, Phase::timeline);
    replay(spool, {kAllReduceKernel, 1, kAllGatherKernel, kAllReduceKernel});
    spool.end_step();
  }
  spool.end();
  const std::string once =
      "all_reduce:100:00c0ffee12345678 all_gather:16:00c0ffee12345678 all_reduce:4:00c0ffee12345678";
  EXPECT_EQ(said(import()), once + ' ' + once);
}

// Of graphs with as many calls the kernels' names tell which ran; two that say the same are one.
TEST_F(Collectives, OfGraphsWithAsManyCallsTheNamesDecide) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.all_reduce(100, spool::kLaunchCaptured);
  spool.all_gather(8, spool::kLaunchCaptured);
  spool.graph_node(1, 500, GraphNodeKind::kernel);
  spool.all_gather(40, spool::kLaunchCaptured);
  spool.all_reduce(4, spool::kLaunchCaptured);
  spool.graph_node(2, 600, GraphNodeKind::kernel);
  spool.all_gather(40, spool::kLaunchCaptured);
  spool.all_reduce(4, spool::kLaunchCaptured);
  spool.graph_node(3, 700, GraphNodeKind::kernel);
  spool.begin_step(0, Phase::timeline);
  replay(spool, {kAllReduceKernel, kAllGatherKernel});
  replay(spool, {kAllGatherKernel, kAllReduceKernel});
  replay(spool, {kAllGatherKernel, kAllGatherKernel});
  spool.end_step();
  spool.end();
  EXPECT_EQ(said(import()),
            "all_reduce:100:00c0ffee12345678 all_gather:16:00c0ffee12345678 "
            "all_gather:80:00c0ffee12345678 all_reduce:4:00c0ffee12345678");
}

TEST_F(Collectives, AGraphWhoseKernelsFitNoCaptureOrTwoSaysNothing) {
  NcclSpool spool(directory_.path());
  spool.all_reduce(100, spool::kLaunchCaptured);
  spool.all_reduce(4, spool::kLaunchCaptured);
  spool.graph_node(1, 500, GraphNodeKind::kernel);
  spool.all_reduce(200, spool::kLaunchCaptured);
  spool.all_reduce(4, spool::kLaunchCaptured);
  spool.graph_node(2, 600, GraphNodeKind::kernel);
  spool.begin_step(0, Phase::timeline);
  replay(spool, {kAllReduceKernel, kAllReduceKernel});  // which of the two?
  replay(spool, {kAllReduceKernel});
  replay(spool, {kAllReduceKernel, kAllGatherKernel});
  spool.end_step();
  spool.end();
  EXPECT_EQ(scalar(import(), "SELECT count(*) FROM collective"), "0");
}

TEST_F(Collectives, WhatThePluginSaysOfALaunchIsKeptWithItsSource) {
  NcclSpool spool(directory_.path());
  spool.init(4, 3);
  spool.begin_step(0, Phase::timeline);
  spool.payload({kHash, 1 << 20, 0}, 24);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.detail({.type = "ncclInt32", .channels = 24});  // the kernel adds floats, says its name
  spool.ended(kAllReducePath);
  spool.payload({kHash, 1000}, 16);
  spool.launch_in(kAllGatherPath, kAllGatherKernel);
  spool.detail(
      {.function = "AllGather", .type = "ncclBfloat16", .algorithm = "NVLS_TREE", .protocol = "LL128"});
  spool.ended(kAllGatherPath);
  spool.all_reduce(64);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture),
            "all_reduce:1048576:00c0ffee12345678 all_gather:4000:00c0ffee12345678 "
            "all_reduce:64:00c0ffee12345678");
  EXPECT_EQ(details(capture),
            "int32/plugin 24/plugin ring simple plugin nvtx nvtx, "
            "bf16/plugin 101/kernel nvls_tree ll128 plugin nvtx nvtx, "
            "fp32/kernel 102/kernel - - - nvtx nvtx")
      << "of the last the plugin said nothing";
}

TEST_F(Collectives, OfACallWhoseLaunchIsNotKnownThePluginSaysWhatItDoes) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.payload({kHash, 64, 0}, 24);
  for (int launch = 0; launch < 3; ++launch) spool.detail({.bytes = 64, .channels = 2}, false);
  spool.launch_in(kAllReducePath, kAllReduceKernel);
  spool.ended(kAllReducePath);
  // Of both calls of a group, then of one of them.
  for (const bool both : {true, false}) {
    spool.plain(kGroupStartPath);
    for (const bool first : {true, false}) {
      spool.payload({kHash, 8, 0}, 24);
      if (first || both) spool.detail({.algorithm = first ? "RING" : "TREE", .channels = 4}, false);
      spool.ended(kAllReducePath);
    }
    spool.plain(kGroupEndPath + 1000);
    spool.launch_in(kGroupEndPath, kAllReduceKernel);
    spool.ended(kGroupEndPath);
  }
  spool.end_step();
  spool.end();
  EXPECT_EQ(details(import()),
            "fp32/plugin 2/plugin ring simple plugin nvtx nvtx, fp32/plugin 4/plugin - simple plugin nvtx "
            "nvtx, fp32/kernel 102/kernel - - - nvtx nvtx");
}

// Which kernel does which of its calls the ranges do not say.
TEST_F(Collectives, OfAMixedGroupThePluginSaysWhichKernelIsWhose) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.begin_step(0, Phase::timeline);
  for (const bool with_messages : {false, true}) {
    spool.plain(kGroupStartPath);
    for (int i = 0; i < 2; ++i) {
      spool.payload({kHash, 100, 0}, 24);
      spool.ended(kAllReducePath);
    }
    spool.payload({kHash, 7}, 16);
    spool.ended(kAllGatherPath);
    if (with_messages) {
      spool.payload({kHash, 512, 1}, 24);
      spool.ended(kSendPath);
    }
    spool.plain(kGroupEndPath + 1000);
    spool.launch_in(kGroupEndPath, kAllReduceKernel);
    spool.detail({.algorithm = "TREE", .bytes = 100, .channels = 3});
    spool.detail({.algorithm = "TREE", .protocol = "LL", .bytes = 100, .channels = 3});
    spool.launch_in(kGroupEndPath, kAllGatherKernel);
    spool.detail({.function = "AllGather", .type = "", .bytes = 7, .channels = 1});
    spool.ended(kGroupEndPath);
  }
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_reduce:200:00c0ffee12345678 all_gather:14:00c0ffee12345678")
      << "the plugin does not tell of sends";
  EXPECT_EQ(details(capture),
            "fp32/plugin 3/plugin tree - plugin plugin plugin, - 1/plugin ring simple plugin plugin plugin");
}

TEST_F(Collectives, OfTwoKernelsOfACallThePluginKnowsTheBytes) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.plain(kGroupStartPath);
  for (const std::uint64_t bytes : {100, 28}) {
    spool.payload({kHash, bytes, 0}, 24);
    spool.ended(kAllReducePath);
  }
  spool.plain(kGroupEndPath + 1000);
  for (const std::uint64_t bytes : {100, 28}) {
    spool.launch_in(kGroupEndPath, kAllReduceKernel);
    spool.detail({.bytes = bytes, .channels = 1});
  }
  spool.ended(kGroupEndPath);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_reduce:100:00c0ffee12345678 all_reduce:28:00c0ffee12345678");
  EXPECT_EQ(details(capture),
            "fp32/plugin 1/plugin ring simple plugin nvtx plugin, fp32/plugin 1/plugin ring simple plugin "
            "nvtx plugin");
}

TEST_F(Collectives, WhatThePluginContradictsAndWordsThatNobodyKnowsAreLeft) {
  NcclSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  const NcclSpool::Said wrong[] = {{.function = "Broadcast"},
                                   {.communicator = 7},
                                   {.function = "",
                                    .type = "ncclFloat4",
                                    .algorithm = "",
                                    .protocol = "NONE",
                                    .bytes = UINT64_MAX,
                                    .channels = UINT32_MAX,
                                    .communicator = 0},
                                   {.algorithm = "STAR", .bytes = UINT64_MAX / 2}};
  for (const NcclSpool::Said& said : wrong) {
    spool.payload({kHash, 64, 0}, 24);
    spool.launch_in(kAllReducePath, kAllReduceKernel);
    spool.detail(said);
    spool.ended(kAllReducePath);
  }
  // Kernels for symmetric buffers have no algorithm, whatever was said.
  spool.payload({kHash, 64, 0}, 24);
  spool.launch_in(kAllReducePath, kSymmetricKernel);
  spool.detail({});
  spool.ended(kAllReducePath);
  spool.end_step();
  spool.end();
  EXPECT_EQ(details(import()),
            "fp32/kernel 100/kernel - - - nvtx nvtx, fp32/kernel 101/kernel - - - nvtx nvtx, fp32/kernel "
            "102/kernel - - - nvtx nvtx, fp32/plugin 103/kernel - simple plugin nvtx nvtx, fp32/plugin "
            "104/kernel - - - nvtx nvtx");
}

TEST_F(Collectives, OfAGraphEachLaunchHasWhatWasSaidAtItsCapture) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  for (const std::uint32_t graph : {1, 2}) {  // the same calls: what the two agree on
    spool.payload({kHash, 100, 0}, 24);
    spool.launch_in(kAllReducePath, kAllReduceKernel, spool::kLaunchCaptured);
    spool.detail({.algorithm = "NVLS", .channels = 16});
    spool.ended(kAllReducePath);
    spool.payload({kHash, 8}, 16);
    spool.launch_in(kAllGatherPath, kAllGatherKernel, spool::kLaunchCaptured);
    spool.detail({.function = "AllGather",
                  .type = "ncclFloat8e4m3",
                  .algorithm = "PAT",
                  .protocol = graph == 1 ? "LL" : "SIMPLE",
                  .channels = 2});
    spool.ended(kAllGatherPath);
    spool.graph_node(graph, 500 + graph, GraphNodeKind::kernel);
  }
  spool.begin_step(0, Phase::timeline);
  replay(spool, {kAllReduceKernel, kAllGatherKernel});
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_reduce:100:00c0ffee12345678 all_gather:16:00c0ffee12345678");
  EXPECT_EQ(details(capture),
            "fp32/plugin 16/plugin nvls simple plugin nvtx nvtx, fp8_e4m3/plugin 2/plugin pat - plugin nvtx "
            "nvtx");
}

TEST_F(Collectives, WhereNcclHasAnotherPluginTheCaptureSaysSo) {
  for (const bool told : {false, true}) {
    SCOPED_TRACE(told);
    const TemporaryDirectory directory;
    NcclSpool spool(directory.path());
    spool.begin_step(0, Phase::timeline);
    spool.payload({kHash, 64, 0}, 24);
    spool.launch_in(kAllReducePath, kAllReduceKernel);
    if (told) spool.detail({});
    spool.ended(kAllReducePath);
    spool.end_step();
    spool.end();
    spool::LaunchManifest manifest;
    manifest.program = {"./train"};
    manifest.nccl_profiler = "NCCL_PROFILER_PLUGIN";
    ASSERT_TRUE(spool::write_manifest(directory.path(), manifest).ok());
    const store::Capture capture = imported(directory);
    std::vector<std::string> lines;
    for (const store::Message& message : capture.messages()) {
      if (message.what.code == ReasonCode::nccl_profiler_taken) {
        EXPECT_EQ(message.severity, Severity::info);
        EXPECT_EQ(message.what.word("by"), "NCCL_PROFILER_PLUGIN");
        lines.push_back(reports::reason_text(message.what));
      }
    }
    ASSERT_EQ(lines.size(), told ? 0U : 1U);
    if (!lines.empty()) {
      EXPECT_NE(lines.front().find("(NCCL_PROFILER_PLUGIN)"), std::string::npos) << lines.front();
    }
  }
}

// Of each kernel in the order of time; '-': it has none.
std::string ordinals(const store::Capture& capture) {
  return scalar(capture,
                "SELECT group_concat(coalesce(ordinal_in_communicator, '-'), ' ') FROM (SELECT * FROM "
                "v_collective ORDER BY start_ns)");
}

void calls_in_one_launch(NcclSpool& spool, std::uint32_t path, int calls) {
  spool.plain(kGroupStartPath);
  for (int i = 0; i < calls; ++i) {
    spool.payload({kHash, 64, 0}, 24);
    spool.ended(path);
  }
  spool.plain(kGroupEndPath + 1000);  // no range of NCCL
  spool.launch_in(kGroupEndPath, path == kAllReducePath ? kAllReduceKernel : kSendKernel);
  spool.ended(kGroupEndPath);
}

TEST_F(Collectives, AreCountedOnTheirCommunicatorSinceItWasMade) {
  NcclSpool spool(directory_.path());
  spool.all_reduce(8, 0, kAllReduceKernel, kHash + 7);  // made before the recording
  spool.init(4, 3);
  spool.all_reduce(8);
  spool.init(2, 0, kHash + 1);
  spool.begin_step(0, Phase::timeline);
  spool.all_gather(8);
  spool.all_reduce(8, 0, kAllReduceKernel, kHash + 1);
  calls_in_one_launch(spool, kAllReducePath, 3);
  calls_in_one_launch(spool, kSendPath, 2);
  spool.launch();
  spool.all_reduce(8);
  spool.all_reduce(8, 0, kAllReduceKernel, kHash + 1);
  spool.end_step();
  spool.end();
  EXPECT_EQ(ordinals(import()), "- 0 1 0 2 - 5 1") << "of several calls in a launch it is the first one's";
}

TEST_F(Collectives, OfAGraphAreCountedWithEachOfItsLaunches) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.all_reduce(8);
  spool.all_reduce(100, spool::kLaunchCaptured);
  spool.all_gather(8, spool::kLaunchCaptured);
  spool.graph_node(1, 500, GraphNodeKind::kernel);
  spool.begin_step(0, Phase::timeline);
  for (int turn = 0; turn < 2; ++turn) {
    replay(spool, {kAllReduceKernel, 1, kAllGatherKernel});
    replay(spool, {1, 2});  // a graph that does not communicate
    spool.all_reduce(8);
  }
  spool.end_step();
  spool.end();
  EXPECT_EQ(ordinals(import()), "0 1 2 3 4 5 6");
}

TEST_F(Collectives, BehindALaunchOfAGraphThatNobodyKnowsHaveNoOrdinal) {
  for (const bool ran : {true, false}) {
    const TemporaryDirectory directory;
    NcclSpool spool(directory.path());
    spool.init(2, 0);
    spool.all_reduce(8);
    spool.all_reduce(100, spool::kLaunchCaptured);
    spool.graph_node(1, 500, GraphNodeKind::kernel);
    spool.begin_step(0, Phase::timeline);
    spool.all_reduce(8);
    replay(spool, ran ? std::vector<std::uint32_t>{kAllReduceKernel, kAllGatherKernel}
                      : std::vector<std::uint32_t>{});
    spool.all_reduce(8);
    spool.end_step();
    spool.end();
    spool.completeness();
    EXPECT_EQ(ordinals(imported(directory)), ran ? "0 1 - - -" : "0 1 -");
  }
}

// Of a group that was split off its parent NCCL says the parent's ranks: where these are not all here, it has no size.
TEST_F(Collectives, OnGroupsThatWereSplitOrGrownAreCountedToo) {
  constexpr std::uint64_t kSplit = kHash + 1, kGrown = kHash + 2;
  const auto two = [](std::int32_t low, std::int32_t high) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  };
  NcclSpool spool(directory_.path());
  spool.init(4, 3);
  spool.split(kSplit, 4, 3, 3);
  spool.payload({kGrown, kHash, two(6, 3), 0}, 32);
  spool.ended(kGrowPath);
  spool.begin_step(0, Phase::timeline);
  for (const std::uint64_t hash : {kSplit, kGrown, kSplit, kHash})
    spool.all_reduce(8, 0, kAllReduceKernel, hash);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(ordinals(capture), "0 0 1 0");
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(coalesce(ranks || ':' || rank, '-'), ' ') FROM (SELECT * FROM "
                   "communicator ORDER BY hash)"),
            "4:3 - 6:3");
}

// Two ranks split their group into one of both, in which the second is first, and one of each alone.
TEST_F(Collectives, OfGroupsThatAllRanksOfARecordingSplitTheSizeIsKnown) {
  for (const bool all_here : {true, false}) {
    const TemporaryDirectory directory;
    for (const std::int32_t rank : {0, 1}) {
      if (rank == 1 && !all_here) break;
      NcclSpool spool(directory.path(), "NCCL", 4242 + static_cast<std::uint32_t>(rank));
      spool.init(2, rank);
      spool.split(kHash + 1, 2, rank, -rank);
      spool.split(kHash + 2 + static_cast<std::uint64_t>(rank), 2, rank, 0);
      spool.begin_step(0, Phase::timeline);
      spool.all_gather(1000, 0, kHash + 1);
      spool.end_step();
      spool.end();
      spool.completeness();
    }
    const store::Capture capture = imported(directory);
    EXPECT_EQ(scalar(capture,
                     "SELECT group_concat(substr(hash, -1) || ' ' || coalesce(rank || '/' || ranks, '-'), "
                     "', ') FROM (SELECT * FROM communicator ORDER BY process_id, hash)"),
              all_here ? "8 0/2, 9 1/2, a 0/1, 8 1/2, 9 0/2, b 0/1" : "8 0/2, 9 -, a -");
    EXPECT_EQ(said(capture), all_here ? "all_gather:2000:00c0ffee12345679 all_gather:2000:00c0ffee12345679"
                                      : "all_gather:-:00c0ffee12345679");
  }
}

// NCCL 2.27 and 2.28 say nothing with a split.
TEST_F(Collectives, OnAGroupThatWasSplitWithoutAWordAreCounted) {
  struct Case {
    int splits;
    bool init_all;
    const char* expected;
  };
  for (const Case& one : {Case{2, false, "0 0 1 0"}, Case{1, false, "- - - 0"}, Case{2, true, "- - - 0"}}) {
    const TemporaryDirectory directory;
    NcclSpool spool(directory.path());
    spool.init(4, 3);
    for (int i = 0; i < one.splits; ++i) spool.plain(kSplitPath);
    if (one.init_all) spool.plain(kInitAllPath);
    spool.begin_step(0, Phase::timeline);
    for (const std::uint64_t hash : {kHash + 1, kHash + 2, kHash + 1, kHash})
      spool.all_reduce(8, 0, kAllReduceKernel, hash);
    spool.end_step();
    spool.end();
    spool.completeness();
    EXPECT_EQ(ordinals(imported(directory)), one.expected) << one.splits << one.init_all;
  }
}

// What is destroyed is said with its ranks.
TEST_F(Collectives, OfAGroupThatIsDestroyedTheSizeIsKnown) {
  NcclSpool spool(directory_.path());
  spool.init(8, 7);
  spool.plain(kSplitPath);
  spool.begin_step(0, Phase::timeline);
  spool.all_gather(1000, 0, kHash + 1);
  spool.end_step();
  spool.init(4, 3, kHash + 1, kDestroyPath);
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_gather:4000:00c0ffee12345679");
  EXPECT_EQ(ordinals(capture), "0");
  EXPECT_EQ(scalar(capture, "SELECT rank || ' of ' || ranks FROM communicator WHERE ranks = 4"), "3 of 4");
}

// No group is larger than the one that it was split off, and none of these is larger than that of all.
TEST_F(Collectives, OfAGroupThatAllCallOnTheSizeIsKnown) {
  struct Case {
    std::int32_t ranks, callers;
    bool init_all;
    const char* expected;
  };
  for (const Case& one :
       {Case{3, 3, false, "3000"}, Case{3, 2, false, "-"}, Case{4, 3, false, "-"}, Case{3, 3, true, "-"}}) {
    const TemporaryDirectory directory;
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      NcclSpool spool(directory.path(), "NCCL", 4242 + static_cast<std::uint32_t>(rank));
      spool.init(one.ranks, rank);
      spool.plain(kSplitPath);
      if (one.init_all) spool.plain(kInitAllPath);
      spool.begin_step(0, Phase::timeline);
      spool.all_gather(1000, 0, rank < one.callers ? kHash + 1 : kHash);
      spool.end_step();
      spool.end();
      spool.completeness();
    }
    const store::Capture capture = imported(directory);
    EXPECT_EQ(scalar(capture,
                     "SELECT coalesce(bytes, '-') FROM v_collective WHERE communicator LIKE '%79' LIMIT 1"),
              one.expected)
        << one.ranks << one.callers;
    EXPECT_EQ(scalar(capture, "SELECT group_concat(rank) FROM process"), "0,1,2");
  }
}

// NCCL's gathers to one rank have no word of their own: they count all the same.
TEST_F(Collectives, CallsOfOtherFunctionsCount) {
  for (const bool has_payload : {true, false}) {
    const TemporaryDirectory directory;
    NcclSpool spool(directory.path());
    spool.init(2, 0);
    spool.begin_step(0, Phase::timeline);
    spool.all_reduce(8);
    if (has_payload) {
      spool.payload({kHash, 64, 1}, 24);
    } else {
      spool.plain(kGatherPath + 1000);  // no range of NCCL
    }
    spool.launch_in(kGatherPath, kSendKernel);
    spool.ended(kGatherPath);
    spool.all_reduce(8);
    spool.end_step();
    spool.end();
    spool.completeness();
    EXPECT_EQ(ordinals(imported(directory)), has_payload ? "0 - 2" : "- - -");
  }
}

TEST_F(Collectives, OfTwoRanksInOneProcessHaveNoOrdinal) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.init(2, 1);
  spool.begin_step(0, Phase::timeline);
  spool.all_reduce(8);
  spool.end_step();
  spool.end();
  EXPECT_EQ(ordinals(import()), "-");
}

TEST_F(Collectives, ThatEnginesDoAreCountedToo) {
  struct Case {
    bool has_graphs, has_copies;
    const char *kernels, *copies;
  };
  for (const Case& one : {Case{false, true, "0 2 0", "1"}, Case{false, false, "0 2 0", ""},
                          Case{true, true, "0 2 0", "1"}, Case{true, false, "0 - 0", ""}}) {
    const TemporaryDirectory directory;
    NcclSpool spool(directory.path());
    spool.init(2, 0);
    spool.init(2, 0, kHash + 1);
    if (one.has_graphs) spool.graph_node(1, 500, GraphNodeKind::kernel);
    spool.begin_step(0, Phase::timeline);
    spool.all_reduce(8);
    spool.gather_without_kernel(
        512, one.has_copies ? std::vector<std::int64_t>{512} : std::vector<std::int64_t>{});
    spool.all_reduce(8);
    spool.all_reduce(8, 0, kAllReduceKernel, kHash + 1);
    spool.end_step();
    spool.end();
    spool.completeness();
    const store::Capture capture = imported(directory);
    EXPECT_EQ(ordinals(capture), one.kernels)
        << "where there is a graph, a call without a kernel and copies may be of its capture";
    EXPECT_EQ(scalar(capture,
                     "SELECT coalesce(group_concat(ordinal_in_communicator), '') FROM v_copied_collective"),
              one.copies);
  }
}

// Two threads that write at the same moment take other places of the spool: what a thread does later may lie before.
TEST_F(Collectives, AreJoinedInWhateverOrderTheirRecordsLie) {
  NcclSpool spool(directory_.path());
  spool.init(2, 0);
  spool.begin_step(0, Phase::timeline);
  const std::uint64_t start = spool.new_range(), first = spool.new_range(), second = spool.new_range(),
                      end = spool.new_range();
  const std::int64_t at = spool.now();
  spool.range(end, 0, kGroupEndPath, 2, at + 60, at + 200);
  spool.range(second, 0, kAllReducePath, 2, at + 40, at + 50);
  spool.advance(100);
  auto launch = spool.call();
  launch.nvtx_path_id = kGroupEndPath;
  launch.nvtx_range_id = end;
  spool.put(launch);
  auto ran = spool.kernel_of(launch);
  ran.kernel_id = kAllReduceKernel;
  spool.put(ran);
  spool.payload_of(second, {kHash, 28, 0}, 24);
  spool.range(first, 0, kAllReducePath, 2, at + 20, at + 30);
  spool.range(start, 0, kGroupStartPath, 2, at, at + 10);
  spool.payload_of(first, {kHash, 100, 0}, 24);
  spool.advance(3000);
  spool.all_reduce(8);
  spool.end_step();
  spool.end();
  const store::Capture capture = import();
  EXPECT_EQ(said(capture), "all_reduce:128:00c0ffee12345678 all_reduce:8:00c0ffee12345678");
  EXPECT_EQ(ordinals(capture), "0 2");
}

// Each leaves something out, from the second of four calls on or nobody knows when.
TEST_F(Collectives, HaveNoOrdinalWhereSomethingWasLeftOut) {
  struct Case {
    const char* what;
    void (*leave_out)(NcclSpool&);
    const char* expected;
  };
  const Case cases[] = {
      {"nothing", [](NcclSpool&) {}, "0 1 2"},
      {"a range", [](NcclSpool& spool) { spool.new_range(); }, "0 - -"},
      {"a step without recording",
       [](NcclSpool& spool) {
         spool.end_step();
         spool.begin_step(1, Phase::timeline, 0, spool::kStepAlone);
         spool.end_step(false);
         spool.begin_step(2, Phase::timeline);
       },
       "0 - -"},
      {"what follows a window",
       [](NcclSpool& spool) {
         for (const spool::WindowEdge edge : {spool::WindowEdge::open, spool::WindowEdge::close}) {
           spool::RecordingWindowRecord record{};
           record.time_ns =
               NcclSpool::kOrigin + (edge == spool::WindowEdge::open ? std::int64_t{0} : spool.now());
           record.edge = edge;
           spool.put(record);
         }
       },
       "0 - -"},
      {"a kernel of no call",
       [](NcclSpool& spool) {
         const auto call = spool.call();
         auto ran = spool.kernel_of(call);
         spool.put(call);
         ran.kernel_id = kAllReduceKernel;
         spool.put(ran);
         spool.advance(2000);
       },
       "- - - -"},
      {"records", [](NcclSpool& spool) { spool.completeness(1); }, "- - -"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const TemporaryDirectory directory;
    NcclSpool spool(directory.path());
    spool.init(2, 0);
    spool.begin_step(0, Phase::timeline);
    spool.all_reduce(8);
    one.leave_out(spool);
    spool.all_reduce(8);
    spool.all_reduce(8);
    spool.end_step();
    spool.end();
    if (std::string(one.what) != "records") spool.completeness();
    EXPECT_EQ(ordinals(imported(directory)), one.expected);
  }
}

TEST(CollectiveNames, AreReadOfKernels) {
  EXPECT_EQ(collective_in_name("ncclSymkDevKernel_ReduceScatter_LD_sum_f32"),
            CollectiveFunction::reduce_scatter);
  EXPECT_EQ(collective_in_name("one_shot_all_reduce"), CollectiveFunction::all_reduce);
  EXPECT_EQ(collective_in_name("ncclDevKernel_Reduce_Sum_f32_RING_LL"), CollectiveFunction::reduce);
  EXPECT_FALSE(collective_in_name("ncclDevKernel_Generic_4").has_value());
}
TEST(CollectiveNames, HaveTheTypeOfTheElements) {
  const std::pair<const char*, ElementType> named[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", ElementType::fp32},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", ElementType::bf16},
      {"ncclDevKernel_Reduce_Sum_u8_RING_LL", ElementType::uint8},
      {"ncclDevKernel_AllReduce_MinMax_i64_TREE_LL", ElementType::int64},
      {"ncclDevKernel_AllReduce_Sum_f8e4m3_RING_LL", ElementType::fp8_e4m3},
      {"ncclDevKernel_AllReduce_Sum_f8e5m2_RING_LL", ElementType::fp8_e5m2},
      {"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f16", ElementType::fp16},
      {"void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, true>(c10::BFloat16**, unsigned long)",
       ElementType::bf16},
      {"two_shot_all_reduce_kernel<float, 4>", ElementType::fp32}};
  for (const auto& [name, type] : named) EXPECT_EQ(element_in_name(name), type) << name;
  for (const char* none :
       {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_SendRecv",
        "ncclDevKernel_Generic_4", "", "all_reduce_f32x4", "floating"})
    EXPECT_FALSE(element_in_name(none).has_value()) << none;
}

}  // namespace
}  // namespace ridgeline::import::testing
