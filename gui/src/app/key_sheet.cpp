#include "app/key_sheet.h"

#include <QBoxLayout>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>

namespace ridgeline::gui {

KeySheet::KeySheet(KeyMap& keys, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys"));
  resize(620, 640);
  auto* column = new QVBoxLayout(this);
  auto* fixed = new QLabel(tr("In the timeline W, S, A and D zoom and pan by their place on the keyboard, "
                              "and so do arrows and wheel; drag "
                              "chooses a range (Alt: without snapping), Shift+drag and Space+drag pan. "
                              "Ctrl+0 to Ctrl+9 keep a bookmark, 0 to "
                              "9 go there. A double click on a key below changes it."),
                           this);
  fixed->setWordWrap(true);
  column->addWidget(fixed);
  auto* table = new QTableWidget(static_cast<int>(keys.entries().size()), 2, this);
  table->setHorizontalHeaderLabels({tr("command"), tr("key")});
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  table->setColumnWidth(1, 180);
  table->verticalHeader()->hide();
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setAccessibleName(tr("Commands and their keys"));
  auto* said = new QLabel(this);
  for (int row = 0; row < table->rowCount(); ++row) {
    const KeyMap::Entry entry = keys.entries()[static_cast<std::size_t>(row)];
    auto* name = new QTableWidgetItem(
        entry.text + (entry.place == KeyMap::Place::timeline ? tr("  (timeline)") : QString()));
    name->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    table->setItem(row, 0, name);
    auto* edit = new QKeySequenceEdit(entry.key, table);
    edit->setAccessibleName(entry.text);
    table->setCellWidget(row, 1, edit);
    connect(edit, &QKeySequenceEdit::editingFinished, this, [&keys, edit, said, id = entry.id] {
      const KeyMap::Entry* now = keys.find(id);
      if (now == nullptr || edit->keySequence() == now->key) return;
      if (keys.rebind(id, edit->keySequence())) {
        said->setText(tr("%1: %2").arg(now->text, edit->keySequence().toString(QKeySequence::NativeText)));
      } else {
        said->setText(
            tr("%1 is taken by another command").arg(edit->keySequence().toString(QKeySequence::NativeText)));
        edit->setKeySequence(now->key);
      }
    });
  }
  column->addWidget(table, 1);
  column->addWidget(said);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  auto* reset = buttons->addButton(tr("Restore defaults"), QDialogButtonBox::ResetRole);
  connect(reset, &QPushButton::clicked, this, [this, &keys] {
    keys.reset();
    accept();
  });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::accept);
  column->addWidget(buttons);
}

}  // namespace ridgeline::gui
