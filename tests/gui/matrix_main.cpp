// matrix_main.cpp: pictures of every page and panel of the window, to be looked at, and what layout_faults() finds on
// each of them. Usage:
//   ridgeline_gui_matrix FOLDER CAPTURE [--against CAPTURE] [--size WxH]... [--theme light|dark]... [--dialogs]
// Without a size those of a small, a common and a large screen; without a theme both. --dialogs: the pages and
// dialogs that no capture is asked for, too. Writes FOLDER/VIEW-THEME-WxH.png, a line for each fault to the standard
// output, and exits 1 if there is one. QT_SCALE_FACTOR holds. No screen is needed.
#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <QPainter>
#include <cstdio>

#include "app/screenshot.h"
#include "gui/layout_check.h"
#include "gui/window_views.h"

namespace ridgeline::gui {
namespace {

struct Wanted {
  QString folder, capture, against;
  std::vector<QSize> sizes;
  std::vector<ThemeChoice> themes;
  bool dialogs = false;
};

class Matrix {
 public:
  explicit Matrix(Wanted wanted) : wanted_(std::move(wanted)) {}

  int run() {
    for (const QSize& size : wanted_.sizes) {
      size_ = size;
      for (const ThemeChoice theme : wanted_.themes) {
        theme_ = theme;
        apply_theme(*qApp, theme);
        if (wanted_.dialogs) draw_dialogs();
        if (!draw_capture()) return 2;
      }
    }
    std::printf("%d pictures, %d faults\n", pictures_, faults_);
    return faults_ == 0 ? 0 : 1;
  }

 private:
  [[nodiscard]] Options options() const {
    Options options;
    options.screenshot = "none";  // no settings of a user
    options.captures = {wanted_.capture};
    options.size = size_;
    return options;
  }

  void keep(const testing::WindowView& view) {
    const QString name = QString("%1-%2-%3x%4")
                             .arg(view.name, theme_ == ThemeChoice::dark ? "dark" : "light")
                             .arg(size_.width())
                             .arg(size_.height());
    QPixmap picture = view.page.grab();
    if (view.popup != nullptr) {
      QPainter painter(&picture);
      painter.drawPixmap(view.page.mapFromGlobal(view.popup->mapToGlobal(QPoint(0, 0))), view.popup->grab());
    }
    if (!picture.save(QDir(wanted_.folder).filePath(name + ".png"), "PNG")) {
      std::fprintf(stderr, "%s: cannot be written\n", qPrintable(name));
      std::exit(2);
    }
    ++pictures_;
    QStringList faults = testing::layout_faults(view.popup != nullptr ? *view.popup : view.page);
    if (qobject_cast<const MainWindow*>(&view.page) != nullptr && view.page.size() != size_)
      faults << QString("what it shows made the window %1x%2").arg(view.page.width()).arg(view.page.height());
    for (const QString& fault : faults) std::printf("%s: %s\n", qPrintable(name), qPrintable(fault));
    faults_ += static_cast<int>(faults.size());
  }

  void draw_dialogs() {
    MainWindow window(options());
    window.resize(size_);
    window.show();
    testing::each_dialog(window, QDir(wanted_.folder).filePath("no-such.ridge"),
                         [this](const testing::WindowView& view) { keep(view); });
  }

  bool draw_capture() {
    MainWindow window(options());
    window.resize(size_);
    window.show();
    window.open(wanted_.capture);
    const auto see = [this](const testing::WindowView& view) { keep(view); };
    const bool opened = wait_until_settled(window) && window.failure().message.empty();
    if (opened && testing::each_view(window, see) &&
        (wanted_.against.isEmpty() || testing::compare_view(window, wanted_.capture, wanted_.against, see))) {
      return true;
    }
    std::fprintf(stderr, "%s: %s\n", qPrintable(wanted_.capture),
                 opened ? "the panels did not come to rest" : window.failure().message.c_str());
    return false;
  }

  Wanted wanted_;
  QSize size_;
  ThemeChoice theme_ = ThemeChoice::light;
  int pictures_ = 0, faults_ = 0;
};

int complain(const char* what) {
  std::fprintf(stderr,
               "%s: ridgeline_gui_matrix FOLDER CAPTURE [--against CAPTURE] [--size WxH]... [--theme "
               "light|dark]... [--dialogs]\n",
               what);
  return 2;
}

int run(const QStringList& words) {
  if (QFontDatabase::families().isEmpty()) return complain("there is no font to write with");
  Wanted wanted;
  QStringList files;
  for (qsizetype i = 0; i < words.size(); ++i) {
    if (words[i] == "--dialogs") {
      wanted.dialogs = true;
    } else if (words[i].startsWith("--") && i + 1 == words.size()) {
      return complain("an option needs a value");
    } else if (words[i] == "--against") {
      wanted.against = words[++i];
    } else if (words[i] == "--theme") {
      wanted.themes.push_back(words[++i] == "dark" ? ThemeChoice::dark : ThemeChoice::light);
    } else if (words[i] == "--size") {
      const QStringList sides = words[++i].split('x');
      if (sides.size() != 2 || sides[0].toInt() < 100 || sides[1].toInt() < 100)
        return complain("a size is as 1280x690");
      wanted.sizes.emplace_back(sides[0].toInt(), sides[1].toInt());
    } else {
      files << words[i];
    }
  }
  if (files.size() != 2) return complain("a folder and a capture are wanted");
  wanted.folder = files[0];
  wanted.capture = files[1];
  if (wanted.sizes.empty()) wanted.sizes = {{1280, 690}, {1440, 900}, {1920, 1080}};
  if (wanted.themes.empty()) wanted.themes = {ThemeChoice::light, ThemeChoice::dark};
  if (!QDir().mkpath(wanted.folder)) return complain("the folder cannot be made");
  return Matrix(wanted).run();
}

}  // namespace
}  // namespace ridgeline::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  QApplication application(argc, argv);
  QApplication::setApplicationName("ridgeline-gui-matrix");
  QStringList words;
  for (int i = 1; i < argc; ++i) words << QString::fromLocal8Bit(argv[i]);
  return ridgeline::gui::run(words);
}
