#include "panels/sql_panel.h"

#include <QBoxLayout>
#include <QEvent>
#include <QFontDatabase>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QSplitter>
#include <algorithm>

#include "models/text.h"
#include "panels/named_box.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/gap_view.h"
#include "ridgeline/reports/tables.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxRows = 10'000;
constexpr int kShownLines = 3;
constexpr int kSchemaWidth = 190;
// Words and seconds; 0: as long as it takes.
constexpr std::pair<const char*, int> kLimits[] = {
    {"10 s", 10}, {"1 min", 60}, {"10 min", 600}, {"no limit", 0}};

std::optional<std::int64_t> whole_number(const reports::Table& table, std::size_t row, std::string_view key) {
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    if (table.columns()[column].key != key) continue;
    const reports::Cell cell = table.cell(row, column);
    if (const auto* value = std::get_if<std::int64_t>(&cell.value())) return *value;
  }
  return std::nullopt;
}

}  // namespace

QueryField::QueryField(QWidget* parent) : QPlainTextEdit(parent) {
  setTabChangesFocus(true);
  setLineWrapMode(QPlainTextEdit::WidgetWidth);
}

void QueryField::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && (event->modifiers() & Qt::ShiftModifier) == 0) {
    emit asked();
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
}

SqlPanel::SqlPanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      query_(new QueryField(this)),
      button_(new QToolButton(this)),
      limits_(new QComboBox(this)),
      status_(new QLabel(this)),
      table_(new TableView(this)),
      schema_(new QTreeWidget(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 4, 6, 2);
  query_->setPlaceholderText(
      tr("SELECT kernel, start_ns, end_ns FROM v_launch ORDER BY duration_ns DESC LIMIT 20"));
  query_->setToolTip(tr("Enter asks, Shift+Enter begins another line"));
  query_->setAccessibleName(tr("SQL query"));
  query_->setFixedHeight(query_->fontMetrics().lineSpacing() * kShownLines + 12);
  bar->addWidget(query_, 1);
  auto* side = new QVBoxLayout;
  side->addWidget(button_);
  side->addWidget(limits_);
  auto* views = new QToolButton(this);
  views->setText(tr("Views"));
  views->setToolTip(tr("What a query can name: views and their columns"));
  views->setCheckable(true);
  views->setChecked(true);
  views->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(views, &QToolButton::toggled, schema_, &QWidget::setVisible);
  side->addWidget(views);
  side->addStretch(1);
  bar->addLayout(side);
  all->addLayout(bar);
  status_->setContentsMargins(8, 0, 8, 4);
  status_->setWordWrap(true);
  status_->setTextFormat(Qt::PlainText);
  status_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  status_->hide();
  all->addWidget(status_);
  auto* below = new QSplitter(Qt::Horizontal, this);
  below->addWidget(schema_);
  below->addWidget(table_);
  below->setStretchFactor(1, 1);
  below->setSizes({kSchemaWidth, 4 * kSchemaWidth});
  all->addWidget(below, 1);
  make_schema();
  table_->setAccessibleName(tr("Rows of the query"));
  button_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  name_box(limits_, tr("How long a query may take"));
  limits_->setToolTip(limits_->accessibleName());
  for (const auto& [words, seconds] : kLimits) limits_->addItem(tr(words), seconds);
  limits_->setCurrentIndex(1);
  limit_.setSingleShot(true);
  set_running(false);
  connect(query_, &QueryField::asked, this, [this] { run(query_->toPlainText()); });
  connect(button_, &QToolButton::clicked, this, [this] {
    if (running_) {
      stop();
    } else {
      run(query_->toPlainText());
    }
  });
  connect(&limit_, &QTimer::timeout, this,
          [this] { end(tr("stopped: it took longer than %1").arg(limits_->currentText())); });
  connect(table_, &TableView::row_chosen, this, &SqlPanel::follow);
}

// The views are of every capture of this version; their columns are asked for where they are opened.
void SqlPanel::make_schema() {
  schema_->setHeaderHidden(true);
  schema_->setMinimumWidth(80);
  schema_->setAccessibleName(tr("Views and their columns"));
  for (const queries::ViewDescription& view : queries::described_views()) {
    auto* item = new QTreeWidgetItem(schema_, {plain(view.name)});
    item->setChildIndicatorPolicy(QTreeWidgetItem::ShowIndicator);
    item->setToolTip(0, "<pre>" + QString::fromStdString(view.definition).toHtmlEscaped() + "</pre>");
    item->setData(0, Qt::AccessibleDescriptionRole, plain(view.rows));
    item->setData(0, Qt::UserRole, QString::fromStdString(view.definition));
  }
  connect(schema_, &QTreeWidget::itemExpanded, this, &SqlPanel::list_columns);
  connect(schema_, &QTreeWidget::itemActivated, this, &SqlPanel::use);
}

