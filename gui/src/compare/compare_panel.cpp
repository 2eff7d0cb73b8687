#include "compare/compare_panel.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <algorithm>

#include "models/text.h"
#include "panels/named_box.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/compare_query.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "roofline/roofline_panel.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxComparedLaunches = 200'000;
constexpr int kShownNotes = 4;          // lines; more scroll
constexpr int kNotesMargin = 2;         // pixels: a line more is not begun below the last
constexpr int kMinTimelineHeight = 96;  // so that both fit a small screen under the table

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

// The names of the chosen kernels, which another run of the same side has too.
std::vector<std::string> names_of(const CaptureDocument& document, const KernelChoice& choice) {
  std::vector<std::string> names;
  for (const store::Id id : choice.kernels) {
    const auto found = document.overview()->model->kernels.find(id);
    if (found != document.overview()->model->kernels.end()) names.push_back(found->second.demangled_name);
  }
  return names;
}

std::vector<double> durations_of(const EventFinder::Launches& launches) {
  std::vector<double> durations;
  for (const auto& [start, duration] : launches) durations.push_back(static_cast<double>(duration));
  return durations;
}

}  // namespace

ComparePanel::ComparePanel(CaptureDocument& a, CaptureDocument& b, CompareSides sides, QWidget* parent)
    : QWidget(parent),
      sides_(std::move(sides)),
      axes_(a_.selection, b_.selection),
      verdict_(new QLabel(this)),
      notes_(new QLabel(this)),
      table_(new TableView(this)),
      durations_(new HistogramChart(this)),
      durations_title_(new ElidedLabel(this)),
      change_(new QLabel(this)),
      roofline_(new RooflineView(this)),
      charts_(new QTabWidget(this)),
      band_(new JoinBand(this)),
      offset_(new QLabel(this)) {
  const auto begin = [](Side& side, const char* name, const std::vector<QString>& runs,
                        CaptureDocument& document) {
    side.name = name;
    side.runs = runs;
    side.document = side.first = &document;
    side.further.resize(runs.size());
    side.selection.reset(step_of(document));
  };
  // Each on its own step: linked before the shift is known, one would drag the other along.
  axes_.set_linked(false);
  begin(a_, "A", sides_.a, a);
  begin(b_, "B", sides_.b, b);
  axes_.set_linked(true);
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
    label->setMargin(kNotesMargin);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  }
  all->addWidget(verdict_);
  auto* notes = new QScrollArea(this);
  notes->setWidget(notes_);
  notes->setWidgetResizable(true);
  notes->setFrameShape(QFrame::NoFrame);
  notes->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  notes->setFixedHeight(0);
  all->addWidget(notes);
  table_->setAccessibleName(tr("Kernels by change"));
  durations_->setMinimumHeight(110);
  durations_title_->set_max_lines(2);
  change_->setFont(small_font(0.92));
  change_->setTextFormat(Qt::PlainText);
  change_->setWordWrap(true);
  change_->hide();
  // One beside the table, for the timelines need the height.
  auto* beside = new QWidget(this);
  auto* column = new QVBoxLayout(beside);
  column->setContentsMargins(4, 4, 4, 0);
  column->addWidget(durations_title_);
  column->addWidget(change_);
  column->addWidget(charts_, 1);
  charts_->setDocumentMode(true);
  charts_->addTab(durations_, tr("Durations"));
  charts_->addTab(roofline_, tr("Roofline"));
  make_run_spreads();
  auto* upper = new QSplitter(Qt::Horizontal, this);
  upper->addWidget(table_);
  upper->addWidget(beside);
  upper->setStretchFactor(0, 3);
  upper->setStretchFactor(1, 2);

  auto* lower = new QWidget(this);
  timelines_ = new QVBoxLayout(lower);
  timelines_->setContentsMargins(0, 0, 0, 0);
  timelines_->setSpacing(0);
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
  for (Side* side : {&a_, &b_}) make_run_box(*side, *bar);
  timelines_->addLayout(bar);
  timelines_->addWidget(band_);
  for (Side* side : {&a_, &b_}) make_timeline(*side);
  auto* both = new QSplitter(Qt::Vertical, this);
  both->addWidget(upper);
  both->addWidget(lower);
  all->addWidget(both, 1);

  connect(linked, &QCheckBox::toggled, &axes_, &LinkedAxes::set_linked);
  connect(steps, &QPushButton::clicked, this, &ComparePanel::align_on_steps);
  connect(chosen, &QPushButton::clicked, this, &ComparePanel::align_on_chosen);
  connect(earlier, &QPushButton::clicked, this,
          [this] { axes_.slide(a_.selection.view().length_ns() / 100); });
  connect(later, &QPushButton::clicked, this,
          [this] { axes_.slide(-a_.selection.view().length_ns() / 100); });
  connect(&axes_, &LinkedAxes::offset_changed, this, &ComparePanel::show_offset);
  connect(table_, &TableView::row_chosen, this, &ComparePanel::choose);
  connect(&a_.selection, &Selection::kernel_changed, this,
          [this] { choose_beside(a_.selection, b_.selection, true); });
  connect(&b_.selection, &Selection::kernel_changed, this,
          [this] { choose_beside(b_.selection, a_.selection, false); });
  connect(roofline_, &RooflineView::dot_chosen, this,
          [this](std::size_t row) { b_.selection.select_kernel(kernels_of(*b_.document->overview(), row)); });
  connect(roofline_, &RooflineView::list_asked, this,
          [this](const std::vector<std::size_t>& rows, const QPoint& at) {
            dots_menu(*roofline_, *b_.document->overview(), rows, b_.selection)->popup(at);
          });
  connect(roofline_, &RooflineView::nothing_chosen, this, [this] { b_.selection.select_kernel({}); });
  for (const Side* side : {&a_, &b_})
    connect(&side->selection, &Selection::view_changed, band_, qOverload<>(&QWidget::update));
  align_on_steps();
  show_roofline();
  ask();
}

