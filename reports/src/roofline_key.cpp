#include "roofline_key.h"

#include <fmt/format.h>

#include <set>

#include "label_places.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::reports {
namespace {

constexpr double kTitle = 44, kRow = 20, kChip = 5, kBetween = 26;
constexpr int kTitleColumns = 140, kColumns = 3, kNameColumns = 42;

}  // namespace

void draw_key(Svg& svg, double bottom, const RooflineDrawing& how, const RooflineKey& key) {
  svg.text(4, 16 - kTitle, elide_end(how.title, kTitleColumns), "title");
  svg.text(4, 33 - kTitle, elide_end(how.subtitle, kTitleColumns), "key");
  double x = 4, y = bottom + kRow;
  std::set<KernelClass> classes;
  for (const analyzer::RooflinePoint* point : key.drawn) classes.insert(point->kernel_class);
  for (const KernelClass one : classes) {
    const std::string name(to_string(one));
    svg.circle(x + kChip, y - 4, kChip, "dot " + class_css(one));
    svg.text(x + 2 * kChip + 5, y, name, "key");
    x += 2 * kChip + 5 + text_width(name) + kBetween;
  }
  y += kRow;
  svg.text(4, y, key.marks, "key");
  const double column = (kChartWidth - 8) / kColumns;
  for (std::size_t i = 0; i < key.numbered.size(); ++i) {
    const std::size_t at = i % kColumns;
    if (at == 0) y += kRow;
    svg.text(4 + column * static_cast<double>(at), y,
             fmt::format("{}  {}", key.numbered[i]->ranking_row + 1,
                         elide_kernel_name(key.numbered[i]->key, kNameColumns)),
             "key");
  }
  svg.extend(kTitle, y + 10 - bottom);
}

}  // namespace ridgeline::reports
