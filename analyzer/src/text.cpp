#include "text.h"

#include <cmath>
#include <cstdio>

namespace ridgeline::analyzer {

std::string number(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, std::fabs(value) < 1e15 ? "%.*f" : "%.*g", decimals, value);
  return buffer;
}

std::string percent(double ratio, int decimals) {
  return number(ratio * 100.0, decimals) + " %";
}

std::string time_text(double ns) {
  const double size = std::fabs(ns);
  if (size < 1e3) return number(ns, 0) + " ns";
  if (size < 1e6) return number(ns / 1e3, 1) + " µs";
  if (size < 1e9) return number(ns / 1e6, 2) + " ms";
  return number(ns / 1e9, 2) + " s";
}

std::string count(std::int64_t n, std::string_view singular, std::string_view plural) {
  return std::to_string(n) + " " + std::string(n == 1 ? singular : plural);
}

std::string short_name(std::string_view name, std::size_t width) {
  if (name.size() <= width || width < 8) return std::string(name);
  const std::size_t head = (width - 3) * 2 / 3;
  return std::string(name.substr(0, head)) + "..." +
         std::string(name.substr(name.size() - (width - 3 - head)));
}

}  // namespace ridgeline::analyzer
