#include "panels/table_view.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QSaveFile>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "models/text.h"
#include "panels/column_chooser.h"
#include "ridgeline/reports/elide.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr int kMinColumns = 8;         // characters of a name that is cut
constexpr int kMinNameWidth = 240;     // pixels, at least: names of kernels differ at their ends
constexpr int kMinElasticWidth = 160;  // likewise of other columns that are cut
constexpr std::size_t kMinKept = 3;
constexpr int kBarWidth = 92;
constexpr int kTightNameWidth = 180, kTightElasticWidth = 110,
              kTightBarWidth = 72;  // where columns would not fit otherwise

QString elided(const QModelIndex& index, const QString& text, reports::Elide how, int columns) {
  switch (how) {
    case reports::Elide::kernel_name:
    case reports::Elide::start: {
      // Beside the names of the other rows.
      const auto* proxy = qobject_cast<const TableProxy*>(index.model());
      const auto* model = proxy != nullptr ? qobject_cast<const TableModel*>(proxy->sourceModel()) : nullptr;
      return model != nullptr ? model->elided_name(proxy->mapToSource(index), std::max(columns, 8))
             : how == reports::Elide::start
                 ? plain(reports::elide_start(text.toStdString(), std::max(columns, 4)))
                 : plain(reports::elide_kernel_name(text.toStdString(), std::max(columns, 8)));
    }
    case reports::Elide::middle:
      return plain(reports::elide_middle(text.toStdString(), std::max(columns, 4)));
    default:
      return text;
  }
}

}  // namespace

void CellDelegate::set_targets(double target, double stretch) {
  target_ = target;
  stretch_ = stretch;
}

void CellDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const auto how = static_cast<reports::Elide>(index.data(kElideRole).toInt());
  if (how != reports::Elide::never) {
    // Letters differ in width: what is still too long would be cut a second time, elsewhere.
    const int room = option->rect.width() - 10;
    const QString whole = option->text;
    int columns = room / std::max(option->fontMetrics.averageCharWidth(), 1);
    option->text = elided(index, whole, how, columns);
    while (columns > kMinColumns && option->fontMetrics.horizontalAdvance(option->text) > room)
      option->text = elided(index, whole, how, --columns);
  }
  const auto style = static_cast<reports::Style>(index.data(kStyleRole).toInt());
  if (style == reports::Style::strong) option->font.setBold(true);
  const QColor colour = theme().of(style);
  if (colour.isValid() && !index.data(kRatioRole).isValid()) option->palette.setColor(QPalette::Text, colour);
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  const QVariant value = index.data(kRatioRole);
  if (!value.isValid()) {
    QStyledItemDelegate::paint(painter, option, index);
    return;
  }
  QStyleOptionViewItem own = option;
  initStyleOption(&own, index);
  const Theme& t = theme();
  const bool chosen = own.state & QStyle::State_Selected;
  painter->save();
  // Short of the target, up to the stretch goal, beyond it: a ground in three steps behind each bar, for
  // lines and dots in every row look like letters.
  painter->fillRect(own.rect, chosen ? own.palette.color(QPalette::Highlight)
                                     : (index.row() % 2 != 0 ? t.alternate : t.base));
  const QRectF bar = QRectF(own.rect).adjusted(4, 3.5, -4, -3.5);
  const double ratio = std::clamp(value.toDouble(), 0.0, 1.0);
  const auto style = static_cast<reports::Style>(index.data(kStyleRole).toInt());
  for (const double from : {target_, stretch_}) {
    QColor zone = chosen ? t.accent_text : t.text;
    zone.setAlphaF(0.07F);
    painter->fillRect(QRectF(QPointF(bar.left() + bar.width() * from, own.rect.top()),
                             QPointF(bar.right(), own.rect.bottom() + 1.0)),
                      zone);
  }
  // What is chosen has a ground of its own: there the bar is an outline, and the value stays readable.
  const QRectF filled(bar.left(), bar.top(), bar.width() * ratio, bar.height());
  if (chosen) {
    painter->setPen(QPen(t.accent_text, 1));
    painter->drawRect(filled.adjusted(0.5, 0.5, -0.5, -0.5));
  } else {
    painter->fillRect(filled, t.bar(style));
  }
  // The bar has the colour of the judgement; in the same colour the value could not be read on it.
  painter->setPen(chosen ? t.accent_text : t.text);
  painter->setFont(own.font);
  painter->drawText(bar.adjusted(4, 0, -3, 0), Qt::AlignLeft | Qt::AlignVCenter, own.text);
  painter->restore();
}

