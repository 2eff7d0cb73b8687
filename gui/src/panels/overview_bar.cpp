#include "panels/overview_bar.h"

#include <QBoxLayout>

#include "models/text.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"
#include "style/theme.h"

namespace ridgeline::gui {

OverviewBar::OverviewBar(const CaptureDocument& document, QWidget* parent)
    : QWidget(parent), verdict_(new QLabel(this)), facts_(new QLabel(this)), notices_(new QPushButton(this)) {
  auto* across = new QHBoxLayout(this);
  across->setContentsMargins(10, 6, 10, 6);
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  across->addLayout(words, 1);
  across->addWidget(notices_);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  const analyzer::Analysis& analysis = *document.analysis();
  for (QLabel* label : {verdict_, facts_}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    words->addWidget(label);
  }
  QFont strong = font();
  strong.setBold(true);
  verdict_->setFont(strong);
  QString verdict = shown(reports::verdict_sentence(analysis));
  // What to do first, unless nobody knows anything.
  const std::vector<std::string> first = reports::first_lines(analysis.advice, analysis.quality);
  for (auto line = first.rbegin(); line != first.rend(); ++line) verdict = shown(*line) + "\n" + verdict;
  // What sets the pace comes before what is said of kernels.
  const auto pace = reports::pace_notices(analysis.quality);
  for (auto finding = pace.rbegin(); finding != pace.rend(); ++finding) {
    QString text = shown(reports::finding_text(*finding)) + ".";
    text[0] = text[0].toUpper();
    verdict = text + "\n" + verdict;
  }
  verdict_->setText(verdict);
  facts_->setFont(small_font(0.92));
  facts_->setText(shown(reports::step_line(analysis.steps)) + "\n" +
                  shown(reports::run_line(*document.recording())));

  const auto found = reports::notices(analysis.quality, Severity::warning);
  notices_->setVisible(!found.empty());
  notices_->setText(found.size() == 1 ? tr("▲ 1 notice") : tr("▲ %1 notices").arg(found.size()));
  notices_->setToolTip(tr("Caveats for these figures"));
  connect(notices_, &QPushButton::clicked, this, &OverviewBar::notices_asked);
}

}  // namespace ridgeline::gui
