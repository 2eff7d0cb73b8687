#include "app/main_window.h"

#include <QApplication>
#include <QBoxLayout>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QScreen>
#include <QTimer>
#include <set>

#include "app/focus_ring.h"
#include "compare/compare_panel.h"
#include "models/text.h"
#include "panels/advice_panel.h"
#include "panels/findings_panel.h"
#include "panels/gaps_panel.h"
#include "panels/kernel_panel.h"
#include "panels/overview_bar.h"
#include "panels/ranking_panel.h"
#include "panels/sql_panel.h"
#include "panels/step_panel.h"
#include "panels/what_if_panel.h"
#include "ranks/ranks_panel.h"
#include "ridgeline/queries/job_query.h"
#include "roofline/roofline_panel.h"
#include "search/command_box.h"
#include "style/theme.h"
#include "timeline/timeline_panel.h"

// Of a static library, resources must be asked for, and outside of any namespace.
static void load_resources() {
  Q_INIT_RESOURCE(resources);
}

namespace ridgeline::gui {

MainWindow::MainWindow(const Options& options, QWidget* parent)
    : QMainWindow(parent),
      options_((load_resources(), options)),
      settings_(options.screenshot.isEmpty() ? std::make_unique<QSettings>() : nullptr),
      keys_(settings_.get()),
      pages_(new QStackedWidget(this)),
      page_tabs_(new QTabBar(this)),
      welcome_(new WelcomePage(this)),
      loading_(new LoadingPage(this)),
      error_(new ErrorPage(this)),
      box_(new CommandBox(keys_, this)),
      log_(new LogPanel(this)) {
  setWindowTitle("Ridgeline");
  setWindowIcon(QIcon(":/ridgeline.svg"));
  setAcceptDrops(true);
  setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  // The ranking has many columns: the lower panels go from edge to edge.
  setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
  auto* central = new QWidget(this);
  auto* column = new QVBoxLayout(central);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  page_tabs_->setAccessibleName(tr("Pages"));
  page_tabs_->setDocumentMode(true);
  page_tabs_->setDrawBase(false);
  page_tabs_->hide();
  connect(page_tabs_, &QTabBar::currentChanged, this, &MainWindow::turn_to);
  column->addWidget(page_tabs_);
  column->addWidget(pages_, 1);
  setCentralWidget(central);
  for (QWidget* page :
       {static_cast<QWidget*>(welcome_), static_cast<QWidget*>(loading_), static_cast<QWidget*>(error_)}) {
    pages_->addWidget(page);
  }
  new FocusRing(this);
  add_dock("log", tr("Log"), log_, Qt::BottomDockWidgetArea);
  make_menus();
  connect_box();
  if (settings_) welcome_->set_recent(settings_->value("recent").toStringList());
  connect(welcome_, &WelcomePage::open_asked, this, &MainWindow::choose_file);
  connect(welcome_, &WelcomePage::recent_chosen, this, &MainWindow::open);
  connect(welcome_, &WelcomePage::record_asked, this, &MainWindow::record_program);
  connect(error_, &ErrorPage::open_asked, this, &MainWindow::choose_file);
  connect(error_, &ErrorPage::retry_asked, this, [this] { open(document_->path()); });
  connect(loading_, &LoadingPage::cancelled, this, [this] {
    if (document_->state() != CaptureDocument::State::empty) return document_->cancel_loading();
    drop_panels();
    show_page(welcome_);
  });
  show_page(welcome_);
}

MainWindow::~MainWindow() {
  drop_panels();
}

bool MainWindow::focusNextPrevChild(bool next) {
  QWidget* from = focusWidget() != nullptr ? focusWidget() : this;
  QWidget* to = next_seen(from, next);
  if (to == nullptr) return false;
  to->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  leave_capture();
  if (settings_) settings_->setValue("window", saveGeometry());
  QMainWindow::closeEvent(event);
}

// What no panel took: choices are let go of wherever the keys are, but not by who types.
void MainWindow::keyPressEvent(QKeyEvent* event) {
  const QWidget* focus = focusWidget();
  const bool types = qobject_cast<const QLineEdit*>(focus) != nullptr ||
                     qobject_cast<const QPlainTextEdit*>(focus) != nullptr;
  const QString command = keys_.command(KeyMap::Place::timeline, QKeySequence(event->keyCombination()));
  if (command == "clear" && !types && timeline_ != nullptr) return run(command);
  QMainWindow::keyPressEvent(event);
}

void MainWindow::take_place() {
  if (settings_ && !options_.size_given && restoreGeometry(settings_->value("window").toByteArray())) return;
  QSize size = options_.size;
  // Of a screen that is scaled there is less than its pixels say.
  if (const QScreen* on = screen(); on != nullptr && settings_ && !options_.size_given)
    size = size.boundedTo(on->availableGeometry().size());
  resize(size);
}

void MainWindow::set_theme(ThemeChoice choice) {
  apply_theme(*qApp, choice);
  if (settings_) settings_->setValue("theme", choice == ThemeChoice::dark ? "dark" : "light");
  for (QWidget* widget : QApplication::allWidgets()) widget->update();
}

QDockWidget* MainWindow::add_dock(const QString& name, const QString& title, QWidget* content,
                                  Qt::DockWidgetArea area) {
  QDockWidget*& dock = docks_[name];
  if (dock == nullptr) {
    dock = new QDockWidget(title, this);
    dock->setObjectName("dock-" + name);
    addDockWidget(area, dock);
    // Which panels share a place is known once the layout has settled.
    const auto later = [this] { QTimer::singleShot(0, this, &MainWindow::title_docks); };
    connect(dock, &QDockWidget::visibilityChanged, this, later);
    connect(dock, &QDockWidget::dockLocationChanged, this, later);
    connect(dock, &QDockWidget::topLevelChanged, this, later);
  }
  dock->setWidget(content);
  return dock;
}

void MainWindow::title_docks() {
  for (const auto& [name, dock] : docks_) {
    const bool has_tab = !dock->isFloating() && !tabifiedDockWidgets(dock).isEmpty();
    QWidget* untitled = dock->titleBarWidget();
    if (has_tab == (untitled != nullptr)) continue;
    dock->setTitleBarWidget(has_tab ? new QWidget(dock) : nullptr);
    delete untitled;
  }
}

void MainWindow::show_page(QWidget* page) {
  // The others ask for no room: a list of what was opened before would make a small window higher than its screen.
  for (int i = 0; i < pages_->count(); ++i) {
    const auto room = pages_->widget(i) == page ? QSizePolicy::Preferred : QSizePolicy::Ignored;
    pages_->widget(i)->setSizePolicy(room, room);
  }
  pages_->setCurrentWidget(page);
  const bool panels = page == content_ && content_ != nullptr;
  for (const auto& [name, dock] : docks_) dock->setVisible(panels && dock->widget() != nullptr);
}

void MainWindow::choose_file() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open a capture"), document_ ? QFileInfo(document_->path()).absolutePath() : QString(),
      tr("Captures (*.ridge);;All files (*)"));
  if (!path.isEmpty()) open(path);
}

