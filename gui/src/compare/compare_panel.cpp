#include "compare/compare_panel.h"

#include <QBoxLayout>
#include <QCheckBox>
#include <QFileInfo>
#include <QPushButton>
#include <QSplitter>
#include <algorithm>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMostLaunches = 200'000;

TimeWindow step_of(const CaptureDocument& document) {
  const analyzer::RepresentativeStep& step = document.overview()->steps->representative;
  return {step.window_start_ns, step.window_end_ns};
}

// The kernels of a capture by name.
KernelChoice kernels_named(const CaptureDocument& document, const std::vector<std::string>& names) {
  KernelChoice choice;
  for (const auto& [id, kernel] : document.overview()->model->kernels) {
    if (std::find(names.begin(), names.end(), kernel.demangled_name) != names.end())
      choice.kernels.push_back(id);
  }
  std::sort(choice.kernels.begin(), choice.kernels.end());
  if (!names.empty()) choice.name = names.front();
  return choice;
}

std::vector<double> durations_of(const EventFinder::Launches& launches) {
  std::vector<double> durations;
  for (const auto& [start, duration] : launches) durations.push_back(static_cast<double>(duration));
  return durations;
}

}  // namespace

ComparePanel::ComparePanel(CaptureDocument& a, CaptureDocument& b, QWidget* parent)
    : QWidget(parent),
      a_(a),
      b_(b),
      axes_(selection_a_, selection_b_),
      verdict_(new QLabel(this)),
      notes_(new QLabel(this)),
      table_(new TableView(this)),
      durations_(new HistogramChart(this)),
      durations_title_(new QLabel(this)),
      roofline_(new RooflineView(this)),
      offset_(new QLabel(this)) {
  // Each on its own step: linked before the shift is known, one would drag the other along.
  axes_.set_linked(false);
  selection_a_.reset(step_of(a_));
  selection_b_.reset(step_of(b_));
  axes_.set_linked(true);
  timeline_a_ = new TimelinePanel(a_, selection_a_, this);
  timeline_b_ = new TimelinePanel(b_, selection_b_, this);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(2);
  QFont strong = font();
  strong.setBold(true);
  verdict_->setFont(strong);
  verdict_->setText(tr("Comparing…"));
  notes_->setFont(small_font(0.92));
  for (QLabel* label : {verdict_, notes_}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setMargin(4);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    all->addWidget(label);
  }
  table_->setAccessibleName(tr("Kernels by change"));
  durations_->setMinimumHeight(110);
  durations_title_->setText(tr("Durations: choose a kernel"));
  // A kernel's long name is cut off here rather than widening the charts.
  durations_title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* charts = new QWidget(this);
  auto* column = new QVBoxLayout(charts);
  column->setContentsMargins(4, 0, 0, 0);
  column->addWidget(durations_title_);
  column->addWidget(durations_);
  column->addWidget(roofline_, 1);
  auto* upper = new QSplitter(Qt::Horizontal, this);
  upper->addWidget(table_);
  upper->addWidget(charts);
  upper->setStretchFactor(0, 3);
  upper->setStretchFactor(1, 2);

  auto* lower = new QWidget(this);
  auto* rows = new QVBoxLayout(lower);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 2, 6, 2);
  bar->setSpacing(6);
  auto* linked = new QCheckBox(tr("Linked"), this);
  linked->setChecked(true);
  auto* steps = new QPushButton(tr("Align steps"), this);
  auto* chosen = new QPushButton(tr("Align chosen kernel"), this);
  auto* earlier = new QPushButton("◂", this);
  auto* later = new QPushButton("▸", this);
  earlier->setAccessibleName(tr("Slide B earlier"));
  later->setAccessibleName(tr("Slide B later"));
  earlier->setToolTip(tr("Slide B by a hundredth of the view"));
  for (QWidget* widget :
       {static_cast<QWidget*>(linked), static_cast<QWidget*>(steps), static_cast<QWidget*>(chosen),
        static_cast<QWidget*>(earlier), static_cast<QWidget*>(later), static_cast<QWidget*>(offset_)}) {
    bar->addWidget(widget);
  }
  for (QPushButton* button : {earlier, later}) button->setAutoRepeat(true);
  bar->addStretch(1);
  rows->addLayout(bar);
  rows->addWidget(timeline_a_, 1);
  rows->addWidget(timeline_b_, 1);
  timeline_a_->set_caption("A · " + QFileInfo(a_.path()).fileName());
  timeline_b_->set_caption("B · " + QFileInfo(b_.path()).fileName());
  auto* both = new QSplitter(Qt::Vertical, this);
  both->addWidget(upper);
  both->addWidget(lower);
  all->addWidget(both, 1);

  connect(linked, &QCheckBox::toggled, &axes_, &LinkedAxes::set_linked);
  connect(steps, &QPushButton::clicked, this, &ComparePanel::align_on_steps);
  connect(chosen, &QPushButton::clicked, this, &ComparePanel::align_on_chosen);
  connect(earlier, &QPushButton::clicked, this,
          [this] { axes_.slide(selection_a_.view().length_ns() / 100); });
  connect(later, &QPushButton::clicked, this,
          [this] { axes_.slide(-selection_a_.view().length_ns() / 100); });
  connect(&axes_, &LinkedAxes::offset_changed, this, &ComparePanel::show_offset);
  connect(table_, &TableView::row_chosen, this, &ComparePanel::choose);
  connect(&selection_a_, &Selection::kernel_changed, this,
          [this] { choose_beside(selection_a_, selection_b_, true); });
  connect(&selection_b_, &Selection::kernel_changed, this,
          [this] { choose_beside(selection_b_, selection_a_, false); });
  connect(timeline_a_, &TimelinePanel::read, this, &ComparePanel::show_durations);
  connect(timeline_b_, &TimelinePanel::read, this, &ComparePanel::show_durations);
  // Little room each: the streams stay in sight.
  for (TimelinePanel* timeline : {timeline_a_, timeline_b_}) {
    connect(timeline, &TimelinePanel::read, this, [timeline] {
      TimelineScene& scene = timeline->view()->scene();
      RowArrangement arrangement;
      for (std::size_t row = 0; row < scene.row_count(); ++row) {
        if (scene.row(row).kind == RowKind::kernels || scene.row(row).kind == RowKind::steps)
          arrangement.pinned.insert(scene.row(row).id);
      }
      scene.arrange(arrangement);
      timeline->view()->scene_changed();
    });
  }
  align_on_steps();
  show_roofline();
  ask();
}

