// column_chooser.h: which columns a table shows, in groups, with a search.
#pragma once

#include <QFrame>
#include <QLineEdit>
#include <QTreeWidget>
#include <vector>

#include "ridgeline/reports/table.h"

namespace ridgeline::gui {

/// A popup that deletes itself when it is closed.
class ColumnChooser : public QFrame {
  Q_OBJECT
 public:
  /// `shown` has one entry per column of `table`. A column of several groups is listed in the first of them, one of
  /// none in a group before all others.
  ColumnChooser(const reports::Table& table, const std::vector<bool>& shown, QWidget* parent);
  [[nodiscard]] QLineEdit* field() const { return field_; }
  [[nodiscard]] QTreeWidget* list() const { return list_; }
  void open_at(const QPoint& on_screen);

 signals:
  void column_toggled(std::size_t column, bool shown);

 private:
  QTreeWidgetItem* add_group(const QString& name);
  void search(const QString& text);

  QLineEdit* field_;
  QTreeWidget* list_;
};

}  // namespace ridgeline::gui