// The timelines refer to the selections, which would go before them.
ComparePanel::~ComparePanel() {
  delete a_.timeline;
  delete b_.timeline;
}

bool ComparePanel::busy() const {
  const auto loading = [](const Side& side) {
    return side.timeline->busy() ||
           std::any_of(side.further.begin(), side.further.end(), [](const auto& document) {
             return document && (document->busy() || document->state() == CaptureDocument::State::loading);
           });
  };
  return worker_.busy() || loading(a_) || loading(b_);
}

// Where a side has several runs, which of them is looked at.
void ComparePanel::make_run_box(Side& side, QBoxLayout& bar) {
  if (side.runs.size() < 2) return;
  side.run = new QComboBox(this);
  name_box(side.run, tr("Run of %1 that is looked at").arg(side.name));
  side.run->setToolTip(
      tr("The verdict, the table and the page Runs are of all runs; the timeline, the histogram and the "
         "roofline are of this one."));
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    side.run->addItem(tr("%1 %2 · %3").arg(side.name).arg(i + 1).arg(QFileInfo(side.runs[i]).fileName()));
  }
  bar.addWidget(side.run);
  connect(side.run, &QComboBox::currentIndexChanged, this,
          [this, &side](int run) { show_run(&side == &a_, static_cast<std::size_t>(run)); });
}

// Where a side has several runs, they stand over each other, and are seen first: what differs between runs is what a
// difference between the sides is held against.
void ComparePanel::make_run_spreads() {
  if (a_.runs.size() < 2 && b_.runs.size() < 2) return;
  run_spreads_ = new RunSpreadsChart(this);
  run_spreads_->setAccessibleName(tr("Durations in each run"));
  auto* area = new QScrollArea(this);
  area->setWidget(run_spreads_);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  charts_->insertTab(0, area, tr("Runs"));
  charts_->setCurrentIndex(0);
  connect(run_spreads_, &RunSpreadsChart::run_chosen, this, &ComparePanel::show_run);
}

void ComparePanel::make_timeline(Side& side) {
  band_->set_views(nullptr, nullptr);
  delete side.timeline;
  side.timeline = new TimelinePanel(*side.document, side.selection, this);
  side.timeline->view()->setMinimumHeight(kMinTimelineHeight);
  side.timeline->set_caption(QString("%1 · %2").arg(side.name, QFileInfo(side.document->path()).fileName()));
  timelines_->insertWidget(&side == &a_ ? 1 : timelines_->count(), side.timeline, 1);
  if (a_.timeline != nullptr && b_.timeline != nullptr)
    band_->set_views(a_.timeline->view(), b_.timeline->view());
  connect(side.timeline, &TimelinePanel::read, this, &ComparePanel::show_durations);
  // Little room each: the streams stay in sight.
  connect(side.timeline, &TimelinePanel::read, this, [timeline = side.timeline] {
    TimelineScene& scene = timeline->view()->scene();
    RowArrangement arrangement;
    for (std::size_t row = 0; row < scene.row_count(); ++row) {
      if (scene.row(row).kind == RowKind::kernels || scene.row(row).kind == RowKind::steps)
        arrangement.pinned.insert(scene.row(row).id);
    }
    scene.arrange(arrangement);
    timeline->view()->scene_changed();
  });
  connect(side.timeline, &TimelinePanel::read, this, &ComparePanel::line_up);
  connect(side.timeline->view(), &TimelineView::arrangement_changed, this, &ComparePanel::line_up);
}

