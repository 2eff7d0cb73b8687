// named_box.h: names for boxes that are chosen from.
#pragma once

#include <QComboBox>

namespace ridgeline::gui {

/// To a screen reader on Linux a combo box is called what is chosen in it, whatever its accessible name: what it is for
/// is said by a label that leads to it. The label is not shown. Only once for a box, after it has its parent.
void name_box(QComboBox* box, const QString& name);

}  // namespace ridgeline::gui