void SqlPanel::list_columns(QTreeWidgetItem* view) {
  if (view->childCount() > 0 || view->parent() != nullptr) return;
  const QString definition = view->data(0, Qt::UserRole).toString();
  // What is made for a query is not made to be listed: its definition has a line for each column.
  if (definition.startsWith("CREATE TEMP TABLE")) {
    static const QRegularExpression kColumn("^  (\\w+) +[A-Z]", QRegularExpression::MultilineOption);
    for (auto found = kColumn.globalMatch(definition); found.hasNext();)
      view->addChild(new QTreeWidgetItem({found.next().captured(1)}));
    return;
  }
  worker_.ask<queries::SqlRows>(
      this, "columns " + view->text(0).toStdString(),
      [path = document_.path().toStdString(),
       name = view->text(0).toStdString()](const std::stop_token& stop) -> Result<queries::SqlRows> {
        const auto capture = store::Capture::open(path);
        if (!capture) return capture.failure();
        return queries::ask(capture.value(), {"SELECT * FROM " + name + " LIMIT 0", 1}, stop);
      },
      [view](Result<queries::SqlRows> rows) {
        if (!rows) return;
        for (const std::string& column : rows.value().table.columns)
          view->addChild(new QTreeWidgetItem({shown(column)}));
      });
}

void SqlPanel::use(QTreeWidgetItem* item) {
  if (item->parent() == nullptr) {
    run("SELECT * FROM " + item->text(0) + " LIMIT 100");
  } else {
    query_->insertPlainText(item->text(0));
    query_->setFocus();
  }
}

void SqlPanel::set_running(bool running) {
  running_ = running;
  button_->setText(running ? tr("Stop") : tr("Run"));
  button_->setAccessibleName(running ? tr("Stop the query") : tr("Run the query"));
  const int seconds = limits_->currentData().toInt();
  if (running && seconds > 0) {
    limit_.start(seconds * 1000);
  } else {
    limit_.stop();
  }
}

void SqlPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && status_->isVisibleTo(this)) say(status_->text(), wrong_);
}

void SqlPanel::say(const QString& text, bool wrong) {
  wrong_ = wrong;
  QPalette colours = palette();
  if (wrong) colours.setColor(QPalette::WindowText, theme().bad);
  status_->setPalette(colours);
  status_->setText(text);
  status_->show();
}

void SqlPanel::stop() {
  end(tr("stopped"));
}

void SqlPanel::end(const QString& why) {
  if (!running_) return;
  worker_.cancel("sql");
  set_running(false);
  say(why, true);
}

void SqlPanel::run(const QString& sql) {
  if (query_->toPlainText() != sql) query_->setPlainText(sql);
  set_running(true);
  say(tr("asking…"), false);
  worker_.ask<Rows>(
      this, "sql",
      [path = document_.path().toStdString(),
       text = sql.toStdString()](const std::stop_token& stop) -> Result<Rows> {
        const auto capture = store::Capture::open(path);
        if (!capture) return capture.failure();
        auto rows = queries::ask(capture.value(), {text, kMaxRows}, stop);
        if (!rows) return rows.failure();
        return std::make_shared<const queries::SqlRows>(std::move(rows).value());
      },
      [this](Result<Rows> result) {
        set_running(false);
        if (result) {
          show_rows(result.value());
        } else {
          // Rows of another query beside the error would look like its answer.
          show_rows(std::make_shared<const queries::SqlRows>());
          say(shown(result.failure().message), true);
        }
      });
}

void SqlPanel::show_rows(const Rows& rows) {
  table_->set_table(std::make_shared<const reports::Table>(reports::query_table(rows->table)), rows);
  say(plain(counted(static_cast<std::int64_t>(rows->table.rows.size()), "row")) +
          (rows->cut ? tr(", the first ones") : QString()),
      false);
}

// A row that names a time is shown there.
void SqlPanel::follow(std::size_t row) {
  const auto& table = table_->table_model()->table();
  const auto start = whole_number(*table, row, "start_ns");
  if (!start) return;
  const std::int64_t end = std::max(whole_number(*table, row, "end_ns").value_or(*start + 1000), *start + 1);
  const std::int64_t room = std::max<std::int64_t>((end - *start) * 2, 1000);
  selection_.show({*start - room, end + room});
  selection_.select_range(analyzer::TimeWindow{*start, end});
}

}  // namespace ridgeline::gui
