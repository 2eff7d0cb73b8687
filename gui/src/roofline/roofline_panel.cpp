#include "roofline/roofline_panel.h"

#include <QFileDialog>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QRegularExpression>
#include <QSaveFile>
#include <QSignalBlocker>
#include <QSvgGenerator>
#include <algorithm>

#include "models/table_model.h"
#include "models/text.h"
#include "panels/named_box.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxListed = 25;
constexpr int kMaxListedName = 70;

}  // namespace

RooflinePanel::RooflinePanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : ScopePanel(document, selection, "roofline", parent),
      view_(new RooflineView(this)),
      mode_(new QComboBox(this)),
      roofs_(new QComboBox(this)),
      what_(new QToolButton(this)),
      slider_(new QSlider(Qt::Horizontal, this)),
      filter_(new QLineEdit(this)),
      note_(new ElidedLabel(this)) {
  mode_->addItem(tr("FLOP/s over intensity"), static_cast<int>(RooflineMode::intensity));
  mode_->addItem(tr("time at the roofs"), static_cast<int>(RooflineMode::time));
  name_box(mode_, tr("Kind of roofline"));
  roofs_->addItem(tr("data sheet"), static_cast<int>(PeakSource::spec));
  roofs_->addItem(tr("sustained"), static_cast<int>(PeakSource::sustained));
  roofs_->addItem(tr("burst"), static_cast<int>(PeakSource::burst));
  roofs_->addItem(tr("at the clock"), static_cast<int>(PeakSource::clock));
  name_box(roofs_, tr("Source of the roofs"));
  what_->setText(tr("Roofs") + "  ");  // room for the arrow
  what_->setPopupMode(QToolButton::InstantPopup);
  slider_->setRange(50, 100);
  slider_->setValue(100);
  slider_->setFixedWidth(90);
  slider_->setAccessibleName(tr("Share of the kernel time that is shown"));
  slider_->setToolTip(tr("The longest kernels that together take this share of the kernel time"));
  filter_->setPlaceholderText(tr("Filter"));
  filter_->setToolTip(tr("Shows kernels whose name matches: text or regular expression"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(70);
  filter_->setMaximumWidth(160);
  filter_->setAccessibleName(tr("Filter of the roofline"));
  for (QWidget* widget :
       {static_cast<QWidget*>(mode_), static_cast<QWidget*>(roofs_), static_cast<QWidget*>(what_),
        static_cast<QWidget*>(slider_), static_cast<QWidget*>(filter_), static_cast<QWidget*>(note_)}) {
    bar()->addWidget(widget);
  }
  note_->setFont(small_font());
  body()->addWidget(view_, 1);
  connect(mode_, &QComboBox::currentIndexChanged, this, [this] {
    settings_.mode = static_cast<RooflineMode>(mode_->currentData().toInt());
    mode_chosen_ = true;
    plot_again();
  });
  connect(roofs_, &QComboBox::currentIndexChanged, this, [this] {
    settings_.roofs = static_cast<PeakSource>(roofs_->currentData().toInt());
    roofs_chosen_ = true;
    plot_again();
  });
  connect(slider_, &QSlider::valueChanged, this, [this](int value) {
    settings_.min_share = value / 100.0;
    plot_again();
  });
  connect(filter_, &QLineEdit::textChanged, this, &RooflinePanel::plot_again);
  connect(view_, &RooflineView::list_asked, this, &RooflinePanel::show_list);
  connect(view_, &RooflineView::dot_chosen, this,
          [this](std::size_t row) { selection_.select_kernel(kernels_of(*answer(), row)); });
  connect(view_, &RooflineView::nothing_chosen, this, [this] { selection_.select_kernel({}); });
  connect(view_, &RooflineView::dot_hovered, this,
          [this](std::size_t row) { selection_.hover_kernel(kernels_of(*answer(), row)); });
  connect(view_, &RooflineView::hover_left, this, [this] { selection_.hover_kernel({}); });
  connect(&selection_, &Selection::kernel_changed, this, &RooflinePanel::follow_kernel);
  connect(&selection_, &Selection::hover_changed, this,
          [this] { view_->set_hovered(rows_of(selection_.hovered())); });
  start();
}

void RooflinePanel::show_answer(const ScopeAnswer& answer) {
  if (!roofs_chosen_ && answer.roofline) {
    // Those that the figures of the capture are held against.
    const QSignalBlocker blocked(roofs_);
    const int at = roofs_->findData(static_cast<int>(answer.roofline->source));
    if (at >= 0) roofs_->setCurrentIndex(at);
    settings_.roofs.reset();
  }
  auto* menu = new QMenu(what_);
  QAction* l2 = menu->addAction(tr("L2 cache"));
  l2->setCheckable(true);
  l2->setChecked(settings_.l2);
  connect(l2, &QAction::toggled, this, [this](bool on) {
    settings_.l2 = on;
    plot_again();
  });
  menu->addSeparator();
  for (const Quantity quantity : known_precisions(answer.to_plot())) {
    QAction* action = menu->addAction(plain(std::string(analyzer::roof_name(quantity))));
    action->setCheckable(true);
    const auto& used = answer.roofline->compute;
    const bool shown_now =
        settings_.precisions.empty()
            ? std::any_of(used.begin(), used.end(),
                          [&](const analyzer::Peak& peak) { return peak.quantity == quantity; })
            : std::find(settings_.precisions.begin(), settings_.precisions.end(), quantity) !=
                  settings_.precisions.end();
    action->setChecked(shown_now);
    connect(action, &QAction::toggled, this, [this, quantity](bool on) {
      auto& chosen = settings_.precisions;
      if (chosen.empty()) {
        for (const analyzer::Peak& peak : this->answer()->roofline->compute) chosen.push_back(peak.quantity);
      }
      std::erase(chosen, quantity);
      if (on) chosen.push_back(quantity);
      plot_again();
    });
  }
  delete what_->menu();
  what_->setMenu(menu);
  if (!mode_chosen_) choose_mode();
  plot_again();
}

// Where no operations were counted the plane of intensities is empty: times at the roofs are known all the same.
void RooflinePanel::choose_mode() {
  const auto empty = [this](RooflineMode mode) {
    RooflineSettings settings = settings_;
    settings.mode = mode;
    return make_plot(answer()->to_plot(), settings).dots.empty();
  };
  settings_.mode = empty(RooflineMode::intensity) && !empty(RooflineMode::time) ? RooflineMode::time
                                                                                : RooflineMode::intensity;
  const QSignalBlocker blocked(mode_);
  mode_->setCurrentIndex(mode_->findData(static_cast<int>(settings_.mode)));
}

void RooflinePanel::plot_again() {
  if (!answer()) return;
  RooflinePlot plot = make_plot(answer()->to_plot(), settings_);
  QStringList notes;
  const bool filtered = !filter_->text().isEmpty();
  if (filtered) {
    const QRegularExpression pattern = pattern_of(filter_->text());
    const std::size_t all = plot.dots.size() + plot.strip.size();
    const auto other = [&](const RooflineDot& dot) { return !pattern.match(shown(dot.name)).hasMatch(); };
    std::erase_if(plot.dots, other);
    std::erase_if(plot.strip, other);
    notes << tr("%1 of %2 match").arg(plot.dots.size() + plot.strip.size()).arg(all);
  }
  if (plot.decluttered > 0)
    notes << tr("%1 short ones left out").arg(plain(counted(plot.decluttered, "kernel")));
  if (plot.left_out > 0) notes << tr("%1 without counters").arg(plain(counted(plot.left_out, "kernel")));
  note_->setText(notes.join(", "));
  const bool nothing_ran = answer()->ranking->rows.empty();
  view_->set_words(
      plain(reports::scope_noun(answer()->ranking->scope)),
      filtered      ? tr("No kernel's name matches the filter.")
      : nothing_ran ? tr("No kernel ran here.")
      : document_.recording()->imported()
          ? tr("The trace has no counters:\nridgeline import --onto joins results of Nsight Compute.")
          : tr("No kernel here has counted bytes or operations:\nrecord with samples or replay steps."));
  view_->set_plot(std::move(plot));
  follow_kernel();
}

// The dots of one place by name, for the mouse cannot tell them apart; and what can be done with the drawing.
std::vector<std::size_t> rows_of(const ScopeAnswer& answer, const KernelChoice& kernel) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < answer.ranking->rows.size() && !kernel.empty(); ++row) {
    const KernelChoice of_row = kernels_of(answer, row);
    if (std::any_of(of_row.kernels.begin(), of_row.kernels.end(),
                    [&](store::Id id) { return kernel.holds(id); }))
      rows.push_back(row);
  }
  return rows;
}