void MainWindow::open(const QString& path) {
  leave_capture();
  drop_panels();
  document_ = std::make_unique<CaptureDocument>(path);
  CaptureDocument* document = document_.get();
  connect(document, &CaptureDocument::progressed, loading_, &LoadingPage::progress);
  connect(document, &CaptureDocument::failed, this, [this, document] {
    failure_ = document->failure();
    error_->show_failure(document->path(), document->failure());
    log_->note(Severity::error, document->path() + ": " + shown(document->failure().message));
    show_page(error_);
    emit opening_failed();
  });
  connect(document, &CaptureDocument::loaded, this, [this, document] {
    build_panels();
    remember(document->path());
    restore_view();
    log_->note(Severity::info, tr("opened %1").arg(document->path()));
    emit opened();
    if (!options_.against.empty() && document->path() == options_.captures[0])
      compare({options_.captures, options_.against, options_.paired});
  });
  setWindowTitle(QFileInfo(path).fileName() + " – Ridgeline");
  loading_->begin(path);
  show_page(loading_);
  const Result<bool> merged = queries::is_merged_job(path.toStdString());
  if (merged && merged.value())
    open_job(path);
  else
    document->load();
}

// A merged job has no launches: its ranks are the whole page, and lead to the captures that have them.
void MainWindow::open_job(const QString& path) {
  ranks_ = new RanksPanel(path, this);
  panels_["ranks"] = ranks_;
  content_ = ranks_;
  pages_->addWidget(ranks_);
  connect(ranks_, &RanksPanel::loaded, this, [this, path] {
    show_page(content_);
    docks_["log"]->hide();  // the ranks need the room
    remember(path);
    log_->note(Severity::info, tr("opened %1").arg(path));
    emit opened();
  });
  connect(ranks_, &RanksPanel::failed, this, [this, path](const Failure& failure) {
    failure_ = failure;
    error_->show_failure(path, failure);
    log_->note(Severity::error, path + ": " + shown(failure.message));
    show_page(error_);
    emit opening_failed();
  });
  // The panel is gone when the capture is opened.
  connect(ranks_, &RanksPanel::capture_asked, this, &MainWindow::open, Qt::QueuedConnection);
}

