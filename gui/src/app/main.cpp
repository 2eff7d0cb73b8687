// main.cpp: the program `ridgeline-gui`, which `ridgeline gui` starts.
#include <QApplication>
#include <QSettings>
#include <cstdio>
#include <exception>

#include "app/allocation.h"
#include "app/main_window.h"
#include "app/options.h"
#include "app/screenshot.h"
#include "ridgeline/store/kept_file.h"

namespace ridgeline::gui {
namespace {

int complain(const Failure& failure) {
  std::fprintf(stderr, "ridgeline gui: %s\n", failure.message.c_str());
  return exit_code(failure.kind);
}

// What the platform says of itself is of no use to who wants a picture.
void only_errors(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type == QtCriticalMsg || type == QtFatalMsg)
    std::fprintf(stderr, "ridgeline gui: %s\n", qPrintable(text));
}

int run(int argc, char** argv) {
  const Result<Options> options = parse_options({argv + 1, argv + argc});
  if (!options) {
    if (options.failure().kind != ErrorKind::cancelled) return complain(options.failure());
    std::fputs(options.failure().message.c_str(), stdout);
    return 0;
  }
  const bool picture = !options.value().screenshot.isEmpty();
  if (picture) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qInstallMessageHandler(only_errors);
  }
#ifdef Q_OS_LINUX
  if (!picture && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM") && !qEnvironmentVariableIsSet("DISPLAY") &&
      !qEnvironmentVariableIsSet("WAYLAND_DISPLAY")) {
    return complain(
        {ErrorKind::environment,
         "there is no screen (neither DISPLAY nor WAYLAND_DISPLAY is set): use ridgeline report, or "
         "--screenshot FILE"});
  }
#endif
  take_memory_in_large_pieces();
  QApplication application(argc, argv);
  QApplication::setApplicationName("ridgeline-gui");
  QApplication::setOrganizationName("ridgeline");
  QApplication::setDesktopFileName("ridgeline");
  ThemeChoice choice = options.value().theme;
  if (!options.value().theme_given) {
    const QString kept = picture ? QString("light") : QSettings().value("theme").toString();
    if (!kept.isEmpty()) choice = kept == "dark" ? ThemeChoice::dark : ThemeChoice::light;
  }
  apply_theme(application, choice);
  MainWindow window(options.value());
  if (picture) {
    // What is kept is not made again by typing a command once more.
    if (const store::KeptKind kept = store::kept_kind(options.value().screenshot.toStdString());
        kept != store::KeptKind::none) {
      return complain({ErrorKind::usage, options.value().screenshot.toStdString() + " is " +
                                             std::string(store::kept_name(kept)) +
                                             ", which is not written over: choose another file"});
    }
    const Result<QPixmap> taken = take_picture(window, options.value());
    if (!taken) return complain(taken.failure());
    if (!taken.value().save(options.value().screenshot, "PNG")) {
      return complain({ErrorKind::io, options.value().screenshot.toStdString() + ": cannot be written"});
    }
    return 0;
  }
  window.take_place();
  window.show();
  if (!options.value().captures.empty()) window.open(options.value().captures.front());
  return QApplication::exec();
}

}  // namespace
}  // namespace ridgeline::gui

int main(int argc, char** argv) {
  try {
    return ridgeline::gui::run(argc, argv);
  } catch (const ridgeline::Error& error) {
    return ridgeline::gui::complain({error.kind(), error.message()});
  } catch (const std::exception& error) {
    return ridgeline::gui::complain(
        {ridgeline::ErrorKind::internal, std::string("internal error: ") + error.what()});
  }
}
