#include "panels/log_panel.h"

#include <QAction>
#include <QApplication>
#include <QBoxLayout>
#include <QClipboard>
#include <QTime>

#include "models/text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {
constexpr int kMostLines = 2000;
}

LogPanel::LogPanel(QWidget* parent) : QWidget(parent), list_(new QListWidget(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(list_);
  list_->setWordWrap(true);
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  list_->setAccessibleName(tr("Log"));
  auto* copy = new QAction(tr("Copy"), list_);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, [this] {
    QStringList lines;
    for (const QListWidgetItem* item : list_->selectedItems()) lines << item->text();
    QApplication::clipboard()->setText(lines.join('\n'));
  });
  list_->addAction(copy);
  list_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(list_, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
    const auto found = subjects_.find(item);
    if (found != subjects_.end()) emit subject_chosen(found->second);
  });
}

void LogPanel::note(Severity severity, const QString& text) {
  const char* mark = severity == Severity::error     ? "■ error: "
                     : severity == Severity::warning ? "▲ warning: "
                                                     : "· ";
  auto* item =
      new QListWidgetItem(QTime::currentTime().toString("HH:mm:ss  ") + QString::fromUtf8(mark) + text);
  if (severity != Severity::info)
    item->setForeground(severity == Severity::error ? theme().bad : theme().fair);
  list_->addItem(item);
  if (list_->count() > kMostLines) {
    subjects_.erase(list_->item(0));
    delete list_->takeItem(0);
  }
  list_->scrollToBottom();
}

void LogPanel::note_findings(const CaptureDocument& document) {
  subjects_.clear();  // those of another capture lead nowhere
  for (const analyzer::Finding& finding : reports::notices(document.analysis()->quality, Severity::info)) {
    note(finding.severity, shown(reports::finding_text(finding)));
    subjects_[list_->item(list_->count() - 1)] = finding.subject;
  }
}

}  // namespace ridgeline::gui
