// record_dialog.h: runs `ridgeline record`, here or on another machine, and shows what it says.
//
// Lifecycle: 1. the form 2. start(): the program runs, its output appears as it comes 3. stop(), or its end
// 4. the capture can be opened. What the machine lets be measured (`ridgeline doctor`) is asked when the dialog opens.
#pragma once

#include <QCheckBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>

namespace ridgeline::gui {

/// What a recording is started with.
struct RecordingPlan {
  QString host;  ///< as `ssh` takes it; "": this machine
  QString program;
  QStringList arguments;
  QString directory;
  QStringList environment;  ///< NAME=VALUE
  QString schedule;         ///< "": the default one
  QString capture;
  bool stalls = false;
  /// Arguments of `ridgeline`, here.
  [[nodiscard]] QStringList command() const;
  /// Arguments of `sh` that record on the host and fetch the capture; `ridgeline` is carried if the host has none.
  [[nodiscard]] QStringList remote_command(const QString& ridgeline) const;
  /// What is missing or wrong, one sentence; "": nothing.
  [[nodiscard]] QString complaint() const;
};

class RecordDialog : public QDialog {
  Q_OBJECT
 public:
  /// `ridgeline` is the program that records.
  explicit RecordDialog(QString ridgeline, QWidget* parent = nullptr);
  ~RecordDialog() override;

  [[nodiscard]] RecordingPlan plan() const;
  void set_plan(const RecordingPlan& plan);
  [[nodiscard]] QString machine() const { return machine_->text(); }
  [[nodiscard]] QString output() const { return output_->toPlainText(); }
  [[nodiscard]] QString status() const { return status_->text(); }
  [[nodiscard]] bool running() const { return process_.state() != QProcess::NotRunning; }

 public slots:
  void start();
  void stop();

 signals:
  void open_asked(const QString& capture);

 private:
  void ask_doctor();
  void show_machine();
  void enable_start();
  void finished(int exit_code);

  QString ridgeline_;
  QString this_machine_;  // what doctor says of it
  QLabel* machine_;
  QLineEdit* host_;
  QLineEdit* program_;
  QLineEdit* arguments_;
  QLineEdit* directory_;
  QPlainTextEdit* environment_;
  QLineEdit* schedule_;
  QLineEdit* capture_;
  QCheckBox* stalls_;
  QPlainTextEdit* output_;
  QLabel* status_;
  QPushButton* start_;
  QPushButton* stop_;
  QPushButton* open_;
  bool can_record_ = true;  // as far as doctor has said
  bool stopped_ = false;    // by its user
  bool started_ = false;    // the output is a recording's
  QProcess process_;
  QProcess doctor_;
};

}  // namespace ridgeline::gui