// Of a capture with several ranks.
void MainWindow::build_ranks() {
  std::set<std::int64_t> ranks;
  for (const store::Process& process : document_->recording()->processes) {
    if (process.rank) ranks.insert(*process.rank);
  }
  if (ranks.size() < 2) return;
  ranks_ = new RanksPanel(document_->path(), this);
  panels_["ranks"] = ranks_;
  connect(ranks_, &RanksPanel::window_asked, this, [this](qint64 start_ns, qint64 end_ns) {
    selection_.show({start_ns, end_ns});
    show_panel("timeline");
  });
  add_dock("ranks", tr("Ranks"), ranks_, Qt::BottomDockWidgetArea);
  tabifyDockWidget(docks_["ranking"], docks_["ranks"]);
}

void MainWindow::drop_compare() {
  while (page_tabs_->count() > 0) page_tabs_->removeTab(0);
  page_tabs_->hide();
  docks_of_capture_.clear();
  panels_.erase("compare");
  delete compare_;
  compare_ = nullptr;
}

void MainWindow::drop_panels() {
  drop_compare();
  // Those in docks first: some refer to the timeline's scene.
  for (const auto& [name, panel] : panels_) {
    if (!docks_.contains(name) || panel == content_) continue;
    docks_[name]->setWidget(nullptr);
    delete panel;
  }
  panels_.clear();
  timeline_ = nullptr;
  sql_ = nullptr;
  kernel_ = nullptr;
  ranks_ = nullptr;
  second_.reset();
  delete content_;
  content_ = nullptr;
}

