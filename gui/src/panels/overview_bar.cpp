#include "panels/overview_bar.h"

#include "models/text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/headline_text.h"
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
  // What dominates, the kernels' verdict with what keeps its saving from being had, what to do first.
  QStringList dominates, verdict, first;
  bool waits = false;
  for (const reports::HeadlineWords& line : reports::headline_words(*document.recording(), analysis)) {
    const QString text = shown(reports::sentence_of(line));
    switch (line.kind) {
      case analyzer::HeadlineKind::verdict:
      case analyzer::HeadlineKind::caveat:
        verdict << text;
        break;
      case analyzer::HeadlineKind::advice:
        first << text;
        break;
      default:
        waits |= line.kind != analyzer::HeadlineKind::kernels && line.kind != analyzer::HeadlineKind::copies;
        dominates << text;
    }
  }
  if (!dominates.isEmpty()) add_line(dominates.join(' '), strong, 2);
  // Where the kernels are not what dominates their verdict is in a line.
  add_line(verdict.join(' '), font(), waits ? 1 : 2);
  // That nothing is advised takes no room from the timeline.
  if (!first.isEmpty()) add_line(first.join(' '), font(), analysis.advice.advice.empty() ? 1 : 2);
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
