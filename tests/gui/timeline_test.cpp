// The timeline without a window: axis, scene.
#include <algorithm>
#include <array>

#include "gui/gui_testing.h"
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

TEST(TimeAxis, TicksFarFromTheOriginHaveALargerUnit) {
  const struct {
    std::int64_t from, length;
    const char* first;
  } kCases[] = {{655'300'000, 600'000, "655.3 ms"},
                {24'350'000, 50'000, "24.350 ms"},
                {9'000'000, 600'000, "9000 µs"},
                {20'000'000'000, 3'000'000, "20.0000 s"},
                {-30'000'000, 600'000, "−30.0 ms"}};
  for (const auto& [from, length, first] : kCases) {
    const TimeAxis axis({from, from + length}, 1000);
    for (const TimeTick& tick : axis.ticks(0)) {
      if (tick.text.empty()) continue;
      EXPECT_EQ(tick.text, first) << from;
      break;
    }
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

}  // namespace
}  // namespace ridgeline::gui
