// window_views.h: all that the window can show of a capture, one view after the other: for pictures of it and for tests
// of its layout.
#pragma once

#include <QString>
#include <QWidget>
#include <functional>

#include "app/main_window.h"

namespace ridgeline::gui::testing {

struct WindowView {
  QString name;
  QWidget& page;             ///< the window, or a dialog
  QWidget* popup = nullptr;  ///< over the page, a window of its own
};
using EachView = std::function<void(const WindowView&)>;

/// Each panel, the timeline from afar and near, with a range and with a gap chosen, each box and popup; of a merged job
/// its ranks. The window has opened a capture and is shown. The last views leave a kernel chosen. False: the panels did
/// not come to rest.
[[nodiscard]] bool each_view(MainWindow& window, const EachView& see);

/// The page of two captures, where `against` is a capture. False: it did not come to rest, or is not there.
[[nodiscard]] bool compare_view(MainWindow& window, const QString& capture, const QString& against,
                                const EachView& see);

/// Pages and dialogs that no capture is needed for. `missing` is the path of a capture that there is not.
void each_dialog(MainWindow& window, const QString& missing, const EachView& see);

}  // namespace ridgeline::gui::testing
