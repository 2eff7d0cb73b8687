#include "timeline/row_painter.h"

#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/kernel_query.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::gui {
namespace {

constexpr int kMinLabel = 30;         // pixels of an event that is named
constexpr double kMinEventWidth = 3;  // pixels of an event that is drawn by itself
constexpr double kMinHeight = 0.16;
constexpr int kMinLetters = 8;  // of a name that is cut by its meaning
constexpr int kMinNarrow = 4;   // of any other, dots among them
constexpr int kMaxLabels = 20'000;
constexpr int kFoldedHeight = 20;

QRgb faded(QRgb colour, double share, const QColor& ground) {
  const auto mix = [&](int a, int b) { return static_cast<int>(a * share + b * (1 - share)); };
  return qRgb(mix(qRed(colour), ground.red()), mix(qGreen(colour), ground.green()),
              mix(qBlue(colour), ground.blue()));
}

bool of_kernels(RowKind kind) {
  return kind == RowKind::kernels || kind == RowKind::collectives || kind == RowKind::calls;
}

}  // namespace

int row_height(const TimelineRow& row) {
  switch (row.kind) {
    case RowKind::kernels:
      return 28;
    case RowKind::collectives:
      return 22;
    case RowKind::counter:
      return 34;
    case RowKind::steps:
      return 20;
    default:
      return 18;
  }
}

int line_height(const TimelineScene& scene, const RowLine& line) {
  return line.folded.empty() ? row_height(scene.row(line.row)) : kFoldedHeight;
}

QString counter_text(CounterUnit unit, double value) {
  switch (unit) {
    case CounterUnit::ratio:
      return plain(percent_text(value));
    case CounterUnit::bytes_per_s:
      return plain(bandwidth_text(value));
    case CounterUnit::hertz:
      return plain(clock_text(value));
    case CounterUnit::watt:
      return plain(fixed(value, 0)) + " W";
    case CounterUnit::celsius:
      return plain(fixed(value, 0)) + " °C";
  }
  return {};
}

QColor event_colour(const EventName& name, bool apart) {
  const Theme& t = theme();
  QColor colour;
  switch (name.kind) {
    case EventName::Kind::kernel:
      colour = t.of(name.kernel_class);
      break;
    case EventName::Kind::copy:
      return name.code == 100 ? t.faint : t.of(KernelClass::copy);
    case EventName::Kind::wait:
      return t.of(analyzer::GapKind::synchronisation);
    case EventName::Kind::gap:
      return t.of(static_cast<analyzer::GapKind>(name.code));
    case EventName::Kind::step:
      return t.of(static_cast<Phase>(name.code));
    case EventName::Kind::range: {
      // Ranges alike in name are alike in colour; digits do not count, so that layers look the same.
      std::size_t hash = 5381;
      for (const char c : name.text) {
        if (c < '0' || c > '9') hash = hash * 33 + static_cast<unsigned char>(c);
      }
      const QColor series = t.series(static_cast<int>(hash % 8));
      return QColor::fromRgb(faded(series.rgb(), t.dark ? 0.62 : 0.58, t.base));
    }
  }
  if (apart) {
    const int shade = static_cast<int>(static_cast<std::uint64_t>(name.kernel_id) * 7 % 5) - 2;
    colour = shade < 0 ? colour.darker(100 - shade * 9) : colour.lighter(100 + shade * 7);
  }
  return colour;
}

QString event_label(const EventName& name, int columns) {
  return name.kind == EventName::Kind::kernel
             ? plain(reports::elide_kernel_name(shown(name.text).toStdString(), columns))
             : plain(reports::elide_end(shown(name.text).toStdString(), columns));
}

QString narrow_label(const EventName& name, const QFontMetricsF& metrics, double room) {
  // Of a kernel what it is called: "void" and its namespaces tell nothing.
  const QString whole = name.kind == EventName::Kind::kernel
                            ? shown(queries::function_name(shown(name.text).toStdString()))
                            : shown(name.text);
  // Layers differ in their numbers, which stand last: these stay whole.
  qsizetype number = whole.size();
  while (name.kind == EventName::Kind::range && number > 0 && whole[number - 1].isDigit()) --number;
  if (number < whole.size()) {
    for (qsizetype head = number - 1; head > 0; --head) {
      const QString cut = whole.left(head).trimmed() + QChar(0x2026) + whole.mid(number);
      if (metrics.horizontalAdvance(cut) <= room) return cut;
    }
    return {};
  }
  const QString cut = metrics.elidedText(whole, Qt::ElideRight, room);
  return cut.size() >= kMinNarrow ? cut : QString();
}

void leave_out_alike(std::vector<EventLabel>& labels) {
  struct Said {
    std::uint32_t name = 0;
    bool several = false;
  };
  QHash<QString, Said> said;
  for (const EventLabel& label : labels) {
    const auto known = said.find(label.text);
    if (known == said.end()) {
      said.insert(label.text, {label.name, false});
    } else if (known->name != label.name) {
      known->several = true;
    }
  }
  std::erase_if(labels, [&](const EventLabel& label) { return label.cut && said.value(label.text).several; });
}

