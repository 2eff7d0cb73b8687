// The two themes: colours that touch can be told apart, text can be read, and another theme is everywhere at once.
#include "style/theme.h"

#include <QCheckBox>
#include <QImage>
#include <QStyleOption>
#include <QTabBar>

#include "gui/colour_vision.h"
#include "gui/gui_testing.h"
#include "panels/charts.h"
#include "panels/step_panel.h"

namespace ridgeline::gui {
namespace {

using analyzer::GapKind;
using analyzer::KernelBound;
using testing::opened_window;
using testing::wait_for;

constexpr double kMinDifference = 10;  // CIEDE2000
constexpr double kMinContrast = 4.5;   // WCAG 2.2, 1.4.3
constexpr double kMinOutlineContrast = 3;

// In which of the sights two colours of a set are too near to each other.
void expect_apart(const std::vector<QColor>& colours, const std::string& what) {
  for (std::size_t i = 0; i < colours.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const testing::Sight sight : testing::kSights)
        EXPECT_GE(testing::difference(colours[i], colours[j], sight), kMinDifference)
            << what << " " << j << " and " << i << ", sight " << static_cast<int>(sight);
    }
  }
}

class ThemeTest : public ::testing::TestWithParam<const Theme*> {
 protected:
  const Theme& t_ = *GetParam();
};

