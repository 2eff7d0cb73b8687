// compare_dialog.h: which captures are A and which are B.
#pragma once

#include <QCheckBox>
#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>

#include "compare/compare_sides.h"

namespace ridgeline::gui {

class CompareDialog : public QDialog {
  Q_OBJECT
 public:
  /// The first run of A is the window's own capture and stays.
  explicit CompareDialog(const CompareSides& sides, QWidget* parent = nullptr);

  [[nodiscard]] CompareSides sides() const;
  /// Adds runs to a side, each once.
  void add(bool to_a, const QStringList& paths);
  [[nodiscard]] bool can_accept() const { return accept_->isEnabled(); }

 private:
  QWidget* make_side(const QString& title, QListWidget* runs, bool is_a);
  void refresh();

  QListWidget* a_;
  QListWidget* b_;
  QCheckBox* paired_;
  QLabel* said_;
  QPushButton* accept_;
};

}  // namespace ridgeline::gui
