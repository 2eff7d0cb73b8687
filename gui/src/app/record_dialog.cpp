#include "app/record_dialog.h"

#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QScrollBar>
#include <QTimer>

#include "models/text.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/schedule.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr int kMaxLines = 5000;
constexpr int kPatienceMs = 10'000;         // from asking it to end to ending it
constexpr int kRemotePatienceMs = 600'000;  // likewise, with the capture to be fetched

// As QProcess::splitCommand() reads it.
QString quoted(QString argument) {
  if (!argument.contains(' ') && !argument.contains('"')) return argument;
  return '"' + argument.replace('"', "\"\"\"") + '"';
}

// As a shell reads one word.
QString shell_word(QString word) {
  return '\'' + word.replace('\'', "'\\''") + '\'';
}

// What follows `record -o CAPTURE`.
QStringList recorded_words(const RecordingPlan& plan) {
  QStringList words;
  if (!plan.schedule.isEmpty()) words << "--schedule" << plan.schedule;
  if (plan.stalls) words << "--stalls";
  if (!plan.directory.isEmpty()) words << "--directory" << plan.directory;
  words << "--";
  // Variables of another machine are set by its own program.
  if (!plan.host.isEmpty() && !plan.environment.isEmpty()) {
    words << "env";
    for (const QString& variable : plan.environment) words << variable.trimmed();
  }
  return words << plan.program << plan.arguments;
}

}  // namespace

QStringList RecordingPlan::command() const {
  return QStringList{"record", "-o", capture} + recorded_words(*this);
}

QStringList RecordingPlan::remote_command(const QString& ridgeline) const {
  QFile script(":/record_over_ssh.sh");
  if (!script.open(QIODevice::ReadOnly))
    throw Error(ErrorKind::internal, "the script that records over ssh is not in this program");
  QStringList words;
  for (const QString& word : recorded_words(*this)) words << shell_word(word);
  return {"-c",           QString::fromUtf8(script.readAll()), "record_over_ssh", host, capture, ridgeline,
          words.join(' ')};
}

QString RecordingPlan::complaint() const {
  if (program.isEmpty()) return RecordDialog::tr("Say which program to record.");
  if (capture.isEmpty()) return RecordDialog::tr("Say where the capture goes.");
  if (QFileInfo::exists(capture))
    return RecordDialog::tr("%1 is already there: choose another name.").arg(capture);
  if (host.startsWith('-')) return RecordDialog::tr("“%1” is no machine that ssh knows.").arg(host);
  if (host.isEmpty() && !directory.isEmpty() && !QFileInfo(directory).isDir())
    return RecordDialog::tr("There is no folder %1.").arg(directory);
  for (const QString& variable : environment) {
    if (variable.indexOf('=') <= 0) return RecordDialog::tr("“%1” is not NAME=VALUE.").arg(variable);
  }
  return {};
}