// Values of table 1 of Sharma, Wu and Dalal.
TEST(ColourDifference, IsThatOfTheStandard) {
  EXPECT_NEAR(testing::difference_2000({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(testing::difference_2000({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(testing::difference_2000({22.7233, 20.0904, -46.6940}, {23.0331, 14.9730, -42.5619}), 2.0373,
              1e-4);
}

TEST_P(ThemeTest, ClassesOfKernelsCanBeToldApart) {
  std::vector<QColor> colours;
  for (int i = 0; i <= static_cast<int>(KernelClass::other); ++i)
    colours.push_back(t_.of(static_cast<KernelClass>(i)));
  ASSERT_EQ(colours.size(), 11U);
  expect_apart(colours, "class");
}

TEST_P(ThemeTest, PartsOfAStepCanBeToldApart) {
  std::vector<QColor> colours;
  for (const auto bound : {KernelBound::memory, KernelBound::compute, KernelBound::latency,
                           KernelBound::too_short, KernelBound::no_roof, KernelBound::unmeasured})
    colours.push_back(t_.of(bound));
  for (const auto gap : {GapKind::launch_bound, GapKind::host_bound, GapKind::synchronisation,
                         GapKind::queued, GapKind::unknown, GapKind::tail})
    colours.push_back(t_.of(gap));
  for (const QColor& rest : {t_.line, t_.of(KernelClass::copy), t_.of(KernelClass::other), t_.text})
    colours.push_back(rest);
  expect_apart(colours, "part");
}

TEST_P(ThemeTest, PhasesCanBeToldApart) {
  std::vector<QColor> colours;
  for (const Phase phase : {Phase::warmup, Phase::timeline, Phase::sample, Phase::replay, Phase::cold,
                            Phase::stalls, Phase::flops, Phase::after})
    colours.push_back(t_.of(phase));
  expect_apart(colours, "phase");
}

TEST_P(ThemeTest, TextCanBeReadWhereverItIsWritten) {
  const auto expect_read = [](const QColor& text, const QColor& ground, const char* what) {
    EXPECT_GE(contrast(text, ground), kMinContrast)
        << what << " " << text.name().toStdString() << " on " << ground.name().toStdString();
  };
  for (const QColor& ground : {t_.window, t_.base, t_.alternate, t_.panel}) {
    expect_read(t_.text, ground, "text");
    expect_read(t_.faint, ground, "faint text");
    expect_read(t_.good, ground, "what is good");
    expect_read(t_.fair, ground, "what is fair");
    expect_read(t_.bad, ground, "what is bad");
    expect_read(t_.accent, ground, "a link");
  }
  expect_read(t_.accent_text, t_.accent, "what is chosen");
  // WCAG 2.2, 1.4.11: the outline of the cell that has the keys, in a row that is chosen and in one that is not.
  EXPECT_GE(contrast(t_.accent_text, t_.accent), kMinOutlineContrast);
  EXPECT_GE(contrast(t_.accent, t_.base), kMinOutlineContrast);
  EXPECT_GE(contrast(t_.accent, t_.alternate), kMinOutlineContrast);
  for (const auto style : {reports::Style::good, reports::Style::fair, reports::Style::bad,
                           reports::Style::dim, reports::Style::plain})
    expect_read(t_.text, t_.bar(style), "text on a bar");
}

TEST_P(ThemeTest, WhatIsWrittenOnAColourCanBeRead) {
  for (int red = 0; red < 256; red += 15) {
    for (int green = 0; green < 256; green += 15) {
      for (int blue = 0; blue < 256; blue += 15) {
        const QColor ground(red, green, blue);
        ASSERT_GE(contrast(Theme::on(ground), ground), kMinContrast) << ground.name().toStdString();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, ThemeTest, ::testing::Values(&Theme::light(), &Theme::night()),
                         [](const auto& each) { return each.param->dark ? "Dark" : "Light"; });

double share_that_differs(const QImage& a, const QImage& b) {
  if (a.size() != b.size()) return 1;
  std::int64_t other = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) other += a.pixel(x, y) != b.pixel(x, y) ? 1 : 0;
  }
  return static_cast<double>(other) / (static_cast<double>(a.width()) * a.height());
}

// Each panel of a window, with a kernel chosen: what a panel keeps of colours is there then.
std::map<std::string, QImage> pictures_of(MainWindow& window) {
  std::map<std::string, QImage> pictures;
  for (const char* name : {"ranking", "roofline", "step", "kernel", "findings", "gaps", "log", "timeline"}) {
    window.show_panel(name);
    EXPECT_TRUE(wait_for([&] { return window.settled(); }));
    QWidget* panel =
        std::string_view(name) == "log" ? window.findChild<QWidget*>("dock-log") : window.panel(name);
    QTest::qWait(30);
    pictures[name] = panel->grab().toImage().convertToFormat(QImage::Format_RGB32);
  }
  return pictures;
}

TEST(ThemeSwitch, RepaintsEveryPanel) {
  const auto opened = [] {
    auto window = opened_window(testing::bundled_capture());
    window->selection().select_kernel(kernels_of(*window->document()->overview(), 0));
    EXPECT_TRUE(wait_for([&] { return window->settled(); }));
    return window;
  };
  const auto switched = opened();
  const auto light = pictures_of(*switched);
  switched->run("dark");
  ASSERT_TRUE(wait_for([&] { return switched->settled(); }));
  const auto dark = pictures_of(*switched);
  const auto opened_dark = opened();
  const auto expected = pictures_of(*opened_dark);
  switched->run("light");
  for (const auto& [name, picture] : expected) {
    EXPECT_GT(share_that_differs(picture, light.at(name)), 0.5) << name;
    if (name == "log") continue;  // it says what was opened when
    EXPECT_LT(share_that_differs(picture, dark.at(name)), 0.001) << name;
  }
}

// WCAG 2.2, 1.4.11. The toolkit's own outline of a box is darker than a dark window.
TEST(ControlsOfBothThemes, HaveOutlinesThatCanBeSeen) {
  for (const ThemeChoice choice : {ThemeChoice::light, ThemeChoice::dark}) {
    apply_theme(*qApp, choice);
    QCheckBox box("Launched as a graph");
    box.resize(box.sizeHint());
    const auto seen_in_box = [&] {
      const QImage picture = box.grab().toImage();
      const QStyleOptionButton option = [&] {
        QStyleOptionButton of;
        of.initFrom(&box);
        return of;
      }();
      const QRect indicator = box.style()->subElementRect(QStyle::SE_CheckBoxIndicator, &option, &box);
      double most = 0;
      int ink = 0;
      for (int y = indicator.top(); y <= indicator.bottom(); ++y) {
        for (int x = indicator.left(); x <= indicator.right(); ++x) {
          const double seen = contrast(picture.pixelColor(x, y), theme().window);
          most = std::max(most, seen);
          if (contrast(picture.pixelColor(x, y), theme().base) >= kMinOutlineContrast) ++ink;
        }
      }
      return std::pair(most, ink);
    };
    const auto [outline, empty] = seen_in_box();
    EXPECT_GE(outline, kMinOutlineContrast) << theme().dark;
    box.setChecked(true);
    EXPECT_GT(seen_in_box().second, empty + 6) << "a tick is in it";
  }
  apply_theme(*qApp, ThemeChoice::light);
}

TEST(ControlsOfBothThemes, SayWhichTabIsShown) {
  for (const ThemeChoice choice : {ThemeChoice::light, ThemeChoice::dark}) {
    apply_theme(*qApp, choice);
    QTabBar tabs;
    tabs.addTab("Durations");
    tabs.addTab("Roofline");
    tabs.resize(tabs.sizeHint());
    for (const int shown : {0, 1}) {
      tabs.setCurrentIndex(shown);
      const QImage picture = tabs.grab().toImage();
      const auto has_line = [&](int tab) {
        const QPoint middle = tabs.tabRect(tab).center();
        for (int y = 0; y < 5; ++y) {
          if (picture.pixelColor(middle.x(), y) == theme().accent) return true;
        }
        return false;
      };
      EXPECT_TRUE(has_line(shown)) << theme().dark;
      EXPECT_FALSE(has_line(1 - shown)) << theme().dark;
      // The words' darkest or lightest pixels against the ground of their tab.
      const QRect words = tabs.tabRect(shown).adjusted(8, 6, -8, -4);
      const QColor ground = picture.pixelColor(words.left(), words.center().y());
      double most = 0;
      for (int y = words.top(); y < words.bottom(); ++y) {
        for (int x = words.left(); x < words.right(); ++x)
          most = std::max(most, contrast(picture.pixelColor(x, y), ground));
      }
      EXPECT_GE(most, kMinContrast) << theme().dark;
    }
  }
  apply_theme(*qApp, ThemeChoice::light);
}

TEST(PhaseLegend, IsUnderTheColumnsOfTheSteps) {
  const auto window = opened_window(testing::bundled_capture());
  const auto* chart = window->panel("step")->findChild<ColumnChart*>();
  ASSERT_NE(chart, nullptr);
  std::set<QString> said;
  for (const auto& [words, colour] : chart->legend()) said.insert(words);
  std::set<QString> phases;
  for (const analyzer::StepSummary& step : window->document()->overview()->steps->steps) {
    if (step.gpu_start_ns != 0) phases.insert(QString::fromStdString(std::string(to_string(step.phase))));
  }
  EXPECT_EQ(said, phases);
  EXPECT_GT(said.size(), 2U);
  // The words stand below every column.
  for (int i = 0; i < chart->item_count(); ++i)
    EXPECT_LT(chart->item_rect(i).bottom(), chart->height() - 12) << i;
}

}  // namespace
}  // namespace ridgeline::gui