TableView::TableView(QWidget* parent) : QTableView(parent), delegate_(new CellDelegate(this)) {
  proxy_.setSourceModel(&model_);
  setModel(&proxy_);
  const auto measure_again = [this] { cells_widths_.clear(); };
  connect(&proxy_, &QAbstractItemModel::modelReset, this, measure_again);
  connect(&proxy_, &QAbstractItemModel::layoutChanged, this, measure_again);
  connect(&proxy_, &QAbstractItemModel::dataChanged, this, measure_again);
  connect(&proxy_, &QAbstractItemModel::rowsInserted, this, measure_again);
  connect(&proxy_, &QAbstractItemModel::rowsRemoved, this, measure_again);
  setItemDelegate(delegate_);
  setSelectionBehavior(SelectRows);
  setAlternatingRowColors(true);
  setShowGrid(false);
  setWordWrap(false);
  setMouseTracking(true);
  setTabKeyNavigation(false);
  setSortingEnabled(true);
  horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  horizontalHeader()->setSectionsMovable(true);
  horizontalHeader()->setHighlightSections(false);  // bold, a head is wider than its column
  horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(horizontalHeader(), &QWidget::customContextMenuRequested, this, &TableView::column_menu);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 7);
  connect(this, &QAbstractItemView::entered, this, [this](const QModelIndex& index) {
    emit row_hovered(static_cast<std::size_t>(proxy_.mapToSource(index).row()));
  });
}

void TableView::set_table(std::shared_ptr<const reports::Table> table, std::shared_ptr<const void> keeps) {
  QString keys, units;
  for (const reports::ColumnHead& head : table->columns()) {
    keys += plain(head.key) + ',';
    units += plain(head.unit) + ',';
  }
  const bool same = keys == keys_, same_units = units == units_;
  units_ = units;
  const QSignalBlocker quiet(selectionModel());
  model_.set_table(std::move(table), std::move(keeps));
  if (same) {
    if (!same_units) fit_columns();
    return;
  }
  keys_ = keys;
  dropped_.clear();
  asked_.clear();
  const auto& heads = model_.table()->columns();
  for (std::size_t i = 0; i < heads.size(); ++i) setColumnHidden(static_cast<int>(i), !heads[i].shown);
  fit_columns();
}

int TableView::cells_width(int column) {
  const auto [place, fresh] = cells_widths_.try_emplace(column, 0);
  if (!fresh) return place->second;
  const int rows = std::min(proxy_.rowCount(), 60);
  for (int row = 0; row < rows; ++row) {
    const QString text = proxy_.index(row, column).data().toString();
    place->second = std::max(place->second, fontMetrics().horizontalAdvance(text) + 14);
  }
  return place->second;
}

int TableView::natural_width(int column) {
  const reports::ColumnHead& head = model_.table()->columns()[static_cast<std::size_t>(column)];
  int width = 0;
  const QString words = proxy_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  for (const QString& line : words.split('\n'))
    width = std::max(width, horizontalHeader()->fontMetrics().horizontalAdvance(line) + 26);
  width = std::max(width, cells_width(column));
  if (head.key.ends_with("utilisation_ratio")) width = std::max(width, tight_ ? kTightBarWidth : kBarWidth);
  return std::min(width, 420);
}

// Heads of one line where no column has to go for them, else their units go below them, and then names and bars give
// way, and what is shown unasked goes from the end, and names have their room again.
void TableView::fit_columns() {
  if (!model_.table()) return;
  const auto size = [this](bool split, bool tight, bool all_go = false) {
    tight_ = tight;
    all_go_ = all_go;
    model_.split_heads(split);
    size_columns();
    return fits();
  };
  // What has to be scrolled in any case has names that can be read.
  const bool fits_as_it_is = size(false, false);
  const std::size_t gone = dropped_.size();
  if (!fits_as_it_is || gone > 0) {
    const bool fits_split = size(true, false);
    if (fits_as_it_is && (!fits_split || dropped_.size() >= gone))
      size(false, false);
    else if (!fits_split && !size(true, true) && (!asked_.empty() || !size(true, false, true)))
      size(true, false);
  }
  show_whole_columns();
}

