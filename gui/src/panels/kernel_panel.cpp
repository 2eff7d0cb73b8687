#include "panels/kernel_panel.h"

#include <QEvent>
#include <QScrollArea>
#include <algorithm>

#include "models/text.h"
#include "panels/kernel_facts.h"
#include "panels/phase_legend.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/kernel_query.h"
#include "ridgeline/queries/launch_query.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/finding_text.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxLaunches = 500'000;

QLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  return label;
}

}  // namespace

KernelPanel::KernelPanel(CaptureDocument& document, Selection& selection, const TimelineScene& scene,
                         QWidget* parent)
    : ScopePanel(document, selection, "kernel", parent),
      scene_(scene),
      empty_(new QLabel(tr("Choose a kernel: in the ranking, the roofline or the timeline."), this)) {
  setMinimumWidth(330);
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  page_ = new QWidget(area);
  auto* column = new QVBoxLayout(page_);
  column->setSpacing(6);
  title_ = heading({}, page_);
  why_ = new QLabel(page_);
  launch_ = new QLabel(page_);
  facts_ = new QLabel(page_);
  place_ = new QLabel(page_);
  const QString noun = document_.noun();
  strip_title_ = heading(tr("Where it stands in the %1").arg(noun), page_);
  strip_ = new SpanStrip(page_);
  strip_->setAccessibleName(tr("Where its launches stand in the %1").arg(noun));
  durations_ = new HistogramChart(page_);
  steps_ = new ColumnChart(page_);
  stalls_title_ = heading(tr("What its warps waited for"), page_);
  stalls_ = new StackedBar(page_);
  hot_ = new QLabel(page_);
  findings_ = new QLabel(page_);
  durations_->setMinimumHeight(110);
  durations_->setAccessibleName(tr("Durations of its launches"));
  steps_->setAccessibleName(tr("Its time in each step"));
  format_labels();
  column->addWidget(title_);
  column->addWidget(why_);
  column->addWidget(launch_);
  column->addWidget(facts_);
  column->addWidget(strip_title_);
  column->addWidget(strip_);
  column->addWidget(heading(tr("Durations of all its launches"), page_));
  column->addWidget(durations_);
  column->addWidget(place_);
  auto* steps_title = heading(tr("Its time in each step"), page_);
  column->addWidget(steps_title);
  column->addWidget(steps_);
  steps_title->setVisible(document_.has_steps());
  steps_->setVisible(document_.has_steps());
  column->addWidget(stalls_title_);
  column->addWidget(stalls_);
  column->addWidget(hot_);
  column->addWidget(findings_);
  column->addStretch(1);
  area->setWidget(page_);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  body()->addWidget(empty_, 1);
  body()->addWidget(area, 1);
  connect(&selection_, &Selection::kernel_changed, this, &KernelPanel::show_kernel);
  connect(&selection_, &Selection::launch_changed, this, &KernelPanel::show_launches);
  connect(&selection_, &Selection::launch_changed, this, &KernelPanel::find_launch);
  connect(steps_, &ColumnChart::column_chosen, this, [this](int column_at) {
    if (column_at < static_cast<int>(step_windows_.size()))
      emit step_chosen(step_windows_[static_cast<std::size_t>(column_at)]);
  });
  start();
}

