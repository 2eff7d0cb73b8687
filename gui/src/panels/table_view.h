// table_view.h: a table with everything one expects of one: sorting, filtering, choosing columns, copying, export.
#pragma once

#include <QStyledItemDelegate>
#include <QTableView>
#include <map>
#include <set>

#include "models/table_model.h"

namespace ridgeline::gui {

/// Draws shares of a peak as bars against the targets, and elides names where a reader needs them least.
class CellDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void set_targets(double target, double stretch);
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  double target_ = 0.70;
  double stretch_ = 0.85;
};

class TableView : public QTableView {
  Q_OBJECT
 public:
  explicit TableView(QWidget* parent = nullptr);

  /// Keeps sorting, widths and chosen columns if the columns are the same as before.
  void set_table(std::shared_ptr<const reports::Table> table, std::shared_ptr<const void> keeps);
  void set_filter(const QString& text);
  void set_targets(double target, double stretch);
  [[nodiscard]] TableModel* table_model() { return &model_; }
  [[nodiscard]] TableProxy* proxy() { return &proxy_; }

  /// Rows of the table as shown; of the chosen ones if there are several, else all.
  [[nodiscard]] std::vector<std::size_t> rows_to_copy() const;
  [[nodiscard]] std::vector<std::size_t> shown_columns() const;
  [[nodiscard]] int row_of(std::size_t table_row) const;  ///< of the view; -1: filtered away
  [[nodiscard]] bool follows_current() const { return following_; }
  /// Makes a row the current one without telling row_chosen().
  void choose_quietly(int view_row);

 public slots:
  void copy_tsv();
  void copy_markdown();
  void export_csv();

 signals:
  void row_chosen(std::size_t table_row);
  void row_hovered(std::size_t table_row);
  void hover_left();

 protected:
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void column_menu(const QPoint& at);
  [[nodiscard]] int natural_width(int column);
  /// The widest words of a column's first rows. Measuring them takes long, and a window that is resized asks often.
  [[nodiscard]] int cells_width(int column);
  void fit_columns();
  [[nodiscard]] bool fits() const;
  void size_columns();
  void show_whole_columns();

  TableModel model_;
  TableProxy proxy_;
  CellDelegate* delegate_;
  QString keys_, units_;
  std::map<int, int> cells_widths_;  // by column, of the rows as they are
  std::vector<int> dropped_;         // for lack of width
  bool tight_ = false;               // as little as can be for names and bars
  bool all_go_ = false;              // likewise of columns that no terminal drops
  std::set<int> asked_;              // by the user: these stay
  bool following_ = true;
};

}  // namespace ridgeline::gui
