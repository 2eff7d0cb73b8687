// table_model.h: a table of the reports as Qt's models want it. The columns are those that the terminal, CSV and JSON
// have: one declaration serves all.
#pragma once

#include <QAbstractTableModel>
#include <QRegularExpression>
#include <QSortFilterProxyModel>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ridgeline/reports/table.h"

namespace ridgeline::gui {

// Roles beside Qt's own.
/// Number or text of the cell, for sorting; invalid: not known.
inline constexpr int kValueRole = Qt::UserRole;
/// reports::Style as int.
inline constexpr int kStyleRole = Qt::UserRole + 1;
/// Double, of a cell that is a share of a peak; invalid: it is not.
inline constexpr int kRatioRole = Qt::UserRole + 2;
/// reports::Elide as int.
inline constexpr int kElideRole = Qt::UserRole + 3;
/// Of headers: the column's key.
inline constexpr int kKeyRole = Qt::UserRole + 4;

class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// `keeps` is what the table refers to. The first line of its totals stands in the headers.
  void set_table(std::shared_ptr<const reports::Table> table, std::shared_ptr<const void> keeps);
  [[nodiscard]] const std::shared_ptr<const reports::Table>& table() const { return table_; }
  /// Heads with their units in a line of their own, which makes narrow columns of numbers with long heads.
  void split_heads(bool split);

  /// A kernel's name or an NVTX path, whichever the column holds, in at most that many columns (>= 8). Different
  /// ones of the column stay different, unless there are thousands of them.
  [[nodiscard]] QString elided_name(const QModelIndex& index, int columns) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const reports::Table> table_;
  std::shared_ptr<const void> keeps_;
  bool heads_are_split_ = false;
  mutable std::map<std::pair<int, int>, std::vector<QString>>
      names_;  // by column of the table and columns of text
};

/// Sorted by a column's values, filtered by a regular expression over its texts.
class TableProxy : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  /// A text that is no valid regular expression is looked for as it is. "": everything.
  void set_filter(const QString& text);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

/// What a regular expression of a user means; text that is none is taken literally. Case does not matter.
[[nodiscard]] QRegularExpression pattern_of(const QString& text);

/// Those rows of the table in that order, with the columns of those indices: for the clipboard and for files.
[[nodiscard]] QString as_tsv(const reports::Table& table, const std::vector<std::size_t>& rows,
                             const std::vector<std::size_t>& columns);
[[nodiscard]] QString as_markdown(const reports::Table& table, const std::vector<std::size_t>& rows,
                                  const std::vector<std::size_t>& columns);
/// All columns, as `ridgeline rank --format csv` writes them.
[[nodiscard]] QByteArray as_csv(const reports::Table& table, const std::vector<std::size_t>& rows);

}  // namespace ridgeline::gui
