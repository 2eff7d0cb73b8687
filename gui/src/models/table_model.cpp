#include "models/table_model.h"

#include <algorithm>
#include <variant>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::gui {
namespace {

QVariant value_of(const reports::Scalar& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<qlonglong>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return shown(*text);
  return {};
}

bool is_utilisation(const std::string& key) {
  return key.ends_with("utilisation_ratio");
}

// Bars begin on the left, and so does what is written on them, or that nothing is known.
bool is_on_the_right(const reports::ColumnHead& head) {
  return head.align == reports::Align::right && !is_utilisation(head.key);
}

QString head_text(const reports::ColumnHead& head) {
  QString text = plain(head.header);
  if (!head.unit.empty()) text += ", " + plain(head.unit);
  return text;
}

}  // namespace

void TableModel::set_table(std::shared_ptr<const reports::Table> table, std::shared_ptr<const void> keeps) {
  beginResetModel();
  table_ = std::move(table);
  keeps_ = std::move(keeps);
  names_.clear();
  endResetModel();
}

void TableModel::split_heads(bool split) {
  if (split == heads_are_split_) return;
  heads_are_split_ = split;
  if (columnCount({}) > 0) emit headerDataChanged(Qt::Horizontal, 0, columnCount({}) - 1);
}

QString TableModel::elided_name(const QModelIndex& index, int columns) const {
  constexpr std::size_t kMaxNames = 2000;  // that are held against each other
  const auto column = static_cast<std::size_t>(index.column());
  const auto text = [&](std::size_t row) { return shown(table_->cell(row, column).words()).toStdString(); };
  const bool paths = table_->columns()[column].elide == reports::Elide::start;
  const auto elide = [&](const std::vector<std::string>& whole) {
    return paths ? reports::elide_paths(whole, columns) : reports::elide_kernel_names(whole, columns);
  };
  if (table_->size() > kMaxNames) return plain(elide({text(static_cast<std::size_t>(index.row()))}).front());
  std::vector<QString>& names = names_[{index.column(), columns}];
  if (names.empty()) {
    std::vector<std::string> whole;
    for (std::size_t row = 0; row < table_->size(); ++row) whole.push_back(text(row));
    for (const std::string& name : elide(whole)) names.push_back(plain(name));
  }
  return names.at(static_cast<std::size_t>(index.row()));
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return table_ && !parent.isValid() ? static_cast<int>(table_->size()) : 0;
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return table_ && !parent.isValid() ? static_cast<int>(table_->columns().size()) : 0;
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!table_ || !index.isValid()) return {};
  const auto column = static_cast<std::size_t>(index.column());
  const reports::ColumnHead& head = table_->columns()[column];
  const auto cell = [&] { return table_->cell(static_cast<std::size_t>(index.row()), column); };
  switch (role) {
    case Qt::DisplayRole:
      return shown(with_minus_sign(cell().words()));
    case Qt::ToolTipRole: {
      const QString text = shown(cell().words());
      return head.elide == reports::Elide::never ? plain(head.help).remove('`') : text;
    }
    case Qt::TextAlignmentRole:
      return int((is_on_the_right(head) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::AccessibleTextRole:
      return head_text(head) + ": " + shown(cell().words());
    case kValueRole:
      return value_of(cell().value());
    case kStyleRole:
      return static_cast<int>(cell().style());
    case kElideRole:
      return static_cast<int>(head.elide);
    case kRatioRole: {
      if (!is_utilisation(head.key)) return {};
      const auto value = cell().value();
      if (const auto* ratio = std::get_if<double>(&value)) return *ratio;
      return {};
    }
    default:
      return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (!table_ || orientation != Qt::Horizontal) return {};
  const auto column = static_cast<std::size_t>(section);
  const reports::ColumnHead& head = table_->columns()[column];
  switch (role) {
    case Qt::DisplayRole: {
      QString text = heads_are_split_ ? plain(head.header) + '\n' + plain(head.unit) : head_text(head);
      if (table_->total_count() > 0) {
        const QString total =
            shown(with_minus_sign(table_->total(table_->total_count() - 1, column).words()));
        text += '\n' + total;
      }
      return text;
    }
    case Qt::ToolTipRole:
      // Marks of the documents' code are none of a tooltip.
      return plain(reports::title_of(head)) + ": " + plain(head.help).remove('`');
    case Qt::TextAlignmentRole:
      return int((is_on_the_right(head) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::InitialSortOrderRole:
      // Of numbers the largest are sought, of names those that begin with an A.
      return static_cast<int>(head.align == reports::Align::right ? Qt::DescendingOrder : Qt::AscendingOrder);
    case kKeyRole:
      return plain(head.key);
    default:
      return {};
  }
}

void TableProxy::set_filter(const QString& text) {
  setFilterRegularExpression(text.isEmpty() ? QRegularExpression() : pattern_of(text));
}

bool TableProxy::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const QRegularExpression pattern = filterRegularExpression();
  if (pattern.pattern().isEmpty()) return true;
  for (int column = 0; column < sourceModel()->columnCount(parent); ++column) {
    const QVariant value = sourceModel()->index(row, column, parent).data(kValueRole);
    if (value.userType() == QMetaType::QString && pattern.match(value.toString()).hasMatch()) return true;
  }
  return false;
}

bool TableProxy::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(kValueRole), b = right.data(kValueRole);
  // What is not known is last, whichever way the others are sorted.
  if (!a.isValid() || !b.isValid()) {
    return a.isValid() != b.isValid() && (sortOrder() == Qt::AscendingOrder ? a.isValid() : b.isValid());
  }
  if (a.userType() == QMetaType::QString)
    return QString::compare(a.toString(), b.toString(), Qt::CaseInsensitive) < 0;
  return a.toDouble() < b.toDouble();
}

QRegularExpression pattern_of(const QString& text) {
  QRegularExpression pattern(text, QRegularExpression::CaseInsensitiveOption);
  if (!pattern.isValid()) pattern.setPattern(QRegularExpression::escape(text));
  return pattern;
}

QString as_tsv(const reports::Table& table, const std::vector<std::size_t>& rows,
               const std::vector<std::size_t>& columns) {
  QString out;
  const auto line = [&](const auto& text_of) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out += '\t';
      out += text_of(columns[i]);
    }
    out += '\n';
  };
  line([&](std::size_t column) { return head_text(table.columns()[column]); });
  for (const std::size_t row : rows) {
    line([&](std::size_t column) { return shown(table.cell(row, column).words()); });
  }
  return out;
}

QString as_markdown(const reports::Table& table, const std::vector<std::size_t>& rows,
                    const std::vector<std::size_t>& columns) {
  reports::Table part = table;
  std::string keys;
  for (const std::size_t column : columns) keys += (keys.empty() ? "" : ",") + table.columns()[column].key;
  part.pick(rows);
  part.select(keys);
  return plain(reports::render_markdown(part));
}

QByteArray as_csv(const reports::Table& table, const std::vector<std::size_t>& rows) {
  reports::Table part = table;
  part.pick(rows);
  QByteArray out;
  reports::write_csv(
      part, [&](std::string_view text) { out.append(text.data(), static_cast<qsizetype>(text.size())); });
  return out;
}

}  // namespace ridgeline::gui