RecordDialog::RecordDialog(QString ridgeline, QWidget* parent)
    : QDialog(parent),
      ridgeline_(std::move(ridgeline)),
      this_machine_(tr("Checking what this machine can measure…")),
      machine_(new QLabel(this_machine_, this)),
      host_(new QLineEdit(this)),
      program_(new QLineEdit(this)),
      arguments_(new QLineEdit(this)),
      directory_(new QLineEdit(this)),
      environment_(new QPlainTextEdit(this)),
      schedule_(new QLineEdit(this)),
      capture_(new QLineEdit(this)),
      stalls_(new QCheckBox(tr("also what warps wait for (--stalls)"), this)),
      output_(new QPlainTextEdit(this)),
      status_(new QLabel(this)) {
  setWindowTitle(tr("Record a program"));
  resize(760, 680);
  auto* column = new QVBoxLayout(this);
  machine_->setWordWrap(true);
  machine_->setTextFormat(Qt::PlainText);
  machine_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(machine_);
  auto* form = new QFormLayout;
  const auto with_browse = [this](QLineEdit* field, auto browse) {
    auto* row = new QHBoxLayout;
    auto* button = new QPushButton(tr("Browse…"), this);
    connect(button, &QPushButton::clicked, this, browse);
    row->addWidget(field, 1);
    row->addWidget(button);
    return row;
  };
  // A label leads to its field by its letter, also where a button stands beside the field.
  const auto label = [this](const QString& text, QWidget* field) {
    auto* words = new QLabel(text, this);
    words->setBuddy(field);
    return words;
  };
  host_->setPlaceholderText(tr("this one; or NAME as in “ssh NAME”"));
  form->addRow(tr("&Machine"), host_);
  connect(host_, &QLineEdit::textChanged, this, &RecordDialog::show_machine);
  form->addRow(label(tr("&Program"), program_), with_browse(program_, [this] {
                 const QString path = QFileDialog::getOpenFileName(this, tr("Program"));
                 if (!path.isEmpty()) program_->setText(path);
               }));
  form->addRow(tr("&Arguments"), arguments_);
  form->addRow(label(tr("&Folder"), directory_), with_browse(directory_, [this] {
                 const QString path = QFileDialog::getExistingDirectory(this, tr("Folder"));
                 if (!path.isEmpty()) directory_->setText(path);
               }));
  environment_->setMaximumHeight(56);
  environment_->setPlaceholderText(tr("NAME=VALUE, one per line"));
  environment_->setTabChangesFocus(true);
  form->addRow(tr("&Environment"), environment_);
  schedule_->setPlaceholderText(kDefaultSchedule);
  form->addRow(tr("&Schedule"), schedule_);
  form->addRow(QString(), stalls_);
  capture_->setText(QDir::current().filePath("recording.ridge"));
  form->addRow(label(tr("&Capture"), capture_), with_browse(capture_, [this] {
                 const QString path = QFileDialog::getSaveFileName(this, tr("Capture"), capture_->text(),
                                                                   tr("Captures (*.ridge)"));
                 if (!path.isEmpty()) capture_->setText(path);
               }));
  column->addLayout(form);
  output_->setReadOnly(true);
  output_->setMaximumBlockCount(kMaxLines);
  output_->setLineWrapMode(QPlainTextEdit::WidgetWidth);
  output_->setAccessibleName(tr("Output of the program"));
  QFont fixed("DejaVu Sans Mono");
  fixed.setStyleHint(QFont::Monospace);
  fixed.setPointSizeF(font().pointSizeF() * 0.9);
  output_->setFont(fixed);
  column->addWidget(output_, 1);
  status_->setTextFormat(Qt::PlainText);
  status_->setWordWrap(true);
  column->addWidget(status_);
  auto* buttons = new QHBoxLayout;
  start_ = new QPushButton(tr("&Record"), this);
  stop_ = new QPushButton(tr("S&top"), this);
  open_ = new QPushButton(tr("&Open the capture"), this);
  auto* done = new QPushButton(tr("Close"), this);
  start_->setDefault(true);
  stop_->setEnabled(false);
  open_->setEnabled(false);
  for (QPushButton* button : {start_, stop_, open_}) buttons->addWidget(button);
  buttons->addStretch(1);
  buttons->addWidget(done);
  column->addLayout(buttons);
  connect(start_, &QPushButton::clicked, this, &RecordDialog::start);
  connect(stop_, &QPushButton::clicked, this, &RecordDialog::stop);
  connect(done, &QPushButton::clicked, this, &QDialog::reject);
  connect(open_, &QPushButton::clicked, this, [this] {
    emit open_asked(plan().capture);
    accept();
  });
  process_.setProcessChannelMode(QProcess::MergedChannels);
  connect(&process_, &QProcess::readyRead, this, [this] {
    const QString text = shown_lines(process_.readAll().toStdString());
    output_->moveCursor(QTextCursor::End);
    output_->insertPlainText(text);
    output_->verticalScrollBar()->setValue(output_->verticalScrollBar()->maximum());
  });
  connect(&process_, &QProcess::finished, this, [this](int code) { finished(code); });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      status_->setText(tr("%1: %2").arg(ridgeline_, process_.errorString()));
      stop_->setEnabled(false);
      enable_start();
    }
  });
  for (const QLineEdit* field : {host_, program_, capture_})
    connect(field, &QLineEdit::textChanged, this, &RecordDialog::enable_start);
  enable_start();
  ask_doctor();
}

// Not with nothing to record, nor where nothing can be recorded.
void RecordDialog::enable_start() {
  const RecordingPlan wanted = plan();
  const QString missing = wanted.program.isEmpty()                ? tr("Say which program to record.")
                          : wanted.capture.isEmpty()              ? tr("Say where the capture goes.")
                          : !can_record_ && wanted.host.isEmpty() ? tr("This machine cannot record.")
                                                                  : QString();
  start_->setEnabled(missing.isEmpty() && !running());
  start_->setToolTip(missing);
}

