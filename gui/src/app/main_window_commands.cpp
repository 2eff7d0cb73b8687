// main_window_commands.cpp: menus, keys, the box, and what is kept of a view.
#include <QApplication>
#include <QCryptographicHash>
#include <QDesktopServices>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QStandardPaths>
#include <QTableView>
#include <QUrl>

#include "app/key_sheet.h"
#include "app/main_window.h"
#include "app/record_dialog.h"
#include "compare/compare_dialog.h"
#include "compare/compare_panel.h"
#include "models/text.h"
#include "panels/gaps_panel.h"
#include "panels/ranking_panel.h"
#include "panels/sql_panel.h"
#include "ridgeline/reports/version.h"
#include "ridgeline/store/capture_part.h"
#include "roofline/roofline_panel.h"
#include "search/command_box.h"
#include "style/icons.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {
constexpr qsizetype kMaxRecent = 10;
}

void MainWindow::make_menus() {
  const auto add = [this](QMenu* menu, std::initializer_list<const char*> ids) {
    for (const char* id : ids) {
      if (*id == '\0') {
        menu->addSeparator();
        continue;
      }
      const KeyMap::Entry* entry = keys_.find(id);
      QAction* action = menu->addAction(entry->text, this, [this, command = entry->id] { run(command); });
      action->setIcon(command_icon(entry->id));
      actions_[entry->id] = action;
    }
  };
  QMenu* file = menuBar()->addMenu(tr("&File"));
  add(file, {"open", "compare", "record", "doctor", "", "save_view", "export_capture", "export_timeline",
             "export_ranking", "export_roofline", "", "quit"});
  QMenu* view = menuBar()->addMenu(tr("&View"));
  add(view, {"back", "forward", "", "search", "commands", "sql", "", "next_gap", "previous_gap", "", "light",
             "dark", "reset_layout"});
  add(view->addMenu(tr("Go to")),
      {"panel_timeline", "panel_ranking", "panel_roofline", "panel_step", "panel_kernel", "panel_advice",
       "panel_gaps", "panel_findings", "panel_sql", "panel_log", "panel_compare", "panel_what-if"});
  view->addSeparator();
  connect(view, &QMenu::aboutToShow, this, [this, view] {
    for (const auto& [name, dock] : docks_) view->addAction(dock->toggleViewAction());
  });
  auto* recent = new QMenu(tr("Opened before"), this);
  file->insertMenu(actions_["compare"], recent);
  connect(file, &QMenu::aboutToShow, this, [this, recent] { list_recent(recent); });
  add(menuBar()->addMenu(tr("&Help")), {"manual", "keys", "", "about"});
  connect(&keys_, &KeyMap::changed, this, &MainWindow::set_keys);
  set_keys();
}

void MainWindow::list_recent(QMenu* menu) {
  menu->clear();
  const QStringList paths = settings_ ? settings_->value("recent").toStringList() : QStringList();
  for (const QString& path : paths) {
    // An & in a name is no key.
    QAction* action = menu->addAction(QString(path).replace('&', "&&"), this, [this, path] { open(path); });
    action->setEnabled(QFileInfo::exists(path));
  }
  menu->setEnabled(!paths.isEmpty());
}

// Where it was installed, or in the sources that the program was built from.
void MainWindow::open_manual() {
  const QDir program(QCoreApplication::applicationDirPath());
  for (const char* place : {"../share/doc/ridgeline/docs/gui.md", "../../docs/gui.md"}) {
    const QString path = QDir::cleanPath(program.filePath(place));
    if (!QFileInfo::exists(path)) continue;
    log_->note(Severity::info, tr("the manual is %1").arg(path));
    if (!QDesktopServices::openUrl(QUrl::fromLocalFile(path))) show_panel("log");
    return;
  }
  log_->note(Severity::info,
             tr("the manual was not installed beside this program: it is docs/gui.md of its sources"));
  show_panel("log");
}

