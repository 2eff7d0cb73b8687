// What a spool says beside launches: ranges in any order, declared work, threads, overhead, clocks, and names
// that found no room.
#include "import/import_testing.h"
#include "traces/time_origin.h"

namespace ridgeline::import {
namespace {

using namespace testing;  // NOLINT: the fixtures

constexpr std::uint64_t kOpCost = (std::uint64_t{1} << 24) + 0x524C;
constexpr std::uint64_t kStepSize = (std::uint64_t{1} << 24) + 0x524D;

class RangesAndClocks : public Importer {
 protected:
  void declare(FakeSpool& spool, std::uint64_t range_id, std::int64_t bytes, std::int64_t flops) {
    payload(spool, range_id, kOpCost, {bytes, flops});
  }
  void payload(FakeSpool& spool, std::uint64_t range_id, std::uint64_t schema_id,
               const std::vector<std::int64_t>& numbers) {
    spool::NvtxPayloadRecord payload{};
    payload.range_id = range_id;
    payload.schema_id = schema_id;
    payload.length_bytes = static_cast<std::uint32_t>(numbers.size() * sizeof(std::int64_t));
    ASSERT_TRUE(spool.writer().put(payload, numbers.data(), payload.length_bytes));
  }
  // A capture of one launch besides what the test puts.
  store::Capture finish(FakeSpool& spool) {
    spool.begin_step(0, Phase::timeline);
    spool.launch();
    spool.end_step(false);
    spool.end();
    return import();
  }
};

TEST_F(RangesAndClocks, ParentsAreFoundWhicheverRowComesFirst) {
  FakeSpool spool(directory_.path());
  spool.range(3, 2, 2, 2, 30, 40);  // innermost ends first
  spool.range(2, 1, 2, 1, 20, 50);
  spool.range(1, 0, 1, 0, 10, 60);
  spool.range(5, 0, 1, 0, 70, 90);  // a parent whose row is there before its child's
  spool.range(6, 5, 2, 1, 75, 80);
  const auto capture = finish(spool);
  const char* sql =
      "SELECT group_concat((r.start_ns % 1000) || '<' || coalesce(p.start_ns % 1000, '-'), ' ') FROM"
      " (SELECT * FROM nvtx_range ORDER BY start_ns) r LEFT JOIN nvtx_range p ON p.id = r.parent_id";
  EXPECT_EQ(scalar(capture, sql), "10<- 20<10 30<20 70<- 75<70");
}

TEST_F(RangesAndClocks, ARangeWhoseParentNeverEndedHasNone) {
  FakeSpool spool(directory_.path());
  spool.range(2, 1, 2, 1, 20, 50);
  spool.range(4, 1, 2, 1, 60, 70);
  const auto capture = finish(spool);
  EXPECT_EQ(scalar(capture, "SELECT count(*) || ' ' || count(parent_id) FROM nvtx_range"), "2 0");
}

TEST_F(RangesAndClocks, ARangeThatIsItsOwnParentOrComesTwiceDoesNoHarm) {
  FakeSpool spool(directory_.path());
  spool.range(7, 7, 1, 0, 20, 50);
  spool.range(7, 7, 1, 0, 20, 50);
  spool.range(8, 9, 1, 0, 20, 50);  // each the other's parent
  spool.range(9, 8, 1, 0, 20, 50);
  const auto capture = finish(spool);
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM nvtx_range"), "3");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM nvtx_range WHERE parent_id = id"), "0");
}

TEST_F(RangesAndClocks, DeclaredWorkIsFoundBeforeAndBehindItsRangeAndSeveralTimes) {
  FakeSpool spool(directory_.path());
  declare(spool, 1, 100, 200);  // as the agent does it: when the range begins
  declare(spool, 1, 300, 400);
  spool.range(1, 0, 1, 0, 10, 20);
  spool.range(2, 0, 1, 0, 30, 40);
  declare(spool, 2, 100, 200);
  declare(spool, 99, 1, 1);  // of a range that is not there
  const auto capture = finish(spool);
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat((r.start_ns % 1000) || ':' || a.bytes || '/' || a.flops, ' ') FROM"
                   " (SELECT * FROM annotation ORDER BY nvtx_range_id, bytes) a JOIN nvtx_range r ON"
                   " r.id = a.nvtx_range_id"),
            "10:100.0/200.0 10:300.0/400.0 30:100.0/200.0");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM declared_work"), "2") << "equal work is stored once";
}