void MainWindow::build_panels() {
  const analyzer::RepresentativeStep& shown_step = document_->overview()->steps->representative;
  selection_.reset({shown_step.window_start_ns, shown_step.window_end_ns});
  content_ = new QWidget(this);
  auto* column = new QVBoxLayout(content_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* overview = new OverviewBar(*document_, content_);
  connect(overview, &OverviewBar::notices_asked, this, [this] { show_panel("findings"); });
  column->addWidget(overview);
  timeline_ = new TimelinePanel(*document_, selection_, content_);
  panels_["timeline"] = timeline_;
  column->addWidget(timeline_, 1);
  timeline_->view()->set_keys(&keys_);
  set_buttons();
  connect(timeline_, &TimelinePanel::read, this,
          [this] { box_->set_names(timeline_->view()->scene().shared_data()); });
  connect(timeline_, &TimelinePanel::box_asked, this, [this](QChar kind) { box_->open(kind); });
  connect(timeline_, &TimelinePanel::failed, this,
          [this](const QString& why) { log_->note(Severity::error, tr("timeline: %1").arg(why)); });
  pages_->addWidget(content_);

  auto* ranking = new RankingPanel(*document_, selection_, this);
  panels_["ranking"] = ranking;
  connect(ranking, &RankingPanel::kernel_activated, this, [this] {
    timeline_->view()->next_same();
    timeline_->view()->setFocus();
  });
  auto* roofline = new RooflinePanel(*document_, selection_, this);
  kernel_ = new KernelPanel(*document_, selection_, timeline_->view()->scene(), this);
  auto* step = new StepPanel(*document_, selection_, this);
  panels_["roofline"] = roofline;
  panels_["kernel"] = kernel_;
  panels_["step"] = step;
  connect(timeline_, &TimelinePanel::read, kernel_, &KernelPanel::scene_read);
  connect(kernel_, &KernelPanel::step_times_known, step, &StepPanel::set_kernel_times);
  connect(kernel_, &KernelPanel::step_chosen, this,
          [this](const analyzer::TimeWindow& window) { selection_.show(window); });

  sql_ = new SqlPanel(*document_, selection_, this);
  panels_["sql"] = sql_;
  auto* findings = new FindingsPanel(*document_, selection_, this);
  panels_["findings"] = findings;
  auto* what_if = new WhatIfPanel(*document_, this);
  panels_["what-if"] = what_if;
  auto* advice = new AdvicePanel(*document_, selection_, this);
  panels_["advice"] = advice;
  auto* gaps = new GapsPanel(*document_, selection_, this);
  panels_["gaps"] = gaps;
  add_dock("ranking", tr("Ranking"), ranking, Qt::BottomDockWidgetArea);
  add_dock("roofline", tr("Roofline"), roofline, Qt::BottomDockWidgetArea);
  add_dock("kernel", tr("Kernel"), kernel_, Qt::RightDockWidgetArea);
  add_dock("step", tr("Step"), step, Qt::RightDockWidgetArea);
  add_dock("what-if", tr("What if"), what_if, Qt::RightDockWidgetArea);
  add_dock("gaps", tr("Gaps"), gaps, Qt::BottomDockWidgetArea);
  add_dock("sql", tr("SQL"), sql_, Qt::BottomDockWidgetArea);
  add_dock("findings", tr("Findings"), findings, Qt::BottomDockWidgetArea);
  add_dock("advice", tr("Advice"), advice, Qt::BottomDockWidgetArea);
  arrange_docks();
}

void MainWindow::arrange_docks() {
  splitDockWidget(docks_["ranking"], docks_["roofline"], Qt::Horizontal);
  tabifyDockWidget(docks_["ranking"], docks_["advice"]);
  tabifyDockWidget(docks_["ranking"], docks_["gaps"]);
  tabifyDockWidget(docks_["ranking"], docks_["findings"]);
  tabifyDockWidget(docks_["ranking"], docks_["sql"]);
  tabifyDockWidget(docks_["ranking"], docks_["log"]);
  build_ranks();
  tabifyDockWidget(docks_["step"], docks_["kernel"]);
  tabifyDockWidget(docks_["step"], docks_["what-if"]);
  show_page(content_);
  resizeDocks({docks_["ranking"], docks_["roofline"]}, {width() * 5 / 8, width() * 3 / 8}, Qt::Horizontal);
  resizeDocks({docks_["ranking"]}, {height() * 2 / 5}, Qt::Vertical);
  resizeDocks({docks_["step"]}, {width() / 4}, Qt::Horizontal);
  docks_["ranking"]->raise();
  docks_["step"]->raise();
  standard_docks_ = saveState();
}

void MainWindow::compare(const CompareSides& sides) {
  if (!document_ || document_->state() != CaptureDocument::State::ready || sides.b.empty()) return;
  turn_to(0);
  drop_compare();
  second_ = std::make_unique<CaptureDocument>(sides.b.front());
  CaptureDocument* second = second_.get();
  connect(second, &CaptureDocument::failed, this, [this, second] {
    failure_ = second->failure();
    log_->note(Severity::error, second->path() + ": " + shown(second->failure().message));
    show_panel("log");
    emit opening_failed();
  });
  connect(second, &CaptureDocument::loaded, this, [this, second, sides] {
    compare_ = new ComparePanel(*document_, *second, sides, this);
    connect(compare_, &ComparePanel::failed, this,
            [this](const QString& why) { log_->note(Severity::error, why); });
    panels_["compare"] = compare_;
    link_compare();
    show_compare();
    remember(second->path());
    setWindowTitle(QFileInfo(document_->path()).fileName() + tr(" and ") +
                   QFileInfo(second->path()).fileName() + " – Ridgeline");
    log_->note(Severity::info,
               sides.a.size() + sides.b.size() == 2
                   ? tr("compared with %1").arg(second->path())
                   : tr("compared: %1 runs of A with %2 of B").arg(sides.a.size()).arg(sides.b.size()));
  });
  second->load();
}

// A kernel that is chosen on one page is chosen on the other: in A, which is this capture, and with its counterpart
// in B.
void MainWindow::link_compare() {
  ComparePanel* panel = compare_;
  connect(&panel->selection_a(), &Selection::kernel_changed, this, [this, panel] {
    if (panel == compare_ && panel->shows(*document_))
      selection_.select_kernel(panel->selection_a().kernel());
  });
  connect(&selection_, &Selection::kernel_changed, panel, [this, panel] {
    if (panel->shows(*document_)) panel->selection_a().select_kernel(selection_.kernel());
  });
  if (!selection_.kernel().empty()) panel->selection_a().select_kernel(selection_.kernel());
}

void MainWindow::show_compare() {
  compare_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);  // until it is the page that is shown
  pages_->addWidget(compare_);
  const QSignalBlocker quiet(page_tabs_);
  page_tabs_->addTab(QFileInfo(document_->path()).fileName());
  page_tabs_->addTab(tr("Compare with %1").arg(QFileInfo(second_->path()).fileName()));
  page_tabs_->show();
  turn_to(1);
}

