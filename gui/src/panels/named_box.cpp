#include "panels/named_box.h"

#include <QLabel>

namespace ridgeline::gui {

void name_box(QComboBox* box, const QString& name) {
  box->setAccessibleName(name);
  auto* label = new QLabel(name, box->parentWidget());
  label->setBuddy(box);
  label->hide();
}

}  // namespace ridgeline::gui
