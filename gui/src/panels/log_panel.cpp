#include "panels/log_panel.h"

#include <QBoxLayout>
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
  if (severity_colour(severity).isValid()) item->setForeground(severity_colour(severity));
  list_->addItem(item);
  if (list_->count() > kMaxLogLines) delete list_->takeItem(0);
  list_->scrollToBottom();
}

}  // namespace ridgeline::gui
