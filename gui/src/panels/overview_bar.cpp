#include "panels/overview_bar.h"

#include "models/text.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"
#include "style/theme.h"

namespace ridgeline::gui {

OverviewBar::OverviewBar(const CaptureDocument& document, QWidget* parent)
    : QWidget(parent), words_(new QVBoxLayout), notices_(new QPushButton(this)) {
  auto* across = new QHBoxLayout(this);
  across->setContentsMargins(10, 6, 10, 6);
  words_->setSpacing(2);
  across->addLayout(words_, 1);
  across->addWidget(notices_);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  const analyzer::Analysis& analysis = *document.analysis();
  QFont strong = font();
  strong.setBold(true);
  // What sets the pace comes before what is said of kernels: an idle GPU has no kernel to mend.
  QStringList pace;
  for (const analyzer::Finding& finding : reports::pace_notices(analysis.quality)) {
    QString text = shown(reports::finding_text(finding)) + ".";
    text[0] = text[0].toUpper();
    pace << text;
  }
  const QString verdict = shown(reports::kernels_verdict_sentence(analysis));
  add_line(pace.isEmpty() ? verdict : pace.takeFirst(), strong, 2);
  // What to do first, unless nobody knows anything.
  QStringList first;
  for (const std::string& line : reports::first_lines(analysis.advice, analysis.quality))
    first << shown(line);
  if (!first.isEmpty()) add_line(first.join(' '), font(), 2);
  if (const QString& above = lines_.front()->text(); above != verdict) {
    pace << verdict;
    add_line(pace.join(' '), font());
  }
  add_line(shown(reports::step_line(analysis.steps)) + "  " + shown(reports::run_line(*document.recording())),
           small_font(0.92));

  const auto found = reports::notices(analysis.quality, Severity::warning);
  notices_->setVisible(!found.empty());
  notices_->setText(found.size() == 1 ? tr("▲ 1 notice") : tr("▲ %1 notices").arg(found.size()));
  notices_->setToolTip(tr("Caveats for these figures"));
  connect(notices_, &QPushButton::clicked, this, &OverviewBar::notices_asked);
}

void OverviewBar::add_line(const QString& text, const QFont& font, int max_lines) {
  auto* label = new ElidedLabel(this);
  label->setFont(font);
  label->setText(text);
  label->set_max_lines(max_lines);
  words_->addWidget(label);
  lines_.push_back(label);
}

QStringList OverviewBar::lines() const {
  QStringList lines;
  for (const ElidedLabel* label : lines_) lines << label->text();
  return lines;
}

}  // namespace ridgeline::gui
