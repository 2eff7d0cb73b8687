#include "app/options.h"

#include <QRegularExpression>

#include "ridgeline/reports/version.h"

namespace ridgeline::gui {
namespace {

constexpr const char* kHelp = R"(usage: ridgeline gui [CAPTURE [CAPTURE_B]] [options]
       ridgeline gui A1 A2 A3 --against B1 B2 B3 [options]
Opens a capture (*.ridge) in a window: timeline, roofline, ranking. With two, or several runs per side, compares them.
  --against RUNS     the runs of B, in the order in which those of A were recorded
  --unpaired         runs were not recorded in turn: run 1 of A has nothing to do with run 1 of B
  --view FILE        layout, pins and notes from FILE, not from beside the capture
  --theme THEME      light, dark or system (default)
  --screenshot FILE  write a PNG and end, without a window
  --panel PANEL      what of: window (default), timeline, roofline, ranking, kernel, step, advice, gaps,
                     findings, what-if, ranks or compare
  --size WxH         how large (default 1400x900)
  --help, --version
)";

}  // namespace

const QStringList& panel_names() {
  static const QStringList kNames = {"window", "timeline", "roofline", "ranking", "kernel",  "step",
                                     "advice", "gaps",     "findings", "what-if", "compare", "ranks"};
  return kNames;
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  const auto usage = [](const QString& what) {
    return Failure{ErrorKind::usage, (what + ": see ridgeline gui --help").toStdString()};
  };
  Options options;
  bool of_b = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    QString name = QString::fromLocal8Bit(arguments[i].c_str());
    if (!name.startsWith("--")) {
      (of_b ? options.against : options.captures).push_back(name);
      continue;
    }
    if (name == "--against") {
      of_b = true;
      continue;
    }
    if (name == "--unpaired") {
      options.paired = false;
      continue;
    }
    if (name == "--help") return Failure{ErrorKind::cancelled, kHelp};
    if (name == "--version")
      return Failure{ErrorKind::cancelled, std::string("ridgeline ") + reports::kVersion + "\n"};
    static const QStringList kKnown = {"--view", "--theme", "--screenshot", "--panel", "--size"};
    QString value;
    if (const auto equals = name.indexOf('='); equals > 0) {
      value = name.mid(equals + 1);
      name.truncate(equals);
      if (!kKnown.contains(name)) return usage("unknown option " + name);
    } else {
      if (!kKnown.contains(name)) return usage("unknown option " + name);
      if (++i == arguments.size()) return usage(name + " needs a value");
      value = QString::fromLocal8Bit(arguments[i].c_str());
    }
    if (name == "--view") {
      options.view = value;
    } else if (name == "--screenshot") {
      options.screenshot = value;
    } else if (name == "--panel") {
      if (!panel_names().contains(value))
        return usage("no panel '" + value + "': use one of " + panel_names().join(", "));
      options.panel = value;
    } else if (name == "--theme") {
      options.theme_given = true;
      if (value == "light") {
        options.theme = ThemeChoice::light;
      } else if (value == "dark") {
        options.theme = ThemeChoice::dark;
      } else if (value != "system") {
        return usage("no theme '" + value + "': use light, dark or system");
      }
    } else {
      static const QRegularExpression kSize("^(\\d{2,5})x(\\d{2,5})$");
      const auto match = kSize.match(value);
      if (!match.hasMatch()) return usage("--size wants a width and a height, as 1400x900");
      options.size = {match.captured(1).toInt(), match.captured(2).toInt()};
      options.size_given = true;
      if (options.size.width() > 16384 || options.size.height() > 16384)
        return usage("--size is at most 16384x16384");
    }
  }
  if (of_b && (options.captures.empty() || options.against.empty()))
    return usage("--against needs captures before it and behind it");
  if (!of_b && options.captures.size() > 2)
    return usage("more than two captures: write --against before the runs of B");
  if (!of_b && options.captures.size() == 2) {
    options.against = {options.captures.back()};
    options.captures.pop_back();
  }
  if (!options.screenshot.isEmpty() && options.captures.empty()) return usage("--screenshot needs a capture");
  if (options.panel == "compare" && options.against.empty())
    return usage("--panel compare needs two captures");
  return options;
}

}  // namespace ridgeline::gui
