// timeline_view.cpp: what the timeline shows and where it is. How it is drawn: timeline_paint.cpp; what keys and mouse
// do: timeline_input.cpp.
#include "timeline/timeline_view.h"

#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/timeline_text.h"
#include "timeline/timeline_accessible.h"

namespace ridgeline::gui {
namespace {

constexpr int kMinLabels = 150;  // width of the names' column, in logical pixels
constexpr int kMaxLabelWidth = 260;

}  // namespace

TimelineView::TimelineView(Selection& selection, QWidget* parent)
    : QWidget(parent),
      selection_(selection),
      painter_(std::make_unique<ImageRowPainter>()),
      scroll_(new QScrollBar(Qt::Vertical, this)) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(400, 120);
  // First: whoever is named has an interface from then on, of the kind that is known by then.
  install_timeline_accessibility();
  setAccessibleName(tr("Timeline"));
  connect(scroll_, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
  // Other rows may have something in view: what is folded is other rows.
  connect(&selection_, &Selection::view_changed, this, [this] {
    update_scroll_bar();
    update();
  });
  connect(&selection_, &Selection::range_changed, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::hover_changed, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::launch_changed, this, [this] {
    set_arrow(std::nullopt);
    update();
  });
  connect(&selection_, &Selection::kernel_changed, this, &TimelineView::find_marks);
}

TimelineView::~TimelineView() = default;

void TimelineView::scene_changed() {
  cursor_.reset();
  empty_rows_.first.clear();
  update_label_width();
  drop_images();
  update_scroll_bar();
  find_marks();
  find_matches();
}

void TimelineView::drop_images() {
  images_.clear();
  strip_ = {};
  update();
}

void TimelineView::set_min_label_width(int width) {
  if (width == min_label_width_) return;
  min_label_width_ = width;
  update_label_width();
  drop_images();
}

void TimelineView::update_label_width() {
  label_width_ = std::max(natural_label_width(), min_label_width_);
}

// As wide as the names want, within reason; a counter's value follows its name.
int TimelineView::natural_label_width() const {
  const QFontMetrics metrics(small_font());
  int widest = 0;
  for (std::size_t row = 0; row < scene_.row_count(); ++row) {
    if (!scene_.is_shown(row)) continue;
    const int value = scene_.row(row).kind == RowKind::counter ? metrics.horizontalAdvance("0000.0 MHz") : 0;
    widest = std::max(widest, metrics.horizontalAdvance(plain(scene_.row(row).label)) + value);
  }
  return std::clamp(widest + 20, kMinLabels, kMaxLabelWidth);
}

// The rows are looked through by another thread: of ten million events that takes several frames' time.
void TimelineView::find_marks() {
  if (selection_.kernel().empty()) {
    finder_.cancel("mark");
    scene_.set_marked({}, EventIndices(scene_.row_count()));
    drop_images();
    return;
  }
  finder_.ask<EventIndices>(
      this, "mark",
      [finder = scene_.finder(), kernel = selection_.kernel()](const std::stop_token& stop) {
        return finder.of_kernel(kernel, stop);
      },
      [this, kernel = selection_.kernel()](Result<EventIndices> marked) {
        if (!marked) return;
        scene_.set_marked(kernel, std::move(marked).value());
        drop_images();
      });
}

void TimelineView::find_matches() {
  matching_ = !search_.isEmpty();
  if (!matching_) {
    finder_.cancel("search");
    match_wanted_ = 0;
    scene_.set_found(EventIndices(scene_.row_count()));
    drop_images();
    emit found_changed();
    return;
  }
  emit found_changed();
  finder_.ask<EventIndices>(
      this, "search",
      [finder = scene_.finder(), text = search_](const std::stop_token& stop) {
        return finder.matching(text, stop);
      },
      [this](Result<EventIndices> found) {
        matching_ = false;
        if (found) scene_.set_found(std::move(found).value());
        drop_images();
        emit found_changed();
        if (match_wanted_ != 0) go_to_match(match_wanted_);
      });
}

void TimelineView::set_origin(std::int64_t ns, const QString& name) {
  origin_ns_ = ns;
  origin_name_ = name;
  update();
}

void TimelineView::set_arrow(const std::optional<LaunchArrow>& arrow) {
  arrow_ = arrow;
  update();
}

void TimelineView::set_notes(std::vector<TimelineNote> notes) {
  notes_ = std::move(notes);
  update();
}

void TimelineView::search(const QString& text) {
  search_ = text;
  find_matches();
}

QRect TimelineView::graph_rect() const {
  const int right = scroll_->isVisible() ? scroll_->width() : 0;
  return {label_width_, top_of_rows(), std::max(width() - label_width_ - right, 1),
          std::max(height() - top_of_rows(), 1)};
}

int TimelineView::top_of_rows() const {
  return kStripHeight + kAxisHeight;
}

TimeAxis TimelineView::axis() const {
  const TimeWindow view = selection_.view().length_ns() > 0 ? selection_.view() : TimeWindow{0, 1};
  return {view, static_cast<double>(graph_rect().width())};
}

TimeAxis TimelineView::strip_axis() const {
  return {TimeAxis::inside(scene_.extent(), scene_.extent()), static_cast<double>(graph_rect().width())};
}

// Asked for many times a frame, by whatever needs to know where a row is.
const std::vector<RowLine>& TimelineView::lines(const std::vector<std::size_t>& rows) const {
  auto& [empty, view] = empty_rows_;
  if (empty.size() != scene_.row_count() || view != selection_.view()) {
    view = selection_.view();
    empty = scene_.empty_rows(view);
    lines_ = {};
  }
  Lines& known = lines_.at(&rows == &scene_.pinned_rows() ? 0 : 1);
  if (known.rows != rows || known.lines.empty()) known = {rows, scene_.lines(rows, empty, view)};
  return known.lines;
}

int TimelineView::height_of(const std::vector<std::size_t>& rows) const {
  int height = 0;
  for (const RowLine& line : lines(rows)) height += line_height(scene_, line) + 1;
  return height;
}

void TimelineView::update_scroll_bar() {
  const int room = height() - top_of_rows() - height_of(scene_.pinned_rows());
  const int most = std::max(height_of(scene_.scrolling_rows()) - room, 0);
  scroll_->setRange(0, most);
  scroll_->setPageStep(std::max(room, 1));
  scroll_->setSingleStep(24);
  scroll_->setVisible(most > 0);
  scroll_->setGeometry(width() - scroll_->sizeHint().width(), top_of_rows(), scroll_->sizeHint().width(),
                       height() - top_of_rows());
}

void TimelineView::resizeEvent(QResizeEvent*) {
  update_scroll_bar();
  images_.clear();
  strip_ = {};
}

// Rows are pictures that keep the colours that they were drawn in.
void TimelineView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) drop_images();
}