QMenu* dots_menu(RooflineView& view, const ScopeAnswer& answer, const std::vector<std::size_t>& ranking_rows,
                 Selection& selection) {
  auto* menu = new QMenu(&view);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName("dots");
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < std::min(ranking_rows.size(), kMaxListed); ++i)
    keys.push_back(answer.ranking->rows.at(ranking_rows[i]).key);
  const std::vector<std::string> names = reports::elide_kernel_names(keys, kMaxListedName);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const analyzer::RankingRow& kernel = answer.ranking->rows.at(ranking_rows[i]);
    QAction* action =
        menu->addAction(QString("%1. %2  %3")
                            .arg(ranking_rows[i] + 1)
                            .arg(shown(names[i]).replace("&", "&&"), time_words(kernel.time_ns)));
    const KernelChoice choice = kernels_of(answer, ranking_rows[i]);
    QObject::connect(action, &QAction::triggered, &view,
                     [&selection, choice] { selection.select_kernel(choice); });
    QObject::connect(action, &QAction::hovered, &view,
                     [&selection, choice] { selection.hover_kernel(choice); });
  }
  if (ranking_rows.size() > kMaxListed)
    menu->addAction(RooflinePanel::tr("and %1 more: zoom in").arg(ranking_rows.size() - kMaxListed))
        ->setEnabled(false);
  if (!ranking_rows.empty()) menu->addSeparator();
  QAction* whole =
      menu->addAction(RooflinePanel::tr("Show all"), &view, [&view] { view.zoom_to(std::nullopt); });
  whole->setEnabled(view.zoomed_to().has_value());
  QObject::connect(menu, &QMenu::aboutToHide, &view, [&selection] { selection.hover_kernel({}); });
  return menu;
}