bool TableView::fits() const {
  int width = 0;
  for (const std::size_t column : shown_columns()) width += columnWidth(static_cast<int>(column));
  return width <= viewport()->width();
}

// Columns as wide as their words; what may be elided gets the rest. Where the width does not suffice, columns go in the
// order in which a terminal drops them.
void TableView::size_columns() {
  const auto& heads = model_.table()->columns();
  for (const int column : dropped_) setColumnHidden(column, false);
  dropped_.clear();
  struct Sized {
    int column, width, wanted, drop_order;
  };
  std::vector<Sized> columns;
  int used = 0;
  bool named = false;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const int column = static_cast<int>(i);
    if (isColumnHidden(column)) continue;
    const int natural = natural_width(column);
    int least = natural;
    if (heads[i].elide != reports::Elide::never) {
      // The first of them is what a row is called.
      const int name = tight_ ? kTightNameWidth : kMinNameWidth;
      const int other = tight_ ? kTightElasticWidth : kMinElasticWidth;
      least = std::min(named ? other : name, natural);
      named = true;
    }
    int order = asked_.contains(column) ? 0 : heads[i].drop_order;
    // Only what a row is called and what it is judged by stay in any case.
    if (all_go_ && order == 0 && columns.size() >= kMinKept) order = 1;
    columns.push_back({column, least, natural, order});
    used += least;
  }
  const int room = viewport()->width();
  while (used > room) {
    // Of several that go as early the last.
    const auto last = std::max_element(columns.rbegin(), columns.rend(), [](const Sized& a, const Sized& b) {
      return a.drop_order < b.drop_order;
    });
    if (last == columns.rend() || last->drop_order == 0) break;
    used -= last->width;
    dropped_.push_back(last->column);
    setColumnHidden(last->column, true);
    columns.erase(std::next(last).base());
  }
  // What is left goes to those that want more, and then to the first that is cut.
  int left = std::max(room - used, 0), wanted = 0;
  for (const Sized& each : columns) wanted += each.wanted - each.width;
  const double share = wanted > 0 ? std::min(static_cast<double>(left) / wanted, 1.0) : 0;
  Sized* first = nullptr;
  for (Sized& each : columns) {
    const int more = static_cast<int>((each.wanted - each.width) * share);
    each.width += more;
    left -= more;
    if (first == nullptr && heads[static_cast<std::size_t>(each.column)].elide != reports::Elide::never)
      first = &each;
  }
  if (first != nullptr) first->width += left;
  for (const Sized& each : columns) setColumnWidth(each.column, each.width);
}

// A column is seen whole or not at all, for half a head is another word: names take what the next one would be cut to.
void TableView::show_whole_columns() {
  const auto& heads = model_.table()->columns();
  int right = 0;
  std::optional<int> elastic;
  for (const std::size_t each : shown_columns()) {
    const int column = static_cast<int>(each), width = columnWidth(column);
    if (right + width > viewport()->width()) {
      if (elastic) setColumnWidth(*elastic, columnWidth(*elastic) + viewport()->width() - right);
      return;
    }
    right += width;
    if (!elastic && heads[each].elide != reports::Elide::never) elastic = column;
  }
}

void TableView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) cells_widths_.clear();
  QTableView::changeEvent(event);
}

void TableView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fit_columns();
  // Whole, too, if it was in sight: half of a chosen row looks like none.
  if (currentIndex().isValid() && visualRect(currentIndex()).intersects(QRect(QPoint(), event->oldSize())))
    scrollTo(currentIndex());
}

void TableView::set_filter(const QString& text) {
  proxy_.set_filter(text);
}

void TableView::set_targets(double target, double stretch) {
  delegate_->set_targets(target, stretch);
  viewport()->update();
}

