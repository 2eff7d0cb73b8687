#include "search/command_box.h"

#include <QBoxLayout>
#include <QKeyEvent>
#include <algorithm>
#include <set>

#include "models/table_model.h"
#include "models/text.h"
#include "ridgeline/reports/elide.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kMaxNames = 60;
constexpr int kMaxEntryLength = 64;
constexpr int kWidth = 640;

QString kind_words(EventName::Kind kind) {
  switch (kind) {
    case EventName::Kind::kernel:
      return "kernel";
    case EventName::Kind::range:
      return "NVTX range";
    case EventName::Kind::copy:
      return "copy";
    case EventName::Kind::wait:
      return "wait";
    case EventName::Kind::gap:
      return "gap";
    case EventName::Kind::step:
      return "step";
  }
  return {};
}

}  // namespace

std::vector<BoxEntry> matching_names(const TimelineData& data, const QString& text, std::size_t most) {
  std::vector<BoxEntry> entries;
  if (text.isEmpty()) return entries;
  const QRegularExpression pattern = pattern_of(text);
  std::set<std::pair<EventName::Kind, std::string>> seen;
  // Kernels first: they are what is looked for.
  for (const bool kernels : {true, false}) {
    for (std::size_t i = 0; i < data.names.size() && entries.size() < most; ++i) {
      const EventName& name = data.names[i];
      if ((name.kind == EventName::Kind::kernel) != kernels) continue;
      if (!pattern.match(shown(name.text)).hasMatch() || !seen.emplace(name.kind, name.text).second) continue;
      entries.push_back({shown(name.text), kind_words(name.kind), {}, static_cast<std::int64_t>(i)});
    }
  }
  return entries;
}

std::vector<BoxEntry> matching_gaps(const QString& text) {
  std::vector<BoxEntry> entries;
  if (text.isEmpty()) return entries;
  const QRegularExpression pattern = pattern_of(text);
  for (int kind = 0; kind <= static_cast<int>(analyzer::GapKind::tail); ++kind) {
    const QString name = shown(gap_name(static_cast<analyzer::GapKind>(kind)).text);
    if (pattern.match(name).hasMatch()) entries.push_back({name, CommandBox::tr("gaps of the GPU"), {}, -1});
  }
  return entries;
}

std::vector<BoxEntry> matching_commands(const KeyMap& keys, const QString& text) {
  std::vector<BoxEntry> entries;
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  for (const KeyMap::Entry& entry : keys.entries()) {
    const bool all = std::all_of(words.begin(), words.end(), [&](const QString& word) {
      return entry.text.contains(word, Qt::CaseInsensitive);
    });
    if (all) entries.push_back({entry.text, entry.key.toString(QKeySequence::NativeText), entry.id, -1});
  }
  return entries;
}

CommandBox::CommandBox(const KeyMap& keys, QWidget* parent)
    : QFrame(parent), keys_(keys), field_(new QLineEdit(this)), list_(new QListWidget(this)) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Window);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  column->addWidget(field_);
  column->addWidget(list_);
  field_->setAccessibleName(tr("Search, command or query"));
  list_->setAccessibleName(tr("What was found"));
  list_->setFocusPolicy(Qt::NoFocus);
  field_->installEventFilter(this);
  connect(field_, &QLineEdit::textChanged, this, &CommandBox::refresh);
  connect(field_, &QLineEdit::returnPressed, this, &CommandBox::choose);
  connect(list_, &QListWidget::itemClicked, this, &CommandBox::choose);
  hide();
}

void CommandBox::open(QChar kind) {
  const int wide = std::min(kWidth, parentWidget()->width() - 20);
  setGeometry((parentWidget()->width() - wide) / 2, 44, wide, 380);
  field_->setText(kind);
  refresh();
  show();
  raise();
  field_->setFocus();
}

void CommandBox::refresh() {
  const QString text = field_->text();
  list_->clear();
  entries_.clear();
  const QString rest = text.mid(1);
  if (text.startsWith('>')) {
    entries_ = matching_commands(keys_, rest);
  } else if (text.startsWith(':')) {
    list_->addItem(tr("Enter asks, read-only. The SQL panel lists the views: v_launch, v_gap …"));
    list_->item(0)->setFlags(Qt::NoItemFlags);
    for (const QString& before : history_) entries_.push_back({before, tr("asked before"), {}, -1});
  } else if (data_) {
    const QString asked = text.startsWith('/') ? rest : text;
    entries_ = matching_gaps(asked);
    const std::vector<BoxEntry> names = matching_names(*data_, asked, kMaxNames);
    // What begins with the word comes first: a kernel may have it anywhere in its name.
    entries_.insert(asked.startsWith("gap", Qt::CaseInsensitive) ? entries_.end() : entries_.begin(),
                    names.begin(), names.end());
  }
  // Only kernels have names whose ends can be left out; a command is shown whole.
  std::vector<std::string> kernels;
  const auto is_kernel = [](const BoxEntry& entry) {
    return entry.hint == kind_words(EventName::Kind::kernel);
  };
  for (const BoxEntry& entry : entries_) {
    if (is_kernel(entry)) kernels.push_back(entry.text.toStdString());
  }
  const std::vector<std::string> cut = reports::elide_kernel_names(kernels, kMaxEntryLength);
  auto next = cut.begin();
  for (const BoxEntry& entry : entries_) {
    const QString name = is_kernel(entry) ? plain(*next++) : entry.text;
    list_->addItem(name + (entry.hint.isEmpty() ? QString() : "    [" + entry.hint + "]"));
  }
  if (entries_.empty() && !rest.isEmpty() && !text.startsWith(':')) {
    list_->addItem(tr("Nothing is called so"));
    list_->item(0)->setFlags(Qt::NoItemFlags);
  }
  if (!entries_.empty() && !text.startsWith(':')) list_->setCurrentRow(0);
}

void CommandBox::choose() {
  const QString text = field_->text();
  const bool sql = text.startsWith(':');
  const int row = list_->currentRow() - (sql ? 1 : 0);
  const bool chosen = row >= 0 && row < static_cast<int>(entries_.size());
  if (sql) {
    const QString query = (chosen ? entries_[static_cast<std::size_t>(row)].text : text.mid(1)).trimmed();
    if (query.isEmpty()) return;
    history_.removeAll(query);
    history_.prepend(query);
    if (history_.size() > 20) history_.removeLast();
    hide();
    emit sql_asked(query);
    return;
  }
  if (!chosen) return;
  const BoxEntry entry = entries_[static_cast<std::size_t>(row)];
  hide();
  if (!entry.command.isEmpty()) {
    emit command_chosen(entry.command);
  } else if (entry.name < 0) {
    emit gaps_chosen(entry.text);
  } else {
    emit search_asked(text.startsWith('/') ? text.mid(1) : text);
    emit name_chosen(entry.name);
  }
}

bool CommandBox::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Escape) {
      hide();
      return true;
    }
    if (key->key() == Qt::Key_Down || key->key() == Qt::Key_Up) {
      const int to = list_->currentRow() + (key->key() == Qt::Key_Down ? 1 : -1);
      if (to >= 0 && to < list_->count()) list_->setCurrentRow(to);
      return true;
    }
  }
  if (event->type() == QEvent::FocusOut && !list_->underMouse()) hide();
  return QFrame::eventFilter(watched, event);
}

}  // namespace ridgeline::gui