std::vector<TimelineView::Box> TimelineView::boxes() const {
  std::vector<Box> boxes;
  int y = top_of_rows();
  const auto put = [&](const RowLine& line, int least) {
    const int tall = line_height(scene_, line);
    if (y + tall > least && y < height())
      boxes.push_back({line.row, QRect(0, y, width(), tall), line.folded});
    y += tall + 1;
  };
  for (const RowLine& line : lines(scene_.pinned_rows())) put(line, 0);
  const int fixed = y;
  y -= scroll_->value();
  for (const RowLine& line : lines(scene_.scrolling_rows())) put(line, fixed);
  return boxes;
}

std::optional<std::size_t> TimelineView::row_at(int y) const {
  for (const Box& box : boxes()) {
    if (y >= box.rect.top() && y <= box.rect.bottom()) return box.row;
  }
  return std::nullopt;
}

std::optional<EventPlace> TimelineView::event_at(const QPoint& at) const {
  const QRect graph = graph_rect();
  const auto row = row_at(at.y());
  if (!row || !graph.contains(at)) return std::nullopt;
  const EventRow& events = scene_.row(*row).events;
  const TimeAxis time = axis();
  const double x = at.x() - graph.left();
  // What is thinner than a pixel is hit where its pixel is.
  std::size_t i = events.at(time.ns_at(x + 0.5));
  if (i == events.size()) {
    i = events.first_ending_after(time.ns_at(x - 1));
    if (i == events.size() || events.start_ns(i) > time.ns_at(x + 2)) return std::nullopt;
  }
  return EventPlace{*row, i};
}

