#include "panels/ranking_panel.h"

#include <QRegularExpression>
#include <algorithm>

#include "models/text.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::gui {

using analyzer::RankingKey;

RankingPanel::RankingPanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : ScopePanel(document, selection, "ranking", parent),
      table_(new TableView(this)),
      filter_(new QLineEdit(this)),
      grouping_(new QComboBox(this)),
      total_(new ElidedLabel(this)) {
  filter_->setPlaceholderText(tr("Filter"));
  filter_->setToolTip(tr("Text or a regular expression"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(110);
  filter_->setMaximumWidth(260);
  filter_->setAccessibleName(tr("Filter of the ranking"));
  grouping_->setAccessibleName(tr("What makes a row"));
  static const std::pair<const char*, RankingKey> kGroupings[] = {
      {"kernel", RankingKey::kernel},        {"kernel and grid", RankingKey::kernel_and_grid},
      {"kernel family", RankingKey::family}, {"class", RankingKey::kernel_class},
      {"NVTX range", RankingKey::nvtx_path}, {"phase", RankingKey::phase},
      {"layer", RankingKey::layer}};
  for (const auto& [words, key] : kGroupings) grouping_->addItem(tr(words), static_cast<int>(key));
  bar()->addWidget(filter_, 1);
  auto* by = new QLabel(tr("by"), this);
  by->setBuddy(grouping_);
  bar()->addWidget(by);
  bar()->addWidget(grouping_);
  bar()->addWidget(total_, 100);  // before the stretch after it
  body()->addWidget(table_);
  table_->setAccessibleName(tr("Ranking"));

  connect(filter_, &QLineEdit::textChanged, table_, &TableView::set_filter);
  connect(filter_, &QLineEdit::textChanged, this, &RankingPanel::show_total);
  connect(grouping_, &QComboBox::currentIndexChanged, this,
          [this] { set_key(static_cast<RankingKey>(grouping_->currentData().toInt())); });
  connect(table_, &TableView::row_chosen, this, &RankingPanel::choose);
  connect(table_, &TableView::row_hovered, this,
          [this](std::size_t row) { selection_.hover_kernel(kernels_of(*answer(), row)); });
  connect(table_, &TableView::hover_left, this, [this] { selection_.hover_kernel({}); });
  connect(table_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) {
    const auto row = static_cast<std::size_t>(table_->proxy()->mapToSource(index).row());
    if (is_of_range(row)) {
      show_launches(row);
    } else {
      emit kernel_activated();
    }
  });
  connect(&selection_, &Selection::kernel_changed, this, &RankingPanel::follow_selection);
  start();
}

void RankingPanel::show_answer(const ScopeAnswer& answer) {
  auto table =
      std::make_shared<const reports::Table>(reports::ranking_table(*answer.utilisation, *answer.ranking));
  table_->set_targets(answer.ranking->options.target, answer.ranking->options.stretch);
  table_->set_table(table, this->answer());
  show_total();
  follow_selection();
}

void RankingPanel::show_total() {
  if (!answer()) return;
  const analyzer::Ranking& ranking = *answer()->ranking;
  if (ranking.rows.empty()) return total_->setText(tr("no kernel ran here"));
  if (filter_->text().isEmpty()) {
    if (!reports::anything_measured(ranking))
      return total_->setText(tr("nothing was measured: only times are known"));
    // What the kernels would save of themselves is in the column beside: why the step does not is said here.
    const QString notes = plain(reports::saving_notes(ranking));
    return total_->setText(tr("saves %1").arg(plain(reports::saving_text(ranking))) +
                           (notes.isEmpty() ? QString() : '.' + notes));
  }
  const int rows = table_->proxy()->rowCount();
  const bool is_text = !QRegularExpression(filter_->text()).isValid();
  const QString sought = is_text ? tr(", taken as text: it is no regular expression") : QString();
  if (rows == 0) return total_->setText(tr("no row matches") + sought);
  double time_ns = 0;
  for (int row = 0; row < rows; ++row) {
    const QModelIndex index = table_->proxy()->mapToSource(table_->proxy()->index(row, 0));
    time_ns += static_cast<double>(ranking.rows.at(static_cast<std::size_t>(index.row())).time_ns);
  }
  total_->setText(tr("%1 of %2 rows, %3").arg(rows).arg(ranking.rows.size()).arg(time_words(time_ns)) +
                  sought);
}

bool RankingPanel::is_of_range(std::size_t row) const {
  const bool by_range =
      key() == RankingKey::nvtx_path || key() == RankingKey::phase || key() == RankingKey::layer;
  return by_range && answer()->ranking->rows.at(row).key != analyzer::kNoRange;
}

// A row of NVTX ranges means what they launched, in all panels; one of kernels their launches wherever they are.
void RankingPanel::choose(std::size_t row) {
  if (is_of_range(row)) {
    choose_ranges(answer()->ranking->rows.at(row).key);
  } else {
    selection_.select_kernel(kernels_of(*answer(), row));
  }
}

// From the first start to the last end of what the row holds.
void RankingPanel::show_launches(std::size_t row) {
  analyzer::TimeWindow all{INT64_MAX, 0};
  for (const std::uint32_t i : answer()->ranking->rows.at(row).launches) {
    const auto& launch = answer()->model->launches.row(answer()->utilisation->launches.row(i).launch);
    if (!analyzer::has_time(launch)) continue;
    all = {std::min(all.start_ns, launch.start_ns), std::max(all.end_ns, launch.end_ns)};
  }
  if (all.start_ns < all.end_ns) selection_.show(all);
}

void RankingPanel::follow_selection() {
  if (!answer() || (!selection_.nvtx().empty() && selection_.kernel().empty())) return;
  const KernelChoice& kernel = selection_.kernel();
  if (table_->currentIndex().isValid()) {
    const auto row = static_cast<std::size_t>(table_->proxy()->mapToSource(table_->currentIndex()).row());
    if (row < answer()->ranking->rows.size() && kernels_of(*answer(), row).kernels == kernel.kernels) return;
  }
  for (std::size_t row = 0; !kernel.empty() && row < answer()->ranking->rows.size(); ++row) {
    const KernelChoice here = kernels_of(*answer(), row);
    if (here.kernels == kernel.kernels || (kernel.kernels.size() == 1 && here.holds(kernel.kernels[0]))) {
      table_->choose_quietly(table_->row_of(row));
      return;
    }
  }
  table_->choose_quietly(-1);
}

}  // namespace ridgeline::gui
