// item_chart.h: a drawing of columns, boxes or dots that the keyboard walks and a screen reader reads.
#pragma once

#include <QString>
#include <QWidget>

namespace ridgeline::gui {

/// Each item has words and a place; Left, Right, Home and End go from one to the next, Enter and Space choose it. To a
/// screen reader it is a list.
class ItemChart : public QWidget {
  Q_OBJECT
 public:
  explicit ItemChart(QWidget* parent = nullptr);

  [[nodiscard]] virtual int item_count() const = 0;
  /// Name and value, for 0 <= item < item_count().
  [[nodiscard]] virtual QString item_text(int item) const = 0;
  /// In the widget's coordinates; may be empty.
  [[nodiscard]] virtual QRectF item_rect(int item) const = 0;
  /// As a click on it does. Does nothing if there is no such item.
  void choose(int item);
  /// Where the keyboard is; -1: it was not here yet.
  [[nodiscard]] int current_item() const { return current_; }

 protected:
  virtual void choose_item(int /*item*/) {}
  /// The keyboard came to it; -1: it left.
  virtual void reach_item(int /*item*/) {}
  /// After a change of the items.
  void items_changed();
  /// A ring round the item that the keyboard is on.
  void paint_current(QPainter& painter) const;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void reach(int item);
  int current_ = -1;
};

}  // namespace ridgeline::gui
