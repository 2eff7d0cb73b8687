#include "app/screenshot.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFontDatabase>
#include <QThread>

namespace ridgeline::gui {

bool wait_until_settled(const MainWindow& window, int max_ms) {
  QElapsedTimer timer;
  timer.start();
  int quiet = 0;
  while (timer.elapsed() < max_ms) {
    QApplication::processEvents(QEventLoop::AllEvents, 20);
    // Answers are delivered by events, which may ask again: twice quiet is quiet.
    quiet = window.settled() ? quiet + 1 : 0;
    if (quiet > 2) return true;
    QThread::msleep(2);
  }
  return false;
}

Result<QPixmap> take_picture(MainWindow& window, const Options& options) {
  if (QFontDatabase::families().isEmpty()) {
    return Failure{ErrorKind::environment,
                   "there is no font to write with: install one, as apt-get install fonts-dejavu-core"};
  }
  window.resize(options.size);
  window.show();
  bool failed = false;
  QObject::connect(&window, &MainWindow::opening_failed, [&] { failed = true; });
  window.open(options.captures.front());
  if (!wait_until_settled(window)) return Failure{ErrorKind::internal, "the panels did not come to rest"};
  if (failed) return window.failure();
  // The kernel that would save most, where nobody chose another.
  if (options.panel == "kernel" && window.selection().kernel().empty() &&
      !window.document()->overview()->ranking->rows.empty()) {
    window.selection().select_kernel(kernels_of(*window.document()->overview(), 0));
  }
  if (options.panel == "window") return window.grab();
  QWidget* panel = window.panel(options.panel);
  if (panel == nullptr)
    return Failure{ErrorKind::usage, "this capture has no panel " + options.panel.toStdString()};
  panel->setParent(nullptr);
  panel->resize(options.size);
  panel->show();
  if (!wait_until_settled(window)) return Failure{ErrorKind::internal, "the panel did not come to rest"};
  const QPixmap picture = panel->grab();
  panel->hide();
  return picture;
}

}  // namespace ridgeline::gui