// Before they are shown: what is plain text, what may be chosen, and what may be narrower than its words.
void KernelPanel::format_labels() {
  for (QLabel* label : {title_, why_, launch_, facts_, place_, hot_, findings_}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  title_->setTextFormat(Qt::PlainText);
  title_->setTextInteractionFlags(Qt::NoTextInteraction);  // the tooltip has the name without breaks
  title_->setMinimumWidth(1);
  why_->setTextFormat(Qt::PlainText);
  why_->setMinimumWidth(1);
  facts_->setMinimumWidth(1);
  place_->setTextFormat(Qt::PlainText);
  hot_->setTextFormat(Qt::PlainText);
  findings_->setTextFormat(Qt::PlainText);
  facts_->setTextFormat(Qt::RichText);
  launch_->setTextFormat(Qt::RichText);
  launch_->setMinimumWidth(1);
  launch_->hide();
}

// Facts, columns and bars keep the colours that they were made with.
void KernelPanel::changeEvent(QEvent* event) {
  ScopePanel::changeEvent(event);
  if (event->type() != QEvent::PaletteChange || !answer()) return;
  show_kernel();
  show_launches();
  find_launch();
}

void KernelPanel::scene_read() {
  find_launches();
}

void KernelPanel::show_answer(const ScopeAnswer&) {
  show_kernel();
}

void KernelPanel::show_kernel() {
  const KernelChoice& kernel = selection_.kernel();
  const bool chosen = answer() != nullptr && !kernel.empty();
  empty_->setVisible(!chosen);
  page_->parentWidget()->parentWidget()->setVisible(chosen);
  if (!chosen) return find_launches();  // the steps show no share of it either
  // Of several kernels, the one that takes most of the time.
  std::optional<std::size_t> row;
  std::size_t several = 0;
  const auto& rows = answer()->ranking->rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!kernels_of(*answer(), i).shares_with(kernel)) continue;
    ++several;
    if (!row || rows[i].time_ns > rows[*row].time_ns) row = i;
  }
  if (!row) {
    title_->setText(shown(kernel.name));
    why_->hide();
    facts_->setText(escaped(tr("It was not launched in this part of the capture.").toStdString()));
    stalls_title_->hide();
    stalls_->hide();
    hot_->hide();
    findings_->hide();
  } else {
    // Names have no blanks: they may be broken after these signs.
    QString title = shown(reports::kernel_display_name(rows[*row].key));
    title_->setToolTip(title);
    title.replace("_", QString("_") + QChar(0x200b)).replace("::", QString("::") + QChar(0x200b));
    title.replace("<", QString("<") + QChar(0x200b));
    if (several > 1) title += tr("\nand %1 more: the longest is shown").arg(several - 1);
    title_->setText(title);
    const queries::KernelWhy why = queries::why_kernel(*answer(), *row);
    why_->setText(with_whole_numbers(shown(why.sentence)));
    why_->show();
    facts_->setText(facts_html(kernel_facts(*answer(), *row, why.hold)));
    show_stalls(*row);
    QStringList said;
    for (const analyzer::Finding& finding : document_.analysis()->quality.findings) {
      if (document_.kernels_of(finding.subject).shares_with(kernel))
        said << "▲ " + shown(reports::finding_text(finding));
    }
    findings_->setText(with_whole_numbers(said.join('\n')));
    findings_->setVisible(!said.isEmpty());
  }
  find_launches();
}

// All events are looked through: beside the window.
void KernelPanel::find_launches() {
  launches_of_ = {};
  if (selection_.kernel().empty()) {
    emit step_times_known({});
    return worker_.cancel("launches");
  }
  worker_.ask<EventFinder::Launches>(
      this, "launches",
      [finder = scene_.finder(), kernel = selection_.kernel()](const std::stop_token& stop) {
        return finder.launches_of(kernel, kMaxLaunches, stop);
      },
      [this, kernel = selection_.kernel()](Result<EventFinder::Launches> launches) {
        if (!launches) return;
        launches_of_ = kernel;
        launches_ = std::move(launches).value();
        show_launches();
      });
}

// The file is asked: what it knows of one launch is not kept for all.
void KernelPanel::find_launch() {
  const auto& choice = selection_.launch();
  if (!choice) {
    launch_->hide();
    return worker_.cancel("launch");
  }
  worker_.ask<queries::LaunchFacts>(
      this, "launch",
      [path = document_.path().toStdString(), recording = document_.recording(),
       query = queries::LaunchQuery{choice->device_id, choice->kernel_id, choice->start_ns}](
          const std::stop_token& stop) -> Result<queries::LaunchFacts> {
        const Result<store::Capture> capture = store::Capture::open(path);
        if (!capture) return capture.failure();
        return queries::ask_launch(capture.value(), *recording, query, stop);
      },
      [this](Result<queries::LaunchFacts> launch) {
        launch_->setVisible(launch.ok());
        if (launch) launch_->setText(facts_html(launch_facts(launch.value(), document_.has_steps())));
      });
}

