#include "gui/layout_check.h"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QFocusFrame>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QRegularExpression>
#include <QRubberBand>
#include <QScrollBar>
#include <QStyle>
#include <QStyleOptionComboBox>
#include <QTabBar>
#include <QTableView>
#include <QTextDocument>
#include <QToolButton>

#include "models/table_model.h"
#include "panels/elided_button.h"
#include "panels/elided_label.h"
#include "search/command_box.h"

namespace ridgeline::gui::testing {
namespace {

constexpr int kFewLetters = 3;  // and dots: nobody can tell what it was

QString name_of(const QWidget& widget) {
  QString name = widget.metaObject()->className();
  name.remove("ridgeline::gui::");
  if (!widget.accessibleName().isEmpty()) name += " '" + widget.accessibleName() + "'";
  for (const QWidget* above = widget.parentWidget(); above != nullptr; above = above->parentWidget()) {
    const QString its = above->metaObject()->className();
    if (its.startsWith("ridgeline::gui::")) return name + " of " + QString(its).remove("ridgeline::gui::");
  }
  return name;
}

// To Qt a panel behind another is as visible as the one before it.
bool can_be_seen(const QWidget& widget) {
  return widget.isVisible() && !widget.visibleRegion().isEmpty();
}

QString shortened(const QString& text) {
  return "'" + (text.size() > 60 ? text.left(57) + "..." : text) + "'";
}

class Check {
 public:
  void look_at(const QWidget& widget) {
    if (!can_be_seen(widget)) return;
    if (const auto* elided = qobject_cast<const ElidedLabel*>(&widget)) {
      check_elided(*elided);
    } else if (const auto* label = qobject_cast<const QLabel*>(&widget)) {
      check_label(*label);
    } else if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) {
      check_button(*button);
    } else if (const auto* tabs = qobject_cast<const QTabBar*>(&widget)) {
      check_tabs(*tabs);
    } else if (const auto* box = qobject_cast<const QComboBox*>(&widget)) {
      check_box(*box);
    } else if (const auto* field = qobject_cast<const QLineEdit*>(&widget)) {
      check_field(*field);
    } else if (const auto* table = qobject_cast<const QTableView*>(&widget)) {
      check_table(*table);
    }
    check_children(widget);
    for (const QObject* child : widget.children()) {
      const auto* below = qobject_cast<const QWidget*>(child);
      if (below != nullptr && !below->isWindow()) look_at(*below);
    }
  }

  [[nodiscard]] QStringList faults() const { return faults_; }

 private:
  void fault(const QWidget& widget, const QString& what) { faults_ << name_of(widget) + ": " + what; }

  // A hyphen is no minus sign, and one is not many.
  void check_words(const QWidget& widget, const QString& text) {
    static const QRegularExpression kHyphen("(^|[\\s(±])-\\d[\\d.,]*( ?%| [µmn]?s| points|\\s|\\)|$)");
    static const QRegularExpression kOneOfMany(
        "(^|[^\\d.,])1 (\\w+ "
        ")?(kernels|launches|steps|gaps|calls|notices|samples|events|copies|ranges|communicators|ranks|"
        "rows|counters|runs|rules|pairs|streams|devices|findings|columns)\\b");
    if (text.contains(kHyphen)) fault(widget, "a hyphen for a minus sign: " + shortened(text));
    if (text.contains(kOneOfMany)) fault(widget, "one is said to be many: " + shortened(text));
  }

  void check_elided(const ElidedLabel& label) {
    check_words(label, label.text());
    const QString seen = label.painted_lines().join(' ');
    if (label.is_cut() && seen.size() < kFewLetters + 2)
      fault(label, "nothing is left of " + shortened(label.text()));
    if (label.fontMetrics().height() > label.height())
      fault(label, "lower than its letters: " + shortened(label.text()));
  }

  void check_label(const QLabel& label) {
    if (label.text().isEmpty()) return;
    check_words(label, label.text());
    const QSize room = label.size();
    if (label.wordWrap()) {
      if (label.heightForWidth(room.width()) > room.height() && !inside_scroll_area(label))
        fault(label, "lines are cut off: " + shortened(label.text()));
    } else if (label.sizeHint().width() > room.width()) {
      fault(label, "cut without dots: " + shortened(label.text()));
    }
    if (label.fontMetrics().height() > room.height())
      fault(label, "lower than its letters: " + shortened(label.text()));
  }

  // Of a label that grows in what can be scrolled its height is not final until it was scrolled to.
  static bool inside_scroll_area(const QWidget& widget) {
    for (const QWidget* above = widget.parentWidget(); above != nullptr; above = above->parentWidget())
      if (qobject_cast<const QAbstractScrollArea*>(above) != nullptr) return true;
    return false;
  }

  void check_button(const QAbstractButton& button) {
    if (button.text().isEmpty()) return;
    check_words(button, button.text());
    if (qobject_cast<const ElidedButton*>(&button) != nullptr) {
      if (button.width() < button.minimumSizeHint().width())
        fault(button, "nothing is left of " + shortened(button.text()));
      return;
    }
    const auto* tool = qobject_cast<const QToolButton*>(&button);
    if (tool != nullptr && tool->toolButtonStyle() == Qt::ToolButtonIconOnly && !tool->icon().isNull())
      return;
    if (button.sizeHint().width() > button.width() || button.fontMetrics().height() > button.height())
      fault(button, "no room for " + shortened(button.text()));
  }

