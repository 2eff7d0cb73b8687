// The stack of ranges: nesting, domains, imbalance, payloads.
#include <algorithm>
#include <thread>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

void expect_one_payload(FakeProgram& program, std::uint64_t schema_id, std::uint64_t range_id,
                        const void* data, std::size_t size) {
  auto reader = spool::Reader::open(program.session().writer().path(), nullptr);
  ASSERT_TRUE(reader);
  int payloads = 0;
  reader->for_each([&](const spool::RecordView& r) {
    const auto* p = r.as<spool::NvtxPayloadRecord>();
    if (p == nullptr) return;
    ++payloads;
    EXPECT_EQ(p->schema_id, schema_id);
    EXPECT_EQ(p->range_id, range_id);
    ASSERT_EQ(r.trailing_bytes().size(), size);
    EXPECT_EQ(std::memcmp(r.trailing_bytes().data(), data, size), 0);
  });
  EXPECT_EQ(payloads, 1);
}

TEST(Nvtx, PopsTheInnermostRangeOfItsOwnDomain) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  Session& s = program.session();
  int domain = 0;
  const spool::StringId name = s.writer().intern("library");
  EXPECT_EQ(s.nvtx_push(nullptr, 0, "outer", {}), 0);
  EXPECT_EQ(s.nvtx_push(&domain, name, "inner", {}), 1);
  s.nvtx_pop(nullptr);  // outer ends first
  s.nvtx_pop(&domain);
  const auto c = program.contents();
  ASSERT_EQ(c.ranges.size(), 2u);
  EXPECT_EQ(c.ranges[0].depth, 0u);
  EXPECT_EQ(c.ranges[0].parent_range_id, 0u);
  EXPECT_EQ(c.ranges[1].range_id, 2u);
  ASSERT_EQ(c.paths.size(), 2u);
  EXPECT_EQ(c.text(c.paths[1].domain), "library");
  EXPECT_EQ(c.paths[1].parent_id, c.paths[0].path_id);
}

TEST(Nvtx, CountsAPopTooMany) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  program.start();
  program.pop();
  program.push("a");
  program.pop();
  program.pop();
  program.tick();
  const auto c = program.contents();
  EXPECT_EQ(c.ranges.size(), 1u);
  EXPECT_EQ(c.totals.nvtx_unbalanced, 2u);
}

TEST(Nvtx, StaysBalancedBeyondItsDepth) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  for (std::uint32_t i = 0; i < kMaxNvtxDepth + 10; ++i) program.push("deep");
  for (std::uint32_t i = 0; i < kMaxNvtxDepth + 10; ++i) program.pop();
  program.push("after");
  program.pop();
  const auto c = program.contents();
  EXPECT_EQ(c.ranges.size(), kMaxNvtxDepth + 1u);
  EXPECT_EQ(c.ranges.back().depth, 0u);
}

// By a gap the import sees that a range, which may be a collective's, was left out.
TEST(Nvtx, RangesOfAllKindsAndThreadsAreNumberedFromOneWithoutAGap) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  Session& s = program.session();
  for (int i = 0; i < 3; ++i) {
    program.push("step");
    const std::uint64_t id = s.nvtx_start(0, "request", {});
    std::thread([&] {
      s.nvtx_mark(0, "now", {});
      s.nvtx_push(&cupti, s.writer().intern("NCCL"), "ncclAllReduce", {});
      s.nvtx_pop(&cupti);
    }).join();
    s.nvtx_end(id);
    program.pop();
    program.pop();  // one too many
  }
  for (std::uint32_t i = 0; i < kMaxNvtxDepth + 2; ++i) program.push("deep");
  for (std::uint32_t i = 0; i < kMaxNvtxDepth + 2; ++i) program.pop();
  std::vector<std::uint64_t> numbers;
  for (const spool::NvtxRangeRecord& range : program.contents().ranges) numbers.push_back(range.range_id);
  std::sort(numbers.begin(), numbers.end());
  ASSERT_EQ(numbers.size(), 3 * 4 + kMaxNvtxDepth);
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i + 1);
}

TEST(Nvtx, SharesAPathBetweenRangesOfTheSameNesting) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  for (int i = 0; i < 3; ++i) {
    program.push("layer");
    program.push("op");
    program.pop();
    program.pop();
  }
  program.push("op");
  program.pop();
  const auto c = program.contents();
  EXPECT_EQ(c.ranges.size(), 7u);
  EXPECT_EQ(c.paths.size(), 3u) << "layer, layer/op, op";
}