// The timelines refer to the selections, which would go before them.
ComparePanel::~ComparePanel() {
  delete timeline_a_;
  delete timeline_b_;
}

bool ComparePanel::busy() const {
  return worker_.busy() || timeline_a_->busy() || timeline_b_->busy();
}

void ComparePanel::ask() {
  using Answer = std::shared_ptr<const analyzer::Comparison>;
  worker_.ask<Answer>(
      this, "compare",
      [a = a_.path().toStdString(),
       b = b_.path().toStdString()](const std::stop_token& stop) -> Result<Answer> {
        std::vector<analyzer::RunProfile> profiles;
        for (const std::string& path : {a, b}) {
          auto profile = analyzer::profile_run(path, {}, {stop, {}});
          if (!profile) return Failure{profile.failure().kind, path + ": " + profile.failure().message};
          profiles.push_back(std::move(profile).value());
        }
        auto compared = analyzer::compare({profiles[0]}, {profiles[1]});
        if (!compared) return compared.failure();
        return std::make_shared<const analyzer::Comparison>(std::move(compared).value());
      },
      [this](Result<Answer> result) {
        if (result) {
          comparison_ = result.value();
          show_comparison();
        } else {
          verdict_->setText(shown(result.failure().message));
        }
      });
}

void ComparePanel::show_comparison() {
  verdict_->setText(shown(reports::compare_verdict_sentence(*comparison_)));
  QStringList notes;
  for (const std::string& note : reports::compare_notes(*comparison_)) notes << shown(note);
  notes_->setText(notes.join("\n"));
  notes_->setVisible(!notes.isEmpty());
  table_->set_table(std::make_shared<const reports::Table>(reports::compare_table(comparison_->kernels)),
                    comparison_);
  show_roofline();
}

