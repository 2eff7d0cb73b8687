// recording_main.cpp: records a program as a person does, with the dialog of a window: the form, the output as it
// comes, the end, the capture opened. Takes a picture of each. Without a screen; with a GPU, or what plays ridgeline.
//   ridgeline_gui_recording [--stop-after SECONDS] RIDGELINE FOLDER PROGRAM ARGUMENTS…
// Exits 0 if the capture was opened and its kernels are ranked; says on the way what the dialog says.
#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFontDatabase>
#include <cstdio>

#include "app/main_window.h"
#include "app/record_dialog.h"
#include "app/screenshot.h"
#include "gui/wait_for.h"

namespace ridgeline::gui {
namespace {

using testing::wait_for;

constexpr int kMaxMs = 300'000;

int complain(const QString& what) {
  std::fprintf(stderr, "%s\n", qPrintable(what));
  return 1;
}

int run(const QStringList& words, double stop_after_s) {
  if (QFontDatabase::families().isEmpty()) return complain("there is no font to write with");
  const QDir folder(words[1]);
  Options options;
  options.screenshot = "none";  // no settings are touched
  options.ridgeline = words[0];
  MainWindow window(options);
  window.resize(1400, 900);
  window.show();
  window.run("record");
  auto* dialog = window.findChild<RecordDialog*>();
  if (dialog == nullptr) return complain("no dialog came");
  if (!wait_for([&] { return !dialog->machine().contains("Checking"); }, 60'000))
    return complain("doctor did not answer");
  std::printf("machine: %s\n", qPrintable(dialog->machine()));
  RecordingPlan plan;
  plan.program = words[2];
  plan.arguments = words.mid(3);
  plan.capture = folder.filePath("recording.ridge");
  dialog->set_plan(plan);
  dialog->grab().save(folder.filePath("form.png"));

  dialog->start();
  if (!dialog->running()) return complain("it does not start: " + dialog->status());
  (void)wait_for([&] { return !dialog->running() || dialog->output().count('\n') > 3; }, kMaxMs);
  QElapsedTimer recording;
  recording.start();
  dialog->grab().save(folder.filePath("recording.png"));
  if (stop_after_s > 0) {
    (void)wait_for(
        [&] { return !dialog->running() || static_cast<double>(recording.elapsed()) > stop_after_s * 1e3; },
        kMaxMs);
    std::printf("stopping\n");
    dialog->stop();
  }
  if (!wait_for([&] { return !dialog->running() && !dialog->status().startsWith("recording"); }, kMaxMs))
    return complain("it does not end: " + dialog->status());
  std::printf("%s\n", qPrintable(dialog->status()));
  std::printf("%s\n", qPrintable(dialog->output().right(2000)));
  dialog->grab().save(folder.filePath("recorded.png"));

  emit dialog->open_asked(plan.capture);
  if (!wait_until_settled(window)) return complain("the panels did not come to rest");
  const CaptureDocument* document = window.document();
  if (document == nullptr || document->state() != CaptureDocument::State::ready)
    return complain(QString::fromStdString(window.failure().message));
  dialog->close();
  window.grab().save(folder.filePath("window.png"));
  const analyzer::Ranking& ranking = *document->overview()->ranking;
  std::printf(
      "opened: step of %lld launches, %zu kernels ranked, %lld calls, %.0f %% of the step to be saved\n",
      static_cast<long long>(document->overview()->steps->representative.summary.launches),
      ranking.rows.size(), static_cast<long long>(ranking.totals.calls),
      100 * ranking.totals.saved_target_ns /
          static_cast<double>(std::max<std::int64_t>(document->overview()->accounting->step_ns, 1)));
  return ranking.rows.empty() ? 1 : 0;
}

}  // namespace
}  // namespace ridgeline::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  QApplication application(argc, argv);
  QApplication::setApplicationName("ridgeline-gui-recording");
  ridgeline::gui::apply_theme(application, ridgeline::gui::ThemeChoice::light);
  QStringList words;
  for (int i = 1; i < argc; ++i) words << QString::fromLocal8Bit(argv[i]);
  double stop_after_s = 0;
  if (words.size() > 1 && words[0] == "--stop-after") {
    stop_after_s = words[1].toDouble();
    words = words.mid(2);
  }
  if (words.size() < 3) {
    std::fprintf(
        stderr,
        "usage: ridgeline_gui_recording [--stop-after SECONDS] RIDGELINE FOLDER PROGRAM ARGUMENTS…\n");
    return 2;
  }
  return ridgeline::gui::run(words, stop_after_s);
}
