#include "panels/column_chooser.h"

#include <QBoxLayout>
#include <QGuiApplication>
#include <QHeaderView>
#include <QScreen>
#include <algorithm>
#include <set>
#include <string>

#include "models/text.h"

namespace ridgeline::gui {
namespace {

constexpr int kColumnRole = Qt::UserRole;
constexpr QSize kChooserSize(640, 460);

QString entry_of(const reports::ColumnHead& head) {
  const QString title = plain(reports::whole_name(head));
  return title.isEmpty() ? plain(head.key) : title;
}

}  // namespace

ColumnChooser::ColumnChooser(const reports::Table& table, const std::vector<bool>& shown, QWidget* parent)
    : QFrame(parent, Qt::Popup), field_(new QLineEdit(this)), list_(new QTreeWidget(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setFrameShape(QFrame::StyledPanel);
  setAccessibleName(tr("Columns"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  column->addWidget(field_);
  column->addWidget(list_);
  field_->setPlaceholderText(tr("Search: name, key or meaning"));
  field_->setClearButtonEnabled(true);
  field_->setAccessibleName(tr("Search of the columns"));
  list_->setAccessibleName(tr("Columns in groups"));
  list_->setColumnCount(2);
  list_->setHeaderHidden(true);
  list_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  list_->setRootIsDecorated(true);
  setTabOrder(field_, list_);
  setFocusProxy(field_);

  const auto& heads = table.columns();
  std::set<std::string> listed;
  const auto add = [&](QTreeWidgetItem* group, std::size_t i) {
    listed.insert(heads[i].key);
    auto* item = new QTreeWidgetItem(group, {entry_of(heads[i]), plain(heads[i].key)});
    item->setData(0, kColumnRole, static_cast<qulonglong>(i));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
    item->setCheckState(0, i < shown.size() && shown[i] ? Qt::Checked : Qt::Unchecked);
    item->setSizeHint(1, QSize(0, list_->fontMetrics().height() + 5));  // the first is as wide as its words
    for (const int at : {0, 1}) item->setToolTip(at, shown_lines(heads[i].help));
  };
  std::set<std::string> grouped;
  for (const reports::ColumnGroup& group : table.groups())
    grouped.insert(group.keys.begin(), group.keys.end());
  QTreeWidgetItem* general = add_group(table.groups().empty() ? tr("columns") : tr("general"));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    // What is in every group names the row or its time.
    const bool everywhere =
        std::all_of(table.groups().begin(), table.groups().end(), [&](const reports::ColumnGroup& group) {
          return std::find(group.keys.begin(), group.keys.end(), heads[i].key) != group.keys.end();
        });
    if (everywhere || !grouped.contains(heads[i].key)) add(general, i);
  }
  for (const reports::ColumnGroup& group : table.groups()) {
    QTreeWidgetItem* into = add_group(plain(group.name));
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (listed.contains(heads[i].key)) continue;
      if (std::find(group.keys.begin(), group.keys.end(), heads[i].key) != group.keys.end()) add(into, i);
    }
    if (into->childCount() == 0) delete into;
  }
  list_->expandAll();
  connect(field_, &QLineEdit::textChanged, this, &ColumnChooser::search);
  connect(list_, &QTreeWidget::itemChanged, this, [this](const QTreeWidgetItem* item, int at) {
    if (at == 0 && item->parent() != nullptr)
      emit column_toggled(item->data(0, kColumnRole).toULongLong(), item->checkState(0) == Qt::Checked);
  });
}

QTreeWidgetItem* ColumnChooser::add_group(const QString& name) {
  auto* group = new QTreeWidgetItem(list_, {name});
  QFont font = list_->font();
  font.setBold(true);
  group->setFont(0, font);
  group->setFlags(Qt::ItemIsEnabled);
  group->setFirstColumnSpanned(true);
  return group;
}

// Groups without a match go with their lines.
void ColumnChooser::search(const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  for (int g = 0; g < list_->topLevelItemCount(); ++g) {
    QTreeWidgetItem* group = list_->topLevelItem(g);
    bool any = false;
    for (int i = 0; i < group->childCount(); ++i) {
      QTreeWidgetItem* item = group->child(i);
      const QString all = item->text(0) + ' ' + item->text(1) + ' ' + item->toolTip(0) + ' ' + group->text(0);
      const bool matches = std::all_of(words.begin(), words.end(), [&](const QString& word) {
        return all.contains(word, Qt::CaseInsensitive);
      });
      item->setHidden(!matches);
      any = any || matches;
    }
    group->setHidden(!any);
  }
}

// Whole on the screen that the mouse is on.
void ColumnChooser::open_at(const QPoint& on_screen) {
  const QScreen* screen = QGuiApplication::screenAt(on_screen);
  if (screen == nullptr) screen = QGuiApplication::primaryScreen();
  const QRect room = screen->availableGeometry();
  const QSize size = kChooserSize.boundedTo(room.size());
  resize(size);
  move(std::clamp(on_screen.x(), room.left(), std::max(room.right() - size.width(), room.left())),
       std::clamp(on_screen.y(), room.top(), std::max(room.bottom() - size.height(), room.top())));
  show();
  field_->setFocus();
}

}  // namespace ridgeline::gui