// One axis for both: a time stands at one place.
void ComparePanel::line_up() {
  if (a_.timeline == nullptr || b_.timeline == nullptr) return;
  const int width =
      std::max(a_.timeline->view()->natural_label_width(), b_.timeline->view()->natural_label_width());
  for (const Side* side : {&a_, &b_}) side->timeline->view()->set_min_label_width(width);
  band_->update();
}

void ComparePanel::show_run(bool of_a, std::size_t run) {
  Side& side = of_a ? a_ : b_;
  if (run >= side.runs.size()) return;
  if (side.run != nullptr) side.run->setCurrentIndex(static_cast<int>(run));
  std::unique_ptr<CaptureDocument>& document = side.further[run];
  if (run == 0) return look_at(side, *side.first);
  if (document && document->state() == CaptureDocument::State::ready) return look_at(side, *document);
  document = std::make_unique<CaptureDocument>(side.runs[run]);
  connect(document.get(), &CaptureDocument::loaded, this, [this, &side, run] {
    if (side.run->currentIndex() == static_cast<int>(run)) look_at(side, *side.further[run]);
  });
  connect(document.get(), &CaptureDocument::failed, this, [this, &side, run] {
    emit failed(side.runs[run] + ": " + shown(side.further[run]->failure().message));
  });
  document->load();
}

void ComparePanel::look_at(Side& side, CaptureDocument& document) {
  if (side.document == &document) return;
  const std::vector<std::string> names = names_of(*side.document, side.selection.kernel());
  side.document = &document;
  choosing_ = true;  // the other side keeps its kernel
  axes_.set_linked(false);
  side.selection.reset(step_of(document));
  axes_.set_linked(true);
  make_timeline(side);
  align_on_steps();
  show_roofline();
  side.selection.select_kernel(kernels_named(document, names));
  choosing_ = false;
}