TEST(Nvtx, KeepsPayloadColourAndCategory) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  NvtxAttributes a;
  a.has_color = true;
  a.color_argb = 0xff00ff00;
  a.category = 7;
  a.payload_type = spool::NvtxPayloadType::int64;
  a.payload = static_cast<std::uint64_t>(-5);
  program.session().nvtx_push(nullptr, 0, "op", a);
  program.pop();
  const std::int64_t cost[2] = {1000, 2000};
  const NvtxAttributes::Blob blob{42, sizeof cost, cost};
  NvtxAttributes b;
  b.payload_type = spool::NvtxPayloadType::binary;
  b.blobs = &blob;
  b.blob_count = 1;
  program.session().nvtx_push(nullptr, 0, "op", b);
  program.pop();
  const auto c = program.contents();
  EXPECT_EQ(c.ranges[0].color_argb, 0xff00ff00u);
  EXPECT_EQ(c.ranges[0].category, 7u);
  EXPECT_EQ(static_cast<std::int64_t>(c.ranges[0].payload), -5);
  expect_one_payload(program, 42, c.ranges[1].range_id, cost, sizeof cost);
}

// NCCL closes ranges with what it knows at their end.
TEST(Nvtx, KeepsThePayloadOfARangesEnd) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  const std::uint64_t group[3] = {0xc0ffee, 2, 0};
  const NvtxAttributes::Blob blob{43, sizeof group, group};
  NvtxAttributes end;
  end.payload_type = spool::NvtxPayloadType::binary;
  end.blobs = &blob;
  end.blob_count = 1;
  program.push("ncclCommInitRank");
  program.push("inner");
  program.pop();
  program.session().nvtx_pop(nullptr, end);
  const auto c = program.contents();
  ASSERT_EQ(c.ranges.size(), 2u);
  expect_one_payload(program, 43, c.ranges[1].range_id, group, sizeof group);
}

TEST(Nvtx, JoinsStartAndEndAcrossThreads) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  program.start();
  const std::uint64_t id = program.session().nvtx_start(0, "request", {});
  std::thread([&] { program.session().nvtx_end(id); }).join();
  program.session().nvtx_end(id);  // twice: counted
  program.session().nvtx_mark(0, "now", {});
  program.tick();
  const auto c = program.contents();
  // Threads write to chunks of their own: the order in the file is not the order in time.
  ASSERT_EQ(c.ranges.size(), 2u);
  const bool first_is_mark = c.ranges[0].kind == spool::NvtxKind::mark;
  const auto& request = c.ranges[first_is_mark ? 1 : 0];
  const auto& mark = c.ranges[first_is_mark ? 0 : 1];
  EXPECT_EQ(request.kind, spool::NvtxKind::start_end);
  EXPECT_EQ(request.range_id, id);
  EXPECT_GT(request.end_ns, request.start_ns);
  EXPECT_EQ(mark.kind, spool::NvtxKind::mark);
  EXPECT_EQ(c.totals.nvtx_unbalanced, 1u);
}

TEST(Nvtx, StepsNumberedInTheirNamesShareAPath) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  for (const char* name : {"step 1", "step 2", "step 3"}) {
    program.push(name);
    program.push("forward");
    program.pop();
    program.pop();
  }
  const auto c = program.contents();
  ASSERT_EQ(c.paths.size(), 2u);
  EXPECT_EQ(c.text(c.paths[0].name), "step");
  EXPECT_EQ(c.text(c.paths[1].name), "forward");
  ASSERT_EQ(c.ranges.size(), 6u);
  EXPECT_EQ(c.ranges[5].step_index, 2u);
}

TEST(Nvtx, SaysWhenThereAreMorePathsThanItTellsApart) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  for (std::uint32_t i = 0; i < NvtxTracker::kMaxPaths; ++i) {
    program.push(("item " + std::to_string(i)).c_str());
    program.pop();
  }
  program.tick();
  EXPECT_EQ(program.contents().message(spool::Topic::nvtx_paths), "");
  program.push("one more");
  program.launch("kernel");
  program.pop();
  program.tick();
  program.tick();
  const auto c = program.contents();
  EXPECT_NE(c.message(spool::Topic::nvtx_paths).find("65536 different nestings"), std::string::npos);
  EXPECT_EQ(std::count_if(c.messages.begin(), c.messages.end(),
                          [](const auto& m) { return m.topic == spool::Topic::nvtx_paths; }),
            1);
  EXPECT_EQ(c.totals.nvtx_unbalanced, 0u) << "that is another fault";
}

}  // namespace
}  // namespace ridgeline::agent
