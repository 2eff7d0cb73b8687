// icons.h: the signs of the commands: lines of one weight, in the colour of the text of the theme that is in use.
#pragma once

#include <QIcon>
#include <QString>
#include <QStringList>

namespace ridgeline::gui {

/// Of a command of the key map; a null icon if it has none.
[[nodiscard]] QIcon command_icon(const QString& command);
/// The commands that have one.
[[nodiscard]] QStringList commands_with_icons();

}  // namespace ridgeline::gui
