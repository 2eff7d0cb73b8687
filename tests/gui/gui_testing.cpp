#include "gui/gui_testing.h"

#include <QApplication>
#include <QFontDatabase>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "app/screenshot.h"

namespace ridgeline::gui::testing {

QString bundled_capture() {
  return QString(RIDGELINE_BUNDLED_CAPTURE);
}

std::unique_ptr<MainWindow> opened_window(const QString& path, QSize size) {
  Options options;
  options.size = size;
  auto window = std::make_unique<MainWindow>(options);
  window->resize(size);
  window->show();
  window->open(path);
  EXPECT_TRUE(wait_until_settled(*window));
  EXPECT_EQ(window->document()->state(), CaptureDocument::State::ready)
      << window->document()->failure().message;
  return window;
}

}  // namespace ridgeline::gui::testing

int main(int argc, char** argv) {
  // A real window where one is asked for: tests/gui/real_window_test.sh.
  qputenv("QT_QPA_PLATFORM", qEnvironmentVariable("RIDGELINE_GUI_TEST_PLATFORM", "offscreen").toLatin1());
  qputenv("QT_SCALE_FACTOR", "1");
  QStandardPaths::setTestModeEnabled(true);  // settings of the tests, not of the user
  ::testing::InitGoogleTest(&argc, argv);
  QApplication application(argc, argv);
  QApplication::setApplicationName("ridgeline-gui-test");
  QApplication::setOrganizationName("ridgeline");
  const QTemporaryDir settings;  // of the tests, not of the user
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  ridgeline::gui::apply_theme(application, ridgeline::gui::ThemeChoice::light);
  return RUN_ALL_TESTS();
}
