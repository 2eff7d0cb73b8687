#include "panels/findings_panel.h"

#include <QBoxLayout>
#include <QEvent>
#include <QLabel>
#include <algorithm>

#include "models/text.h"
#include "panels/lines.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"
#include "style/theme.h"

namespace ridgeline::gui {
FindingsPanel::FindingsPanel(const CaptureDocument& document, Selection& selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection), list_(new QListWidget(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(list_);
  list_->setWordWrap(true);
  list_->setAccessibleName(tr("Findings"));
  list_->setMouseTracking(true);
  list_->viewport()->installEventFilter(this);
  add_copy_action(list_);
  for (const analyzer::Finding& finding : reports::notices(document.analysis()->quality, Severity::info))
    add(finding);
  if (lines_.empty()) {
    auto* none = new QLabel(tr("No findings affect these figures."), this);
    none->setAlignment(Qt::AlignCenter);
    all->addWidget(none, 1);
    list_->hide();
  }
  light();
  // With the focus the first line becomes the current one: nobody chose it.
  connect(list_, &QListWidget::currentItemChanged, this,
          [this](const QListWidgetItem* item, const QListWidgetItem* before) {
            if (before != nullptr) go_to(list_->row(item));
          });
  connect(list_, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { go_to(list_->row(item)); });
  // A click on the line that is the current one already leads there again.
  connect(list_, &QListWidget::itemClicked, this,
          [this](const QListWidgetItem* item) { go_to(list_->row(item)); });
  connect(list_, &QListWidget::itemEntered, this, [this](const QListWidgetItem* item) {
    selection_.hover_kernel(lines_[static_cast<std::size_t>(list_->row(item))].kernel);
  });
  connect(&selection_, &Selection::kernel_changed, this, &FindingsPanel::light);
  connect(&selection_, &Selection::hover_changed, this, &FindingsPanel::light);
}

void FindingsPanel::add(const analyzer::Finding& finding) {
  Line line{finding.severity, document_.kernels_of(finding.subject), {}, {}};
  for (const std::string& name : finding.also) {
    analyzer::Subject other;
    other.name = name;
    for (const store::Id id : document_.kernels_of(other).kernels) line.others.kernels.push_back(id);
  }
  std::sort(line.others.kernels.begin(), line.others.kernels.end());
  if (line.kernel.empty()) line.window = window_of(*document_.overview(), finding.subject);
  auto* item = new QListWidgetItem(severity_mark(finding.severity) +
                                   with_whole_numbers(shown(reports::finding_text(finding))));
  if (!line.kernel.empty()) item->setToolTip(tr("Chooses %1").arg(shown(line.kernel.name)));
  if (line.window) item->setToolTip(tr("Shows the first of these steps"));
  list_->addItem(item);
  lines_.push_back(std::move(line));
}

bool FindingsPanel::is_lit(int line) const {
  return lines_.at(static_cast<std::size_t>(line)).about(selection_.kernel());
}

void FindingsPanel::light() {
  for (int row = 0; row < list_->count(); ++row) {
    const Line& line = lines_[static_cast<std::size_t>(row)];
    QListWidgetItem* item = list_->item(row);
    const QColor colour = severity_colour(line.severity);
    item->setForeground(colour.isValid() ? colour : theme().text);
    QFont font = list_->font();
    font.setBold(is_lit(row));
    item->setFont(font);
    const bool pointed_at = line.about(selection_.hovered());
    item->setBackground(pointed_at ? QBrush(theme().alternate) : QBrush());
  }
}

void FindingsPanel::go_to(int row) {
  if (row < 0) return;
  const Line& line = lines_[static_cast<std::size_t>(row)];
  if (!line.kernel.empty()) {
    selection_.select_kernel(line.kernel);
  } else if (line.window) {
    selection_.show(*line.window);
  }
}

bool FindingsPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Leave) selection_.hover_kernel({});
  return QWidget::eventFilter(watched, event);
}

void FindingsPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) light();  // another theme
}

}  // namespace ridgeline::gui