void MainWindow::show_about() {
  auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Ridgeline"),
                              QString("Ridgeline %1").arg(reports::kVersion), QMessageBox::Close, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setIconPixmap(windowIcon().pixmap(48, 48));
  box->setInformativeText(tr("Which GPU kernels of a step to optimise, and how much time each could "
                             "save.\n\nLicence: Apache 2.0. Made with Qt %1.")
                              .arg(qVersion()));
  box->open();
}

void MainWindow::set_keys() {
  for (const auto& [id, action] : actions_) action->setShortcut(keys_.find(id)->key);
  if (timeline_ != nullptr) set_buttons();
}

// The commands that are used most, as buttons beside the timeline's search; each says its key.
void MainWindow::set_buttons() {
  for (const char* id : {"back", "forward", "zoom_out", "zoom_in", "fit", "home", "zoom_to_range",
                         "previous_same", "next_same", "mark"}) {
    const KeyMap::Entry& entry = *keys_.find(id);
    QToolButton* button = timeline_->button(entry.id);
    if (button->icon().isNull()) {
      button->setIcon(command_icon(entry.id));
      connect(button, &QToolButton::clicked, this, [this, command = entry.id] { run(command); });
    }
    const QString key = entry.key.toString(QKeySequence::NativeText);
    button->setToolTip(key.isEmpty() ? entry.text : tr("%1 (%2)").arg(entry.text, key));
    button->setAccessibleName(entry.text);
  }
}

void MainWindow::connect_box() {
  connect(box_, &CommandBox::command_chosen, this, &MainWindow::run);
  connect(box_, &CommandBox::search_asked, this, [this](const QString& text) {
    if (timeline_ != nullptr) timeline_->search_field()->setText(text);
  });
  connect(box_, &CommandBox::sql_asked, this, [this](const QString& sql) {
    if (sql_ == nullptr) return;
    show_panel("sql");
    sql_->run(sql);
  });
  connect(box_, &CommandBox::gaps_chosen, this, [this](const QString& name) {
    if (timeline_ == nullptr) return;
    timeline_->search_name(name);
    timeline_->view()->next_match();
    timeline_->view()->setFocus();
  });
  connect(box_, &CommandBox::name_chosen, this, [this](qint64 index) {
    if (timeline_ == nullptr) return;
    const EventName& name = timeline_->view()->scene().data().names[static_cast<std::size_t>(index)];
    if (name.kind == EventName::Kind::kernel) {
      selection_.select_kernel({{name.kernel_id}, name.text});
    } else {
      timeline_->search_name(shown(name.text));
      timeline_->view()->next_match();
    }
    timeline_->view()->setFocus();
  });
}

void MainWindow::run(const QString& command) {
  if (timeline_ != nullptr && timeline_->view()->run(command)) return;
  if (command == "open") {
    choose_file();
  } else if (command == "compare") {
    choose_sides();
  } else if (command == "record" || command == "doctor") {
    record_program();
  } else if (command == "search" || command == "commands" || command == "sql") {
    box_->open(command == "search" ? '/' : command == "commands" ? '>' : ':');
  } else if (command == "back") {
    selection_.undo();
  } else if (command == "forward") {
    selection_.redo();
  } else if (command == "save_view") {
    if (document_ && document_->state() == CaptureDocument::State::ready) save_view();
  } else if (command == "next_gap" || command == "previous_gap") {
    go_to_gap(command == "next_gap");
  } else if (command == "export_capture") {
    choose_part();
  } else if (command == "export_timeline") {
    export_timeline();
  } else if (command.startsWith("panel_")) {
    go_to_panel(command.mid(6));
  } else if (command == "export_ranking") {
    if (auto* ranking = dynamic_cast<RankingPanel*>(panel("ranking"))) ranking->table()->export_csv();
  } else if (command == "export_roofline") {
    if (auto* roofline = dynamic_cast<RooflinePanel*>(panel("roofline"))) roofline->export_picture();
  } else if (command == "light" || command == "dark") {
    set_theme(command == "light" ? ThemeChoice::light : ThemeChoice::dark);
  } else if (command == "reset_layout") {
    turn_to(0);
    if (!standard_docks_.isEmpty()) restoreState(standard_docks_);
  } else if (command == "keys") {
    KeySheet(keys_, this).exec();
  } else if (command == "manual") {
    open_manual();
  } else if (command == "about") {
    show_about();
  } else if (command == "quit") {
    close();
  }
}

