#include "panels/lines.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>

#include "style/theme.h"

namespace ridgeline::gui {

QString severity_mark(Severity severity) {
  switch (severity) {
    case Severity::error:
      return QString::fromUtf8("■ error: ");
    case Severity::warning:
      return QString::fromUtf8("▲ warning: ");
    case Severity::info:
      break;
  }
  return QString::fromUtf8("· ");
}

QColor severity_colour(Severity severity) {
  if (severity == Severity::info) return {};
  return severity == Severity::error ? theme().bad : theme().fair;
}

void add_copy_action(QListWidget* list) {
  list->setSelectionMode(QAbstractItemView::ExtendedSelection);
  auto* copy = new QAction(QObject::tr("Copy"), list);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, list, [list] {
    QStringList lines;
    for (int row = 0; row < list->count(); ++row)
      if (list->item(row)->isSelected()) lines << list->item(row)->text();
    QApplication::clipboard()->setText(lines.join('\n').replace(QChar(QChar::Nbsp), ' '));
  });
  list->addAction(copy);
  list->setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace ridgeline::gui
