// key_map.h: every command with its key, in one place: menus, the box, the sheet of keys and the timeline look here.
#pragma once

#include <QKeySequence>
#include <QObject>
#include <QSettings>
#include <QString>
#include <vector>

namespace ridgeline::gui {

class KeyMap : public QObject {
  Q_OBJECT
 public:
  enum class Place { window, timeline };
  struct Entry {
    QString id;
    QString text;
    Place place = Place::window;
    QKeySequence standard;
    QKeySequence key;
  };

  /// With the keys of the settings, where these were changed.
  explicit KeyMap(QSettings* settings = nullptr, QObject* parent = nullptr);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(const QString& id) const;
  /// The command of that key; "" if there is none.
  [[nodiscard]] QString command(Place place, const QKeySequence& key) const;
  /// Changes a key and keeps it. False: another command of the same place has it.
  bool rebind(const QString& id, const QKeySequence& key);
  void reset();

 signals:
  void changed();

 private:
  QSettings* settings_;
  std::vector<Entry> entries_;
};

}  // namespace ridgeline::gui
