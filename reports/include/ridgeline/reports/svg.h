// svg.h: the few SVG shapes that the report's charts are made of. Colours come from CSS classes, so that
// one chart serves light, dark and print. All text is escaped here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::reports {

class Svg {
 public:
  /// Coordinates are 0..width, 0..height, y down. `label` is what a screen reader says. `style` and `background`: CSS
  /// and colour of a picture that is a file of its own; "": the page has them.
  Svg(double width, double height, std::string_view label, std::string_view style = {},
      std::string_view background = {});

  /// Room above, where y is negative, and below.
  void extend(double above, double below);

  /// `css` names CSS classes; `title` (may be empty) is the tooltip.
  void rect(double x, double y, double width, double height, std::string_view css,
            std::string_view title = {}, double radius = 0);
  void line(double x1, double y1, double x2, double y2, std::string_view css);
  /// A filled shape through the points, closed.
  void area(const std::vector<std::pair<double, double>>& points, std::string_view css);
  void circle(double x, double y, double radius, std::string_view css, std::string_view title = {});
  enum class Anchor { start, middle, end };
  void text(double x, double y, std::string_view content, std::string_view css, Anchor anchor = Anchor::start,
            std::string_view title = {});

  [[nodiscard]] std::string finish() const;  // the whole <svg> element

 private:
  double width_, height_, above_ = 0, below_ = 0;
  std::string label_, style_, background_;
  std::string body_;
};

/// Maps a value to a coordinate on a logarithmic axis. 0 < low < high.
class LogScale {
 public:
  LogScale(double low, double high, double at_low, double at_high);
  [[nodiscard]] double operator()(double value) const;  // values outside are clamped to the ends
  /// Powers of ten inside [low, high]; with 2 and 5 times them where the axis spans less than 3 decades.
  [[nodiscard]] std::vector<double> ticks() const;
  [[nodiscard]] double low() const noexcept { return low_; }
  [[nodiscard]] double high() const noexcept { return high_; }

 private:
  double low_, high_, at_low_, at_high_;
};

/// Tick distance of a linear axis from 0: 1, 2 or 5 times a power of ten, about `count` ticks. limit > 0.
[[nodiscard]] double nice_tick(double limit, int count);

}  // namespace ridgeline::reports
