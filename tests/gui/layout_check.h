// layout_check.h: what of a window's layout a reader would stumble over: words and numbers that are cut, widgets over
// each other or half outside of what holds them.
#pragma once

#include <QStringList>
#include <QWidget>

namespace ridgeline::gui::testing {

/// A sentence for each fault of the widgets below `root` that can be seen now; empty: there is none. Looked at are
/// labels, buttons, tabs, boxes, headings and cells of tables, and where siblings are. What charts and timelines paint
/// by themselves is not known here.
[[nodiscard]] QStringList layout_faults(const QWidget& root);

}  // namespace ridgeline::gui::testing
