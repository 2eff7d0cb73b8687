// key_sheet.h: all commands with their keys, to be read and changed.
#pragma once

#include <QDialog>

#include "models/key_map.h"

namespace ridgeline::gui {

class KeySheet : public QDialog {
  Q_OBJECT
 public:
  explicit KeySheet(KeyMap& keys, QWidget* parent = nullptr);
};

}  // namespace ridgeline::gui