const QString& ImageRowPainter::label(const EventName& name, std::uint32_t key, int columns) {
  if (labels_.size() > kMaxLabels) labels_.clear();
  const quint64 both = (static_cast<quint64>(name.kind == EventName::Kind::gap) << 63U) |
                       (static_cast<quint64>(key) << 16U) | static_cast<quint64>(columns);
  auto found = labels_.find(both);
  if (found == labels_.end()) found = labels_.insert(both, event_label(name, columns));
  return *found;
}

QImage ImageRowPainter::paint(const TimelineScene& scene, std::size_t row, const TimeAxis& axis,
                              const Style& style) {
  const TimelineRow& line = scene.row(row);
  const QSize size(static_cast<int>(std::ceil(axis.width() * style.pixel_ratio)),
                   static_cast<int>(std::ceil(row_height(line) * style.pixel_ratio)));
  QImage image(size, QImage::Format_ARGB32_Premultiplied);
  if (size.isEmpty()) return image;
  if (line.kind == RowKind::counter) {
    image.fill(Qt::transparent);
    paint_counter(line, axis, style, image);
    image.setDevicePixelRatio(style.pixel_ratio);
    return image;
  }
  paint_density(scene, row, axis, image);
  image.setDevicePixelRatio(style.pixel_ratio);
  QPainter painter(&image);
  painter.setFont(style.font);
  paint_events(scene, row, axis, style, painter);
  paint_marks(scene, row, axis, painter);
  return image;
}

// A name's colour, looked up once for a theme and a capture.
QRgb ImageRowPainter::colour_of(const TimelineScene& scene, const EventPlace& place, bool fade) {
  if (scene.row(place.row).kind == RowKind::gaps) return event_colour(scene.name_of(place), false).rgb();
  if (colours_of_ != &scene.data() || colours_dark_ != theme().dark ||
      colours_.size() != scene.data().names.size()) {
    colours_of_ = &scene.data();
    colours_dark_ = theme().dark;
    colours_.assign(scene.data().names.size(), {0, 0});
  }
  auto& [whole, pale] = colours_[scene.row(place.row).events.name(place.event)];
  if (whole == 0) {
    whole = event_colour(scene.name_of(place), false).rgb();
    pale = faded(whole, 0.38, theme().base);
  }
  return fade ? pale : whole;
}

// Each column of pixels is as high as its time is busy, in the colour of its longest event.
void ImageRowPainter::paint_density(const TimelineScene& scene, std::size_t row, const TimeAxis& axis,
                                    QImage& image) {
  const TimelineRow& line = scene.row(row);
  const auto width = static_cast<std::size_t>(image.width());
  bins_.resize(width);
  line.events.bins(axis.view(), bins_);
  const int height = image.height() - 2;
  const bool fade = scene.has_kernel() && of_kernels(line.kind);
  tops_.assign(width, image.height());
  inks_.assign(width, 0);
  for (std::size_t x = 0; x < width; ++x) {
    const EventBin& bin = bins_[x];
    if (bin.longest == EventBin::kNone) continue;
    inks_[x] = colour_of(scene, {row, bin.longest}, fade);
    const double share = std::max(static_cast<double>(bin.busy), kMinHeight);
    tops_[x] = 1 + height - std::clamp(static_cast<int>(std::lround(share * height)), 1, height);
  }
  // Line by line, as memory lies.
  for (int y = 0; y < image.height(); ++y) {
    auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(y));
    const bool edge = y == image.height() - 1;
    for (std::size_t x = 0; x < width; ++x) pixels[x] = y >= tops_[x] && !edge ? inks_[x] : 0;
  }
}

