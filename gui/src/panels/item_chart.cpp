#include "panels/item_chart.h"

#include <QAccessibleWidget>
#include <QEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <map>

#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr int kMaxItems = 5000;  // that a screen reader finds

class ChartItem : public QAccessibleInterface, public QAccessibleActionInterface {
 public:
  ChartItem(ItemChart* chart, int item) : chart_(chart), item_(item) {}
  bool isValid() const override { return item_ < chart_->item_count(); }
  QObject* object() const override { return nullptr; }
  QWindow* window() const override { return nullptr; }
  QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(chart_); }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  QString text(QAccessible::Text kind) const override {
    return kind == QAccessible::Name && isValid() ? chart_->item_text(item_) : QString();
  }
  void setText(QAccessible::Text, const QString&) override {}
  QRect rect() const override {
    if (!isValid()) return {};
    const QRect place = chart_->item_rect(item_).toAlignedRect();
    return {chart_->mapToGlobal(place.topLeft()), place.size()};
  }
  QAccessible::Role role() const override { return QAccessible::ListItem; }
  QAccessible::State state() const override {
    QAccessible::State state;
    state.focusable = chart_->focusPolicy() != Qt::NoFocus;
    state.focused = chart_->hasFocus() && chart_->current_item() == item_;
    return state;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  QStringList actionNames() const override {
    return chart_->focusPolicy() == Qt::NoFocus ? QStringList() : QStringList(pressAction());
  }
  void doAction(const QString& name) override {
    if (name == pressAction()) chart_->choose(item_);
  }
  QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  ItemChart* chart_;
  int item_;
};

class ChartList : public QAccessibleWidget {
 public:
  explicit ChartList(ItemChart* chart) : QAccessibleWidget(chart, QAccessible::List), chart_(chart) {}
  ~ChartList() override {
    for (const auto& [item, id] : items_) QAccessible::deleteAccessibleInterface(id);
  }
  int childCount() const override { return std::min(chart_->item_count(), kMaxItems); }
  QAccessibleInterface* child(int item) const override {
    if (item < 0 || item >= childCount()) return nullptr;
    const auto [found, added] = items_.try_emplace(item, 0);
    if (added) found->second = QAccessible::registerAccessibleInterface(new ChartItem(chart_, item));
    return QAccessible::accessibleInterface(found->second);
  }
  int indexOfChild(const QAccessibleInterface* wanted) const override {
    for (const auto& [item, id] : items_) {
      if (QAccessible::accessibleInterface(id) == wanted) return item;
    }
    return -1;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int item = 0; item < childCount(); ++item) {
      const QRectF place = chart_->item_rect(item);
      if (place.contains(QPointF(chart_->mapFromGlobal(QPoint(x, y))))) return child(item);
    }
    return nullptr;
  }
  QAccessibleInterface* focusChild() const override {
    return chart_->hasFocus() ? child(chart_->current_item()) : nullptr;
  }

 private:
  ItemChart* chart_;
  mutable std::map<int, QAccessible::Id> items_;
};

QAccessibleInterface* make_chart_list(const QString& name, QObject* object) {
  auto* chart = name == "ridgeline::gui::ItemChart" ? dynamic_cast<ItemChart*>(object) : nullptr;
  return chart != nullptr ? new ChartList(chart) : nullptr;
}

}  // namespace

ItemChart::ItemChart(QWidget* parent) : QWidget(parent) {
  // Before anybody names it: whoever is named has an interface from then on.
  static const bool kInstalled = [] {
    QAccessible::installFactory(make_chart_list);
    return true;
  }();
  (void)kInstalled;
}

void ItemChart::choose(int item) {
  if (item < 0 || item >= item_count()) return;
  current_ = item;
  choose_item(item);
  update();
}

void ItemChart::items_changed() {
  if (current_ >= item_count()) current_ = -1;
  update();
}

void ItemChart::reach(int item) {
  current_ = std::clamp(item, -1, item_count() - 1);
  update();
  reach_item(current_);
  if (current_ < 0) return;
  QAccessibleEvent told(this, QAccessible::Focus);
  told.setChild(current_);
  QAccessible::updateAccessibility(&told);
  const QPoint below = item_rect(current_).bottomLeft().toPoint() + QPoint(0, 4);
  QToolTip::showText(mapToGlobal(below), item_text(current_), this);
}

void ItemChart::keyPressEvent(QKeyEvent* event) {
  const bool plain = (event->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
  switch (plain && item_count() > 0 ? event->key() : 0) {
    case Qt::Key_Left:
      return reach(std::max(current_ - 1, 0));
    case Qt::Key_Right:
      return reach(current_ + 1);
    case Qt::Key_Home:
      return reach(0);
    case Qt::Key_End:
      return reach(item_count() - 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      return choose(current_);
    default:
      QWidget::keyPressEvent(event);
  }
}

void ItemChart::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void ItemChart::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  reach_item(-1);
  update();
}

void ItemChart::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) update();
}

void ItemChart::paint_current(QPainter& painter) const {
  if (!hasFocus() || current_ < 0 || current_ >= item_count()) return;
  const QRectF place = item_rect(current_);
  if (place.isEmpty()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme().base, 4));
  painter.drawRect(place.adjusted(-1, -1, 1, 1));
  painter.setPen(QPen(theme().accent, 2));
  painter.drawRect(place.adjusted(-1, -1, 1, 1));
}

}  // namespace ridgeline::gui
