// timeline_menu.cpp: what a right click offers, and notes.
#include <QContextMenuEvent>
#include <QInputDialog>
#include <QMenu>

#include "models/text.h"
#include "ridgeline/reports/timeline_text.h"
#include "timeline/timeline_view.h"

namespace ridgeline::gui {

// On the row under the mouse, or on none.
void TimelineView::mark() {
  const QRect graph = graph_rect();
  TimelineNote note;
  note.time_ns = graph.contains(mouse_) ? axis().ns_at(mouse_.x() - graph.left())
                                        : selection_.view().start_ns + selection_.view().length_ns() / 2;
  if (const auto row = row_at(mouse_.y()); row && graph.contains(mouse_)) note.row = scene_.row(*row).id;
  bool given = false;
  const QString text =
      QInputDialog::getText(this, tr("Note"), tr("Note at this time:"), QLineEdit::Normal, {}, &given);
  if (given) add_note(note.time_ns, note.row, text);
}

void TimelineView::add_note(std::int64_t time_ns, const std::string& row, const QString& text) {
  if (text.trimmed().isEmpty()) return;
  notes_.push_back({time_ns, text.trimmed(), row});
  update();
  emit notes_changed();
}

void TimelineView::edit_note(std::size_t note) {
  bool given = false;
  const QString text = QInputDialog::getText(this, tr("Note"), tr("Note at this time; none removes it:"),
                                             QLineEdit::Normal, notes_[note].text, &given);
  if (given) set_note(note, text);
}

void TimelineView::set_note(std::size_t note, const QString& text) {
  if (text.trimmed().isEmpty()) {
    notes_.erase(notes_.begin() + static_cast<std::ptrdiff_t>(note));
  } else {
    notes_[note].text = text.trimmed();
  }
  update();
  emit notes_changed();
}

// Its flag: in its row if that is seen, else above all rows. Empty: it is not in view.
QRectF TimelineView::note_rect(const TimelineNote& note) const {
  const QRect graph = graph_rect();
  const double x = graph.left() + axis().x_of(note.time_ns);
  const int wide = std::min(QFontMetrics(small_font()).horizontalAdvance(note.text) + 14, kMaxNoteWidth);
  if (x < graph.left() - wide || x > graph.right()) return {};
  double y = graph.top() + 2;
  for (const Box& box : boxes()) {
    if (scene_.row(box.row).id == note.row) y = box.rect.top() + 1;
  }
  return {x, y, static_cast<double>(wide), 17};
}

std::optional<std::size_t> TimelineView::note_at(const QPoint& at) const {
  for (std::size_t i = notes_.size(); i > 0; --i) {
    if (note_rect(notes_[i - 1]).contains(at)) return i - 1;
  }
  return std::nullopt;
}

void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  if (const auto note = note_at(event->pos())) {
    menu.addSection(tr("Note"));
    menu.addAction(tr("Edit…"), this, [this, note] { edit_note(*note); });
    menu.addAction(tr("Remove"), this, [this, note] { set_note(*note, {}); });
  }
  const auto changed = [this] {
    update_scroll_bar();
    update();
    emit arrangement_changed();
  };
  if (const auto row = row_at(event->pos().y())) {
    const TimelineRow& line = scene_.row(*row);
    const bool pinned = scene_.arrangement().pinned.contains(line.id);
    menu.addSection(plain(line.label.empty() ? reports::row_help(line) : line.label));
    menu.addAction(pinned ? tr("Unpin") : tr("Pin to the top"), this, [this, row, pinned, changed] {
      scene_.set_pinned(*row, !pinned);
      changed();
    });
    menu.addAction(tr("Hide"), this, [this, row, changed] {
      scene_.set_hidden(*row, true);
      changed();
    });
    menu.addAction(tr("Move up"), this, [this, row, changed] {
      scene_.move(*row, -1);
      changed();
    });
    menu.addAction(tr("Move down"), this, [this, row, changed] {
      scene_.move(*row, 1);
      changed();
    });
  }
  QMenu* rows = menu.addMenu(tr("Rows"));
  for (std::size_t i = 0; i < scene_.row_count() && i < 200; ++i) {
    const TimelineRow& line = scene_.row(i);
    QAction* action = rows->addAction(plain(line.label.empty() ? reports::row_help(line) : line.label));
    action->setCheckable(true);
    action->setChecked(scene_.is_shown(i));
    connect(action, &QAction::toggled, this, [this, i, changed](bool on) {
      scene_.set_hidden(i, !on);
      changed();
    });
  }
  menu.addAction(tr("Show all rows"), this, [this, changed] {
    scene_.show_all();
    changed();
  });
  menu.addSeparator();
  menu.addAction(tr("Zoom to the range"), this, &TimelineView::zoom_to_range)
      ->setEnabled(selection_.range().has_value());
  if (const auto name = range_meant()) {
    menu.addAction(tr("Show only the NVTX ranges '%1'").arg(shown(*name)), this,
                   [this, name] { selection_.select_nvtx(*name); });
  }
  if (!selection_.nvtx().empty()) {
    menu.addAction(tr("Show all NVTX ranges again"), this, [this] { selection_.select_nvtx({}); });
  }
  menu.addAction(tr("Note here…"), this, &TimelineView::mark);
  menu.exec(event->globalPos());
}

}  // namespace ridgeline::gui