TEST_F(RangesAndClocks, AMatrixProductSaysItsShapeBehindItsWork) {
  FakeSpool spool(directory_.path());
  payload(spool, 1, kOpCost, {100, 200, 5, 6, 7});
  payload(spool, 1, kOpCost, {100, 200, 5, 6, 0});  // no product without all three
  payload(spool, 1, kOpCost, {100, 200, 5});        // cut off
  spool.range(1, 0, 1, 0, 10, 20);
  const auto capture = finish(spool);
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(coalesce(m || 'x' || n || 'x' || k, '-') || ' ' || flops, ', ') FROM"
                   " (SELECT * FROM annotation ORDER BY m DESC)"),
            "5x6x7 200.0, - 200.0, - 200.0");
}

TEST_F(RangesAndClocks, AStepSaysWhatItWorksThroughAsAPayloadOrByANameInIt) {
  FakeSpool spool(directory_.path());
  payload(spool, 1, kStepSize, {32768, 32});
  payload(spool, 2, kStepSize, {0, 8});
  payload(spool, 2, kStepSize, {0, 0});  // says nothing
  spool.path(11, 1, "tokens=1024");
  spool.path(12, 1, "samples=4 tokens=2048");
  std::uint32_t id = 13;
  for (const char* other : {"tokens=", "tokens=12k", "tokens=-5", "my tokens=3", "tokens=3 of 4",
                            "tokens=3 tokens=3", "tokens", "=3", "tokens=99999999999999999999"})
    spool.path(id++, 1, other);
  spool.range(1, 0, 1, 0, 10, 90);
  spool.range(2, 0, 1, 0, 100, 190);
  for (std::uint32_t path = 11; path < id; ++path) spool.range(path, 1, path, 1, 10 + path, 11 + path);
  const auto capture = finish(spool);
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(name || ' ' || coalesce(tokens, '-') || ' ' || coalesce(samples, '-') ||"
             " coalesce(bytes, ''), ', ') FROM (SELECT * FROM annotation ORDER BY tokens)"),
      "step_size - 8.0, step_size 1024.0 -, step_size 2048.0 4.0, step_size 32768.0 32.0");
}

TEST_F(RangesAndClocks, ThreadNamesOverheadAndClockPairsAreStored) {
  FakeSpool spool(directory_.path());
  spool::ThreadRecord thread{};
  thread.thread_id = 77;
  thread.name = spool.text("data\nloader");
  spool.put(thread);
  spool::OverheadRecord overhead{};
  overhead.kind = 1u << 16;
  overhead.start_ns = 5;
  overhead.end_ns = 9;
  spool.put(overhead);
  overhead.kind = 12345;
  overhead.thread_id = 77;
  spool.put(overhead);
  spool::ClockPairRecord pair{};
  pair.cupti_ns = 1000;
  pair.realtime_ns = 1001;
  pair.monotonic_ns = 3;
  spool.put(pair);
  spool.put(pair);
  const auto capture = finish(spool);
  EXPECT_EQ(scalar(capture, "SELECT thread_id || ' ' || name FROM thread"), "77 data loader");
  EXPECT_EQ(scalar(capture,
                   "SELECT group_concat(kind || ' ' || coalesce(thread_id, '-') || ' ' || start_ns || ' ' || "
                   "end_ns, ', ') FROM profiler_overhead"),
            "buffer flush - 5 9, 12345 77 5 9");
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(time_ns || ' ' || realtime_ns || ' ' || monotonic_ns) FROM clock_pair"),
      "1000 1001 3");
}

