// main_window.h: one window on one capture: a timeline in the middle, panels round it that can be moved.
//
// Lifecycle: 1. welcome 2. open(): loading, with progress and cancel 3. the panels, or a page that says what is wrong
// 4. open() again.
#pragma once

#include <QComboBox>
#include <QDockWidget>
#include <QMainWindow>
#include <QStackedWidget>
#include <map>
#include <memory>

#include "app/options.h"
#include "app/pages.h"
#include "models/capture_document.h"
#include "panels/log_panel.h"

namespace ridgeline::gui {

class RankingPanel;
class TimelinePanel;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(const Options& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  void open(const QString& path);
  [[nodiscard]] CaptureDocument* document() const { return document_.get(); }
  [[nodiscard]] Selection& selection() { return selection_; }
  /// Of --panel; nullptr: there is no such panel now.
  [[nodiscard]] QWidget* panel(const QString& name) const;
  /// Brings a panel to the front.
  void show_panel(const QString& name);
  [[nodiscard]] TimelinePanel* timeline() const { return timeline_; }
  [[nodiscard]] ErrorPage* error_page() const { return error_; }
  /// Nothing is being read or computed: what is shown is final.
  [[nodiscard]] bool settled() const;

 signals:
  void opened();          ///< the panels are there
  void opening_failed();  ///< the error page is shown

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void make_menus();
  void show_page(QWidget* page);
  void build_panels();
  void drop_panels();
  QDockWidget* add_dock(const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area);
  void choose_file();
  void set_theme(ThemeChoice choice);

  Options options_;
  Selection selection_;
  std::unique_ptr<CaptureDocument> document_;
  QStackedWidget* pages_;
  WelcomePage* welcome_;
  LoadingPage* loading_;
  ErrorPage* error_;
  QWidget* content_ = nullptr;
  TimelinePanel* timeline_ = nullptr;
  LogPanel* log_;
  std::map<QString, QDockWidget*> docks_;
  std::map<QString, QWidget*> panels_;
};

}  // namespace ridgeline::gui
