#include "panels/log_panel.h"

#include <QBoxLayout>
#include <QEvent>
#include <QTime>

#include "panels/lines.h"

namespace ridgeline::gui {
namespace {
constexpr int kMaxLogLines = 2000;
}

LogPanel::LogPanel(QWidget* parent) : QWidget(parent), list_(new QListWidget(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(list_);
  list_->setWordWrap(true);
  list_->setAccessibleName(tr("Log"));
  add_copy_action(list_);
}

void LogPanel::note(Severity severity, const QString& text) {
  auto* item =
      new QListWidgetItem(QTime::currentTime().toString("HH:mm:ss  ") + severity_mark(severity) + text);
  item->setData(Qt::UserRole, static_cast<int>(severity));
  paint(item);
  list_->addItem(item);
  if (list_->count() > kMaxLogLines) delete list_->takeItem(0);
  list_->scrollToBottom();
}

void LogPanel::paint(QListWidgetItem* item) {
  const QColor colour = severity_colour(static_cast<Severity>(item->data(Qt::UserRole).toInt()));
  if (colour.isValid()) item->setForeground(colour);
}

// Lines keep the colours that they were written with.
void LogPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  for (int row = 0; row < list_->count(); ++row) paint(list_->item(row));
}

}  // namespace ridgeline::gui