// The capture with its panels round it, or the comparison, which takes all of the window.
void MainWindow::turn_to(int tab) {
  const bool compares = tab == 1 && compare_ != nullptr;
  if (content_ == nullptr || compares == !docks_of_capture_.isEmpty()) return;
  if (page_tabs_->count() > tab) {
    const QSignalBlocker quiet(page_tabs_);
    page_tabs_->setCurrentIndex(tab);
  }
  if (compares) {
    docks_of_capture_ = saveState();
    for (const auto& [name, dock] : docks_) dock->hide();
  }
  // A page that is not shown asks for no room, which with the panels round it a small window would not have.
  QWidget* const shown_page = compares ? static_cast<QWidget*>(compare_) : content_;
  QWidget* const other = compares ? content_ : static_cast<QWidget*>(compare_);
  if (other != nullptr) other->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
  shown_page->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  pages_->setCurrentWidget(shown_page);
  if (compares) {
    compare_->table()->setFocus();
  } else {
    restoreState(docks_of_capture_);
    docks_of_capture_.clear();
  }
}

QWidget* MainWindow::panel(const QString& name) const {
  const auto found = panels_.find(name);
  return found == panels_.end() ? nullptr : found->second;
}

void MainWindow::show_panel(const QString& name) {
  turn_to(name == "compare" ? 1 : 0);
  const auto found = docks_.find(name);
  if (found == docks_.end()) return;
  found->second->show();
  found->second->raise();
}

bool MainWindow::settled() const {
  return document_ && !document_->busy() && !exporter_.busy() &&
         (timeline_ == nullptr || !timeline_->busy()) && (sql_ == nullptr || !sql_->busy()) &&
         (kernel_ == nullptr || !kernel_->busy()) && (!second_ || !second_->busy()) &&
         (compare_ == nullptr || !compare_->busy()) && (ranks_ == nullptr || !ranks_->busy());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().front().isLocalFile())
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  open(event->mimeData()->urls().front().toLocalFile());
}

}  // namespace ridgeline::gui
