// The timeline without a window: rows, pyramids, axis, scene.
#include <algorithm>
#include <numeric>
#include <random>

#include "gui/gui_testing.h"
#include "reports/fabricated_capture.h"
#include "ridgeline/store/capture_writer.h"
#include "support/temporary_directory.h"
#include "timeline/counter_row.h"
#include "timeline/event_row.h"
#include "timeline/time_axis.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {
namespace {

EventRow row_of(const std::vector<std::array<std::int64_t, 3>>& events) {
  EventRow row;
  for (const auto& [start, end, name] : events) row.add(start, end, static_cast<std::uint32_t>(name));
  row.finish();
  return row;
}

TEST(EventRow, SortsAndPutsWhatOverlapsIntoALineOfItsOwn) {
  EventRow row, lane;
  row.add(50, 60, 2);
  row.add(0, 10, 0);
  row.add(5, 20, 1);
  row.finish(&lane);
  lane.finish();
  ASSERT_EQ(row.size(), 2U);
  EXPECT_EQ(row.name(0), 0U);
  EXPECT_EQ(row.name(1), 2U);
  ASSERT_EQ(lane.size(), 1U);
  EXPECT_EQ(lane.start_ns(0), 5);
  EXPECT_EQ(lane.end_ns(0), 20);
}

TEST(EventRow, CutsWhatOverlapsIfThereIsNoOtherLine) {
  const EventRow row = row_of({{0, 10, 0}, {5, 20, 1}, {6, 8, 2}});
  ASSERT_EQ(row.size(), 2U);
  EXPECT_EQ(row.start_ns(1), 10);
  EXPECT_EQ(row.end_ns(1), 20);
}

TEST(EventRow, KeepsDurationsBeyondThirtyTwoBits) {
  const std::int64_t day = 86'400'000'000'000;
  const EventRow row = row_of({{day, 2 * day, 1}, {0, 10, 0}, {3 * day, 5 * day, 2}});
  EXPECT_EQ(row.duration_ns(0), 10);
  EXPECT_EQ(row.duration_ns(1), day);
  EXPECT_EQ(row.duration_ns(2), 2 * day);
  EXPECT_EQ(row.at(4 * day), 2U);
  EXPECT_EQ(row.at(day / 2), row.size());
}

TEST(EventRow, FindsEventsByTime) {
  const EventRow row = row_of({{10, 20, 0}, {30, 40, 1}});
  const struct {
    std::int64_t ns;
    std::size_t ending_after, from, at;
  } kCases[] = {{0, 0, 0, 2}, {10, 0, 0, 0}, {19, 0, 1, 0}, {20, 1, 1, 2}, {39, 1, 2, 1}, {40, 2, 2, 2}};
  for (const auto& c : kCases) {
    EXPECT_EQ(row.first_ending_after(c.ns), c.ending_after) << c.ns;
    EXPECT_EQ(row.first_from(c.ns), c.from) << c.ns;
    EXPECT_EQ(row.at(c.ns), c.at) << c.ns;
  }
}

// Events of random lengths with pauses, some runs of them dense and some thin.
EventRow random_row(int count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  EventRow row;
  std::int64_t now = 1'000'000;
  for (int i = 0; i < count; ++i) {
    const auto length = static_cast<std::int64_t>(random() % 5000 + 1);
    row.add(now, now + length, static_cast<std::uint32_t>(i % 7));
    now += length + static_cast<std::int64_t>(i % 1000 < 900 ? random() % 100 : random() % 2'000'000);
  }
  row.finish();
  return row;
}

TEST(EventRow, BinsAddUpToTheSumsAtEveryZoom) {
  const EventRow row = random_row(20'000, 1);
  const TimeWindow all = row.extent();
  std::mt19937_64 random(2);
  for (int zoom = 1; zoom < 200'000; zoom *= 7) {
    const std::int64_t length = std::max<std::int64_t>(all.length_ns() / zoom, 2000);
    const std::int64_t start =
        all.start_ns +
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(all.length_ns() - length + 1));
    const TimeWindow window{start, start + length};
    std::vector<EventBin> bins(500);
    row.bins(window, bins);
    double busy = 0;
    for (const EventBin& bin : bins) {
      busy += static_cast<double>(bin.busy);
      EXPECT_LE(bin.busy, 1.0F);
      EXPECT_EQ(bin.busy > 0, bin.longest != EventBin::kNone);
    }
    busy *= static_cast<double>(length) / 500;
    const EventSum sum = row.sum(window);
    EXPECT_NEAR(busy, static_cast<double>(sum.busy_ns), 0.02 * static_cast<double>(length) + 2) << zoom;
  }
}

// Times are since 1970: 1.8e18 ns, of which a double keeps no nanoseconds.
TEST(EventRow, BinsOfAFewNanosecondsAreExact) {
  const std::int64_t now = 1'795'316'453'000'000'000;
  const EventRow row = row_of({{now + 10, now + 25, 0}, {now + 40, now + 41, 1}});
  std::vector<EventBin> bins(10);
  row.bins({now, now + 50}, bins);
  const float expected[] = {0, 0, 1, 1, 1, 0, 0, 0, 0.2F, 0};
  for (std::size_t i = 0; i < bins.size(); ++i) EXPECT_FLOAT_EQ(bins[i].busy, expected[i]) << i;
}

TEST(EventRow, EveryEventIsCountedOnceOverTheWhole) {
  const EventRow row = random_row(9'999, 3);
  for (const std::size_t n : {1U, 10U, 333U, 5000U}) {
    std::vector<EventBin> bins(n);
    row.bins(row.extent(), bins);
    const auto count = std::accumulate(bins.begin(), bins.end(), std::int64_t{0},
                                       [](std::int64_t sum, const EventBin& bin) { return sum + bin.count; });
    EXPECT_NEAR(static_cast<double>(count), 9'999, 9'999 * 0.01) << n;
  }
}

TEST(EventRow, AShortEventAmongNothingIsSeenFromAfar) {
  EventRow row;
  for (int i = 0; i < 1000; ++i) row.add(i * 1'000'000'000LL, i * 1'000'000'000LL + 1000, 0);
  row.finish();
  std::vector<EventBin> bins(100);
  row.bins(row.extent(), bins);
  EXPECT_TRUE(std::all_of(bins.begin(), bins.end(),
                          [](const EventBin& bin) { return bin.longest != EventBin::kNone; }));
}

TEST(EventRow, TheLongestIsTheLongest) {
  EventRow row;
  for (int i = 0; i < 5000; ++i)
    row.add(i * 100, i * 100 + (i == 1234 ? 99 : 10), static_cast<std::uint32_t>(i == 1234));
  row.finish();
  for (const std::size_t n : {1U, 7U, 100U}) {
    std::vector<EventBin> bins(n);
    row.bins(row.extent(), bins);
    // In its bin, or in two neighbours where their edge cuts a bin of the pyramid.
    const auto found =
        std::count_if(bins.begin(), bins.end(), [](const EventBin& bin) { return bin.longest == 1234; });
    EXPECT_TRUE(found == 1 || found == 2) << n;
  }
}

// A launch and its call: 30 bytes.
TEST(EventRow, TakesLessThanFifteenBytesAnEvent) {
  const EventRow row = random_row(200'000, 4);
  EXPECT_LT(static_cast<double>(row.bytes()) / 200'000, 15.0);
}

TEST(EventRow, TimesAreExactHoweverFarApartEventsBegin) {
  std::mt19937_64 random(8);
  EventRow row;
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  std::int64_t now = 1'700'000'000'000'000'000;
  for (int i = 0; i < 1000; ++i) {
    // Blocks of events within seconds of each other, and blocks with hours between them.
    now += static_cast<std::int64_t>(random() % (i / 200 % 2 == 0 ? 1'000'000 : 7'200'000'000'000));
    const auto length = static_cast<std::int64_t>(i % 97 == 0 ? 5'000'000'000 : 1 + random() % 9'000);
    row.add(now, now + length, static_cast<std::uint32_t>(i));
    expected.emplace_back(now, length);
    now += length;
  }
  row.finish();
  ASSERT_EQ(row.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(row.start_ns(i), expected[i].first) << i;
    EXPECT_EQ(row.duration_ns(i), expected[i].second) << i;
    EXPECT_EQ(row.first_from(expected[i].first), i);
    EXPECT_EQ(row.first_from(expected[i].first + 1), i + 1);
  }
}

TEST(CounterRow, MeansAreOverTimeAndGapsStayUnknown) {
  CounterRow row;
  row.add(100, 0.2F);
  row.add(200, 0.6F);
  row.add(10'000, 1.0F);
  row.finish(100);
  EXPECT_FLOAT_EQ(row.over({0, 200}).mean, 0.4F);
  EXPECT_FLOAT_EQ(row.over({150, 200}).mean, 0.6F);
  EXPECT_FLOAT_EQ(row.over({0, 200}).peak, 0.6F);
  EXPECT_FALSE(row.over({300, 9'000}).known);
  EXPECT_TRUE(row.over({9'950, 10'000}).known);
}

TEST(CounterRow, BinsAgreeWithSingleQuestions) {
  CounterRow row;
  std::mt19937_64 random(5);
  for (int i = 1; i <= 3000; ++i) row.add(i * 10, static_cast<float>(random() % 100) / 100);
  row.finish(40);
  std::vector<CounterBin> bins(64);
  const TimeWindow window{0, 64 * 470};
  row.bins(window, bins);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto start = static_cast<std::int64_t>(i) * 470;
    const CounterBin expected = row.over({start, start + 470});
    EXPECT_NEAR(bins[i].mean, expected.mean, 1e-5) << i;
    EXPECT_EQ(bins[i].peak, expected.peak) << i;
  }
}

TEST(TimeAxis, TimeAndPlaceGoBothWays) {
  const TimeAxis axis({1'000'000, 3'000'000}, 800);
  EXPECT_DOUBLE_EQ(axis.x_of(2'000'000), 400);
  EXPECT_EQ(axis.ns_at(400), 2'000'000);
  EXPECT_EQ(axis.ns_at(axis.x_of(1'234'500)), 1'234'500);
}

TEST(TimeAxis, ZoomKeepsTheTimeUnderTheMouse) {
  const TimeWindow extent{0, 1'000'000'000};
  const TimeAxis axis({400'000'000, 600'000'000}, 1000);
  for (const double x : {0.0, 250.0, 999.0}) {
    const TimeWindow zoomed = axis.zoomed(0.5, x, extent);
    EXPECT_NEAR(static_cast<double>(TimeAxis(zoomed, 1000).ns_at(x)), static_cast<double>(axis.ns_at(x)), 2);
    EXPECT_NEAR(static_cast<double>(zoomed.length_ns()), 100'000'000, 2);
  }
}

TEST(TimeAxis, StaysInsideTheCapture) {
  const TimeWindow extent{0, 1'000'000};
  const TimeAxis axis({0, 1'000'000}, 1000);
  EXPECT_EQ(axis.zoomed(1000, 500, extent), (TimeWindow{-10'000, 1'010'000}));
  EXPECT_EQ(axis.panned(1e9, extent).end_ns, 1'010'000);
  const TimeAxis near({500, 700}, 1000);
  EXPECT_EQ(near.zoomed(1e-9, 0, extent).length_ns(), TimeAxis::kShortestNs);
}

TEST(TimeAxis, TicksAreRoundAndFarEnoughApart) {
  const std::int64_t origin = 777;
  const struct {
    std::int64_t length;
    const char* second;
  } kCases[] = {{1'000, "100 ns"}, {50'000'000, "5 ms"}, {10'000'000'000, "1 s"}, {3'000'000, "500 µs"}};
  for (const auto& [length, second] : kCases) {
    const TimeAxis axis({origin, origin + length}, 1000);
    std::vector<TimeTick> named;
    for (const TimeTick& tick : axis.ticks(origin)) {
      if (!tick.text.empty()) named.push_back(tick);
    }
    ASSERT_GE(named.size(), 2U);
    EXPECT_EQ(named[0].ns, origin);
    EXPECT_EQ(named[1].text, second);
    EXPECT_GE(named[1].x - named[0].x, 89);
  }
}

std::shared_ptr<TimelineData> small_data() {
  auto data = std::make_shared<TimelineData>();
  data->names = {{"gemm", EventName::Kind::kernel, KernelClass::gemm, 1},
                 {"gelu", EventName::Kind::kernel, KernelClass::elementwise, 2},
                 {"forward", EventName::Kind::range}};
  const auto add = [&](RowKind kind, const char* id, const std::vector<std::array<std::int64_t, 3>>& events) {
    TimelineRow row;
    row.kind = kind;
    row.id = row.label = id;
    row.events = row_of(events);
    data->rows.push_back(std::move(row));
  };
  add(RowKind::ranges, "nvtx", {{0, 100, 2}});
  add(RowKind::kernels, "stream 1", {{0, 10, 0}, {20, 30, 1}, {40, 50, 0}});
  add(RowKind::kernels, "stream 2", {{15, 18, 0}, {60, 70, 1}});
  data->rows.back().secondary = false;
  TimelineRow counter;
  counter.kind = RowKind::counter;
  counter.id = counter.label = "rare";
  counter.secondary = true;
  data->rows.push_back(counter);
  data->extent = {0, 100};
  return data;
}

EventIndices found_in(const TimelineScene& scene, const QString& text) {
  return scene.finder().matching(text).value();
}

QString order_of(const TimelineScene& scene) {
  QString all;
  for (const std::size_t row : scene.pinned_rows()) all += QString::fromStdString(scene.row(row).id) + "!";
  for (const std::size_t row : scene.scrolling_rows()) all += QString::fromStdString(scene.row(row).id) + ";";
  return all;
}

TEST(TimelineScene, RowsAreHiddenPinnedAndMoved) {
  TimelineScene scene;
  scene.set_data(small_data());
  EXPECT_EQ(order_of(scene), "nvtx;stream 1;stream 2;");
  scene.set_hidden(3, false);
  EXPECT_EQ(order_of(scene), "nvtx;stream 1;stream 2;rare;");
  scene.set_hidden(0, true);
  scene.set_pinned(2, true);
  EXPECT_EQ(order_of(scene), "stream 2!stream 1;rare;");
  scene.move(1, 1);
  EXPECT_EQ(order_of(scene), "stream 2!rare;stream 1;");
  scene.move(1, 1);
  EXPECT_EQ(order_of(scene), "stream 2!rare;stream 1;");
  // It holds for another reading of the capture.
  const RowArrangement kept = scene.arrangement();
  TimelineScene other;
  other.arrange(kept);
  other.set_data(small_data());
  EXPECT_EQ(order_of(other), "stream 2!rare;stream 1;");
  other.show_all();
  EXPECT_TRUE(other.is_shown(0));
}

TEST(TimelineScene, ARowGoesToThePlaceWhereItIsDropped) {
  TimelineScene scene;
  scene.set_data(small_data());
  scene.set_hidden(3, false);
  scene.move_to(0, 2);
  EXPECT_EQ(order_of(scene), "stream 1;stream 2;nvtx;rare;");
  scene.move_to(3, 0);
  EXPECT_EQ(order_of(scene), "rare;stream 1;stream 2;nvtx;");
  scene.move_to(1, 99);
  EXPECT_EQ(order_of(scene), "rare;stream 2;nvtx;stream 1;");
  // A hidden row keeps its place between the others.
  scene.set_hidden(2, true);
  scene.move_to(1, 1);
  scene.set_hidden(2, false);
  EXPECT_EQ(order_of(scene), "rare;stream 2;stream 1;nvtx;");
  // Pinned rows are moved among themselves.
  scene.set_pinned(0, true);
  scene.set_pinned(1, true);
  scene.move_to(0, 0);
  EXPECT_EQ(order_of(scene), "nvtx!stream 1!rare;stream 2;");
}

TEST(TimelineScene, FindsAKernelInEveryRow) {
  TimelineScene scene;
  scene.set_data(small_data());
  const KernelChoice kernel{{1}, "gemm"};
  scene.set_marked(kernel, scene.finder().of_kernel(kernel).value());
  EXPECT_TRUE(scene.has_kernel());
  EXPECT_EQ(scene.marked(1), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(scene.marked(2), (std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(scene.marked(0).empty());
  EXPECT_EQ(scene.finder().launches_of(kernel, 10).value(),
            (EventFinder::Launches{{0, 10}, {15, 3}, {40, 10}}));
  EXPECT_EQ(scene.finder().launches_of(kernel, 1).value().size(), 1U);
  // Rows may be others with other data.
  scene.set_data(small_data());
  EXPECT_FALSE(scene.has_kernel());
  EXPECT_TRUE(scene.marked(1).empty());
}

TEST(TimelineScene, LookingForEventsCanBeCancelled) {
  TimelineScene scene;
  scene.set_data(small_data());
  std::stop_source stop;
  stop.request_stop();
  for (const auto& found : {scene.finder().of_kernel({{1}, "gemm"}, stop.get_token()),
                            scene.finder().matching("gemm", stop.get_token())}) {
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.failure().kind, ErrorKind::cancelled);
  }
  EXPECT_FALSE(scene.finder().launches_of({{1}, "gemm"}, 10, stop.get_token()).ok());
}

TEST(TimelineScene, WalksTheLaunchesOfAKernelOverAllStreams) {
  TimelineScene scene;
  scene.set_data(small_data());
  EXPECT_EQ(scene.next_launch(1, 0), (EventPlace{2, 0}));
  EXPECT_EQ(scene.next_launch(1, 15), (EventPlace{1, 2}));
  EXPECT_FALSE(scene.next_launch(1, 40));
  EXPECT_EQ(scene.previous_launch(1, 40), (EventPlace{2, 0}));
  EXPECT_EQ(scene.previous_launch(1, 15), (EventPlace{1, 0}));
}

TEST(TimelineScene, SearchFindsKernelsAndRangesByExpression) {
  TimelineScene scene;
  scene.set_data(small_data());
  scene.set_found(found_in(scene, "^ge"));
  EXPECT_EQ(scene.found_count(), 5);
  scene.set_found(found_in(scene, "FORW"));
  EXPECT_EQ(scene.found_count(), 1);
  EXPECT_EQ(scene.next_found(-1), (EventPlace{0, 0}));
  EXPECT_FALSE(scene.next_found(0));
  EXPECT_EQ(scene.previous_found(1), (EventPlace{0, 0}));
  scene.set_hidden(0, true);
  EXPECT_EQ(scene.found_count(), 0);
  EXPECT_FALSE(scene.next_found(-1));
  scene.set_found(found_in(scene, ""));
  EXPECT_TRUE(scene.found(1).empty());
}

TEST(TimelineScene, EdgesAttractWithinReachOnly) {
  TimelineScene scene;
  scene.set_data(small_data());
  EXPECT_EQ(scene.edge_near(1, 12, 3), 10);
  EXPECT_EQ(scene.edge_near(1, 18, 3), 20);
  EXPECT_EQ(scene.edge_near(1, 31, 3), 30);
  EXPECT_FALSE(scene.edge_near(1, 15, 3));
  EXPECT_EQ(scene.edge_near(1, 500, 1000), 50);
}

TEST(TimelineScene, GapsStandAboveTheStreams) {
  TimelineScene scene;
  scene.set_data(small_data());
  analyzer::Accounting accounting;
  analyzer::Gap gap;
  gap.start_ns = 10;
  gap.end_ns = 20;
  gap.kind = analyzer::GapKind::host_bound;
  accounting.gaps.push_back(gap);
  scene.set_gaps(accounting);
  EXPECT_EQ(order_of(scene), "nvtx;gaps;stream 1;stream 2;");
  EXPECT_EQ(scene.name_of({1, 0}).text, "gap: CPU-bound");
}

TEST(TimelineReader, ReadsTheBundledCapture) {
  const auto data = read_timeline(testing::bundled_capture().toStdString(), {});
  ASSERT_TRUE(data.ok());
  const TimelineData& d = *data.value();
  EXPECT_EQ(d.launches, 9'691);
  std::int64_t kernels = 0, depth = 0;
  bool dram = false, power = false;
  for (const TimelineRow& row : d.rows) {
    if (row.kind == RowKind::kernels) kernels += static_cast<std::int64_t>(row.events.size());
    if (row.kind == RowKind::ranges) depth = std::max<std::int64_t>(depth, row.depth);
    if (row.id == "counter/0/dram__bytes_read.sum") {
      dram = true;
      EXPECT_EQ(row.counter.size(), 8'490U);
      EXPECT_EQ(row.unit, CounterUnit::ratio);
      EXPECT_GT(row.counter.most(), 0.5F);
      EXPECT_LT(row.counter.most(), 1.2F);
    }
    power = power || row.id == "clock/0/power";
  }
  EXPECT_EQ(kernels, 9'691);
  EXPECT_GE(depth, 3);
  EXPECT_TRUE(dram);
  EXPECT_TRUE(power);
}

TEST(TimelineReader, CollectivesHaveARowOfTheirOwn) {
  const ridgeline::testing::TemporaryDirectory directory;
  ridgeline::testing::FabricatedCapture with;
  with.extra_kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  ridgeline::testing::write_fabricated_capture(directory.file("nccl.ridge"), with);
  const auto data = read_timeline(directory.file("nccl.ridge"), {});
  ASSERT_TRUE(data.ok());
  std::size_t collectives = 0, streams = 0;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind != RowKind::collectives && row.kind != RowKind::kernels) continue;
    for (std::size_t i = 0; i < row.events.size(); ++i) {
      const EventName& name = data.value()->names[row.events.name(i)];
      const bool communicates = name.kernel_class == KernelClass::communication;
      if (row.kind == RowKind::collectives) {
        EXPECT_TRUE(communicates) << name.text;
        EXPECT_EQ(row.id, "collectives/0");
        ++collectives;
      } else if (communicates) {
        ++streams;
      }
    }
  }
  EXPECT_GE(collectives, 7U);
  EXPECT_EQ(collectives, streams);
}

TEST(TimelineReader, ALaunchOfAGraphIsOneCall) {
  const ridgeline::testing::TemporaryDirectory directory;
  {
    store::CaptureWriter writer = store::CaptureWriter::create(directory.file("graph.ridge")).value();
    store::Run run;
    run.command_line = "./train";
    run.ridgeline_version = "0.1.0";
    run.clock = "cupti";
    writer.set_run(run);
    store::Launch launch;
    launch.process_id = writer.add(store::Process{});
    store::Device device;
    device.name = "NVIDIA H200";
    launch.device_id = writer.add(device);
    launch.kernel_id = writer.kernel_id("_Z1av");
    launch.thread_id = 7;
    launch.graph_id = 1;
    for (int step = 0; step < 2; ++step) {
      for (int node = 0; node < 3; ++node) {
        launch.graph_node_id = node;
        launch.correlation_id = step + 1;
        launch.host_start_ns = 10'000 + 1000 * step;
        launch.host_end_ns = *launch.host_start_ns + 500;
        launch.start_ns = 10'100 + 1000 * step + 100 * node;
        launch.end_ns = launch.start_ns + 50;
        static_cast<void>(writer.add(launch));
      }
    }
    writer.finish();
  }
  const auto data = read_timeline(directory.file("graph.ridge"), {});
  ASSERT_TRUE(data.ok()) << data.failure().message;
  std::vector<const TimelineRow*> calls;
  for (const TimelineRow& row : data.value()->rows) {
    if (row.kind == RowKind::calls) calls.push_back(&row);
    if (row.kind != RowKind::kernels) continue;
    EXPECT_EQ(row.events.size(), 6U);
  }
  ASSERT_EQ(calls.size(), 1U);
  ASSERT_EQ(calls[0]->events.size(), 2U);
  EXPECT_EQ(calls[0]->events.start_ns(1), 11'000);
  EXPECT_EQ(data.value()->names[calls[0]->events.name(0)].text, "launch of a CUDA graph");
}

TEST(TimelineReader, CanBeCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const auto data = read_timeline(testing::bundled_capture().toStdString(), stop.get_token());
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.failure().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace ridgeline::gui
