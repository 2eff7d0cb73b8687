#include "panels/what_if_panel.h"

#include <QBoxLayout>
#include <QEvent>
#include <QPushButton>
#include <QScrollArea>
#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/what_if_query.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/what_if_document.h"

namespace ridgeline::gui {

namespace {

constexpr std::size_t kMaxKernels = 12;
constexpr int kUnchanged = 10;  // tenths
constexpr int kAskAfterMs = 150;
constexpr int kMinName = 12;    // characters
constexpr int kMinSlider = 90;  // pixels: tenths can be told apart

QString times_words(int tenths) {
  return plain(fixed(tenths / 10.0, 1)) + QString::fromUtf8("×");
}

QLabel* text_below(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

}  // namespace

WhatIfPanel::WhatIfPanel(CaptureDocument& document, QWidget* parent) : QWidget(parent), document_(document) {
  setMinimumWidth(330);
  choice_.set_kernels(*document_.overview()->ranking, kMaxKernels);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = new QWidget(area);
  auto* column = new QVBoxLayout(page);
  auto* rows = new QGridLayout;
  rows->setColumnStretch(0, 3);
  rows->setColumnStretch(1, 1);
  for (std::size_t i = 0; i < choice_.kernels().size(); ++i) add_kernel(i, rows);
  if (!names_.empty()) names_.front()->installEventFilter(this);
  name_kernels();
  column->addLayout(rows);
  graph_ = new QCheckBox(tr("Launched as a graph"), page);
  hide_copies_ = new QCheckBox(tr("Copies between host and device hidden"), page);
  auto* back = new QPushButton(tr("As recorded"), page);
  column->addWidget(graph_);
  column->addWidget(hide_copies_);
  column->addWidget(back, 0, Qt::AlignLeft);
  column->addStretch(1);
  area->setWidget(page);
  all->addWidget(area, 1);
  figures_ = text_below(this);
  figures_->setAccessibleName(tr("What the %1 gains").arg(document_.noun()));
  figures_->setMargin(6);
  notes_ = text_below(this);
  notes_->setAccessibleName(tr("What the figures rest on"));
  notes_->setMargin(6);
  all->addWidget(figures_);
  all->addWidget(notes_);
  later_.setSingleShot(true);
  later_.setInterval(kAskAfterMs);
  connect(&later_, &QTimer::timeout, this, &WhatIfPanel::ask);
  connect(graph_, &QCheckBox::toggled, this, [this](bool yes) {
    choice_.set_graph(yes);
    changed();
  });
  connect(hide_copies_, &QCheckBox::toggled, this, [this](bool yes) {
    choice_.set_hide_copies(yes);
    changed();
  });
  connect(back, &QPushButton::clicked, this, [this] {
    for (QSlider* slider : sliders_) slider->setValue(kUnchanged);
    graph_->setChecked(false);
    hide_copies_->setChecked(false);
  });
  changed();
}

void WhatIfPanel::add_kernel(std::size_t kernel, QGridLayout* rows) {
  const WhatIfChoice::Kernel& of = choice_.kernels()[kernel];
  const int row = static_cast<int>(kernel);
  auto* name = new ElidedLabel(this);
  auto* slider = new QSlider(Qt::Horizontal, this);
  slider->setRange(kUnchanged, static_cast<int>(std::lround(WhatIfChoice::kMaxTimes * 10)));
  slider->setValue(kUnchanged);
  slider->setPageStep(5);
  slider->setMinimumWidth(kMinSlider);
  slider->setAccessibleName(tr("How much faster: %1").arg(shown(of.name)));
  auto* times = new QLabel(times_words(kUnchanged), this);
  times->setMinimumWidth(times->fontMetrics().horizontalAdvance(times_words(100)));
  rows->addWidget(name, row, 0);
  rows->addWidget(slider, row, 1);
  rows->addWidget(times, row, 2);
  names_.push_back(name);
  sliders_.push_back(slider);
  times_.push_back(times);
  connect(slider, &QSlider::valueChanged, this, [this, kernel](int tenths) {
    times_[kernel]->setText(times_words(tenths));
    choice_.set_times(kernel, tenths / 10.0);
    changed();
  });
}

// As long as they have room for, and each another than the rest.
void WhatIfPanel::name_kernels() {
  if (names_.empty()) return;
  const QFontMetrics metrics = names_.front()->fontMetrics();
  const int room = names_.front()->width();
  std::vector<std::string> whole;
  for (const WhatIfChoice::Kernel& kernel : choice_.kernels()) whole.push_back(kernel.name);
  std::vector<std::string> names;
  for (int columns = std::max(room / std::max(metrics.averageCharWidth(), 1), kMinName); columns >= kMinName;
       --columns) {
    names = reports::elide_kernel_names(whole, columns);
    if (std::all_of(names.begin(), names.end(),
                    [&](const std::string& name) { return metrics.horizontalAdvance(shown(name)) <= room; }))
      break;
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const WhatIfChoice::Kernel& of = choice_.kernels()[i];
    names_[i]->setText(shown(names[i]));
    names_[i]->setToolTip(
        tr("%1\n%2 of the %3").arg(shown(of.name), plain(percent_text(of.step_share)), document_.noun()));
  }
}

bool WhatIfPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && !names_.empty() && watched == names_.front()) name_kernels();
  return QWidget::eventFilter(watched, event);
}

void WhatIfPanel::changed() {
  if (!choice_.empty()) return later_.start();
  later_.stop();
  waiting_ = false;
  ++questions_;
  figures_->setText(tr("Make a kernel faster, and see here what the %1 would gain.").arg(document_.noun()));
  notes_->clear();
}

void WhatIfPanel::ask() {
  waiting_ = true;
  const std::uint64_t question = ++questions_;
  document_.ask<Answered>(
      this, "what-if",
      [request = choice_.request()](analyzer::Session& session,
                                    const analyzer::QueryOptions& how) -> Result<Answered> {
        return queries::ask(session, queries::WhatIfQuery{request, {}}, how);
      },
      [this, question](Result<Answered> answer) {
        if (question != questions_) return;  // the sliders are elsewhere by now
        waiting_ = false;
        show_answer(answer);
      });
}

void WhatIfPanel::show_answer(const Result<Answered>& answer) {
  if (!answer) {
    figures_->setText(shown(answer.failure().message));
    notes_->clear();
    return;
  }
  const analyzer::WhatIf& known = *answer.value();
  QStringList lines;
  for (const reports::GainLine& line : reports::gain_lines(known, known.together))
    lines << shown(reports::gain_line_text(line));
  figures_->setText(with_whole_numbers(lines.join('\n')));
  QStringList notes;
  if (const std::string why = reports::no_replay_text(known.check); !why.empty()) notes << shown(why);
  notes << shown(reports::power_term_text(known.power));
  notes_->setText(with_whole_numbers(notes.join('\n')));
}

}  // namespace ridgeline::gui
