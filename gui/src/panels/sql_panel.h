// sql_panel.h: answers to read-only SQL, as a table whose rows lead back to the timeline. A query can be stopped, and
// is after the time that the user gives it.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>

#include "models/capture_document.h"
#include "models/worker.h"
#include "panels/table_view.h"
#include "ridgeline/queries/sql_query.h"

namespace ridgeline::gui {

/// A query of several lines: Enter asks it, Shift+Enter begins another line.
class QueryField : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit QueryField(QWidget* parent = nullptr);

 signals:
  void asked();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
};

class SqlPanel : public QWidget {
  Q_OBJECT
 public:
  SqlPanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);

  void run(const QString& sql);
  /// Ends the query that runs; what the timeline or the table show stays.
  void stop();
  [[nodiscard]] QueryField* query() const { return query_; }
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QToolButton* button() const { return button_; }
  [[nodiscard]] QComboBox* limits() const { return limits_; }
  /// The views that a query can name, each with its columns: activating a view asks for its first rows, a column is put
  /// into the query.
  [[nodiscard]] QTreeWidget* schema() const { return schema_; }
  [[nodiscard]] QString status() const { return status_->text(); }
  /// A query runs, or one that was stopped is about to end.
  [[nodiscard]] bool busy() const { return worker_.busy(); }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  using Rows = std::shared_ptr<const queries::SqlRows>;
  void end(const QString& why);
  void set_running(bool running);
  void say(const QString& text, bool wrong);
  void show_rows(const Rows& rows);
  void follow(std::size_t row);
  void make_schema();
  void list_columns(QTreeWidgetItem* view);
  void use(QTreeWidgetItem* item);

  CaptureDocument& document_;
  Selection& selection_;
  QueryField* query_;
  QToolButton* button_;
  QComboBox* limits_;
  QLabel* status_;
  TableView* table_;
  QTreeWidget* schema_;
  QTimer limit_;
  bool running_ = false;
  bool wrong_ = false;  // what the status says is an error
  Worker worker_;
};

}  // namespace ridgeline::gui
