// What NCCL says of its collectives by NVTX, joined to the kernels that ran them.
#include "ridgeline/store/collectives.h"

#include "import/import_testing.h"
#include "ridgeline/base/collective_name.h"

namespace ridgeline::import::testing {
namespace {

constexpr std::uint64_t kHash = 0xc0ffee12345678;
constexpr std::uint32_t kAllReducePath = 10, kAllGatherPath = 11, kGroupStartPath = 12, kGroupEndPath = 13,
                        kInitPath = 14, kSendPath = 15, kRecvPath = 16;
constexpr std::uint32_t kAllReduceKernel = 20, kAllGatherKernel = 21, kSendKernel = 22;

// A program that calls NCCL, as the agent records it.
class NcclSpool : public FakeSpool {
 public:
  explicit NcclSpool(const std::string& directory, const char* domain = "NCCL") : FakeSpool(directory) {
    const std::pair<std::uint32_t, const char*> paths[] = {{kAllReducePath, "ncclAllReduce"},
                                                           {kAllGatherPath, "ncclAllGather"},
                                                           {kGroupStartPath, "ncclGroupStart"},
                                                           {kGroupEndPath, "ncclGroupEnd"},
                                                           {kInitPath, "ncclCommInitRankConfig"},
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
        {kSendKernel, "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorage"}};
    for (const auto& [id, name] : kernels) {
      spool::KernelFunctionRecord function{};
      function.kernel_id = id;
      function.name = text(name);
      put(function);
    }
  }

  void payload(const std::vector<std::uint64_t>& numbers, std::uint32_t bytes) {
    spool::NvtxPayloadRecord record{};
    record.range_id = ++range_;
    record.schema_id = (1u << 24) + 5;
    record.length_bytes = bytes;
    ASSERT_TRUE(writer().put(record, numbers.data(), bytes));
  }
  void ended(std::uint32_t path) { range(range_, 0, path, 2, now() - 20, now()); }

  void init(std::int32_t ranks, std::int32_t rank) {
    payload({kHash, static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(ranks), 0}, 24);
    ended(kInitPath);
  }
  /// A launch in the range of the call that was begun last, or of the group's end.
  void launch_in(std::uint32_t path, std::uint32_t kernel, std::uint16_t flags = 0) {
    auto record = call(flags);
    record.nvtx_path_id = path;
    record.nvtx_range_id = range_;
    put(record);
    advance(2000);
    if ((flags & spool::kLaunchCaptured) != 0) return;
    auto ran = kernel_of(record);
    ran.kernel_id = kernel;
    put(ran);
  }
  void all_reduce(std::uint64_t bytes, std::uint16_t flags = 0, std::uint32_t kernel = kAllReduceKernel) {
    payload({kHash, bytes, 0}, 24);
    launch_in(kAllReducePath, kernel, flags);
    ended(kAllReducePath);
  }
  void all_gather(std::uint64_t bytes, std::uint16_t flags = 0) {
    payload({kHash, bytes}, 16);
    launch_in(kAllGatherPath, kAllGatherKernel, flags);
    ended(kAllGatherPath);
  }
  void plain(std::uint32_t path) {
    ++range_;
    ended(path);
  }

 private:
  std::uint64_t range_ = 1000;
};

class Collectives : public Importer {
 protected:
  // Of each in the order of launches: function, bytes, hash.
  [[nodiscard]] static std::string said(const store::Capture& capture) {
    return scalar(
        capture,
        "SELECT group_concat(function || ':' || coalesce(bytes, '-') || ':' || coalesce(communicator, "
        "'-'), ' ') FROM (SELECT * FROM v_collective WHERE function IS NOT NULL ORDER BY start_ns)");
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
