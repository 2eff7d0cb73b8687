#include "timeline/timeline_panel.h"

#include <QEvent>
#include <QRegularExpression>
#include <QTimer>
#include <chrono>
#include <utility>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::gui {
namespace {

constexpr std::chrono::milliseconds kLongestUnpainted{100};  // a window that nobody sees
// Gaps of all timeline steps are shown if there are not too many launches in them.
constexpr std::int64_t kMaxLaunchesForGaps = 400'000;

Result<LaunchArrow> read_arrow(const std::string& path, const LaunchChoice& choice,
                               const std::stop_token& stop) {
  const auto capture = store::Capture::open(path);
  if (!capture) return capture.failure();
  const store::Activity activity(capture.value());
  std::optional<LaunchArrow> arrow;
  activity.for_each_launch(
      {.time = store::TimeSpan{choice.start_ns, choice.start_ns + 1}},
      [&](const store::Launch& launch) {
        if (launch.device_id != choice.device_id || launch.kernel_id != choice.kernel_id ||
            launch.start_ns != choice.start_ns || !launch.host_start_ns || !launch.thread_id)
          return;
        arrow = LaunchArrow{launch.process_id, *launch.thread_id, *launch.host_start_ns,
                            launch.host_end_ns.value_or(*launch.host_start_ns), choice};
      },
      stop);
  if (!arrow) return Failure{ErrorKind::no_data, "the call that launched it was not recorded"};
  return *arrow;
}

}  // namespace

std::shared_ptr<const TimelineData> coarse_timeline(const analyzer::Model& recording) {
  auto data = std::make_shared<TimelineData>();
  std::map<store::Id, TimelineRow> rows;
  std::int64_t start = INT64_MAX, end = INT64_MIN;
  for (const analyzer::ModelStep& each : recording.steps) {
    const store::Step& step = each.step;
    if (!step.gpu_start_ns || !step.gpu_end_ns || *step.gpu_end_ns <= *step.gpu_start_ns) continue;
    data->names.push_back({analyzer::step_event_name(step), EventName::Kind::step, KernelClass::other, 0,
                           static_cast<int>(step.phase)});
    TimelineRow& row = rows[step.process_id];
    row.kind = RowKind::steps;
    if (row.label.empty() || step.source != StepSource::window) row.label = analyzer::steps_row_label(step);
    row.id = "steps/coarse/" + std::to_string(step.process_id);
    row.process_id = step.process_id;
    row.events.add(*step.gpu_start_ns, *step.gpu_end_ns, static_cast<std::uint32_t>(data->names.size() - 1));
    start = std::min(start, *step.gpu_start_ns);
    end = std::max(end, *step.gpu_end_ns);
  }
  for (auto& [process, row] : rows) {
    row.events.finish();
    data->rows.push_back(std::move(row));
  }
  if (start < end) data->extent = {start, end};
  return data;
}

TimelinePanel::TimelinePanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      view_(new TimelineView(selection, this)),
      search_(new QLineEdit(this)),
      buttons_(new QHBoxLayout),
      caption_(new QLabel(this)),
      found_(new QLabel(this)),
      status_(new QLabel(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 3, 6, 3);
  bar->setSpacing(8);
  search_->setPlaceholderText(tr("Search, > command, : SQL"));
  search_->setToolTip(tr("Searches kernels, ranges and copies; > finds commands, : asks in SQL"));
  search_->setAccessibleName(tr("Search in the timeline"));
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(120);
  search_->setMaximumWidth(260);
  bar->addWidget(caption_);
  bar->addWidget(search_, 100);  // before the stretch after it
  bar->addWidget(found_);
  bar->addStretch(1);
  buttons_->setSpacing(0);
  bar->addLayout(buttons_);
  bar->addWidget(status_);
  all->addLayout(bar);
  all->addWidget(view_, 1);
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text == ">" || text == ":") {
      search_->clear();
      emit box_asked(text.front());
    } else {
      view_->search(text);
    }
  });
  connect(view_, &TimelineView::found_changed, this, &TimelinePanel::show_found);
  connect(search_, &QLineEdit::returnPressed, view_, &TimelineView::next_match);
  connect(&selection_, &Selection::launch_changed, this, &TimelinePanel::find_arrow);

  const analyzer::RepresentativeStep& step = document_.overview()->steps->representative;
  view_->set_origin(step.window_start_ns,
                    document_.has_steps() ? tr("step %1").arg(step.summary.step_index) : QString("0"));
  view_->set_step({step.window_start_ns, step.window_end_ns});
  view_->scene().set_data(coarse_timeline(*document_.recording()));
  view_->scene().set_gaps(*document_.overview()->accounting);
  view_->scene_changed();
  status_->setText(tr("reading launches…"));
  view_->installEventFilter(this);
  QTimer::singleShot(kLongestUnpainted, this, &TimelinePanel::read_all);
}

