#include "panels/gaps_panel.h"

#include <algorithm>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::gui {
namespace {

constexpr int kRoomAround = 2;  // of a gap, a half is shown on either side
constexpr std::int64_t kMinRoomNs = 1000;
constexpr std::size_t kMaxRowsForColumns = 1000;  // that are looked at for what a column would hold

std::optional<std::int64_t> cell_ns(const reports::Table& table, std::size_t row, std::string_view key) {
  const reports::Cell cell = table.cell(row, table.column(key));
  const auto* value = std::get_if<std::int64_t>(&cell.value());
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string cell_text(const reports::Table& table, std::size_t row, std::string_view key) {
  const reports::Cell cell = table.cell(row, table.column(key));
  const auto* value = std::get_if<std::string>(&cell.value());
  return value == nullptr ? std::string() : *value;
}

// That of the row, which says when it began and how long it was.
std::optional<analyzer::Gap> gap_of(const reports::Table& table, const analyzer::Accounting& accounting,
                                    std::size_t row) {
  const auto start = cell_ns(table, row, "start_ns");
  const auto length = cell_ns(table, row, "duration_ns");
  for (std::size_t i = 0; i < accounting.gaps.size(); ++i) {
    if (accounting.gaps.length_ns(i) != length) continue;
    if (const analyzer::Gap gap = accounting.gaps[i]; gap.start_ns == start) return gap;
  }
  return std::nullopt;
}

}  // namespace

GapsPanel::GapsPanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : ScopePanel(document, selection, "gaps", parent),
      table_(new TableView(this)),
      filter_(new QLineEdit(this)),
      total_(new ElidedLabel(this)),
      detail_(new QLabel(this)) {
  filter_->setPlaceholderText(tr("Filter"));
  filter_->setToolTip(tr("Kernel, cause, thread …: text or a regular expression"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(110);
  filter_->setMaximumWidth(260);
  filter_->setAccessibleName(tr("Filter of the gaps"));
  table_->setAccessibleName(tr("Gaps"));
  detail_->setWordWrap(true);
  detail_->setTextFormat(Qt::PlainText);
  detail_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  detail_->setContentsMargins(8, 2, 8, 4);
  detail_->hide();
  bar()->addWidget(filter_, 1);
  bar()->addWidget(total_, 100);  // before the stretch after it
  body()->addWidget(table_, 1);
  body()->addWidget(detail_);
  connect(filter_, &QLineEdit::textChanged, table_, &TableView::set_filter);
  connect(table_, &TableView::row_chosen, this, &GapsPanel::go_to);
  start();
}

void GapsPanel::show_answer(const ScopeAnswer& answer) {
  const analyzer::Accounting& accounting = *answer.accounting;
  auto table = std::make_shared<reports::Table>(reports::gaps_table(*answer.model, accounting));
  const std::size_t path = table->column("nvtx_path");
  bool any = false;
  for (std::size_t row = 0; row < std::min(table->size(), kMaxRowsForColumns) && !any; ++row)
    any = std::holds_alternative<std::string>(table->cell(row, path).value());
  table->show("nvtx_path", any);
  table_->set_table(std::move(table), this->answer());
  table_->choose_quietly(-1);
  detail_->clear();
  detail_->hide();
  const double all = static_cast<double>(std::max<std::int64_t>(accounting.step_ns, 1));
  total_->setText(accounting.gaps.empty()
                      ? tr("no gaps: the GPU was never idle")
                      : tr("%1, %2, %3 of the %4")
                            .arg(plain(counted(static_cast<std::int64_t>(accounting.gaps.size()), "gap")),
                                 time_words(accounting.gap_total_ns),
                                 plain(percent_text(static_cast<double>(accounting.gap_total_ns) / all)),
                                 noun()));
}

void GapsPanel::next() {
  step_by(1);
}

void GapsPanel::previous() {
  step_by(-1);
}

void GapsPanel::step_by(int rows) {
  const int all = table_->model()->rowCount();
  if (all == 0) return;
  const QModelIndex current = table_->currentIndex();
  const int to = current.isValid() ? std::clamp(current.row() + rows, 0, all - 1) : 0;
  if (current.isValid() && to == current.row()) {
    go_to(static_cast<std::size_t>(table_->proxy()->mapToSource(current).row()));
    return;
  }
  table_->setCurrentIndex(table_->model()->index(to, 0));
}

QString GapsPanel::noun() const {
  const analyzer::Scope& scope = answer()->scope;
  if (scope.window || !scope.range.empty()) return tr("range");
  return document_.noun();
}

QString GapsPanel::sentence(const analyzer::Gap& gap, std::size_t row) const {
  const ScopeAnswer& shown_answer = *answer();
  const reports::Table& table = *table_->table_model()->table();
  const double all = static_cast<double>(std::max<std::int64_t>(shown_answer.accounting->step_ns, 1));
  const auto length = static_cast<double>(gap.end_ns - gap.start_ns);
  QString text = tr("%1, %2 of the %3: %4")
                     .arg(time_words(length), plain(percent_text(length / all)), noun(),
                          plain(reports::gap_words(gap.kind)));
  if (const std::string cause = cell_text(table, row, "cause"); !cause.empty()) text += ", " + shown(cause);
  // For people: of a copy or a memset, what it was.
  const std::string before = table.cell(row, table.column("after_kernel")).words();
  const std::string after = table.cell(row, table.column("before_kernel")).words();
  text += tr("\nafter %1, before %2")
              .arg(before.empty() ? tr("nothing that was recorded") : shown(before),
                   after.empty() ? tr("nothing that was recorded") : shown(after));
  if (gap.after) {
    const auto path = shown_answer.model->string(shown_answer.model->launches.site(*gap.after).nvtx_path_id);
    if (!path.empty()) text += tr(", launched in '%1'").arg(shown(path));
  }
  return text;
}

void GapsPanel::go_to(std::size_t row) {
  const ScopeAnswer& shown_answer = *answer();
  const auto gap = gap_of(*table_->table_model()->table(), *shown_answer.accounting, row);
  if (!gap) return;
  detail_->setText(with_whole_numbers(sentence(*gap, row)));
  detail_->show();
  const std::int64_t room = std::max((gap->end_ns - gap->start_ns) / kRoomAround, kMinRoomNs);
  selection_.show({gap->start_ns - room, gap->end_ns + room});
  if (!gap->after) return;
  const analyzer::Launches::Row& launch = shown_answer.model->launches.row(*gap->after);
  const store::Launch& site = shown_answer.model->launches.site(*gap->after);
  selection_.select_launch(LaunchChoice{site.device_id, site.kernel_id, launch.start_ns, launch.end_ns},
                           std::string(shown_answer.model->kernel_name(site)));
}

}  // namespace ridgeline::gui
