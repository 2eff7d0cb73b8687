// pages.h: what the window shows instead of panels: a welcome, the loading with its progress, what is wrong.
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

#include "ridgeline/base/error.h"

namespace ridgeline::gui {

class WelcomePage : public QWidget {
  Q_OBJECT
 public:
  explicit WelcomePage(QWidget* parent = nullptr);
  void set_recent(const QStringList& paths);

 signals:
  void open_asked();
  void record_asked();
  void recent_chosen(const QString& path);

 private:
  QLabel* recent_title_;
  QListWidget* recent_;
};

class LoadingPage : public QWidget {
  Q_OBJECT
 public:
  explicit LoadingPage(QWidget* parent = nullptr);
  void begin(const QString& path);
  void progress(const QString& what, qint64 done, qint64 total);

 signals:
  void cancelled();

 private:
  QLabel* title_;
  QLabel* what_;
  QProgressBar* bar_;
};

class ErrorPage : public QWidget {
  Q_OBJECT
 public:
  explicit ErrorPage(QWidget* parent = nullptr);
  void show_failure(const QString& path, const Failure& failure);
  [[nodiscard]] QString text() const { return what_->text() + "\n" + remedy_->text(); }

 signals:
  void open_asked();
  void retry_asked();

 private:
  QLabel* title_;
  QLabel* what_;
  QLabel* remedy_;
};

/// What can be done about a capture that does not open; one or two sentences.
[[nodiscard]] QString remedy_text(ErrorKind kind);

}  // namespace ridgeline::gui
