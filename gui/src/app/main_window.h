// main_window.h: one window on one capture: a timeline in the middle, panels round it that can be moved.
//
// Lifecycle: 1. welcome 2. open(): loading, with progress and cancel 3. the panels, or a page that says what is wrong
// 4. open() again. What was changed of the view is kept beside the capture when it is left.
#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QSettings>
#include <QStackedWidget>
#include <QTabBar>
#include <map>
#include <memory>

#include "app/options.h"
#include "app/pages.h"
#include "compare/compare_sides.h"
#include "models/capture_document.h"
#include "models/key_map.h"
#include "models/sidecar.h"
#include "panels/log_panel.h"

namespace ridgeline::gui {

class CommandBox;
class ComparePanel;
class KernelPanel;
class RankingPanel;
class RanksPanel;
class RooflinePanel;
class SqlPanel;
class TimelinePanel;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(const Options& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  void open(const QString& path);
  /// Compares runs with the open capture's: it is the first of A's. A page of its own, beside the capture's: what is
  /// chosen on one is chosen on the other.
  void compare(const CompareSides& sides);
  [[nodiscard]] CaptureDocument* document() const { return document_.get(); }
  [[nodiscard]] Selection& selection() { return selection_; }
  /// Of --panel; nullptr: there is no such panel now.
  [[nodiscard]] QWidget* panel(const QString& name) const;
  /// Brings a panel to the front.
  void show_panel(const QString& name);
  [[nodiscard]] TimelinePanel* timeline() const { return timeline_; }
  [[nodiscard]] ErrorPage* error_page() const { return error_; }
  /// The capture and the comparison, where there is one.
  [[nodiscard]] QTabBar* page_tabs() const { return page_tabs_; }
  [[nodiscard]] CommandBox* command_box() const { return box_; }
  [[nodiscard]] KeyMap& keys() { return keys_; }
  [[nodiscard]] LogPanel* log() const { return log_; }
  /// Nothing is being read or computed: what is shown is final.
  [[nodiscard]] bool settled() const;
  /// Why the last capture was not opened.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  /// Writes the chosen range as a capture of its own, beside the window; the log says how it ended.
  void export_part(const QString& path);
  /// Does what a command of the key map says.
  void run(const QString& command);

  [[nodiscard]] ViewState view_state() const;
  void apply(const ViewState& state);
  /// Writes the view to --view or beside the capture; where that may not be written, to the user's own data.
  void save_view();
  /// The size and place that the window had when one was last closed; else, or where --size asks for another, that.
  void take_place();

 signals:
  void opened();          ///< the panels are there
  void opening_failed();  ///< the error page is shown

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  void make_menus();
  void set_keys();
  void set_buttons();
  void connect_box();
  void show_page(QWidget* page);
  void build_panels();
  void open_job(const QString& path);
  void build_ranks();
  void arrange_docks();
  void drop_panels();
  void drop_compare();
  void show_compare();
  void link_compare();
  void turn_to(int tab);
  /// A panel that has a tab needs no title of its own.
  void title_docks();
  QDockWidget* add_dock(const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area);
  void choose_file();
  void choose_sides();
  void choose_part();
  void go_to_panel(const QString& name);
  void go_to_gap(bool next);
  void export_timeline();
  void record_program();
  void set_theme(ThemeChoice choice);
  void list_recent(QMenu* menu);
  void open_manual();
  void show_about();
  void remember(const QString& path);
  [[nodiscard]] QString own_view_path() const;
  void restore_view();
  void leave_capture();

  Options options_;
  std::unique_ptr<QSettings> settings_;  // none while a picture is taken
  KeyMap keys_;
  Selection selection_;
  std::unique_ptr<CaptureDocument> document_;
  std::unique_ptr<CaptureDocument> second_;
  QStackedWidget* pages_;
  QTabBar* page_tabs_;
  WelcomePage* welcome_;
  LoadingPage* loading_;
  ErrorPage* error_;
  CommandBox* box_;
  QWidget* content_ = nullptr;
  TimelinePanel* timeline_ = nullptr;
  SqlPanel* sql_ = nullptr;
  KernelPanel* kernel_ = nullptr;
  ComparePanel* compare_ = nullptr;
  RanksPanel* ranks_ = nullptr;  // of a job, or of a capture with several ranks
  LogPanel* log_;
  std::map<QString, QDockWidget*> docks_;
  std::map<QString, QWidget*> panels_;
  std::map<QString, QAction*> actions_;
  Failure failure_;
  ViewState restored_;  // what the view was when it was opened
  QByteArray standard_docks_;
  QByteArray docks_of_capture_;  // while the comparison is shown
  Worker exporter_;
};

}  // namespace ridgeline::gui
