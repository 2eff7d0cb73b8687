// sidecar.h: what a person did to a capture's view, kept in a file of its own beside the capture.
#pragma once

#include <QByteArray>
#include <QString>
#include <array>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/base/error.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {

/// A remark at a time, on a row.
struct TimelineNote {
  std::int64_t time_ns = 0;
  QString text;
  std::string row = {};  ///< TimelineRow::id; "": on none in particular
  friend bool operator==(const TimelineNote&, const TimelineNote&) = default;
};

struct ViewState {
  RowArrangement rows;
  std::vector<TimelineNote> notes;
  std::array<std::optional<analyzer::TimeWindow>, 10> bookmarks;
  std::optional<analyzer::TimeWindow> view;
  std::optional<analyzer::TimeWindow> range;
  std::string nvtx;  ///< Selection::nvtx()
  QByteArray docks;  ///< QMainWindow::saveState()
  friend bool operator==(const ViewState&, const ViewState&) = default;
};

/// JSON; times are int64 nanoseconds on the capture's clock, as strings, for they do not fit a double.
[[nodiscard]] QByteArray to_json(const ViewState& state);
/// Failure: corrupt, with what is wrong.
[[nodiscard]] Result<ViewState> view_from_json(const QByteArray& json);

/// "run.ridge.view.json" beside "run.ridge".
[[nodiscard]] QString sidecar_path(const QString& capture);
/// An empty state if there is no such file. Failures: io, corrupt.
[[nodiscard]] Result<ViewState> load_view(const QString& path);
/// Failure: io.
[[nodiscard]] Result<void> save_view(const QString& path, const ViewState& state);

}  // namespace ridgeline::gui