void RooflinePanel::show_list(const std::vector<std::size_t>& ranking_rows, const QPoint& at) {
  QMenu* menu = dots_menu(*view_, *answer(), ranking_rows, selection_);
  menu->addAction(tr("Export…"), this, &RooflinePanel::export_picture);
  menu->popup(at);
}

std::vector<std::size_t> RooflinePanel::rows_of(const KernelChoice& kernel) const {
  return answer() ? gui::rows_of(*answer(), kernel) : std::vector<std::size_t>();
}

void RooflinePanel::follow_kernel() {
  if (!answer()) return;
  const std::vector<std::size_t> rows = rows_of(selection_.kernel());
  view_->set_chosen(rows,
                    rows.size() == 1 ? level_dots(answer()->to_plot(), rows[0]) : std::vector<RooflineDot>{});
}

Result<void> RooflinePanel::save(const QString& path) const {
  const QSize size = view_->size().expandedTo({900, 600});
  if (path.endsWith(".svg", Qt::CaseInsensitive)) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
      return Failure{ErrorKind::io, (path + ": " + file.errorString()).toStdString()};
    QSvgGenerator generator;
    generator.setOutputDevice(&file);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    generator.setTitle("Roofline");
    QPainter painter(&generator);
    view_->draw(painter, QRectF(QPointF(), size));
    painter.end();
    if (!file.commit()) return Failure{ErrorKind::io, (path + ": " + file.errorString()).toStdString()};
    return {};
  }
  QImage image(size * 2, QImage::Format_RGB32);
  image.setDevicePixelRatio(2);
  QPainter painter(&image);
  view_->draw(painter, QRectF(QPointF(), size));
  painter.end();
  if (!image.save(path)) return Failure{ErrorKind::io, path.toStdString() + ": cannot be written"};
  return {};
}

void RooflinePanel::export_picture() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Export the roofline"), "roofline.svg",
                                                    tr("SVG (*.svg);;PNG (*.png)"));
  if (path.isEmpty()) return;
  if (const Result<void> saved = save(path); !saved)
    QMessageBox::warning(this, tr("Export the roofline"), shown(saved.failure().message));
}

}  // namespace ridgeline::gui