void MainWindow::choose_sides() {
  if (!document_ || document_->state() != CaptureDocument::State::ready) return;
  CompareDialog dialog(compare_ != nullptr ? compare_->sides() : CompareSides{{document_->path()}, {}, true},
                       this);
  if (dialog.exec() == QDialog::Accepted) compare(dialog.sides());
}

// To the front, with the keys: a table where it has one, else whatever takes them first.
void MainWindow::go_to_panel(const QString& name) {
  QWidget* content = name == "log" ? log_ : panel(name);
  if (content == nullptr) return;
  show_panel(name);
  if (name == "timeline") return timeline_->view()->setFocus();
  QWidget* first = nullptr;
  for (QWidget* widget : content->findChildren<QWidget*>()) {
    const bool takes = (widget->focusPolicy() & Qt::TabFocus) != 0 && widget->isVisibleTo(content);
    if (takes && (first == nullptr || qobject_cast<QTableView*>(widget) != nullptr)) first = widget;
  }
  if (first != nullptr) first->setFocus(Qt::ShortcutFocusReason);
}

// The panel comes to the front, for it says why; the keys stay where they are.
void MainWindow::go_to_gap(bool next) {
  auto* gaps = dynamic_cast<GapsPanel*>(panel("gaps"));
  if (gaps == nullptr) return;
  show_panel("gaps");
  if (next) {
    gaps->next();
  } else {
    gaps->previous();
  }
}

void MainWindow::export_timeline() {
  if (timeline_ == nullptr) return;
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export the timeline"), "timeline.png", tr("PNG (*.png)"));
  if (!path.isEmpty() && !timeline_->view()->grab().save(path, "PNG"))
    log_->note(Severity::error, tr("%1: cannot be written").arg(path));
}

void MainWindow::choose_part() {
  if (!document_ || document_->state() != CaptureDocument::State::ready) return;
  if (!selection_.range()) {
    log_->note(Severity::info, tr("nothing to export: drag a range out in the timeline first"));
    return show_panel("log");
  }
  const QFileInfo whole(document_->path());
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export the range"), whole.absolutePath() + "/" + whole.completeBaseName() + "-part.ridge",
      tr("Captures (*.ridge)"), nullptr, QFileDialog::DontConfirmOverwrite);
  if (!path.isEmpty()) export_part(path);
}

void MainWindow::export_part(const QString& path) {
  if (!document_ || document_->state() != CaptureDocument::State::ready || !selection_.range()) return;
  const analyzer::TimeWindow range = *selection_.range();
  log_->note(Severity::info, tr("writing %1…").arg(path));
  exporter_.ask<store::CapturePart>(
      this, path.toStdString(),
      [whole = document_->path().toStdString(), range,
       to = path.toStdString()](const std::stop_token& stop) -> Result<store::CapturePart> {
        const auto capture = store::Capture::open(whole);
        if (!capture) return capture.failure();
        return store::write_part(capture.value(), {range.start_ns, range.end_ns}, to, stop);
      },
      [this, path](Result<store::CapturePart> part) {
        if (part) {
          log_->note(Severity::info, tr("%1 holds %2 of %3 launches and %4 of %5 steps")
                                         .arg(path)
                                         .arg(part.value().launches)
                                         .arg(part.value().launches_of_whole)
                                         .arg(part.value().steps)
                                         .arg(part.value().steps_of_whole));
          remember(path);
        } else {
          log_->note(Severity::error, tr("%1 was not written: %2").arg(path, shown(part.failure().message)));
          show_panel("log");
        }
      });
}

