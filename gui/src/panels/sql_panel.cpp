#include "panels/sql_panel.h"

#include <QBoxLayout>
#include <algorithm>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/sql_query.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxRows = 10'000;

std::optional<std::int64_t> whole_number(const reports::Table& table, std::size_t row, std::string_view key) {
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    if (table.columns()[column].key != key) continue;
    const reports::Cell cell = table.cell(row, column);
    if (const auto* value = std::get_if<std::int64_t>(&cell.value())) return *value;
  }
  return std::nullopt;
}

}  // namespace

SqlPanel::SqlPanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      query_(new QLineEdit(this)),
      status_(new QLabel(this)),
      table_(new TableView(this)) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 4, 6, 4);
  query_->setPlaceholderText(
      tr("SELECT kernel, start_ns, end_ns FROM v_launch ORDER BY duration_ns DESC LIMIT 20"));
  query_->setAccessibleName(tr("SQL query"));
  bar->addWidget(query_, 1);
  bar->addWidget(status_);
  all->addLayout(bar);
  all->addWidget(table_, 1);
  table_->setAccessibleName(tr("Rows of the query"));
  status_->setTextFormat(Qt::PlainText);
  connect(query_, &QLineEdit::returnPressed, this, [this] { run(query_->text()); });
  connect(table_, &TableView::row_chosen, this, &SqlPanel::follow);
}

void SqlPanel::run(const QString& sql) {
  query_->setText(sql);
  status_->setText(tr("asking…"));
  using Rows = std::shared_ptr<const queries::SqlRows>;
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
        if (!result) {
          status_->setText(shown(result.failure().message));
          return;
        }
        const Rows& rows = result.value();
        auto table = std::make_shared<const reports::Table>(reports::query_table(rows->table));
        table_->set_table(table, rows);
        status_->setText(plain(counted(static_cast<std::int64_t>(rows->table.rows.size()), "row")) +
                         (rows->cut ? tr(", the first ones") : QString()));
      });
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
