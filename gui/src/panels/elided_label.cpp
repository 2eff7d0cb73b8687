#include "panels/elided_label.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QPainter>
#include <QRegularExpression>
#include <algorithm>
#include <vector>

namespace ridgeline::gui {

namespace {

// Without a unit, which is the next word then.
bool is_bare_number(const QString& word) {
  static const QRegularExpression kNumber("^[^A-Za-z%]*\\d[^A-Za-z%]*$");
  return kNumber.match(word).hasMatch();
}

}  // namespace

QString elided_words(const QString& text, const QFontMetrics& metrics, int width) {
  if (metrics.horizontalAdvance(text) <= width) return text;
  QStringList words = text.split(' ');
  while (!words.isEmpty()) {
    words.removeLast();
    while (!words.isEmpty() && is_bare_number(words.last())) words.removeLast();
    const QString left = words.join(' ') + QString::fromUtf8(" …");
    if (!words.isEmpty() && metrics.horizontalAdvance(left) <= width) return left;
  }
  return metrics.elidedText(text, Qt::ElideRight, width);
}

namespace {

// Greedily, as a reader would, a number with its unit; a word that is wider than a line has a line to itself.
QStringList broken(const QString& text, const QFontMetrics& metrics, int width) {
  QStringList words;
  for (const QString& word : text.split(' ')) {
    if (!words.isEmpty() && is_bare_number(words.last())) {
      words.last() += ' ' + word;
    } else {
      words << word;
    }
  }
  QStringList lines;
  for (const QString& word : words) {
    const QString longer = lines.isEmpty() ? word : lines.last() + ' ' + word;
    if (lines.isEmpty() || metrics.horizontalAdvance(longer) > width) {
      lines << word;
    } else {
      lines.last() = longer;
    }
  }
  return lines;
}

bool fits(const QStringList& lines, const QFontMetrics& metrics, int width, int most) {
  return lines.size() <= most && std::all_of(lines.begin(), lines.end(), [&](const QString& line) {
           return metrics.horizontalAdvance(line) <= width;
         });
}

// Lengths of what comes before each `mark` that stands in no brackets, the longest first.
std::vector<qsizetype> clause_ends(const QString& text, const QStringList& marks) {
  std::vector<qsizetype> ends;
  int inside = 0;
  for (qsizetype i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++inside;
    if (text[i] == ')') --inside;
    if (inside > 0) continue;
    for (const QString& mark : marks) {
      // A full stop belongs to what it ends.
      if (QStringView(text).mid(i).startsWith(mark)) ends.push_back(mark.startsWith('.') ? i + 1 : i);
    }
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

}  // namespace

QStringList fitted_lines(const QString& text, const QFontMetrics& metrics, int width, int lines) {
  const QString whole = text.simplified();
  const QStringList all = broken(whole, metrics, width);
  if (fits(all, metrics, width, lines)) return all;
  static const QString kDots = QString::fromUtf8(" …");
  static const QStringList kGrades[] = {{". ", "; ", QString::fromUtf8(" · ")}, {", ", ": "}};
  for (const QStringList& marks : kGrades) {
    for (const qsizetype end : clause_ends(whole, marks)) {
      const QStringList left = broken(whole.left(end) + kDots, metrics, width);
      if (fits(left, metrics, width, lines)) return left;
    }
  }
  QStringList left = all.mid(0, std::max(lines - 1, 0));
  left << elided_words(all.mid(left.size()).join(' '), metrics, width);
  return left;
}

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  auto* copy = new QAction(tr("Copy"), this);
  connect(copy, &QAction::triggered, this, [this] { QApplication::clipboard()->setText(text()); });
  addAction(copy);
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

void ElidedLabel::setText(const QString& text) {
  QLabel::setText(text);
  setToolTip(text);
  fit_height();
}

void ElidedLabel::set_max_lines(int lines) {
  max_lines_ = lines;
  fit_height();
}

QStringList ElidedLabel::painted_lines() const {
  return fitted_lines(text(), fontMetrics(), contentsRect().width(), max_lines_);
}

void ElidedLabel::fit_height() {
  if (max_lines_ > 1) setFixedHeight(static_cast<int>(painted_lines().size()) * fontMetrics().lineSpacing());
}

void ElidedLabel::resizeEvent(QResizeEvent* event) {
  QLabel::resizeEvent(event);
  fit_height();
}

void ElidedLabel::changeEvent(QEvent* event) {
  QLabel::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit_height();
}

QSize ElidedLabel::minimumSizeHint() const {
  return {0, fontMetrics().height()};
}

bool ElidedLabel::is_cut() const {
  return painted_lines().join(' ') != text().simplified();
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(contentsRect(), static_cast<int>(alignment()), painted_lines().join('\n'));
}

}  // namespace ridgeline::gui