// What can be shown already comes first: reading takes pages of memory as fast as it can, and painting waits for its
// own.
bool TimelinePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_ && event->type() == QEvent::Paint && !began_to_read_)
    QTimer::singleShot(0, this, &TimelinePanel::read_all);
  return QWidget::eventFilter(watched, event);
}

QToolButton* TimelinePanel::button(const QString& command) {
  QToolButton*& button = button_of_[command];
  if (button == nullptr) {
    button = new QToolButton(this);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::NoFocus);  // the keys stay with the timeline
    buttons_->addWidget(button);
  }
  return button;
}

void TimelinePanel::search_name(const QString& name) {
  const QSignalBlocker quiet(search_);
  search_->setText(name);
  view_->search("^" + QRegularExpression::escape(name) + "$");
}

void TimelinePanel::read_all() {
  using Data = std::shared_ptr<const TimelineData>;
  if (std::exchange(began_to_read_, true)) return;
  view_->removeEventFilter(this);
  worker_.ask<Data>(
      this, "read",
      [this, path = document_.path().toStdString()](const std::stop_token& stop) -> Result<Data> {
        return analyzer::read_timeline(path, stop, [this](std::int64_t done, std::int64_t total) {
          worker_.tell(this, [this, done, total] {
            if (reading_) status_->setText(tr("reading launches: %L1 of %L2").arg(done).arg(total));
          });
        });
      },
      [this](Result<Data> result) {
        reading_ = false;
        if (!result) {
          status_->setText(shown(result.failure().message));
          emit failed(shown(result.failure().message));
          return;
        }
        status_->setText(plain(counted(result.value()->launches, "launch", "launches")));
        view_->scene().set_data(result.value());
        view_->scene_changed();
        emit read();
      });
  // More gaps than the overview's one step has.
  std::int64_t launches = 0;
  const auto& steps = *document_.overview()->steps;
  for (const analyzer::StepSummary& step : steps.steps) {
    if (step.phase == Phase::timeline && step.process_id == steps.process_id) launches += step.launches;
  }
  if (launches == 0 || launches > kMaxLaunchesForGaps) return;
  using Gaps = std::shared_ptr<const analyzer::Accounting>;
  analyzer::Scope scope;
  scope.process_id = steps.process_id;
  scope.steps = analyzer::StepSelection::all_of(Phase::timeline);
  document_.ask<Gaps>(
      this, "gaps",
      [scope](analyzer::Session& session, const analyzer::QueryOptions& ask) {
        return session.accounting(scope, ask);
      },
      [this](Result<Gaps> result) {
        if (!result) return;
        view_->scene().set_gaps(*result.value());
        view_->scene_changed();
      });
}

void TimelinePanel::find_arrow() {
  if (!selection_.launch()) return;
  const LaunchChoice choice = *selection_.launch();
  worker_.ask<LaunchArrow>(
      this, "arrow",
      [path = document_.path().toStdString(), choice](const std::stop_token& stop) {
        return read_arrow(path, choice, stop);
      },
      [this](Result<LaunchArrow> result) {
        if (result) view_->set_arrow(result.value());
      });
}

void TimelinePanel::show_found() {
  if (search_->text().isEmpty()) {
    found_->clear();
  } else if (view_->matching()) {
    found_->setText(tr("searching…"));
  } else {
    found_->setText(
        tr("%1 found, Enter or N: next").arg(plain(counted(view_->scene().found_count(), "event"))));
  }
}

}  // namespace ridgeline::gui
