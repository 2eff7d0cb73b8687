#include "panels/scope_panel.h"

#include <cmath>

#include "models/text.h"
#include "panels/elided_button.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::gui {
namespace {

// A chip stands beside a filter: the start says enough of a long name.
constexpr int kMaxNameLength = 40;

}  // namespace

QString range_text(const analyzer::TimeWindow& range, std::int64_t origin_ns) {
  const std::int64_t from = range.start_ns - origin_ns;
  const QString sign = from < 0 ? QString::fromUtf8("−") : QString();
  return QString("%1 from %2%3").arg(time_words(range.length_ns()), sign, time_words(std::abs(from)));
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
  // A line of its own: beside the others it would make a narrow panel wider, and those beside it narrower.
  auto* part = new QHBoxLayout;
  part->setContentsMargins(6, 0, 6, 0);
  all->addLayout(part);
  body_ = new QVBoxLayout;
  all->addLayout(body_, 1);

  chip_ = new ElidedButton(this);
  chip_->setCheckable(true);
  chip_->setChecked(true);
  chip_->setAccessibleName(tr("Follow the chosen range"));
  chip_->hide();
  part->addWidget(chip_);
  status_ = new QLabel(this);
  status_->hide();
  part->addWidget(status_);
  part->addStretch(1);
  connect(chip_, &QToolButton::toggled, this, [this](bool on) {
    follows_ = on;
    follow();
  });
  connect(&selection_, &Selection::range_changed, this, &ScopePanel::follow);
  connect(&selection_, &Selection::nvtx_changed, this, &ScopePanel::follow);
}

bool ScopePanel::is_chosen() const {
  if (!own_.empty()) return false;
  return selection_.range().has_value() || !selection_.nvtx().empty();
}

void ScopePanel::start() {
  bar_->addStretch(1);
  if (is_chosen()) {
    follow();
  } else {
    answer_ = document_.overview();
    show_answer(*answer_);
  }
}

void ScopePanel::follow() {
  if (selection_.nvtx() != own_ || selection_.range()) own_.clear();
  chip_->setVisible(is_chosen());
  QStringList words;
  if (!selection_.nvtx().empty())
    words << "'" + shown(reports::elide_end(selection_.nvtx(), kMaxNameLength)) + "'";
  if (const auto& instance = selection_.instance())
    words << "'" + shown(reports::elide_end(instance->calls.name, kMaxNameLength)) + "'";
  if (const auto& range = selection_.range()) {
    const std::int64_t origin = document_.overview()->steps->representative.window_start_ns;
    words << range_text(*range, origin);
  }
  chip_->setText((follows_ ? "▣ " : "□ ") + words.join(", "));
  chip_->setToolTip(tr("%1\nThis panel shows the chosen range only. Press to show the %2 again.")
                        .arg(words.join(", "), document_.has_steps() ? tr("step") : tr("whole recording")));
  ask_again();
}

void ScopePanel::set_key(analyzer::RankingKey key) {
  if (key == key_) return;
  key_ = key;
  own_.clear();
  follow();
}

void ScopePanel::choose_ranges(const std::string& pattern) {
  const analyzer::RepresentativeStep& step = answer_->steps->representative;
  const bool of_step = !step.whole_recording && step.summary.step_id != 0;
  own_ = pattern;
  if (selection_.range() && follows_) {
    own_.clear();
    selection_.narrow_to_nvtx(pattern);
  } else {
    selection_.select_nvtx(pattern, of_step ? std::optional(step.summary.step_index) : std::nullopt);
  }
}

void ScopePanel::set_steps(const analyzer::StepSelection& steps) {
  steps_ = steps;
  ask_again();
}

void ScopePanel::ask_again() {
  analyzer::Scope scope;
  scope.steps = steps_;
  if (is_chosen() && follows_) {
    scope.process_id = document_.process_id();
    scope.window = selection_.range();
    scope.range = selection_.nvtx();
    if (const auto& instance = selection_.instance()) {
      scope.process_id = instance->process_id;
      scope.calls = instance->calls;
    }
    // Of a step that was chosen, the ranges in it; a range of time is of whatever ran then.
    if (scope.window) scope.steps = {};
    if (selection_.nvtx_step() && !scope.window)
      scope.steps = analyzer::StepSelection::one(*selection_.nvtx_step());
    if (!scope.range.empty() && scope.steps == analyzer::StepSelection{})
      scope.steps = analyzer::StepSelection::everything();
  }
  const std::uint64_t question = ++questions_;  // what was asked before is not wanted any more
  const bool is_known = answer_ && answer_->scope == scope && answer_->key == key_;
  if (is_known && !waiting_) {
    status_->hide();
    return;
  }
  if (is_known || (scope == analyzer::Scope{} && key_ == analyzer::RankingKey::kernel)) {
    waiting_ = false;
    if (!is_known) answer_ = document_.overview();
    status_->hide();
    show_answer(*answer_);
    emit settled();
    return;
  }
  waiting_ = true;
  status_->setText(tr("reading…"));
  status_->show();
  document_.ask_scope(this, name_, scope, key_,
                      [this, question](Result<std::shared_ptr<const ScopeAnswer>> result) {
                        if (question != questions_) return;
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