// What NVML does not tell of a device is not known, and not nothing.
TEST_F(RangesAndClocks, WhatAClockSampleDoesNotSayIsUnknown) {
  FakeSpool spool(directory_.path());
  spool::ClockSampleRecord clock{};
  clock.time_ns = FakeSpool::kOrigin + 1;
  spool.put(clock);
  clock.time_ns = FakeSpool::kOrigin + 2;
  clock.sm_hz = 3;
  clock.memory_hz = 4;
  clock.power_mw = 5;
  clock.temperature_celsius = 6;
  clock.throttle_reasons = 7;
  spool.put(clock);
  EXPECT_EQ(
      scalar(
          finish(spool),
          "SELECT group_concat(coalesce(sm_clock_hz, '-') || ' ' || coalesce(memory_clock_hz, '-') || ' ' ||"
          " coalesce(power_mw, '-') || ' ' || coalesce(temperature_c, '-') || ' ' || throttle_reasons, ', ')"
          " FROM (SELECT * FROM clock_sample ORDER BY time_ns)"),
      "- - - - 0, 3 4 5 6 7");
}

TEST_F(RangesAndClocks, TheProgramsNameOfAThreadStandsWhicheverCameFirst) {
  FakeSpool spool(directory_.path());
  const auto name = [&](std::uint32_t thread_id, const char* text, std::uint16_t flags) {
    spool::ThreadRecord thread{};
    thread.header.flags = flags;
    thread.thread_id = thread_id;
    thread.name = spool.text(text);
    spool.put(thread);
  };
  name(1, "python3", spool::kSystemThreadName);
  name(1, "trainer", 0);
  name(2, "loader", 0);
  name(2, "python3", spool::kSystemThreadName);
  name(3, "main", spool::kSystemThreadName);
  const auto capture = finish(spool);
  EXPECT_EQ(scalar(capture, "SELECT group_concat(thread_id || ' ' || name, ', ') FROM thread"),
            "1 trainer, 2 loader, 3 main");
}

TEST_F(RangesAndClocks, WaitsOfTheHostBelongToTheStepTheyBeganIn) {
  FakeSpool spool(directory_.path());
  spool::RecordingWindowRecord window{};
  window.header.flags = spool::kWindowHasSynchronisation;
  window.time_ns = FakeSpool::kOrigin;
  window.edge = spool::WindowEdge::open;
  window.cause = WindowCause::start;
  spool.put(window);
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  const auto wait = [&](std::uint32_t thread_id, SynchronisationCall call, std::uint32_t step,
                        std::int64_t enter, std::int64_t exit) {
    spool::SynchronisationRecord record{};
    record.thread_id = thread_id;
    record.correlation_id = 55;
    record.enter_ns = enter;
    record.exit_ns = exit;
    record.call = call;
    record.step_index = step;
    spool.put(record);
  };
  wait(9, SynchronisationCall::stream, 0, 1000, 5100);
  wait(9, SynchronisationCall::event, spool::kNoStep, 6000, 9000);
  wait(9, static_cast<SynchronisationCall>(200), 0, 10'000, 11'000);  // of a newer agent
  wait(9, SynchronisationCall::event, 0, 12'000, 11'000);             // damaged
  wait(9, SynchronisationCall::event, 0, 0, 11'000);
  spool.end_step();
  const auto capture = finish(spool);
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(coalesce(step_index, '-') || ' ' || thread_id || ' ' || call || ' ' ||"
             " start_ns || ' ' || duration_ns, ', ') FROM v_synchronisation"),
      "0 9 cudaStreamSynchronize 1000 4100, - 9 cudaEventSynchronize 6000 3000");
  EXPECT_EQ(scalar(capture, "SELECT correlation_id FROM synchronisation LIMIT 1"), "55");
  EXPECT_EQ(scalar(capture, "SELECT synchronisation FROM recording_window"), "1");
}

TEST_F(RangesAndClocks, EveryKindOfOverheadHasItsName) {
  FakeSpool spool(directory_.path());
  const std::uint32_t kinds[] = {0, 1, 2u << 16, 3u << 16, 4u << 16, 5u << 16, 6u << 16, 7u << 16, 8u << 16};
  std::int64_t at = 0;
  for (const std::uint32_t kind : kinds) {
    spool::OverheadRecord overhead{};
    overhead.kind = kind;
    overhead.start_ns = ++at;
    overhead.end_ns = at;
    spool.put(overhead);
  }
  const auto capture = finish(spool);
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(kind, ', ') FROM (SELECT kind FROM profiler_overhead ORDER BY start_ns)"),
      "unknown, driver compiler, instrumentation, resource, runtime triggered module loading, lazy function "
      "loading, command buffer full, activity buffer request, unified memory activity");
}