void MainWindow::record_program() {
  auto* dialog =
      new RecordDialog(options_.ridgeline.isEmpty() ? QCoreApplication::applicationDirPath() + "/ridgeline"
                                                    : options_.ridgeline,
                       this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &RecordDialog::open_asked, this, &MainWindow::open);
  dialog->show();
}

void MainWindow::remember(const QString& path) {
  if (!settings_) return;
  QStringList recent = settings_->value("recent").toStringList();
  const QString whole = QFileInfo(path).absoluteFilePath();
  recent.removeAll(whole);
  recent.prepend(whole);
  while (recent.size() > kMaxRecent) recent.removeLast();
  settings_->setValue("recent", recent);
  welcome_->set_recent(recent);
}

ViewState MainWindow::view_state() const {
  ViewState state;
  if (timeline_ == nullptr) return state;
  state.rows = timeline_->view()->scene().arrangement();
  state.notes = timeline_->view()->notes();
  state.bookmarks = timeline_->view()->bookmarks();
  state.view = selection_.view();
  if (!selection_.instance()) state.range = selection_.range();
  if (!selection_.nvtx_step()) state.nvtx = selection_.nvtx();
  state.docks = docks_of_capture_.isEmpty() ? saveState() : docks_of_capture_;
  return state;
}

void MainWindow::apply(const ViewState& state) {
  if (timeline_ == nullptr) return;
  TimelineView* view = timeline_->view();
  view->scene().arrange(state.rows);
  view->set_notes(state.notes);
  view->set_bookmarks(state.bookmarks);
  view->scene_changed();
  if (state.view) selection_.show(*state.view);
  if (!state.nvtx.empty()) selection_.select_nvtx(state.nvtx);
  if (state.range) selection_.select_range(state.range);
  turn_to(0);
  if (!state.docks.isEmpty()) restoreState(state.docks);
}

// Where captures may not be written beside, views are among the user's own data.
QString MainWindow::own_view_path() const {
  const QByteArray name = QCryptographicHash::hash(QFileInfo(document_->path()).absoluteFilePath().toUtf8(),
                                                   QCryptographicHash::Sha1)
                              .toHex();
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/views/" + name + ".json";
}

void MainWindow::restore_view() {
  QString path = !options_.view.isEmpty() ? options_.view : sidecar_path(document_->path());
  if (options_.view.isEmpty() && !QFileInfo::exists(path)) path = own_view_path();
  const Result<ViewState> state = load_view(path);
  if (!state) {
    log_->note(Severity::warning, shown(state.failure().message) + tr(": the view was not restored"));
  } else if (!options_.view.isEmpty() && !QFileInfo::exists(path)) {
    log_->note(Severity::info, tr("%1 is not there yet: the view will be kept in it").arg(path));
  } else if (!(state.value() == ViewState{})) {
    apply(state.value());
  }
  restored_ = view_state();
}

void MainWindow::save_view() {
  const ViewState state = view_state();
  QString path = !options_.view.isEmpty() ? options_.view : sidecar_path(document_->path());
  Result<void> saved = gui::save_view(path, state);
  if (!saved && options_.view.isEmpty()) {
    path = own_view_path();
    QDir().mkpath(QFileInfo(path).absolutePath());
    saved = gui::save_view(path, state);
  }
  if (saved) {
    restored_ = state;
    log_->note(Severity::info, tr("view kept in %1").arg(path));
  } else {
    log_->note(Severity::error, shown(saved.failure().message));
  }
}

// What somebody wrote or arranged is kept; where they looked last is not worth a file.
void MainWindow::leave_capture() {
  if (!settings_ || timeline_ == nullptr) return;
  const ViewState now = view_state();
  if (!(now.rows == restored_.rows) || now.notes != restored_.notes || now.bookmarks != restored_.bookmarks)
    save_view();
}

}  // namespace ridgeline::gui
