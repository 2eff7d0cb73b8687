// lines.h: lists of sentences: how they are marked, and that they can be copied.
#pragma once

#include <QListWidget>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::gui {

/// What a line of that severity begins with.
[[nodiscard]] QString severity_mark(Severity severity);
/// Invalid: the text's own.
[[nodiscard]] QColor severity_colour(Severity severity);
/// Ctrl+C and the context menu copy the chosen lines.
void add_copy_action(QListWidget* list);

}  // namespace ridgeline::gui
