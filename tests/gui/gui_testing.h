// gui_testing.h: what the tests of the desktop program share. main() makes one QApplication on the offscreen platform.
#pragma once

#include <gtest/gtest.h>

#include <QTest>
#include <memory>
#include <string>

#include "app/main_window.h"
#include "gui/wait_for.h"

namespace ridgeline::gui::testing {

/// The bundled recording of a real GPU.
[[nodiscard]] QString bundled_capture();

/// A window with the capture open and everything shown. Fails the test if that does not come about.
[[nodiscard]] std::unique_ptr<MainWindow> opened_window(const QString& path, QSize size = {1400, 900});

}  // namespace ridgeline::gui::testing
