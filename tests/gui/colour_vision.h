// colour_vision.h: how far apart two colours are for whoever looks at them.
#pragma once

#include <QColor>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ridgeline::gui::testing {

enum class Sight { normal, protanopia, deuteranopia, tritanopia };
inline constexpr std::array<Sight, 4> kSights = {Sight::normal, Sight::protanopia, Sight::deuteranopia,
                                                 Sight::tritanopia};
using Triple = std::array<double, 3>;

/// Linear RGB, 0 to 1, as it is for such sight. Matrices of severity 1: Machado, Oliveira and Fernandes, "A
/// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, table 1.
[[nodiscard]] inline Triple seen(const QColor& colour, Sight sight) {
  static constexpr std::array<std::array<double, 9>, 4> kMatrices = {{
      {1, 0, 0, 0, 1, 0, 0, 0, 1},
      {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
      {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
      {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
  }};
  const auto linear = [](int value) {
    const double c = value / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const Triple rgb = {linear(colour.red()), linear(colour.green()), linear(colour.blue())};
  const auto& m = kMatrices[static_cast<std::size_t>(sight)];
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = std::clamp(m[3 * i] * rgb[0] + m[3 * i + 1] * rgb[1] + m[3 * i + 2] * rgb[2], 0.0, 1.0);
  return out;
}

/// CIE L*a*b* under D65.
[[nodiscard]] inline Triple lab(const Triple& rgb) {
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f((0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2]) / 0.95047);
  const double y = f(0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2]);
  const double z = f((0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// CIEDE2000 of two colours in L*a*b* (Sharma, Wu and Dalal, 2005).
[[nodiscard]] inline double difference_2000(const Triple& one, const Triple& two) {
  const auto radians = [](double degrees) { return degrees * std::numbers::pi / 180; };
  const auto power_7 = [](double c) {
    return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7)));
  };
  const double mean = (std::hypot(one[1], one[2]) + std::hypot(two[1], two[2])) / 2;
  const double stretch = 1.5 - 0.5 * power_7(mean);
  const double a1 = one[1] * stretch, a2 = two[1] * stretch;
  const double c1 = std::hypot(a1, one[2]), c2 = std::hypot(a2, two[2]);
  const auto hue = [](double b, double a) {
    const double h = a == 0 && b == 0 ? 0 : std::atan2(b, a) * 180 / std::numbers::pi;
    return h < 0 ? h + 360 : h;
  };
  const double h1 = hue(one[2], a1), h2 = hue(two[2], a2);
  double turn = 0, middle = h1 + h2;
  if (c1 * c2 != 0) {
    turn = h2 - h1;
    if (turn > 180) turn -= 360;
    if (turn < -180) turn += 360;
    if (std::abs(h1 - h2) <= 180) {
      middle /= 2;
    } else {
      middle = h1 + h2 < 360 ? (h1 + h2 + 360) / 2 : (h1 + h2 - 360) / 2;
    }
  }
  const double lightness = (one[0] + two[0]) / 2, chroma = (c1 + c2) / 2;
  const double t = 1 - 0.17 * std::cos(radians(middle - 30)) + 0.24 * std::cos(radians(2 * middle)) +
                   0.32 * std::cos(radians(3 * middle + 6)) - 0.2 * std::cos(radians(4 * middle - 63));
  const double from_50 = std::pow(lightness - 50, 2);
  const double l = (two[0] - one[0]) / (1 + 0.015 * from_50 / std::sqrt(20 + from_50));
  const double c = (c2 - c1) / (1 + 0.045 * chroma);
  const double h = 2 * std::sqrt(c1 * c2) * std::sin(radians(turn / 2)) / (1 + 0.015 * chroma * t);
  const double twist =
      -std::sin(radians(60 * std::exp(-std::pow((middle - 275) / 25, 2)))) * 2 * power_7(chroma);
  return std::sqrt(l * l + c * c + h * h + twist * c * h);
}

[[nodiscard]] inline double difference(const QColor& a, const QColor& b, Sight sight) {
  return difference_2000(lab(seen(a, sight)), lab(seen(b, sight)));
}

}  // namespace ridgeline::gui::testing
