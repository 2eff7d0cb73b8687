#include "compare/compare_dialog.h"

#include <QBoxLayout>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <algorithm>

namespace ridgeline::gui {
namespace {

std::vector<QString> paths_of(const QListWidget& list) {
  std::vector<QString> paths;
  for (int i = 0; i < list.count(); ++i) paths.push_back(list.item(i)->data(Qt::UserRole).toString());
  return paths;
}

}  // namespace

CompareDialog::CompareDialog(const CompareSides& sides, QWidget* parent)
    : QDialog(parent),
      a_(new QListWidget(this)),
      b_(new QListWidget(this)),
      paired_(new QCheckBox(tr("Recorded in &turn: run 1 of A, run 1 of B, run 2 of A, …"), this)),
      said_(new QLabel(this)),
      accept_(nullptr) {
  setWindowTitle(tr("Compare captures"));
  resize(720, 420);
  auto* column = new QVBoxLayout(this);
  auto* both = new QHBoxLayout;
  both->addWidget(make_side(tr("A: before"), a_, true));
  both->addWidget(make_side(tr("B: after"), b_, false));
  column->addLayout(both, 1);
  column->addWidget(paired_);
  said_->setWordWrap(true);
  column->addWidget(said_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  accept_ = buttons->addButton(tr("&Compare"), QDialogButtonBox::AcceptRole);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(paired_, &QCheckBox::toggled, this, &CompareDialog::refresh);
  column->addWidget(buttons);
  paired_->setChecked(sides.paired);
  for (const bool is_a : {true, false}) {
    for (const QString& path : is_a ? sides.a : sides.b) add(is_a, {path});
  }
  refresh();
}

QWidget* CompareDialog::make_side(const QString& title, QListWidget* runs, bool is_a) {
  auto* side = new QWidget(this);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(0, 0, 0, 0);
  auto* label = new QLabel(title, side);
  label->setBuddy(runs);
  column->addWidget(label);
  runs->setParent(side);
  runs->setAccessibleName(title);
  runs->setSelectionMode(QAbstractItemView::ExtendedSelection);
  runs->setDragDropMode(QAbstractItemView::InternalMove);  // their order pairs them
  column->addWidget(runs, 1);
  auto* buttons = new QHBoxLayout;
  auto* more = new QPushButton(is_a ? tr("&Add runs of A…") : tr("Add &runs of B…"), side);
  auto* less = new QPushButton(tr("Remove"), side);
  buttons->addWidget(more);
  buttons->addWidget(less);
  buttons->addStretch(1);
  column->addLayout(buttons);
  connect(more, &QPushButton::clicked, this, [this, is_a] {
    const QString beside =
        a_->count() > 0 ? QFileInfo(a_->item(0)->data(Qt::UserRole).toString()).absolutePath() : QString();
    add(is_a, QFileDialog::getOpenFileNames(this, is_a ? tr("Runs of A") : tr("Runs of B"), beside,
                                            tr("Captures (*.ridge);;All files (*)")));
  });
  connect(less, &QPushButton::clicked, this, [this, runs] {
    for (QListWidgetItem* item : runs->selectedItems()) {
      if (item->flags() & Qt::ItemIsSelectable) delete item;
    }
    refresh();
  });
  return side;
}

void CompareDialog::add(bool to_a, const QStringList& paths) {
  QListWidget* list = to_a ? a_ : b_;
  for (const QString& path : paths) {
    const std::vector<QString> there = paths_of(*list);
    if (std::find(there.begin(), there.end(), path) != there.end()) continue;
    auto* item = new QListWidgetItem(QFileInfo(path).fileName(), list);
    item->setData(Qt::UserRole, path);
    item->setToolTip(path);
    if (to_a && list->count() == 1)
      item->setFlags(item->flags() & ~(Qt::ItemIsSelectable | Qt::ItemIsDragEnabled));
  }
  refresh();
}

CompareSides CompareDialog::sides() const {
  return {paths_of(*a_), paths_of(*b_), paired_->isChecked()};
}

void CompareDialog::refresh() {
  const int a = a_->count(), b = b_->count();
  paired_->setEnabled(a == b);
  accept_->setEnabled(a > 0 && b > 0);
  if (b == 0) {
    said_->setText(tr("Add at least one capture to B."));
  } else if (a < 3 || b < 3) {
    said_->setText(
        tr("A verdict needs at least three runs per side: one run says nothing of how much runs differ."));
  } else if (a != b) {
    said_->setText(tr("As many runs on both sides, recorded in turn, show smaller changes."));
  } else {
    said_->clear();
  }
}

}  // namespace ridgeline::gui
