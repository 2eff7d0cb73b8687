// Panels as they were when somebody looked at them: tests/gui/pictures. Recorded anew, to be looked at, with
//   RIDGELINE_RECORD_PICTURES=1 build/tests/test_gui pictures
#include <QImage>
#include <cmath>
#include <cstdlib>

#include "app/screenshot.h"
#include "gui/gui_testing.h"

namespace ridgeline::gui {
namespace {

struct Picture {
  const char* panel;
  ThemeChoice theme;
  QSize size;
};

// Share of the pixels that are another colour for a person. Edges of letters differ with the font library's version.
double difference(const QImage& a, const QImage& b) {
  if (a.size() != b.size()) return 1;
  std::int64_t other = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QColor p = a.pixelColor(x, y), q = b.pixelColor(x, y);
      if (std::abs(p.red() - q.red()) + std::abs(p.green() - q.green()) + std::abs(p.blue() - q.blue()) > 96)
        ++other;
    }
  }
  return static_cast<double>(other) / (static_cast<double>(a.width()) * a.height());
}

class PicturesTest : public ::testing::TestWithParam<Picture> {};

TEST_P(PicturesTest, LooksAsItDid) {
  const Picture& picture = GetParam();
  apply_theme(*qApp, picture.theme);
  Options options;
  options.captures = {testing::bundled_capture()};
  options.screenshot = "none";  // no settings of a user
  options.panel = picture.panel;
  options.size = picture.size;
  MainWindow window(options);
  const Result<QPixmap> taken = take_picture(window, options);
  ASSERT_TRUE(taken.ok()) << taken.failure().message;
  const QImage image = taken.value().toImage().convertToFormat(QImage::Format_RGB32);
  const QString file =
      QString("%1/tests/gui/pictures/%2-%3.png")
          .arg(RIDGELINE_SOURCE_DIR, picture.panel, picture.theme == ThemeChoice::dark ? "dark" : "light");
  if (std::getenv("RIDGELINE_RECORD_PICTURES") != nullptr) {
    ASSERT_TRUE(image.save(file, "PNG", 0));  // the smallest file
    return;
  }
  const QImage expected = QImage(file).convertToFormat(QImage::Format_RGB32);
  ASSERT_FALSE(expected.isNull()) << file.toStdString();
  EXPECT_LT(difference(image, expected), 0.02) << file.toStdString();
  // A picture of another panel would be noticed.
  EXPECT_GT(difference(image, image.mirrored(true, false)), 0.02);
}

INSTANTIATE_TEST_SUITE_P(All, PicturesTest,
                         ::testing::Values(Picture{"ranking", ThemeChoice::light, {700, 220}},
                                           Picture{"timeline", ThemeChoice::dark, {700, 300}},
                                           Picture{"roofline", ThemeChoice::light, {520, 360}},
                                           Picture{"step", ThemeChoice::dark, {380, 560}}));

}  // namespace
}  // namespace ridgeline::gui
