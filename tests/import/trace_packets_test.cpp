// Packets of a Perfetto trace, each field of each message in the forms that writers use, and what is made of them: held
// against tests/golden/tables/trace-packets.txt.
#include "perfetto/trace_packets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/accepted_table.h"

namespace ridgeline::import {
namespace {

class Wire {
 public:
  Wire& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3U);
    varint(value);
    return *this;
  }
  Wire& text(std::uint32_t field, const std::string& value) {
    varint(std::uint64_t{field} << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Wire& in(std::uint32_t field, const Wire& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Wire wire_named(std::uint64_t id, const std::string& name, std::uint32_t field = 2) {
  return Wire().number(1, id).text(field, name);
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += fmt::format("{}{}", text.empty() ? "" : "x", number);
  return text;
}

std::string arguments_text(const OpArguments& arguments) {
  std::string text;
  for (const auto& sizes : arguments.sizes) text += sizes ? " (" + numbers_text(*sizes) + ")" : " (none)";
  for (const auto& type : arguments.types) text += " type " + std::string(type);
  for (const auto& value : arguments.values) text += " value " + std::string(value);
  return text;
}

std::string stage_text(const PerfettoStage& stage) {
  std::string text = fmt::format("stage [{}] name [{}] kernel {} event {} at {} for {} device {} pid {}",
                                 stage.stage, stage.name, stage.is_kernel, stage.event_id, stage.time_ns,
                                 stage.duration_ns, stage.device, stage.pid);
  if (stage.grid) text += fmt::format(" grid {}x{}x{}", stage.grid->x, stage.grid->y, stage.grid->z);
  if (stage.block) text += fmt::format(" block {}x{}x{}", stage.block->x, stage.block->y, stage.block->z);
  for (const auto& [name, value] : stage.extra) text += fmt::format(" {}={}", name, value);
  return text;
}

// What packets lead to, a line each.
class PacketTable {
 public:
  void take(const std::string& what, const Wire& packet) {
    said_.clear();
    const bool whole = packets_.take(packet.bytes());
    table_ += fmt::format("{}:{}{}\n", what, whole ? "" : " malformed",
                          said_.empty() && whole ? " nothing" : said_);
  }
  void event(const std::string& what, const Wire& event) {
    take(what, Wire().number(8, 5000).number(10, 1).in(11, event));
  }
  void stage(const std::string& what, const Wire& stage) {
    take(what, Wire().number(8, 5000).number(10, 1).in(53, stage));
  }
  [[nodiscard]] const std::string& table() const { return table_; }

 private:
  static std::string optional_text(const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "none";
  }
  PacketHandlers handlers() {
    return {.track =
                [this](const PerfettoTrack& track) {
                  said_ += fmt::format(" track {} parent {} [{}] pid {} tid {} process [{}] thread [{}]",
                                       track.uuid, track.parent, track.name, optional_text(track.pid),
                                       optional_text(track.tid), track.process_name, track.thread_name);
                },
            .begin =
                [this](const PerfettoSlice& slice) {
                  said_ += fmt::format(" begin [{}] of [{}] on {} at {} correlation {}", slice.name,
                                       slice.category, slice.track, slice.time_ns,
                                       optional_text(slice.correlation));
                  for (const std::uint64_t id : slice.launched) said_ += fmt::format(" launched {}", id);
                  if (slice.arguments) said_ += arguments_text(*slice.arguments);
                },
            .end = [this](std::uint64_t track,
                          std::int64_t time_ns) { said_ += fmt::format(" end on {} at {}", track, time_ns); },
            .stage = [this](const PerfettoStage& stage) { said_ += " " + stage_text(stage); },
            .utc = [this](std::int64_t offset_ns) { said_ += fmt::format(" utc {}", offset_ns); },
            .left_out = [this](std::string_view what) { said_ += fmt::format(" left out: {}", what); }};
  }

  std::string said_, table_;
  TracePackets packets_{handlers()};
};

// Names of a sequence by number.
Wire interned() {
  Wire all;
  all.in(1, wire_named(7, "cpu_op"))
      .in(2, wire_named(3, "aten::mm"))
      .in(2, wire_named(4, "plain"))
      .in(3, wire_named(5, "correlation"))
      .in(3, wire_named(6, "Input Dims"))
      .in(29, wire_named(8, "interned text"))
      .in(23, Wire().number(1, 2).number(2, 4242))
      .in(24, wire_named(10, "Kernel").number(4, 2))
      .in(24, wire_named(11, "Memcpy").number(4, 1))
      .in(24, wire_named(12, "queue 9"))
      .in(1000, wire_named(20, "void gemm()", 3))
      .in(1001, wire_named(21, "registers_per_thread"));
  return all;
}

void envelopes(PacketTable& table) {
  const Wire begin = Wire().number(9, 1).number(11, 2).text(23, "work");
  table.take("nothing", Wire());
  table.take("an event", Wire().number(8, 100).in(11, begin));
  table.take("an event without a time", Wire().in(11, begin));
  table.take("an event that is too late", Wire().number(8, std::uint64_t{1} << 62U).in(11, begin));
  for (const std::uint64_t clock : {6, 63, 64, 127})
    table.take(fmt::format("an event on clock {}", clock),
               Wire().number(8, 100).number(58, clock).in(11, begin));
  table.take("compressed", Wire().text(50, "x"));
  table.take("counters", Wire().number(8, 100).in(52, Wire()));
  table.take("another kind", Wire().number(99, 5));
  table.take("cut", Wire().text(11, "\x08"));
  const auto clocks = [](const std::vector<std::pair<std::uint64_t, std::uint64_t>>& times) {
    Wire all;
    for (const auto& [id, time] : times) all.in(1, Wire().number(1, id).number(2, time));
    return Wire().in(6, all.number(2, 7));
  };
  table.take("one clock", clocks({{6, 1000}}));
  table.take("the other", clocks({{1, 1000}}));
  table.take("a clock that is too late", clocks({{6, 1000}, {1, std::uint64_t{1} << 62U}}));
  table.take("both clocks", clocks({{3, 5}, {6, 1000}, {1, 9000}}));
  table.take("both once more", clocks({{6, 1000}, {1, 7000}}));
  table.take("malformed clocks", Wire().in(6, Wire().text(1, "\x08")));
}

void tracks(PacketTable& table) {
  table.take("a track", Wire().in(60, Wire().number(1, 5).number(5, 4).text(2, "name")));
  table.take("a process", Wire().in(60, Wire().number(1, 5).in(3, Wire().number(1, 42).text(6, "python"))));
  table.take("a thread", Wire().in(60, Wire().number(1, 6).number(5, 5).in(
                                           4, Wire().number(1, 42).number(2, 43).text(5, "main"))));
  table.take("a malformed process", Wire().in(60, Wire().number(1, 5).text(3, "\x08")));
  table.take("a malformed thread",
             Wire().in(60, Wire().number(1, 5).text(4, "\x08").in(3, Wire().number(1, 1))));
}

void slices(PacketTable& table) {
  const auto event = [] { return Wire().number(9, 1).number(11, 2); };
  table.event("names before they are interned", event().number(10, 3).number(3, 7));
  table.take("interned names", Wire().number(10, 1).number(13, 1).in(12, interned()));
  table.event("names by number", event().number(10, 3).number(3, 7));
  table.event("names in place", event().text(23, "aten::mm").text(22, "user_annotation"));
  table.take("names of another sequence",
             Wire().number(8, 5000).number(10, 2).in(11, event().number(10, 3).number(3, 7)));
  table.event("without a track", Wire().number(9, 1).number(10, 4));
  table.event("its end", Wire().number(9, 2).number(11, 2));
  for (const std::uint64_t type : {0, 3, 4})
    table.event(fmt::format("type {}", type), Wire().number(9, type).number(11, 2));
  table.event("launches", event().number(10, 4).in(3000, Wire().number(1, 77).number(2, 5).number(1, 78)));
  table.event("malformed launches", event().text(3000, "\x08"));
  for (const std::uint32_t field : {2U, 3U, 4U, 5U})
    table.event(fmt::format("a correlation as field {}", field),
                event().number(10, 4).in(4, Wire().text(10, "correlation").number(field, 12)));
  table.event("a correlation by the number of its name",
              event().number(10, 4).in(4, Wire().number(1, 5).number(4, 13)));
  table.event("another annotation", event().number(10, 4).in(4, Wire().text(10, "other").number(4, 13)));
  table.event("a malformed annotation", event().number(10, 4).text(4, "\x08"));
}

void shapes(PacketTable& table) {
  const auto list = [](const std::vector<std::uint64_t>& numbers) {
    Wire all;
    for (const std::uint64_t number : numbers) all.in(12, Wire().number(4, number));
    return all;
  };
  const auto operation = [&](const Wire& annotation, std::uint64_t name = 3) {
    return Wire().number(9, 1).number(11, 2).number(10, name).in(4, annotation);
  };
  const Wire dims =
      Wire().text(10, "Input Dims").in(12, list({64, 128})).in(12, list({128, 32})).in(12, list({}));
  table.event("shapes", operation(dims));
  table.event("shapes of what declares nothing", operation(dims, 4));
  table.event("shapes by the number of their name", operation(Wire().number(1, 6).in(12, list({2, 3}))));
  table.event("a negative size", operation(Wire().text(10, "Input Dims").in(12, list({UINT64_MAX, 3}))));
  table.event("a list of tensors",
              operation(Wire().text(10, "Input Dims").in(12, Wire().in(12, list({2, 3})))));
  table.event("malformed shapes", operation(Wire().text(10, "Input Dims").text(12, "\x08")));
  const Wire types =
      Wire().text(10, "Input type").in(12, Wire().text(6, "float")).in(12, Wire().text(6, "c10::BFloat16"));
  const Wire values =
      Wire().text(10, "Concrete Inputs").in(12, Wire().text(6, "")).in(12, Wire().text(6, "[1, 2]"));
  table.event("types without shapes", operation(types));
  table.event("shapes, types and values", operation(dims).in(4, types).in(4, values));
  table.event("a malformed type", operation(dims).in(4, Wire().text(10, "Input type").text(12, "\x08")));
  table.event("a text by number",
              operation(dims).in(4, Wire().text(10, "Input type").in(12, Wire().number(17, 8))));
}

void stages(PacketTable& table) {
  const auto kernel = [] { return Wire().number(1, 9).number(2, 700).number(14, 10); };
  table.stage("a kernel by its stage", kernel().text(17, "named"));
  table.stage("a kernel by its number", Wire().number(1, 9).number(19, 20));
  table.stage("a name of an event", kernel().number(20, 4));
  table.stage("the kernel's name before others", kernel().number(20, 4).number(19, 20).text(17, "named"));
  table.stage("a copy", Wire().number(1, 9).number(2, 50).number(14, 11).number(11, 3));
  table.stage("a stage that is not known", Wire().number(14, 99).number(13, 98));
  table.stage("context, queue, what the writer adds",
              kernel().number(5, 2).number(13, 12).in(6, Wire().text(1, "stream id").text(2, "7")));
  table.stage("another context", kernel().number(5, 3));
  table.stage("the queue said twice",
              kernel().in(6, Wire().text(1, "hardware queue").text(2, "first")).number(13, 12));
  table.stage("a malformed addition", kernel().text(6, "\x08"));
  table.stage("too long", Wire().number(2, std::uint64_t{1} << 62U));
  const Wire sizes = Wire().number(1, 4).number(2, 3).number(3, 2);
  table.stage("a launch", Wire().in(21, Wire().in(1, sizes).in(2, Wire().number(1, 256))));
  for (const std::uint32_t field : {3U, 4U})
    table.stage(fmt::format("an argument of a launch as field {}", field),
                Wire().in(21, Wire().in(3, Wire().number(1, 21).number(field, 40))));
  table.stage(
      "arguments in place",
      Wire().in(
          21,
          Wire().in(3, Wire().text(2, "shared").number(4, 1024)).in(3, Wire().text(2, "t").text(6, "x"))));
  table.stage("an argument without a name or a value",
              Wire().in(21, Wire().in(3, Wire().number(4, 1)).in(3, Wire().text(2, "alone"))));
  table.stage("a malformed launch", Wire().text(21, "\x08"));
  table.stage("a malformed argument", Wire().in(21, Wire().text(3, "\x08")));
}

TEST(AcceptedTable, PacketsOfAPerfettoTrace) {
  PacketTable table;
  envelopes(table);
  tracks(table);
  slices(table);
  shapes(table);
  stages(table);
  table.take("the state is cleared", Wire().number(10, 1).number(13, 1));
  table.event("names that were interned before",
              Wire().number(9, 1).number(11, 2).number(10, 3).number(3, 7));
  for (const std::uint32_t field : {1U, 2U, 3U, 23U, 24U, 29U, 1000U, 1001U})
    table.take(fmt::format("malformed names of field {}", field),
               Wire().number(10, 1).in(12, Wire().text(field, "\x08")));
  ridgeline::testing::expect_accepted("trace-packets.txt", table.table());
}

}  // namespace
}  // namespace ridgeline::import
