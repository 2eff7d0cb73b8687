// bench_main.cpp: how fast the timeline is. Usage: ridgeline_gui_bench [--events N] [--rows N] [CAPTURE]
// Without a capture, rows of made-up launches; with one, opening it too. One line a figure, on the offscreen platform.
#include <QApplication>
#include <QElapsedTimer>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "app/allocation.h"
#include "app/main_window.h"
#include "app/screenshot.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

constexpr QSize kScreen{1920, 1080};

TimelineRow made_up_row(RowKind kind, const std::string& what, int number) {
  TimelineRow row;
  row.kind = kind;
  row.label = what + " " + std::to_string(number);
  row.id = what + "/" + std::to_string(number);
  return row;
}

// Launches on streams and the calls that launched them, by threads: two events a launch.
std::shared_ptr<TimelineData> made_up(std::int64_t launches, int streams) {
  constexpr int kThreads = 4;
  auto data = std::make_shared<TimelineData>();
  for (int i = 0; i < 200; ++i) {
    data->names.push_back({"void kernel_" + std::to_string(i) + "<float, 128, true>(float*, int)",
                           EventName::Kind::kernel, static_cast<KernelClass>(i % 11), i + 1});
  }
  std::mt19937_64 random(7);
  const auto add_row = [&](TimelineRow row, std::int64_t events, std::uint64_t shortest,
                           std::uint64_t spread) {
    std::int64_t now = 1'000'000'000;
    for (std::int64_t i = 0; i < events; ++i) {
      const auto length = static_cast<std::int64_t>(shortest + random() % spread);
      row.events.add(now, now + length, static_cast<std::uint32_t>(random() % 200));
      now += length + static_cast<std::int64_t>(random() % 100 == 0 ? random() % 1'000'000 : random() % 2000);
    }
    row.events.finish();
    data->extent = data->rows.empty()
                       ? row.events.extent()
                       : TimeWindow{std::min(data->extent.start_ns, row.events.extent().start_ns),
                                    std::max(data->extent.end_ns, row.events.extent().end_ns)};
    data->rows.push_back(std::move(row));
  };
  for (int r = 0; r < kThreads; ++r)
    add_row(made_up_row(RowKind::calls, "Thread", r), launches / kThreads, 1500, 1500);
  for (int r = 0; r < streams; ++r)
    add_row(made_up_row(RowKind::kernels, "Stream", r), launches / streams, 2000, 30'000);
  data->launches = launches / streams * streams;
  return data;
}

// Processor time of this thread: on a machine with other work, what a frame costs.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Frame {
  double wall_ms = 0, processor_ms = 0;
};

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * share)];
}

void say(const std::string& what, const std::vector<Frame>& frames) {
  std::vector<double> wall, processor;
  for (const Frame& frame : frames) {
    wall.push_back(frame.wall_ms);
    processor.push_back(frame.processor_ms);
  }
  std::printf(
      "%-34s processor: median %5.1f, 95 %% %5.1f, worst %5.1f ms; wall: median %5.1f, 95 %% %5.1f ms; %zu "
      "frames\n",
      what.c_str(), at(processor, 0.5), at(processor, 0.95), at(processor, 1), at(wall, 0.5), at(wall, 0.95),
      frames.size());
}

// What another thread looks for: the window's own time, and how long until it is there.
void say_found(const char* what, TimelineView& view, const std::function<void()>& ask) {
  QElapsedTimer timer;
  timer.start();
  const double before = processor_ms();
  ask();
  const double asked_ms = processor_ms() - before;
  while (view.finding()) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  std::printf("%-34s window's thread: %.1f ms to ask, %.1f ms in all; found after %lld ms\n", what, asked_ms,
              processor_ms() - before, static_cast<long long>(timer.elapsed()));
}

void bench_frames(TimelineView& view, Selection& selection) {
  const TimeWindow all = view.scene().extent();
  QImage screen(view.size(), QImage::Format_ARGB32_Premultiplied);
  const auto frame = [&](const TimeWindow& window) {
    selection.show(window, Selection::Gesture::continued);
    QElapsedTimer timer;
    timer.start();
    const double before = processor_ms();
    view.render(&screen);
    return Frame{static_cast<double>(timer.nsecsElapsed()) / 1e6, processor_ms() - before};
  };
  frame(all);
  std::vector<Frame> ms;
  for (int i = 0; i < 40; ++i) ms.push_back(frame({all.start_ns, all.end_ns - i * all.length_ns() / 4000}));
  say("everything in view", ms);
  // From everything to a microsecond a pixel, about one place.
  ms.clear();
  double length = static_cast<double>(all.length_ns());
  const std::int64_t middle = all.start_ns + all.length_ns() / 3;
  while (length > 2e6) {
    length *= 0.93;
    ms.push_back(frame(
        {middle - static_cast<std::int64_t>(length / 2), middle + static_cast<std::int64_t>(length / 2)}));
  }
  say("zooming in", ms);
  for (const double share : {0.1, 0.01, 0.001, 0.0001}) {
    ms.clear();
    const auto wide = static_cast<std::int64_t>(static_cast<double>(all.length_ns()) * share);
    for (int i = 0; i < 100; ++i) {
      const std::int64_t start = all.start_ns + all.length_ns() / 4 + i * wide / 50;
      ms.push_back(frame({start, start + wide}));
    }
    char what[64];
    std::snprintf(what, sizeof what, "panning, %.3g of it in view", share);
    say(what, ms);
  }
  ms.clear();
  const TimeWindow still = selection.view();
  for (int i = 0; i < 40; ++i) ms.push_back(frame(still));
  say("nothing changed but the mouse", ms);
  say_found("marking a kernel", view, [&] { selection.select_kernel({{7}, "kernel"}); });
  say_found("searching", view, [&] { view.search("kernel_1.*128"); });
}