  void check_tabs(const QTabBar& tabs) {
    QStringList texts;
    for (int i = 0; i < tabs.count(); ++i) {
      if (!tabs.isTabVisible(i)) continue;
      texts << tabs.tabText(i);
      const int need = tabs.fontMetrics().horizontalAdvance(tabs.tabText(i).remove('&'));
      if (tabs.tabRect(i).width() < need) fault(tabs, "no room for the tab " + shortened(tabs.tabText(i)));
      if (tabs.tabRect(i).right() > tabs.width() && !tabs.usesScrollButtons())
        fault(tabs, "outside: the tab " + shortened(tabs.tabText(i)));
    }
    if (texts.removeDuplicates() > 0) fault(tabs, "two tabs of one name in " + texts.join(", "));
  }

  void check_box(const QComboBox& box) {
    if (box.currentText().isEmpty()) return;
    QStyleOptionComboBox option;
    option.initFrom(&box);
    option.editable = box.isEditable();
    const QRect room =
        box.style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, &box);
    if (box.fontMetrics().horizontalAdvance(box.currentText()) > room.width())
      fault(box, "no room for " + shortened(box.currentText()));
  }

  // What somebody typed may be as long as it likes; what the field is for is to be read.
  void check_field(const QLineEdit& field) {
    if (field.text().isEmpty() &&
        field.fontMetrics().horizontalAdvance(field.placeholderText()) + 8 > field.width())
      fault(field, "no room for " + shortened(field.placeholderText()));
  }

  // Names end with dots; a number that does is another number.
  void check_table(const QTableView& table) {
    const QAbstractItemModel* model = table.model();
    if (model == nullptr) return;
    if (table.horizontalScrollBar()->maximum() > 0 && !name_of(table).endsWith("SqlPanel"))
      fault(table, "its columns do not fit");
    const int margin = table.style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, &table) + 1;
    for (int column = 0; column < model->columnCount(); ++column) {
      if (table.isColumnHidden(column)) continue;
      const QRect head(table.horizontalHeader()->sectionViewportPosition(column), 0,
                       table.horizontalHeader()->sectionSize(column), 1);
      if (!table.viewport()->rect().contains(head.adjusted(0, 0, -1, 0)))
        continue;  // scrolled to be seen whole
      const QString heading = model->headerData(column, Qt::Horizontal).toString();
      for (const QString& line : heading.split('\n')) {
        if (table.horizontalHeader()->fontMetrics().horizontalAdvance(line) > head.width())
          fault(table, "no room for the heading " + shortened(line));
      }
      for (int row = table.rowAt(0); row >= 0 && row < model->rowCount(); ++row) {
        if (table.rowViewportPosition(row) > table.viewport()->height()) break;
        const QModelIndex cell = model->index(row, column);
        const int alignment = cell.data(Qt::TextAlignmentRole).toInt();
        const QString text = cell.data().toString();
        // Names of kernels are the program's.
        if (cell.data(kElideRole).toInt() == static_cast<int>(reports::Elide::never))
          check_words(table, text);
        if ((alignment & Qt::AlignRight) == 0 || text.isEmpty()) continue;
        if (table.fontMetrics().horizontalAdvance(text) + 2 * margin > head.width()) {
          fault(table, "the number " + shortened(text) + " is cut below " + shortened(heading));
          break;
        }
      }
    }
  }

  // Boxes over everything else are meant to be there.
  static bool floats(const QWidget& widget) {
    return qobject_cast<const QFocusFrame*>(&widget) != nullptr ||
           qobject_cast<const QRubberBand*>(&widget) != nullptr ||
           qobject_cast<const CommandBox*>(&widget) != nullptr;
  }

  void check_children(const QWidget& parent) {
    const bool scrolls = parent.parentWidget() != nullptr &&
                         qobject_cast<const QAbstractScrollArea*>(parent.parentWidget()) != nullptr;
    std::vector<const QWidget*> seen;
    for (const QObject* child : parent.children()) {
      const auto* widget = qobject_cast<const QWidget*>(child);
      if (widget == nullptr || widget->isWindow() || floats(*widget) || !can_be_seen(*widget)) continue;
      // Some widgets are made of others, by the toolkit, which knows where these go.
      if (QString(widget->objectName()).startsWith("qt_")) continue;
      if (!scrolls && !parent.rect().contains(widget->geometry()))
        fault(*widget, QString("reaches out of %1").arg(name_of(parent)));
      for (const QWidget* other : seen) {
        if (widget->geometry().intersects(other->geometry())) fault(*widget, "lies over " + name_of(*other));
      }
      seen.push_back(widget);
    }
  }

  QStringList faults_;
};

}  // namespace

QStringList layout_faults(const QWidget& root) {
  Check check;
  check.look_at(root);
  QStringList faults = check.faults();
  faults.removeDuplicates();
  return faults;
}

}  // namespace ridgeline::gui::testing