TEST_F(RangesAndClocks, VersionsAreWrittenAsPeopleKnowThem) {
  FakeSpool spool(directory_.path());
  const auto version = [&](spool::Component component, std::int64_t number, const std::string& text) {
    spool::VersionRecord record{};
    record.component = component;
    record.number = number;
    record.text = spool.text(text);
    spool.put(record);
  };
  version(spool::Component::agent, 0, "0.1.0");
  version(spool::Component::cupti, 139999, "/opt/libcupti.so.13");
  version(spool::Component::cuda_driver, 13020, "");
  version(spool::Component::cuda_runtime, 12090, "");
  version(spool::Component::kernel_driver, 0, "580.159.04");
  version(static_cast<spool::Component>(99), 1, "of a newer agent");
  const auto capture = finish(spool);
  const auto versions = capture.versions();
  EXPECT_EQ(versions, (std::map<std::string, std::string>{{"agent", "0.1.0"},
                                                          {"cupti", "13.99.99 (/opt/libcupti.so.13)"},
                                                          {"cuda_driver", "13.2"},
                                                          {"cuda_runtime", "12.9"},
                                                          {"driver", "580.159.04"}}));
}

TEST_F(RangesAndClocks, LostNamesAndRangesThatCouldNotBeFollowedAreSaid) {
  FakeSpool spool(directory_.path());
  spool::CompletenessRecord totals{};
  totals.launches_seen = totals.kernel_records = 1;
  totals.strings_lost = 12;
  totals.nvtx_unbalanced = 34;
  spool.writer().put_completeness(totals);
  const auto capture = finish(spool);
  EXPECT_TRUE(warned("12 names found no room"));
  EXPECT_TRUE(warned("34 NVTX calls could not be followed"));
  EXPECT_EQ(scalar(capture, "SELECT strings_lost || ' ' || nvtx_unbalanced FROM completeness"), "12 34");
  EXPECT_EQ(messages_with(capture, "12 names found no room"), 1u);
}

TEST_F(RangesAndClocks, WhenTheAgentsRoomForPathsIsFullItIsSaid) {
  FakeSpool spool(directory_.path());
  for (std::uint32_t id = 1; id <= 1u << 16; ++id) {
    spool::NvtxPathRecord path{};
    path.path_id = id;
    spool.put(path);
  }
  spool::CompletenessRecord totals{};
  totals.launches_seen = totals.kernel_records = 1;
  totals.nvtx_unbalanced = 5;
  spool.writer().put_completeness(totals);
  (void)finish(spool);
  EXPECT_TRUE(warned("more than 65536 different ways"));
  EXPECT_FALSE(warned("could not be followed")) << "one cause, one line";
}

// A path names what lies around a range, from the inside: so many ranges, and so many bytes.
TEST_F(RangesAndClocks, APathNamesTheInnermost256OfItsRanges) {
  FakeSpool spool(directory_.path());
  for (std::uint32_t depth = 1; depth <= 300; ++depth)
    spool.path(100 + depth, depth == 1 ? 0 : 99 + depth, "r");
  spool.range(1, 0, 100 + 255, 0, 10, 20);
  spool.range(2, 0, 100 + 256, 0, 20, 30);
  spool.range(3, 0, 100 + 257, 0, 30, 40);
  // Eight names of 1021 bytes and their separators are 8189 bytes; a ninth finds no room.
  for (std::uint32_t depth = 1; depth <= 9; ++depth)
    spool.path(500 + depth, depth == 1 ? 0 : 499 + depth, std::string(1021, static_cast<char>('a' + depth)));
  spool.range(4, 0, 500 + 8, 0, 40, 50);
  spool.range(5, 0, 500 + 9, 0, 50, 60);
  const auto capture = finish(spool);
  const char* sql =
      "SELECT group_concat(length(replace(value, ' / ', ''))) || ' ' || max(value LIKE '… / %') FROM"
      " (SELECT s.value FROM nvtx_range r JOIN string s ON s.id = r.path_id WHERE r.start_ns % 1000 IN (%1) "
      "ORDER BY "
      "r.start_ns)";
  const auto lengths = [&](const std::string& starts) {
    std::string text = sql;
    return scalar(capture, text.replace(text.find("%1"), 2, starts));
  };
  EXPECT_EQ(lengths("10,20,30"), "255,256,256 0");
  EXPECT_EQ(lengths("40"), "8168 0");
  EXPECT_EQ(lengths("50"), "8169 1") << "eight names and a sign that there are more";
}

