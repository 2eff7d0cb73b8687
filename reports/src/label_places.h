// label_places.h: where names go on a chart so that none covers another, a dot or a line's name.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace ridgeline::reports {

/// A rectangle on the picture, y down.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  [[nodiscard]] bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class LabelPlaces {
 public:
  explicit LabelPlaces(const Box& picture) : picture_(picture) {}

  /// Nothing is put here.
  void block(const Box& box) { taken_.push_back(box); }
  void block_dot(double x, double y, double radius) {
    taken_.push_back({x - radius, y - radius, x + radius, y + radius});
  }

  struct Place {
    double x = 0, y = 0;  ///< of the text's middle; y is its base line
  };
  /// Beside a dot: right, left, above, below, the corners, then farther away. Takes the place; empty: none is left.
  [[nodiscard]] std::optional<Place> beside(double x, double y, double radius, double asked_width);

 private:
  Box picture_;
  std::vector<Box> taken_;
};

/// What a text of the charts' small size is wide, in the units of the picture.
[[nodiscard]] double text_width(std::string_view text);

}  // namespace ridgeline::reports
