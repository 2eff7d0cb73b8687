#include "panels/advice_panel.h"

#include <QBoxLayout>

#include "models/text.h"
#include "panels/lines.h"
#include "ridgeline/reports/advice_text.h"

namespace ridgeline::gui {

AdvicePanel::AdvicePanel(const CaptureDocument& document, Selection& selection, QWidget* parent)
    : QWidget(parent), selection_(selection), list_(new QListWidget(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(list_);
  list_->setWordWrap(true);
  list_->setAccessibleName(tr("Advice"));
  add_copy_action(list_);
  const analyzer::AdviceReport& report = document.analysis()->advice;
  int number = 0;
  for (const analyzer::Advice& advice : report.advice) {
    analyzer::Subject subject;
    subject.name = advice.subject;
    add(QString("%1. %2\n%3; %4\n%5")
            .arg(++number)
            .arg(shown(reports::advice_action(advice)), shown(reports::gain_text(report, advice.net)),
                 shown(reports::certainty_text(advice)), shown(reports::evidence_text(advice.evidence))),
        advice.subject.empty() ? KernelChoice{} : document.kernels_of(subject));
  }
  if (report.advice.empty()) {
    for (const std::string& line : reports::first_lines(report, document.analysis()->quality))
      add(shown(line), {});
  }
  for (const analyzer::AdviceUnknown& unknown : report.unknown) {
    add(tr("Cannot say: %1: %2")
            .arg(shown(std::string(to_string(unknown.rule))), shown(reports::need_text(report, unknown))),
        {});
  }
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
}

void AdvicePanel::add(const QString& text, const KernelChoice& kernel) {
  auto* item = new QListWidgetItem(with_whole_numbers(text));
  if (!kernel.empty()) item->setToolTip(tr("Chooses %1").arg(shown(kernel.name)));
  list_->addItem(item);
  kernels_.push_back(kernel);
}

void AdvicePanel::go_to(int line) {
  if (line < 0) return;
  const KernelChoice& kernel = kernels_[static_cast<std::size_t>(line)];
  if (!kernel.empty()) selection_.select_kernel(kernel);
}

}  // namespace ridgeline::gui