QRect TimelineView::event_rect(const EventPlace& place) const {
  const TimeAxis time = axis();
  const TimeWindow when = scene_.time_of(place);
  for (const Box& box : boxes()) {
    if (box.row != place.row) continue;
    const int left = label_width_ +
                     static_cast<int>(std::floor(std::clamp(time.x_of(when.start_ns), -10.0, time.width())));
    const int right = label_width_ +
                      static_cast<int>(std::ceil(std::clamp(time.x_of(when.end_ns), 0.0, time.width() + 10)));
    return QRect(left, box.rect.top(), std::max(right - left, 2), box.rect.height())
        .intersected(graph_rect());
  }
  return {};
}

QStringList TimelineView::statistics(const TimeWindow& range) const {
  QStringList lines;
  lines << tr("%1 from %2").arg(time_words(range.length_ns()), time_words(range.start_ns - origin_ns_));
  const auto length = static_cast<double>(std::max<std::int64_t>(range.length_ns(), 1));
  int shown_rows = 0;
  QStringList counters;
  for (const auto* rows : {&scene_.pinned_rows(), &scene_.scrolling_rows()}) {
    for (const std::size_t i : *rows) {
      const TimelineRow& row = scene_.row(i);
      if (row.kind == RowKind::kernels || row.kind == RowKind::collectives || row.kind == RowKind::copies) {
        const EventSum sum = row.events.sum(range);
        if (sum.count == 0 || ++shown_rows > 6) continue;
        const bool copies = row.kind == RowKind::copies;
        lines << tr("%1: %2, busy %3 (%4)")
                     .arg(plain(row.label),
                          plain(
                              counted(sum.count, copies ? "copy" : "launch", copies ? "copies" : "launches")),
                          time_words(sum.busy_ns),
                          plain(percent_text(static_cast<double>(sum.busy_ns) / length)));
      } else if (row.kind == RowKind::counter && counters.size() < 5) {
        const CounterBin bin = row.counter.over(range);
        if (bin.known)
          counters << plain(row.label) + " " + counter_text(row.unit, static_cast<double>(bin.mean));
      }
    }
  }
  if (!counters.isEmpty()) lines << counters.join(" · ");
  return lines;
}

QStringList TimelineView::about(const RangeChoice& instance) const {
  const analyzer::CalledIn& calls = instance.calls;
  QStringList lines;
  lines << "'" + shown(calls.name) + "'";
  if (instance.on_gpu.length_ns() > 0) {
    lines << tr("on the GPU: %1 from %2, first start to last end of what it launched")
                 .arg(time_words(instance.on_gpu.length_ns()),
                      time_words(instance.on_gpu.start_ns - origin_ns_));
  } else {
    lines << tr("launched nothing on the GPU");
  }
  lines << tr("on the CPU: %1 from %2")
               .arg(time_words(calls.end_ns - calls.start_ns), time_words(calls.start_ns - origin_ns_));
  return lines;
}

QString TimelineView::describe(const EventPlace& place) const {
  const EventName& name = scene_.name_of(place);
  const TimeWindow when = scene_.time_of(place);
  QString text =
      tr("%1\n%2 from %3")
          .arg(event_label(name, 120), time_words(when.length_ns()), time_words(when.start_ns - origin_ns_));
  if (name.kind == EventName::Kind::kernel) text += " · " + plain(to_string(name.kernel_class));
  return text + " · " +
         plain(scene_.row(place.row).label.empty() ? reports::row_help(scene_.row(place.row))
                                                   : scene_.row(place.row).label);
}

}  // namespace ridgeline::gui
