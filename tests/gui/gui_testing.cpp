#include "gui/gui_testing.h"

#include <QApplication>
#include <QFontDatabase>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

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

namespace {

// The cases of the sources FILE_test.cpp as a filter; empty where one of the files has none.
std::string filter_of_files(const std::vector<std::string>& files) {
  const auto& tests = *::testing::UnitTest::GetInstance();
  std::string filter;
  for (const auto& file : files) {
    const std::size_t before = filter.size();
    for (int i = 0; i < tests.total_test_suite_count(); ++i) {
      const auto& suite = *tests.GetTestSuite(i);
      for (int k = 0; k < suite.total_test_count(); ++k) {
        const auto& info = *suite.GetTestInfo(k);
        if (std::filesystem::path(info.file()).filename() == file + "_test.cpp") {
          filter += std::string(filter.empty() ? "" : ":") + suite.name() + "." + info.name();
        }
      }
    }
    if (filter.size() == before) {
      return {};
    }
  }
  return filter;
}

}  // namespace
}  // namespace ridgeline::gui::testing

// test_gui [FILE...] [options of GoogleTest]: the cases of FILE_test.cpp; without one those that --gtest_filter takes.
int main(int argc, char** argv) {
  // A real window where one is asked for: tests/gui/real_window_test.sh.
  qputenv("QT_QPA_PLATFORM", qEnvironmentVariable("RIDGELINE_GUI_TEST_PLATFORM", "offscreen").toLatin1());
  qputenv("QT_SCALE_FACTOR", "1");
  QStandardPaths::setTestModeEnabled(true);  // settings of the tests, not of the user
  ::testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    const auto filter = ridgeline::gui::testing::filter_of_files({argv + 1, argv + argc});
    if (filter.empty() || GTEST_FLAG_GET(filter) != "*") {
      std::fprintf(stderr, "test_gui: %s\n",
                   filter.empty() ? "no cases in one of these: give FILE for FILE_test.cpp"
                                  : "give FILE or --gtest_filter");
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
    argc = 1;
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName("ridgeline-gui-test");
  QApplication::setOrganizationName("ridgeline");
  const QTemporaryDir settings;  // of the tests, not of the user
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  ridgeline::gui::apply_theme(application, ridgeline::gui::ThemeChoice::light);
  return RUN_ALL_TESTS();
}