void bench_made_up(std::int64_t events, int rows) {
  QElapsedTimer timer;
  timer.start();
  const auto data = made_up(events, rows);
  std::printf("%lld launches in %d rows, their calls in 4, %dx%d: made in %lld ms\n",
              static_cast<long long>(data->launches), rows, kScreen.width(), kScreen.height(),
              static_cast<long long>(timer.elapsed()));
  std::printf("%-44s %.2f bytes a launch, its call with it\n", "memory",
              static_cast<double>(data->bytes()) / static_cast<double>(data->launches));
  Selection selection;
  selection.reset(data->extent);
  TimelineView view(selection);
  view.resize(kScreen);
  view.scene().set_data(data);
  view.scene_changed();
  view.show();
  bench_frames(view, selection);
}

// What launches take with their calls, and what the rest does.
void say_memory(const TimelineData& data) {
  std::size_t launches = 0, ranges = 0;
  for (const TimelineRow& row : data.rows) {
    if (row.kind == RowKind::kernels || row.kind == RowKind::calls) launches += row.events.bytes();
    if (row.kind == RowKind::ranges) ranges += row.events.bytes();
  }
  const auto a_launch = [&](std::size_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(data.launches, 1));
  };
  std::printf("%-44s %.2f bytes a launch, its call with it; ranges %.2f more, all else %.2f\n", "memory",
              a_launch(launches), a_launch(ranges), a_launch(data.bytes() - launches - ranges));
}

int bench_capture(const QString& path) {
  Options options;
  options.screenshot = "none";  // no settings are touched
  MainWindow window(options);
  window.resize(kScreen);
  window.show();
  QElapsedTimer timer;
  timer.start();
  double first_ms = 0;
  QObject::connect(&window, &MainWindow::opened, [&] {
    window.grab();
    first_ms = static_cast<double>(timer.nsecsElapsed()) / 1e6;
  });
  double read_ms = 0;
  window.open(path);
  while (read_ms == 0 && timer.elapsed() < 600'000) {
    QApplication::processEvents(QEventLoop::AllEvents, 5);
    if (window.document()->state() == CaptureDocument::State::failed) {
      std::fprintf(stderr, "%s\n", window.document()->failure().message.c_str());
      return 1;
    }
    if (first_ms > 0 && window.timeline() != nullptr && !window.timeline()->busy())
      read_ms = static_cast<double>(timer.nsecsElapsed()) / 1e6;
    QThread::usleep(200);
  }
  const TimelineData& data = window.timeline()->view()->scene().data();
  std::printf("%s: %lld launches\n", qPrintable(path), static_cast<long long>(data.launches));
  std::printf("%-44s %.0f ms\n", "first paint: verdict, ranking, steps", first_ms);
  std::printf("%-44s %.0f ms\n", "the whole timeline", read_ms);
  say_memory(data);
  if (!wait_until_settled(window)) return 1;
  bench_frames(*window.timeline()->view(), window.selection());
  return 0;
}

int run(int argc, char** argv) {
  std::int64_t events = 10'000'000;
  int rows = 40;
  QString capture;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--events" || argument == "--rows") && i + 1 < argc) {
      const long long value = std::atoll(argv[++i]);
      if (value < 1) return 2;
      if (argument == "--events") {
        events = value;
      } else {
        rows = static_cast<int>(value);
      }
    } else if (argument.rfind("--", 0) == 0) {
      std::fprintf(stderr, "usage: ridgeline_gui_bench [--events N] [--rows N] [CAPTURE]\n");
      return 2;
    } else {
      capture = QString::fromLocal8Bit(argument.c_str());
    }
  }
  if (!capture.isEmpty()) return bench_capture(capture);
  bench_made_up(events, rows);
  return 0;
}

}  // namespace
}  // namespace ridgeline::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  ridgeline::gui::take_memory_in_large_pieces();
  QApplication application(argc, argv);
  ridgeline::gui::apply_theme(application, ridgeline::gui::ThemeChoice::light);
  return ridgeline::gui::run(argc, argv);
}