// Events that are wide enough stand by themselves, with their names.
void ImageRowPainter::paint_events(const TimelineScene& scene, std::size_t row, const TimeAxis& axis,
                                   const Style& style, QPainter& painter) {
  const TimelineRow& line = scene.row(row);
  const EventRow& events = line.events;
  const std::size_t first = events.first_ending_after(axis.view().start_ns);
  const std::size_t last = events.first_from(axis.view().end_ns);
  if (last - first > static_cast<std::size_t>(axis.width()) * 2) return;
  const QFontMetricsF metrics(style.font);
  const double column = std::max(metrics.averageCharWidth(), 1.0);
  const int height = row_height(line) - 2;
  const bool fade = scene.has_kernel() && of_kernels(line.kind);
  const std::vector<std::uint32_t>& marked = scene.marked(row);
  auto mark = std::lower_bound(marked.begin(), marked.end(), static_cast<std::uint32_t>(first));
  const QColor ground = theme().base;
  std::vector<EventLabel> labels;
  for (std::size_t i = first; i < last; ++i) {
    const double from = std::max(axis.x_of(events.start_ns(i)), -2.0);
    const double to = std::min(axis.x_of(events.end_ns(i)), axis.width() + 2.0);
    while (mark != marked.end() && *mark < i) ++mark;
    const bool chosen = mark != marked.end() && *mark == i;
    if (to - from < kMinEventWidth) continue;
    const EventName& name = scene.name_of({row, i});
    QColor colour = event_colour(name, true);
    if (fade && !chosen) colour = QColor::fromRgb(faded(colour.rgb(), 0.38, ground));
    const QRectF box(from, 1, to - from, height);
    painter.fillRect(box, colour);
    painter.fillRect(QRectF(to - 0.6, 1, 0.6, height), ground);
    if (to - from < kMinLabel) continue;
    const double room = to - from - 5;
    int columns = std::clamp(static_cast<int>(room / column), kMinLetters, 400);
    QString text = label(name, events.name(i), columns);
    // Letters differ in width, and in a small box the fewest are too many.
    while (columns > kMinLetters && metrics.horizontalAdvance(text) > room)
      text = label(name, events.name(i), --columns);
    if (metrics.horizontalAdvance(text) > room) text = narrow_label(name, metrics, room);
    if (text.isEmpty()) continue;
    labels.push_back({box.adjusted(3, 0, -2, 0), text, events.name(i), text != shown(name.text), colour});
  }
  leave_out_alike(labels);
  for (const EventLabel& label : labels) {
    painter.setPen(Theme::on(label.colour));
    painter.drawText(label.box, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, label.text);
  }
}

// What is chosen has a bar above it, what was searched for one below, however small it is.
void ImageRowPainter::paint_marks(const TimelineScene& scene, std::size_t row, const TimeAxis& axis,
                                  QPainter& painter) {
  const EventRow& events = scene.row(row).events;
  const int height = row_height(scene.row(row));
  const auto draw = [&](const std::vector<std::uint32_t>& indices, const QColor& colour, double y) {
    auto at = std::lower_bound(indices.begin(), indices.end(), axis.view().start_ns,
                               [&](std::uint32_t i, std::int64_t ns) { return events.end_ns(i) <= ns; });
    while (at != indices.end() && events.start_ns(*at) < axis.view().end_ns) {
      const double from = std::max(axis.x_of(events.start_ns(*at)), 0.0);
      double to = std::max(axis.x_of(events.end_ns(*at)), from + 1);
      // Those that fall on the same pixels are drawn once.
      const std::int64_t next_ns = axis.ns_at(to);
      ++at;
      if (at != indices.end() && events.start_ns(*at) < next_ns) {
        at = std::lower_bound(at, indices.end(), next_ns,
                              [&](std::uint32_t i, std::int64_t ns) { return events.start_ns(i) < ns; });
      }
      to = std::min(to, axis.width());
      painter.fillRect(QRectF(from, y, to - from, 3), colour);
    }
  };
  if (scene.has_kernel()) draw(scene.marked(row), theme().selected, 0);
  draw(scene.found(row), theme().hovered, height - 3);
}

void ImageRowPainter::paint_counter(const TimelineRow& row, const TimeAxis& axis, const Style& style,
                                    QImage& image) {
  const Theme& t = theme();
  const auto width = static_cast<std::size_t>(image.width());
  counter_bins_.resize(width);
  row.counter.bins(axis.view(), counter_bins_);
  QPainter painter(&image);
  const double height = image.height() - 3;
  const double most = row.max > 0 ? row.max : 1;
  const auto y_of = [&](double value) { return 1 + height * (1 - std::clamp(value / most, 0.0, 1.0)); };
  if (row.unit == CounterUnit::ratio) {
    painter.setPen(QPen(t.grid, 1, Qt::DotLine));
    painter.drawLine(QPointF(0, y_of(0.7)), QPointF(image.width(), y_of(0.7)));
  }
  QColor fill = t.accent;
  fill.setAlphaF(t.dark ? 0.55F : 0.5F);
  QColor peak = t.accent;
  peak.setAlphaF(0.22F);
  const double base = 1 + height;
  for (std::size_t x = 0; x < width; ++x) {
    const CounterBin& bin = counter_bins_[x];
    if (!bin.known) continue;
    const double mean = y_of(static_cast<double>(bin.mean)), top = y_of(static_cast<double>(bin.peak));
    painter.fillRect(QRectF(static_cast<double>(x), top, 1, mean - top), peak);
    painter.fillRect(QRectF(static_cast<double>(x), mean, 1, base - mean), fill);
    painter.fillRect(QRectF(static_cast<double>(x), mean, 1, std::max(style.pixel_ratio, 1.0)), t.accent);
  }
  painter.fillRect(QRectF(0, base, image.width(), 1), t.grid);
}

}  // namespace ridgeline::gui
