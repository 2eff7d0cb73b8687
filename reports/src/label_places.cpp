#include "label_places.h"

#include <algorithm>

#include "ridgeline/reports/elide.h"

namespace ridgeline::reports {
namespace {

constexpr double kTextHeight = 12;
constexpr double kCharacter = 7.1;  // of the widest usual sans serif at 11.5 units
constexpr double kAway = 4;
constexpr double kMinWidth = 13;

}  // namespace

double text_width(std::string_view text) {
  return kCharacter * display_width(text);
}

std::optional<LabelPlaces::Place> LabelPlaces::beside(double x, double y, double radius, double asked_width) {
  const double width = std::max(asked_width, kMinWidth);
  for (const double away : {1.0, 2.2, 3.6}) {
    const double reach = radius + kAway * away;
    const double side = reach + width / 2, over = reach + kTextHeight / 2;
    const Place places[] = {{x + side, y},        {x - side, y},        {x, y - over},
                            {x, y + over},        {x + side, y - over}, {x + side, y + over},
                            {x - side, y - over}, {x - side, y + over}};
    for (const Place& middle : places) {
      const Box box{middle.x - width / 2, middle.y - kTextHeight / 2, middle.x + width / 2,
                    middle.y + kTextHeight / 2};
      if (box.left < picture_.left || box.right > picture_.right || box.top < picture_.top ||
          box.bottom > picture_.bottom)
        continue;
      if (std::any_of(taken_.begin(), taken_.end(), [&](const Box& other) { return box.meets(other); }))
        continue;
      taken_.push_back(box);
      return Place{middle.x, middle.y + kTextHeight / 3};
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::reports
