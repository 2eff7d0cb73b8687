// timeline_panel.h: the timeline of one capture: reads it beside the window, finds what belongs to a chosen launch.
#pragma once

#include <QBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <map>

#include "models/capture_document.h"
#include "models/worker.h"
#include "timeline/timeline_view.h"

namespace ridgeline::gui {

class TimelinePanel : public QWidget {
  Q_OBJECT
 public:
  TimelinePanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);

  [[nodiscard]] TimelineView* view() const { return view_; }
  [[nodiscard]] QLineEdit* search_field() const { return search_; }
  /// A button beside the search field, by the command that it is for; made when it is first asked for.
  [[nodiscard]] QToolButton* button(const QString& command);
  /// Searches for what has exactly this name; the field says it as it is.
  void search_name(const QString& name);
  /// Before the search field; for two timelines below each other.
  void set_caption(const QString& text) { caption_->setText(text); }
  [[nodiscard]] bool busy() const { return worker_.busy() || reading_ || view_->finding(); }

 signals:
  void read();  ///< the whole timeline is there
  /// The search field was given the sign of a command or a query: '>' or ':'.
  void box_asked(QChar kind);
  void failed(const QString& why);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void read_all();
  void find_arrow();
  void show_found();

  CaptureDocument& document_;
  Selection& selection_;
  TimelineView* view_;
  QLineEdit* search_;
  QHBoxLayout* buttons_;
  std::map<QString, QToolButton*> button_of_;
  QLabel* caption_;
  QLabel* found_;
  QLabel* status_;
  bool reading_ = true, began_to_read_ = false;
  Worker worker_;
};

/// The steps alone, from what is known of a capture at once: shown while the rest is read.
[[nodiscard]] std::shared_ptr<const TimelineData> coarse_timeline(const analyzer::Model& recording);

}  // namespace ridgeline::gui