std::vector<std::size_t> TableView::rows_to_copy() const {
  QModelIndexList chosen = selectionModel()->selectedRows();
  std::sort(chosen.begin(), chosen.end(),
            [](const QModelIndex& a, const QModelIndex& b) { return a.row() < b.row(); });
  std::vector<std::size_t> rows;
  if (chosen.size() > 1) {
    for (const QModelIndex& index : chosen)
      rows.push_back(static_cast<std::size_t>(proxy_.mapToSource(index).row()));
  } else {
    for (int row = 0; row < proxy_.rowCount(); ++row) {
      rows.push_back(static_cast<std::size_t>(proxy_.mapToSource(proxy_.index(row, 0)).row()));
    }
  }
  return rows;
}

std::vector<std::size_t> TableView::shown_columns() const {
  std::vector<std::size_t> columns;
  for (int visual = 0; visual < horizontalHeader()->count(); ++visual) {
    const int column = horizontalHeader()->logicalIndex(visual);
    if (!isColumnHidden(column)) columns.push_back(static_cast<std::size_t>(column));
  }
  return columns;
}

int TableView::row_of(std::size_t table_row) const {
  return proxy_.mapFromSource(model_.index(static_cast<int>(table_row), 0)).row();
}

void TableView::choose_quietly(int view_row) {
  following_ = false;
  if (view_row < 0) {
    clearSelection();
    setCurrentIndex({});
  } else if (view_row != currentIndex().row()) {
    int column = 0;
    while (column < proxy_.columnCount() && isColumnHidden(column)) ++column;
    // Of one row, whatever keys are down: with Ctrl a row would be added to those that were chosen.
    selectionModel()->setCurrentIndex(proxy_.index(view_row, column),
                                      QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    scrollTo(currentIndex());
  }
  following_ = true;
}

void TableView::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (following_ && current.isValid() && current.row() != previous.row()) {
    emit row_chosen(static_cast<std::size_t>(proxy_.mapToSource(current).row()));
  }
}

// The first row becomes the current one then, if none is: nobody chose it.
void TableView::focusInEvent(QFocusEvent* event) {
  const bool followed = following_;
  following_ = followed && currentIndex().isValid();
  QTableView::focusInEvent(event);
  following_ = followed;
}

void TableView::leaveEvent(QEvent* event) {
  QTableView::leaveEvent(event);
  emit hover_left();
}

void TableView::copy_tsv() {
  if (model_.table())
    QApplication::clipboard()->setText(as_tsv(*model_.table(), rows_to_copy(), shown_columns()));
}

void TableView::copy_markdown() {
  if (model_.table())
    QApplication::clipboard()->setText(as_markdown(*model_.table(), rows_to_copy(), shown_columns()));
}

void TableView::export_csv() {
  if (!model_.table()) return;
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export as CSV"), "ranking.csv", tr("CSV (*.csv)"));
  if (path.isEmpty()) return;
  QSaveFile file(path);
  const QByteArray csv = as_csv(*model_.table(), rows_to_copy());
  if (!file.open(QIODevice::WriteOnly) || file.write(csv) != csv.size() || !file.commit()) {
    QMessageBox::warning(this, tr("Export as CSV"), path + ": " + file.errorString());
  }
}

void TableView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    copy_tsv();
  } else {
    QTableView::keyPressEvent(event);
  }
}

void TableView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  menu.addAction(tr("Copy as TSV"), QKeySequence::Copy, this, &TableView::copy_tsv);
  menu.addAction(tr("Copy as Markdown"), this, &TableView::copy_markdown);
  menu.addAction(tr("Export as CSV…"), this, &TableView::export_csv);
  menu.addSeparator();
  menu.addAction(tr("Columns…"), this, [this, at = event->globalPos()] { column_menu(mapFromGlobal(at)); });
  menu.exec(event->globalPos());
}

void TableView::column_menu(const QPoint& at) {
  if (!model_.table()) return;
  std::vector<bool> shown;
  for (int i = 0; i < model_.columnCount(); ++i) shown.push_back(!isColumnHidden(i));
  auto* chooser = new ColumnChooser(*model_.table(), shown, this);
  connect(chooser, &ColumnChooser::column_toggled, this, [this](std::size_t column, bool on) {
    const int at = static_cast<int>(column);
    std::erase(dropped_, at);
    if (on) {
      asked_.insert(at);
    } else {
      asked_.erase(at);
    }
    setColumnHidden(at, !on);
    fit_columns();
  });
  chooser->open_at(mapToGlobal(at));
}

}  // namespace ridgeline::gui