void ComparePanel::ask() {
  using Answer = std::shared_ptr<const comparison::Comparison>;
  worker_.ask<Answer>(
      this, "compare",
      [this, sides = sides_](const std::stop_token& stop) -> Result<Answer> {
        queries::CompareQuery query;
        for (const QString& run : sides.a) query.a.push_back(run.toStdString());
        for (const QString& run : sides.b) query.b.push_back(run.toStdString());
        query.options.paired = sides.paired;
        auto compared = queries::ask(query, {stop, {}}, [this](std::size_t done, std::size_t all) {
          worker_.tell(this, [this, done, all] {
            if (!comparison_) verdict_->setText(tr("Comparing: run %1 of %2…").arg(done + 1).arg(all));
          });
        });
        if (!compared) return compared.failure();
        return std::make_shared<const comparison::Comparison>(std::move(compared).value());
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
  // First what must be known before any figure: one recording on both sides, other work.
  for (const std::string& line : reports::compare_blame(*comparison_)) notes << shown(line);
  for (const std::string& note : reports::compare_notes(*comparison_)) notes << shown(note);
  notes_->setText(notes.join("\n"));
  auto* area = notes_->parentWidget()->parentWidget();
  const int line = notes_->fontMetrics().lineSpacing();
  area->setFixedHeight(notes.isEmpty() ? 0
                                       : line * std::min<int>(static_cast<int>(notes.size()), kShownNotes) +
                                             2 * kNotesMargin);
  table_->set_table(std::make_shared<const reports::Table>(reports::compare_table(comparison_->kernels)),
                    comparison_);
  show_roofline();
  // What was chosen before it was known which row that is.
  choose_beside(a_.selection, b_.selection, true);
}

// Dots of B, with arrows from where the same kernels, or those that they replace, stood in A.
void ComparePanel::show_roofline() {
  RooflinePlot before = make_plot(a_.document->overview()->to_plot(), {});
  if (comparison_) {
    for (RooflineDot& dot : before.dots) {
      for (const comparison::KernelChange& change : comparison_->kernels) {
        if (!change.kernels_a.empty() && !change.kernels_b.empty() && dot.name == change.kernels_a.front())
          dot.name = change.kernels_b.front();
      }
    }
  }
  RooflinePlot plot = make_plot(b_.document->overview()->to_plot(), {});
  plot.low_x = std::min(plot.low_x, before.low_x);
  plot.low_y = std::min(plot.low_y, before.low_y);
  plot.high_x = std::max(plot.high_x, before.high_x);
  plot.high_y = std::max(plot.high_y, before.high_y);
  // Recordings for a comparison often have no counters.
  charts_->setTabVisible(charts_->indexOf(roofline_),
                         !plot.dots.empty() || !plot.strip.empty() || !before.dots.empty());
  roofline_->set_plot(std::move(plot));
  roofline_->set_before(std::move(before.dots));
}

void ComparePanel::choose(std::size_t row) {
  if (!comparison_ || row >= comparison_->kernels.size()) return;
  const comparison::KernelChange& change = comparison_->kernels[row];
  choosing_ = true;
  a_.selection.select_kernel(kernels_named(*a_.document, change.kernels_a));
  b_.selection.select_kernel(kernels_named(*b_.document, change.kernels_b));
  choosing_ = false;
  show_change(change);
  show_durations();
}

// What is chosen in one timeline is chosen, with its counterpart, in the other and in the table.
void ComparePanel::choose_beside(const Selection& chosen, Selection& other, bool chosen_is_a) {
  if (choosing_) return;
  if (chosen.kernel().empty()) {
    choosing_ = true;
    other.select_kernel({});
    choosing_ = false;
    return show_durations();
  }
  if (!comparison_) return;
  for (std::size_t row = 0; row < comparison_->kernels.size(); ++row) {
    const comparison::KernelChange& change = comparison_->kernels[row];
    const auto& names = chosen_is_a ? change.kernels_a : change.kernels_b;
    if (std::find(names.begin(), names.end(), chosen.kernel().name) == names.end()) continue;
    choosing_ = true;
    other.select_kernel(kernels_named(chosen_is_a ? *b_.document : *a_.document,
                                      chosen_is_a ? change.kernels_b : change.kernels_a));
    table_->choose_quietly(table_->row_of(row));
    choosing_ = false;
    show_change(change);
    break;
  }
  show_durations();
}

// What the runs say of a kernel: each pair's change, and how sure their mean is.
void ComparePanel::show_change(const comparison::KernelChange& change) {
  durations_title_->setText(shown(reports::kernel_display_name(reports::change_name(change))));
  const comparison::Change& time = change.adjusted;
  QStringList said;
  if (time.pair_ratios.size() > 1) {
    QStringList pairs;
    for (const double ratio : time.pair_ratios) pairs << plain(reports::signed_percent(ratio));
    said << tr("pairs: %1").arg(pairs.join("  "));
  }
  if (time.interval) {
    said << tr("%1, between %2 and %3 with 95 % confidence")
                .arg(plain(reports::signed_percent(time.ratio)),
                     plain(reports::signed_percent(time.interval->low)),
                     plain(reports::signed_percent(time.interval->high)));
  }
  if (change.cause != comparison::ChangeCause::none) said << shown(reports::cause_text(change.cause));
  change_->setText(said.join('\n'));
  change_->setVisible(!said.isEmpty());
}

// The dots are B's.
void ComparePanel::show_chosen_dots() {
  roofline_->set_chosen(rows_of(*b_.document->overview(), b_.selection.kernel()), {});
}

void ComparePanel::show_durations() {
  show_chosen_dots();
  const bool chosen = !a_.selection.kernel().empty() || !b_.selection.kernel().empty();
  durations_->setVisible(chosen);
  if (!chosen) {
    durations_title_->setText(run_spreads_ == nullptr
                                  ? tr("Durations: choose a kernel")
                                  : tr("Steps of each run: choose a kernel for its launches"));
    change_->hide();
    show_run_spreads();
    return band_->set_launches({}, {}, {}, {});
  }
  using Both = std::pair<EventFinder::Launches, EventFinder::Launches>;
  worker_.ask<Both>(
      this, "durations",
      [finder_a = a_.timeline->view()->scene().finder(), finder_b = b_.timeline->view()->scene().finder(),
       kernel_a = a_.selection.kernel(),
       kernel_b = b_.selection.kernel()](const std::stop_token& stop) -> Result<Both> {
        auto a = finder_a.launches_of(kernel_a, kMaxComparedLaunches, stop);
        if (!a) return a.failure();
        auto b = finder_b.launches_of(kernel_b, kMaxComparedLaunches, stop);
        if (!b) return b.failure();
        return Both{std::move(a).value(), std::move(b).value()};
      },
      [this](Result<Both> both) {
        if (!both) return;
        auto [of_a, of_b] = std::move(both).value();
        durations_->set_values(durations_of(of_b), {}, durations_of(of_a));
        band_->set_launches(std::move(of_a), std::move(of_b), step_of(*a_.document), step_of(*b_.document));
      });
  show_run_spreads();  // after what is of one run, which takes less
}

void ComparePanel::show_run_spreads() {
  if (run_spreads_ == nullptr) return;
  std::vector<std::string> kernels_a = names_of(*a_.document, a_.selection.kernel()),
                           kernels_b = names_of(*b_.document, b_.selection.kernel());
  const bool of_steps = kernels_a.empty() && kernels_b.empty();
  // The run that is looked at may lack what others of its side have.
  const auto has = [](const std::vector<std::string>& all, const std::vector<std::string>& of) {
    return !of.empty() && std::find(all.begin(), all.end(), of.front()) != all.end();
  };
  if (comparison_) {
    for (const comparison::KernelChange& change : comparison_->kernels) {
      if (kernels_a.empty() && has(change.kernels_b, kernels_b)) kernels_a = change.kernels_a;
      if (kernels_b.empty() && has(change.kernels_a, kernels_a)) kernels_b = change.kernels_b;
    }
  }
  std::pair asked{kernels_a, kernels_b};
  if (asked == spreads_of_)
    return mark_looked_at();  // only another run is looked at: none has to be read again
  spreads_of_ = std::move(asked);
  using Runs = std::vector<RunSpread>;
  worker_.ask<Runs>(
      this, "durations of runs",
      [of_steps, kernels_a, kernels_b, runs_a = a_.runs,
       runs_b = b_.runs](const std::stop_token& stop) -> Result<Runs> {
        Runs all;
        for (const bool of_a : {true, false}) {
          const std::vector<QString>& runs = of_a ? runs_a : runs_b;
          for (std::size_t run = 0; run < runs.size(); ++run) {
            RunSpread& said = all.emplace_back();
            said.of_a = of_a;
            said.run = run;
            said.of_steps = of_steps;
            said.capture = QFileInfo(runs[run]).fileName();
            const std::vector<std::string>& kernels = of_a ? kernels_a : kernels_b;
            if (kernels.empty() && !of_steps) continue;  // only the other side has it
            const auto spread =
                queries::ask(queries::RunDurationsQuery{runs[run].toStdString(), kernels}, {stop, {}});
            if (spread) {
              said.spread = spread.value();
            } else {
              said.failure = shown(spread.failure().message);
            }
          }
        }
        return all;
      },
      [this](Result<Runs> runs) {
        if (!runs) return spreads_of_.reset();
        run_spreads_->set_runs(std::move(runs).value());
        mark_looked_at();
      });
}

void ComparePanel::mark_looked_at() {
  const auto looked_at = [](const Side& side) {
    return side.run == nullptr ? std::size_t{0} : static_cast<std::size_t>(side.run->currentIndex());
  };
  run_spreads_->set_looked_at(looked_at(a_), looked_at(b_));
}

void ComparePanel::align_on_steps() {
  axes_.align(step_of(*a_.document).start_ns, step_of(*b_.document).start_ns);
}

void ComparePanel::align_on_chosen() {
  if (a_.selection.kernel().empty() || b_.selection.kernel().empty()) return;
  const auto first = [](const Selection& selection, const TimelineScene& scene) {
    if (selection.launch()) return std::optional(selection.launch()->start_ns);
    const auto place = scene.next_launch(selection.kernel().kernels.front(), selection.view().start_ns - 1);
    return place ? std::optional(scene.time_of(*place).start_ns) : std::nullopt;
  };
  const auto a = first(a_.selection, a_.timeline->view()->scene()),
             b = first(b_.selection, b_.timeline->view()->scene());
  if (a && b) axes_.align(*a, *b);
}

void ComparePanel::show_offset() {
  const std::int64_t shift =
      axes_.offset_ns() - (step_of(*b_.document).start_ns - step_of(*a_.document).start_ns);
  offset_->setText(
      shift == 0
          ? tr("steps begin together")
          : tr("B slid by %1").arg((shift < 0 ? QString("−") : QString()) + time_words(std::abs(shift))));
}

}  // namespace ridgeline::gui