void KernelPanel::show_launches() {
  const KernelChoice& kernel = selection_.kernel();
  if (kernel.empty() || !(kernel == launches_of_)) return;
  const EventFinder::Launches& launches = launches_;
  std::vector<double> durations;
  durations.reserve(launches.size());
  for (const auto& [start, duration] : launches) durations.push_back(static_cast<double>(duration));
  std::optional<double> marked;
  if (selection_.launch() && kernel.holds(selection_.launch()->kernel_id))
    marked = static_cast<double>(selection_.launch()->end_ns - selection_.launch()->start_ns);
  durations_->set_values(durations, marked);
  QString place = plain(counted(static_cast<std::int64_t>(launches.size()), "launch", "launches")) +
                  tr(" in the capture");
  if (const auto rank = durations_->rank())
    place += tr("; the chosen one, %1, is longer than %2 of them")
                 .arg(time_words(*marked), plain(percent_text(*rank, 0)));
  place_->setText(place);

  show_place();
  struct Column {
    std::int64_t step_index;
    Phase phase;
    double kernel_ns;
  };
  std::vector<Column> columns;
  std::vector<SeriesPoint> points;
  std::map<store::Id, double> times;
  step_windows_.clear();
  std::set<Phase> phases;
  auto at = launches.begin();
  const auto& representative = answer()->steps->representative.summary;
  for (const analyzer::StepSummary& step : answer()->steps->steps) {
    if (step.process_id != answer()->steps->process_id || step.gpu_start_ns == 0) continue;
    const std::int64_t end = step.gpu_end_ns;
    double sum = 0;
    at = std::lower_bound(launches.begin(), launches.end(),
                          std::pair<std::int64_t, std::int64_t>{step.gpu_start_ns, 0});
    for (; at != launches.end() && at->first < end; ++at) sum += static_cast<double>(at->second);
    SeriesPoint point;
    point.value = sum;
    point.colour = theme().of(step.phase);
    phases.insert(step.phase);
    point.chosen = step.step_id == representative.step_id;
    points.push_back(point);
    times[step.step_id] = sum;
    step_windows_.push_back({step.gpu_start_ns, step.gpu_end_ns});
    columns.push_back({step.step_index, step.phase, sum});
  }
  steps_->set_points(
      std::move(points), [](double value) { return time_words(value); },
      [columns = std::move(columns)](std::size_t i) {
        return tr("step %1 · %2: %3")
            .arg(columns[i].step_index)
            .arg(plain(to_string(columns[i].phase)), time_words(columns[i].kernel_ns));
      });
  steps_->set_legend(phase_legend(phases));
  emit step_times_known(times);
}

void KernelPanel::show_place() {
  const analyzer::RepresentativeStep& step = answer()->steps->representative;
  const auto length =
      static_cast<double>(std::max<std::int64_t>(step.window_end_ns - step.window_start_ns, 1));
  std::vector<std::pair<double, double>> spans;
  auto at = std::lower_bound(launches_.begin(), launches_.end(),
                             std::pair<std::int64_t, std::int64_t>{step.window_start_ns, 0});
  for (; at != launches_.end() && at->first < step.window_end_ns; ++at) {
    const double from = static_cast<double>(at->first - step.window_start_ns) / length;
    spans.emplace_back(from, std::min(from + static_cast<double>(at->second) / length, 1.0));
  }
  strip_title_->setVisible(!spans.empty());
  strip_->setVisible(!spans.empty());
  strip_->set_spans(std::move(spans), theme().accent);
}

void KernelPanel::show_stalls(std::size_t ranking_row) {
  const analyzer::StallAnalysis& all = document_.analysis()->stalls;
  const analyzer::KernelStalls* found = nullptr;
  for (const analyzer::KernelStalls& stalls : all.kernels) {
    if (stalls.kernel == answer()->ranking->rows[ranking_row].kernel) found = &stalls;
  }
  stalls_title_->setVisible(found != nullptr);
  stalls_->setVisible(found != nullptr);
  hot_->setVisible(found != nullptr);
  if (found == nullptr) return;
  std::vector<BarPart> parts = {{tr("issuing"), found->issuing_share, theme().good},
                                {tr("ready, not chosen"), found->ready_share, theme().of(KernelClass::copy)}};
  int n = 0;
  for (const analyzer::StallReason& reason : found->reasons)
    if (parts.size() < 10) parts.push_back({shown(reason.label), reason.share, theme().series(n++)});
  stalls_->set_parts(std::move(parts), 1);
  QStringList lines;
  for (const analyzer::HotSpot& spot : found->lines.empty() ? found->instructions : found->lines) {
    QString where = spot.file.empty() ? QString("+0x%1").arg(spot.pc_offset.value_or(0), 0, 16)
                                      : shown(spot.file) + ":" + QString::number(spot.line.value_or(0));
    lines << QString("%1  %2  %3").arg(plain(percent_text(spot.share)), where, shown(spot.main_reason));
  }
  hot_->setText(lines.join('\n'));
}

}  // namespace ridgeline::gui
