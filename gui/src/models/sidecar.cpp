#include "models/sidecar.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace ridgeline::gui {
namespace {

constexpr int kVersion = 1;

QJsonArray list_of(const auto& texts) {
  QJsonArray array;
  for (const std::string& text : texts) array.append(QString::fromStdString(text));
  return array;
}

QJsonValue window_json(const std::optional<analyzer::TimeWindow>& window) {
  if (!window) return {};
  return QJsonObject{{"start_ns", QString::number(window->start_ns)},
                     {"end_ns", QString::number(window->end_ns)}};
}

std::optional<analyzer::TimeWindow> read_window(const QJsonValue& value) {
  if (!value.isObject()) return std::nullopt;
  bool start = false, end = false;
  const analyzer::TimeWindow window{value.toObject()["start_ns"].toString().toLongLong(&start),
                                    value.toObject()["end_ns"].toString().toLongLong(&end)};
  if (!start || !end || window.start_ns >= window.end_ns || window.start_ns < 0) return std::nullopt;
  return window;
}

template <typename Container>
Container read_list(const QJsonValue& value) {
  Container texts;
  const QJsonArray array = value.toArray();
  for (const QJsonValue each : array) {
    if (each.isString()) texts.insert(texts.end(), each.toString().toStdString());
  }
  return texts;
}

}  // namespace

QByteArray to_json(const ViewState& state) {
  QJsonArray notes, bookmarks;
  for (const TimelineNote& note : state.notes)
    notes.append(QJsonObject{{"time_ns", QString::number(note.time_ns)},
                             {"text", note.text},
                             {"row", QString::fromStdString(note.row)}});
  for (const auto& bookmark : state.bookmarks) bookmarks.append(window_json(bookmark));
  const QJsonObject all{{"ridgeline_view", kVersion},
                        {"rows", QJsonObject{{"order", list_of(state.rows.order)},
                                             {"hidden", list_of(state.rows.hidden)},
                                             {"shown", list_of(state.rows.shown)},
                                             {"pinned", list_of(state.rows.pinned)}}},
                        {"notes", notes},
                        {"bookmarks", bookmarks},
                        {"view", window_json(state.view)},
                        {"range", window_json(state.range)},
                        {"nvtx", QString::fromStdString(state.nvtx)},
                        {"docks", QString::fromLatin1(state.docks.toBase64())}};
  return QJsonDocument(all).toJson();
}

Result<ViewState> view_from_json(const QByteArray& json) {
  QJsonParseError error;
  const QJsonDocument document = QJsonDocument::fromJson(json, &error);
  if (error.error != QJsonParseError::NoError)
    return Failure{ErrorKind::corrupt, "is not JSON: " + error.errorString().toStdString()};
  const QJsonObject all = document.object();
  if (!all["ridgeline_view"].isDouble()) return Failure{ErrorKind::corrupt, "is not a view of Ridgeline"};
  if (all["ridgeline_view"].toInt() > kVersion)
    return Failure{ErrorKind::corrupt, "was written by a newer Ridgeline"};
  ViewState state;
  const QJsonObject rows = all["rows"].toObject();
  state.rows.order = read_list<std::vector<std::string>>(rows["order"]);
  state.rows.hidden = read_list<std::set<std::string>>(rows["hidden"]);
  state.rows.shown = read_list<std::set<std::string>>(rows["shown"]);
  state.rows.pinned = read_list<std::set<std::string>>(rows["pinned"]);
  const QJsonArray notes = all["notes"].toArray();
  for (const QJsonValue value : notes) {
    const QJsonObject note = value.toObject();
    bool whole = false;
    const std::int64_t time = note["time_ns"].toString().toLongLong(&whole);
    if (whole) state.notes.push_back({time, note["text"].toString(), note["row"].toString().toStdString()});
  }
  const QJsonArray bookmarks = all["bookmarks"].toArray();
  for (qsizetype i = 0; i < bookmarks.size() && i < 10; ++i)
    state.bookmarks[static_cast<std::size_t>(i)] = read_window(bookmarks[i]);
  state.view = read_window(all["view"]);
  state.range = read_window(all["range"]);
  state.nvtx = all["nvtx"].toString().toStdString();
  state.docks = QByteArray::fromBase64(all["docks"].toString().toLatin1());
  return state;
}

QString sidecar_path(const QString& capture) {
  return capture + ".view.json";
}

Result<ViewState> load_view(const QString& path) {
  QFile file(path);
  if (!file.exists()) return ViewState{};
  if (!QFileInfo(file).isFile())  // a pipe would be waited for
    return Failure{ErrorKind::io, path.toStdString() + ": no file"};
  if (!file.open(QIODevice::ReadOnly))
    return Failure{ErrorKind::io, (path + ": " + file.errorString()).toStdString()};
  Result<ViewState> state = view_from_json(file.readAll());
  if (!state) return Failure{state.failure().kind, path.toStdString() + " " + state.failure().message};
  return state;
}

Result<void> save_view(const QString& path, const ViewState& state) {
  QSaveFile file(path);
  const QByteArray json = to_json(state);
  if (!file.open(QIODevice::WriteOnly) || file.write(json) != json.size() || !file.commit())
    return Failure{ErrorKind::io, (path + ": " + file.errorString()).toStdString()};
  return {};
}

}  // namespace ridgeline::gui
