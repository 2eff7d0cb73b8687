// screenshot.h: a picture of a panel, without a window: for tests and documents.
#pragma once

#include <QPixmap>

#include "app/main_window.h"

namespace ridgeline::gui {

/// Opens the captures of the options, waits until everything is shown and takes the picture. Needs an event loop's
/// platform, not a screen. Failures: those of opening; environment (no font to write with), usage (no such panel).
[[nodiscard]] Result<QPixmap> take_picture(MainWindow& window, const Options& options);

/// Waits for the window to have nothing left to do. False: it took longer.
[[nodiscard]] bool wait_until_settled(const MainWindow& window, int max_ms = 120'000);

}  // namespace ridgeline::gui