// All chunks of records were lost; the agent's count, which has a place of its own, was not.
TEST_F(RangesAndClocks, LaunchesThatAreOnlyCountedAreWorthACapture) {
  FakeSpool spool(directory_.path());
  spool::CompletenessRecord totals{};
  totals.launches_seen = 5;
  spool.writer().put_completeness(totals);
  spool.end();
  const auto capture = import();
  EXPECT_EQ(scalar(capture, "SELECT launches_seen || ' ' || kernel_records FROM completeness"), "5 0");
}

TEST_F(RangesAndClocks, ASpoolWithoutComplaintsSaysNothing) {
  FakeSpool spool(directory_.path());
  spool.completeness(0, 1);
  (void)finish(spool);
  EXPECT_FALSE(warned("NVTX"));
  EXPECT_FALSE(warned("names"));
}

// Times of a source are kept apart by as much as they are, and none that can be one becomes zero or less.
TEST(TimeOrigin, MovesAllTimesByWholeSecondsOfTheirBase) {
  constexpr std::int64_t kSecond = 1'000'000'000, kBefore = std::int64_t{1} << 50U;
  for (const std::int64_t base : {std::int64_t{0}, std::int64_t{1}, 5 * kSecond, 1'795'000'000 * kSecond}) {
    for (const std::int64_t earliest : {1 - kBefore, -3 * kSecond, -kSecond, 1 - kSecond, std::int64_t{-1},
                                        std::int64_t{0}, std::int64_t{1}, kSecond, 1'795'000'000 * kSecond}) {
      SCOPED_TRACE(std::to_string(base) + " " + std::to_string(earliest));
      TimeOrigin origin;
      EXPECT_EQ(origin.later_s(base), 0) << "no time at all";
      const std::int64_t first = origin.at(earliest), second = origin.at(earliest + 7);
      EXPECT_EQ(second - first, 7);
      const std::int64_t later = origin.later_s(base);
      EXPECT_EQ(first + origin.shift_ns(base), base + earliest + later * kSecond);
      EXPECT_GT(base + earliest + later * kSecond, 0);
      if (later > 0) {
        EXPECT_LE(base + earliest + (later - 1) * kSecond, 0) << "no later than it has to be";
      }
      EXPECT_GE(later, 0);
    }
  }
}

TEST(TimeOrigin, WhatLiesThirteenDaysBeforeZeroOrFarAheadIsNoTime) {
  constexpr std::int64_t kBefore = std::int64_t{1} << 50U;
  for (const std::int64_t none : {-kBefore, -kBefore - 1, 2 * -kBefore, kLatestNs, kLatestNs + 1}) {
    TimeOrigin origin;
    (void)origin.at(none);
    EXPECT_EQ(origin.later_s(0), 0) << none;
    EXPECT_EQ(origin.later_s(-5), 0) << none;
  }
  TimeOrigin origin;
  EXPECT_LE(origin.at(-kBefore), 0) << "it stays below zero";
  EXPECT_GT(origin.at(1 - kBefore), 0);
  EXPECT_GT(origin.later_s(0), 0);
  TimeOrigin late;
  (void)late.at(kLatestNs - 1);
  EXPECT_EQ(late.later_s(-kLatestNs), 1) << "a base before zero by as much";
}

}  // namespace
}  // namespace ridgeline::import