// Dots of B, with arrows from where the same kernels, or those that they replace, stood in A.
void ComparePanel::show_roofline() {
  RooflinePlot before = make_plot(*a_.overview(), {});
  if (comparison_) {
    for (RooflineDot& dot : before.dots) {
      for (const analyzer::KernelChange& change : comparison_->kernels) {
        if (!change.kernels_a.empty() && !change.kernels_b.empty() && dot.name == change.kernels_a.front())
          dot.name = change.kernels_b.front();
      }
    }
  }
  RooflinePlot plot = make_plot(*b_.overview(), {});
  plot.low_x = std::min(plot.low_x, before.low_x);
  plot.low_y = std::min(plot.low_y, before.low_y);
  plot.high_x = std::max(plot.high_x, before.high_x);
  plot.high_y = std::max(plot.high_y, before.high_y);
  roofline_->set_plot(std::move(plot));
  roofline_->set_before(std::move(before.dots));
}

void ComparePanel::choose(std::size_t row) {
  if (!comparison_ || row >= comparison_->kernels.size()) return;
  const analyzer::KernelChange& change = comparison_->kernels[row];
  choosing_ = true;
  selection_a_.select_kernel(kernels_named(a_, change.kernels_a));
  selection_b_.select_kernel(kernels_named(b_, change.kernels_b));
  choosing_ = false;
  durations_title_->setText(shown(reports::kernel_display_name(reports::change_name(change))));
  show_durations();
}

// What is chosen in one timeline is chosen, with its counterpart, in the other and in the table.
void ComparePanel::choose_beside(const Selection& chosen, Selection& other, bool chosen_is_a) {
  if (choosing_) return;
  if (chosen.kernel().empty()) {
    choosing_ = true;
    other.select_kernel({});
    choosing_ = false;
    return;
  }
  if (!comparison_) return;
  for (std::size_t row = 0; row < comparison_->kernels.size(); ++row) {
    const analyzer::KernelChange& change = comparison_->kernels[row];
    const auto& names = chosen_is_a ? change.kernels_a : change.kernels_b;
    if (std::find(names.begin(), names.end(), chosen.kernel().name) == names.end()) continue;
    choosing_ = true;
    other.select_kernel(
        kernels_named(chosen_is_a ? b_ : a_, chosen_is_a ? change.kernels_b : change.kernels_a));
    table_->choose_quietly(table_->row_of(row));
    choosing_ = false;
    durations_title_->setText(shown(reports::kernel_display_name(reports::change_name(change))));
    break;
  }
  show_durations();
}

void ComparePanel::show_durations() {
  if (selection_a_.kernel().empty() && selection_b_.kernel().empty()) return;
  using Both = std::pair<std::vector<double>, std::vector<double>>;
  worker_.ask<Both>(
      this, "durations",
      [finder_a = timeline_a_->view()->scene().finder(), finder_b = timeline_b_->view()->scene().finder(),
       kernel_a = selection_a_.kernel(),
       kernel_b = selection_b_.kernel()](const std::stop_token& stop) -> Result<Both> {
        const auto a = finder_a.launches_of(kernel_a, kMostLaunches, stop);
        if (!a) return a.failure();
        const auto b = finder_b.launches_of(kernel_b, kMostLaunches, stop);
        if (!b) return b.failure();
        return Both{durations_of(a.value()), durations_of(b.value())};
      },
      [this](Result<Both> both) {
        if (!both) return;
        durations_->set_values(both.value().second, {}, both.value().first);
        durations_->setToolTip(tr("bars: B, line: A"));
      });
}

void ComparePanel::align_on_steps() {
  axes_.align(step_of(a_).start_ns, step_of(b_).start_ns);
}

void ComparePanel::align_on_chosen() {
  if (selection_a_.kernel().empty() || selection_b_.kernel().empty()) return;
  const auto first = [](const Selection& selection, const TimelineScene& scene) {
    if (selection.launch()) return std::optional(selection.launch()->start_ns);
    const auto place = scene.next_launch(selection.kernel().kernels.front(), selection.view().start_ns - 1);
    return place ? std::optional(scene.time_of(*place).start_ns) : std::nullopt;
  };
  const auto a = first(selection_a_, timeline_a_->view()->scene()),
             b = first(selection_b_, timeline_b_->view()->scene());
  if (a && b) axes_.align(*a, *b);
}

void ComparePanel::show_offset() {
  const std::int64_t shift = axes_.offset_ns() - (step_of(b_).start_ns - step_of(a_).start_ns);
  offset_->setText(shift == 0 ? tr("steps begin together")
                              : tr("B slid by %1")
                                    .arg((shift < 0 ? QString("−") : QString()) +
                                         plain(time_text(static_cast<double>(std::abs(shift))))));
}

}  // namespace ridgeline::gui
