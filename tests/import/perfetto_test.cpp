// Traces in Perfetto's format: as torch.profiler writes its .pftrace, in small files of ours.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "perfetto/proto_fields.h"
#include "perfetto/slice_pairs.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/capture.h"
#include "support/accepted_cases.h"
#include "support/accepted_import.h"
#include "support/temporary_directory.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::accepted;

// A message in the wire format.
class Message {
 public:
  Message& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3U);
    varint(value);
    return *this;
  }
  Message& text(std::uint32_t field, const std::string& value) {
    varint(std::uint64_t{field} << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

constexpr std::uint64_t kBase = 1'700'000'000'000'000'000;
constexpr std::uint64_t kPid = 42, kTid = 43;
constexpr std::uint64_t kProcessTrack = 1, kThreadTrack = 2;

Message named(std::uint64_t id, const std::string& name, std::uint32_t field = 2) {
  return Message().number(1, id).text(field, name);
}

// As torch.profiler writes: all begins of a kind, then all its ends; what ran on the GPU as render stages.
class TorchTrace {
 public:
  enum Name : std::uint64_t { the_step = 1, the_mm, launches, synchronises, launches_graph };
  enum Category : std::uint64_t { operation = 1, annotation, runtime, python };

  TorchTrace() {
    Message clocks;
    for (const std::uint64_t clock : {6U, 1U}) clocks.message(1, Message().number(1, clock).number(2, kBase));
    packet(Message().number(8, kBase).number(10, 1).message(6, clocks));
    packet(Message().message(
        60, Message().number(1, kProcessTrack).message(3, Message().number(1, kPid).text(6, "python"))));
    packet(Message().message(
        60, Message()
                .number(1, kThreadTrack)
                .number(5, kProcessTrack)
                .message(4, Message().number(1, kPid).number(2, kTid).text(5, "thread main"))));
    Message interned;
    for (const auto& [id, name] :
         {std::pair{the_step, "ProfilerStep#1"}, std::pair{the_mm, "aten::mm"},
          std::pair{launches, "cudaLaunchKernel"}, std::pair{synchronises, "cudaDeviceSynchronize"},
          std::pair{launches_graph, "cudaGraphLaunch"}})
      interned.message(2, named(id, name));
    for (const auto& [id, name] : {std::pair{operation, "cpu_op"}, std::pair{annotation, "user_annotation"},
                                   std::pair{runtime, "cuda_runtime"}, std::pair{python, "python_function"}})
      interned.message(1, named(id, name));
    interned.message(24, named(1, "Kernel").number(4, 2))
        .message(24, named(2, "Memcpy"))
        .message(24, named(3, "Memset"))
        .message(24, named(4, "Annotation"))
        .message(24, named(100, "stream 7"));
    interned.message(23, Message().number(1, 1).number(2, 7))
        .message(1000, named(1, "void gemm<float>(float*)", 3));
    interned.message(1001, named(1, "registers_per_thread")).message(1001, named(2, "shared_mem_dynamic"));
    packet(Message().number(10, 1).number(13, 1).message(12, interned));
  }

  struct Slice {
    Name name;
    Category category;
    std::uint64_t start, end;
    std::uint64_t correlation = 0;
    bool shapes = false;
  };
  void group(const std::vector<Slice>& slices) {
    for (const Slice& slice : slices) {
      Message event;
      event.number(9, 1).number(11, kThreadTrack).number(10, slice.name).number(3, slice.category);
      if (slice.correlation != 0)
        event.message(4, Message().text(10, "correlation").number(4, slice.correlation));
      if (slice.shapes) event.message(4, dims());
      packet(Message().number(8, kBase + slice.start).number(10, 1).number(13, 2).message(11, event));
    }
    for (const Slice& slice : slices)
      packet(Message()
                 .number(8, kBase + slice.end)
                 .number(10, 1)
                 .message(11, Message().number(9, 2).number(11, kThreadTrack)));
  }

  void kernel(std::uint64_t start, std::uint64_t duration, std::uint64_t correlation,
              std::uint64_t node = 0) {
    Message launch;
    launch.message(1, Message().number(1, 512).number(2, 2).number(3, 1));
    launch.message(2, Message().number(1, 256).number(2, 1).number(3, 1));
    launch.message(3, Message().number(1, 1).number(4, 40))
        .message(3, Message().number(1, 2).number(4, 1024));
    Message stage = stage_of(1, duration, correlation, node);
    at(start, stage.number(19, 1).message(21, launch));
  }
  void other(std::uint64_t stage, std::uint64_t start, std::uint64_t duration, std::uint64_t bytes) {
    Message made = stage_of(stage, duration, 0, 0);
    at(start, made.message(6, Message().text(1, "bytes").text(2, std::to_string(bytes))));
  }
  void packet(const Message& message) { bytes_ += Message().message(1, message).bytes(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  static Message list(const std::vector<std::uint64_t>& numbers) {
    Message all;
    for (const std::uint64_t number : numbers) all.message(12, Message().number(4, number));
    return all;
  }
  static Message dims() {
    return Message().text(10, "Input Dims").message(12, list({64, 128})).message(12, list({128, 32}));
  }
  static Message extra(const std::string& name, std::uint64_t value) {
    return Message().text(1, name).text(2, std::to_string(value));
  }
  Message stage_of(std::uint64_t stage, std::uint64_t duration, std::uint64_t correlation,
                   std::uint64_t node) {
    Message made;
    made.number(1, ++events_)
        .number(2, duration)
        .number(11, 0)
        .number(13, 100)
        .number(14, stage)
        .number(5, 1);
    made.message(6, extra("stream id", 7)).message(6, extra("process_id", kPid));
    if (correlation != 0) made.message(6, extra("correlation", correlation));
    if (node != 0) made.message(6, extra("graph node id", node)).message(6, extra("graph id", 3));
    return made;
  }
  void at(std::uint64_t start, const Message& stage) {
    packet(Message().number(8, kBase + start).number(10, 1).number(13, 2).message(53, stage));
  }
  std::string bytes_;
  std::uint64_t events_ = 0;
};

TorchTrace two_steps() {
  using T = TorchTrace;
  TorchTrace trace;
  // Steps side by side, operations inside, one with shapes; the last begins when the step before it ends.
  trace.group({{T::the_step, T::annotation, 1'000, 9'000},
               {T::the_mm, T::operation, 2'000, 3'000, 0, true},
               {T::the_step, T::annotation, 9'000, 19'000},
               {T::the_mm, T::operation, 10'000, 11'000, 0, true},
               {T::the_mm, T::python, 10'100, 10'900}});
  trace.group({{T::launches, T::runtime, 2'100, 2'400, 11},
               {T::synchronises, T::runtime, 5'000, 8'000, 12},
               {T::launches, T::runtime, 10'200, 10'500, 13},
               {T::launches_graph, T::runtime, 12'000, 12'500, 14}});
  trace.kernel(3'000, 1'234, 11);
  trace.kernel(11'000, 1'234, 13);
  trace.kernel(13'000, 500, 14, 5);
  trace.kernel(13'600, 500, 14, 6);
  trace.other(2, 4'300, 300, 4096);
  trace.other(3, 4'700, 100, 64);
  trace.other(4, 2'900, 9'000, 0);  // a mirror of an annotation
  return trace;
}

class PerfettoTraces : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }
  Result<ImportSummary> import(const std::string& name) {
    return ridgeline::testing::expect_accepted_import(
        import_traces({directory_ / name}, directory_ / "out.ridge", {.import = {.overwrite = true}}),
        directory_ / "out.ridge");
  }
  store::Capture imported(const std::string& name) {
    summary_ = import(name).value();
    return std::move(store::Capture::open(directory_ / "out.ridge")).value();
  }
  static std::int64_t kernel_ns(const store::Capture& capture) {
    const auto launches = capture.launches();
    return std::accumulate(
        launches.begin(), launches.end(), std::int64_t{0},
        [](std::int64_t sum, const store::Launch& launch) { return sum + launch.end_ns - launch.start_ns; });
  }

  testing::TemporaryDirectory directory_;
  ImportSummary summary_;
};

TEST_F(PerfettoTraces, TorchProfilersTraceBecomesStepsRangesAndLaunches) {
  write("trace", two_steps().bytes());
  EXPECT_EQ(source_kind(directory_ / "trace").value(), SourceKind::perfetto) << "whatever its name";
  const store::Capture capture = imported("trace");
  const auto launches = capture.launches();
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_EQ(kernel_ns(capture), 2 * 1'234 + 2 * 500);
  EXPECT_EQ(launches[0].start_ns, static_cast<std::int64_t>(kBase) + 3'000);
  EXPECT_EQ(launches[0].host_start_ns, static_cast<std::int64_t>(kBase) + 2'100);
  EXPECT_EQ(launches[0].thread_id, static_cast<std::int64_t>(kTid));
  EXPECT_EQ(launches[0].grid, (store::Dim3{512, 2, 1}));
  EXPECT_EQ(launches[0].block, (store::Dim3{256, 1, 1}));
  EXPECT_EQ(launches[0].registers_per_thread, 40);
  EXPECT_EQ(launches[0].dynamic_smem_bytes, 1024);
  EXPECT_EQ(launches[0].stream_id, 7);
  EXPECT_EQ(launches[2].graph_node_id, 5);
  EXPECT_EQ(capture.kernels().at(0).demangled_name, "void gemm<float>(float*)");
  const auto steps = capture.steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].source, StepSource::nvtx);
  EXPECT_EQ(steps[0].host_start_ns, static_cast<std::int64_t>(kBase) + 1'000);
  EXPECT_EQ(steps[0].host_end_ns, static_cast<std::int64_t>(kBase) + 9'000)
      << "not the end of the step after it";
  EXPECT_EQ(launches[3].step_id, steps[1].id);
  ASSERT_EQ(capture.memcpys().size(), 1u);
  EXPECT_EQ(capture.memcpys()[0].bytes, 4096);
  EXPECT_EQ(capture.memsets().size(), 1u);
  EXPECT_EQ(capture.processes().at(0).pid, static_cast<std::int64_t>(kPid));
  EXPECT_EQ(capture.nvtx_ranges().size(), 4u);
  const auto declared = capture.annotations();
  ASSERT_EQ(declared.size(), 2u);
  EXPECT_DOUBLE_EQ(declared[0].flops.value(), 2.0 * 64 * 128 * 32);
  EXPECT_TRUE(capture.run().end_ns.has_value());
}

TEST_F(PerfettoTraces, PackedTracesAreTheSameAndCutOnesAreSaid) {
  const std::string bytes = two_steps().bytes();
  const gzFile file = gzopen((directory_ / "packed.pftrace").c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(kernel_ns(imported("packed.pftrace")), 2 * 1'234 + 2 * 500);
  const std::string stages = bytes.substr(0, bytes.size() - 200);
  write("cut", stages);
  const store::Capture part = imported("cut");
  EXPECT_GT(part.launches().size(), 0u);
  EXPECT_FALSE(part.run().end_ns.has_value()) << "nobody knows how it ended";
  ASSERT_FALSE(summary_.warnings.empty());
  EXPECT_EQ(summary_.warnings.front().code, ReasonCode::import_cut);
}

TEST_F(PerfettoTraces, MutantsEndInOneLineOrAreCounted) {
  TorchTrace damaged = two_steps();
  damaged.packet(Message().number(8, kBase).text(53, "\x08\xff"));     // a stage that ends inside a number
  damaged.packet(Message().text(53, Message().number(2, 5).bytes()));  // no time
  write("damaged", damaged.bytes());
  EXPECT_EQ(imported("damaged").launches().size(), 4u);
  ASSERT_FALSE(summary_.warnings.empty());
  EXPECT_EQ(summary_.warnings.front().code, ReasonCode::import_malformed);
  EXPECT_EQ(summary_.warnings.front().number("events"), 2);
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    std::filesystem::remove(directory_ / "out.ridge");
    write(name, bytes);
    const auto result = import(name);
    EXPECT_FALSE(result.ok()) << name;
    if (result.ok()) return ErrorKind::internal;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out.ridge"));
    return result.failure().kind;
  };
  EXPECT_EQ(refused("idle", TorchTrace().bytes()), ErrorKind::no_data);
  EXPECT_EQ(refused("none", Message().message(1, Message().text(53, "\x08\xff")).bytes()),
            ErrorKind::corrupt);
  EXPECT_EQ(refused("short", two_steps().bytes().substr(0, 20)), ErrorKind::corrupt);
}

TEST(ProtoFields, WhatIsNoMessageIsMalformed) {
  const auto malformed = [](std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.next()) {
    }
    return fields.malformed();
  };
  EXPECT_FALSE(malformed(""));
  EXPECT_FALSE(malformed(Message().number(1, UINT64_MAX).text(2, "a").bytes()));
  for (const std::string_view bytes :
       {std::string_view("\x08", 1), std::string_view("\x12\x05\x61", 3), std::string_view("\x0b", 1),
        std::string_view("\x00", 1), std::string_view("\x09\x01", 2)})
    EXPECT_TRUE(malformed(bytes));
  ProtoFields fixed(std::string_view("\x09\x01\x02\x00\x00\x00\x00\x00\x00", 9));
  ASSERT_TRUE(fixed.next());
  EXPECT_EQ(fixed.number(), 0x0201U);
}

// Fields of each wire type, written bit by bit here.
TEST(ProtoFields, ReadBackAsTheyWereWritten) {
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
    return bytes + static_cast<char>(value);
  };
  const auto fixed = [](std::uint64_t value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{16'383},
        std::uint64_t{16'384}, std::uint64_t{0xfedcba98}, std::uint64_t{1} << 62U, UINT64_MAX}) {
    for (const std::uint64_t field :
         {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{UINT32_MAX}}) {
      SCOPED_TRACE(std::to_string(number) + " in " + std::to_string(field));
      const std::string text(static_cast<std::size_t>(number % 300), 't');
      ProtoFields fields(std::string_view{});
      const std::string message = varint(field << 3U) + varint(number) + varint(field << 3U | 1U) +
                                  fixed(number, 8) + varint(field << 3U | 2U) + varint(text.size()) + text +
                                  varint(field << 3U | 5U) + fixed(number, 4) + varint(field << 3U) +
                                  varint(7);
      fields = ProtoFields(message);
      const auto expect_number = [&](std::uint64_t expected) {
        ASSERT_TRUE(fields.next());
        EXPECT_EQ(fields.field(), field);
        EXPECT_EQ(fields.number(), expected);
        EXPECT_EQ(fields.whole(), static_cast<std::int64_t>(expected));
        EXPECT_EQ(fields.bytes(), "");
      };
      expect_number(number);
      expect_number(number);
      ASSERT_TRUE(fields.next());
      EXPECT_EQ(fields.field(), field);
      EXPECT_EQ(fields.number(), 0U);
      EXPECT_EQ(fields.bytes(), text);
      expect_number(number & UINT32_MAX);
      expect_number(7);
      EXPECT_FALSE(fields.next());
      EXPECT_FALSE(fields.malformed());
      // Cut anywhere it ends early or is malformed, and says nothing more.
      for (std::size_t size = 0; size < message.size(); size += 1 + size / 20) {
        ProtoFields cut(std::string_view(message).substr(0, size));
        int count = 0;
        while (cut.next()) ++count;
        EXPECT_LT(count, 5);
        EXPECT_FALSE(cut.next());
      }
    }
  }
  const std::string too_large = varint((std::uint64_t{UINT32_MAX} + 1) << 3U) + varint(1);
  ProtoFields beyond(too_large);
  EXPECT_FALSE(beyond.next());
  EXPECT_TRUE(beyond.malformed());
  const std::string endless(11, '\xff');
  ProtoFields longer(endless);
  EXPECT_FALSE(longer.next());
  EXPECT_TRUE(longer.malformed()) << "a number has ten bytes at most";
}

TEST(SlicePairs, EndsAreOfTheInnermostOpenSlice) {
  constexpr std::uint32_t kEnd = SliceEdge::kEnd;
  const auto paired = [](std::vector<SliceEdge> edges, std::size_t slices, std::int64_t unmatched = 0) {
    std::vector<std::int64_t> ends(slices, -1);
    EXPECT_EQ(accepted(pair_slices(edges, ends)), unmatched);
    return ends;
  };
  using Ends = std::vector<std::int64_t>;
  EXPECT_EQ(paired({{1, 0}, {2, 1}, {3, kEnd}, {4, kEnd}}, 2), (Ends{4, 3}));
  EXPECT_EQ(paired({{1, 0}, {1, 1}, {1, kEnd}, {4, kEnd}}, 2), (Ends{4, 1})) << "the order of the file";
  // All begins before all ends, in the order of starts.
  EXPECT_EQ(paired({{1, 0}, {2, 1}, {9, 2}, {9, kEnd}, {3, kEnd}, {12, kEnd}}, 3), (Ends{9, 3, 12}));
  EXPECT_EQ(paired({{5, 0}, {1, 1}, {5, kEnd}, {5, kEnd}}, 2), (Ends{5, 5})) << "one takes no time";
  EXPECT_EQ(paired({{1, 0}, {2, kEnd}, {3, kEnd}, {4, 1}}, 2, 1), (Ends{2, -1}));
}

}  // namespace
}  // namespace ridgeline::import
