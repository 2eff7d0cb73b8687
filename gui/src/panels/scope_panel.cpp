#include "panels/scope_panel.h"

#include "models/text.h"
#include "ridgeline/base/units.h"

namespace ridgeline::gui {

QString range_text(const analyzer::TimeWindow& range, std::int64_t origin_ns) {
  return QString("%1 from +%2")
      .arg(plain(time_text(static_cast<double>(range.length_ns()))),
           plain(time_text(static_cast<double>(range.start_ns - origin_ns))));
}

ScopePanel::ScopePanel(CaptureDocument& document, Selection& selection, std::string name, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection), name_(std::move(name)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  bar_ = new QHBoxLayout;
  bar_->setContentsMargins(6, 4, 6, 4);
  bar_->setSpacing(6);
  all->addLayout(bar_);
  body_ = new QVBoxLayout;
  all->addLayout(body_, 1);

  chip_ = new QToolButton(this);
  chip_->setCheckable(true);
  chip_->setChecked(true);
  chip_->setAccessibleName(tr("Follow the chosen range"));
  chip_->setToolTip(tr("This panel shows the chosen range of time only. Press to show the step again."));
  chip_->hide();
  status_ = new QLabel(this);
  status_->hide();
  connect(chip_, &QToolButton::toggled, this, [this](bool on) {
    follows_range_ = on;
    follow();
  });
  connect(&selection_, &Selection::range_changed, this, &ScopePanel::follow);
}

void ScopePanel::start() {
  bar_->addStretch(1);
  bar_->addWidget(status_);
  bar_->addWidget(chip_);
  if (selection_.range()) {
    follow();
  } else {
    answer_ = document_.overview();
    show_answer(*answer_);
  }
}

void ScopePanel::follow() {
  const auto& range = selection_.range();
  chip_->setVisible(range.has_value());
  if (range) {
    const std::int64_t origin = document_.overview()->steps->representative.window_start_ns;
    chip_->setText((follows_range_ ? "▣ " : "□ ") + range_text(*range, origin));
  }
  ask_again();
}

void ScopePanel::set_key(analyzer::RankKey key) {
  if (key == key_) return;
  key_ = key;
  ask_again();
}

void ScopePanel::set_steps(const analyzer::StepSelection& steps) {
  steps_ = steps;
  ask_again();
}

void ScopePanel::ask_again() {
  analyzer::Scope scope;
  scope.steps = steps_;
  if (selection_.range() && follows_range_) {
    scope.process_id = document_.process_id();
    scope.steps = {};
    scope.window = selection_.range();
  }
  if (answer_ && answer_->scope == scope && answer_->key == key_) return;
  if (scope == analyzer::Scope{} && key_ == analyzer::RankKey::kernel) {
    waiting_ = false;
    answer_ = document_.overview();
    status_->hide();
    show_answer(*answer_);
    emit settled();
    return;
  }
  waiting_ = true;
  status_->setText(tr("reading…"));
  status_->show();
  document_.ask_scope(this, name_, scope, key_, [this](Result<std::shared_ptr<const ScopeAnswer>> result) {
    waiting_ = false;
    if (result) {
      answer_ = result.value();
      status_->hide();
      show_answer(*answer_);
    } else {
      status_->setText(shown(result.failure().message));
    }
    emit settled();
  });
}

}  // namespace ridgeline::gui
