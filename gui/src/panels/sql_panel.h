// sql_panel.h: answers to read-only SQL, as a table whose rows lead back to the timeline.
#pragma once

#include <QLabel>
#include <QLineEdit>

#include "models/capture_document.h"
#include "models/worker.h"
#include "panels/table_view.h"

namespace ridgeline::gui {

class SqlPanel : public QWidget {
  Q_OBJECT
 public:
  SqlPanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);

  void run(const QString& sql);
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QString status() const { return status_->text(); }
  [[nodiscard]] bool busy() const { return worker_.busy(); }

 private:
  void follow(std::size_t row);

  CaptureDocument& document_;
  Selection& selection_;
  QLineEdit* query_;
  QLabel* status_;
  TableView* table_;
  Worker worker_;
};

}  // namespace ridgeline::gui