// A recording goes on without its window no longer than it takes to end it in order.
RecordDialog::~RecordDialog() {
  process_.disconnect(this);
  doctor_.disconnect(this);
  doctor_.kill();
  doctor_.waitForFinished(1000);
  if (!running()) return;
  process_.terminate();
  if (!process_.waitForFinished(kPatienceMs)) process_.kill();
  process_.waitForFinished(1000);
}

void RecordDialog::ask_doctor() {
  doctor_.setProcessChannelMode(QProcess::MergedChannels);
  connect(&doctor_, &QProcess::finished, this, [this](int code) {
    const QString said = shown_lines(doctor_.readAll().toStdString()).trimmed();
    // Its last paragraph is the conclusion.
    const QString last = said.section("\n\n", -1).simplified();
    this_machine_ = (code == 0 ? QString() : QString("▲ ")) + last;
    can_record_ = code != exit_code(ErrorKind::environment);
    enable_start();
    machine_->setToolTip(said);
    show_machine();
    if (!started_) output_->setPlainText(said + "\n");
  });
  connect(&doctor_, &QProcess::errorOccurred, this, [this] {
    this_machine_ = tr("%1: %2").arg(ridgeline_, doctor_.errorString());
    show_machine();
  });
  doctor_.start(ridgeline_, {"doctor"});
}

// What this machine can measure says nothing of another.
void RecordDialog::show_machine() {
  const QString host = host_->text().trimmed();
  machine_->setText(host.isEmpty()
                        ? this_machine_
                        : tr("Recorded on %1 by ssh; its output says what it cannot measure.").arg(host));
}

RecordingPlan RecordDialog::plan() const {
  RecordingPlan plan;
  plan.host = host_->text().trimmed();
  plan.program = program_->text().trimmed();
  plan.arguments = QProcess::splitCommand(arguments_->text());
  plan.directory = directory_->text().trimmed();
  plan.environment = environment_->toPlainText().split('\n', Qt::SkipEmptyParts);
  plan.schedule = schedule_->text().trimmed();
  plan.capture = capture_->text().trimmed();
  plan.stalls = stalls_->isChecked();
  return plan;
}

void RecordDialog::set_plan(const RecordingPlan& plan) {
  host_->setText(plan.host);
  program_->setText(plan.program);
  QStringList arguments;
  for (const QString& argument : plan.arguments) arguments << quoted(argument);
  arguments_->setText(arguments.join(' '));
  directory_->setText(plan.directory);
  environment_->setPlainText(plan.environment.join('\n'));
  schedule_->setText(plan.schedule);
  capture_->setText(plan.capture);
  stalls_->setChecked(plan.stalls);
}

void RecordDialog::start() {
  const RecordingPlan plan = this->plan();
  if (const QString complaint = plan.complaint(); !complaint.isEmpty()) {
    status_->setText(complaint);
    return;
  }
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  if (plan.host.isEmpty()) {
    for (const QString& variable : plan.environment)
      environment.insert(variable.section('=', 0, 0).trimmed(), variable.section('=', 1));
  }
  process_.setProcessEnvironment(environment);
  output_->clear();
  status_->setText(tr("recording…"));
  stopped_ = false;
  started_ = true;
  start_->setEnabled(false);
  stop_->setEnabled(true);
  open_->setEnabled(false);
  if (plan.host.isEmpty()) {
    process_.start(ridgeline_, plan.command());
  } else {
    process_.start("sh", plan.remote_command(ridgeline_));
  }
}

// The recording ends in order: what was recorded until then becomes the capture.
void RecordDialog::stop() {
  if (!running()) return;
  status_->setText(tr("ending the recording…"));
  stopped_ = true;
  process_.terminate();
  QTimer::singleShot(plan().host.isEmpty() ? kPatienceMs : kRemotePatienceMs, this, [this] {
    if (running()) process_.kill();
  });
}

void RecordDialog::finished(int exit_code) {
  stop_->setEnabled(false);
  enable_start();
  const QString capture = plan().capture;
  const bool there = QFileInfo::exists(capture);
  open_->setEnabled(there);
  if (there) {
    if (stopped_) {
      status_->setText(tr("Stopped: %1 holds what was recorded until then").arg(capture));
    } else if (exit_code == 0) {
      status_->setText(tr("Recorded: %1").arg(capture));
    } else {
      status_->setText(tr("The program ended with status %1; %2 holds what was recorded until then.")
                           .arg(exit_code)
                           .arg(capture));
    }
    open_->setDefault(true);
  } else {
    status_->setText(tr("Nothing was recorded (exit status %1); the output above says why.").arg(exit_code));
  }
}

}  // namespace ridgeline::gui
