#include "timeline/timeline_accessible.h"

#include <QAccessibleWidget>
#include <algorithm>
#include <map>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/timeline_text.h"
#include "timeline/timeline_view.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxEvents = 500;  // of a row, in view

// What rows and events have in common: they are painted, not widgets.
class Painted : public QAccessibleInterface {
 public:
  explicit Painted(TimelineView* view) : view_(view) {}
  bool isValid() const override { return view_ != nullptr; }
  QObject* object() const override { return nullptr; }
  QWindow* window() const override { return nullptr; }
  void setText(QAccessible::Text, const QString&) override {}
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int i = 0; i < childCount(); ++i) {
      if (child(i)->rect().contains(x, y)) return child(i);
    }
    return nullptr;
  }

 protected:
  [[nodiscard]] QRect on_screen(const QRect& rect) const {
    return {view_->mapToGlobal(rect.topLeft()), rect.size()};
  }
  TimelineView* view_;
};

class Row;

class Event : public Painted, public QAccessibleActionInterface {
 public:
  Event(TimelineView* view, Row* row, EventPlace place) : Painted(view), row_(row), place_(place) {}
  QAccessibleInterface* parent() const override;
  QAccessibleInterface* child(int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  QString text(QAccessible::Text kind) const override {
    return kind == QAccessible::Name ? view_->describe(place_) : QString();
  }
  QRect rect() const override { return on_screen(view_->event_rect(place_)); }
  QAccessible::Role role() const override { return QAccessible::ListItem; }
  QAccessible::State state() const override {
    QAccessible::State state;
    state.selectable = true;
    return state;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (name == pressAction()) view_->choose(place_);
  }
  QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  Row* row_;
  EventPlace place_;
};

class Row : public Painted {
 public:
  Row(TimelineView* view, std::size_t row) : Painted(view), row_(row) {}
  ~Row() override { forget(); }
  QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(view_); }
  int childCount() const override {
    refresh();
    return static_cast<int>(events_.size());
  }
  QAccessibleInterface* child(int i) const override {
    refresh();
    return i >= 0 && i < static_cast<int>(events_.size())
               ? QAccessible::accessibleInterface(events_[static_cast<std::size_t>(i)])
               : nullptr;
  }
  int indexOfChild(const QAccessibleInterface* wanted) const override {
    for (int i = 0; i < childCount(); ++i) {
      if (child(i) == wanted) return i;
    }
    return -1;
  }
  QString text(QAccessible::Text kind) const override {
    const TimelineRow& row = view_->scene().row(row_);
    if (kind == QAccessible::Description) return plain(reports::row_help(row));
    if (kind != QAccessible::Name) return {};
    const QString label = plain(row.label.empty() ? reports::row_help(row) : row.label);
    const TimeWindow window = view_->axis().view();
    if (row.kind == RowKind::counter) {
      const CounterBin bin = row.counter.over(window);
      return bin.known ? label + ": " + counter_text(row.unit, static_cast<double>(bin.mean)) + " on average"
                       : label + ": no samples in view";
    }
    const EventSum sum = row.events.sum(window);
    return label + ": " + plain(counted(sum.count, "event")) + " in view, busy " +
           plain(percent_text(static_cast<double>(sum.busy_ns) / static_cast<double>(window.length_ns())));
  }
  QRect rect() const override {
    for (const TimelineView::Box& box : view_->boxes()) {
      if (box.row == row_) return on_screen(box.rect);
    }
    return {};
  }
  QAccessible::Role role() const override { return QAccessible::List; }
  QAccessible::State state() const override { return {}; }

 private:
  void forget() const {
    for (const QAccessible::Id id : events_) QAccessible::deleteAccessibleInterface(id);
    events_.clear();
  }
  // The events in view, anew when the view is another.
  void refresh() const {
    const TimelineRow& row = view_->scene().row(row_);
    const TimeWindow window = view_->axis().view();
    if (window == shows_ && row.events.size() == of_) return;
    forget();
    shows_ = window;
    of_ = row.events.size();
    const std::size_t first = row.events.first_ending_after(window.start_ns);
    const std::size_t last = std::min(row.events.first_from(window.end_ns), first + kMaxEvents);
    for (std::size_t i = first; i < last; ++i) {
      events_.push_back(QAccessible::registerAccessibleInterface(
          new Event(view_, const_cast<Row*>(this), EventPlace{row_, i})));
    }
  }

  std::size_t row_;
  mutable std::vector<QAccessible::Id> events_;
  mutable TimeWindow shows_{};
  mutable std::size_t of_ = 0;
};

QAccessibleInterface* Event::parent() const {
  return row_;
}

class Timeline : public QAccessibleWidget {
 public:
  explicit Timeline(TimelineView* view) : QAccessibleWidget(view, QAccessible::Table), view_(view) {}
  ~Timeline() override {
    for (const auto& [row, id] : rows_) QAccessible::deleteAccessibleInterface(id);
  }
  int childCount() const override { return static_cast<int>(order().size()); }
  QAccessibleInterface* child(int i) const override {
    const std::vector<std::size_t> rows = order();
    if (i < 0 || i >= static_cast<int>(rows.size())) return nullptr;
    const auto [found, added] = rows_.try_emplace(rows[static_cast<std::size_t>(i)], 0);
    if (added) found->second = QAccessible::registerAccessibleInterface(new Row(view_, found->first));
    return QAccessible::accessibleInterface(found->second);
  }
  int indexOfChild(const QAccessibleInterface* wanted) const override {
    for (int i = 0; i < childCount(); ++i) {
      if (child(i) == wanted) return i;
    }
    return -1;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int i = 0; i < childCount(); ++i) {
      if (child(i)->rect().contains(x, y)) return child(i);
    }
    return nullptr;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> rows = view_->scene().pinned_rows();
    rows.insert(rows.end(), view_->scene().scrolling_rows().begin(), view_->scene().scrolling_rows().end());
    return rows;
  }
  TimelineView* view_;
  mutable std::map<std::size_t, QAccessible::Id> rows_;
};

QAccessibleInterface* make(const QString& name, QObject* object) {
  if (name != "ridgeline::gui::TimelineView") return nullptr;
  auto* view = dynamic_cast<TimelineView*>(object);
  return view != nullptr ? new Timeline(view) : nullptr;
}

}  // namespace

void install_timeline_accessibility() {
  static const bool kInstalled = [] {
    QAccessible::installFactory(make);
    return true;
  }();
  (void)kInstalled;
}

}  // namespace ridgeline::gui
