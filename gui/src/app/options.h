// options.h: the command line of ridgeline-gui.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "style/theme.h"

namespace ridgeline::gui {

struct Options {
  std::vector<QString> captures;  ///< none, or one; with `against`, the runs of A
  std::vector<QString> against;   ///< the runs of B; empty: nothing is compared
  bool paired = true;             ///< runs of A and B were recorded in turn
  QString view;                   ///< file of --view; "": the capture's own sidecar
  QString screenshot;             ///< write a picture there and end
  QString panel = "window";
  QSize size{1400, 900};
  bool size_given = false;  ///< else the window has the size and place that it had
  ThemeChoice theme = ThemeChoice::system;
  bool theme_given = false;
  QString ridgeline;  ///< the program that records; "": the one beside this
};

[[nodiscard]] const QStringList& panel_names();
/// Failure: usage, and what --help and --version print as a Failure of kind cancelled.
[[nodiscard]] Result<Options> parse_options(const std::vector<std::string>& arguments);

}  // namespace ridgeline::gui
