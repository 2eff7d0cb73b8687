#include "app/pages.h"

#include <QBoxLayout>
#include <QFileInfo>
#include <QIcon>

#include "models/text.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

QLabel* title_label(QWidget* parent) {
  auto* label = new QLabel(parent);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * 1.7);
  font.setBold(true);
  label->setFont(font);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  return label;
}

QLabel* text_label(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

// A column of readable width in the middle.
QVBoxLayout* column_in(QWidget* page) {
  auto* across = new QHBoxLayout(page);
  auto* column = new QVBoxLayout;
  auto* holder = new QWidget(page);
  holder->setLayout(column);
  holder->setMaximumWidth(680);
  across->addStretch(1);
  across->addWidget(holder, 8);
  across->addStretch(1);
  column->addStretch(1);
  column->setSpacing(12);
  return column;
}

}  // namespace

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent) {
  auto* column = column_in(this);
  auto* icon = new QLabel(this);
  icon->setPixmap(QIcon(":/ridgeline.svg").pixmap(72, 72));
  column->addWidget(icon);
  auto* title = title_label(this);
  title->setText("Ridgeline");
  column->addWidget(title);
  auto* text = text_label(this);
  text->setText(tr(
      "Which kernels of a training step to optimise, and how much time each could save. Open a capture, or "
      "drop one here. A capture is what “ridgeline record -- PROGRAM” writes."));
  column->addWidget(text);
  auto* buttons = new QHBoxLayout;
  auto* open = new QPushButton(tr("&Open a capture…"), this);
  open->setDefault(true);
  auto* record = new QPushButton(tr("&Record a program…"), this);
  buttons->addWidget(open);
  buttons->addWidget(record);
  buttons->addStretch(1);
  column->addLayout(buttons);
  recent_title_ = new QLabel(tr("Opened before"), this);
  recent_ = new QListWidget(this);
  recent_->setMaximumHeight(220);
  recent_->setAccessibleName(tr("Captures opened before"));
  column->addWidget(recent_title_);
  column->addWidget(recent_);
  column->addStretch(2);
  connect(open, &QPushButton::clicked, this, &WelcomePage::open_asked);
  connect(record, &QPushButton::clicked, this, &WelcomePage::record_asked);
  connect(recent_, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { emit recent_chosen(item->data(Qt::UserRole).toString()); });
  set_recent({});
}

void WelcomePage::set_recent(const QStringList& paths) {
  recent_->clear();
  for (const QString& path : paths) {
    const QFileInfo file(path);
    auto* item = new QListWidgetItem(file.fileName() + "   " + file.absolutePath(), recent_);
    item->setData(Qt::UserRole, path);
  }
  recent_->setVisible(!paths.isEmpty());
  recent_title_->setVisible(!paths.isEmpty());
}

LoadingPage::LoadingPage(QWidget* parent) : QWidget(parent) {
  auto* column = column_in(this);
  title_ = title_label(this);
  what_ = text_label(this);
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  auto* cancel = new QPushButton(tr("Cancel"), this);
  cancel->setShortcut(Qt::Key_Escape);
  column->addWidget(title_);
  column->addWidget(what_);
  column->addWidget(bar_);
  column->addWidget(cancel, 0, Qt::AlignLeft);
  column->addStretch(2);
  connect(cancel, &QPushButton::clicked, this, &LoadingPage::cancelled);
}

void LoadingPage::begin(const QString& path) {
  title_->setText(tr("Opening %1").arg(QFileInfo(path).fileName()));
  progress(tr("Reading what was recorded"), 0, 0);
}

void LoadingPage::progress(const QString& what, qint64 done, qint64 total) {
  what_->setText(total > 0 ? tr("%1: %L2 of %L3").arg(what).arg(done).arg(total)
                           : (done > 0 ? tr("%1: %L2").arg(what).arg(done) : what + "…"));
  bar_->setMaximum(total > 0 ? 1000 : 0);
  bar_->setValue(total > 0 ? static_cast<int>(1000 * done / total) : 0);
}

ErrorPage::ErrorPage(QWidget* parent) : QWidget(parent) {
  auto* column = column_in(this);
  title_ = title_label(this);
  what_ = text_label(this);
  remedy_ = text_label(this);
  column->addWidget(title_);
  column->addWidget(what_);
  column->addWidget(remedy_);
  auto* buttons = new QHBoxLayout;
  auto* other = new QPushButton(tr("&Open another capture…"), this);
  auto* retry = new QPushButton(tr("&Try again"), this);
  buttons->addWidget(other);
  buttons->addWidget(retry);
  buttons->addStretch(1);
  column->addLayout(buttons);
  column->addStretch(2);
  connect(other, &QPushButton::clicked, this, &ErrorPage::open_asked);
  connect(retry, &QPushButton::clicked, this, &ErrorPage::retry_asked);
}

void ErrorPage::show_failure(const QString& path, const Failure& failure) {
  const QString name = QFileInfo(path).fileName();
  title_->setText(failure.kind == ErrorKind::cancelled ? tr("%1 was not opened").arg(name)
                                                       : tr("%1 cannot be shown").arg(name));
  what_->setText(shown(failure.message));
  remedy_->setText(remedy_text(failure.kind));
}

QString remedy_text(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::no_data:
      return ErrorPage::tr(
          "The file is a capture, but it holds too little to show. “ridgeline info” prints what was "
          "recorded.");
    case ErrorKind::not_a_capture:
      return ErrorPage::tr(
          "Captures are made by “ridgeline record -- PROGRAM”; “ridgeline import” reads what other programs "
          "wrote.");
    case ErrorKind::newer_capture:
      return ErrorPage::tr("It was written by a newer Ridgeline: open it with that one.");
    case ErrorKind::corrupt:
      return ErrorPage::tr(
          "The file is damaged or was cut short. “ridgeline info --verify” says what is wrong; if the "
          "recording's folder is still there, “ridgeline import” makes the capture anew.");
    case ErrorKind::io:
      return ErrorPage::tr("See whether the file is there and may be read.");
    case ErrorKind::cancelled:
      return ErrorPage::tr("Nothing was changed.");
    default:
      return {};
  }
}

}  // namespace ridgeline::gui
