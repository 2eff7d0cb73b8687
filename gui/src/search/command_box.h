// command_box.h: one box for everything: `/` searches names, `>` commands, `:` asks in SQL.
#pragma once

#include <QFrame>
#include <QLineEdit>
#include <QListWidget>
#include <memory>
#include <vector>

#include "models/key_map.h"
#include "timeline/timeline_data.h"

namespace ridgeline::gui {

/// What `/` and `>` find, best first.
struct BoxEntry {
  QString text;
  QString hint;            ///< kind of a name, key of a command
  QString command;         ///< KeyMap::Entry::id; "": it is a name
  std::int64_t name = -1;  ///< into TimelineData::names; -1: a command, or gaps
};
[[nodiscard]] std::vector<BoxEntry> matching_names(const TimelineData& data, const QString& text,
                                                   std::size_t most);
/// Kinds of gaps.
[[nodiscard]] std::vector<BoxEntry> matching_gaps(const QString& text);
[[nodiscard]] std::vector<BoxEntry> matching_commands(const KeyMap& keys, const QString& text);

class CommandBox : public QFrame {
  Q_OBJECT
 public:
  CommandBox(const KeyMap& keys, QWidget* parent);

  void set_names(std::shared_ptr<const TimelineData> names) { data_ = std::move(names); }
  /// Opens with that first character: '/', '>' or ':'.
  void open(QChar kind);
  [[nodiscard]] QLineEdit* field() const { return field_; }
  [[nodiscard]] QListWidget* list() const { return list_; }

 signals:
  void command_chosen(const QString& id);
  void name_chosen(qint64 name);
  void gaps_chosen(const QString& kind);
  /// Everything that matches is to be marked.
  void search_asked(const QString& text);
  void sql_asked(const QString& sql);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void choose();

  const KeyMap& keys_;
  std::shared_ptr<const TimelineData> data_;
  std::vector<BoxEntry> entries_;
  QLineEdit* field_;
  QListWidget* list_;
  QStringList history_;  // of SQL
};

}  // namespace ridgeline::gui
